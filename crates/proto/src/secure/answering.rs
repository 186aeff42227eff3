//! Answers to the handshake messages of other ends: responses, repeated responses, cookies, and
//! responses that name a stamp. `mod.rs` explains the terms.

use super::PeerId;
use super::aead::Suite;
use super::config::{Incoming, PresharedMismatch, Rejected, SecureTransmit};
use super::index::IndexTable;
use super::noise;
use super::peer::{GRACE, Peer, Session};
use super::peers::{Peers, Shared, get};
use crate::wire::handshake::{Hello, Initiation, RESPONSE_LEN, Response};
use ripstop_base::Time;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// The largest number of times that a response is sent again when its initiation is repeated. The
/// limit bounds the number of answers to a replayed initiation.
const MOST_REPEATS: u8 = 16;

/// The largest number of pending handshakes of a peer. In a pending handshake, this end has
/// answered the peer's initiation, and waits for the first datagram under the new keys. The limit
/// bounds the memory that replayed initiations can fill.
///
/// A new pending handshake has a larger stamp than all others ([`Hello::stamp`]). It displaces the
/// one with the smallest stamp. So neither strangers nor replays displace the handshake of the
/// peer's newest initiation, however old or young it is. With half the value, a peer whose first
/// initiations are reordered by more than 15 s needs one more round trip. Double the value takes
/// more memory.
const MOST_PENDING: usize = 4;
/// How many ephemeral keys of answered initiations are kept for each peer. With these keys, this
/// end detects repeated and replayed initiations without a curve multiplication. Half the value
/// lets an attacker with more than 32 recorded initiations cause curve multiplications, which the
/// limit on handshakes per second bounds. Double the value takes 2 kB more for each peer.
const MOST_SPENT: usize = 64;

/// The handshakes of one peer that this end has answered.
#[derive(Default)]
pub(crate) struct Answered {
    /// Handshakes that wait for their first datagram, in the order of their stamps.
    pub(super) pending: Vec<Pending>,
    /// The ephemeral keys of answered initiations, the oldest first (at most [`MOST_SPENT`]).
    spent: VecDeque<[u8; 32]>,
    /// The largest stamp in an authentic initiation of the peer; 0 before the first initiation.
    pub(super) newest: u64,
}

/// A handshake that the peer started and this end answered. Its keys wait for their first datagram.
pub(crate) struct Pending {
    pub(crate) session: Session,
    /// The payload of the initiation.
    pub(crate) hello: Hello,
    /// The ephemeral key of the initiation, which identifies repetitions of this initiation.
    ephemeral: [u8; 32],
    pub(super) response: [u8; RESPONSE_LEN],
    /// The address that all copies of the response went to; None if they went to several addresses.
    /// The peer's first datagram from this address proves the address.
    pub(crate) answered: Option<SocketAddr>,
    /// How many times the response was sent again.
    repeats: u8,
    /// The result of [`Peer::crossing`] when the initiation arrived: the receiver index of this
    /// end's current keys, if their handshake may have crossed this handshake.
    pub(crate) crosses: Option<u32>,
}

impl Answered {
    /// Stores a handshake that the peer started and this end has answered. Its stamp is the largest
    /// so far.
    fn add(&mut self, peer: PeerId, pending: Pending, shared: &mut Shared) {
        self.newest = pending.hello.stamp;
        self.spent.push_back(pending.ephemeral);
        shared.recent.insert(pending.ephemeral, peer);
        if self.spent.len() > MOST_SPENT
            && let Some(oldest) = self.spent.pop_front()
        {
            shared.recent.remove(&oldest);
        }
        if self.pending.len() == MOST_PENDING {
            // The first handshake has the smallest stamp.
            let dropped = self.pending.remove(0);
            shared.index.release(dropped.session.index);
        }
        self.pending.push(pending);
    }

    /// The handshake with this receiver index that waits for its first datagram.
    pub(super) fn find(&self, receiver: u32) -> Option<&Pending> {
        self.pending.iter().find(|pending| pending.session.index == receiver)
    }

    /// Drops the handshakes that wait for their first datagram and do not belong to this instance of the peer.
    pub(super) fn retain_instance(&mut self, instance: [u8; 8], index: &mut IndexTable) {
        self.pending.retain(|pending| index.keep(pending.hello.instance == instance, pending.session.index));
    }

    /// Drops the handshakes that have waited too long for their first datagram.
    pub(super) fn prune(&mut self, now: Time, index: &mut IndexTable) {
        self.pending.retain(|pending| index.keep(now < pending.session.born + GRACE, pending.session.index));
    }

    /// When [`Answered::prune`] has something to drop, for each handshake.
    pub(super) fn dues(&self) -> impl Iterator<Item = Time> {
        self.pending.iter().map(|pending| pending.session.born + GRACE)
    }

    /// Drops all handshakes, and what is kept against their repetition.
    pub(super) fn release(&mut self, shared: &mut Shared) {
        self.pending.drain(..).for_each(|pending| shared.index.release(pending.session.index));
        self.spent.drain(..).for_each(|ephemeral| {
            shared.recent.remove(&ephemeral);
        });
    }
}

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
        if opened.hello.stamp <= peer.answered.newest {
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
        peer.answered.add(id, pending, shared);
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
        let pending = peer.answered.pending.iter_mut().find(|pending| pending.ephemeral == *ephemeral);
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
        let stamp = peer.answered.newest.max(opened.hello.stamp.saturating_add(1));
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
