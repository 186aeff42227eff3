//! The thread that moves packets.
//!
//! The thread wakes when a descriptor is readable, or when a blocked socket is writable again. The thread also wakes
//! when a time-out of the endpoint or a look-up of a name is due. Each pass of the thread's loop is a *turn*. In a
//! turn, the thread reads up to [`MAX_READS`] times from the socket and from the device, and then sends all outputs. So
//! all packets that waited for a wake-up share the cost of this wake-up.
//!
//! A wake-up costs as much as tens of packets. Two rules keep the number of wake-ups low:
//!
//! - After a turn that delivered packets, the thread reads from the device without waiting. The kernel's TCP answers a
//!   packet while the packet is written to the device, so the answer is there already.
//! - While much traffic flows, the thread pauses between two turns (`moderation.rs`).

mod closing;
mod device;
mod events;
mod heap;
mod lookups;
mod meter;
mod moderation;
mod peer_state;
mod rejected;
mod reload;
mod snapshot;
mod spare_ports;
mod waiting;

use super::config::{DaemonConfig, HostPort, Listen};
use super::keeper::{Keeper, KeeperShared};
use super::resolve::Resolver;
use super::routes::WantedRoutes;
use super::status::DeviceCounters;
use super::{DaemonError, Shared, System};
use crate::log::{Admitted, LineLimit};
use crate::os::netns::Namespace;
use crate::os::offload::join::Joiner;
use crate::os::tun::{READ_ROOM, Tun};
use crate::os::udp::{DatagramBatch, ReceiveBuffers, SendOutcome, Udp};
use device::device_mtu;
pub(super) use device::open_device;
use heap::Heap;
use ipnet::IpNet;
use lookups::LookupState;
use moderation::Moderation;
use peer_state::PeerState;
use rejected::RejectedLog;
pub(super) use reload::needs_restart;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use ripstop_proto::secure::SecureConfig;
use ripstop_proto::session::tunnel::{Delivered, Order};
use spare_ports::SparePorts;
use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The largest number of read calls in one turn, counted separately for the socket and the device.
/// A call brings up to 64 KB from the device and up to 512 KB from the socket. Twice the value
/// doubles the longest time that a packet waits for the rest of its turn. Half the value makes
/// twice as many turns while much data waits. With little traffic the value has no effect: after
/// one or two calls, nothing more can be read.
const MAX_READS: usize = 8;
/// After this number of bytes read from the device, 32 kB, what may leave is sent before the next read. The packets of
/// a large segment are then still in the processor's cache. Half the value makes more and smaller send calls. With
/// double the value, packets of fast senders leave the cache more often.
const SEND_AFTER: usize = 32_000;
/// The largest number of packets that are joined to large segments together. One batch fills about three segments of
/// 64 kB with packets of 1436 bytes. Half the value leaves more segments unfilled. Double the value keeps packets of
/// fast senders longer than they stay in the processor's cache.
const DELIVERED: usize = 128;
/// A delivered packet below this length, 600 bytes, may be a request of an application, and its answer should not wait.
/// Bare TCP acknowledgements do not count. Double the value counts most packets of streams with small segments. Half
/// the value does not count requests of typical length.
const SHORT: u64 = 600;
/// After a short packet was delivered, this number of pauses watches the device for the answer. The first pause may end
/// for another packet. Half the value misses such answers. Double the value shortens more pauses.
const ATTENTIVE: u32 = 2;

/// The state of the packet thread.
pub(super) struct PacketLoop {
    shared: Arc<Shared>,
    config: DaemonConfig,
    endpoint: Endpoint,
    tun: Tun,
    udp: Udp,
    spare_ports: SparePorts,
    batch: DatagramBatch,
    /// Whether the kernel had no room for `batch`. Sending continues when the socket is writable.
    blocked: bool,
    receive_buffers: ReceiveBuffers,
    /// Room for the data of one read from the device.
    scratch: Vec<u8>,
    /// Whether this turn has written packets to the device.
    has_delivered: bool,
    /// Packets to be written to the device.
    delivered: Vec<Delivered<Symbol>>,
    joiner: Joiner,
    peers: Vec<PeerState>,
    /// The times of the next look-ups, and the indices of the peers: all `next_lookup` of `peers`.
    lookups: BTreeSet<(Time, usize)>,
    resolver: Resolver,
    lookup_state: LookupState,
    moderation: Moderation,
    /// Number of turns, and number of pauses between two turns.
    turns: u64,
    pauses: u64,
    /// How many of the next pauses ignore the device, and how many watch the device in any case.
    ignoring: u32,
    attentive: u32,
    device: DeviceCounters,
    /// The limit of lines about packets that the device refused.
    refusals: LineLimit,
    /// The device's wanted MTU in bytes.
    mtu: u32,
    rejected: RejectedLog,
    /// Keeps the device and its routes as they are wanted.
    keeper: Arc<KeeperShared>,
    /// Whether the device was removed, and the keeper has not created it again yet.
    device_gone: bool,
    /// The routes into the device.
    routes: WantedRoutes,
    /// The prefixes among them whose routes the kernel refuses.
    refused_routes: BTreeSet<IpNet>,
    /// When the peers' meters were last read.
    measured: Time,
    heap: Heap,
}

/// Which descriptors may have something to read.
#[derive(Clone, Copy, Debug)]
struct Readable {
    device: bool,
    socket: bool,
}

impl PacketLoop {
    /// Creates the device and the socket, adds all peers to the endpoint, and starts handshakes with the peers whose
    /// address is known.
    pub(super) fn new(
        config: &DaemonConfig,
        namespace: &Namespace,
        shared: Arc<Shared>,
    ) -> Result<(PacketLoop, Keeper), DaemonError> {
        let mut udp = match &config.listen {
            Listen::Everywhere(port) => Udp::bind_any(*port).map_err(DaemonError::system(format!(
                "listening on UDP port {port} (to use another port, set `port` in [interface])"
            )))?,
            Listen::At(address) => {
                let what = format!(
                    "listening on UDP {address} (`listen` in [interface]: the address must be one of this host's; `port` alone \
                     listens on all of them)"
                );
                address.resolve().and_then(Udp::bind).map_err(DaemonError::system(what))?
            }
        };
        let mtu = device_mtu(config, config.tunnel.inner_mtu());
        let tun = open_device(config, namespace, mtu)?;
        let joiner = Joiner::new(tun.offload().0, tun.offload().1);
        tun.set_nonblocking(true).map_err(DaemonError::system("making the device non-blocking"))?;
        udp.ignore_device(tun.index());
        let routes = WantedRoutes::of(config, []);
        routes.warn_of_new(&WantedRoutes::default());
        routes.warn_of_servers(config);
        let keeper = Keeper::prepare(config, namespace, &tun, mtu, routes.clone(), shared.worker.wakeup().clone())
            .map_err(DaemonError::system("reading the kernel's devices and routes"))?;
        let now = shared.worker.now();
        let secure = SecureConfig { wall_clock: wall_clock(now), ..SecureConfig::default() };
        let settings = EndpointConfig {
            tunnel: config.tunnel.clone(),
            acks: config.acks,
            secure,
            memory: config.memory,
            work_per_second: config.work_per_second,
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(config.private.clone(), settings, Box::new(System), Box::new(System));
        let resolver = Resolver::new(shared.worker.wakeup().clone());
        let mut peers = Vec::new();
        for peer in &config.peers {
            let address = peer.endpoint.as_ref().and_then(HostPort::address);
            let id = endpoint.add_peer(
                now,
                &PeerConfig {
                    public: peer.public,
                    preshared: peer.preshared.clone(),
                    endpoint: address,
                    allowed_ips: peer.allowed_ips.clone(),
                    keepalive: peer.keepalive,
                },
            )?;
            warn_if_out_of_reach(&udp, &peer.name, address);
            peers.push(PeerState::new(id, peer, now));
        }
        let mut packet_loop = PacketLoop {
            shared,
            config: config.clone(),
            endpoint,
            tun,
            udp,
            spare_ports: SparePorts::new().map_err(DaemonError::system("making an epoll instance"))?,
            batch: DatagramBatch::default(),
            blocked: false,
            receive_buffers: ReceiveBuffers::default(),
            scratch: vec![0; READ_ROOM],
            has_delivered: false,
            delivered: Vec::with_capacity(DELIVERED),
            joiner,
            lookups: peers.iter().enumerate().filter_map(|(i, peer)| Some((peer.next_lookup?, i))).collect(),
            peers,
            resolver,
            lookup_state: LookupState::default(),
            moderation: Moderation::new(now),
            turns: 0,
            pauses: 0,
            ignoring: 0,
            attentive: 0,
            device: DeviceCounters::default(),
            refusals: LineLimit::default(),
            mtu,
            rejected: RejectedLog::new(now),
            keeper: keeper.shared().clone(),
            device_gone: false,
            routes,
            refused_routes: BTreeSet::new(),
            measured: now,
            heap: Heap::new(now),
        };
        packet_loop.tell_inside();
        Ok((packet_loop, keeper))
    }

    /// Moves packets until the daemon is stopped or an error occurs. Then publishes the last
    /// snapshot.
    pub(super) fn run(mut self) {
        // Without this call the kernel may delay a timer by 50 us to combine it with others (timerslack).
        let _ = nix::sys::prctl::set_timerslack(1);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run_until_stopped()));
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the packet thread panicked; the log has the message".to_owned()),
        };
        let snapshot = catch_unwind(AssertUnwindSafe(|| self.snapshot())).ok();
        self.keeper.end();
        // The device must be gone before the threads that wait for this thread's end are notified.
        let shared = self.shared.clone();
        drop(self);
        if let Some(error) = error {
            let _ = shared.error.set(error);
        }
        shared.worker.end(snapshot);
        let _ = shared.ended.write(1);
    }

    fn run_until_stopped(&mut self) -> io::Result<()> {
        // The first turn reads from the device and from the socket.
        let mut readable = Readable { device: true, socket: true };
        loop {
            self.turns += 1;
            let now = self.shared.worker.now();
            if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
                self.endpoint.handle_timeout(now);
            }
            let mut more = false;
            if readable.socket {
                more |= self.read_datagrams()?;
            }
            if readable.device {
                more |= self.read_device(now)?;
            }
            self.follow_device()?;
            self.resolve_names(now);
            self.change_ports(now);
            self.warn_of_rejected(now);
            self.measure(now);
            self.reload(now);
            self.drain();
            if self.shared.worker.is_stopped() {
                return self.close();
            }
            self.shared.worker.answer(|| self.snapshot());
            let is_left = self.endpoint.has_undelivered();
            readable = match std::mem::take(&mut self.has_delivered) || is_left {
                // The turns that deliver the rest take the other peers' datagrams too.
                true => Readable { device: true, socket: more || is_left },
                false => self.wait_for_input(more)?,
            };
        }
    }

    /// Reads datagrams from peers. Returns whether there may be more.
    fn read_datagrams(&mut self) -> io::Result<bool> {
        let mut more = false;
        for at in 0..=self.spare_ports.sockets().count() {
            more |= self.read_socket(at)?;
        }
        Ok(more)
    }

    /// Reads datagrams from the socket at the listening port (0), or from the spare port number `at`, counted from 1.
    /// Returns whether there may be more.
    fn read_socket(&mut self, at: usize) -> io::Result<bool> {
        for _ in 0..MAX_READS {
            let (now, endpoint) = (self.shared.worker.now(), &mut self.endpoint);
            let Some(udp) = std::iter::once(&mut self.udp).chain(self.spare_ports.sockets()).nth(at) else { break };
            let result = udp.receive(&mut self.receive_buffers, |from, datagram, reception| {
                let before = authentic(endpoint);
                endpoint.handle_datagram(now, from, datagram, reception);
                authentic(endpoint) != before
            });
            match result {
                Ok(received) => {
                    self.moderation.count(received.datagrams, received.bytes);
                    if !received.full {
                        return Ok(false);
                    }
                    self.drain();
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // The kernel reports an ICMP error about an earlier datagram.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Reads packets from the device. Returns whether there may be more.
    fn read_device(&mut self, now: Time) -> io::Result<bool> {
        let mut unsent = 0;
        for _ in 0..MAX_READS {
            if self.device_gone {
                return Ok(false);
            }
            let (endpoint, device) = (&mut self.endpoint, &mut self.device);
            let before = (device.packets_in, device.bytes_in);
            let result = self.tun.read_packets(&mut self.scratch, |parts| {
                device.packets_in += 1;
                device.bytes_in += parts.iter().map(|part| part.len() as u64).sum::<u64>();
                endpoint.handle_inner_parts(now, parts);
            });
            self.moderation.count(device.packets_in - before.0, device.bytes_in - before.1);
            match result {
                Ok(len) => {
                    device.reads += 1;
                    unsent += len;
                }
                Err(error) => match (error.kind(), error.raw_os_error()) {
                    (io::ErrorKind::WouldBlock, _) => return Ok(false),
                    (_, Some(libc::EBADF | libc::EBADFD | libc::ENODEV)) => self.note_device_gone(),
                    // The device is down, or a segment could not be cut into packets. The next read
                    // may succeed.
                    _ => {
                        device.read_errors += 1;
                        return Ok(false);
                    }
                },
            }
            if unsent >= SEND_AFTER {
                unsent = 0;
                self.transmit();
            }
        }
        Ok(true)
    }

    /// Sends and delivers the outputs of the endpoint.
    fn drain(&mut self) {
        self.transmit();
        self.deliver();
        while let Some(event) = self.endpoint.poll_event() {
            self.handle_event(event);
        }
    }

    fn transmit(&mut self) {
        self.blocked = self.blocked && self.send_batch() == SendOutcome::Blocked;
        let mut now = self.shared.worker.now();
        while !self.blocked {
            let Some(out) = self.endpoint.poll_transmit(now, self.batch.room()) else { break };
            let segments = if out.is_test { 1 } else { self.udp.segments() };
            if !self.batch.push(out.to, out.len, out.ect, segments) {
                self.blocked = self.send_batch() == SendOutcome::Blocked;
                now = self.shared.worker.now();
            }
        }
        while !self.blocked && !self.batch.is_empty() {
            self.blocked = self.send_batch() == SendOutcome::Blocked;
        }
    }

    /// Writes to the device the packets that came through the tunnel. The endpoint returns at most
    /// [`TURN_PACKETS`](ripstop_proto::endpoint::TURN_PACKETS) of each peer in one turn.
    fn deliver(&mut self) {
        loop {
            while self.delivered.len() < DELIVERED {
                let Some((peer, delivered)) = self.endpoint.poll_deliver() else { break };
                let len = inner_packet(&delivered).len() as u64;
                self.device.bytes_out += len;
                if delivered.meta.order == Order::InOrder && len < SHORT {
                    self.attentive = ATTENTIVE;
                }
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.received.0 += 1;
                    peer.received.1 += len;
                }
                self.delivered.push(delivered);
            }
            if self.delivered.is_empty() {
                return;
            }
            self.has_delivered = true;
            self.device.packets_out += self.delivered.len() as u64;
            let (batch, device, tun, refusals) = (&self.delivered, &mut self.device, &self.tun, &mut self.refusals);
            self.joiner.join(batch.iter().map(|one| (one.meta.flow, inner_packet(one))));
            self.joiner.each(
                |index| batch.get(index).map_or(&[], inner_packet),
                |parts| {
                    device.writes += 1;
                    if let Err(error) = tun.write_parts(parts) {
                        device.write_errors += 1;
                        if let Some(Admitted { left_out }) = refusals.admit() {
                            tracing::debug!(%error, left_out, "the device refused a packet");
                        }
                    }
                },
            );
            self.delivered.clear();
        }
    }
}

/// Warns if no datagram can reach the configured address of a peer.
fn warn_if_out_of_reach(udp: &Udp, peer: &str, address: Option<SocketAddr>) {
    if address.is_some_and(|address| !udp.reaches(&address)) {
        tracing::warn!(%peer, "no datagram can reach the peer: its address and this host's socket have different address families; change `endpoint` or `listen`");
    }
}

/// How many datagrams of peers and handshakes have authenticated.
fn authentic(endpoint: &Endpoint) -> u64 {
    let counters = endpoint.secure_counters();
    counters.opened + counters.responses + counters.responses_repeated + counters.established
}

/// The wall clock (UTC since 1970) at the time zero of the thread's clock, on which it is `now`.
fn wall_clock(now: Time) -> Duration {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    wall.saturating_sub(now.since(Time::ZERO))
}
