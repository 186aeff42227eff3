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
//! 1. The MTU, the policer, the limit of the queue and the queue discipline may *refuse* the packet.
//!    A refused packet takes no time on the link.
//! 2. The packet waits and is *serialised*: its bits are sent one after the other at the link's
//!    rate.
//! 3. The *channel* may *lose* the packet. A lost packet has used its time on the link. A packet
//!    that is not lost may be corrupted, delayed, held back so that others overtake it, or
//!    delivered twice.
//!
//! Two queue disciplines ([`Discipline`]) cannot answer immediately when a packet must wait: CoDel
//! decides when the packet leaves the queue, and FQ may send a later packet first. The link then
//! answers [`Fate::Queued`]. The caller calls [`Link::poll`] at the moment [`Link::poll_at`], and
//! `poll` tells the fates of packets by their tags. After this the caller proceeds as before.
//!
//! ```
//! use ripstop_base::{Rate, Seed, Time};
//! use ripstop_link::{Discipline, Fate, Link, LinkConfig, Packet};
//!
//! let rate = Rate::from_bps(12_800_000); // 1600 bytes take 1 ms.
//! let config = LinkConfig { rate, queue_discipline: Discipline::fq(), ..LinkConfig::default() };
//! let mut link = Link::new(&config, Seed::new(1), "link/0").unwrap();
//! // The first packet begins to leave immediately. The others wait, and flow 2 goes before the
//! // second packet of flow 1.
//! let packet = |tag, flow| Packet { bytes: 1600, flow, tag, ..Packet::default() };
//! assert_eq!(link.offer_packet(Time::ZERO, packet(10, 1)).departure(), Some(Time::from_millis(1)));
//! for (tag, flow) in [(11, 1), (12, 1), (20, 2)] {
//!     assert_eq!(link.offer_packet(Time::ZERO, packet(tag, flow)), Fate::Queued);
//! }
//! assert_eq!(link.poll_at(), Some(Time::from_millis(1)));
//! let (mut order, mut now) = (Vec::new(), Time::ZERO);
//! while let Some(at) = link.poll_at() {
//!     now = at;
//!     while let Some((tag, fate)) = link.poll(now) {
//!         order.push((tag, fate.departure().unwrap().as_nanos() / 1_000_000));
//!     }
//! }
//! assert_eq!(order, [(11, 2), (20, 3), (12, 4)]);
//! ```
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
mod queue;
mod serialiser;
mod timeline;

pub use config::{Blackout, Change, Discipline, Duplicate, LinkConfig, Mark, Policer, RateTrace, Reorder};
pub use counters::LinkCounters;
pub use error::LinkConfigError;
pub use fate::{Corruption, Delivery, DropReason, Fate};
pub use fec::Fec;
pub use link::{Backlog, Link, Packet, ShortFate};
pub use loss::Loss;
