//! One end of the tunnel with all its peers: methods and handshakes. `mod.rs` explains the terms.

use super::config::PresharedMismatch;
use super::config::{Incoming, Rejected, SealError, SecureConfig, SecureCounters, SecureEvent, SecureTransmit};
use super::entropy::{Entropy, array, unit};
use super::index::IndexTable;
use super::key::{PresharedKey, PrivateKey, PublicKey};
use super::load::{LoadGate, PeerAddresses};
use super::mac::{CookieJar, MacKeys, mac1_of};
use super::peer::{Attempt, Peer, Retry, Session, seal};
use super::rejections::{Rejection, Rejections};
use super::replies::Replies;
use super::{PeerId, noise};
use crate::tokens::TokenBucket;
use crate::wire::handshake::{
    COOKIE_REPLY, CookieReply, INITIATION, INITIATION_HEADER_LEN, Initiation, RESPONSE, Response,
};
use crate::wire::{HEADER_LEN, Header, Kind, TAG_LEN};
use ripstop_base::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

/// How long one initiation is repeated before a new initiation replaces it. A repetition costs the
/// responder a few hashes. A new initiation costs the responder four curve multiplications. A new
/// initiation is needed if the responder has forgotten the old one.
const ROUND: Duration = Duration::from_secs(15);
/// How much later than the initiator the responder renews a key, so that both ends rarely renew a
/// key at the same time. The value must exceed the time that a handshake takes with repetitions.
const RESPONDER_LATER: Duration = Duration::from_secs(15);
/// The largest number of initiations of this end that wait for a response. Normally there are at most
/// three: [`super::peer::GRACE`] / [`ROUND`], and one after a cookie. A peer that names ever larger
/// stamps causes more. Half the value still suffices. Double the value only takes more memory.
const MOST_ATTEMPTS: usize = 8;

/// One end of the tunnel: its identity and the state of each peer. `mod.rs` says how to drive this
/// type.
pub struct Peers {
    pub(super) peers: Vec<Option<Box<Peer>>>,
    pub(super) by_key: BTreeMap<PublicKey, PeerId>,
    pub(super) shared: Shared,
}

/// The state that all peers share.
pub(crate) struct Shared {
    pub(crate) identity: Identity,
    pub(crate) config: SecureConfig,
    pub(crate) entropy: Box<dyn Entropy + Send>,
    pub(crate) index: IndexTable,
    /// The peer of each ephemeral key in answered initiations. With this table, this end detects
    /// repetitions and replays.
    pub(crate) recent: BTreeMap<[u8; 32], PeerId>,
    pub(super) jar: CookieJar,
    pub(super) gate: LoadGate,
    /// The peers' proven and configured addresses.
    pub(crate) addresses: PeerAddresses,
    timers: BTreeSet<(Time, PeerId)>,
    /// The peers to which an initiation is due. Each peer is in the list at most once.
    initiations: VecDeque<PeerId>,
    pub(super) replies: Replies,
    pub(super) rejections: Rejections,
    pub(crate) events: VecDeque<SecureEvent>,
    pub(crate) counters: SecureCounters,
}

/// This end's keys.
pub(crate) struct Identity {
    pub(super) private: PrivateKey,
    pub(crate) public: PublicKey,
    /// The MAC keys of messages to this end.
    pub(super) macs: MacKeys,
}

impl Peers {
    /// An end with this private key and no peers. On a real network, `entropy` must be the
    /// operating system's random generator.
    pub fn new(private: PrivateKey, config: SecureConfig, mut entropy: Box<dyn Entropy + Send>) -> Peers {
        let public = private.public();
        let jar = CookieJar::new(&mut *entropy);
        let gate = LoadGate::new(&config);
        let replies = Replies::new(config.replies_per_second, config.replies_per_prefix);
        let identity = Identity { private, public, macs: MacKeys::of(&public) };
        let shared = Shared {
            identity,
            config,
            entropy,
            index: IndexTable::default(),
            recent: BTreeMap::new(),
            jar,
            gate,
            addresses: PeerAddresses::default(),
            timers: BTreeSet::new(),
            initiations: VecDeque::new(),
            replies,
            rejections: Rejections::default(),
            events: VecDeque::new(),
            counters: SecureCounters::default(),
        };
        Peers { peers: Vec::new(), by_key: BTreeMap::new(), shared }
    }

    /// This end's public key.
    pub fn public(&self) -> PublicKey {
        self.shared.identity.public
    }

    /// Adds a peer with the address `endpoint`. Without an address, the peer must start the
    /// handshake. None if a peer has this key already, or if the key is this end's own.
    pub fn add(&mut self, key: PublicKey, endpoint: Option<SocketAddr>) -> Option<PeerId> {
        if key == self.public() || self.by_key.contains_key(&key) {
            return None;
        }
        let id = PeerId(u32::try_from(self.peers.len()).ok()?);
        let instance = array(&mut *self.shared.entropy);
        let (rate, most) = (self.shared.config.handshakes_per_peer, self.shared.config.handshakes_saved);
        let handshakes = TokenBucket::full(f64::from(rate), f64::from(most), Time::ZERO);
        self.peers.push(Some(Box::new(Peer::new(id, key, endpoint, instance, handshakes))));
        self.by_key.insert(key, id);
        self.shared.addresses.change(None, endpoint);
        Some(id)
    }

    /// Removes a peer and its keys. False if the peer is not known.
    pub fn remove(&mut self, peer: PeerId) -> bool {
        let Some(mut peer) = self.peers.get_mut(peer.index()).and_then(Option::take) else { return false };
        self.by_key.remove(&peer.public);
        self.shared.addresses.change(peer.endpoint, None);
        self.shared.timers.remove(&(peer.timer, peer.id));
        peer.release(&mut self.shared);
        true
    }

    /// Ends the session with a peer: forgets its keys and handshakes. The next handshake begins a new
    /// epoch at both ends.
    pub fn forget(&mut self, peer: PeerId) {
        let Some(peer) = get(&mut self.peers, peer) else { return };
        peer.release(&mut self.shared);
        peer.epoch = None;
        // With a new instance, the peer sees a restart, and begins a new epoch too.
        peer.instance = array(&mut *self.shared.entropy);
    }

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
        self.peers.get(peer.index())?.as_deref()?.retry.as_ref().map(|retry| retry.heard)
    }

    /// Repeats a handshake that is under way now, and waits for the answer as after the first initiation. Call this method
    /// when the peer's address was set: the waits have grown while nobody answered at the former address.
    pub fn hasten(&mut self, now: Time, peer: PeerId) {
        let Some(peer) = get(&mut self.peers, peer) else { return };
        let wait = self.shared.config.first_retry;
        let at = now + self.shared.jittered(wait);
        if let Some(retry) = &mut peer.retry {
            (retry.at, retry.wait) = (at, wait);
            self.shared.repeat_initiation(now, peer);
            self.shared.reschedule(peer, now);
        }
    }

    /// The epoch under which datagrams to the peer can be sealed now. None without a usable key.
    pub fn epoch(&self, now: Time, peer: PeerId) -> Option<u64> {
        let peer = self.peers.get(peer.index())?.as_deref()?;
        let session = peer.keys.first()?;
        let usable = now.since(session.born) < self.shared.config.reject_after
            && session.sealed < self.shared.config.reject_messages;
        peer.epoch.as_ref().filter(|_| usable).map(|epoch| epoch.id)
    }

    /// The address that the peer's datagrams go to, if it is known.
    pub fn endpoint(&self, peer: PeerId) -> Option<SocketAddr> {
        self.peers.get(peer.index())?.as_deref()?.endpoint
    }

    /// Sets the peer's address, for example when the peer's host name resolves to another address.
    /// The peer may prove another address later. False if the peer is not known.
    pub fn set_endpoint(&mut self, peer: PeerId, endpoint: SocketAddr) -> bool {
        let Some(peer) = get(&mut self.peers, peer) else { return false };
        self.shared.addresses.change(peer.endpoint, Some(endpoint));
        peer.endpoint = Some(endpoint);
        true
    }

    /// Sets the key that this end shares with the peer, for later handshakes. Existing sessions keep
    /// their keys. False if the peer is not known.
    pub fn set_preshared(&mut self, peer: PeerId, key: Option<PresharedKey>) -> bool {
        get(&mut self.peers, peer).map(|peer| (peer.preshared, peer.mismatch) = (key, None)).is_some()
    }

    /// The peer with this key.
    pub fn find(&self, key: &PublicKey) -> Option<PeerId> {
        self.by_key.get(key).copied()
    }

    /// The counters.
    pub fn counters(&self) -> &SecureCounters {
        &self.shared.counters
    }

    /// Seals a datagram in place and returns its destination: the peer's address. A challenge goes to
    /// [`Peers::challenged_address`] instead, and an answer to [`Peers::take_answered_address`]. While the peer's address is not proven, the destination
    /// is None, and only challenges may be sent. `datagram` holds [`HEADER_LEN`] bytes
    /// for the header, the body of kind `kind`, and [`TAG_LEN`] bytes for the tag. `number` must be
    /// higher than all earlier numbers of this `epoch`.
    #[inline]
    pub fn seal(
        &mut self,
        now: Time,
        peer: PeerId,
        epoch: u64,
        number: u64,
        kind: Kind,
        datagram: &mut [u8],
    ) -> Result<Option<SocketAddr>, SealError> {
        if datagram.len() < HEADER_LEN + TAG_LEN {
            return Err(SealError::Buffer(datagram.len()));
        }
        let (shared, peer) = match get(&mut self.peers, peer) {
            Some(peer) => (&mut self.shared, peer),
            None => return Err(SealError::NoSession),
        };
        let config = &shared.config;
        let (Some(run), Some(session)) = (&mut peer.epoch, peer.keys.first_mut()) else {
            shared.connect(now, peer);
            return Err(SealError::NoSession);
        };
        let age = now.since(session.born);
        if age >= config.reject_after || session.sealed >= config.reject_messages {
            shared.connect(now, peer);
            return Err(SealError::NoSession);
        }
        if run.id != epoch {
            return Err(SealError::Epoch { given: epoch, current: run.id });
        }
        // The number 2^64 - 1 stays unused, so that the next number always exists.
        if number < run.next || number == u64::MAX {
            return Err(SealError::Number { given: number, next: run.next });
        }
        let header = Header { kind, receiver: session.remote, number: number as u32 };
        if !seal(session, header, number, datagram) {
            return Err(SealError::Buffer(datagram.len()));
        }
        run.next = number + 1;
        shared.counters.datagrams.sealed += 1;
        let later = if session.initiator { Duration::ZERO } else { RESPONDER_LATER };
        if age >= config.rekey_after + later || session.sealed >= config.rekey_messages {
            shared.connect(now, peer);
        }
        Ok(peer.endpoint)
    }

    /// Processes a received datagram. A sealed datagram is decrypted in place.
    #[inline]
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, datagram: &mut [u8]) -> Incoming {
        let result = match datagram.first() {
            Some(&INITIATION) => self.initiation(now, from, datagram),
            Some(&RESPONSE) => self.response(now, from, datagram),
            Some(&COOKIE_REPLY) => self.cookie(now, datagram),
            _ => self.transport(now, from, datagram),
        };
        result.unwrap_or_else(|reason| {
            self.shared.counters.datagrams.rejected[reason.index()] += 1;
            let is_handshake = datagram.first().is_some_and(|kind| [INITIATION, RESPONSE, COOKIE_REPLY].contains(kind));
            self.shared.rejections.push(Rejection { from, reason, is_handshake });
            Incoming::Rejected(reason)
        })
    }

    /// Does what is due at `now`: repeats handshakes, drops expired keys.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some((at, id)) = self.shared.timers.first().copied() {
            if at > now {
                return;
            }
            self.shared.timers.pop_first();
            if let Some(peer) = get(&mut self.peers, id) {
                peer.timer = Time::NEVER;
                for token in peer.candidates.due(now, &mut self.shared.counters.addresses.refused) {
                    peer.challenge(token, &mut self.shared);
                }
                self.shared.retry(now, peer);
                self.shared.reschedule(peer, now);
            }
        }
    }

    /// When to call [`Peers::handle_timeout`] next. None if there is no handshake and no key.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.shared.timers.first().map(|(at, _)| *at)
    }

    /// The next handshake datagram to send: an initiation of this end, or an answer.
    pub fn poll_transmit(&mut self) -> Option<SecureTransmit> {
        self.poll_initiation().or_else(|| self.poll_reply())
    }

    /// The next initiation to send. This end sends few initiations, so they may precede data.
    pub fn poll_initiation(&mut self) -> Option<SecureTransmit> {
        while let Some(id) = self.shared.initiations.pop_front() {
            let Some(peer) = get(&mut self.peers, id) else { continue };
            peer.initiation_due = false;
            if let (Some(to), Some(attempt)) = (peer.endpoint, peer.attempts.last()) {
                return Some(SecureTransmit { peer: Some(id), to, contents: attempt.message.to_vec() });
            }
        }
        None
    }

    /// The next answer to a handshake message of another end. Strangers can cause answers, so
    /// answers should not precede data.
    pub fn poll_reply(&mut self) -> Option<SecureTransmit> {
        self.shared.replies.pop()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SecureEvent> {
        self.shared.events.pop_front()
    }

    #[inline]
    fn transport(&mut self, now: Time, from: SocketAddr, datagram: &mut [u8]) -> Result<Incoming, Rejected> {
        let header = Header::parse(datagram).map_err(Rejected::Malformed)?;
        let id = self.shared.index.peer(header.receiver).ok_or(Rejected::NoSession)?;
        let peer = get(&mut self.peers, id).ok_or(Rejected::NoSession)?;
        let opened = peer.open(now, from, header, datagram, &mut self.shared)?;
        self.shared.counters.datagrams.opened += 1;
        Ok(Incoming::Transport {
            peer: id,
            epoch: opened.epoch,
            number: opened.number,
            kind: header.kind,
            body: HEADER_LEN..datagram.len() - TAG_LEN,
        })
    }

    fn response(&mut self, now: Time, from: SocketAddr, datagram: &[u8]) -> Result<Incoming, Rejected> {
        let message = Response::parse(datagram).map_err(Rejected::Malformed)?;
        let shared = &mut self.shared;
        if !shared.identity.macs.verify_mac1(datagram) {
            return Err(Rejected::Mac1);
        }
        let id = shared.index.peer(message.receiver).ok_or(Rejected::Unsolicited)?;
        let peer = get(&mut self.peers, id).ok_or(Rejected::Unsolicited)?;
        let at = peer.attempts.iter().position(|attempt| attempt.index == message.receiver);
        let at = at.ok_or(Rejected::Unsolicited)?;
        shared.admit(now, from, datagram, message.sender)?;
        let attempt = &mut peer.attempts[at];
        let (hello, keys) = noise::finish(attempt.suite, &mut attempt.state, message.noise).map_err(|_| {
            if peer.preshared.is_some() {
                peer.note_mismatch(PresharedMismatch::Differ, from, shared);
            }
            Rejected::HandshakeForged
        })?;
        let attempt = peer.attempts.remove(at);
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

    fn cookie(&mut self, now: Time, datagram: &[u8]) -> Result<Incoming, Rejected> {
        let reply = CookieReply::parse(datagram).map_err(Rejected::Malformed)?;
        let shared = &mut self.shared;
        let id = shared.index.peer(reply.receiver).ok_or(Rejected::Unsolicited)?;
        let peer = get(&mut self.peers, id).ok_or(Rejected::Unsolicited)?;
        let attempt = peer.attempts.iter().find(|a| a.index == reply.receiver).map(|a| mac1_of(&a.message));
        let pending = || peer.pending.iter().find(|p| p.session.index == reply.receiver).map(|p| mac1_of(&p.response));
        let mac1 = attempt.or_else(pending).ok_or(Rejected::Unsolicited)?;
        let cookie = peer.macs.open_cookie(&reply, &mac1).ok_or(Rejected::HandshakeForged)?;
        peer.cookie = Some((cookie, now));
        shared.counters.cookies_received += 1;
        if let Some(retry) = &mut peer.retry
            && std::mem::take(&mut retry.cookie_may_hasten)
        {
            shared.repeat_initiation(now, peer);
        }
        Ok(Incoming::Handshake { peer: id })
    }
}

impl Shared {
    /// Drops the peer's expired keys and handshakes, and updates its entry in the table of timers.
    pub(crate) fn reschedule(&mut self, peer: &mut Peer, now: Time) {
        let at = peer.prune(now, &mut self.index);
        if at != peer.timer {
            self.timers.remove(&(peer.timer, peer.id));
            if at != Time::NEVER {
                self.timers.insert((at, peer.id));
            }
            peer.timer = at;
        }
    }

    /// Starts a handshake unless one is under way.
    fn connect(&mut self, now: Time, peer: &mut Peer) -> bool {
        if peer.endpoint.is_none() {
            return false;
        }
        if peer.retry.is_some() {
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
        peer.retry = Some(Retry { at, wait, heard: now, cookie_may_hasten: true });
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
        if peer.attempts.len() == MOST_ATTEMPTS {
            self.index.release(peer.attempts.remove(0).index);
        }
        peer.attempts.push(Attempt { index, suite, state: Box::new(state), message, stamp, made: now });
        self.counters.initiations += 1;
        self.send_initiation(now, peer);
        true
    }

    /// Sends the newest initiation again. If the newest initiation is older than [`ROUND`], sends a
    /// new initiation.
    fn repeat_initiation(&mut self, now: Time, peer: &mut Peer) {
        let fresh = peer.attempts.last().is_some_and(|attempt| now.since(attempt.made) < ROUND);
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
        if let Some(attempt) = peer.attempts.last_mut() {
            peer.macs.sign(&mut attempt.message, cookie.as_ref());
        }
        if !std::mem::replace(&mut peer.initiation_due, true) {
            self.initiations.push_back(peer.id);
        }
    }

    /// Sends an initiation again if a repetition is due. Each wait is 1.5 times as long as the wait
    /// before, up to `max_retry`.
    fn retry(&mut self, now: Time, peer: &mut Peer) {
        let Some(retry) = &mut peer.retry else { return };
        if now < retry.at {
            return;
        }
        // The wait grows only by half, because a path that loses half of all datagrams in bursts
        // needs many attempts.
        retry.wait = (retry.wait * 3 / 2).min(self.config.max_retry);
        retry.cookie_may_hasten = true;
        let (wait, silent_for) = (retry.wait, now.since(retry.heard));
        let at = now + self.jittered(wait);
        if let Some(retry) = &mut peer.retry {
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
        if stamp > peer.stamp && peer.handshakes.opens(now, 1.0).is_none() {
            peer.stamp = stamp;
            self.counters.stamps_corrected += 1;
            self.initiate(now, peer);
        }
    }
}

#[inline]
pub(super) fn get(peers: &mut [Option<Box<Peer>>], id: PeerId) -> Option<&mut Peer> {
    peers.get_mut(id.index())?.as_deref_mut()
}
