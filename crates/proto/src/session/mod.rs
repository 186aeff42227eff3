//! Sessions: the protocol state machines at the two ends of a path.
//!
//! A session does no I/O, reads no clock and draws no entropy. All sessions implement one trait,
//! [`Session`]. Through this trait, the simulator drives sessions in virtual time, and the daemon
//! drives sessions on the wire. The simulator and the daemon also carry the sessions' packets from
//! one end to the other.
//!
//! | session | where it runs | packet type |
//! |---|---|---|
//! | [`tunnel::Tunnel`] | one end of a tunnel; both ends run the same state machine | [`crate::wire::Packet`] |
//!
//! The crate `ripstop-schemes` has the sessions that run only in virtual time: TCP/NC (paper 000) and
//! TCP/LT (paper 004).
//!
//! [`crate::endpoint::Endpoint`] has methods with the same names as [`Session`] and follows the
//! same contract. `Endpoint` takes and returns bytes instead of typed packets, so it does not
//! implement the trait.

pub mod tunnel;

pub use crate::path::Reception;
use ripstop_base::Time;

/// One end of a session.
///
/// A value of a type that implements this trait is one end. The *peer* is the other end of the
/// path. The *user* is on the inside: the user gives this end items to send, and takes the items
/// that have arrived. The *caller* is the code that drives this end: the simulator, or the endpoint
/// in the daemon.
///
/// # The contract
///
/// The caller repeats three steps:
///
/// 1. **Give input.** Call one `handle_*` method with the current time:
///    - [`handle_inner`](Session::handle_inner) when the user of the session sends something;
///    - [`handle_datagram`](Session::handle_datagram) when a packet of the peer arrives;
///    - [`handle_timeout`](Session::handle_timeout) when the time that
///      [`poll_timeout`](Session::poll_timeout) returned has come.
/// 2. **Take all outputs.** Call each of these methods until it returns `None`:
///    - [`poll_transmit`](Session::poll_transmit) for packets to the peer;
///    - [`poll_deliver`](Session::poll_deliver) for items for the user;
///    - [`poll_event`](Session::poll_event) for events.
/// 3. **Wait** for the next input, or until the time that [`poll_timeout`](Session::poll_timeout)
///    returns, whichever comes first. When several inputs come at the same time, each of them has a
///    step 2 of its own.
///
/// The tunnel and the endpoint are more tolerant. The daemon reads datagrams and inner packets in
/// batches, and gives them a batch before step 2. One report of the receiver then covers the batch,
/// and one system call sends the outputs. The simulator does the same with tunnels and endpoints.
///
/// The caller should pass a `now` that is no earlier than in any previous call. The session
/// tolerates an earlier `now`, and then uses the latest time that any call has passed.
///
/// - If nothing is due yet, `handle_timeout` does nothing. If the call is late, `handle_timeout`
///   does everything that is due.
/// - Packets leave only through `poll_transmit`. This method takes `now`, because pacing decides
///   how many packets may leave at that time.
///
/// Sessions exchange typed packets, not bytes. On the wire, the endpoint encodes and encrypts the
/// packets. In the simulator, packets can stay typed from one end to the other.
pub trait Session {
    /// An item that the user of the session sends, such as an inner packet or a TCP segment.
    type Inner;
    /// A packet that the peer sends to this end.
    type Incoming;
    /// A packet that this end sends to the peer.
    type Outgoing;
    /// An item that the session delivers to its user.
    type Delivered;
    /// A change of state that the session reports, such as the end of the session.
    type Event;

    /// Takes an item that the user sends. An item that cannot be sent is counted and dropped.
    fn handle_inner(&mut self, now: Time, inner: Self::Inner);

    /// Takes a packet of the peer. An invalid packet is counted and dropped.
    fn handle_datagram(&mut self, now: Time, received: Received<Self::Incoming>);

    /// Does everything that is due at `now`.
    fn handle_timeout(&mut self, now: Time);

    /// Returns the next packet to send at `now`. `None`: no packet is waiting, or no packet may
    /// leave yet.
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Self::Outgoing>>;

    /// Returns the next item for the user. `None`: no item is ready.
    fn poll_deliver(&mut self) -> Option<Self::Delivered>;

    /// Returns the next event. `None`: no event is pending.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// The time at which the caller must call [`Session::handle_timeout`] and then
    /// [`Session::poll_transmit`], unless another input comes first. `None`: nothing is timed, so
    /// the caller waits for an input.
    fn poll_timeout(&self) -> Option<Time>;
}

/// A packet that has arrived from the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<T> {
    /// The packet.
    pub packet: T,
    /// Size of the packet on the link, bytes. IP and UDP headers are included.
    pub bytes: u32,
    /// How the packet arrived.
    pub reception: Reception,
}

/// A packet that leaves for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<T> {
    /// The packet.
    pub packet: T,
    /// Size of the packet on the link, bytes. IP and UDP headers are included.
    pub bytes: u32,
    /// Whether the packet is sent as ECN-capable, ECT(0) (RFC 3168).
    pub ect: bool,
}
