//! One direction of the path: a link, and the packets that are on their way.
//!
//! A packet travels in a datagram with the checksum of UDP (RFC 768). A link flips one bit of a datagram, and this
//! always changes the checksum. A receiver drops a datagram whose checksum does not fit, so corruption is a loss for
//! the session.

use ripstop_base::{Seed, Time};
use ripstop_link::{Link, LinkConfig, LinkConfigError, LinkCounters};
use std::collections::BTreeMap;

/// A packet on its way.
#[derive(Clone)]
pub(crate) struct OnTheWay<T> {
    /// The packet.
    pub(crate) packet: T,
    /// The packet's size on the link, bytes.
    pub(crate) size: u32,
    /// Whether the checksum fits.
    pub(crate) is_whole: bool,
}

/// One direction of the path.
pub(crate) struct Wire<T> {
    link: Link,
    /// Packets on their way, by the time of their arrival and by their number.
    on_the_way: BTreeMap<(Time, u64), OnTheWay<T>>,
    offered: u64,
}

impl<T: Clone> Wire<T> {
    /// A wire over a link. `name` names the random streams of the link.
    ///
    /// # Errors
    /// A setting of the link that is not valid.
    pub(crate) fn new(config: &LinkConfig, seed: Seed, name: &str) -> Result<Wire<T>, LinkConfigError> {
        Ok(Wire { link: Link::new(config, seed, name)?, on_the_way: BTreeMap::new(), offered: 0 })
    }

    /// Sends a packet that has `size` bytes on the link.
    pub(crate) fn send(&mut self, now: Time, packet: T, size: u32) {
        self.offered += 1;
        let Some(delivery) = self.link.offer(now, size as usize).delivery() else { return };
        let sent = OnTheWay { packet, size, is_whole: delivery.corruption.is_none() };
        for (copy, arrival) in delivery.arrivals().enumerate() {
            self.on_the_way.insert((arrival, 2 * self.offered + copy as u64), sent.clone());
        }
    }

    /// When the next packet arrives.
    pub(crate) fn next(&self) -> Time {
        self.on_the_way.keys().next().map_or(Time::NEVER, |(arrival, _)| *arrival)
    }

    /// The next packet that has arrived.
    pub(crate) fn take(&mut self, now: Time) -> Option<OnTheWay<T>> {
        let entry = self.on_the_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }

    /// The counters of the link.
    pub(crate) fn counters(&self) -> &LinkCounters {
        self.link.counters()
    }

    /// The names of impairments that have not acted.
    pub(crate) fn unfired(&self) -> Vec<&'static str> {
        self.link.unfired()
    }
}
