//! The ends of sessions: this end closes, the peer has closed, or the peer has sent a false report.
//!
//! Nothing is sent into a session that the peer has closed: packets wait for the next session. What the peer sent before it
//! closed may still arrive for a while.

use super::peer_path::PeerPath;
use super::{Endpoint, get};
use crate::secure::PeerId;
use crate::session::tunnel::Tunnel;
use ripstop_base::Time;
use std::time::Duration;

/// How long a session that the peer has closed takes in datagrams, 1 s: packets that the path has reordered, and packets
/// that wait for an earlier one of their flow. Half the value is below the usual deadline of a packet. Double the value
/// keeps the memory of the session longer.
const AFTER_CLOSE: Duration = Duration::from_secs(1);

impl PeerPath {
    /// Whether there is a session that the peer has not closed.
    pub(super) fn has_session(&self) -> bool {
        self.tunnel.is_some() && self.closed.is_none()
    }

    /// Ends the session, and resets the connections with data that was acknowledged early and is not delivered.
    pub(super) fn close(&mut self) {
        if let Some(early) = &mut self.early_acks {
            early.close();
        }
        self.tell_early_acks(self.last_sent);
        if let Some(tunnel) = &mut self.tunnel {
            tunnel.close();
        }
    }

    /// When a session that the peer has closed takes in nothing more.
    pub(super) fn forget_due(&self) -> Option<Time> {
        self.tunnel.as_ref().and(self.closed).map(|closed| closed + AFTER_CLOSE)
    }

    /// Forgets a session that is over. Packets that had not been sent wait for the next session.
    pub(super) fn forget(&mut self, now: Time) {
        if let Some(mut tunnel) = self.tunnel.take() {
            self.keep_waiting(now, &mut tunnel);
        }
        self.ended = self.epoch.take();
        self.mtu = None;
        self.greet = false;
    }

    /// Whether `epoch` is that of the session that the peer has closed: the peer has not restarted, and goes on.
    pub(super) fn has_closed(&self, epoch: u64) -> bool {
        self.closed.is_some() && [self.epoch, self.ended].contains(&Some(epoch))
    }

    /// Ends the session if it must end. Returns whether it has ended. What waited in its send queue is
    /// dropped.
    pub(super) fn end_false_session(&mut self) -> bool {
        let ends = std::mem::take(&mut self.must_end);
        if ends {
            self.past_work += self.tunnel.as_ref().map_or(0, Tunnel::work);
            self.undelivered.extend(self.tunnel.as_mut().and_then(Tunnel::take_undelivered));
            (self.tunnel, self.epoch, self.mtu) = (None, None, None);
            self.greet = false;
        }
        ends
    }

    /// Whether a session is wanted: packets wait, or a keep-alive is due. A peer without a session and without a configured
    /// address gets no keep-alives.
    pub(super) fn wants_session(&self, now: Time) -> bool {
        let keeps_alive = self.calls || self.has_session();
        self.has_work() || (keeps_alive && self.keepalive_due().is_some_and(|at| at <= now))
    }

    /// Whether there is something to send.
    fn has_work(&self) -> bool {
        let has_packets = |tunnel: &Tunnel<_>| match self.closed {
            None => !tunnel.is_idle(),
            Some(_) => tunnel.backlog_packets() > 0,
        };
        self.waiting.len() > 0 || self.tunnel.as_ref().is_some_and(has_packets)
    }
}

impl Endpoint {
    /// Ends all sessions, and begins no new ones. The next calls of [`Endpoint::poll_transmit`] return what waits in the
    /// send queues, and then the datagrams that announce the end to the peers.
    pub fn close(&mut self) {
        self.closing = true;
        let peers: Vec<PeerId> = self.peers().collect();
        for peer in peers {
            if let Some(path) = get(&mut self.paths, peer) {
                path.close();
            }
            self.mark_ready(peer);
        }
    }

    /// Announces the end of sessions at once, after [`Endpoint::close`]: what waits in the send queues is given up.
    pub fn close_now(&mut self) {
        let peers: Vec<PeerId> = self.peers().collect();
        for peer in peers {
            if let Some(tunnel) = get(&mut self.paths, peer).and_then(|path| path.tunnel.as_mut()) {
                tunnel.close_now();
            }
            self.mark_ready(peer);
        }
    }

    /// Starts a handshake with a peer, unless one is under way or this end closes.
    pub(super) fn connect(&mut self, now: Time, peer: PeerId) {
        if !self.closing {
            self.secure.connect(now, peer);
        }
    }

    /// The peer has just closed the session. Calls the peer again if packets wait, or if its address is configured.
    pub(super) fn peer_closed(&mut self, now: Time, peer: PeerId) {
        let Some(path) = get(&mut self.paths, peer) else { return };
        if path.calls || path.wants_session(now) {
            self.connect(now, peer);
        }
    }

    /// Forgets the session of a peer that has closed it, when its time is over.
    pub(super) fn forget_closed(&mut self, now: Time, peer: PeerId) {
        let Some(path) = get(&mut self.paths, peer) else { return };
        if path.forget_due().is_some_and(|at| at <= now) {
            self.release_held(now, peer);
            if let Some(path) = get(&mut self.paths, peer) {
                path.forget(now);
            }
        }
    }

    /// Lets the packets of a session that is over be delivered, although earlier packets of their flows are missing.
    pub(super) fn release_held(&mut self, now: Time, peer: PeerId) {
        if let Some(tunnel) = get(&mut self.paths, peer).and_then(|path| path.tunnel.as_mut()) {
            tunnel.release_held(now);
            self.collect_events(now, peer);
            self.mark_ready(peer);
        }
    }

    /// The peer has closed a session, and goes on with it. The next handshake begins a new session.
    pub(super) fn begin_anew(&mut self, now: Time, peer: PeerId) {
        self.secure.forget(peer);
        self.peer_closed(now, peer);
    }
}
