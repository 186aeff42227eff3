//! Decides when the receiver reports, and describes the datagrams that arrived since the last
//! report.

use super::received_numbers::REMEMBERED_NUMBERS;
use crate::control::redundancy::LEAST_REPEATS;
use crate::wire::Batch;
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Number of consecutive reports that list each datagram number, repetitions not counted. A report
/// on very many datagrams leaves out the oldest numbers (see `ReportTimer::acked_from` and
/// `Feedback::cut`).
///
/// The sender takes a datagram that has arrived for a lost one only if all these reports are lost.
/// Half the value makes reports shorter and this error more likely. Double the value makes reports
/// longer.
const REPORTS: usize = 8;
/// Every report covers at least this number of the latest datagram numbers.
///
/// The value matters when few datagrams arrive between reports. A larger value helps when several
/// reports are lost, and makes reports longer.
const LEAST_REPORTED: u64 = 64;
/// Among this number of first datagrams of a session, some are reported immediately: the first
/// datagram, and then every [`EARLY_EVERY`]-th one. A datagram that does not ask for a report is
/// not reported immediately.
///
/// The sender learns the round-trip time and the rate of the path from these reports. Half the
/// value gives the sender fewer early reports. Double the value costs up to eight more reports.
const EARLY: u64 = 32;
/// Distance between two early datagrams that are reported immediately. See [`EARLY`].
///
/// Half the value doubles the number of early reports; double the value halves this number.
const EARLY_EVERY: u64 = 4;
/// A report that covers at least this number of new arrivals is repeated while no further datagram
/// asks for a report. A report that covers fewer new arrivals counts as one repetition of the
/// report before it.
///
/// After this number of arrivals the sender may be waiting for the report, and the report may be
/// lost. A smaller value repeats reports of one or two datagrams as well. With double the value,
/// reports of three to five datagrams are no longer repeated.
const BUSY: u32 = 3;
/// Time from the arrival of a datagram until the receiver reports it. The receiver uses this value
/// until the sender announces an interval.
///
/// Half the value doubles the number of reports before the announcement. Double the value makes the
/// sender wait longer for the first regular reports.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(10);

/// How soon a datagram is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The datagram does not ask for a report.
    Never,
    /// The datagram asks for a report: within the interval.
    Soon,
    /// The datagram asks for a report, and is marked Congestion Experienced: at once, but an interval after the last
    /// report (RFC 9000, section 13.2.1).
    AtOnce,
}

/// The time of the next report, and the arrivals since the last report.
#[derive(Debug)]
pub(crate) struct ReportTimer {
    /// Time from the arrival of a datagram until the receiver reports it.
    pub(crate) interval: Duration,
    /// When the next report is due.
    pub(crate) due: Option<Time>,
    /// When the last report left.
    reported: Time,
    /// Number of times that the last report may still be repeated.
    repeats: u32,
    /// Number of times that a report is repeated while no further datagram asks for a report.
    pub(crate) most_repeats: u32,
    /// Whether a datagram that asks for a report has arrived since the last report.
    fresh: bool,
    /// When the largest datagram number arrived.
    pub(crate) largest_at: Time,
    /// Arrivals since the last report.
    pub(crate) count: u32,
    /// The lowest datagram number that arrived since the last report, and when it arrived.
    lowest: (u64, Time),
    /// When the first datagram since the last report arrived.
    first: Time,
    /// Sum of the arrival times since the last report, each relative to `first`, s.
    sum: f64,
    /// The largest datagram number in each of the last reports, oldest first.
    marks: VecDeque<u64>,
}

impl ReportTimer {
    pub(crate) fn new() -> ReportTimer {
        ReportTimer {
            interval: DEFAULT_INTERVAL,
            due: None,
            reported: Time::ZERO,
            repeats: 0,
            most_repeats: LEAST_REPEATS,
            fresh: false,
            largest_at: Time::ZERO,
            count: 0,
            lowest: (0, Time::ZERO),
            first: Time::ZERO,
            sum: 0.0,
            marks: VecDeque::new(),
        }
    }

    /// Records that datagram `number` has arrived at `arrived`, and was taken at `now`.
    ///
    /// `largest`: no larger number has arrived. `total`: number of datagrams received in the session so far.
    pub(crate) fn arrive(&mut self, now: Time, arrived: Time, number: u64, largest: bool, wanted: Wanted, total: u64) {
        if largest {
            self.largest_at = arrived;
        }
        if self.count == 0 {
            self.first = arrived;
            self.sum = 0.0;
            self.lowest = (number, arrived);
        } else if number < self.lowest.0 {
            self.lowest = (number, arrived);
        }
        // Datagrams that ask for no report may come for days.
        self.count = self.count.saturating_add(1);
        self.sum += arrived.signed_since(self.first) as f64 / 1e9;
        if wanted != Wanted::Never {
            let early = total <= EARLY && total % EARLY_EVERY == 1;
            let due = match wanted {
                _ if early => now,
                Wanted::AtOnce => now.max(self.reported + self.interval),
                _ => now + self.interval,
            };
            // A new report takes the place of a planned repetition.
            let planned = self.due.filter(|_| self.fresh);
            self.due = Some(planned.map_or(due, |at| at.min(due)));
            self.fresh = true;
        }
    }

    /// Describes the arrivals since the last report, and plans the next report. Call this function
    /// when a report leaves at `now`. `largest` is the largest datagram number received.
    pub(crate) fn take_batch(&mut self, now: Time, largest: u64) -> Batch {
        self.reported = now;
        self.repeats = if self.count >= BUSY { self.most_repeats } else { self.repeats.saturating_sub(1) };
        // The pause is shorter for more repetitions, so that all repetitions together always take
        // the same time.
        let pause = self.interval.mul_f64(1.5 * f64::from(LEAST_REPEATS) / f64::from(self.most_repeats));
        self.due = (self.repeats > 0).then(|| now + pause);
        self.fresh = false;
        // A repetition adds no mark, because it lists the same numbers as the report before it.
        if self.marks.back() != Some(&largest) {
            self.marks.push_back(largest);
        }
        while self.marks.len() > self.remembered() {
            self.marks.pop_front();
        }
        let count = std::mem::take(&mut self.count);
        if count == 0 {
            return Batch::default();
        }
        let micros = |seconds: f64| (seconds * 1e6).round().clamp(-1e9, 1e9) as i32;
        let mean = self.sum / f64::from(count);
        let largest_at = self.largest_at.signed_since(self.first) as f64 / 1e9;
        Batch {
            count,
            lowest: self.lowest.0,
            mean_before_us: micros(largest_at - mean),
            lowest_before_us: micros(self.largest_at.signed_since(self.lowest.1) as f64 / 1e9),
        }
    }

    /// The lowest datagram number that the next report covers. This is the largest number in the
    /// oldest report of `marks`, or 0 while `marks` is not full. But the report covers at least the
    /// latest [`LEAST_REPORTED`] numbers, and at most the latest [`REMEMBERED_NUMBERS`] / 2
    /// numbers.
    pub(crate) fn acked_from(&self, largest: u64) -> u64 {
        let mark = if self.marks.len() < self.remembered() { 0 } else { self.marks[0] };
        let least = (largest + 1).saturating_sub(LEAST_REPORTED);
        mark.min(least).max((largest + 1).saturating_sub(REMEMBERED_NUMBERS / 2))
    }

    /// Number of consecutive reports that list each datagram number: [`REPORTS`], or the number of
    /// repetitions (`most_repeats`) if this number is larger. The number of repetitions is large if
    /// losses come in long runs. A long run may hit several reports.
    fn remembered(&self) -> usize {
        REPORTS.max(self.most_repeats as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_described_relative_to_the_highest_number() {
        let mut r = ReportTimer::new();
        let us = Time::from_micros;
        r.arrive(us(1_000), us(1_000), 8, true, Wanted::Soon, 100);
        r.arrive(us(1_400), us(1_400), 10, true, Wanted::Soon, 101);
        r.arrive(us(1_600), us(1_600), 7, false, Wanted::Soon, 102);
        assert_eq!(r.due, Some(us(11_000)));
        let batch = r.take_batch(us(11_000), 10);
        assert_eq!(batch, Batch { count: 3, lowest: 7, mean_before_us: 67, lowest_before_us: -200 });
        let (mut repeats, mut last) = (0, us(11_000));
        while let Some(due) = r.due {
            assert_eq!(r.take_batch(due, 10), Batch::default());
            repeats += 1;
            last = due;
        }
        assert_eq!((repeats, last), (LEAST_REPEATS, us(56_000)));
        assert_eq!(r.marks, [10], "a repetition must not add a mark");
        // A larger number of repetitions takes the same time in total.
        r.most_repeats = 30;
        (11..14).for_each(|number| r.arrive(us(60_000), us(60_000), number, true, Wanted::Soon, 102));
        r.take_batch(us(70_000), 13);
        while let Some(due) = r.due {
            r.take_batch(due, 13);
            repeats += 1;
            last = due;
        }
        assert_eq!((repeats, last), (LEAST_REPEATS + 30, us(115_000)));
    }

    #[test]
    fn arrivals_beyond_the_largest_count_are_reported() {
        let mut r = ReportTimer::new();
        let us = Time::from_micros;
        r.arrive(us(1_000), us(1_000), 8, true, Wanted::Never, 100);
        r.count = u32::MAX;
        r.arrive(us(2_000), us(2_000), 9, true, Wanted::Soon, 101);
        let batch = r.take_batch(us(12_000), 9);
        assert_eq!((batch.count, batch.lowest, batch.lowest_before_us), (u32::MAX, 8, 1_000));
    }

    #[test]
    fn a_mark_is_reported_at_once_but_not_more_often() {
        let mut r = ReportTimer::new();
        let ms = Time::from_millis;
        r.arrive(ms(100), ms(100), 50, true, Wanted::AtOnce, 100);
        assert_eq!(r.due, Some(ms(100)));
        r.take_batch(ms(100), 50);
        r.arrive(ms(103), ms(103), 51, true, Wanted::AtOnce, 101);
        assert_eq!(r.due, Some(ms(110)), "reports must be an interval apart");
        r.take_batch(ms(110), 51);
        // A mark does not wait for the time at which an earlier datagram is due.
        r.arrive(ms(121), ms(121), 52, true, Wanted::Soon, 102);
        r.arrive(ms(124), ms(124), 53, true, Wanted::AtOnce, 103);
        assert_eq!(r.due, Some(ms(124)));
        r.take_batch(ms(124), 53);
        let planned = r.due;
        r.arrive(ms(140), ms(140), 54, true, Wanted::Never, 104);
        assert_eq!(r.due, planned);
    }
}
