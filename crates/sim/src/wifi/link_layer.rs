//! The link layer of a station: packets take some time between the interface queue and the layer above.
//!
//! A packet that joins the interface queue behind other packets changes nothing until the MAC takes the next packet. So
//! no timer is set for such a packet. Before anything else happens at the station, [`Medium::hear`] lets packets leave
//! the link layer in the order of their times. A timer is set only for packets that are delivered, or that a free MAC
//! takes at once.

use super::medium::Medium;
use super::queue::{Packet, Queued};
use super::routing::Routes;
use super::timers::Timer;
use ripstop_base::Time;
use std::collections::VecDeque;

/// A packet on its way between the interface queue and the layer above.
#[derive(Clone, Debug)]
pub(super) enum Passing<P> {
    Up(Queued<P>),
    Down(Queued<P>),
}

/// The packets in the link layer of a station.
#[derive(Clone, Debug)]
pub(super) struct LinkLayer<P> {
    /// The packets, each with the time at which it leaves. The packet that leaves first comes first.
    packets: VecDeque<(Time, Passing<P>)>,
}

impl<P> LinkLayer<P> {
    pub(super) fn new() -> LinkLayer<P> {
        LinkLayer { packets: VecDeque::with_capacity(4) }
    }

    /// Adds a packet that leaves at `when`. If two packets leave at the same time, the packet that was added first
    /// leaves first.
    fn push(&mut self, when: Time, packet: Passing<P>) {
        // Most packets leave after all packets in the list.
        match self.packets.back() {
            Some((last, _)) if *last > when => {
                let at = self.packets.partition_point(|(other, _)| *other <= when);
                self.packets.insert(at, (when, packet));
            }
            _ => self.packets.push_back((when, packet)),
        }
    }

    /// When the first packet leaves. [`Time::NEVER`] if the link layer is empty.
    #[inline]
    pub(super) fn leaves(&self) -> Time {
        self.packets.front().map_or(Time::NEVER, |(when, _)| *when)
    }

    /// When the first packet for the layer above leaves. [`Time::NEVER`] if there is no such packet.
    fn delivers(&self) -> Time {
        let up = self.packets.iter().find(|(_, packet)| matches!(packet, Passing::Up(_)));
        up.map_or(Time::NEVER, |(when, _)| *when)
    }

    /// Whether no packet is in the link layer.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// The packets in the link layer.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued<P>> {
        self.packets.iter().map(|(_, Passing::Up(packet) | Passing::Down(packet))| packet)
    }
}

impl<P: Packet> Medium<P> {
    /// Passes a packet through the link layer of station `k`. With static routes, a packet that the station passes on
    /// goes up and down in one step.
    pub(super) fn pass(&mut self, k: usize, packet: Passing<P>, now: Time) {
        let delay = self.config.link_layer_delay;
        let (when, packet) = match (packet, &self.routes) {
            (Passing::Up(mut packet), Routes::Static(routes)) if packet.destination as usize != k => {
                match routes.next_hop(k, packet.destination as usize) {
                    Some(to) => {
                        packet.to = to;
                        (now + 2 * delay, Passing::Down(packet))
                    }
                    None => (now + delay, Passing::Up(packet)),
                }
            }
            (packet, _) => (now + delay, packet),
        };
        self.stations[k].link_layer.push(when, packet);
        self.await_local(k);
    }

    /// Sets the timer of station `k` for the next event inside the station that matters. Three kinds of events matter:
    /// a packet is delivered, a free MAC takes a packet, or the station's MAC ACK ends and the next packet begins to
    /// contend.
    #[inline]
    pub(super) fn await_local(&mut self, k: usize) {
        let station = &mut self.stations[k];
        let is_free = station.exchange.is_none();
        let leaves = if is_free { station.link_layer.leaves() } else { station.link_layer.delivers() };
        let is_next_due = if is_free { station.queue.len() > 0 } else { !station.countdown.is_on() };
        let answered = if station.answers != Time::NEVER && is_next_due { station.flight.ends() } else { Time::NEVER };
        station.timers.set(Timer::Local, leaves.min(answered));
    }

    /// Takes the first packet out of the link layer of station `k`, because its time has come.
    pub(super) fn leave_link_layer(&mut self, k: usize) {
        match self.stations[k].link_layer.packets.pop_front() {
            Some((when, Passing::Up(packet))) => self.arrive(k, packet, when),
            Some((when, Passing::Down(packet))) => self.enqueue(k, packet, when),
            None => {}
        }
    }
}
