//! Routes: the lists of links that packets pass. This file also finds the links after which a packet can go on to the
//! next link without an alarm.

use super::node::NodeId;
use super::observer::Owner;
use super::pipe::Pipe;

/// A link, by kind. The number is the link's place in the fabric's list of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkId {
    /// One direction of a wired link.
    Wired(u32),
    /// The way from one station of a shared medium to another.
    Radio(u32),
}

/// A link of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    /// The link.
    pub(super) link: LinkId,
    /// Whether a packet on this link can be offered to the next link before it reaches that link. [`Routes::settle`]
    /// decides this.
    pub(super) through: bool,
}

/// A list of links there, a list of links back, and the nodes at their ends.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The links there, and the links back.
    pub(super) ways: [Vec<Hop>; 2],
    /// The node at the end of the way there, and the node at the end of the way back.
    pub(super) ends: [NodeId; 2],
    /// Relays on the way there, which take packets off the route. Each entry has the number of links before the relay,
    /// and the relay.
    pub(super) relays: Vec<(usize, NodeId)>,
    /// The flow or session that observers are told as the owner of the route's packets.
    pub(super) owner: Owner,
}

/// All routes of a world.
#[derive(Debug, Default)]
pub(super) struct Routes {
    routes: Vec<Route>,
    /// Whether no route was added since the last call of [`Routes::settle`].
    settled: bool,
}

/// Where the packets of a link come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    /// No route uses the link.
    Nobody,
    /// All packets come from this wired link.
    Link(u32),
    /// From hosts, sessions or relays, or from more than one link.
    Others,
}

impl Route {
    /// A route there over the links `there`, and back over the links `back`.
    pub(super) fn new(there: &[LinkId], back: &[LinkId], ends: [NodeId; 2], owner: Owner) -> Route {
        let hop = |link: &LinkId| Hop { link: *link, through: false };
        Route { ways: [there, back].map(|way| way.iter().map(hop).collect()), ends, relays: Vec::new(), owner }
    }
}

impl Routes {
    /// Adds a route, and returns its number.
    pub(super) fn add(&mut self, route: Route) -> u32 {
        self.routes.push(route);
        self.settled = false;
        self.routes.len() as u32 - 1
    }

    /// The route with this number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &Route {
        &self.routes[number as usize]
    }

    /// The links of a route: back if `back`, else there.
    #[inline]
    pub(super) fn way(&self, route: u32, back: bool) -> &[Hop] {
        &self.routes[route as usize].ways[usize::from(back)]
    }

    /// Finds the links that get all their packets from a single other link, in that link's order.
    ///
    /// A packet for such a link can be offered to it early, with its future arrival time as the time of the offer. No
    /// other packet can be offered in between.
    pub(super) fn settle(&mut self, pipes: &[Pipe]) {
        if self.settled {
            return;
        }
        self.settled = true;
        let mut feeders = vec![Feeder::Nobody; pipes.len()];
        for route in &self.routes {
            for (back, way) in route.ways.iter().enumerate() {
                for (k, hop) in way.iter().enumerate() {
                    let is_relayed = back == 0 && route.relays.iter().any(|(behind, _)| *behind == k);
                    let LinkId::Wired(link) = hop.link else { continue };
                    let from = match k.checked_sub(1).filter(|_| !is_relayed).map(|before| way[before].link) {
                        Some(LinkId::Wired(before)) => Feeder::Link(before),
                        _ => Feeder::Others,
                    };
                    let feeder = &mut feeders[link as usize];
                    let same = *feeder == Feeder::Nobody || *feeder == from;
                    *feeder = if same { from } else { Feeder::Others };
                }
            }
        }
        for way in self.routes.iter_mut().flat_map(|route| &mut route.ways) {
            for k in 1..way.len() {
                let (LinkId::Wired(link), LinkId::Wired(next)) = (way[k - 1].link, way[k].link) else { continue };
                // A link without delay could deliver at the very time of the offer. Events at the same time have an
                // order, which the early offer would change.
                way[k - 1].through = feeders[next as usize] == Feeder::Link(link)
                    && pipes[link as usize].link.keeps_order()
                    && pipes[next as usize].link.always_delays();
            }
        }
    }
}
