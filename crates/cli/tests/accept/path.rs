//! The emulated links of the cells, and measurements on them.

use super::report::Sample;
use ripstop_base::{Fraction, QueueLimit, Rate, Seed};
use ripstop_link::{LinkConfig, Loss};
use ripstop_net::emulate::EmulatorSnapshot;
use ripstop_net::testbed::measure::{BulkMeasurement, Stage, TransferSetup, Watcher};
use ripstop_net::testbed::{Carriage, Carrier, TwoWayLink};
use std::time::{Duration, Instant};

/// h, the cost of headers: bytes on the path divided by useful bytes in a full packet, 1500 / (1436 - 52). The
/// tunnel's MTU is 64 bytes less than the path's, and the inner IP and TCP headers take 52 bytes.
pub(crate) const HEADERS: f64 = 1.084;

/// The least length of a bulk stream, round trips.
///
/// Delivery in order can pause for six round trips. With half the value, two runs at 600 ms and 5 % loss had a share of .73
/// and .84, because a pause was at the end; this value gives .90. With double the value, the cells at 600 and 800 ms take
/// five minutes more.
const ROUNDS: u32 = 120;

/// The tunnel, with the kernel's CUBIC inside.
pub(crate) const CUBIC_INSIDE: Carriage<'static> =
    Carriage { name: "CUBIC inside", congestion: "cubic", carrier: Carrier::Ripstop };
/// The tunnel, with the kernel's BBR inside.
pub(crate) const BBR_INSIDE: Carriage<'static> =
    Carriage { name: "BBR inside", congestion: "bbr", carrier: Carrier::Ripstop };
/// The kernel's BBR alone, the control.
pub(crate) const PLAIN_BBR: Carriage<'static> =
    Carriage { name: "plain BBR", congestion: "bbr", carrier: Carrier::Link };

/// A link with the same settings in both directions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    pub(crate) rate_bps: u64,
    pub(crate) rtt: Duration,
    /// Share of packets lost.
    pub(crate) loss: f64,
    /// Mean length of a run of losses, packets.
    pub(crate) burst: f64,
    /// Length of the drop-tail queue, bandwidth-delay products.
    pub(crate) queue: f64,
}

/// The figures of a bulk stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BulkFigures {
    /// Goodput over C (1 - p).
    pub(crate) share: Sample,
    /// Wire bytes per useful byte over h/(1-p).
    pub(crate) waste: Sample,
    /// Time of the first megabyte, s.
    pub(crate) first_1mb: Sample,
    /// 99th percentile of the requests during the stream, s.
    pub(crate) beside_p99: Sample,
}

/// Waits without showing progress.
pub(crate) struct Quiet;

impl Path {
    /// 20 Mbit/s and 100 ms, with independent losses and a queue of one bandwidth-delay product.
    pub(crate) fn usual(loss: f64) -> Path {
        Path::new(20_000_000, 100, loss)
    }

    pub(crate) fn new(rate_bps: u64, rtt_ms: u64, loss: f64) -> Path {
        Path { rate_bps, rtt: Duration::from_millis(rtt_ms), loss, burst: 1.0, queue: 1.0 }
    }

    /// What the link can deliver, bit/s.
    pub(crate) fn capacity_bps(&self) -> f64 {
        self.rate_bps as f64 * (1.0 - self.loss)
    }

    /// One direction of the link.
    pub(crate) fn way(&self) -> LinkConfig {
        let loss = Fraction::new(self.loss).expect("the loss is a fraction");
        let mut way = LinkConfig::path(Rate::from_bps(self.rate_bps), self.rtt, loss);
        if self.burst > 1.0 {
            way.loss = Loss::Gilbert { mean: loss, burst: self.burst };
        }
        let bdp = self.rate_bps as f64 / 8.0 * self.rtt.as_secs_f64();
        way.queue = Some(QueueLimit::Bytes((bdp * self.queue) as u64));
        way
    }

    /// Both directions of the link.
    pub(crate) fn both(&self) -> TwoWayLink {
        TwoWayLink { forth: self.way(), back: self.way() }
    }

    /// Measures a bulk stream for `seconds` but at least [`ROUNDS`], with this number of requests (20 a second) at the
    /// same time.
    pub(crate) fn bulk(
        &self,
        carriage: Carriage<'_>,
        seed: u64,
        seconds: u64,
        requests: usize,
    ) -> Result<BulkFigures, String> {
        let setup = self.setup(seed, Duration::from_secs(seconds), requests);
        let bulk = setup.measure_bulk(carriage, false, &Quiet).map_err(|error| error.to_string())?;
        Ok(self.figures(&bulk))
    }

    /// The 99th percentile of requests on the idle link, s.
    pub(crate) fn quiet_p99(&self, carriage: Carriage<'_>, seed: u64, requests: usize) -> Result<Sample, String> {
        let setup = self.setup(seed, Duration::ZERO, requests);
        let quiet = setup.measure_requests(carriage, requests, &Quiet).map_err(|error| error.to_string())?;
        Ok(Sample { value: seconds_of(quiet.requests.percentile(0.99)), late_s: lateness(&quiet.link) })
    }

    fn setup(&self, seed: u64, seconds: Duration, requests: usize) -> TransferSetup {
        TransferSetup {
            path: self.both(),
            seed: Seed::new(seed),
            from: (20 * self.rtt).max(Duration::from_secs(2)),
            seconds: (ROUNDS * self.rtt).max(seconds),
            requests: Some(requests),
            rtt: self.rtt,
        }
    }

    fn figures(&self, bulk: &BulkMeasurement) -> BulkFigures {
        let [first, last] = &bulk.marks;
        let bytes = (last.bulk - first.bulk) as f64;
        let useful = bytes + (last.requests - first.requests) as f64;
        let sent = (last.offered - first.offered) as f64;
        let late_s = lateness(&bulk.link);
        let sample = |value| Sample { value, late_s };
        BulkFigures {
            share: sample(8.0 * bytes / (last.at - first.at).as_secs_f64() / self.capacity_bps()),
            waste: sample(sent / useful / (HEADERS / (1.0 - self.loss))),
            first_1mb: sample(seconds_of(bulk.whole.first_1mb)),
            beside_p99: sample(seconds_of(bulk.requests.percentile(0.99))),
        }
    }
}

/// The 99th percentile of the lateness of the emulator's packets, s. 0 without packets.
pub(crate) fn lateness(snapshot: &EmulatorSnapshot) -> f64 {
    let ways = [&snapshot.left_to_right, &snapshot.right_to_left];
    ways.into_iter().filter_map(|way| way.lateness.p99_s).fold(0.0, f64::max)
}

fn seconds_of(time: Option<Duration>) -> f64 {
    time.map_or(f64::NAN, |time| time.as_secs_f64())
}

impl Watcher for Quiet {
    fn begin(&self, _step: &str) {}

    fn wait(&self, end: Instant, _stage: &dyn Fn() -> Stage, done: &dyn Fn() -> bool) {
        while !done() && Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}
