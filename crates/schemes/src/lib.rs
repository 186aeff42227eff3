//! The papers' own protocols that run only in virtual time, without I/O (sans-I/O).
//!
//! The tunnel, which is in `ripstop-proto`, uses ideas of these papers. The protocols here are what
//! the papers describe. The simulator runs them, and no program sends their packets.
//!
//! | module | paper | content |
//! |---|---|---|
//! | [`nc`] | 000, 001 | TCP/NC (TCP with network coding): a coding layer below a TCP |
//! | [`lt`] | 004 | TCP/LT: a gateway and its clients, which send the packets of a TCP connection in fountain-coded blocks |
//!
//! The sessions are:
//!
//! | session | where it runs | packet type |
//! |---|---|---|
//! | [`nc::NcSender`], [`nc::NcReceiver`] | a coding layer below a sending and a receiving TCP | [`nc::NcPacket`], [`nc::NcAck`] |
//! | [`nc::NcRelay`] | a node on the path between `NcSender` and `NcReceiver` | [`nc::NcPacket`] |
//! | [`lt::LtSender`], [`lt::LtReceiver`] | a gateway and its clients | [`lt::LtPacket`], [`lt::LtAck`] |
//!
//! Each session implements [`Session`](ripstop_proto::session::Session), as the tunnel does.

pub mod lt;
pub mod nc;
