//! One end of the tunnel with all its peers: methods and handshakes. `mod.rs` explains the terms.

use super::PeerId;
use super::config::{Incoming, Rejected, SealError, SecureConfig, SecureCounters, SecureEvent, SecureTransmit};
use super::entropy::{Entropy, array};
use super::index::IndexTable;
use super::key::{PresharedKey, PrivateKey, PublicKey};
use super::load::{LoadGate, PeerAddresses};
use super::mac::{CookieJar, MacKeys};
use super::peer::{Peer, seal};
use super::rejections::{Rejection, Rejections};
use super::replies::Replies;
use crate::tokens::TokenBucket;
use crate::wire::handshake::{COOKIE_REPLY, INITIATION, RESPONSE};
use crate::wire::{HEADER_LEN, Header, Kind, TAG_LEN};
use ripstop_base::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

/// How much later than the initiator the responder renews a key, so that both ends rarely renew a
/// key at the same time. The value must exceed the time that a handshake takes with repetitions.
const RESPONDER_LATER: Duration = Duration::from_secs(15);

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
    pub(super) initiations: VecDeque<PeerId>,
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

    /// Sets the interval of this end's keep-alives to the peer, which later handshakes announce. False if the peer is not
    /// known.
    pub fn set_keepalive(&mut self, peer: PeerId, interval: Option<Duration>) -> bool {
        get(&mut self.peers, peer).map(|peer| peer.keepalive = interval).is_some()
    }

    /// Reports that the peer is unreachable, because the caller has not heard what it expects. Does nothing if the peer was
    /// reported already.
    pub fn note_unreachable(&mut self, peer: PeerId, silent_for: Duration) {
        if let Some(peer) = get(&mut self.peers, peer)
            && !std::mem::replace(&mut peer.unreachable, true)
        {
            self.shared.events.push_back(SecureEvent::Unreachable { peer: peer.id, silent_for });
        }
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

    /// The next answer to a handshake message of another end. Strangers can cause answers, so
    /// answers should not precede data.
    pub fn poll_reply(&mut self) -> Option<SecureTransmit> {
        self.shared.replies.pop()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<SecureEvent> {
        self.shared.events.pop_front()
    }

    /// The next rejected datagram that an operator should know of.
    pub fn poll_rejection(&mut self) -> Option<Rejection> {
        self.shared.rejections.pop()
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
}

#[inline]
pub(super) fn get(peers: &mut [Option<Box<Peer>>], id: PeerId) -> Option<&mut Peer> {
    peers.get_mut(id.index())?.as_deref_mut()
}
