//! Closed forms: pure functions, total over their whole range (no NaN, no overflow).
//!
//! * [`masking`]: whether so many repairs make up for the losses among so many packets; the rule
//!   by which the tunnel sends repairs ahead of losses.

pub mod masking;
