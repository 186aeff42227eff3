//! What is known of each packet between the first unacknowledged and the next to send (RFC 6675's scoreboard), in order of
//! numbers and in order of sending.
//!
//! All counts are kept as packets change, and each question has its own queue, cleaned as it is asked: an acknowledgement
//! costs what it tells, not what is under way.

use super::rate::Stamp;
use crate::tcp::{Ack, MAX_BLOCKS};
use ripstop_base::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// A packet that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// When it was sent last.
    pub(super) sent: Time,
    /// How many transmissions came before its last one: tells which of two packets was sent later.
    pub(super) order: u64,
    pub(super) stamp: Stamp,
    sacked: bool,
    /// Taken for lost, and not known to have arrived since.
    lost: bool,
    /// Sent again since it was last taken for lost.
    resent: bool,
    /// Sent more than once: what is acknowledged may be either (Karn).
    pub(super) ambiguous: bool,
}

impl Packet {
    fn is_not_on_path(&self) -> bool {
        self.sacked || (self.lost && !self.resent)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Scoreboard {
    una: u64,
    packets: VecDeque<Packet>,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// One past the highest packet that was acknowledged out of order.
    highest: u64,
    /// Taken for lost and not sent again, lowest first; stale entries are dropped when they are met.
    unrepaired: BinaryHeap<Reverse<u64>>,
    /// Transmissions (order, number) in the order of sending; stale entries likewise.
    by_time: VecDeque<(u64, u64)>,
    transmissions: u64,
    /// The blocks of the last acknowledgement: all in them is marked.
    known: [(u64, u64); MAX_BLOCKS],
}

impl Default for Scoreboard {
    fn default() -> Scoreboard {
        Scoreboard {
            una: 0,
            packets: VecDeque::with_capacity(64),
            sacked: 0,
            lost: 0,
            resent: 0,
            highest: 0,
            unrepaired: BinaryHeap::with_capacity(64),
            by_time: VecDeque::with_capacity(64),
            transmissions: 0,
            known: [(0, 0); MAX_BLOCKS],
        }
    }
}

impl Scoreboard {
    /// The first packet that is not acknowledged.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// The next packet to send for the first time.
    pub(super) fn nxt(&self) -> u64 {
        self.una + self.packets.len() as u64
    }

    /// Whether everything sent is acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Packets sent and not acknowledged in order.
    pub(super) fn outstanding(&self) -> u64 {
        self.packets.len() as u64
    }

    /// Packets on the path, as far as is known (RFC 6675's pipe).
    pub(super) fn in_flight(&self) -> u64 {
        (self.packets.len() as u64 + self.resent).saturating_sub(self.sacked + self.lost)
    }

    /// Packets that arrived out of order.
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Packets taken for lost, sent again or not.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Retransmissions under way.
    pub(super) fn resent(&self) -> u64 {
        self.resent
    }

    /// One past the highest packet that arrived out of order.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// When the first unacknowledged packet was sent last.
    pub(super) fn head_sent(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.sent)
    }

    /// Packet [`Scoreboard::nxt`] leaves.
    pub(super) fn send(&mut self, now: Time, stamp: Stamp) {
        let order = self.note(self.nxt());
        self.packets.push_back(Packet {
            sent: now,
            order,
            stamp,
            sacked: false,
            lost: false,
            resent: false,
            ambiguous: false,
        });
    }

    /// Packet `number`, which is unacknowledged, leaves again.
    pub(super) fn resend(&mut self, now: Time, number: u64, stamp: Stamp) {
        let order = self.note(number);
        let packet = &mut self.packets[(number - self.una) as usize];
        self.resent += u64::from(!std::mem::replace(&mut packet.resent, true));
        (packet.sent, packet.order, packet.stamp, packet.ambiguous) = (now, order, stamp, true);
    }

    /// Takes in the blocks of an acknowledgement; `each` is told the packets that they say for the first time.
    pub(super) fn take_blocks(&mut self, ack: &Ack, mut each: impl FnMut(u64, &Packet)) {
        let mut known = [(0, 0); MAX_BLOCKS];
        for (slot, block) in known.iter_mut().zip(ack.blocks()) {
            let mut number = block.start.max(self.una);
            let end = block.end.min(self.nxt());
            while number < end {
                match self.known.iter().find(|(start, end)| (*start..*end).contains(&number)) {
                    Some((_, marked)) => number = *marked,
                    None => {
                        self.sack(number, &mut each);
                        number += 1;
                    }
                }
            }
            if block.start < end {
                *slot = (block.start, end);
            }
        }
        self.known = known;
    }

    /// Everything before `next` is acknowledged; `each` is told the packets of which that was not known.
    pub(super) fn advance(&mut self, next: u64, mut each: impl FnMut(u64, &Packet)) {
        while self.una < next {
            let Some(packet) = self.packets.pop_front() else { break };
            if packet.sacked {
                self.sacked -= 1;
            } else {
                self.lost -= u64::from(packet.lost);
                self.resent -= u64::from(packet.resent);
                each(self.una, &packet);
            }
            self.una += 1;
        }
    }

    /// Takes `number` for lost; whether that is news.
    pub(super) fn mark_lost(&mut self, number: u64) -> bool {
        let Some(packet) = number.checked_sub(self.una).and_then(|at| self.packets.get_mut(at as usize))
        else {
            return false;
        };
        if packet.is_not_on_path() {
            return false;
        }
        self.resent -= u64::from(std::mem::take(&mut packet.resent));
        self.lost += u64::from(!std::mem::replace(&mut packet.lost, true));
        self.unrepaired.push(Reverse(number));
        true
    }

    /// Nothing is taken for lost any more.
    pub(super) fn unmark_lost(&mut self) {
        self.unrepaired.clear();
        self.by_time.clear();
        for (at, packet) in self.packets.iter_mut().enumerate() {
            packet.lost = false;
            if !packet.sacked {
                self.by_time.push_back((packet.order, self.una + at as u64));
            }
        }
        self.by_time.make_contiguous().sort_unstable();
        self.lost = 0;
    }

    /// The lowest packet that is to be sent again.
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        while let Some(Reverse(number)) = self.unrepaired.peek().copied() {
            let packet = number.checked_sub(self.una).and_then(|at| self.packets.get(at as usize));
            if packet.is_some_and(|packet| packet.lost && !packet.resent && !packet.sacked) {
                return Some(number);
            }
            self.unrepaired.pop();
        }
        None
    }

    /// Of the packets of which nothing is known, the one whose last transmission is the oldest.
    pub(super) fn oldest_on_path(&mut self) -> Option<(u64, Packet)> {
        while let Some((order, number)) = self.by_time.front().copied() {
            let packet = number.checked_sub(self.una).and_then(|at| self.packets.get(at as usize));
            if let Some(packet) = packet.filter(|packet| packet.order == order && !packet.is_not_on_path()) {
                return Some((number, *packet));
            }
            self.by_time.pop_front();
        }
        None
    }

    /// The packets that are neither known to have arrived nor to be sent again.
    pub(super) fn on_path(&self) -> impl Iterator<Item = (u64, &Packet)> {
        self.range().zip(&self.packets).filter(|(_, packet)| !packet.is_not_on_path())
    }

    fn range(&self) -> Range<u64> {
        self.una..self.nxt()
    }

    fn note(&mut self, number: u64) -> u64 {
        let order = self.transmissions;
        self.transmissions += 1;
        self.by_time.push_back((order, number));
        // What was acknowledged in order leaves stale entries at the front, and nobody may ever ask.
        while self.by_time.front().is_some_and(|(_, number)| *number < self.una) {
            self.by_time.pop_front();
        }
        order
    }

    fn sack(&mut self, number: u64, each: &mut impl FnMut(u64, &Packet)) {
        let packet = &mut self.packets[(number - self.una) as usize];
        if packet.sacked {
            return;
        }
        each(number, packet);
        packet.sacked = true;
        self.lost -= u64::from(std::mem::take(&mut packet.lost));
        self.resent -= u64::from(std::mem::take(&mut packet.resent));
        self.sacked += 1;
        self.highest = self.highest.max(number + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(n: u64) -> Scoreboard {
        let mut board = Scoreboard::default();
        (0..n).for_each(|k| board.send(Time::from_millis(k), Stamp::default()));
        board
    }

    #[test]
    fn the_pipe_counts_what_is_on_the_path() {
        let mut board = sent(10);
        let mut news = Vec::new();
        board.take_blocks(&Ack::new(0, [2..4, 6..7]), |number, _| news.push(number));
        board.take_blocks(&Ack::new(0, [6..8, 2..4]), |number, _| news.push(number));
        assert_eq!((news.as_slice(), board.sacked(), board.in_flight()), (&[2, 3, 6, 7][..], 4, 6));
        assert!(board.mark_lost(1) && board.mark_lost(0) && !board.mark_lost(2) && !board.mark_lost(0));
        assert_eq!((board.in_flight(), board.lost(), board.next_lost()), (4, 2, Some(0)));
        board.resend(Time::from_millis(20), 0, Stamp::default());
        assert_eq!((board.in_flight(), board.resent(), board.next_lost()), (5, 1, Some(1)));
        // The retransmission is lost as well.
        assert!(board.mark_lost(0));
        assert_eq!((board.in_flight(), board.resent(), board.next_lost()), (4, 0, Some(0)));
        board.advance(5, |number, _| news.push(number));
        assert_eq!(news[4..], [0, 1, 4]);
        assert_eq!((board.una(), board.nxt(), board.sacked(), board.in_flight()), (5, 10, 2, 3));
        assert_eq!((board.next_lost(), board.oldest_on_path().map(|(n, _)| n)), (None, Some(5)));
    }

    proptest! {
        /// Counts are those of a count from scratch, whatever comes, and the oldest is the oldest.
        #[test]
        fn counts_are_kept(steps in prop::collection::vec((0u8..6, 0u64..40, 0u64..6), 1..200)) {
            let mut board = Scoreboard::default();
            for (at, (what, place, length)) in steps.into_iter().enumerate() {
                let (una, now) = (board.una(), Time::from_millis(at as u64));
                match what {
                    0 | 1 => board.send(now, Stamp::default()),
                    2 => {
                        let block = una + place..una + place + length;
                        board.take_blocks(&Ack::new(una, std::iter::once(block)), |_, _| ());
                    }
                    3 => board.advance(una + length, |_, _| ()),
                    4 => { board.mark_lost(una + place); }
                    _ if place == 0 => board.unmark_lost(),
                    _ => if let Some(number) = board.next_lost() {
                        board.resend(now, number, Stamp::default());
                    }
                }
                let count = |f: fn(&Packet) -> bool| board.packets.iter().filter(|p| f(p)).count() as u64;
                prop_assert_eq!(board.sacked(), count(|p| p.sacked));
                prop_assert_eq!(board.lost(), count(|p| p.lost && !p.sacked));
                prop_assert_eq!(board.resent(), count(|p| p.resent && !p.sacked));
                let oldest = board.on_path().min_by_key(|(_, packet)| packet.order).map(|(number, _)| number);
                prop_assert_eq!(board.oldest_on_path().map(|(number, _)| number), oldest);
            }
        }
    }
}
