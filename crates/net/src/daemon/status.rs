//! The daemon's status: one snapshot for `ripstop status`, metrics and tests.
//!
//! An *inner packet* is an IP packet that the tunnel carries. A *source symbol* is an inner packet as it entered the
//! coder. A *repair* is a coded combination of source symbols, from which the peer recovers lost source symbols. In a
//! *report* the peer says which datagrams have arrived and which symbols are missing.

use super::redundancy::RedundancyStatus;
use super::resolve::LookupCounts;
use crate::os::udp::{Udp, UdpCounters};
use crate::os::zoned::ZonedAddress;
use ripstop_proto::endpoint::{EndpointCounters, PeerStatus as EndpointPeer};
use ripstop_proto::inner::early_acks::EarlyAckCounts;
use ripstop_proto::secure::{Rejected, SecureCounters};
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
    pub device: DeviceCounters,
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

/// Counters of the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceCounters {
    /// Reads that returned packets.
    pub reads: u64,
    /// Packets read from the device, counted after large segments were cut.
    pub packets_in: u64,
    /// Bytes of the packets read.
    pub bytes_in: u64,
    /// Reads that failed, not counting reads that found no packet.
    pub read_errors: u64,
    /// Packets for the device, with those that the kernel refused (`write_errors`).
    pub packets_out: u64,
    /// Bytes of the packets for the device.
    pub bytes_out: u64,
    /// Writes. A write brings one packet, or several packets of a flow as one large segment.
    pub writes: u64,
    /// Writes that the kernel refused.
    pub write_errors: u64,
    /// Changes of the device's MTU.
    pub mtu_changes: u64,
    /// How many times the device was brought up again, because another program had taken it down.
    pub brought_up: u64,
    /// How many times the device's MTU was restored, because another program had changed it.
    pub mtu_restored: u64,
    /// Addresses of the device that were restored, because another program had removed them.
    pub addresses_restored: u64,
    /// Routes into the device, and guard routes, that were restored, because another program had removed or replaced them.
    pub routes_restored: u64,
    /// How many times the device was created again, because another program had removed it.
    pub recreated: u64,
    /// Prefixes in `allowed-ips` that have no route now, because the kernel refuses the route.
    pub routes_refused: u64,
}

/// Counters that belong to no single peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Data from the device that was not an IP packet.
    pub inner_malformed: u64,
    /// Packets from the device whose destination is in no peer's allowed IPs.
    pub inner_no_route: u64,
    /// Packets of peers dropped because this daemon has no device.
    pub inner_no_device: u64,
    /// TCP SYNs whose MSS option was reduced.
    pub mss_clamped: u64,
    /// Packets from the device that were too long for their peer.
    pub inner_too_long: u64,
    /// ICMP messages to the senders of such packets.
    pub too_big_sent: u64,
    /// Packets from a peer whose source is not in that peer's allowed IPs.
    pub wrong_source: u64,
    /// Authentic datagrams with a malformed body.
    pub body_malformed: u64,
    /// Datagrams that could not be serialised or encrypted.
    pub unsendable: u64,
    /// Sessions ended because the peer acknowledged a datagram that was never sent.
    pub false_reports: u64,
    /// Handshakes started.
    pub handshakes_started: u64,
    /// Handshake messages repeated because the peer did not answer.
    pub handshakes_repeated: u64,
    /// Handshakes answered.
    pub handshakes_answered: u64,
    /// Handshakes completed, in either role.
    pub handshakes_completed: u64,
    /// Completed handshakes that renewed the keys of a session.
    pub keys_renewed: u64,
    /// Changes of a peer's address.
    pub roamed: u64,
    /// Challenges sent to addresses from which datagrams of a peer came.
    pub paths_challenged: u64,
    /// Challenged addresses that the peer has proven.
    pub paths_proven: u64,
    /// Challenged addresses from which no answer came: the address was forged.
    pub paths_refused: u64,
    /// Cookies sent, because too many handshakes came at the same time.
    pub cookies_sent: u64,
    /// Handshakes put off, because too many handshakes with one peer were completed.
    pub handshakes_delayed: u64,
    /// Answers to handshakes not sent: too many were due, to one network or to all.
    pub replies_limited: u64,
    /// Answers to handshakes dropped, because the socket was blocked.
    pub replies_dropped: u64,
    /// Recorded handshakes refused and answered with the stamp to exceed.
    pub stamps_named: u64,
    /// Handshakes repeated because this host's wall clock had gone back.
    pub stamps_corrected: u64,
    /// Handshakes that failed because the hosts do not have the same pre-shared key.
    pub preshared_mismatches: u64,
    /// Peers asked for a sign of life, because they were not heard for too long.
    pub peers_asked: u64,
    /// Ends of the calls of peers without a configured endpoint, because they were unreachable for too long.
    pub peers_given_up: u64,
    /// Look-ups of peers' endpoints.
    pub lookups: u64,
    /// Peers that shared the look-up of another peer with the same endpoint.
    pub lookups_shared: u64,
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
    /// How many times this host changed this port, because the peer did not answer.
    pub port_changes: u64,
    /// Whether datagrams were sent to the peer, and the peer has not reported them for a while. False while `connected` is
    /// false.
    pub silent: bool,
    /// Whether the peer has not answered handshakes, or was not heard although it should be.
    pub unreachable: bool,
    /// Sessions with the peer so far.
    pub sessions: u64,
    /// Restarts of the peer.
    pub restarts: u64,
    /// Largest inner packet to the peer, in bytes.
    pub mtu_bytes: u32,
    /// Recent rate of inner packets sent to the peer.
    pub sending_bps: f64,
    /// Recent rate of inner packets from the peer.
    pub receiving_bps: f64,
    /// Inner packets received from the peer.
    pub inner_received: u64,
    /// Bytes of the inner packets received.
    pub inner_received_bytes: u64,
    /// Packets that wait for a session.
    pub waiting: u64,
    /// Packets dropped because no session came in time.
    pub waited_in_vain: u64,
    /// Symbols in flight in sessions that ended because the peer restarted.
    pub lost_in_restarts: u64,
    /// Memory that the session holds because of packets.
    pub memory_bytes: u64,
    /// Work that the packets of all sessions have caused, and the beginnings of the sessions: bytes that were combined.
    pub work_bytes: u64,
    /// Repairs and reports dropped because the peer caused more than its fair share of the work.
    pub over_work: u64,
    /// Reports dropped because they came faster than this host had asked for.
    pub unasked_reports: u64,
    /// How many times the session was shrunk because memory was short.
    pub shrunk: u64,
    /// Early acknowledgements. All figures are 0 without `acks = "seen"`.
    pub early_acks: EarlyAcksStatus,
    /// The session; null without a session. While the peer is unreachable, these are the last figures of the old session.
    pub session: Option<SessionStatus>,
}

/// What early acknowledgements have done for the connections through a peer (`acks = "seen"`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlyAcksStatus {
    /// Early acknowledgements sent to TCPs on this host's side.
    pub sent: u64,
    /// Acknowledgements of the receiving TCPs that were not delivered, because the sending TCP had been told.
    pub suppressed: u64,
    /// Segments of the receiving TCPs that were delivered with a later acknowledgement number.
    pub changed: u64,
    /// Segments of the sending TCPs that were answered and not carried, because they repeated acknowledged data.
    pub answered: u64,
    /// Segments that this host has sent again.
    pub resent: u64,
    /// Segments that found no room, and were not acknowledged early.
    pub no_room: u64,
    /// Connections that found no room, and stayed end to end.
    pub refused: u64,
    /// Connections reset, because data that was acknowledged early could not be delivered.
    pub resets: u64,
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
    /// How many times a queueing delay did not shrink although less was sent. Such a delay is then
    /// counted as a part of the path's own delay.
    pub delays_accepted: u64,
    /// How many times a clock of one of the hosts jumped: the delay to the peer rose by more than the round trip allows.
    pub clock_jumps: u64,
    /// How many times the tunnel began to compete with other traffic that keeps a queue.
    pub competitions: u64,
    /// How many loss tests found that losses grow with the rate, as behind a policer.
    pub overloads: u64,
    /// How many late packets had been taken for drops of a queue.
    pub forgiven: u64,
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
    /// Datagrams sent.
    pub datagrams_sent: u64,
    /// Bytes of these datagrams, IP and UDP headers included.
    pub bytes_sent: u64,
    /// Datagram numbers left out, to expose false reports.
    pub numbers_skipped: u64,
    /// Source symbols sent.
    pub sources_sent: u64,
    /// Inner packets that were longer than the tunnel's MTU and were sent in pieces.
    pub packets_cut: u64,
    /// Inner packets joined from their pieces.
    pub packets_joined: u64,
    /// Pieces dropped because another piece of their packet was given up.
    pub pieces_dropped: u64,
    /// Datagrams lost on the way to the peer.
    pub datagrams_lost: u64,
    /// Datagrams to the peer that were longer than the path carries. They do not count as losses of the path.
    pub datagrams_too_large: u64,
    /// Datagrams declared lost that arrived later.
    pub datagrams_late: u64,
    /// Probes sent because the peer did not report the last datagrams within a little more than a
    /// round trip.
    pub tail_probes: u64,
    /// How many times all datagrams in flight were declared lost because no report came from the
    /// peer.
    pub silences: u64,
    /// Repairs sent, by purpose.
    pub repairs_sent: BTreeMap<Name, u64>,
    /// Times that the peer could not use repairs of ranges, and the missing packets were listed one by one.
    pub repairs_listed: u64,
    /// N: packets that are sent for a full block; null without a block code.
    pub block_n: Option<u64>,
    /// Repairs over a range of symbols that brought the peer nothing new. Most of them are proactive
    /// repairs for bulk traffic: repairs that were sent before a loss was known.
    pub repairs_wasted: u64,
    /// Packets dropped from the send queue, by reason.
    pub queue_drops: BTreeMap<Name, u64>,
    /// ECN-capable packets that the send queue marked with Congestion Experienced instead of
    /// dropping them.
    pub queue_marked: u64,
    /// Symbols that the sender gave up.
    pub given_up_sending: u64,
    /// Symbols among them that the sender gave up because memory was short and the peer was silent.
    pub given_up_for_memory: u64,
    /// Datagrams received. Datagrams with the same number count as one.
    pub datagrams_received: u64,
    /// Source symbols received directly.
    pub sources_received: u64,
    /// Source symbols recovered from repairs.
    pub recovered: u64,
    /// Repairs received.
    pub repairs_received: u64,
    /// Repairs received that brought nothing new.
    pub redundant: u64,
    /// Repairs dropped because they covered more symbols, or more missing symbols, than the decoder
    /// solves together. This happens after a very large loss.
    pub repairs_wide: u64,
    /// Repairs dropped because the decoder's matrix was full: too many repairs depended on each other.
    pub repairs_full: u64,
    /// Useless repairs received: repairs of symbols that are no longer kept.
    pub unusable: u64,
    /// Symbols and window announcements refused because they were beyond the coding window.
    pub beyond: u64,
    /// Stored repairs discarded because memory was short, or because computing with them would have
    /// taken too long.
    pub repairs_discarded: u64,
    /// Symbols that the receiver gave up.
    pub given_up: u64,
    /// Packets delivered: in order, or at once if their order does not matter.
    pub delivered: u64,
    /// Packets that waited for an earlier packet of their flow.
    pub held: u64,
    /// Times that a flow went on without a missing packet.
    pub passed_over: u64,
    /// Packets dropped because their flow had gone on without them.
    pub arrived_late: u64,
    /// Packets whose order does not matter, dropped because a later packet of their flow was delivered.
    pub superseded: u64,
    /// Times that this host was suspended for 1 s or longer.
    pub suspensions: u64,
}

/// The least number of source symbols for which the overhead has a meaning. The overhead of fewer
/// symbols is mostly that of the first packets, which get many repairs. With half the value, the
/// overhead of a young session is often above 100 %. With double the value, it appears later.
const LEAST_SOURCES: u64 = 200;

impl DaemonPeerStatus {
    /// Copies what the endpoint knows about the peer.
    pub(super) fn take(&mut self, peer: &EndpointPeer) {
        self.endpoint = peer.endpoint.map(|address| ZonedAddress::from(address).to_string());
        self.sessions = peer.sessions;
        self.mtu_bytes = peer.inner_mtu;
        self.waiting = peer.waiting as u64;
        self.waited_in_vain = peer.waited_in_vain;
        self.lost_in_restarts = peer.lost_in_restarts;
        self.memory_bytes = peer.memory as u64;
        self.work_bytes = peer.work;
        self.over_work = peer.over_work;
        self.unasked_reports = peer.unasked_reports;
        self.shrunk = peer.shrunk;
        self.early_acks = EarlyAcksStatus::of(&peer.early_acks);
        self.session = peer.tunnel.as_ref().map(SessionStatus::of);
    }
}

impl EarlyAcksStatus {
    fn of(counts: &EarlyAckCounts) -> EarlyAcksStatus {
        let EarlyAckCounts { sent, suppressed, changed, answered, resent, no_room, refused, resets } = *counts;
        EarlyAcksStatus { sent, suppressed, changed, answered, resent, no_room, refused, resets }
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
            delays_accepted: status.path.view.delays_accepted,
            clock_jumps: status.path.view.clock_jumps,
            competitions: status.path.view.competitions,
            overloads: status.path.view.overloads,
            forgiven: status.path.view.forgiven,
            erasure_floor: status.path.view.erasure_floor,
            mean_burst_packets: status.path.mean_burst,
            overhead: ratio(sent.repair_bytes, sent.source_bytes).filter(|_| sent.sources >= LEAST_SOURCES),
            redundancy: RedundancyStatus::of(status),
            queue_packets: status.backlog.0 as u64,
            queue_bytes: status.backlog.1 as u64,
            in_flight_bytes: status.path.in_flight,
            datagrams_sent: status.path.sent.datagrams,
            bytes_sent: status.path.sent.bytes,
            numbers_skipped: status.path.sent.skipped,
            sources_sent: sent.sources,
            packets_cut: sent.cut,
            packets_joined: status.pieces.joined,
            pieces_dropped: status.pieces.dropped,
            datagrams_lost: status.path.lost,
            datagrams_too_large: status.path.too_large,
            datagrams_late: status.path.spurious,
            tail_probes: status.path.sent.tail_probes,
            silences: status.path.sent.silences,
            repairs_sent: BTreeMap::from([
                ("exact".into(), status.repairs.exact),
                ("bulk".into(), status.repairs.bulk),
                ("interactive".into(), status.repairs.interactive),
                ("block".into(), status.blocks.map_or(0, |blocks| blocks.repairs)),
            ]),
            repairs_listed: status.repairs.listed,
            block_n: status.blocks.map(|blocks| u64::from(blocks.shape.1)),
            repairs_wasted: sent.peer_redundant,
            queue_drops: BTreeMap::from([
                ("full".into(), status.drops.full),
                ("aqm".into(), status.drops.aqm),
                ("thinned".into(), status.drops.thinned),
                ("expired".into(), status.drops.expired),
                ("too_long".into(), sent.too_long),
            ]),
            queue_marked: status.drops.marked,
            given_up_sending: status.given_up,
            given_up_for_memory: sent.given_up_for_memory,
            datagrams_received: status.path.received.datagrams,
            sources_received: received.sources,
            recovered: received.recovered,
            repairs_received: received.repairs,
            redundant: received.redundant,
            repairs_wide: received.wide,
            repairs_full: received.full,
            unusable: received.unusable,
            beyond: received.beyond,
            repairs_discarded: received.discarded,
            given_up: received.given_up,
            delivered: status.order.delivered,
            held: status.order.held,
            passed_over: status.order.skipped,
            arrived_late: status.order.late,
            superseded: status.order.superseded,
            suspensions: status.path.sent.suspensions,
        }
    }
}

impl Totals {
    pub(super) fn of(
        endpoint: &EndpointCounters,
        secure: &SecureCounters,
        inner_no_device: u64,
        lookups: LookupCounts,
    ) -> Totals {
        Totals {
            inner_no_device,
            lookups: lookups.made,
            lookups_shared: lookups.shared,
            inner_malformed: endpoint.inner_malformed,
            inner_no_route: endpoint.inner_no_route,
            mss_clamped: endpoint.mss_clamped,
            inner_too_long: endpoint.inner_too_long,
            too_big_sent: endpoint.too_big_sent,
            wrong_source: endpoint.wrong_source,
            body_malformed: endpoint.body_malformed,
            unsendable: endpoint.unsendable,
            false_reports: endpoint.false_reports,
            handshakes_started: secure.initiations,
            handshakes_repeated: secure.initiations_repeated,
            handshakes_answered: secure.responses,
            handshakes_completed: secure.established,
            keys_renewed: secure.renewed,
            roamed: secure.roamed,
            paths_challenged: secure.paths_challenged,
            paths_proven: secure.paths_proven,
            paths_refused: secure.paths_refused,
            cookies_sent: secure.cookies_given,
            handshakes_delayed: secure.initiations_delayed,
            replies_limited: secure.replies_limited,
            replies_dropped: secure.replies_dropped,
            stamps_named: secure.stamps_named,
            stamps_corrected: secure.stamps_corrected,
            preshared_mismatches: secure.preshared_mismatches,
            peers_asked: endpoint.peers_asked,
            peers_given_up: endpoint.peers_given_up,
        }
    }
}

/// Rejected datagrams by the name of the reason: those that `udp` and the endpoint have dropped, and those that did not
/// authenticate.
pub(super) fn rejected(udp: &Udp, endpoint: &EndpointCounters, secure: &SecureCounters) -> BTreeMap<Name, u64> {
    let named = Rejected::NAMES.into_iter().map(Name::from).zip(secure.rejected);
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
