//! Routes: finds the lists of links between the nodes that a scenario names.

use super::error::{ScenarioError, refuse};
use super::spec::{LinkSpec, Scenario};
use crate::wifi::{Routing, hop_counts};
use std::collections::{BTreeMap, BTreeSet};

/// A link on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leg {
    /// A direction of a wired link: 2k for the `forth` of link k, and 2k + 1 for its other direction.
    Wired(usize),
    /// The way between two stations of a medium, over the stations between them.
    Radio {
        /// The number of the medium.
        medium: usize,
        /// The stations at the ends, by their numbers on the medium.
        ends: [usize; 2],
        /// The number of hops on the shortest way. If AODV runs and there is no way, this is the number of stations.
        hops: u32,
    },
}

/// An edge of the graph: a leg, and the node that it leads to.
type Edge = (Leg, usize);

/// The links and media of a scenario as a directed graph.
#[derive(Debug)]
pub(super) struct Topology<'a> {
    /// The number of each node, by its name.
    nodes: BTreeMap<&'a str, usize>,
    /// For each node by number: the legs that leave it, and the nodes that they lead to.
    out: Vec<Vec<Edge>>,
}

impl Leg {
    /// The number of hops.
    fn hops(self) -> u32 {
        match self {
            Leg::Wired(_) => 1,
            Leg::Radio { hops, .. } => hops,
        }
    }
}

impl Scenario {
    /// The ways over media that tunnels and flows take. The list has each way only one time, in the order in which the
    /// ways are first taken. The link numbers of these ways follow the numbers of the wired links.
    pub(super) fn radio_legs(&self, topology: &Topology<'_>) -> Result<Vec<Leg>, ScenarioError> {
        let mut legs = Vec::new();
        if self.medium.is_empty() {
            return Ok(legs);
        }
        let mut routes = Vec::new();
        for k in 0..self.tunnel.len() {
            routes.push(topology.of_tunnel(self, k)?);
        }
        for (k, flow) in self.flow.iter().enumerate() {
            if flow.tunnel.is_none() {
                routes.push(self.flow_links(topology, k, None)?);
            }
        }
        for leg in routes.into_iter().flatten().flatten() {
            if matches!(leg, Leg::Radio { .. }) && !legs.contains(&leg) {
                legs.push(leg);
            }
        }
        Ok(legs)
    }

    /// The node at the end of a leg.
    pub(super) fn end_of(&self, leg: Leg) -> &str {
        match leg {
            Leg::Wired(k) => &self.link[k / 2].between[usize::from(k % 2 == 0)],
            Leg::Radio { medium, ends: [_, to], .. } => &self.medium[medium].stations[to].name,
        }
    }

    /// The names of all links by their nodes, such as `n0>n1`, in the order of their numbers.
    pub fn link_names(&self) -> Vec<String> {
        let names = |link: &LinkSpec| {
            let [a, b] = &link.between;
            [Some(format!("{a}>{b}")), (!link.one_way).then(|| format!("{b}>{a}"))]
        };
        let radio = self.radio_legs(&Topology::of(self)).unwrap_or_default();
        let radio = radio.into_iter().filter_map(|leg| match leg {
            Leg::Wired(_) => None,
            Leg::Radio { medium, ends, .. } => {
                let [a, b] = ends.map(|k| self.medium[medium].stations[k].name.as_str());
                Some(format!("{a}>{b}"))
            }
        });
        self.link.iter().flat_map(names).flatten().chain(radio).collect()
    }
}

impl<'a> Topology<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Topology<'a> {
        let mut topology = Topology { nodes: BTreeMap::new(), out: Vec::new() };
        for (k, link) in scenario.link.iter().enumerate() {
            let [a, b] = link.between.each_ref().map(|name| topology.add_node(name));
            topology.out[a].push((Leg::Wired(2 * k), b));
            if !link.one_way {
                topology.out[b].push((Leg::Wired(2 * k + 1), a));
            }
        }
        for (medium, spec) in scenario.medium.iter().enumerate() {
            let stations: Vec<usize> = spec.stations.iter().map(|station| topology.add_node(&station.name)).collect();
            for (from, counts) in hop_counts(&spec.config(), &spec.places()).iter().enumerate() {
                for (to, hops) in counts.iter().enumerate() {
                    // With AODV the leg exists even if no way leads to the station: AODV itself finds out that there is
                    // no way.
                    let unknown = (spec.routing == Routing::Aodv).then_some(spec.stations.len() as u32);
                    if let Some(hops) = hops.or(unknown).filter(|hops| *hops > 0) {
                        let leg = Leg::Radio { medium, ends: [from, to], hops };
                        topology.out[stations[from]].push((leg, stations[to]));
                    }
                }
            }
        }
        topology
    }

    /// The number of the node `name`, which is added if it is new.
    fn add_node(&mut self, name: &'a str) -> usize {
        let out = &mut self.out;
        *self.nodes.entry(name).or_insert_with(|| {
            out.push(Vec::new());
            out.len() - 1
        })
    }

    /// The links of flow `index`, there and back. The flow must not use a tunnel.
    pub(super) fn of_flow(&self, scenario: &Scenario, index: usize) -> Result<[Vec<Leg>; 2], ScenarioError> {
        let flow = &scenario.flow[index];
        let fields = [format!("flow[{index}].from"), format!("flow[{index}].to")];
        if !flow.route.is_empty() {
            let from = self.node(&flow.from, &fields[0])?;
            let to = self.node(&flow.to, &fields[1])?;
            return self.written_route(scenario, index, from, to);
        }
        self.both_ways([&flow.from, &flow.to], fields)
    }

    /// The links of tunnel `index`, there and back.
    pub(super) fn of_tunnel(&self, scenario: &Scenario, index: usize) -> Result<[Vec<Leg>; 2], ScenarioError> {
        let [from, to] = &scenario.tunnel[index].between;
        self.both_ways([from, to], [0, 1].map(|k| format!("tunnel[{index}].between[{k}]")))
    }

    /// The routes with the fewest hops between two nodes, there and back.
    fn both_ways(&self, [from, to]: [&str; 2], fields: [String; 2]) -> Result<[Vec<Leg>; 2], ScenarioError> {
        let (a, b) = (self.node(from, &fields[0])?, self.node(to, &fields[1])?);
        let [_, field] = fields;
        if a == b {
            return refuse(field, "both ends are one node; name another node");
        }
        let none = |from: &str, to: &str| {
            let problem = format!("no links lead from `{from}` to `{to}`; add a link, or remove `one-way`");
            ScenarioError::new(field.clone(), problem)
        };
        let there = self.shortest(a, b).ok_or_else(|| none(from, to))?;
        let back = self.shortest(b, a).ok_or_else(|| none(to, from))?;
        Ok([there, back])
    }

    /// The route written in the scenario.
    fn written_route(
        &self,
        scenario: &Scenario,
        index: usize,
        from: usize,
        to: usize,
    ) -> Result<[Vec<Leg>; 2], ScenarioError> {
        let flow = &scenario.flow[index];
        let mut nodes: Vec<usize> = Vec::with_capacity(flow.route.len());
        for (k, name) in flow.route.iter().enumerate() {
            let field = format!("flow[{index}].route[{k}]");
            let node = self.node(name, &field)?;
            if nodes.contains(&node) {
                return refuse(field, format!("`{name}` is on the route twice; remove the loop"));
            }
            if let Some(last) = nodes.last()
                && self.direct_link(*last, node).is_none()
            {
                let before = &flow.route[k - 1];
                return refuse(
                    field,
                    format!("no link leads from `{before}` to `{name}`; add a link, or change the route"),
                );
            }
            nodes.push(node);
        }
        if nodes.first() != Some(&from) || nodes.last() != Some(&to) {
            let problem = format!(
                "the route does not lead from end to end; begin with `{}` and end with `{}`",
                flow.from, flow.to
            );
            return refuse(format!("flow[{index}].route"), problem);
        }
        let there = nodes.windows(2).filter_map(|pair| self.direct_link(pair[0], pair[1])).collect();
        nodes.reverse();
        let back: Option<Vec<Leg>> = nodes.windows(2).map(|pair| self.direct_link(pair[0], pair[1])).collect();
        let back = back.or_else(|| self.shortest(to, from)).ok_or_else(|| {
            let problem = format!("no links lead back from `{}` to `{}`; add a link", flow.to, flow.from);
            ScenarioError::new(format!("flow[{index}].route"), problem)
        })?;
        Ok([there, back])
    }

    /// The number of the node `name`. `field` is the field that names it, for the error.
    fn node(&self, name: &str, field: &str) -> Result<usize, ScenarioError> {
        self.nodes.get(name).copied().ok_or_else(|| {
            let known: Vec<String> = self.nodes.keys().take(20).map(|name| format!("`{name}`")).collect();
            ScenarioError::new(
                field,
                format!("no link or medium names the node `{name}`; write one of {}", known.join(", ")),
            )
        })
    }

    /// The first link that leads directly from one node to another.
    fn direct_link(&self, from: usize, to: usize) -> Option<Leg> {
        self.out[from].iter().find(|(_, end)| *end == to).map(|(leg, _)| *leg)
    }

    /// The route with the fewest hops. If several routes have the fewest hops, the route whose links come first in the
    /// file wins.
    fn shortest(&self, from: usize, to: usize) -> Option<Vec<Leg>> {
        // For each node that was reached: the number of hops to the node, and the last leg with the node where this leg
        // begins.
        let mut reached: Vec<Option<(u32, Edge)>> = vec![None; self.out.len()];
        // Nodes whose legs are still to be followed. They are sorted by the number of hops, then by the order in which
        // they were reached.
        let mut waiting = BTreeSet::from([(0, 0, from)]);
        let mut order = 0;
        while let Some((hops, _, node)) = waiting.pop_first() {
            for (leg, end) in &self.out[node] {
                let hops = hops + leg.hops();
                if *end != from && reached[*end].is_none_or(|(before, _)| hops < before) {
                    reached[*end] = Some((hops, (*leg, node)));
                    order += 1;
                    waiting.insert((hops, order, *end));
                }
            }
        }
        let (mut legs, mut node) = (Vec::new(), to);
        while node != from {
            let (_, (leg, before)) = reached[node]?;
            legs.push(leg);
            node = before;
        }
        legs.reverse();
        Some(legs)
    }
}
