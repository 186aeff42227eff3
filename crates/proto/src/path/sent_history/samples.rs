//! What a report says of the path: round-trip times, one-way delays and delivery-rate samples.

use super::{Base, SentHistory};
use crate::control::rate::{OneWayDelay, RateSample, Report};
use crate::path::content::Carried;
use crate::wire::PathReport;
use ripstop_base::Time;
use std::time::Duration;

/// How much longer than a round trip the peer may say that it held a report back. The peer's clock may be a little
/// faster, and is rounded. Half the value refuses no honest sample. Double the value takes samples of 0 after jumps of
/// the peer's clock by 2 ms.
const CLOCK_TOLERANCE: Duration = Duration::from_millis(1);

/// The largest relative difference between the clocks of the two ends. If the peer measures a longer time, its clock has
/// jumped. Half the value still admits clocks that no time server corrects. Double the value takes rate samples after
/// jumps by a fiftieth of the interval.
const CLOCK_DRIFT: f64 = 0.01;

impl<C: Carried> SentHistory<C> {
    /// Records that this end was suspended until `now`. The time between is no part of a round trip.
    pub(crate) fn resume(&mut self, now: Time) {
        self.resumed = now;
    }

    /// Takes the round-trip time and the rate sample from a report with a new highest number, which arrived at
    /// `arrived`.
    pub(crate) fn take_largest(&mut self, arrived: Time, feedback: &PathReport, report: &mut Report) {
        if self.largest.is_some_and(|l| feedback.largest <= l.number) {
            return;
        }
        let Some(record) = feedback.largest.checked_sub(self.first).and_then(|i| self.records.get(i as usize)) else {
            return;
        };
        let later = self.bases.partition_point(|(from, _)| *from <= feedback.largest);
        let base = later.checked_sub(1).and_then(|at| self.bases.get(at)).map(|(_, base)| *base).or(self.origin);
        let app_limited = record.app_limited;
        let newest = Base {
            number: feedback.largest,
            passed: record.passed,
            sent: record.sent,
            arrived_us: feedback.largest_at_us,
            received_bytes: feedback.received_bytes,
        };
        let elapsed = arrived.since(record.sent);
        // A clock that has jumped, here or at the peer, makes a sample meaningless.
        let is_valid = record.sent >= self.resumed && feedback.delay <= elapsed + CLOCK_TOLERANCE;
        let rtt = is_valid.then(|| elapsed.saturating_sub(feedback.delay));
        self.limited = self.limited.filter(|last| *last > newest.number);
        self.largest = Some(newest);
        let next = self.next();
        match self.bases.back_mut() {
            Some((from, base)) if *from == next => *base = newest,
            _ => self.bases.push_back((next, newest)),
        }
        self.origin = self.origin.or(Some(newest));
        if let Some(rtt) = rtt {
            self.rtt.add(rtt);
        }
        report.rtt = rtt;
        let sample = |base: Base| self.sample(base, newest, elapsed, app_limited || base.sent < self.resumed);
        report.rate = base.and_then(sample);
    }

    /// The rate sample from `base` to `newest`, which left `elapsed` before its report arrived. `None`: the time between
    /// the two arrivals is shorter than 0.3 round trips, or a clock has jumped between them.
    fn sample(&self, base: Base, newest: Base, elapsed: Duration, app_limited: bool) -> Option<RateSample> {
        // The interval is taken on the receiver's clock. If the sending interval was longer, the
        // sending interval is used instead, because the path cannot deliver faster than the sender
        // sends.
        let receiving = newest.arrived_us.saturating_sub(base.arrived_us) as f64 / 1e6;
        let sending = newest.sent.since(base.sent).as_secs_f64();
        if receiving <= 0.0 || receiving < 0.3 * self.srtt().as_secs_f64() {
            return None;
        }
        // The newest datagram was on the way for at most `elapsed`.
        if receiving > (sending + elapsed.as_secs_f64()) * (1.0 + CLOCK_DRIFT) {
            return None;
        }
        let span = receiving.max(sending);
        let received = newest.received_bytes.saturating_sub(base.received_bytes) as f64;
        let passed = newest.passed.saturating_sub(base.passed) as f64;
        Some(RateSample {
            delivered: received / span,
            passed: passed / span,
            received: received / receiving,
            sent: passed / sending.max(1e-6),
            app_limited,
        })
    }

    /// One-way delay of the datagrams of a report that arrived at `now`: mean arrival time minus mean departure time.
    ///
    /// The clocks of the two ends differ by an unknown constant, so only the difference of two such delays has a
    /// meaning.
    pub(crate) fn one_way_delay(&self, now: Time, feedback: &PathReport) -> Option<OneWayDelay> {
        let batch = feedback.batch;
        let (mut count, mut sent) = (0u64, 0i128);
        let largest = self.records.get(feedback.largest.checked_sub(self.first)? as usize)?;
        if batch.count > 0 {
            for range in &feedback.acked {
                let (start, end) = (range.start.max(batch.lowest).max(self.first), range.end.min(self.next()));
                if start < end {
                    count += end - start;
                    sent += (self.sent_before(end) - self.sent_before(start)) as i128;
                }
            }
        }
        // The batch holds the arrivals since the last report. After reordering, numbers that
        // arrived before the last report may lie between the batch's numbers. Then only the delay
        // of the datagram with the highest number is used.
        let (arrived_before, sent_after) = if count == u64::from(batch.count) && count > 0 {
            let sent = sent - i128::from(count) * i128::from(largest.sent.as_nanos());
            (f64::from(batch.mean_before_us) / 1e6, sent as f64 / count as f64 / 1e9)
        } else {
            (0.0, 0.0)
        };
        Some(OneWayDelay {
            mean: feedback.largest_at_us as f64 / 1e6 - largest.sent.as_secs_f64() - (arrived_before + sent_after),
            most: now.since(largest.sent).as_secs_f64() - sent_after,
        })
    }

    /// Sum of the times at which the datagrams before `number` left, ns. `number` is in the history, or is the next
    /// number.
    fn sent_before(&self, number: u64) -> u128 {
        let record = self.records.get((number - self.first) as usize);
        record.map_or(self.sent_sum, |record| record.sent_sum - u128::from(record.sent.as_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The peer's clock jumps by 3 minutes between two datagrams that were sent one second apart.
    #[test]
    fn a_jump_of_a_clock_gives_no_rate_sample() {
        let history = SentHistory::<()>::new(Duration::from_millis(100));
        let base =
            Base { number: 1, passed: 1_000, sent: Time::from_millis(50), arrived_us: 7_000_000, received_bytes: 900 };
        let newest = |arrived_us| Base {
            number: 2,
            passed: 251_000,
            sent: Time::from_millis(1_050),
            arrived_us,
            received_bytes: 200_900,
        };
        let sample = |arrived_us| history.sample(base, newest(arrived_us), Duration::from_millis(600), false);
        assert_eq!(sample(8_000_000).map(|sample| sample.delivered), Some(200e3));
        // A queue of 500 ms has grown between the two.
        assert_eq!(sample(8_500_000).map(|sample| sample.passed), Some(250e3 / 1.5));
        assert_eq!(sample(188_000_000), None);
    }
}
