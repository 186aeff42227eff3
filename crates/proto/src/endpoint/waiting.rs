//! The packets that wait for the next session with a peer. They count in the budget of memory, and they expire.

use crate::coding::PACKET;
use crate::packets::SendQueue;
use crate::session::Session;
use crate::session::tunnel::Tunnel;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::collections::VecDeque;
use std::time::Duration;

/// How long a packet waits for a session, 90 s. This end calls a peer for as long ([`super::handshakes::CALLS_LAST`]). TCP has
/// sent such a packet again six times by then (RFC 6298), so the old copy is of no use. Half the value loses single packets
/// to a peer that starts within a minute. Double the value keeps useless packets.
const LONGEST_WAIT: Duration = super::handshakes::CALLS_LAST;

/// The packets that wait for the next session with a peer.
#[derive(Default)]
pub(super) struct Waiting {
    /// Packets that came while there was no session, and when they came.
    packets: VecDeque<(Time, Symbol)>,
    /// The bytes of these packets.
    bytes: usize,
    /// The send queue of a session that is over, and when its packets expire.
    queue: Option<(Time, SendQueue<Symbol>)>,
    /// Packets that were dropped.
    in_vain: u64,
}

impl Waiting {
    /// Adds a packet. At most `most` packets wait: the oldest one is dropped.
    pub(super) fn push(&mut self, now: Time, symbol: Symbol, most: usize) {
        if self.packets.len() >= most {
            self.drop_oldest();
        }
        self.bytes += symbol.len();
        self.packets.push_back((now, symbol));
    }

    /// Keeps the send queue of a session that ends at `now`. Its packets wait no longer than in the session: the next session
    /// would drop them.
    pub(super) fn keep(&mut self, now: Time, queue: SendQueue<Symbol>) {
        self.queue = (queue.len() > 0).then(|| (now + queue.longest_wait(), queue));
    }

    /// Moves all packets into a new session.
    pub(super) fn move_to(&mut self, now: Time, tunnel: &mut Tunnel<Symbol>) {
        if let Some((_, queue)) = self.queue.take() {
            tunnel.put_queue(queue);
        }
        self.bytes = 0;
        for (_, symbol) in std::mem::take(&mut self.packets) {
            tunnel.handle_inner(now, symbol);
        }
    }

    /// Number of packets.
    pub(super) fn len(&self) -> usize {
        self.packets.len() + self.queue.as_ref().map_or(0, |(_, queue)| queue.len())
    }

    /// When the last packet came for which there was no session.
    pub(super) fn newest(&self) -> Option<Time> {
        self.packets.back().map(|(since, _)| *since)
    }

    /// Packets that were dropped: too many waited, they waited too long, or memory was short.
    pub(super) fn in_vain(&self) -> u64 {
        self.in_vain
    }

    /// Memory of the packets, bytes.
    pub(super) fn memory(&self) -> usize {
        let queue = self.queue.as_ref().map_or(0, |(_, queue)| queue.memory());
        queue + self.bytes + self.packets.len() * PACKET
    }

    /// Drops the oldest packets until the others take at most `most` bytes.
    pub(super) fn shrink(&mut self, most: usize) {
        let others = self.bytes + self.packets.len() * PACKET;
        if let Some((_, queue)) = &mut self.queue {
            self.in_vain += queue.shrink_to(most.saturating_sub(others));
            if queue.len() == 0 {
                self.queue = None;
            }
        }
        while self.memory() > most && !self.packets.is_empty() {
            self.drop_oldest();
        }
    }

    /// Drops all packets.
    pub(super) fn clear(&mut self) {
        self.in_vain += self.len() as u64;
        (self.queue, self.bytes) = (None, 0);
        self.packets = VecDeque::new();
    }

    /// When [`Waiting::expire`] has something to drop.
    pub(super) fn next_due(&self) -> Option<Time> {
        let queue = self.queue.as_ref().map(|(due, _)| *due);
        let packets = self.packets.front().map(|(since, _)| *since + LONGEST_WAIT);
        [queue, packets].into_iter().flatten().min()
    }

    /// Drops the packets that have waited too long.
    pub(super) fn expire(&mut self, now: Time) {
        if let Some((_, queue)) = self.queue.take_if(|(due, _)| *due <= now) {
            self.in_vain += queue.len() as u64;
        }
        while self.packets.front().is_some_and(|(since, _)| *since + LONGEST_WAIT <= now) {
            self.drop_oldest();
        }
        if self.packets.is_empty() {
            self.packets = VecDeque::new();
        }
    }

    fn drop_oldest(&mut self) {
        self.bytes -= self.packets.pop_front().map_or(0, |(_, oldest)| oldest.len());
        self.in_vain += 1;
    }
}
