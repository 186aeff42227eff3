//! Typed packets and their bytes (`docs/contributors/wire-format.md`).
//!
//! * [`Packet`]: the typed packets that sessions exchange.
//! * [`emit_body`] writes a packet's body. [`parse_body`] parses a body. [`Packet::body_len`]
//!   computes the length of the body.
//! * [`Header`], [`Kind`]: the header in front of a *sealed* (encrypted and authenticated) body.
//! * [`handshake`]: the datagrams of a handshake.
//!
//! The files of this module use these words:
//!
//! - A *source symbol* holds an IP packet, or something else ([`SymbolKind`]). Source symbols are
//!   numbered from 0 on; the number is also called *identifier*.
//! - A *repair* is a linear combination of source symbols, its *members*. The receiver *decodes*
//!   lost source symbols from repairs.
//! - A source symbol is *seen* if the receiver has the symbol, or has a combination of this symbol
//!   and of *unseen* (not seen) symbols. When the unseen symbols are known, the receiver computes
//!   the seen symbol from this combination. The receiver needs one more combination for each unseen
//!   symbol.
//! - A *truncated number* is a number that is written without its upper bits. Of all numbers with
//!   the written low bits, the receiver takes the one nearest to a number that the receiver knows
//!   ([`WireContext`]).
//! - A *report*, also called *feedback*, is the packet in which a receiver says what has arrived.
//!
//! The parsers accept exactly the bytes that the emitters write. For all other bytes they return a
//! [`Malformed`] error. A parsed packet that is emitted again gives the same bytes.

mod block;
mod body;
mod bytes;
mod carried;
mod context;
pub mod handshake;
mod header;
mod kind;
mod packet;
mod repair;
mod report;
mod sets;
mod time;
mod window;

pub use block::{MAX_BLOCK_REPAIRS, MAX_BLOCK_SOURCES, block_coding};
pub use body::{emit_body, parse_body};
pub use bytes::{EmitError, Malformed, varint_len};
pub use context::{PathTotals, WireContext};
pub use header::{HEADER_LEN, Header, IPV4_UDP_LEN, IPV6_UDP_LEN, Kind, MTU_OVERHEAD, REPAIR_FIELDS, TAG_LEN};
pub use kind::SymbolKind;
pub use packet::{Batch, Datagram, Feedback, Packet, PathReport, SymbolReport, Window};
pub use repair::{MAX_EXPLICIT, MAX_OUTSTANDING, SOURCE_FIELDS, emit_repair, emit_source, repair_fields};
pub use report::MAX_FEEDBACK;
pub(crate) use time::whole_micros;
