//! What a network does to packets: one direction of one hop, sans-I/O.
//!
//! A [`Link`] is offered one packet at a time, as a moment and a size, and answers at once with the
//! packet's [`Fate`]: when its last bit leaves, when it arrives (and when a copy of it does), which
//! bit of it is flipped, or why it will not arrive. The caller keeps the packet and acts at the
//! times it was told. That is one event a hop in the simulator and one timer in the emulator, over
//! the very same code.
//!
//! ```
//! use ripstop_base::{Fraction, Rate, Seed, Time};
//! use ripstop_link::{Link, LinkConfig};
//! use std::time::Duration;
//!
//! let config = LinkConfig::path(
//!     Rate::from_bps(20_000_000),
//!     Duration::from_millis(100),
//!     Fraction::new(0.05).unwrap(),
//! );
//! let mut link = Link::new(&config, Seed::new(1), "link/0").unwrap();
//! let fate = link.offer(Time::ZERO, 1500);
//! assert_eq!(fate.departure(), Some(Time::from_micros(600)));
//! assert!(fate.arrival().is_none_or(|t| t == Time::from_micros(50_600)));
//! ```
//!
//! The order of the elements is that of a sender's interface: MTU, policer and drop-tail queue may
//! *refuse* a packet, which then costs the link nothing; what is accepted waits and is serialised;
//! then the channel may *lose* it (its slot is spent), corrupt it, delay it, hold it back so that
//! others overtake it, or deliver it twice. With a block code ([`Fec`]) it crosses the channel in
//! units, which may be lost one by one.
//!
//! Every impairment draws from a stream of its own, once for every packet *offered*, whatever
//! becomes of the packet. So the fate that impairments hold for the k-th packet depends on the seed
//! and on k alone: it is the same in the simulator and in the emulator, whatever the timing, and
//! two schemes can be compared on the same losses. Only a chain of units goes on with time, as the
//! channel it stands for: there the k-th packet's random numbers depend on the seed and k alone, what
//! they decide also on how long the link has idled.

mod config;
mod counters;
mod fate;
mod fec;
mod link;
mod loss;
mod policer;
mod quick;
mod serialiser;
mod text;

pub use config::{Blackout, Change, ConfigError, Duplicate, LinkConfig, Policer, Reorder};
pub use counters::Counters;
pub use fate::{Corruption, Delivery, Fate, Reason};
pub use fec::Fec;
pub use link::{Backlog, Link};
pub use loss::Loss;
