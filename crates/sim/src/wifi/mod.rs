//! IEEE 802.11: stations that share a medium.
//!
//! - `config` has the parameters, with the presets of ns-2 and of the standard.
//! - `propagation` tells which stations sense a sender. `receiver` tells which of the sensed frames a station decodes.
//! - `medium` has [`Medium`], the type that a world of the simulator drives. `wakes` tells which station has something
//!   to do next. `reception` carries frames to all stations that sense them.
//! - `dcf` has the rules of the distributed coordination function (DCF). `contention` draws back-offs, and `countdown`
//!   counts their slots.
//! - `link_layer` delays packets between the interface queue and the layer above.
//! - `loss` loses frames or datagrams at random.
//! - `routing` finds the next hop of a packet. `static_routes` and `aodv` are the two ways to find routes.
//! - `cadence` is a contention scheme of this project. The scheme decides when a packet may leave the interface queue.
//! - `pairing` XORs two packets that cross at a station in opposite directions.
//! - `air` records what happens on the air, for packet captures and timelines.
//! - `station` has the state of a station. `timers`, `queue` (the interface queue) and `counters` are parts of this
//!   state.
//! - [`ideal`] is another kind of medium, with ideal access: it makes the assumptions of the bounds of paper 002.
//!   `shared` has one type for both kinds of medium.

mod air;
mod aodv;
mod cadence;
mod config;
mod contention;
mod countdown;
mod counters;
mod dcf;
mod frame;
pub mod ideal;
mod link_layer;
mod loss;
mod medium;
mod pairing;
mod propagation;
mod queue;
mod receiver;
mod reception;
mod routing;
mod shared;
mod static_routes;
mod station;
mod timers;
mod wakes;

pub use air::{AirBackoff, AirContent, AirEvent, AirFate, AirFrame, AirMessage, AirPacket, AirReception, AirState};
pub use cadence::Cadence;
pub use config::{Growth, Routing, WifiConfig};
pub use contention::{AdaptiveBackoff, BackoffRule, PostBackoff, ProtectionK, Residual, TimerEffect, TimerStart};
pub use counters::{RoutingCounters, StationCounters};
pub use frame::FrameKind;
pub use loss::{Errors, RandomLoss};
pub use medium::{DropReason, Medium, MediumOutput};
pub use pairing::XorConfig;
pub use propagation::Position;
pub use queue::{Load, Packet};
pub use shared::SharedMedium;
pub use static_routes::hop_counts;
