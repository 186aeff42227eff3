//! The receiving half of the coder: decodes symbols, and knows which are missing.
//!
//! Each stored repair makes one missing symbol *seen* (RFC 8406): the repair's *pivot*. The pivot
//! is decoded when all *unseen* symbols in that repair are known. So reports ask only for repairs
//! of unseen symbols. See `mod.rs` for the other terms.

use crate::wire::{SymbolReport, Window};
use ripstop_base::Time;
use ripstop_base::counters;
use ripstop_codes::Payload;
use ripstop_codes::window::{Arrival, Coding, Decoder, IdRanges, Limits, Members, Pivots};
use std::ops::Range;

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
/// symbols, so the limit does not affect exact repairs. Start-up doubles the rate, so its overshoot
/// loses half of the symbols: 128 of the 256 symbols of a repair, with a standard deviation of 8.
/// With a limit of 128, a start at 400 Mbit/s filled the decoder's memory. If held repairs overlap, their computing
/// time grows with the square of the number of missing symbols. A hostile session (seed 891 of
/// `make soak`) took 130 s of CPU time without the limit, and 10 s with the limit. Double the value
/// allows up to four times the computing time. Half the value discards repairs that could have
/// recovered long runs of losses.
const MAX_UNSEEN: usize = 112;
/// The decoder discards a repair with more than this number of members. Unit: symbols.
///
/// To recover one symbol, the payloads of all known members are combined. So the limit bounds the
/// work for one recovered symbol: 1.5 MB of payloads, about 60 us. An honest sender makes repairs
/// of at most [`SPAN`](crate::control::redundancy::SPAN) = 256 members. Half the value still
/// accepts all of them. Double the value doubles the work that a hostile packet can cause.
const MAX_MEMBERS: usize = 1024;
/// The decoder discards a repair if more than this number of stored repairs would depend on each
/// other. Unit: repairs. Repairs of up to 1.25 times this number of missing symbols are kept
/// ([`Limits::rows`]).
///
/// The work to decode n such repairs grows with n squared: n = 2560 take about 10 GB of combined
/// payloads, 0.5 s. Repairs of separate losses do not depend on each other. With half the value,
/// repairs are discarded when a start at 400 Mbit/s and 600 ms overflows a short queue
/// (`a_loss_of_very_many_is_brought_back_in_time`). Double the value lets a peer cause four times
/// the work.
const MAX_ROWS: usize = 2048;
/// When a peer in debt for its work sends an exact repair, the stored repairs that share missing symbols with
/// it are discarded, if more than this number of them depend on each other. Unit: repairs.
///
/// Each further repair would combine all of them. Exact repairs alone join at most 32 missing symbols. So the
/// debt ends, and the losses are repaired. n = 256 take 100 MB of work. Half the value discards repairs that
/// cost little. With double the value, the debt lasts up to four times as long.
const COSTLY_ROWS: usize = 256;
/// The work of one step of decoding, bytes combined. When one symbol makes thousands of others
/// decodable, other peers get their turn after each step.
///
/// A step takes about 5 ms. Half the value shortens the delay of other peers, but computes common
/// parts of the steps more often. Double the value does the opposite. A start that loses 60 000
/// packets is decoded in about 100 steps.
const MAX_STEP: usize = 64_000_000;
/// Work for each symbol that a packet skips: the packet names a symbol beyond all symbols known to exist. Unit: bytes
/// combined. The skipped symbols get empty pages. 60 000 skipped symbols take 26 us, the time for 9 bytes each. With half or
/// double the value, a peer's jumps count as half or twice the work.
const SKIP_WORK: u64 = 9;
/// Work for each range of missing symbols when a symbol in their midst arrives. Unit: bytes combined. A quarter of the
/// ranges move on average, 16 bytes each. Half and double the value act like those of [`SKIP_WORK`].
const SPLIT_WORK: u64 = 4;
/// While a peer is in debt for its work, a packet that skips more symbols than this is refused. An honest peer skips
/// symbols when a run of its packets is lost. With half the value, such a peer waits until its debt is paid after a run of
/// 2000 losses. Double the value doubles what a hostile peer in debt can cause: 2 us for a datagram.
const MOST_SKIPPED: u64 = 4096;
/// While a peer is in debt for its work, a source in the midst of more ranges than this is refused. Such a source was
/// overtaken by others; the peer repairs it as if it were lost. The limit bounds the work to 2 us. Half and double the value
/// act like those of
/// [`MOST_SKIPPED`].
const MOST_SPLIT: usize = 8192;
/// The *reach* is a number of symbols. The receiver keeps every known symbol that is among the
/// latest `reach` symbols, because a later repair may span this symbol. This constant is the reach
/// until the sender announces one. The constant is also the smallest reach that the receiver uses,
/// unless the coding window is smaller.
///
/// With half the value, a repair is unusable if it arrives before the first announcement and spans
/// older symbols. Double the value takes more memory.
const DEFAULT_REACH: u64 = 1024;

counters! {
    /// Counts of the receiving half.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct ReceiveCounts {
        /// Source symbols received directly.
        pub sources: u64 => ("sources_received", "received_sources_total"),
        /// Source symbols recovered from repairs.
        pub recovered: u64 => ("recovered", "recovered_total"),
        /// Repairs received.
        pub repairs: u64 => ("repairs_received", "received_repairs_total"),
        /// Repairs received that brought nothing new.
        pub redundant: u64 => ("redundant", "redundant_total"),
        /// Repairs received of symbols that are no longer kept.
        pub unusable: u64 => ("unusable", "unusable_total"),
        /// Symbols, repairs and window announcements refused because they were beyond the coding window. A peer in
        /// debt for its work may skip fewer symbols.
        pub beyond: u64 => ("beyond", "beyond_total"),
        /// Repairs dropped because they covered more symbols, or more missing symbols, than the decoder solves
        /// together. This happens after a very large loss.
        pub wide: u64 => ("repairs_wide", "received_repairs_wide_total"),
        /// Repairs dropped because the decoder's matrix was full: too many repairs depended on each other.
        pub full: u64 => ("repairs_full", "received_repairs_full_total"),
        /// Stored repairs discarded because memory was short, or because computing with them would have taken too
        /// long.
        pub discarded: u64 => ("repairs_discarded", "repairs_discarded_total"),
        /// Symbols that the receiver gave up.
        pub given_up: u64 => ("given_up", "given_up_total"),
    }
}

/// The layer that takes the symbols of the peer.
pub(crate) trait Recipient<P> {
    /// Takes symbol `id`, which has just become known. `missing` holds all symbols that are still missing.
    fn take(&mut self, now: Time, id: u64, symbol: P, missing: &IdRanges);

    /// The symbols before `base` that were missing are given up: they will not come. `missing` holds no symbol before `base`.
    fn give_up_before(&mut self, base: u64, missing: &IdRanges);
}

/// The receiving half of the coder.
#[derive(Debug)]
pub(crate) struct Receiver<P: Payload> {
    decoder: Decoder<P>,
    /// Symbols before `end` that are not received, not recovered and not given up.
    missing: IdRanges,
    /// One past the highest symbol known to exist.
    end: u64,
    /// The length of the coding window, symbols. A symbol is accepted if it lies less than this
    /// number of symbols after the lowest missing symbol.
    limit: u64,
    /// The reach: known symbols among the latest `reach` symbols are kept. See [`DEFAULT_REACH`].
    reach: u64,
    /// Known symbols before this one have been freed.
    freed_to: u64,
    /// Number of repairs that added no information and have contiguous or equally spaced members.
    redundant: u64,
    /// When the next step of decoding is done, if rows were left.
    resume_at: Time,
    /// Work for skipped symbols and for ranges of missing symbols.
    list_work: u64,
    counts: ReceiveCounts,
}

impl<P: Payload> Receiver<P> {
    /// Creates a receiver for a coding window of up to `limit` symbols. The coefficients of held
    /// repairs take at most `matrix` bytes. The payloads of these repairs take further memory.
    pub(crate) fn new(limit: u32, matrix: usize) -> Receiver<P> {
        let limit = u64::from(limit.max(64));
        Receiver {
            // Each stored repair makes one of its missing symbols seen: the pivot. With the highest
            // symbol as pivot, the oldest missing symbols stay unseen. Reports then ask for these
            // symbols first, which is right because later packets wait for these symbols.
            decoder: Decoder::with_pivots(
                0,
                Limits {
                    ahead: limit as usize,
                    history: limit as usize,
                    matrix,
                    unseen: MAX_UNSEEN,
                    members: MAX_MEMBERS,
                    rows: MAX_ROWS,
                    step: MAX_STEP,
                },
                Pivots::Highest,
            ),
            missing: IdRanges::new(),
            end: 0,
            limit,
            reach: DEFAULT_REACH,
            freed_to: 0,
            redundant: 0,
            resume_at: Time::ZERO,
            list_work: 0,
            counts: ReceiveCounts::default(),
        }
    }

    /// Takes a source symbol. While the peer's work is put off ([`Receiver::defer`]), the symbol goes to the recipient, but its
    /// elimination from the stored repairs waits.
    pub(crate) fn source(&mut self, now: Time, id: u64, payload: P, to: &mut impl Recipient<P>) {
        if !self.affords(now, id) || !self.extend(id.saturating_add(1)) {
            self.counts.beyond += 1;
            return;
        }
        self.counts.sources += 1;
        self.decoder.pause(now < self.resume_at);
        match self.decoder.source(id, payload.clone()) {
            Arrival::Innovative => {
                self.missing.remove(id);
                to.take(now, id, payload, &self.missing);
            }
            Arrival::Old | Arrival::Duplicate | Arrival::Redundant => {}
            Arrival::Beyond => self.counts.beyond += 1,
            Arrival::Full | Arrival::Wide | Arrival::Unusable => self.counts.unusable += 1,
        }
        self.take_decoded(now, to);
        self.free();
    }

    /// Takes a repair.
    pub(crate) fn repair(
        &mut self,
        now: Time,
        members: &Members,
        coding: &Coding,
        payload: P,
        to: &mut impl Recipient<P>,
    ) {
        self.counts.repairs += 1;
        let end = members.last().map_or(0, |last| last.saturating_add(1));
        if !self.extend(end) {
            self.counts.beyond += 1;
            return;
        }
        self.decoder.pause(false);
        // A repair that the decoder refuses also shows which symbols exist. A report lists them as unseen.
        self.decoder.announce(end);
        let mut arrival = self.decoder.repair(members, coding, payload.clone());
        if arrival == Arrival::Full && !members.is_span() {
            // No row can join a full component any more. The sender answers a report with this repair, so it will repair
            // each missing symbol. The rows go, because they would block all these repairs.
            self.decoder.discard_rows_with(members, 0);
            arrival = self.decoder.repair(members, coding, payload);
        }
        self.redundant += u64::from(arrival != Arrival::Innovative && members.is_span());
        match arrival {
            Arrival::Innovative => {}
            Arrival::Redundant | Arrival::Duplicate | Arrival::Old => self.counts.redundant += 1,
            Arrival::Wide => self.counts.wide += 1,
            Arrival::Full => self.counts.full += 1,
            Arrival::Beyond => self.counts.beyond += 1,
            Arrival::Unusable => self.counts.unusable += 1,
        }
        self.take_decoded(now, to);
    }

    /// Takes a window announcement of the sender.
    pub(crate) fn window(&mut self, now: Time, window: &Window, to: &mut impl Recipient<P>) {
        self.reach = u64::from(window.reach).max(DEFAULT_REACH).min(self.limit);
        // A base further ahead than the largest window cannot be right.
        if window.base > self.end.saturating_add(self.limit) || !self.affords(now, window.base) {
            self.counts.beyond += 1;
            return;
        }
        self.list_work += SKIP_WORK * window.base.saturating_sub(self.end);
        self.decoder.pause(now < self.resume_at);
        self.advance(now, window.base, to);
    }

    /// Does the next step of decoding, if it is due.
    pub(crate) fn go_on(&mut self, now: Time, to: &mut impl Recipient<P>) {
        if self.decoder.is_unfinished() && self.resume_at <= now {
            self.decoder.resume();
            self.take_decoded(now, to);
        }
    }

    /// Puts the next step of decoding off until `at`. Before `at`, sources and window announcements cause no
    /// elimination.
    pub(crate) fn defer(&mut self, at: Time) {
        self.resume_at = at;
    }

    /// When [`Receiver::go_on`] is due next.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.decoder.is_unfinished().then_some(self.resume_at)
    }

    /// What a report says of the symbols.
    pub(crate) fn report(&self) -> SymbolReport {
        let (unseen, deficit) = self.unseen();
        SymbolReport {
            next_undecoded: self.first_missing(),
            end: self.end,
            unseen,
            deficit,
            undecoded: self.missing.len() as u32,
            redundant: self.redundant,
        }
    }

    /// Does the next step of decoding in any case, because the session is over.
    pub(crate) fn finish(&mut self, now: Time, to: &mut impl Recipient<P>) {
        if self.decoder.is_unfinished() {
            self.decoder.resume();
            self.take_decoded(now, to);
        }
    }

    /// The symbols that are known to exist and are missing.
    pub(crate) fn missing(&self) -> &IdRanges {
        &self.missing
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> ReceiveCounts {
        ReceiveCounts { discarded: self.decoder.counters().discarded, ..self.counts }
    }

    /// One past the highest symbol known to exist.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Two numbers: missing symbols, and repairs held for missing symbols.
    pub(crate) fn backlog(&self) -> (usize, usize) {
        (self.missing.len() as usize, self.decoder.rows())
    }

    /// The work so far, bytes of payloads and rows that were combined
    /// ([`DecoderCounters::work_bytes`](ripstop_codes::window::DecoderCounters::work_bytes)).
    pub(crate) fn work(&self) -> u64 {
        self.decoder.counters().work_bytes + self.list_work
    }

    /// Memory that the receiver holds, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let ranges = self.missing.ranges().len() + self.decoder.unseen().ranges().len();
        self.decoder.bytes() + ranges * size_of::<Range<u64>>()
    }

    /// Number of payloads that the receiver holds.
    pub(crate) fn payloads(&self) -> usize {
        self.decoder.payloads()
    }

    /// Frees memory: discards the stored repairs, and the known symbols that only a late repair
    /// could span. The sender repairs the missing symbols again.
    pub(crate) fn shrink(&mut self) {
        self.decoder.discard_rows();
        self.decoder.keep_from(self.end);
        self.freed_to = self.freed_to.max(self.end);
    }

    /// Notes that a repair was dropped because the peer's packets have caused too much work. Makes the next exact
    /// repairs of the same symbols cheap ([`COSTLY_ROWS`]).
    pub(crate) fn refuse(&mut self, members: &Members) {
        if !members.is_span() && members.len() <= MAX_MEMBERS {
            self.decoder.discard_rows_with(members, COSTLY_ROWS);
        }
    }

    /// The ranges of unseen symbols for a report, and the number of all unseen symbols.
    fn unseen(&self) -> (Vec<Range<u64>>, u32) {
        let unseen = self.decoder.unseen();
        if !self.decoder.lags() {
            return (unseen.ranges().take(UNSEEN_RANGES).collect(), unseen.len() as u32);
        }
        // The decoder does not yet know that some of these symbols have arrived or were given up.
        let both = || unseen.ranges().flat_map(|range| self.missing.ranges_in(&range));
        let number: u64 = both().map(|range| range.end - range.start).sum();
        (both().take(UNSEEN_RANGES).collect(), number as u32)
    }

    /// Records that all symbols before `end` exist. Symbols that were not known to exist count as
    /// missing from now on. Returns false if `end` is more than `Receiver::limit` beyond the lowest
    /// missing symbol.
    fn extend(&mut self, end: u64) -> bool {
        if end > self.first_missing().saturating_add(self.limit) {
            return false;
        }
        if end > self.end {
            self.list_work += SKIP_WORK * (end - 1 - self.end);
            self.missing.append(self.end..end);
            self.end = end;
        }
        true
    }

    /// Whether a peer may cause the work of a packet that names symbol `id` first: always, unless it is in debt. Counts the
    /// work of an arrival in the midst of missing symbols.
    fn affords(&mut self, now: Time, id: u64) -> bool {
        let (skipped, ranges) = (id.saturating_sub(self.end), self.missing.ranges().len());
        let splits = if id < self.end { ranges } else { 0 };
        let is_allowed = now >= self.resume_at || skipped <= MOST_SKIPPED && splits <= MOST_SPLIT;
        if is_allowed {
            self.list_work += SPLIT_WORK * splits as u64;
        }
        is_allowed
    }

    /// The lowest missing symbol, or [`Receiver::end`] if no symbol is missing.
    fn first_missing(&self) -> u64 {
        self.missing.first().unwrap_or(self.end)
    }

    /// Passes on the symbols that the decoder has recovered.
    fn take_decoded(&mut self, now: Time, to: &mut impl Recipient<P>) {
        while let Some((id, payload)) = self.decoder.poll_decoded() {
            self.counts.recovered += 1;
            self.missing.remove(id);
            to.take(now, id, payload, &self.missing);
        }
    }

    /// Gives up the missing symbols before `base`: the sender will not send or repair them again.
    pub(crate) fn advance(&mut self, now: Time, base: u64, to: &mut impl Recipient<P>) {
        self.counts.given_up += self.missing.remove_before(base) + base.saturating_sub(self.end);
        self.end = self.end.max(base);
        self.decoder.advance_to(base);
        to.give_up_before(base, &self.missing);
        self.take_decoded(now, to);
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

#[cfg(test)]
#[path = "receive/tests.rs"]
mod tests;
