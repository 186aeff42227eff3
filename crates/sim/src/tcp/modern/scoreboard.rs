//! The state of each packet from the first unacknowledged packet to the last packet sent (RFC 6675's scoreboard).
//! Packets can be found by number and by order of sending.
//!
//! The computing time for an acknowledgement is proportional to the number of packets that the acknowledgement reports,
//! not to the number of packets in flight. To achieve this, the counts are updated with each change. Two queues give the
//! lowest packet to retransmit and the oldest packet on the path. An entry of a queue becomes stale when its packet
//! changes. The next query that meets the entry removes it.

use super::rate::Stamp;
use crate::tcp::{Ack, MAX_BLOCKS};
use ripstop_base::Time;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// A packet that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    /// When the packet was last sent.
    pub(super) sent: Time,
    /// How many transmissions, of any packet, came before the last transmission of this packet. This number orders the
    /// packets by their last transmission.
    pub(super) order: u64,
    pub(super) stamp: Stamp,
    /// Whether the packet was acknowledged out of order.
    sacked: bool,
    /// Whether the packet was marked lost, and was not reported as received since.
    lost: bool,
    /// Whether the packet was retransmitted since it was last marked lost.
    resent: bool,
    /// Whether the packet was sent more than once. An acknowledgement may then answer any transmission (Karn's
    /// algorithm).
    pub(super) ambiguous: bool,
}

impl SentPacket {
    /// Whether the last transmission is on the path: it is not acknowledged, and not marked lost.
    fn is_on_path(&self) -> bool {
        !self.sacked && (!self.lost || self.resent)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    una: u64,
    /// The packets from `una` on.
    packets: VecDeque<SentPacket>,
    sacked: u64,
    lost: u64,
    resent: u64,
    /// One past the highest packet acknowledged out of order.
    highest: u64,
    /// Packets marked lost and not retransmitted, lowest first. Some entries are stale.
    unrepaired: BinaryHeap<Reverse<u64>>,
    /// Transmissions (order, number) in the order of sending. Some entries are stale.
    by_time: VecDeque<(u64, u64)>,
    /// Transmissions so far.
    transmissions: u64,
    /// The blocks of the last acknowledgement. All packets in these blocks are marked as received, so blocks
    /// that the next acknowledgement repeats are skipped.
    known: [(u64, u64); MAX_BLOCKS],
}

impl Scoreboard {
    /// The first unacknowledged packet.
    pub(super) fn una(&self) -> u64 {
        self.una
    }

    /// The next new packet.
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

    /// Estimate of the number of packets in flight (RFC 6675's pipe).
    pub(super) fn in_flight(&self) -> u64 {
        (self.packets.len() as u64 + self.resent).saturating_sub(self.sacked + self.lost)
    }

    /// Packets acknowledged out of order.
    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Packets marked lost, retransmitted or not.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Retransmissions in flight.
    pub(super) fn resent(&self) -> u64 {
        self.resent
    }

    /// Whether the unacknowledged packet `number` was sent more than once.
    pub(super) fn was_resent(&self, number: u64) -> bool {
        let at = number.checked_sub(self.una).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.packets.get(at)).is_some_and(|packet| packet.ambiguous)
    }

    /// One past the highest packet acknowledged out of order.
    pub(super) fn highest(&self) -> u64 {
        self.highest
    }

    /// When the first unacknowledged packet was last sent.
    pub(super) fn head_sent(&self) -> Option<Time> {
        self.packets.front().map(|packet| packet.sent)
    }

    /// Records that packet [`Scoreboard::nxt`] is sent.
    pub(super) fn send(&mut self, now: Time, stamp: Stamp) {
        let order = self.note(self.nxt());
        self.packets.push_back(SentPacket {
            sent: now,
            order,
            stamp,
            sacked: false,
            lost: false,
            resent: false,
            ambiguous: false,
        });
    }

    /// Records that the unacknowledged packet `number` is sent again.
    pub(super) fn resend(&mut self, now: Time, number: u64, stamp: Stamp) {
        let order = self.note(number);
        let packet = &mut self.packets[(number - self.una) as usize];
        self.resent += u64::from(!std::mem::replace(&mut packet.resent, true));
        (packet.sent, packet.order, packet.stamp, packet.ambiguous) = (now, order, stamp, true);
    }

    /// Marks the packets in an acknowledgement's blocks as received. `each` receives the packets that were not marked
    /// before.
    pub(super) fn take_blocks(&mut self, ack: &Ack, mut each: impl FnMut(u64, &SentPacket)) {
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

    /// Removes everything before `next`. `each` receives the packets that no block has marked as
    /// received.
    pub(super) fn advance(&mut self, next: u64, mut each: impl FnMut(u64, &SentPacket)) {
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

    /// Marks `number` lost. Returns whether the packet was on the path until now.
    pub(super) fn mark_lost(&mut self, number: u64) -> bool {
        let Some(packet) = number.checked_sub(self.una).and_then(|at| self.packets.get_mut(at as usize)) else {
            return false;
        };
        if !packet.is_on_path() {
            return false;
        }
        self.resent -= u64::from(std::mem::take(&mut packet.resent));
        self.lost += u64::from(!std::mem::replace(&mut packet.lost, true));
        self.unrepaired.push(Reverse(number));
        true
    }

    /// Clears all loss marks.
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

    /// The lowest packet to retransmit.
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

    /// The packet on the path whose last transmission is the oldest.
    pub(super) fn oldest_on_path(&mut self) -> Option<(u64, SentPacket)> {
        while let Some((order, number)) = self.by_time.front().copied() {
            let packet = number.checked_sub(self.una).and_then(|at| self.packets.get(at as usize));
            if let Some(packet) = packet.filter(|packet| packet.order == order && packet.is_on_path()) {
                return Some((number, *packet));
            }
            self.by_time.pop_front();
        }
        None
    }

    /// The packets on the path. These packets are not acknowledged, and do not wait for a retransmission.
    pub(super) fn on_path(&self) -> impl Iterator<Item = (u64, &SentPacket)> {
        self.range().zip(&self.packets).filter(|(_, packet)| packet.is_on_path())
    }

    fn range(&self) -> Range<u64> {
        self.una..self.nxt()
    }

    /// Records a transmission of `number`, and returns its order.
    fn note(&mut self, number: u64) -> u64 {
        let order = self.transmissions;
        self.transmissions += 1;
        self.by_time.push_back((order, number));
        // Packets acknowledged in order leave stale entries at the front. These entries are removed here too, because
        // there may be no query that meets them.
        while self.by_time.front().is_some_and(|(_, number)| *number < self.una) {
            self.by_time.pop_front();
        }
        order
    }

    fn sack(&mut self, number: u64, each: &mut impl FnMut(u64, &SentPacket)) {
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
    fn the_pipe_counts_packets_on_the_path() {
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
        /// After any sequence of steps, the counts match a count from scratch, and the oldest packet is found.
        #[test]
        fn counts_match_a_recount(steps in prop::collection::vec((0u8..6, 0u64..40, 0u64..6), 1..200)) {
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
                let count = |f: fn(&SentPacket) -> bool| board.packets.iter().filter(|p| f(p)).count() as u64;
                prop_assert_eq!(board.sacked(), count(|p| p.sacked));
                prop_assert_eq!(board.lost(), count(|p| p.lost && !p.sacked));
                prop_assert_eq!(board.resent(), count(|p| p.resent && !p.sacked));
                let oldest = board.on_path().min_by_key(|(_, packet)| packet.order).map(|(number, _)| number);
                prop_assert_eq!(board.oldest_on_path().map(|(number, _)| number), oldest);
            }
        }
    }
}
