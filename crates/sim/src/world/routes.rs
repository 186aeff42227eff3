//! The ways of packets through the world, and the links over which packets can be carried on without an event.

use super::node::NodeId;
use super::observer::Owner;
use super::pipe::Pipe;

/// A link of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    /// The number of the link.
    pub(super) link: u32,
    /// Whether a packet that arrives over this link can be offered to the next one before its time has come; see
    /// [`Routes::settle`].
    pub(super) through: bool,
}

/// A way there and a way back, and the nodes at their ends.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// The links there, and those back.
    pub(super) ways: [Vec<Hop>; 2],
    /// The nodes at which the way there and the way back end.
    pub(super) ends: [NodeId; 2],
    /// Nodes on the way there that take the packets off the route: behind how many links, and which.
    pub(super) relays: Vec<(usize, NodeId)>,
    /// The flow or the session that an observer is told.
    pub(super) owner: Owner,
}

/// All routes.
#[derive(Debug, Default)]
pub(super) struct Routes {
    routes: Vec<Route>,
    /// Whether links and routes are the same as at the last call of [`Routes::settle`].
    settled: bool,
}

/// Where the packets of a link come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    Nobody,
    /// This link and nothing else.
    Link(u32),
    Others,
}

impl Route {
    /// A route over the links `there` and back over the links `back`.
    pub(super) fn new(there: &[usize], back: &[usize], ends: [NodeId; 2], owner: Owner) -> Route {
        let hop = |link: &usize| Hop { link: *link as u32, through: false };
        Route {
            ways: [there, back].map(|way| way.iter().map(hop).collect()),
            ends,
            relays: Vec::new(),
            owner,
        }
    }
}

impl Routes {
    /// Adds a route; returns its number.
    pub(super) fn add(&mut self, route: Route) -> u32 {
        self.routes.push(route);
        self.settled = false;
        self.routes.len() as u32 - 1
    }

    /// A route by its number.
    #[inline]
    pub(super) fn get(&self, number: u32) -> &Route {
        &self.routes[number as usize]
    }

    /// The links of a way.
    #[inline]
    pub(super) fn way(&self, route: u32, back: bool) -> &[Hop] {
        &self.routes[route as usize].ways[usize::from(back)]
    }

    /// Finds the links that are fed by a single other link, in whose order packets then come. A packet on its way to such a
    /// link can be offered to it at once, at the moment at which it will arrive: nothing else can come in between.
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
                    let from =
                        if k == 0 || is_relayed { Feeder::Others } else { Feeder::Link(way[k - 1].link) };
                    let feeder = &mut feeders[hop.link as usize];
                    let same = *feeder == Feeder::Nobody || *feeder == from;
                    *feeder = if same { from } else { Feeder::Others };
                }
            }
        }
        for way in self.routes.iter_mut().flat_map(|route| &mut route.ways) {
            for k in 1..way.len() {
                let (link, next) = (way[k - 1].link, way[k].link);
                // Over a link without delay a packet would come within the moment, and events of one moment have an order.
                way[k - 1].through = feeders[next as usize] == Feeder::Link(link)
                    && pipes[link as usize].link.keeps_order()
                    && pipes[next as usize].link.always_delays();
            }
        }
    }
}
