//! What the sender accepts from TCP, and how it acknowledges.

use super::{LtSender, Segment};
use crate::lt::{LtMode, TcpAck};
use ripstop_base::Time;
use ripstop_codes::Payload;
use std::collections::VecDeque;
use std::time::Duration;

/// Acknowledgements for TCP.
#[derive(Clone, Debug)]
pub(super) struct TcpAcks {
    /// Acknowledgements that TCP can take now.
    ready: VecDeque<TcpAck>,
    /// The acknowledgement that was made last.
    last: u64,
    /// All packets before this one may be acknowledged.
    target: u64,
    /// When the next acknowledgement may be made.
    next_at: Time,
    /// The time between two acknowledgements.
    spacing: Duration,
    /// TCP may send the packets before this one. None: the window is not advertised.
    edge: Option<u64>,
    /// Acknowledgements made.
    pub(super) sent: u64,
    /// Acknowledgements made that repeat the previous one, because a packet is missing.
    pub(super) repeated: u64,
    /// Updates of the window.
    pub(super) updates: u64,
}

impl TcpAcks {
    /// No packet before `first` needs an acknowledgement. With `advertises`, acknowledgements carry a window.
    pub(super) fn new(first: u64, advertises: bool) -> TcpAcks {
        TcpAcks {
            ready: VecDeque::new(),
            last: first,
            target: first,
            next_at: Time::ZERO,
            spacing: Duration::ZERO,
            edge: advertises.then_some(first),
            sent: 0,
            repeated: 0,
            updates: 0,
        }
    }

    /// All packets before `target` may be acknowledged, one by one with `spacing` between them.
    pub(super) fn allow(&mut self, target: u64, spacing: Duration, now: Time) {
        self.target = self.target.max(target);
        self.spacing = spacing;
        self.release(now);
    }

    /// All packets before `target` may be acknowledged with one acknowledgement.
    pub(super) fn allow_at_once(&mut self, target: u64) {
        if target > self.last {
            (self.last, self.target) = (target, self.target.max(target));
            self.push();
        }
    }

    /// TCP may send the packets before `edge`. If the edge has moved by `least` packets since the
    /// last acknowledgement, TCP is told at once.
    pub(super) fn advertise(&mut self, edge: u64, least: u64) {
        let Some(last) = self.edge else { return };
        if edge >= last + least {
            self.edge = Some(edge);
            self.updates += 1;
            self.push();
        }
    }

    /// Sets the window of the next acknowledgements.
    pub(super) fn set_edge(&mut self, edge: u64) {
        self.edge = self.edge.map(|last| last.max(edge));
    }

    /// Tells TCP that the connection is open.
    pub(super) fn announce(&mut self) {
        self.push();
    }

    /// Repeats the last acknowledgement.
    pub(super) fn repeat(&mut self) {
        self.repeated += 1;
        self.push();
    }

    /// Makes the acknowledgements that are due.
    pub(super) fn release(&mut self, now: Time) {
        while self.last < self.target && self.next_at <= now {
            self.last += 1;
            self.push();
            self.next_at = self.next_at.max(now) + self.spacing;
        }
    }

    /// When the next acknowledgement is due.
    pub(super) fn due(&self) -> Time {
        if self.last < self.target { self.next_at } else { Time::NEVER }
    }

    /// The packet up to which everything is acknowledged.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The next acknowledgement for TCP.
    pub(super) fn pop(&mut self) -> Option<TcpAck> {
        self.ready.pop_front()
    }

    fn push(&mut self) {
        self.sent += 1;
        let room = self.edge.map(|edge| u32::try_from(edge.saturating_sub(self.last)).unwrap_or(u32::MAX));
        self.ready.push_back(TcpAck { next: self.last, room });
    }
}

/// By how many packets the window must move before TCP is told of it. RFC 5681 acknowledges every
/// second packet for the same reason: an update for each packet doubles the number of
/// acknowledgements. With larger updates, TCP sends in bursts.
const UPDATE_EVERY: u64 = 2;

impl<P: Payload> LtSender<P> {
    /// Accepts a packet of TCP. Packets that came before an earlier packet are kept.
    pub(super) fn accept(&mut self, segment: Segment<P>, now: Time) {
        let Segment { number, payload } = segment;
        if number < self.next || self.early.contains_key(&number) {
            self.counts.repeated += 1;
            if number < self.acks.last() {
                self.acks.repeat();
            }
            return;
        }
        // TCP sends no data before the connection is open. Early packets leave room for the packet that they wait for.
        // Otherwise this packet would be dropped for ever.
        let room = self.config.most_held as usize - usize::from(number > self.next);
        if !self.opening.is_open() || self.waiting.len() + self.early.len() >= room {
            self.counts.refused += 1;
            return;
        }
        if number > self.next {
            self.counts.out_of_order += 1;
            self.early.insert(number, payload);
            // TCP sends the missing packet again after three repeated acknowledgements. They must
            // name the missing packet, so all packets before it must be acknowledged already.
            if self.acks.last() == self.next {
                self.acks.repeat();
            }
            return;
        }
        self.last_inner = now;
        self.take(payload);
        while let Some(payload) = self.early.remove(&self.next) {
            self.take(payload);
        }
    }

    fn take(&mut self, payload: P) {
        self.waiting.push_back(payload);
        self.next += 1;
        self.counts.accepted += 1;
    }

    /// Improved mode: acknowledges what is accepted, and advertises the room that is left.
    pub(super) fn acknowledge_early(&mut self, now: Time) {
        if self.config.mode != LtMode::Improved || !self.opening.is_open() {
            return;
        }
        // Packets of the newest block count until they are sent. So the window moves with each packet that leaves, and
        // TCP gets its acknowledgements at the rate of the path, not in bursts of a block.
        let unsent = self.blocks.back().map_or(0, |block| u32::from(block.k).saturating_sub(block.sent)) as usize;
        let held = self.waiting.len() + self.early.len() + unsent;
        let edge = self.next + (self.config.buffer as usize).saturating_sub(held) as u64;
        if self.acks.last() < self.next {
            self.acks.set_edge(edge);
            self.acks.allow(self.next, Duration::ZERO, now);
        } else {
            // With a buffer of two or three packets, the window might never move by two packets at one time.
            self.acks.advertise(edge, UPDATE_EVERY.min(u64::from(self.config.buffer / 2)).max(1));
        }
    }

    /// The other modes: acknowledges the packets of blocks that are decoded.
    pub(super) fn acknowledge_decoded(&mut self, now: Time) {
        let in_blocks: u64 = self.blocks.iter().map(|block| u64::from(block.k)).sum();
        let target = self.next - self.waiting.len() as u64 - in_blocks;
        match self.config.mode {
            LtMode::Paper => self.acks.allow_at_once(target),
            LtMode::Repaired => {
                // Acknowledgements in a burst would make TCP send in a burst, and would disturb its
                // measurement of the round-trip time. So they come at the flow's rate.
                let rate = self.rate.unwrap_or(u64::MAX).max(1);
                let spacing = 8.0 * f64::from(self.config.packet_bytes) / rate as f64;
                self.acks.allow(target, Duration::from_secs_f64(spacing), now);
            }
            LtMode::Improved => {}
        }
        if self.acks.last() == self.next {
            // The packets that came early tell TCP which packet is missing.
            for _ in 0..self.early.len().min(3) {
                self.acks.repeat();
            }
        }
    }
}
