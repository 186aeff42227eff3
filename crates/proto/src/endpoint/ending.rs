//! The ends of sessions: this end closes, the peer has closed, or the peer has sent a false report.
//!
//! Nothing is sent into a session that the peer has closed: packets wait for the next session. What the peer sent before it
//! closed may still arrive for a while.

use super::peer_path::PeerPath;
use super::session::PeerSession;
use super::sessions::Sessions;
use crate::secure::PeerId;
use ripstop_base::Time;

impl PeerPath {
    /// Ends the session, and resets the connections with data that was acknowledged early and is not delivered.
    pub(super) fn close(&mut self) {
        if let Some(early) = &mut self.early_acks {
            early.close();
        }
        self.tell_early_acks(self.last_sent);
        if let Some(tunnel) = self.tunnel_mut() {
            tunnel.close();
        }
    }

    /// Takes out the session, if there is one. Keeps the packets that it had not sent: they go into the next session. Keeps
    /// the packets that it has still to deliver.
    pub(super) fn end_session(&mut self, now: Time) -> Option<PeerSession> {
        let mut session = self.session.take()?;
        let old = &mut session.tunnel;
        self.lost_in_restarts += old.outstanding() as u64;
        self.share.past_work += old.work();
        self.undelivered.extend(old.take_undelivered());
        self.waiting.keep(now, old.take_queue());
        Some(session)
    }

    /// Forgets a session that is over. Packets that had not been sent wait for the next session.
    pub(super) fn forget(&mut self, now: Time) {
        let over = self.end_session(now).filter(|session| !session.is_open());
        self.ended = over.map(|session| session.epoch).or(self.ended);
    }

    /// Whether the peer has closed the last session.
    pub(super) fn is_closed(&self) -> bool {
        self.ended.is_some() || self.session.as_ref().is_some_and(|session| !session.is_open())
    }

    /// Whether `epoch` is that of the session that the peer has closed: the peer has not restarted, and goes on.
    pub(super) fn has_closed(&self, epoch: u64) -> bool {
        self.is_closed() && [self.epoch(), self.ended].contains(&Some(epoch))
    }

    /// Ends the session if it must end. Returns whether it has ended. What waited in its send queue is
    /// dropped.
    pub(super) fn end_false_session(&mut self) -> bool {
        let Some(mut session) = self.session.take_if(|session| session.must_end) else { return false };
        self.share.past_work += session.tunnel.work();
        self.undelivered.extend(session.tunnel.take_undelivered());
        true
    }

    /// Whether a session is wanted: packets wait, or a keep-alive is due. A peer without a session and without a configured
    /// address gets no keep-alives.
    pub(super) fn wants_session(&self, now: Time) -> bool {
        let keeps_alive = self.handshakes.has_address || self.has_session();
        let has_work = self.waiting.len() > 0 || self.session.as_ref().is_some_and(PeerSession::has_work);
        has_work || (keeps_alive && self.keepalive_due().is_some_and(|at| at <= now))
    }
}

impl Sessions {
    /// Ends all sessions, and begins no new ones.
    pub(super) fn close(&mut self) {
        self.closing = true;
        let peers: Vec<PeerId> = self.paths.iter().map(|path| path.id).collect();
        for peer in peers {
            if let Some(path) = self.paths.get_mut(peer) {
                path.close();
            }
            self.paths.mark_ready(peer);
        }
    }

    /// Announces the end of sessions at once: what waits in the send queues is given up.
    pub(super) fn close_now(&mut self) {
        let peers: Vec<PeerId> = self.paths.iter().map(|path| path.id).collect();
        for peer in peers {
            if let Some(tunnel) = self.paths.get_mut(peer).and_then(PeerPath::tunnel_mut) {
                tunnel.close_now();
            }
            self.paths.mark_ready(peer);
        }
    }

    /// The peer has just closed the session. Calls the peer again if packets wait, or if its address is configured.
    pub(super) fn peer_closed(&mut self, now: Time, peer: PeerId) {
        let Some(path) = self.paths.get_mut(peer) else { return };
        if path.handshakes.has_address || path.wants_session(now) {
            self.connect(now, peer);
        }
    }

    /// Forgets the session of a peer that has closed it, when its time is over.
    pub(super) fn forget_closed(&mut self, now: Time, peer: PeerId) {
        let Some(path) = self.paths.get_mut(peer) else { return };
        if path.session.as_ref().and_then(PeerSession::forget_due).is_some_and(|at| at <= now) {
            self.release_held(now, peer);
            if let Some(path) = self.paths.get_mut(peer) {
                path.forget(now);
            }
        }
    }

    /// Lets the packets of a session that is over be delivered, although earlier packets of their flows are missing.
    pub(super) fn release_held(&mut self, now: Time, peer: PeerId) {
        if let Some(tunnel) = self.paths.get_mut(peer).and_then(PeerPath::tunnel_mut) {
            tunnel.release_held(now);
            self.collect_events(now, peer);
            self.paths.mark_ready(peer);
        }
    }

    /// The peer has closed a session, and goes on with it. The next handshake begins a new session.
    pub(super) fn begin_anew(&mut self, now: Time, peer: PeerId) {
        self.secure.forget(peer);
        self.peer_closed(now, peer);
    }
}
