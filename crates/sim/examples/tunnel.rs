//! Measures the tunnel alone over a virtual link, with one endless source, for a list of losses.
//!
//! - *Share* is the goodput divided by the rate that the link can carry after its losses.
//! - *Sent/useful* is the bytes sent divided by the useful bytes. The table shows this quotient divided by its ideal
//!   value. The ideal value follows from the headers and the losses.
//! - The *delay* in the table is a packet's delay minus half a round trip.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example tunnel -- [RATE RTT [LOSS ...]]
//! ```
//!
//! Environment: RUNS=N repeats each loss with other seeds. BURST=4 loses packets in runs of that mean
//! length. JITTER=20ms adds jitter. QUEUE=15 sets the queue. TRACE=1 prints the sender's state every
//! 25 ms.
//!
//! For TCP connections inside the tunnel, use `ripstop sim tandem --hops 1 --tunnel`.

use ripstop_base::{Fraction, Rate, Seed, Span, Time};
use ripstop_link::{LinkConfig, Loss};
use ripstop_proto::session::tunnel::TunnelConfig;
use ripstop_sim::world::{Carrier, UdpConfig, World};
use std::time::Duration;

/// Bytes on the link for each useful byte without losses: 1500 / (1436 - 52).
const HEADERS: f64 = 1500.0 / 1384.0;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rate: Rate =
        args.first().map_or("20Mbit/s", String::as_str).parse().expect("RATE must be a rate, such as 20Mbit/s");
    let rtt: Span = args.get(1).map_or("100ms", String::as_str).parse().expect("RTT must be a time, such as 100ms");
    let words: Vec<&str> = match args.get(2..) {
        Some(losses) if !losses.is_empty() => losses.iter().map(String::as_str).collect(),
        _ => vec!["0", "1%", "2%", "5%", "10%", "20%", "30%"],
    };
    let runs: u64 = std::env::var("RUNS").map_or(1, |n| n.parse().expect("RUNS must be a whole number"));
    println!("loss    share   sent/useful over ideal  delay beyond rtt/2, ms: mean p50 p99   repairs");
    for word in words {
        let loss: Fraction = word.parse().expect("LOSS must be a share, such as 5%");
        for run in 0..runs {
            let mut link = LinkConfig::path(rate, rtt.duration(), loss);
            if let Ok(burst) = std::env::var("BURST") {
                let burst = burst.parse().expect("BURST must be a number of packets, such as 4");
                link.loss = Loss::Gilbert { mean: loss, burst };
            }
            if let Ok(jitter) = std::env::var("JITTER") {
                link.jitter = jitter.parse().expect("JITTER must be a time, such as 20ms");
            }
            if let Ok(queue) = std::env::var("QUEUE") {
                link.queue = Some(queue.parse().expect("QUEUE must be a queue limit, such as 15"));
            }
            measure(&link, rtt.duration(), loss, Seed::new(7).run(run));
        }
    }
}

/// Runs the tunnel over two equal links, and prints one line of the table.
fn measure(link: &LinkConfig, rtt: Duration, loss: Fraction, seed: Seed) {
    let config = TunnelConfig { initial_rtt: Some(rtt), ..TunnelConfig::default() };
    let mut world = World::new(seed);
    let links = ["link/0", "link/1"].map(|name| world.add_link(link, name).expect("the link is valid"));
    let tunnel = world.add_tunnel(&config, &links[..1], &links[1..], ["tunnel/left", "tunnel/right"]);
    let carrier = Carrier::Tunnel { tunnel, backwards: false };
    let flow = world.add_udp(UdpConfig::greedy(config.inner_mtu()), &carrier, "traffic");
    let (from, to) = ((20 * rtt).max(Duration::from_secs(2)), (60 * rtt).max(Duration::from_secs(12)));
    let run_to = |world: &mut World, end: Duration| {
        while std::env::var_os("TRACE").is_some() && world.now() < Time::ZERO + end {
            world.run_until(world.now() + Duration::from_millis(25), &mut ());
            let [sender, receiver] = world.tunnel(tunnel);
            println!("{:7.3} {sender:?} {:?}", world.now().as_secs_f64(), receiver.receiving);
        }
        world.run_until(Time::ZERO + end, &mut ());
    };
    run_to(&mut world, from);
    world.forget_delays(flow);
    let (useful, offered) = (world.totals(flow).bytes, world.link(links[0]).offered_bytes);
    run_to(&mut world, to);
    let useful = (world.totals(flow).bytes - useful) as f64 * 1384.0 / 1436.0;
    let offered = (world.link(links[0]).offered_bytes - offered) as f64;
    let left = 1.0 - loss.get();
    let share = useful * 8.0 / (to - from).as_secs_f64() / (link.rate.bps() as f64 * left);
    let delays = world.take_delays(flow).packets;
    let beyond_half_rtt_ms =
        |delay: Option<f64>| delay.map_or(f64::NAN, |delay| (delay - rtt.as_secs_f64() / 2.0) * 1e3);
    println!(
        "{:<7} {share:.4}  {:22.4}  {:28.1} {:6.1} {:6.1}  {:?}",
        loss.to_string(),
        offered / useful * left / HEADERS,
        beyond_half_rtt_ms(delays.mean_s()),
        beyond_half_rtt_ms(delays.quantile_s(0.5)),
        beyond_half_rtt_ms(delays.quantile_s(0.99)),
        world.tunnel(tunnel)[0].repairs,
    );
}
