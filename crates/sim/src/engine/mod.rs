//! The virtual-time engine: a clock that jumps from event to event, and the statistics of what was
//! seen on the way.
//!
//! The engine knows nothing of networks. Its user brings a closed enum of events and a loop:
//!
//! ```
//! use ripstop_base::{Fraction, Rate, Seed, Time};
//! use ripstop_link::{Link, LinkConfig};
//! use ripstop_sim::engine::Engine;
//! use std::time::Duration;
//!
//! enum Event {
//!     Send(u32),
//!     Arrive(u32),
//! }
//!
//! let loss = Fraction::new(0.5).unwrap();
//! let config = LinkConfig::path(Rate::from_bps(8_000_000), Duration::from_millis(20), loss);
//! let mut link = Link::new(&config, Seed::new(1), "link/0").unwrap();
//! let mut engine = Engine::new();
//! engine.at(Time::ZERO, Event::Send(0));
//! let mut arrived = Vec::new();
//! while let Some(event) = engine.next_until(Time::from_millis(500)) {
//!     match event {
//!         Event::Send(k) => {
//!             if let Some(arrival) = link.offer(engine.now(), 1000).arrival() {
//!                 engine.at(arrival, Event::Arrive(k));
//!             }
//!             engine.after(Duration::from_millis(5), Event::Send(k + 1));
//!         }
//!         Event::Arrive(k) => arrived.push(k),
//!     }
//! }
//! assert_eq!(engine.now(), Time::from_millis(500));
//! assert!(arrived.is_sorted() && (30..70).contains(&arrived.len()));
//! ```
//!
//! Events at the same moment come in the order in which they were scheduled. Nothing else decides
//! the order, so a run is a function of its configuration and its [`ripstop_base::Seed`].

mod agenda;
mod queue;
mod replicate;
mod statistics;

pub use agenda::{Agenda, Alarm};
pub use queue::{Engine, EventId};
pub use replicate::replicate;
pub use statistics::{DelayStatistic, Sample, Statistic, percentile};
