//! How often the peer shall report, and how often this end repeats its own reports.

use super::{Carried, Path};
use crate::control::loss::Losses;
use crate::control::redundancy::report_repeats;
use crate::wire::whole_micros;
use ripstop_base::Time;
use std::time::Duration;

/// Bytes of reports, as a share of the bytes that the path carries in the reported direction: 0.4
/// %.
///
/// On slow paths this share sets the report interval, within the limits in `Path::report_interval`.
/// With half the share, reports are half as frequent on such paths, so losses are known later. With
/// double the share, reports cost twice as much.
const REPORT_SHARE: f64 = 0.004;
/// Assumed length of a report, bytes.
///
/// A report that lists a few gaps is about this long. The value serves only to estimate the cost of
/// reports. With double the value, reports on slow paths are half as frequent. With half the value,
/// they are twice as frequent.
pub(crate) const REPORT_BYTES: f64 = 110.0;
/// If reports are lost in runs, there are more reports on slow paths, by this number times the mean length of a run.
///
/// A run of lost reports makes the sender blind: it neither repairs losses nor sends more than a window. More frequent
/// reports make a run shorter. A path of 3 Mbit/s and
/// 458 ms loses 20 % in runs of 7 in both directions: a greedy sender has .79 of its rate, .76 with half the value and .77
/// with double the value.
const REPORTS_OF_RUN: f64 = 0.5;
/// Limit on this increase. See [`REPORTS_OF_RUN`].
///
/// Half the value leaves longer blind times in runs of more than 4 reports. Double the value costs 3 % of what the path
/// carries in the reported direction.
const MOST_OFTEN: f64 = 4.0;
/// The shortest interval of reports that this end announces.
///
/// Rate control needs about ten reports per round trip. With half the value, reports come twice as often on paths of less
/// than 20 ms, and a hostile peer may send twice as many (`report_limit.rs`). With double the value, rate control reacts
/// later on such paths.
pub(crate) const SHORTEST_INTERVAL: Duration = Duration::from_millis(2);
/// Datagrams between two reports on a fast path, if reports need not come more often than every [`SHORTEST_INTERVAL`].
///
/// A report repeats the numbers of the last eight intervals, and lists 8192 numbers. Double the value counts datagrams as
/// lost at 1 Gbit/s when five reports are lost in a row. Half the value doubles the reports above 600 Mbit/s.
const REPORT_PACKETS: f64 = 1000.0;

/// Repetitions of one report may take at most this share of the bytes that the path carries in a
/// round trip.
///
/// This end sends reports too, and repeats its last report while no datagram follows. The first
/// [`FEW_PACKETS`] packets of the round trip do not count for the share. The share bounds the cost
/// of repetitions when losses come in long runs. Half the share allows half the number of
/// repetitions, so it happens more often that all repetitions are lost. Double the share lets
/// repetitions displace more data.
const REPEAT_SHARE: f64 = 0.2;
/// On a path that carries at most this number of packets per round trip, a report is repeated only
/// [`LEAST_REPEATS`](crate::control::redundancy::LEAST_REPEATS) times.
///
/// Such a path has no room for extra repetitions. Half the value allows extra repetitions on
/// shorter and slower paths. Double the value forbids extra repetitions on more paths. The value
/// hardly matters on a path that carries hundreds of packets per round trip.
const FEW_PACKETS: f64 = 4.0;

impl<C: Carried> Path<C> {
    /// The interval of reports that this end wants now.
    pub(crate) fn report_interval(&self) -> Duration {
        let srtt = self.srtt();
        let ms = Duration::from_millis;
        // Rate control needs about ten reports per round trip, 2 to 20 ms apart. On a slow path the
        // interval is longer, so that reports cost almost nothing. The longer interval is at most 1
        // s. The longer interval is also at most the larger of 20 ms and a quarter of a round trip.
        // Reports take the room of the peer's packets. So a direction that carries little beside a bulk flow of the
        // peer, such as acknowledgements, asks for fewer reports on a slow path: one in a round trip, or in 100 ms.
        let bandwidth = self.rate.view().bandwidth;
        let (carried, most) = match self.balance.peer_carries() {
            Some(rate) => (rate.min(bandwidth), srtt.max(ms(100))),
            None => (bandwidth, (srtt / 4).max(ms(20))),
        };
        let often = (REPORTS_OF_RUN * self.received.losses().burst).clamp(1.0, MOST_OFTEN);
        let cheap = REPORT_BYTES / (often * REPORT_SHARE * carried.max(1_000.0));
        let dear = Duration::from_secs_f64(cheap.min(1.0)).min(most);
        let packets = bandwidth / f64::from(self.config.mtu);
        let listed = Duration::from_secs_f64((REPORT_PACKETS / packets.max(1.0)).min(1.0)).max(SHORTEST_INTERVAL);
        whole_micros((srtt / 10).clamp(SHORTEST_INTERVAL, ms(20)).min(listed).max(dear))
    }

    /// Notes the interval that was announced to the peer.
    pub(crate) fn set_report_every(&mut self, every: Duration) {
        self.report_every = every;
    }

    /// Whether a report that arrives at `now` is taken: this end may have asked for it (`report_limit.rs`).
    pub(crate) fn takes_report(&mut self, now: Time) -> bool {
        self.report_limit.admits(now, self.report_every)
    }

    /// Takes the number of marked datagrams from the newest report, and adapts the repetitions of this end's reports to the
    /// path.
    pub(crate) fn note_newest(&mut self, now: Time, ce: u64) {
        self.counts.peer_marked = ce;
        self.update_repeats(now);
    }

    /// Sets how many times this end repeats its own reports.
    ///
    /// A path that holds only a few packets has no room for extra repetitions. A path without losses needs no extra
    /// repetitions.
    fn update_repeats(&mut self, now: Time) {
        let (losses, _, _) = self.losses.get().all(now);
        let mtu = f64::from(self.config.mtu);
        let spare = (self.carried() / mtu - FEW_PACKETS).max(0.0) * mtu;
        let affordable = (REPEAT_SHARE * spare / REPORT_BYTES) as u32;
        let losses = Losses { share: self.losses.get().proactive(now), ..losses };
        self.received.set_repeats(report_repeats(losses, affordable));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::rate::{RateMode, Tuning};
    use crate::path::PathConfig;
    use ripstop_base::{Rate, Seed};

    #[test]
    fn a_fast_path_has_reports_that_list_all_datagrams() {
        let every = |mbps: u64| {
            let config = PathConfig {
                mtu: 1500,
                header: 28,
                rate: RateMode::Fixed(Rate::from_bps(mbps * 1_000_000)),
                tuning: Tuning::default(),
                ecn: true,
                first_rtt: Duration::from_millis(300),
            };
            Path::<()>::new(Time::ZERO, config, 1, Seed::new(1).stream("rate")).report_interval()
        };
        assert_eq!(every(100), Duration::from_millis(20));
        // 1000 datagrams of 1500 bytes, and at least 2 ms.
        assert_eq!([every(1_000), every(100_000)], [Duration::from_millis(12), Duration::from_millis(2)]);
    }
}
