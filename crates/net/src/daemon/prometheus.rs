//! The status as text for Prometheus (exposition format 0.0.4).
//!
//! The session already keeps all figures. A separate registry of counters would have to be updated for every packet. So
//! the text is made from a snapshot when a client asks for it.

use super::redundancy::ClassRedundancy;
use super::status::{DaemonPeerStatus, DaemonStatus, SessionStatus};
use crate::os::udp::UdpCounters;
use std::fmt::{Display, Write};
use std::time::SystemTime;

/// Renders `status` as a metrics page.
pub fn render(status: &DaemonStatus) -> String {
    let mut page = Page::default();
    page.socket(&status.udp);
    page.totals(status);
    page.peers(status);
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

/// A metric: its name, its help text, and its value in the status.
type Figure<T> = (&'static str, &'static str, fn(&T) -> f64);

/// Counters of every peer.
const PEER_COUNTERS: [Figure<DaemonPeerStatus>; 14] = [
    ("inner_received_packets_total", "Inner packets from the peer", |p| p.inner_received as f64),
    ("inner_received_bytes_total", "Bytes of inner packets from the peer", |p| p.inner_received_bytes as f64),
    ("sessions_total", "Sessions started", |p| p.sessions as f64),
    ("restarts_total", "Restarts of the peer", |p| p.restarts as f64),
    ("port_changes_total", "Changes of the source port, because the peer did not answer", |p| p.port_changes as f64),
    ("waited_in_vain_total", "Packets dropped because no session came in time", |p| p.waited_in_vain as f64),
    ("work_bytes_total", "Work of all sessions and of their beginnings: bytes that were combined", |p| {
        p.work_bytes as f64
    }),
    ("over_work_total", "Repairs and reports dropped because the peer was above its share of the work", |p| {
        p.over_work as f64
    }),
    ("unasked_reports_total", "Reports dropped because they came faster than this host had asked for", |p| {
        p.unasked_reports as f64
    }),
    ("shrunk_total", "Times that the session was shrunk because memory was short", |p| p.shrunk as f64),
    ("early_acks_total", "Early acknowledgements sent to TCPs on this side", |p| p.early_acks.sent as f64),
    ("acks_suppressed_total", "Acknowledgements not delivered, because the TCP on this side had been told", |p| {
        p.early_acks.suppressed as f64
    }),
    ("segments_resent_total", "TCP segments that the tunnel has sent again for TCPs on this side", |p| {
        p.early_acks.resent as f64
    }),
    ("connections_reset_total", "TCP connections reset, because acknowledged data could not be delivered", |p| {
        p.early_acks.resets as f64
    }),
];
const PEER_GAUGES: [Figure<DaemonPeerStatus>; 8] = [
    ("connected", "1 when there is a session and the peer is not unreachable", |p| f64::from(u8::from(p.connected))),
    ("silent", "1 when datagrams were sent, and the peer has not reported them for a while", |p| {
        f64::from(u8::from(p.silent))
    }),
    ("unreachable", "1 when the peer has not answered, or was not heard although it should be", |p| {
        f64::from(u8::from(p.unreachable))
    }),
    (
        "last_heard_timestamp_seconds",
        "Time of the last authentic datagram of the peer (Unix time); NaN before it",
        |p| p.last_heard_s.map_or(f64::NAN, unix_time_before),
    ),
    ("mtu_bytes", "Largest inner packet", |p| f64::from(p.mtu_bytes)),
    ("sending_bits_per_second", "Recent rate of inner packets to the peer", |p| p.sending_bps),
    ("receiving_bits_per_second", "Recent rate of inner packets from the peer", |p| p.receiving_bps),
    ("memory_bytes", "Memory that the session holds because of packets", |p| p.memory_bytes as f64),
];
/// Counters of every session. They start at zero with each new session.
const SESSION_COUNTERS: [Figure<SessionStatus>; 38] = [
    ("sent_datagrams_total", "Datagrams sent", |s| s.datagrams_sent as f64),
    ("sent_bytes_total", "Bytes sent, IP and UDP headers included", |s| s.bytes_sent as f64),
    ("sent_sources_total", "Source symbols sent", |s| s.sources_sent as f64),
    ("packets_cut_total", "Packets longer than the tunnel's MTU, sent in pieces", |s| s.packets_cut as f64),
    ("packets_joined_total", "Packets joined from their pieces", |s| s.packets_joined as f64),
    ("pieces_dropped_total", "Pieces dropped because another piece of their packet was given up", |s| {
        s.pieces_dropped as f64
    }),
    ("lost_datagrams_total", "Datagrams lost on the way to the peer", |s| s.datagrams_lost as f64),
    ("too_large_datagrams_total", "Datagrams that were longer than the path carries", |s| s.datagrams_too_large as f64),
    ("late_datagrams_total", "Datagrams declared lost that arrived later", |s| s.datagrams_late as f64),
    ("queue_marked_total", "ECN-capable packets that the send queue marked instead of dropping them", |s| {
        s.queue_marked as f64
    }),
    ("tail_probes_total", "Probes sent because the last datagrams were not reported", |s| s.tail_probes as f64),
    ("silences_total", "Times that all datagrams in flight were declared lost because no report came", |s| {
        s.silences as f64
    }),
    ("competitions_total", "Competitions with other traffic that keeps a queue", |s| s.competitions as f64),
    ("overloads_total", "Loss tests that found that losses grow with the rate", |s| s.overloads as f64),
    ("forgiven_total", "Late packets that had been taken for drops of a queue", |s| s.forgiven as f64),
    ("delays_accepted_total", "Queueing delays that did not shrink and now count as the path's own delay", |s| {
        s.delays_accepted as f64
    }),
    ("clock_jumps_total", "Jumps of the clock of this host or of the peer", |s| s.clock_jumps as f64),
    (
        "repairs_wasted_total",
        "Repairs over a range of symbols (mostly proactive) that brought the peer nothing new",
        |s| s.repairs_wasted as f64,
    ),
    ("repairs_listed_total", "Times that the peer could not use repairs of ranges", |s| s.repairs_listed as f64),
    ("given_up_sending_total", "Symbols given up by the sender", |s| s.given_up_sending as f64),
    (
        "given_up_for_memory_total",
        "Symbols given up by the sender because memory was short and the peer was silent",
        |s| s.given_up_for_memory as f64,
    ),
    ("received_datagrams_total", "Datagrams received", |s| s.datagrams_received as f64),
    ("received_sources_total", "Source symbols received directly", |s| s.sources_received as f64),
    ("recovered_total", "Source symbols recovered from repairs", |s| s.recovered as f64),
    ("received_repairs_total", "Repairs received", |s| s.repairs_received as f64),
    ("redundant_total", "Repairs received that brought nothing new", |s| s.redundant as f64),
    ("received_repairs_wide_total", "Repairs dropped because they covered too many missing symbols", |s| {
        s.repairs_wide as f64
    }),
    ("received_repairs_full_total", "Repairs dropped because the decoder was full", |s| s.repairs_full as f64),
    ("unusable_total", "Useless repairs received", |s| s.unusable as f64),
    ("beyond_total", "Symbols and announcements beyond the coding window", |s| s.beyond as f64),
    ("repairs_discarded_total", "Stored repairs discarded to save memory or work", |s| s.repairs_discarded as f64),
    ("given_up_total", "Symbols given up by the receiver", |s| s.given_up as f64),
    ("delivered_total", "Inner packets delivered", |s| s.delivered as f64),
    ("held_total", "Packets that waited for an earlier packet of their flow", |s| s.held as f64),
    ("passed_over_total", "Times that a flow went on without a missing packet", |s| s.passed_over as f64),
    ("arrived_late_total", "Packets dropped because their flow had gone on without them", |s| s.arrived_late as f64),
    ("superseded_total", "Packets dropped because a later packet of their flow was delivered", |s| s.superseded as f64),
    ("suspensions_total", "Times that this host was suspended", |s| s.suspensions as f64),
];
const SESSION_GAUGES: [Figure<SessionStatus>; 11] = [
    ("srtt_seconds", "Smoothed round-trip time", |s| s.srtt_s),
    ("min_rtt_seconds", "Smallest recent round-trip time", |s| s.min_rtt_s),
    ("bandwidth_bits_per_second", "Estimated rate of the bottleneck", |s| s.bandwidth_bps),
    ("pacing_rate_bits_per_second", "Rate at which datagrams are sent", |s| s.pacing_rate_bps),
    ("loss_to_peer_ratio", "Estimated loss towards the peer", |s| s.loss_to_peer),
    ("loss_from_peer_ratio", "Share of the peer's source symbols that did not arrive", |s| {
        s.loss_from_peer.unwrap_or(f64::NAN)
    }),
    ("erasure_floor_ratio", "Loss attributed to the path, not to congestion", |s| s.erasure_floor),
    ("mean_burst_packets", "Mean length of a run of losses", |s| s.mean_burst_packets),
    ("block_n", "Packets that are sent for a full block of the block code", |s| {
        s.block_n.map_or(f64::NAN, |n| n as f64)
    }),
    ("queue_packets", "Packets in the send queue", |s| s.queue_packets as f64),
    ("queue_bytes", "Bytes in the send queue", |s| s.queue_bytes as f64),
];
/// Counters of a session's class. They start at zero with each new session.
const CLASS_COUNTERS: [Figure<ClassRedundancy>; 5] = [
    ("packets_total", "Source symbols sent, by class", |c| c.packets as f64),
    ("packet_bytes_total", "Bytes of the source symbols sent, by class", |c| c.packet_bytes as f64),
    ("repairs_total", "Proactive repairs sent, by class", |c| c.repairs as f64),
    ("repair_bytes_total", "Bytes of the proactive repairs sent, by class", |c| c.repair_bytes as f64),
    (
        "over_budget_total",
        "Repairs not sent because of max-overhead or of the limit for interactive packets, by class",
        |c| c.over_budget as f64,
    ),
];
const CLASS_GAUGES: [Figure<ClassRedundancy>; 2] = [
    ("redundancy_ratio", "R: packets sent for each source packet, exact repairs excluded, by class", |c| c.r),
    ("expected_loss_ratio", "Loss that the repairs expect, congestion excluded, by class", |c| c.expected_loss),
];

impl Page {
    fn socket(&mut self, udp: &UdpCounters) {
        self.counters(&[
            ("udp_sent_datagrams_total", "Datagrams sent, all peers", udp.sent),
            ("udp_sent_bytes_total", "Bytes of datagrams sent, without headers", udp.sent_bytes),
            ("udp_send_calls_total", "System calls that tried to send", udp.send_calls),
            ("udp_segmented_total", "Datagrams sent together with others in one call (GSO)", udp.segmented),
            ("udp_too_large_total", "Datagrams larger than the first hop's MTU", udp.too_large),
            ("udp_refused_total", "Datagrams that the kernel refused", udp.refused),
            ("udp_received_datagrams_total", "Datagrams received", udp.received),
            ("udp_received_bytes_total", "Bytes of datagrams received, without headers", udp.received_bytes),
            ("udp_receive_calls_total", "System calls that received datagrams", udp.receive_calls),
            ("udp_coalesced_total", "Datagrams received together with others in one buffer (GRO)", udp.coalesced),
            ("udp_stamped_total", "Datagrams received with the kernel's stamp of the arrival", udp.stamped),
            (
                "udp_control_truncated_total",
                "Datagrams received whose control data was cut off, so that a mark CE may be missing",
                udp.control_truncated,
            ),
        ]);
    }

    fn counters(&mut self, counters: &[(&str, &str, u64)]) {
        for (name, help, value) in counters {
            self.head(name, help, "counter");
            self.line(name, &[], value);
        }
    }

    fn totals(&mut self, status: &DaemonStatus) {
        let (device, totals) = (&status.device, &status.totals);
        let counters = [
            ("device_in_packets_total", "Packets read from the device", device.packets_in),
            ("device_in_bytes_total", "Bytes read from the device", device.bytes_in),
            (
                "device_out_packets_total",
                "Packets for the device, with those that the kernel refused",
                device.packets_out,
            ),
            ("device_out_bytes_total", "Bytes of the packets for the device", device.bytes_out),
            ("device_write_errors_total", "Writes that the kernel refused", device.write_errors),
            ("device_brought_up_total", "Times that another program had taken the device down", device.brought_up),
            ("device_mtu_restored_total", "Times that another program had changed the MTU", device.mtu_restored),
            (
                "device_addresses_restored_total",
                "Addresses of the device that another program had removed",
                device.addresses_restored,
            ),
            (
                "device_routes_restored_total",
                "Routes that another program had removed, or replaced by its own",
                device.routes_restored,
            ),
            ("device_recreated_total", "Times that another program had removed the device", device.recreated),
            ("inner_malformed_total", "Data from the device that was not an IP packet", totals.inner_malformed),
            ("inner_no_route_total", "Packets whose destination is in no allowed IPs", totals.inner_no_route),
            (
                "inner_no_device_total",
                "Packets of peers dropped because this daemon has no device",
                totals.inner_no_device,
            ),
            ("mss_clamped_total", "TCP SYNs whose MSS was reduced", totals.mss_clamped),
            (
                "inner_too_long_total",
                "Packets from the device that were too long for their peer",
                totals.inner_too_long,
            ),
            ("too_big_sent_total", "ICMP messages to the senders of such packets", totals.too_big_sent),
            ("wrong_source_total", "Packets whose source is not in the peer's allowed IPs", totals.wrong_source),
            ("body_malformed_total", "Authentic datagrams with a malformed body", totals.body_malformed),
            ("unsendable_total", "Datagrams that could not be serialised or encrypted", totals.unsendable),
            ("false_reports_total", "Sessions ended because of a false report", totals.false_reports),
            ("handshakes_started_total", "Handshakes started", totals.handshakes_started),
            (
                "handshakes_repeated_total",
                "Handshake messages repeated because the peer did not answer",
                totals.handshakes_repeated,
            ),
            ("handshakes_answered_total", "Handshakes answered", totals.handshakes_answered),
            ("handshakes_total", "Handshakes completed, in either role", totals.handshakes_completed),
            ("keys_renewed_total", "Keys renewed", totals.keys_renewed),
            ("roamed_total", "Changes of a peer's address", totals.roamed),
            ("paths_challenged_total", "Challenges sent to new addresses of peers", totals.paths_challenged),
            ("paths_proven_total", "New addresses that a peer has proven", totals.paths_proven),
            ("paths_refused_total", "New addresses without an answer to the challenges", totals.paths_refused),
            ("cookies_sent_total", "Cookies sent, because too many handshakes came", totals.cookies_sent),
            (
                "handshakes_delayed_total",
                "Handshakes put off, because too many handshakes with one peer were completed",
                totals.handshakes_delayed,
            ),
            (
                "replies_limited_total",
                "Answers to handshakes not sent, because too many were due",
                totals.replies_limited,
            ),
            ("replies_dropped_total", "Answers to handshakes dropped at a blocked socket", totals.replies_dropped),
            ("stamps_named_total", "Recorded handshakes refused and answered", totals.stamps_named),
            ("stamps_corrected_total", "Handshakes repeated with a larger stamp", totals.stamps_corrected),
            ("preshared_mismatches_total", "Handshakes with different pre-shared keys", totals.preshared_mismatches),
            ("peers_asked_total", "Peers asked for a sign of life, because they were not heard", totals.peers_asked),
            ("peers_given_up_total", "Ends of the calls of unreachable peers", totals.peers_given_up),
            ("lookups_total", "Look-ups of peers' endpoints", totals.lookups),
            (
                "lookups_shared_total",
                "Peers that shared the look-up of another peer with the same endpoint",
                totals.lookups_shared,
            ),
        ];
        self.counters(&counters);
        self.head("log_lines_lost_total", "Log lines lost: standard error was full, closed or too slow", "counter");
        self.line("log_lines_lost_total", &[], status.log_lines_lost);
        self.head("rejected_total", "Received datagrams dropped, by reason", "counter");
        for (reason, count) in &status.rejected {
            self.line("rejected_total", &[("reason", reason.as_ref())], count);
        }
        self.head("interface_mtu_bytes", "MTU of the interface", "gauge");
        self.line("interface_mtu_bytes", &[], status.interface.mtu_bytes);
        self.head("device_routes_refused", "Prefixes without a route, because the kernel refuses it", "gauge");
        self.line("device_routes_refused", &[], status.device.routes_refused);
        self.head("memory_bytes", "Memory that the sessions of all peers hold", "gauge");
        self.line("memory_bytes", &[], status.interface.memory_bytes);
        self.head("cpu_seconds_total", "CPU time of the packet thread", "counter");
        self.line("cpu_seconds_total", &[], status.interface.cpu_s);
        self.head("uptime_seconds", "Time since the start", "gauge");
        self.line("uptime_seconds", &[], status.interface.uptime_s);
    }

    fn peers(&mut self, status: &DaemonStatus) {
        let label = |peer: &DaemonPeerStatus| vec![("peer", peer.name.clone())];
        let peers: Vec<_> = status.peers.iter().map(|peer| (label(peer), peer)).collect();
        self.figures("peer", &PEER_COUNTERS, &PEER_GAUGES, &peers);
        let sessions = || status.peers.iter().filter_map(|peer| Some((peer, peer.session.as_ref()?)));
        let by_peer: Vec<_> = sessions().map(|(peer, session)| (label(peer), session)).collect();
        self.figures("peer", &SESSION_COUNTERS, &SESSION_GAUGES, &by_peer);
        let by_class: Vec<_> = sessions()
            .flat_map(|(peer, session)| {
                let classes = &session.redundancy.to_peer;
                [("interactive", &classes.interactive), ("bulk", &classes.bulk)]
                    .map(|(class, redundancy)| ([label(peer), vec![("class", class.to_owned())]].concat(), redundancy))
            })
            .collect();
        self.figures("peer_class", &CLASS_COUNTERS, &CLASS_GAUGES, &by_class);
        self.head("peer_repairs_total", "Repairs sent, by purpose", "counter");
        for (peer, session) in sessions() {
            for (purpose, count) in &session.repairs_sent {
                self.line("peer_repairs_total", &[("peer", &peer.name), ("purpose", purpose.as_ref())], count);
            }
        }
        self.head("peer_queue_drops_total", "Packets dropped from the send queue, by reason", "counter");
        for (peer, session) in sessions() {
            for (reason, count) in &session.queue_drops {
                self.line("peer_queue_drops_total", &[("peer", &peer.name), ("reason", reason.as_ref())], count);
            }
        }
    }

    /// Counters and gauges with one line for each of `sources`, which are given with their labels.
    fn figures<T>(
        &mut self,
        prefix: &str,
        counters: &[Figure<T>],
        gauges: &[Figure<T>],
        sources: &[(Vec<(&str, String)>, &T)],
    ) {
        for (figures, kind) in [(counters, "counter"), (gauges, "gauge")] {
            for (name, help, value) in figures {
                let name = format!("{prefix}_{name}");
                self.head(&name, help, kind);
                for (labels, source) in sources {
                    let labels: Vec<_> = labels.iter().map(|(label, value)| (*label, value.as_str())).collect();
                    self.line(&name, &labels, value(source));
                }
            }
        }
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.text, "# HELP ripstop_{name} {help}.\n# TYPE ripstop_{name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "ripstop_{name}{labels} {value}");
    }
}

/// The Unix time `age` seconds ago, to a tenth of a second: each page computes it anew, and the value should not change.
fn unix_time_before(age: f64) -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    (10.0 * (now - age)).round() / 10.0
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
