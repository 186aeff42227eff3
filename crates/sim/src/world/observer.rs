//! Observers: what is told of a world while it runs.

use super::packet::NetworkPacket;
use crate::tcp::Completion;
use ripstop_base::Time;
use ripstop_link::Fate;

/// What the packets of a route belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The flow of this number.
    Flow(u32),
    /// The tunnel of this number.
    Tunnel(u32),
    /// The path of this number between two endpoints.
    Endpoints(u32),
}

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub enum Happening<'a> {
    /// A packet was offered to a link, which answered with its fate.
    Offered {
        /// Number of the link, as [`super::World::add_link`] gave it.
        link: usize,
        /// The packet.
        packet: &'a NetworkPacket,
        /// The flow or session that it belongs to.
        owner: Owner,
        /// Whether this is the first link of its way.
        first: bool,
        /// What becomes of it.
        fate: &'a Fate,
    },
    /// A packet has come to the end of a link.
    Arrived {
        /// Number of the link.
        link: usize,
        /// The packet.
        packet: &'a NetworkPacket,
        /// The flow or session that it belongs to.
        owner: Owner,
        /// Whether this was the last link of its way.
        last: bool,
    },
    /// A sender has taken in an acknowledgement or a time-out.
    Window {
        /// Number of the flow.
        flow: usize,
        /// Its congestion window, packets; it may exceed the receiver's.
        cwnd: f64,
        /// Its smoothed round-trip time, s.
        srtt: Option<f64>,
    },
    /// A receiver has taken in a packet.
    Received {
        /// Number of the flow.
        flow: usize,
        /// Bytes of payload that have arrived in order so far.
        bytes: u64,
    },
    /// A transfer is complete: a file, an answer; a request, with its answer.
    Completed {
        /// Number of the flow.
        flow: usize,
        /// When it was due, when it was complete, and its size.
        completion: Completion,
    },
}

/// Is told of everything that happens. The world is compiled for each kind of observer, so that `()`, which sees nothing,
/// costs nothing.
pub trait Observer {
    /// Whether it observes at all. Where nobody observes, packets may pass several links in one step; the effects are the same.
    const LOOKS: bool = true;

    /// Called with everything that happens, in the order in which it does.
    fn note(&mut self, now: Time, happening: Happening<'_>);
}

impl Observer for () {
    const LOOKS: bool = false;

    #[inline(always)]
    fn note(&mut self, _: Time, _: Happening<'_>) {}
}

/// Two observers, each of which may be missing.
impl<A: Observer, B: Observer> Observer for (Option<A>, Option<B>) {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        if let Some(first) = &mut self.0 {
            first.note(now, happening);
        }
        if let Some(second) = &mut self.1 {
            second.note(now, happening);
        }
    }
}

impl<F: FnMut(Time, Happening<'_>)> Observer for F {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        self(now, happening);
    }
}
