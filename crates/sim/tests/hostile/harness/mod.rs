//! Random sessions over random hostile paths, and the properties that must always hold.
//!
//! * `scenario` draws paths, traffic and mishaps from a seed.
//! * `judge` runs two whole endpoints through a scenario: handshakes, keys, bytes, restarts. Each violated property is a
//!   fault in words, which the seed reproduces.
//! * `tally` adds sessions up: how much was lost without need, and whether every configured impairment and mishap happened.

pub(crate) mod judge;
pub(crate) mod scenario;
pub(crate) mod tally;
