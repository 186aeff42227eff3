//! Limits what unauthenticated senders can cause: work, and answers.
//!
//! Each handshake costs four curve multiplications. Normally every handshake message may cause this
//! work, if its mac1 is right. Under load, only messages with a valid cookie may cause this work. The
//! cookie proves that the sender receives datagrams at its address. `mac.rs` explains mac1 and
//! cookies.
//!
//! The answers to such messages are limited too, so that forged source addresses cannot turn this
//! end's answers against others.

use super::config::SecureConfig;
use crate::tokens::TokenBucket;
use ripstop_base::Time;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Decides which handshake messages are processed. One token bucket limits all senders together.
/// When the bucket is empty, this end is under load. Messages with a valid cookie are then limited
/// for each address, for each network, and all together. Messages from the address of a peer are
/// only limited for each address, so strangers cannot keep such a peer out.
pub(crate) struct LoadGate {
    all: TokenBucket,
    /// Limits the messages with a cookie from addresses that are no peer's.
    with_cookie: TokenBucket,
    /// Counts these messages for each IPv4 address, and for each IPv6 /64, because one host may own
    /// a whole /64.
    addresses: PrefixCounts,
    /// Counts these messages for each IPv4 /24, and for each IPv6 /48, because one attacker may own
    /// a whole /48. So one network takes a small part of the limits and of the tables.
    networks: PrefixCounts,
    /// Counts the messages with a cookie from the addresses of peers.
    peers: PrefixCounts,
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

/// How many peers have each IP address.
#[derive(Default)]
pub(crate) struct PeerAddresses(BTreeMap<IpAddr, u32>);

/// The largest number of prefixes that are counted within a second. The limit bounds the memory.
/// Events for further prefixes are refused until the second is over. Only admitted events take a place in the table. So the
/// default limits, at most 4000 answers or 2000 messages with a cookie within a second, never fill it. Half the value
/// refuses answers that the limit on all answers allows. Double the value changes nothing.
const MOST_PREFIXES: usize = 4096;

impl LoadGate {
    pub(crate) fn new(config: &SecureConfig) -> LoadGate {
        let full = |per_second: u32| TokenBucket::full(f64::from(per_second), f64::from(per_second), Time::ZERO);
        LoadGate {
            all: full(config.handshakes_per_second),
            with_cookie: full(config.handshakes_with_cookie),
            addresses: PrefixCounts::new(config.handshakes_per_address, (32, 64)),
            networks: PrefixCounts::new(config.handshakes_per_network, (24, 48)),
            peers: PrefixCounts::new(config.handshakes_per_address, (32, 64)),
        }
    }

    /// Whether a handshake message may be processed without a cookie. If not, this end is under
    /// load.
    pub(crate) fn admit(&mut self, now: Time) -> bool {
        self.all.take(now, 1.0)
    }

    /// Whether a handshake message with a valid cookie may be processed while this end is under
    /// load. `is_peer`: a peer has the address `from`.
    pub(crate) fn admit_address(&mut self, now: Time, from: IpAddr, is_peer: bool) -> bool {
        if is_peer {
            return self.peers.admit(now, from);
        }
        // What is over the limit of its network takes no room in the table of addresses. What is over
        // the limit of its address takes no share of the network, and no token of the others. What is over the limit of
        // all takes no room in the tables.
        self.with_cookie.has(now, 1.0)
            && self.networks.has_room(now, from)
            && self.addresses.admit(now, from)
            && self.networks.admit(now, from)
            && self.with_cookie.take(now, 1.0)
    }
}

impl PeerAddresses {
    /// Notes that a peer has a new address.
    pub(crate) fn change(&mut self, from: Option<SocketAddr>, to: Option<SocketAddr>) {
        if let Some(address) = to.map(|to| to.ip()) {
            *self.0.entry(address).or_insert(0) += 1;
        }
        if let Some(address) = from.map(|from| from.ip())
            && let Some(count) = self.0.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                self.0.remove(&address);
            }
        }
    }

    /// Whether a peer has this address.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        self.0.contains_key(&address)
    }
}

impl ReplyGate {
    pub(crate) fn new(per_second: u32, per_prefix: u32) -> ReplyGate {
        ReplyGate {
            all: TokenBucket::full(f64::from(per_second), f64::from(per_second), Time::ZERO),
            prefixes: PrefixCounts::new(per_prefix, (24, 48)),
        }
    }

    /// Whether [`ReplyGate::admit`] would allow an answer to `to`.
    pub(crate) fn has_room(&mut self, now: Time, to: IpAddr) -> bool {
        self.all.has(now, 1.0) && self.prefixes.has_room(now, to)
    }

    /// Whether an answer to `to` may be sent. If so, counts it.
    pub(crate) fn admit(&mut self, now: Time, to: IpAddr) -> bool {
        // A prefix over its limit takes no token of the others. An answer without a token takes no place in the table.
        self.all.has(now, 1.0) && self.prefixes.admit(now, to) && self.all.take(now, 1.0)
    }
}

impl PrefixCounts {
    fn new(per_second: u32, lengths: (u8, u8)) -> PrefixCounts {
        PrefixCounts { per_second, lengths, counts: BTreeMap::new(), second: 0 }
    }

    /// Counts an event for the prefix of `address`. False if the prefix has reached its limit, or
    /// the table is full.
    fn admit(&mut self, now: Time, address: IpAddr) -> bool {
        let has_room = self.has_room(now, address);
        if has_room {
            *self.counts.entry(self.prefix(address)).or_insert(0) += 1;
        }
        has_room
    }

    /// Whether [`PrefixCounts::admit`] would admit an event for `address`.
    fn has_room(&mut self, now: Time, address: IpAddr) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            self.counts.clear();
            self.second = second;
        }
        match self.counts.get(&self.prefix(address)) {
            Some(count) => *count < self.per_second,
            None => self.counts.len() < MOST_PREFIXES && self.per_second > 0,
        }
    }

    /// The prefix of `address` for which events are counted.
    fn prefix(&self, address: IpAddr) -> IpAddr {
        match address {
            IpAddr::V4(v4) => IpAddr::V4((u32::from(v4) & u32::MAX << (32 - self.lengths.0)).into()),
            IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) & u128::MAX << (128 - self.lengths.1)).into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate() -> LoadGate {
        LoadGate::new(&SecureConfig {
            handshakes_per_second: 10,
            handshakes_with_cookie: 40,
            handshakes_per_address: 3,
            handshakes_per_network: 20,
            ..SecureConfig::default()
        })
    }

    /// How many of 100 000 messages are admitted within a second, from `address(0)`, `address(1)` and so on.
    fn admitted(gate: &mut LoadGate, ms: u64, is_peer: bool, address: impl Fn(u32) -> IpAddr) -> usize {
        (0..100_000).filter(|n| gate.admit_address(Time::from_millis(ms), address(*n), is_peer)).count()
    }

    fn four(n: u32) -> IpAddr {
        IpAddr::from(n.to_be_bytes())
    }

    #[test]
    fn admits_a_rate_and_a_burst_of_a_second() {
        let mut gate = gate();
        let t = Time::from_millis;
        assert_eq!((0..100).filter(|_| gate.admit(t(5))).count(), 10);
        assert_eq!((0..100).filter(|_| gate.admit(t(205))).count(), 2);
        assert!(!gate.admit(t(0)), "a time that goes back must add no tokens");
        assert_eq!(admitted(&mut gate, 300, false, |_| four(1)), 3);
        assert!(gate.admit_address(t(300), four(2), false));
        assert!(gate.admit_address(t(1300), four(1), false), "a new second must begin a new count");
        assert_eq!(admitted(&mut gate, 3300, false, |n| IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, n as u16])), 3);
    }

    /// One attacker owns an IPv6 /48, or an IPv4 /24. It gets its share, and the others pass.
    #[test]
    fn one_network_takes_its_share() {
        let mut gate = gate();
        let six = |net: u16, n: u32| IpAddr::from([0x2001, 0xdb8, net, n as u16, 0, 0, 0, 1]);
        assert_eq!(admitted(&mut gate, 1000, false, |n| six(1, n)), 20);
        assert!(gate.addresses.counts.len() <= 20, "the table of addresses has room");
        assert_eq!((0..9).filter(|_| gate.admit_address(Time::from_millis(1000), six(2, 0), false)).count(), 3);
        assert_eq!(admitted(&mut gate, 3000, false, |n| four(0x0a00_0000 + n % 256)), 20);
        assert!(gate.admit_address(Time::from_millis(3000), four(0x0b00_0000), false));
    }

    /// Many networks together get the limit on all messages with a cookie. The peers' addresses have their own.
    #[test]
    fn strangers_with_cookies_do_not_keep_known_peers_out() {
        let mut gate = gate();
        assert_eq!(admitted(&mut gate, 1000, false, |n| four(n << 8)), 40);
        assert_eq!(admitted(&mut gate, 1000, true, |_| four(7)), 3);
        assert_eq!(admitted(&mut gate, 1000, true, |n| four(n % 100)), 3 * 99);
    }

    #[test]
    fn the_addresses_of_peers_are_counted() {
        let mut known = PeerAddresses::default();
        let at = |n: u32| Some(SocketAddr::new(four(n), 1));
        known.change(None, at(1));
        known.change(None, at(1));
        known.change(at(1), at(2));
        assert!(known.contains(four(1)) && known.contains(four(2)));
        known.change(at(1), None);
        known.change(at(2), at(2));
        assert!(!known.contains(four(1)) && known.contains(four(2)));
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

    /// An answer, or a message with a cookie, for which there is no token takes no place in a table.
    #[test]
    fn what_is_refused_takes_no_place_in_the_tables() {
        let config = SecureConfig::default();
        let mut replies = ReplyGate::new(config.replies_per_second, config.replies_per_prefix);
        let t = Time::from_millis;
        assert_eq!((0..5_000).filter(|n| replies.admit(t(1_000), four(n << 8))).count(), 2_000);
        assert_eq!(replies.prefixes.counts.len(), 2_000);
        assert!(replies.admit(t(1_100), four(9_000 << 8)), "100 ms later there are tokens, and there is a place");
        let mut load = LoadGate::new(&config);
        assert_eq!((0..5_000).filter(|n| load.admit_address(t(1_000), four(n << 8), false)).count(), 1_000);
        assert_eq!((load.addresses.counts.len(), load.networks.counts.len()), (1_000, 1_000));
        assert!(load.admit_address(t(1_100), four(9_000 << 8), false));
    }
}
