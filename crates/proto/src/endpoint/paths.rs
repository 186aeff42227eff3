//! The peers of an endpoint, and the lists in which they stand: those that may have something to send, and those with a
//! time-out.

use super::budget::MemoryBudget;
use super::peer_path::PeerPath;
use crate::secure::PeerId;
use ripstop_base::Time;
use std::collections::{BTreeSet, VecDeque};

/// Bytes of datagrams that a peer may send before the next peer's turn. The value is the largest number of bytes that
/// one send call takes: datagrams to one peer share a call. Half the value makes twice as many calls when several peers
/// are busy. Double the value makes no fewer calls, and a peer waits longer for its turn.
const TURN: usize = 65_507;

/// The peers of an endpoint.
pub(super) struct Paths {
    /// The state of each peer, at the index of its [`PeerId`].
    paths: Vec<Option<Box<PeerPath>>>,
    /// Peers that may have something to send. They take turns.
    ready: VecDeque<PeerId>,
    /// Bytes that the first of these peers has sent in its turn.
    turn_bytes: usize,
    /// The next time-out of each peer.
    timers: BTreeSet<(Time, PeerId)>,
    /// Number of peers with packets that are left for the next turns.
    left: usize,
    pub(super) memory: MemoryBudget,
}

/// Where a peer stands in the lists of [`Paths`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Whether the peer is in the list of peers that may have something to send.
    is_ready: bool,
    /// Whether the packets and events that the last inputs have caused were collected.
    is_collected: bool,
    /// The time under which the peer is in the table of timers.
    timer: Option<Time>,
    /// Whether packets are left for the next turn.
    is_left: bool,
}

impl Default for Place {
    fn default() -> Place {
        Place { is_ready: false, is_collected: true, timer: None, is_left: false }
    }
}

impl Paths {
    /// No peers. Their sessions may hold `memory` bytes.
    pub(super) fn new(memory: usize) -> Paths {
        Paths {
            paths: Vec::new(),
            ready: VecDeque::new(),
            turn_bytes: 0,
            timers: BTreeSet::new(),
            left: 0,
            memory: MemoryBudget::new(memory),
        }
    }

    pub(super) fn get(&self, peer: PeerId) -> Option<&PeerPath> {
        self.paths.get(peer.index())?.as_deref()
    }

    pub(super) fn get_mut(&mut self, peer: PeerId) -> Option<&mut PeerPath> {
        self.paths.get_mut(peer.index())?.as_deref_mut()
    }

    /// The peers, in the order in which they were added.
    pub(super) fn iter(&self) -> impl Iterator<Item = &PeerPath> {
        self.paths.iter().flatten().map(|path| &**path)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut PeerPath> {
        self.paths.iter_mut().flatten().map(|path| &mut **path)
    }

    pub(super) fn add(&mut self, path: PeerPath) {
        let at = path.id.index();
        if self.paths.len() <= at {
            self.paths.resize_with(at + 1, || None);
        }
        self.paths[at] = Some(Box::new(path));
    }

    /// Removes a peer from all lists.
    pub(super) fn remove(&mut self, peer: PeerId) -> Option<Box<PeerPath>> {
        let path = self.paths.get_mut(peer.index()).and_then(Option::take)?;
        self.memory.note(path.share.memory, 0);
        self.left -= usize::from(path.place.is_left);
        if let Some(at) = path.place.timer {
            self.timers.remove(&(at, peer));
        }
        self.ready.retain(|ready| *ready != peer);
        Some(path)
    }

    /// Notes that a peer may have something to send or to deliver.
    pub(super) fn mark_ready(&mut self, peer: PeerId) {
        let Some(path) = self.get_mut(peer) else { return };
        path.place.is_collected = false;
        if !std::mem::replace(&mut path.place.is_ready, true) {
            self.ready.push_back(peer);
        }
    }

    /// The peer whose turn it is to send.
    pub(super) fn first_ready(&self) -> Option<PeerId> {
        self.ready.front().copied()
    }

    /// Notes that the peer whose turn it is has sent `bytes` bytes. When the turn is over, the peer goes to the end of the list.
    pub(super) fn sent(&mut self, bytes: usize) {
        self.turn_bytes += bytes;
        if self.turn_bytes + bytes > TURN {
            self.ready.rotate_left(1);
            self.turn_bytes = 0;
        }
    }

    /// Notes that the peer whose turn it is has nothing to send.
    pub(super) fn first_is_done(&mut self) {
        let first = self.ready.pop_front();
        self.turn_bytes = 0;
        if let Some(path) = first.and_then(|peer| self.get_mut(peer)) {
            path.place.is_ready = false;
        }
    }

    /// The peer at the place `at` in the list of peers that may have something to send, and whether nothing is to be
    /// collected from it.
    pub(super) fn ready_at(&self, at: usize) -> Option<(PeerId, bool)> {
        let peer = *self.ready.get(at)?;
        Some((peer, self.get(peer).is_none_or(|path| path.place.is_collected)))
    }

    /// Notes that everything is collected from a peer.
    pub(super) fn note_collected(&mut self, peer: PeerId) {
        if let Some(path) = self.get_mut(peer) {
            path.place.is_collected = true;
        }
    }

    /// Whether packets are left for the next turns.
    pub(super) fn has_left(&self) -> bool {
        self.left > 0
    }

    /// Updates a peer's entry in the table of timers. `is_left`: packets of the peer are left for the next turn.
    pub(super) fn set_timer(&mut self, peer: PeerId, wanted: Option<Time>, is_left: bool) {
        let Some(path) = self.paths.get_mut(peer.index()).and_then(Option::as_deref_mut) else { return };
        let was_left = std::mem::replace(&mut path.place.is_left, is_left);
        self.left = self.left + usize::from(is_left) - usize::from(was_left);
        let timer = std::mem::replace(&mut path.place.timer, wanted);
        if wanted != timer {
            if let Some(at) = timer {
                self.timers.remove(&(at, peer));
            }
            if let Some(at) = wanted {
                self.timers.insert((at, peer));
            }
        }
    }

    /// When the next time-out is due.
    pub(super) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Removes and returns the first peer whose time-out is due at `now`.
    pub(super) fn take_due(&mut self, now: Time) -> Option<&mut PeerPath> {
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            let (_, peer) = self.timers.pop_first()?;
            if self.get(peer).is_some() {
                let path = self.get_mut(peer)?;
                path.place.timer = None;
                return Some(path);
            }
        }
        None
    }
}
