//! What a path tells its user: events, and counts of what was sent.

use ripstop_base::counters;

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

counters! {
    /// Counts of what this end has sent on a path, and of what it learned from reports.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct PathCounts {
        /// Datagrams sent.
        pub datagrams: u64 => ("datagrams_sent", "sent_datagrams_total"),
        /// Bytes of the datagrams sent, IP and UDP headers included.
        pub bytes: u64 => ("bytes_sent", "sent_bytes_total"),
        /// Datagram numbers left out, to expose false reports. A report that acknowledges one of them is false.
        pub skipped: u64 => ("numbers_skipped"),
        /// Reports that acknowledged a datagram that was never sent.
        pub false_reports: u64,
        /// Times that all datagrams in flight were declared lost because no report came from the peer.
        pub silences: u64 => ("silences", "silences_total"),
        /// Times that this host was suspended for 1 s or longer.
        pub suspensions: u64 => ("suspensions", "suspensions_total"),
        /// Probes sent because the peer did not report the last datagrams within a little more than a round trip.
        pub tail_probes: u64 => ("tail_probes", "tail_probes_total"),
        /// Datagrams that reached the peer marked Congestion Experienced, according to its last report.
        pub peer_marked: u64,
    }
}
