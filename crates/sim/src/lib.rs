//! The simulator. It runs networks in virtual time, thousands of times faster than real networks.
//!
//! - [`engine`]: a virtual clock with alarms, independent runs on several cores, and statistics.
//! - [`tcp`]: TCP senders and receivers, and the traffic that applications offer to them.
//! - [`world`]: nodes and links on one clock. The shipped tunnel and endpoint code runs in a world.
//! - [`scenario`]: worlds described as data, run, and reported.

pub mod engine;
pub mod scenario;
pub mod tcp;
pub mod wifi;
pub mod world;
