//! Random hostile sessions: a small part of the sessions that `make soak` runs. A failure names the seeds. This command
//! shows one session in detail:
//!
//! ```text
//! cargo run --release -p ripstop-sim --example hostile -- SEED
//! ```

mod harness;
mod lt;

use crate::common::{LINKS, TUNNEL, tunnel};
use harness::extras::MECHANISMS;
use harness::judge::HostileSession;
use harness::scenario::{HostileScenario, Mishap, Side};
use harness::tally::{MANY_COMPARED, Tally};
use ripstop_base::{Bytes, Fraction, Rate, Seed, Span, Time};
use ripstop_link::{Blackout, Change, Duplicate, LinkConfig, Policer, Reorder};
use ripstop_proto::endpoint::EndpointEvent;
use ripstop_proto::session::tunnel::TunnelConfig;
use ripstop_sim::world::{Carrier, UdpConfig};
use std::collections::BTreeSet;
use std::time::Duration;

/// Sessions in each of the four tests, which run in parallel. Double the value would include seeds 55 and 56, which
/// take half a minute each; `make soak` runs these seeds. Half the value may leave out an impairment that each test
/// must see.
const RUNS: u64 = 13;

/// Runs `RUNS` sessions from the seed `first` on, and checks that every impairment and mishap
/// happened.
fn sessions(first: u64) {
    let mut tally = Tally::default();
    (first..first + RUNS).for_each(|seed| tally.add(&HostileSession::run(seed)));
    let problems = tally.problems();
    assert!(problems.is_empty(), "\n{}\n{tally}", problems.join("\n"));
    for name in ["loss", "fec", "fec.loss", "jitter", "reorder", "duplicate", "corrupt", "blackouts", "schedule"]
        .into_iter()
        .chain(["restart", "roam", "nuisance"])
    {
        assert!(tally.happened(name) > 0, "no `{name}` in the {RUNS} seeds from {first} on\n{tally}");
    }
    assert!(tally.recovered > 0, "no packet was recovered by a repair\n{tally}");
}

#[test]
fn sessions_survive_first_seeds() {
    sessions(0);
}

#[test]
fn sessions_survive_second_seeds() {
    sessions(RUNS);
}

#[test]
fn sessions_survive_third_seeds() {
    sessions(2 * RUNS);
}

#[test]
fn sessions_survive_fourth_seeds() {
    sessions(3 * RUNS);
}

/// Each mechanism of [`MECHANISMS`] acts in one of the first sessions that may show it.
#[test]
fn every_mechanism_acts() {
    /// Sessions that are tried for each mechanism. Half the value may fail by chance; double the value takes longer.
    const TRIES: usize = 12;
    let mut tally = Tally::default();
    let mut seen = BTreeSet::new();
    for name in MECHANISMS {
        let may = |seed: &u64| HostileScenario::random(Seed::new(*seed)).may_show(name);
        for seed in (100..).filter(may).take(TRIES) {
            if tally.happened(name) > 0 {
                break;
            }
            if seen.insert(seed) {
                tally.add(&HostileSession::run(seed));
            }
        }
        assert!(tally.happened(name) > 0, "no `{name}` in the sessions of the seeds {seen:?}\n{tally}");
    }
    let problems = tally.problems();
    assert!(problems.is_empty(), "\n{}\n{tally}", problems.join("\n"));
}

#[test]
fn equal_seeds_give_equal_sessions() {
    let (one, two) = (HostileSession::run(3).outcome, HostileSession::run(3).outcome);
    assert_eq!((one.sent, one.delivered, one.events), (two.sent, two.delivered, two.events));
    assert!(one.events > 0 && one.delivered > 0);
}

/// The path has about 0.5 Mbit/s and a round trip of about 0.3 s, which the sender does not know. A first window from a
/// guessed rate and the measured round trip would be 14 times as large as the path can hold. Most symbols of such a
/// window would be given up.
#[test]
fn a_guessed_rate_does_not_flood_a_slow_path() {
    for seed in [4507, 2917] {
        let outcome = HostileScenario::plain(Seed::new(seed)).run(Seed::new(seed));
        assert!(outcome.faults.is_empty() && outcome.residual == 0, "seed {seed}: {outcome:?}");
    }
}

/// Thousands of packets are lost when the start-up overflows two queues with PIE at 644 ms. If the repairs that the other
/// end refuses for their work counted as lost, the sender would slow down to a tenth of the rate, and the deadline would
/// pass for 13 906 packets. `bounds/ refused_packets_are_acknowledged` tests the mechanism alone.
#[test]
fn a_start_up_that_overflows_two_queues_loses_nothing() {
    let outcome = HostileSession::run(159).outcome;
    assert!(outcome.faults.is_empty() && outcome.recovered > 10_000, "{outcome:?}");
    assert_eq!(outcome.residual, 0, "{outcome:?}");
}

/// The clock of one end jumps by 36 s, as after a suspension, while reports are under way. They must not make the
/// round-trip time look longer: the end would wait 33 s for reports of datagrams that are lost.
#[test]
fn a_jump_of_the_clock_is_no_part_of_a_round_trip() {
    let seed = Seed::new(20_749);
    let scenario = HostileScenario { attack: None, ..HostileScenario::random(seed) };
    for side in Side::BOTH {
        let mishaps = vec![(Time::from_millis(3_177), side, Mishap::ClockJump(Duration::from_secs(36)))];
        let mut world = HostileScenario { mishaps, ..scenario.clone() }.world(seed).unwrap();
        let mut longest = Duration::ZERO;
        for ms in (3_000..20_000).step_by(100) {
            world.world.run_until(Time::from_millis(ms), &mut ());
            let tunnel = world.status(side).unwrap().tunnel.unwrap();
            longest = longest.max(tunnel.path.srtt);
            assert_eq!(tunnel.path.sent.suspensions, u64::from(ms > 3_177), "{side:?} at {ms} ms");
        }
        assert!(longest < Duration::from_secs(2), "{side:?}: {longest:?}");
    }
    let outcome = HostileSession::run(20_749).outcome;
    assert!(outcome.faults.is_empty(), "{:?}", outcome.faults);
}

/// The clock of the receiving end jumps by 30 s. The sender must not take this for a queue of 30 s: its rate would fall by
/// half for half a second.
#[test]
fn a_jump_of_the_peers_clock_is_no_queue() {
    let link = LinkConfig::path(Rate::from_bps(10_000_000), Duration::from_millis(40), Fraction::ZERO);
    let jump = (Time::from_millis(4_000), Side::Right, Mishap::ClockJump(Duration::from_secs(30)));
    let greedy = UdpConfig::greedy(TunnelConfig::default().inner_mtu());
    let mut world = one_flow(&link, greedy, vec![jump]).world(Seed::new(1)).unwrap();
    let mut delivered = |ms| {
        world.world.run_until(Time::from_millis(ms), &mut ());
        (world.packets(Side::Left).1, world.status(Side::Left).unwrap().tunnel.unwrap().path.view.clock_jumps)
    };
    let [(start, _), (before, none), (end, one)] = [3_000, 4_000, 5_000].map(&mut delivered);
    assert_eq!((none, one), (0, 1));
    let share = (end - before) as f64 / (before - start) as f64;
    assert!(share > 0.95, "{share}: the rate fell after the jump");
}

/// The rate of the path falls by half during the start, and thousands of packets are lost at once. Their repairs are
/// more work than the receiver allows, until the receiver discards the stored repairs that depend on each other.
#[test]
fn a_loss_of_thousands_is_repaired_within_the_allowed_work() {
    let HostileSession { scenario, outcome, .. } = HostileSession::run(26_578);
    assert!(scenario.loss < 0.3 && !scenario.interrupted);
    assert!(outcome.refused > 0, "the work must exceed the budget");
    assert_eq!((outcome.faults, outcome.given_up), (vec![], 0));
}

/// A flow from the left end to the right end, over two equal links.
fn one_flow(link: &LinkConfig, flow: UdpConfig, mishaps: Vec<(Time, Side, Mishap)>) -> HostileScenario {
    HostileScenario {
        links: [link.clone(), link.clone()],
        traffic: [vec![flow], vec![]],
        mishaps,
        both_move: None,
        attack: None,
        config: TunnelConfig::default(),
        ..HostileScenario::plain(Seed::new(1))
    }
}

/// The inner MTUs that both ends announce in 10 s on two equal links. The left end sends 5 small packets per second.
fn announced_mtus(link: &LinkConfig) -> Vec<u32> {
    let small = UdpConfig { len: (100, 100), stop: Time::from_millis(10_000), ..UdpConfig::poisson(100, 5.0) };
    let mut world = one_flow(link, small, vec![]).world(Seed::new(1)).unwrap().world;
    world.run_until(Time::from_millis(10_000), &mut ());
    let events = Side::BOTH.into_iter().flat_map(|side| world.endpoint_events(side as usize));
    let mtus: Vec<u32> = events
        .filter_map(|(_, event)| match event {
            EndpointEvent::Mtu { inner_mtu, .. } => Some(*inner_mtu),
            _ => None,
        })
        .collect();
    assert!(mtus.len() >= 2, "both ends must have a session: {mtus:?}");
    mtus
}

/// No large datagram reveals the path's MTU here, only probes.
#[test]
fn an_idle_session_finds_a_small_mtu() {
    let lossy = LinkConfig::path(Rate::from_bps(10_000_000), Duration::from_millis(20), Fraction::new(0.2).unwrap());
    let mtus = announced_mtus(&LinkConfig { mtu: Some(Bytes::new(1300)), ..lossy });
    // An IP datagram of 1280 bytes carries 1216 bytes.
    assert_eq!(mtus.iter().filter(|mtu| **mtu == 1216).count(), 2, "{mtus:?}");
    assert!(mtus.iter().all(|mtu| [1436, 1216].contains(mtu)), "{mtus:?}");
}

/// The path fails just after the handshake, when the first probes of the MTU are on their way.
#[test]
fn an_outage_shrinks_no_mtu() {
    let path = LinkConfig::path(Rate::from_bps(10_000_000), Duration::from_millis(20), Fraction::ZERO);
    let ms = |n| Span::from(Duration::from_millis(n));
    for at in (20..100).step_by(10) {
        let cut = Blackout { at: ms(at), length: ms(5_000), every: None };
        let mtus = announced_mtus(&LinkConfig { blackouts: vec![cut], ..path.clone() });
        assert!(mtus.iter().all(|mtu| *mtu == 1436), "outage at {at} ms: {mtus:?}");
    }
}

/// The tally itself must be able to report problems.
#[test]
fn faults_and_losses_are_problems() {
    let mut session = HostileSession::run(3);
    session.scenario.interrupted = false;
    session.scenario.loss = 0.1;
    assert!(session.must_not_lose());
    session.outcome.residual = session.outcome.delivered;
    session.outcome.impairments = vec![("jitter", false); 30];
    session.outcome.faults = vec!["it stumbled".to_owned()];
    session.outcome.attacked = (96, 100);
    let mut tally = Tally::default();
    (0..MANY_COMPARED).for_each(|_| tally.add(&session));
    let problems = tally.problems().join("\n");
    for words in [
        "seed 3: it stumbled",
        "were lost in calm sessions",
        "worst seeds: 3 (",
        "`jitter` was configured",
        "attacks leave 0.960 of the packets",
    ] {
        assert!(problems.contains(words), "the problems lack `{words}`: {problems}");
    }
}

/// Every impairment of a link, on both links at the same time. Each impairment must act.
#[test]
fn every_impairment_of_a_link_fires() {
    const SEED: u64 = 5;
    let share = |value| Fraction::new(value).unwrap();
    let ms = |n| Span::from(Duration::from_millis(n));
    let rate = Rate::from_bps(10_000_000);
    let link = LinkConfig {
        policer: Some(Policer { rate, burst: Bytes::new(15_000) }),
        jitter: ms(5),
        reorder: Some(Reorder { probability: share(0.05), extra_delay: ms(20) }),
        duplicate: Some(Duplicate { probability: share(0.05), extra_delay: ms(1) }),
        corrupt: share(0.02),
        blackouts: vec![Blackout { at: ms(2_000), length: ms(200), every: Some(ms(3_000)) }],
        schedule: vec![
            Change { at: ms(1_000), rate: Some(Rate::from_bps(5_000_000)), ..Change::default() },
            Change { at: ms(4_000), rate: Some(Rate::from_bps(20_000_000)), ..Change::default() },
        ],
        ..LinkConfig::path(rate, Duration::from_millis(40), share(0.05))
    };
    let config = TunnelConfig { initial_rtt: Some(Duration::from_millis(40)), ..TunnelConfig::default() };
    let mut world = tunnel(&config, [&link; 2], Seed::new(SEED)).unwrap();
    let source = || UdpConfig::greedy(config.inner_mtu());
    let flows = [false, true].map(|backwards| {
        let carrier = Carrier::Tunnel { tunnel: TUNNEL, backwards };
        world.add_udp(source(), &carrier, if backwards { "traffic/1" } else { "traffic/0" })
    });
    world.run_until(Time::from_millis(8_000), &mut ());
    for (link, flow) in LINKS.into_iter().zip(flows) {
        assert_eq!(world.unfired(link), Vec::<&str>::new(), "link {link}, seed {SEED}");
        let bytes = world.totals(flow).bytes;
        assert!(bytes > 100_000, "link {link}, seed {SEED}: {bytes} bytes came out");
        assert!(world.damaged(link) > 0, "link {link}, seed {SEED}");
    }
    assert_eq!(world.strays(), 0, "seed {SEED}");
}
