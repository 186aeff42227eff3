//! The ways of packets through the network, and where they can be carried on at once.

use super::wire::Wire;

/// A link of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hop {
    /// Its number.
    pub(super) link: u32,
    /// Whether a packet that arrives over it can be offered to the next one before its time has come: see [`Routes::settle`].
    pub(super) through: bool,
}

/// A way there, and one back.
#[derive(Debug)]
struct Route {
    ways: [Vec<Hop>; 2],
    /// Behind so many links of the way there packets are made anew.
    relays: Vec<usize>,
}

/// All routes.
#[derive(Debug, Default)]
pub(super) struct Routes {
    routes: Vec<Route>,
    /// Whether links and routes are what they were when [`Routes::settle`] last looked.
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

impl Routes {
    /// Adds a route over the links `there` and back over others; returns its number.
    pub(super) fn add(&mut self, ways: [&[usize]; 2], relays: Vec<usize>) -> u32 {
        let hop = |link: &usize| Hop { link: *link as u32, through: false };
        let ways = ways.map(|way| way.iter().map(hop).collect());
        self.routes.push(Route { ways, relays });
        self.settled = false;
        self.routes.len() as u32 - 1
    }

    /// The links of a way.
    #[inline]
    pub(super) fn way(&self, route: u32, back: bool) -> &[Hop] {
        &self.routes[route as usize].ways[usize::from(back)]
    }

    /// Finds the links that are fed by a single other one, in whose order packets must then come: what is on its way to such
    /// a link can be offered to it at once, at the moment at which it will arrive. Nothing else can come in between.
    pub(super) fn settle(&mut self, wires: &[Wire]) {
        if self.settled {
            return;
        }
        self.settled = true;
        let mut feeders = vec![Feeder::Nobody; wires.len()];
        for route in &self.routes {
            for (back, way) in route.ways.iter().enumerate() {
                for (k, hop) in way.iter().enumerate() {
                    let anew = k == 0 || (back == 0 && route.relays.contains(&k));
                    let from = if anew { Feeder::Others } else { Feeder::Link(way[k - 1].link) };
                    let feeder = &mut feeders[hop.link as usize];
                    let same = *feeder == Feeder::Nobody || *feeder == from;
                    *feeder = if same { from } else { Feeder::Others };
                }
            }
        }
        for way in self.routes.iter_mut().flat_map(|route| &mut route.ways) {
            for k in 1..way.len() {
                let (link, next) = (way[k - 1].link, way[k].link);
                // Over a link without delay a packet would come within the moment, whose order is a matter of its own.
                way[k - 1].through = feeders[next as usize] == Feeder::Link(link)
                    && wires[link as usize].link.keeps_order()
                    && wires[next as usize].link.always_delays();
            }
        }
    }
}
