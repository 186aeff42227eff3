//! How the sessions of all peers share the budgets of memory and work.

use super::budget::{PeerWork, WorkBudget};
use super::paths::Paths;
use super::peer_path::PeerPath;
use crate::packets::Undelivered;
use crate::secure::PeerId;
use crate::session::tunnel::{REPORT_WORK, Tunnel};
use ripstop_base::Time;

/// A peer's part of the budgets.
pub(super) struct Share {
    /// The session's memory as counted in the budget of the endpoint, bytes.
    pub(super) memory: usize,
    /// The peer's part of the budget of work.
    pub(super) work: PeerWork,
    /// The work of earlier sessions and of the beginnings of all sessions, in the unit of [`Tunnel::work`].
    pub(super) past_work: u64,
    pub(super) over_work: u64,
    pub(super) unasked_reports: u64,
    pub(super) shrunk: u64,
}

impl Share {
    pub(super) fn new(now: Time) -> Share {
        Share { memory: 0, work: PeerWork::new(now), past_work: 0, over_work: 0, unasked_reports: 0, shrunk: 0 }
    }
}

impl Paths {
    /// Updates the memory budget after a change of a peer's session. Shrinks sessions if the budget
    /// is used up, and returns how many.
    pub(super) fn account(&mut self, peer: PeerId) -> u64 {
        self.measure(peer);
        if self.memory.is_exceeded() {
            return self.shrink_sessions();
        }
        if self.memory.recovered() {
            self.iter_mut().for_each(PeerPath::lift_limit);
        }
        0
    }

    /// Shrinks the sessions that hold most above their fair share, until the total is 7/8 of the
    /// budget or no session is above its share. If the total is above the budget all the same, the sessions whose peers are
    /// silent give up packets. Returns how many sessions were shrunk.
    fn shrink_sessions(&mut self) -> u64 {
        // Packets that wait for a session have a share like a session.
        let sessions = self.iter().filter(|path| path.session.is_some() || path.share.memory > 0).count();
        let share = self.memory.share(sessions);
        // What may be delivered is gone in the next turns, and cannot be freed before.
        let leaving = |path: &PeerPath| path.deliverable().unwrap_or(0);
        let mut leaves: usize = self.iter().map(leaving).sum();
        let held = |path: &PeerPath| path.share.memory.saturating_sub(leaving(path));
        let all = self.iter().map(|path| (held(path), path.id));
        let mut above: Vec<(usize, PeerId)> = all.filter(|(held, _)| *held > share).collect();
        above.sort_unstable();
        let above: Vec<PeerId> = above.into_iter().rev().map(|(_, peer)| peer).collect();
        let mut shrunk = 0;
        for peer in &above {
            if self.memory.is_above_aim(leaves) {
                shrunk += 1;
                self.free(*peer, |path| {
                    leaves -= leaving(path);
                    path.shrink(share);
                    leaves += leaving(path);
                });
            }
        }
        // Nothing more can be freed without a loss.
        for peer in &above {
            let excess = self.memory.excess().saturating_sub(leaves);
            if excess > 0 {
                self.free(*peer, |path| path.cut_window(share.max(path.share.memory.saturating_sub(excess))));
            }
        }
        self.memory.checked();
        shrunk
    }

    /// Frees memory of a peer's session, and updates the memory budget.
    fn free(&mut self, peer: PeerId, free: impl FnOnce(&mut PeerPath)) {
        let Some(path) = self.get_mut(peer) else { return };
        free(path);
        self.measure(peer);
        self.mark_ready(peer);
    }

    /// Tells the memory budget what a peer's session and the packets that wait for the next one hold now.
    pub(super) fn measure(&mut self, peer: PeerId) {
        let Some(path) = self.get_mut(peer) else { return };
        let held = path.held();
        let before = std::mem::replace(&mut path.share.memory, held);
        self.memory.note(before, held);
    }
}

impl PeerPath {
    /// Charges the peer for the work of its session. A peer in debt decodes later.
    pub(super) fn charge(&mut self, now: Time, budget: &mut WorkBudget) {
        let work = self.caused_work();
        budget.charge(now, &mut self.share.work, work);
        if let Some(session) = &mut self.session {
            session.tunnel.defer(budget.opens(now, &mut self.share.work).unwrap_or(now));
        }
    }

    /// The work that the peer's datagrams have caused in all sessions, in the unit of [`Tunnel::work`].
    pub(super) fn caused_work(&self) -> u64 {
        let reports = self.early_acks.as_ref().map_or(0, |early| early.compared());
        self.share.past_work + self.tunnel().map_or(0, Tunnel::work) + REPORT_WORK * reports
    }

    /// Memory that the session holds, and the packets that wait for the next session, bytes.
    pub(super) fn held(&self) -> usize {
        let early = self.early_acks.as_ref().map_or(0, |early| early.bytes());
        let former: usize = self.undelivered.iter().map(Undelivered::memory).sum();
        self.tunnel().map_or(0, Tunnel::memory) + former + early + self.waiting.memory()
    }

    /// Frees memory of the session. Its coding window then holds at most `share` bytes. Packets that wait for the next
    /// session are dropped until the peer holds at most `share` bytes.
    pub(super) fn shrink(&mut self, share: usize) {
        if let Some(tunnel) = self.tunnel_mut() {
            tunnel.shrink(share);
        }
        let waiting = self.waiting.memory();
        self.waiting.shrink(share.saturating_sub(self.held() - waiting));
        self.share.shrunk += u64::from(self.session.is_some() || self.waiting.memory() < waiting);
        if let Some(early) = &mut self.early_acks {
            early.set_limit(Some(share));
        }
    }

    /// See [`Tunnel::cut_window`].
    pub(super) fn cut_window(&mut self, most: usize) {
        if let Some(tunnel) = self.tunnel_mut() {
            tunnel.cut_window(most);
        }
    }

    /// Ends the limits that [`PeerPath::shrink`] has set.
    pub(super) fn lift_limit(&mut self) {
        if let Some(tunnel) = self.tunnel_mut() {
            tunnel.lift_limit();
        }
        if let Some(early) = &mut self.early_acks {
            early.set_limit(None);
        }
    }
}
