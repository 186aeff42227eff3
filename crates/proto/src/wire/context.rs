//! The numbers with which a receiver restores the upper bits of truncated numbers.

use super::packet::Feedback;

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
    /// The largest totals in the peer's reports. They complete the totals in the peer's next
    /// report.
    pub reported: ReportedTotals,
}

/// The largest running totals in the peer's reports. The totals in the next report are near them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedTotals {
    /// [`Feedback::largest_at_us`].
    pub largest_at_us: u64,
    /// [`Feedback::received`].
    pub received: u64,
    /// [`Feedback::received_bytes`].
    pub received_bytes: u64,
    /// [`Feedback::redundant`].
    pub redundant: u64,
    /// [`Feedback::ce`].
    pub ce: u64,
}

impl ReportedTotals {
    /// Updates the totals from a report. Totals never decrease, so the larger of two values is the
    /// newer one. Reports may therefore arrive out of order.
    pub fn update(&mut self, feedback: &Feedback) {
        let totals = self;
        totals.largest_at_us = totals.largest_at_us.max(feedback.largest_at_us);
        totals.received = totals.received.max(feedback.received);
        totals.received_bytes = totals.received_bytes.max(feedback.received_bytes);
        totals.redundant = totals.redundant.max(feedback.redundant);
        totals.ce = totals.ce.max(feedback.ce);
    }
}
