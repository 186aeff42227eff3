//! The *residual loss* and the delay after this project's own codes. The residual loss is the share
//! of source packets that a code does not recover. These models are the project's own; no paper has
//! these models.
//!
//! A code adds *repairs* to *source packets*. A repair is a linear combination of source packets.
//!
//! * [`block`]: blocks of source packets and repairs, without feedback.
//! * [`window`]: a sliding window. The sender sends repairs at even distances, and further repairs
//!   after feedback. A missing packet is given up when the window has moved past the packet.
//!
//! Time is counted in packets sent. The codes are ideal: each repair that arrives replaces one
//! missing source packet among those that it combines. With random coefficients over GF(256), about
//! one repair in 256 replaces no packet.
//!
//! Losses follow a Markov chain with two states. The state tells whether the last packet arrived or
//! was lost. In each state, the next packet is lost with a probability of its own. For independent
//! losses, the probabilities of the two states are equal.

pub mod block;
pub mod window;

use crate::domain::{DomainError, require, share};
use crate::fec::gilbert::Gilbert;

/// The process by which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketLosses {
    /// Each packet is lost with this probability, independently.
    Independent(f64),
    /// Losses come in bursts, by a Gilbert chain: a Markov chain with two states.
    Bursts(Gilbert),
}

impl PacketLosses {
    /// The share of all packets that is lost.
    pub fn share(&self) -> f64 {
        match self {
            PacketLosses::Independent(p) => *p,
            PacketLosses::Bursts(chain) => chain.loss,
        }
    }

    /// The probability of a loss after a packet that arrived (index 0), and the probability of a
    /// loss after a lost packet (index 1).
    pub(crate) fn chain(&self) -> Result<[f64; 2], DomainError> {
        match self {
            PacketLosses::Independent(p) => share("the loss probability", *p).map(|()| [*p, *p]),
            PacketLosses::Bursts(chain) => Ok([chain.become_bad()?, chain.stay_bad]),
        }
    }
}

/// The losses and delays that remain after a code, and the cost of the code.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// The share of source packets that are never recovered.
    pub loss: f64,
    /// The number of packets sent for each source packet.
    pub sent_per_source: f64,
    /// `late[d]`: the share of source packets that are still waiting when d more packets have been
    /// sent after them. Such a packet is not yet delivered in order, and not yet given up. The list
    /// ends where the share falls to 1e-15.
    pub late: Vec<f64>,
}

impl Residual {
    /// The mean delay until a source packet is delivered in order or given up, in packets sent. The
    /// path's own delay is not included.
    pub fn mean_delay(&self) -> f64 {
        self.late.iter().sum()
    }

    /// The delay, in packets sent, within which the share `quantile` of the source packets is
    /// delivered or given up.
    ///
    /// # Errors
    /// The quantile is outside 0 to 1.
    pub fn delay(&self, quantile: f64) -> Result<u32, DomainError> {
        share("the quantile", quantile)?;
        let found = self.late.iter().position(|late| *late <= (1.0 - quantile) * (1.0 + 1e-12));
        Ok(found.unwrap_or(self.late.len()) as u32)
    }

    /// Removes the last entries of `late` that are too small to matter.
    fn new(loss: f64, sent_per_source: f64, mut late: Vec<f64>) -> Residual {
        late.truncate(late.iter().rposition(|late| *late > 1e-15).map_or(0, |last| last + 1));
        Residual { loss, sent_per_source, late }
    }
}

/// Checks that a count lies between 1 and `most`.
fn small(what: &'static str, given: u32, most: u32, domain: &'static str) -> Result<(), DomainError> {
    require((1..=most).contains(&given), what, f64::from(given), domain)
}
