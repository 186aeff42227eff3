//! The tunnel alone over a virtual link, one greedy flow: share, sent/useful and delays over a grid. (With connections inside:
//! `ripstop sim tandem --hops 1 --tunnel`.)
//!
//! `cargo run --release -p ripstop-sim --example tunnel -- [RATE RTT [LOSS ...]]`
//!
//! RUNS=N repeats each with other seeds, JITTER=20ms adds jitter, QUEUE=15 sets the queue, TRACE=1 prints what the sender does every
//! 25 ms.

use ripstop_base::{Fraction, Rate, Seed, Span, Time};
use ripstop_link::{LinkConfig, Loss};
use ripstop_proto::session::tunnel::Config;
use ripstop_sim::engine::percentile;
use ripstop_sim::tunnel::{Parcel, Side, Traffic, World};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rate: Rate = args.first().map_or(Rate::from_bps(20_000_000), |a| a.parse().expect("rate"));
    let rtt: Span = args.get(1).map_or("100ms".parse().unwrap(), |a| a.parse().expect("rtt"));
    let losses: Vec<Fraction> = if args.len() > 2 {
        args[2..].iter().map(|a| a.parse().expect("loss")).collect()
    } else {
        ["0", "1%", "2%", "5%", "10%", "20%", "30%"].iter().map(|a| a.parse().unwrap()).collect()
    };
    println!("loss    share   xideal  queue_ms  delay mean/p95/p99 beyond rtt/2   floor   p      events");
    let runs: u64 = std::env::var("RUNS").map_or(1, |n| n.parse().expect("RUNS"));
    for (loss, run) in losses.into_iter().flat_map(|loss| (0..runs).map(move |run| (loss, run))) {
        let mut link = LinkConfig::path(rate, rtt.duration(), loss);
        link.loss = Loss::bernoulli(loss);
        if let Ok(j) = std::env::var("JITTER") {
            link.jitter = j.parse().unwrap();
        }
        if let Ok(queue) = std::env::var("QUEUE") {
            link.queue = Some(queue.parse().unwrap());
        }
        let seed = Seed::new(7).run(run);
        let config = Config { initial_rtt: rtt.duration(), ..Config::default() };
        let mut world: World<Parcel> =
            World::new([config.clone(), config.clone()], [link.clone(), link], seed).unwrap();
        world.add(Side::Left, Traffic::greedy(1, config.inner_mtu()), seed);
        let rtt_s = rtt.duration().as_secs_f64();
        let (from, to) = ((20.0 * rtt_s).max(2.0), (60.0 * rtt_s).max(10.0).max(2.0 + 10.0));
        if std::env::var_os("TRACE").is_some() {
            let mut last = 0;
            for step in 1..=(to * 40.0) as u64 {
                world.run_until(Time::from_millis(25 * step));
                let s = world.status(Side::Left);
                let offered = world.link(Side::Left).offered_bytes;
                println!(
                    "{:6.3} {:8} bw {:6.2} pace {:6.2} sent {:6.2} Mbit/s win {:7} fl {:7} q {:6.2} srtt {:6.1} floor {:.3} loss {:.3} lost {:?} refused {} outst {:?} rx {:?} back {:?} drops {:?} rep {:?}",
                    world.now().as_secs_f64(),
                    s.path.state,
                    s.path.bandwidth * 8e-6,
                    s.pacing_rate * 8e-6,
                    (offered - last) as f64 * 8.0 / 25e-3 * 1e-6,
                    s.window,
                    s.in_flight,
                    s.path.queue * 1e3,
                    s.srtt.as_secs_f64() * 1e3,
                    s.path.erasure_floor,
                    s.loss,
                    s.settled,
                    world.link(Side::Left).refused_queue,
                    s.outstanding,
                    world.status(Side::Right).receiving,
                    s.backlog,
                    s.drops,
                    s.repairs,
                );
                last = offered;
            }
        }
        world.run_until(Time::from_secs_f64(from));
        let bytes = |w: &World<Parcel>| w.flows(Side::Left).map(|(_, f)| f.bytes).sum::<u64>();
        let (b0, o0) = (bytes(&world), world.link(Side::Left).offered_bytes);
        world.forget_delays();
        let q0 = world.link(Side::Left).queue_packet_ns;
        world.run_until(Time::from_secs_f64(to));
        let (b1, o1) = (bytes(&world), world.link(Side::Left).offered_bytes);
        let useful = (b1 - b0) as f64 * 1384.0 / 1436.0;
        let p = loss.get();
        let share = useful * 8.0 / (to - from) / (rate.bps() as f64 * (1.0 - p));
        let h = 1.084;
        let xideal = (o1 - o0) as f64 / useful / (h / (1.0 - p));
        let mut delays: Vec<f64> = world
            .flows(Side::Left)
            .flat_map(|(_, f)| f.delays.iter().map(|d| (d - rtt_s / 2.0) * 1e3))
            .collect();
        let mean = delays.iter().sum::<f64>() / delays.len().max(1) as f64;
        let p95 = percentile(&mut delays, 95.0).unwrap_or(0.0);
        let p99 = percentile(&mut delays, 99.0).unwrap_or(0.0);
        let status = world.status(Side::Left);
        let packets = (world.link(Side::Left).queue_packet_ns - q0) as f64 / ((to - from) * 1e9);
        let queue_ms = packets * 1500.0 * 8.0 / rate.bps() as f64 * 1e3;
        println!(
            "{:<7} {share:.4}  {xideal:.4}  {queue_ms:8.2}  {mean:8.1} {p95:8.1} {p99:8.1}        {:.3}   {:.3}  {:>8}  viol {} {:?} {:?}",
            loss.to_string(),
            status.path.erasure_floor,
            status.loss,
            world.events(),
            world.violations().count(),
            status.repairs,
            status.drops,
        );
    }
}
