//! TCP/NC: the window that coding keeps open, and the throughput it gives (paper 000, section V; paper 001,
//! section 6).
//!
//! * [`CodedFlow`]: a TCP/NC flow; its window and throughput by round and in the mean.
//! * [`chain`]: how many packets it takes to open the window: the Markov chain of fig. 6.
//!
//! How much redundancy to send is in [`crate::redundancy`].

pub mod chain;
mod window;

pub use window::{CodedFlow, CodedRound, CodedThroughput, FlowDuration};
