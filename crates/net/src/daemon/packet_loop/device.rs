//! The TUN device, the front end for IP packets: reads the packets of this host's applications, and writes the packets of
//! peers. Chooses the device's MTU and its routes, and follows the device when it is created again.

use super::moderation::Moderation;
use super::network::Network;
use super::peer_state::PeerState;
use super::sources::Source;
use crate::daemon::DaemonError;
use crate::daemon::config::{DaemonConfig, MIN_IPV6_MTU};
use crate::daemon::keeper::{Keeper, KeeperShared};
use crate::daemon::routes::{WantedRoutes, prefix_of};
use crate::daemon::status::{DeviceCounters, DeviceStatus};
use crate::log::{Admitted, LineLimit};
use crate::os::epoll::{Interest, Reactor, Registration, Urgency};
use crate::os::netns::Namespace;
use crate::os::offload::join::Joiner;
use crate::os::tun::{READ_ROOM, Tun, TunConfig, TunError};
use ipnet::IpNet;
use nix::sys::eventfd::EventFd;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_proto::endpoint::{Endpoint, inner_packet};
use ripstop_proto::packets::{Delivered, Order};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// Length of the device's queue in packets: the number of packets that applications may send while
/// this process is not scheduled. 2000 packets of 1436 bytes last 23 ms at 1 Gbit/s. A shorter
/// queue drops packets of fast senders. A longer queue hides a backlog from the tunnel's queues,
/// which have active queue management (AQM).
const DEVICE_QUEUE_PACKETS: u32 = 2_000;
/// The largest number of read calls in one turn. A call brings up to 64 KB. Twice the value doubles the longest time that
/// a packet waits for the rest of its turn. Half the value makes twice as many turns while much data waits. With little
/// traffic the value has no effect: after one or two calls, nothing more can be read.
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

/// The device and what belongs to it.
pub(in crate::daemon) struct Device {
    tun: Tun,
    registration: Registration,
    /// Whether the device was removed, and the keeper has not created it again yet.
    is_gone: bool,
    /// Room for the data of one read from the device.
    scratch: Vec<u8>,
    /// Packets to be written to the device.
    delivered: Vec<Delivered<Symbol>>,
    joiner: Joiner,
    counters: DeviceCounters,
    /// The limit of lines about packets that the device refused.
    refusals: LineLimit,
    /// The device's wanted MTU in bytes.
    mtu: u32,
    /// Keeps the device and its routes as they are wanted.
    keeper: Arc<KeeperShared>,
    /// The routes into the device.
    routes: WantedRoutes,
    /// The prefixes among them whose routes the kernel refuses.
    refused_routes: BTreeSet<IpNet>,
}

/// What the packets were that a turn has written to the device.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Written {
    /// Whether there was one.
    pub(super) any: bool,
    /// Whether one may be a request of an application: it was shorter than [`SHORT`].
    pub(super) short: bool,
}

impl Device {
    /// Creates the device and sets its routes. The keeper wakes the packet thread by `wakeup`.
    pub(in crate::daemon) fn open(
        config: &DaemonConfig,
        namespace: &Namespace,
        wakeup: Arc<EventFd>,
        reactor: &mut Reactor,
    ) -> Result<(Device, Keeper), DaemonError> {
        let mtu = device_mtu(config, config.tunnel.inner_mtu());
        let tun = open_device(config, namespace, mtu)?;
        let joiner = Joiner::new(tun.offload().0, tun.offload().1);
        tun.set_nonblocking(true).map_err(DaemonError::system("making the device non-blocking"))?;
        let registration = register(&tun, reactor).map_err(DaemonError::system("watching the device"))?;
        let routes = WantedRoutes::of(config, []);
        routes.warn_of_new(&WantedRoutes::default());
        routes.warn_of_servers(config);
        let keeper = Keeper::prepare(config, namespace, &tun, mtu, routes.clone(), wakeup)
            .map_err(DaemonError::system("reading the kernel's devices and routes"))?;
        let device = Device {
            tun,
            registration,
            is_gone: false,
            scratch: vec![0; READ_ROOM],
            delivered: Vec::with_capacity(DELIVERED),
            joiner,
            counters: DeviceCounters::default(),
            refusals: LineLimit::default(),
            mtu,
            keeper: keeper.shared().clone(),
            routes,
            refused_routes: BTreeSet::new(),
        };
        Ok((device, keeper))
    }

    /// The device itself.
    pub(super) fn tun(&self) -> &Tun {
        &self.tun
    }

    /// Makes the reactor report packets of the device while they can be read. A removed device reports an error for ever.
    pub(super) fn watch(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        let interest = Interest { read: !self.is_gone, write: false };
        reactor.set_interest(&self.tun, &mut self.registration, interest)
    }

    /// Stops to read the device: the daemon ends.
    pub(super) fn stop_reading(&mut self, reactor: &mut Reactor) -> io::Result<()> {
        reactor.set_interest(&self.tun, &mut self.registration, Interest::NONE)
    }

    /// The device's wanted MTU, in bytes.
    pub(super) fn mtu(&self) -> u32 {
        self.mtu
    }

    /// The counters, with those of the keeper.
    pub(super) fn status(&self) -> DeviceStatus {
        DeviceStatus { packets: self.counters, restored: self.keeper.counters() }
    }

    /// Ends the keeper, before the device is closed.
    pub(super) fn end(&self) {
        self.keeper.end();
    }

    /// Reads packets from the device, and sends what may leave. Returns whether there may be more to read.
    pub(super) fn read(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        network: &mut Network,
        moderation: &mut Moderation,
    ) -> bool {
        let mut unsent = 0;
        for _ in 0..MAX_READS {
            if self.is_gone {
                return false;
            }
            let device = &mut self.counters;
            let before = (device.packets_in, device.bytes_in);
            let result = self.tun.read_packets(&mut self.scratch, |parts| {
                device.packets_in += 1;
                device.bytes_in += parts.iter().map(|part| part.len() as u64).sum::<u64>();
                endpoint.handle_inner_parts(now, parts);
            });
            moderation.count(device.packets_in - before.0, device.bytes_in - before.1);
            match result {
                Ok(len) => {
                    device.reads += 1;
                    unsent += len;
                }
                Err(error) => match (error.kind(), error.raw_os_error()) {
                    (io::ErrorKind::WouldBlock, _) => return false,
                    (_, Some(libc::EBADF | libc::EBADFD | libc::ENODEV)) => self.note_gone(),
                    // The device is down, or a segment could not be cut into packets. The next read
                    // may succeed.
                    _ => {
                        device.read_errors += 1;
                        return false;
                    }
                },
            }
            if unsent >= SEND_AFTER {
                unsent = 0;
                network.transmit(endpoint);
            }
        }
        true
    }

    /// Writes to the device the packets that came through the tunnel. The endpoint returns at most
    /// [`TURN_PACKETS`](ripstop_proto::endpoint::TURN_PACKETS) of each peer in one turn.
    pub(super) fn write(&mut self, endpoint: &mut Endpoint, peers: &mut [PeerState]) -> Written {
        let mut written = Written::default();
        loop {
            while self.delivered.len() < DELIVERED {
                let Some((peer, delivered)) = endpoint.poll_deliver() else { break };
                let len = inner_packet(&delivered).len() as u64;
                self.counters.bytes_out += len;
                written.short |= delivered.meta.order == Order::InOrder && len < SHORT;
                if let Some(peer) = peers.get_mut(peer.index()) {
                    peer.count_received(len);
                }
                self.delivered.push(delivered);
            }
            if self.delivered.is_empty() {
                return written;
            }
            written.any = true;
            self.counters.packets_out += self.delivered.len() as u64;
            let (batch, counters, tun, refusals) = (&self.delivered, &mut self.counters, &self.tun, &mut self.refusals);
            self.joiner.join(batch.iter().map(|one| (one.meta.flow, inner_packet(one))));
            self.joiner.each(
                |index| batch.get(index).map_or(&[], inner_packet),
                |parts| {
                    counters.writes += 1;
                    if let Err(error) = tun.write_parts(parts) {
                        counters.write_errors += 1;
                        if let Some(Admitted { left_out }) = refusals.admit() {
                            tracing::debug!(%error, left_out, "the device refused a packet");
                        }
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
    pub(super) fn update_mtu(&mut self, config: &DaemonConfig, peers: &[PeerState]) {
        let largest = peers.iter().filter(|peer| !peer.removed).filter_map(|peer| peer.mtu).max();
        let mtu = device_mtu(config, largest.unwrap_or_else(|| config.tunnel.inner_mtu()));
        if mtu == self.mtu {
            return;
        }
        self.mtu = mtu;
        self.counters.mtu_changes += 1;
        self.keeper.want_mtu(mtu.min(65_535));
    }

    /// Uses what the keeper has for this thread: a device that was created again, and the routes that the kernel refuses.
    ///
    /// # Errors
    /// The device was removed, and cannot be created again.
    pub(super) fn follow(
        &mut self,
        reactor: &mut Reactor,
        endpoint: &mut Endpoint,
        network: &mut Network,
    ) -> io::Result<()> {
        let Some(news) = self.keeper.news() else { return Ok(()) };
        if let Some(tun) = news.device {
            self.joiner = Joiner::new(tun.offload().0, tun.offload().1);
            network.ignore_device(tun.index());
            let before = std::mem::replace(&mut self.registration, register(&tun, reactor)?);
            // The old device is closed now, whatever the system says.
            let _ = reactor.deregister(&self.tun, before);
            self.tun = tun;
            self.is_gone = false;
            // An MTU that was wanted while the device was missing.
            self.keeper.check();
        }
        if let Some(refused) = news.refused {
            self.refused_routes = refused;
            self.tell_inside(endpoint);
        }
        news.failure.map_or(Ok(()), |failure| Err(io::Error::other(failure)))
    }

    /// Notes that the device was removed. The keeper creates it again.
    fn note_gone(&mut self) {
        self.is_gone = true;
        self.keeper.check();
    }

    /// Chooses the routes into the device, after the configuration has changed. A new prefix may hold the present address of
    /// a peer. No prefix that is routed already holds one.
    pub(super) fn update_routes(&mut self, config: &DaemonConfig, endpoint: &mut Endpoint, peers: &[PeerState]) {
        let hosts = peers.iter().filter_map(|peer| Some(endpoint.peer_address(peer.id)?.ip().to_canonical()));
        let wanted = WantedRoutes::of(config, hosts);
        wanted.warn_of_new(&self.routes);
        if wanted != self.routes {
            wanted.warn_of_servers(config);
            self.routes = wanted;
            self.keeper.want_routes(self.routes.clone());
            self.tell_inside(endpoint);
        }
    }

    /// Tells the endpoint which addresses are reached through the device. A peer cannot have one of them.
    pub(super) fn tell_inside(&self, endpoint: &mut Endpoint) {
        let inside = self.routes.inside().filter(|prefix| !self.refused_routes.contains(prefix));
        endpoint.set_inside(inside.filter_map(|prefix| prefix_of(&prefix)));
    }
}

/// Makes the reactor report packets of the device.
fn register(tun: &Tun, reactor: &mut Reactor) -> io::Result<Registration> {
    reactor.register(tun, Source::Device.token(), Interest::READ, Urgency::Prompt)
}

/// The device, with offload if the kernel supports offload.
pub(in crate::daemon) fn open_device(config: &DaemonConfig, namespace: &Namespace, mtu: u32) -> Result<Tun, TunError> {
    let wanted = TunConfig {
        name: Some(config.name.clone()),
        addresses: config.addresses.clone(),
        mtu: mtu.min(65_535) as u16,
        offload: true,
        queue_packets: DEVICE_QUEUE_PACKETS,
    };
    let tun = Tun::open(namespace, &wanted).or_else(|error| match error {
        TunError::System { .. } => Tun::open(namespace, &TunConfig { offload: false, ..wanted }).map_err(|_| error),
        other => Err(other),
    })?;
    namespace.run(|| forbid_redirects(tun.name()))?;
    Ok(tun)
}

/// Keeps the kernel from sending ICMP redirects to peers whose packets this host forwards to another peer. All peers are
/// behind one device, so the kernel believes that they reach each other directly. The kernel sends redirects if the
/// setting of the device or that of `all` is 1. Other devices have a setting of their own, which stays. If /proc/sys is
/// read-only, this function has no effect.
fn forbid_redirects(device: &str) {
    for scope in [device, "all"] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv4/conf/{scope}/send_redirects"), "0");
    }
}

/// The device's MTU when the largest inner packet has `inner` bytes.
fn device_mtu(config: &DaemonConfig, inner: u32) -> u32 {
    let has_v6 = config.addresses.iter().any(|address| matches!(address, ipnet::IpNet::V6(_)));
    if has_v6 { inner.max(MIN_IPV6_MTU) } else { inner }
}
