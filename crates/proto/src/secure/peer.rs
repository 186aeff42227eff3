//! One peer: its keys, the handshakes under way with it, and its run of numbers.

use super::config::{Rejected, SecureEvent};
use super::index::IndexTable;
use super::key::PublicKey;
use super::mac::{COOKIE_LIFE, Cookie, MacKeys};
use super::noise::Keys;
use super::peers::Shared;
use super::replay::{ReplayWindow, Seen};
use super::{PeerId, Suite};
use crate::wire::handshake::{Hello, INITIATION_LEN, RESPONSE_LEN};
use crate::wire::{HEADER_LEN, Header, TAG_LEN};
use ripstop_base::Time;
use snow::HandshakeState;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// How long a superseded key still opens what is in flight, and an unanswered handshake can be answered.
pub(crate) const GRACE: Duration = Duration::from_secs(30);
/// Established keys kept: the current one, and superseded ones in their grace.
const MOST_KEYS: usize = 4;
/// Answered initiations that wait for their first datagram.
const MOST_PENDING: usize = 4;
/// Ephemeral keys of initiations remembered, to know replays without opening them.
const MOST_SPENT: usize = 64;
/// Former instances remembered, whose initiations can only be replays.
const MOST_RETIRED: usize = 16;

/// A peer, and all that is known of it.
pub(crate) struct Peer {
    pub(crate) id: PeerId,
    pub(crate) public: PublicKey,
    /// For what we send it.
    pub(crate) macs: MacKeys,
    pub(crate) endpoint: Option<SocketAddr>,
    /// Ours, as this peer sees it.
    pub(crate) instance: [u8; 8],
    pub(crate) epoch: Option<Epoch>,
    /// Established keys; the first one seals.
    pub(crate) keys: Vec<Session>,
    /// Handshakes that the peer started and that we answered.
    pub(crate) pending: Vec<Pending>,
    /// Handshakes that we started; the last one is the newest.
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) retry: Option<Retry>,
    pub(crate) cookie: Option<(Cookie, Time)>,
    pub(crate) unreachable: bool,
    pub(crate) spent: VecDeque<[u8; 32]>,
    retired: VecDeque<[u8; 8]>,
    /// When it is in the table of timers.
    pub(crate) timer: Time,
    epochs: u64,
}

/// A run of datagram numbers, in both directions: between one instance of ours and one of the peer's.
pub(crate) struct Epoch {
    pub(crate) id: u64,
    /// The peer's.
    pub(crate) instance: [u8; 8],
    /// One past the highest number received, or what the peer announced.
    expected: u64,
    replay: ReplayWindow,
    /// The lowest number that may be sealed.
    pub(crate) next: u64,
}

/// The keys of one handshake.
pub(crate) struct Session {
    /// Ours: in the datagrams that we receive.
    pub(crate) index: u32,
    /// The peer's: in those that we send.
    pub(crate) remote: u32,
    pub(crate) keys: Keys,
    pub(crate) suite: Suite,
    pub(crate) initiator: bool,
    pub(crate) born: Time,
    /// When it ceases to open anything.
    expires: Time,
    pub(crate) sealed: u64,
    /// Lowest number opened.
    first_opened: Option<u64>,
}

/// A handshake that we answered.
pub(crate) struct Pending {
    pub(crate) session: Session,
    pub(crate) hello: Hello,
    pub(crate) ephemeral: [u8; 32],
    pub(crate) response: [u8; RESPONSE_LEN],
    pub(crate) repeats: u8,
    /// Index of the keys that it crosses on the way: see [`Peer::crossing`].
    pub(crate) crosses: Option<u32>,
}

/// A handshake that we started.
pub(crate) struct Attempt {
    pub(crate) index: u32,
    pub(crate) suite: Suite,
    pub(crate) state: Box<HandshakeState>,
    pub(crate) message: [u8; INITIATION_LEN],
    pub(crate) made: Time,
}

/// When the newest attempt is sent again.
pub(crate) struct Retry {
    pub(crate) at: Time,
    pub(crate) wait: Duration,
    pub(crate) since: Time,
    /// A cookie that came has not caused a repetition since the last timed one.
    pub(crate) cookie_may_hasten: bool,
}

/// An opened datagram.
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

    /// Checks, opens, and marks a datagram's number.
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
        epoch.replay.check(number).map_err(|seen| match seen {
            Seen::Before => Rejected::Replayed(number),
            Seen::TooOld => Rejected::TooOld(number),
        })?;
        let (aad, sealed) = datagram.split_at_mut(HEADER_LEN);
        self.keys.open.open(number, aad, sealed).ok_or(Rejected::Forged)?;
        let highest = epoch.replay.mark(number);
        epoch.expected = epoch.expected.max(number.saturating_add(1));
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

    /// The peer has said which number it comes to. Numbers promised to another instance of ours do not
    /// hold for this one; an older promise changes nothing.
    fn announced(&mut self, ours: &[u8; 8], hello: &Hello) {
        if hello.peer_instance == *ours {
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
    ) -> Peer {
        Peer {
            id,
            public,
            macs: MacKeys::of(&public),
            endpoint,
            instance,
            epoch: None,
            keys: Vec::new(),
            pending: Vec::new(),
            attempts: Vec::new(),
            retry: None,
            cookie: None,
            unreachable: false,
            spent: VecDeque::new(),
            retired: VecDeque::new(),
            timer: Time::NEVER,
            epochs: 0,
        }
    }

    /// Opens a datagram whose header names one of our indices.
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
        shared.counters.opened_by_old_key += u64::from(at > 0);
        self.heard(from, highest, shared);
        Ok(Opened { epoch: id, number })
    }

    /// Opens the first datagram under keys that the peer started: they are now established.
    fn open_pending(
        &mut self,
        now: Time,
        from: SocketAddr,
        header: Header,
        datagram: &mut [u8],
        shared: &mut Shared,
    ) -> Result<Opened, Rejected> {
        let at = self
            .pending
            .iter()
            .position(|pending| pending.session.index == header.receiver)
            .ok_or(Rejected::NoSession)?;
        let pending = &mut self.pending[at];
        let mut fresh = None;
        let epoch = match &mut self.epoch {
            Some(epoch) if epoch.instance == pending.hello.instance => {
                epoch.announced(&self.instance, &pending.hello);
                epoch
            }
            _ => fresh.insert(Epoch::new(self.epochs + 1, &self.instance, &pending.hello)),
        };
        let (number, highest) = pending.session.open(now, epoch, header, datagram)?;
        let pending = self.pending.remove(at);
        if let Some(epoch) = fresh {
            self.begin(epoch, shared);
        }
        self.establish(now, pending.session, &pending.hello, pending.crosses, shared);
        self.heard(from, highest, shared);
        Ok(Opened { epoch: self.epochs, number })
    }

    /// The peer has answered a handshake of ours.
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
        self.heard(from, true, shared);
    }

    /// Whether an initiation that names these instances can only be an old one.
    pub(crate) fn is_stale(&self, hello: &Hello) -> bool {
        if self.retired.contains(&hello.instance) {
            return true;
        }
        let Some(epoch) = &self.epoch else { return false };
        let first = self.keys.first().and_then(|session| session.first_opened);
        // What the peer sent under the current key, it sent knowing our instance, and its next
        // initiation will announce a higher number.
        epoch.instance == hello.instance
            && first.is_some_and(|first| hello.peer_instance != self.instance || hello.next_number <= first)
    }

    /// The keys that an initiation which comes now has crossed: ours, when the peer has not been heard
    /// under them yet, so that it may not have known them when it started.
    pub(crate) fn crossing(&self) -> Option<u32> {
        let ours = self.keys.first().filter(|ours| ours.initiator && ours.first_opened.is_none());
        ours.map(|ours| ours.index)
    }

    /// Remembers an initiation that was answered.
    pub(crate) fn answer(&mut self, pending: Pending, shared: &mut Shared) {
        self.spent.push_back(pending.ephemeral);
        shared.recent.insert(pending.ephemeral, self.id);
        if self.spent.len() > MOST_SPENT
            && let Some(oldest) = self.spent.pop_front()
        {
            shared.recent.remove(&oldest);
        }
        if self.pending.len() == MOST_PENDING {
            // Replays from before our start can only show instances other than the peer's present one:
            // they must not push its own handshakes out.
            let known = self.epoch.as_ref().map(|epoch| epoch.instance);
            let other = self.pending.iter().position(|pending| Some(pending.hello.instance) != known);
            let dropped = self.pending.remove(other.unwrap_or(0));
            shared.index.release(dropped.session.index);
        }
        self.pending.push(pending);
    }

    /// What we tell the peer in a handshake with its `instance`, if we know that.
    pub(crate) fn hello(&self, instance: Option<[u8; 8]>, shared: &Shared) -> Hello {
        let known = self.epoch.as_ref().filter(|epoch| instance.is_none_or(|i| i == epoch.instance));
        Hello {
            instance: self.instance,
            peer_instance: instance.or(known.map(|epoch| epoch.instance)).unwrap_or_default(),
            next_number: known.map_or(0, |epoch| epoch.next),
            inner_mtu: shared.config.inner_mtu,
            capabilities: shared.config.capabilities,
        }
    }

    /// The cookie to show the peer, while it is good.
    pub(crate) fn cookie(&self, now: Time) -> Option<&Cookie> {
        self.cookie.as_ref().filter(|(_, got)| now.since(*got) < COOKIE_LIFE).map(|(cookie, _)| cookie)
    }

    /// Drops what has expired, and says when the next thing is due.
    pub(crate) fn prune(&mut self, now: Time, index: &mut IndexTable) -> Time {
        let alive = |expires: Time, at: u32, index: &mut IndexTable| {
            let alive = now < expires;
            if !alive {
                index.release(at);
            }
            alive
        };
        self.keys.retain(|session| alive(session.expires, session.index, index));
        self.pending.retain(|p| alive(p.session.born + GRACE, p.session.index, index));
        self.attempts.retain(|a| alive(a.made + GRACE, a.index, index));
        let keys = self.keys.iter().map(|session| session.expires);
        let pending = self.pending.iter().map(|pending| pending.session.born + GRACE);
        let retry = self.retry.iter().map(|retry| retry.at);
        keys.chain(pending).chain(retry).min().unwrap_or(Time::NEVER)
    }

    /// Gives up the handshakes that we started.
    pub(crate) fn cancel(&mut self, index: &mut IndexTable) {
        self.attempts.drain(..).for_each(|attempt| index.release(attempt.index));
        self.retry = None;
    }

    /// Releases everything in the shared tables.
    pub(crate) fn release(&mut self, shared: &mut Shared) {
        self.cancel(&mut shared.index);
        self.keys.drain(..).for_each(|session| shared.index.release(session.index));
        self.pending.drain(..).for_each(|pending| shared.index.release(pending.session.index));
        self.spent.drain(..).for_each(|ephemeral| {
            shared.recent.remove(&ephemeral);
        });
    }

    /// Numbers begin anew: the keys of the old run are of no use to anybody.
    fn begin(&mut self, epoch: Epoch, shared: &mut Shared) {
        self.epochs = epoch.id;
        let instance = epoch.instance;
        if let Some(old) = self.epoch.replace(epoch) {
            if self.retired.len() == MOST_RETIRED {
                self.retired.pop_front();
            }
            self.retired.push_back(old.instance);
        }
        self.keys.drain(..).for_each(|session| shared.index.release(session.index));
        self.pending.retain(|pending| {
            let same = pending.hello.instance == instance;
            if !same {
                shared.index.release(pending.session.index);
            }
            same
        });
        shared.counters.epochs += 1;
    }

    /// Takes new keys into use.
    fn establish(
        &mut self,
        now: Time,
        mut session: Session,
        hello: &Hello,
        crosses: Option<u32>,
        shared: &mut Shared,
    ) {
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
        shared.counters.renewed += u64::from(!self.keys.is_empty());
        self.cancel(&mut shared.index);
        let expiry = now + GRACE;
        // Both ends started at once, and ours ended first. The lower key's handshake prevails: the peer
        // moves to it when it hears from us, so we stay.
        let crossed = !session.initiator
            && shared.identity.public < self.public
            && self.keys.first().is_some_and(|ours| {
                ours.initiator && (ours.born >= session.born || Some(ours.index) == crosses)
            });
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

    /// Something authentic and new has come.
    #[inline]
    fn heard(&mut self, from: SocketAddr, highest: bool, shared: &mut Shared) {
        if highest && self.endpoint != Some(from) {
            shared.counters.roamed += u64::from(self.endpoint.is_some());
            let event = SecureEvent::Roamed { peer: self.id, from: self.endpoint, to: from };
            shared.events.push_back(event);
            self.endpoint = Some(from);
        }
        if self.unreachable {
            self.unreachable = false;
            shared.events.push_back(SecureEvent::Reachable { peer: self.id });
        }
    }
}

/// Seals `datagram` in place: header first, tag last.
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
