//! Packets that are longer than the tunnel's MTU: the sender cuts them into pieces, and the receiver joins the pieces when
//! they are delivered. See [`Piece`].
//!
//! A piece is a source symbol like any other, so repairs protect it. The pieces of a packet leave one directly after the
//! other, so their symbols have consecutive numbers. They are delivered in order within the packet's flow. So the receiver
//! holds the beginning of at most one packet for each flow bucket.

use super::inner_packet::InnerPacket;
use super::order::Delivered;
use super::piece::Piece;
use crate::inner::IPV6_LEAST_MTU;
use crate::wire::{IPV4_UDP_LEN, IPV6_UDP_LEN};
use ripstop_base::Time;
use ripstop_base::counters;
use std::collections::VecDeque;
use std::time::Duration;

/// The number of packets whose beginning the receiver holds. A further packet takes the place of the oldest. The pieces of a
/// packet arrive within a round trip, so this is the number of flows that lose a piece in the same round trip. Half the value
/// may lose packets of more than 16 such flows. Double the value lets a peer hold twice the memory: a packet usually has
/// 1280 bytes.
const MOST_BEGUN: usize = 32;
/// The largest memory of the pieces held, bytes: 32 packets of 64 kB. Beyond, the oldest packet is dropped. A hostile peer
/// makes short pieces long with zeros, so the number of packets alone does not bound the memory. Half the value holds fewer
/// packets of more than 32 kB. Double the value lets a peer hold twice the memory.
const MOST_BYTES: usize = MOST_BEGUN << 16;
/// The time that the sender may take between two pieces of a packet. They leave one directly after the other, at the path's
/// rate: 1 s is enough for a piece of 1400 bytes at 11 kbit/s. With half the value, packets in pieces are lost on paths of
/// less than 22 kbit/s. With double the value, pieces whose rest never comes stay for 1 s longer.
const PAUSE: Duration = Duration::from_secs(1);

counters! {
    /// What became of the pieces that arrived.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PieceCounts {
        /// Pieces that arrived in the order of delivery.
        pub taken: u64,
        /// Inner packets joined from their pieces.
        pub joined: u64 => ("packets_joined", "packets_joined_total"),
        /// Pieces dropped because another piece of their packet is missing or did not come in time, or because the
        /// packet is malformed or longer than any that the peer may cut.
        pub dropped: u64 => ("pieces_dropped", "pieces_dropped_total"),
    }
}

/// The packets of which the receiver has the first pieces.
#[derive(Debug)]
pub(crate) struct Joiner<P> {
    /// In the order of their latest pieces, the oldest first.
    begun: VecDeque<Begun<P>>,
    /// The sum of [`Begun::bytes`].
    bytes: usize,
    /// The number of pieces in `begun`.
    held: usize,
    /// The longest packet that the peer may cut, bytes. See [`Joiner::set_longest`].
    longest: u32,
    counts: PieceCounts,
}

/// A packet of which the first pieces are known.
#[derive(Debug)]
struct Begun<P> {
    /// The header that the next piece will have.
    next: Piece,
    /// The number of the symbol that will hold the next piece.
    next_id: u64,
    pieces: Vec<P>,
    /// When the latest piece was delivered.
    since: Time,
    /// The memory of the pieces and of this entry, bytes. The slots of the payloads do not count: see
    /// [`Joiner::payloads`].
    bytes: usize,
}

impl<P: InnerPacket> Begun<P> {
    /// A packet whose first piece has the header `first` and lies in symbol `id`.
    fn new(id: u64, first: Piece) -> Begun<P> {
        let pieces = Vec::with_capacity(usize::from(first.count));
        let bytes = size_of::<Begun<P>>() + pieces.capacity() * size_of::<P>();
        Begun { next: first, next_id: id, pieces, since: Time::ZERO, bytes }
    }

    fn push(&mut self, now: Time, piece: P) {
        self.bytes += piece.len();
        self.since = now;
        self.pieces.push(piece);
        self.next.index += 1;
        self.next_id = self.next_id.saturating_add(1);
    }
}

impl<P: InnerPacket> Joiner<P> {
    pub(crate) fn new() -> Joiner<P> {
        Joiner { begun: VecDeque::new(), bytes: 0, held: 0, longest: u32::MAX, counts: PieceCounts::default() }
    }

    /// Sets the longest packet that the peer may cut: `inner_mtu` at the beginning of the session, because the peer may cut
    /// what was queued before its path shrank, and at least the 1280 bytes of IPv6. The peer may not count the longer IP
    /// header of this end's address family.
    pub(crate) fn set_longest(&mut self, inner_mtu: u32) {
        let headers = (IPV6_UDP_LEN - IPV4_UDP_LEN) as u32;
        self.longest = (inner_mtu + headers).max(u32::from(IPV6_LEAST_MTU));
    }

    /// Takes symbol `id` in the order of delivery. Returns a packet for the user: the symbol itself if it holds no piece, or the
    /// packet of which it is the last piece.
    pub(crate) fn take(&mut self, now: Time, id: u64, symbol: Delivered<P>) -> Option<Delivered<P>> {
        let Some(piece) = symbol.payload.piece() else { return Some(symbol) };
        self.counts.taken += 1;
        if u32::from(piece.total) > self.longest {
            self.counts.dropped += 1;
            return None;
        }
        let known = self.begun.iter().position(|begun| begun.next.flow == piece.flow);
        let mut begun = match known.and_then(|at| self.remove(at)) {
            // Packets of one flow may have equal headers of pieces. The numbers of the symbols tell them apart.
            Some(begun) if begun.next == piece && begun.next_id == id => begun,
            other => {
                // A packet whose other pieces were given up.
                self.counts.dropped += other.map_or(0, |begun| begun.pieces.len() as u64);
                if piece.index > 0 {
                    self.counts.dropped += 1;
                    return None;
                }
                Begun::new(id, piece)
            }
        };
        begun.push(now, symbol.payload);
        if begun.next.index == piece.count {
            return self.join(&begun.pieces, piece.total);
        }
        self.bytes += begun.bytes;
        self.held += begun.pieces.len();
        self.begun.push_back(begun);
        while self.begun.len() > MOST_BEGUN || self.bytes > MOST_BYTES {
            self.drop_oldest();
        }
        None
    }

    /// Drops the packets whose next piece has not come in time: `wait`, the time that a packet waits for missing earlier
    /// packets, and [`PAUSE`]. A missing piece is repaired or given up within `wait`.
    pub(crate) fn expire(&mut self, now: Time, wait: Duration) {
        while self.begun.front().is_some_and(|oldest| now.since(oldest.since) > wait.saturating_add(PAUSE)) {
            self.drop_oldest();
        }
    }

    /// When [`Joiner::expire`] must be called next. None: no pieces are held.
    pub(crate) fn expires(&self, wait: Duration) -> Option<Time> {
        self.begun.front().map(|oldest| oldest.since + wait + PAUSE + Duration::from_nanos(1))
    }

    /// Takes the packet at the index `at` of `begun` out.
    fn remove(&mut self, at: usize) -> Option<Begun<P>> {
        let begun = self.begun.remove(at)?;
        self.bytes -= begun.bytes;
        self.held -= begun.pieces.len();
        Some(begun)
    }

    fn drop_oldest(&mut self) {
        self.counts.dropped += self.remove(0).map_or(0, |oldest| oldest.pieces.len() as u64);
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
    pub(crate) fn withdraw(&mut self) {
        self.counts.joined -= 1;
    }

    /// Memory of the pieces held, bytes, without the slots of their payloads.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The number of pieces held. Each has a payload.
    pub(crate) fn payloads(&self) -> usize {
        self.held
    }

    /// Drops the pieces held.
    pub(crate) fn clear(&mut self) {
        while !self.begun.is_empty() {
            self.drop_oldest();
        }
    }

    pub(crate) fn counts(&self) -> PieceCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SymbolKind;
    use ripstop_base::Seed;
    use ripstop_codes::Symbol;

    const NOW: Time = Time::ZERO;

    impl Joiner<Symbol> {
        /// Takes the next symbol.
        fn next(&mut self, now: Time, symbol: Delivered<Symbol>) -> Option<Delivered<Symbol>> {
            // Pieces and whole packets are counted apart, so their sum grows with each symbol.
            self.take(now, self.counts.taken, symbol)
        }
    }

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
            assert!(parts.into_iter().all(|part| joiner.next(NOW, part).is_none()) && joiner.bytes() > 0);
            let whole = joiner.next(NOW, last).unwrap();
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
        let mut take = |id, piece: &Delivered<Symbol>| joiner.take(NOW, id, piece.clone()).map(|whole| whole.payload);
        assert_eq!([take(0, &a0), take(2, &b0)], [None, None]);
        assert_eq!([take(1, &a1), take(3, &b1)], [Some(a.clone()), Some(b)]);
        assert_eq!(take(5, &b1), None, "the first piece is missing");
        assert_eq!([take(6, &a0), take(8, &a0)], [None, None], "the second piece was given up");
        assert_eq!(joiner.counts(), PieceCounts { taken: 7, joined: 2, dropped: 2 });
        let whole = Delivered { meta: a.meta().unwrap(), payload: a };
        assert_eq!(joiner.take(NOW, 9, whole.clone()), Some(whole));
    }

    /// Two packets of one flow have equal headers of their pieces. The last piece of the first one and the first piece of the
    /// second one were given up.
    #[test]
    fn pieces_of_two_packets_are_not_joined() {
        let mut joiner = Joiner::new();
        let [[first, _], [_, last]] = [two(&packet(1, 1280)), two(&packet(1, 1280))];
        assert_eq!(first.payload.piece().map(|piece| piece.count), last.payload.piece().map(|piece| piece.count));
        assert!(joiner.take(NOW, 10, first).is_none() && joiner.take(NOW, 13, last).is_none());
        assert_eq!(joiner.counts(), PieceCounts { taken: 2, joined: 0, dropped: 2 });
    }

    #[test]
    fn packets_that_no_sender_cuts_are_dropped() {
        let mut joiner = Joiner::new();
        joiner.set_longest(1_436);
        for (len, is_joined) in [(1_280, true), (1_456, true), (1_457, false), (15_000, false)] {
            let before = joiner.counts();
            let parts = pieces(&packet(1, len), 1_200);
            let count = parts.len() as u64;
            let whole = parts.into_iter().filter_map(|part| joiner.next(NOW, part)).count();
            let PieceCounts { joined, dropped, .. } = joiner.counts();
            let expected = if is_joined { (1, 1, 0) } else { (0, 0, count) };
            assert_eq!((whole, joined - before.joined, dropped - before.dropped), expected, "{len} bytes");
            assert_eq!((joiner.bytes(), joiner.payloads()), (0, 0));
        }
        joiner.set_longest(576);
        assert!(two(&packet(1, 1_280)).into_iter().any(|part| joiner.next(NOW, part).is_some()), "IPv6 promises 1280");
    }

    fn two(packet: &Symbol) -> [Delivered<Symbol>; 2] {
        pieces(packet, 1236).try_into().unwrap()
    }

    #[test]
    fn the_beginnings_of_few_packets_are_held() {
        let mut joiner = Joiner::new();
        for port in 0..200 {
            joiner.next(NOW, two(&packet(port, 1280))[0].clone());
            assert!(joiner.begun.len() <= MOST_BEGUN && joiner.bytes() <= MOST_BEGUN * 1280);
        }
        assert_eq!(joiner.counts().dropped, 200 - MOST_BEGUN as u64);
        joiner.clear();
        assert_eq!((joiner.bytes(), joiner.counts().dropped), (0, 200));
    }

    #[test]
    fn pieces_whose_rest_does_not_come_in_time_are_dropped() {
        let (mut joiner, wait) = (Joiner::new(), Duration::from_millis(500));
        let at = |ms| Time::from_millis(ms);
        let [early, late] = [1, 2].map(|port| pieces(&packet(port, 1280), 512));
        assert_eq!(joiner.expires(wait), None);
        assert!(joiner.take(at(0), 0, early[0].clone()).is_none());
        assert!(joiner.take(at(100), 3, late[0].clone()).is_none());
        // Each piece gives the rest of its packet the same time again.
        assert!(joiner.take(at(1_400), 1, early[1].clone()).is_none());
        joiner.expire(at(1_600), wait);
        let due = joiner.expires(wait).unwrap();
        assert_eq!((joiner.counts().dropped, due), (0, at(1_600) + Duration::from_nanos(1)));
        joiner.expire(due, wait);
        assert_eq!((joiner.counts().dropped, joiner.payloads()), (1, 2));
        assert!(joiner.take(due, 4, late[1].clone()).is_none(), "the first piece was dropped");
        joiner.expire(joiner.expires(wait).unwrap(), wait);
        assert_eq!(joiner.counts(), PieceCounts { taken: 4, joined: 0, dropped: 4 });
        assert_eq!((joiner.bytes(), joiner.payloads(), joiner.expires(wait)), (0, 0, None));
    }

    /// Compares the running sums with a walk over all pieces.
    fn check_sums(joiner: &Joiner<Symbol>) {
        let of_packet = |begun: &Begun<Symbol>| {
            let room = size_of::<Begun<Symbol>>() + begun.pieces.capacity() * size_of::<Symbol>();
            room + begun.pieces.iter().map(Symbol::len).sum::<usize>()
        };
        assert_eq!(joiner.bytes(), joiner.begun.iter().map(of_packet).sum::<usize>());
        assert_eq!(joiner.payloads(), joiner.begun.iter().map(|begun| begun.pieces.len()).sum::<usize>());
    }

    #[test]
    fn the_sums_are_those_of_a_walk() {
        let (mut random, mut joiner) = (Seed::new(9).stream("pieces"), Joiner::new());
        for step in 0..5_000 {
            let now = Time::from_millis(step);
            let (port, len) = (random.below(60) as u8, 700 + random.below(2) as usize * 600);
            let parts = pieces(&packet(port, len), 300);
            // Most packets come whole. Of some, pieces are missing.
            for part in parts {
                if random.chance(0.95) {
                    joiner.next(now, part);
                }
                check_sums(&joiner);
            }
            joiner.expire(now, Duration::ZERO);
            check_sums(&joiner);
            if random.chance(0.01) {
                joiner.clear();
            }
        }
        let PieceCounts { taken, joined, dropped } = joiner.counts();
        assert!(joined > 1_000 && dropped > 1_000 && taken > 10_000, "{:?}", joiner.counts());
    }

    /// A piece of a packet in 15 pieces of one byte, in a symbol of `len` bytes.
    fn shortest(flow: u16, index: u8, len: usize) -> Delivered<Symbol> {
        let header = Piece { flow, index, count: 15, total: 15 }.header();
        let payload =
            Symbol::from_parts(&[&[SymbolKind::Piece.first_byte(0)], &header, &[7], &vec![0; len.saturating_sub(8)]]);
        Delivered { meta: payload.meta().unwrap(), payload }
    }

    /// A packet has at most 15 pieces, so the shortest pieces are few. What they take besides their bytes counts.
    #[test]
    fn the_memory_of_the_shortest_pieces_counts() {
        let mut joiner = Joiner::new();
        for flow in 0..100 {
            (0..14).for_each(|index| assert!(joiner.next(NOW, shortest(flow, index, 8)).is_none()));
            check_sums(&joiner);
        }
        assert_eq!(joiner.payloads(), 14 * MOST_BEGUN);
        assert!(joiner.bytes() >= 14 * MOST_BEGUN * (8 + size_of::<Symbol>()), "{}", joiner.bytes());
    }

    /// A symbol may have zeros after the piece.
    #[test]
    fn long_symbols_with_short_pieces_take_bounded_memory() {
        let mut joiner = Joiner::new();
        for flow in 0..100 {
            (0..14).for_each(|index| assert!(joiner.next(NOW, shortest(flow, index, 60_000)).is_none()));
            assert!(joiner.bytes() <= MOST_BYTES, "{}", joiner.bytes());
            check_sums(&joiner);
        }
        assert!(joiner.bytes() > MOST_BYTES / 2 && joiner.counts().dropped > 1_000);
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
                let payload =
                    Symbol::from_parts(&[&[SymbolKind::Piece.first_byte(0)], &piece.header(), &content[piece.range()]]);
                assert!(joiner.next(NOW, Delivered { meta: payload.meta().unwrap(), payload }).is_none());
            }
        }
        assert_eq!(joiner.counts(), PieceCounts { taken: 4, joined: 0, dropped: 4 });
    }
}
