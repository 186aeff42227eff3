//! The Ripstop protocol, sans-I/O: no clock, no socket, no thread, no entropy of its own. The same
//! types run in virtual time (`ripstop-sim`) and on the wire (`ripstop-net`).

#[cfg(any(test, feature = "bench"))]
pub mod bench;
pub mod control;
pub mod endpoint;
pub mod inner;
pub mod secure;
pub mod session;
pub mod wire;
