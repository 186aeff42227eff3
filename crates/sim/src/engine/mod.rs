//! The virtual-time engine: a clock that jumps from alarm to alarm, a helper that spreads independent runs over CPU
//! cores, and statistics over runs.
//!
//! The engine has no notion of networks. The user of the engine adds one alarm for each kind of event and writes the
//! loop that handles the alarms:
//!
//! ```
//! use ripstop_base::{Fraction, Rate, Seed, Time};
//! use ripstop_link::{Link, LinkConfig};
//! use ripstop_sim::engine::Scheduler;
//! use std::collections::VecDeque;
//! use std::time::Duration;
//!
//! let loss = Fraction::new(0.5).unwrap();
//! let config = LinkConfig::path(Rate::from_bps(8_000_000), Duration::from_millis(20), loss);
//! let mut link = Link::new(&config, Seed::new(1), "link/0").unwrap();
//! let mut scheduler = Scheduler::new();
//! let (send, arrive) = (scheduler.add(), scheduler.add());
//! let (mut under_way, mut arrived) = (VecDeque::new(), 0);
//! scheduler.set(send, Time::ZERO);
//! while let Some(alarm) = scheduler.next_until(Time::from_millis(500)) {
//!     let now = scheduler.now();
//!     if alarm == send {
//!         under_way.extend(link.offer(now, 1000).arrival());
//!         scheduler.set(send, now + Duration::from_millis(5));
//!     } else {
//!         under_way.pop_front();
//!         arrived += 1;
//!     }
//!     scheduler.set(arrive, under_way.front().copied().unwrap_or(Time::NEVER));
//! }
//! assert_eq!(scheduler.now(), Time::from_millis(500));
//! assert!((30..70).contains(&arrived));
//! ```

mod replicate;
mod scheduler;
mod statistics;

pub use replicate::replicate;
pub use scheduler::{Alarm, Scheduler};
pub use statistics::{DelayStatistic, Sample, Statistic, percentile};
