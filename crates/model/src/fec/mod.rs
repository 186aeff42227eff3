//! Block FEC on a lossy link under TCP (paper 003): the share of the link that redundancy should
//! take.
//!
//! A *unit* is the smallest part that the link loses as a whole, for example an ATM cell. FEC sends
//! K units of data as a block of N units. Any K of the N units suffice to decode the block. A
//! packet of TCP is one block or more.
//!
//! * [`block`]: the probability that a block is lost, for independent losses of units.
//! * [`gilbert`]: the probability that a block is lost, for losses in bursts. The paper's equation
//!   (7) approximates this probability, and a Markov chain with two states gives it exactly.
//! * [`CodedLink`]: TCP's throughput over such a link, the gain by FEC, and the best N.

pub mod block;
pub mod gilbert;
mod link;

pub use link::{CodedLink, TcpLaw, UnitLosses};
