//! The daemon's status: one snapshot for `ripstop status`, metrics and tests.
//!
//! An *inner packet* is an IP packet that the tunnel carries. A *source symbol* is an inner packet as it entered the
//! coder. A *repair* is a coded combination of source symbols, from which the peer recovers lost source symbols. In a
//! *report* the peer says which datagrams have arrived and which symbols are missing.

pub use super::keeper::KeeperCounters;
use super::redundancy::RedundancyStatus;
pub use super::resolve::LookupCounters;
use crate::os::udp::{Udp, UdpCounters};
use crate::os::zoned::ZonedAddress;
use ripstop_base::counters;
use ripstop_proto::coding::{CodingCounts, ReceiveCounts, RepairCounts};
use ripstop_proto::endpoint::{EndpointCounters, PeerStatus as EndpointPeer};
use ripstop_proto::packets::early_acks::EarlyAckCounts;
use ripstop_proto::packets::{OrderCounts, PieceCounts, QueueDrops, SupplyCounts};
use ripstop_proto::path::{PathCounts, ReceivedCounts};
use ripstop_proto::secure::{AddressCounters, Rejected, SecureCounters};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A text that is a constant in the daemon. In a status that was read from JSON, the text is an owned string.
pub(super) type Name = Cow<'static, str>;

/// The state of a daemon at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Version of the program.
    pub version: Name,
    /// The tunnel's device.
    pub interface: InterfaceStatus,
    /// The peers, in the order of the configuration. Peers that a new configuration added come last.
    pub peers: Vec<DaemonPeerStatus>,
    /// Counters of the UDP socket.
    pub udp: UdpCounters,
    /// Counters of the device.
    pub device: DeviceStatus,
    /// Counters of packets that belong to no peer, and of handshakes.
    pub totals: Totals,
    /// Datagrams dropped before they reached a session, by reason.
    pub rejected: BTreeMap<Name, u64>,
    /// Log lines lost, because standard error was full, closed or too slow.
    pub log_lines_lost: u64,
}

/// The tunnel's device.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InterfaceStatus {
    /// Name of the device.
    pub name: String,
    /// Public key of this host.
    pub public_key: String,
    /// UDP port that the daemon listens on.
    pub port: u16,
    /// Largest inner packet, in bytes.
    pub mtu_bytes: u32,
    /// Time since the start of the daemon.
    pub uptime_s: f64,
    /// CPU time of the thread that moves the packets.
    pub cpu_s: f64,
    /// Number of times that this thread looked for packets and sent what was due.
    pub turns: u64,
    /// Number of short pauses that this thread made while much traffic flowed, so that a turn moved several packets.
    pub pauses: u64,
    /// Whether the kernel exchanges large TCP segments with the device.
    pub tcp_offload: bool,
    /// How many datagrams one system call may send.
    pub udp_segments: usize,
    /// Memory that the sessions of all peers hold because of packets.
    pub memory_bytes: u64,
}

counters! {
    /// Counters of the device.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct DeviceCounters {
        /// Reads that returned packets.
        pub reads: u64 => ("reads"),
        /// Packets read from the device, counted after large segments were cut.
        pub packets_in: u64 => ("packets_in", "device_in_packets_total"),
        /// Bytes of the packets read from the device.
        pub bytes_in: u64 => ("bytes_in", "device_in_bytes_total"),
        /// Reads that failed, not counting reads that found no packet.
        pub read_errors: u64 => ("read_errors"),
        /// Packets for the device, with those that the kernel refused.
        pub packets_out: u64 => ("packets_out", "device_out_packets_total"),
        /// Bytes of the packets for the device.
        pub bytes_out: u64 => ("bytes_out", "device_out_bytes_total"),
        /// Writes. A write brings one packet, or several packets of a flow as one large segment.
        pub writes: u64 => ("writes"),
        /// Writes that the kernel refused.
        pub write_errors: u64 => ("write_errors", "device_write_errors_total"),
        /// Changes of the device's MTU.
        pub mtu_changes: u64 => ("mtu_changes"),
    }
}

/// Counters of the device, and of what was restored because other programs had changed it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStatus {
    /// The packets.
    #[serde(flatten)]
    pub packets: DeviceCounters,
    /// What was restored.
    #[serde(flatten)]
    pub restored: KeeperCounters,
}

counters! {
    /// Counters of the packet thread.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LoopCounters {
        /// Packets of peers dropped because this daemon has no device.
        pub no_device: u64 => ("inner_no_device", "inner_no_device_total"),
    }
}

/// Counters that belong to no single peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Packets that no peer has or takes.
    #[serde(flatten)]
    pub endpoint: EndpointCounters,
    /// Handshakes.
    #[serde(flatten)]
    pub secure: SecureCounters,
    /// The peers' addresses.
    #[serde(flatten)]
    pub addresses: AddressCounters,
    /// The packet thread.
    #[serde(flatten)]
    pub packet_loop: LoopCounters,
    /// The look-ups of names.
    #[serde(flatten)]
    pub lookups: LookupCounters,
}

counters! {
    /// Counters of a peer, over all its sessions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PeerCounters {
        /// Times that this host changed the source port to the peer, because the peer did not answer.
        pub port_changes: u64 => ("port_changes", "port_changes_total"),
        /// Sessions with the peer so far.
        pub sessions: u64 => ("sessions", "sessions_total"),
        /// Restarts of the peer.
        pub restarts: u64 => ("restarts", "restarts_total"),
        /// Inner packets received from the peer.
        pub received: u64 => ("inner_received", "inner_received_packets_total"),
        /// Bytes of the inner packets received from the peer.
        pub received_bytes: u64 => ("inner_received_bytes", "inner_received_bytes_total"),
        /// Packets dropped because no session came in time.
        pub waited_in_vain: u64 => ("waited_in_vain", "waited_in_vain_total"),
        /// Symbols in flight in sessions that ended because the peer restarted.
        pub lost_in_restarts: u64 => ("lost_in_restarts"),
        /// Work that the packets of all sessions have caused, and the beginnings of the sessions: bytes that were
        /// combined.
        pub work_bytes: u64 => ("work_bytes", "work_bytes_total"),
        /// Repairs and reports dropped because the peer caused more than its fair share of the work.
        pub over_work: u64 => ("over_work", "over_work_total"),
        /// Reports dropped because they came faster than this host had asked for.
        pub unasked_reports: u64 => ("unasked_reports", "unasked_reports_total"),
        /// Times that the session was shrunk because memory was short.
        pub shrunk: u64 => ("shrunk", "shrunk_total"),
    }
}

/// The status of one peer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DaemonPeerStatus {
    /// The peer's name, or its public key if it has no name.
    pub name: String,
    /// The peer's public key.
    pub public_key: String,
    /// The peer's address; null while it is not known.
    pub endpoint: Option<String>,
    /// The endpoint in the configuration; null for a peer without one.
    #[serde(default)]
    pub configured_endpoint: Option<String>,
    /// Whether there is a session that the peer has not closed, and the peer is not unreachable.
    pub connected: bool,
    /// Age of the session; null while `connected` is false.
    pub connected_s: Option<f64>,
    /// Time since the last authentic datagram of the peer; null before the first.
    pub last_heard_s: Option<f64>,
    /// UDP port from which this host sends to the peer, if it is not the port that the daemon listens on; otherwise null.
    pub source_port: Option<u16>,
    /// Whether datagrams were sent to the peer, and the peer has not reported them for a while. False while `connected` is
    /// false.
    pub silent: bool,
    /// Whether the peer has not answered handshakes, or was not heard although it should be.
    pub unreachable: bool,
    /// Largest inner packet to the peer, in bytes.
    pub mtu_bytes: u32,
    /// Recent rate of inner packets sent to the peer.
    pub sending_bps: f64,
    /// Recent rate of inner packets from the peer.
    pub receiving_bps: f64,
    /// Packets that wait for a session.
    pub waiting: u64,
    /// Memory that the session holds because of packets.
    pub memory_bytes: u64,
    /// Counters over all sessions.
    #[serde(flatten)]
    pub counts: PeerCounters,
    /// What early acknowledgements have done for the connections through the peer. All figures are 0 without
    /// `acks = "seen"`.
    pub early_acks: EarlyAckCounts,
    /// The session; null without a session. While the peer is unreachable, these are the last figures of the old session.
    pub session: Option<SessionStatus>,
}

counters! {
    /// What a session knows of the datagrams that it has sent, and what its rate controller has found.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ControlCounts {
        /// Datagrams lost on the way to the peer.
        pub lost: u64 => ("datagrams_lost", "lost_datagrams_total"),
        /// Datagrams to the peer that were longer than the path carries. They do not count as losses of the path.
        pub too_large: u64 => ("datagrams_too_large", "too_large_datagrams_total"),
        /// Datagrams declared lost that arrived later.
        pub late: u64 => ("datagrams_late", "late_datagrams_total"),
        /// Symbols that the sender gave up.
        pub given_up_sending: u64 => ("given_up_sending", "given_up_sending_total"),
        /// Times that a queueing delay did not shrink although less was sent. Such a delay is then counted as a part of
        /// the path's own delay.
        pub delays_accepted: u64 => ("delays_accepted", "delays_accepted_total"),
        /// Times that a clock of one of the hosts jumped: the delay to the peer rose by more than the round trip allows.
        pub clock_jumps: u64 => ("clock_jumps", "clock_jumps_total"),
        /// Times that the tunnel began to compete with other traffic that keeps a queue.
        pub competitions: u64 => ("competitions", "competitions_total"),
        /// Loss tests that found that losses grow with the rate, as behind a policer.
        pub overloads: u64 => ("overloads", "overloads_total"),
        /// Late packets that had been taken for drops of a queue.
        pub forgiven: u64 => ("forgiven", "forgiven_total"),
    }
}

/// The status of a session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SessionStatus {
    /// Smoothed round-trip time.
    pub srtt_s: f64,
    /// Smallest recent round-trip time.
    pub min_rtt_s: f64,
    /// State of the rate controller.
    pub state: Name,
    /// Estimated rate of the bottleneck.
    pub bandwidth_bps: f64,
    /// Rate at which datagrams are sent.
    pub pacing_rate_bps: f64,
    /// Recent queueing delay on the path.
    pub path_queue_s: f64,
    /// Estimated loss rate towards the peer, from all causes.
    pub loss_to_peer: f64,
    /// Share of the peer's source symbols that did not arrive as source symbols; null before the first source symbol.
    pub loss_from_peer: Option<f64>,
    /// Loss rate that the controller attributes to the path, not to congestion.
    pub erasure_floor: f64,
    /// Mean length of a run of losses towards the peer, in packets.
    pub mean_burst_packets: f64,
    /// Repair bytes sent per source byte; null before 200 source symbols were sent, because the first
    /// packets get many repairs.
    pub overhead: Option<f64>,
    /// The present redundancy by direction and class, and why it is this one.
    pub redundancy: RedundancyStatus,
    /// Packets in the send queue.
    pub queue_packets: u64,
    /// Bytes in the send queue.
    pub queue_bytes: u64,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// Repairs sent, by purpose.
    pub repairs_sent: BTreeMap<Name, u64>,
    /// N: packets that are sent for a full block; null without a block code.
    pub block_n: Option<u64>,
    /// Packets dropped from the send queue, by reason.
    pub queue_drops: BTreeMap<Name, u64>,
    /// Counts of the datagrams' fate and of the rate controller.
    #[serde(flatten)]
    pub control: ControlCounts,
    /// Counts of the datagrams sent.
    #[serde(flatten)]
    pub path: PathCounts,
    /// Counts of the datagrams received.
    #[serde(flatten)]
    pub arrived: ReceivedCounts,
    /// Counts of the packets that the user has sent.
    #[serde(flatten)]
    pub taken: SupplyCounts,
    /// Counts of the sending half.
    #[serde(flatten)]
    pub sent: CodingCounts,
    /// Counts of the send queue.
    #[serde(flatten)]
    pub queue: QueueDrops,
    /// Counts of repairs.
    #[serde(flatten)]
    pub repairs: RepairCounts,
    /// Counts of the receiving half.
    #[serde(flatten)]
    pub received: ReceiveCounts,
    /// Counts of the packets delivered in order.
    #[serde(flatten)]
    pub order: OrderCounts,
    /// Counts of packets in pieces.
    #[serde(flatten)]
    pub pieces: PieceCounts,
}

/// The least number of source symbols for which the overhead has a meaning. The overhead of fewer
/// symbols is mostly that of the first packets, which get many repairs. With half the value, the
/// overhead of a young session is often above 100 %. With double the value, it appears later.
const LEAST_SOURCES: u64 = 200;

impl DaemonPeerStatus {
    /// Copies what the endpoint knows about the peer.
    pub(super) fn take(&mut self, peer: &EndpointPeer) {
        self.endpoint = peer.endpoint.map(|address| ZonedAddress::from(address).to_string());
        self.mtu_bytes = peer.inner_mtu;
        self.waiting = peer.waiting as u64;
        self.memory_bytes = peer.memory as u64;
        self.counts = PeerCounters {
            sessions: peer.sessions,
            waited_in_vain: peer.waited_in_vain,
            lost_in_restarts: peer.lost_in_restarts,
            work_bytes: peer.work,
            over_work: peer.over_work,
            unasked_reports: peer.unasked_reports,
            shrunk: peer.shrunk,
            ..self.counts
        };
        self.early_acks = peer.early_acks;
        self.session = peer.tunnel.as_ref().map(SessionStatus::of);
    }
}

impl SessionStatus {
    fn of(status: &ripstop_proto::session::tunnel::Status) -> SessionStatus {
        let (sent, received) = (&status.sent, &status.received);
        let absent = received.recovered + received.given_up;
        SessionStatus {
            srtt_s: status.path.srtt.as_secs_f64(),
            min_rtt_s: status.path.view.min_rtt,
            state: status.path.view.state.into(),
            bandwidth_bps: 8.0 * status.path.view.bandwidth,
            pacing_rate_bps: 8.0 * status.path.pacing_rate,
            path_queue_s: status.path.view.queue,
            loss_to_peer: status.path.measured_loss,
            loss_from_peer: ratio(absent, absent + received.sources),
            erasure_floor: status.path.view.erasure_floor,
            mean_burst_packets: status.path.mean_burst,
            overhead: ratio(sent.repair_bytes, sent.source_bytes).filter(|_| sent.sources >= LEAST_SOURCES),
            redundancy: RedundancyStatus::of(status),
            queue_packets: status.backlog.0 as u64,
            queue_bytes: status.backlog.1 as u64,
            in_flight_bytes: status.path.in_flight,
            repairs_sent: BTreeMap::from([
                ("exact".into(), status.repairs.exact),
                ("bulk".into(), status.repairs.bulk),
                ("interactive".into(), status.repairs.interactive),
                ("block".into(), status.blocks.map_or(0, |blocks| blocks.repairs)),
            ]),
            block_n: status.blocks.map(|blocks| u64::from(blocks.shape.1)),
            queue_drops: BTreeMap::from([
                ("full".into(), status.drops.full),
                ("aqm".into(), status.drops.aqm),
                ("thinned".into(), status.drops.thinned),
                ("expired".into(), status.drops.expired),
                ("too_long".into(), status.taken.too_long),
            ]),
            control: ControlCounts {
                lost: status.path.lost,
                too_large: status.path.too_large,
                late: status.path.spurious,
                given_up_sending: status.taken.given_up,
                delays_accepted: status.path.view.delays_accepted,
                clock_jumps: status.path.view.clock_jumps,
                competitions: status.path.view.competitions,
                overloads: status.path.view.overloads,
                forgiven: status.path.view.forgiven,
            },
            path: status.path.sent,
            arrived: status.path.received,
            taken: status.taken,
            sent: *sent,
            queue: status.drops,
            repairs: status.repairs,
            received: *received,
            order: status.order,
            pieces: status.pieces,
        }
    }
}

/// Rejected datagrams by the name of the reason: those that `udp` and the endpoint have dropped, and those that did not
/// authenticate.
pub(super) fn rejected(udp: &Udp, endpoint: &EndpointCounters, secure: &SecureCounters) -> BTreeMap<Name, u64> {
    let named = Rejected::NAMES.into_iter().map(Name::from).zip(secure.datagrams.rejected);
    let dropped = [
        ("port_zero", udp.from_port_zero()),
        ("own_device", udp.from_ignored_device()),
        ("inside", endpoint.from_inside),
    ];
    named.chain(dropped.map(|(name, count)| (name.into(), count))).collect()
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
