//! Tests of the rules for the number of repairs.

use super::bulk::{BACKLOG_WITHOUT_REPAIRS, Guard, RELAXED_RTT_END};
use super::*;

fn apart(share: f64) -> Losses {
    Losses { share, burst: 1.0 }
}

#[test]
fn a_clean_path_gets_no_repair() {
    let all = Flight { deficit: 0, sources: 500, repairs: 0 };
    assert!(!BulkRule::default().is_due(all, all, apart(0.0), SMALL, Backlog::Nothing, RTT, 0.0));
    assert_eq!(interactive_repairs(apart(0.0)), 0);
}

/// A round trip so long that a backlog relaxes nothing.
const RTT: Duration = Duration::from_secs(1);

/// The spread on a path that holds one span ([`SPAN`] symbols) in a round trip.
const SMALL: Spread = Spread { step: 1, part: 1.0 };

/// Number of repairs that a flight of `n` sources gets.
fn repairs(n: u32, losses: Losses, ahead: Backlog) -> u32 {
    let full = |repairs| Flight { deficit: 0, sources: n, repairs };
    (0..=10 * n)
        .find(|r| !BulkRule::default().is_due(full(*r), full(*r), losses, SMALL, ahead, RTT, 0.0))
        .expect("the rule never stops asking for repairs")
}

#[test]
fn the_steady_ratio_is_close_to_the_ideal() {
    for p in [0.01, 0.05, 0.2] {
        let n = 1_000;
        let ideal = f64::from(n) * p / (1.0 - p);
        // Two standard deviations of the losses among sources and repairs.
        let margin = 1.0 + 2.0 * (f64::from(n) * p / (1.0 - p)).sqrt();
        let [busy, idle, tail] = [Backlog::Waiting(1.0), Backlog::Waiting(0.0), Backlog::Nothing]
            .map(|ahead| f64::from(repairs(n, apart(p), ahead)));
        assert!((ideal..ideal + margin).contains(&busy), "p {p}: {busy} {ideal}");
        assert!(busy < idle && idle < tail, "p {p}: {busy} {idle} {tail}");
    }
}

#[test]
fn runs_of_losses_ask_for_more_only_when_nothing_waits() {
    for (n, p) in [(10, 0.05), (10, 0.2), (300, 0.05), (2_000, 0.2)] {
        let runs = Losses { share: p, burst: 10.0 };
        assert_eq!(repairs(n, runs, Backlog::Waiting(1.0)), repairs(n, apart(p), Backlog::Waiting(1.0)));
        for ahead in [Backlog::Waiting(0.0), Backlog::Nothing] {
            let (few, many) = (repairs(n, apart(p), ahead), repairs(n, runs, ahead));
            assert!(many > few, "{n} {p}: {many} {few}");
        }
    }
}

#[test]
fn remembered_results_change_no_answer() {
    let mut random = ripstop_base::Seed::new(5).stream("guard");
    let (mut guard, mut masked) = (Guard::default(), 0);
    let mut flight = Flight { deficit: 0, sources: 100, repairs: 4 };
    let (mut losses, mut limit) = (apart(0.02), 0.2);
    for _ in 0..20_000 {
        flight.sources = (flight.sources + random.below(5) as u32).clamp(52, 302) - 2;
        match random.below(60) {
            0 => flight.repairs = random.below(9) as u32,
            1 => flight.deficit = random.below(3) as u32,
            2 => losses.share = [0.02, 0.05][random.below(2) as usize],
            3 => limit = [0.2, 0.5][random.below(2) as usize],
            4 => losses.burst = [1.0, 4.0][random.below(2) as usize],
            _ => {}
        }
        let is_masked = losses.unmasked(flight.deficit, flight.sources, flight.repairs) <= limit;
        assert_eq!(guard.is_masked(flight, losses, limit), is_masked, "{flight:?} {losses:?} {limit}");
        masked += u32::from(is_masked);
    }
    assert!((2_000..18_000).contains(&masked), "{masked}");
}

#[test]
fn exact_repairs_almost_surely_suffice_when_nothing_waits() {
    let wanted = |holes, losses, waiting| ExactRule::new(1, losses, waiting).wanted(holes);
    assert_eq!(wanted(1, apart(0.2), 1.0), 1);
    assert_eq!(wanted(1, apart(0.2), 0.0), 3);
    assert_eq!(wanted(4, apart(0.05), 1.0), 4);
    assert_eq!(wanted(4, apart(0.05), 0.0), 5);
    assert_eq!(wanted(1, apart(0.0), 0.0), 1);
    assert_eq!(wanted(0, apart(0.5), 0.0), 0);
    assert_eq!(wanted(3, apart(1.0), 1.0), 24);
    // A run of losses may hit all exact repairs of the group.
    let runs = Losses { share: 0.05, burst: 10.0 };
    assert_eq!(wanted(4, runs, 1.0), 4);
    assert!(wanted(4, runs, 0.0) > 8);
}

#[test]
fn each_of_many_groups_gets_more_repairs_and_runs_hit_fewer_of_them() {
    let wanted = |groups, losses| ExactRule::new(groups, losses, 0.0).wanted(20);
    assert_eq!(wanted(1, apart(0.2)), 30);
    assert_eq!(wanted(100, apart(0.2)), 33);
    let runs = Losses { share: 0.2, burst: 8.0 };
    assert_eq!(
        wanted(100, runs),
        wanted(100, apart(0.2)),
        "eight groups that take turns must not need more repairs for runs of 8"
    );
    assert!(wanted(4, runs) > wanted(4, apart(0.2)));
    // While many sources wait to be sent, a group gets as many repairs as suffice on average.
    assert_eq!(ExactRule::new(100, runs, 1.0).wanted(20), 25);
}

#[test]
fn spans_are_spread_where_the_path_holds_many_and_losses_come_in_runs() {
    let step = |packets, burst| Spread::of(packets, Losses { share: 0.1, burst }).step;
    assert_eq!((step(0.0, 9.0), step(500.0, 9.0), step(8_200.0, 1.0), step(1e9, f64::NAN)), (1, 1, 1, 16));
    assert_eq!((step(8_200.0, 4.0), step(1_100.0, 9.0), step(66_000.0, 20.0)), (4, 4, 16));
    // With a step of 8, a run of 8 packets hits one symbol of each of 8 repairs.
    let runs = Losses { share: 0.05, burst: 8.0 };
    let wanted = |losses, spread: Spread| {
        let all = |repairs| Flight { deficit: 0, sources: spread.step * SPAN, repairs: spread.step * repairs };
        let ahead = Backlog::Waiting(0.0);
        let due = |r: &u32| BulkRule::default().is_due(all(*r), all(*r), losses, spread, ahead, RTT, 0.0);
        (0..200).find(|repairs| !due(repairs)).expect("the rule never stops asking for repairs")
    };
    let spread = Spread::of(8_200.0, runs);
    assert_eq!(wanted(runs, spread), wanted(apart(0.05), spread));
    assert!(wanted(runs, spread) * 3 < 2 * wanted(runs, Spread { step: 1, ..spread }));
    // On a path with many spans each span is protected better, because a flow waits for all spans.
    assert!(wanted(runs, SMALL) < wanted(runs, Spread { step: 1, ..spread }));
}

#[test]
fn reports_and_probes_are_repeated_more_when_losses_come_in_runs() {
    let losses = |share, burst| Losses { share, burst };
    assert_eq!(report_repeats(apart(0.0), 99), LEAST_REPEATS);
    assert_eq!(report_repeats(apart(0.2), 99), LEAST_REPEATS);
    assert_eq!(report_repeats(losses(0.1, 10.0), 99), 22);
    assert_eq!(report_repeats(losses(0.1, 10.0), 7), 7);
    assert_eq!(report_repeats(losses(0.1, 10.0), 0), LEAST_REPEATS);
    assert_eq!(report_repeats(losses(1.0, f64::NAN), 99), MOST_REPEATS);
    assert_eq!(silence_probes(apart(0.05)), LEAST_PROBES);
    assert_eq!(silence_probes(losses(0.05, 10.0)), 22);
    assert_eq!(silence_probes(losses(1.0, 64.0)), MOST_PROBES);
}

#[test]
fn interactive_packets_get_more_repairs_at_higher_loss() {
    let wanted = |share, burst| interactive_repairs(Losses { share, burst });
    assert_eq!(wanted(0.001, 1.0), 0);
    assert_eq!(wanted(0.002, 1.0), 1);
    assert_eq!(wanted(0.01, 1.01), 1);
    assert_eq!(wanted(0.05, 1.05), 2);
    assert_eq!(wanted(0.2, 1.25), 4);
    assert_eq!(wanted(0.05, 4.0), 4);
    assert_eq!(wanted(1.0, f64::NAN), 4);
}

#[test]
fn a_long_backlog_needs_no_proactive_repairs() {
    let all = Flight { deficit: 0, sources: 1_000, repairs: 0 };
    let due = |ahead, rtt: f64| {
        let rtt = Duration::from_secs_f64(rtt);
        BulkRule::default().is_due(all, all, apart(0.2), SMALL, ahead, rtt, 0.0)
    };
    assert!(due(Backlog::Waiting(1.0), 0.1) && due(Backlog::Nothing, 0.1));
    assert!(!due(Backlog::Waiting(BACKLOG_WITHOUT_REPAIRS), 0.1));
    assert!(due(Backlog::Waiting(BACKLOG_WITHOUT_REPAIRS), RELAXED_RTT_END));
}
