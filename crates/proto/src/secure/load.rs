//! Limits what unauthenticated senders can cause: work, and answers.
//!
//! Each handshake costs four curve multiplications. Normally every handshake message may cause this
//! work, if its mac1 is right. Under load, only messages with a valid cookie may cause this work. The
//! cookie proves that the sender receives datagrams at its address. `mac.rs` explains mac1 and
//! cookies.
//!
//! The answers to such messages are limited too, so that forged source addresses cannot turn this
//! end's answers against others.

use crate::tokens::TokenBucket;
use ripstop_base::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Decides which handshake messages are processed. One token bucket limits all senders together.
/// When the bucket is empty, this end is under load. Messages with a valid cookie are then counted
/// for each address.
pub(crate) struct LoadGate {
    all: TokenBucket,
    /// Limits the messages from one IPv4 address, or from one IPv6 /64, because one host may own a
    /// whole /64.
    addresses: PrefixCounts,
}

/// Decides which answers are sent to senders that may be forged: cookies, repeated responses, and
/// responses that name a stamp. One token bucket limits all answers together. The answers to each
/// IPv4 /24 and to each IPv6 /48 are counted, because such a prefix usually is one network, and the
/// answers would load its link.
pub(crate) struct ReplyGate {
    all: TokenBucket,
    prefixes: PrefixCounts,
}

/// Counts events for each address prefix, within each second. Second 0 begins at time zero.
struct PrefixCounts {
    /// The largest number of events for one prefix per second.
    per_second: u32,
    /// The lengths of IPv4 and IPv6 prefixes, bits.
    lengths: (u8, u8),
    counts: BTreeMap<IpAddr, u32>,
    /// The number of the second for which `counts` counts.
    second: u64,
}

/// The largest number of prefixes that are counted within a second. The limit bounds the memory.
/// Events for further prefixes are refused until the second is over. A larger table admits more
/// peers during an attack.
const MOST_PREFIXES: usize = 4096;

impl LoadGate {
    pub(crate) fn new(per_second: u32, per_address: u32) -> LoadGate {
        LoadGate {
            all: TokenBucket::full(f64::from(per_second), f64::from(per_second), Time::ZERO),
            addresses: PrefixCounts::new(per_address, (32, 64)),
        }
    }

    /// Whether a handshake message may be processed without a cookie. If not, this end is under
    /// load.
    pub(crate) fn admit(&mut self, now: Time) -> bool {
        self.all.take(now, 1.0)
    }

    /// Whether a handshake message with a valid cookie may be processed while this end is under
    /// load.
    pub(crate) fn admit_address(&mut self, now: Time, from: IpAddr) -> bool {
        self.addresses.admit(now, from)
    }
}

impl ReplyGate {
    pub(crate) fn new(per_second: u32, per_prefix: u32) -> ReplyGate {
        ReplyGate {
            all: TokenBucket::full(f64::from(per_second), f64::from(per_second), Time::ZERO),
            prefixes: PrefixCounts::new(per_prefix, (24, 48)),
        }
    }

    /// Whether an answer to `to` may be sent.
    pub(crate) fn admit(&mut self, now: Time, to: IpAddr) -> bool {
        // A prefix over its limit takes no token of the others.
        self.prefixes.admit(now, to) && self.all.take(now, 1.0)
    }
}

impl PrefixCounts {
    fn new(per_second: u32, lengths: (u8, u8)) -> PrefixCounts {
        PrefixCounts { per_second, lengths, counts: BTreeMap::new(), second: 0 }
    }

    /// Counts an event for the prefix of `address`. False if the prefix has reached its limit, or
    /// the table is full.
    fn admit(&mut self, now: Time, address: IpAddr) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            self.counts.clear();
            self.second = second;
        }
        let prefix = match address {
            IpAddr::V4(v4) => IpAddr::V4((u32::from(v4) & u32::MAX << (32 - self.lengths.0)).into()),
            IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & u128::MAX << (128 - self.lengths.1)).into()),
        };
        if self.counts.len() >= MOST_PREFIXES && !self.counts.contains_key(&prefix) {
            return false;
        }
        let count = self.counts.entry(prefix).or_insert(0);
        *count = count.saturating_add(1);
        *count <= self.per_second
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn admits_a_rate_and_a_burst_of_a_second() {
        let mut gate = LoadGate::new(10, 3);
        let t = Time::from_millis;
        assert_eq!((0..100).filter(|_| gate.admit(t(5))).count(), 10);
        assert_eq!((0..100).filter(|_| gate.admit(t(205))).count(), 2);
        assert!(!gate.admit(t(0)), "a time that goes back must add no tokens");
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        assert_eq!((0..100).filter(|_| gate.admit_address(t(300), address(1))).count(), 3);
        assert!(gate.admit_address(t(300), address(2)));
        assert!(gate.admit_address(t(1300), address(1)), "a new second must begin a new count");
        let refused = (0..10_000).filter(|n| !gate.admit_address(t(2300), address(*n))).count();
        assert_eq!(refused, 10_000 - MOST_PREFIXES);
        let six = |low: u16| IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, low]);
        assert_eq!((0..9).filter(|n| gate.admit_address(t(3300), six(*n))).count(), 3);
    }

    #[test]
    fn answers_are_limited_for_all_and_for_each_network() {
        let mut gate = ReplyGate::new(20, 5);
        let t = Time::from_millis;
        let four = |a: u8, b: u8| IpAddr::from([10, 0, a, b]);
        assert_eq!((0..100).filter(|n| gate.admit(t(0), four(1, *n))).count(), 5, "one /24");
        assert_eq!((0..100).filter(|n| gate.admit(t(0), four(2 + n / 4, *n))).count(), 15, "20 in all");
        assert_eq!((0..100).filter(|n| gate.admit(t(1500), four(1, *n))).count(), 5);
        let six = |net: u16, low: u16| IpAddr::from([0x2001, 0xdb8, net, low, 0, 0, 0, low]);
        assert_eq!((0..100).filter(|n| gate.admit(t(2500), six(1, *n))).count(), 5, "one /48");
        assert!(gate.admit(t(2500), six(2, 0)));
    }
}
