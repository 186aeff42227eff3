//! Random sessions over random hostile paths: what must hold whatever happens.
//!
//! A [`HostileScenario`] is drawn from a seed, and [`HostileSession::run`] puts two whole endpoints through it: handshakes,
//! keys, bytes, restarts. Whatever is wrong in the end is a fault in words, under the seed that shows it again. A [`Tally`]
//! adds sessions up and judges them together: how much was lost without need, and whether every impairment and mishap that
//! was configured did happen.

mod judge;
mod scenario;
mod tally;

pub use judge::{HostileSession, Outcome};
pub use scenario::{HostileScenario, HostileWorld, Mishap, Side};
pub use tally::{MAX_RESIDUAL, Tally};
