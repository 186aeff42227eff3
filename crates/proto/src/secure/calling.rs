//! Handshakes that this end starts: initiations, their repetitions, and the responses and cookies of the peer. `mod.rs`
//! explains the terms.

use super::aead::Suite;
use super::config::{Incoming, PresharedMismatch, Rejected, SecureEvent, SecureTransmit};
use super::entropy::unit;
use super::index::IndexTable;
use super::mac::mac1_of;
use super::peer::{GRACE, Peer, Session};
use super::peers::{Peers, Shared, get};
use super::{PeerId, noise};
use crate::wire::handshake::{CookieReply, INITIATION_HEADER_LEN, INITIATION_LEN, Initiation, Response};
use ripstop_base::Time;
use snow::HandshakeState;
use std::net::SocketAddr;
use std::time::Duration;

/// How long one initiation is repeated before a new initiation replaces it. A repetition costs the
/// responder a few hashes. A new initiation costs the responder four curve multiplications. A new
/// initiation is needed if the responder has forgotten the old one.
const ROUND: Duration = Duration::from_secs(15);
/// The largest number of initiations of this end that wait for a response. Normally there are at most
/// three: [`GRACE`] / [`ROUND`], and one after a cookie. A peer that names ever larger
/// stamps causes more. Half the value still suffices. Double the value only takes more memory.
const MOST_ATTEMPTS: usize = 8;

/// The handshakes that this end has started with one peer.
#[derive(Default)]
pub(crate) struct Calls {
    /// Handshakes that may still be answered; the newest is the last.
    pub(super) attempts: Vec<Attempt>,
    /// None: no handshake is under way.
    pub(crate) retry: Option<Retry>,
    /// Whether an initiation is queued.
    is_queued: bool,
    /// The stamp of this end's newest initiation to the peer, or a larger stamp that the peer named;
    /// 0 before the first initiation.
    pub(crate) stamp: u64,
}

/// A handshake that this end started.
pub(super) struct Attempt {
    index: u32,
    suite: Suite,
    state: Box<HandshakeState>,
    message: [u8; INITIATION_LEN],
    /// The stamp of the initiation ([`Hello::stamp`](crate::wire::handshake::Hello)).
    stamp: u64,
    made: Time,
}

/// When and how the newest initiation is sent again.
pub(crate) struct Retry {
    /// When the next repetition is due.
    at: Time,
    /// The current wait between two repetitions.
    wait: Duration,
    /// When the first initiation was sent, or when the peer was last heard after that.
    pub(crate) heard: Time,
    /// Whether a cookie from the peer may cause a repetition immediately. This happens at most once
    /// between two timed repetitions.
    cookie_may_hasten: bool,
}

impl Calls {
    /// Drops the handshakes.
    pub(crate) fn cancel(&mut self, index: &mut IndexTable) {
        self.attempts.drain(..).for_each(|attempt| index.release(attempt.index));
        self.retry = None;
    }

    /// Drops the initiations that have waited too long for a response.
    pub(crate) fn prune(&mut self, now: Time, index: &mut IndexTable) {
        self.attempts.retain(|attempt| index.keep(now < attempt.made + GRACE, attempt.index));
    }

    /// When the next repetition is due.
    pub(crate) fn next_due(&self) -> Option<Time> {
        self.retry.as_ref().map(|retry| retry.at)
    }
}

impl Peers {
    /// Starts a handshake with a peer, unless one is under way. Call this method to open a session,
    /// or when the peer has been silent for [`silence_limit`](crate::path::silence_limit).
    /// Handshakes are repeated until one succeeds. False if the peer is not known or has no address.
    pub fn connect(&mut self, now: Time, peer: PeerId) -> bool {
        match get(&mut self.peers, peer) {
            Some(peer) => self.shared.connect(now, peer),
            None => false,
        }
    }

    /// Since when handshakes with a peer are under way without an answer: the time of the first one, or of the peer's last
    /// authentic datagram. None: no handshake of this end is under way.
    pub fn calls_since(&self, peer: PeerId) -> Option<Time> {
        self.peers.get(peer.index())?.as_deref()?.calls.retry.as_ref().map(|retry| retry.heard)
    }

    /// Repeats a handshake that is under way now, and waits for the answer as after the first initiation. Call this method
    /// when the peer's address was set: the waits have grown while nobody answered at the former address.
    pub fn hasten(&mut self, now: Time, peer: PeerId) {
        let Some(peer) = get(&mut self.peers, peer) else { return };
        let wait = self.shared.config.first_retry;
        let at = now + self.shared.jittered(wait);
        if let Some(retry) = &mut peer.calls.retry {
            (retry.at, retry.wait) = (at, wait);
            self.shared.repeat_initiation(now, peer);
            self.shared.reschedule(peer, now);
        }
    }

    /// The next initiation to send. This end sends few initiations, so they may precede data.
    pub fn poll_initiation(&mut self) -> Option<SecureTransmit> {
        while let Some(id) = self.shared.initiations.pop_front() {
            let Some(peer) = get(&mut self.peers, id) else { continue };
            peer.calls.is_queued = false;
            if let (Some(to), Some(attempt)) = (peer.endpoint, peer.calls.attempts.last()) {
                return Some(SecureTransmit { peer: Some(id), to, contents: attempt.message.to_vec() });
            }
        }
        None
    }

    pub(super) fn response(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Result<Incoming, Rejected> {
        let message = Response::parse(datagram).map_err(Rejected::Malformed)?;
        let shared = &mut self.shared;
        if !shared.identity.macs.verify_mac1(datagram) {
            return Err(Rejected::Mac1);
        }
        let id = shared.index.peer(message.receiver).ok_or(Rejected::Unsolicited)?;
        let peer = get(&mut self.peers, id).ok_or(Rejected::Unsolicited)?;
        let at = peer.calls.attempts.iter().position(|attempt| attempt.index == message.receiver);
        let at = at.ok_or(Rejected::Unsolicited)?;
        shared.admit(now, from, datagram, message.sender)?;
        let attempt = &mut peer.calls.attempts[at];
        let (hello, keys) = noise::finish(attempt.suite, &mut attempt.state, message.noise).map_err(|_| {
            if peer.preshared.is_some() {
                peer.note_mismatch(PresharedMismatch::Differ, from, shared);
            }
            Rejected::HandshakeForged
        })?;
        let attempt = peer.calls.attempts.remove(at);
        if hello.stamp != attempt.stamp {
            shared.index.release(attempt.index);
            shared.exceed(now, hello.stamp, peer);
            return Ok(Incoming::Handshake { peer: id });
        }
        // The session keeps the attempt's index, so this index must not be released with those of
        // the other attempts.
        let life = (now, shared.config.reject_after);
        let session = Session::new((attempt.index, message.sender), keys, attempt.suite, true, life);
        peer.answered(now, from, session, &hello, shared);
        Ok(Incoming::Handshake { peer: id })
    }

    pub(super) fn cookie(&mut self, now: Time, datagram: &[u8]) -> Result<Incoming, Rejected> {
        let reply = CookieReply::parse(datagram).map_err(Rejected::Malformed)?;
        let shared = &mut self.shared;
        let id = shared.index.peer(reply.receiver).ok_or(Rejected::Unsolicited)?;
        let peer = get(&mut self.peers, id).ok_or(Rejected::Unsolicited)?;
        let attempt = peer.calls.attempts.iter().find(|a| a.index == reply.receiver).map(|a| mac1_of(&a.message));
        let pending = || peer.answered.find(reply.receiver).map(|pending| mac1_of(&pending.response));
        let mac1 = attempt.or_else(pending).ok_or(Rejected::Unsolicited)?;
        let cookie = peer.macs.open_cookie(&reply, &mac1).ok_or(Rejected::HandshakeForged)?;
        peer.cookie = Some((cookie, now));
        shared.counters.cookies_received += 1;
        if let Some(retry) = &mut peer.calls.retry
            && std::mem::take(&mut retry.cookie_may_hasten)
        {
            shared.repeat_initiation(now, peer);
        }
        Ok(Incoming::Handshake { peer: id })
    }
}

impl Shared {
    /// Starts a handshake unless one is under way.
    pub(super) fn connect(&mut self, now: Time, peer: &mut Peer) -> bool {
        if peer.endpoint.is_none() {
            return false;
        }
        if peer.calls.retry.is_some() {
            return true;
        }
        let wait = self.config.first_retry;
        let at = if let Some(at) = peer.handshakes.opens(now, 1.0) {
            // The handshake begins when the peer has earned it.
            self.counters.initiations_delayed += 1;
            at
        } else if self.initiate(now, peer) {
            now + self.jittered(wait)
        } else {
            return true;
        };
        peer.calls.retry = Some(Retry { at, wait, heard: now, cookie_may_hasten: true });
        self.reschedule(peer, now);
        true
    }

    /// Makes a new initiation and sends it. Responses to earlier initiations are still accepted.
    fn initiate(&mut self, now: Time, peer: &mut Peer) -> bool {
        peer.handshakes.take(now, 1.0);
        let stamp = peer.next_stamp(now, self);
        let hello = peer.hello(None, stamp, self);
        let suite = self.config.suite;
        let index = self.index.allocate(&mut *self.entropy, peer.id);
        let (own, preshared) = (&self.identity.private, peer.preshared.as_ref());
        let code = suite.to_byte(preshared.is_some());
        let prologue: [u8; INITIATION_HEADER_LEN] = Initiation::header(code, index);
        let made = noise::initiate(suite, own, (&peer.public, preshared), &prologue, &hello, &mut *self.entropy);
        let Ok((state, noise)) = made else {
            // The peer's public key is of low order. No handshake with such a key can succeed.
            self.index.release(index);
            return false;
        };
        let message = Initiation { suite: code, sender: index, noise: &noise }.to_bytes();
        if peer.calls.attempts.len() == MOST_ATTEMPTS {
            self.index.release(peer.calls.attempts.remove(0).index);
        }
        peer.calls.attempts.push(Attempt { index, suite, state: Box::new(state), message, stamp, made: now });
        self.counters.initiations += 1;
        self.send_initiation(now, peer);
        true
    }

    /// Sends the newest initiation again. If the newest initiation is older than [`ROUND`], sends a
    /// new initiation.
    fn repeat_initiation(&mut self, now: Time, peer: &mut Peer) {
        let fresh = peer.calls.attempts.last().is_some_and(|attempt| now.since(attempt.made) < ROUND);
        if fresh {
            self.counters.initiations_repeated += 1;
            self.send_initiation(now, peer);
        } else {
            self.initiate(now, peer);
        }
    }

    /// Queues the newest initiation to the peer, unless it is queued already: so the queue does not
    /// grow while nothing can be sent.
    fn send_initiation(&mut self, now: Time, peer: &mut Peer) {
        let cookie = peer.cookie(now).copied();
        if let Some(attempt) = peer.calls.attempts.last_mut() {
            peer.macs.sign(&mut attempt.message, cookie.as_ref());
        }
        if !std::mem::replace(&mut peer.calls.is_queued, true) {
            self.initiations.push_back(peer.id);
        }
    }

    /// Sends an initiation again if a repetition is due. Each wait is 1.5 times as long as the wait
    /// before, up to `max_retry`.
    pub(super) fn retry(&mut self, now: Time, peer: &mut Peer) {
        let Some(retry) = &mut peer.calls.retry else { return };
        if now < retry.at {
            return;
        }
        // The wait grows only by half, because a path that loses half of all datagrams in bursts
        // needs many attempts.
        retry.wait = (retry.wait * 3 / 2).min(self.config.max_retry);
        retry.cookie_may_hasten = true;
        let (wait, silent_for) = (retry.wait, now.since(retry.heard));
        let at = now + self.jittered(wait);
        if let Some(retry) = &mut peer.calls.retry {
            retry.at = at;
        }
        if silent_for >= self.config.unreachable_after && !peer.unreachable {
            peer.unreachable = true;
            self.events.push_back(SecureEvent::Unreachable { peer: peer.id, silent_for });
        }
        self.repeat_initiation(now, peer);
    }

    /// `wait`, extended at random by up to a quarter. So two ends that lost contact at the same
    /// time do not repeat their handshakes at the same times.
    fn jittered(&mut self, wait: Duration) -> Duration {
        wait + wait.mul_f64(unit(&mut *self.entropy) / 4.0)
    }

    /// Starts a new handshake with a larger stamp than `stamp`, which the peer named. Does nothing if
    /// this end has already sent such a stamp, or has started too many handshakes. In this case the peer names the stamp
    /// again when the initiation is repeated.
    fn exceed(&mut self, now: Time, stamp: u64, peer: &mut Peer) {
        if stamp > peer.calls.stamp && peer.handshakes.opens(now, 1.0).is_none() {
            peer.calls.stamp = stamp;
            self.counters.stamps_corrected += 1;
            self.initiate(now, peer);
        }
    }
}
