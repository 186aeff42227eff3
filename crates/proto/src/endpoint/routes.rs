//! The routing table: it maps the destination of an inner packet to a peer, by the longest prefix
//! that contains the destination.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address prefix, such as `10.1.0.0/16` or `fd00::/8`. The host bits are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IpPrefix {
    address: IpAddr,
    len: u8,
}

/// The error for a text that is not an address prefix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address prefix; write for example `10.1.0.0/16`, `fd00::/8` or `10.1.2.3`")]
pub struct PrefixError(String);

impl IpPrefix {
    /// The prefix that consists of the first `len` bits of `address`. None if an address of this
    /// family has fewer than `len` bits.
    pub fn new(address: IpAddr, len: u8) -> Option<IpPrefix> {
        let (bits, width) = bits_of(address);
        (len <= width).then(|| IpPrefix { address: address_of(masked(bits, len, width), width), len })
    }

    /// Whether the prefix contains `address`.
    pub fn contains(&self, address: IpAddr) -> bool {
        IpPrefix::new(address, self.len).is_some_and(|prefix| prefix == *self)
    }

    /// The prefix's address. The host bits are zero.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The prefix's length, bits.
    pub fn prefix_len(&self) -> u8 {
        self.len
    }
}

impl fmt::Display for IpPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

impl FromStr for IpPrefix {
    type Err = PrefixError;
    fn from_str(text: &str) -> Result<IpPrefix, PrefixError> {
        let wrong = || PrefixError(text.to_owned());
        let (address, len) = match text.trim().split_once('/') {
            Some((address, len)) => (address, Some(len.parse::<u8>().map_err(|_| wrong())?)),
            None => (text.trim(), None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        IpPrefix::new(address, len.unwrap_or(bits_of(address).1)).ok_or_else(wrong)
    }
}

/// A table from prefixes to values of type `T`, with look-up by longest prefix.
#[derive(Clone, Debug)]
pub struct Routes<T> {
    table: BTreeMap<IpPrefix, T>,
    /// The prefix lengths that occur in the table, the longest first: the first list for IPv4, the
    /// second for IPv6.
    lengths: [Vec<u8>; 2],
}

impl<T> Default for Routes<T> {
    fn default() -> Routes<T> {
        Routes { table: BTreeMap::new(), lengths: [Vec::new(), Vec::new()] }
    }
}

impl<T: Copy> Routes<T> {
    /// Adds a route. The new route replaces an earlier route with the same prefix.
    pub fn insert(&mut self, prefix: IpPrefix, to: T) {
        let lengths = &mut self.lengths[usize::from(prefix.address.is_ipv6())];
        if let Err(at) = lengths.binary_search_by(|len| prefix.len.cmp(len)) {
            lengths.insert(at, prefix.len);
        }
        self.table.insert(prefix, to);
    }

    /// Keeps only the routes to the values for which `keep` returns true.
    pub fn retain(&mut self, keep: impl Fn(T) -> bool) {
        self.table.retain(|_, to| keep(*to));
    }

    /// The value of exactly this prefix.
    pub fn exact(&self, prefix: IpPrefix) -> Option<T> {
        self.table.get(&prefix).copied()
    }

    /// The value of the longest prefix that contains `address`.
    pub fn find(&self, address: IpAddr) -> Option<T> {
        let lengths = &self.lengths[usize::from(address.is_ipv6())];
        lengths.iter().find_map(|len| self.exact(IpPrefix::new(address, *len)?))
    }
}

/// The address as a number, and the number of its bits.
fn bits_of(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(u32::from(v4)), 32),
        IpAddr::V6(v6) => (u128::from(v6), 128),
    }
}

/// The address whose number is `bits`. `width` is the number of bits of the address: 32 or 128.
fn address_of(bits: u128, width: u8) -> IpAddr {
    if width == 32 { Ipv4Addr::from(bits as u32).into() } else { Ipv6Addr::from(bits).into() }
}

/// The address `bits`, which has `width` bits, with all bits after the first `len` set to 0.
fn masked(bits: u128, len: u8, width: u8) -> u128 {
    let host = u32::from(width - len);
    if host == 128 { 0 } else { bits >> host << host }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> IpPrefix {
        text.parse().unwrap()
    }

    #[test]
    fn the_longest_prefix_wins() {
        let mut routes = Routes::default();
        for (text, to) in [("0.0.0.0/0", 0), ("10.0.0.0/8", 1), ("10.1.0.0/16", 2), ("10.1.2.3", 3), ("fd00::/8", 4)] {
            routes.insert(prefix(text), to);
        }
        for (address, to) in [("9.9.9.9", 0), ("10.2.0.1", 1), ("10.1.255.1", 2), ("10.1.2.3", 3), ("fd12::1", 4)] {
            assert_eq!(routes.find(address.parse().unwrap()), Some(to), "{address}");
        }
        assert_eq!(routes.find("fe80::1".parse().unwrap()), None);
        assert_eq!(routes.exact(prefix("10.0.0.0/8")), Some(1));
        assert_eq!(routes.exact(prefix("10.0.0.0/9")), None);
        routes.retain(|to| to != 2);
        assert_eq!(routes.find("10.1.255.1".parse().unwrap()), Some(1));
    }

    #[test]
    fn prefixes_read_and_print() {
        assert_eq!(prefix("10.1.2.3/8").to_string(), "10.0.0.0/8");
        assert_eq!(prefix("::/0").to_string(), "::/0");
        assert!(prefix("::/0").contains("fe80::1".parse().unwrap()));
        assert!(!prefix("::/0").contains("10.0.0.1".parse().unwrap()));
        for bad in ["", "10.0.0.0/33", "10.0.0/8", "fd00::/129", "10.0.0.0/-1", "x/8"] {
            assert!(bad.parse::<IpPrefix>().unwrap_err().to_string().contains("10.1.0.0/16"), "{bad}");
        }
    }
}
