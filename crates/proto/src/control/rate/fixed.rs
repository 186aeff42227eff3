//! `fixed = RATE`: the user vouches for the rate.

use super::{Report, View};

/// Paces at a given rate, whatever happens. Above the bottleneck it loses (R - C)/R for ever; the
/// status shows that drop rate.
#[derive(Clone, Debug)]
pub struct Fixed {
    rate: f64,
    srtt: f64,
    min_rtt: f64,
    lost: f64,
}

impl Fixed {
    /// A controller that paces at `rate` byte/s (at least 1000).
    pub fn new(rate: f64) -> Fixed {
        Fixed { rate: rate.max(1000.0), srtt: 0.1, min_rtt: f64::INFINITY, lost: 0.0 }
    }

    /// Takes in one feedback.
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

    /// The rate, byte/s.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Two round trips' worth and a little: the window is there to stop at a blackout, not to pace.
    pub fn window(&self) -> u64 {
        (self.rate * (2.0 * self.srtt + 0.1)) as u64 + 16_000
    }

    /// What is known of the path; the floor is all its loss.
    pub fn view(&self) -> View {
        let min_rtt = if self.min_rtt.is_finite() { self.min_rtt } else { self.srtt };
        View {
            state: "fixed",
            bandwidth: self.rate,
            min_rtt,
            queue: (self.srtt - min_rtt).max(0.0),
            erasure_floor: self.lost,
            codable: 1.0,
            delays_accepted: 0,
        }
    }
}
