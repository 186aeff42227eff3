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
//! | [`path`] | one path to one peer: numbers, history, rate, losses, MTU, silence |
//! | [`coding`] | symbols over a path: decoder, reports of symbols |
//! | [`packets`] | IP packets as symbols: queues per flow, classes, order |
//! | [`session`] | the contract of sessions; the tunnel |
//! | [`control`] | loss estimates, rules for repairs, rate control |
//! | [`inner`] | reads and changes fields of inner packets: the IP packets that a tunnel carries |
//! | [`endpoint`] | one end of the tunnel with all its peers |

#[cfg(any(test, feature = "bench"))]
pub mod bench;
pub mod coding;
pub mod control;
pub mod endpoint;
pub mod inner;
pub mod packets;
pub mod path;
pub mod secure;
pub mod session;
mod tokens;
pub mod wire;
