//! One direction of the path: a link, and the packets that are on their way as bytes.
//!
//! A packet travels in a datagram with the checksum of UDP (RFC 768). A receiver drops a datagram whose checksum does
//! not fit, so corruption is a loss for the session. A single flipped bit always changes the checksum. The parser must
//! survive the damaged bytes all the same.

use etherparse::checksum::Sum16BitWords;
use ripstop_base::{Seed, Time};
use ripstop_link::{Link, LinkConfig, LinkConfigError, LinkCounters};
use std::collections::BTreeMap;

/// The length of the checksum in front of a packet.
const CHECKSUM: usize = 2;

/// A packet that arrives.
pub(crate) struct Arrived {
    /// The packet's bytes.
    pub(crate) bytes: Vec<u8>,
    /// The packet's size on the link, bytes.
    pub(crate) size: u32,
    /// Whether the checksum fits.
    pub(crate) is_whole: bool,
}

/// One direction of the path.
pub(crate) struct Wire {
    link: Link,
    /// Datagrams on their way, by the time of their arrival and by their number.
    on_the_way: BTreeMap<(Time, u64), (Vec<u8>, u32)>,
    offered: u64,
}

impl Wire {
    /// A wire over a link. `name` names the random streams of the link.
    ///
    /// # Errors
    /// A setting of the link that is not valid.
    pub(crate) fn new(config: &LinkConfig, seed: Seed, name: &str) -> Result<Wire, LinkConfigError> {
        Ok(Wire { link: Link::new(config, seed, name)?, on_the_way: BTreeMap::new(), offered: 0 })
    }

    /// Sends a packet that has `size` bytes on the link.
    pub(crate) fn send(&mut self, now: Time, packet: &[u8], size: u32) {
        self.offered += 1;
        let Some(delivery) = self.link.offer(now, size as usize).delivery() else { return };
        let mut datagram = checksum(packet).to_vec();
        datagram.extend_from_slice(packet);
        if let Some(mut corruption) = delivery.corruption {
            // The bytes of the headers are not there, so the bit moves into the packet.
            corruption.byte %= datagram.len();
            corruption.apply(&mut datagram);
        }
        for (copy, arrival) in delivery.arrivals().enumerate() {
            self.on_the_way.insert((arrival, 2 * self.offered + copy as u64), (datagram.clone(), size));
        }
    }

    /// When the next packet arrives.
    pub(crate) fn next(&self) -> Time {
        self.on_the_way.keys().next().map_or(Time::NEVER, |(arrival, _)| *arrival)
    }

    /// The next packet that has arrived.
    pub(crate) fn take(&mut self, now: Time) -> Option<Arrived> {
        let entry = self.on_the_way.first_entry().filter(|entry| entry.key().0 <= now)?;
        let (datagram, size) = entry.remove();
        let bytes = datagram[CHECKSUM..].to_vec();
        Some(Arrived { is_whole: checksum(&bytes) == datagram[..CHECKSUM], bytes, size })
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

/// The checksum of a packet.
fn checksum(packet: &[u8]) -> [u8; CHECKSUM] {
    Sum16BitWords::new().add_slice(packet).to_ones_complement_with_no_zero().to_be_bytes()
}
