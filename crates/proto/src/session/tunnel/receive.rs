//! The receiving half: which datagrams have come, which symbols are known, and the reports about both.

use super::inner::InnerPacket;
use super::order::{Delivered, InOrder, OrderCounts};
use crate::control::redundancy::LEAST_REPEATS;
use crate::wire::{Batch, Feedback, Gap, Window};
use ripstop_base::Time;
use ripstop_codes::window::{Arrival, Coding, Decoder, Limits, Members, Pivots};
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

/// How far back datagram numbers are remembered.
const NUMBERS: u64 = 1 << 14;
/// A number is reported in so many reports, so that losing some of them does no harm...
const REPORTS: usize = 8;
/// ...and in any report are at least so many numbers.
const LEAST_REPORTED: u64 = 64;
/// At the beginning the sender learns the path from early reports.
const EARLY: u64 = 32;
const EARLY_EVERY: u64 = 4;
/// When nothing follows a report on at least so many arrivals, it is repeated: if it was lost, the
/// sender may be waiting for it.
const BUSY: u32 = 3;
/// A report lists unseen symbols in so many ranges at most, the lowest ones: about what fits a report.
/// It must be as much as is lost in a round trip, or repairs do not keep up on long fast paths.
const UNSEEN_RANGES: usize = 512;
/// A repair whose range has more unseen symbols than this is not held: of a sender's overrun more is
/// missing than such repairs bring back, while those on request span a few symbols each.
const MAX_UNSEEN: usize = 128;
/// Reports go out this often until the sender says how often it wants them.
const DEFAULT_INTERVAL: Duration = Duration::from_millis(10);
/// Known symbols are kept for repairs this far back until the sender says how far.
const DEFAULT_REACH: u64 = 1024;

/// What the receiving half did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounts {
    /// Datagrams received, each number once.
    pub datagrams: u64,
    /// Of these, with Congestion Experienced.
    pub marked: u64,
    /// Datagrams received a second time, or too old to tell.
    pub duplicates: u64,
    /// Source symbols received as they are.
    pub sources: u64,
    /// Source symbols recovered from repairs.
    pub recovered: u64,
    /// Repairs received.
    pub repairs: u64,
    /// Repairs that brought nothing new.
    pub redundant: u64,
    /// Repairs that named symbols no longer held, and symbols of either kind too far ahead.
    pub unusable: u64,
    /// Repairs over more missing symbols than are brought back together.
    pub wide: u64,
    /// Repairs for which there was no room with those that wait.
    pub full: u64,
    /// Symbols that were neither received nor recovered when they were given up.
    pub given_up: u64,
    /// Symbols that were no inner packet.
    pub malformed: u64,
    /// Reports sent.
    pub reports: u64,
    /// Of these, repetitions of one that nothing followed.
    pub repeats: u64,
    /// Reports whose sets were cut so that they fit a datagram.
    pub cut_reports: u64,
}

/// The receiving half of a tunnel.
#[derive(Debug)]
pub(super) struct Receiver<P: InnerPacket> {
    numbers: Numbers,
    received_bytes: u64,
    decoder: Decoder<P>,
    /// Symbols that are known to exist and are not known.
    missing: BTreeSet<u64>,
    end: u64,
    limit: u64,
    order: InOrder<P>,
    reporter: Reporter,
    reach: u64,
    freed_to: u64,
    patience: Option<Duration>,
    /// Repairs over a range of symbols that brought nothing.
    vain: u64,
    counts: ReceiveCounts,
}

impl<P: InnerPacket> Receiver<P> {
    /// A receiver that follows a window of up to `limit` symbols, and whose waiting repairs take `matrix` bytes at most
    /// beside their payloads.
    pub(super) fn new(limit: u32, matrix: usize) -> Receiver<P> {
        let limit = u64::from(limit.max(64));
        Receiver {
            numbers: Numbers::new(),
            received_bytes: 0,
            // The oldest holes are the ones to ask for: what comes later waits for them.
            decoder: Decoder::with_pivots(
                0,
                Limits { ahead: limit as usize, history: limit as usize, matrix, unseen: MAX_UNSEEN },
                Pivots::Highest,
            ),
            missing: BTreeSet::new(),
            end: 0,
            limit,
            order: InOrder::new(),
            reporter: Reporter::new(),
            reach: DEFAULT_REACH,
            freed_to: 0,
            patience: None,
            vain: 0,
            counts: ReceiveCounts::default(),
        }
    }

    /// Datagram `number` of `bytes` has come. False: it had come before, or is too old to tell.
    pub(super) fn arrive(&mut self, now: Time, number: u64, bytes: u32, ce: bool, eliciting: bool) -> bool {
        if !self.numbers.insert(number) {
            self.counts.duplicates += 1;
            return false;
        }
        self.counts.datagrams += 1;
        self.received_bytes += u64::from(bytes);
        self.counts.marked += u64::from(ce);
        self.reporter.arrive(
            now,
            number,
            self.numbers.largest == Some(number),
            eliciting,
            self.counts.datagrams,
        );
        true
    }

    /// A source symbol has come.
    pub(super) fn source(&mut self, now: Time, id: u64, gap: Gap, payload: P) {
        if !self.extend(id + 1) {
            self.counts.unusable += 1;
            return;
        }
        self.counts.sources += 1;
        match self.decoder.source(id, payload.clone()) {
            Arrival::Innovative => {
                self.missing.remove(&id);
                self.deliver(now, id, gap, payload);
            }
            Arrival::Old | Arrival::Duplicate | Arrival::Redundant => {}
            Arrival::Beyond | Arrival::Full | Arrival::Wide | Arrival::Unusable => self.counts.unusable += 1,
        }
        self.take_decoded(now);
        self.free();
    }

    /// A repair has come.
    pub(super) fn repair(&mut self, now: Time, members: &Members, coding: &Coding, payload: P) {
        self.counts.repairs += 1;
        let end = members.last().map_or(0, |last| last.saturating_add(1));
        if members.is_empty() || !self.extend(end) {
            self.counts.unusable += 1;
            return;
        }
        let arrival = self.decoder.repair(members, coding, payload);
        self.vain += u64::from(arrival != Arrival::Innovative && members.is_span());
        match arrival {
            Arrival::Innovative => {}
            Arrival::Redundant | Arrival::Duplicate | Arrival::Old => self.counts.redundant += 1,
            Arrival::Wide => self.counts.wide += 1,
            Arrival::Full => self.counts.full += 1,
            Arrival::Beyond | Arrival::Unusable => self.counts.unusable += 1,
        }
        self.take_decoded(now);
    }

    /// The sender tells about its window.
    pub(super) fn window(&mut self, now: Time, window: &Window) {
        self.reporter.interval = window.report_every.clamp(Duration::from_millis(1), Duration::from_secs(1));
        self.reach = u64::from(window.reach).max(DEFAULT_REACH).min(self.limit);
        // The sender gives up so long after it sent a symbol; its last repair may still be on the way.
        self.patience = Some(window.patience.min(Duration::from_secs(60)).mul_f64(1.25));
        // A base further ahead than the window may be is not believed.
        if window.base > self.end + self.limit {
            return;
        }
        self.extend(window.base);
        self.advance(now, window.base);
    }

    /// A report that nothing follows is repeated so often, [`LEAST_REPEATS`] or more.
    pub(super) fn set_repeats(&mut self, repeats: u32) {
        self.reporter.most_repeats = repeats;
    }

    /// Lets go of what has waited too long.
    pub(super) fn expire(&mut self, now: Time, patience: Duration) {
        let patience = self.patience.unwrap_or(patience);
        self.order.expire(now, patience, &self.missing);
    }

    /// When [`Receiver::expire`] or a report is due.
    pub(super) fn next_due(&self, patience: Duration) -> Option<Time> {
        let expires = self.order.expires(self.patience.unwrap_or(patience));
        [expires, self.reporter.due].into_iter().flatten().min()
    }

    /// The report that is due, if one is.
    pub(super) fn report(&mut self, now: Time) -> Option<Feedback> {
        if self.reporter.due.is_none_or(|due| due > now) {
            return None;
        }
        let largest = self.numbers.largest?;
        self.counts.reports += 1;
        self.counts.repeats += u64::from(self.reporter.count == 0);
        let acked_from = self.reporter.acked_from(largest);
        let next_undecoded = self.missing.first().copied().unwrap_or(self.end);
        let unseen = ranges(self.decoder.unseen(), UNSEEN_RANGES);
        let report = Feedback {
            largest,
            largest_at_us: self.reporter.largest_at.as_nanos() / 1_000,
            delay: now.since(self.reporter.largest_at),
            received: self.counts.datagrams,
            received_bytes: self.received_bytes,
            batch: self.reporter.take_batch(now, largest),
            acked: self.numbers.ranges_down(acked_from),
            acked_from,
            next_undecoded,
            end: self.end,
            unseen,
            deficit: self.decoder.deficit() as u32,
            undecoded: self.missing.len() as u32,
            redundant: self.vain,
            ce: self.counts.marked,
        };
        let (report, cut) = report.cut();
        self.counts.cut_reports += u64::from(cut);
        Some(report)
    }

    /// The next packet for the user.
    pub(super) fn poll(&mut self) -> Option<Delivered<P>> {
        self.order.poll()
    }

    /// What was done so far.
    pub(super) fn counts(&self) -> (ReceiveCounts, OrderCounts) {
        (self.counts, self.order.counts())
    }

    /// One past the highest symbol known to exist.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// How many of the peer's datagrams have not arrived (yet), how many it has sent, and in how many runs those have been lost.
    pub(super) fn losses(&self) -> (u64, u64, u64) {
        let sent = self.numbers.largest.map_or(0, |largest| largest + 1);
        (sent.saturating_sub(self.counts.datagrams), sent, self.numbers.gaps)
    }

    /// Symbols not decoded, repairs held for them, packets that wait for earlier ones.
    pub(super) fn backlog(&self) -> (usize, usize, usize) {
        (self.missing.len(), self.decoder.rows(), self.order.waiting())
    }

    /// Learns that all symbols before `end` exist. False: that is further than a window reaches.
    fn extend(&mut self, end: u64) -> bool {
        if end > self.end + self.limit {
            return false;
        }
        if end > self.end {
            self.missing.extend(self.end..end);
            self.end = end;
        }
        true
    }

    fn take_decoded(&mut self, now: Time) {
        while let Some((id, payload)) = self.decoder.poll_decoded() {
            self.counts.recovered += 1;
            self.missing.remove(&id);
            let gap = payload.gap();
            self.deliver(now, id, gap, payload);
        }
    }

    fn deliver(&mut self, now: Time, id: u64, gap: Gap, payload: P) {
        match payload.meta() {
            Some(meta) => self.order.arrive(now, id, gap, Delivered { payload, meta }, &self.missing),
            None => {
                self.counts.malformed += 1;
                self.order.resolve(id, &self.missing);
            }
        }
    }

    /// Nothing before `base` will come any more.
    fn advance(&mut self, now: Time, base: u64) {
        let gone: Vec<u64> = self.missing.range(..base).copied().collect();
        self.counts.given_up += gone.len() as u64;
        for id in &gone {
            self.missing.remove(id);
        }
        self.decoder.advance_to(base);
        for id in gone {
            self.order.resolve(id, &self.missing);
        }
        self.take_decoded(now);
    }

    /// Frees known symbols that no repair will name any more; in steps, not for each symbol. Keeps to the limit
    /// even when the sender never moves its window.
    fn free(&mut self) {
        let keep_from = self.end.saturating_sub(self.reach);
        if keep_from >= self.freed_to + 64 {
            self.freed_to = keep_from;
            self.decoder.keep_from(keep_from);
        }
    }
}

/// The datagram numbers received of late.
#[derive(Debug)]
struct Numbers {
    largest: Option<u64>,
    /// How often numbers were left out, some of them for a while.
    gaps: u64,
    bits: Vec<u64>,
}

impl Numbers {
    fn new() -> Numbers {
        Numbers { largest: None, gaps: 0, bits: vec![0; NUMBERS as usize / 64] }
    }

    fn slot(number: u64) -> (usize, u64) {
        ((number % NUMBERS / 64) as usize, 1 << (number % 64))
    }

    /// Marks `number`; false when it is marked already or too old.
    fn insert(&mut self, number: u64) -> bool {
        self.gaps += u64::from(number > self.largest.map_or(0, |largest| largest + 1));
        match self.largest {
            Some(largest) if number + NUMBERS <= largest => return false,
            Some(largest) if number > largest => {
                let skipped = (number - largest).min(NUMBERS);
                for n in number + 1 - skipped..=number {
                    let (word, bit) = Numbers::slot(n);
                    self.bits[word] &= !bit;
                }
                self.largest = Some(number);
            }
            Some(_) => {}
            None => self.largest = Some(number),
        }
        let (word, bit) = Numbers::slot(number);
        let fresh = self.bits[word] & bit == 0;
        self.bits[word] |= bit;
        fresh
    }

    fn contains(&self, number: u64) -> bool {
        let (word, bit) = Numbers::slot(number);
        self.bits[word] & bit != 0
    }

    /// The marked numbers from the largest down to `from`, as ranges from high to low.
    fn ranges_down(&self, from: u64) -> Vec<Range<u64>> {
        let Some(largest) = self.largest else { return Vec::new() };
        let from = from.max((largest + 1).saturating_sub(NUMBERS));
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for number in (from..=largest).rev().filter(|n| self.contains(*n)) {
            match ranges.last_mut() {
                Some(range) if range.start == number + 1 => range.start = number,
                _ => ranges.push(number..number + 1),
            }
        }
        ranges
    }
}

/// When to report, and what arrived since the last report.
#[derive(Debug)]
struct Reporter {
    interval: Duration,
    due: Option<Time>,
    /// How often the last report may yet be repeated.
    repeats: u32,
    /// How often any is.
    most_repeats: u32,
    /// Whether something arrived since the last report that asks for one.
    fresh: bool,
    largest_at: Time,
    count: u32,
    lowest: (u64, Time),
    /// Sum of the arrival times since `first`, s.
    first: Time,
    sum: f64,
    /// The largest number in each of the last reports.
    marks: VecDeque<u64>,
}

impl Reporter {
    fn new() -> Reporter {
        Reporter {
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

    fn arrive(&mut self, now: Time, number: u64, largest: bool, eliciting: bool, total: u64) {
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
            // A repetition that was planned is no longer needed.
            let planned = self.due.filter(|_| self.fresh);
            self.due = Some(planned.map_or(due, |at| at.min(due)));
            self.fresh = true;
        }
    }

    fn take_batch(&mut self, now: Time, largest: u64) -> Batch {
        self.repeats = if self.count >= BUSY { self.most_repeats } else { self.repeats.saturating_sub(1) };
        // However many they are, they take as long.
        let pause = self.interval.mul_f64(1.5 * f64::from(LEAST_REPEATS) / f64::from(self.most_repeats));
        self.due = (self.repeats > 0).then(|| now + pause);
        self.fresh = false;
        // A repetition tells of no number that the report before it did not.
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

    /// In so many reports is each number, more of them when a run of losses takes more.
    fn remembered(&self) -> usize {
        REPORTS.max(self.most_repeats as usize)
    }

    fn acked_from(&self, largest: u64) -> u64 {
        let mark = if self.marks.len() < self.remembered() { 0 } else { self.marks[0] };
        mark.min((largest + 1).saturating_sub(LEAST_REPORTED)).max((largest + 1).saturating_sub(NUMBERS / 2))
    }
}

/// Ascending numbers as ranges, `most` of them at most.
fn ranges(ids: impl Iterator<Item = u64>, most: usize) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for id in ids {
        let full = ranges.len() == most;
        match ranges.last_mut() {
            Some(range) if range.end == id => range.end += 1,
            _ if full => break,
            _ => ranges.push(id..id + 1),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_once() {
        let mut numbers = Numbers::new();
        assert!(numbers.insert(5) && numbers.insert(3) && !numbers.insert(5));
        assert!(numbers.insert(100_000) && !numbers.insert(6), "too old to tell");
        assert!(numbers.insert(99_999) && !numbers.insert(99_999));
        assert_eq!(numbers.ranges_down(0), vec![99_999..100_001; 1]);
        assert!(numbers.insert(100_000 + NUMBERS - 1));
        assert!(!numbers.contains(100_001) && numbers.contains(100_000));
    }

    #[test]
    fn a_batch_is_described_relative_to_the_highest_number() {
        let mut r = Reporter::new();
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
        // More of them take no longer.
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
