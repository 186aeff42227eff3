//! The links of a campaign, drawn from a seed.

use ripstop_base::{Seed, Stream};
use ripstop_model::plan::{NetworkPath, PATH_MTU};

/// The fewest packets that a drawn queue holds: of less a packet never waits.
const FEWEST: f64 = 2.0;

/// The `k`-th link of a campaign.
///
/// The rate is .5 to 1000 Mbit/s, even in its logarithm. Half of the links have the rest as a table of ranges reads: RTT 5 to 800 ms,
/// loss 0 to 30 %, mean runs of 1 to 20 packets and queues of .1 to 4 bandwidth-delay products, each evenly. The other half has more
/// of what is common: RTT and queue even in their logarithms, a quarter without loss, half with .01 to 30 % even in the logarithm, and
/// half of them with losses that are independent. Of five links four lose as much on the way back, and one nothing.
pub(super) fn link(seed: u64, k: u64) -> NetworkPath {
    let mut random = Seed::new(seed).run(k).stream("plan");
    let plainly = random.chance(0.5);
    let rate = log(&mut random, 0.5e6, 1e9);
    let (rtt, loss, burst, queue) = if plainly {
        let rtt = even(&mut random, 0.005, 0.8);
        let loss = even(&mut random, 0.0, 0.3);
        (rtt, loss, even(&mut random, 1.0, 20.0), even(&mut random, 0.1, 4.0))
    } else {
        let rtt = log(&mut random, 0.005, 0.8);
        let loss = match random.below(4) {
            0 => 0.0,
            1 | 2 => log(&mut random, 1e-4, 0.3),
            _ => even(&mut random, 0.0, 0.3),
        };
        let burst = if random.chance(0.5) { 1.0 } else { log(&mut random, 1.0, 20.0) };
        (rtt, loss, burst, log(&mut random, 0.1, 4.0))
    };
    let loss_back = if random.chance(0.8) { loss } else { 0.0 };
    // As people write them, so that a link of the report can be typed in.
    let digits = |x: f64, scale: f64| libm::round(x * scale) / scale;
    NetworkPath {
        rate: digits(rate, 1e-3),
        rtt: digits(rtt, 1e4),
        loss: digits(loss, 1e5),
        loss_back: digits(loss_back, 1e5),
        burst: digits(burst, 1e2),
        queue: libm::floor((queue * rate * rtt / 8.0).max(FEWEST * PATH_MTU)),
        flows: 1,
    }
}

fn log(random: &mut Stream, from: f64, to: f64) -> f64 {
    from * libm::pow(to / from, random.unit())
}

fn even(random: &mut Stream, from: f64, to: f64) -> f64 {
    from + (to - from) * random.unit()
}

/// The command that plans this link.
pub(super) fn command(path: &NetworkPath) -> String {
    format!(
        "ripstop plan --rate {}kbit/s --rtt {}ms --loss {} --loss-back {} --burst {} --queue {}B",
        path.rate / 1e3,
        libm::round(path.rtt * 1e4) / 10.0,
        path.loss,
        path.loss_back,
        path.burst,
        path.queue
    )
}
