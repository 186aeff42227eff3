//! TCP/NC: a TCP above a coding layer that hides losses from TCP (paper 000, section V; paper 001,
//! section 6). The model gives the window of a flow, and its throughput.
//!
//! * [`CodedFlow`]: a TCP/NC flow, with its window and throughput in each round and on average.
//! * [`chain`]: the number of packets that open the window, by the Markov chain of fig. 6.
//!
//! [`crate::redundancy`] computes the redundancy to send.

pub mod chain;
mod window;

pub use window::{CodedFlow, CodedRound, CodedThroughput, FlowDuration};
