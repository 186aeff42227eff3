//! Erasure coders for symbols. They use no clock, no socket and no source of entropy.
//!
//! The terms are those of RFC 8406. A *source symbol* holds data of the application, usually one
//! packet. A *repair symbol*, or *repair*, is a linear combination of source symbols. The *coding
//! window* is the set of source symbols that a repair may combine. A code is *systematic* when
//! source symbols are sent unchanged.
//!
//! * [`window`]: sliding-window random linear coding over GF(256): encode, decode, recode.
//! * [`lt`]: Luby's LT codes over GF(2), for blocks of up to 64 symbols.
//! * [`block`]: a block code. Any K of a block's N symbols restore the block.
//! * [`xor`]: the XOR of two packets that cross at a relay.
//!
//! A coder is generic over its [`Payload`], the data that symbols carry. [`Symbol`] carries bytes.
//! [`Length`] carries only a size, so that a simulator computes only coefficients. [`Sketch`]
//! carries a size and 16 coded bytes, so that a simulator can recognise a packet after decoding.

#[cfg(any(test, feature = "bench"))]
pub mod bench;
pub mod block;
mod hash;
pub mod lt;
mod payload;
pub mod window;
pub mod xor;

pub use payload::{Length, Matrix, Payload, Sketch, Symbol};
