//! The tunnel session in virtual time: how it reacts to outages and changes of the path, and how a
//! TCP inside the tunnel performs.

use crate::common::{LINKS, TUNNEL, add_source, connected, goodput, tunnel};
use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Blackout, Change, LinkConfig, Loss, Mark};
use ripstop_proto::path::PathEvent;
use ripstop_proto::session::tunnel::{TunnelConfig, TunnelEvent};
use ripstop_sim::engine::percentile;
use ripstop_sim::tcp::Variant;
use ripstop_sim::world::{Happening, Incident, UdpConfig};
use std::time::Duration;

/// A path of 20 Mbit/s and 100 ms with this share of random losses.
fn path(loss: f64) -> LinkConfig {
    let loss = Fraction::new(loss).expect("a share from 0 to 1");
    LinkConfig::path(Rate::from_bps(20_000_000), Duration::from_millis(100), loss)
}

#[test]
fn a_steady_sender_detects_a_silent_peer() {
    let cut =
        Blackout { at: Span::from(Duration::from_secs(5)), length: Span::from(Duration::from_secs(10)), every: None };
    let link = LinkConfig { blackouts: vec![cut], ..path(0.0) };
    let seed = Seed::new(11);
    let mut world = tunnel(&TunnelConfig::default(), [&link; 2], seed).expect("the links are valid");
    // The mean time between two packets is shorter than the probe time-out.
    add_source(&mut world, UdpConfig::poisson(300, 100.0));
    world.run_until(Time::from_secs_f64(20.0), &mut ());
    let events = world.tunnel_events(TUNNEL, 0);
    let silent = events
        .iter()
        .find(|(_, event)| *event == TunnelEvent::Path(PathEvent::Silent))
        .expect("the sender reports a silence, seed 11");
    let heard = events
        .iter()
        .find(|(_, event)| *event == TunnelEvent::Path(PathEvent::Heard))
        .expect("the sender reports the end of the silence, seed 11");
    assert!(silent.0 > Time::from_secs_f64(5.0) && silent.0 < Time::from_secs_f64(6.5), "{silent:?}");
    assert!(heard.0 > Time::from_secs_f64(15.0) && heard.0 < Time::from_secs_f64(16.5), "{heard:?}");
}

#[test]
fn a_tcp_inside_sees_only_the_losses_of_the_tunnels_queue() {
    for (run, loss) in [(1, 0.0), (2, 0.05), (4, 0.2)] {
        let seed = Seed::new(12).run(run);
        let mut world = connected(Variant::LinuxCubic, &path(loss), seed);
        let (mut window, mut acknowledgements) = (0.0, 0);
        world.run_until(Time::from_secs_f64(12.0), &mut |_: Time, happening: Happening<'_>| {
            if let Happening::Window { cwnd, .. } = happening {
                (window, acknowledgements) = (cwnd, acknowledgements + 1);
            }
        });
        let (tcp, [left, right]) = (world.totals(0), world.tunnel(0));
        let why = format!("seed 12 run {run}, loss {loss}: {tcp:?} {:?} {:?}", world.mechanisms(0), left.drops);
        assert!(tcp.packets > 5_000, "{why}");
        assert_eq!(right.received.recovered > 0, loss > 0.0, "{why}");
        assert_eq!((left.taken.given_up, left.drops.full, left.drops.expired), (0, 0, 0), "{why}");
        // TCP may retransmit only packets that the queue dropped to slow TCP down, and packets that a time-out declared
        // lost.
        assert!(tcp.retransmits <= left.drops.aqm + 300 * tcp.timeouts, "{why}");
        let reductions = tcp.fast_retransmits + tcp.timeouts;
        assert!(reductions <= left.drops.aqm + tcp.timeouts && window > 10.0, "{why}");
        // Recovered packets come out together, and receive offload merges their acknowledgements.
        assert_eq!(tcp.merged_acks > 0, loss > 0.0, "{why}");
        assert!(acknowledgements < tcp.packets * 6 / 10, "{acknowledgements}, {why}");
        assert_eq!(world.strays(), 0, "{why}");
    }
}

#[test]
fn unacknowledged_datagrams_cause_a_tail_probe() {
    for (run, loss) in [(1, 0.0), (2, 0.2)] {
        let seed = Seed::new(13).run(run);
        let mut world = tunnel(&TunnelConfig::default(), [&path(loss); 2], seed).expect("the links are valid");
        // A pause follows each packet.
        add_source(&mut world, UdpConfig::poisson(300, 2.0));
        world.run_until(Time::from_secs_f64(600.0), &mut ());
        let sent = world.tunnel(TUNNEL)[0].path.sent;
        assert_eq!(sent.tail_probes > 0, loss > 0.0, "seed 13 run {run}: {sent:?}");
        // Most pauses end with the answer to the probe, so these pauses are not reported as a silence.
        let events = world.tunnel_events(TUNNEL, 0);
        let silent = events.iter().filter(|(_, event)| *event == TunnelEvent::Path(PathEvent::Silent)).count() as u64;
        assert!(2 * silent <= sent.tail_probes, "seed 13 run {run}: {silent} {sent:?}");
    }
}

/// The link has jitter that keeps the order of packets. Sparse packets see the whole range of the jitter. Dense packets
/// see only the upper end of the range, which looks like a standing queue.
#[test]
fn jitter_is_not_taken_for_a_queue_for_long() {
    let mut shares = Vec::new();
    for run in 0..8 {
        let seed = Seed::new(7).run(run);
        let link = LinkConfig { jitter: Span::from(Duration::from_millis(20)), ..path(0.05) };
        let config = TunnelConfig::default();
        let mut world = tunnel(&config, [&link; 2], seed).expect("the links are valid");
        let source = add_source(&mut world, UdpConfig::greedy(config.inner_mtu()));
        shares.push(goodput(&mut world, source, 2.0, 12.0) / (20e6 * 0.95));
    }
    // docs/limits.md: now and then, the jitter looks like a queue that others keep.
    let few = shares.iter().filter(|share| **share < 0.4).count();
    assert!(few <= 1 && shares.iter().all(|share| *share > 0.15), "seed 7, run by run: {shares:.2?}");
}

/// A path that becomes slower builds a queue, which takes many rounds to shrink. A path that
/// becomes longer has no queue.
#[test]
fn a_slower_path_and_a_longer_path_are_distinguished() {
    let change = |seconds| Change { at: Span::from(Duration::from_secs(seconds)), ..Change::default() };
    let slower = Change { rate: Some(Rate::from_bps(5_000_000)), ..change(6) };
    let longer = Change { delay: Some(Span::from(Duration::from_millis(90))), ..change(14) };
    let link = LinkConfig { schedule: vec![slower, longer], ..path(0.05) };
    let (mut fast, mut slow, mut long) = (Vec::new(), Vec::new(), Vec::new());
    let mut accepted = [0, 0];
    for run in 0..7 {
        let (seed, config) = (Seed::new(14).run(run), TunnelConfig::default());
        let mut world = tunnel(&config, [&link; 2], seed).expect("the links are valid");
        let source = add_source(&mut world, UdpConfig::greedy(config.inner_mtu()));
        fast.push(goodput(&mut world, source, 2.0, 6.0) / (20e6 * 0.95));
        slow.push(goodput(&mut world, source, 8.0, 14.0) / (5e6 * 0.95));
        accepted[0] += world.tunnel(TUNNEL)[0].path.view.delays_accepted;
        long.push(goodput(&mut world, source, 18.0, 26.0) / (5e6 * 0.95));
        accepted[1] += world.tunnel(TUNNEL)[0].path.view.delays_accepted;
    }
    let medians =
        [&mut fast, &mut slow, &mut long].map(|shares| percentile(shares, 50.0).expect("there is at least one sample"));
    assert!(medians.iter().all(|share| *share > 0.8), "seed 14: {fast:.2?} {slow:.2?} {long:.2?}");
    // Now and then, the full queue of the slower path looks like a longer delay for a while.
    assert!(accepted[0] <= 2 && accepted[1] - accepted[0] >= 5, "seed 14: {accepted:?}");
}

/// The path is fast and long, and its queue is short. The overshoot of slow start loses thousands of symbols, in more
/// places than a report can list.
#[test]
fn a_loss_of_very_many_is_brought_back_in_time() {
    let loss = Fraction::new(0.1).expect("a share from 0 to 1");
    let mut link = LinkConfig::path(Rate::from_bps(400_000_000), Duration::from_millis(300), loss);
    link.queue = Some(QueueLimit::Bytes(1_500_000));
    let seed = Seed::new(15);
    // The first case has memory for all repairs that wait. The second case has too little memory, so repairs that answer
    // reports displace other repairs.
    for (matrix_bytes, is_full) in [(TunnelConfig::default().matrix_bytes, false), (1_000_000, true)] {
        let config = TunnelConfig { matrix_bytes, ..TunnelConfig::default() };
        let mut world = tunnel(&config, [&link; 2], seed).expect("the links are valid");
        add_source(&mut world, UdpConfig::greedy(config.inner_mtu()));
        world.run_until(Time::from_secs_f64(8.0), &mut ());
        let [left, right] = world.tunnel(TUNNEL);
        let refused = world.link(LINKS[0]).refused_queue;
        let why = format!("seed 15, {matrix_bytes} bytes: {refused} refused, {left:?}, {right:?}");
        assert!(refused > 10_000 && right.received.wide > 0, "{why}");
        assert_eq!((right.received.full > 0, right.received.discarded > 0), (is_full, is_full), "{why}");
        assert_eq!((left.taken.given_up, right.received.given_up, world.strays()), (0, 0, 0), "{why}");
        assert!(right.order.delivered > 120_000, "{why}");
    }
}

/// Both directions have long loss bursts. In one burst, a whole flight, its repairs, and the reports of earlier packets
/// can be lost.
#[test]
fn long_runs_of_losses_do_not_stall_a_start() {
    let loss = Loss::Gilbert { mean: Fraction::new(0.17).expect("a share from 0 to 1"), burst: 11.0 };
    let link = LinkConfig { loss, ..path(0.0) };
    let (mut shares, mut repeats) = (Vec::new(), 0);
    for run in 0..10 {
        let mut world = connected(Variant::Bbr, &link, Seed::new(16).run(run));
        world.run_until(Time::from_secs_f64(10.0), &mut ());
        shares.push(world.totals(0).bytes as f64 * 8.0 / 10.0 / (20e6 * 0.83));
        repeats += world.tunnel(0).iter().map(|end| end.path.received.repeats).sum::<u64>();
    }
    assert!(repeats > 0, "seed 16: no report was repeated");
    let median = percentile(&mut shares, 50.0).expect("there is at least one sample");
    assert!(median > 0.45, "seed 16: {shares:.2?}");
}

/// The path holds thousands of packets, and has long loss bursts. Repairs over spread symbols hide most losses, and
/// repairs over ranges of missing symbols recover the rest.
#[test]
fn runs_of_losses_leave_a_long_fast_path_filled() {
    let loss = Loss::Gilbert { mean: Fraction::new(0.1).expect("a share from 0 to 1"), burst: 10.0 };
    let link = LinkConfig {
        queue: Some(QueueLimit::Bytes(1_500_000)),
        loss: loss.clone(),
        ..LinkConfig::path(Rate::from_bps(200_000_000), Duration::from_millis(100), Fraction::ZERO)
    };
    let mut shares = Vec::new();
    let (mut spread, mut ranges) = (0, 0);
    for run in 0..3 {
        let mut world = connected(Variant::Bbr, &link, Seed::new(17).run(run));
        let bytes = [3.0, 8.0].map(|at| {
            world.run_until(Time::from_secs_f64(at), &mut ());
            world.totals(0).bytes
        });
        shares.push((bytes[1] - bytes[0]) as f64 * 8.0 / 5.0 / (200e6 * 0.9));
        let repairs = world.tunnel(0)[0].repairs;
        (spread, ranges) = (spread + repairs.spread, ranges + repairs.ranges);
    }
    assert!(spread > 0 && ranges > 0, "seed 17: {spread} spread, {ranges} over ranges");
    let median = percentile(&mut shares, 50.0).expect("there is at least one sample");
    assert!(median > 0.75, "seed 17: {shares:.2?}");
}

/// On a busy machine, packets are handled late and timers expire late. This delay must not limit
/// the rate.
#[test]
fn a_late_processor_costs_little() {
    let share = |run: u64, late: u64, loss: f64| {
        let mut world = connected(Variant::Bbr, &path(loss), Seed::new(16).run(run));
        let most = Duration::from_millis(late);
        world.schedule(Time::ZERO, Incident::LateProcessor { tunnel: TUNNEL, most });
        let mut bytes = [2.0, 22.0].map(|at| {
            world.run_until(Time::from_secs_f64(at), &mut ());
            world.totals(0).bytes
        });
        bytes[1] -= bytes[0];
        assert_eq!(world.strays(), 0, "seed 16 run {run}");
        let competitions = world.tunnel(TUNNEL)[0].path.view.competitions;
        assert!(late > 10 || competitions == 0, "seed 16 run {run}: {competitions} competitions with nobody");
        bytes[1] as f64 * 8.0 / 20.0 / (20e6 * (1.0 - loss))
    };
    for (late, loss, least) in [(2, 0.0, 0.85), (10, 0.0, 0.8), (30, 0.0, 0.6), (10, 0.05, 0.75), (30, 0.05, 0.5)] {
        let mut shares: Vec<f64> = (0..3).map(|run| share(run, late, loss)).collect();
        let median = percentile(&mut shares, 50.0).expect("there is at least one sample");
        assert!(median > least, "seed 16: {late} ms late, loss {loss}: {shares:.3?}");
    }
}

/// An ECN-capable tunnel runs over a link that marks packets. The marks reach the sender, which slows down without
/// losses.
#[test]
fn ecn_marks_reach_the_sender() {
    let of = |ecn: bool| {
        let link = LinkConfig { mark: Some(Mark::Queue(QueueLimit::Packets(20))), ..path(0.0) };
        let config = TunnelConfig { ecn, ..TunnelConfig::default() };
        let mut world = tunnel(&config, [&link; 2], Seed::new(18)).expect("the links are valid");
        add_source(&mut world, UdpConfig::greedy(config.inner_mtu()));
        world.run_until(Time::from_secs_f64(10.0), &mut ());
        let [left, right] = world.tunnel(TUNNEL);
        (world.link_totals(LINKS[0]), left, right)
    };
    let (totals, left, right) = of(true);
    assert!(totals.marked > 0 && right.path.received.marked == totals.marked, "seed 18: {totals:?} {right:?}");
    assert!(left.path.sent.peer_marked > 0, "seed 18: {left:?}");
    assert!(TunnelConfig::default().ecn);
    let (totals, _, right) = of(false);
    assert!(totals.counters.congested > 0, "seed 18: {totals:?}");
    assert_eq!((totals.marked, right.path.received.marked), (0, 0), "seed 18");
}
