//! Sliding-window random linear network coding over GF(256).
//!
//! The sender's [`Encoder`] numbers source symbols and makes repairs of any of them; a repair names
//! its [`Members`] and their coefficients ([`Coding`]). The receiver's [`Decoder`] takes both in any
//! order. It tells a symbol that is *seen* (a received combination has it as the first of what is
//! still unknown, so its degree of freedom has arrived) from one that is *decoded* (its value is
//! known). A relay's [`Recoder`] makes new combinations of what it received.

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
