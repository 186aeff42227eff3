//! How the sender opens a connection over the lossy path (improved mode).
//!
//! TCP's own SYN is sent again after 3 s, 6 s and so on. On a path that loses half of the packets in each direction, it
//! would take a minute to open a connection. So the sender repeats its request sooner.

use super::LtSender;
use crate::lt::{LtMode, LtPacket};
use ripstop_base::Time;
use ripstop_codes::Payload;
use ripstop_proto::session::Transmit;
use std::time::Duration;

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// TCP has not sent a SYN yet.
    Closed,
    /// The request is repeated until the receiver answers.
    Asking {
        /// When the request is sent next.
        at: Time,
        /// How many times the request was sent or repeated.
        requests: u32,
        /// How many copies of the request have left at this time.
        copies: u32,
        /// When the sender gives up, unless TCP sends its SYN again.
        until: Time,
    },
    /// The connection is open.
    Open,
}

/// The time from the first request to the second. The times double up to [`LAST_WAIT`]. The paper's path answers
/// within 60 ms. Half the value repeats needlessly on a satellite path. Double the value doubles the time of an opening
/// that loses its first request.
const FIRST_WAIT: Duration = Duration::from_millis(300);
/// The longest time between two requests.
const LAST_WAIT: Duration = Duration::from_secs(2);
/// The largest number of copies of a request that leave together. The first request is single, and the number doubles with
/// each repetition, because a burst of losses may take several packets. With one copy, a burst of 16 losses delays the
/// opening by 28 s. With half the value, a long burst delays the opening by 4 s more. With double the value, a path that
/// has failed gets 16 small packets in 2 s.
const MOST_COPIES: u32 = 8;
/// How long the request is repeated for one SYN of TCP. TCP sends its SYN again in this time if it still wants the
/// connection, because no time-out of TCP is longer (RFC 6298 allows a limit of 60 s).
const ASKS_FOR: Duration = Duration::from_secs(60);

impl Opening {
    /// The state at first. The paper's modes have no requests: TCP's SYN passes the gateway as it is.
    pub(super) fn new(mode: LtMode) -> Opening {
        if mode == LtMode::Improved { Opening::Closed } else { Opening::Open }
    }

    /// Whether symbols may be sent.
    pub(super) fn is_open(self) -> bool {
        self == Opening::Open
    }

    /// When the next request is due. None: no request is due.
    pub(super) fn due(self) -> Option<Time> {
        match self {
            Opening::Asking { at, until, .. } if at < until => Some(at),
            _ => None,
        }
    }
}

impl<P: Payload> LtSender<P> {
    /// TCP has sent a SYN.
    pub(super) fn open(&mut self, now: Time) {
        let until = now + ASKS_FOR;
        self.opening = match self.opening {
            Opening::Closed => Opening::Asking { at: now, requests: 0, copies: 0, until },
            // The request may have been given up.
            Opening::Asking { at, requests, copies, .. } => {
                Opening::Asking { at: at.min(now + LAST_WAIT).max(now), requests, copies, until }
            }
            Opening::Open => {
                // TCP has not got the acknowledgement of its SYN.
                if self.is_improved() {
                    self.acks.repeat();
                }
                Opening::Open
            }
        };
    }

    /// The next request to open the connection, if it is due.
    pub(super) fn send_open(&mut self, now: Time) -> Option<Transmit<LtPacket<P>>> {
        let Opening::Asking { at, requests, copies, until } = self.opening else { return None };
        if at > now || at >= until {
            return None;
        }
        self.opening = if copies + 1 < (1 << requests.min(6)).min(MOST_COPIES) {
            Opening::Asking { at, requests, copies: copies + 1, until }
        } else {
            let wait = (FIRST_WAIT * (1 << requests.min(6))).min(LAST_WAIT);
            Opening::Asking { at: now + wait, requests: requests + 1, copies: 0, until }
        };
        self.counts.opens += 1;
        let packet = LtPacket::Open { session: self.session };
        let coding = if self.config.charges_coding { packet.header_len() as u32 } else { 0 };
        Some(Transmit { packet, bytes: self.config.header_bytes + coding, ect: false })
    }

    /// The receiver has opened the connection. Returns whether the sender had asked for it.
    pub(super) fn opened(&mut self, now: Time) -> bool {
        match self.opening {
            Opening::Closed => false,
            Opening::Open => true,
            Opening::Asking { .. } => {
                self.opening = Opening::Open;
                self.acks.set_edge(self.next + u64::from(self.config.buffer));
                self.acks.announce();
                self.begin_blocks(now);
                true
            }
        }
    }
}
