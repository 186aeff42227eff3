//! Random sessions of TCP/LT over random hostile paths, and the properties that must always hold.
//!
//! - `scenario` draws settings, paths and restarts from a seed.
//! - `tcp` has the TCP source and the TCP sink at the two ends.
//! - `wire` is one direction of the path: a link, and the packets that are on their way.
//! - `world` drives a sender and a receiver over two wires in virtual time.
//! - `journal` is what a world records, and `tamper` the faults that tests build into a world.
//! - `judge` runs a scenario and describes each violated property in words as a fault. The seed reproduces the fault.
//! - `tally` adds up the results of many sessions.

pub(crate) mod journal;
pub(crate) mod judge;
pub(crate) mod scenario;
pub(crate) mod tally;
pub(crate) mod tamper;
pub(crate) mod tcp;
pub(crate) mod wire;
pub(crate) mod world;
