//! Warnings about rejected datagrams. They name the source and the reason. Strangers can cause any number of rejections,
//! so few lines are written, and one line a minute says how many rejections were left out.

use crate::log::{Admitted, LineLimit};
use ripstop_base::Time;
use ripstop_proto::endpoint::Endpoint;
use ripstop_proto::secure::{PublicKey, Rejected, Rejection, SecureCounters};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// The span in which the lines are limited, and the time between two lines that say how many were left out.
const SPAN: Duration = Duration::from_secs(60);
/// Lines in a [`SPAN`] about senders that know this host's public key: mistakes in a configuration. Half the value hides
/// some of several hosts that call with a mistake. With double the value there are more than 10 lines a minute in all.
const OF_CALLERS: usize = 6;
/// Lines in a [`SPAN`] about all other senders. The line about the rejections that were left out makes up for the rest of
/// 10 lines a minute. Half and double the value act as for [`OF_CALLERS`].
const OF_STRANGERS: usize = 3;
/// The same rejection is named again after 10 minutes. A host that calls with a mistake repeats its call every few seconds.
/// Half the value repeats the line twice as often. Double the value hides the line longer from a reader of a rotated log.
const AGAIN: Duration = Duration::from_secs(600);
/// How many rejections are remembered, so that they are not named again. Half the value repeats lines about many hosts.
/// Double the value only takes more memory.
const REMEMBERED: usize = 64;

/// What distinguishes one rejection from another: the reason, the address, and the public key of an unknown peer.
type Sender = (usize, IpAddr, Option<PublicKey>);

/// What was logged about rejected datagrams.
#[derive(Debug)]
pub(super) struct RejectedLog {
    /// When lines were written: about senders that know this host's key, and about others.
    lines: [VecDeque<Time>; 2],
    /// Rejections that were named, and when.
    named: VecDeque<(Sender, Time)>,
    /// Alarming rejections in the counters that are covered by lines.
    covered: u64,
    /// When the last summary was due.
    summary: Time,
    /// Datagrams from addresses inside the tunnel, and the limit of lines about them.
    inside: (u64, LineLimit),
}

impl RejectedLog {
    pub(super) fn new(now: Time) -> RejectedLog {
        RejectedLog {
            lines: Default::default(),
            named: VecDeque::new(),
            covered: 0,
            summary: now,
            inside: (0, LineLimit::default()),
        }
    }

    /// Whether to write a line about this rejection.
    fn admit(&mut self, now: Time, rejection: &Rejection) -> bool {
        let key = match rejection.reason {
            Rejected::UnknownPeer(key) => Some(key),
            _ => None,
        };
        let sender = (rejection.reason.index(), rejection.from.ip(), key);
        self.named.retain(|(_, at)| now.since(*at) < AGAIN);
        if self.named.iter().any(|(named, _)| *named == sender) {
            return false;
        }
        let (lines, most) = match rejection.knows_key() {
            true => (&mut self.lines[0], OF_CALLERS),
            false => (&mut self.lines[1], OF_STRANGERS),
        };
        lines.retain(|at| now.since(*at) < SPAN);
        if lines.len() >= most {
            return false;
        }
        lines.push_back(now);
        if self.named.len() == REMEMBERED {
            self.named.pop_front();
        }
        self.named.push_back((sender, now));
        self.covered += 1;
        true
    }

    /// How many rejections no line was written about, if it is time to say so. `alarming` is the present count.
    fn left_out(&mut self, now: Time, alarming: u64) -> Option<u64> {
        if now.since(self.summary) < SPAN {
            return None;
        }
        self.summary = now;
        let left_out = alarming.saturating_sub(std::mem::replace(&mut self.covered, alarming));
        (left_out > 0).then_some(left_out)
    }

    /// Logs rejected datagrams that an operator should know of. `from_port_zero` counts those that the socket dropped.
    pub(super) fn warn(&mut self, now: Time, endpoint: &mut Endpoint, from_port_zero: u64) {
        while let Some(rejection) = endpoint.poll_rejection() {
            if self.admit(now, &rejection) {
                warn_of(&rejection, endpoint.public());
            }
        }
        let inside = endpoint.counters().from_inside;
        let new = inside - std::mem::replace(&mut self.inside.0, inside);
        if new > 0
            && let Some(Admitted { left_out }) = self.inside.1.admit()
        {
            tracing::warn!(
                left_out,
                "datagrams were dropped: their source lies in a prefix that this host routes into the tunnel; a peer cannot \
                 connect from there"
            );
        }
        let alarming = alarming(endpoint.secure_counters()) + from_port_zero;
        if let Some(datagrams) = self.left_out(now, alarming) {
            tracing::warn!(
                datagrams,
                "more datagrams were rejected in the last minute; `ripstop status --json` counts them by reason"
            );
        }
    }
}

/// Logs a rejection. `own` is the public key of this host.
fn warn_of(rejection: &Rejection, own: PublicKey) {
    let from = rejection.from;
    match rejection.reason {
        Rejected::UnknownPeer(key) => tracing::warn!(
            %from,
            public_key = %key,
            "handshake rejected: the caller's public key is not configured on this host; if the caller is yours, add it as a [[peer]]"
        ),
        Rejected::Mac1 => tracing::warn!(
            %from,
            "handshake rejected: the caller expects another public key of this host; the right one is {own}"
        ),
        Rejected::Suite(suite) => tracing::warn!(
            %from,
            "handshake rejected: this version does not know its cipher suite {suite}; run the same version on both hosts"
        ),
        Rejected::CookieDemanded | Rejected::AddressLimit => tracing::warn!(
            %from,
            "handshake put off: too many handshakes arrive at the same time (a flood, or many peers that restart)"
        ),
        Rejected::PeerLimit => tracing::warn!(
            %from,
            "session put off: the peer begins more than one session a second; it restarts again and again, or is hostile"
        ),
        Rejected::Malformed(what) if rejection.is_handshake => tracing::warn!(
            %from,
            "handshake rejected: {what}; run the same version on both hosts"
        ),
        Rejected::Malformed(what) => {
            tracing::warn!(%from, "datagram rejected: it is not of this protocol ({what}); a stranger, or a wrong port");
        }
        reason => tracing::warn!(%from, "datagram rejected: {reason}; it was damaged on the path, or forged"),
    }
}

/// How many datagrams were rejected for a reason that an operator should know.
fn alarming(counters: &SecureCounters) -> u64 {
    const NORMAL: [&str; 7] =
        ["no_session", "replayed", "too_old", "expired", "handshake_replayed", "unsolicited", "preshared"];
    let named = Rejected::NAMES.iter().zip(&counters.datagrams.rejected);
    named.filter(|(name, _)| !NORMAL.contains(name)).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_proto::secure::PrivateKey;
    use std::net::SocketAddr;

    fn rejection(host: u8, reason: Rejected) -> Rejection {
        Rejection { from: SocketAddr::from(([192, 0, 2, host], 5182)), reason, is_handshake: true }
    }

    #[test]
    fn only_unusual_reasons_count() {
        let key = PrivateKey::from_bytes([1; 32]).public();
        let of = |reason: Rejected| {
            let mut counters = SecureCounters::default();
            counters.datagrams.rejected[reason.index()] = 3;
            (reason.is_alarming(), alarming(&counters))
        };
        let normal =
            [Rejected::NoSession, Rejected::Replayed(1), Rejected::Expired, Rejected::Unsolicited, Rejected::Preshared];
        assert_eq!(normal.map(of), [(false, 0); 5]);
        let unusual = [Rejected::Forged, Rejected::Mac1, Rejected::CookieDemanded, Rejected::UnknownPeer(key)];
        assert_eq!(unusual.map(of), [(true, 3); 4]);
    }

    #[test]
    fn a_flood_of_strangers_does_not_hide_a_caller_or_fill_the_log() {
        let mut log = RejectedLog::new(Time::ZERO);
        let (mut strangers, mut callers, mut summaries) = (0, 0, 0);
        for ms in 0..60_000 {
            let now = Time::from_millis(ms);
            strangers += u32::from(log.admit(now, &rejection((ms % 250) as u8, Rejected::Mac1)));
            if ms > 30_000 && ms % 3_000 == 0 {
                let key = PrivateKey::from_bytes([1; 32]).public();
                callers += u32::from(log.admit(now, &rejection(251, Rejected::UnknownPeer(key))));
            }
            summaries += u32::from(log.left_out(now, ms).is_some());
        }
        assert_eq!((strangers, callers, summaries), (3, 1, 0));
        assert_eq!(log.left_out(Time::from_millis(60_000), 60_009), Some(60_005));
        assert_eq!(log.left_out(Time::from_millis(120_000), 60_009), None, "nothing new was rejected");
    }
}
