//! Sliding-window random linear network coding over GF(256).
//!
//! The sender's [`Encoder`] numbers source symbols and makes repairs from them. A repair comes with
//! its [`Members`] (the source symbols that it combines) and its coefficients ([`Coding`]).
//!
//! The receiver's [`Decoder`] accepts source symbols and repairs in any order. It keeps each useful
//! repair as a linear equation. Each equation has a *pivot*, one of its unknown symbols. A symbol
//! is *decoded* when its value is known. A symbol is *seen* when it is decoded or a pivot. So each
//! useful arrival (one degree of freedom) makes one more symbol seen.
//!
//! A relay's [`Recoder`] makes new combinations of the symbols that it received.

mod coding;
mod decoder;
mod encoder;
mod ids;
mod members;
mod recoder;

pub use coding::{Coding, coefficient, coefficients};
pub use decoder::{Arrival, Decoder, DecoderCounters, Limits, Pivots};
pub use encoder::{EncodeError, Encoder};
pub use ids::IdRanges;
pub use members::{MAX_SINGLES, Members};
pub use recoder::Recoder;
