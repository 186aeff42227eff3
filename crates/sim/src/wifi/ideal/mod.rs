//! Ideal access to a shared medium: the assumptions of the bounds of paper 002, section III.
//!
//! No signal takes time to travel, no frame is lost, and no two links that disturb each other are ever active together.
//! A *link* is a pair of stations: a transmitter, and a neighbour that receives. An *exchange* on a link carries one
//! packet. Two links are *in conflict* if the transmitter of one link is within k hops of the receiver of the other
//! link.
//!
//! - `config` has the settings. [`IdealAccess`] names the two kinds of access.
//! - `conflicts` finds the links and the conflicts between links.
//! - `medium` has [`IdealMedium`], the type that a world of the simulator drives. The medium moves packets from link to
//!   link.
//! - `csma` lets links attempt after exponential back-offs. `schedule` activates links in slots.
//! - `link` has the state of a link, with its waiting packets. `activity` has what the medium and its links count.

mod activity;
mod config;
mod conflicts;
mod csma;
mod link;
mod medium;
mod schedule;

pub use activity::{Activity, LinkActivity};
pub use config::{IdealAccess, IdealConfig, IdealLinkConfig, PacketTimes};
pub use medium::IdealMedium;
