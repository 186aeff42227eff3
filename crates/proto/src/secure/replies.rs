//! The queue of answers to handshake messages of other ends. Its length is bounded, because strangers
//! can cause answers while nothing can be sent.

use super::config::SecureTransmit;
use super::load::ReplyGate;
use std::collections::VecDeque;

/// The largest number of queued answers to peers, and of queued answers to others. The queue grows
/// while the socket is blocked, or while the caller reads many datagrams in one turn. Half the value
/// drops answers when more than 64 peers connect within one turn. Double the value takes up to 40 kB
/// more memory.
pub(crate) const MOST_REPLIES: usize = 128;

/// Answers that wait to be sent.
pub(crate) struct Replies {
    /// The limit on answers to senders that may be forged.
    pub(crate) gate: ReplyGate,
    /// Responses to authentic initiations. They are sent first, so that strangers cannot displace
    /// them.
    to_peers: VecDeque<SecureTransmit>,
    /// Cookies, and responses that name a stamp.
    to_others: VecDeque<SecureTransmit>,
}

impl Replies {
    pub(crate) fn new(per_second: u32, per_prefix: u32) -> Replies {
        let gate = ReplyGate::new(per_second, per_prefix);
        Replies { gate, to_peers: VecDeque::new(), to_others: VecDeque::new() }
    }

    /// Queues an answer. False if the queue is full.
    pub(crate) fn push(&mut self, reply: SecureTransmit) -> bool {
        let to_peer = reply.peer.is_some();
        let has_room = self.has_room(to_peer);
        if has_room {
            let queue = if to_peer { &mut self.to_peers } else { &mut self.to_others };
            queue.push_back(reply);
        }
        has_room
    }

    /// Whether the queue of answers to peers, or to others, has room for one more.
    pub(crate) fn has_room(&self, to_peer: bool) -> bool {
        let queue = if to_peer { &self.to_peers } else { &self.to_others };
        queue.len() < MOST_REPLIES
    }

    /// The next answer to send.
    pub(crate) fn pop(&mut self) -> Option<SecureTransmit> {
        self.to_peers.pop_front().or_else(|| self.to_others.pop_front())
    }
}
