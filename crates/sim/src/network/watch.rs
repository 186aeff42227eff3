//! Who looks on while a network runs.

use super::packet::Packet;
use ripstop_base::Time;
use ripstop_link::Fate;

/// Something that happened.
#[derive(Debug)]
pub enum Happening<'a> {
    /// A packet was offered to a link, which answered with its fate.
    Offered {
        /// Number of the link, as [`super::Network::add_link`] gave it.
        link: usize,
        /// The packet.
        packet: &'a Packet,
        /// What becomes of it.
        fate: &'a Fate,
    },
    /// A packet has come to the end of a link.
    Arrived {
        /// Number of the link.
        link: usize,
        /// The packet.
        packet: &'a Packet,
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
}

/// Looks on. The network is compiled for each kind of observer, so that `()`, which sees nothing, costs nothing.
pub trait Observer {
    /// Called with everything that happens, in the order in which it does.
    fn note(&mut self, now: Time, happening: Happening<'_>);
}

impl Observer for () {
    #[inline(always)]
    fn note(&mut self, _: Time, _: Happening<'_>) {}
}

impl<F: FnMut(Time, Happening<'_>)> Observer for F {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        self(now, happening);
    }
}
