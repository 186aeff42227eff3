//! The layers that fill symbols. The coder pulls: it asks for a symbol when a datagram may leave, so what waits stays with
//! the supplier. The coder tells the supplier what became of each symbol.

use crate::wire::{MTU_OVERHEAD, SymbolKind};
use ripstop_base::Time;
use ripstop_codes::Payload;

/// A supplier's own name for what it has put into a symbol. The coder gives it back with the symbol's fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u16);

/// A symbol that is ready to leave.
#[derive(Debug)]
pub(crate) struct Supplied<P> {
    pub(crate) kind: SymbolKind,
    pub(crate) payload: P,
    /// Whether the symbol belongs to an interactive flow: few packets, for which a loss costs much.
    pub(crate) interactive: bool,
    pub(crate) tag: Tag,
}

/// What became of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The peer has received or decoded the symbol.
    Arrived,
    /// The symbol was given up, and is not known to have arrived. The peer may never get it.
    GivenUp,
}

/// A layer that fills symbols.
pub(crate) trait Supplier<P> {
    /// The next symbol, which will have the number `id`. None: nothing waits.
    fn supply(&mut self, now: Time, id: u64) -> Option<Supplied<P>>;

    /// Notes that later symbols need not wait for this one: the peer has seen it, or its fate is known. The coder says so once
    /// for each symbol.
    fn release(&mut self, tag: Tag);

    /// Takes the fate of symbol `id`. Each symbol has one fate.
    fn settle(&mut self, id: u64, tag: Tag, fate: Fate);
}

/// Lets suppliers take turns: deficit round robin (Shreedhar and Varghese 1995). Suppliers that always have something get
/// equal numbers of bytes, their datagrams' headers included.
#[derive(Debug)]
pub(crate) struct Turns<const N: usize> {
    /// Bytes that each supplier may still send in its turn.
    credits: [i64; N],
    turn: usize,
    /// Bytes that a turn adds: the length of the longest datagram.
    quantum: i64,
}

impl<const N: usize> Turns<N> {
    /// Turns of `quantum` bytes: the length of the longest datagram.
    pub(crate) fn new(quantum: u32) -> Turns<N> {
        Turns { credits: [0; N], turn: 0, quantum: i64::from(quantum.max(1)) }
    }

    /// Sets the length of the longest datagram, bytes.
    pub(crate) fn set_quantum(&mut self, quantum: u32) {
        self.quantum = i64::from(quantum.max(1));
    }

    /// The next symbol, which will have the number `id`. None: no supplier has one.
    pub(crate) fn supply<P: Payload>(
        &mut self,
        now: Time,
        id: u64,
        suppliers: [&mut dyn Supplier<P>; N],
    ) -> Option<Supplied<P>> {
        let mut empty = 0;
        while empty < N {
            let turn = self.turn % N;
            if self.credits[turn] <= 0 {
                self.credits[turn] += self.quantum;
                self.turn = (turn + 1) % N;
                continue;
            }
            if let Some(supplied) = suppliers[turn].supply(now, id) {
                self.credits[turn] -= (MTU_OVERHEAD + supplied.payload.len()) as i64;
                return Some(supplied);
            }
            // What an idle supplier has not used is lost, as in any round robin.
            self.credits[turn] = 0;
            self.turn = (turn + 1) % N;
            empty += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_codes::Length;

    /// Symbols of `bytes` bytes, of which `left` wait. `sent` counts the bytes of their datagrams.
    struct Waiting {
        bytes: usize,
        left: usize,
        sent: usize,
    }

    impl Supplier<Length> for Waiting {
        fn supply(&mut self, _now: Time, _id: u64) -> Option<Supplied<Length>> {
            self.left = self.left.checked_sub(1)?;
            self.sent += MTU_OVERHEAD + self.bytes;
            let (kind, payload) = (SymbolKind::Packet, Length(self.bytes));
            Some(Supplied { kind, payload, interactive: false, tag: Tag(0) })
        }

        fn release(&mut self, _tag: Tag) {}

        fn settle(&mut self, _id: u64, _tag: Tag, _fate: Fate) {}
    }

    #[test]
    fn suppliers_get_equal_numbers_of_bytes() {
        let mut turns: Turns<2> = Turns::new(1464);
        let mut small = Waiting { bytes: 1, left: 100_000, sent: 0 };
        let mut large = Waiting { bytes: 1400, left: 1000, sent: 0 };
        for id in 0..5_000 {
            assert!(turns.supply(Time::ZERO, id, [&mut small, &mut large]).is_some());
            assert!(small.sent.abs_diff(large.sent) <= 2 * 1464, "{} {}", small.sent, large.sent);
        }
        // A supplier without a symbol leaves the path to the other one, and has saved up nothing when it comes back.
        small.left = 0;
        for id in 0..100 {
            assert!(turns.supply(Time::ZERO, id, [&mut small, &mut large]).is_some());
        }
        (small.left, small.sent, large.sent) = (100_000, 0, 0);
        for id in 0..1_000 {
            assert!(turns.supply(Time::ZERO, id, [&mut small, &mut large]).is_some());
            assert!(small.sent.abs_diff(large.sent) <= 2 * 1464, "{} {}", small.sent, large.sent);
        }
        (small.left, large.left) = (0, 0);
        assert!(turns.supply(Time::ZERO, 0, [&mut small, &mut large]).is_none());
    }
}
