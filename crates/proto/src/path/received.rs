//! The receiving half of a path: which datagrams of the peer have arrived, and the reports about them.

use super::peer_losses::PeerLosses;
use super::received_numbers::ReceivedNumbers;
use super::reception::Reception;
use super::report_timer::{ReportTimer, Wanted};
use super::too_large::PeersTooLarge;
use crate::control::loss::Losses;
use crate::wire::PathReport;
use ripstop_base::Time;
use ripstop_base::counters;
use std::time::Duration;

counters! {
    /// Counts of the datagrams that have arrived.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ReceivedCounts {
        /// Datagrams received. Datagrams with the same number count as one.
        pub datagrams: u64 => ("datagrams_received", "received_datagrams_total"),
        /// Datagrams received that were marked Congestion Experienced.
        pub marked: u64,
        /// Datagrams dropped because their number was received before, or is older than all numbers that the path
        /// remembers.
        pub duplicates: u64,
        /// Reports sent, repetitions included.
        pub reports: u64,
        /// Reports that only repeated the last report, because no datagram had arrived since.
        pub repeats: u64,
        /// Reports whose lists were shortened to fit a datagram.
        pub cut_reports: u64,
    }
}

/// The receiving half of a path.
#[derive(Debug)]
pub(crate) struct Received {
    numbers: ReceivedNumbers,
    losses: PeerLosses,
    /// The peer's datagrams that its path was too small for. They do not count as lost.
    too_large: PeersTooLarge,
    bytes: u64,
    timer: ReportTimer,
    counts: ReceivedCounts,
}

impl Received {
    pub(super) fn new() -> Received {
        Received {
            numbers: ReceivedNumbers::new(),
            losses: PeerLosses::default(),
            too_large: PeersTooLarge::default(),
            bytes: 0,
            timer: ReportTimer::new(),
            counts: ReceivedCounts::default(),
        }
    }

    /// Records that datagram `number`, of `bytes` bytes, has arrived.
    ///
    /// `eliciting`: the datagram asks for a report. Returns false if the number has arrived before, or is older than all
    /// remembered numbers.
    pub(crate) fn arrive(&mut self, now: Time, number: u64, bytes: u32, reception: Reception, eliciting: bool) -> bool {
        if !self.numbers.insert(number) {
            self.counts.duplicates += 1;
            return false;
        }
        self.counts.datagrams += 1;
        self.bytes += u64::from(bytes);
        self.counts.marked += u64::from(reception.ce);
        let (lost, sent, runs) = self.totals();
        self.losses.update(lost, sent, runs);
        let (arrived, largest) = (now - reception.waited, self.numbers.largest == Some(number));
        let wanted = match (eliciting, reception.ce) {
            (false, _) => Wanted::Never,
            (true, false) => Wanted::Soon,
            (true, true) => Wanted::AtOnce,
        };
        self.timer.arrive(now, arrived, number, largest, wanted, self.counts.datagrams);
        true
    }

    /// Takes a probe of the peer, which may tell how many datagrams were too large for the peer's path.
    pub(crate) fn note_probe(&mut self, padding: u16) {
        let before = self.too_large.total();
        self.too_large.take(padding);
        if self.too_large.total() != before {
            let (lost, sent, runs) = self.totals();
            self.losses.update(lost, sent, runs);
        }
    }

    /// Sets the interval of reports that the peer wants, within limits.
    pub(crate) fn set_interval(&mut self, every: Duration) {
        self.timer.interval = every.clamp(Duration::from_millis(1), Duration::from_secs(1));
    }

    /// Sets the maximum number of times that a report is repeated while no further datagram asks
    /// for a report. `repeats` is at least
    /// [`LEAST_REPEATS`](crate::control::redundancy::LEAST_REPEATS).
    pub(crate) fn set_repeats(&mut self, repeats: u32) {
        self.timer.most_repeats = repeats;
    }

    /// When the next report is due.
    pub(crate) fn report_due(&self) -> Option<Time> {
        self.timer.due
    }

    /// Makes the report if one is due.
    pub(crate) fn report(&mut self, now: Time) -> Option<PathReport> {
        if self.timer.due.is_none_or(|due| due > now) {
            return None;
        }
        let largest = self.numbers.largest?;
        self.counts.reports += 1;
        self.counts.repeats += u64::from(self.timer.count == 0);
        let acked_from = self.timer.acked_from(largest);
        Some(PathReport {
            largest,
            largest_at_us: self.timer.largest_at.as_nanos() / 1_000,
            delay: now.since(self.timer.largest_at),
            received: self.counts.datagrams,
            received_bytes: self.bytes,
            ce: self.counts.marked,
            batch: self.timer.take_batch(now, largest),
            acked: self.numbers.ranges_down(acked_from),
            acked_from,
        })
    }

    /// Counts a report that was shortened.
    pub(crate) fn note_cut(&mut self) {
        self.counts.cut_reports += 1;
    }

    /// Three counts over the datagram numbers up to the largest one received: numbers that have not
    /// arrived so far, all numbers, and runs of skipped numbers. Datagrams that were too large for the peer's path do
    /// not count, and the runs lose the same share.
    pub(crate) fn totals(&self) -> (u64, u64, u64) {
        // The largest number has a next one: see [`ReceivedNumbers::largest`].
        let sent = self.numbers.largest.map_or(0, |largest| largest + 1);
        let absent = sent.saturating_sub(self.counts.datagrams);
        let too_large = self.too_large.total().min(absent);
        if too_large == 0 {
            return (absent, sent, self.numbers.gaps);
        }
        let (lost, gaps) = (absent - too_large, u128::from(self.numbers.gaps));
        let runs = gaps * u128::from(lost) / u128::from(absent);
        (lost, sent - too_large, runs as u64)
    }

    /// The recent losses of the peer's direction.
    pub(crate) fn losses(&self) -> Losses {
        self.losses.get()
    }

    /// Bytes of all datagrams received so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> ReceivedCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The datagram numbers of a report and of the losses are those that arrived.
    #[test]
    fn the_highest_datagram_numbers_are_counted() {
        let mut received = Received::new();
        for number in [u64::MAX, u64::MAX - 1] {
            let is_taken = received.arrive(Time::ZERO, number, 100, Reception::default(), true);
            assert_eq!(is_taken, number < u64::MAX);
        }
        assert_eq!(received.totals(), (u64::MAX - 1, u64::MAX, 1));
        assert_eq!(received.report(Time::from_millis(90_000)).unwrap().acked, vec![u64::MAX - 1..u64::MAX; 1]);
    }
}
