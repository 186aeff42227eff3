//! CUBIC's window (RFC 9438), with which the controller competes.

use crate::control::rate::Tuning;
use ripstop_base::Time;

/// A window that follows CUBIC's curve.
#[derive(Clone, Copy, Debug)]
pub(super) struct CubicWindow {
    /// The window, bytes.
    window: f64,
    /// Size of a full packet, bytes.
    packet: f64,
    /// The window before the last reduction, packets.
    max: f64,
    /// When the present curve began.
    epoch: Time,
    /// The time on the curve at which the window reaches `max` again, s.
    k: f64,
    /// The window that a Reno flow would have, packets.
    reno: f64,
}

impl CubicWindow {
    /// Begins at `window` bytes: the curve's plateau is here.
    pub(super) fn new(now: Time, window: f64, packet: f64) -> CubicWindow {
        let packets = window / packet;
        CubicWindow { window, packet, max: packets, epoch: now, k: 0.0, reno: packets }
    }

    /// The window, bytes.
    pub(super) fn get(&self) -> f64 {
        self.window
    }

    /// Grows for `acked` acknowledged bytes. `srtt` is the round-trip time, s.
    pub(super) fn on_ack(&mut self, now: Time, acked: f64, srtt: f64, tuning: &Tuning) {
        let (window, acked) = (self.window / self.packet, acked / self.packet);
        let t = now.since(self.epoch).as_secs_f64() + srtt - self.k;
        let target = (tuning.compete.cubic_c * t * t * t + self.max).clamp(window, 1.5 * window);
        let alpha = if self.reno < self.max {
            3.0 * (1.0 - tuning.compete.cubic_beta) / (1.0 + tuning.compete.cubic_beta)
        } else {
            1.0
        };
        self.reno += alpha * acked / window;
        let cubic = window + (target - window) * acked / window;
        self.window = cubic.max(self.reno) * self.packet;
    }

    /// Raises the window to `window` bytes, and begins a new curve there. Keeps a larger window.
    pub(super) fn raise(&mut self, now: Time, window: f64) {
        if window > self.window {
            *self = CubicWindow::new(now, window, self.packet);
        }
    }

    /// Reduces the window after a congestion event, to at least two packets.
    pub(super) fn on_congestion(&mut self, now: Time, tuning: &Tuning) {
        let packets = self.window / self.packet;
        // Fast convergence: a flow whose window falls leaves room to newer flows.
        self.max = if packets < self.max { packets * (1.0 + tuning.compete.cubic_beta) / 2.0 } else { packets };
        let kept = (packets * tuning.compete.cubic_beta).max(2.0);
        self.window = kept * self.packet;
        self.reno = kept;
        self.k = ((self.max - kept).max(0.0) / tuning.compete.cubic_c).cbrt();
        self.epoch = now;
    }

    /// Moves the curve to a later time, so that `pause` seconds do not count.
    pub(super) fn pause(&mut self, pause: std::time::Duration) {
        self.epoch += pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// The curve returns to the former window after K = cbrt(W (1 - beta) / C) seconds.
    #[test]
    fn the_window_returns_to_its_maximum_after_k() {
        let tuning = Tuning::default();
        let mut cubic = CubicWindow::new(Time::ZERO, 1_500_000.0, 1_500.0);
        cubic.on_congestion(Time::ZERO, &tuning);
        assert_eq!(cubic.get(), 1_500_000.0 * tuning.compete.cubic_beta);
        let k = (1000.0 * (1.0 - tuning.compete.cubic_beta) / tuning.compete.cubic_c).cbrt();
        let mut now = Time::ZERO;
        while now.as_secs_f64() < k - 0.1 {
            now += Duration::from_millis(100);
            cubic.on_ack(now, cubic.get(), 0.1, &tuning);
        }
        assert!((cubic.get() / 1_500_000.0 - 1.0).abs() < 0.01, "{}", cubic.get());
    }

    #[test]
    fn a_window_of_few_packets_stays_above_two() {
        let tuning = Tuning::default();
        let mut cubic = CubicWindow::new(Time::ZERO, 6_000.0, 1_500.0);
        (0..20).for_each(|_| cubic.on_congestion(Time::ZERO, &tuning));
        assert_eq!(cubic.get(), 3_000.0);
    }
}
