//! What a scheme loses of what its headers leave, as a product of causes with fitted weights.
//!
//! share = ceiling exp(-sum of weight_i phi_i), where each phi is a product of powers of the [`Causes`] of a path. All of them
//! grow with what makes a path hard, and no weight is negative: what is predicted falls with the loss and never exceeds the ceiling.

use super::path::Path;

/// How many causes there are.
pub const CAUSES: usize = 9;

/// What makes a path hard, each 0 or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Causes {
    /// p: what is lost in the direction of the data.
    pub loss: f64,
    /// A tenth of the mean run of losses: what is lost together cannot be mended by what was sent beside it.
    pub burst: f64,
    /// ln(1 + N) / 10 of the N packets of the bandwidth-delay product: how often a window must double.
    pub size: f64,
    /// 100 / (100 + N): how few packets there are to tell anything by.
    pub few: f64,
    /// 1 / (1 + Q) of a queue of Q packets.
    pub shallow: f64,
    /// How much less than a bandwidth-delay product the queue holds: (1 - Q/N)+.
    pub short: f64,
    /// 20 RTT over the time before the measurement begins, 1 at most: how much of the start is measured.
    pub early: f64,
    /// The round-trip time in seconds: what BBR's search for it and CUBIC's way back take.
    pub far: f64,
    /// B/(B+N) of runs of B packets, N packets of the bandwidth-delay product: how much of a flight a run takes along.
    pub gulp: f64,
}

impl Causes {
    /// Those of a path.
    pub fn of(path: &Path) -> Causes {
        let packets = path.packets();
        let queue = path.queue_packets();
        Causes {
            loss: path.loss,
            burst: path.burst / 10.0,
            size: libm::log1p(packets) / 10.0,
            few: 100.0 / (100.0 + packets),
            shallow: 1.0 / (1.0 + queue),
            short: (1.0 - queue / packets).max(0.0),
            early: (10.0 * path.rtt).min(1.0),
            far: path.rtt,
            gulp: path.burst / (path.burst + packets),
        }
    }
}

/// A product of powers of causes. An exponent of 0 leaves a cause out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Term {
    /// Its weight, 0 or more.
    pub weight: f64,
    /// The exponents, in the order of the fields of [`Causes`], 0 or more.
    pub powers: [f64; CAUSES],
}

impl Term {
    /// The product, without its weight.
    pub fn product(powers: &[f64; CAUSES], causes: &Causes) -> f64 {
        let Causes { loss, burst, size, few, shallow, short, early, far, gulp } = *causes;
        [loss, burst, size, few, shallow, short, early, far, gulp]
            .into_iter()
            .zip(powers)
            .filter(|(_, power)| **power != 0.0)
            .map(|(cause, power)| libm::pow(cause, *power))
            .product()
    }
}

/// The share that is left: exp(-sum), between 0 and 1.
pub fn left(terms: &[Term], causes: &Causes) -> f64 {
    let sum: f64 = terms.iter().map(|term| term.weight * Term::product(&term.powers, causes)).sum();
    libm::exp(-sum)
}
