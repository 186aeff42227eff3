//! What the tunnel and its user tell each other: events, packets that are taken in parts, and the end of the session.

use super::Tunnel;
use crate::packets::{Delivered, DeliveryRoom, InnerPacket, Undelivered};
use crate::path::{PathEvent, PathPacket};
use ripstop_base::Time;

/// An event that the tunnel reports to its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEvent {
    /// An event of the path.
    Path(PathEvent),
    /// The peer receives datagrams, but no block repairs: it is too old for [`Code::Block`](super::Code::Block).
    BlocksIgnored,
}

impl<P: InnerPacket> Tunnel<P> {
    /// Requests a packet about the path: a challenge, or the answer to one. The packet leaves before
    /// all other packets. At most four packets wait; a further one is dropped.
    pub fn request_path_packet(&mut self, packet: PathPacket) {
        self.path.requests.request_packet(packet);
    }

    /// Whether a requested packet about the path waits to be sent.
    pub fn has_path_packet(&self) -> bool {
        self.path.requests.has_packet()
    }

    /// Ends the session. When the ingress queue is empty, [`Session::poll_transmit`](crate::session::Session) returns the
    /// packets that tell the peer about the end.
    pub fn close(&mut self) {
        self.path.requests.close();
    }

    /// Ends the session like [`Tunnel::close`], but does not wait for the ingress queue. Does nothing if the peer was told.
    pub fn close_now(&mut self) {
        self.path.requests.close_now();
    }

    /// Gives up all symbols that packets wait for, because the peer sends nothing more in this session.
    /// [`Session::poll_deliver`](crate::session::Session) then returns these packets.
    pub fn release_held(&mut self, now: Time) {
        self.receiver.finish(now, &mut self.delivery);
        self.delivery.release();
    }

    /// Removes and returns the next packet for the user, like [`Session::poll_deliver`](crate::session::Session), if there
    /// is `room`.
    pub fn poll_deliver_within(&mut self, room: &mut DeliveryRoom) -> Option<Delivered<P>> {
        self.delivery.poll(self.now, room)
    }

    /// The memory of the packets that may be delivered now, bytes. They leave soon. None: there are no such packets.
    pub fn deliverable(&self) -> Option<usize> {
        let (packets, bytes) = self.delivery.ready();
        (packets > 0).then_some(bytes)
    }

    /// Removes the packets that may be delivered now, because the session is over. None: there are none.
    pub fn take_undelivered(&mut self) -> Option<Undelivered<P>> {
        self.deliverable().map(|_| self.delivery.take_undelivered())
    }
}
