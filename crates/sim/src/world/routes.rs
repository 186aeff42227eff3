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
    /// Whether a packet on this link can be offered to the next link early, before the packet arrives there.
    /// [`Routes::settle`] decides this.
    pub(super) through: bool,
}

/// The links of the way there, the links of the way back, and the nodes at the ends of both ways.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The links of the way there, and the links of the way back.
    pub(super) ways: [Vec<Hop>; 2],
    /// The node at the end of the way there, and the node at the end of the way back.
    pub(super) ends: [NodeId; 2],
    /// Relays on the way there, which take packets off the route. Each entry has the number of links before the relay,
    /// and the relay's node.
    pub(super) relays: Vec<(usize, NodeId)>,
    /// The flow or session that owns the route's packets. Observers are told this owner.
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
    /// Packets come from hosts, sessions or relays, or from more than one link.
    Others,
}

impl Route {
    /// A route whose way there has the links `there`, and whose way back has the links `back`.
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

    /// The links of a route's way back if `back` is true. Otherwise the links of its way there.
    #[inline]
    pub(super) fn way(&self, route: u32, back: bool) -> &[Hop] {
        &self.routes[route as usize].ways[usize::from(back)]
    }

    /// Finds the links that get all their packets from a single other link, in that link's order.
    ///
    /// A packet for such a link can be offered to the link early. The time of the offer is then the packet's future
    /// arrival time at the link. No other packet can be offered in between.
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
                    && [link, next].iter().all(|link| pipes[*link as usize].decides_at_once())
                    && pipes[next as usize].link.always_delays();
            }
        }
    }
}
