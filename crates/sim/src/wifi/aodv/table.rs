//! The routing table of a station: a route for each destination that the station has heard of.

use ripstop_base::Time;
use std::time::Duration;

/// The hop count of an invalid route. A valid route has fewer hops.
pub(super) const INFINITY: u32 = 255;

/// The expected time of a request over one hop and of its reply, until a discovery of the route has measured this time:
/// 30 ms (ns-2's value; RFC 3561 has 40 ms). A discovery waits for a multiple of this time. Half or double the value
/// changes only discoveries of routes without a reply so far.
const NODE_TRAVERSAL_TIME: Duration = Duration::from_millis(30);

/// The number of discoveries whose duration a route remembers: 3 (ns-2's value). With half the value, the waits between
/// requests follow changes of load faster. With double the value, they follow more slowly. In both cases the waits
/// change little.
const HISTORY: usize = 3;

/// Whether packets may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteState {
    /// Packets may not use the route. The table keeps the route's last sequence number.
    Invalid,
    /// Packets may use the route.
    Valid,
    /// This station looks for another next hop. Packets wait until it has found one.
    InRepair,
}

/// The state of the discovery of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Discovery {
    /// The station sends no new request before this time. [`Time::ZERO`] if no discovery is under way.
    pub(super) wait_until: Time,
    /// The number of requests to the whole network without a reply.
    pub(super) floods: u32,
    /// The time to live of the last request. After a reply: the hop count of this reply. 0 before the first request.
    pub(super) last_ttl: u32,
}

/// A route to one destination.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) destination: u32,
    /// The destination's sequence number. When the route is lost, the number grows by 1, and so becomes odd.
    pub(super) sequence: u32,
    /// The number of hops to the destination. [`INFINITY`] if the route is invalid.
    pub(super) hops: u32,
    /// The hop count of the route before it was lost. [`INFINITY`] if the route was never lost.
    pub(super) last_hops: u32,
    pub(super) next_hop: u32,
    pub(super) state: RouteState,
    /// When the route expires. Each packet that uses the route moves this time.
    pub(super) expires: Time,
    /// The neighbours that are known to use the route.
    pub(super) precursors: Vec<u32>,
    pub(super) discovery: Discovery,
    /// The durations of the last discoveries, each divided by the number of hops. Zero where there was no discovery
    /// yet.
    durations: [Duration; HISTORY],
    /// The entry of `durations` that is replaced next.
    oldest: usize,
}

impl Route {
    /// An invalid route.
    fn new(destination: u32) -> Route {
        Route {
            destination,
            sequence: 0,
            hops: INFINITY,
            last_hops: INFINITY,
            next_hop: 0,
            state: RouteState::Invalid,
            expires: Time::ZERO,
            precursors: Vec::new(),
            discovery: Discovery { wait_until: Time::ZERO, floods: 0, last_ttl: 0 },
            durations: [Duration::ZERO; HISTORY],
            oldest: 0,
        }
    }

    /// Whether a route with this sequence number and hop count is fresher, or as fresh and shorter.
    pub(super) fn is_worse_than(&self, sequence: u32, hops: u32) -> bool {
        self.sequence < sequence || (self.sequence == sequence && self.hops > hops)
    }

    /// Makes the route valid.
    pub(super) fn update(&mut self, sequence: u32, hops: u32, next_hop: u32, expires: Time) {
        (self.sequence, self.hops, self.next_hop, self.expires) = (sequence, hops, next_hop, expires);
        self.state = RouteState::Valid;
    }

    /// Makes the route invalid.
    pub(super) fn invalidate(&mut self) {
        if self.state == RouteState::Invalid {
            return;
        }
        self.last_hops = self.hops;
        self.hops = INFINITY;
        self.state = RouteState::Invalid;
        self.expires = Time::ZERO;
    }

    /// Whether the route is valid, or in repair, and leads over this neighbour.
    pub(super) fn leads_over(&self, neighbour: u32) -> bool {
        self.state != RouteState::Invalid && self.next_hop == neighbour
    }

    /// Ends the discovery: a route with this hop count was found.
    pub(super) fn end_discovery(&mut self, hops: u32) {
        self.discovery = Discovery { wait_until: Time::ZERO, floods: 0, last_ttl: hops };
    }

    /// Remembers that a discovery over `hops` hops took `duration`.
    pub(super) fn note_duration(&mut self, duration: Duration, hops: u32) {
        self.durations[self.oldest] = duration / hops.max(1);
        self.oldest = (self.oldest + 1) % HISTORY;
    }

    /// The expected time of a request over one hop and of its reply.
    pub(super) fn time_per_hop(&self) -> Duration {
        let known = self.durations.iter().filter(|duration| **duration > Duration::ZERO);
        match known.clone().count() {
            0 => NODE_TRAVERSAL_TIME,
            count => known.sum::<Duration>() / count as u32,
        }
    }

    /// Adds a neighbour that uses the route.
    pub(super) fn add_precursor(&mut self, neighbour: u32) {
        if !self.precursors.contains(&neighbour) {
            self.precursors.push(neighbour);
        }
    }
}

/// The routes of a station. A table has few routes, because a station hears only of the ends of flows and of stations
/// that repair routes.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// The routes, in the order in which they were added.
    routes: Vec<Route>,
}

impl Table {
    pub(super) fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.routes.len()
    }

    /// The place of the route to `destination`. None if the destination is unknown.
    pub(super) fn find(&self, destination: u32) -> Option<usize> {
        self.routes.iter().position(|route| route.destination == destination)
    }

    /// The place of the route to `destination`. An unknown destination gets an invalid route.
    pub(super) fn find_or_add(&mut self, destination: u32) -> usize {
        self.find(destination).unwrap_or_else(|| {
            self.routes.push(Route::new(destination));
            self.routes.len() - 1
        })
    }
}

impl std::ops::Index<usize> for Table {
    type Output = Route;
    fn index(&self, at: usize) -> &Route {
        &self.routes[at]
    }
}

impl std::ops::IndexMut<usize> for Table {
    fn index_mut(&mut self, at: usize) -> &mut Route {
        &mut self.routes[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresher_routes_win_and_shorter_ones_win_among_equally_fresh_ones() {
        let mut table = Table::default();
        let at = table.find_or_add(7);
        assert_eq!((table.find(7), table.find(8), table.len()), (Some(at), None, 1));
        let route = &mut table[at];
        assert!(route.is_worse_than(0, 9), "an invalid route is worse than any");
        route.update(4, 3, 1, Time::from_millis(10));
        assert!(route.leads_over(1) && !route.leads_over(2));
        assert!(!route.is_worse_than(4, 3) && route.is_worse_than(4, 2) && route.is_worse_than(6, 30));
        assert!(!route.is_worse_than(2, 1));
    }

    #[test]
    fn a_lost_route_keeps_its_sequence_number_and_its_length() {
        let mut route = Route::new(7);
        route.update(4, 3, 1, Time::from_millis(10));
        route.sequence += 1;
        route.invalidate();
        assert_eq!((route.sequence, route.hops, route.last_hops), (5, INFINITY, 3));
        assert!(!route.leads_over(1));
        // A second loss does not overwrite the length.
        route.invalidate();
        assert_eq!(route.last_hops, 3);
        // Only a reply with a newer sequence number makes the route valid again.
        assert!(!route.is_worse_than(4, 1) && route.is_worse_than(6, 4));
    }

    #[test]
    fn the_time_per_hop_is_the_mean_of_three_discoveries() {
        let mut route = Route::new(7);
        assert_eq!(route.time_per_hop(), NODE_TRAVERSAL_TIME);
        for (ms, mean) in [(10, 10), (20, 15), (30, 20), (70, 40)] {
            route.note_duration(Duration::from_millis(ms * 4), 4);
            assert_eq!(route.time_per_hop(), Duration::from_millis(mean));
        }
    }
}
