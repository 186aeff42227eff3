//! The packet thread without a device.

use super::*;
use crate::worker::{Worker, wakeup};
use ripstop_proto::secure::PrivateKey;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

/// A packet thread that listens on a loopback port and has one peer, its shared state, and its address. Keys and addresses
/// in the tunnel have the numbers `own` and `peer`.
fn open(own: u8, peer: u8, endpoint: Option<SocketAddr>) -> (PacketLoop, Arc<Shared>, SocketAddr) {
    let [private, other] = [own, peer].map(|byte| PrivateKey::from_bytes([byte; 32]));
    let endpoint = endpoint.map(|address| format!("endpoint = \"{address}\"")).unwrap_or_default();
    let text = format!(
        "[interface]\nprivate-key = \"{}\"\naddress = \"10.77.0.{own}/24\"\nlisten = \"127.0.0.1:0\"\n\
         [[peer]]\npublic-key = \"{}\"\nallowed-ips = \"10.77.0.{peer}\"\n{endpoint}\n",
        *private.to_base64(),
        other.public()
    );
    let config = DaemonConfig::parse(&text, Path::new("t.toml")).unwrap();
    let shared = Arc::new(Shared {
        worker: Worker::new().unwrap(),
        error: OnceLock::new(),
        ended: wakeup().unwrap(),
        new_config: Mutex::new(None),
        has_new_config: AtomicBool::new(false),
    });
    let mut reactor = Reactor::new().unwrap();
    let network = Network::open(&config.listen, shared.worker.clock(), &mut reactor).unwrap();
    let address = network.udp.local_addr().unwrap();
    let packet_loop = PacketLoop::new(&config, shared.clone(), reactor, network, None).unwrap();
    (packet_loop, shared, address)
}

/// An IPv4 packet from one host in the tunnel to another one.
fn packet(from: u8, to: u8) -> [u8; 20] {
    [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0, 0, 10, 77, 0, from, 10, 77, 0, to]
}

#[test]
fn without_a_device_datagrams_move_and_packets_are_counted() {
    let (receiver, received, address) = open(1, 2, None);
    let (mut sender, sent, _) = open(2, 1, Some(address));
    // The packet waits for the session.
    sender.endpoint.handle_inner(sent.worker.now(), &packet(2, 1));
    let threads = [receiver, sender].map(|packet_loop| std::thread::spawn(move || packet_loop.run()));
    let start = Instant::now();
    let mut status = received.worker.request().unwrap();
    while status.totals.packet_loop.no_device == 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "{status:?}");
        std::thread::sleep(Duration::from_millis(10));
        status = received.worker.request().unwrap();
    }
    let peer = &status.peers[0];
    assert_eq!((status.totals.packet_loop.no_device, peer.counts.received, peer.counts.received_bytes), (1, 1, 20));
    assert!(peer.connected && status.udp.received > 0);
    assert_eq!((&status.interface.name[..], status.interface.mtu_bytes, status.device.packets.packets_out), ("", 0, 0));
    for shared in [&received, &sent] {
        shared.worker.stop();
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!([&received, &sent].map(|shared| shared.error.get()), [None; 2]);
}
