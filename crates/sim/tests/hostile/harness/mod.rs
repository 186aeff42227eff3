//! Random sessions over random hostile paths: what must hold whatever happens.
//!
//! A [`HostileScenario`] is drawn from a seed, and [`HostileSession::run`] puts two whole endpoints through it: handshakes,
//! keys, bytes, restarts. Whatever is wrong in the end is a fault in words, under the seed that shows it again. A [`Tally`]
//! adds sessions up and judges them together: how much was lost without need, and whether every impairment and mishap that
//! was configured did happen.

pub(crate) mod judge;
pub(crate) mod scenario;
pub(crate) mod tally;
