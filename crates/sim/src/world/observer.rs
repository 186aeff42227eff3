//! Observers, which are told what happens in a world while the world runs.

use super::packet::NetworkPacket;
use crate::tcp::Completion;
use crate::wifi::AirEvent;
use ripstop_base::Time;
use ripstop_link::Fate;

/// The flow or session that the packets of a route belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The flow with this number.
    Flow(u32),
    /// The tunnel with this number.
    Tunnel(u32),
    /// The connection of two endpoints. The number is the number of the first endpoint.
    Endpoints(u32),
}

/// Something that happened in a world.
#[derive(Clone, Copy, Debug)]
pub enum Happening<'a> {
    /// A packet was offered to a link, and the link has answered.
    Offered {
        /// Number of the link, as [`super::World::add_link`] returned it.
        link: usize,
        /// The packet.
        packet: &'a NetworkPacket,
        /// The flow or session that the packet belongs to.
        owner: Owner,
        /// Whether this is the first link of the packet's way.
        first: bool,
        /// What the link does with the packet. None on a medium, where the fate shows later. After [`Fate::Queued`],
        /// [`Happening::Decided`] follows.
        fate: Option<&'a Fate>,
    },
    /// A link has decided the fate of a packet that waited in its queue.
    Decided {
        /// Number of the link.
        link: usize,
        /// The packet.
        packet: &'a NetworkPacket,
        /// The flow or session that the packet belongs to.
        owner: Owner,
        /// What the link does with the packet; not [`Fate::Queued`].
        fate: &'a Fate,
    },
    /// A packet has arrived at the end of a link.
    Arrived {
        /// Number of the link.
        link: usize,
        /// The packet.
        packet: &'a NetworkPacket,
        /// The flow or session that the packet belongs to.
        owner: Owner,
        /// Whether this was the last link of the packet's way.
        last: bool,
    },
    /// A sender has sent what it may send after an acknowledgement, a time-out or new data.
    Window {
        /// Number of the flow.
        flow: usize,
        /// The flow's congestion window, packets. It may exceed the receiver's window.
        cwnd: f64,
        /// The flow's smoothed round-trip time, s.
        srtt: Option<f64>,
    },
    /// A receiver has processed a packet.
    Received {
        /// Number of the flow.
        flow: usize,
        /// Bytes that have arrived so far: payload in order for TCP, payload in any order for UDP.
        bytes: u64,
    },
    /// A transfer is complete: a file, an answer, or a request with its answer.
    Completed {
        /// Number of the flow.
        flow: usize,
        /// When the transfer was due, when it was complete, and its size.
        completion: Completion,
    },
    /// Something happened on the air of a medium. Only observers with [`Observer::hears_air`] are told.
    Air {
        /// Number of the medium.
        medium: usize,
        /// What happened. The event has its own time, which may be earlier than the time of the call to
        /// [`Observer::note`].
        event: &'a AirEvent<NetworkPacket>,
        /// For each packet of a sent frame, the flow or session that the packet belongs to. None where the record has
        /// no packet.
        owners: [Option<Owner>; 2],
    },
}

/// An observer is told of everything that happens in a world. The world's code is compiled for each type of observer,
/// so the observer `()`, which ignores everything, costs nothing.
pub trait Observer {
    /// Whether the observer uses what it is told. If false, packets may pass several links in one step, which saves
    /// time. The results are the same.
    const LOOKS: bool = true;

    /// Whether the observer wants to be told of [`Happening::Air`]. [`super::World::run_until`] asks this when it
    /// starts.
    fn hears_air(&self) -> bool {
        false
    }

    /// The world calls this method for each happening, in the order of the happenings.
    fn note(&mut self, now: Time, happening: Happening<'_>);
}

impl Observer for () {
    const LOOKS: bool = false;

    #[inline(always)]
    fn note(&mut self, _: Time, _: Happening<'_>) {}
}

/// An observer that may be missing.
impl<A: Observer> Observer for Option<A> {
    const LOOKS: bool = A::LOOKS;

    fn hears_air(&self) -> bool {
        self.as_ref().is_some_and(A::hears_air)
    }

    fn note(&mut self, now: Time, happening: Happening<'_>) {
        if let Some(observer) = self {
            observer.note(now, happening);
        }
    }
}

/// Two observers, which are both told of everything.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const LOOKS: bool = A::LOOKS || B::LOOKS;

    fn hears_air(&self) -> bool {
        self.0.hears_air() || self.1.hears_air()
    }

    fn note(&mut self, now: Time, happening: Happening<'_>) {
        self.0.note(now, happening);
        self.1.note(now, happening);
    }
}

impl<F: FnMut(Time, Happening<'_>)> Observer for F {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        self(now, happening);
    }
}
