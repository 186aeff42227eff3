//! Limits the work that unauthenticated senders can cause: each handshake costs four curve
//! multiplications.
//!
//! Normally every handshake message may cause this work, if its mac1 is right. Under load, only
//! messages with a valid cookie may cause this work. The cookie proves that the sender receives
//! datagrams at its address. `mac.rs` explains mac1 and cookies.

use ripstop_base::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Decides which handshake messages are processed. One token bucket limits all senders together.
/// When the bucket is empty, this end is under load. Messages with a valid cookie are then counted
/// for each address.
pub(crate) struct LoadGate {
    /// The rate of the token bucket, messages per second. The bucket holds at most the tokens of
    /// one second.
    per_second: f64,
    /// The largest number of messages from one address per second under load.
    per_address: u32,
    /// How many more messages the bucket admits.
    tokens: f64,
    /// When tokens were last added.
    filled_at: Time,
    /// How many messages with a valid cookie each address has sent in the current second.
    addresses: BTreeMap<IpAddr, u32>,
    /// The number of the second for which `addresses` counts. Second 0 begins at time zero.
    second: u64,
}

/// The largest number of addresses that are counted within a second. The limit bounds the memory.
/// Handshakes from further addresses are refused until the second is over. A larger table admits
/// more peers during an attack.
const MOST_ADDRESSES: usize = 4096;

impl LoadGate {
    pub(crate) fn new(per_second: u32, per_address: u32) -> LoadGate {
        let tokens = f64::from(per_second);
        let (filled_at, addresses) = (Time::ZERO, BTreeMap::new());
        LoadGate { per_second: tokens, per_address, tokens, filled_at, addresses, second: 0 }
    }

    /// Whether a handshake message may be processed without a cookie. If not, this end is under
    /// load.
    pub(crate) fn admit(&mut self, now: Time) -> bool {
        let refill = now.since(self.filled_at).as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + refill).min(self.per_second);
        self.filled_at = self.filled_at.max(now);
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }

    /// Whether a handshake message with a valid cookie may be processed while this end is under
    /// load. IPv6 addresses are counted by /64, because one host may own a whole /64.
    pub(crate) fn admit_address(&mut self, now: Time, from: IpAddr) -> bool {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            self.addresses.clear();
            self.second = second;
        }
        let from = match from {
            IpAddr::V4(_) => from,
            IpAddr::V6(v6) => IpAddr::V6((u128::from(v6) >> 64 << 64).into()),
        };
        if self.addresses.len() >= MOST_ADDRESSES && !self.addresses.contains_key(&from) {
            return false;
        }
        let count = self.addresses.entry(from).or_insert(0);
        *count = count.saturating_add(1);
        *count <= self.per_address
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
        assert_eq!(refused, 10_000 - MOST_ADDRESSES);
        let six = |low: u16| IpAddr::from([0xfd, 0, 0, 0, 0, 0, 0, low]);
        assert_eq!((0..9).filter(|n| gate.admit_address(t(3300), six(*n))).count(), 3);
    }
}
