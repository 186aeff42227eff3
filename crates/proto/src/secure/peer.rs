//! One peer: its keys, the handshakes under way with it, and its epoch of datagram numbers.
//! `mod.rs` explains *epoch*, *instance* and *receiver index*.

mod handshake;

use super::answering::Answered;
use super::calling::Calls;
use super::config::{PresharedMismatch, Rejected, SecureEvent};
use super::index::IndexTable;
use super::key::{PresharedKey, PublicKey};
use super::mac::{Cookie, MacKeys};
use super::noise::Keys;
use super::paths::{Answers, Candidates};
use super::peers::Shared;
use super::replay::{ReplayWindow, Seen};
use super::{PeerId, Suite};
use crate::tokens::TokenBucket;
use crate::wire::handshake::{Hello, RESPONSE_LEN};
use crate::wire::{HEADER_LEN, Header, Malformed, TAG_LEN};
use ripstop_base::Time;
use std::net::SocketAddr;
use std::time::Duration;

/// How long a superseded key still opens datagrams in flight. This is also the longest time that an
/// initiation waits for its response, and that an answered handshake waits for its first datagram.
/// The value must exceed the largest delay of a path. A larger value keeps old keys in memory
/// longer.
pub(crate) const GRACE: Duration = Duration::from_secs(30);
/// The largest number of established keys that are kept: the current key, and superseded keys that
/// still open datagrams in flight. Each key lasts for minutes, so a peer rarely has more than two
/// keys.
const MOST_KEYS: usize = 4;
/// The largest datagram number that is accepted. A peer announces numbers in its handshakes, so it could raise them without
/// sending datagrams. Below this limit, no sum of a number and a distance exceeds 64 bits. An honest peer that sends 10^9
/// datagrams a second reaches the limit after 146 years. Half the value halves this time. Double the value leaves less room
/// for sums.
pub(crate) const MOST_NUMBER: u64 = 1 << 62;
/// The state of a peer.
pub(crate) struct Peer {
    pub(crate) id: PeerId,
    pub(crate) public: PublicKey,
    /// The MAC keys of messages to the peer.
    pub(crate) macs: MacKeys,
    /// The key that both ends share in addition to their static keys.
    pub(crate) preshared: Option<PresharedKey>,
    /// The interval of this end's keep-alives to the peer, which the handshakes announce.
    pub(crate) keepalive: Option<Duration>,
    /// The last mismatch of the pre-shared keys that was reported since the last session.
    pub(crate) mismatch: Option<PresharedMismatch>,
    /// The peer's proven or configured address.
    pub(crate) endpoint: Option<SocketAddr>,
    /// Addresses from which the peer's datagrams came, and which are not proven yet.
    pub(crate) candidates: Candidates,
    /// Where the answers to the peer's challenges go.
    pub(crate) answers: Answers,
    /// This end's instance in handshakes with this peer. This end has a different instance for each
    /// peer.
    pub(crate) instance: [u8; 8],
    pub(crate) epoch: Option<Epoch>,
    /// Established keys. The first entry seals datagrams. All entries open datagrams.
    pub(crate) keys: Vec<Session>,
    pub(crate) answered: Answered,
    pub(crate) calls: Calls,
    /// The new handshakes that may still be completed ([`SecureConfig::handshakes_per_peer`](super::SecureConfig)).
    pub(crate) handshakes: TokenBucket,
    /// The last cookie that the peer sent, and when it arrived.
    pub(crate) cookie: Option<(Cookie, Time)>,
    /// Whether the peer was reported as unreachable.
    pub(crate) unreachable: bool,
    /// The time under which the peer is in the table of timers; [`Time::NEVER`] if the peer is not
    /// in the table.
    pub(crate) timer: Time,
    /// How many epochs have begun.
    epochs: u64,
}

/// A run of datagram numbers in both directions, between one instance of this end and one instance
/// of the peer.
pub(crate) struct Epoch {
    pub(crate) id: u64,
    /// The peer's instance.
    pub(crate) instance: [u8; 8],
    /// The next number expected: the highest number received plus one, or a higher number that the
    /// peer announced.
    expected: u64,
    replay: ReplayWindow,
    /// The lowest number that may be sealed.
    pub(crate) next: u64,
}

/// The two keys that resulted from one handshake, and the state of these keys.
pub(crate) struct Session {
    /// The receiver index in datagrams to this end.
    pub(crate) index: u32,
    /// The receiver index in datagrams to the peer.
    pub(crate) remote: u32,
    pub(crate) keys: Keys,
    pub(crate) suite: Suite,
    /// Whether this end started the handshake.
    pub(crate) initiator: bool,
    /// When this end got the keys.
    pub(crate) born: Time,
    /// When the keys stop opening datagrams.
    expires: Time,
    /// How many datagrams the keys have sealed.
    pub(crate) sealed: u64,
    /// The lowest number that the keys have opened.
    first_opened: Option<u64>,
}

/// The epoch and number of a decrypted datagram.
pub(crate) struct Opened {
    pub(crate) epoch: u64,
    pub(crate) number: u64,
}

impl Session {
    pub(crate) fn new(
        (index, remote): (u32, u32),
        keys: Keys,
        suite: Suite,
        initiator: bool,
        (born, reject_after): (Time, Duration),
    ) -> Session {
        let expires = born + reject_after;
        Session { index, remote, keys, suite, initiator, born, expires, sealed: 0, first_opened: None }
    }

    /// Decrypts a datagram, and marks its number as received. Returns the number, and whether the
    /// number is the highest so far.
    #[inline]
    fn open(
        &mut self,
        now: Time,
        epoch: &mut Epoch,
        header: Header,
        datagram: &mut [u8],
    ) -> Result<(u64, bool), Rejected> {
        if now >= self.expires {
            return Err(Rejected::Expired);
        }
        let number = header.full_number(epoch.expected);
        if number > MOST_NUMBER {
            return Err(Rejected::Malformed(Malformed::Value("datagram number")));
        }
        epoch.replay.check(number).map_err(|seen| match seen {
            Seen::Before => Rejected::Replayed(number),
            Seen::TooOld => Rejected::TooOld(number),
        })?;
        let (aad, sealed) = datagram.split_at_mut(HEADER_LEN);
        self.keys.open.open(number, aad, sealed).ok_or(Rejected::Forged)?;
        let highest = epoch.replay.mark(number);
        epoch.expected = epoch.expected.max(number + 1);
        self.first_opened = Some(self.first_opened.map_or(number, |first| first.min(number)));
        Ok((number, highest))
    }
}

impl Epoch {
    fn new(id: u64, ours: &[u8; 8], hello: &Hello) -> Epoch {
        let replay = ReplayWindow::default();
        let mut epoch = Epoch { id, instance: hello.instance, expected: 0, replay, next: 0 };
        epoch.announced(ours, hello);
        epoch
    }

    /// Raises the expected number to the next number that the peer announced in a handshake. The
    /// announcement is ignored if it was made to another instance of this end, if the announced
    /// number is below the expected number, or if it is above [`MOST_NUMBER`].
    fn announced(&mut self, ours: &[u8; 8], hello: &Hello) {
        if hello.peer_instance == *ours && hello.next_number <= MOST_NUMBER {
            self.expected = self.expected.max(hello.next_number);
        }
    }
}

impl Peer {
    pub(crate) fn new(
        id: PeerId,
        public: PublicKey,
        endpoint: Option<SocketAddr>,
        instance: [u8; 8],
        handshakes: TokenBucket,
    ) -> Peer {
        Peer {
            id,
            public,
            macs: MacKeys::of(&public),
            preshared: None,
            keepalive: None,
            mismatch: None,
            endpoint,
            candidates: Candidates::default(),
            answers: Answers::default(),
            instance,
            epoch: None,
            keys: Vec::new(),
            answered: Answered::default(),
            calls: Calls::default(),
            handshakes,
            cookie: None,
            unreachable: false,
            timer: Time::NEVER,
            epochs: 0,
        }
    }

    /// Decrypts a datagram whose receiver index belongs to this peer.
    #[inline]
    pub(crate) fn open(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: Header,
        datagram: &mut [u8],
        shared: &mut Shared,
    ) -> Result<Opened, Rejected> {
        let Some(at) = self.keys.iter().position(|session| session.index == header.receiver) else {
            return self.open_pending(now, from, header, datagram, shared);
        };
        let Some(epoch) = &mut self.epoch else { return Err(Rejected::NoSession) };
        let (number, highest) = self.keys[at].open(now, epoch, header, datagram)?;
        let id = epoch.id;
        shared.counters.datagrams.opened_by_old_key += u64::from(at > 0);
        if highest {
            self.heard_from(now, from, datagram.len(), shared);
        }
        Ok(Opened { epoch: id, number })
    }

    /// Decrypts the first datagram under the keys of an answered handshake. These keys are then
    /// established. Only the peer can make this datagram, so strangers who replay initiations cannot use up the peer's
    /// handshakes. If the peer has used up its handshakes, the datagram is refused, and a later one establishes the keys.
    fn open_pending(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: Header,
        datagram: &mut [u8],
        shared: &mut Shared,
    ) -> Result<Opened, Rejected> {
        let at = self
            .answered
            .pending
            .iter()
            .position(|pending| pending.session.index == header.receiver)
            .ok_or(Rejected::NoSession)?;
        if !self.handshakes.has(now, 1.0) {
            return Err(Rejected::PeerLimit);
        }
        let pending = &mut self.answered.pending[at];
        let mut fresh = None;
        let epoch = match &mut self.epoch {
            Some(epoch) if epoch.instance == pending.hello.instance => {
                epoch.announced(&self.instance, &pending.hello);
                epoch
            }
            _ => fresh.insert(Epoch::new(self.epochs + 1, &self.instance, &pending.hello)),
        };
        let (number, highest) = pending.session.open(now, epoch, header, datagram)?;
        self.handshakes.take(now, 1.0);
        let pending = self.answered.pending.remove(at);
        if let Some(epoch) = fresh {
            self.begin(epoch, shared);
        }
        self.establish(now, pending.session, &pending.hello, pending.crosses, shared);
        if pending.answered == Some(from) && highest {
            self.move_to(from, shared);
        }
        self.heard_from(now, from, datagram.len(), shared);
        Ok(Opened { epoch: self.epochs, number })
    }

    /// Starts to use the keys of a handshake that this end started and the peer has answered.
    pub(crate) fn answered(
        &mut self,
        now: Time,
        from: SocketAddr,
        session: Session,
        hello: &Hello,
        shared: &mut Shared,
    ) {
        match &mut self.epoch {
            Some(epoch) if epoch.instance == hello.instance => epoch.announced(&self.instance, hello),
            _ => {
                let epoch = Epoch::new(self.epochs + 1, &self.instance, hello);
                self.begin(epoch, shared);
            }
        }
        self.establish(now, session, hello, None, shared);
        self.heard_from(now, from, RESPONSE_LEN, shared);
    }

    /// Drops expired keys and handshakes, and returns when the next time-out is due.
    pub(crate) fn prune(&mut self, now: Time, index: &mut IndexTable) -> Time {
        self.keys.retain(|session| index.keep(now < session.expires, session.index));
        self.answered.prune(now, index);
        self.calls.prune(now, index);
        let keys = self.keys.iter().map(|session| session.expires);
        let others = [self.calls.next_due(), self.candidates.next_due()].into_iter().flatten();
        keys.chain(self.answered.dues()).chain(others).min().unwrap_or(Time::NEVER)
    }

    /// Removes the peer's entries from the shared tables.
    pub(crate) fn release(&mut self, shared: &mut Shared) {
        self.calls.cancel(&mut shared.index);
        self.keys.drain(..).for_each(|session| shared.index.release(session.index));
        self.answered.release(shared);
    }

    /// Begins a new epoch: numbers restart at 0, and the keys of the old epoch are dropped.
    fn begin(&mut self, epoch: Epoch, shared: &mut Shared) {
        self.epochs = epoch.id;
        let instance = epoch.instance;
        self.epoch = Some(epoch);
        self.keys.drain(..).for_each(|session| shared.index.release(session.index));
        self.answered.retain_instance(instance, &mut shared.index);
        shared.counters.epochs += 1;
    }

    /// Starts to use new keys.
    fn establish(&mut self, now: Time, mut session: Session, hello: &Hello, crosses: Option<u32>, shared: &mut Shared) {
        let Some(epoch) = &self.epoch else { return };
        let event = SecureEvent::Established {
            peer: self.id,
            epoch: epoch.id,
            initiator: session.initiator,
            suite: session.suite,
            peer_mtu: hello.inner_mtu,
            peer_capabilities: hello.capabilities,
        };
        shared.counters.established += 1;
        self.mismatch = None;
        shared.counters.renewed += u64::from(!self.keys.is_empty());
        self.calls.cancel(&mut shared.index);
        let expiry = now + GRACE;
        // `crossed` is true if both ends started a handshake at the same time, this end's handshake
        // was complete first, and this end has the lower public key. Both ends then use this end's
        // handshake. The peer starts to use the keys of this handshake when our next datagram
        // arrives.
        let crossed = !session.initiator
            && shared.identity.public < self.public
            && self
                .keys
                .first()
                .is_some_and(|ours| ours.initiator && (ours.born >= session.born || Some(ours.index) == crosses));
        if crossed {
            session.expires = session.expires.min(expiry);
            self.keys.insert(1, session);
            shared.counters.crossed += 1;
        } else {
            if let Some(superseded) = self.keys.first_mut() {
                superseded.expires = superseded.expires.min(expiry);
            }
            self.keys.insert(0, session);
            shared.events.push_back(event);
        }
        while self.keys.len() > MOST_KEYS {
            if let Some(oldest) = self.keys.pop() {
                shared.index.release(oldest.index);
            }
        }
        shared.reschedule(self, now);
    }

    /// Notes that an authentic datagram of `bytes` bytes has arrived from the address `from`. The
    /// datagram is a response, or has the highest number so far. A new address becomes a candidate.
    #[inline]
    fn heard_from(&mut self, now: Time, from: SocketAddr, bytes: usize, shared: &mut Shared) {
        if self.endpoint != Some(from) {
            if let Some(token) = self.candidates.heard(now, from, bytes, &mut *shared.entropy) {
                self.challenge(token, shared);
            }
            shared.reschedule(self, now);
        }
        if let Some(retry) = &mut self.calls.retry {
            // The peer is heard, so it is not unreachable, even if a handshake is still under way.
            retry.heard = now;
        }
        if self.unreachable {
            self.unreachable = false;
            shared.events.push_back(SecureEvent::Reachable { peer: self.id });
        }
    }

    /// Asks the caller to send a challenge.
    pub(crate) fn challenge(&mut self, token: u64, shared: &mut Shared) {
        shared.counters.addresses.challenged += 1;
        shared.events.push_back(SecureEvent::ChallengeDue { peer: self.id, token });
    }

    /// Sends to the address `to` from now on, which the peer has proven.
    pub(crate) fn move_to(&mut self, to: SocketAddr, shared: &mut Shared) {
        self.candidates.clear();
        if self.endpoint != Some(to) {
            shared.counters.addresses.roamed += u64::from(self.endpoint.is_some());
            shared.events.push_back(SecureEvent::Roamed { peer: self.id, from: self.endpoint, to });
            shared.addresses.change(self.endpoint, Some(to));
            self.endpoint = Some(to);
        }
    }
}

/// Writes the header of `datagram`, encrypts its body in place and writes the tag. False if the
/// body is too long for the AEAD.
#[inline]
pub(crate) fn seal(session: &mut Session, header: Header, number: u64, datagram: &mut [u8]) -> bool {
    let end = datagram.len() - TAG_LEN;
    let (front, tag) = datagram.split_at_mut(end);
    let (aad, body) = front.split_at_mut(HEADER_LEN);
    aad.copy_from_slice(&header.to_bytes());
    let Some(made) = session.keys.seal.seal(number, aad, body) else { return false };
    tag.copy_from_slice(&made);
    session.sealed += 1;
    true
}
