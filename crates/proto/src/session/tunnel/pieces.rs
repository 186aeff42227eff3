//! Packets that are longer than the tunnel's MTU: the sender cuts them into pieces, and the receiver joins the pieces when
//! they are delivered. See [`Piece`].
//!
//! A piece is a source symbol like any other, so repairs protect it. The pieces of a packet leave one directly after the
//! other, and are delivered in order within the packet's flow. So the receiver holds the beginning of at most one packet for
//! each flow bucket.

use super::Tunnel;
use super::ingress::Queued;
use super::inner::InnerPacket;
use super::order::Delivered;
use crate::wire::Piece;
use std::collections::VecDeque;

/// The number of packets whose beginning the receiver holds. A further packet takes the place of the oldest. The pieces of a
/// packet arrive within a round trip, so this is the number of flows that lose a piece in the same round trip. Half the value
/// may lose packets of more than 16 such flows. Double the value lets a peer hold twice the memory: a packet has at most
/// 64 kB, and usually 1280 bytes.
const MOST_BEGUN: usize = 32;

/// What became of the pieces that arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieceCounts {
    /// Pieces that arrived in the order of delivery.
    pub taken: u64,
    /// Packets joined from their pieces and delivered.
    pub joined: u64,
    /// Pieces dropped because another piece of their packet is missing, or because the packet is malformed.
    pub dropped: u64,
}

/// The packets of which the receiver has the first pieces.
#[derive(Debug)]
pub(super) struct Joiner<P> {
    /// The oldest first.
    begun: VecDeque<Begun<P>>,
    counts: PieceCounts,
}

/// A packet of which the first pieces are known.
#[derive(Debug)]
struct Begun<P> {
    /// The header that the next piece will have.
    next: Piece,
    pieces: Vec<P>,
}

impl<P: InnerPacket> Joiner<P> {
    pub(super) fn new() -> Joiner<P> {
        Joiner { begun: VecDeque::new(), counts: PieceCounts::default() }
    }

    /// Takes a symbol in the order of delivery. Returns a packet for the user: the symbol itself if it holds no piece, or the
    /// packet of which it is the last piece.
    pub(super) fn take(&mut self, symbol: Delivered<P>) -> Option<Delivered<P>> {
        let Some(piece) = symbol.payload.piece() else { return Some(symbol) };
        self.counts.taken += 1;
        let known = self.begun.iter().position(|begun| begun.next.flow == piece.flow);
        let mut begun = match known.and_then(|at| self.begun.remove(at)) {
            Some(begun) if begun.next == piece => begun,
            other => {
                // A packet whose other pieces were given up.
                self.counts.dropped += other.map_or(0, |begun| begun.pieces.len() as u64);
                if piece.index > 0 {
                    self.counts.dropped += 1;
                    return None;
                }
                Begun { next: piece, pieces: Vec::new() }
            }
        };
        begun.pieces.push(symbol.payload);
        begun.next.index += 1;
        if begun.next.index == piece.count {
            return self.join(&begun.pieces, piece.total);
        }
        if self.begun.len() >= MOST_BEGUN {
            self.counts.dropped += self.begun.pop_front().map_or(0, |oldest| oldest.pieces.len() as u64);
        }
        self.begun.push_back(begun);
        None
    }

    /// The packet of `total` bytes, of which `pieces` are all pieces.
    fn join(&mut self, pieces: &[P], total: u16) -> Option<Delivered<P>> {
        let whole = P::join(pieces).filter(|whole| whole.piece().is_none());
        let joined = whole.and_then(|payload| Some(Delivered { meta: payload.meta()?, payload }));
        let joined = joined.filter(|whole| whole.meta.len == u32::from(total));
        match joined {
            Some(_) => self.counts.joined += 1,
            None => self.counts.dropped += pieces.len() as u64,
        }
        joined
    }

    /// Notes that the packet joined last is not delivered, because a later one of its flow was delivered before.
    pub(super) fn withdraw(&mut self) {
        self.counts.joined -= 1;
    }

    /// Bytes of the pieces held.
    pub(super) fn bytes(&self) -> usize {
        self.begun.iter().flat_map(|begun| &begun.pieces).map(P::len).sum()
    }

    /// Drops the pieces held.
    pub(super) fn clear(&mut self) {
        self.counts.dropped += self.begun.drain(..).map(|begun| begun.pieces.len() as u64).sum::<u64>();
    }

    pub(super) fn counts(&self) -> PieceCounts {
        self.counts
    }
}

impl<P: InnerPacket> Tunnel<P> {
    /// Cuts a packet that is longer than the tunnel's MTU. Returns the first piece; the others leave directly after it. None:
    /// the packet cannot be cut, and is dropped.
    pub(super) fn cut(&mut self, queued: Queued<P>) -> Option<Queued<P>> {
        let Queued { payload, meta, class, since, repeated } = queued;
        let piece = |payload: P| Some(Queued { meta: payload.meta()?, payload, class, since, repeated });
        self.pieces.extend(payload.cut(meta.flow, self.inner_mtu()).into_iter().filter_map(piece));
        let first = self.pieces.pop_front();
        match first {
            Some(_) => self.counts.cut += 1,
            None => self.counts.too_long += 1,
        }
        first
    }

    /// Drops the pieces that wait to be sent, if they no longer fit.
    pub(super) fn drop_long_pieces(&mut self) {
        let most = self.inner_mtu();
        if self.pieces.iter().any(|piece| piece.meta.len > most) {
            self.pieces.clear();
            self.counts.too_long += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_codes::Symbol;

    /// A UDP packet over IPv6 of `len` bytes. Its flow depends on `port`.
    fn packet(port: u8, len: usize) -> Symbol {
        let mut bytes = vec![port; len];
        (bytes[0], bytes[4], bytes[5], bytes[6]) = (0x60, ((len - 40) >> 8) as u8, (len - 40) as u8, 17);
        Symbol::from_parts(&[&[0], &bytes])
    }

    fn pieces(packet: &Symbol, most: u32) -> Vec<Delivered<Symbol>> {
        let flow = packet.meta().unwrap().flow;
        packet.cut(flow, most).into_iter().map(|payload| Delivered { meta: payload.meta().unwrap(), payload }).collect()
    }

    #[test]
    fn pieces_become_the_packet_again() {
        for (len, most, count) in [(1280, 1236, 2), (1280, 512, 3), (1400, 700, 3)] {
            let (packet, mut joiner) = (packet(1, len), Joiner::new());
            let mut parts = pieces(&packet, most);
            assert!(parts.len() == count && parts.iter().all(|part| part.meta.len <= most));
            let last = parts.pop().unwrap();
            assert!(parts.into_iter().all(|part| joiner.take(part).is_none()) && joiner.bytes() > 0);
            let whole = joiner.take(last).unwrap();
            assert_eq!((whole.payload, whole.meta), (packet.clone(), packet.meta().unwrap()));
            assert_eq!(
                (joiner.bytes(), joiner.counts()),
                (0, PieceCounts { taken: count as u64, joined: 1, dropped: 0 })
            );
        }
    }

    #[test]
    fn flows_do_not_disturb_each_other_and_a_lost_piece_loses_one_packet() {
        let mut joiner = Joiner::new();
        let [a, b] = [1, 2].map(|port| packet(port, 1280));
        let ([a0, a1], [b0, b1]) = (two(&a), two(&b));
        assert!(joiner.take(a0.clone()).is_none() && joiner.take(b0).is_none());
        assert_eq!([joiner.take(a1).unwrap().payload, joiner.take(b1.clone()).unwrap().payload], [a.clone(), b]);
        assert!(joiner.take(b1).is_none(), "the first piece is missing");
        assert!(joiner.take(a0.clone()).is_none() && joiner.take(a0).is_none(), "the second piece was given up");
        assert_eq!(joiner.counts(), PieceCounts { taken: 7, joined: 2, dropped: 2 });
        let whole = Delivered { meta: a.meta().unwrap(), payload: a };
        assert_eq!(joiner.take(whole.clone()), Some(whole));
    }

    fn two(packet: &Symbol) -> [Delivered<Symbol>; 2] {
        pieces(packet, 1236).try_into().unwrap()
    }

    #[test]
    fn the_beginnings_of_few_packets_are_held() {
        let mut joiner = Joiner::new();
        for port in 0..200 {
            joiner.take(two(&packet(port, 1280))[0].clone());
            assert!(joiner.begun.len() <= MOST_BEGUN && joiner.bytes() <= MOST_BEGUN * 1280);
        }
        assert_eq!(joiner.counts().dropped, 200 - MOST_BEGUN as u64);
        joiner.clear();
        assert_eq!((joiner.bytes(), joiner.counts().dropped), (0, 200));
    }

    /// The pieces of something that is no IP packet, and of another piece.
    #[test]
    fn pieces_of_no_packet_are_dropped() {
        let mut joiner = Joiner::new();
        let inside = Piece { flow: 9, index: 0, count: 2, total: 1280 };
        for start in [[0x50; 6], inside.header()] {
            let mut content = vec![0; 1280];
            content[..6].copy_from_slice(&start);
            for piece in Piece::plan(7, 1280, 1000).unwrap() {
                let payload = Symbol::from_parts(&[&[0], &piece.header(), &content[piece.range()]]);
                assert!(joiner.take(Delivered { meta: payload.meta().unwrap(), payload }).is_none());
            }
        }
        assert_eq!(joiner.counts(), PieceCounts { taken: 4, joined: 0, dropped: 4 });
    }
}
