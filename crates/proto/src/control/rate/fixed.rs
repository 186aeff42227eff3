//! The controller for a sending rate that the user has set.

use super::{Report, View};

/// Paces at a given rate R, whatever the path does.
///
/// If R is above the bottleneck's rate C, the path constantly loses the share (R - C)/R of the
/// packets. The status shows this share.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// Pacing rate, byte/s.
    rate: f64,
    /// Smoothed round-trip time, s.
    srtt: f64,
    /// Least round-trip time, s.
    min_rtt: f64,
    /// Recent share of packets lost.
    lost: f64,
}

impl Fixed {
    /// Creates a controller that paces at `rate` byte/s, or at 1000 byte/s if `rate` is less. `rtt` is the round-trip time
    /// of the handshake, s.
    pub fn new(rate: f64, rtt: f64) -> Fixed {
        Fixed { rate: rate.max(1000.0), srtt: rtt, min_rtt: f64::INFINITY, lost: 0.0 }
    }

    /// Takes in one report.
    pub fn on_report(&mut self, report: &Report) {
        self.srtt = report.srtt.as_secs_f64();
        if let Some(rtt) = report.rtt {
            self.min_rtt = self.min_rtt.min(rtt.as_secs_f64());
        }
        let settled = report.settled_total();
        if settled.packets > 0 {
            let share = f64::from(settled.lost) / f64::from(settled.packets);
            self.lost += (share - self.lost) * (f64::from(settled.packets) / 1000.0).min(0.1);
        }
    }

    /// The pacing rate, byte/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Limit on the bytes in flight: what is sent at the set rate in two round trips and 0.1 s,
    /// plus 16 000 bytes.
    ///
    /// The window is so large that it stops the sender only when the path fails. Otherwise the
    /// pacing rate limits the sender.
    pub fn window(&self) -> u64 {
        (self.rate * (2.0 * self.srtt + 0.1)) as u64 + 16_000
    }

    /// What the controller knows about the path. All losses count as the erasure floor (the share
    /// that the path loses without congestion). This controller cannot tell congestion from other
    /// causes of loss.
    pub fn view(&self) -> View {
        let min_rtt = if self.min_rtt.is_finite() { self.min_rtt } else { self.srtt };
        View {
            state: "fixed",
            starting: false,
            bandwidth: self.rate,
            min_rtt,
            queue: (self.srtt - min_rtt).max(0.0),
            erasure_floor: self.lost,
            codable: 1.0,
            delays_accepted: 0,
            clock_jumps: 0,
            competitions: 0,
            overloads: 0,
            forgiven: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_window_covers_the_round_trip_of_the_handshake() {
        let (short, long) = (Fixed::new(1e6, 0.1).window(), Fixed::new(1e6, 0.8).window());
        assert!(short > 100_000 && long > 800_000, "{short} {long}");
    }
}
