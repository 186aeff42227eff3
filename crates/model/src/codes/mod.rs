//! The loss that remains behind our own codes, and the delay of what they recover. These models are ours; no paper has them.
//!
//! * [`block`]: systematic MDS blocks without feedback.
//! * [`window`]: a sliding window with repairs at even distances, a span after which a symbol is given up, and exact repairs after
//!   feedback.
//!
//! Time is counted in packets sent. Codes are ideal: any combination of the right span is innovative. Over GF(256) this fails for
//! about one combination in 256. Losses follow a two-state chain; independent losses are one case of it.

pub mod block;
pub mod window;

use crate::domain::{DomainError, require, share};
use crate::fec::gilbert::Gilbert;

/// How packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketLosses {
    /// Each with this probability, independently.
    Independent(f64),
    /// In bursts.
    Bursts(Gilbert),
}

impl PacketLosses {
    /// The share of packets that are lost.
    pub fn share(&self) -> f64 {
        match self {
            PacketLosses::Independent(p) => *p,
            PacketLosses::Bursts(chain) => chain.loss,
        }
    }

    /// The probabilities of a loss after a packet that arrived, and after one that was lost.
    pub(crate) fn chain(&self) -> Result<[f64; 2], DomainError> {
        match self {
            PacketLosses::Independent(p) => share("the loss probability", *p).map(|()| [*p, *p]),
            PacketLosses::Bursts(chain) => Ok([chain.become_bad()?, chain.stay_bad]),
        }
    }
}

/// What remains behind a code, and what the code costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// The share of source packets that are never recovered.
    pub loss: f64,
    /// Packets sent for each source packet.
    pub sent_per_source: f64,
    /// `late[d]`: the share of source packets that are neither delivered in order nor given up d packets after they were sent. The
    /// list ends where the share falls to 1e-15.
    pub late: Vec<f64>,
}

impl Residual {
    /// The mean time until a source packet is delivered in order or given up, in packets sent, beyond the path's own delay.
    pub fn mean_delay(&self) -> f64 {
        self.late.iter().sum()
    }

    /// The time, in packets sent, within which the share `quantile` of the source packets is delivered or
    /// given up.
    ///
    /// # Errors
    /// A quantile outside 0 to 1.
    pub fn delay(&self, quantile: f64) -> Result<u32, DomainError> {
        share("the quantile", quantile)?;
        let found = self.late.iter().position(|late| *late <= (1.0 - quantile) * (1.0 + 1e-12));
        Ok(found.unwrap_or(self.late.len()) as u32)
    }

    /// Cuts the entries of `late` that are too small to matter.
    fn new(loss: f64, sent_per_source: f64, mut late: Vec<f64>) -> Residual {
        late.truncate(late.iter().rposition(|late| *late > 1e-15).map_or(0, |last| last + 1));
        Residual { loss, sent_per_source, late }
    }
}

/// Checks the arguments that all models of codes share.
fn small(what: &'static str, given: u32, most: u32, domain: &'static str) -> Result<(), DomainError> {
    require((1..=most).contains(&given), what, f64::from(given), domain)
}
