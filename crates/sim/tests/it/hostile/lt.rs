//! Random hostile sessions of TCP/LT: a small part of the sessions that `make soak` runs. A failure names the seeds.
//! This command shows one session in detail:
//!
//! ```text
//! cargo run --release -p ripstop-sim --example hostile-lt -- SEED
//! ```

use super::harness::lt::judge::{LtHostile, LtOutcome};
use super::harness::lt::scenario::LtScenario;
use super::harness::lt::tally::LtTally;
use super::harness::lt::tamper::Tamper;
use super::harness::lt::world::LtWorld;
use ripstop_base::{Seed, Time};
use std::time::Duration;

/// Sessions in each of the two tests, which run in parallel. Half the value may leave out a mechanism that each test
/// must see. Double the value takes twice the time.
const RUNS: u64 = 150;

/// Runs `RUNS` sessions from the seed `first` on, and checks that every impairment and mechanism acted.
fn sessions(first: u64) {
    let mut tally = LtTally::default();
    (first..first + RUNS).for_each(|seed| tally.add(&LtHostile::run(seed)));
    let problems = tally.problems();
    assert!(problems.is_empty(), "\n{}\n{tally}", problems.join("\n"));
    for name in
        ["loss", "jitter", "reorder", "duplicate", "corrupt", "blackouts", "schedule", "checksum"].into_iter().chain([
            "restart.sender",
            "restart.receiver",
            "report.sender",
            "report.receiver",
            "receiver.unknown",
            "receiver.stale",
            "receiver.timeouts",
            "sender.timeouts",
            "sender.out_of_order",
            "sender.clamped",
        ])
    {
        assert!(tally.happened(name) > 0, "no `{name}` in the {RUNS} seeds from {first} on\n{tally}");
    }
}

#[test]
fn lt_sessions_survive_first_seeds() {
    sessions(0);
}

#[test]
fn lt_sessions_survive_second_seeds() {
    sessions(RUNS);
}

#[test]
fn equal_seeds_give_equal_lt_sessions() {
    let (one, two) = (LtHostile::run(3).outcome, LtHostile::run(3).outcome);
    assert_eq!((one.end, one.delivered, one.symbols, one.lt_acks), (two.end, two.delivered, two.symbols, two.lt_acks));
    assert!(one.delivered > 0);
}

/// A session without restarts, and what the judge says if `change` changes its world.
fn judged(change: impl FnOnce(&mut LtWorld)) -> LtOutcome {
    let seed = Seed::new(4);
    let mut scenario = LtScenario::random(seed);
    scenario.restarts.clear();
    scenario.config.first = 0;
    scenario.source.packets = 200;
    let mut world = LtWorld::new(&scenario, seed).unwrap();
    change(&mut world);
    scenario.judge(world)
}

#[test]
fn the_judge_finds_faults_of_a_session() {
    let outcome = judged(|_| {});
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
    for (tamper, words) in [
        (Tamper::Lose(100), "was delivered in the place of packet"),
        (Tamper::Repeat(100), "packet 100 was delivered in the place of packet 101"),
        (Tamper::Change(100), "packet 100 has wrong bytes"),
        (Tamper::Silence(Time::from_millis(10)), "no progress for"),
    ] {
        let faults = judged(|world| world.tamper = Some(tamper)).faults.join("; ");
        assert!(faults.contains(words), "{tamper:?} lacks `{words}`: {faults}");
    }
    for (faults, words) in [
        (judged(|world| world.bounds.blocks = 0).faults, "blocks in flight; at most 0 are allowed"),
        (judged(|world| world.bounds.held = 0).faults, "packets held by the sender; at most 0 are allowed"),
        (judged(|world| world.bounds.remembered = 0).faults, "packets remembered by the sender; at most 0"),
    ] {
        assert!(faults.join("; ").contains(words), "lacks `{words}`: {faults:?}");
    }
}

/// Each restart of a receiver must be reported, or the session must deliver everything again.
#[test]
fn the_judge_finds_ends_that_ignore_restarts() {
    let faulty = (0..100).filter(|seed| {
        let seed = Seed::new(*seed);
        let scenario = LtScenario::random(seed);
        let mut world = LtWorld::new(&scenario, seed).unwrap();
        world.tamper = Some(Tamper::IgnoreReports);
        let faults = scenario.judge(world).faults;
        assert!(faults.is_empty() || !scenario.restarts.is_empty(), "seed {seed:?}: {faults:?}");
        faults.iter().any(|words| words.contains("no progress for"))
    });
    assert!(faulty.count() > 10);
}

/// The tally itself must be able to report problems.
#[test]
fn faults_and_idle_impairments_of_lt_sessions_are_problems() {
    let mut session = LtHostile::run(3);
    session.outcome.impairments = vec![("duplicate", false); 30];
    session.outcome.faults = vec!["it stumbled".to_owned()];
    session.outcome.longest_stall = Duration::from_secs(77);
    let mut tally = LtTally::default();
    tally.add(&session);
    let problems = tally.problems().join("\n");
    for words in ["seed 3: it stumbled", "`duplicate` was configured 30 times and never happened"] {
        assert!(problems.contains(words), "the problems lack `{words}`: {problems}");
    }
    assert!(tally.to_string().contains("77.00 s (3)"), "{tally}");
}
