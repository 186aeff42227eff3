//! Block codes below a plain TCP: K source packets and N - K repairs in each block, without feedback.

use super::path::NetworkPath;
use super::plain;
use super::scheme::PlanScheme;
use crate::codes::block;

/// Source packets in a block.
pub const SOURCES: u32 = 32;

/// A block code, and what CUBIC above the code is expected to bring.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockCode {
    /// K: source packets in a block.
    pub k: u32,
    /// N: all packets of a block.
    pub n: u32,
    /// The loss that remains after decoding.
    pub residual_loss: f64,
    /// Payload that arrives in order, bit/s.
    pub goodput_bps: f64,
}

/// The best N for blocks of [`SOURCES`] packets. The goodput is the smaller one of two bounds: the rate that the code leaves, and CUBIC's
/// throughput at the residual loss (paper 003, section 3, with CUBIC in place of the square-root law, and packets in place of units).
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
