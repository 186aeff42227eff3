//! What stands between the sender and a congestion control: named events one way, window and pacing rate the other.

use super::Mechanisms;
use super::rate::{Delivery, RateSample};
use super::rtt::Rtt;
use super::scoreboard::Scoreboard;
use crate::tcp::bbr::Bbr;
use crate::tcp::cubic::Cubic;
use crate::tcp::linux_reno::LinuxReno;
use ripstop_base::Time;
use std::time::Duration;

/// Where the sender is, as Linux names it; later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::tcp) enum Phase {
    /// All is well.
    Open,
    /// Something arrived out of order.
    Disorder,
    /// Losses are being repaired.
    Recovery,
    /// A time-out has come.
    Loss,
}

/// What a congestion control sees, and sets.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct FlowState {
    /// The congestion window, packets.
    pub(in crate::tcp) cwnd: f64,
    /// Where slow start ends, packets.
    pub(in crate::tcp) ssthresh: f64,
    /// Packets per second; None: what the window allows leaves at once.
    pub(in crate::tcp) pacing_rate: Option<f64>,
    /// Packets that leave together when paced.
    pub(in crate::tcp) burst: u32,
    /// Nothing paced leaves before.
    pub(in crate::tcp) next_departure: Time,
    pub(in crate::tcp) phase: Phase,
    /// Whether the window, not a want of data, bounded what left in the last round trip.
    pub(in crate::tcp) cwnd_limited: bool,
    /// The most packets outstanding in that round trip.
    pub(in crate::tcp) most_outstanding: u64,
    /// Packets taken for lost so far, each as often as it was.
    pub(in crate::tcp) lost: u64,
    pub(in crate::tcp) delivery: Delivery,
    pub(in crate::tcp) rtt: Rtt,
    pub(in crate::tcp) mechanisms: Mechanisms,
    pub(super) board: Scoreboard,
}

impl FlowState {
    /// Packets on the path.
    pub(in crate::tcp) fn in_flight(&self) -> u64 {
        self.board.in_flight()
    }

    /// The first packet that is not acknowledged, and the next to be sent.
    pub(in crate::tcp) fn una_and_nxt(&self) -> (u64, u64) {
        (self.board.una(), self.board.nxt())
    }

    /// Whether a larger window would be used (RFC 7661): in slow start also when half of it is.
    pub(in crate::tcp) fn uses_window(&self) -> bool {
        self.cwnd_limited || self.cwnd < self.ssthresh && self.cwnd < 2.0 * self.most_outstanding as f64
    }
}

/// What an acknowledgement told.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct AckSummary {
    /// Packets that are known to have arrived by it.
    pub(in crate::tcp) delivered: u64,
    /// Whether it acknowledged something new in order.
    pub(in crate::tcp) in_order: bool,
    /// Packets that were taken for lost by it.
    pub(in crate::tcp) lost: u64,
    /// Packets on the path before it.
    pub(in crate::tcp) prior_in_flight: u64,
    /// Round-trip time of the newest packet, unless ambiguous.
    pub(in crate::tcp) rtt: Option<Duration>,
    /// The rate at which the path delivered.
    pub(in crate::tcp) rate: Option<RateSample>,
}

/// A congestion control. Each event comes when the sender has done its part.
pub(in crate::tcp) trait CongestionControl {
    /// The first packet was acknowledged: the initial window is in force.
    fn on_established(&mut self, _flow: &mut FlowState, _now: Time) {}
    /// Something leaves and nothing was under way, for `idle`.
    fn on_start(&mut self, _flow: &mut FlowState, _now: Time, _idle: Duration) {}
    /// An acknowledgement has told something.
    fn on_acked(&mut self, flow: &mut FlowState, now: Time, acked: &AckSummary);
    /// A loss, or a time-out, calls for a smaller window: sets the threshold.
    fn on_loss(&mut self, flow: &mut FlowState, now: Time);
    /// A time-out has come; `on_loss` came before it where a new reduction was due.
    fn on_timeout(&mut self, _flow: &mut FlowState, _now: Time) {}
    /// The last reduction was for nothing; window and threshold are as before it.
    fn on_spurious(&mut self, _flow: &mut FlowState, _now: Time) {}
}

/// The congestion controls.
#[derive(Clone, Debug)]
pub(in crate::tcp) enum Algorithm {
    Cubic(Cubic),
    Bbr(Bbr),
    Reno(LinuxReno),
}

/// The same of whichever it is.
macro_rules! dispatch {
    ($self:ident, $algorithm:ident => $call:expr) => {
        match $self {
            Algorithm::Cubic($algorithm) => $call,
            Algorithm::Bbr($algorithm) => $call,
            Algorithm::Reno($algorithm) => $call,
        }
    };
}

impl Algorithm {
    /// Whether it sets its window in a recovery by itself; otherwise proportional rate reduction does (RFC 6937).
    pub(super) fn owns_recovery(&self) -> bool {
        matches!(self, Algorithm::Bbr(_))
    }
}

impl CongestionControl for Algorithm {
    fn on_established(&mut self, flow: &mut FlowState, now: Time) {
        dispatch!(self, algorithm => algorithm.on_established(flow, now));
    }

    fn on_start(&mut self, flow: &mut FlowState, now: Time, idle: Duration) {
        dispatch!(self, algorithm => algorithm.on_start(flow, now, idle));
    }

    fn on_acked(&mut self, flow: &mut FlowState, now: Time, acked: &AckSummary) {
        dispatch!(self, algorithm => algorithm.on_acked(flow, now, acked));
    }

    fn on_loss(&mut self, flow: &mut FlowState, now: Time) {
        dispatch!(self, algorithm => algorithm.on_loss(flow, now));
    }

    fn on_timeout(&mut self, flow: &mut FlowState, now: Time) {
        dispatch!(self, algorithm => algorithm.on_timeout(flow, now));
    }

    fn on_spurious(&mut self, flow: &mut FlowState, now: Time) {
        dispatch!(self, algorithm => algorithm.on_spurious(flow, now));
    }
}
