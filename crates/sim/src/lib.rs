//! Virtual time: an engine of events ([`engine`]), on which the protocol's tests and the
//! simulated networks run, thousands of times faster than the networks they stand for.

pub mod endpoint;
pub mod engine;
pub mod hostile;
pub mod network;
pub mod rounds;
pub mod scenario;
pub mod tcp;
pub mod tunnel;
