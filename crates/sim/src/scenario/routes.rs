//! Routes: finds the lists of links between the nodes that a scenario names.

use super::error::{ScenarioError, refuse};
use super::spec::Scenario;
use std::collections::{BTreeMap, VecDeque};

/// The links of a scenario as a directed graph. Each direction of a link has a number: 2k for the `forth` of link k,
/// and 2k + 1 for its other direction, if it has one.
#[derive(Debug)]
pub(super) struct Topology<'a> {
    /// The number of each node, by its name.
    nodes: BTreeMap<&'a str, usize>,
    /// For each node by number: the link directions that leave it, and the nodes that they lead to.
    out: Vec<Vec<(usize, usize)>>,
}

impl<'a> Topology<'a> {
    pub(super) fn of(scenario: &'a Scenario) -> Topology<'a> {
        let mut nodes = BTreeMap::new();
        let mut out: Vec<Vec<(usize, usize)>> = Vec::new();
        for (k, link) in scenario.link.iter().enumerate() {
            let [a, b] = link.between.each_ref().map(|name| {
                *nodes.entry(name.as_str()).or_insert_with(|| {
                    out.push(Vec::new());
                    out.len() - 1
                })
            });
            out[a].push((2 * k, b));
            if !link.one_way {
                out[b].push((2 * k + 1, a));
            }
        }
        Topology { nodes, out }
    }

    /// The links of flow `index`, there and back. The flow must not use a tunnel.
    pub(super) fn of_flow(&self, scenario: &Scenario, index: usize) -> Result<[Vec<usize>; 2], ScenarioError> {
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
    pub(super) fn of_tunnel(&self, scenario: &Scenario, index: usize) -> Result<[Vec<usize>; 2], ScenarioError> {
        let [from, to] = &scenario.tunnel[index].between;
        self.both_ways([from, to], [0, 1].map(|k| format!("tunnel[{index}].between[{k}]")))
    }

    /// The routes with the fewest links between two nodes, there and back.
    fn both_ways(&self, [from, to]: [&str; 2], fields: [String; 2]) -> Result<[Vec<usize>; 2], ScenarioError> {
        let (a, b) = (self.node(from, &fields[0])?, self.node(to, &fields[1])?);
        let [_, field] = fields;
        if a == b {
            return refuse(field, "both ends are one node; name another");
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
    ) -> Result<[Vec<usize>; 2], ScenarioError> {
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
                    format!("no link leads from `{before}` to `{name}`; add one, or change the route"),
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
        let back: Option<Vec<usize>> = nodes.windows(2).map(|pair| self.direct_link(pair[0], pair[1])).collect();
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
            ScenarioError::new(field, format!("no link names the node `{name}`; write one of {}", known.join(", ")))
        })
    }

    /// The first link that leads directly from one node to another.
    fn direct_link(&self, from: usize, to: usize) -> Option<usize> {
        self.out[from].iter().find(|(_, end)| *end == to).map(|(link, _)| *link)
    }

    /// The route with the fewest links. If several have the fewest, the one whose links come first in the file wins.
    fn shortest(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        let mut came_by: Vec<Option<(usize, usize)>> = vec![None; self.out.len()];
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            for (link, end) in &self.out[node] {
                if *end != from && came_by[*end].is_none() {
                    came_by[*end] = Some((*link, node));
                    waiting.push_back(*end);
                }
            }
        }
        let (mut links, mut node) = (Vec::new(), to);
        while node != from {
            let (link, before) = came_by[node]?;
            links.push(link);
            node = before;
        }
        links.reverse();
        Some(links)
    }
}
