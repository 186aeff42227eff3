//! Compares a session under attack with the same session in peace: a hostile peer must starve only itself.

use super::judge::HostileSession;
use super::scenario::HostileScenario;

/// The share of packets that an honest peer must get through while another peer attacks. Half the distance to 1 fails
/// by chance; double the distance misses attacks that take a fifth.
const KEPT_GOODPUT: f64 = 0.9;

/// Packets that a session must deliver in peace before its goodput under attack is compared. Half the value compares
/// sessions in which chance decides; double the value compares fewer sessions.
const ENOUGH_TO_COMPARE: u64 = 5000;

/// How many pairs of runs with other random draws join the first pair if that pair delivers less under attack. Half
/// the value lets more sessions reach the long test; double the value takes longer for the same verdicts.
const SCREENED: u64 = 4;

/// How many fresh pairs decide if the screened pairs deliver less as well. The screened pairs were selected for their
/// loss, so they do not count again. An attack shifts random draws: in a session that yields, the ratio of a pair
/// varies by 26 % (seed 141158), and 32 pairs reduce this to 5 %. Half the value fails by chance; double the value
/// takes longer for the same verdicts.
const DECIDING: u64 = 32;

impl HostileSession {
    /// Notes a fault if the attack of this session takes goodput from the honest peers. A session that was shrunk holds
    /// more than its fair share of the memory, so an attack may cost it goodput.
    pub(super) fn compare_with_peace(&mut self) {
        if self.scenario.attack.is_none() || !self.is_calm() || self.outcome.sent <= ENOUGH_TO_COMPARE {
            return;
        }
        let peace = HostileScenario { attack: None, ..self.scenario.clone() };
        let pair = |repeat: u64| {
            let seed = self.seed.wrapping_add(repeat << 32);
            (self.scenario.run_guarded(seed).delivered, peace.run_guarded(seed).delivered)
        };
        let first = (self.outcome.delivered, peace.run_guarded(self.seed).delivered);
        if first.1 <= ENOUGH_TO_COMPARE {
            return;
        }
        let sum = |pairs: &mut dyn Iterator<Item = (u64, u64)>| pairs.fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let hurts = |(with, without): (u64, u64)| (with as f64) < KEPT_GOODPUT * without as f64;
        if hurts(first) && hurts(sum(&mut std::iter::once(first).chain((1..=SCREENED).map(pair)))) {
            let (with, without) = sum(&mut (SCREENED + 1..=SCREENED + DECIDING).map(pair));
            if hurts((with, without)) {
                let words = format!("an attack leaves {with} of {without} packets to the honest peers");
                self.outcome.faults.push(words);
            }
        }
        self.outcome.attacked = first;
        self.outcome.impairments.push(("attack.compared", true));
    }
}
