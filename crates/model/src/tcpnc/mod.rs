//! TCP/NC: the window of a flow whose losses are coded, and its throughput (paper 000, section V;
//! paper 001, section 6).
//!
//! * [`CodedFlow`]: a TCP/NC flow; its window and throughput by round, and on average.
//! * [`chain`]: the number of packets that open the window, by the Markov chain of fig. 6.
//!
//! [`crate::redundancy`] computes the redundancy to send.

pub mod chain;
mod window;

pub use window::{CodedFlow, CodedRound, CodedThroughput, FlowDuration};
