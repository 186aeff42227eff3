//! Scenarios as a whole: networks, connections and reports.

use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Duplicate, LinkConfig, Loss, Reorder};
use ripstop_sim::scenario::{FlowSpec, RunSpec, Scenario, Tandem, TunnelSpec, run};
use ripstop_sim::tcp::{SenderConfig, Variant};
use ripstop_sim::world::{Body, Carrier, Happening, TcpConfig, World};
use std::collections::BTreeSet;
use std::time::Duration;

/// A link of 2 Mbit/s and 100 ms with this share of random losses.
fn link(loss: f64) -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bps(2_000_000),
        delay: Span::from(Duration::from_millis(100)),
        queue: Some(QueueLimit::Packets(200)),
        loss: if loss > 0.0 { Loss::bernoulli(Fraction::new(loss).expect("a share from 0 to 1")) } else { Loss::None },
        ..LinkConfig::default()
    }
}

/// Paper 000's chain of four links, for a short run.
fn tandem(loss: f64, flow: FlowSpec, tunnel: bool) -> Scenario {
    Tandem {
        run: RunSpec { duration: Span::from(Duration::from_secs(100)), runs: 4, seed: 5, ..RunSpec::default() },
        hops: 4,
        forth: link(loss),
        back: link(loss),
        flows: vec![flow],
        tunnel: tunnel.then(|| TunnelSpec::new("tunnel", "", "")),
    }
    .scenario()
}

/// Two flows with the default settings.
fn flow() -> FlowSpec {
    FlowSpec { count: 2, ..FlowSpec::new("", "") }
}

#[test]
fn a_window_of_one_packet_takes_a_round_trip_per_packet() {
    let mut world = World::new(Seed::new(1));
    let links: Vec<usize> = (0..4).map(|k| world.add_link(&link(0.0), &format!("link/{k}")).unwrap()).collect();
    let sender = SenderConfig { window: 1, ..SenderConfig::default() };
    let config = TcpConfig { sender, ..TcpConfig::default() };
    let flow = world.add_tcp(config, &Carrier::Links(&links[..2], &links[2..]), "flow/0").unwrap();
    // On each link, 40 bytes take 160 us and 1040 bytes take 4160 us. Each link adds a delay of 100
    // ms.
    let syn = 400_000 + 4 * 160;
    let round = 400_000 + 2 * 4160 + 2 * 160;
    world.run_until(Time::from_micros(syn + 10 * round - 1), &mut ());
    assert_eq!((world.totals(flow).packets, world.totals(flow).sent), (10, 11));
    world.run_until(Time::from_micros(syn + 10 * round), &mut ());
    let totals = world.totals(flow);
    assert_eq!((totals.packets, totals.sent, totals.bytes), (10, 12, 10_000));
    assert!((totals.delay.0 / totals.delay.1 as f64 - 0.208_32).abs() < 1e-9, "{totals:?}");
    assert!((totals.window - (syn + 10 * round) as f64 * 1e-6).abs() < 1e-6, "{totals:?}");
    // Events are arrivals, the start, and the alarms of a timer that had been moved to a later
    // time.
    assert!((11 * 4 + 1..11 * 4 + 15).contains(&world.events()), "{}", world.events());
}

#[test]
fn an_observer_and_the_links_count_the_same() {
    let mut world = World::new(Seed::new(2));
    let rough = LinkConfig {
        duplicate: Some(Duplicate {
            probability: Fraction::new(0.1).unwrap(),
            extra_delay: Duration::from_millis(3).into(),
        }),
        reorder: Some(Reorder {
            probability: Fraction::new(0.1).unwrap(),
            extra_delay: Duration::from_millis(30).into(),
        }),
        corrupt: Fraction::new(0.02).unwrap(),
        ..link(0.02)
    };
    let links: Vec<usize> = (0..2).map(|k| world.add_link(&rough, &format!("link/{k}")).unwrap()).collect();
    let flow = world.add_tcp(TcpConfig::default(), &Carrier::Links(&links[..1], &links[1..]), "flow/0").unwrap();
    let (mut offered, mut arrived, mut windows, mut last) = ([0, 0], [0, 0], 0, Time::ZERO);
    world.run_until(Time::from_millis(200_000), &mut |now: Time, happening: Happening<'_>| {
        assert!(now >= last, "time runs backwards, seed 2");
        last = now;
        match happening {
            Happening::Offered { link, packet, .. } => {
                assert!(matches!(packet.body, Body::Data(_)) == (link == 0), "seed 2");
                offered[link] += 1;
            }
            Happening::Arrived { link, .. } => arrived[link] += 1,
            Happening::Window { .. } => windows += 1,
            Happening::Received { flow: number, .. } => assert_eq!(number, flow, "seed 2"),
            Happening::Completed { .. } => panic!("an endless flow completed, seed 2"),
            Happening::Decided { .. } => panic!("the link decides at once, seed 2"),
            Happening::Air { .. } => panic!("there is no medium, seed 2"),
        }
    });
    for link in [0, 1] {
        let (counters, damaged) = (world.link(link), world.damaged(link));
        assert_eq!(counters.offered, offered[link]);
        let due = counters.delivered + counters.duplicated - damaged - world.on_link(link) as u64;
        assert_eq!(arrived[link], due, "seed 2, link {link}: {counters:?}");
        assert!(damaged > 0 && counters.duplicated > 0 && counters.overtakes > 0, "seed 2: {counters:?}");
    }
    let totals = world.totals(flow);
    assert!(totals.packets > 1_000 && windows > totals.packets, "seed 2: {totals:?}");
    assert_eq!(totals.bytes, 1000 * totals.packets);
}

#[test]
fn the_tunnel_hides_losses_in_both_directions() {
    let plain = run(&tandem(0.015, flow(), false), 2, || ()).unwrap();
    let through = tandem(0.015, flow(), true);
    let tunnel = run(&through, 2, || ()).unwrap();
    let mean = |report: &ripstop_sim::scenario::ScenarioReport| report.goodput_bps.mean.unwrap_or(0.0);
    assert!(mean(&tunnel) > 5.0 * mean(&plain), "seed 5: {plain:?} {tunnel:?}");
    let again = [&plain, &tunnel].map(|report| report.flows[0].retransmits);
    // One of the four runs has a time-out, which retransmits a window.
    assert!(again[0].mean > Some(35.0) && again[1].mean < Some(30.0), "seed 5: {again:?}");
    let mut backwards = through;
    let ends = (backwards.flow[0].to.clone(), backwards.flow[0].from.clone());
    (backwards.flow[0].from, backwards.flow[0].to) = ends;
    let backwards = run(&backwards, 2, || ()).unwrap();
    assert!(mean(&backwards) > 5.0 * mean(&plain), "seed 5: {backwards:?}");
    // A packet that does not fit the tunnel is refused, not cut.
    let large = tandem(0.0, FlowSpec { packet: "1460B".parse().unwrap(), ..flow() }, true);
    let error = run(&large, 1, || ()).unwrap_err().to_string();
    assert!(error.contains("`flow[0].packet`") && error.contains("at most 1396 bytes"), "{error}");
}

#[test]
fn flows_follow_any_topology() {
    // A ring of one-way links, and a short cut that the second flow does not use.
    let text = r#"
        [run]
        duration = "20s"
        runs = 2
        [[link]]
        between = ["a", "b"]
        forth = { rate = "1Mbit/s", delay = "10ms" }
        one-way = true
        [[link]]
        between = ["b", "c"]
        forth = { rate = "1Mbit/s", delay = "20ms" }
        one-way = true
        [[link]]
        between = ["c", "a"]
        forth = { rate = "1Mbit/s", delay = "30ms" }
        one-way = true
        [[link]]
        between = ["a", "c"]
        forth = { rate = "1Mbit/s", delay = "1ms" }
        one-way = true
        [[flow]]
        name = "short"
        from = "a"
        to = "c"
        window = 1
        [[flow]]
        name = "long"
        from = "a"
        to = "c"
        route = ["a", "b", "c"]
        window = 1
    "#;
    let report = run(&Scenario::parse(text).unwrap(), 1, || ()).unwrap();
    let srtt: Vec<f64> = report.flows.iter().map(|flow| flow.srtt_s.mean.unwrap()).collect();
    // The delays are 31 ms and 60 ms. Serialisation adds 8.32 ms per link. The sender measures in ticks of 10 ms.
    assert!((0.03..0.05).contains(&srtt[0]) && (0.07..0.09).contains(&srtt[1]), "{srtt:?}");
}

#[test]
fn threads_and_intervals_change_nothing() {
    let mut scenario = tandem(0.01, flow(), false);
    let one = run(&scenario, 1, || ()).unwrap();
    for threads in [2, 3, 16] {
        assert_eq!(one, run(&scenario, threads, || ()).unwrap(), "{threads} threads, seed 5");
    }
    scenario.run.intervals = [[0, 40], [40, 100], [20, 60]]
        .map(|pair| pair.map(|seconds| Span::from(Duration::from_secs(seconds))))
        .to_vec();
    let cut = run(&scenario, 2, || ()).unwrap();
    assert_eq!((&cut.flows, cut.events), (&one.flows, one.events));
    let part = |k: usize| cut.intervals[k].goodput_bps.mean.unwrap();
    let whole = (40.0 * part(0) + 60.0 * part(1)) / 100.0;
    assert!((whole / one.goodput_bps.mean.unwrap() - 1.0).abs() < 1e-9);
}

#[test]
fn delayed_acknowledgements_are_fewer() {
    let count = |ack_every: u32| {
        let mut world = World::new(Seed::new(3));
        let links: Vec<usize> = (0..2).map(|k| world.add_link(&link(0.0), &format!("link/{k}")).unwrap()).collect();
        let config = TcpConfig { ack_every, ..TcpConfig::default() };
        let flow = world.add_tcp(config, &Carrier::Links(&links[..1], &links[1..]), "flow/0").unwrap();
        world.run_until(Time::from_millis(60_000), &mut ());
        (world.totals(flow).packets, world.link(links[1]).offered)
    };
    let ((packets, acks), (delayed_packets, delayed_acks)) = (count(1), count(2));
    assert!(acks >= packets && delayed_packets * 10 > packets * 9, "{packets} {delayed_packets}");
    assert!((0.49..0.55).contains(&(delayed_acks as f64 / delayed_packets as f64)), "{delayed_acks}");
}

#[test]
fn a_thousand_flows_share_a_link() {
    let many = FlowSpec { count: 1000, window: 4, ..FlowSpec::new("", "") };
    let mut scenario = tandem(0.0, many, false);
    scenario.run.runs = 1;
    let report = run(&scenario, 1, || ()).unwrap();
    // The rate of 2 Mbit/s carries 1000 bytes of payload in each 1040 bytes. Packets that the queue drops reduce the
    // total.
    let total = report.goodput_bps.mean.unwrap() * 1000.0;
    assert!((1_500_000.0..1_923_100.0).contains(&total), "{total}");
    assert_eq!(report.flows.len(), 1000);
}

#[test]
fn links_are_charged_what_ns2_charges() {
    // The sizes of data packets, and the sizes of acknowledgements with their numbers of SACK blocks.
    let sizes = |variant: Variant| {
        let mut world = World::new(Seed::new(6));
        let links: Vec<usize> = (0..2).map(|k| world.add_link(&link(0.03), &format!("link/{k}")).unwrap()).collect();
        let config = TcpConfig { variant, ..TcpConfig::default() };
        world.add_tcp(config, &Carrier::Links(&links[..1], &links[1..]), "flow/0").unwrap();
        let (mut data, mut acks) = (BTreeSet::new(), BTreeSet::new());
        world.run_until(Time::from_millis(100_000), &mut |_: Time, happening: Happening<'_>| {
            if let Happening::Offered { packet, .. } = happening {
                match &packet.body {
                    Body::Ack(ack) => acks.insert((packet.bytes, ack.blocks().count())),
                    _ => data.insert(packet.bytes),
                };
            }
        });
        (Vec::from_iter(data), Vec::from_iter(acks))
    };
    for variant in [Variant::Tahoe, Variant::Reno, Variant::NewReno] {
        assert_eq!(sizes(variant), (vec![40, 1040], vec![(40, 0)]), "{variant:?}, seed 6");
    }
    assert_eq!(sizes(Variant::Vegas), (vec![1000], vec![(40, 0)]), "seed 6");
    let blocks = vec![(40, 0), (48, 1), (56, 2), (64, 3)];
    assert_eq!(sizes(Variant::Sack), (vec![40, 1040], blocks), "seed 6");
    let (data, acks) = sizes(Variant::Cubic);
    assert!(data == [40, 1040] && acks.contains(&(48, 1)) && acks[0] == (40, 0), "{acks:?}, seed 6");
}
