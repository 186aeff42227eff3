//! IEEE 802.11: stations that share a medium.
//!
//! - `config` has the parameters, with the presets of ns-2 and of the standard.
//! - `propagation` tells which stations hear a sender. `receiver` tells which of the frames they receive.
//! - `medium` is the type that a world drives, [`Medium`]. `wakes` tells which station has something to do next.
//!   `reception` carries frames to all stations that sense them.
//! - `dcf` has the rules of the distributed coordination function. `contention` draws back-offs, and `countdown` counts
//!   their slots.
//! - `link_layer` delays packets between the queue and the layer above.
//! - `routing` finds the next hop of a packet, by `static_routes` or by `aodv`.
//! - `cadence` is a scheme of this project: it decides when a packet may leave the queue.
//! - `pairing` XORs packets that cross at a station.
//! - `air` records what happens on the air, for captures and timelines.
//! - `station` is the state of a station, with its `timers`, its interface `queue`, and its `counters`.
//! - [`ideal`] is another kind of access to a medium, with the assumptions of the bounds of paper 002. `shared` joins
//!   both kinds for the world.

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
pub use medium::{DropReason, Medium, MediumOutput};
pub use pairing::XorConfig;
pub use propagation::Position;
pub use queue::{Load, Packet};
pub use shared::SharedMedium;
pub use static_routes::hop_counts;
