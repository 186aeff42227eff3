//! The emulator's report.

use super::block_code::BlockCodeCounters;
use crate::os::priority::Priority;
use hdrhistogram::Histogram;
use ripstop_link::LinkCounters;
use serde::Serialize;
use std::time::Duration;

/// All counters of an emulator at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EmulatorSnapshot {
    /// Time since the start, in seconds.
    pub elapsed_s: f64,
    /// Whether the emulator is running.
    pub running: bool,
    /// Why the emulator ended, if nobody stopped it.
    pub error: Option<String>,
    /// How the system schedules the thread that moves the packets.
    pub priority: Priority,
    /// The direction from the left namespace to the right one.
    pub left_to_right: EmulatedDirectionReport,
    /// The direction from the right namespace to the left one.
    pub right_to_left: EmulatedDirectionReport,
}

/// What happened to the packets of one direction.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EmulatedDirectionReport {
    /// The link's own counters. `link.offered_bytes` counts the IP bytes offered to the link. The
    /// difference of this counter between two snapshots is the numerator of *sent/useful*, the
    /// bytes sent per useful byte.
    pub link: LinkCounters,
    /// Impairments that are configured but have not acted yet.
    pub unfired: Vec<&'static str>,
    /// What the link's block code did to the packets' bytes.
    pub coding: BlockCodeCounters,
    /// Packets, copies included, written to the receiving device.
    pub handed_over: u64,
    /// Bytes of the packets written.
    pub handed_over_bytes: u64,
    /// Written packets in which a bit was flipped.
    pub damaged: u64,
    /// ECN-capable packets that the link marked with Congestion Experienced.
    pub marked: u64,
    /// Packets that the receiving device refused, because they were damaged too much or the device was down.
    pub refused_by_device: u64,
    /// Packets, copies included, that are in flight now. Packets that wait in the queue of CoDel or FQ are not in flight
    /// yet.
    pub in_flight: u64,
    /// Data read from the sending device that was not IP. Such data was not offered to the link.
    pub not_ip: u64,
    /// Packets larger than the device's MTU at the start. Such packets were not offered to the
    /// link.
    pub too_large: u64,
    /// Packets dropped because the maximum number of packets was in flight, or because their arrival
    /// time was beyond the clock's range.
    pub no_room: u64,
    /// Packets that the kernel dropped because the emulator did not read them in time; None if the kernel does not
    /// report this number.
    pub overflowed: Option<u64>,
    /// How late packets were written, compared with their arrival time on the link.
    pub lateness: Lateness,
}

/// How late packets were written. On a quiet machine all values are well below a millisecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// Median, in seconds; None before the first packet.
    pub p50_s: Option<f64>,
    /// 99th percentile, in seconds.
    pub p99_s: Option<f64>,
    /// Maximum, in seconds.
    pub max_s: Option<f64>,
    /// Packets that were more than a millisecond late.
    pub over_1ms: u64,
    /// The number of packets in these figures: packets written, and packets that the device
    /// refused.
    pub n: u64,
}

/// Collects how late packets were, with two significant digits, from 1 ns to 100 s.
#[derive(Clone, Debug)]
pub(super) struct LatenessLog(Histogram<u64>);

impl LatenessLog {
    const MOST_NS: u64 = 100_000_000_000;

    pub(super) fn new() -> LatenessLog {
        // The histogram accepts these constant bounds, as the test below shows.
        LatenessLog(Histogram::new_with_bounds(1, LatenessLog::MOST_NS, 2).expect("constant bounds are valid"))
    }

    pub(super) fn record(&mut self, late: Duration) {
        let nanos = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
        self.0.saturating_record(nanos.clamp(1, LatenessLog::MOST_NS));
    }

    pub(super) fn report(&self) -> Lateness {
        let n = self.0.len();
        if n == 0 {
            return Lateness::default();
        }
        let seconds = |nanos: u64| Some(nanos as f64 / 1e9);
        Lateness {
            p50_s: seconds(self.0.value_at_quantile(0.5)),
            p99_s: seconds(self.0.value_at_quantile(0.99)),
            max_s: seconds(self.0.max()),
            over_1ms: self.0.count_between(1_000_001, LatenessLog::MOST_NS),
            n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_is_told_to_two_digits() {
        let mut log = LatenessLog::new();
        assert_eq!(log.report(), Lateness::default());
        for _ in 0..98 {
            log.record(Duration::from_micros(20));
        }
        log.record(Duration::from_millis(3));
        log.record(Duration::MAX);
        let report = log.report();
        let near = |got: Option<f64>, want: f64| (got.unwrap() / want - 1.0).abs() < 0.01;
        assert!(near(report.p50_s, 20e-6) && near(report.p99_s, 3e-3) && near(report.max_s, 100.0), "{report:?}");
        assert_eq!((report.over_1ms, report.n), (2, 100));
        log.record(Duration::ZERO);
        assert_eq!(log.report().n, 101);
    }
}
