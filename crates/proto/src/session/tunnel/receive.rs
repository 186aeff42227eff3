//! The receiving half of a tunnel. It records which datagrams have arrived, decodes symbols,
//! delivers packets in order, and makes the reports for the peer.
//!
//! Each stored repair makes one missing symbol *seen* (RFC 8406): the repair's *pivot*. The pivot
//! is decoded when all *unseen* symbols in that repair are known. So reports ask only for repairs
//! of unseen symbols. See `mod.rs` for the other terms.

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

/// Limit on the number of ranges of unseen symbols that a report lists. If there are more ranges,
/// the report lists the lowest ranges.
///
/// About this number of ranges fits into a report. The list should hold all losses of a round trip.
/// Otherwise repairs do not keep up with the losses on long, fast paths. With half the value,
/// losses are repaired more slowly on such paths. With double the value, most of the added ranges
/// would be cut: a report has at most [`MAX_FEEDBACK`](crate::wire::MAX_FEEDBACK) bytes.
const UNSEEN_RANGES: usize = 512;
/// The decoder discards a repair if more than this number of symbols in the repair's tail are
/// unseen. The tail is the last contiguous range of members ([`Members::tail`]).
///
/// When the sender has exceeded the path's rate, very many symbols are missing. A repair with more
/// unseen symbols than the limit cannot recover any of them. An exact repair spans few unseen
/// symbols, so the limit does not affect exact repairs. If held repairs overlap, their computing
/// time grows with the square of the number of missing symbols. A hostile session (seed 891 of
/// `make soak`) took 130 s of CPU time without the limit, and 10 s with the limit. Double the value
/// allows up to four times the computing time. Half the value discards repairs that could have
/// recovered long runs of losses.
const MAX_UNSEEN: usize = 128;
/// The *reach* is a number of symbols. The receiver keeps every known symbol that is among the
/// latest `reach` symbols, because a later repair may span this symbol. This constant is the reach
/// until the sender announces one. The constant is also the smallest reach that the receiver uses,
/// unless the coding window is smaller.
///
/// With half the value, a repair is unusable if it arrives before the first announcement and spans
/// older symbols. Double the value takes more memory.
const DEFAULT_REACH: u64 = 1024;

/// Counts of the receiving half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCounts {
    /// Datagrams received. A datagram whose number was received before does not count.
    pub datagrams: u64,
    /// Datagrams received that were marked Congestion Experienced.
    pub marked: u64,
    /// Datagrams dropped because their number was received before, or is older than all numbers
    /// that the receiver remembers.
    pub duplicates: u64,
    /// Source symbols received.
    pub sources: u64,
    /// Source symbols recovered from repairs.
    pub recovered: u64,
    /// Repairs received.
    pub repairs: u64,
    /// Repairs that added no information.
    pub redundant: u64,
    /// Repairs that span a symbol that the receiver no longer keeps. Sources and repairs with a
    /// symbol more than `Receiver::limit` beyond `Receiver::end` count too.
    pub unusable: u64,
    /// Repairs discarded because they span too many unseen symbols.
    pub wide: u64,
    /// Repairs discarded because the memory for stored repairs was full.
    pub full: u64,
    /// Symbols that were given up before they were received or recovered.
    pub given_up: u64,
    /// Symbols that did not hold a valid inner packet.
    pub malformed: u64,
    /// Reports sent, repetitions included.
    pub reports: u64,
    /// Reports that only repeated the last report, because no datagram had arrived since.
    pub repeats: u64,
    /// Reports whose lists were shortened to fit a datagram.
    pub cut_reports: u64,
}

/// The receiving half of a tunnel.
#[derive(Debug)]
pub(super) struct Receiver<P: InnerPacket> {
    numbers: ReceivedNumbers,
    received_bytes: u64,
    decoder: Decoder<P>,
    /// Symbols before `end` that are not received, not recovered and not given up.
    missing: BTreeSet<u64>,
    /// One past the highest symbol known to exist.
    end: u64,
    /// A symbol is accepted if it lies at most this number of symbols beyond `end`.
    limit: u64,
    order: InOrder<P>,
    reporter: ReportTimer,
    /// The reach: known symbols among the latest `reach` symbols are kept. See [`DEFAULT_REACH`].
    reach: u64,
    /// Known symbols before this one have been freed.
    freed_to: u64,
    /// How long a packet waits for missing earlier packets. This is 1.25 times the deadline in the
    /// last window announcement. A deadline above 60 s counts as 60 s. `None`: no announcement has
    /// come.
    deadline: Option<Duration>,
    /// Number of repairs that added no information and have contiguous or equally spaced members.
    redundant: u64,
    counts: ReceiveCounts,
}

impl<P: InnerPacket> Receiver<P> {
    /// Creates a receiver for a coding window of up to `limit` symbols. The coefficients of held
    /// repairs take at most `matrix` bytes. The payloads of these repairs take further memory.
    pub(super) fn new(limit: u32, matrix: usize) -> Receiver<P> {
        let limit = u64::from(limit.max(64));
        Receiver {
            numbers: ReceivedNumbers::new(),
            received_bytes: 0,
            // Each stored repair makes one of its missing symbols seen: the pivot. With the highest
            // symbol as pivot, the oldest missing symbols stay unseen. Reports then ask for these
            // symbols first, which is right because later packets wait for these symbols.
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

    /// Records that datagram `number`, of `bytes` bytes, has arrived.
    ///
    /// `ce`: the datagram was marked Congestion Experienced. `eliciting`: the datagram asks for a
    /// report. Returns false if the number has arrived before, or is older than all remembered
    /// numbers.
    pub(super) fn arrive(&mut self, now: Time, number: u64, bytes: u32, ce: bool, eliciting: bool) -> bool {
        if !self.numbers.insert(number) {
            self.counts.duplicates += 1;
            return false;
        }
        self.counts.datagrams += 1;
        self.received_bytes += u64::from(bytes);
        self.counts.marked += u64::from(ce);
        self.reporter.arrive(now, number, self.numbers.largest == Some(number), eliciting, self.counts.datagrams);
        true
    }

    /// Takes a source symbol.
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

    /// Takes a repair.
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

    /// Takes a window announcement of the sender.
    pub(super) fn window(&mut self, now: Time, window: &Window) {
        self.reporter.interval = window.report_every.clamp(Duration::from_millis(1), Duration::from_secs(1));
        self.reach = u64::from(window.reach).max(DEFAULT_REACH).min(self.limit);
        // The sender gives up a symbol when the announced deadline has passed since the symbol was
        // sent. A quarter of the deadline is added, because the last repair may still be in flight
        // at that time.
        self.deadline = Some(window.deadline.min(Duration::from_secs(60)).mul_f64(1.25));
        // A base further ahead than the largest window cannot be right.
        if window.base > self.end + self.limit {
            return;
        }
        self.extend(window.base);
        self.advance(now, window.base);
    }

    /// Sets the maximum number of times that a report is repeated while no further datagram asks
    /// for a report. `repeats` is at least
    /// [`LEAST_REPEATS`](crate::control::redundancy::LEAST_REPEATS).
    pub(super) fn set_repeats(&mut self, repeats: u32) {
        self.reporter.most_repeats = repeats;
    }

    /// Delivers packets that have waited longer than 1.25 times the announced deadline. Until the
    /// first announcement, packets wait for `deadline`.
    pub(super) fn expire(&mut self, now: Time, deadline: Duration) {
        let deadline = self.deadline.unwrap_or(deadline);
        self.order.expire(now, deadline, &self.missing);
    }

    /// When [`Receiver::expire`] or a report is due next.
    pub(super) fn next_due(&self, deadline: Duration) -> Option<Time> {
        let expires = self.order.expires(self.deadline.unwrap_or(deadline));
        [expires, self.reporter.due].into_iter().flatten().min()
    }

    /// Makes the report if one is due.
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

    /// Removes and returns the next packet for the user.
    pub(super) fn poll(&mut self) -> Option<Delivered<P>> {
        self.order.poll()
    }

    /// The counts so far.
    pub(super) fn counts(&self) -> (ReceiveCounts, OrderCounts) {
        (self.counts, self.order.counts())
    }

    /// One past the highest symbol known to exist.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Three counts over the datagram numbers up to the largest one received: numbers that have not
    /// arrived so far, all numbers, and runs of skipped numbers.
    pub(super) fn losses(&self) -> (u64, u64, u64) {
        let sent = self.numbers.largest.map_or(0, |largest| largest + 1);
        (sent.saturating_sub(self.counts.datagrams), sent, self.numbers.gaps)
    }

    /// Three numbers: missing symbols, repairs held for missing symbols, and packets that wait for
    /// earlier packets.
    pub(super) fn backlog(&self) -> (usize, usize, usize) {
        (self.missing.len(), self.decoder.rows(), self.order.waiting())
    }

    /// Records that all symbols before `end` exist. Symbols that were not known to exist count as
    /// missing from now on. Returns false if `end` is more than `Receiver::limit` beyond
    /// `Receiver::end`.
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

    /// Delivers the symbols that the decoder has recovered.
    fn take_decoded(&mut self, now: Time) {
        while let Some((id, payload)) = self.decoder.poll_decoded() {
            self.counts.recovered += 1;
            self.missing.remove(&id);
            let gap = payload.gap();
            self.deliver(now, id, gap, payload);
        }
    }

    /// Passes symbol `id`, which has just become known, to in-order delivery.
    fn deliver(&mut self, now: Time, id: u64, gap: Gap, payload: P) {
        match payload.meta() {
            Some(meta) => self.order.arrive(now, id, gap, Delivered { payload, meta }, &self.missing),
            None => {
                self.counts.malformed += 1;
                self.order.resolve(id, &self.missing);
            }
        }
    }

    /// Gives up the missing symbols before `base`: the sender will not send or repair them again.
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

    /// Frees known symbols that no later repair will span, in steps of at least 64 symbols.
    ///
    /// This bounds the memory even when the sender never moves its window.
    fn free(&mut self) {
        let keep_from = self.end.saturating_sub(self.reach);
        if keep_from >= self.freed_to + 64 {
            self.freed_to = keep_from;
            self.decoder.keep_from(keep_from);
        }
    }
}

/// Joins ascending numbers into ranges. Returns the lowest ranges, at most `most`.
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
