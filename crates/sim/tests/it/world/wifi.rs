//! Strings of 802.11 stations in the world: invariants of the medium, and mechanisms that must act.

use ripstop_base::{Distance, Seed, Time};
use ripstop_sim::scenario::{
    AdaptiveSpec, BackoffName, FlowSpec, KSpec, MediumPreset, MediumSpec, RunSpec, Scenario, ScenarioReport,
    StationSpec, run,
};
use ripstop_sim::tcp::SenderConfig;
use ripstop_sim::wifi::{
    AdaptiveBackoff, BackoffRule, Errors, Position, RandomLoss, StationCounters, WifiConfig, XorConfig,
};
use ripstop_sim::world::{Carrier, StationStatus, TcpConfig, UdpConfig, UdpPattern, World};
use std::time::Duration;

/// The master seed of all tests here.
const SEED: u64 = 7;

/// The places of `nodes` stations with gaps of `gap` metres.
fn places(nodes: usize, gap: f64) -> Vec<Position> {
    (0..nodes).map(|k| Position { x: gap * k as f64, y: 0.0 }).collect()
}

/// Runs a TCP flow with a window of `window` packets over a string. With `both`, a second flow runs in the opposite
/// direction. Returns the world after `seconds`.
fn string(config: &WifiConfig, nodes: usize, window: u32, both: bool, seconds: f64) -> World {
    let mut world = World::new(Seed::new(SEED));
    let medium = world.add_medium(config.clone(), &places(nodes, 200.0), "medium/0");
    let there = [world.add_radio_link(medium, 0, nodes - 1)];
    let back = [world.add_radio_link(medium, nodes - 1, 0)];
    let tcp =
        TcpConfig { sender: SenderConfig { window, ..SenderConfig::default() }, payload: 1460, ..TcpConfig::default() };
    world.add_tcp(tcp.clone(), &Carrier::Links(&there, &back), "flow/there").unwrap();
    if both {
        world.add_tcp(tcp, &Carrier::Links(&back, &there), "flow/back").unwrap();
    }
    world.run_until(Time::from_secs_f64(seconds), &mut ());
    world
}

/// The sum of a counter over the stations.
fn sum(stations: &[StationStatus], value: impl Fn(&StationCounters) -> u64) -> u64 {
    stations.iter().map(|station| value(&station.counters)).sum()
}

fn xor(payloads: bool) -> Option<XorConfig> {
    Some(XorConfig { payloads, ..XorConfig::default() })
}

#[test]
fn every_frame_is_accounted_for_at_every_station_that_senses_it() {
    let loss = Some(RandomLoss { probability: 0.05, errors: Errors::PerFrame });
    for (capture, rts, coding, loss) in [
        (10.0, false, None, None),
        (20.0, true, None, None),
        (20.0, false, xor(false), None),
        (10.0, true, None, loss),
        (20.0, false, xor(false), loss),
    ] {
        let rts_threshold = if rts { 0 } else { u32::MAX };
        let config = WifiConfig { capture, rts_threshold, xor: coding, loss, ..WifiConfig::ns2() };
        let nodes = 10;
        let stations = string(&config, nodes, 20, false, 20.0).stations(0);
        // A frame is sensed over two gaps of 200 m in each direction.
        let hearers = |k: usize| (k.min(2) + (nodes - 1 - k).min(2)) as u64;
        let sent = |station: &StationStatus| station.counters.data_frames + station.counters.control_frames;
        let sensed: u64 = stations.iter().enumerate().map(|(k, station)| hearers(k) * sent(station)).sum();
        let ended = sum(&stations, |c| c.received + c.lost_frames + c.too_weak + c.deaf + c.ignored + c.collided);
        let on_the_air = sensed - ended;
        assert!(on_the_air <= 4 * nodes as u64, "{sensed} sensed, {ended} ended, capture {capture}, seed {SEED}");
        for (what, count) in [
            ("decoded", sum(&stations, |c| c.received)),
            ("too weak", sum(&stations, |c| c.too_weak)),
            ("deaf", sum(&stations, |c| c.deaf)),
            ("collided", sum(&stations, |c| c.collided)),
        ] {
            assert!(count > 0, "no frame was {what}, capture {capture}, seed {SEED}");
        }
        assert_eq!(sum(&stations, |c| c.lost_frames) > 0, loss.is_some(), "capture {capture}, seed {SEED}");
        assert_eq!(sum(&stations, |c| c.ignored) > 0, capture < 16.0, "capture {capture}, seed {SEED}");
    }
}

#[test]
fn packets_that_enter_the_medium_are_delivered_dropped_or_inside() {
    let config = WifiConfig { capture: 20.0, ..WifiConfig::ns2() };
    let world = string(&config, 6, 100, true, 30.0);
    for link in 0..world.links() {
        let counters = world.link(link);
        let done = counters.delivered + counters.refused_queue + counters.lost_channel;
        let inside = counters.offered.checked_sub(done);
        // Each of the 6 stations holds at most 51 packets. Some packets may also be in the stations' link layers.
        assert!(inside.is_some_and(|inside| inside <= 6 * 51), "{counters:?}, seed {SEED}");
        assert!(counters.delivered > 1000, "{counters:?}, seed {SEED}");
    }
    assert!(world.totals(0).packets > 0 && world.totals(1).packets > 0, "seed {SEED}");
}

#[test]
fn xor_frames_decode_to_the_very_packets_that_went_in() {
    let totals = [false, true].map(|payloads| {
        let config = WifiConfig { capture: 20.0, xor: xor(payloads), ..WifiConfig::ns2() };
        let world = string(&config, 5, 10, true, 5.0);
        let stations = world.stations(0);
        // With payloads, a receiver compares every decoded byte. A difference would count as undecodable.
        assert_eq!(sum(&stations, |c| c.undecodable), 0, "seed {SEED}");
        assert!(sum(&stations, |c| c.xor_frames) > 100, "seed {SEED}");
        assert!(sum(&stations, |c| c.missed_partners) > 0, "seed {SEED}");
        (world.totals(0), world.totals(1))
    });
    assert_eq!(totals[0], totals[1], "identifiers and payloads give the same run, seed {SEED}");
}

#[test]
fn a_short_memory_makes_frames_undecodable_and_loses_no_packet() {
    let config = WifiConfig { xor: Some(XorConfig { memory: 1, ..XorConfig::default() }), ..WifiConfig::ns2() };
    let world = string(&config, 5, 20, false, 20.0);
    assert!(sum(&world.stations(0), |c| c.undecodable) > 0, "seed {SEED}");
    assert!(world.totals(0).packets > 100, "seed {SEED}");
}

#[test]
fn the_adaptive_backoff_learns_k_from_drops() {
    let rule = BackoffRule::Adaptive(AdaptiveBackoff::literal());
    let config = WifiConfig { capture: 20.0, backoff: rule, xor: xor(false), ..WifiConfig::ns2() };
    let stations = string(&config, 10, 20, false, 60.0).stations(0);
    let (drops, learned) =
        (sum(&stations, |c| c.retry_drops), stations.iter().map(|s| u64::from(s.k - 1)).sum::<u64>());
    assert_eq!(drops, learned, "k grows by one with each drop, seed {SEED}");
    assert!(drops > 0, "seed {SEED}");
}

/// The report of one flow over a string of 10 stations. The window is 20 packets, the medium has capture 20, and
/// `change` changes the medium.
fn report(change: impl FnOnce(&mut MediumSpec)) -> ScenarioReport {
    let gaps = [Distance::from_meters(200.0); 9];
    let mut medium = MediumSpec { capture: Some(20.0), ..MediumSpec::new(StationSpec::string(&gaps)) };
    change(&mut medium);
    let span = |s: u64| Duration::from_secs(s).into();
    let run_spec = RunSpec { runs: 2, seed: SEED, duration: span(20), sample: Some(span(5)), ..RunSpec::default() };
    let flow = FlowSpec { packet: ripstop_base::Bytes::new(1460), window: 20, ..FlowSpec::new("n0", "n9") };
    let scenario = Scenario { run: run_spec, medium: vec![medium], flow: vec![flow], ..Scenario::default() };
    run(&scenario, 2, || ()).unwrap()
}

#[test]
fn every_choice_of_the_adaptive_backoff_has_an_effect() {
    let goodput = |adaptive: AdaptiveSpec| {
        let report = report(|medium| (medium.backoff, medium.adaptive) = (BackoffName::Adaptive, adaptive));
        report.goodput_bps.mean.unwrap()
    };
    let literal = goodput(AdaptiveSpec::default());
    use ripstop_sim::wifi::{PostBackoff, Residual, TimerEffect, TimerStart};
    for (name, change) in [
        ("k", AdaptiveSpec { k: Some(KSpec::Fixed(4)), ..AdaptiveSpec::default() }),
        ("small-window", AdaptiveSpec { small_window: Some(16), ..AdaptiveSpec::default() }),
        ("large-window", AdaptiveSpec { large_window: Some(128), ..AdaptiveSpec::default() }),
        ("residual", AdaptiveSpec { residual: Some(Residual::Redrawn), ..AdaptiveSpec::default() }),
        ("start", AdaptiveSpec { start: Some(TimerStart::Success), ..AdaptiveSpec::default() }),
        ("start", AdaptiveSpec { start: Some(TimerStart::FrameStart), ..AdaptiveSpec::default() }),
        ("post", AdaptiveSpec { post: Some(PostBackoff::Small), ..AdaptiveSpec::default() }),
        ("acks", AdaptiveSpec { acks_use_small_window: Some(true), ..AdaptiveSpec::default() }),
        ("doubling", AdaptiveSpec { doubling: Some(true), ..AdaptiveSpec::default() }),
        ("effect", AdaptiveSpec { effect: Some(TimerEffect::Silence), ..AdaptiveSpec::default() }),
    ] {
        assert_ne!(goodput(change), literal, "{name} has no effect, seed {SEED}");
    }
    let series = report(|medium| medium.backoff = BackoffName::Adaptive).series.unwrap();
    assert_eq!((series.stations.len(), series.stations[3].k.len()), (10, 4));
}

#[test]
fn the_standard_grants_immediate_access_on_an_idle_medium() {
    // Datagrams every 10 ms over one hop find the medium idle. Immediate access saves
    // DIFS and a back-off of 15.5 slots on average.
    let mean_delay = |immediate_access| {
        let config = WifiConfig { immediate_access, ..WifiConfig::standard() };
        let mut world = World::new(Seed::new(SEED));
        let medium = world.add_medium(config, &places(2, 200.0), "medium/0");
        let there = [world.add_radio_link(medium, 0, 1)];
        let udp = UdpConfig::new(UdpPattern::Periodic { every: Duration::from_millis(10), burst: 1 }, 1500);
        let flow = world.add_udp(udp, &Carrier::Links(&there, &[]), "flow/0");
        world.run_until(Time::from_secs_f64(20.0), &mut ());
        let (sum, count) = world.totals(flow).delay;
        assert!(count > 1900, "{count}, seed {SEED}");
        sum / count as f64
    };
    let (immediate, always) = (mean_delay(true), mean_delay(false));
    // The delay is 192 us of preamble, 1536 bytes at 11 Mbit/s, and 667 ns of propagation. No DIFS is added, because
    // the medium has already been idle for DIFS.
    assert!((immediate - 1309.76e-6).abs() < 1e-7, "{immediate}, seed {SEED}");
    assert!((always - immediate - 360e-6).abs() < 15e-6, "{always}, seed {SEED}");
    let report = report(|medium| medium.preset = MediumPreset::Standard);
    assert!(report.goodput_bps.mean.unwrap() > 4e5, "{:?}, seed {SEED}", report.goodput_bps);
}

#[test]
fn two_hundred_stations_work() {
    let world = string(&WifiConfig { xor: xor(false), ..WifiConfig::ns2() }, 200, 20, false, 20.0);
    assert!(world.totals(0).packets > 100, "{:?}, seed {SEED}", world.totals(0));
}
