//! The links of a medium, and which of them must not be active together (paper 002, section II-B).

use crate::wifi::{Position, WifiConfig, hop_counts};

/// The links between neighbours, with their conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conflicts {
    /// The stations of each link: transmitter and receiver. Links to stations with higher numbers come first, in
    /// ascending order of the transmitters. Links to stations with lower numbers follow, in descending order of the
    /// transmitters. For a string, these are the forward links 1 to n-1 and the reverse links n to 2n-2 of paper 002,
    /// fig. 3.
    pub(super) links: Vec<(u32, u32)>,
    /// For each link, the links in conflict with it, in ascending order.
    pub(super) with: Vec<Vec<u32>>,
}

impl Conflicts {
    /// The links between stations at these `places` that decode each other. Two links are in conflict if the
    /// transmitter of one link is at most `k` hops from the receiver of the other link. This rule covers both
    /// constraints of the paper. Stations without a path between them do not disturb each other.
    pub(super) fn new(wifi: &WifiConfig, places: &[Position], k: u32) -> Conflicts {
        let hops = hop_counts(wifi, places);
        let stations = places.len() as u32;
        let joined = |from: u32, to: u32| hops[from as usize][to as usize] == Some(1);
        let ways = |from: u32| (0..stations).filter(move |to| joined(from, *to)).map(move |to| (from, to));
        let forward = (0..stations).flat_map(ways).filter(|(from, to)| from < to);
        let mut links: Vec<(u32, u32)> = forward.collect();
        links.extend((0..stations).rev().flat_map(ways).filter(|(from, to)| from > to));
        let near = |a: u32, b: u32| hops[a as usize][b as usize].is_some_and(|hops| hops <= k);
        let conflict = |a: (u32, u32), b: (u32, u32)| near(a.0, b.1) || near(b.0, a.1);
        let with = |i: usize| {
            let others = (0..links.len()).filter(move |j| *j != i);
            others.filter(|j| conflict(links[i], links[*j])).map(|j| j as u32).collect()
        };
        let with = (0..links.len()).map(with).collect();
        Conflicts { links, with }
    }

    /// The number of the link from station `from` to station `to`. None if the two stations are not neighbours.
    pub(super) fn link(&self, from: u32, to: u32) -> Option<usize> {
        self.links.iter().position(|link| *link == (from, to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_model::domain::EquationForm;
    use ripstop_model::string::sets;

    fn string(nodes: usize, k: u32) -> Conflicts {
        let places: Vec<Position> = (0..nodes).map(|i| Position { x: 200.0 * i as f64, y: 0.0 }).collect();
        Conflicts::new(&WifiConfig::ns2(), &places, k)
    }

    #[test]
    fn a_string_has_the_links_and_conflicts_of_the_model() {
        for nodes in 2..=12 {
            for k in 1..=4 {
                let got = string(nodes, k);
                let want = sets::Conflicts::of_both_ways(nodes as u32, k, EquationForm::Corrected).unwrap();
                assert_eq!(got.links.len(), want.links(), "{nodes} nodes: links");
                for a in 0..got.links.len() {
                    for b in (0..got.links.len()).filter(|b| *b != a) {
                        let found = got.with[a].contains(&(b as u32));
                        assert_eq!(found, want.conflict(a, b), "{nodes} nodes, k {k}: links {a} and {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn stations_without_a_way_between_them_do_not_disturb_each_other() {
        let places = [0.0, 200.0, 1000.0, 1200.0].map(|x| Position { x, y: 0.0 });
        let got = Conflicts::new(&WifiConfig::ns2(), &places, 1000);
        assert_eq!(got.links, [(0, 1), (2, 3), (3, 2), (1, 0)]);
        assert_eq!(got.with, [[3], [2], [1], [0]]);
        assert_eq!((got.link(3, 2), got.link(1, 2)), (Some(2), None));
    }
}
