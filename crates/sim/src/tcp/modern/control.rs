//! The interface between the modern sender and a congestion control. The sender reports events, and the congestion
//! control sets the window and the pacing rate.

use super::Mechanisms;
use super::rate::{Delivery, RateSample};
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use ripstop_base::Time;
use std::time::Duration;

/// The state of the sender. The names are Linux's, and each state is worse than the state before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tcp) enum Phase {
    /// No sign of loss.
    Open,
    /// Packets arrived out of order.
    Disorder,
    /// The window is being reduced because the receiver echoed a mark (RFC 3168). Nothing was lost.
    Reduction,
    /// Losses are being repaired.
    Recovery,
    /// A retransmission time-out expired.
    Loss,
}

/// The state that a congestion control reads and sets.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct FlowState {
    /// The congestion window in packets.
    pub(in crate::tcp) cwnd: f64,
    /// The slow-start threshold in packets.
    pub(in crate::tcp) ssthresh: f64,
    /// The pacing rate in packets per second; None without pacing.
    pub(in crate::tcp) pacing_rate: Option<f64>,
    /// The number of packets in a paced burst.
    pub(in crate::tcp) burst: u32,
    /// The earliest departure of the next paced burst.
    pub(in crate::tcp) next_departure: Time,
    pub(in crate::tcp) phase: Phase,
    /// Whether the window, not the application, limited sending in the last round trip.
    pub(in crate::tcp) cwnd_limited: bool,
    /// The largest number of packets outstanding in the last round trip.
    pub(in crate::tcp) most_outstanding: u64,
    /// Packets marked lost so far. A packet that is marked lost several times counts each time.
    pub(in crate::tcp) lost: u64,
    pub(in crate::tcp) delivery: Delivery,
    pub(in crate::tcp) rtt: Rtt,
    pub(in crate::tcp) mechanisms: Mechanisms,
    pub(super) board: Scoreboard,
}

impl FlowState {
    /// Packets in flight.
    pub(in crate::tcp) fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }

    /// The first unacknowledged packet, and the next new packet.
    pub(in crate::tcp) fn una_and_nxt(&self) -> (u64, u64) {
        (self.board.una(), self.board.nxt())
    }

    /// Whether the sender uses its window, so that the window may grow (RFC 7661). In slow start the window may already
    /// grow when more than half of the window was used.
    pub(in crate::tcp) fn uses_window(&self) -> bool {
        self.cwnd_limited || self.cwnd < self.ssthresh && self.cwnd < 2.0 * self.most_outstanding as f64
    }
}

/// A summary of one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct AckSummary {
    /// Packets that the acknowledgement reports for the first time.
    pub(in crate::tcp) delivered: u64,
    /// Whether the acknowledgement covers new packets in order.
    pub(in crate::tcp) in_order: bool,
    /// Packets marked lost because of the acknowledgement.
    pub(in crate::tcp) lost: u64,
    /// Packets in flight before the acknowledgement.
    pub(in crate::tcp) prior_in_flight: u64,
    /// Round-trip time of the newest reported packet that was sent only once; None if this time is ambiguous.
    pub(in crate::tcp) rtt: Option<Duration>,
    /// The sample of the delivery rate.
    pub(in crate::tcp) rate: Option<RateSample>,
}

/// A congestion control. The sender handles each event first, and then calls the method for the event.
pub(in crate::tcp) trait CongestionControl {
    /// The first packet is acknowledged. The sender has set the initial window.
    fn on_established(&mut self, _flow: &mut FlowState, _now: Time) {}
    /// A packet is about to leave while nothing is in flight. `idle` is the time since the last packet.
    fn on_start(&mut self, _flow: &mut FlowState, _now: Time, _idle: Duration) {}
    /// An acknowledgement arrived.
    fn on_acked(&mut self, flow: &mut FlowState, now: Time, acked: &AckSummary);
    /// A loss or a time-out requires a reduction. CUBIC and Reno set the slow-start threshold here.
    fn on_loss(&mut self, flow: &mut FlowState, now: Time);
    /// A retransmission time-out expired. `on_loss` came first if a new reduction was due.
    fn on_timeout(&mut self, _flow: &mut FlowState, _now: Time) {}
    /// The last reduction was spurious. The sender has restored the window and the threshold.
    fn on_spurious(&mut self, _flow: &mut FlowState, _now: Time) {}
}
