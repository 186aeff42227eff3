//! The table of receiver indices. A receiver index is a random 32-bit number that this end chooses
//! in a handshake and tells the peer. The peer writes this index into each datagram that it sends.
//! The table maps the index of a received datagram to the peer that sent it.

use super::PeerId;
use super::entropy::{Entropy, array};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The receiver indices in use, each with its peer. Because an index is random, it tells an
/// observer nothing about the peer. No two sessions share an index. Each received datagram costs
/// one look-up.
#[derive(Default)]
pub(crate) struct IndexTable {
    peers: HashMap<u32, PeerId, BuildHasherDefault<IndexHasher>>,
}

impl IndexTable {
    /// A new index for `peer`.
    pub(crate) fn allocate(&mut self, entropy: &mut dyn Entropy, peer: PeerId) -> u32 {
        let mut index = u32::from_be_bytes(array(entropy));
        // Entropy that repeats itself must not cause an endless loop: take the next free index.
        while self.peers.contains_key(&index) {
            index = index.wrapping_add(1);
        }
        self.peers.insert(index, peer);
        index
    }

    /// The peer that uses `index`. None if no session or handshake has this index.
    #[inline]
    pub(crate) fn peer(&self, index: u32) -> Option<PeerId> {
        self.peers.get(&index).copied()
    }

    /// Frees `index`: datagrams with it are no longer accepted.
    pub(crate) fn release(&mut self, index: u32) {
        self.peers.remove(&index);
    }

    /// Frees `index`, unless it stays in use. Returns `stays`.
    pub(crate) fn keep(&mut self, stays: bool, index: u32) -> bool {
        if !stays {
            self.release(index);
        }
        stays
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.peers.len()
    }
}

/// Hashes an index by one multiplication. The hash table uses the upper bits of a hash too, and the
/// multiplication spreads the index to these bits. A stronger hash is not needed: this end chose
/// the indices in the table, and they are random.
#[derive(Default)]
struct IndexHasher(u64);

impl Hasher for IndexHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0 << 8 | u64::from(*byte));
    }

    #[inline]
    fn write_u32(&mut self, n: u32) {
        self.0 = u64::from(n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entropy that gives the same bytes each time.
    struct Same;
    impl Entropy for Same {
        fn fill(&mut self, bytes: &mut [u8]) {
            bytes.fill(0xff);
        }
    }

    #[test]
    fn indices_never_collide() {
        let mut table = IndexTable::default();
        for n in 0..1000 {
            let index = table.allocate(&mut Same, PeerId(n));
            assert_eq!(index, n.wrapping_sub(1), "must be the next free index");
        }
        (0..1000u32).for_each(|n| assert_eq!(table.peer(n.wrapping_sub(1)), Some(PeerId(n))));
        table.release(5);
        assert_eq!((table.peer(5), table.len()), (None, 999));
    }
}
