//! Random losses of a medium: what is lost, how often, what follows, and what does not change.

use ripstop_base::{Seed, Time};
use ripstop_sim::tcp::SenderConfig;
use ripstop_sim::wifi::{
    AirEvent, AirFate, Errors, Position, RandomLoss, Routing, StationCounters, WifiConfig, XorConfig,
};
use ripstop_sim::world::{Carrier, Happening, Observer, StationStatus, TcpConfig, UdpConfig, UdpPattern, World};
use std::time::Duration;

/// The master seed of all tests here.
const SEED: u64 = 7;
/// The number of datagrams in [`trickle`].
const DATAGRAMS: u64 = 10_000;
/// The loss probability in all tests here.
const LOSS: f64 = 0.1;

/// A medium with random losses and a short retry limit of `retry`.
fn lossy(errors: Errors, retry: u32) -> WifiConfig {
    WifiConfig { loss: Some(RandomLoss { probability: LOSS, errors }), short_retry: retry, ..WifiConfig::ns2() }
}

/// A world with a string of `nodes` stations, 200 m apart, and the radio links there and back.
fn string(config: &WifiConfig, nodes: usize) -> (World, [usize; 1], [usize; 1]) {
    let places: Vec<Position> = (0..nodes).map(|k| Position { x: 200.0 * k as f64, y: 0.0 }).collect();
    let mut world = World::new(Seed::new(SEED));
    let medium = world.add_medium(config.clone(), &places, "medium/0");
    let there = [world.add_radio_link(medium, 0, nodes - 1)];
    let back = [world.add_radio_link(medium, nodes - 1, 0)];
    (world, there, back)
}

/// Sends [`DATAGRAMS`] over three hops. Each datagram has the medium for itself. Returns the stations, and the number of
/// delivered datagrams.
fn trickle(config: &WifiConfig) -> (Vec<StationStatus>, u64) {
    let (mut world, there, _) = string(config, 4);
    let udp = UdpConfig::new(UdpPattern::Periodic { every: Duration::from_millis(100), burst: 1 }, 1000);
    let flow = world.add_udp(udp, &Carrier::Links(&there, &[]), "flow/0");
    world.run_until(Time::from_secs_f64(DATAGRAMS as f64 / 10.0 - 0.05), &mut ());
    assert_eq!(world.totals(flow).sent, DATAGRAMS);
    (world.stations(0), world.totals(flow).packets)
}

/// Runs a TCP flow over 6 stations for 20 s.
fn tcp(config: &WifiConfig, observer: &mut impl Observer) -> World {
    let (mut world, there, back) = string(config, 6);
    let sender = SenderConfig { window: 20, ..SenderConfig::default() };
    world.add_tcp(TcpConfig { sender, ..TcpConfig::default() }, &Carrier::Links(&there, &back), "flow/0").unwrap();
    world.run_until(Time::from_secs_f64(20.0), observer);
    world
}

/// Runs a source of datagrams in each direction over 3 stations for 40 s. The sources use most of the medium's time.
fn both_ways(config: &WifiConfig) -> World {
    let (mut world, there, back) = string(config, 3);
    let udp = UdpConfig::new(UdpPattern::Periodic { every: Duration::from_millis(4), burst: 1 }, 1000);
    world.add_udp(udp.clone(), &Carrier::Links(&there, &[]), "flow/there");
    world.add_udp(udp, &Carrier::Links(&back, &[]), "flow/back");
    world.run_until(Time::from_secs_f64(40.0), &mut ());
    world
}

fn sum(stations: &[StationStatus], value: impl Fn(&StationCounters) -> u64) -> u64 {
    stations.iter().map(|station| value(&station.counters)).sum()
}

/// Asserts that `count` is within 4 standard deviations of a binomial number of `trials` with probability `p`.
fn assert_share(count: u64, trials: u64, p: f64, what: &str) {
    let (mean, deviation) = (trials as f64 * p, (trials as f64 * p * (1.0 - p)).sqrt());
    assert!((count as f64 - mean).abs() <= 4.0 * deviation, "{what}: {count}, not {mean} +- {deviation}, seed {SEED}");
}

#[test]
fn above_the_mac_each_hop_loses_each_datagram_once() {
    let (stations, delivered) = trickle(&lossy(Errors::AboveMac, 7));
    let mut offered = DATAGRAMS;
    for (k, station) in stations.iter().enumerate().skip(1) {
        let counters = &station.counters;
        assert_share(counters.lost_packets, offered, LOSS, &format!("losses at n{k}"));
        offered -= counters.lost_packets;
    }
    assert_eq!((offered, stations[0].counters.lost_packets), (delivered, 0), "seed {SEED}");
    // The MAC has acknowledged each frame, so nothing is sent again.
    assert_eq!(sum(&stations, |c| c.failures + c.duplicates + c.lost_frames), 0, "seed {SEED}");
}

#[test]
fn per_frame_each_station_loses_frames_of_any_kind_also_those_for_others() {
    // With one transmission a datagram passes a hop if its frame arrives. The MAC ACK need not arrive.
    let (stations, delivered) = trickle(&lossy(Errors::PerFrame, 1));
    assert_share(delivered, DATAGRAMS, (1.0 - LOSS) * (1.0 - LOSS) * (1.0 - LOSS), "delivered");
    assert_eq!(sum(&stations, |c| c.lost_packets + c.duplicates), 0, "seed {SEED}");
    // n0 sends all datagrams, and counts a failure if the frame or the MAC ACK is lost.
    let n0 = &stations[0].counters;
    assert_eq!((n0.data_frames, n0.failures), (DATAGRAMS, n0.retry_drops), "seed {SEED}");
    assert_share(n0.failures, DATAGRAMS, 1.0 - (1.0 - LOSS) * (1.0 - LOSS), "failures at n0");
    // n0 is next to n1 alone. It loses MAC ACKs, and frames of n1 for n2.
    let heard = stations[1].counters.data_frames + stations[1].counters.control_frames;
    assert_share(n0.lost_frames, heard, LOSS, "frames of n1 lost at n0");
    assert_eq!(n0.received + n0.lost_frames, heard, "seed {SEED}");
}

#[test]
fn retransmissions_repair_lost_frames_and_not_lost_datagrams() {
    let (stations, delivered) = trickle(&lossy(Errors::PerFrame, 7));
    assert!(delivered >= DATAGRAMS - 1, "{delivered}, seed {SEED}");
    // A datagram comes again if its MAC ACK was lost.
    let first = &stations[1].counters;
    assert_share(first.duplicates, first.duplicates + DATAGRAMS, LOSS, "duplicates at n1");
    let (_, delivered) = trickle(&lossy(Errors::AboveMac, 7));
    assert!(delivered < DATAGRAMS * 3 / 4, "{delivered}, seed {SEED}");
}

/// Checks that each station waits for EIFS after a lost frame.
#[derive(Default)]
struct Eifs {
    /// For each station: until when it must be silent.
    silent_until: [Time; 6],
    checked: u64,
}

impl Observer for Eifs {
    fn hears_air(&self) -> bool {
        true
    }

    fn note(&mut self, _: Time, happening: Happening<'_>) {
        match happening {
            Happening::Air { event: AirEvent::Heard(reception), .. } if reception.fate == AirFate::Lost => {
                self.silent_until[reception.station as usize] = reception.ends + WifiConfig::ns2().eifs;
            }
            Happening::Air { event: AirEvent::Waits { station, at, state }, .. } => {
                let until = self.silent_until[*station as usize];
                assert!(state.eifs >= until, "n{station} at {at:?}: {state:?}, seed {SEED}");
                self.checked += u64::from(until > *at);
            }
            _ => {}
        }
    }
}

#[test]
fn a_station_waits_for_eifs_after_a_lost_frame() {
    let mut eifs = Eifs::default();
    let world = tcp(&lossy(Errors::PerFrame, 7), &mut eifs);
    let lost = sum(&world.stations(0), |c| c.lost_frames);
    assert!(lost > 1000 && eifs.checked >= lost, "{lost} {}, seed {SEED}", eifs.checked);
}

#[test]
fn a_loss_changes_no_other_random_number() {
    for errors in [Errors::AboveMac, Errors::PerFrame] {
        let plain = WifiConfig::ns2();
        // One draw in 10^15 is below this probability.
        let rare = WifiConfig { loss: Some(RandomLoss { probability: 1e-15, errors }), ..plain.clone() };
        let [plain, rare] = [tcp(&plain, &mut ()), tcp(&rare, &mut ())];
        assert_eq!(plain.totals(0), rare.totals(0), "{errors:?}");
        assert_eq!(plain.stations(0), rare.stations(0), "{errors:?}");
        let [one, two] = [0, 0].map(|_| tcp(&lossy(errors, 7), &mut ()).totals(0));
        assert_eq!(one, two, "{errors:?}");
        assert_ne!(one, plain.totals(0), "{errors:?}");
    }
}

#[test]
fn packets_in_xor_frames_and_broadcasts_can_be_lost_above_the_mac() {
    let world = both_ways(&WifiConfig { xor: Some(XorConfig::default()), ..lossy(Errors::AboveMac, 7) });
    let stations = world.stations(0);
    let relayed = stations[1].counters;
    assert!(relayed.xor_frames > 3000 && relayed.retry_drops == 0, "{relayed:?}, seed {SEED}");
    let delivered = world.totals(0).packets + world.totals(1).packets;
    let lost = stations[0].counters.lost_packets + stations[2].counters.lost_packets;
    assert_share(lost, lost + delivered, LOSS, "losses at the ends");

    // With AODV, the first datagrams are broadcasts: requests for a route.
    let loss = Some(RandomLoss { probability: 1.0, errors: Errors::AboveMac });
    let stations = tcp(&WifiConfig { loss, routing: Routing::Aodv, ..WifiConfig::ns2() }, &mut ()).stations(0);
    assert!(stations[0].routing.route_requests > 1, "seed {SEED}");
    assert_eq!(stations[1].counters.lost_packets, stations[0].counters.data_frames, "seed {SEED}");
    assert_eq!(stations[1].counters.data_frames, 0, "seed {SEED}");
}

#[test]
fn lost_packets_count_as_lost_on_their_link() {
    for errors in [Errors::AboveMac, Errors::PerFrame] {
        let world = both_ways(&lossy(errors, 2));
        let counters = (0..world.links()).map(|link| world.link(link));
        let lost: u64 = counters.clone().map(|c| c.lost_channel).sum();
        let inside: u64 = counters.map(|c| c.offered - c.delivered - c.refused_queue - c.lost_channel).sum();
        let stations = world.stations(0);
        let (random, dropped) = (sum(&stations, |c| c.lost_packets), sum(&stations, |c| c.retry_drops));
        // The MAC may give up a packet that has arrived. Such a packet is not lost.
        assert!(random <= lost && lost <= random + dropped && inside <= 150, "{errors:?}, seed {SEED}");
        assert!(lost > 300 && (random > 0) == (errors == Errors::AboveMac), "{errors:?}: {lost}, seed {SEED}");
    }
}
