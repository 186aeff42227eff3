//! IP packets as symbols: what a tunnel puts into symbols, and in what order it delivers the packets.
//!
//! An *inner packet* is an IP packet that the tunnel carries. A symbol holds one inner packet, or a piece of one.

pub(crate) mod class;
mod delivery;
pub mod early_acks;
mod gap;
mod gaps;
pub(crate) mod ingress;
mod inner_packet;
mod order;
mod piece;
mod pieces;
mod recovery_wait;
mod supply;
pub mod symbol;
mod undelivered;

pub use class::{Class, ClassHints, ClassRule, Hint, Traffic};
pub(crate) use delivery::Delivery;
pub use gap::Gap;
pub use ingress::{QueueDrops, SendQueue};
pub use inner_packet::{InnerPacket, Meta, Order};
pub use order::{Delivered, OrderCounts};
pub use piece::{MOST_PIECES, PIECE_HEADER, Piece};
pub use pieces::PieceCounts;
pub(crate) use supply::Supply;
pub use supply::{HintCounts, SupplyCounts};
pub use undelivered::{DeliveryRoom, Undelivered};
