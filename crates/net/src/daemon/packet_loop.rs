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

mod events;
mod meter;
mod moderation;
mod reload;
mod snapshot;

use super::config::{DaemonConfig, HostPort, Listen, MIN_IPV6_MTU, PeerSettings};
use super::resolve::{self, Resolver};
use super::status::DeviceCounters;
use super::{DaemonError, Shared, System, routes};
use crate::os::netns::Namespace;
use crate::os::offload::join::Joiner;
use crate::os::tun::{READ_ROOM, Tun, TunConfig, TunError};
use crate::os::udp::{DatagramBatch, ReceiveBuffers, SendOutcome, Udp};
use meter::Meter;
use moderation::Moderation;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
pub(super) use reload::needs_restart;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use ripstop_proto::secure::{PeerId, PublicKey, Rejected, SecureConfig};
use ripstop_proto::session::tunnel::{Delivered, Order};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;
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
/// After a packet from the device has ended a pause early, this number of pauses ignores the device. A packet of an
/// interactive flow, which sends rarely, leaves without delay. A flow that sends often does not end every pause. Double
/// the value delays interactive packets more often. With half the value, up to one in eight pauses is cut short.
const IGNORING: u32 = 15;
/// A delivered packet below this length, 600 bytes, may be a request of an application, and its answer should not wait.
/// Bare TCP acknowledgements do not count. Double the value counts most packets of streams with small segments. Half
/// the value does not count requests of typical length.
const SHORT: u64 = 600;
/// After a short packet was delivered, this number of pauses watches the device for the answer. The first pause may end
/// for another packet. Half the value misses such answers. Double the value shortens more pauses.
const ATTENTIVE: u32 = 2;
/// Length of the device's queue in packets: the number of packets that applications may send while
/// this process is not scheduled. 2000 packets of 1436 bytes last 23 ms at 1 Gbit/s. A shorter
/// queue drops packets of fast senders. A longer queue hides a backlog from the tunnel's queues,
/// which have active queue management (AQM).
const DEVICE_QUEUE_PACKETS: u32 = 2_000;
/// Time between two look-ups of a peer's name, while the look-up fails or the peer is unreachable. A changed DNS entry
/// is noticed after this time at the latest. Half the value doubles the load on the name server. The load is small with
/// both values.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
/// Shortest wait while the socket is blocked; see [`wait`]. Timers then wake the thread at most 100
/// times a second. The wait ends early when the socket becomes writable, so the value delays
/// only timers.
const MIN_BLOCKED_WAIT: Duration = Duration::from_millis(10);
/// Time between two warnings about rejected datagrams. The pause keeps an attacker from filling the
/// log. The figures in `status` do not depend on the pause.
const REJECTED_LOG_INTERVAL: Duration = Duration::from_secs(30);

/// The state of the packet thread.
pub(super) struct PacketLoop {
    shared: Arc<Shared>,
    config: DaemonConfig,
    endpoint: Endpoint,
    tun: Tun,
    udp: Udp,
    batch: DatagramBatch,
    /// Whether the kernel had no room for `batch`. Sending continues when the socket is writable.
    blocked: bool,
    receive_buffers: ReceiveBuffers,
    /// Room for the data of one read from the device.
    scratch: Vec<u8>,
    /// Packets to be written to the device.
    delivered: Vec<Delivered<Symbol>>,
    joiner: Joiner,
    peers: Vec<PeerState>,
    /// The times of the next look-ups, and the indices of the peers: all `next_lookup` of `peers`.
    lookups: BTreeSet<(Time, usize)>,
    resolver: Resolver,
    moderation: Moderation,
    /// Number of turns, and number of pauses between two turns.
    turns: u64,
    pauses: u64,
    /// How many of the next pauses ignore the device, and how many watch the device in any case.
    ignoring: u32,
    attentive: u32,
    device: DeviceCounters,
    /// The device's current MTU in bytes.
    mtu: u32,
    /// The number of datagrams that were rejected for an alarming reason at the last check, and the
    /// time of that check.
    rejected: (u64, Time),
    /// When the peers' meters were last read.
    measured: Time,
}

/// What the daemon knows about a peer in addition to the endpoint's state.
struct PeerState {
    id: PeerId,
    public: PublicKey,
    name: String,
    /// Whether the peer was removed by a new configuration. The position of a peer in the list is that of its
    /// [`PeerId`], so a removed peer stays in the list.
    removed: bool,
    /// The rates of inner packets to and from the peer.
    meter: Meter,
    /// The host name to resolve; None for a peer with an address or without an endpoint.
    lookup: Option<HostPort>,
    /// When to start the next look-up; None: no look-up is needed.
    next_lookup: Option<Time>,
    /// When the session began; None: there is no session.
    connected: Option<Time>,
    silent: bool,
    unreachable: bool,
    restarts: u64,
    /// Largest inner packet to the peer, in bytes; None until the endpoint reports it.
    mtu: Option<u32>,
    /// Number and bytes of inner packets received from the peer.
    received: (u64, u64),
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
    ) -> Result<PacketLoop, DaemonError> {
        let udp = match config.listen {
            Listen::Everywhere(port) => Udp::bind_any(port).map_err(DaemonError::system(format!(
                "listening on UDP port {port} (to use another port, set `port` in [interface])"
            )))?,
            Listen::At(address) => {
                Udp::bind(address).map_err(DaemonError::system(format!("listening on UDP {address}")))?
            }
        };
        let mtu = device_mtu(config, config.tunnel.inner_mtu());
        let tun = open_device(config, namespace, mtu)?;
        let joiner = Joiner::new(tun.offload().0, tun.offload().1);
        tun.set_nonblocking(true).map_err(DaemonError::system("making the device non-blocking"))?;
        routes::install(config, namespace, tun.name());
        let now = shared.worker.now();
        let secure = SecureConfig { wall_clock: wall_clock(now), ..SecureConfig::default() };
        let settings = EndpointConfig { tunnel: config.tunnel.clone(), secure, ..EndpointConfig::default() };
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
            if address.is_some_and(|address| !udp.reaches(&address)) {
                tracing::warn!(peer = %peer.name, "no datagram can reach the peer: its address and this host's socket have different address families; change `endpoint` or `listen`");
            }
            let lookup = peer.endpoint.clone().filter(|_| address.is_none());
            peers.push(PeerState::new(id, peer, lookup, now));
        }
        Ok(PacketLoop {
            shared,
            config: config.clone(),
            endpoint,
            tun,
            udp,
            batch: DatagramBatch::default(),
            blocked: false,
            receive_buffers: ReceiveBuffers::default(),
            scratch: vec![0; READ_ROOM],
            delivered: Vec::with_capacity(DELIVERED),
            joiner,
            lookups: peers.iter().enumerate().filter_map(|(i, peer)| Some((peer.next_lookup?, i))).collect(),
            peers,
            resolver,
            moderation: Moderation::new(now),
            turns: 0,
            pauses: 0,
            ignoring: 0,
            attentive: 0,
            device: DeviceCounters::default(),
            mtu,
            rejected: (0, now),
            measured: now,
        })
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
            Err(_) => Some("the packet thread panicked; the message is on stderr".to_owned()),
        };
        let snapshot = catch_unwind(AssertUnwindSafe(|| self.snapshot())).ok();
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
                more |= self.read_datagrams(now)?;
            }
            if readable.device {
                more |= self.read_device(now)?;
            }
            self.resolve_names(now);
            self.warn_of_rejected(now);
            self.measure(now);
            self.reload(now);
            let delivered = self.drain();
            if self.shared.worker.is_stopped() {
                self.endpoint.close();
                self.drain();
                return Ok(());
            }
            self.shared.worker.answer(|| self.snapshot());
            readable = match delivered {
                true => Readable { device: true, socket: more },
                false => self.wait_for_input(more)?,
            };
        }
    }

    /// Waits for the next turn. Returns what is readable.
    fn wait_for_input(&mut self, more: bool) -> io::Result<Readable> {
        let now = self.shared.worker.now();
        let endpoint = &mut self.endpoint;
        let pause = self.moderation.pause(now, || endpoint.take_shortest_rtt()).filter(|_| !more && !self.blocked);
        let wanted = match self.blocked {
            true => PollFlags::POLLIN | PollFlags::POLLOUT,
            false => PollFlags::POLLIN,
        };
        let mut files = [
            PollFd::new(self.shared.worker.wakeup().as_fd(), PollFlags::POLLIN),
            PollFd::new(self.tun.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.udp.as_fd(), wanted),
        ];
        let watches_device = self.ignoring == 0 || self.attentive > 0;
        let (watched, wait) = match pause {
            // A pause ignores the socket, and time-outs may be late by the length of the pause.
            Some(pause) => (if watches_device { 2 } else { 1 }, Some(pause)),
            None => (3, self.wait(now, more)),
        };
        match ppoll(&mut files[..watched], wait.map(TimeSpec::from), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let [wakeup, device, socket] = files.map(|file| file.revents().unwrap_or(PollFlags::empty()));
        if !wakeup.is_empty() {
            self.shared.worker.clear_wakeup();
        }
        if pause.is_none() {
            return Ok(Readable { device: !device.is_empty(), socket: socket.intersects(!PollFlags::POLLOUT) });
        }
        self.pauses += 1;
        let readable = Readable { device: !watches_device || !device.is_empty(), socket: true };
        self.ignoring = if device.is_empty() { self.ignoring.saturating_sub(1) } else { IGNORING };
        self.attentive = self.attentive.saturating_sub(1);
        Ok(readable)
    }

    /// Reads datagrams from peers. Returns whether there may be more.
    fn read_datagrams(&mut self, now: Time) -> io::Result<bool> {
        for _ in 0..MAX_READS {
            let endpoint = &mut self.endpoint;
            let result = self.udp.receive(&mut self.receive_buffers, |from, datagram, ce| {
                endpoint.handle_datagram(now, from, datagram, ce);
            });
            match result {
                Ok(received) => {
                    self.moderation.count(received.datagrams);
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
            let (endpoint, device) = (&mut self.endpoint, &mut self.device);
            let before = device.packets_in;
            let result = self.tun.read_packets(&mut self.scratch, |parts| {
                device.packets_in += 1;
                device.bytes_in += parts.iter().map(|part| part.len() as u64).sum::<u64>();
                endpoint.handle_inner_parts(now, parts);
            });
            self.moderation.count((device.packets_in - before) as usize);
            match result {
                Ok(len) => {
                    device.reads += 1;
                    unsent += len;
                }
                Err(error) => match (error.kind(), error.raw_os_error()) {
                    (io::ErrorKind::WouldBlock, _) => return Ok(false),
                    // The device was removed.
                    (_, Some(libc::EBADF | libc::EBADFD | libc::ENODEV)) => return Err(error),
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

    /// Sends and delivers all outputs of the endpoint. Returns whether packets were delivered.
    fn drain(&mut self) -> bool {
        self.transmit();
        let delivered = self.deliver();
        while let Some(event) = self.endpoint.poll_event() {
            self.handle_event(event);
        }
        delivered
    }

    fn transmit(&mut self) {
        self.blocked = self.blocked && self.udp.send(&mut self.batch) == SendOutcome::Blocked;
        let mut now = self.shared.worker.now();
        while !self.blocked {
            let Some(out) = self.endpoint.poll_transmit(now, self.batch.room()) else { break };
            if !self.batch.push(out.to, out.len, out.ect, self.udp.segments()) {
                self.blocked = self.udp.send(&mut self.batch) == SendOutcome::Blocked;
                now = self.shared.worker.now();
            }
        }
        while !self.blocked && !self.batch.is_empty() {
            self.blocked = self.udp.send(&mut self.batch) == SendOutcome::Blocked;
        }
    }

    /// Writes to the device all packets that came through the tunnel. Returns whether there were any.
    fn deliver(&mut self) -> bool {
        let before = self.device.packets_out;
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
                return self.device.packets_out > before;
            }
            self.device.packets_out += self.delivered.len() as u64;
            let (batch, device, tun) = (&self.delivered, &mut self.device, &self.tun);
            self.joiner.join(batch.iter().map(|one| (one.meta.flow, inner_packet(one))));
            self.joiner.each(
                |index| batch.get(index).map_or(&[], inner_packet),
                |parts| {
                    device.writes += 1;
                    if let Err(error) = tun.write_parts(parts) {
                        tracing::debug!(%error, "the device refused a packet");
                        device.write_errors += 1;
                    }
                },
            );
            self.delivered.clear();
        }
    }

    /// Sets the device's MTU to the largest of the peers' known inner MTUs, so that no peer can shrink the packets to
    /// the others. The endpoint drops a packet that is too long for its peer, and tells the packet's sender the peer's
    /// MTU. While no inner MTU is known, the configured MTU is used. A device with an IPv6 address gets at least 1280
    /// bytes.
    fn update_device_mtu(&mut self) {
        let largest = self.peers.iter().filter(|peer| !peer.removed).filter_map(|peer| peer.mtu).max();
        let mtu = device_mtu(&self.config, largest.unwrap_or_else(|| self.config.tunnel.inner_mtu()));
        if mtu == self.mtu {
            return;
        }
        match self.tun.set_mtu(mtu.min(65_535) as u16) {
            Ok(()) => {
                self.mtu = mtu;
                self.device.mtu_changes += 1;
            }
            Err(error) => tracing::warn!(%error, mtu, "could not set the device's MTU"),
        }
    }

    /// Starts the look-ups of peers' names that are due, and uses the answers that have come.
    fn resolve_names(&mut self, now: Time) {
        while let Some((at, index)) = self.lookups.first().copied()
            && at <= now
        {
            self.schedule_lookup(index, Some(now + RESOLVE_INTERVAL));
            if let Some(name) = self.peers.get(index).and_then(|peer| peer.lookup.as_ref()) {
                self.resolver.ask(index, name);
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
                        tracing::warn!(peer = %peer.name, "the peer's name has no address that this host can reach");
                        continue;
                    };
                    if known != Some(to) {
                        tracing::info!(peer = %peer.name, %to, "resolved the peer's name");
                        routes::check(&self.config, to.ip());
                    }
                    self.endpoint.set_endpoint(now, peer.id, to);
                    if !peer.unreachable {
                        self.schedule_lookup(answer.peer, None);
                    }
                }
                Err(error) => {
                    tracing::warn!(peer = %peer.name, %error, "the peer's name could not be resolved; trying again later")
                }
            }
        }
    }

    /// Sets when to look up the name of the peer with this index; None: no look-up is needed.
    fn schedule_lookup(&mut self, index: usize, at: Option<Time>) {
        let Some(peer) = self.peers.get_mut(index) else { return };
        let at = at.filter(|_| peer.lookup.is_some());
        if let Some(before) = std::mem::replace(&mut peer.next_lookup, at) {
            self.lookups.remove(&(before, index));
        }
        self.lookups.extend(at.map(|at| (at, index)));
    }

    /// Logs that datagrams were rejected for an alarming reason, at most once per
    /// [`REJECTED_LOG_INTERVAL`].
    fn warn_of_rejected(&mut self, now: Time) {
        if now.since(self.rejected.1) >= REJECTED_LOG_INTERVAL {
            let rejected = alarming(&self.endpoint.secure_counters().rejected);
            if rejected > self.rejected.0 {
                tracing::warn!(
                    datagrams = rejected - self.rejected.0,
                    "datagrams were rejected; `ripstop status --json` counts them by reason"
                );
            }
            self.rejected = (rejected, now);
        }
    }

    /// How long to wait for the next event; None: wait until a descriptor is readable.
    fn wait(&self, now: Time, more: bool) -> Option<Duration> {
        let lookup = self.lookups.first().map(|(at, _)| *at);
        let due = [self.endpoint.poll_timeout(), lookup].into_iter().flatten().min();
        wait(more, self.blocked, due.map(|at| at.since(now)))
    }
}

impl PeerState {
    fn new(id: PeerId, settings: &PeerSettings, lookup: Option<HostPort>, now: Time) -> PeerState {
        PeerState {
            id,
            public: settings.public,
            name: settings.name.clone(),
            removed: false,
            meter: Meter::new(now),
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

/// The wall clock (UTC since 1970) at the time zero of the thread's clock, on which it is `now`.
fn wall_clock(now: Time) -> Duration {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    wall.saturating_sub(now.since(Time::ZERO))
}

/// How many datagrams were rejected for a reason that an operator should know. Datagrams of former
/// sessions, copies and late answers are normal after a restart, and on paths that duplicate.
fn alarming(rejected: &[u64; Rejected::NAMES.len()]) -> u64 {
    const NORMAL: [&str; 6] = ["no_session", "replayed", "too_old", "expired", "handshake_replayed", "unsolicited"];
    let named = Rejected::NAMES.iter().zip(rejected);
    named.filter(|(name, _)| !NORMAL.contains(name)).map(|(_, count)| count).sum()
}

/// How long to wait; None: there is no time limit. `due` is the time until the next time-out. If there may be `more`
/// data to read, there is no wait. While the socket is blocked, no datagrams are taken from the endpoint, so the
/// endpoint's time-out may lie in the past. The wait then lasts at least [`MIN_BLOCKED_WAIT`], so timers may be late by
/// that time. The wait ends early when the socket becomes writable.
fn wait(more: bool, blocked: bool, due: Option<Duration>) -> Option<Duration> {
    match due {
        _ if more => Some(Duration::ZERO),
        Some(due) if blocked => Some(due.max(MIN_BLOCKED_WAIT)),
        due => due,
    }
}

/// The device, with offload if the kernel supports offload.
fn open_device(config: &DaemonConfig, namespace: &Namespace, mtu: u32) -> Result<Tun, TunError> {
    let wanted = TunConfig {
        name: Some(config.name.clone()),
        addresses: config.addresses.clone(),
        mtu: mtu.min(65_535) as u16,
        offload: true,
        queue_packets: DEVICE_QUEUE_PACKETS,
    };
    Tun::open(namespace, &wanted).or_else(|error| match error {
        TunError::System { .. } => Tun::open(namespace, &TunConfig { offload: false, ..wanted }).map_err(|_| error),
        other => Err(other),
    })
}

/// The device's MTU when the largest inner packet has `inner` bytes.
fn device_mtu(config: &DaemonConfig, inner: u32) -> u32 {
    let has_v6 = config.addresses.iter().any(|address| matches!(address, ipnet::IpNet::V6(_)));
    if has_v6 { inner.max(MIN_IPV6_MTU) } else { inner }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordinary_restart_raises_no_alarm() {
        let of = |reason: Rejected| {
            let mut rejected = [0; Rejected::NAMES.len()];
            rejected[reason.index()] = 3;
            alarming(&rejected)
        };
        let normal = [Rejected::NoSession, Rejected::Replayed(1), Rejected::Expired, Rejected::Unsolicited];
        assert_eq!(normal.map(of), [0; 4]);
        assert_eq!([Rejected::Forged, Rejected::Mac1, Rejected::CookieDemanded].map(of), [3; 3]);
    }

    #[test]
    fn a_blocked_socket_limits_the_wait() {
        let (now, soon) = (Some(Duration::ZERO), Some(Duration::from_secs(1)));
        assert_eq!(wait(false, false, now), now);
        assert_eq!(wait(false, true, now), Some(MIN_BLOCKED_WAIT));
        assert_eq!((wait(false, true, soon), wait(true, true, soon)), (soon, now));
        assert_eq!((wait(false, true, None), wait(true, false, None)), (None, now));
    }
}
