//! What the controller decides: the pacing gain, the window, and what it knows about the path.
//!
//! The session asks for these values with every datagram, but only a report changes them. So they are computed one time
//! for each report.

use super::super::View;
use super::{Fair, Mode, State, scavenge};

/// What follows from the controller's state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outputs {
    /// The factor on the estimated rate.
    pub(super) gain: f64,
    /// Limit on the bytes in flight.
    window: u64,
    view: View,
}

impl Fair {
    /// The pacing gain: the factor on the estimated rate.
    pub fn pacing_gain(&self) -> f64 {
        self.outputs.gain
    }

    /// Limit on the bytes in flight.
    pub fn window(&self) -> u64 {
        self.outputs.window
    }

    /// What the controller knows about the path.
    pub fn view(&self) -> View {
        self.outputs.view
    }

    /// Computes the outputs. Call this function after each change of the state.
    pub(super) fn compute_outputs(&self) -> Outputs {
        Outputs { gain: self.compute_gain(), window: self.compute_window(), view: self.compute_view() }
    }

    fn compute_gain(&self) -> f64 {
        let path = &self.path;
        match self.state {
            State::Startup => self.tuning.startup_gain,
            State::Drain => 0.4,
            State::Down => 1.0 - self.excess_part().clamp(0.05, 0.2),
            State::Test(_) => 0.8,
            State::LossTest(test) => test.gain(),
            State::Up => self.probe.gain(&self.tuning),
            State::Compete => self.tuning.compete_gain,
            State::Cruise if self.scavenge.backs_off(self.last) => scavenge::LEAST_GAIN,
            State::Cruise if !self.rounds.standing => 1.0,
            State::Cruise => match self.mode {
                Mode::Fair | Mode::Strict => 1.0 - self.excess_part().clamp(0.0, 0.3),
                Mode::Scavenge => self.scavenge.gain(self.last, path, path.short_queue(&self.tuning)),
            },
        }
    }

    /// The excess of the flight, as a share of what the path carries until a report shows the effect.
    fn excess_part(&self) -> f64 {
        self.excess / (self.path.bandwidth * self.path.response())
    }

    fn compute_window(&self) -> u64 {
        let path = &self.path;
        let gain = match self.state {
            State::Startup | State::Drain => self.tuning.startup_gain,
            State::Down | State::Cruise | State::LossTest(_) => self.tuning.window_gain,
            State::Up => (self.probe.gain(&self.tuning) + 0.25).max(self.tuning.window_gain),
            State::Test(test) => return test.flight as u64,
            State::Compete => {
                let window = self.competition.map_or(0.0, |c| c.cubic.get()).max(2.0 * path.packet);
                // A receiver of TCP acknowledges at once. Here packets wait for the next report, and count as in
                // flight until then.
                return (window * (1.0 + 0.5 * path.report_every / path.srtt.max(1e-3))) as u64;
            }
        };
        // The first rate may set the pace, but not the window. The first rate times a long measured
        // round trip could be far more than the path holds.
        let bandwidth = match self.state {
            State::Startup => self.rates.get().unwrap_or(0.0),
            _ => path.bandwidth,
        };
        // The slack lets the sender continue when the next reports are lost.
        let slack = 4.0 * path.packet + path.blind_time() * bandwidth;
        let mut window = gain * bandwidth * path.min_rtt + slack;
        if matches!(self.state, State::Startup) {
            window = window.max(self.startup.window);
        }
        window.max(5.0 * path.packet) as u64
    }

    fn compute_view(&self) -> View {
        let floor = self.path.erasure.get();
        View {
            state: match self.state {
                State::Startup => "startup",
                State::Drain => "drain",
                State::Down => "down",
                State::Cruise => "cruise",
                State::Up => "up",
                State::Test(_) => "test",
                State::LossTest(_) => "loss test",
                State::Compete => "compete",
            },
            starting: matches!(self.state, State::Startup),
            bandwidth: match (self.state, &self.competition) {
                (State::Compete, Some(competition)) => competition.cubic.get() / self.path.srtt.max(1e-3),
                _ => self.path.bandwidth,
            },
            min_rtt: self.path.min_rtt,
            queue: self.path.queue.delay(),
            erasure_floor: floor,
            codable: match self.state {
                State::Startup if self.path.is_short(&self.tuning) => self.tuning.codable_at_first,
                _ => 1.5 * floor + 0.01,
            },
            delays_accepted: self.path.delays_accepted,
            competitions: self.competitions,
            overloads: self.overloads,
            forgiven: self.forgiven,
        }
    }
}
