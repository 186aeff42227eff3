//! The receiving half: which datagrams have come, which symbols are known, and the reports about both.

use super::inner::InnerPacket;
use super::order::{Delivered, InOrder, OrderCounts};
use super::received_numbers::ReceivedNumbers;
use super::report_timer::ReportTimer;
use crate::wire::{Feedback, Gap, Window};
use ripstop_base::Time;
use ripstop_codes::window::{Arrival, Coding, Decoder, Limits, Members, Pivots};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// A report lists unseen symbols in so many ranges at most, the lowest ones: about what fits a report.
/// It must be as much as is lost in a round trip, or repairs do not keep up on long fast paths.
const UNSEEN_RANGES: usize = 512;
/// A repair whose range has more unseen symbols than this is not held: of a sender's overrun more is
/// missing than such repairs bring back, while those on request span a few symbols each.
const MAX_UNSEEN: usize = 128;
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
    numbers: ReceivedNumbers,
    received_bytes: u64,
    decoder: Decoder<P>,
    /// Symbols that are known to exist and are not known.
    missing: BTreeSet<u64>,
    end: u64,
    limit: u64,
    order: InOrder<P>,
    reporter: ReportTimer,
    reach: u64,
    freed_to: u64,
    deadline: Option<Duration>,
    /// Repairs over a range of symbols that brought nothing.
    redundant: u64,
    counts: ReceiveCounts,
}

impl<P: InnerPacket> Receiver<P> {
    /// A receiver that follows a window of up to `limit` symbols, and whose waiting repairs take `matrix` bytes at most
    /// beside their payloads.
    pub(super) fn new(limit: u32, matrix: usize) -> Receiver<P> {
        let limit = u64::from(limit.max(64));
        Receiver {
            numbers: ReceivedNumbers::new(),
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
            reporter: ReportTimer::new(),
            reach: DEFAULT_REACH,
            freed_to: 0,
            deadline: None,
            redundant: 0,
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
        self.redundant += u64::from(arrival != Arrival::Innovative && members.is_span());
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
        self.deadline = Some(window.deadline.min(Duration::from_secs(60)).mul_f64(1.25));
        // A base further ahead than the window may be is not believed.
        if window.base > self.end + self.limit {
            return;
        }
        self.extend(window.base);
        self.advance(now, window.base);
    }

    /// A report that nothing follows is repeated so often, [`LEAST_REPEATS`](crate::control::redundancy::LEAST_REPEATS) or more.
    pub(super) fn set_repeats(&mut self, repeats: u32) {
        self.reporter.most_repeats = repeats;
    }

    /// Lets go of what has waited too long.
    pub(super) fn expire(&mut self, now: Time, deadline: Duration) {
        let deadline = self.deadline.unwrap_or(deadline);
        self.order.expire(now, deadline, &self.missing);
    }

    /// When [`Receiver::expire`] or a report is due.
    pub(super) fn next_due(&self, deadline: Duration) -> Option<Time> {
        let expires = self.order.expires(self.deadline.unwrap_or(deadline));
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
            redundant: self.redundant,
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
