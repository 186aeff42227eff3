//! The status as text for Prometheus (exposition format 0.0.4).
//!
//! The session already keeps all figures. A separate registry of counters would have to be updated for every packet. So
//! the text is made from a snapshot when a client asks for it.

use super::redundancy::ClassRedundancy;
use super::status::{DaemonPeerStatus, DaemonStatus, Name, SessionStatus};
use ripstop_base::Counters;
use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::time::SystemTime;

/// Renders `status` as a metrics page.
pub fn render(status: &DaemonStatus) -> String {
    let mut page = Page::default();
    page.host(status);
    page.peers(status);
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

/// A gauge: its name, its help text, and its value in the status. Counters are defined where they are counted
/// ([`Counters`]).
type Figure<T> = (&'static str, &'static str, fn(&T) -> f64);

/// A part of the status with the labels of its lines.
type Labelled<'a, T> = (Vec<(&'static str, String)>, &'a T);

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
const CLASS_GAUGES: [Figure<ClassRedundancy>; 2] = [
    ("redundancy_ratio", "R: packets sent for each source packet, exact repairs excluded, by class", |c| c.r),
    ("expected_loss_ratio", "Loss that the repairs expect, congestion excluded, by class", |c| c.expected_loss),
];

impl Page {
    fn host(&mut self, status: &DaemonStatus) {
        let DaemonStatus { device, totals, interface, .. } = status;
        self.counters("", &[(vec![], &status.udp)]);
        self.counters("", &[(vec![], &device.packets)]);
        self.counters("", &[(vec![], &device.restored)]);
        self.counters("", &[(vec![], &totals.endpoint)]);
        self.counters("", &[(vec![], &totals.secure)]);
        self.counters("", &[(vec![], &totals.addresses)]);
        self.counters("", &[(vec![], &totals.packet_loop)]);
        self.counters("", &[(vec![], &totals.lookups)]);
        self.head("log_lines_lost_total", "Log lines lost: standard error was full, closed or too slow");
        self.line("log_lines_lost_total", &[], status.log_lines_lost);
        self.head("rejected_total", "Received datagrams dropped, by reason");
        for (reason, count) in &status.rejected {
            self.line("rejected_total", &[("reason", reason.as_ref())], count);
        }
        self.head("interface_mtu_bytes", "MTU of the interface");
        self.line("interface_mtu_bytes", &[], interface.mtu_bytes);
        self.head("memory_bytes", "Memory that the sessions of all peers hold");
        self.line("memory_bytes", &[], interface.memory_bytes);
        self.head("cpu_seconds_total", "CPU time of the packet thread");
        self.line("cpu_seconds_total", &[], interface.cpu_s);
        self.head("uptime_seconds", "Time since the start");
        self.line("uptime_seconds", &[], interface.uptime_s);
    }

    fn peers(&mut self, status: &DaemonStatus) {
        let label = |peer: &DaemonPeerStatus| vec![("peer", peer.name.clone())];
        let peers: Vec<Labelled<'_, _>> = status.peers.iter().map(|peer| (label(peer), peer)).collect();
        self.counters("peer_", &part(&peers, |peer| &peer.counts));
        self.counters("peer_", &part(&peers, |peer| &peer.early_acks));
        self.gauges("peer_", &PEER_GAUGES, &peers);
        let sessions = peers.iter().filter_map(|(labels, peer)| Some((labels.clone(), peer.session.as_ref()?)));
        let sessions: Vec<Labelled<'_, _>> = sessions.collect();
        // The counters of a session start at zero with each new session.
        self.counters("peer_", &part(&sessions, |session| &session.control));
        self.counters("peer_", &part(&sessions, |session| &session.path));
        self.counters("peer_", &part(&sessions, |session| &session.arrived));
        self.counters("peer_", &part(&sessions, |session| &session.taken));
        self.counters("peer_", &part(&sessions, |session| &session.sent));
        self.counters("peer_", &part(&sessions, |session| &session.queue));
        self.counters("peer_", &part(&sessions, |session| &session.repairs));
        self.counters("peer_", &part(&sessions, |session| &session.received));
        self.counters("peer_", &part(&sessions, |session| &session.order));
        self.counters("peer_", &part(&sessions, |session| &session.pieces));
        self.gauges("peer_", &SESSION_GAUGES, &sessions);
        let classes = sessions.iter().flat_map(|(labels, session)| {
            let to_peer = &session.redundancy.to_peer;
            [("interactive", &to_peer.interactive), ("bulk", &to_peer.bulk)]
                .map(|(name, class)| ([labels.clone(), vec![("class", name.to_owned())]].concat(), class))
        });
        let classes: Vec<Labelled<'_, _>> = classes.collect();
        self.counters("peer_class_", &part(&classes, |class| &class.counts));
        self.counters("peer_class_", &part(&classes, |class| &class.hints));
        self.counters("peer_class_", &part(&classes, |class| &class.budget));
        self.gauges("peer_class_", &CLASS_GAUGES, &classes);
        self.head("peer_repairs_total", "Repairs sent, by purpose");
        self.by_word("peer_repairs_total", "purpose", &part(&sessions, |session| &session.repairs_sent));
        self.head("peer_queue_drops_total", "Packets dropped from the send queue, by reason");
        self.by_word("peer_queue_drops_total", "reason", &part(&sessions, |session| &session.queue_drops));
    }

    /// The counters that are metrics, with one line for each of `sources`.
    fn counters<T: Counters>(&mut self, prefix: &str, sources: &[Labelled<'_, T>]) {
        for (at, counter) in T::COUNTERS.iter().enumerate() {
            let Some(name) = counter.metric.map(|name| format!("{prefix}{name}")) else { continue };
            self.head(&name, counter.help());
            for (labels, source) in sources {
                let value = source.counters().nth(at).map_or(0, |(_, value)| value);
                self.line(&name, &borrowed(labels), value);
            }
        }
    }

    /// Gauges, with one line for each of `sources`.
    fn gauges<T>(&mut self, prefix: &str, gauges: &[Figure<T>], sources: &[Labelled<'_, T>]) {
        for (name, help, value) in gauges {
            let name = format!("{prefix}{name}");
            self.head(&name, help);
            for (labels, source) in sources {
                self.line(&name, &borrowed(labels), value(source));
            }
        }
    }

    /// Counts by a further label.
    fn by_word(&mut self, name: &str, label: &str, sources: &[Labelled<'_, BTreeMap<Name, u64>>]) {
        for (labels, counts) in sources {
            for (word, count) in *counts {
                let further = [borrowed(labels), vec![(label, word.as_ref())]].concat();
                self.line(name, &further, count);
            }
        }
    }

    /// The lines before the values of a metric. The name of a counter ends in `_total`.
    fn head(&mut self, name: &str, help: &str) {
        let kind = if name.ends_with("_total") { "counter" } else { "gauge" };
        let _ = writeln!(self.text, "# HELP ripstop_{name} {help}.\n# TYPE ripstop_{name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> =
            labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "ripstop_{name}{labels} {value}");
    }
}

/// A part of each of `sources`.
fn part<'a, T, U>(sources: &[Labelled<'a, T>], of: impl Fn(&'a T) -> &'a U) -> Vec<Labelled<'a, U>> {
    sources.iter().map(|(labels, source)| (labels.clone(), of(source))).collect()
}

fn borrowed<'a>(labels: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    labels.iter().map(|(label, value)| (*label, value.as_str())).collect()
}

/// The Unix time `age` seconds ago, to a tenth of a second: each page computes it anew, and the value should not change.
fn unix_time_before(age: f64) -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    (10.0 * (now - age)).round() / 10.0
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
