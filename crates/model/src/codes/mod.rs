//! The residual loss of this project's own codes, and the delay of the packets that they recover.
//! These models are the project's own; no paper has them.
//!
//! * [`block`]: systematic MDS blocks without feedback.
//! * [`window`]: a sliding window. It sends repairs at even distances and exact repairs after
//!   feedback, and gives up a symbol after a span.
//!
//! Time is counted in packets sent. The codes are ideal: any combination of the right span is
//! innovative. Over GF(256) this fails for about one combination in 256. Losses follow a two-state
//! chain; independent losses are one case of it.

pub mod block;
pub mod window;

use crate::domain::{DomainError, require, share};
use crate::fec::gilbert::Gilbert;

/// The process by which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketLosses {
    /// Each packet is lost with this probability, independently.
    Independent(f64),
    /// Losses come in bursts, from a Gilbert chain.
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

    /// The probability of a loss after a packet that arrived, and the probability after a lost
    /// packet.
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
    /// `late[d]`: the share of source packets that are neither delivered in order nor given up d
    /// packets after they were sent. The list ends where the share falls to 1e-15.
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
