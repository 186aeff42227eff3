//! The receiving end: counts what arrives in order, and acknowledges.

use super::{Ack, MAX_BLOCKS};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// What a receiver does with packets that arrive out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reassembly {
    /// Keeps them.
    #[default]
    Buffer,
    /// Drops them: the go-back-N receiver of paper 000, section III.
    GoBackN,
}

/// A receiver of packets with numbers from 0 on.
#[derive(Clone, Debug)]
pub struct Receiver {
    reassembly: Reassembly,
    ack_every: u32,
    /// The first number that has not arrived.
    next: u64,
    /// Whether those after `next` have arrived, from `next + 1` on.
    beyond: VecDeque<bool>,
    /// The last runs that something was added to, the newest first: what SACK blocks say.
    runs: VecDeque<Range<u64>>,
    unacknowledged: u32,
    /// What arrived again and no acknowledgement has said yet.
    duplicate: Option<u64>,
    duplicates: u64,
}

impl Receiver {
    /// A receiver that acknowledges every `ack_every`-th packet (at least 1), and at once the SYN and whatever is out of order.
    pub fn new(reassembly: Reassembly, ack_every: u32) -> Receiver {
        Receiver {
            reassembly,
            ack_every: ack_every.max(1),
            next: 0,
            beyond: VecDeque::with_capacity(64),
            runs: VecDeque::with_capacity(MAX_BLOCKS),
            unacknowledged: 0,
            duplicate: None,
            duplicates: 0,
        }
    }

    /// Packet `number` has arrived; the acknowledgement that leaves for it, if one does.
    pub fn on_packet(&mut self, number: u64) -> Option<Ack> {
        if number == self.next {
            // What fills a hole is acknowledged at once, and so is the SYN (RFC 5681, section 4.2).
            let at_once = number == 0 || !self.beyond.is_empty();
            self.next += 1;
            while let Some(arrived) = self.beyond.pop_front() {
                if !arrived {
                    break;
                }
                self.next += 1;
            }
            if !self.runs.is_empty() {
                self.runs.retain(|run| run.start > self.next);
            }
            self.unacknowledged += 1;
            if self.unacknowledged < self.ack_every && !at_once {
                return None;
            }
        } else if number < self.next {
            self.duplicates += 1;
            self.duplicate = Some(number);
            // The last one in order once more, and nothing beyond it: nothing is wrong, and it may wait as the first did.
            let in_order = number + 1 == self.next && number > 0 && self.beyond.is_empty();
            if in_order && self.unacknowledged + 1 < self.ack_every {
                self.unacknowledged += 1;
                return None;
            }
        } else if self.reassembly == Reassembly::Buffer {
            let at = (number - self.next - 1) as usize;
            if self.beyond.len() <= at {
                self.beyond.resize(at + 1, false);
            }
            if std::mem::replace(&mut self.beyond[at], true) {
                self.duplicates += 1;
                self.duplicate = Some(number);
            }
            self.note_run(number);
        }
        self.unacknowledged = 0;
        Some(self.ack())
    }

    /// What a delayed acknowledgement says when its timer runs out; None when nothing waits for one.
    pub fn flush(&mut self) -> Option<Ack> {
        (std::mem::take(&mut self.unacknowledged) > 0).then(|| self.ack())
    }

    /// How many packets have arrived in order.
    pub fn in_order(&self) -> u64 {
        self.next
    }

    /// How many packets arrived that had arrived before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// The run that `number` belongs to becomes the newest, whether it is known, has grown or was forgotten (RFC 2018,
    /// section 4).
    fn note_run(&mut self, number: u64) {
        let mut run = number..number + 1;
        self.runs.retain(|other| {
            let touches = other.end >= run.start && other.start <= run.end;
            if touches {
                run = run.start.min(other.start)..run.end.max(other.end);
            }
            !touches
        });
        while self.has(run.start - 1) {
            run.start -= 1;
        }
        while self.has(run.end) {
            run.end += 1;
        }
        self.runs.truncate(MAX_BLOCKS - 1);
        self.runs.push_front(run);
    }

    fn has(&self, number: u64) -> bool {
        number > self.next && self.beyond.get((number - self.next - 1) as usize).copied().unwrap_or(false)
    }

    fn ack(&mut self) -> Ack {
        let duplicate = self.duplicate.take();
        Ack { duplicate, ..Ack::new(self.next, self.runs.iter().take(MAX_BLOCKS).cloned()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acks(receiver: &mut Receiver, numbers: &[u64]) -> Vec<Option<u64>> {
        numbers.iter().map(|n| receiver.on_packet(*n).map(|ack| ack.next)).collect()
    }

    #[test]
    fn what_is_out_of_order_is_kept_and_named() {
        let mut receiver = Receiver::new(Reassembly::Buffer, 1);
        assert_eq!(acks(&mut receiver, &[0, 2, 3, 6, 1, 1, 5, 4]), [1, 1, 1, 1, 4, 4, 4, 7].map(Some));
        assert_eq!((receiver.in_order(), receiver.duplicates()), (7, 1));
        receiver.on_packet(9);
        receiver.on_packet(12);
        let ack = receiver.on_packet(10).unwrap();
        assert_eq!(ack.blocks().collect::<Vec<_>>(), [9..11, 12..13]);
    }

    #[test]
    fn go_back_n_drops_it() {
        let mut receiver = Receiver::new(Reassembly::GoBackN, 1);
        assert_eq!(acks(&mut receiver, &[0, 2, 1, 2]), [1, 1, 2, 3].map(Some));
    }

    #[test]
    fn every_second_is_acknowledged_but_disorder_at_once() {
        let mut receiver = Receiver::new(Reassembly::Buffer, 2);
        assert_eq!(
            acks(&mut receiver, &[0, 1, 2, 3, 5, 4, 6]),
            [Some(1), None, Some(3), None, Some(4), Some(6), None]
        );
        assert_eq!(receiver.flush().map(|ack| ack.next), Some(7));
        assert_eq!(receiver.flush(), None);
    }

    #[test]
    fn the_last_in_order_may_wait_a_second_time() {
        // ns-2's sink takes it for in order: an answer at once would be a duplicate acknowledgement.
        let mut receiver = Receiver::new(Reassembly::Buffer, 2);
        assert_eq!(acks(&mut receiver, &[0, 1, 2, 2, 3]), [Some(1), None, Some(3), None, Some(4)]);
        // Not with a hole behind it, nor if it is the SYN.
        assert_eq!(acks(&mut receiver, &[5, 3]), [Some(4), Some(4)]);
        let mut receiver = Receiver::new(Reassembly::Buffer, 2);
        assert_eq!(acks(&mut receiver, &[0, 0]), [Some(1), Some(1)]);
    }

    #[test]
    fn three_blocks_are_remembered_and_the_one_just_hit_comes_first() {
        let mut receiver = Receiver::new(Reassembly::Buffer, 1);
        let mut blocks = |number| -> Vec<(u64, u64)> {
            receiver.on_packet(number).unwrap().blocks().map(|block| (block.start, block.end)).collect()
        };
        blocks(0);
        blocks(2);
        blocks(4);
        blocks(6);
        assert_eq!(blocks(8), [(8, 9), (6, 7), (4, 5)]);
        // Once more, and one that was forgotten.
        assert_eq!(blocks(4), [(4, 5), (8, 9), (6, 7)]);
        assert_eq!(blocks(2), [(2, 3), (4, 5), (8, 9)]);
        // It grows to both sides, into what was forgotten as well.
        assert_eq!(blocks(7), [(6, 9), (2, 3), (4, 5)]);
        // What is acknowledged is no block any more.
        assert_eq!(blocks(1), [(6, 9), (4, 5)]);
        assert_eq!(blocks(3), [(6, 9)]);
    }
}
