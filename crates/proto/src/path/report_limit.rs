//! Which reports of the peer are taken: those that this end may have asked for.
//!
//! Each end announces how often it wants reports. An honest peer reports once in this interval, and repeats a report while
//! no datagram follows. A report that comes faster would cause work for nothing, so it is not even parsed.

use super::report_interval::SHORTEST_INTERVAL;
use crate::tokens::TokenBucket;
use ripstop_base::Time;
use std::time::Duration;

/// Reports that are taken in one announced interval.
///
/// A receiver repeats its last report at most [`MOST_REPEATS`](crate::control::redundancy::MOST_REPEATS) = 48 times in 4.5
/// intervals (`report_timer.rs`), which makes 11 in one interval, and sends one report for new datagrams. Half the value
/// drops repetitions on paths that lose long runs. Double the value lets a hostile peer cause twice as many cheap reports.
const MARGIN: f64 = 12.0;
/// The longest interval that counts. The peer uses a longer interval only after the announcement has arrived, and 10 ms
/// before the first one. With half the value, a hostile peer on a slow path can send twice as many reports. With double the
/// value, reports are dropped when the interval grows tenfold at once.
const LONGEST: Duration = Duration::from_millis(20);
/// The time for which the number may be saved up. A path that stands still releases the reports of this time at once. Half
/// the value drops reports after shorter pauses. Double the value admits twice as many at once.
const SAVED: Duration = Duration::from_secs(1);

/// Counts the peer's reports against the interval that this end has announced.
#[derive(Debug)]
pub(crate) struct ReportLimit(TokenBucket);

impl ReportLimit {
    pub(crate) fn new(now: Time) -> ReportLimit {
        let rate = ReportLimit::rate(LONGEST);
        ReportLimit(TokenBucket::full(rate, rate * SAVED.as_secs_f64(), now))
    }

    /// Whether a report that arrives at `now` is taken. `every` is the announced interval.
    pub(crate) fn admits(&mut self, now: Time, every: Duration) -> bool {
        let rate = ReportLimit::rate(every);
        self.0.set_rate(now, rate, rate * SAVED.as_secs_f64());
        self.0.take(now, 1.0)
    }

    /// Reports per second that are taken with the announced interval `every`, which is 0 before the first announcement. At
    /// most 6000.
    fn rate(every: Duration) -> f64 {
        MARGIN / every.clamp(SHORTEST_INTERVAL, LONGEST).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `rate` reports per second are taken in the fourth second.
    fn taken(every: Duration, rate: u64) -> usize {
        let mut limit = ReportLimit::new(Time::ZERO);
        let times = (0..4 * rate).map(|n| Time::from_nanos(n * 1_000_000_000 / rate));
        let admitted: Vec<Time> = times.filter(|at| limit.admits(*at, every)).collect();
        admitted.into_iter().filter(|at| *at >= Time::from_millis(3_000)).count()
    }

    #[test]
    fn reports_that_nobody_asked_for_are_refused() {
        let ms = Duration::from_millis;
        // All repetitions at the highest rate, and the reports of new datagrams.
        assert_eq!(taken(ms(2), 5_800), 5_800);
        assert_eq!(taken(ms(20), 580), 580);
        assert!((5_990..=6_010).contains(&taken(ms(2), 20_000)), "{}", taken(ms(2), 20_000));
        assert!((5_990..=6_010).contains(&taken(ms(0), 20_000)), "before the first announcement");
        assert!((595..=605).contains(&taken(ms(1_000), 20_000)), "{}", taken(ms(1_000), 20_000));
    }
}
