//! What the daemon knows about a peer in addition to the endpoint's state.

use super::meter::Meter;
use crate::daemon::config::{HostPort, PeerSettings};
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
}
