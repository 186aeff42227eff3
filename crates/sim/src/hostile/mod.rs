//! Random sessions over random hostile paths: what they must keep whatever happens.
//!
//! A [`Scenario`] is a world drawn from a seed, and [`Session::run`] puts two whole endpoints through it: handshakes,
//! keys, bytes, restarts. Whatever is wrong in the end is a fault, in words, under the seed that shows it
//! again. A [`Tally`] adds sessions up and judges them together: how much was lost that need not have
//! been, and whether everything that was to befall them did.

mod judge;
mod scenario;
mod tally;

pub use judge::{Outcome, Session};
pub use scenario::Scenario;
pub use tally::{MAX_RESIDUAL, Tally};
