//! The numbers from which truncated numbers on the wire get their upper bits.

use super::packet::Feedback;

/// The numbers that a session knows. A packet carries only the lower bits of a number. The full number is the one with these lower
/// bits that is nearest to the known number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WireContext {
    /// The next source symbol expected from the peer (20 bits on the wire).
    pub id_near: u64,
    /// The next source symbol to be sent to the peer, for reports about source symbols (20 bits).
    pub sent_id: u64,
    /// The next datagram to be sent to the peer, for reports about datagrams (32 bits).
    pub sent_number: u64,
    /// The totals of the peer's reports.
    pub reported: ReportedTotals,
}

/// The running totals of the peer's newest report. The totals of the next report are near them.
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
    /// Updates the totals from a report. Totals only grow, so reports may arrive out of order.
    pub fn update(&mut self, feedback: &Feedback) {
        let totals = self;
        totals.largest_at_us = totals.largest_at_us.max(feedback.largest_at_us);
        totals.received = totals.received.max(feedback.received);
        totals.received_bytes = totals.received_bytes.max(feedback.received_bytes);
        totals.redundant = totals.redundant.max(feedback.redundant);
        totals.ce = totals.ce.max(feedback.ce);
    }
}
