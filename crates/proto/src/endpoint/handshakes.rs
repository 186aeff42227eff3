//! When this end starts handshakes with a peer, and how long it goes on.

use ripstop_base::Time;
use std::time::Duration;

/// Shortest time between two handshakes that this end starts because the peer is silent. The pause
/// limits the cost: for each handshake, both ends compute curve multiplications. Half the value
/// finds a restarted peer up to 2.5 s sooner, and doubles the number of handshakes on a path that
/// is down.
const PAUSE: Duration = Duration::from_secs(5);
/// A peer whose address is only learned is called for 90 s after it counts as unreachable or the last packet for it has
/// come. Its address, often that of a NAT, is then of no use, and the peer calls when it is back. Half the value gives up
/// in shorter outages. Double the value sends twice as many handshakes to hosts that are switched off.
pub(super) const CALLS_LAST: Duration = Duration::from_secs(90);

/// The handshakes that this end starts with a peer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Handshakes {
    /// Whether the peer's address is configured, so that this end calls the peer.
    pub(super) has_address: bool,
    /// When this end last started a handshake because the peer was silent.
    last_for_silence: Option<Time>,
    /// When the first handshake message was sent, and whether no other message has followed. If
    /// none has followed, the time until the answer is a round-trip time.
    sent: Option<(Time, bool)>,
}

impl Handshakes {
    /// Notes that a handshake message to the peer leaves.
    pub(super) fn note_sent(&mut self, now: Time) {
        self.sent = Some(match self.sent {
            None => (now, true),
            Some((at, _)) => (at, false),
        });
    }

    /// The round-trip time of the handshake that is complete now. None: its messages were repeated.
    pub(super) fn take_round_trip(&mut self, now: Time) -> Option<Duration> {
        self.sent.take().filter(|(_, once)| *once).map(|(at, _)| now.since(at))
    }

    /// When the next handshake is due, if the peer is too silent at `silent`. A silent peer may have restarted and lost the
    /// keys.
    pub(super) fn due(&self, silent: Option<Time>) -> Option<Time> {
        silent.map(|at| self.last_for_silence.map_or(at, |last| at.max(last + PAUSE)))
    }

    /// Whether the handshake of [`Handshakes::due`] is due now. If so, the next one is due later.
    pub(super) fn take_due(&mut self, now: Time, silent: Option<Time>) -> bool {
        let is_due = self.due(silent).is_some_and(|at| at <= now);
        if is_due {
            self.last_for_silence = Some(now);
        }
        is_due
    }

    /// When the calls of the peer end, which it has not answered since `since`. New packets that wait for a session, the
    /// newest since `newest`, put off the end. None: the peer is not called, or its address is configured.
    pub(super) fn calls_end(&self, since: Option<Time>, newest: Option<Time>) -> Option<Time> {
        let since = since.filter(|_| !self.has_address)?;
        Some(newest.map_or(since, |newest| newest.max(since)) + CALLS_LAST)
    }
}
