//! How the sessions of all peers share the memory budget.

use super::{Endpoint, get};
use crate::secure::PeerId;

impl Endpoint {
    /// Updates the memory budget after a change of a peer's session. Shrinks sessions if the budget
    /// is used up.
    pub(super) fn account(&mut self, peer: PeerId) {
        let Some(path) = get(&mut self.paths, peer) else { return };
        let held = path.held();
        self.memory.note(std::mem::replace(&mut path.memory, held), held);
        if self.memory.is_exceeded() {
            self.shrink_sessions();
        } else if self.memory.recovered() {
            self.paths.iter_mut().flatten().for_each(|path| path.lift_limit());
        }
    }

    /// Shrinks the sessions that hold most above their fair share, until the total is 7/8 of the
    /// budget or no session is above its share.
    fn shrink_sessions(&mut self) {
        let sessions = self.paths.iter().flatten().filter(|path| path.tunnel.is_some()).count();
        let share = self.memory.share(sessions);
        let mut above: Vec<(usize, PeerId)> =
            self.paths.iter().flatten().filter(|path| path.memory > share).map(|path| (path.memory, path.id)).collect();
        above.sort_unstable();
        for (_, peer) in above.into_iter().rev() {
            if !self.memory.is_above_aim() {
                break;
            }
            let Some(path) = get(&mut self.paths, peer) else { continue };
            path.shrink(share);
            self.counters.shrunk += 1;
            let held = path.held();
            self.memory.note(std::mem::replace(&mut path.memory, held), held);
            self.mark_ready(peer);
        }
        self.memory.checked();
    }
}
