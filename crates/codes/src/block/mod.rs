//! A block code: K source symbols are sent as N symbols, and any K of the N symbols restore the
//! block.
//!
//! The code is systematic and over GF(256). It loses nothing against the ideal: no code restores
//! K source symbols from fewer than K symbols of the same size. Such a code is called
//! maximum-distance separable (MDS).
//!
//! [`BlockCode`] is the code of one shape (N, K), and makes repairs. [`BlockDecoder`] takes the
//! symbols of a block in any order. With e lost source symbols, it inverts one matrix of e x e
//! coefficients, and then reads each payload once.

mod code;
mod decoder;

pub use code::{BlockCode, BlockError, MAX_BLOCK};
pub use decoder::{BlockArrival, BlockCounters, BlockDecoder};
