//! The sessions with all peers: what begins them, keeps them alive and ends them.

use super::budget::WorkBudget;
use super::config::{EndpointConfig, EndpointCounters, EndpointEvent};
use super::paths::Paths;
use crate::secure::{Entropy, PeerId, Peers};
use ripstop_base::Time;
use std::collections::VecDeque;

/// The peers of an endpoint with their keys and sessions.
pub(super) struct Sessions {
    pub(super) config: EndpointConfig,
    pub(super) secure: Peers,
    pub(super) entropy: Box<dyn Entropy + Send>,
    pub(super) paths: Paths,
    pub(super) work: WorkBudget,
    pub(super) events: VecDeque<EndpointEvent>,
    /// Whether this end closes: it begins no new sessions.
    pub(super) closing: bool,
    pub(super) counters: EndpointCounters,
}

impl Sessions {
    pub(super) fn new(config: EndpointConfig, secure: Peers, entropy: Box<dyn Entropy + Send>) -> Sessions {
        Sessions {
            paths: Paths::new(config.memory),
            work: WorkBudget::new(config.work_per_second),
            config,
            secure,
            entropy,
            events: VecDeque::new(),
            closing: false,
            counters: EndpointCounters::default(),
        }
    }

    /// Does what is due at `now`: repeats handshakes, drops expired keys, and handles time-outs of
    /// sessions.
    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.secure.handle_timeout(now);
        self.handle_secure_events(now);
        while let Some(path) = self.paths.take_due(now) {
            let peer = path.id;
            path.handle_timeout(now);
            path.charge(now, &mut self.work);
            if path.wants_handshake(now) {
                self.connect(now, peer);
            }
            self.check_liveness(now, peer);
            self.forget_closed(now, peer);
            self.check_calls(now, peer);
            // An idle caller may look at the memory before the outputs are taken.
            self.paths.measure(peer);
            self.paths.mark_ready(peer);
        }
    }

    /// When to call [`Sessions::handle_timeout`].
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        [self.paths.next_timer(), self.secure.poll_timeout()].into_iter().flatten().min()
    }

    /// Starts a handshake with a peer, unless one is under way or this end closes.
    pub(super) fn connect(&mut self, now: Time, peer: PeerId) {
        if !self.closing {
            self.secure.connect(now, peer);
        }
    }

    /// Updates the memory budget after a change of a peer's session.
    pub(super) fn account(&mut self, peer: PeerId) {
        self.counters.shrunk += self.paths.account(peer);
    }

    /// Updates a peer's entry in the table of timers. Without a usable key, or without a proven address
    /// of the peer, nothing can be sent, and what is due stays due. So the session's own time-outs count
    /// only with both: otherwise the caller would be called again and again until the next handshake is
    /// complete, or until the peer answers a challenge.
    pub(super) fn reschedule(&mut self, now: Time, peer: PeerId) {
        let Some(path) = self.paths.get(peer) else { return };
        let has_path_packet = path.tunnel().is_some_and(|tunnel| tunnel.has_path_packet());
        let reachable = has_path_packet || self.secure.endpoint(peer).is_some();
        let usable = reachable && path.has_session() && self.secure.epoch(now, peer) == path.epoch();
        let session = if usable { path.poll_timeout() } else { path.poll_timeout_without_key(now) };
        // What is left of this turn comes in the next one.
        let is_left = path.deliverable().is_some();
        let next_turn = is_left.then_some(now);
        let calls_end = path.calls_end(self.secure.calls_since(peer));
        let wanted = [session, next_turn, calls_end].into_iter().flatten().min();
        self.paths.set_timer(peer, wanted, is_left);
    }
}
