//! The tunnel session in virtual time: what a steady sender notices, and how a TCP inside fares.

use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Blackout, Change, LinkConfig, Loss};
use ripstop_proto::session::tunnel::{Config, Event};
use ripstop_sim::engine::percentile;
use ripstop_sim::network::{Carrier, FlowConfig, Happening, Hosts, Network, STAMPED_HEADERS};
use ripstop_sim::tcp::{SenderConfig, Variant};
use ripstop_sim::tunnel::{Parcel, Side, Traffic, World};
use std::time::Duration;

fn path(loss: f64) -> LinkConfig {
    let loss = Fraction::new(loss).expect("a share");
    LinkConfig::path(Rate::from_bps(20_000_000), Duration::from_millis(100), loss)
}

/// One connection between kernels that always has more to send, through a tunnel over these links.
fn connected(variant: Variant, link: &LinkConfig, seed: Seed) -> Network {
    let mut network = Network::new(seed);
    let links = ["link/0", "link/1"].map(|name| network.add_link(link, name).expect("a link"));
    let config = Config::default();
    let payload = config.inner_mtu() - STAMPED_HEADERS;
    let tunnel = network.add_tunnel(&config, &links[..1], &links[1..], "tunnel");
    let (sender, hosts) = (SenderConfig::linux(), Hosts::Kernels);
    let flow = FlowConfig { variant, sender, hosts, payload, ack_every: 2, ..FlowConfig::default() };
    network.add_flow(flow, &Carrier::Tunnel { tunnel, backwards: false }, "flow").expect("a flow");
    network
}

/// Bytes that the left end's flows delivered from one time to another (s), as bit/s.
fn goodput(world: &mut World<Parcel>, from: f64, to: f64) -> f64 {
    let bytes = |world: &World<Parcel>| world.flows(Side::Left).map(|(_, flow)| flow.bytes).sum::<u64>();
    world.run_until(Time::from_secs_f64(from));
    let before = bytes(world);
    world.run_until(Time::from_secs_f64(to));
    (bytes(world) - before) as f64 * 8.0 / (to - from)
}

#[test]
fn a_sender_that_never_pauses_notices_a_silence() {
    let cut = Blackout {
        at: Span::from(Duration::from_secs(5)),
        length: Span::from(Duration::from_secs(10)),
        every: None,
    };
    let link = LinkConfig { blackouts: vec![cut], ..path(0.0) };
    let seed = Seed::new(11);
    let mut world: World<Parcel> =
        World::new([Config::default(), Config::default()], [link.clone(), link], seed).unwrap();
    // More often than a probe time-out passes.
    world.add(Side::Left, Traffic::poisson(1, 300, 100.0), seed);
    world.run_until(Time::from_secs_f64(20.0));
    let events = world.tunnel_events(Side::Left);
    let silent = events.iter().find(|(_, event)| *event == Event::Silent).expect("a silence, seed 11");
    let heard = events.iter().find(|(_, event)| *event == Event::Heard).expect("an end of it, seed 11");
    assert!(silent.0 > Time::from_secs_f64(5.0) && silent.0 < Time::from_secs_f64(6.5), "{silent:?}");
    assert!(heard.0 > Time::from_secs_f64(15.0) && heard.0 < Time::from_secs_f64(16.5), "{heard:?}");
}

#[test]
fn a_tcp_inside_is_told_of_no_loss_but_by_the_way_in() {
    for (run, loss) in [(1, 0.0), (2, 0.05), (4, 0.2)] {
        let seed = Seed::new(12).run(run);
        let mut network = connected(Variant::LinuxCubic, &path(loss), seed);
        let (mut window, mut acknowledgements) = (0.0, 0);
        network.run_until(Time::from_secs_f64(12.0), &mut |_: Time, happening: Happening<'_>| {
            if let Happening::Window { cwnd, .. } = happening {
                (window, acknowledgements) = (cwnd, acknowledgements + 1);
            }
        });
        let (tcp, [left, right]) = (network.totals(0), network.tunnel(0));
        let why =
            format!("seed 12 run {run}, loss {loss}: {tcp:?} {:?} {:?}", network.mechanisms(0), left.drops);
        assert!(tcp.packets > 5_000, "{why}");
        assert_eq!(right.received.recovered > 0, loss > 0.0, "{why}");
        assert_eq!((left.given_up, left.drops.full, left.drops.expired), (0, 0, 0), "{why}");
        // What it sent again is what the queue dropped to slow it down, and what a time-out took for lost.
        assert!(tcp.retransmits <= left.drops.aqm + 300 * tcp.timeouts, "{why}");
        let reductions = tcp.fast_retransmits + tcp.timeouts;
        assert!(reductions <= left.drops.aqm + tcp.timeouts && window > 10.0, "{why}");
        // What was recovered comes out at once, and is acknowledged at once.
        assert_eq!(tcp.merged_acks > 0, loss > 0.0, "{why}");
        assert!(acknowledgements < tcp.packets * 6 / 10, "{acknowledgements}, {why}");
        assert_eq!(network.strays(0), 0, "{why}");
    }
}

#[test]
fn what_stays_unanswered_is_asked_after() {
    for (run, loss) in [(1, 0.0), (2, 0.2)] {
        let seed = Seed::new(13).run(run);
        let mut world: World<Parcel> =
            World::new([Config::default(), Config::default()], [path(loss), path(loss)], seed).unwrap();
        // Each packet is the last one for a while.
        world.add(Side::Left, Traffic::poisson(1, 300, 2.0), seed);
        world.run_until(Time::from_secs_f64(60.0));
        let sent = world.status(Side::Left).sent;
        assert_eq!(sent.tail_probes > 0, loss > 0.0, "seed 13 run {run}: {sent:?}");
        // Most pauses end with the answer to that, and are never taken for a silence.
        let events = world.tunnel_events(Side::Left);
        let silent = events.iter().filter(|(_, event)| *event == Event::Silent).count() as u64;
        assert!(2 * silent <= sent.tail_probes, "seed 13 run {run}: {silent} {sent:?}");
    }
}

/// Jitter that keeps the order: sparse packets see all of it, dense ones little but its upper end, which stands like a queue.
#[test]
fn a_delay_that_does_not_shrink_is_taken_for_the_paths() {
    let (mut shares, mut accepted) = (Vec::new(), 0);
    for run in 0..8 {
        let seed = Seed::new(7).run(run);
        let link = LinkConfig { jitter: Span::from(Duration::from_millis(20)), ..path(0.05) };
        let config = Config::default();
        let mut world: World<Parcel> =
            World::new([config.clone(), config.clone()], [link.clone(), link], seed).unwrap();
        world.add(Side::Left, Traffic::greedy(1, config.inner_mtu()), seed);
        shares.push(goodput(&mut world, 2.0, 12.0) / (20e6 * 0.95));
        accepted += world.status(Side::Left).path.delays_accepted;
    }
    assert!(accepted > 0, "seed 7: no delay was taken for the path's own");
    assert!(shares.iter().all(|share| *share > 0.4), "seed 7, run by run: {shares:.2?}");
}

/// A path that becomes slower has a queue that takes many rounds to shrink; one that becomes longer, none.
#[test]
fn a_slower_path_and_a_longer_one_are_told_apart() {
    let change = |seconds| Change { at: Span::from(Duration::from_secs(seconds)), ..Change::default() };
    let slower = Change { rate: Some(Rate::from_bps(5_000_000)), ..change(6) };
    let longer = Change { delay: Some(Span::from(Duration::from_millis(90))), ..change(14) };
    let link = LinkConfig { schedule: vec![slower, longer], ..path(0.05) };
    let (mut fast, mut slow, mut long) = (Vec::new(), Vec::new(), Vec::new());
    let mut accepted = [0, 0];
    for run in 0..7 {
        let (seed, config) = (Seed::new(14).run(run), Config::default());
        let mut world: World<Parcel> =
            World::new([config.clone(), config.clone()], [link.clone(), link.clone()], seed).unwrap();
        world.add(Side::Left, Traffic::greedy(1, config.inner_mtu()), seed);
        fast.push(goodput(&mut world, 2.0, 6.0) / (20e6 * 0.95));
        slow.push(goodput(&mut world, 8.0, 14.0) / (5e6 * 0.95));
        accepted[0] += world.status(Side::Left).path.delays_accepted;
        long.push(goodput(&mut world, 18.0, 26.0) / (5e6 * 0.95));
        accepted[1] += world.status(Side::Left).path.delays_accepted;
    }
    let medians = [&mut fast, &mut slow, &mut long].map(|shares| percentile(shares, 50.0).expect("some"));
    assert!(medians.iter().all(|share| *share > 0.8), "seed 14: {fast:.2?} {slow:.2?} {long:.2?}");
    // The full queue of the slower path looks like a delay of its own for a while, now and then.
    assert!(accepted[0] <= 2 && accepted[1] - accepted[0] >= 5, "seed 14: {accepted:?}");
}

/// A fast long path whose queue is short: a start-up's overrun loses thousands of symbols, in more places than a report lists.
#[test]
fn a_loss_of_very_many_is_brought_back_in_time() {
    let loss = Fraction::new(0.1).expect("a share");
    let mut link = LinkConfig::path(Rate::from_bps(400_000_000), Duration::from_millis(300), loss);
    link.queue = Some(QueueLimit::Bytes(1_500_000));
    let seed = Seed::new(15);
    // With room for the repairs that wait, and with too little: some symbols are given up then, and it goes on.
    for (matrix_bytes, is_full, least) in
        [(Config::default().matrix_bytes, false, 120_000), (1_000_000, true, 40_000)]
    {
        let config = Config { matrix_bytes, ..Config::default() };
        let mut world: World<Parcel> =
            World::new([config.clone(), config.clone()], [link.clone(), link.clone()], seed).unwrap();
        world.add(Side::Left, Traffic::greedy(1, config.inner_mtu()), seed);
        world.run_until(Time::from_secs_f64(8.0));
        let (left, right) = (world.status(Side::Left), world.status(Side::Right));
        let refused = world.link(Side::Left).refused_queue;
        let why = format!("seed 15, {matrix_bytes} bytes: {refused} refused, {left:?}, {right:?}");
        assert!(refused > 10_000 && right.received.wide > 0, "{why}");
        assert_eq!((right.received.full > 0, left.given_up > 0), (is_full, is_full), "{why}");
        assert_eq!(
            (left.given_up < right.received.given_up, world.violations().count()),
            (false, 0),
            "{why}"
        );
        assert!(right.order.delivered > least, "{why}");
    }
}

/// Long runs of losses both ways: one of them takes a whole flight, its repairs and the reports of what came before.
#[test]
fn a_start_does_not_stand_still_in_long_runs_of_losses() {
    let loss = Loss::Gilbert { mean: Fraction::new(0.17).expect("a share"), burst: 11.0 };
    let link = LinkConfig { loss, ..path(0.0) };
    let (mut shares, mut repeats) = (Vec::new(), 0);
    for run in 0..10 {
        let mut network = connected(Variant::Bbr, &link, Seed::new(16).run(run));
        network.run_until(Time::from_secs_f64(10.0), &mut ());
        shares.push(network.totals(0).bytes as f64 * 8.0 / 10.0 / (20e6 * 0.83));
        repeats += network.tunnel(0).iter().map(|end| end.received.repeats).sum::<u64>();
    }
    assert!(repeats > 0, "seed 16: no report was repeated");
    let median = percentile(&mut shares, 50.0).expect("some");
    assert!(median > 0.45, "seed 16: {shares:.2?}");
}

/// A path that holds thousands of packets, with long runs of losses: what hides them is repairs over symbols that lie apart, and for what
/// they do not mend, repairs of many holes together.
#[test]
fn a_path_of_many_packets_is_filled_in_spite_of_runs_of_losses() {
    let loss = Loss::Gilbert { mean: Fraction::new(0.1).expect("a share"), burst: 10.0 };
    let link = LinkConfig {
        queue: Some(QueueLimit::Bytes(1_500_000)),
        loss: loss.clone(),
        ..LinkConfig::path(Rate::from_bps(200_000_000), Duration::from_millis(100), Fraction::ZERO)
    };
    let mut shares = Vec::new();
    let (mut spread, mut ranges) = (0, 0);
    for run in 0..3 {
        let mut network = connected(Variant::Bbr, &link, Seed::new(17).run(run));
        let bytes = [3.0, 8.0].map(|at| {
            network.run_until(Time::from_secs_f64(at), &mut ());
            network.totals(0).bytes
        });
        shares.push((bytes[1] - bytes[0]) as f64 * 8.0 / 5.0 / (200e6 * 0.9));
        let repairs = network.tunnel(0)[0].repairs;
        (spread, ranges) = (spread + repairs.spread, ranges + repairs.ranges);
    }
    assert!(spread > 0 && ranges > 0, "seed 17: {spread} spread, {ranges} over ranges");
    let median = percentile(&mut shares, 50.0).expect("some");
    assert!(median > 0.78, "seed 17: {shares:.2?}");
}

/// A busy machine: what comes is taken in late, and timers ring late. What the pacer lost by that must not set the pace.
#[test]
fn a_late_processor_costs_little() {
    let share = |run: u64, late: u64, loss: f64| {
        let mut network = connected(Variant::Bbr, &path(loss), Seed::new(16).run(run));
        network.set_lateness(0, Duration::from_millis(late));
        let mut bytes = [2.0, 22.0].map(|at| {
            network.run_until(Time::from_secs_f64(at), &mut ());
            network.totals(0).bytes
        });
        bytes[1] -= bytes[0];
        assert_eq!(network.strays(0), 0, "seed 16 run {run}");
        bytes[1] as f64 * 8.0 / 20.0 / (20e6 * (1.0 - loss))
    };
    for (late, loss, least) in
        [(2, 0.0, 0.85), (10, 0.0, 0.8), (30, 0.0, 0.6), (10, 0.05, 0.75), (30, 0.05, 0.5)]
    {
        let mut shares: Vec<f64> = (0..3).map(|run| share(run, late, loss)).collect();
        let median = percentile(&mut shares, 50.0).expect("some");
        assert!(median > least, "seed 16: {late} ms late, loss {loss}: {shares:.3?}");
    }
}
