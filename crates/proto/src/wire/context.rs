//! The numbers with which a receiver restores the upper bits of truncated numbers.

use super::packet::PathReport;

/// The numbers with which a session completes truncated numbers, one for each kind.
///
/// A packet carries only the low bits of a number. Of all numbers with these low bits, the full
/// number is the one nearest to the number in this context. The comment of each field says how many
/// low bits are on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireContext {
    /// The next source symbol expected from the peer. Completes numbers of the peer's source
    /// symbols (20 bits).
    pub id_near: u64,
    /// The next source symbol that this end will send. Completes numbers of source symbols in the
    /// peer's reports (20 bits).
    pub sent_id: u64,
    /// The number of the next datagram that this end will send. Completes datagram numbers in the
    /// peer's reports (32 bits).
    pub sent_number: u64,
    /// The largest totals of the path in the peer's reports. They complete the totals in the peer's next
    /// report.
    pub reported: PathTotals,
    /// The largest number of redundant repairs in the peer's reports ([`SymbolReport::redundant`](super::SymbolReport::redundant)). Completes the number in
    /// the peer's next report (32 bits).
    pub redundant: u64,
}

/// The largest running totals of the path in the peer's reports. The totals in the next report are near them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathTotals {
    /// [`PathReport::largest_at_us`].
    pub largest_at_us: u64,
    /// [`PathReport::received`].
    pub received: u64,
    /// [`PathReport::received_bytes`].
    pub received_bytes: u64,
    /// [`PathReport::ce`].
    pub ce: u64,
}

impl PathTotals {
    /// Updates the totals from a report. Totals never decrease, so the larger of two values is the
    /// newer one. Reports may therefore arrive out of order.
    pub fn update(&mut self, report: &PathReport) {
        let totals = self;
        totals.largest_at_us = totals.largest_at_us.max(report.largest_at_us);
        totals.received = totals.received.max(report.received);
        totals.received_bytes = totals.received_bytes.max(report.received_bytes);
        totals.ce = totals.ce.max(report.ce);
    }
}
