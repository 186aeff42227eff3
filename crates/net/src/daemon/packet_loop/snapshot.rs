//! Snapshots of the packet thread's state.

use super::super::status::{self, DaemonPeerStatus, DaemonStatus, InterfaceStatus, Totals};
use super::device::Device;
use super::meter::sent_bytes;
use super::{PacketLoop, PeerState};
use nix::time::{ClockId, clock_gettime};
use ripstop_base::Time;
use ripstop_proto::packets::early_acks::EarlyAckCounts;
use std::time::Duration;

impl PacketLoop {
    pub(super) fn snapshot(&self) -> DaemonStatus {
        let now = self.shared.worker.now();
        let secure = self.endpoint.secure_counters();
        let (udp, device) = (&self.network.udp, self.device.as_ref());
        let tun = device.map(Device::tun);
        DaemonStatus {
            version: env!("CARGO_PKG_VERSION").into(),
            interface: InterfaceStatus {
                name: tun.map(|tun| tun.name().to_owned()).unwrap_or_default(),
                public_key: self.endpoint.public().to_string(),
                port: udp.local_addr().map_or(0, |address| address.port()),
                mtu_bytes: device.map_or(0, Device::mtu),
                uptime_s: now.since(Time::ZERO).as_secs_f64(),
                cpu_s: clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)
                    .map_or(0.0, |spent| Duration::from(spent).as_secs_f64()),
                turns: self.waits.turns,
                pauses: self.waits.pauses,
                tcp_offload: tun.is_some_and(|tun| tun.offload().0),
                udp_segments: udp.segments(),
                memory_bytes: self.endpoint.memory() as u64,
            },
            peers: self.peers.iter().filter(|peer| !peer.removed).map(|peer| self.peer(peer, now)).collect(),
            udp: self.network.counters(),
            device: device.map(Device::status).unwrap_or_default(),
            totals: Totals {
                endpoint: self.endpoint.counters(),
                secure: secure.clone(),
                addresses: secure.addresses,
                packet_loop: self.counters,
                lookups: self.lookups.counts(),
            },
            rejected: status::rejected(udp, &self.endpoint.counters(), secure),
            log_lines_lost: crate::log::lost_lines(),
        }
    }

    fn peer(&self, peer: &PeerState, now: Time) -> DaemonPeerStatus {
        let (sending_bps, receiving_bps) =
            peer.meter.rates(now, sent_bytes(&self.endpoint, peer), peer.counts.received_bytes);
        let connected = peer.connected.filter(|_| !peer.unreachable);
        let mut status = DaemonPeerStatus {
            name: peer.name.clone(),
            public_key: peer.public.to_string(),
            endpoint: None,
            configured_endpoint: peer.configured.as_ref().map(ToString::to_string),
            connected: connected.is_some(),
            connected_s: connected.map(|since| now.since(since).as_secs_f64()),
            last_heard_s: None,
            source_port: None,
            silent: peer.silent && connected.is_some(),
            unreachable: peer.unreachable,
            mtu_bytes: 0,
            sending_bps,
            receiving_bps,
            waiting: 0,
            memory_bytes: 0,
            counts: peer.counts,
            early_acks: EarlyAckCounts::default(),
            session: None,
        };
        if let Some(known) = self.endpoint.peer_status(peer.id) {
            status.take(&known);
            status.source_port = known.endpoint.and_then(|to| self.network.spare_ports.port_of(peer.id, to));
            status.last_heard_s = known.last_heard.map(|at| now.since(at).as_secs_f64());
        }
        status
    }
}
