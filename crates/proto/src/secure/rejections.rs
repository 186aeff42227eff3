//! What an operator should know of rejected datagrams: their senders and the reasons.
//!
//! Strangers can cause any number of rejections, so few of them are kept. The counters
//! ([`DatagramCounters::rejected`](super::DatagramCounters)) have all.

use super::config::Rejected;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The largest number of rejections that wait for the caller, separately for senders that know this end's key and for all
/// others. So a flood of strangers does not hide a peer with a mistake in its configuration. Half the value still shows the
/// senders of one turn of a host. Double the value only takes more memory.
const MOST: usize = 8;

/// A rejected datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The source address. It may be forged.
    pub from: SocketAddr,
    /// Why the datagram was rejected.
    pub reason: Rejected,
    /// Whether the datagram was part of a handshake.
    pub is_handshake: bool,
}

impl Rejection {
    /// Whether the sender has proven that it knows this end's public key.
    pub fn knows_key(&self) -> bool {
        matches!(self.reason, Rejected::UnknownPeer(_) | Rejected::Suite(_) | Rejected::HandshakeForged)
    }
}

/// The rejections that the caller has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Rejections {
    of_callers: VecDeque<Rejection>,
    of_strangers: VecDeque<Rejection>,
}

impl Rejections {
    /// Keeps a rejection, if its reason is unusual and few wait.
    pub(super) fn push(&mut self, rejection: Rejection) {
        let queue = if rejection.knows_key() { &mut self.of_callers } else { &mut self.of_strangers };
        if rejection.reason.is_alarming() && queue.len() < MOST {
            queue.push_back(rejection);
        }
    }

    /// Removes and returns the next one. Those of senders that know this end's key come first.
    pub(super) fn pop(&mut self) -> Option<Rejection> {
        self.of_callers.pop_front().or_else(|| self.of_strangers.pop_front())
    }
}
