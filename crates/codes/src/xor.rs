//! XOR coding of two packets that cross at a relay (paper 002, section II-C).
//!
//! Two neighbours of a relay send each other a packet through the relay. The relay sends the sum of
//! the two packets once. Each neighbour still has its own packet. The neighbour subtracts this
//! packet from the sum and obtains the other packet. The packets may belong to any two opposing
//! flows.
//!
//! The sum of two symbols is their XOR, so any [`Payload`] can be coded.

use crate::Payload;
use std::collections::{BTreeMap, VecDeque};

/// The XOR of two packets, with the values that a receiver needs to decode it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XorPacket<P> {
    /// The identifiers of the two packets.
    pub ids: [u64; 2],
    /// The lengths of the two packets in bytes. The sum is as long as the longer packet.
    pub lengths: [usize; 2],
    /// The sum of the two packets.
    pub sum: P,
}

/// Why a receiver cannot decode a [`XorPacket`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum XorError {
    /// The receiver has none of the two packets, so it cannot separate the two.
    #[error("packets {0} and {1} are both unknown, so their sum cannot be decoded")]
    Undecodable(u64, u64),
    /// The receiver has both packets already.
    #[error("packets {0} and {1} are both known, so their sum has nothing new")]
    Redundant(u64, u64),
}

impl<P: Payload> XorPacket<P> {
    /// The sum of two packets, each given by its identifier and its payload.
    pub fn new(first: (u64, &P), second: (u64, &P)) -> XorPacket<P> {
        XorPacket { ids: [first.0, second.0], lengths: [first.1.len(), second.1.len()], sum: sum(first.1, second.1) }
    }

    /// The packet that is missing in `known`: its identifier, its length, and its payload. If this
    /// packet is the shorter of the two, its payload is padded with zeros up to the length of the
    /// sum.
    ///
    /// # Errors
    /// If `known` has both of the packets, or none of them.
    pub fn decode(&self, known: &KnownPackets<P>) -> Result<(u64, usize, P), XorError> {
        let [a, b] = self.ids;
        match self.ids.map(|id| known.get(id)) {
            [Some(payload), None] => Ok((b, self.lengths[1], sum(&self.sum, payload))),
            [None, Some(payload)] => Ok((a, self.lengths[0], sum(&self.sum, payload))),
            [None, None] => Err(XorError::Undecodable(a, b)),
            [Some(_), Some(_)] => Err(XorError::Redundant(a, b)),
        }
    }
}

/// The sum of two payloads.
fn sum<P: Payload>(first: &P, second: &P) -> P {
    P::sum(first, std::iter::once(second))
}

/// The packets that a node has sent lately. The node needs them to decode XOR packets.
///
/// The memory is bounded: when it is full, the packet that was inserted first is forgotten.
#[derive(Clone, Debug)]
pub struct KnownPackets<P> {
    packets: BTreeMap<u64, P>,
    order: VecDeque<u64>,
    limit: usize,
}

impl<P> KnownPackets<P> {
    /// A memory of at most `limit` packets. With a limit of 0, it forgets every packet immediately.
    pub fn new(limit: usize) -> KnownPackets<P> {
        KnownPackets { packets: BTreeMap::new(), order: VecDeque::new(), limit }
    }

    /// Remembers a packet. A packet that is known already keeps its place in the order of
    /// forgetting.
    pub fn insert(&mut self, id: u64, payload: P) {
        if self.packets.insert(id, payload).is_none() {
            self.order.push_back(id);
        }
        while self.order.len() > self.limit {
            if let Some(oldest) = self.order.pop_front() {
                self.packets.remove(&oldest);
            }
        }
    }

    /// The payload of a packet. None if the packet is not known.
    pub fn get(&self, id: u64) -> Option<&P> {
        self.packets.get(&id)
    }

    /// The number of packets that are known.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether no packet is known.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Length, Symbol};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_neighbour_decodes_exactly_the_other_packet(
            a in prop::collection::vec(any::<u8>(), 1..300),
            b in prop::collection::vec(any::<u8>(), 1..300),
        ) {
            let [pa, pb] = [&a, &b].map(|bytes| Symbol::from_slice(bytes));
            let coded = XorPacket::new((7, &pa), (9, &pb));
            prop_assert_eq!(coded.sum.len(), a.len().max(b.len()));
            for (own, own_id, other, other_id) in [(&pa, 7, &b, 9), (&pb, 9, &a, 7)] {
                let mut known = KnownPackets::new(4);
                known.insert(own_id, own.clone());
                let (id, len, payload) = coded.decode(&known).unwrap();
                prop_assert_eq!((id, len), (other_id, other.len()));
                prop_assert_eq!(&payload.as_slice()[..len], &other[..]);
                prop_assert!(payload.as_slice()[len..].iter().all(|byte| *byte == 0));
            }
        }
    }

    #[test]
    fn a_sum_of_unknown_or_of_known_packets_is_an_error() {
        let coded = XorPacket::new((1, &Length(40)), (2, &Length(1500)));
        assert_eq!(coded.decode(&KnownPackets::new(4)), Err(XorError::Undecodable(1, 2)));
        let mut known = KnownPackets::new(4);
        known.insert(1, Length(40));
        known.insert(2, Length(1500));
        assert_eq!(coded.decode(&known), Err(XorError::Redundant(1, 2)));
    }

    #[test]
    fn the_memory_forgets_the_oldest_packet() {
        let mut known = KnownPackets::new(2);
        for id in [5, 6, 5, 7] {
            known.insert(id, Length(1));
        }
        assert_eq!((known.len(), known.get(5).is_some(), known.get(6).is_some()), (2, false, true));
    }
}
