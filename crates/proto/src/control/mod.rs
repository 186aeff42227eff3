//! What decides how fast to send and how much to repair: the rate controllers ([`rate`]), the
//! estimators of the path's losses ([`loss`]) and the rules for repairs ([`redundancy`]).
//!
//! All are driven by events that carry their time; none reads a clock.

pub mod filter;
pub mod loss;
pub mod rate;
pub mod redundancy;
