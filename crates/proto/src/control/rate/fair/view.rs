//! What the controller knows about the path, for the session and for `ripstop status`.

use super::super::View;
use super::{Fair, State};

impl Fair {
    /// What the controller knows about the path.
    pub fn view(&self) -> View {
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
                (State::Compete, Some(competition)) => competition.rate(&self.path),
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
            clock_jumps: self.path.queue.jumps(),
            competitions: self.competitions,
            overloads: self.overloads,
            forgiven: self.forgiven,
        }
    }
}
