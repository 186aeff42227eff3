//! What the daemon knows about a peer in addition to the endpoint's state.

use super::meter::Meter;
use crate::daemon::config::{HostPort, PeerSettings};
use crate::daemon::resolve::Answer;
use ripstop_base::Time;
use ripstop_proto::secure::{PeerId, PublicKey};

/// What the daemon knows about a peer in addition to the endpoint's state.
pub(super) struct PeerState {
    pub(super) id: PeerId,
    pub(super) public: PublicKey,
    pub(super) name: String,
    /// Whether the peer was removed by a new configuration. The position of a peer in the list is that of its
    /// [`PeerId`], so a removed peer stays in the list.
    pub(super) removed: bool,
    /// The rates of inner packets to and from the peer.
    pub(super) meter: Meter,
    /// The host name to resolve; None for a peer with an address or without an endpoint.
    pub(super) lookup: Option<HostPort>,
    /// When to start the next look-up; None: no look-up is needed.
    pub(super) next_lookup: Option<Time>,
    /// When the session began; None: there is no session.
    pub(super) connected: Option<Time>,
    pub(super) silent: bool,
    pub(super) unreachable: bool,
    pub(super) restarts: u64,
    /// Largest inner packet to the peer, in bytes; None until the endpoint reports it.
    pub(super) mtu: Option<u32>,
    /// Number and bytes of inner packets received from the peer.
    pub(super) received: (u64, u64),
}

impl PeerState {
    pub(super) fn new(id: PeerId, settings: &PeerSettings, lookup: Option<HostPort>, now: Time) -> PeerState {
        PeerState {
            id,
            public: settings.public,
            name: settings.name.clone(),
            removed: false,
            meter: Meter::new(now),
            next_lookup: lookup.is_some().then_some(now),
            lookup,
            connected: None,
            silent: false,
            unreachable: false,
            restarts: 0,
            mtu: None,
            received: (0, 0),
        }
    }

    /// Notes that a new configuration has removed the peer. Its name is not looked up any more.
    pub(super) fn remove(&mut self) {
        self.removed = true;
        (self.lookup, self.next_lookup, self.connected) = (None, None, None);
    }

    /// Whether `answer` is for the name that is configured now. A look-up takes seconds, and a new configuration may have
    /// changed the name, replaced it by an address, or removed the peer.
    pub(super) fn awaits(&self, answer: &Answer) -> bool {
        !self.removed && self.lookup.as_ref() == Some(&answer.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::resolve::Resolver;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use nix::sys::eventfd::EventFd;
    use ripstop_proto::secure::PrivateKey;
    use std::os::fd::AsFd;
    use std::sync::Arc;

    #[test]
    fn a_late_answer_does_not_overwrite_a_new_endpoint() {
        let name = |text| HostPort::parse(text).unwrap();
        let (old, new) = (name("localhost:5182"), name("localhost:5183"));
        let settings = PeerSettings {
            public: PrivateKey::from_bytes([7; 32]).public(),
            preshared: None,
            endpoint: Some(old.clone()),
            allowed_ips: Vec::new(),
            keepalive: None,
            name: "peer".to_owned(),
        };
        let mut peer = PeerState::new(PeerId::from_index(0), &settings, Some(old.clone()), Time::ZERO);
        let wakeup = Arc::new(EventFd::new().unwrap());
        let resolver = Resolver::new(wakeup.clone());
        resolver.ask(0, &old);
        assert_eq!(poll(&mut [PollFd::new(wakeup.as_fd(), PollFlags::POLLIN)], PollTimeout::MAX), Ok(1));
        let answer = resolver.poll().unwrap();
        assert!(answer.name == old && peer.awaits(&answer));
        for lookup in [Some(new), None] {
            peer.lookup = lookup;
            assert!(!peer.awaits(&answer), "the configuration has changed");
        }
        peer.lookup = Some(old);
        peer.remove();
        assert!(!peer.awaits(&answer), "the peer was removed");
        // A late event of the endpoint starts a look-up of the peer only if there is a name.
        assert_eq!((peer.lookup, peer.next_lookup), (None, None));
    }
}
