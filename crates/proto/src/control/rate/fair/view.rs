//! What the controller knows about the path, for the session and for `ripstop status`.

use super::super::View;
use super::{Fair, State};

/// What the controller knows about the path.
pub(super) fn of(fair: &Fair) -> View {
    let floor = fair.path.erasure.get();
    View {
        state: match fair.state {
            State::Startup => "startup",
            State::Drain => "drain",
            State::Down => "down",
            State::Cruise => "cruise",
            State::Up => "up",
            State::Test(_) => "test",
            State::LossTest(_) => "loss test",
            State::Compete => "compete",
        },
        starting: matches!(fair.state, State::Startup),
        bandwidth: match (fair.state, &fair.competition) {
            (State::Compete, Some(competition)) => competition.rate(&fair.path),
            _ => fair.path.bandwidth,
        },
        min_rtt: fair.path.min_rtt,
        queue: fair.path.queue.delay(),
        erasure_floor: floor,
        codable: match fair.state {
            State::Startup if fair.path.is_short(&fair.tuning) => fair.tuning.start.codable_at_first,
            _ => 1.5 * floor + 0.01,
        },
        delays_accepted: fair.path.delays_accepted,
        clock_jumps: fair.path.queue.jumps(),
        competitions: fair.competitions,
        overloads: fair.loss_tests.overloads,
        forgiven: fair.forgiven,
    }
}
