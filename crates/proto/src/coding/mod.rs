//! Symbols over a path.

mod receive;

pub use receive::ReceiveCounts;
pub(crate) use receive::{Receiver, Recipient};
