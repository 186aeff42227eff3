//! Draws the links of a campaign at random from a seed. A campaign compares the planner's
//! predictions with simulations on these links.

use ripstop_base::{Seed, Stream};
use ripstop_model::plan::{NetworkPath, PATH_MTU, validity};
use std::ops::RangeInclusive;

/// Link number `k` of the campaign of `seed`.
///
/// All quantities come from the ranges of [`validity`]. Rates are log-uniform. The other quantities
/// depend on the kind of link. A link has one of two kinds with equal probability:
///
/// - Uniform: RTT, loss, burst length and queue are uniform.
/// - Common: values that occur often in practice are more frequent.
///   - RTT and queue are log-uniform.
///   - The loss probability is 0 on a quarter of these links. The loss probability is log-uniform
///     from .01 to 30 % on half of these links, and uniform from 0 to 30 % on the last quarter.
///   - Losses are independent on half of these links. On the other links, the burst length is
///     log-uniform.
///
/// With probability .8, a link loses acknowledgements with the same probability as data. Otherwise
/// it loses no acknowledgements.
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
    // The values are rounded, so that people can type a link of the report into a command.
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

/// The smallest loss probability of the log-uniform draw: .01 %.
///
/// A log-uniform draw cannot begin at 0. With a smaller value, such as half, more links have losses
/// that hardly matter. With a larger value, such as double, no link has light losses. Any change
/// makes the same seed draw other links.
const LEAST_LOSS: f64 = 1e-4;

/// A log-uniform value from `range`.
fn log(random: &mut Stream, range: &RangeInclusive<f64>) -> f64 {
    range.start() * libm::pow(range.end() / range.start(), random.unit())
}

/// A uniform value from `range`.
fn even(random: &mut Stream, range: &RangeInclusive<f64>) -> f64 {
    range.start() + (range.end() - range.start()) * random.unit()
}

/// The command line that plans this link.
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
