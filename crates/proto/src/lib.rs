//! The Ripstop protocol, without I/O (sans-I/O).
//!
//! The crate uses no clock, socket, thread or entropy of its own; the caller passes in the time,
//! packets and random numbers. The same types run in virtual time (`ripstop-sim`) and on the wire
//! (`ripstop-net`).
//!
//! | module | content |
//! |---|---|
//! | [`wire`] | packets as types and as bytes |
//! | [`secure`] | handshake, keys, replay protection, roaming |
//! | [`session`] | the contract of sessions; the tunnel; TCP/NC |
//! | [`control`] | loss estimates, rules for repairs, rate control |
//! | [`inner`] | a look into inner IP packets |
//! | [`endpoint`] | all peers behind one end |

#[cfg(any(test, feature = "bench"))]
pub mod bench;
pub mod control;
pub mod endpoint;
pub mod inner;
pub mod secure;
pub mod session;
pub mod wire;
