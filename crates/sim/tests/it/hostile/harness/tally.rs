//! Adds up many hostile sessions and finds problems that no single session shows: too much loss
//! overall, and impairments that never happen.

use super::extras::MECHANISMS;
use super::findings::{ENOUGH, Findings};
use super::judge::HostileSession;
use std::fmt;
use std::time::Duration;

/// The largest share of packets that calm sessions may lose in the tunnel. Half the value finds
/// smaller regressions but fails more often by chance; double the value lets twice the loss pass.
const MAX_RESIDUAL: f64 = 1e-4;
/// The smallest number of packets that [`MAX_RESIDUAL`] is applied to. Losses come in clumps, so one clump among few
/// packets says nothing about the rate. With fewer packets, the limit on lost packets is the limit for this number of
/// packets. Half the value is stricter for small runs; double the value is more lenient.
const POOL: u64 = 1_000_000;

/// From this number of sessions on, each mechanism must have happened. The rarest one is drawn in 4 % of the sessions.
/// Half the value may fail by chance. Double the value checks shorter runs less.
const MANY: u64 = 500;

/// The smallest share of packets that calm sessions together must keep under attack. The mean of
/// [`MANY_COMPARED`] sessions varies by less than 1 %; 99 sessions gave 1.0004 (seeds 150000 to 159999). Half the distance to 1 may fail by chance; double the distance misses
/// attacks that take a little from everybody.
const MIN_KEPT: f64 = 0.97;
/// From this number of compared sessions on, [`MIN_KEPT`] is required. Half the value may fail by chance. Double the
/// value checks shorter runs less.
pub(crate) const MANY_COMPARED: u64 = 1000;

/// The number of worst sessions that a message names. More names only make the message longer.
const NAMED: usize = 10;

/// The sum of many sessions. The order in which they are added makes no difference.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Number of sessions.
    pub(crate) sessions: u64,
    /// Packets sent in all sessions.
    pub(crate) sent: u64,
    /// Packets delivered.
    pub(crate) delivered: u64,
    /// Packets dropped at the entrance.
    pub(crate) queue_drops: u64,
    /// Packets recovered from repairs.
    pub(crate) recovered: u64,
    /// Sessions in which packets of an honest peer were refused for their work, and those packets.
    pub(crate) refused: (u64, u64),
    /// Events processed.
    pub(crate) events: u64,
    /// Sessions in which no handshake completed; see
    /// [`Outcome::unconnected`](super::judge::Outcome::unconnected).
    pub(crate) unconnected: u64,
    /// Sessions in which an end stayed unreachable; see [`Outcome::unreachable`](super::judge::Outcome::unreachable).
    pub(crate) unreachable: u64,
    /// Calm sessions; see [`HostileSession::must_not_lose`].
    pub(crate) calm_sessions: u64,
    /// Packets that entered the tunnels of calm sessions and were not dropped at the entrance.
    pub(crate) calm_packets: u64,
    /// Packets lost in the tunnels of calm sessions.
    pub(crate) calm_residual: u64,
    /// Packets lost in calm sessions, by reason: longer than the tunnel's MTU, given up by the receiver, or too late
    /// for their flow.
    pub(crate) calm_reasons: (u64, u64, u64),
    /// Calm sessions under attack that were compared with the same sessions in peace; packets delivered under attack, and
    /// in peace.
    pub(crate) attacked: (u64, u64, u64),
    /// Calm sessions with losses, the worst first: packets lost, packets that entered, seed.
    worst: Vec<(u64, u64, u64)>,
    /// The longest stalls, the longest first, with their seeds.
    stalls: Vec<(Duration, u64)>,
    /// The faults and the impairments.
    findings: Findings,
}

impl Tally {
    /// Adds a session.
    pub(crate) fn add(&mut self, session: &HostileSession) {
        let (seed, outcome) = (session.seed, &session.outcome);
        self.sessions += 1;
        self.sent += outcome.sent;
        self.delivered += outcome.delivered;
        self.queue_drops += outcome.queue_drops;
        self.recovered += outcome.recovered;
        self.refused.0 += u64::from(outcome.refused > 0);
        self.refused.1 += outcome.refused;
        self.events += outcome.events;
        self.unconnected += u64::from(outcome.unconnected);
        self.unreachable += u64::from(outcome.unreachable);
        if session.must_not_lose() {
            let packets = outcome.delivered + outcome.residual;
            self.calm_sessions += 1;
            self.calm_packets += packets;
            self.calm_residual += outcome.residual;
            self.calm_reasons.0 += outcome.too_long;
            self.calm_reasons.1 += outcome.given_up;
            self.calm_reasons.2 += outcome.late;
            if outcome.residual > 0 {
                self.worst.push((outcome.residual, packets, seed));
                self.worst.sort_unstable_by(|a, b| b.cmp(a));
                self.worst.truncate(NAMED);
            }
        }
        let (with, without) = outcome.attacked;
        self.attacked.0 += u64::from(without > 0);
        self.attacked.1 += with;
        self.attacked.2 += without;
        self.stalls.push((outcome.longest_stall, seed));
        self.stalls.sort_unstable_by(|a, b| b.cmp(a));
        self.stalls.truncate(NAMED);
        self.findings.add(seed, &outcome.faults, &outcome.impairments);
    }

    /// The number of sessions with a fault.
    pub(crate) fn faulty(&self) -> usize {
        self.findings.faulty()
    }

    /// On how many links or ends the impairment or mishap `name` happened.
    pub(crate) fn happened(&self, name: &str) -> u64 {
        self.findings.happened(name)
    }

    /// The share of packets lost in the tunnels of calm sessions; 0 without packets.
    pub(crate) fn residual(&self) -> f64 {
        if self.calm_packets == 0 { 0.0 } else { self.calm_residual as f64 / self.calm_packets as f64 }
    }

    /// The share of packets that sessions deliver under attack, of what they deliver in peace; 1 without such sessions.
    pub(crate) fn kept(&self) -> f64 {
        if self.attacked.2 == 0 { 1.0 } else { self.attacked.1 as f64 / self.attacked.2 as f64 }
    }

    /// How many sessions may end without a handshake, or with an unreachable end, by chance: about three times as many as
    /// in 10 000 sessions from seed 150000.
    fn excusable(&self) -> u64 {
        5 + self.sessions / 100
    }

    /// All problems of the sessions in words, with the seeds that reproduce them. Empty if there are no problems.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.findings.faults();
        if self.calm_residual as f64 > MAX_RESIDUAL * self.calm_packets.max(POOL) as f64 {
            problems.push(format!(
                "{} of {} packets were lost in calm sessions: {:.1e}, above the limit of {MAX_RESIDUAL:.0e}; worst seeds: {}",
                self.calm_residual,
                self.calm_packets,
                self.residual(),
                self.worst_words()
            ));
        }
        if self.attacked.0 >= MANY_COMPARED && self.kept() < MIN_KEPT {
            problems.push(format!(
                "in {} sessions, attacks leave {:.3} of the packets to the honest peers, below the limit of {MIN_KEPT}",
                self.attacked.0,
                self.kept()
            ));
        }
        if self.unconnected > self.excusable() {
            problems.push(format!("in {} of {} sessions no handshake completed", self.unconnected, self.sessions));
        }
        if self.unreachable > self.excusable() {
            problems.push(format!("in {} of {} sessions an end stayed unreachable", self.unreachable, self.sessions));
        }
        problems.extend(self.findings.unfired(ENOUGH));
        if self.sessions >= MANY {
            let idle = MECHANISMS.iter().filter(|name| self.happened(name) == 0);
            problems.extend(idle.map(|name| format!("`{name}` never happened")));
        }
        if self.recovered == 0 && self.calm_packets > 100_000 {
            problems.push("no packet was recovered by a repair".to_owned());
        }
        problems
    }

    fn worst_words(&self) -> String {
        let words = self.worst.iter().map(|(lost, of, seed)| format!("{seed} ({lost} of {of})"));
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The summary, one line per topic.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} sessions, {} with a fault, {} without a completed handshake, {} with an unreachable end, {} events",
            self.sessions,
            self.faulty(),
            self.unconnected,
            self.unreachable,
            self.events
        )?;
        writeln!(
            f,
            "packets: {} sent, {} delivered, {} dropped at the entrance, {} recovered from repairs; {} refused for their work \
             in {} sessions",
            self.sent, self.delivered, self.queue_drops, self.recovered, self.refused.1, self.refused.0
        )?;
        writeln!(
            f,
            "{} calm sessions (no interruption, at most 30 % loss): {} of {} packets lost, {:.1e}; {} too long, {} given up, {} \
             late",
            self.calm_sessions,
            self.calm_residual,
            self.calm_packets,
            self.residual(),
            self.calm_reasons.0,
            self.calm_reasons.1,
            self.calm_reasons.2
        )?;
        writeln!(f, "under attack: {} calm sessions keep {:.4} of their packets", self.attacked.0, self.kept())?;
        if !self.worst.is_empty() {
            writeln!(f, "worst calm seeds: {}", self.worst_words())?;
        }
        let stalls = self.stalls.iter().take(5).map(|(stall, seed)| format!("{:.2} s ({seed})", stall.as_secs_f64()));
        writeln!(f, "longest stalls on an uninterrupted path (seed): {}", stalls.collect::<Vec<_>>().join(", "))?;
        write!(f, "{}", self.findings)
    }
}
