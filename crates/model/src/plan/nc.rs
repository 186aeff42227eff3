//! TCP/NC over the link: its settings, and what it gets by equation (20) and section VI-C of paper 000.

use super::path::{NetworkPath, PATH_MTU};
use super::scheme::PLAIN_HEADERS;

/// The settings of TCP/NC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NcSettings {
    /// R: combinations sent for each segment.
    pub redundancy: f64,
    /// W: the receiver's window, packets. It is what keeps TCP from filling the queue: behind the coding layer
    /// a queue that overflows is one more loss that nobody answers.
    pub window: u32,
}

impl NcSettings {
    /// Payload over bytes on the wire of a coded packet: no share of C (1-p) is greater.
    pub fn ceiling(&self) -> f64 {
        (PATH_MTU - PLAIN_HEADERS) / (PATH_MTU + f64::from(self.window))
    }
}

/// The largest window: each packet in it costs a byte of coefficients, and time to solve for.
pub const LARGEST_WINDOW: u32 = 255;

/// How much more redundancy than 1/(1-p): near it combinations are seen at once and decoded much later.
const SPARE: f64 = 1.06;

/// R and W for a path: combinations that make up for the losses with something to spare, and as many packets as fill the path with
/// them, no more.
pub fn settings(path: &NetworkPath) -> NcSettings {
    let exact = SPARE / (1.0 - path.loss);
    let redundancy = libm::ceil(exact * 100.0) / 100.0;
    let room = path.packets() + 1.0 + 0.5 * path.queue_packets().min(path.packets());
    let window = (room / redundancy).clamp(2.0, f64::from(LARGEST_WINDOW)) as u32;
    NcSettings { redundancy, window }
}

/// What it gets, bit/s: W packets a round trip, (20) with all losses masked, and no more than C/R.
pub fn goodput(path: &NetworkPath, nc: NcSettings) -> f64 {
    let payload = 8.0 * (PATH_MTU - PLAIN_HEADERS);
    let wire = 8.0 * PATH_MTU + 8.0 * f64::from(nc.window);
    let arrives = (nc.redundancy * (1.0 - path.loss)).min(1.0);
    let round = path.rtt + nc.redundancy * wire / path.rate;
    let by_window = f64::from(path.flows) * f64::from(nc.window) * arrives * payload / round;
    let by_rate = path.rate / nc.redundancy * payload / wire;
    by_window.min(by_rate).min(path.capacity() * nc.ceiling())
}
