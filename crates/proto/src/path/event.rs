//! What a path tells its user: events, and counts of what was sent.

/// An event of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathEvent {
    /// Datagrams were sent, and the peer did not report in time. The path may have failed.
    Silent,
    /// A report of the peer has arrived after a silence.
    Heard,
    /// The peer ended the session. There is one such event for each session.
    Closed,
    /// The peer has acknowledged a datagram that was never sent. The session must end, because no
    /// report of the peer can be believed.
    FalseReport,
    /// It has become known whether a probe arrived. See [`Tunnel::request_probe`](crate::session::tunnel::Tunnel::request_probe).
    /// If no report comes, there is no such event.
    Probe {
        /// Padding of the probe, bytes.
        padding: u32,
        /// True: the probe arrived. False: the probe is lost.
        received: bool,
    },
    /// All large datagrams are lost, and small ones arrive: the path's MTU may have become smaller.
    LargeLost,
    /// A large datagram has arrived after [`PathEvent::LargeLost`].
    LargeReceived,
}

/// Counts of what this end has sent on a path, and of what it learned from reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Datagrams sent, of all kinds.
    pub datagrams: u64,
    /// Bytes of all datagrams sent, IP and UDP headers included.
    pub bytes: u64,
    /// Datagram numbers skipped. A report that acknowledges one of them is false.
    pub skipped: u64,
    /// Reports that acknowledged a datagram that was never sent.
    pub false_reports: u64,
    /// Batches of probes that the path started in silences. Before each batch, the path
    /// declared everything in flight lost, because no report had come.
    pub silences: u64,
    /// Number of times that this end was suspended for 1 s or longer.
    pub suspensions: u64,
    /// Tail probes sent. A tail probe is a single datagram that asks for a report. A tail probe is
    /// sent if no report about the last datagrams has come for a little more than a round trip.
    pub tail_probes: u64,
    /// Datagrams that reached the peer marked Congestion Experienced, according to its last report.
    pub peer_marked: u64,
}
