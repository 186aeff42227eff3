//! Sessions: the state machines that two ends run against each other.
//!
//! A session does no I/O, reads no clock and draws no entropy. [`Session`] is the one contract by which all of them are
//! driven, in virtual time and on the wire.
//!
//! | session | its place | its packets |
//! |---|---|---|
//! | [`tunnel::Tunnel`] | one end of a tunnel; both ends run the same machine | [`crate::wire::Packet`] |
//! | [`nc::NcSender`], [`nc::NcReceiver`] | a coding layer below a sending and a receiving TCP (paper 000) | [`nc::NcPacket`], [`nc::NcAck`] |
//! | [`nc::NcRelay`] | a node on the way between the two | [`nc::NcPacket`] |
//!
//! [`crate::endpoint::Endpoint`] keeps the same contract with bytes in place of typed packets.

pub mod nc;
pub mod tunnel;

use ripstop_base::Time;

/// One end of a session.
///
/// # The contract
///
/// 1. **Input.** Call `handle_*` with the time: [`handle_inner`](Session::handle_inner) for what the user of the session
///    sends, [`handle_datagram`](Session::handle_datagram) for a packet of the peer,
///    [`handle_timeout`](Session::handle_timeout) when the time-out that was asked for is due. Inputs of one moment may
///    follow one another.
/// 2. **All outputs.** Call each `poll_*` until it is empty: [`poll_transmit`](Session::poll_transmit) for packets to the
///    peer, [`poll_deliver`](Session::poll_deliver) for the user, [`poll_event`](Session::poll_event).
/// 3. **Wait** for the next input, or until [`poll_timeout`](Session::poll_timeout), whichever comes first.
///
/// `now` never goes back. An earlier `now` than the last one counts as the last one. A call of `handle_timeout` before
/// anything is due does nothing; a late call does all that is due. `poll_transmit` takes `now` because pacing decides
/// how much may leave at a time. Packets leave through `poll_transmit` and nowhere else.
///
/// Sessions exchange typed packets. The endpoint turns them into sealed bytes; in virtual time they need never be bytes.
pub trait Session {
    /// What the user of the session sends: an inner packet, a TCP segment.
    type Inner;
    /// What the peer sends to this end.
    type Incoming;
    /// What this end sends to the peer.
    type Outgoing;
    /// What the user of the session gets.
    type Delivered;
    /// What the user is told besides.
    type Event;

    /// Takes what the user sends. What cannot be sent is counted and dropped.
    fn handle_inner(&mut self, now: Time, inner: Self::Inner);

    /// Takes a packet of the peer. A packet that makes no sense is counted and dropped.
    fn handle_datagram(&mut self, now: Time, received: Received<Self::Incoming>);

    /// Does what is due at `now`.
    fn handle_timeout(&mut self, now: Time);

    /// The next packet that leaves now.
    fn poll_transmit(&mut self, now: Time) -> Option<Transmit<Self::Outgoing>>;

    /// The next item for the user.
    fn poll_deliver(&mut self) -> Option<Self::Delivered>;

    /// The next event.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// When [`Session::handle_timeout`] and [`Session::poll_transmit`] want to be called next if nothing else happens.
    fn poll_timeout(&self) -> Option<Time>;
}

/// A packet of the peer that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received<T> {
    /// The packet.
    pub packet: T,
    /// Its size on the link in bytes, headers of IP and UDP included.
    pub bytes: u32,
    /// Whether it carried Congestion Experienced (RFC 3168).
    pub ce: bool,
}

/// A packet that leaves for the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit<T> {
    /// The packet.
    pub packet: T,
    /// Its size on the link in bytes, headers of IP and UDP included.
    pub bytes: u32,
    /// Whether it leaves as ECN-capable, ECT(0) (RFC 3168).
    pub ect: bool,
}
