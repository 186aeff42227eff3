//! The measurements of one contender on one link.

use super::contenders::{Contender, Kind};
use super::links::CompareLink;
use super::programs::Tools;
use ripstop_base::Seed;
use ripstop_net::testbed::measure::{BulkMeasurement, RequestMeasurement, Stage, TransferSetup, Watcher};
use ripstop_net::testbed::{Carriage, Carrier};
use ripstop_net::workload::requests::RequestReport;
use std::fmt;
use std::time::{Duration, Instant};

/// The figures of one run. NaN: there is no value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figures {
    /// Bytes of the bulk stream that arrived in the measured interval, bit/s.
    pub(crate) goodput_bps: f64,
    /// Goodput over what the link can deliver.
    pub(crate) share: f64,
    /// IP bytes offered to the link in the data direction for each byte that the application got.
    pub(crate) sent_per_useful: f64,
    /// Median and 99th percentile of the requests on the idle link, s.
    pub(crate) quiet_s: [f64; 2],
    /// The same beside the bulk stream.
    pub(crate) beside_s: [f64; 2],
    /// CPU time of all programs and of the workload's sockets for each 10^9 bytes delivered, s.
    pub(crate) cpu_s_per_gb: f64,
    /// Time until the first megabyte had arrived, s.
    pub(crate) first_1mb_s: f64,
    /// 99th percentile of the lateness of the emulator's packets, s.
    pub(crate) late_s: f64,
}

/// All runs of a contender on a link.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) runs: Vec<Figures>,
    /// Why runs failed.
    pub(crate) failures: Vec<String>,
}

/// Waits without showing progress.
struct Quiet;

/// Measures one contender on one link. Equal seeds give the same losses.
pub(crate) fn measure(
    contender: &Contender,
    link: &CompareLink,
    seed: u64,
    requests: usize,
    tools: &Tools,
) -> Result<Figures, String> {
    let setup = TransferSetup {
        path: link.path()?,
        seed: Seed::new(seed),
        // The interval of design rules: from max(2 s, 20 RTT) to the end of at least 60 RTT.
        from: (20 * link.rtt).max(Duration::from_secs(2)),
        seconds: (60 * link.rtt).max(Duration::from_secs(20)),
        requests: Some(requests),
        rtt: link.rtt,
    };
    let other = contender.other(link, tools);
    let carrier = match (&contender.kind, &other) {
        (Kind::Ripstop, _) => Carrier::Ripstop,
        (_, Some(other)) => Carrier::Other(&**other),
        _ => Carrier::Link,
    };
    let carriage = Carriage { name: contender.name, congestion: contender.congestion, carrier };
    let quiet = setup.measure_requests(carriage, requests, &Quiet).map_err(|error| error.to_string())?;
    let bulk = setup.measure_bulk(carriage, false, &Quiet).map_err(|error| error.to_string())?;
    Ok(Figures::of(&quiet, &bulk, link))
}

impl Figures {
    fn of(quiet: &RequestMeasurement, bulk: &BulkMeasurement, link: &CompareLink) -> Figures {
        let [first, last] = &bulk.marks;
        let bytes = (last.bulk - first.bulk) as f64;
        let goodput_bps = 8.0 * bytes / (last.at - first.at).as_secs_f64();
        let useful = bytes + (last.requests - first.requests) as f64;
        let seconds = |time: Option<Duration>| time.map_or(f64::NAN, |time| time.as_secs_f64());
        let percentiles = |report: &RequestReport| [0.5, 0.99].map(|p| seconds(report.percentile(p)));
        let ways = [&bulk.link, &quiet.link].map(|link| [&link.left_to_right, &link.right_to_left]);
        let late = ways.into_iter().flatten().map(|way| way.lateness.p99_s);
        Figures {
            goodput_bps,
            share: goodput_bps / link.capacity_bps(),
            sent_per_useful: (last.offered - first.offered) as f64 / useful,
            quiet_s: percentiles(&quiet.requests),
            beside_s: percentiles(&bulk.requests),
            cpu_s_per_gb: 1e9 * bulk.whole.cpu.as_secs_f64() / bulk.whole.received as f64,
            first_1mb_s: seconds(bulk.whole.first_1mb),
            late_s: late.flatten().fold(f64::NAN, f64::max),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.2} Mbit/s, share {:.3}, sent/useful {:.3}, quiet p99 {:.0} ms, beside bulk p99 {:.0} ms, {:.0} s/GB, \
             first MB {:.2} s, late p99 {:.1} ms",
            self.goodput_bps / 1e6,
            self.share,
            self.sent_per_useful,
            1e3 * self.quiet_s[1],
            1e3 * self.beside_s[1],
            self.cpu_s_per_gb,
            self.first_1mb_s,
            1e3 * self.late_s
        )
    }
}

impl Cell {
    /// The median of a figure over the runs; None without a value.
    pub(crate) fn median(&self, figure: impl Fn(&Figures) -> f64) -> Option<f64> {
        let mut values: Vec<f64> = self.runs.iter().map(figure).filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        Some((*values.get(values.len().checked_sub(1)? / 2)? + values[values.len() / 2]) / 2.0)
    }

    /// Why the first run that failed failed.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failures.first().map(String::as_str)
    }
}

impl Watcher for Quiet {
    fn begin(&self, _step: &str) {}

    fn wait(&self, end: Instant, _stage: &dyn Fn() -> Stage, done: &dyn Fn() -> bool) {
        while !done() && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
    }
}
