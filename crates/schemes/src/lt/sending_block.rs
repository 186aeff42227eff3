//! A block at the sender: which symbols were sent, and which must be sent next.

use super::BlockState;
use super::block_code::{BlockCode, BlockEncoder};
use super::config::MOST_IN_FLIGHT;
use ripstop_base::Time;
use ripstop_codes::Payload;
use std::collections::VecDeque;

/// A block that is in flight.
#[derive(Clone, Debug)]
pub(super) struct SendingBlock<P> {
    /// K.
    pub(super) k: u8,
    encoder: BlockEncoder<P>,
    /// How many symbols are to be sent before the sender waits for feedback.
    pub(super) owed: u32,
    /// Source symbols to be sent again, before new symbols: bit i stands for source symbol i.
    resend: u64,
    /// With a code that is not systematic: the source symbols that the receiver has, as far as the sender knows.
    known: u64,
    /// The next symbol that was never sent.
    next: u32,
    /// How many packets of the block were sent.
    pub(super) sent: u32,
    /// When the first packet was sent.
    pub(super) began: Time,
    /// The numbers and the symbols of packets whose fate is unknown.
    in_flight: VecDeque<(u64, u32)>,
    /// N_recv: how many packets of the block have arrived, as far as the sender knows.
    pub(super) received: u32,
    /// How many packets of the block were sent up to the last one that has arrived, as far as the
    /// sender knows.
    pub(super) heard: u32,
    /// How many degrees of freedom the receiver lacks, as far as the sender knows.
    pub(super) missing: u8,
    /// Whether the receiver has decoded the block.
    pub(super) is_decoded: bool,
    /// When the sender's timer for this block ends.
    pub(super) due: Time,
}

/// A symbol that is sent.
pub(super) struct SentSymbol<P> {
    pub(super) symbol: u32,
    pub(super) index: u32,
    pub(super) payload: P,
}

impl<P: Payload> SendingBlock<P> {
    /// Block `number`, made of `symbols`, of which `first_round` symbols are sent at first. None if
    /// the code takes no block of this size.
    ///
    /// With a code that is not systematic, each block begins with another symbol. Otherwise all
    /// blocks would combine the same packets, and the same losses would always be the worst ones.
    pub(super) fn new(code: BlockCode, symbols: Vec<P>, first_round: u32, number: u64) -> Option<SendingBlock<P>> {
        // An odd number near 2^16 times the golden ratio spreads the beginnings evenly over 2^16 symbols.
        let spread = u32::from((number as u16).wrapping_mul(40_503));
        let k = symbols.len() as u8;
        Some(SendingBlock {
            k,
            encoder: BlockEncoder::new(code, symbols)?,
            owed: first_round,
            resend: 0,
            known: 0,
            next: if code.is_systematic() { 0 } else { spread },
            sent: 0,
            began: Time::NEVER,
            in_flight: VecDeque::new(),
            received: 0,
            heard: 0,
            missing: k,
            is_decoded: false,
            due: Time::NEVER,
        })
    }

    /// The next symbol, which is sent in packet `number`. None if no symbol is owed.
    pub(super) fn send(&mut self, number: u64, now: Time) -> Option<SentSymbol<P>> {
        self.owed = self.owed.checked_sub(1)?;
        let symbol = match self.resend {
            0 => {
                self.skip_useless();
                self.next = self.next.wrapping_add(1);
                self.next.wrapping_sub(1)
            }
            resend => {
                self.resend &= resend - 1;
                resend.trailing_zeros()
            }
        };
        if self.sent == 0 {
            self.began = now;
        }
        let index = self.sent;
        self.sent = self.sent.saturating_add(1);
        if self.in_flight.len() >= MOST_IN_FLIGHT {
            self.in_flight.pop_front();
        }
        self.in_flight.push_back((number, symbol));
        Some(SentSymbol { symbol, index, payload: self.encoder.symbol(symbol)? })
    }

    /// Skips symbols that combine only source symbols that the receiver has. The sender sends few symbols in each
    /// round, so symbols of no use would make a block take many rounds.
    fn skip_useless(&mut self) {
        if self.known != 0 {
            let symbols = (0..MOST_SKIPPED).map(|ahead| self.next.wrapping_add(ahead));
            let useful = symbols.into_iter().find(|symbol| self.encoder.may_add(*symbol, self.known));
            self.next = useful.unwrap_or(self.next);
        }
    }

    /// The receiver has reported on all packets before `heard`. They are not in flight any more.
    pub(super) fn account(&mut self, heard: u64) {
        while self.in_flight.front().is_some_and(|(number, _)| *number < heard) {
            self.in_flight.pop_front();
        }
    }

    /// How many packets of the block are in flight.
    pub(super) fn in_flight(&self) -> u32 {
        self.in_flight.len() as u32
    }

    /// Takes the receiver's report on this block. If the packets in flight and the symbols that are
    /// owed cannot complete the block, more symbols are owed: as many as are lacking, and for the
    /// oldest block as many as complete the block on average, if the path loses the share `loss` of
    /// them. Returns how many symbols were added.
    pub(super) fn top_up(&mut self, state: BlockState, is_systematic: bool, is_oldest: bool, loss: f64) -> u32 {
        self.missing = state.missing.min(self.k);
        if self.missing == 0 {
            self.is_decoded = true;
            (self.owed, self.resend) = (0, 0);
            return 0;
        }
        if !is_systematic {
            self.known |= state.known;
        }
        let coming = self.in_flight() + self.owed;
        let Some(lacking) = u32::from(self.missing).checked_sub(coming).filter(|lacking| *lacking > 0) else {
            return 0;
        };
        // Only the oldest block delays the delivery, so only this block gets symbols for the losses to come. More
        // symbols for the other blocks would save rounds that nobody waits for, and many of them would come too late.
        let added = if is_oldest { (f64::from(lacking) / (1.0 - loss)).round() as u32 } else { lacking };
        self.owed += added;
        if is_systematic {
            // A source symbol that the receiver lacks is always innovative; a repair is not always.
            let sources = if self.k == 64 { u64::MAX } else { (1 << self.k) - 1 };
            let coming = self.in_flight.iter().filter(|(_, symbol)| *symbol < u32::from(self.k));
            let coming = coming.fold(0, |mask, (_, symbol)| mask | 1u64 << symbol);
            let unsent = if self.next < 64 { !0u64 << self.next } else { 0 };
            self.resend = sources & !state.known & !coming & !unsent;
        }
        added
    }
}

/// How many symbols are tried until one is of use. The mean degree of the codes is at least 3, so one of 21 symbols of
/// a block of 64 contains the last source symbol. Half the value sometimes finds none. Double the value only takes more
/// time when there is none.
const MOST_SKIPPED: u32 = 200;

/// How many symbols must be sent so that `wanted` symbols arrive on average: ceil(`wanted` / (1 -
/// `loss`)), at least 1.
pub(super) fn symbols_for(wanted: f64, loss: f64) -> u32 {
    // A rounding error of the division must not add a symbol: 16 / (1 - .5) is 32.
    let symbols = (wanted / (1.0 - loss) - 1e-9).ceil();
    (symbols as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_codes::Length;
    use ripstop_codes::lt::LtCode;

    #[test]
    fn the_number_of_symbols_has_no_rounding_error() {
        let losses = [(0.0, 16), (0.029701, 17), (0.142625, 19), (0.271, 22), (0.488, 32), (0.5, 32)];
        for (loss, symbols) in losses {
            assert_eq!(symbols_for(16.0, loss), symbols, "loss {loss}");
        }
        assert_eq!(symbols_for(-3.0, 0.1), 1);
    }

    #[test]
    fn symbols_of_a_code_that_is_not_systematic_are_of_use() {
        let mut block = SendingBlock::new(BlockCode::Lt(LtCode::Optimised), vec![Length(100); 64], 64, 7).unwrap();
        while block.send(0, Time::ZERO).is_some() {}
        block.account(1);
        // The receiver lacks only source symbol 5.
        let (state, lacks) = (BlockState { missing: 1, known: !(1 << 5) }, 1 << 5);
        for _ in 0..20 {
            block.account(1);
            assert_eq!(block.top_up(state, false, false, 0.0), 1);
            let sent = block.send(0, Time::ZERO).unwrap();
            assert_ne!(LtCode::Optimised.neighbours(64, sent.symbol) & lacks, 0, "symbol {}", sent.symbol);
        }
    }

    #[test]
    fn missing_source_symbols_are_sent_again_before_repairs() {
        let symbols = vec![Length(100); 4];
        let mut block = SendingBlock::new(BlockCode::Lt(LtCode::Systematic), symbols, 4, 7).unwrap();
        let sent: Vec<u32> =
            (0..4).map(|number| block.send(number, Time::ZERO).map(|sent| sent.symbol).unwrap()).collect();
        assert_eq!(sent, [0, 1, 2, 3]);
        assert!(block.send(4, Time::ZERO).is_none());
        // Packets 0 to 2 are known, and symbol 1 was lost. Packet 3 is in flight.
        block.account(3);
        let state = BlockState { missing: 2, known: 0b0101 };
        assert_eq!(block.top_up(state, true, true, 0.5), 2);
        assert_eq!(block.top_up(state, true, true, 0.5), 0, "the symbols are owed already");
        let sent: Vec<u32> =
            (4..6).map(|number| block.send(number, Time::ZERO).map(|sent| sent.symbol).unwrap()).collect();
        assert_eq!(sent, [1, 4], "symbol 1, and the first repair");
        assert_eq!((block.sent, block.in_flight()), (6, 3));
        assert_eq!(block.top_up(BlockState { missing: 0, known: 15 }, true, true, 0.5), 0);
        assert!(block.is_decoded);
    }
}
