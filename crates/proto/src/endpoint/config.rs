//! What goes into an endpoint and what comes out: settings, events, counters.

use super::routes::IpPrefix;
use crate::secure::{self, PeerId, PublicKey};
use crate::session::tunnel::{Status, TunnelConfig};
use std::net::SocketAddr;
use std::time::Duration;

/// Settings of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// Handshakes and keys.
    pub secure: secure::SecureConfig,
    /// The tunnel to each peer. Its path MTU is where the search for each path's own begins.
    pub tunnel: TunnelConfig,
    /// Whether TCP SYNs are made to offer segments that fit the tunnel.
    pub clamp_mss: bool,
    /// Packets that wait for the first handshake with a peer, at most.
    pub waiting_packets: usize,
}

impl Default for EndpointConfig {
    fn default() -> EndpointConfig {
        EndpointConfig {
            secure: secure::SecureConfig::default(),
            tunnel: TunnelConfig::default(),
            clamp_mss: true,
            waiting_packets: 128,
        }
    }
}

/// A peer.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// Its key.
    pub public: PublicKey,
    /// Where it is; None when it will call.
    pub endpoint: Option<SocketAddr>,
    /// What is inside, behind it: packets to these addresses go to it, and it may send from these.
    pub allowed_ips: Vec<IpPrefix>,
    /// How often something is sent when nothing else is, to keep address translators on the way awake.
    pub keepalive: Option<Duration>,
}

/// Why a peer could not be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddPeerError {
    /// The key is in use.
    #[error("the public key {0} is this end's own or another peer's")]
    Key(PublicKey),
    /// The prefix is in use.
    #[error("the prefix {0} belongs to another peer")]
    Prefix(IpPrefix),
}

/// Something that people may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// A session with the peer has begun.
    Connected {
        /// Who.
        peer: PeerId,
        /// The peer has restarted: what was under way to it is lost.
        again: bool,
    },
    /// The peer has not answered a handshake for long. Said once; it is tried on for ever.
    Unreachable {
        /// Who.
        peer: PeerId,
        /// For how long.
        silent_for: Duration,
    },
    /// The peer that was unreachable has answered.
    Reachable {
        /// Who.
        peer: PeerId,
    },
    /// The peer's datagrams come from another address now.
    Roamed {
        /// Who.
        peer: PeerId,
        /// Where from.
        from: Option<SocketAddr>,
        /// Where to.
        to: SocketAddr,
    },
    /// Nothing comes from the peer although it was asked for.
    Silent {
        /// Who.
        peer: PeerId,
    },
    /// The silent peer is heard again.
    Heard {
        /// Who.
        peer: PeerId,
    },
    /// The peer ended the session.
    Closed {
        /// Who.
        peer: PeerId,
    },
    /// The largest inner packet to the peer is another now.
    Mtu {
        /// Who.
        peer: PeerId,
        /// Bytes.
        inner_mtu: u32,
    },
}

/// A datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Where to.
    pub to: SocketAddr,
    /// Bytes of it, at the front of the buffer.
    pub len: usize,
    /// Mark it as ECN-capable (ECT(0), RFC 3168).
    pub ect: bool,
}

/// What happened so far, over all peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EndpointCounters {
    /// Datagrams received, good and bad.
    pub datagrams_received: u64,
    /// Datagrams given out to send.
    pub datagrams_sent: u64,
    /// Packets from the inside that are no IP packets.
    pub inner_malformed: u64,
    /// Packets from the inside to where no peer is.
    pub inner_no_route: u64,
    /// TCP SYNs changed.
    pub mss_clamped: u64,
    /// Packets from a peer with a source address that is not the peer's.
    pub wrong_source: u64,
    /// Authentic datagrams with a malformed body.
    pub body_malformed: u64,
    /// Datagrams that could not be written or sealed.
    pub unsendable: u64,
}

/// What is going on with a peer.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// Where it is.
    pub endpoint: Option<SocketAddr>,
    /// Its session; None when there is none yet.
    pub tunnel: Option<Status>,
    /// The largest inner packet, bytes.
    pub inner_mtu: u32,
    /// Sessions begun.
    pub sessions: u64,
    /// Packets that wait for a session.
    pub waiting: usize,
    /// Packets that waited for a session in vain.
    pub waited_in_vain: u64,
    /// Symbols under way in sessions that ended by a restart.
    pub lost_in_restarts: u64,
}
