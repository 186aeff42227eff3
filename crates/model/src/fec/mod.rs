//! Block FEC on a lossy link under TCP (paper 003): how much of the link to give to redundancy.
//!
//! * [`block`]: the loss of a block of N units of which K suffice, for independent losses.
//! * [`gilbert`]: the same for losses in bursts: the paper's equation (7), and the chain itself, exactly.
//! * [`CodedLink`]: TCP's throughput over such a link, its gain, and the best N.

pub mod block;
pub mod gilbert;
mod link;

pub use link::{CodedLink, TcpLaw, UnitLosses};
