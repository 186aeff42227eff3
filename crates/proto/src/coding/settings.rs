//! The settings of the coder.

use crate::control::loss::Losses;
use crate::control::redundancy::Redundancy;

/// The code that protects the packets that this end sends.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Code {
    /// A sliding window: repairs span any outstanding packets, and answer the peer's reports.
    #[default]
    Window,
    /// Blocks without feedback (paper 003): K packets, then N - K repairs. Nothing is sent again.
    Block(BlockSettings),
}

/// The settings of [`Code::Block`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSettings {
    /// K: source packets of a block, 1 to [`MAX_BLOCK_SOURCES`](crate::wire::MAX_BLOCK_SOURCES).
    pub k: u8,
    /// How N is chosen.
    pub n: BlockLength,
}

/// How N, the number of packets sent for a block, is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BlockLength {
    /// This N: K to K + [`MAX_BLOCK_REPAIRS`](crate::wire::MAX_BLOCK_REPAIRS).
    Fixed(u8),
    /// The best N for these losses ([`best_n`](crate::control::block::best_n)).
    For(Losses),
    /// The best N for the losses that the peer's reports show.
    Measured,
}

impl Default for BlockSettings {
    /// K = 16: a block of full packets lasts 10 ms at 20 Mbit/s. Half the value needs more repairs for the same residual
    /// loss. With double the value, packets wait twice as long for their repairs.
    fn default() -> BlockSettings {
        BlockSettings { k: 16, n: BlockLength::Measured }
    }
}

/// The settings of the coder, and the sizes of its window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodingConfig {
    /// The code of the sending half.
    pub(crate) code: Code,
    /// How many proactive repairs are sent.
    pub(crate) redundancy: Redundancy,
    /// Limit on proactive repair bytes per source byte for bulk flows.
    pub(crate) max_overhead_bulk: f64,
    /// The same for interactive flows.
    pub(crate) max_overhead_interactive: f64,
    /// The path's MTU, bytes.
    pub(crate) path_mtu: u32,
    /// Limit on the number of outstanding symbols.
    pub(crate) window_symbols: u32,
    /// Limit on the memory for the coefficients of held repairs, bytes.
    pub(crate) matrix_bytes: usize,
}
