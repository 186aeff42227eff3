//! The choice between the congestion controls of the modern sender.

use super::control::{AckSummary, CongestionControl, FlowState};
use crate::tcp::bbr::Bbr;
use crate::tcp::cubic::Cubic;
use crate::tcp::linux_reno::LinuxReno;
use ripstop_base::Time;
use std::time::Duration;

/// A congestion control.
#[derive(Clone, Debug)]
pub(in crate::tcp) enum Algorithm {
    Cubic(Cubic),
    Bbr(Bbr),
    Reno(LinuxReno),
}

/// Calls a method of the algorithm in use.
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
    /// Whether the algorithm itself sets the window in a recovery. Otherwise the sender sets it by proportional rate
    /// reduction (RFC 6937).
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
