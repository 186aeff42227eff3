//! Answers to the handshake messages of other ends: responses, repeated responses, cookies, and
//! responses that name a stamp. `mod.rs` explains the terms.

use super::PeerId;
use super::aead::Suite;
use super::config::{Incoming, PresharedMismatch, Rejected, SecureTransmit};
use super::noise;
use super::peer::{GRACE, Peer, Pending, Session};
use super::peers::{Peers, Shared, get};
use crate::wire::handshake::{Initiation, Response};
use ripstop_base::Time;
use std::net::SocketAddr;

/// The largest number of times that a response is sent again when its initiation is repeated. The
/// limit bounds the number of answers to a replayed initiation.
const MOST_REPEATS: u8 = 16;

impl Peers {
    /// Processes an initiation.
    pub(super) fn initiation(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Result<Incoming, Rejected> {
        let message = Initiation::parse(datagram).map_err(Rejected::Malformed)?;
        let shared = &mut self.shared;
        if !shared.identity.macs.verify_mac1(datagram) {
            return Err(Rejected::Mac1);
        }
        let (suite, preshared) = Suite::from_byte(message.suite).ok_or(Rejected::Suite(message.suite))?;
        let ephemeral: [u8; 32] = std::array::from_fn(|i| message.noise[i]);
        if let Some(id) = shared.recent.get(&ephemeral).copied() {
            let peer = get(&mut self.peers, id).ok_or(Rejected::HandshakeReplayed)?;
            return shared.repeat_response(now, from, &ephemeral, peer);
        }
        shared.admit(now, from, datagram, message.sender)?;
        let prologue = Initiation::header(message.suite, message.sender);
        let opened = noise::open_initiation(
            (suite, preshared),
            &shared.identity.private,
            &prologue,
            message.noise,
            &mut *shared.entropy,
        )
        .map_err(|_| Rejected::HandshakeForged)?;
        let id = self.by_key.get(&opened.peer).copied().ok_or(Rejected::UnknownPeer(opened.peer))?;
        let peer = get(&mut self.peers, id).ok_or(Rejected::UnknownPeer(opened.peer))?;
        if preshared != peer.preshared.is_some() {
            let mismatch = if preshared { PresharedMismatch::OnlyPeer } else { PresharedMismatch::OnlyThisEnd };
            peer.note_mismatch(mismatch, from, shared);
            return Err(Rejected::Preshared);
        }
        if opened.hello.stamp <= peer.newest {
            shared.name_stamp(now, suite, opened, (from, message.sender), peer);
            return Err(Rejected::HandshakeReplayed);
        }
        let hello = peer.hello(Some(opened.hello.instance), opened.hello.stamp, shared);
        let (noise, keys) = noise::respond(suite, opened.state, peer.preshared.as_ref(), &hello)
            .map_err(|_| Rejected::HandshakeForged)?;
        let index = shared.index.allocate(&mut *shared.entropy, id);
        let response = Response { sender: index, receiver: message.sender, noise: &noise }.to_bytes();
        let life = (now, shared.config.reject_after);
        let session = Session::new((index, message.sender), keys, suite, false, life);
        let crosses = peer.crossing();
        let mut pending =
            Pending { session, hello: opened.hello, ephemeral, response, answered: Some(from), repeats: 0, crosses };
        peer.macs.sign(&mut pending.response, peer.cookie(now));
        // A first response costs curve multiplications, so the limit on handshakes limits it too.
        shared.queue_reply(Some(id), from, &pending.response);
        shared.counters.responses += 1;
        peer.answer(pending, shared);
        shared.reschedule(peer, now);
        Ok(Incoming::Handshake { peer: id })
    }
}

impl Shared {
    /// Answers a repeated initiation with the same response, because the first copy of the response
    /// may be lost. The repetition costs no curve multiplication. After [`MOST_REPEATS`]
    /// repetitions, or after [`GRACE`], the initiation counts as replayed.
    fn repeat_response(
        &mut self,
        now: Time,
        from: SocketAddr,
        ephemeral: &[u8; 32],
        peer: &mut Peer,
    ) -> Result<Incoming, Rejected> {
        let cookie = peer.cookie(now).copied();
        let pending = peer.pending.iter_mut().find(|pending| pending.ephemeral == *ephemeral);
        let pending = pending
            .filter(|p| p.repeats < MOST_REPEATS && now.since(p.session.born) < GRACE)
            .ok_or(Rejected::HandshakeReplayed)?;
        if self.may_reply(now, true, from) {
            pending.repeats += 1;
            pending.answered = pending.answered.filter(|to| *to == from);
            peer.macs.sign(&mut pending.response, cookie.as_ref());
            self.queue_reply(Some(peer.id), from, &pending.response);
            self.counters.responses_repeated += 1;
        }
        Ok(Incoming::Handshake { peer: peer.id })
    }

    /// Answers an authentic initiation whose stamp is not new. The answer is a response that tells
    /// the peer the largest stamp so far, and makes no keys. If the initiation is a replay, nobody can
    /// read the answer. If the peer's wall clock went back, the peer starts again with a larger stamp.
    fn name_stamp(
        &mut self,
        now: Time,
        suite: Suite,
        opened: noise::Opened,
        (from, sender): (SocketAddr, u32),
        peer: &Peer,
    ) {
        // A response with the initiation's own stamp would accept the initiation.
        let stamp = peer.newest.max(opened.hello.stamp.saturating_add(1));
        if stamp == opened.hello.stamp || !self.may_reply(now, false, from) {
            return;
        }
        let hello = peer.hello(Some(opened.hello.instance), stamp, self);
        let Ok((noise, _)) = noise::respond(suite, opened.state, peer.preshared.as_ref(), &hello) else { return };
        let mut response = Response { sender: 0, receiver: sender, noise: &noise }.to_bytes();
        peer.macs.sign(&mut response, None);
        self.queue_reply(None, from, &response);
        self.counters.stamps_named += 1;
    }

    /// Decides whether a handshake message is processed. Under load, a message without a valid
    /// cookie is answered with a cookie instead.
    ///
    /// # Errors
    /// A cookie was demanded, or too many messages with a cookie come from the address, its network, or all together.
    pub(super) fn admit(&mut self, now: Time, from: SocketAddr, message: &[u8], sender: u32) -> Result<(), Rejected> {
        if self.gate.admit(now) {
            return Ok(());
        }
        if self.jar.verify_mac2(now, message, from, &mut *self.entropy) {
            let is_peer = self.addresses.contains(from.ip());
            let is_admitted = self.gate.admit_address(now, from.ip(), is_peer);
            return if is_admitted { Ok(()) } else { Err(Rejected::AddressLimit) };
        }
        // The limit is asked first, so that a flood costs no encryption for cookies that are not sent.
        if self.may_reply(now, false, from) {
            let reply = self.jar.reply(now, &self.identity.macs, message, sender, from, &mut *self.entropy);
            if let Some(reply) = reply {
                self.counters.cookies_given += 1;
                self.queue_reply(None, from, &reply.to_bytes());
            }
        }
        Err(Rejected::CookieDemanded)
    }

    /// Whether an answer to `to`, whose address may be forged, may be made and sent. If not, counts the answer as
    /// limited or dropped. Asked before any work is spent on the answer. An answer that is not sent uses up no limit.
    fn may_reply(&mut self, now: Time, to_peer: bool, to: SocketAddr) -> bool {
        if !self.replies.gate.has_room(now, to.ip()) {
            self.counters.replies_limited += 1;
            return false;
        }
        if !self.replies.has_room(to_peer) {
            self.counters.replies_dropped += 1;
            return false;
        }
        self.replies.gate.admit(now, to.ip())
    }

    /// Queues an answer to `to`. If the queue is full, drops and counts the answer.
    fn queue_reply(&mut self, peer: Option<PeerId>, to: SocketAddr, contents: &[u8]) {
        let queued = self.replies.push(SecureTransmit { peer, to, contents: contents.to_vec() });
        self.counters.replies_dropped += u64::from(!queued);
    }
}
