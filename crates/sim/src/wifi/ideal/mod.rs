//! Ideal access to a shared medium: the assumptions of the bounds of paper 002, section III.
//!
//! No signal takes time to travel, no frame is lost, and no two links that disturb each other are ever active together.
//! A *link* is a station with one of its next hops. Its *exchange* carries one packet. Two links are *in conflict* if
//! the transmitter of one is within k hops of the receiver of the other.
//!
//! - `config` has the settings. [`IdealAccess`] names the two kinds of access.
//! - `conflicts` finds the links, and their conflicts.
//! - `medium` is the type that a world drives, [`IdealMedium`]. It moves packets from link to link.
//! - `csma` lets links attempt after exponential back-offs. `schedule` activates links in slots.
//! - `link` is the state of a link, with its waiting packets. `activity` is what links count.

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
