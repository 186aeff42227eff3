//! AODV on a medium: AODV delivers packets and repairs broken links, and no packet is lost without a count.

use ripstop_base::{Bytes, Distance, Seed, Time};
use ripstop_sim::engine::{Scheduler, Statistic};
use ripstop_sim::scenario::{FlowSpec, MediumReport, MediumSpec, RoutingReport, RunSpec, Scenario, StationSpec, run};
use ripstop_sim::wifi::{DropReason, Load, Medium, MediumOutput, Packet, Position, Routing, WifiConfig, XorConfig};
use std::collections::BTreeMap;
use std::time::Duration;

/// Stations at these places, m.
fn stations(places: impl IntoIterator<Item = f64>) -> Vec<StationSpec> {
    let station = |(k, x)| StationSpec { name: format!("n{k}"), x: Distance::from_meters(x), y: Distance::default() };
    places.into_iter().enumerate().map(station).collect()
}

/// A scenario with a TCP flow over a medium, in 4 runs of 30 s.
fn scenario(medium: MediumSpec, to: &str) -> Scenario {
    let run = RunSpec { duration: Duration::from_secs(30).into(), runs: 4, ..RunSpec::default() };
    let flow = FlowSpec { packet: Bytes::new(1460), ..FlowSpec::new("n0", to) };
    Scenario { run, medium: vec![medium], flow: vec![flow], ..Scenario::default() }
}

/// A string of 5 stations with AODV.
fn string(capture: f64, window: u32) -> Scenario {
    let places = (0..5).map(|k| 200.0 * f64::from(k));
    let medium = MediumSpec { routing: Routing::Aodv, capture: Some(capture), ..MediumSpec::new(stations(places)) };
    let mut scenario = scenario(medium, "n4");
    scenario.flow[0].window = window;
    scenario
}

/// The goodput of the flow in bit/s, and the report of the medium.
fn outcome(scenario: &Scenario) -> (f64, MediumReport) {
    let report = run(scenario, 2, || ()).expect("the scenario is valid");
    let medium = report.media.into_iter().next().expect("there is a medium");
    (report.goodput_bps.mean.expect("there is a goodput"), medium)
}

fn routing(medium: &MediumReport) -> &RoutingReport {
    medium.routing.as_ref().expect("the medium has AODV")
}

fn mean(statistic: &Statistic) -> f64 {
    statistic.mean.expect("there is a mean")
}

#[test]
fn a_string_delivers_over_the_routes_that_it_finds() {
    let (goodput, medium) = outcome(&string(10.0, 1));
    let routing = routing(&medium);
    // With one packet at a time no frames collide, so the first route request is the only request.
    assert_eq!((mean(&routing.route_requests), mean(&routing.route_replies)), (1.0, 1.0));
    assert_eq!((mean(&routing.link_breaks), mean(&routing.route_drops)), (0.0, 0.0));
    let mut same = string(10.0, 1);
    same.medium[0].routing = Routing::Static;
    let (wanted, medium) = outcome(&same);
    assert!((goodput / wanted - 1.0).abs() < 0.01, "{goodput} {wanted}");
    assert_eq!(medium.routing, None);
}

#[test]
fn a_broken_link_is_reported_and_the_route_is_found_again() {
    let (goodput, medium) = outcome(&string(20.0, 20));
    let routing = routing(&medium);
    for (name, count) in [
        ("breaks", &routing.link_breaks),
        ("errors", &routing.route_errors),
        ("drops", &routing.break_drops),
        ("replies", &routing.route_replies),
    ] {
        assert!(mean(count) > 1.0, "{name}: {routing:?}");
    }
    assert!(mean(&routing.route_requests) > 1.0 + mean(&routing.failed_discoveries), "{routing:?}");
    // ns-2 delivers 781±6 kbit/s of IP packets, which is 760 kbit/s of payload (reference cell 002-n, n=5).
    assert!((700e3..820e3).contains(&goodput), "{goodput}");
    let of_stations: f64 =
        medium.stations.iter().filter_map(|station| station.routing.as_ref()).map(|r| mean(&r.link_breaks)).sum();
    assert!((of_stations - mean(&routing.link_breaks)).abs() < 1e-9);
}

#[test]
fn a_long_string_repairs_routes() {
    let places = (0..10).map(|k| 200.0 * f64::from(k));
    let medium = MediumSpec { routing: Routing::Aodv, capture: Some(20.0), ..MediumSpec::new(stations(places)) };
    let (_, medium) = outcome(&scenario(medium, "n9"));
    assert!(mean(&routing(&medium).repairs) > 0.0);
}

#[test]
fn only_aodv_accepts_an_end_that_no_way_leads_to() {
    let medium = MediumSpec { routing: Routing::Aodv, ..MediumSpec::new(stations([0.0, 200.0, 1000.0])) };
    let mut scenario = scenario(medium, "n2");
    let (goodput, medium) = outcome(&scenario);
    let routing = routing(&medium);
    assert_eq!((goodput, mean(&routing.route_replies)), (0.0, 0.0));
    assert!(mean(&routing.failed_discoveries) >= 1.0 && mean(&routing.route_drops) >= 1.0, "{routing:?}");
    scenario.medium[0].routing = Routing::Static;
    let error = run(&scenario, 1, || ()).unwrap_err().to_string();
    assert!(error.contains("no links lead from `n0` to `n2`"), "{error}");
}

/// A datagram of 1000 bytes.
#[derive(Clone, Debug, PartialEq)]
struct Datagram;

impl Packet for Datagram {
    fn bytes(&self) -> u32 {
        1000
    }

    fn load(&self) -> Load {
        Load::Data
    }
}

/// Sends datagrams both ways over a string of 6 stations for 40 s. The medium cannot carry all of them. Returns the
/// medium, the number of datagrams offered, the number delivered, and the numbers dropped, by reason.
fn overload(config: WifiConfig) -> (Medium<Datagram>, u64, u64, BTreeMap<String, u64>) {
    let places: Vec<Position> = (0..6).map(|k| Position { x: 200.0 * f64::from(k), y: 0.0 }).collect();
    let mut scheduler = Scheduler::new();
    let mut medium = Medium::new(config, &places, Seed::new(7));
    let (source, stations) = (scheduler.add(), scheduler.add());
    scheduler.set(source, Time::ZERO);
    let (mut offered, mut delivered, mut dropped) = (0, 0, BTreeMap::new());
    let mut take = |medium: &mut Medium<Datagram>| {
        while let Some(output) = medium.poll() {
            match output {
                MediumOutput::Delivered(_) => delivered += 1,
                MediumOutput::Dropped(_, reason) => *dropped.entry(format!("{reason:?}")).or_insert(0) += 1,
            }
        }
    };
    while let Some(alarm) = scheduler.next_until(Time::from_millis(40_000)) {
        let now = scheduler.now();
        if alarm == source {
            let (from, to) = if offered % 3 == 0 { (5, 0) } else { (0, 5) };
            medium.send(from, to, Datagram, now);
            offered += 1;
            scheduler.set(source, now + Duration::from_millis(4));
        } else {
            medium.run(now, now);
        }
        take(&mut medium);
        scheduler.set(stations, medium.next_due());
    }
    medium.settle(scheduler.now());
    take(&mut medium);
    (medium, offered, delivered, dropped)
}

#[test]
fn no_packet_is_lost_without_a_count() {
    let aodv = WifiConfig { routing: Routing::Aodv, capture: 20.0, ..WifiConfig::ns2() };
    for config in [
        aodv.clone(),
        WifiConfig { xor: Some(XorConfig { payloads: true, ..XorConfig::default() }), ..aodv.clone() },
        WifiConfig { rts_threshold: 0, ..aodv.clone() },
        WifiConfig { routing: Routing::Aodv, capture: 20.0, ..WifiConfig::standard() },
        WifiConfig { routing: Routing::Static, ..aodv },
    ] {
        let (is_static, is_coded) = (config.routing == Routing::Static, config.xor.is_some());
        let (medium, offered, delivered, dropped) = overload(config);
        let lost: u64 = dropped.values().sum();
        assert_eq!(offered, delivered + lost + medium.held() as u64, "{dropped:?}");
        assert!(delivered > 100 && lost > 100, "{delivered} {dropped:?}");
        let stations = 0..medium.stations();
        // A station also counts packets that it gave up although the receiver has them. The stations' counters may
        // therefore exceed the drops.
        let counted = |reason: DropReason| -> u64 {
            let counter = |k| {
                let counters = medium.counters(k);
                match reason {
                    DropReason::QueueFull => counters.queue_drops,
                    DropReason::RetryLimit => counters.retry_drops,
                    DropReason::RandomLoss => counters.lost_packets,
                    DropReason::NotAcknowledged => counters.rider_losses,
                    DropReason::NoRoute => counters.route_drops,
                    DropReason::LinkBreak => counters.break_drops,
                    DropReason::BufferFull => counters.buffer_drops,
                    DropReason::Expired => counters.expired_drops,
                    DropReason::TimeToLive | DropReason::Loop => counters.loop_drops,
                }
            };
            stations.clone().map(counter).sum()
        };
        for reason in [DropReason::QueueFull, DropReason::RetryLimit, DropReason::NoRoute, DropReason::LinkBreak] {
            let seen = dropped.get(&format!("{reason:?}")).copied().unwrap_or(0);
            assert!(counted(reason) >= seen, "{reason:?} {dropped:?}");
        }
        let breaks: u64 = stations.clone().map(|k| medium.routing_counters(k).link_breaks).sum();
        assert_eq!(breaks == 0, is_static);
        // Stations XOR datagrams, but never AODV's own messages.
        let xor_frames: u64 = stations.clone().map(|k| medium.counters(k).xor_frames).sum();
        assert_eq!(xor_frames > 0, is_coded);
        assert_eq!(stations.map(|k| medium.counters(k).undecodable).sum::<u64>(), 0);
    }
}
