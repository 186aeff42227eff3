//! Decides how fast to send and how many repairs to send. From a *repair*, the receiver can recover
//! a lost packet.
//!
//! [`rate`] has the rate controllers, [`loss`] the estimator of a path's losses, and [`redundancy`]
//! the rules for repairs. [`block`] chooses the length of a
//! block code. [`filter`] has the sliding maximum that the rate controllers use. No
//! module reads a clock: callers pass the time with each event.

pub mod block;
pub mod filter;
pub mod loss;
pub mod rate;
pub mod redundancy;
