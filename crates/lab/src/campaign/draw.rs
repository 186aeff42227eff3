//! The links of a campaign, drawn from a seed.

use ripstop_base::{Seed, Stream};
use ripstop_model::plan::{NetworkPath, PATH_MTU, validity};
use std::ops::RangeInclusive;

/// Link number `k` of the campaign of `seed`.
///
/// Rates are even in their logarithm. Half of the links have the other quantities evenly from the ranges of [`validity`]. The other half has more
/// of what is common: RTT and queue are even in their logarithms; a quarter has no loss, half have .01 to 30 % even in the logarithm, and a
/// quarter 0 to 30 % evenly; half have independent losses. Four links in five lose as many acknowledgements as data, and one loses none.
pub fn link(seed: u64, k: u64) -> NetworkPath {
    let mut random = Seed::new(seed).run(k).stream("plan");
    let evenly = random.chance(0.5);
    let rate = log(&mut random, &validity::RATE_BPS);
    let (rtt, loss, burst, queue) = if evenly {
        let rtt = even(&mut random, &validity::RTT_S);
        let loss = even(&mut random, &validity::LOSS);
        (rtt, loss, even(&mut random, &validity::BURST_PACKETS), even(&mut random, &validity::QUEUE_BDPS))
    } else {
        let rtt = log(&mut random, &validity::RTT_S);
        let loss = match random.below(4) {
            0 => 0.0,
            1 | 2 => log(&mut random, &(LEAST_LOSS..=*validity::LOSS.end())),
            _ => even(&mut random, &validity::LOSS),
        };
        let burst = if random.chance(0.5) { 1.0 } else { log(&mut random, &validity::BURST_PACKETS) };
        (rtt, loss, burst, log(&mut random, &validity::QUEUE_BDPS))
    };
    let loss_back = if random.chance(0.8) { loss } else { 0.0 };
    // Rounded, so that a link of the report can be typed in.
    let digits = |x: f64, scale: f64| libm::round(x * scale) / scale;
    let least_queue = validity::FEWEST_QUEUE_PACKETS * PATH_MTU;
    NetworkPath {
        rate: digits(rate, 1e-3),
        rtt: digits(rtt, 1e4),
        loss: digits(loss, 1e5),
        loss_back: digits(loss_back, 1e5),
        burst: digits(burst, 1e2),
        queue: libm::floor((queue * rate * rtt / 8.0).max(least_queue)),
        flows: validity::FLOWS,
    }
}

/// The smallest loss that is drawn evenly in the logarithm.
const LEAST_LOSS: f64 = 1e-4;

fn log(random: &mut Stream, range: &RangeInclusive<f64>) -> f64 {
    range.start() * libm::pow(range.end() / range.start(), random.unit())
}

fn even(random: &mut Stream, range: &RangeInclusive<f64>) -> f64 {
    range.start() + (range.end() - range.start()) * random.unit()
}

/// The command that plans this link.
pub fn command(path: &NetworkPath) -> String {
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
