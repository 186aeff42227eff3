//! The results of the demonstration, as JSON (docs/schemas/demo.schema.json) and as tables. A share
//! is a goodput divided by C (1 - p). C is the link's rate, and p is the share of packets that the
//! link loses.

mod verdict;

pub(super) use verdict::Verdict;

use crate::link_flags::LinkFacts;
use crate::output::{self, Table, or_dash};
use ripstop_net::emulate::EmulatorSnapshot;
use ripstop_net::testbed::measure::Mark;
use ripstop_net::workload::bulk::BulkReport;
use ripstop_net::workload::file::{Arrived, Source};
use ripstop_sim::engine::{DelayStatistic, Statistic};
use serde::Serialize;
use std::time::Duration;

/// The least bytes that a TCP sends for each byte of data: 1500 bytes of IP for 1448 bytes of data.
const HEADERS: f64 = 1500.0 / 1448.0;

/// The whole result.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) version: &'static str,
    pub(crate) link: LinkFacts,
    /// Whether all contenders ran in virtual time.
    #[serde(rename = "virtual")]
    pub(crate) is_virtual: bool,
    /// Number of independent runs of each contender; 1 in real time.
    pub(crate) runs: u32,
    /// Length of the bulk run in seconds. If the requests need more time, the bulk run is longer than this.
    pub(crate) run_s: f64,
    /// Start of the interval in which `goodput_bps`, `share` and `sent_per_useful` are measured, in seconds from the
    /// start of the connection. The interval ends with the run.
    pub(crate) measured_from_s: f64,
    /// Estimate of the wall-clock time of all contenders. Null in virtual time, because the wall-clock time then
    /// depends on the machine.
    pub(crate) estimated_s: Option<f64>,
    pub(crate) contenders: Vec<ContenderReport>,
    /// Which contender won, by how much, and why. Null if no contender received anything.
    pub(crate) verdict: Option<Verdict>,
    /// Contenders that this machine does not offer.
    pub(crate) skipped: Vec<Skipped>,
    /// Warnings about the figures.
    pub(crate) notes: Vec<String>,
}

/// A contender that this machine does not offer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Skipped {
    pub(crate) name: &'static str,
    pub(crate) reason: String,
}

/// One contender.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ContenderReport {
    pub(crate) name: &'static str,
    /// Congestion control of the transfer's sockets. Null for a contender without a TCP.
    pub(crate) inner_cc: Option<&'static str>,
    #[serde(flatten)]
    pub(crate) bulk: BulkFacts,
    /// Goodput in the measured interval, divided by C (1 - p).
    pub(crate) share: Option<f64>,
    pub(crate) requests: Requests,
    /// Means over independent runs; null in real time.
    pub(crate) over_runs: Option<OverRuns>,
    /// Whether the received file has the right SHA-256. Null if no file was sent, if the file did not arrive in time,
    /// and in virtual time.
    pub(crate) sha256_ok: Option<bool>,
    /// The file's transfer. Null if no file was sent.
    pub(crate) file: Option<FileReport>,
    pub(crate) wire: Wire,
    /// What the tunnel repaired; null for a contender without the tunnel.
    pub(crate) tunnel: Option<TunnelFacts>,
}

/// What the tunnel did in the bulk run, in the data direction. In virtual time, each count is the
/// sum over all runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TunnelFacts {
    /// Lost packets that the tunnel recovered from repairs.
    pub(crate) recovered_packets: u64,
    /// Lost packets that the tunnel gave up.
    pub(crate) given_up_packets: u64,
}

/// The figures of the bulk stream.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct BulkFacts {
    /// Goodput in the measured interval.
    pub(crate) goodput_bps: f64,
    /// IP bytes offered to the link in the data direction, divided by application bytes received. The bytes are received
    /// in the measured interval, and offered in this interval moved back by the link's delay. Null if no application
    /// bytes were received.
    pub(crate) sent_per_useful: Option<f64>,
    /// Goodput in the whole run, including the connection's start.
    pub(crate) goodput_whole_run_bps: f64,
    /// Time from the start of the connection until 100 kB had arrived. Null if less than 100 kB
    /// arrived.
    pub(crate) first_100kb_s: Option<f64>,
    /// The same time for 1 MB.
    pub(crate) first_1mb_s: Option<f64>,
    /// CPU time of the processes at both ends per 10^9 bytes received, in the whole run.
    pub(crate) cpu_s_per_gb: Option<f64>,
    /// Packets that the TCP of the bulk stream retransmitted in the whole run. Null for a contender without a TCP. In
    /// virtual time, the count is the sum over all runs.
    pub(crate) tcp_retransmitted_packets: Option<u64>,
}

/// Latencies of requests.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Requests {
    /// Latencies on the idle link. Null unless `--requests` was given.
    pub(crate) quiet: Option<RequestStats>,
    /// Latencies during the bulk stream.
    pub(crate) beside_bulk: RequestStats,
}

/// Exact percentiles over all requests, answered or not.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct RequestStats {
    pub(crate) n: usize,
    /// Number of requests without a reply at the end. An unanswered request counts as slower than every answered
    /// request.
    pub(crate) unanswered: usize,
    pub(crate) p50_s: Option<f64>,
    pub(crate) p90_s: Option<f64>,
    pub(crate) p99_s: Option<f64>,
}

/// Means over independent runs, with confidence intervals.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct OverRuns {
    pub(crate) goodput_bps: Statistic,
    pub(crate) share: Statistic,
    pub(crate) sent_per_useful: Statistic,
    /// Time from the first transmission of a bulk packet to its in-order delivery.
    pub(crate) delay_s: DelayStatistic,
}

/// The transfer of the file.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FileReport {
    pub(crate) size_bytes: u64,
    pub(crate) arrived_bytes: u64,
    /// Time from the start of the connection until the file was on the receiver's disk. Null if the file did not
    /// arrive.
    pub(crate) took_s: Option<f64>,
    /// Time limit of the file's transfer.
    pub(crate) limit_s: f64,
    /// SHA-256 of the file sent. Null in virtual time, because a file then has no content.
    pub(crate) sha256: Option<String>,
    /// SHA-256 of the file received. Null if the file did not arrive completely.
    pub(crate) arrived_sha256: Option<String>,
}

/// What the link did in the data direction during the bulk run, and how accurate the emulation was.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Wire {
    pub(crate) offered_packets: u64,
    pub(crate) offered_bytes: u64,
    pub(crate) lost_packets: u64,
    pub(crate) queue_full_packets: u64,
    pub(crate) queue_max_bytes: u64,
    /// 99th percentile of the times by which packets were delivered too late, in the worse direction. Null in virtual
    /// time.
    pub(crate) late_p99_s: Option<f64>,
    /// Packets dropped in both directions because the emulator was full or too slow.
    pub(crate) emulator_dropped_packets: u64,
}

impl BulkFacts {
    /// Computes the figures from the counters at the start and at the end of the measured interval,
    /// and from the figures of the whole stream.
    pub(crate) fn between(first: &Mark, last: &Mark, whole: &BulkReport) -> BulkFacts {
        let bulk = (last.bulk - first.bulk) as f64;
        let useful = bulk + (last.requests - first.requests) as f64;
        let seconds = |d: Option<Duration>| d.map(|d| d.as_secs_f64());
        let per = |amount: f64, of: f64| (of > 0.0).then(|| amount / of);
        BulkFacts {
            goodput_bps: per(8.0 * bulk, (last.at - first.at).as_secs_f64()).unwrap_or(0.0),
            sent_per_useful: per((last.offered - first.offered) as f64, useful),
            goodput_whole_run_bps: per(8.0 * last.bulk as f64, last.at.as_secs_f64()).unwrap_or(0.0),
            first_100kb_s: seconds(whole.first_100kb),
            first_1mb_s: seconds(whole.first_1mb),
            cpu_s_per_gb: per(whole.cpu.as_secs_f64() * 1e9, whole.received as f64),
            tcp_retransmitted_packets: Some(whole.retransmits),
        }
    }
}

impl FileReport {
    pub(crate) fn new(source: &Source, arrived_bytes: u64, arrived: Option<Arrived>, limit: Duration) -> FileReport {
        FileReport {
            size_bytes: source.bytes,
            arrived_bytes,
            took_s: arrived.map(|a| a.after.as_secs_f64()),
            limit_s: limit.as_secs_f64(),
            sha256: Some(hex(&source.sha256)),
            arrived_sha256: arrived.map(|a| hex(&a.sha256)),
        }
    }

    fn sha256_ok(&self) -> Option<bool> {
        self.arrived_sha256.as_ref().map(|arrived| Some(arrived) == self.sha256.as_ref())
    }
}

impl Wire {
    pub(crate) fn of(snapshot: &EmulatorSnapshot) -> Wire {
        let (forth, back) = (&snapshot.left_to_right, &snapshot.right_to_left);
        let dropped = |d: &ripstop_net::emulate::EmulatedDirectionReport| d.no_room + d.overflowed.unwrap_or(0);
        let later = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
        Wire {
            offered_packets: forth.link.offered,
            offered_bytes: forth.link.offered_bytes,
            lost_packets: forth.link.lost_channel + forth.link.lost_blackout,
            queue_full_packets: forth.link.refused_queue,
            queue_max_bytes: forth.link.queue_max_bytes,
            late_p99_s: later(forth.lateness.p99_s, back.lateness.p99_s),
            emulator_dropped_packets: dropped(forth) + dropped(back),
        }
    }
}

impl ContenderReport {
    pub(crate) fn new(
        name: &'static str,
        inner_cc: Option<&'static str>,
        bulk: BulkFacts,
        requests: Requests,
        file: Option<FileReport>,
        wire: Wire,
        tunnel: Option<TunnelFacts>,
    ) -> ContenderReport {
        let sha256_ok = file.as_ref().and_then(FileReport::sha256_ok);
        let over_runs = None;
        ContenderReport { name, inner_cc, bulk, share: None, requests, over_runs, sha256_ok, file, wire, tunnel }
    }

    /// Adds the means over independent runs.
    pub(crate) fn over(self, runs: OverRuns) -> ContenderReport {
        ContenderReport { over_runs: Some(runs), ..self }
    }
}

impl Report {
    /// Adds a contender, with its share and with warnings about its figures.
    pub(crate) fn add(&mut self, mut contender: ContenderReport) {
        let capacity = self.link.rate_bps as f64 * (1.0 - self.link.loss);
        contender.share = (capacity > 0.0).then(|| contender.bulk.goodput_bps / capacity);
        if let Some(runs) = contender.over_runs.as_mut().filter(|_| capacity > 0.0) {
            let of = |bps: Option<f64>| bps.map(|bps| bps / capacity);
            let goodput = runs.goodput_bps;
            runs.share = Statistic { mean: of(goodput.mean), ci95: of(goodput.ci95), n: goodput.n };
        }
        let wire = &contender.wire;
        if wire.emulator_dropped_packets > 0 || wire.late_p99_s.is_some_and(|late| late > 1e-3) {
            self.notes.push(format!(
                "{}: this machine was too busy for the emulated link: 1 packet in 100 was more than {} late, and {} \
                 packets were dropped. Do not rely on these figures",
                contender.name,
                output::time(wire.late_p99_s.unwrap_or(0.0)),
                wire.emulator_dropped_packets
            ));
        }
        if let Some(sent) = contender.bulk.sent_per_useful.filter(|sent| *sent < HEADERS) {
            self.notes.push(format!(
                "{}: sent/useful is {sent:.3}, and headers alone need {HEADERS:.3}: more bytes were delivered in the measured \
                 interval than arrived in it. They had arrived before, and waited for a lost packet",
                contender.name
            ));
        }
        self.contenders.push(contender);
    }

    /// The result as tables.
    pub(crate) fn tables(&self) -> String {
        let mut text = self.main_table();
        if self.contenders.iter().any(|c| c.requests.quiet.is_some()) {
            text.push('\n');
            text.push_str(&self.request_table());
        }
        text.push('\n');
        let measured = output::time(self.measured_from_s);
        text.push_str(&format!(
            "share: goodput from {measured} on, divided by the link's rate less its losses. 100 kB, 1 MB: time from \
             the start of the connection until this many bytes had arrived.\nRequests: 100 bytes each way, 20 a \
             second, during the bulk stream.\n"
        ));
        if self.is_virtual {
            text.push_str(&format!(
                "{} +-: half of the share's 95 % confidence interval. delay: from a packet's first transmission to its \
                 delivery in order.\n",
                if self.runs == 1 { "One run.".to_owned() } else { format!("Means of {} runs.", self.runs) }
            ));
        }
        for c in &self.contenders {
            // In virtual time a file has no content, so there is no hash to report.
            let told = c.file.as_ref().filter(|_| !self.is_virtual);
            text.push_str(&told.map_or(String::new(), |file| file.line(c.name, c.sha256_ok)));
        }
        for skipped in &self.skipped {
            text.push_str(&format!("{}: left out: {}\n", skipped.name, skipped.reason));
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        let nothing = "No contender received anything in the measured interval.";
        let sentence = self.verdict.as_ref().map_or(nothing, |verdict| &verdict.sentence);
        text.push_str(&format!("\n{sentence}\n"));
        text
    }

    fn main_table(&self) -> String {
        let only = |when: bool, titles: &[&'static str]| if when { titles.to_vec() } else { Vec::new() };
        let (real, simulated) = (!self.is_virtual, self.is_virtual);
        let mut titles = vec!["", "share"];
        titles.extend(only(simulated, &["+-"]));
        titles.extend(["goodput", "sent/useful", "100 kB", "1 MB", "file"]);
        titles.extend(only(simulated, &["delay p50", "p99"]));
        titles.extend(["request p50", "p90"]);
        titles.extend(only(real, &["CPU s/GB"]));
        let mut table = Table::titled(titles);
        for c in &self.contenders {
            let (bulk, beside) = (&c.bulk, &c.requests.beside_bulk);
            let time = |seconds: Option<f64>| or_dash(seconds, output::time);
            let runs = c.over_runs.as_ref().filter(|_| simulated);
            let mut row = vec![c.name.to_owned(), or_dash(c.share, output::share)];
            row.extend(runs.map(|runs| or_dash(runs.share.ci95, output::share)));
            row.extend([
                output::rate(bulk.goodput_bps),
                or_dash(bulk.sent_per_useful, |s| format!("{s:.3}")),
                time(bulk.first_100kb_s),
                time(bulk.first_1mb_s),
                or_dash(c.file.as_ref(), FileReport::words),
            ]);
            row.extend(runs.into_iter().flat_map(|runs| [runs.delay_s.p50, runs.delay_s.p99].map(time)));
            row.extend([beside.p50_s, beside.p90_s].map(time));
            row.extend(real.then(|| or_dash(bulk.cpu_s_per_gb, |s| format!("{s:.2}"))));
            table.row(row);
        }
        table.render()
    }

    fn request_table(&self) -> String {
        let mut table = Table::titled(["requests", "n", "unanswered", "p50", "p90", "p99"]);
        for c in &self.contenders {
            let both = [("quiet", c.requests.quiet.as_ref()), ("during bulk", Some(&c.requests.beside_bulk))];
            for (when, stats) in both {
                let Some(stats) = stats else { continue };
                let mut row = vec![format!("{}, {when}", c.name), stats.n.to_string(), stats.unanswered.to_string()];
                row.extend([stats.p50_s, stats.p90_s, stats.p99_s].map(|p| or_dash(p, output::time)));
                table.row(row);
            }
        }
        table.render()
    }
}

impl FileReport {
    /// The text for a table cell: the time of the transfer. If the file did not arrive, the share that arrived.
    fn words(&self) -> String {
        self.took_s.map_or_else(
            || format!("{:.0}%", 100.0 * self.arrived_bytes as f64 / (self.size_bytes as f64).max(1.0)),
            output::time,
        )
    }

    /// The text for a line below the table.
    fn line(&self, name: &str, sha256_ok: Option<bool>) -> String {
        let size = output::bytes(self.size_bytes as f64);
        let arrived = output::bytes(self.arrived_bytes as f64);
        match (self.took_s, sha256_ok) {
            (Some(seconds), Some(true)) => format!(
                "{name}: the file of {size} arrived whole after {}, SHA-256 {}...\n",
                output::time(seconds),
                self.sha256.as_deref().and_then(|hash| hash.get(..16)).unwrap_or_default()
            ),
            (Some(_), _) => format!("{name}: THE FILE ARRIVED DAMAGED: its SHA-256 differs\n"),
            (None, _) => {
                format!("{name}: {arrived} of the file of {size} had arrived after {}\n", output::time(self.limit_s))
            }
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(at: u64, bulk: u64, requests: u64, offered: u64) -> Mark {
        Mark { at: Duration::from_secs(at), bulk, requests, offered }
    }

    #[test]
    fn figures_are_over_the_interval() {
        let whole = BulkReport {
            received: 2_000_000,
            first_100kb: Some(Duration::from_millis(500)),
            first_1mb: None,
            cpu: Duration::from_millis(4),
            retransmits: 3,
        };
        let facts = BulkFacts::between(&mark(2, 400_000, 0, 700_000), &mark(10, 1_400_000, 10_000, 1_811_000), &whole);
        assert_eq!(facts.goodput_bps, 1e6);
        assert_eq!(facts.goodput_whole_run_bps, 8.0 * 1.4e6 / 10.0);
        assert!((facts.sent_per_useful.unwrap() - 1.1).abs() < 1e-12);
        assert_eq!((facts.first_100kb_s, facts.first_1mb_s), (Some(0.5), None));
        assert!((facts.cpu_s_per_gb.unwrap() - 2.0).abs() < 1e-12);
        let nothing = BulkReport { received: 0, ..whole };
        let facts = BulkFacts::between(&mark(2, 0, 0, 9), &mark(10, 0, 0, 99), &nothing);
        assert_eq!((facts.goodput_bps, facts.sent_per_useful, facts.cpu_s_per_gb), (0.0, None, None));
    }
}
