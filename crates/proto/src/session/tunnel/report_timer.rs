//! When the receiver reports, and the description of what arrived since its last report.

use super::received_numbers::REMEMBERED_NUMBERS;
use crate::control::redundancy::LEAST_REPEATS;
use crate::wire::Batch;
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// Number of consecutive reports that list each datagram number, so that lost reports do no harm.
const REPORTS: usize = 8;
/// Datagram numbers that any report lists at least.
const LEAST_REPORTED: u64 = 64;
/// Datagrams at the beginning of a session during which every [`EARLY_EVERY`]-th is reported at once: the sender learns the path
/// from these reports.
const EARLY: u64 = 32;
const EARLY_EVERY: u64 = 4;
/// Arrivals since the last report, above which the report is repeated when nothing follows it. If the report was lost, the sender
/// may be waiting for it.
const BUSY: u32 = 3;
/// Time from an arrival to its report, until the sender says what it wants.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(10);

/// When to report, and what arrived since the last report.
#[derive(Debug)]
pub(super) struct ReportTimer {
    /// Time from an arrival to its report.
    pub(super) interval: Duration,
    /// When the next report is due.
    pub(super) due: Option<Time>,
    /// How often the last report may still be repeated.
    repeats: u32,
    /// How often any report that nothing follows is repeated.
    pub(super) most_repeats: u32,
    /// Whether a datagram that asks for a report arrived since the last one.
    fresh: bool,
    /// When the largest number arrived.
    pub(super) largest_at: Time,
    /// Arrivals since the last report.
    pub(super) count: u32,
    /// The lowest number among these arrivals, and when it arrived.
    lowest: (u64, Time),
    /// When the first of these arrivals was.
    first: Time,
    /// The sum of the arrival times since `first`, s.
    sum: f64,
    /// The largest number in each of the last reports.
    marks: VecDeque<u64>,
}

impl ReportTimer {
    pub(super) fn new() -> ReportTimer {
        ReportTimer {
            interval: DEFAULT_INTERVAL,
            due: None,
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

    /// Datagram `number` has arrived. `largest`: no larger number has. `eliciting`: the datagram asks for a report. `total`:
    /// datagrams of the session so far.
    pub(super) fn arrive(&mut self, now: Time, number: u64, largest: bool, eliciting: bool, total: u64) {
        if largest {
            self.largest_at = now;
        }
        if self.count == 0 {
            self.first = now;
            self.sum = 0.0;
            self.lowest = (number, now);
        } else if number < self.lowest.0 {
            self.lowest = (number, now);
        }
        self.count += 1;
        self.sum += now.since(self.first).as_secs_f64();
        if eliciting {
            let early = total <= EARLY && total % EARLY_EVERY == 1;
            let due = if early { now } else { now + self.interval };
            // The arrival makes a planned repetition needless.
            let planned = self.due.filter(|_| self.fresh);
            self.due = Some(planned.map_or(due, |at| at.min(due)));
            self.fresh = true;
        }
    }

    /// Describes the arrivals since the last report, and plans the next one.
    pub(super) fn take_batch(&mut self, now: Time, largest: u64) -> Batch {
        self.repeats = if self.count >= BUSY { self.most_repeats } else { self.repeats.saturating_sub(1) };
        // All repetitions together take the same time, however many there are.
        let pause = self.interval.mul_f64(1.5 * f64::from(LEAST_REPEATS) / f64::from(self.most_repeats));
        self.due = (self.repeats > 0).then(|| now + pause);
        self.fresh = false;
        // A repetition lists no number that the report before it did not list.
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

    /// The lowest datagram number that the next report lists.
    pub(super) fn acked_from(&self, largest: u64) -> u64 {
        let mark = if self.marks.len() < self.remembered() { 0 } else { self.marks[0] };
        let least = (largest + 1).saturating_sub(LEAST_REPORTED);
        mark.min(least).max((largest + 1).saturating_sub(REMEMBERED_NUMBERS / 2))
    }

    /// Number of consecutive reports that list each number: as many as a report has repetitions, if that is more than
    /// [`REPORTS`], because a run of losses then takes more reports.
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
        r.arrive(us(1_000), 8, true, true, 100);
        r.arrive(us(1_400), 10, true, true, 101);
        r.arrive(us(1_600), 7, false, true, 102);
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
        assert_eq!(r.marks, [10], "a repetition tells of nothing new");
        // More repetitions take no longer.
        r.most_repeats = 30;
        (11..14).for_each(|number| r.arrive(us(60_000), number, true, true, 102));
        r.take_batch(us(70_000), 13);
        while let Some(due) = r.due {
            r.take_batch(due, 13);
            repeats += 1;
            last = due;
        }
        assert_eq!((repeats, last), (LEAST_REPEATS + 30, us(115_000)));
    }
}
