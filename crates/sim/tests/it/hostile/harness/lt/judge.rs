//! Runs one hostile session of TCP/LT to its end and judges it. Each property that does not hold becomes a fault.

use super::super::findings::guarded;
use super::super::links::configured;
use super::super::stall::{Progress, StallClock};
use super::scenario::{End, LtScenario};
use super::world::LtWorld;
use ripstop_base::{Seed, Time};
use std::time::Duration;

/// When a session must have come to its end. Sessions on the slowest and most lossy paths take about half an hour. Half
/// the value may report slow but healthy sessions as faults. Double the value takes longer for a session that never
/// ends.
const LATEST_END: Time = Time::from_millis(4 * 3_600_000);

/// The virtual time between two checks of a session's progress. Half the value checks twice as often and takes longer.
/// Double the value measures stalls less precisely.
const CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// One hostile session of TCP/LT: its seed, its scenario, and its outcome.
#[derive(Clone, Debug)]
pub(crate) struct LtHostile {
    /// The master seed, which reproduces the session.
    pub(crate) seed: u64,
    /// The settings, paths, traffic and restarts.
    pub(crate) scenario: LtScenario,
    /// The measurements and the faults.
    pub(crate) outcome: LtOutcome,
}

/// The measurements and the faults of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct LtOutcome {
    /// The faults in words. Empty if there are no faults.
    pub(crate) faults: Vec<String>,
    /// When the session ended.
    pub(crate) end: Time,
    /// TCP connections begun.
    pub(crate) connections: u64,
    /// Packets delivered to TCP.
    pub(crate) delivered: u64,
    /// Symbols sent.
    pub(crate) symbols: u64,
    /// LT-ACKs sent.
    pub(crate) lt_acks: u64,
    /// Restarts, and reports of restarts.
    pub(crate) restarts: u64,
    /// Reports of a restart by the end that did not restart.
    pub(crate) reports: u64,
    /// Reports of a restart that has not happened: a late packet of an earlier session was taken for a new session.
    pub(crate) needless: u64,
    /// Packets that the checksum rejected.
    pub(crate) damaged: u64,
    /// The longest time without progress on an uninterrupted path. See [`StallClock::stall`].
    pub(crate) longest_stall: Duration,
    /// The configured impairments, and whether each happened. A name of a link's impairment appears one time for each
    /// link.
    pub(crate) impairments: Vec<(&'static str, bool)>,
    /// The mechanisms of the protocol, and whether each acted.
    pub(crate) mechanisms: Vec<(&'static str, bool)>,
}

impl LtHostile {
    /// Runs the session of the master seed `seed`. A panic becomes a fault.
    pub(crate) fn run(seed: u64) -> LtHostile {
        let scenario = LtScenario::random(Seed::new(seed));
        let outcome = guarded(|| scenario.run(Seed::new(seed)))
            .unwrap_or_else(|fault| LtOutcome { faults: vec![fault], ..LtOutcome::default() });
        LtHostile { seed, scenario, outcome }
    }
}

impl LtScenario {
    /// Runs the scenario to its end.
    pub(crate) fn run(&self, seed: Seed) -> LtOutcome {
        match LtWorld::new(self, seed) {
            Ok(world) => self.judge(world),
            Err(error) => LtOutcome { faults: vec![error.to_string()], ..LtOutcome::default() },
        }
    }

    /// Runs a world of this scenario to its end, and judges it.
    pub(crate) fn judge(&self, mut world: LtWorld) -> LtOutcome {
        let mut outcome = LtOutcome::default();
        let mut watch = StallWatch::default();
        let limit = self.longest_excusable_stall();
        let mut goes_on = true;
        while goes_on && !world.is_finished() && world.now() < LATEST_END {
            world.run_until(world.now() + CHECK_INTERVAL);
            outcome.longest_stall = outcome.longest_stall.max(watch.stall(self, &world));
            goes_on = world.journal.faults.is_empty() && outcome.longest_stall <= limit;
        }
        outcome.faults.clone_from(&world.journal.faults);
        self.judge_end(&world, &mut outcome);
        outcome
    }

    /// Adds the faults of the whole session, and its totals.
    fn judge_end(&self, world: &LtWorld, outcome: &mut LtOutcome) {
        let (sums, journal) = (world.sums(), &world.journal);
        let limit = self.longest_excusable_stall();
        if outcome.longest_stall > limit {
            outcome.faults.push(format!(
                "no progress for {:?} on a path that carried enough packets; at most {limit:?} is allowed",
                outcome.longest_stall
            ));
        }
        if outcome.faults.is_empty() && !world.is_finished() {
            outcome.faults.push(format!("not finished at {:?}: {}", world.now(), world.state()));
        }
        if let Some(at) = journal.needless.iter().find(|at| !self.may_be_late(**at)) {
            outcome.faults.push(format!("at {at:?} an end reported a restart that has not happened"));
        }
        if outcome.faults.is_empty() {
            outcome.faults.extend(self.contradiction(world));
        }
        outcome.end = world.now();
        outcome.connections = journal.connections;
        (outcome.delivered, outcome.symbols, outcome.lt_acks) = (sums.delivered, sums.symbols, sums.lt_acks);
        outcome.restarts = journal.restarts.iter().sum();
        outcome.reports = journal.reports.iter().sum();
        outcome.needless = journal.needless.len() as u64;
        outcome.damaged = journal.damaged;
        outcome.impairments = self.impairments(world);
        outcome.mechanisms = sums.mechanisms.into_iter().map(|(name, count)| (name, count > 0)).collect();
    }

    /// Counters that contradict each other.
    fn contradiction(&self, world: &LtWorld) -> Option<String> {
        let sums = world.sums();
        let [there, back] =
            world.counters().map(|counters| (counters.offered, counters.delivered + counters.duplicated));
        let (Some(sender), Some(receiver)) = (&world.sender, &world.receiver) else { return None };
        let (s, r) = (sender.counts(), receiver.counts());
        let is_one_session = world.journal.connections == 1 && world.journal.restarts == [0; 2];
        [
            ("symbols sent and opens", sums.symbols <= there.0),
            ("symbols received", sums.received <= there.1),
            ("LT-ACKs", back.0 >= sums.lt_acks),
            ("packets of a receiver", r.packets == r.innovative + r.redundant + r.late + r.refused),
            ("packets delivered", r.delivered <= r.innovative),
            ("blocks decoded", r.blocks >= s.decoded || !is_one_session),
            ("packets of one session", !is_one_session || (s.accepted == r.delivered && r.innovative == r.delivered)),
            ("blocks of one session", !is_one_session || (s.blocks == r.blocks)),
            ("reports without a restart", !is_one_session || world.journal.reports == [0; 2]),
        ]
        .into_iter()
        .find_map(|(what, holds)| (!holds).then(|| format!("the counters disagree: {what}; {s:?}; {r:?}")))
    }

    /// The configured impairments, and whether each happened.
    fn impairments(&self, world: &LtWorld) -> Vec<(&'static str, bool)> {
        let mut all = Vec::new();
        for (link, unfired) in self.links.iter().zip([world.there.unfired(), world.back.unfired()]) {
            all.extend(configured(link).into_iter().map(|name| (name, !unfired.contains(&name))));
        }
        for (end, restarted, reported) in
            [(End::Sender, "restart.sender", "report.receiver"), (End::Receiver, "restart.receiver", "report.sender")]
        {
            if self.restarts.iter().any(|restart| restart.end == end) {
                all.push((restarted, world.journal.restarts[end as usize] > 0));
                all.push((reported, world.journal.reports[1 - end as usize] > 0));
            }
        }
        if self.links.iter().any(|link| link.corrupt.get() > 0.0) {
            all.push(("checksum", world.journal.damaged > 0));
        }
        all
    }

    /// Whether a packet of a session before the last restart may still be on its way at `at`, or a packet that a
    /// session sent before it learned of the restart.
    fn may_be_late(&self, at: Time) -> bool {
        let last = self.restarts.iter().map(|restart| restart.at + restart.down).filter(|end| *end <= at).max();
        last.is_some_and(|last| at.since(last) <= self.longest_excusable_stall() + 2 * self.packet_lifetime())
    }

    /// The longest stall that the session's timers and the path may cause. The timers of the improved mode are at most
    /// 2 s long. The repaired mode waits for up to 30 s until all symbols of a burst have left the path.
    pub(crate) fn longest_excusable_stall(&self) -> Duration {
        let timers = if self.is_improved() { 5 } else { 35 };
        Duration::from_secs(timers) + 10 * self.round_trip()
    }
}

/// Watches a session for stalls while it runs.
#[derive(Debug, Default)]
struct StallWatch {
    clock: StallClock,
}

impl StallWatch {
    /// How long there has been no progress now.
    fn stall(&mut self, scenario: &LtScenario, world: &LtWorld) -> Duration {
        let [there, back] = world.counters();
        let is = Progress {
            at: world.now(),
            achieved: world.achieved(),
            carried: [there.delivered, back.delivered],
            offered: there.offered + back.offered,
        };
        let whole = scenario.last_interruption_end(is.at);
        if !world.waits() || is.achieved != self.clock.was().achieved || self.clock.was().at < whole {
            self.clock.set(is);
            return Duration::ZERO;
        }
        self.clock.stall(&is)
    }
}
