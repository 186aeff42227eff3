//! Sliding-window random linear network coding over GF(256).
//!
//! The sender's [`Encoder`] numbers source symbols and makes repairs from them. A repair comes with
//! its [`Members`] (which source symbols it combines) and its coefficients ([`Coding`]).
//!
//! The receiver's [`Decoder`] takes source symbols and repairs in any order. A symbol is *seen*
//! when one received combination has it as its pivot: its degree of freedom has arrived. A symbol
//! is *decoded* when its value is known.
//!
//! A relay's [`Recoder`] makes new combinations of what it received.

mod coding;
mod decoder;
mod encoder;
mod members;
mod recoder;

pub use coding::{Coding, coefficient, coefficients};
pub use decoder::{Arrival, Decoder, DecoderCounters, Limits, Pivots};
pub use encoder::{EncodeError, Encoder};
pub use members::{MAX_SINGLES, Members};
pub use recoder::Recoder;
