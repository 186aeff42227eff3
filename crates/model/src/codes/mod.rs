//! What is left of losses behind our own codes, and how long what they recover is late (ours, in no paper).
//!
//! * [`block`]: systematic MDS blocks without feedback.
//! * [`window`]: a sliding window with repairs at even distances, a span after which a symbol is given up, and exact repairs on feedback.
//!
//! Time counts in packets sent. Codes are taken for ideal: any combination of the right span is innovative, as it is over GF(256) but for
//! some parts in 256. Losses are those of a two-state chain, of which independent ones are a case.

pub mod block;
pub mod window;

use crate::domain::{DomainError, require, share};
use crate::fec::gilbert::Gilbert;

/// How packets are lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PacketLosses {
    /// Each with this probability, independently.
    Independent(f64),
    /// In bursts, at least packet by packet.
    Bursts(Gilbert),
}

impl PacketLosses {
    /// The share of packets that is lost.
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

/// What a code leaves of the losses, and what it costs.
#[derive(Clone, Debug, PartialEq)]
pub struct Residual {
    /// The share of source packets that are never recovered.
    pub loss: f64,
    /// Packets sent for each source packet.
    pub sent_per_source: f64,
    /// `late[d]`: the share of source packets that are not delivered, in order, d packets after they were sent, the given up among them. It ends where
    /// none is left but those.
    pub late: Vec<f64>,
}

impl Residual {
    /// The mean delay of the packets that are delivered, in packets sent, beyond the path's own.
    pub fn mean_delay(&self) -> f64 {
        let delivered = 1.0 - self.loss;
        // The sum of P(late > d) over d, less those that never come.
        let sum: f64 = self.late.iter().map(|late| (late - self.loss).max(0.0)).sum();
        if delivered > 0.0 { sum / delivered } else { 0.0 }
    }

    /// The delay, in packets sent, within which the share `quantile` of the packets that are delivered is: the least d with P(late > d) <= 1 -
    /// quantile among them.
    ///
    /// # Errors
    /// A quantile outside 0 to 1.
    pub fn delay(&self, quantile: f64) -> Result<u32, DomainError> {
        share("the quantile", quantile)?;
        let most = (1.0 - quantile) * (1.0 - self.loss) + self.loss;
        let found = self.late.iter().position(|late| *late <= most * (1.0 + 1e-12));
        Ok(found.unwrap_or(self.late.len()) as u32)
    }
}

/// What models of packets agree to compute.
fn small(what: &'static str, given: u32, most: u32, domain: &'static str) -> Result<(), DomainError> {
    require((1..=most).contains(&given), what, f64::from(given), domain)
}
