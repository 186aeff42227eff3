//! The handshakes with one peer: the messages' payloads and stamps.

use super::Peer;
use crate::secure::config::{PresharedMismatch, SecureEvent};
use crate::secure::mac::{COOKIE_LIFE, Cookie};
use crate::secure::peers::Shared;
use crate::wire::handshake::{Hello, keepalive_bits};
use ripstop_base::Time;
use std::net::SocketAddr;

/// The largest stamp that the wall clock alone can give, nanoseconds since 1970: the year 2262. A
/// wall clock that is far wrong must leave room for larger stamps. Half the value would end in the
/// year 2116.
const MOST_WALL_CLOCK: u64 = 1 << 63;

impl Peer {
    /// The receiver index of this end's current keys, if an initiation that arrives now may have
    /// crossed the handshake of these keys. A crossing is possible if this end started that
    /// handshake, and no datagram of the peer has come under the keys. In this case the peer may
    /// not have known the keys when it sent its initiation.
    pub(crate) fn crossing(&self) -> Option<u32> {
        let ours = self.keys.first().filter(|ours| ours.initiator && ours.first_opened.is_none());
        ours.map(|ours| ours.index)
    }

    /// The payload of a handshake message to the peer, with the stamp `stamp`. `instance` is the
    /// peer's instance, if the peer's message named it. If `instance` is None, the payload names the
    /// peer's instance of the current epoch.
    pub(crate) fn hello(&self, instance: Option<[u8; 8]>, stamp: u64, shared: &Shared) -> Hello {
        let known = self.epoch.as_ref().filter(|epoch| instance.is_none_or(|i| i == epoch.instance));
        Hello {
            instance: self.instance,
            peer_instance: instance.or(known.map(|epoch| epoch.instance)).unwrap_or_default(),
            next_number: known.map_or(0, |epoch| epoch.next),
            inner_mtu: shared.config.inner_mtu,
            capabilities: shared.config.capabilities & 0xffff | keepalive_bits(self.keepalive),
            stamp,
        }
    }

    /// The stamp of a new initiation: the wall clock in nanoseconds, or the last stamp plus one,
    /// whichever is larger. A wall clock that went back does not delay the handshake for long: the
    /// peer then names the stamp to exceed.
    pub(crate) fn next_stamp(&mut self, now: Time, shared: &Shared) -> u64 {
        let wall = shared.config.wall_clock.saturating_add(now.since(Time::ZERO));
        let wall = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX).min(MOST_WALL_CLOCK);
        self.calls.stamp = wall.max(self.calls.stamp.saturating_add(1));
        self.calls.stamp
    }

    /// Reports that the pre-shared keys do not match, once until the next session.
    pub(crate) fn note_mismatch(&mut self, mismatch: PresharedMismatch, from: SocketAddr, shared: &mut Shared) {
        shared.counters.preshared_mismatches += 1;
        if self.mismatch.replace(mismatch) != Some(mismatch) {
            shared.events.push_back(SecureEvent::PresharedMismatch { peer: self.id, mismatch, from });
        }
    }

    /// The cookie with which this end makes mac2 in messages to the peer. None if there is no
    /// cookie, or if the cookie has expired.
    pub(crate) fn cookie(&self, now: Time) -> Option<&Cookie> {
        self.cookie.as_ref().filter(|(_, got)| now.since(*got) < COOKIE_LIFE).map(|(cookie, _)| cookie)
    }
}
