//! Adds up many hostile sessions of TCP/LT and finds problems that no single session shows.

use super::super::findings::{ENOUGH, Findings};
use super::judge::LtHostile;
use std::fmt;
use std::time::Duration;

/// The number of longest stalls that the summary names. More names only make the summary longer.
const NAMED: usize = 5;

/// A mechanism must have acted at least one time in this number of sessions. The rarest one, a packet that finds the
/// sender full, acts in one of 150. Half the value fails more often by chance; double the value misses a dead mechanism
/// in more runs.
const ENOUGH_SESSIONS: u64 = 2_000;

/// The sum of many sessions. The order in which they are added makes no difference.
#[derive(Clone, Debug, Default)]
pub(crate) struct LtTally {
    /// Number of sessions.
    pub(crate) sessions: u64,
    /// TCP connections begun.
    pub(crate) connections: u64,
    /// Packets delivered to TCP.
    pub(crate) delivered: u64,
    /// Symbols and LT-ACKs sent.
    pub(crate) sent: [u64; 2],
    /// Packets that the checksum rejected.
    pub(crate) damaged: u64,
    /// Restarts, reports of restarts, and reports of a restart that has not happened.
    pub(crate) restarts: [u64; 3],
    /// The longest stalls of the improved and of the repaired mode, the longest first, with their seeds.
    stalls: [Vec<(Duration, u64)>; 2],
    /// The sessions that took the longest time, the longest first, with their seeds.
    longest: Vec<(Duration, u64)>,
    /// The faults and the impairments.
    findings: Findings,
    /// The mechanisms of the protocol.
    mechanisms: Findings,
}

impl LtTally {
    /// Adds a session.
    pub(crate) fn add(&mut self, session: &LtHostile) {
        let (seed, outcome) = (session.seed, &session.outcome);
        self.sessions += 1;
        self.connections += outcome.connections;
        self.delivered += outcome.delivered;
        for (sum, value) in self.sent.iter_mut().zip([outcome.symbols, outcome.lt_acks]) {
            *sum += value;
        }
        self.damaged += outcome.damaged;
        for (sum, value) in self.restarts.iter_mut().zip([outcome.restarts, outcome.reports, outcome.needless]) {
            *sum += value;
        }
        let took = Duration::from_nanos(outcome.end.as_nanos());
        let stalls = &mut self.stalls[usize::from(!session.scenario.is_improved())];
        for (list, time) in [(stalls, outcome.longest_stall), (&mut self.longest, took)] {
            list.push((time, seed));
            list.sort_unstable_by(|a, b| b.cmp(a));
            list.truncate(NAMED);
        }
        self.findings.add(seed, &outcome.faults, &outcome.impairments);
        self.mechanisms.add(seed, &[], &outcome.mechanisms);
    }

    /// The number of sessions with a fault.
    pub(crate) fn faulty(&self) -> usize {
        self.findings.faulty()
    }

    /// In how many sessions or on how many links the impairment or mechanism `name` acted.
    pub(crate) fn happened(&self, name: &str) -> u64 {
        self.findings.happened(name) + self.mechanisms.happened(name)
    }

    /// All problems of the sessions in words, with the seeds that reproduce them. Empty if there are no problems.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.findings.faults();
        problems.extend(self.findings.unfired(ENOUGH));
        problems.extend(self.mechanisms.unfired(ENOUGH_SESSIONS));
        problems
    }
}

/// The summary, one line per topic.
impl fmt::Display for LtTally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [restarts, reports, needless] = self.restarts;
        let [symbols, lt_acks] = self.sent;
        let seeds = |list: &[(Duration, u64)]| {
            let words = list.iter().map(|(time, seed)| format!("{:.2} s ({seed})", time.as_secs_f64()));
            words.collect::<Vec<_>>().join(", ")
        };
        writeln!(
            f,
            "{} sessions of TCP/LT, {} with a fault, {} TCP connections",
            self.sessions,
            self.faulty(),
            self.connections
        )?;
        writeln!(f, "packets: {} delivered, {symbols} symbols and {lt_acks} LT-ACKs sent", self.delivered)?;
        writeln!(f, "damaged packets: {} rejected by the checksum", self.damaged)?;
        writeln!(f, "{restarts} restarts, {reports} reports of a restart, {needless} of them needless")?;
        for (mode, stalls) in ["improved", "repaired"].into_iter().zip(&self.stalls) {
            writeln!(f, "longest stalls of the {mode} mode on an uninterrupted path (seed): {}", seeds(stalls))?;
        }
        writeln!(f, "longest sessions (seed): {}", seeds(&self.longest))?;
        write!(f, "{}\nmechanisms {}", self.findings, self.mechanisms)
    }
}
