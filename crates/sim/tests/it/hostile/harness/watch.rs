//! Watches a hostile session while it runs: its memory bounds, and its stalls.

use super::judge::Outcome;
use super::scenario::{HostileScenario, HostileWorld, Side};
use super::stall::{Progress, StallClock};
use ripstop_base::Time;
use ripstop_proto::endpoint::PeerStatus;
use ripstop_proto::session::tunnel::Status;

/// The bytes by which an end may exceed its memory budget before the next check: the packets of one step. Half the
/// value would refuse one full batch. Double the value still finds every growth without bound.
const MEMORY_SLACK: usize = 1_000_000;

/// What is known of a running session.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The clock of each side's packets.
    clocks: [StallClock; 2],
    /// When the left end first had something to send after both ends had moved.
    pub(crate) tried: Option<Time>,
    /// When each side last had something to send.
    pub(crate) waited: [Option<Time>; 2],
}

impl Watch {
    /// Checks memory bounds and stalls of both sides now.
    pub(crate) fn check(&mut self, scenario: &HostileScenario, world: &HostileWorld, outcome: &mut Outcome) {
        let now = world.world.now();
        let waits = |status: &PeerStatus| match &status.tunnel {
            Some(tunnel) => tunnel.outstanding.0 > 0 || tunnel.backlog.0 > 0,
            None => status.waiting > 0,
        };
        if scenario.both_move.is_some_and(|at| at <= now) && world.status(Side::Left).as_ref().is_some_and(waits) {
            self.tried.get_or_insert(now);
        }
        let whole = scenario.last_interruption_end(now, self.tried);
        for side in Side::BOTH {
            let Some(status) = world.status(side) else { continue };
            let broken = status.tunnel.as_ref().and_then(|tunnel| exceeded_bound(scenario, tunnel));
            let broken = broken.or_else(|| exceeded_memory(scenario, world, side));
            if let Some(words) = broken.filter(|_| outcome.faults.is_empty()) {
                outcome.faults.push(format!("{side:?} at {} s: {words}", world.world.now().as_secs_f64()));
            }
            let waiting = waits(&status);
            if waiting {
                self.waited[side as usize] = Some(now);
            }
            let (is, clock) = (progress(world, side), &mut self.clocks[side as usize]);
            if !waiting || is.achieved != clock.was().achieved || clock.was().at < whole {
                clock.set(is);
            } else {
                outcome.longest_stall = outcome.longest_stall.max(clock.stall(&is));
            }
        }
    }
}

/// The progress of the packets that `side` sent, now.
fn progress(world: &HostileWorld, side: Side) -> Progress {
    let link = |side: Side| world.world.link(side as usize);
    let carried = Side::BOTH.map(|side| link(side).delivered);
    Progress { at: world.world.now(), achieved: world.packets(side).1, carried, offered: link(side).offered }
}

/// A memory bound that an end exceeds, in words. None if the end keeps all bounds.
fn exceeded_bound(scenario: &HostileScenario, tunnel: &Status) -> Option<String> {
    let window = scenario.config.window_symbols as usize;
    let (undecoded, rows, held) = tunnel.receiving;
    [
        ("symbols outstanding", tunnel.outstanding.0, window),
        ("bytes waiting on the way in", tunnel.backlog.1, scenario.config.queue_bytes),
        ("symbols not decoded", undecoded, window),
        ("repairs held", rows, window),
        ("packets held for order", held, window),
    ]
    .into_iter()
    .find_map(|(what, is, most)| (is > most).then(|| format!("{is} {what}; at most {most} are allowed")))
}

/// The memory budget that an end exceeds, in words. None if the end keeps its budget.
fn exceeded_memory(scenario: &HostileScenario, world: &HostileWorld, side: Side) -> Option<String> {
    let plan = scenario.attack.filter(|plan| plan.victim == side)?;
    let held = world.world.endpoint_memory(side as usize);
    let most = plan.memory + MEMORY_SLACK;
    (held > most).then(|| format!("{held} bytes held; at most {most} are allowed"))
}
