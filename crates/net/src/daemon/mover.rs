//! The thread that moves packets.
//!
//! It is driven by what is readable and by the endpoint's next time-out. A turn takes in what has come, up to a
//! batch of each kind, and then drains all outputs once: the cost of a wake-up is shared by everything
//! that waited for it.

mod events;
mod snapshot;

use super::config::{DaemonConfig, HostPort, Listen};
use super::resolve::{self, Resolver};
use super::status::DeviceCounters;
use super::{DaemonError, Shared, System, routes};
use crate::os::netns::Namespace;
use crate::os::tun::{GROTable, IDEAL_BATCH_SIZE, Tun, TunConfig, TunError, VIRTIO_NET_HDR_LEN};
use crate::os::udp::{Batch, ReceiveBuffers, Sent, Udp};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use ripstop_base::Time;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use ripstop_proto::secure::PeerId;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// Calls that read, of each kind, before outputs have their turn. A call brings up to 64 KB from the device, up to
/// 512 KB from the socket.
const READS: usize = 8;
/// Packets that the kernel holds for us: beyond what the tunnel's own queues are for.
const DEVICE_QUEUE_PACKETS: u32 = 2_000;
/// Between look-ups of the name of a peer that does not answer.
const RESOLVE_EVERY: Duration = Duration::from_secs(30);
/// The least wait for a socket that is blocked.
const BLOCKED_PAUSE: Duration = Duration::from_millis(10);
/// Between two words about datagrams that were dropped.
const REJECTED_EVERY: Duration = Duration::from_secs(30);
/// The least MTU that IPv6 demands; below it the kernel would take IPv6 off the device.
const IPV6_LEAST: u32 = 1280;

/// Everything that moves packets.
pub(super) struct Mover {
    shared: Arc<Shared>,
    config: DaemonConfig,
    endpoint: Endpoint,
    tun: Tun,
    udp: Udp,
    batch: Batch,
    /// The kernel had no room for the batch.
    blocked: bool,
    arriving: ReceiveBuffers,
    reading: Reading,
    writing: Writing,
    peers: Vec<Peer>,
    resolver: Resolver,
    device: DeviceCounters,
    mtu: u32,
    /// Datagrams rejected when it was last said, and when that was.
    rejected: (u64, Time),
}

/// What a daemon knows of a peer beside the endpoint.
struct Peer {
    id: PeerId,
    name: String,
    /// A name that has to be looked up.
    lookup: Option<HostPort>,
    next_lookup: Option<Time>,
    connected: Option<Time>,
    silent: bool,
    unreachable: bool,
    restarts: u64,
    mtu: Option<u32>,
    received: (u64, u64),
}

/// Room for what the device gives: a large segment, and the packets it is cut to.
struct Reading {
    scratch: Vec<u8>,
    packets: Vec<Vec<u8>>,
    sizes: Vec<usize>,
}

/// Room for what the device takes.
struct Writing {
    table: GROTable,
    packets: Vec<Vec<u8>>,
}

impl Mover {
    /// Makes the device and the socket; all peers are known to the endpoint, and those with an address called.
    pub(super) fn new(
        config: &DaemonConfig,
        namespace: &Namespace,
        shared: Arc<Shared>,
    ) -> Result<Mover, DaemonError> {
        let udp = match config.listen {
            Listen::Everywhere(port) => Udp::bind_any(port).map_err(DaemonError::system(format!(
                "listening on UDP port {port} (another port: `port = ...`)"
            )))?,
            Listen::At(address) => {
                Udp::bind(address).map_err(DaemonError::system(format!("listening on UDP {address}")))?
            }
        };
        let mtu = device_mtu(config, config.tunnel.inner_mtu());
        let tun = open_device(config, namespace, mtu)?;
        tun.set_nonblocking(true).map_err(DaemonError::system("making the device non-blocking"))?;
        routes::install(config, namespace, tun.name());
        let now = shared.worker.now();
        let settings = EndpointConfig { tunnel: config.tunnel.clone(), ..EndpointConfig::default() };
        let mut endpoint =
            Endpoint::new(config.private.clone(), settings, Box::new(System), Box::new(System));
        let resolver = Resolver::new(shared.worker.bell().clone());
        let mut peers = Vec::new();
        for peer in &config.peers {
            let address = peer.endpoint.as_ref().and_then(HostPort::address);
            let id = endpoint.add_peer(
                now,
                &PeerConfig {
                    public: peer.public,
                    endpoint: address,
                    allowed_ips: peer.allowed_ips.clone(),
                    keepalive: peer.keepalive,
                },
            )?;
            if address.is_some_and(|address| !udp.reaches(&address)) {
                tracing::warn!(peer = %peer.name, "the peer has an IPv6 address, and this host does no IPv6");
            }
            let lookup = peer.endpoint.clone().filter(|_| address.is_none());
            peers.push(Peer::new(id, peer.name.clone(), lookup, now));
        }
        Ok(Mover {
            shared,
            config: config.clone(),
            endpoint,
            tun,
            udp,
            batch: Batch::default(),
            blocked: false,
            arriving: ReceiveBuffers::default(),
            reading: Reading::new(config.tunnel.path_mtu as usize),
            writing: Writing { table: GROTable::default(), packets: Vec::new() },
            peers,
            resolver,
            device: DeviceCounters::default(),
            mtu,
            rejected: (0, now),
        })
    }

    /// Moves packets until it is stopped or cannot go on, and tells the last state.
    pub(super) fn run(mut self) {
        // The kernel may otherwise delay a timer by 50 us to join it with others.
        let _ = nix::sys::prctl::set_timerslack(1);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.turn_until_stopped()));
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the thread that moves packets panicked; its words are on stderr".to_owned()),
        };
        let snapshot = catch_unwind(AssertUnwindSafe(|| self.snapshot())).ok();
        // Whoever waits for the end may count on the device being gone.
        let shared = self.shared.clone();
        drop(self);
        if let Some(error) = error {
            let _ = shared.error.set(error);
        }
        shared.worker.end(snapshot);
        let _ = shared.ended.write(1);
    }

    fn turn_until_stopped(&mut self) -> io::Result<()> {
        // Readable until shown otherwise.
        let (mut device, mut socket) = (true, true);
        loop {
            let now = self.shared.worker.now();
            if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                self.endpoint.handle_timeout(now);
            }
            let mut more = false;
            if socket {
                more |= self.take_datagrams(now)?;
            }
            if device {
                more |= self.take_packets(now)?;
            }
            self.look_up(now);
            self.drain();
            if self.shared.worker.is_stopped() {
                self.endpoint.close();
                self.drain();
                return Ok(());
            }
            self.shared.worker.tell(|| self.snapshot());
            let wait = self.wait(more);
            let wanted = match self.blocked {
                true => PollFlags::POLLIN | PollFlags::POLLOUT,
                false => PollFlags::POLLIN,
            };
            let mut files = [
                PollFd::new(self.tun.as_fd(), PollFlags::POLLIN),
                PollFd::new(self.udp.as_fd(), wanted),
                PollFd::new(self.shared.worker.bell().as_fd(), PollFlags::POLLIN),
            ];
            match ppoll(&mut files, wait.map(TimeSpec::from), None) {
                Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let [d, s, bell] = files.map(|file| file.revents().unwrap_or(PollFlags::empty()));
            (device, socket) = (!d.is_empty(), s.intersects(!PollFlags::POLLOUT));
            if !bell.is_empty() {
                self.shared.worker.heard();
            }
        }
    }

    /// Takes in what peers sent. Whether there may be more.
    fn take_datagrams(&mut self, now: Time) -> io::Result<bool> {
        for _ in 0..READS {
            let endpoint = &mut self.endpoint;
            let result = self.udp.receive(&mut self.arriving, |from, datagram, ce| {
                endpoint.handle_datagram(now, from, datagram, ce);
            });
            match result {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // An ICMP message about something sent before.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Takes in what the kernel sends through the device. Whether there may be more.
    fn take_packets(&mut self, now: Time) -> io::Result<bool> {
        let Reading { scratch, packets, sizes } = &mut self.reading;
        for _ in 0..READS {
            let count = match self.tun.recv_multiple(scratch, packets, sizes, 0) {
                Ok(count) => count,
                Err(error) => match (error.kind(), error.raw_os_error()) {
                    (io::ErrorKind::WouldBlock, _) => return Ok(false),
                    // The device was removed.
                    (_, Some(libc::EBADF | libc::EBADFD | libc::ENODEV)) => return Err(error),
                    // It is down, or a segment could not be cut; the next may be better.
                    _ => {
                        self.device.read_errors += 1;
                        return Ok(false);
                    }
                },
            };
            self.device.reads += 1;
            for (packet, size) in packets.iter_mut().zip(sizes.iter()).take(count) {
                let Some(packet) = packet.get_mut(..*size) else { continue };
                self.device.packets_in += 1;
                self.device.bytes_in += packet.len() as u64;
                self.endpoint.handle_inner(now, packet);
            }
        }
        Ok(true)
    }

    /// Takes all outputs.
    fn drain(&mut self) {
        self.transmit();
        self.deliver();
        while let Some(event) = self.endpoint.poll_event() {
            self.note(event);
        }
    }

    fn transmit(&mut self) {
        self.blocked = self.blocked && self.udp.send(&mut self.batch) == Sent::Blocked;
        while !self.blocked {
            let now = self.shared.worker.now();
            let Some(out) = self.endpoint.poll_transmit(now, self.batch.room()) else { break };
            if !self.batch.push(out.to, out.len, out.ect, self.udp.segments()) {
                self.blocked = self.udp.send(&mut self.batch) == Sent::Blocked;
            }
        }
        while !self.blocked && !self.batch.is_empty() {
            self.blocked = self.udp.send(&mut self.batch) == Sent::Blocked;
        }
    }

    /// Hands over to the kernel what has come through the tunnel.
    fn deliver(&mut self) {
        const OFFSET: usize = VIRTIO_NET_HDR_LEN;
        let Writing { table, packets } = &mut self.writing;
        loop {
            let mut count = 0;
            while count < IDEAL_BATCH_SIZE {
                let Some((peer, delivered)) = self.endpoint.poll_deliver() else { break };
                let packet = inner_packet(&delivered);
                if packets.len() == count {
                    // Large enough for all that may be joined to the packet.
                    packets.push(Vec::with_capacity(OFFSET + 65_535));
                }
                let room = &mut packets[count];
                room.clear();
                room.resize(OFFSET, 0);
                room.extend_from_slice(packet);
                count += 1;
                self.device.bytes_out += packet.len() as u64;
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.received.0 += 1;
                    peer.received.1 += packet.len() as u64;
                }
            }
            if count == 0 {
                return;
            }
            self.device.packets_out += count as u64;
            if let Err(error) = self.tun.send_multiple(table, &mut packets[..count], OFFSET) {
                tracing::debug!(%error, "the device refused a packet");
                self.device.write_errors += 1;
            }
        }
    }

    /// The device takes what passes to every peer.
    fn fit_mtu(&mut self) {
        let least = self.peers.iter().filter_map(|peer| peer.mtu).min();
        let mtu = device_mtu(&self.config, least.unwrap_or_else(|| self.config.tunnel.inner_mtu()));
        if mtu == self.mtu {
            return;
        }
        match self.tun.set_mtu(mtu.min(65_535) as u16) {
            Ok(()) => {
                self.mtu = mtu;
                self.device.mtu_changes += 1;
            }
            Err(error) => tracing::warn!(%error, mtu, "the device's MTU could not be set"),
        }
    }

    /// Looks up the names of peers that need it, and takes what was found. Also says now and then that datagrams are
    /// being dropped.
    fn look_up(&mut self, now: Time) {
        for (index, peer) in self.peers.iter_mut().enumerate() {
            if let (Some(name), Some(at)) = (&peer.lookup, peer.next_lookup)
                && at <= now
            {
                self.resolver.ask(index, name);
                peer.next_lookup = Some(now + RESOLVE_EVERY);
            }
        }
        while let Some(answer) = self.resolver.poll() {
            let Some(peer) = self.peers.get_mut(answer.peer) else { continue };
            match answer.addresses {
                Ok(addresses) => {
                    let known = self.endpoint.peer_status(peer.id).and_then(|status| status.endpoint);
                    let usable = addresses.into_iter().filter(|address| self.udp.reaches(address));
                    let in_vain = known.filter(|_| peer.unreachable);
                    let Some(to) = resolve::choose(&usable.collect::<Vec<_>>(), in_vain) else {
                        tracing::warn!(peer = %peer.name, "its name has no address that this host reaches");
                        continue;
                    };
                    if known != Some(to) {
                        tracing::info!(peer = %peer.name, %to, "found by name");
                        routes::check(&self.config, to.ip());
                    }
                    self.endpoint.set_endpoint(now, peer.id, to);
                    if !peer.unreachable {
                        peer.next_lookup = None;
                    }
                }
                Err(error) => tracing::warn!(peer = %peer.name, %error, "its name was not found; trying on"),
            }
        }
        if now.since(self.rejected.1) >= REJECTED_EVERY {
            let rejected: u64 = self.endpoint.secure_counters().rejected.iter().sum();
            if rejected > self.rejected.0 {
                tracing::warn!(
                    datagrams = rejected - self.rejected.0,
                    "datagrams dropped that do not authenticate; `ripstop status --json` has the reasons"
                );
            }
            self.rejected = (rejected, now);
        }
    }

    /// How long to wait for what may come; None: for ever.
    fn wait(&self, more: bool) -> Option<Duration> {
        let lookups = self.peers.iter().filter_map(|peer| peer.next_lookup).min();
        let due = [self.endpoint.poll_timeout(), lookups].into_iter().flatten().min();
        wait(more, self.blocked, due.map(|at| at.since(self.shared.worker.now())))
    }
}

impl Peer {
    fn new(id: PeerId, name: String, lookup: Option<HostPort>, now: Time) -> Peer {
        Peer {
            id,
            name,
            next_lookup: lookup.is_some().then_some(now),
            lookup,
            connected: None,
            silent: false,
            unreachable: false,
            restarts: 0,
            mtu: None,
            received: (0, 0),
        }
    }
}

impl Reading {
    fn new(path_mtu: usize) -> Reading {
        Reading {
            scratch: vec![0; VIRTIO_NET_HDR_LEN + 65_535],
            packets: vec![vec![0; path_mtu.max(2_048)]; IDEAL_BATCH_SIZE],
            sizes: vec![0; IDEAL_BATCH_SIZE],
        }
    }
}

/// How long to wait, when what is due next is due in so long. While the socket is blocked nothing is taken from the
/// endpoint, and its time-out stays in the past: the socket's becoming writable ends the wait, and
/// timers may be a little late.
fn wait(more: bool, blocked: bool, due: Option<Duration>) -> Option<Duration> {
    match due {
        _ if more => Some(Duration::ZERO),
        Some(due) if blocked => Some(due.max(BLOCKED_PAUSE)),
        due => due,
    }
}

/// The device, with offload where the kernel has it.
fn open_device(config: &DaemonConfig, namespace: &Namespace, mtu: u32) -> Result<Tun, TunError> {
    let wanted = TunConfig {
        name: Some(config.name.clone()),
        addresses: config.addresses.clone(),
        mtu: mtu.min(65_535) as u16,
        offload: true,
        queue_packets: DEVICE_QUEUE_PACKETS,
    };
    Tun::open(namespace, &wanted).or_else(|error| match error {
        TunError::System { .. } => {
            Tun::open(namespace, &TunConfig { offload: false, ..wanted }).map_err(|_| error)
        }
        other => Err(other),
    })
}

fn device_mtu(config: &DaemonConfig, inner: u32) -> u32 {
    let has_v6 = config.addresses.iter().any(|address| matches!(address, ipnet::IpNet::V6(_)));
    if has_v6 { inner.max(IPV6_LEAST) } else { inner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocked_socket_is_waited_for() {
        let (now, soon) = (Some(Duration::ZERO), Some(Duration::from_secs(1)));
        assert_eq!(wait(false, false, now), now);
        assert_eq!(wait(false, true, now), Some(BLOCKED_PAUSE));
        assert_eq!((wait(false, true, soon), wait(true, true, soon)), (soon, now));
        assert_eq!((wait(false, true, None), wait(true, false, None)), (None, now));
    }
}
