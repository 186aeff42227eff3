//! Closed forms: pure functions, total over their whole range (no NaN, no panic).
//!
//! * [`masking`]: whether so many repairs make up for the losses among so many packets; the rule
//!   by which the tunnel sends repairs ahead of losses.
//! * [`tcp`]: TCP's throughput over a lossy path (paper 000, section IV).

pub mod masking;
pub mod tcp;
