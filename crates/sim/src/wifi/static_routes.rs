//! Static routing: each station knows the next hop of the shortest path to every other station.

use super::config::WifiConfig;
use super::propagation::{Hearer, Position, hearers};
use std::collections::VecDeque;

/// The next hops of all stations. A path has the fewest hops over stations that decode each other. If several paths
/// have the fewest hops, the search from the destination takes the nearest stations first.
#[derive(Clone, Debug)]
pub(super) struct StaticRoutes {
    /// For each destination: the next hop of each station. None where no path leads to the destination.
    next: Vec<Vec<Option<u32>>>,
}

impl StaticRoutes {
    pub(super) fn new(hearers: &[Vec<Hearer>]) -> StaticRoutes {
        StaticRoutes { next: (0..hearers.len()).map(|to| towards(hearers, to)).collect() }
    }

    /// The station to which `from` sends a packet for `to`. None if no path leads to `to`.
    pub(super) fn next_hop(&self, from: usize, to: usize) -> Option<u32> {
        self.next[to][from]
    }

    /// The number of hops from `from` to `to`. None if no path leads to `to`.
    pub(super) fn hops(&self, from: usize, to: usize) -> Option<u32> {
        hops(&self.next[to], from, to)
    }
}

/// The number of hops on the static route from each station to each other station. `places` has the positions of the
/// stations. None where there is no route.
pub fn hop_counts(config: &WifiConfig, places: &[Position]) -> Vec<Vec<Option<u32>>> {
    let hearers = hearers(config, places);
    let count = |to: usize| {
        let next = towards(&hearers, to);
        (0..places.len()).map(|from| hops(&next, from, to)).collect()
    };
    // Shortest paths have the same length in both directions, so the two indices may be exchanged.
    (0..places.len()).map(count).collect()
}

/// The number of hops from `from` to `to`. `next` has the next hop of each station towards `to`. None if no path leads
/// to `to`.
fn hops(next: &[Option<u32>], from: usize, to: usize) -> Option<u32> {
    let (mut at, mut hops) = (from, 0);
    while at != to {
        at = next[at]? as usize;
        hops += 1;
    }
    Some(hops)
}

/// The next hop of each station towards `to`, found by a breadth-first search from `to`. Power and ranges are the same
/// in both directions, so each path can be used in both directions.
fn towards(hearers: &[Vec<Hearer>], to: usize) -> Vec<Option<u32>> {
    let mut next = vec![None; hearers.len()];
    let mut waiting = VecDeque::from([to]);
    while let Some(station) = waiting.pop_front() {
        for hearer in hearers[station].iter().filter(|hearer| hearer.decodes) {
            let found = &mut next[hearer.station as usize];
            if hearer.station as usize != to && found.is_none() {
                *found = Some(station as u32);
                waiting.push_back(hearer.station as usize);
            }
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_has_the_fewest_hops_and_ends_where_nobody_hears() {
        let places = [0.0, 200.0, 240.0, 440.0, 1000.0].map(|x| Position { x, y: 0.0 });
        let routes = StaticRoutes::new(&hearers(&WifiConfig::ns2(), &places));
        assert_eq!(routes.next_hop(0, 3), Some(2));
        // The nearest station of the destination comes first, so the path back differs.
        assert_eq!(routes.next_hop(3, 0), Some(1));
        assert_eq!(routes.next_hop(0, 4), None);
        assert_eq!(hop_counts(&WifiConfig::ns2(), &places)[0], [Some(0), Some(1), Some(1), Some(2), None]);
    }
}
