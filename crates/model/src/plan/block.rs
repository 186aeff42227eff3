//! The planner's model of a block code below plain CUBIC. Each block has K source packets and N - K
//! repairs, of which any K suffice to decode. The code needs no feedback. CUBIC sees only the
//! *residual loss*: the losses that the code did not repair. [`best`] chooses N for a path.

use super::path::NetworkPath;
use super::plain;
use super::scheme::PlanScheme;
use crate::codes::block;

/// K: source packets in a block. A larger block needs a smaller share of repairs for the same
/// residual loss, but a receiver waits longer for the block's end. Twice the value doubles this
/// wait.
pub const SOURCES: u32 = 32;

/// A block code, and the predicted goodput of CUBIC above the code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockCode {
    /// K: source packets in a block.
    pub k: u32,
    /// N: all packets of a block.
    pub n: u32,
    /// The residual loss: the probability that a source packet is still missing after decoding.
    pub residual_loss: f64,
    /// Goodput: payload that arrives in order, bit/s.
    pub goodput_bps: f64,
}

/// Chooses N for blocks of K = [`SOURCES`] packets so that the goodput is highest. N is at most
/// four times K.
///
/// The goodput is the smaller of two bounds: the rate that the code's repairs leave, and CUBIC's
/// throughput at the residual loss. The method is that of paper 003, section 3. CUBIC's formula
/// replaces the paper's square-root law, and packets replace the paper's units.
pub fn best(path: &NetworkPath) -> BlockCode {
    let losses = path.losses();
    let mut found = BlockCode { k: SOURCES, n: SOURCES, residual_loss: path.loss, goodput_bps: 0.0 };
    for n in SOURCES..=4 * SOURCES {
        let residual_loss = match block::residual(SOURCES, n, losses) {
            Ok(residual) => residual.loss,
            Err(_) => path.loss,
        };
        let rate = path.rate * f64::from(SOURCES) / f64::from(n);
        let behind = NetworkPath { rate, loss: residual_loss, burst: 1.0, ..*path };
        let by_code = rate * (1.0 - residual_loss) * PlanScheme::Cubic.ceiling();
        let goodput_bps = plain::cubic_by_losses(&behind).min(by_code);
        if goodput_bps > found.goodput_bps {
            found = BlockCode { k: SOURCES, n, residual_loss, goodput_bps };
        }
    }
    found
}
