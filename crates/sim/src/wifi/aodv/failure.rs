//! Broken links: local repair, and route errors (RFC 3561, sections 6.11 and 6.12).
//!
//! As in ns-2, a station repairs the route itself if the packet has passed more hops than it has left. Then the route
//! is *in repair*: packets wait in the buffer, and the station repeats requests until a reply comes. Neighbours reply
//! with routes that have the same sequence number as the lost route. Such a route is no better than the lost route, so
//! the station ignores it. Most repairs end only when the neighbours' routes have expired.

use super::messages::{Message, RouteError};
use super::table::RouteState;
use super::{Action, DropReason, Queued, Router};
use ripstop_base::Time;
use std::time::Duration;

impl<P> Router<P> {
    /// The MAC could not deliver a packet to its next hop: the link is broken. Messages of the routing protocol do not
    /// count.
    pub(in crate::wifi) fn on_link_break(&mut self, packet: Queued<P>, now: Time) {
        self.counters.link_breaks += 1;
        let neighbour = packet.to;
        let Some(at) = self.table.find(packet.destination) else {
            return self.dropped.push_back((packet, DropReason::LinkBreak));
        };
        if u32::from(packet.forwards) > self.table[at].hops {
            return self.repair(at, packet, now);
        }
        self.dropped.push_back((packet, DropReason::LinkBreak));
        self.actions.push_back(Action::Flush(neighbour));
        self.sequence += 2;
        let mut lost = Vec::new();
        // ns-2 lists the newest routes first.
        for at in (0..self.table.len()).rev() {
            let route = &mut self.table[at];
            if route.leads_over(neighbour) {
                route.sequence += 1;
                route.invalidate();
                lost.push((route.destination, route.sequence));
            }
            route.precursors.retain(|precursor| *precursor != neighbour);
        }
        if !lost.is_empty() {
            self.send_error(lost, Duration::ZERO, now);
        }
    }

    /// Keeps the packet, and asks for another route to its destination.
    fn repair(&mut self, at: usize, packet: Queued<P>, now: Time) {
        self.counters.repairs += 1;
        let destination = packet.destination;
        self.buffer.push(packet, now, &mut self.dropped);
        self.table[at].state = RouteState::InRepair;
        self.request(destination, now);
        // ns-2 mistakes the time at which the wait ends for a duration. So the station gives up the repair only at
        // twice the present time, or later.
        let wait = self.table[at].discovery.wait_until.since(Time::ZERO);
        self.repairs.push((now + wait, destination));
    }

    /// Gives up the repairs whose time has come. As in ns-2, the station does not tell its neighbours.
    pub(super) fn end_repairs(&mut self, now: Time) {
        let table = &mut self.table;
        self.repairs.retain(|(when, destination)| {
            let is_due = *when <= now;
            if is_due
                && let Some(at) = table.find(*destination)
                && table[at].state == RouteState::InRepair
            {
                table[at].invalidate();
            }
            !is_due
        });
    }

    /// Handles an error from neighbour `from`: ends the lost routes that lead over `from`, and tells the neighbours
    /// that use these routes.
    pub(super) fn on_error(&mut self, error: &RouteError, from: u32, now: Time) {
        let mut lost = Vec::new();
        for (destination, sequence) in &error.unreachable {
            let Some(at) = self.table.find(*destination) else { continue };
            let route = &mut self.table[at];
            if !route.leads_over(from) || route.sequence > *sequence {
                continue;
            }
            route.sequence = *sequence;
            route.invalidate();
            self.actions.push_back(Action::Flush(from));
            if !route.precursors.is_empty() {
                route.precursors.clear();
                lost.push((*destination, *sequence));
            }
        }
        if !lost.is_empty() {
            let jitter = self.jitter();
            self.send_error(lost, jitter, now);
        }
    }

    /// After `delay`, tells the neighbours that these destinations are unreachable.
    pub(super) fn send_error(&mut self, unreachable: Vec<(u32, u32)>, delay: Duration, now: Time) {
        self.counters.route_errors += 1;
        self.broadcast(Message::Error(RouteError { unreachable }), delay, now);
    }
}

#[cfg(test)]
mod tests {
    use super::super::messages::RouteReply;
    use super::super::tests::packet;
    use super::*;
    use crate::wifi::queue::Payload;
    use ripstop_base::Seed;

    /// Station 5 with a route to station 9 over station 6.
    fn router() -> Router<()> {
        let mut router = Router::new(5, Seed::new(1).stream("jitter"));
        let reply = RouteReply {
            originator: 5,
            destination: 9,
            destination_sequence: 4,
            hops: 4,
            lifetime: Duration::from_secs(10),
            time_to_live: 30,
            since: Time::ZERO,
        };
        router.receive(Message::Reply(reply), 6, Time::from_millis(1));
        router
    }

    fn failed(forwards: u16) -> Queued<()> {
        Queued { to: 6, forwards, ..packet(0, 9, 1) }
    }

    /// The errors that the router sends, whether it empties the queue for station 6, and whether it drops a packet.
    fn outcome(router: &mut Router<()>) -> (Vec<RouteError>, bool, bool) {
        let (mut errors, mut flushed, mut dropped) = (Vec::new(), false, false);
        while let Some(action) = router.poll() {
            match action {
                Action::Send(packet) => {
                    if let Some(Payload::Message(Message::Error(error))) = packet.packet {
                        errors.push(error);
                    }
                }
                Action::Flush(neighbour) => flushed |= neighbour == 6,
                Action::Drop(_, reason) => dropped |= reason == DropReason::LinkBreak,
            }
        }
        (errors, flushed, dropped)
    }

    #[test]
    fn a_break_near_the_source_is_an_error() {
        let mut router = router();
        router.on_link_break(failed(4), Time::from_millis(2));
        let error = RouteError { unreachable: vec![(9, 5)] };
        assert_eq!(outcome(&mut router), (vec![error], true, true));
        let counters = router.counters();
        assert_eq!((counters.link_breaks, counters.route_errors, counters.repairs), (1, 1, 0));
        // A packet of another station is dropped now, with another error.
        router.route(packet(0, 9, 2), Time::from_millis(3));
        assert_eq!(outcome(&mut router).0.len(), 1);
    }

    #[test]
    fn a_break_near_the_destination_is_repaired() {
        let mut router = router();
        router.on_link_break(failed(5), Time::from_millis(2));
        assert_eq!(outcome(&mut router), (vec![], false, false));
        let counters = router.counters();
        assert_eq!((counters.repairs, counters.route_requests, counters.route_errors), (1, 1, 0));
        // A packet of another station waits too.
        router.route(packet(0, 9, 2), Time::from_millis(3));
        assert_eq!((outcome(&mut router), router.packets().count()), ((vec![], false, false), 2));
    }

    #[test]
    fn an_error_ends_the_route_over_its_sender_alone() {
        let mut router = router();
        let error = RouteError { unreachable: vec![(9, 5)] };
        router.receive(Message::Error(error.clone()), 4, Time::from_millis(2));
        assert_eq!(outcome(&mut router), (vec![], false, false));
        router.receive(Message::Error(error), 6, Time::from_millis(2));
        // Nobody uses the route, so nobody is told.
        assert_eq!(outcome(&mut router), (vec![], true, false));
        router.route(Queued { id: 2, ..packet(5, 9, 2) }, Time::from_millis(3));
        assert_eq!(router.counters().route_requests, 1);
    }
}
