//! Whether a peer lives: when it was last heard, when this end asks it, and when it counts as unreachable.
//!
//! An idle tunnel carries nothing, so silence alone says nothing. But a peer that sends keep-alives, or answers those of
//! this end, is heard regularly. Each end announces its keep-alive interval in its handshakes. The smaller one of the two
//! intervals is what this end expects. Without any interval, this end asks once after the peer has sent packets.

use super::handshakes::CALLS_LAST;
use super::sessions::Sessions;
use crate::secure::PeerId;
use ripstop_base::Time;
use std::time::Duration;

/// The peer is asked after this number of intervals without any datagram. After one interval, the next keep-alive may be a
/// little late. With double the value, the peer would be asked only after it counts as unreachable.
const ASK_AFTER: u32 = 2;
/// The peer is unreachable after this number of intervals without any datagram. So the peer has one interval for its
/// answer. Double the value reports a dead peer twice as late. Half the value is below [`ASK_AFTER`].
const MOST_INTERVALS: f64 = 3.0;
/// With long intervals, the peer is unreachable after this number of intervals, if they last at least [`ENOUGH`]. The
/// answer then has .4 intervals, at least 10 s. Half the value is below [`ASK_AFTER`]. Double the value has no effect.
const LEAST_INTERVALS: f64 = 2.4;
/// A silence of 60 s, with a question that was not answered, is enough for long intervals. The value is 2.4 times the
/// usual interval of 25 s. Half the value has no effect on intervals of 12.5 s and more. Double the value reports a dead
/// peer with an interval of 25 s after 75 s.
const ENOUGH: Duration = Duration::from_secs(60);
/// The interval that counts when neither end has keep-alives: 25 s, the usual interval of keep-alives. Half the value asks
/// idle peers after 25 s instead of 50 s. Double the value finds a dead peer after 120 s instead of 60 s.
const WITHOUT_KEEPALIVE: Duration = Duration::from_secs(25);

/// What is due because a peer was not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    /// To ask the peer.
    Ask,
    /// To report that the peer, last heard at this time, is unreachable.
    Report(Time),
    /// To call the peer no more, if only the peer knows where it is.
    GiveUp,
}

/// When a peer was heard, and what is expected of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Liveness {
    /// The interval of this end's keep-alives. The peer answers them.
    pub(super) keepalive: Option<Duration>,
    /// The interval of the peer's keep-alives, as the peer has announced it.
    announced: Option<Duration>,
    /// When the last authentic datagram of the peer came.
    heard: Option<Time>,
    /// Whether the peer has sent packets since it last answered a question.
    has_sent: bool,
    /// When the peer was asked. None: not since it was last heard.
    asked: Option<Time>,
    /// When the silence was reported, or the end of the calls was last put off.
    reported: Option<Time>,
}

impl Liveness {
    /// When the last authentic datagram of the peer came; None before the first.
    pub(super) fn last_heard(&self) -> Option<Time> {
        self.heard
    }

    /// Takes the interval that the peer has announced in a handshake.
    pub(super) fn announced(&mut self, interval: Option<Duration>) {
        self.announced = interval;
    }

    /// Notes an authentic datagram of the peer. `is_data`: it carries packets.
    pub(super) fn heard(&mut self, now: Time, is_data: bool) {
        self.heard = Some(now);
        self.has_sent = is_data || (self.has_sent && self.asked.is_none());
        (self.asked, self.reported) = (None, None);
    }

    /// When [`Liveness::take_due`] has something to do.
    pub(super) fn next_due(&self) -> Option<Time> {
        let (heard, interval) = (self.heard?, self.interval()?);
        let ask = ASK_AFTER * interval;
        Some(match (self.asked, self.reported) {
            (None, _) => heard + ask,
            // A host that was suspended asks late. The peer has the same time for its answer.
            (Some(asked), None) => asked + limit(interval).saturating_sub(ask),
            (_, Some(reported)) => reported + CALLS_LAST,
        })
    }

    fn take_due(&mut self, now: Time) -> Option<Due> {
        self.next_due().filter(|at| *at <= now)?;
        if self.asked.is_none() {
            self.asked = Some(now);
            return Some(Due::Ask);
        }
        match self.reported.replace(now) {
            None => self.heard.map(Due::Report),
            Some(_) => Some(Due::GiveUp),
        }
    }

    /// The interval in which something is expected from the peer. None: nothing is expected.
    fn interval(&self) -> Option<Duration> {
        let expected = [self.keepalive, self.announced].into_iter().flatten().min();
        expected.or(self.has_sent.then_some(WITHOUT_KEEPALIVE))
    }
}

/// The longest silence of a peer that is heard in this interval.
fn limit(interval: Duration) -> Duration {
    interval.mul_f64(MOST_INTERVALS).min(interval.mul_f64(LEAST_INTERVALS).max(ENOUGH))
}

impl Sessions {
    /// Asks a peer that was not heard for too long, or reports that the peer is unreachable.
    pub(super) fn check_liveness(&mut self, now: Time, peer: PeerId) {
        let Some(path) = self.paths.get_mut(peer) else { return };
        if !path.has_session() {
            return;
        }
        match path.liveness.take_due(now) {
            None => {}
            Some(Due::Ask) if self.secure.epoch(now, peer) == path.epoch() => {
                self.counters.peers_asked += 1;
                if let Some(tunnel) = path.tunnel_mut() {
                    tunnel.request_probe(0);
                }
            }
            Some(Due::Ask) => {
                self.counters.peers_asked += 1;
                self.connect(now, peer);
            }
            Some(Due::Report(heard)) => {
                self.connect(now, peer);
                self.secure.note_unreachable(peer, now.since(heard));
                self.handle_secure_events(now);
            }
            Some(Due::GiveUp) if path.handshakes.has_address => {}
            Some(Due::GiveUp) => self.give_up(now, peer),
        }
    }

    /// Ends calls that last too long, of a peer whose address is only learned.
    pub(super) fn check_calls(&mut self, now: Time, peer: PeerId) {
        let since = self.secure.calls_since(peer);
        if self.paths.get(peer).and_then(|path| path.calls_end(since)).is_some_and(|end| end <= now) {
            self.give_up(now, peer);
        }
    }

    /// Calls a peer no more, until there are packets for it. What waits for the peer is dropped: otherwise the calls would
    /// begin again at once.
    fn give_up(&mut self, now: Time, peer: PeerId) {
        self.secure.forget(peer);
        self.counters.peers_given_up += 1;
        let Some(path) = self.paths.get_mut(peer) else { return };
        path.forget(now);
        path.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn the_limit_is_three_intervals_or_a_minute() {
        for (interval, longest) in [(1, 3), (10, 30), (20, 60), (25, 60), (60, 144)] {
            assert_eq!(limit(secs(interval)), secs(longest), "interval of {interval} s");
        }
    }

    #[test]
    fn a_peer_without_keepalives_is_asked_once_after_its_packets() {
        let at = |s| Time::ZERO + secs(s);
        let mut liveness = Liveness::default();
        liveness.heard(at(0), false);
        assert_eq!(liveness.next_due(), None, "nothing is expected");
        liveness.heard(at(1), true);
        assert_eq!((liveness.take_due(at(50)), liveness.take_due(at(51))), (None, Some(Due::Ask)));
        liveness.heard(at(52), false);
        assert_eq!(liveness.next_due(), None, "the peer has answered");
        liveness.heard(at(60), true);
        liveness.heard(at(61), false);
        assert_eq!(liveness.take_due(at(111)), Some(Due::Ask));
        assert_eq!((liveness.take_due(at(120)), liveness.take_due(at(121))), (None, Some(Due::Report(at(61)))));
        assert_eq!((liveness.take_due(at(210)), liveness.take_due(at(211))), (None, Some(Due::GiveUp)));
    }

    #[test]
    fn a_host_that_was_suspended_asks_before_it_reports() {
        let mut liveness = Liveness { keepalive: Some(secs(1)), ..Liveness::default() };
        liveness.heard(Time::ZERO, false);
        let woken = Time::ZERO + secs(3600);
        assert_eq!((liveness.take_due(woken), liveness.take_due(woken)), (Some(Due::Ask), None));
        assert_eq!(liveness.next_due(), Some(woken + secs(1)));
    }
}
