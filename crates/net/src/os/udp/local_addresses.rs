//! The addresses of this host that peers have called.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

/// The largest number of peer addresses in each of the two generations of [`LocalAddresses`]. The bound is for strangers
/// who forge addresses: 4096 entries take less than half a megabyte. At 80 000 forged datagrams a second a generation
/// lasts 50 ms. A peer to or from which a datagram went in this time keeps its entry. With half the value this time
/// is 25 ms; double the value takes twice the memory. Fewer peers than this never lose an entry without a flood.
const MOST: usize = 4096;

/// For each peer address, the address of this host that the peer has called. Answers must come from this address: a
/// firewall or a NAT in front of the peer drops answers from another one.
///
/// There are two generations of entries. When the younger generation is full, it becomes the older one, and the former
/// older one is dropped. An entry that is used becomes young again.
#[derive(Debug, Default)]
pub(super) struct LocalAddresses {
    young: HashMap<SocketAddr, IpAddr>,
    old: HashMap<SocketAddr, IpAddr>,
}

impl LocalAddresses {
    /// The address of this host that `peer` has called.
    pub(super) fn of(&mut self, peer: &SocketAddr) -> Option<IpAddr> {
        if let Some(local) = self.young.get(peer) {
            return Some(*local);
        }
        let local = self.old.remove(peer)?;
        self.insert(*peer, local);
        Some(local)
    }

    /// Notes that a datagram from `peer` came to the address `local`. Only an authentic datagram changes an entry, because
    /// a stranger can forge the address of a peer.
    pub(super) fn note(&mut self, peer: SocketAddr, local: IpAddr, is_authentic: bool) {
        let local = local.to_canonical();
        let known = self.of(&peer);
        if is_source(&local) && known != Some(local) && (known.is_none() || is_authentic) {
            self.insert(peer, local);
        }
    }

    /// Lets the system choose the source of the next datagrams to `peer`.
    pub(super) fn forget(&mut self, peer: &SocketAddr) {
        self.young.remove(peer);
        self.old.remove(peer);
    }

    fn insert(&mut self, peer: SocketAddr, local: IpAddr) {
        if self.young.len() >= MOST {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(peer, local);
    }
}

/// Whether a datagram may be sent from this address without naming a device.
fn is_source(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !v4.is_multicast() && !v4.is_broadcast() && !v4.is_unspecified(),
        IpAddr::V6(v6) => !v6.is_multicast() && !v6.is_unicast_link_local() && !v6.is_unspecified(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(number: usize) -> SocketAddr {
        SocketAddr::new(IpAddr::from((number as u32).to_be_bytes()), 5182)
    }

    #[test]
    fn only_an_authentic_datagram_changes_an_entry() {
        let [first, second]: [IpAddr; 2] = [[192, 0, 2, 1].into(), [192, 0, 2, 2].into()];
        let mut locals = LocalAddresses::default();
        locals.note(peer(1), first, false);
        locals.note(peer(1), second, false);
        assert_eq!(locals.of(&peer(1)), Some(first));
        // A dual-stack socket shows addresses of IPv4 in their mapped form.
        locals.note(peer(1), "::ffff:192.0.2.2".parse().unwrap(), true);
        assert_eq!(locals.of(&peer(1)), Some(second));
        for not_a_source in ["255.255.255.255", "224.0.0.1", "ff02::1", "fe80::1"] {
            locals.note(peer(1), not_a_source.parse().unwrap(), true);
        }
        assert_eq!((locals.of(&peer(1)), locals.of(&peer(2))), (Some(second), None));
        locals.forget(&peer(1));
        assert_eq!(locals.of(&peer(1)), None);
    }

    #[test]
    fn a_flood_of_forged_addresses_takes_bounded_memory_and_no_entry_in_use() {
        let (mut locals, local) = (LocalAddresses::default(), IpAddr::from([192, 0, 2, 1]));
        for number in 0..10 * MOST {
            locals.note(peer(number), local, false);
            assert!(locals.young.len() <= MOST && locals.old.len() <= MOST);
            if number % (MOST / 2) == 0 {
                assert_eq!(locals.of(&peer(0)), Some(local), "after {number} datagrams");
            }
        }
        assert_eq!(locals.of(&peer(1)), None);
    }
}
