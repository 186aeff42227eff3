//! Cadence on strings of 802.11 stations: each mechanism of Cadence acts, and Cadence carries more than the standard
//! MAC.

use ripstop_base::{Distance, Span};
use ripstop_sim::scenario::{
    BackoffName, CadenceSpec, FlowSpec, MediumSpec, RunSpec, Scenario, ScenarioReport, StationSpec, run,
};
use std::time::Duration;

/// The report of TCP flows between these `flows` of stations, over a string of ten stations. Each flow has a window of
/// 20 packets. There are two runs of 20 s.
fn string(capture: f64, change: impl Fn(&mut MediumSpec), flows: &[(&str, &str)]) -> ScenarioReport {
    let mut medium = MediumSpec {
        capture: Some(capture),
        ..MediumSpec::new(StationSpec::string(&[Distance::from_meters(200.0); 9]))
    };
    change(&mut medium);
    let flow = |(from, to): &(&str, &str)| {
        let mut flow = FlowSpec { name: format!("{from}{to}"), ..FlowSpec::new(from, to) };
        flow.packet = ripstop_base::Bytes::new(1460);
        flow.window = 20;
        flow.tcp = "newreno".parse().expect("a TCP");
        flow
    };
    let run_spec = RunSpec {
        duration: Span::from(Duration::from_secs(20)),
        warmup: Span::from(Duration::from_secs(5)),
        runs: 2,
        ..RunSpec::default()
    };
    let flow = flows.iter().map(flow).collect();
    let scenario = Scenario { run: run_spec, medium: vec![medium], flow, ..Scenario::default() };
    run(&scenario, 1, || ()).expect("the scenario runs")
}

const ONE: &[(&str, &str)] = &[("n0", "n9")];

fn cadence(medium: &mut MediumSpec) {
    (medium.xor, medium.backoff) = (true, BackoffName::Cadence);
}

fn throughput(report: &ScenarioReport) -> f64 {
    report.summary.throughput_ip_bps.and_then(|s| s.mean).expect("a medium") / 1e3
}

#[test]
fn cadence_carries_more_than_the_standard_mac() {
    for (capture, least) in [(10.0, 1.45), (20.0, 1.6)] {
        let standard = throughput(&string(capture, |_| (), ONE));
        let own = throughput(&string(capture, cadence, ONE));
        assert!(own > least * standard, "capture {capture}: {own:.0} kbit/s, {standard:.0} with the standard MAC");
    }
}

#[test]
fn every_mechanism_acts_and_without_one_less_is_carried() {
    let usual = string(20.0, cadence, ONE);
    let counters = usual.media[0].cadence.as_ref().expect("Cadence reports");
    for (what, count) in [
        ("overheard", counters.overheard_per_s),
        ("held", counters.held_per_s),
        ("free rides", counters.free_rides_per_s),
    ] {
        assert!(count.mean.is_some_and(|mean| mean > 1.0), "{what}: {count:?}");
    }
    assert!(usual.media[0].gamma.mean.is_some_and(|gamma| gamma > 0.8), "{:?}", usual.media[0].gamma);
    let usual = throughput(&usual);
    let with = |change: CadenceSpec| {
        throughput(&string(
            20.0,
            |medium| {
                cadence(medium);
                medium.cadence = change.clone();
            },
            ONE,
        ))
    };
    let span = |millis| Some(Span::from(Duration::from_millis(millis)));
    for (what, change) in [
        ("no lag", CadenceSpec { lag: span(0), ..CadenceSpec::default() }),
        ("no wait for the next hop", CadenceSpec { timeout: span(0), lag: span(0), ..CadenceSpec::default() }),
        ("no hold", CadenceSpec { hold: span(0), ..CadenceSpec::default() }),
        ("a window of 64", CadenceSpec { window: Some(64), ..CadenceSpec::default() }),
    ] {
        let changed = with(change);
        assert!(changed < 0.97 * usual, "{what}: {changed:.0} kbit/s, {usual:.0} with all mechanisms");
    }
    let uncoded = throughput(&string(20.0, |medium| medium.backoff = BackoffName::Cadence, ONE));
    assert!(uncoded < 0.97 * usual, "without XOR: {uncoded:.0} kbit/s, {usual:.0} with XOR");
}

#[test]
fn acknowledgements_that_ride_along_are_lost_and_counted() {
    // Without the lag, packets collide, and some XOR frames reach only one of their receivers.
    let report = string(
        20.0,
        |medium| {
            cadence(medium);
            medium.cadence.lag = Some(Span::from(Duration::ZERO));
        },
        ONE,
    );
    let lost = report.media[0].cadence.as_ref().expect("Cadence reports").rider_losses_per_s;
    assert!(lost.mean.is_some_and(|mean| mean > 0.0), "{lost:?}");
    assert!(report.flows[0].goodput_bps.mean.is_some_and(|goodput| goodput > 0.0), "TCP goes on");
}

#[test]
fn two_flows_share_fairly() {
    for flows in [[("n0", "n9"), ("n9", "n0")], [("n0", "n9"), ("n1", "n9")]] {
        let report = string(20.0, cadence, &flows);
        let shares: Vec<f64> = report.flows.iter().filter_map(|flow| flow.goodput_bps.mean).collect();
        let smallest = shares.iter().copied().fold(f64::INFINITY, f64::min) / shares.iter().sum::<f64>();
        assert!(smallest > 1.0 / 3.0, "{flows:?}: {shares:?}");
    }
}
