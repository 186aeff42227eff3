//! Random sessions over random hostile paths, and the properties that must always hold.
//!
//! - `scenario` draws paths, traffic and mishaps from a seed.
//! - `judge` runs two whole endpoints through a scenario: handshakes, keys, bytes, restarts. It
//!   describes each violated property in words as a fault. The seed reproduces the fault.
//! - `watch` checks the memory bounds and the progress of a session while it runs.
//! - `allowances` says how long a session may stall, and take to come to rest.
//! - `tally` adds up the results of many sessions: how many packets were lost without need, and
//!   whether every configured impairment and mishap happened.
//! - `links` draws links, `stall` measures stalls, and `findings` collects faults and impairments, for every kind of
//!   session.
//! - `extras` draws queue disciplines, settings, moves, clock jumps and attacks. `attacker` is a hostile peer.
//!   `peace` compares a session under attack with the same session in peace.
//! - `lt` has the sessions of TCP/LT.

pub(crate) mod allowances;
pub(crate) mod attacker;
pub(crate) mod extras;
pub(crate) mod findings;
pub(crate) mod judge;
pub(crate) mod links;
pub(crate) mod lt;
mod peace;
pub(crate) mod scenario;
pub(crate) mod stall;
pub(crate) mod tally;
pub(crate) mod watch;
