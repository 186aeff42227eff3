//! Block FEC on a lossy link under TCP (paper 003): the share of the link that redundancy should
//! take.
//!
//! * [`block`]: the loss probability of a block of N units, of which any K suffice, for independent
//!   losses.
//! * [`gilbert`]: the same for losses in bursts, by the paper's equation (7) and exactly by the
//!   chain.
//! * [`CodedLink`]: TCP's throughput over such a link, the gain by FEC, and the best N.

pub mod block;
pub mod gilbert;
mod link;

pub use link::{CodedLink, TcpLaw, UnitLosses};
