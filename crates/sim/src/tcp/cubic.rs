//! CUBIC (RFC 9438): the window is a cubic function of the time since the last loss, and never below Reno's window.
//! HyStart++ (RFC 9406) ends slow start when the delay rises.
//!
//! Linux differs in three visible ways, which [`Flavour`] selects:
//!
//! - The older HyStart ends slow start.
//! - The estimate of Reno's window keeps the slow growth of figure 4 of RFC 9438. In the RFC, the estimate grows as
//!   fast as Reno's window as soon as the estimate has reached the window before the last loss.
//! - In congestion avoidance before the first loss, the window grows by at least 5 % in each round trip. The same holds
//!   after a time-out, until the next loss.

use super::hystart::{HyStart, LinuxHyStart, PlusPlus};
use super::modern::{AckSummary, CongestionControl, FlowState};
use ripstop_base::Time;
use std::time::Duration;

/// C in packets/s^3: the steepness of the cubic (RFC 9438, section 5). The time to reach the old window after a loss
/// grows with the cube root of 1/C. With half the value, the time is therefore longer. With double the value, the time
/// is shorter, but other flows get less.
const C: f64 = 0.4;
/// The share of the window kept after a loss (RFC 9438, section 4.6). A smaller share gives room to other flows, but
/// may leave the path idle. A share close to 1 keeps the queue full.
const BETA: f64 = 0.7;
/// The smallest slow-start threshold in packets (RFC 5681, equation (4)). It matters only for very small windows.
const LEAST_THRESHOLD: f64 = 2.0;

/// The specification that CUBIC follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flavour {
    /// RFC 9438 and RFC 9406.
    Rfc,
    /// Linux 6.
    Linux,
}

#[derive(Clone, Debug)]
pub(super) struct Cubic {
    flavour: Flavour,
    state: State,
    /// The state before the last reduction, to restore if the reduction was spurious.
    before: State,
    hystart: HyStart,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// The window at the last loss, or less after fast convergence; 0 before the first loss and after a time-out.
    w_max: f64,
    /// The window before the last reduction.
    cwnd_prior: f64,
    /// The current stage of congestion avoidance; None until it begins.
    epoch: Option<Epoch>,
}

/// A stage of congestion avoidance between two reductions (RFC 9438 calls it an epoch).
#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// When the stage began, moved forward by idle times.
    start: Time,
    /// K: seconds from `start` until the curve reaches `w_max`.
    k: f64,
    /// The window in packets where the curve is flat.
    w_max: f64,
    /// Estimate of Reno's window.
    w_est: f64,
}

impl CongestionControl for Cubic {
    fn on_start(&mut self, _flow: &mut FlowState, _now: Time, idle: Duration) {
        // Idle time does not count, because the path was not probed (RFC 9438, section 5.8).
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start += idle;
        }
    }

    fn on_acked(&mut self, flow: &mut FlowState, now: Time, acked: &AckSummary) {
        let mut packets = acked.delivered as f64;
        let slow_start = flow.cwnd < flow.ssthresh;
        if slow_start {
            self.hystart.on_ack(flow, now, acked.rtt);
        }
        // The window grows only if the acknowledgement covers new packets in order, and the sender uses its window.
        if !acked.in_order || packets == 0.0 || !flow.uses_window() {
            return;
        }
        if slow_start {
            let growth = packets / self.hystart.divisor();
            let grown = (flow.cwnd + growth).min(flow.ssthresh.max(flow.cwnd));
            packets = if grown < flow.ssthresh { 0.0 } else { flow.cwnd + growth - grown };
            flow.cwnd = grown;
        }
        if packets > 0.0 && flow.cwnd >= flow.ssthresh {
            self.avoid_congestion(flow, now, packets);
        }
    }

    fn on_loss(&mut self, flow: &mut FlowState, _now: Time) {
        self.before = self.state;
        let converges = flow.cwnd < self.state.w_max;
        flow.mechanisms.fast_convergences += u64::from(converges);
        let w_max = if converges { flow.cwnd * (1.0 + BETA) / 2.0 } else { flow.cwnd };
        self.state = State { w_max, cwnd_prior: flow.cwnd, epoch: None };
        flow.ssthresh = (flow.cwnd.floor() * BETA).floor().max(LEAST_THRESHOLD);
    }

    fn on_timeout(&mut self, _flow: &mut FlowState, _now: Time) {
        // The next stage begins with K = 0, and with the window that the sender has when the stage begins (RFC 9438,
        // section 4.8).
        self.state = State { w_max: 0.0, ..self.state };
        self.state.epoch = None;
    }

    fn on_spurious(&mut self, _flow: &mut FlowState, _now: Time) {
        self.state = self.before;
    }
}

impl Cubic {
    pub(super) fn new(flavour: Flavour) -> Cubic {
        let hystart = match flavour {
            Flavour::Rfc => HyStart::PlusPlus(PlusPlus::default()),
            Flavour::Linux => HyStart::Linux(LinuxHyStart::default()),
        };
        Cubic { flavour, state: State::default(), before: State::default(), hystart }
    }

    fn avoid_congestion(&mut self, flow: &mut FlowState, now: Time, packets: f64) {
        let (w_max, cwnd) = (self.state.w_max, flow.cwnd);
        let epoch = self.state.epoch.get_or_insert_with(|| {
            // RFC 9438, figure 2. K is 0 if the window has already reached the old window. K is also 0 before the first
            // loss and after a time-out, when `w_max` is 0.
            let k = libm::cbrt(((w_max - cwnd) / C).max(0.0));
            Epoch { start: now, k, w_max: w_max.max(cwnd), w_est: cwnd }
        });
        // The curve of RFC 9438, figure 1. It is evaluated for now and for one round trip later.
        let curve = |t: f64| {
            let away = t - epoch.k;
            C * away * away * away + epoch.w_max
        };
        let t = now.since(epoch.start).as_secs_f64();
        let rtt = flow.rtt.smoothed().unwrap_or_default().as_secs_f64();
        let (here, target) = (curve(t), curve(t + rtt).clamp(cwnd, 1.5 * cwnd));
        // RFC 9438, figure 4. First the estimate grows so slowly that its average equals Reno's in spite of the larger
        // `BETA`. Later the estimate grows as fast as Reno's window. Linux leaves out this second part.
        let average = self.flavour == Flavour::Linux || epoch.w_est < self.state.cwnd_prior;
        let alpha = if average { 3.0 * (1.0 - BETA) / (1.0 + BETA) } else { 1.0 };
        epoch.w_est += alpha * packets / cwnd;
        if here < epoch.w_est {
            flow.mechanisms.reno_friendly += 1;
            flow.cwnd = cwnd.max(epoch.w_est);
        } else {
            flow.cwnd += ((target - cwnd) / cwnd * packets).min(packets / 2.0);
        }
        if self.flavour == Flavour::Linux && w_max == 0.0 {
            // Before the first loss and after a time-out, the sender does not know the window that the path allows. The
            // window therefore grows by at least 5 % in a round trip.
            flow.cwnd = flow.cwnd.max(cwnd + packets / 20.0);
        }
    }
}
