//! What the tunnel and its user tell each other apart from inner packets: events, and packets about the path.

/// A packet about the path, which the user of the tunnel requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathPacket {
    /// A challenge with this token.
    Challenge(u64),
    /// The answer to a challenge with this token.
    Answer(u64),
}

/// An event that the tunnel reports to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEvent {
    /// Datagrams were sent, and the peer did not report in time. The path may have failed.
    Silent,
    /// A report of the peer has arrived after a silence.
    Heard,
    /// The peer ended the session.
    Closed,
    /// The peer has acknowledged a datagram that was never sent. The session must end, because no
    /// report of the peer can be believed.
    FalseReport,
    /// It has become known whether a probe arrived. See [`Tunnel::request_probe`](super::Tunnel::request_probe).
    Probe {
        /// Padding of the probe, bytes.
        padding: u32,
        /// True: the probe arrived. False: the probe is lost.
        received: bool,
    },
    /// All large datagrams are lost, and small ones arrive: the path's MTU may have become smaller.
    LargeLost,
    /// A large datagram has arrived after [`TunnelEvent::LargeLost`].
    LargeReceived,
    /// The peer receives datagrams, but no block repairs: it is too old for [`Code::Block`](super::Code::Block).
    BlocksIgnored,
}
