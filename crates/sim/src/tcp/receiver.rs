//! The receiving end of a connection. It counts packets that arrive in order, and builds the acknowledgements.

use super::{Ack, MAX_BLOCKS};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ops::Range;

/// What a receiver does with packets that arrive out of order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reassembly {
    /// Keeps the packets until the gap is filled.
    #[default]
    Buffer,
    /// Drops the packets, as the go-back-N receiver of paper 000, section III, does.
    GoBackN,
}

/// A receiver of packets numbered from 0.
#[derive(Clone, Debug)]
pub struct Receiver {
    reassembly: Reassembly,
    /// One acknowledgement is sent for this number of packets in order.
    ack_every: u32,
    /// The first packet that has not arrived.
    next: u64,
    /// Whether each packet from `next + 1` on has arrived.
    beyond: VecDeque<bool>,
    /// Runs of successive packets beyond `next` that have arrived: the SACK blocks. The run that changed last comes
    /// first.
    runs: VecDeque<Range<u64>>,
    /// Packets since the last acknowledgement.
    unacknowledged: u32,
    /// A packet that arrived again and that no acknowledgement has reported yet.
    duplicate: Option<u64>,
    /// Packets that arrived more than once.
    duplicates: u64,
    /// Whether acknowledgements echo a mark: a marked packet has arrived, and no packet with the flag CWR after it.
    echo: bool,
    /// Whether the echo has just begun, and no acknowledgement has told the sender.
    news: bool,
    /// Packets that arrived marked.
    marked: u64,
}

impl Receiver {
    /// A receiver that acknowledges every `ack_every`-th packet; 0 counts as 1. Three kinds of packets are acknowledged
    /// without delay: the SYN, packets out of order, and packets that fill a gap.
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
            echo: false,
            news: false,
            marked: 0,
        }
    }

    /// Takes note of what the headers of a packet say about congestion, before [`Receiver::on_packet`]. `marked`: the
    /// packet carries Congestion Experienced. `reduced`: the packet has the flag CWR, so the sender has reacted to
    /// earlier marks (RFC 3168, section 6.1.3).
    pub fn on_ecn(&mut self, marked: bool, reduced: bool) {
        if reduced {
            self.echo = false;
        }
        if marked {
            self.marked += 1;
            // As in Linux, the first echo is not delayed.
            self.news |= !self.echo;
            self.echo = true;
        }
    }

    /// Packets that arrived with a mark of Congestion Experienced.
    pub fn marked(&self) -> u64 {
        self.marked
    }

    /// Handles packet `number`. Returns the acknowledgement to send for this packet, if any.
    pub fn on_packet(&mut self, number: u64) -> Option<Ack> {
        if number == self.next {
            // A packet that fills a gap is acknowledged without delay (RFC 5681, section 4.2). The SYN is acknowledged
            // without delay too.
            let at_once = number == 0 || !self.beyond.is_empty() || self.news;
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
            // A copy of the last packet in order is no sign of a loss while nothing beyond it has arrived. The
            // acknowledgement of such a copy may be delayed.
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

    /// The delayed acknowledgement to send when its timer expires; None when none is pending.
    pub fn flush(&mut self) -> Option<Ack> {
        (std::mem::take(&mut self.unacknowledged) > 0).then(|| self.ack())
    }

    /// Packets that arrived in order, including the SYN.
    pub fn in_order(&self) -> u64 {
        self.next
    }

    /// Packets that arrived more than once.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// Puts the run that contains `number` at the front of `runs`. The run may be known, may have grown, or may have
    /// been dropped from `runs` before (RFC 2018, section 4).
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

    /// Whether `number` lies beyond `next` and has arrived.
    fn has(&self, number: u64) -> bool {
        number > self.next && self.beyond.get((number - self.next - 1) as usize).copied().unwrap_or(false)
    }

    fn ack(&mut self) -> Ack {
        let (duplicate, echo) = (self.duplicate.take(), self.echo);
        self.news = false;
        Ack::new(self.next, self.runs.iter().take(MAX_BLOCKS).cloned()).with_duplicate(duplicate).with_echo(echo)
    }
}
