//! A NAT on the way that drops everything from one source port for good.

use super::hosts::{Host, link, over_v4, perfect, until};
use super::inside::echo_once;
use crate::common::with_namespaces;
use ripstop_net::os::ip::ip;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The port of the NAT.
const PORT: u16 = 6000;
/// Mappings that the NAT can make.
const MAPPINGS: usize = 16;

/// A NAT before a daemon. Each source gets a port of its own.
struct Nat {
    /// Source port that is dropped in both directions; 0: none.
    stuck: Arc<AtomicU16>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Nat {
    fn start(host: &Host) -> Nat {
        let daemon = over_v4(1, 2);
        let open = |address: SocketAddr| {
            let socket = host.namespace.run(|| UdpSocket::bind(address)).unwrap().unwrap();
            socket.set_nonblocking(true).unwrap();
            socket
        };
        let outside = open(SocketAddr::new(daemon.ip(), PORT));
        let inside: Vec<UdpSocket> = (0..MAPPINGS).map(|_| open(SocketAddr::new(daemon.ip(), 0))).collect();
        let (stuck, stop) = (Arc::new(AtomicU16::new(0)), Arc::new(AtomicBool::new(false)));
        let (is_stuck, stopped) = (stuck.clone(), stop.clone());
        let thread = std::thread::spawn(move || {
            let (mut sources, mut buffer): (Vec<SocketAddr>, _) = (Vec::new(), vec![0; 65_535]);
            while !stopped.load(Ordering::Relaxed) {
                let stuck = is_stuck.load(Ordering::Relaxed);
                while let Ok((len, from)) = outside.recv_from(&mut buffer) {
                    if from.port() == stuck {
                        continue;
                    }
                    let known = sources.iter().position(|source| *source == from);
                    let at = known.unwrap_or_else(|| {
                        sources.push(from);
                        sources.len() - 1
                    });
                    let _ = inside[at].send_to(&buffer[..len], daemon);
                }
                for (source, socket) in sources.iter().zip(&inside) {
                    while let Ok((len, _)) = socket.recv_from(&mut buffer) {
                        if source.port() != stuck {
                            let _ = outside.send_to(&buffer[..len], source);
                        }
                    }
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Nat { stuck, stop, thread: Some(thread) }
    }
}

impl Drop for Nat {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn another_source_port_passes_a_stuck_nat() {
    with_namespaces(|| {
        let (left, right) = (Host::new(1), Host::new(2));
        let _link = link(1, &left, &right, &perfect(), 1500);
        let _ = ip(&right.namespace, &["link", "set", "lo", "up"]);
        let nat = Nat::start(&right);
        let called = right.up("", &[left.as_peer("")]);
        let through = SocketAddr::new(over_v4(1, 2).ip(), PORT);
        let caller = left.up("", &[right.as_peer(&format!("endpoint = \"{through}\"\nkeepalive = \"1s\""))]);
        until("both are connected", || caller.is_connected() && called.is_connected());
        echo_once(&left, &right);
        assert_eq!((caller.peer().source_port, caller.peer().counts.port_changes), (None, 0));

        nat.stuck.store(super::hosts::PORT, Ordering::Relaxed);
        let start = std::time::Instant::now();
        until("the peer is unreachable", || caller.peer().unreachable);
        until("both are connected through another port", || caller.is_connected() && called.is_connected());
        println!("connected through another port after {:?}", start.elapsed());
        let peer = caller.peer();
        assert!(
            peer.counts.port_changes > 0 && peer.source_port.is_some_and(|port| port != super::hosts::PORT),
            "{peer:?}"
        );
        echo_once(&left, &right);
        echo_once(&right, &left);
        assert_eq!(caller.peer().counts.sessions, 1, "the session goes on");

        // Now this port is dropped, and the listening port works again.
        nat.stuck.store(peer.source_port.unwrap(), Ordering::Relaxed);
        until("the peer is unreachable", || caller.peer().unreachable);
        until("both are connected again", || caller.is_connected() && called.is_connected());
        echo_once(&left, &right);
        assert_eq!(caller.peer().source_port, None);
    });
}
