//! What a network does to packets: one direction of one hop, sans-I/O.
//!
//! A caller offers one packet at a time to a [`Link`], as a moment and a size. The link answers
//! immediately with the packet's [`Fate`]: when its last bit leaves and when the packet arrives, or
//! why it does not arrive. The fate also names the arrival of a copy, if there is one, and the bit
//! that corruption flips. The caller keeps the packet and acts at these times. So the simulator
//! needs one event per hop, and the emulator needs one timer. The simulator and the emulator run
//! this same code.
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
//! A packet meets these elements in this order, as at a sender's interface:
//!
//! 1. The MTU, the policer and the drop-tail queue may *refuse* the packet. A refused packet takes
//!    no time on the link.
//! 2. The packet waits and is *serialised*: its bits are sent one after the other at the link's
//!    rate.
//! 3. The *channel* may *lose* the packet. A lost packet has used its time on the link. A packet
//!    that is not lost may be corrupted, delayed, held back so that others overtake it, or
//!    delivered twice.
//!
//! With a block code ([`Fec`]) a packet crosses the channel in units, and each unit may be lost.
//!
//! Each configured random effect (loss, jitter, reordering, duplication, corruption) has random
//! streams of its own. For every packet *offered*, an effect draws the same number of random
//! numbers, even if the packet is refused. So the random numbers of the k-th packet depend only on
//! the seed and on k. The random numbers are the same in the simulator and in the emulator. Two
//! schemes can be compared on the same losses.
//!
//! There is one exception, the loss of units. A list or a sequence of lost units counts the units
//! sent. A chain with a good and a bad state ([`Loss::Gilbert`] and [`Loss::GilbertElliott`]) makes
//! one step per unit. This chain also makes steps while the link is idle, because the channel that
//! it models changes with time. The random numbers of the k-th packet still depend only on the seed
//! and on k. But the packet's fate also depends on earlier packets and on how long the link was
//! idle.

mod block_losses;
mod config;
mod counters;
mod error;
mod fate;
mod fec;
mod field;
mod link;
mod loss;
mod policer;
mod serialiser;

pub use config::{Blackout, Change, Duplicate, LinkConfig, Policer, Reorder};
pub use counters::LinkCounters;
pub use error::LinkConfigError;
pub use fate::{Corruption, Delivery, DropReason, Fate};
pub use fec::Fec;
pub use link::{Backlog, Link, ShortFate};
pub use loss::Loss;
