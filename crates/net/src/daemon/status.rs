//! What a daemon tells about itself: one snapshot for `ripstop status`, metrics and tests.

use crate::os::udp::UdpCounters;
use ripstop_proto::endpoint::{EndpointCounters, PeerStatus as EndpointPeer};
use ripstop_proto::secure::{Counters as SecureCounters, Rejected};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A name that the program knows, or that another program told.
type Name = Cow<'static, str>;

/// The state of a daemon at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Version of the program.
    pub version: Name,
    /// The tunnel's device.
    pub interface: InterfaceStatus,
    /// The peers, in the order of the configuration.
    pub peers: Vec<PeerStatus>,
    /// What the UDP socket did.
    pub udp: UdpCounters,
    /// What the device did.
    pub device: DeviceCounters,
    /// What happened to packets that belong to no peer, and to handshakes.
    pub totals: Totals,
    /// Datagrams that were dropped before they reached a session, by reason.
    pub rejected: BTreeMap<Name, u64>,
}

/// The tunnel's device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InterfaceStatus {
    /// Its name.
    pub name: String,
    /// Public key of this end.
    pub public_key: String,
    /// UDP port that it listens on.
    pub port: u16,
    /// Largest inner packet, bytes.
    pub mtu_bytes: u32,
    /// Since the start.
    pub uptime_s: f64,
    /// CPU time of the thread that moves packets.
    pub cpu_s: f64,
    /// Whether the kernel exchanges large TCP segments with the device.
    pub tcp_offload: bool,
    /// Datagrams that one system call may send.
    pub udp_segments: usize,
}

/// What the device did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Reads that brought something.
    pub reads: u64,
    /// Packets read, large segments cut.
    pub packets_in: u64,
    /// Bytes of them.
    pub bytes_in: u64,
    /// Reads that failed otherwise than for want of packets.
    pub read_errors: u64,
    /// Packets written.
    pub packets_out: u64,
    /// Bytes of them.
    pub bytes_out: u64,
    /// Times that the kernel refused a packet of a batch.
    pub write_errors: u64,
    /// Times that the MTU was set anew.
    pub mtu_changes: u64,
}

/// What belongs to no one peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets from the inside that are no IP packets.
    pub inner_malformed: u64,
    /// Packets from the inside to where no peer is.
    pub inner_no_route: u64,
    /// TCP SYNs made to offer segments that fit.
    pub mss_clamped: u64,
    /// Packets from a peer with a source that is not among its allowed IPs.
    pub wrong_source: u64,
    /// Authentic datagrams with a malformed body.
    pub body_malformed: u64,
    /// Datagrams that could not be written or sealed.
    pub unsendable: u64,
    /// Handshakes started.
    pub handshakes_started: u64,
    /// Calls repeated because nobody answered.
    pub handshakes_repeated: u64,
    /// Handshakes answered.
    pub handshakes_answered: u64,
    /// Handshakes completed, in either role.
    pub handshakes_completed: u64,
    /// Of these, keys renewed.
    pub keys_renewed: u64,
    /// Peers that moved to another address.
    pub roamed: u64,
}

/// A peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PeerStatus {
    /// Its name, or its public key where it has none.
    pub name: String,
    /// Its public key.
    pub public_key: String,
    /// Where it is; null when that is not known yet.
    pub endpoint: Option<String>,
    /// Whether there is a session with it, which it has not closed.
    pub connected: bool,
    /// How long there has been a session; null when there is none.
    pub connected_s: Option<f64>,
    /// Whether nothing was heard from it of late although something was sent.
    pub silent: bool,
    /// Whether it has not answered for long, and is called again and again.
    pub unreachable: bool,
    /// Sessions begun.
    pub sessions: u64,
    /// Times that it restarted.
    pub restarts: u64,
    /// Largest inner packet to it, bytes.
    pub mtu_bytes: u32,
    /// Inner packets and bytes from it.
    pub inner_received: u64,
    /// Their bytes.
    pub inner_received_bytes: u64,
    /// Packets that wait for a session.
    pub waiting: u64,
    /// Packets that waited for a session in vain.
    pub waited_in_vain: u64,
    /// Symbols under way in sessions that ended by a restart.
    pub lost_in_restarts: u64,
    /// The session; null when there is none.
    pub session: Option<SessionStatus>,
}

/// A session with a peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Smoothed round-trip time.
    pub srtt_s: f64,
    /// Smallest round-trip time of late.
    pub min_rtt_s: f64,
    /// State of the rate controller.
    pub state: Name,
    /// Estimated rate of the bottleneck.
    pub bandwidth_bps: f64,
    /// Rate of sending.
    pub pacing_rate_bps: f64,
    /// Queueing delay on the path, of late.
    pub path_queue_s: f64,
    /// Estimated loss towards the peer, all causes.
    pub loss_to_peer: f64,
    /// Share of the peer's source symbols that did not arrive by themselves; null before there are any.
    pub loss_from_peer: Option<f64>,
    /// Delays that looked like a queue on the path, did not shrink while less was sent, and were taken for its own.
    pub delays_accepted: u64,
    /// Loss that is the path's own, not congestion.
    pub erasure_floor: f64,
    /// Mean length of a burst of losses towards the peer, packets.
    pub mean_burst_packets: f64,
    /// Repair bytes sent per source byte; null before there are any.
    pub overhead: Option<f64>,
    /// Packets that wait on the way in.
    pub queue_packets: u64,
    /// Their bytes.
    pub queue_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Their bytes, IP and UDP headers included.
    pub bytes_sent: u64,
    /// Source symbols sent.
    pub sources_sent: u64,
    /// Datagrams towards the peer that were lost.
    pub datagrams_lost: u64,
    /// Datagrams taken for lost that arrived after all.
    pub datagrams_late: u64,
    /// Probes sent because the last datagrams had no report for a little more than a round trip.
    pub tail_probes: u64,
    /// Times that everything in flight was given up because nothing was heard.
    pub silences: u64,
    /// Repairs sent, by purpose.
    pub repairs_sent: BTreeMap<Name, u64>,
    /// Repairs sent ahead for bulk that brought the peer nothing new: bytes wasted on safety.
    pub repairs_wasted: u64,
    /// Packets that the way in dropped, by reason.
    pub queue_drops: BTreeMap<Name, u64>,
    /// Symbols the sending half gave up.
    pub given_up_sending: u64,
    /// Datagrams received, each number once.
    pub datagrams_received: u64,
    /// Source symbols received as they are.
    pub sources_received: u64,
    /// Source symbols recovered from repairs.
    pub recovered: u64,
    /// Repairs received.
    pub repairs_received: u64,
    /// Repairs received that brought nothing new.
    pub redundant: u64,
    /// Repairs over more missing symbols than are brought back together: after a loss of very many.
    pub repairs_wide: u64,
    /// Repairs for which there was no room with those that wait: so many wait for one another.
    pub repairs_full: u64,
    /// Symbols received that were of no use: too far ahead, or repairs of what is no longer held.
    pub unusable: u64,
    /// Symbols the receiving half gave up.
    pub given_up: u64,
    /// Packets delivered in order.
    pub delivered: u64,
}

impl PeerStatus {
    /// Takes over what the endpoint says about the peer.
    pub(super) fn take(&mut self, peer: &EndpointPeer) {
        self.endpoint = peer.endpoint.map(|address| address.to_string());
        self.sessions = peer.sessions;
        self.mtu_bytes = peer.inner_mtu;
        self.waiting = peer.waiting as u64;
        self.waited_in_vain = peer.waited_in_vain;
        self.lost_in_restarts = peer.lost_in_restarts;
        self.session = peer.tunnel.as_ref().map(SessionStatus::of);
    }
}

impl SessionStatus {
    fn of(status: &ripstop_proto::session::tunnel::Status) -> SessionStatus {
        let (sent, received) = (&status.sent, &status.received);
        let absent = received.recovered + received.given_up;
        SessionStatus {
            srtt_s: status.srtt.as_secs_f64(),
            min_rtt_s: status.path.min_rtt,
            state: status.path.state.into(),
            bandwidth_bps: 8.0 * status.path.bandwidth,
            pacing_rate_bps: 8.0 * status.pacing_rate,
            path_queue_s: status.path.queue,
            loss_to_peer: status.loss,
            loss_from_peer: ratio(absent, absent + received.sources),
            delays_accepted: status.path.delays_accepted,
            erasure_floor: status.path.erasure_floor,
            mean_burst_packets: status.mean_burst,
            overhead: ratio(sent.repair_bytes, sent.source_bytes),
            queue_packets: status.backlog.0 as u64,
            queue_bytes: status.backlog.1 as u64,
            in_flight_bytes: status.in_flight,
            datagrams_sent: sent.datagrams,
            bytes_sent: sent.bytes,
            sources_sent: sent.sources,
            datagrams_lost: status.settled.1,
            datagrams_late: status.spurious,
            tail_probes: sent.tail_probes,
            silences: sent.silences,
            repairs_sent: BTreeMap::from([
                ("exact".into(), status.repairs.exact),
                ("bulk".into(), status.repairs.bulk),
                ("interactive".into(), status.repairs.interactive),
            ]),
            repairs_wasted: sent.peer_redundant,
            queue_drops: BTreeMap::from([
                ("full".into(), status.drops.full),
                ("aqm".into(), status.drops.aqm),
                ("expired".into(), status.drops.expired),
                ("too_long".into(), sent.too_long),
            ]),
            given_up_sending: status.given_up,
            datagrams_received: received.datagrams,
            sources_received: received.sources,
            recovered: received.recovered,
            repairs_received: received.repairs,
            redundant: received.redundant,
            repairs_wide: received.wide,
            repairs_full: received.full,
            unusable: received.unusable,
            given_up: received.given_up,
            delivered: status.order.delivered,
        }
    }
}

impl Totals {
    pub(super) fn of(endpoint: &EndpointCounters, secure: &SecureCounters) -> Totals {
        Totals {
            inner_malformed: endpoint.inner_malformed,
            inner_no_route: endpoint.inner_no_route,
            mss_clamped: endpoint.mss_clamped,
            wrong_source: endpoint.wrong_source,
            body_malformed: endpoint.body_malformed,
            unsendable: endpoint.unsendable,
            handshakes_started: secure.initiations,
            handshakes_repeated: secure.initiations_repeated,
            handshakes_answered: secure.responses,
            handshakes_completed: secure.established,
            keys_renewed: secure.renewed,
            roamed: secure.roamed,
        }
    }
}

/// Rejected datagrams by the names of their reasons.
pub(super) fn rejected(secure: &SecureCounters) -> BTreeMap<Name, u64> {
    Rejected::NAMES.into_iter().map(Name::from).zip(secure.rejected).collect()
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
