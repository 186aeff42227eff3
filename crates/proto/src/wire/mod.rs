//! Typed packets and their bytes (`docs/contributors/wire-format.md`).
//!
//! * [`Packet`]: the typed packets that sessions exchange.
//! * [`emit_body`], [`parse_body`], [`Packet::body_len`]: writes a packet's body, parses it, computes its length.
//! * [`Header`], [`Kind`]: the header in front of a sealed body.
//! * [`handshake`]: the datagrams of a handshake.
//!
//! The parsers accept exactly the bytes that the emitters write. For all other bytes they return a [`Malformed`] error.
//! A parsed packet that is emitted again gives the same bytes.

mod body;
mod bytes;
mod carried;
mod context;
mod feedback;
pub mod handshake;
mod header;
mod packet;
mod repair;
mod sets;
pub mod symbol;

pub use body::{emit_body, parse_body};
pub use bytes::{EmitError, Malformed};
pub use context::{ReportedTotals, WireContext};
pub use feedback::MAX_FEEDBACK;
pub(crate) use feedback::whole_micros;
pub use header::{
    HEADER_LEN, Header, IPV4_UDP_LEN, IPV6_UDP_LEN, Kind, MTU_OVERHEAD, REPAIR_FIELDS, TAG_LEN,
};
pub use packet::{Batch, Datagram, Feedback, Gap, Packet, Window};
pub use repair::{MAX_EXPLICIT, MAX_OUTSTANDING, SOURCE_FIELDS, emit_repair, emit_source, repair_fields};
