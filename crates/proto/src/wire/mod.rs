//! Typed packets, and the bytes they become (`docs/wire-format.md`).

mod packet;

pub use packet::{Batch, Datagram, Feedback, Gap, Packet, Window};
