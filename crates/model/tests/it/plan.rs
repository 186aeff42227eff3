//! Tests the planner's closed forms over their whole range: every result is a number, no goodput
//! exceeds the link's capacity, and the advice follows its rules.

use proptest::prelude::*;
use ripstop_model::plan::advice::{self, Candidate, Caution, Choice, ChoiceReason, HostTcp, TrafficKind, Wishes};
use ripstop_model::plan::efficiency::{Causes, Term};
use ripstop_model::plan::{NetworkPath, PlanScheme, Weights, block, data, delay, lt, nc, predict};
use std::sync::LazyLock;

/// The committed weights.
static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| toml::from_str(data::WEIGHTS).unwrap());

/// Random paths in the domain of [`NetworkPath::check`].
fn paths() -> impl Strategy<Value = NetworkPath> {
    (4.0f64..11.0, -5.0f64..1.7, 0.0f64..0.9, 0.0f64..0.9, 0.0f64..4.0, 0.0f64..10.0, 1u32..1000).prop_map(
        |(rate, rtt, loss, loss_back, burst, queue, flows)| {
            // Bursts must be long enough for the loss.
            let least = 1.000_001 * loss.max(loss_back) / (1.0 - loss.max(loss_back));
            NetworkPath {
                rate: 10f64.powf(rate),
                rtt: 10f64.powf(rtt),
                loss,
                loss_back,
                burst: 10f64.powf(burst).max(least).max(1.0),
                queue: 1500.0 * 10f64.powf(queue),
                flows,
            }
        },
    )
}

proptest! {
    #[test]
    fn every_number_is_a_number_and_nothing_beats_the_link(path in paths()) {
        path.check().unwrap();
        let nc = nc::settings(&path);
        if let Ok(coded) = nc::goodput(&path, nc) {
            prop_assert!(coded >= 0.0 && coded <= path.capacity() * nc.ceiling() * (1.0 + 1e-12), "{nc:?}: goodput {coded} is outside its range");
        }
        for scheme in PlanScheme::FITTED {
            let got = predict(&path, scheme, &WEIGHTS).unwrap();
            prop_assert!(got.goodput_bps >= 0.0 && got.goodput_bps <= path.capacity() * scheme.ceiling() * (1.0 + 1e-12),
                "{scheme:?}: a result is outside its range: {got:?}");
            prop_assert!((0.0..1.0).contains(&got.share), "{scheme:?}: a result is outside its range: {got:?}");
            prop_assert!(got.sent_per_useful >= 1.0 && !got.sent_per_useful.is_nan(), "{scheme:?}: a result is outside its range: {got:?}");
            for delays in [delay::bulk(&path, scheme, &WEIGHTS), delay::request(&path, scheme.is_tunnel(), &WEIGHTS)] {
                prop_assert!(delays.p50 >= path.rtt / 2.0 && delays.p99 >= delays.p50 && delays.p99.is_finite(),
                    "{scheme:?}: a delay is outside its range: {delays:?}");
            }
        }
    }

    #[test]
    fn goodput_falls_with_the_loss(path in paths(), more in 0.0f64..1.0) {
        // Independent losses may have any probability.
        let most = if path.burst == 1.0 { 0.9 } else { (0.999_999 * path.burst / (path.burst + 1.0)).min(0.9) };
        let lossier = NetworkPath { loss: path.loss + more * (most - path.loss).max(0.0), ..path };
        for scheme in PlanScheme::FITTED {
            let (less, more) = (predict(&path, scheme, &WEIGHTS).unwrap(), predict(&lossier, scheme, &WEIGHTS).unwrap());
            prop_assert!(more.goodput_bps <= less.goodput_bps * (1.0 + 1e-9), "{scheme:?}: more loss raised the goodput: {less:?}, then {more:?}");
        }
    }

    #[test]
    fn goodput_does_not_fall_with_more_connections(path in paths(), more in 1u32..100) {
        let fuller = NetworkPath { flows: path.flows + more, ..path };
        for scheme in PlanScheme::FITTED {
            let (few, many) = (predict(&path, scheme, &WEIGHTS).unwrap(), predict(&fuller, scheme, &WEIGHTS).unwrap());
            prop_assert!(many.goodput_bps >= few.goodput_bps * (1.0 - 1e-9), "{scheme:?}: more connections lowered the goodput");
        }
    }

    #[test]
    fn wild_input_is_an_error_or_an_answer(
        x in prop::array::uniform6(prop::sample::select(vec![
            f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, 1e-300, 0.3, 1.0, 7.0, 1500.0, 1e7, 1e300,
        ])),
        flows in prop::sample::select(vec![0, 1, u32::MAX]),
    ) {
        let path = NetworkPath { rate: x[0], rtt: x[1], loss: x[2], loss_back: x[3], burst: x[4], queue: x[5], flows };
        for scheme in PlanScheme::FITTED {
            match predict(&path, scheme, &WEIGHTS) {
                Ok(got) => prop_assert!(got.goodput_bps.is_finite() && got.goodput_bps >= 0.0),
                Err(error) => prop_assert!(!error.domain.is_empty() && !error.what.is_empty()),
            }
        }
    }

    #[test]
    fn the_choice_is_allowed_useful_and_within_the_budget(
        goodputs in prop::array::uniform4(1.0f64..100.0), sent in prop::array::uniform4(1.0f64..2.0),
        late in prop::array::uniform4(0.01f64..2.0), budget in prop::option::of(0.0f64..1.0),
        traffic in prop::sample::select(vec![TrafficKind::Bulk, TrafficKind::Interactive, TrafficKind::Mixed]),
        hosts in prop::sample::select(vec![HostTcp::Cubic, HostTcp::Bbr, HostTcp::Any]),
    ) {
        let schemes = [PlanScheme::Cubic, PlanScheme::Bbr, PlanScheme::TunnelCubic, PlanScheme::TunnelBbr];
        let all: Vec<Candidate> = (0..4)
            .map(|k| Candidate {
                scheme: schemes[k], goodput_bps: goodputs[k], sent_per_useful: sent[k], request_p99: late[k],
            })
            .filter(|one| hosts.allows(one.scheme))
            .collect();
        let most = |some: &[Candidate]| some.iter().map(|one| one.goodput_bps).fold(0.0, f64::max);
        let fits = |one: &Candidate| budget.is_none_or(|budget| one.overhead() <= budget);
        let within: Vec<Candidate> = all.iter().copied().filter(fits).collect();
        match advice::choose(&all, Wishes { traffic, hosts, budget }).unwrap() {
            Choice::BudgetTooSmall { needs } => {
                prop_assert!(most(&within) < 0.1 * most(&all));
                prop_assert!(!fits(&all[needs]) && all[needs].goodput_bps >= 0.5 * most(&all));
            }
            Choice::Use { index, .. } => {
                prop_assert!(fits(&all[index]) && most(&within) >= 0.1 * most(&all));
                if traffic == TrafficKind::Bulk {
                    prop_assert!(all[index].goodput_bps >= 0.995 * most(&within));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn block_codes_stay_below_the_link(path in paths()) {
        let code = block::best(&path, &WEIGHTS).unwrap();
        prop_assert!(code.goodput_bps >= 0.0 && code.goodput_bps < path.capacity() * (1.0 + 1e-9), "a result is outside its range: {code:?}");
        prop_assert!((0.0..=1.0).contains(&code.waiting), "a result is outside its range: {code:?}");
        prop_assert!(code.residual_loss <= path.loss * (1.0 + 1e-9) && code.n >= code.k, "a result is outside its range: {code:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    fn tcp_lt_stays_below_the_link(path in paths()) {
        let settings = lt::settings(&path);
        prop_assert!((2..=lt::LARGEST_WINDOW).contains(&settings.window) && settings.capacity_bps > 0.0, "{settings:?}");
        if let Ok(got) = lt::predict(&path, settings) {
            let most = path.capacity() * lt::LtSettings::ceiling() * (1.0 + 1e-9);
            prop_assert!(got.goodput_bps >= 0.0 && got.goodput_bps <= most, "a result is outside its range: {got:?}");
            prop_assert!(got.sent_per_useful >= 1.0, "a result is outside its range: {got:?}");
        }
    }
}

#[test]
fn nobody_to_choose_from() {
    assert_eq!(advice::choose(&[], Wishes::default()), None);
}

#[test]
fn a_term_leaves_out_what_has_no_power() {
    let causes = Causes {
        loss: 0.25,
        burst: 0.1,
        log_bdp: 0.5,
        small_queue: 1.0,
        start_measured: 1.0,
        rtt: 0.5,
        ..Causes::NONE
    };
    // A power of 0 leaves a cause out, even if the cause is 0.
    assert_eq!(Term::product(&Causes::NONE, &causes), 1.0);
    let powers = Causes { loss: 0.5, log_bdp: 2.0, start_measured: 1.0, rtt: 1.0, ..Causes::NONE };
    assert_eq!(Term::product(&powers, &causes), 0.0625);
    assert_eq!(Term::product(&Causes { small_bdp: 1.0, ..Causes::NONE }, &causes), 0.0);
    // Each cause has the same position in the list of names and in the list of values.
    assert_eq!(Causes::NAMES.iter().position(|name| *name == "stall-time"), Some(10));
    assert_eq!(Causes { stall_time: 3.0, ..Causes::NONE }.values()[10], 3.0);
}

#[test]
fn links_without_loss_are_told_that_coding_will_not_help() {
    let clean = NetworkPath { loss: 0.0, loss_back: 0.0, ..NetworkPath::default() };
    assert_eq!(advice::cautions(&clean, clean.rate), [Caution::NoLoss]);
    for scheme in [PlanScheme::Cubic, PlanScheme::Bbr] {
        let plain = predict(&clean, scheme, &WEIGHTS).unwrap().goodput_bps;
        assert!(plain > predict(&clean, PlanScheme::TunnelBbr, &WEIGHTS).unwrap().goodput_bps);
        // The payload is 1448 of 1500 bytes.
        assert!(plain > 0.93 * clean.rate && plain <= 0.9654 * clean.rate);
    }
    let slow = NetworkPath { rate: 5e5, rtt: 0.02, queue: 15_000.0, ..NetworkPath::default() };
    assert!(advice::cautions(&slow, 0.0).iter().any(|one| matches!(one, Caution::SmallBdp { .. })));
    // The link counts as full if CUBIC's goodput is nine tenths of what headers leave.
    let crowded = NetworkPath { loss: 0.001, loss_back: 0.001, flows: 10_000, ..NetworkPath::default() };
    let full = 0.965 * crowded.capacity();
    assert!(advice::cautions(&crowded, 0.91 * full).contains(&Caution::CubicFillsLink));
    assert!(!advice::cautions(&crowded, 0.89 * full).contains(&Caution::CubicFillsLink));
}

#[test]
fn of_schemes_that_bring_the_same_the_one_with_the_least_to_set_up_is_chosen() {
    let of = |scheme, goodput_bps| Candidate { scheme, goodput_bps, sent_per_useful: 1.1, request_p99: 0.1 };
    let all = [
        of(PlanScheme::TunnelBbr, 100.0),
        of(PlanScheme::TunnelCubic, 99.7),
        of(PlanScheme::Bbr, 99.6),
        of(PlanScheme::Cubic, 99.4),
    ];
    let used = |all: &[Candidate], hosts| match advice::choose(all, Wishes { hosts, ..Wishes::default() }) {
        Some(Choice::Use { index, reason }) => (all[index].scheme, reason),
        other => panic!("{other:?}"),
    };
    // CUBIC is more than half a per cent below the best. BBR is not, and needs no tunnel.
    assert_eq!(used(&all, HostTcp::Any), (PlanScheme::Bbr, ChoiceReason::LessToSetUp));
    assert_eq!(used(&[all[0], all[1], all[3]], HostTcp::Any).0, PlanScheme::TunnelCubic);
    assert_eq!(used(&[all[0], of(PlanScheme::Cubic, 99.6)], HostTcp::Any).0, PlanScheme::Cubic);
    // If the hosts run BBR already, plain BBR needs no set-up.
    assert_eq!(used(&[all[0], all[2]], HostTcp::Bbr), (PlanScheme::Bbr, ChoiceReason::LessToSetUp));
    assert_eq!(
        used(&[all[0], of(PlanScheme::Bbr, 98.0)], HostTcp::Bbr),
        (PlanScheme::TunnelBbr, ChoiceReason::MostGoodput)
    );
}

#[test]
fn lossy_links_are_the_tunnels() {
    // At these losses the square-root law leaves CUBIC almost nothing.
    let lossy = NetworkPath { loss: 0.2, loss_back: 0.2, ..NetworkPath::default() };
    let at = |scheme| predict(&lossy, scheme, &WEIGHTS).unwrap().share;
    assert!(
        at(PlanScheme::Cubic) < 0.02 && at(PlanScheme::Reno) < 0.02,
        "shares of CUBIC {} and Reno {} are too large",
        at(PlanScheme::Cubic),
        at(PlanScheme::Reno)
    );
    assert!(at(PlanScheme::TunnelCubic) > 0.8 && at(PlanScheme::TunnelBbr) > 0.8);
    let late = |tunnel| delay::request(&lossy, tunnel, &WEIGHTS).p99;
    // Plain TCP waits for time-outs, which double. The fit gives no more than the order of
    // magnitude.
    assert!(5.0 * late(true) < late(false) && late(false) > 0.5);
}
