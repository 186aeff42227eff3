//! The public types of an endpoint: settings, events, counters, status.

use super::routes::IpPrefix;
use crate::packets::early_acks::{Connection, EarlyAckCounts};
use crate::secure::{self, PeerId, PresharedKey, PresharedMismatch, PublicKey};
use crate::session::tunnel::{Status, TunnelConfig};
use ripstop_base::Time;
use ripstop_base::counters;
use std::net::SocketAddr;
use std::str::FromStr;
use std::time::Duration;

/// When the TCPs behind this end are told that their data has arrived.
///
/// The text form is `end-to-end` or `seen`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Acks {
    /// When the TCP behind the peer acknowledges the data. The default, because it keeps TCP's promise: acknowledged
    /// data has reached the other host.
    #[default]
    EndToEnd,
    /// When the peer has seen the data ([`crate::packets::early_acks`], paper 000).
    Seen,
}

impl FromStr for Acks {
    type Err = String;

    fn from_str(text: &str) -> Result<Acks, String> {
        match text {
            "end-to-end" => Ok(Acks::EndToEnd),
            "seen" => Ok(Acks::Seen),
            other => Err(format!("`{other}` is not a way to acknowledge; write \"end-to-end\" or \"seen\"")),
        }
    }
}

/// Settings of an endpoint.
#[derive(Clone, Debug)]
pub struct EndpointConfig {
    /// The settings of handshakes and keys.
    pub secure: secure::SecureConfig,
    /// The settings of the tunnel to each peer. The search for the MTU of a peer's path begins at
    /// `path_mtu` of these settings, and never goes above this size.
    pub tunnel: TunnelConfig,
    /// When the TCPs behind this end are told that their data has arrived.
    pub acks: Acks,
    /// Whether the MSS option of TCP SYNs is lowered, so that segments fit into the tunnel.
    pub clamp_mss: bool,
    /// How many inner packets may wait for each peer while there is no session with the peer. If a further packet comes, the
    /// oldest waiting packet is dropped. A packet waits for at most 90 s.
    pub waiting_packets: usize,
    /// The largest number of bytes that the sessions of all peers may hold, with the packets that wait for the next sessions.
    /// When they hold more, the peer that holds most above its fair share gives memory back first.
    ///
    /// The default of 1 GB holds the windows of 10 sessions at 1 Gbit/s and 400 ms. With half the
    /// value, fewer such sessions fit. Double the value suits a host with more memory.
    pub memory: usize,
    /// The work that the packets of all peers may cause per second. Unit: bytes combined
    /// ([`Tunnel::work`](crate::session::tunnel::Tunnel::work)). When the peers cause more, repairs
    /// and reports of the peers above their fair share are dropped.
    ///
    /// A core combines about 20 GB/s, so the default of 4 GB/s is about a fifth of a core. Decoding
    /// at 1 Gbit/s and 10 % loss takes at most 3 GB/s. Half the value drops repairs on faster paths.
    /// Double the value leaves less of a slow core to the other peers.
    pub work_per_second: u64,
}

impl Default for EndpointConfig {
    fn default() -> EndpointConfig {
        EndpointConfig {
            secure: secure::SecureConfig::default(),
            tunnel: TunnelConfig::default(),
            acks: Acks::default(),
            clamp_mss: true,
            waiting_packets: 128,
            memory: 1_000_000_000,
            work_per_second: 4_000_000_000,
        }
    }
}

/// The settings of one peer.
#[derive(Clone, Debug)]
pub struct PeerConfig {
    /// The peer's public key.
    pub public: PublicKey,
    /// The key that this end shares with the peer in addition to the static keys. Both ends must have
    /// the same key, or none.
    pub preshared: Option<PresharedKey>,
    /// The peer's address. None: the peer must start the handshake, and this end learns the peer's
    /// address from the handshake.
    pub endpoint: Option<SocketAddr>,
    /// The addresses behind the peer. Packets to these addresses go to the peer. Packets from the
    /// peer must have one of these addresses as source. If prefixes of several peers contain an
    /// address, the address belongs to the peer with the longest of these prefixes.
    pub allowed_ips: Vec<IpPrefix>,
    /// After this time without sending anything to the peer, this end sends a probe, so that NATs
    /// on the path keep their mapping. None: this end sends no such probes.
    pub keepalive: Option<Duration>,
}

/// Why a peer could not be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddPeerError {
    /// The key is this end's own, or another peer has it.
    #[error("the public key {0} is this end's own or another peer's")]
    Key(PublicKey),
    /// Another peer already has exactly this prefix. A prefix that contains another peer's prefix,
    /// or lies within it, is allowed.
    #[error("the prefix {0} belongs to another peer")]
    Prefix(IpPrefix),
}

/// A change that a log or a user interface may report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointEvent {
    /// A session with the peer has begun.
    Connected {
        /// The peer.
        peer: PeerId,
        /// Whether this session replaces an earlier session, because one of the ends has restarted.
        /// The packets of the earlier session that were in flight are lost.
        again: bool,
    },
    /// The peer has not answered handshakes for
    /// [`SecureConfig::unreachable_after`](secure::SecureConfig). The event is not repeated before
    /// the peer answers. This end continues to send initiations.
    Unreachable {
        /// The peer.
        peer: PeerId,
        /// How long ago the first unanswered initiation was sent, or the peer was last heard.
        silent_for: Duration,
    },
    /// A peer that was reported as unreachable has answered.
    Reachable {
        /// The peer.
        peer: PeerId,
    },
    /// The peer's datagrams now come from another address.
    Roamed {
        /// The peer.
        peer: PeerId,
        /// The former address; None if no address was known.
        from: Option<SocketAddr>,
        /// The new address.
        to: SocketAddr,
    },
    /// The peer has not reported the arrival of datagrams in time. The path may be down.
    Silent {
        /// The peer.
        peer: PeerId,
    },
    /// A report of a peer that was silent has arrived.
    Heard {
        /// The peer.
        peer: PeerId,
    },
    /// The peer ended the session. Packets wait for the next one. If the peer's address is configured, this end calls the
    /// peer.
    Closed {
        /// The peer.
        peer: PeerId,
    },
    /// The peer receives datagrams, but no block repairs. It runs a version without `code = "block"`, or the path drops
    /// these datagrams. What is lost is not recovered.
    BlocksIgnored {
        /// The peer.
        peer: PeerId,
    },
    /// The peer has acknowledged a datagram that was never sent. This end has ended the session. A
    /// new session begins when one of the ends has something to send.
    FalseReport {
        /// The peer.
        peer: PeerId,
    },
    /// A TCP connection through the tunnel was reset: data was acknowledged early
    /// ([`Acks::Seen`]) and could not be delivered.
    ConnectionReset {
        /// The peer.
        peer: PeerId,
        /// The connection.
        connection: Connection,
    },
    /// Handshakes with the peer fail, because the ends do not have the same pre-shared key.
    PresharedMismatch {
        /// The peer.
        peer: PeerId,
        /// How the keys differ.
        mismatch: PresharedMismatch,
        /// The source address of the message that shows it.
        from: SocketAddr,
    },
    /// The size of the largest inner packet to the peer has changed, or was proven for the first time.
    Mtu {
        /// The peer.
        peer: PeerId,
        /// The new size, bytes.
        inner_mtu: u32,
        /// Whether the search for the path's MTU has found this size. If not, a session begins with the size that the
        /// settings of both ends allow.
        is_found: bool,
    },
}

/// A datagram to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The destination.
    pub to: SocketAddr,
    /// The datagram's length in bytes. The datagram is at the front of the buffer.
    pub len: usize,
    /// Whether to mark the datagram as ECN-capable (ECT(0), RFC 3168).
    pub ect: bool,
    /// Whether the datagram may be larger than the path carries, because it tests that. It must leave in a system call of its
    /// own: a host on the way that forwards several datagrams as one (GSO) drops all of them, if one is too large.
    pub is_test: bool,
}

counters! {
    /// Counters since the start of the process, summed over all peers.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct EndpointCounters {
        /// Datagrams received, valid or not.
        pub datagrams_received: u64,
        /// Datagrams that [`poll_transmit`](super::Endpoint::poll_transmit) returned.
        pub datagrams_sent: u64,
        /// Data from the device that was not an IP packet.
        pub inner_malformed: u64 => ("inner_malformed", "inner_malformed_total"),
        /// Packets from the device whose destination is in no peer's allowed IPs.
        pub inner_no_route: u64 => ("inner_no_route", "inner_no_route_total"),
        /// TCP SYNs whose MSS option was reduced.
        pub mss_clamped: u64 => ("mss_clamped", "mss_clamped_total"),
        /// Packets from the device that were too long for their peer.
        pub inner_too_long: u64 => ("inner_too_long", "inner_too_long_total"),
        /// ICMP messages to the senders of packets that were too long.
        pub too_big_sent: u64 => ("too_big_sent", "too_big_sent_total"),
        /// Packets from a peer whose source is not in that peer's allowed IPs.
        pub wrong_source: u64 => ("wrong_source", "wrong_source_total"),
        /// Authentic datagrams with a malformed body.
        pub body_malformed: u64 => ("body_malformed", "body_malformed_total"),
        /// Datagrams that could not be serialised or encrypted.
        pub unsendable: u64 => ("unsendable", "unsendable_total"),
        /// Repairs and reports dropped because their peer was above its fair share of the work
        /// ([`EndpointConfig::work_per_second`]).
        pub over_work: u64,
        /// Reports dropped because they came faster than this end had asked for.
        pub unasked_reports: u64,
        /// How many times a session was shrunk because all sessions together held too much memory
        /// ([`EndpointConfig::memory`]).
        pub shrunk: u64,
        /// Dropped datagrams from addresses that are reached through the tunnel
        /// ([`Endpoint::set_inside`](super::Endpoint::set_inside)).
        pub from_inside: u64,
        /// Sessions ended because the peer acknowledged a datagram that was never sent.
        pub false_reports: u64 => ("false_reports", "false_reports_total"),
        /// Peers asked for a sign of life, because they were not heard for too long.
        pub peers_asked: u64 => ("peers_asked", "peers_asked_total"),
        /// Ends of the calls of peers without a configured endpoint, because they were unreachable for too long.
        pub peers_given_up: u64 => ("peers_given_up", "peers_given_up_total"),
    }
}

/// The state of one peer.
#[derive(Clone, Debug)]
pub struct PeerStatus {
    /// The peer's address; None if the address is not known yet.
    pub endpoint: Option<SocketAddr>,
    /// When the last authentic datagram of the peer came; None before the first.
    pub last_heard: Option<Time>,
    /// The state of the tunnel session; None before the first handshake is complete, and after the peer has closed.
    pub tunnel: Option<Status>,
    /// The largest inner packet, bytes.
    pub inner_mtu: u32,
    /// How many sessions have begun.
    pub sessions: u64,
    /// Inner packets that wait for a session.
    pub waiting: usize,
    /// Inner packets that were dropped while they waited for a session: too many waited
    /// ([`EndpointConfig::waiting_packets`]), they waited too long, or memory was short.
    pub waited_in_vain: u64,
    /// Source symbols (inner packets) that were not known to be decoded when a restart ended their
    /// session.
    pub lost_in_restarts: u64,
    /// Memory that the session holds because of packets, and the packets that wait for the next session, bytes.
    pub memory: usize,
    /// Work that the peer's packets have caused in all sessions, bytes combined. The beginning of each session counts too.
    pub work: u64,
    /// Repairs and reports dropped because the peer was above its fair share of the work.
    pub over_work: u64,
    /// Reports dropped because they came faster than this end had asked for.
    pub unasked_reports: u64,
    /// How many times the session was shrunk because memory was short.
    pub shrunk: u64,
    /// What early acknowledgements have done ([`Acks::Seen`]).
    pub early_acks: EarlyAckCounts,
}
