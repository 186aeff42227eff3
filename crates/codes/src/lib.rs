//! Erasure coders. They know symbols, not time: no clock, no socket, no entropy of their own.
//!
//! Words are those of RFC 8406: a *source symbol* is what the application gave, a *repair symbol* a
//! linear combination of source symbols, the *coding window* the source symbols a repair may span;
//! a code is *systematic* when source symbols are sent as they are.
//!
//! * [`window`]: sliding-window random linear coding over GF(256): encode, decode, recode.
//!
//! A coder is generic over its [`Payload`], which has one operation, a batch combination: [`Symbol`]
//! carries bytes, [`Length`] only a size and [`Sketch`] a size with a handle that survives coding (so
//! that the simulator runs on coefficients alone).

#[cfg(any(test, feature = "bench"))]
pub mod bench;
mod payload;
pub mod window;

pub use payload::{Length, Matrix, Payload, Sketch, Symbol};
