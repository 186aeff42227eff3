//! How stations find the next hop of a packet: static routes, or AODV. This file connects both kinds of routing to the
//! medium.

use super::aodv::{Action, Router};
use super::config::{Routing, WifiConfig};
use super::counters::RoutingCounters;
use super::link_layer::Passing;
use super::medium::{DropReason, Medium, MediumOutput};
use super::propagation::Hearer;
use super::queue::{Load, Packet, Payload, Queued};
use super::static_routes::StaticRoutes;
use super::timers::Timer;
use ripstop_base::Seed;
use ripstop_base::Time;

/// The routes of all stations.
#[derive(Debug)]
pub(super) enum Routes<P> {
    /// Static routes.
    Static(StaticRoutes),
    /// The AODV routers of all stations.
    Aodv(Vec<Router<P>>),
}

impl<P> Routes<P> {
    pub(super) fn new(config: &WifiConfig, hearers: &[Vec<Hearer>], seed: Seed) -> Routes<P> {
        let router = |k: usize| Router::new(k as u32, seed.stream(&format!("aodv/{k}")));
        match config.routing {
            Routing::Static => Routes::Static(StaticRoutes::new(hearers)),
            Routing::Aodv => Routes::Aodv((0..hearers.len()).map(router).collect()),
        }
    }
}

impl<P: Packet> Medium<P> {
    /// What the routing protocol of station `station` has counted.
    ///
    /// # Panics
    /// If the stations use AODV and there is no such station.
    pub fn routing_counters(&self, station: usize) -> RoutingCounters {
        match &self.routes {
            Routes::Static(_) => RoutingCounters::default(),
            Routes::Aodv(routers) => routers[station].counters(),
        }
    }

    /// The routers of the stations. Empty with static routes.
    pub(super) fn routers(&self) -> &[Router<P>] {
        match &self.routes {
            Routes::Static(_) => &[],
            Routes::Aodv(routers) => routers,
        }
    }

    /// Finds the next hop of a packet at station `k`, and sends the packet down to the queue.
    pub(super) fn route(&mut self, k: usize, mut packet: Queued<P>, now: Time) {
        match &mut self.routes {
            Routes::Static(routes) => match routes.next_hop(k, packet.destination as usize) {
                Some(to) => {
                    packet.to = to;
                    self.pass(k, Passing::Down(packet), now);
                }
                None => self.drop_packet(k, packet, DropReason::NoRoute),
            },
            Routes::Aodv(routers) => {
                routers[k].route(packet, now);
                self.follow_router(k, now);
            }
        }
    }

    /// Station `k` has received a packet. The station delivers the packet, passes it on, or gives it to the routing
    /// protocol.
    pub(super) fn arrive(&mut self, k: usize, mut packet: Queued<P>, now: Time) {
        match packet.packet.take() {
            Some(Payload::Message(message)) => {
                if let (Routes::Aodv(routers), Some(from)) = (&mut self.routes, packet.from) {
                    routers[k].receive(message, from, now);
                    self.follow_router(k, now);
                }
            }
            Some(Payload::Packet(content)) if packet.destination as usize == k => {
                self.outputs.push_back(MediumOutput::Delivered(content));
            }
            content => {
                packet.packet = content;
                self.route(k, packet, now);
            }
        }
    }

    /// The number of hops from station `k` to `destination`, as the station's routing protocol knows it. None if the
    /// station has no route.
    pub(super) fn hops(&self, k: usize, destination: u32) -> Option<u32> {
        match &self.routes {
            Routes::Static(routes) => routes.hops(k, destination as usize),
            Routes::Aodv(routers) => routers[k].hops(destination),
        }
    }

    /// The MAC of station `k` gives a packet up at the retry limit. AODV takes this for a broken link, unless the
    /// packet is a message of AODV.
    pub(super) fn give_up(&mut self, k: usize, packet: Queued<P>, now: Time) {
        match &mut self.routes {
            Routes::Aodv(routers) if packet.load != Load::Routing => {
                self.stations[k].counters.retry_drops += 1;
                routers[k].on_link_break(packet, now);
                self.follow_router(k, now);
            }
            _ => self.drop_packet(k, packet, DropReason::RetryLimit),
        }
    }

    /// The routing timer of station `k` has ended.
    pub(super) fn wake_router(&mut self, k: usize, now: Time) {
        if let Routes::Aodv(routers) = &mut self.routes {
            routers[k].wake(now);
            self.follow_router(k, now);
        }
    }

    /// Does what the router of station `k` asks for, and sets the routing timer.
    fn follow_router(&mut self, k: usize, now: Time) {
        loop {
            let Routes::Aodv(routers) = &mut self.routes else { return };
            let Some(action) = routers[k].poll() else {
                let due = routers[k].next_due();
                return self.stations[k].timers.set(Timer::Routing, due);
            };
            match action {
                Action::Send(packet) => self.pass(k, Passing::Down(packet), now),
                Action::Drop(packet, reason) => self.drop_packet(k, packet, reason),
                Action::Flush(neighbour) => {
                    for packet in self.stations[k].queue.remove_for(neighbour) {
                        self.drop_packet(k, packet, DropReason::LinkBreak);
                    }
                }
            }
        }
    }
}
