//! Sliding-window random linear network coding over GF(256).

mod members;

pub use members::{MAX_SINGLES, Members};
