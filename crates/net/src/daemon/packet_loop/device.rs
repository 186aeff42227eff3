//! The network device: opens it and sets its MTU.

use super::PacketLoop;
use crate::daemon::config::{DaemonConfig, MIN_IPV6_MTU};
use crate::os::netns::Namespace;
use crate::os::tun::{Tun, TunConfig, TunError};

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
        match self.tun.set_mtu(mtu.min(65_535) as u16) {
            Ok(()) => {
                self.mtu = mtu;
                self.device.mtu_changes += 1;
            }
            Err(error) => tracing::warn!(%error, mtu, "could not set the device's MTU"),
        }
    }
}

/// The device, with offload if the kernel supports offload.
pub(super) fn open_device(config: &DaemonConfig, namespace: &Namespace, mtu: u32) -> Result<Tun, TunError> {
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
pub(super) fn device_mtu(config: &DaemonConfig, inner: u32) -> u32 {
    let has_v6 = config.addresses.iter().any(|address| matches!(address, ipnet::IpNet::V6(_)));
    if has_v6 { inner.max(MIN_IPV6_MTU) } else { inner }
}
