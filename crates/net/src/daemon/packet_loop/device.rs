//! The network device: opens it, chooses its MTU and its routes, and follows it when it is created again.

use super::PacketLoop;
use crate::daemon::config::{DaemonConfig, MIN_IPV6_MTU};
use crate::daemon::routes::{WantedRoutes, prefix_of};
use crate::os::netns::Namespace;
use crate::os::offload::join::Joiner;
use crate::os::tun::{Tun, TunConfig, TunError};
use std::io;

/// Length of the device's queue in packets: the number of packets that applications may send while
/// this process is not scheduled. 2000 packets of 1436 bytes last 23 ms at 1 Gbit/s. A shorter
/// queue drops packets of fast senders. A longer queue hides a backlog from the tunnel's queues,
/// which have active queue management (AQM).
const DEVICE_QUEUE_PACKETS: u32 = 2_000;

impl PacketLoop {
    /// Sets the device's MTU to the largest of the peers' known inner MTUs, so that no peer can shrink the packets to
    /// the others. The endpoint drops a packet that is too long for its peer, and tells the packet's sender the peer's
    /// MTU. While no inner MTU is known, the configured MTU is used. A device with an IPv6 address gets at least 1280
    /// bytes.
    pub(super) fn update_device_mtu(&mut self) {
        let largest = self.peers.iter().filter(|peer| !peer.removed).filter_map(|peer| peer.mtu).max();
        let mtu = device_mtu(&self.config, largest.unwrap_or_else(|| self.config.tunnel.inner_mtu()));
        if mtu == self.mtu {
            return;
        }
        self.mtu = mtu;
        self.device.mtu_changes += 1;
        self.keeper.want_mtu(mtu.min(65_535));
    }

    /// Uses what the keeper has for this thread: a device that was created again, and the routes that the kernel refuses.
    ///
    /// # Errors
    /// The device was removed, and cannot be created again.
    pub(super) fn follow_device(&mut self) -> io::Result<()> {
        let Some(news) = self.keeper.news() else { return Ok(()) };
        if let Some(tun) = news.device {
            self.joiner = Joiner::new(tun.offload().0, tun.offload().1);
            self.udp.ignore_device(tun.index());
            self.spare_ports.sockets().for_each(|udp| udp.ignore_device(tun.index()));
            self.tun = tun;
            self.device_gone = false;
            // An MTU that was wanted while the device was missing.
            self.keeper.check();
        }
        if let Some(refused) = news.refused {
            self.refused_routes = refused;
            self.tell_inside();
        }
        news.failure.map_or(Ok(()), |failure| Err(io::Error::other(failure)))
    }

    /// Notes that the device was removed. The keeper creates it again.
    pub(super) fn note_device_gone(&mut self) {
        self.device_gone = true;
        self.keeper.check();
    }

    /// Chooses the routes into the device, after the configuration has changed. A new prefix may hold the present address of
    /// a peer. No prefix that is routed already holds one.
    pub(super) fn update_routes(&mut self) {
        let hosts = self.peers.iter().filter_map(|peer| Some(self.endpoint.peer_address(peer.id)?.ip().to_canonical()));
        let wanted = WantedRoutes::of(&self.config, hosts);
        wanted.warn_of_new(&self.routes);
        if wanted != self.routes {
            wanted.warn_of_servers(&self.config);
            self.routes = wanted;
            self.keeper.want_routes(self.routes.clone());
            self.tell_inside();
        }
    }

    /// Tells the endpoint which addresses are reached through the device. A peer cannot have one of them.
    pub(super) fn tell_inside(&mut self) {
        let inside = self.routes.inside().filter(|prefix| !self.refused_routes.contains(prefix));
        self.endpoint.set_inside(inside.filter_map(|prefix| prefix_of(&prefix)));
    }
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
pub(super) fn device_mtu(config: &DaemonConfig, inner: u32) -> u32 {
    let has_v6 = config.addresses.iter().any(|address| matches!(address, ipnet::IpNet::V6(_)));
    if has_v6 { inner.max(MIN_IPV6_MTU) } else { inner }
}
