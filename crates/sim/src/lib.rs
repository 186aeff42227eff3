//! Virtual time: an engine of alarms ([`engine`]), and a world of nodes and links on it ([`world`]), in which the protocol's
//! tests and the simulated networks run thousands of times faster than the networks that they stand for.

pub mod engine;
pub mod scenario;
pub mod tcp;
pub mod trial;
pub mod world;
