//! Virtual time: an engine of alarms ([`engine`]), and a world of nodes and links on it ([`world`]). The protocol's tests
//! and the simulated networks run here, thousands of times faster than real networks.

pub mod engine;
pub mod scenario;
pub mod tcp;
pub mod trial;
pub mod world;
