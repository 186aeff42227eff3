//! What the daemon knows about a peer in addition to the endpoint's state.

use super::events::LineLimits;
use super::meter::Meter;
use crate::daemon::config::{HostPort, PeerSettings};
use crate::daemon::resolve::{Answer, in_turn};
use crate::daemon::status::PeerCounters;
use ripstop_base::Time;
use ripstop_proto::secure::{PeerId, PublicKey};
use std::collections::VecDeque;
use std::net::SocketAddr;

/// What the daemon knows about a peer in addition to the endpoint's state.
pub(super) struct PeerState {
    pub(super) id: PeerId,
    pub(super) public: PublicKey,
    pub(super) name: String,
    /// Whether the peer was removed by a new configuration. The position of a peer in the list is that of its
    /// [`PeerId`], so a removed peer stays in the list.
    pub(super) removed: bool,
    /// The limits of the log lines that the peer can cause.
    pub(super) lines: LineLimits,
    /// The rates of inner packets to and from the peer.
    pub(super) meter: Meter,
    /// The configured endpoint: a host name or an address. None for a peer without a configured endpoint.
    pub(super) configured: Option<HostPort>,
    /// The peer's address when the peer became unreachable.
    pub(super) last_address: Option<SocketAddr>,
    /// When to start the next look-up, or to try the next address; None: neither is needed.
    pub(super) next_lookup: Option<Time>,
    /// When the look-up began that is under way; None: there is none.
    pub(super) asked: Option<Time>,
    /// How many look-ups in a row have failed.
    pub(super) failures: u32,
    /// The addresses of the last look-up that were not tried yet.
    pub(super) untried: VecDeque<SocketAddr>,
    /// When the session began; None: there is no session.
    pub(super) connected: Option<Time>,
    /// What is counted here. The endpoint counts the rest.
    pub(super) counts: PeerCounters,
    /// Whether a session with the peer has begun since the start of the daemon.
    pub(super) has_met: bool,
    /// Whether this host has a pre-shared key for the peer.
    pub(super) has_preshared: bool,
    pub(super) silent: bool,
    pub(super) unreachable: bool,
    /// Largest inner packet to the peer, in bytes; None until the endpoint reports it.
    pub(super) mtu: Option<u32>,
}

impl PeerState {
    pub(super) fn new(id: PeerId, settings: &PeerSettings, now: Time) -> PeerState {
        let mut peer = PeerState {
            id,
            public: settings.public,
            name: settings.name.clone(),
            removed: false,
            lines: LineLimits::default(),
            meter: Meter::new(now),
            configured: None,
            last_address: None,
            next_lookup: None,
            asked: None,
            failures: 0,
            untried: VecDeque::new(),
            connected: None,
            counts: PeerCounters::default(),
            has_met: false,
            has_preshared: settings.preshared.is_some(),
            silent: false,
            unreachable: false,
            mtu: None,
        };
        peer.configure(settings.endpoint.clone(), now);
        peer
    }

    /// Takes the endpoint of a new configuration. A name is looked up now. An address is used at once, and looked up when
    /// the peer is unreachable.
    pub(super) fn configure(&mut self, endpoint: Option<HostPort>, now: Time) {
        self.next_lookup = endpoint.as_ref().filter(|endpoint| endpoint.address().is_none()).map(|_| now);
        self.configured = endpoint;
        self.last_address = None;
        (self.asked, self.failures) = (None, 0);
        self.untried.clear();
    }

    /// Notes that a new configuration has removed the peer. Its endpoint is not looked up any more.
    pub(super) fn remove(&mut self) {
        self.removed = true;
        (self.configured, self.next_lookup, self.connected) = (None, None, None);
    }

    /// Counts an inner packet of `bytes` bytes from the peer.
    pub(super) fn count_received(&mut self, bytes: u64) {
        self.counts.received += 1;
        self.counts.received_bytes += bytes;
    }

    /// The addresses to try, in this order: `resolved`, the addresses of the endpoint. `known` is the address in use. If
    /// the peer is unreachable, the order begins with the next address. The last address of the peer is then one of them,
    /// because the peer may have moved away from its endpoint before it fell silent.
    pub(super) fn in_turn(&self, resolved: Vec<SocketAddr>, known: Option<SocketAddr>) -> VecDeque<SocketAddr> {
        let mut addresses = resolved;
        if !self.unreachable {
            return in_turn(addresses, None);
        }
        addresses.extend(self.last_address.filter(|last| !addresses.contains(last)));
        in_turn(addresses, known)
    }

    /// Whether `answer` is for the endpoint that is configured now. A look-up takes seconds, and a new configuration may
    /// have changed the endpoint or removed the peer.
    pub(super) fn awaits(&self, answer: &Answer) -> bool {
        !self.removed && self.configured.as_ref() == Some(&answer.name)
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

    fn name(text: &str) -> HostPort {
        HostPort::parse(text).unwrap()
    }

    fn peer_at(endpoint: &HostPort) -> PeerState {
        let settings = PeerSettings {
            public: PrivateKey::from_bytes([7; 32]).public(),
            preshared: None,
            endpoint: Some(endpoint.clone()),
            allowed_ips: Vec::new(),
            keepalive: None,
            name: "peer".to_owned(),
        };
        PeerState::new(PeerId::from_index(0), &settings, Time::ZERO)
    }

    /// A peer was configured at 192.0.2.1, moved to 192.0.2.9, and fell silent.
    #[test]
    fn an_unreachable_peer_is_tried_at_its_endpoint_and_at_its_last_address_in_turn() {
        let [endpoint, last] = ["192.0.2.1:5182", "192.0.2.9:5182"].map(|text| text.parse::<SocketAddr>().unwrap());
        let mut peer = peer_at(&name("192.0.2.1:5182"));
        assert_eq!((peer.next_lookup, &peer.configured), (None, &Some(name("192.0.2.1:5182"))));
        (peer.unreachable, peer.last_address) = (true, Some(last));
        assert_eq!(peer.in_turn(vec![endpoint], Some(last)), [endpoint, last]);
        assert_eq!(peer.in_turn(vec![endpoint], Some(endpoint)), [last, endpoint]);
        peer.last_address = Some(endpoint);
        assert_eq!(peer.in_turn(vec![endpoint], Some(endpoint)), [endpoint]);
        (peer.unreachable, peer.last_address) = (false, Some(last));
        assert_eq!(peer.in_turn(vec![endpoint], Some(endpoint)), [endpoint], "the name was looked up");
    }

    #[test]
    fn a_late_answer_does_not_overwrite_a_new_endpoint() {
        let (old, new) = (name("localhost:5182"), name("localhost:5183"));
        let mut peer = peer_at(&old);
        let wakeup = Arc::new(EventFd::new().unwrap());
        let resolver = Resolver::new(wakeup.clone());
        resolver.ask(0, &old);
        assert_eq!(poll(&mut [PollFd::new(wakeup.as_fd(), PollFlags::POLLIN)], PollTimeout::MAX), Ok(1));
        let answer = resolver.poll().unwrap();
        assert!(answer.name == old && peer.awaits(&answer));
        for endpoint in [Some(new), None] {
            peer.configure(endpoint, Time::ZERO);
            assert!(!peer.awaits(&answer), "the configuration has changed");
        }
        peer.configure(Some(old), Time::ZERO);
        peer.remove();
        assert!(!peer.awaits(&answer), "the peer was removed");
        // A late event of the endpoint starts a look-up of the peer only if there is an endpoint.
        assert_eq!((peer.configured, peer.next_lookup), (None, None));
    }
}
