//! The bounds of paper 002, each under its own assumptions. Ideal CSMA is compared with the chain of section III-B, and
//! scheduled access with lemma 3.1 and theorem 3.1. IEEE 802.11 is compared with theorem 3.1 and table III.

use ripstop_base::{Seed, Time};
use ripstop_model::string::airtime::{Airtime, Exchange};
use ripstop_model::string::bound::{equal_load, scheduling_bound};
use ripstop_model::string::sets::{Conflicts, most_active};
use ripstop_sim::tcp::SenderConfig;
use ripstop_sim::wifi::ideal::{Activity, IdealAccess, IdealConfig, IdealLinkConfig, PacketTimes};
use ripstop_sim::wifi::{AdaptiveBackoff, BackoffRule, Position, WifiConfig, XorConfig};
use ripstop_sim::world::{Carrier, TcpConfig, UdpConfig, UdpPattern, World};
use std::time::Duration;

/// The master seed of all tests here.
const SEED: u64 = 3;
/// The bytes of a packet of paper 002, TCP and IP headers included.
const PACKET: u32 = 1500;
/// The largest relative difference that is allowed between a link's throughput and the throughput of the chain.
const NEAR: f64 = 0.02;

/// The exchange times of paper 002.
fn paper() -> Exchange {
    Airtime::default().exchange().unwrap()
}

/// The places of `nodes` stations, 200 m apart.
fn places(nodes: usize) -> Vec<Position> {
    (0..nodes).map(|k| Position { x: 200.0 * k as f64, y: 0.0 }).collect()
}

fn seconds(s: f64) -> Duration {
    Duration::from_secs_f64(s)
}

/// What the links of a string do in `time` s of ideal CSMA. The links are the links of fig. 6: all forward links, then
/// the reverse link of the last hop. Every link always has packets. `x` has the attempt ratios of the links, and
/// `means` has their packet times in s.
fn saturated(k: u32, x: &[f64], means: &[f64], law: PacketTimes, time: f64) -> Activity {
    let nodes = x.len();
    let ends = (0..nodes as u32 - 1).map(|i| (i, i + 1)).chain([(nodes as u32 - 1, nodes as u32 - 2)]);
    let link = |((from, to), (x, mean)): ((u32, u32), (&f64, &f64))| IdealLinkConfig {
        from,
        to,
        mean_backoff: Some(seconds(mean / x)),
        packet_time: Some(seconds(*mean)),
        saturated: true,
    };
    let config = IdealConfig {
        interference: k,
        packet_times: law,
        links: ends.zip(x.iter().zip(means)).map(link).collect(),
        ..IdealConfig::new(IdealAccess::Csma, WifiConfig::ns2())
    };
    let mut world = World::new(Seed::new(SEED));
    let medium = world.add_ideal_medium(config, &places(nodes), "medium/0");
    world.run_until(Time::from_secs_f64(time), &mut ());
    world.activity(medium).unwrap()
}

/// Compares the throughput and the active time of each link with the chain of `k`. Returns the largest relative
/// difference.
fn compare(activity: &Activity, k: u32, x: &[f64], means: &[f64], time: f64) -> f64 {
    let conflicts = Conflicts::of_string(&vec![k; x.len()]).unwrap();
    let loads = conflicts.loads(x).unwrap();
    let mut furthest = 0.0f64;
    for (link, (load, mean)) in loads.iter().zip(means).enumerate() {
        // The first link back is link n, as in the chain. The other links back have no packets.
        let got = activity.links[link];
        assert!(got.deferrals > 0 && got.attempts - got.exchanges <= 1, "{got:?}, seed {SEED}");
        let theta = got.exchanges as f64 / time;
        furthest = furthest.max((theta * mean / load - 1.0).abs());
        furthest = furthest.max((got.active.as_secs_f64() / time / load - 1.0).abs());
    }
    assert!(activity.links[x.len()..].iter().all(|link| link.attempts == 0), "seed {SEED}");
    furthest
}

#[test]
fn ideal_csma_carries_on_each_link_what_the_chain_says() {
    let exchange = paper();
    for nodes in [5, 7, 10usize] {
        for law in [PacketTimes::Constant, PacketTimes::Exponential] {
            // Unequal attempt ratios between 0.6 and 4.2, and unequal packet times.
            let x: Vec<f64> = (0..nodes).map(|i| 0.6 + 0.9 * ((i * 3) % 5) as f64).collect();
            let mean =
                |i: usize| if i + 1 == nodes { exchange.ack } else { exchange.data * (1.0 + 0.1 * (i % 3) as f64) };
            let means: Vec<f64> = (0..nodes).map(mean).collect();
            let time = 1500.0;
            let activity = saturated(2, &x, &means, law, time);
            let furthest = compare(&activity, 2, &x, &means, time);
            println!("{nodes} nodes, {law:?}: at most {:.2} % from the chain", 100.0 * furthest);
            assert!(furthest < NEAR, "{nodes} nodes, {law:?}: {furthest}, seed {SEED}");
            // The results are far from the chain of another k.
            assert!(compare(&activity, 1, &x, &means, time) > 5.0 * NEAR, "{nodes} nodes, {law:?}, seed {SEED}");
            let conflicts = Conflicts::of_string(&vec![2; nodes]).unwrap();
            let sets = conflicts.independent_sets().unwrap();
            let law_of_sets = conflicts.law(&sets, &x).unwrap();
            for (m, got) in activity.together.iter().enumerate() {
                let pi: f64 = sets
                    .iter()
                    .zip(&law_of_sets)
                    .filter(|(set, _)| set.count_ones() as usize == m)
                    .map(|(_, pi)| pi)
                    .sum();
                let got = got.as_secs_f64() / time;
                assert!(
                    (got - pi).abs() < 0.005,
                    "{nodes} nodes, {law:?}: {m} active for {got}, not {pi}, seed {SEED}"
                );
            }
        }
    }
}

#[test]
fn ideal_csma_with_the_optimal_attempts_has_the_throughput_of_table_iii() {
    // Table III, kbit/s.
    for (nodes, kbps) in [(2, 5242.0), (3, 3184.0), (4, 2285.0), (5, 1880.0), (6, 1718.0), (7, 1596.0), (10, 1523.0)] {
        let exchange = paper();
        let optimum = equal_load(nodes, 2, 4.108, exchange.ack_ratio).unwrap();
        let mut means = vec![exchange.data; nodes as usize];
        means[nodes as usize - 1] = exchange.ack;
        let time = 1000.0;
        let activity = saturated(2, &optimum.attempts, &means, PacketTimes::Constant, time);
        for link in &activity.links[..nodes as usize] {
            let got = link.exchanges as f64 / time * exchange.packet_bits / 1e3;
            assert!((got / kbps - 1.0).abs() < NEAR, "{nodes} nodes: {got} kbit/s, not {kbps}, {link:?}, seed {SEED}");
        }
    }
}

/// Scheduled access with interference range `k`, and packets that take the exchange time of the paper.
fn scheduled(k: u32) -> IdealConfig {
    IdealConfig {
        interference: k,
        packet_time: Some(seconds(paper().data)),
        ..IdealConfig::new(IdealAccess::Scheduled, WifiConfig::ns2())
    }
}

/// A TCP flow with window `window`, and one acknowledgement for each packet.
fn tcp(window: u32) -> TcpConfig {
    TcpConfig { sender: SenderConfig { window, ..SenderConfig::default() }, payload: 1460, ..TcpConfig::default() }
}

#[test]
fn scheduled_access_reaches_lemma_3_1() {
    for nodes in 2..=12u32 {
        for k in 1..=3 {
            let mut world = World::new(Seed::new(SEED));
            let medium = world.add_ideal_medium(scheduled(k), &places(nodes as usize), "medium/0");
            let there = [world.add_radio_link(medium, 0, nodes as usize - 1)];
            let slot = seconds(paper().data);
            // The source sends twice as many packets as a link carries. The queue of the first station drops half of
            // them.
            let source = UdpConfig::new(UdpPattern::Periodic { every: slot / 2, burst: 1 }, PACKET);
            let flow = world.add_udp(source, &Carrier::Links(&there, &[]), "flow/0");
            let period = if nodes <= k + 2 { nodes - 1 } else { k + 2 };
            let what = format!("{nodes} nodes, k {k}, seed {SEED}");
            // The pipeline fills within the first 100 periods.
            let mut at = Time::ZERO + slot * 100 * period + slot / 2;
            let mut last = (0, Activity::default());
            for round in 0..3 {
                world.run_until(at, &mut ());
                let now = (world.totals(flow).packets, world.activity(medium).unwrap());
                if round > 0 {
                    assert_eq!(now.0 - last.0, 1000, "packets, {what}");
                    assert_eq!(now.1.slots - last.1.slots, 1000 * u64::from(period), "slots, {what}");
                    for link in 0..nodes as usize - 1 {
                        assert_eq!(
                            now.1.links[link].attempts - last.1.links[link].attempts,
                            1000,
                            "link {link}, {what}"
                        );
                    }
                }
                last = now;
                at += slot * 1000 * period;
            }
            let share = 1.0 / f64::from(period);
            assert!((scheduling_bound(nodes, k, u32::MAX).unwrap() - share).abs() < 1e-12, "{what}");
            assert_eq!(last.1.most_together(), most_active(nodes, k).unwrap() as usize, "links together, {what}");
            assert!(nodes == 2 || last.1.links[0].deferrals > 0, "{what}");
            assert!(world.stations(medium)[0].counters.queue_drops > 0, "{what}");
        }
    }
}

#[test]
fn scheduled_access_reaches_theorem_3_1() {
    for nodes in 2..=12u32 {
        for k in 1..=3 {
            for window in 1..=6 {
                let mut world = World::new(Seed::new(SEED));
                let medium = world.add_ideal_medium(scheduled(k), &places(nodes as usize), "medium/0");
                let there = [world.add_radio_link(medium, 0, nodes as usize - 1)];
                let flow = world.add_tcp(tcp(window), &Carrier::Links(&there, &[]), "flow/0").unwrap();
                let slot = seconds(paper().data);
                // The number of slots is a multiple of both possible cycles: W packets in n-1 slots, and one packet in
                // k+2 slots.
                let slots = 60 * (nodes - 1) * (k + 2);
                let mut at = Time::ZERO + slot * slots + slot / 2;
                world.run_until(at, &mut ());
                let before = world.totals(flow).packets;
                at += slot * slots;
                world.run_until(at, &mut ());
                let got = (world.totals(flow).packets - before) as f64;
                let bound = scheduling_bound(nodes, k, window).unwrap() * f64::from(slots);
                assert!(
                    (got - bound).abs() < 1e-6,
                    "{nodes} nodes, k {k}, W {window}: {got}, not {bound}, seed {SEED}"
                );
            }
        }
    }
}

#[test]
fn links_that_always_have_packets_take_turns_as_in_figure_11() {
    // Forward links of ten nodes, k = 2. In a slot the links i with the same i mod 4 are active: 3, 2, 2 or 2 links.
    let links = (0..9).map(|i| IdealLinkConfig { from: i, to: i + 1, saturated: true, ..IdealLinkConfig::default() });
    let config = IdealConfig { links: links.collect(), ..scheduled(2) };
    let mut world = World::new(Seed::new(SEED));
    let medium = world.add_ideal_medium(config, &places(10), "medium/0");
    world.run_until(Time::ZERO + seconds(paper().data) * 400, &mut ());
    let activity = world.activity(medium).unwrap();
    assert!(activity.links[..9].iter().all(|link| link.exchanges.abs_diff(100) <= 1), "{activity:?}");
    let share = |m: usize| activity.together[m].as_secs_f64() / seconds(paper().data).as_secs_f64() / 400.0;
    assert!((share(3) - 0.25).abs() < 1e-9 && (share(2) - 0.75).abs() < 1e-9, "{activity:?}");
}

#[test]
fn a_tcp_flow_over_ideal_csma_stays_below_both_bounds() {
    let exchange = paper();
    for nodes in 2..=12u32 {
        for window in [1, 2, 5, 20] {
            let config = IdealConfig { access: IdealAccess::Csma, ..scheduled(2) };
            let mut world = World::new(Seed::new(SEED));
            let medium = world.add_ideal_medium(config, &places(nodes as usize), "medium/0");
            let there = [world.add_radio_link(medium, 0, nodes as usize - 1)];
            let flow = world.add_tcp(tcp(window), &Carrier::Links(&there, &[]), "flow/0").unwrap();
            let time = 100.0;
            world.run_until(Time::from_secs_f64(time), &mut ());
            let counters = world.link(there[0]);
            assert_eq!((counters.lost_channel, counters.refused_queue), (0, 0), "{nodes} nodes, seed {SEED}");
            let got = world.totals(flow).packets as f64 * exchange.packet_bits / time;
            let ratios = bounds(nodes as usize, 2, window, false).map(|bound| got / bound);
            let what = format!("{nodes} nodes, W {window}: {ratios:.3?} of the bounds, seed {SEED}");
            // A string of two stations is one link, which attains the optimum.
            assert!(ratios[0] < 1.0 && ratios[1] < if nodes == 2 { 1.0 + NEAR } else { 1.0 }, "{what}");
            assert!(window == 1 || ratios[1] > 0.6, "{what}");
            if window == 1 {
                let hop = exchange.data + IdealConfig::PAPER_BACKOFF.as_secs_f64();
                let alone = exchange.packet_bits / (f64::from(nodes - 1) * hop);
                assert!((got / alone - 1.0).abs() < NEAR, "{what}: {got} bit/s, not {alone}");
            }
        }
    }
}

#[test]
fn packets_without_a_way_or_a_place_in_the_queue_are_dropped_and_counted() {
    let mut world = World::new(Seed::new(SEED));
    let far = [0.0, 200.0, 1000.0].map(|x| Position { x, y: 0.0 });
    let wifi = WifiConfig { queue: 3, ..WifiConfig::ns2() };
    let config = IdealConfig { mean_backoff: Duration::from_millis(100), ..IdealConfig::new(IdealAccess::Csma, wifi) };
    let medium = world.add_ideal_medium(config, &far, "medium/0");
    for to in [1, 2] {
        let link = [world.add_radio_link(medium, 0, to)];
        world.add_udp(datagrams(), &Carrier::Links(&link, &[]), "flow");
    }
    world.run_until(Time::from_secs_f64(1.0), &mut ());
    let [near, far] = [0, 1].map(|link| *world.link(link));
    assert!(near.delivered > 0 && near.refused_queue > 900 && near.lost_channel == 0, "{near:?}");
    assert_eq!((far.delivered, far.lost_channel), (0, far.offered), "{far:?}");
    let station = world.stations(medium)[0].counters;
    assert_eq!((station.queue_drops, station.route_drops), (near.refused_queue, far.lost_channel), "{station:?}");
    assert!(world.queue(0) <= 3 && near.offered - near.delivered - near.refused_queue <= 4, "{near:?}");
}

/// What a flow sends over a string with IEEE 802.11.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Load {
    /// TCP with this window. Acknowledgements pass the medium.
    Tcp(u32),
    /// TCP with this window. Acknowledgements reach the sender without passing the medium.
    FreeAcks(u32),
    /// UDP, faster than the medium.
    Udp,
}

/// The throughput of a flow over a string with IEEE 802.11 in 30 s, bit/s, headers included.
fn dcf(config: &WifiConfig, nodes: usize, load: Load) -> f64 {
    let mut world = World::new(Seed::new(SEED));
    let medium = world.add_medium(config.clone(), &places(nodes), "medium/0");
    let there = [world.add_radio_link(medium, 0, nodes - 1)];
    let back = [world.add_radio_link(medium, nodes - 1, 0)];
    let flow = match load {
        Load::Tcp(window) => world.add_tcp(tcp(window), &Carrier::Links(&there, &back), "flow/0").unwrap(),
        Load::FreeAcks(window) => world.add_tcp(tcp(window), &Carrier::Links(&there, &[]), "flow/0").unwrap(),
        Load::Udp => world.add_udp(datagrams(), &Carrier::Links(&there, &[]), "flow/0"),
    };
    let time = 20.0;
    world.run_until(Time::from_secs_f64(time), &mut ());
    world.totals(flow).packets as f64 * f64::from(PACKET) * 8.0 / time
}

/// A source of 12 Mbit/s, which is faster than any link.
fn datagrams() -> UdpConfig {
    UdpConfig::new(UdpPattern::Periodic { every: Duration::from_millis(1), burst: 1 }, PACKET)
}

/// The bounds of theorem 3.1 and table III with the exchange times of the paper, bit/s. `acks` says whether the reverse
/// link of the last hop carries an acknowledgement for each packet, as in table III.
fn bounds(nodes: usize, k: u32, window: u32, acks: bool) -> [f64; 2] {
    let exchange = paper();
    let eta = if acks { exchange.ack_ratio } else { 0.0 };
    let optimum = equal_load(nodes as u32, k, exchange.attempt_cap, eta).unwrap();
    [scheduling_bound(nodes as u32, k, window).unwrap(), optimum.rho].map(|share| share * exchange.full_bps)
}

#[test]
fn one_tcp_flow_over_802_11_stays_below_theorem_3_1_and_table_iii() {
    let coded = |config: WifiConfig| WifiConfig {
        xor: Some(XorConfig::default()),
        backoff: BackoffRule::Adaptive(AdaptiveBackoff::literal()),
        ..config
    };
    for (capture, k) in [(20.0, 2), (10.0, 1)] {
        let usual = WifiConfig { capture, ..WifiConfig::ns2() };
        // A string of two stations is slow with the adaptive back-off, because the windows of this back-off are large.
        for (mac, config, least) in
            [("standard", usual.clone(), [0.75, 0.9]), ("XOR and adaptive back-off", coded(usual.clone()), [0.7, 0.45])]
        {
            let mut nearest = [0.0f64; 2];
            for nodes in 2..=12 {
                for window in [1, 2, 5, 20] {
                    for load in [Load::Tcp(window), Load::FreeAcks(window)] {
                        let acks = load == Load::Tcp(window);
                        let got = dcf(&config, nodes, load);
                        let ratios = bounds(nodes, k, window, acks).map(|bound| got / bound);
                        assert!(
                            ratios.iter().all(|ratio| *ratio < 1.0),
                            "{mac}, capture {capture}, {nodes} nodes, {load:?}: {ratios:.3?} of the bounds, seed {SEED}"
                        );
                        nearest = [0, 1].map(|i| nearest[i].max(ratios[i]));
                    }
                }
            }
            println!("{mac}, capture {capture}: at most {nearest:.3?} of theorem 3.1 and of table III");
            // If no flow came near the bounds, the bounds would hold for a wrong simulator too.
            assert!(
                nearest[0] > least[0] && nearest[1] > least[1],
                "{mac}, capture {capture}: {nearest:.3?}, seed {SEED}"
            );
        }
    }
}

#[test]
fn one_packet_at_a_time_has_half_of_theorem_3_1() {
    // With W = 1 no two stations contend. The times that the theorem leaves out are constant: back-offs, and the way
    // back of the acknowledgement.
    let config = WifiConfig { capture: 20.0, ..WifiConfig::ns2() };
    for nodes in 2..=12 {
        let share = dcf(&config, nodes, Load::Tcp(1)) / bounds(nodes, 2, 1, true)[0];
        assert!((0.53..0.56).contains(&share), "{nodes} nodes: {share} of theorem 3.1, seed {SEED}");
    }
}

#[test]
fn table_iii_counts_acknowledgements_and_without_them_two_stations_exceed_it() {
    let config = WifiConfig { capture: 20.0, ..WifiConfig::ns2() };
    for load in [Load::Udp, Load::FreeAcks(20)] {
        let got = dcf(&config, 2, load);
        let [with_acks, without] = [true, false].map(|acks| bounds(2, 2, 20, acks)[1]);
        let [over, under] = [got / with_acks, got / without];
        println!(
            "{load:?}: {:.0} kbit/s, {over:.3} of table III, {under:.3} of the optimum without acknowledgements",
            got / 1e3
        );
        assert!(over > 1.15, "{load:?}: {over}, seed {SEED}");
        assert!((0.9..1.0).contains(&under), "{load:?}: {under}, seed {SEED}");
    }
}

#[test]
fn capture_10_lets_two_links_be_active_that_k_2_forbids() {
    // Datagrams from station 0 to 1 and from 3 to 4. The transmitter 3 is two hops from the receiver 1, so with k = 2
    // the links are in conflict. With k = 1 the links are not in conflict.
    let total = |capture: f64| {
        let mut world = World::new(Seed::new(SEED));
        let config = WifiConfig { capture, ..WifiConfig::ns2() };
        let medium = world.add_medium(config, &places(5), "medium/0");
        let links = [(0, 1), (3, 4)].map(|(from, to)| [world.add_radio_link(medium, from, to)]);
        let flows = links.map(|link| world.add_udp(datagrams(), &Carrier::Links(&link, &[]), "flow"));
        world.run_until(Time::from_secs_f64(30.0), &mut ());
        flows.map(|flow| world.totals(flow).packets as f64 * f64::from(PACKET) * 8.0 / 30.0)
    };
    let exchange = paper();
    // The total load of two links in conflict is 2x/(1+2x), if both links attempt as often as the paper allows.
    let loads = Conflicts::of_string(&[2; 2]).unwrap().loads(&[exchange.attempt_cap; 2]).unwrap();
    let bound = loads.iter().sum::<f64>() * exchange.full_bps;
    let [captured, lost] = [10.0, 20.0].map(total);
    println!("capture 10: {captured:.0?}, capture 20: {lost:.0?} bit/s, bound of k = 2: {bound:.0}");
    assert!(captured.iter().sum::<f64>() > 1.1 * bound, "{captured:?} {bound}, seed {SEED}");
    assert!(lost.iter().sum::<f64>() < bound, "{lost:?} {bound}, seed {SEED}");
}

#[test]
fn one_flow_with_capture_10_stays_below_table_iii_for_k_2() {
    let config = WifiConfig { capture: 10.0, ..WifiConfig::ns2() };
    let mut nearest = 0.0f64;
    for nodes in 3..=12 {
        for load in [Load::Udp, Load::FreeAcks(2), Load::FreeAcks(20), Load::Tcp(20)] {
            let ratio = dcf(&config, nodes, load) / bounds(nodes, 2, 20, true)[1];
            assert!(ratio < 1.0, "{nodes} nodes, {load:?}: {ratio:.3} of table III, seed {SEED}");
            nearest = nearest.max(ratio);
        }
    }
    println!("capture 10: at most {nearest:.3} of table III for k = 2");
    assert!(nearest > 0.95, "{nearest}, seed {SEED}");
}
