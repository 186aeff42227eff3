//! Route discovery: requests, replies, and what both tell a station about routes (RFC 3561, sections 6.3 to 6.7).

use super::messages::{Message, RouteReply, RouteRequest};
use super::table::{INFINITY, RouteState};
use super::{ACTIVE_ROUTE_TIMEOUT, BUFFER_SPACING, NET_DIAMETER, NOBODY, REQUEST_MEMORY, Router};
use ripstop_base::Time;
use std::time::Duration;

/// The time to live of the first request for a destination without a known distance: 5 hops (ns-2's value; RFC 3561 has
/// 1). Half or double the value matters little, because the first request goes to the whole network (see
/// [`Router::request`]).
const TTL_START: u32 = 5;

/// The number of hops that each request adds to the time to live of the request before it: 2 (RFC 3561). Half the value
/// needs more requests. Double the value disturbs more stations.
const TTL_INCREMENT: u32 = 2;

/// If the last time to live has reached this number of hops, the next request goes to the whole network: 7 (RFC 3561).
/// Half the value floods short strings. Double the value delays discoveries over more than 7 hops.
const TTL_THRESHOLD: u32 = 7;

/// The station gives up after this number of requests to the whole network and one more. The value is 3, as in ns-2
/// (RFC 3561 has 2). Half or double the value changes how long packets wait for a station that is not there.
const RREQ_RETRIES: u32 = 3;

/// The longest wait for a reply, and the pause after a discovery that was given up: 10 s (ns-2's value). On a string, a
/// reply comes in less than 1 s. So half or double the value changes only the pause.
const MOST_WAIT: Duration = Duration::from_secs(10);

/// The lifetime of the route in the destination's own reply: 10 s (ns-2's value; RFC 3561 has 6 s). Packets extend the
/// lifetime, so half or double the value matters only for routes that no packet uses.
const MY_ROUTE_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a route to the originator of a request lives: 6 s (ns-2's value). A reply takes less than 1 s, so half or
/// double the value matters only if no packet follows.
const REVERSE_ROUTE_LIFE: Duration = Duration::from_secs(6);

impl<P> Router<P> {
    /// Asks for a route to `destination`, unless it is too early for a further request. The table must have an entry
    /// for `destination`.
    ///
    /// As in ns-2, the last hop count of a route that was never lost is very large. So the first requests for a
    /// destination go to the whole network. Requests with a small, growing time to live are sent only for a route that
    /// was lost before.
    pub(super) fn request(&mut self, destination: u32, now: Time) {
        let Some(at) = self.table.find(destination) else { return };
        let route = &mut self.table[at];
        if route.state == RouteState::Valid || route.discovery.wait_until > now {
            return;
        }
        if route.discovery.floods > RREQ_RETRIES {
            route.discovery.wait_until = now + MOST_WAIT;
            route.discovery.floods = 0;
            self.counters.failed_discoveries += 1;
            return self.drop_waiting(destination, now);
        }
        let distance = route.discovery.last_ttl.max(route.last_hops);
        let time_to_live = match distance {
            0 => TTL_START,
            1..TTL_THRESHOLD => distance + TTL_INCREMENT,
            _ => {
                route.discovery.floods += 1;
                NET_DIAMETER
            }
        };
        route.discovery.last_ttl = time_to_live;
        let wait = route.time_per_hop() * (2 * time_to_live * route.discovery.floods.max(1));
        route.discovery.wait_until = now + wait.min(MOST_WAIT);
        route.expires = Time::ZERO;
        let destination_sequence = route.sequence;
        self.sequence += 2;
        let request = RouteRequest {
            id: self.next_request,
            originator: self.me,
            originator_sequence: self.sequence,
            destination,
            destination_sequence,
            hops: 1,
            time_to_live,
            since: now,
        };
        self.next_request += 1;
        self.counters.route_requests += 1;
        self.broadcast(Message::Request(request), Duration::ZERO, now);
    }

    /// Handles a request from neighbour `from`: answers the request, or forwards it.
    pub(super) fn on_request(&mut self, request: RouteRequest, from: u32, now: Time) {
        let RouteRequest { id, originator, .. } = request;
        if originator == self.me || self.heard.iter().any(|(who, number, _)| (*who, *number) == (originator, id)) {
            return;
        }
        self.heard.push((originator, id, now + REQUEST_MEMORY));
        let back = self.learn_reverse_route(&request, from, now);
        if request.destination == self.me {
            self.sequence = self.sequence.max(request.destination_sequence) + 1;
            self.sequence += self.sequence % 2;
            let (hops, sequence) = (1, self.sequence);
            return self.send_reply(&request, back, [hops, sequence], MY_ROUTE_TIMEOUT, now);
        }
        let known = self.table.find(request.destination);
        if let Some(at) = known
            && self.table[at].hops != INFINITY
            && self.table[at].sequence >= request.destination_sequence
        {
            let route = &self.table[at];
            let (found, next_hop) = ([route.hops + 1, route.sequence], route.next_hop);
            self.send_reply(&request, back, found, lifetime(route.expires, now), now);
            let before = self.table[back].next_hop;
            self.table[at].add_precursor(before);
            self.table[back].add_precursor(next_hop);
            return;
        }
        if request.time_to_live > 1 {
            let least = known.map_or(0, |at| self.table[at].sequence);
            let jitter = self.jitter();
            let request = RouteRequest {
                hops: request.hops + 1,
                time_to_live: request.time_to_live - 1,
                destination_sequence: request.destination_sequence.max(least),
                ..request
            };
            self.broadcast(Message::Request(request), jitter, now);
        }
    }

    /// Learns the route to the originator of a request, and returns the place of this route in the table.
    fn learn_reverse_route(&mut self, request: &RouteRequest, from: u32, now: Time) -> usize {
        let at = self.table.find_or_add(request.originator);
        let route = &mut self.table[at];
        route.expires = route.expires.max(now + REVERSE_ROUTE_LIFE);
        if route.is_worse_than(request.originator_sequence, request.hops) {
            route.update(request.originator_sequence, request.hops, from, route.expires);
            if route.discovery.wait_until > Time::ZERO {
                // This station has asked for the same route.
                route.end_discovery(request.hops);
                route.expires = now + ACTIVE_ROUTE_TIMEOUT;
            }
            self.send_waiting(at, Duration::ZERO, Duration::ZERO, now);
        }
        at
    }

    /// Answers a request with a route of this hop count and sequence number. `back` is the place in the table of the
    /// route to the originator of the request.
    fn send_reply(
        &mut self,
        request: &RouteRequest,
        back: usize,
        [hops, destination_sequence]: [u32; 2],
        lifetime: Duration,
        now: Time,
    ) {
        let route = &self.table[back];
        if route.state == RouteState::Invalid {
            return;
        }
        let (originator, to) = (request.originator, route.next_hop);
        let reply = RouteReply {
            originator,
            destination: request.destination,
            destination_sequence,
            hops,
            lifetime,
            time_to_live: NET_DIAMETER,
            since: request.since,
        };
        self.counters.route_replies += 1;
        let packet = self.packet_of(Message::Reply(reply), originator, to);
        self.send_later(packet, Duration::ZERO, now);
    }

    /// Handles a reply from neighbour `from`: learns the route, and forwards the reply.
    pub(super) fn on_reply(&mut self, reply: RouteReply, from: u32, now: Time) {
        let at = self.table.find_or_add(reply.destination);
        let route = &mut self.table[at];
        if !route.is_worse_than(reply.destination_sequence, reply.hops) {
            return;
        }
        route.update(reply.destination_sequence, reply.hops, from, now + reply.lifetime);
        route.end_discovery(reply.hops);
        let is_mine = reply.originator == self.me;
        if is_mine {
            route.note_duration(now.since(reply.since), reply.hops);
        }
        self.send_waiting(at, Duration::ZERO, BUFFER_SPACING, now);
        let Some(back) = self.table.find(reply.originator).filter(|_| !is_mine) else { return };
        if self.table[back].state == RouteState::Invalid || reply.time_to_live <= 1 {
            return;
        }
        let reply = RouteReply { hops: reply.hops + 1, time_to_live: reply.time_to_live - 1, ..reply };
        let packet = self.packet_of(Message::Reply(reply), reply.originator, NOBODY);
        self.send(back, packet, Duration::ZERO, now);
        let before = self.table[back].next_hop;
        self.table[at].add_precursor(before);
    }
}

/// The lifetime that a station puts into its reply if it is not the destination: whole seconds until `expires`. As in
/// ns-2, a negative lifetime wraps around. So a station replies with a lifetime of 136 years if its route is in repair.
fn lifetime(expires: Time, now: Time) -> Duration {
    let seconds = expires.signed_since(now) / 1_000_000_000;
    Duration::from_secs(u64::from(seconds as u32))
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::super::{Action, DropReason};
    use super::*;
    use crate::wifi::queue::{Payload, Queued};
    use ripstop_base::Seed;

    fn router(me: u32) -> Router<()> {
        Router::new(me, Seed::new(1).stream("jitter"))
    }

    /// The messages and packets that the router sends at once.
    fn sent(router: &mut Router<()>) -> Vec<Queued<()>> {
        let send = |action| if let Action::Send(packet) = action { Some(packet) } else { None };
        std::iter::from_fn(|| router.poll()).filter_map(send).collect()
    }

    fn request_of(packet: &Queued<()>) -> RouteRequest {
        match &packet.packet {
            Some(Payload::Message(Message::Request(request))) => *request,
            other => panic!("{other:?} is not a request"),
        }
    }

    #[test]
    fn a_discovery_sets_up_the_route_in_both_directions() {
        let [mut first, mut second, mut third] = [0, 1, 2].map(router);
        let now = Time::from_millis(100);
        first.route(packet(0, 2, 1), now);
        let request = request_of(&sent(&mut first)[0]);
        assert_eq!((request.time_to_live, request.hops, request.originator_sequence), (30, 1, 4));
        second.receive(Message::Request(request), 0, now);
        assert!(sent(&mut second).is_empty(), "a forwarded request is delayed");
        second.wake(now + Duration::from_millis(10));
        let forwarded = request_of(&sent(&mut second)[0]);
        assert_eq!((forwarded.time_to_live, forwarded.hops), (29, 2));
        third.receive(Message::Request(forwarded), 1, now);
        // The same request again is ignored.
        third.receive(Message::Request(forwarded), 1, now);
        let reply = sent(&mut third).pop().unwrap();
        assert_eq!((reply.to, third.counters().route_replies), (1, 1));
        let Some(Payload::Message(message)) = reply.packet else { panic!("a reply carries a message") };
        second.receive(message, 2, now);
        let reply = sent(&mut second).pop().unwrap();
        let Some(Payload::Message(message)) = reply.packet else { panic!("a reply carries a message") };
        first.receive(message, 1, now);
        let data = sent(&mut first);
        assert_eq!((data.len(), data[0].id, data[0].to), (1, 1, 1));
        // Both directions are known now.
        second.route(packet(2, 0, 2), now);
        second.route(packet(0, 2, 3), now);
        assert_eq!(sent(&mut second).iter().map(|packet| packet.to).collect::<Vec<_>>(), [0, 2]);
    }

    #[test]
    fn a_station_that_is_not_there_is_given_up_after_four_floods() {
        let mut router = router(0);
        router.route(packet(0, 2, 1), Time::ZERO);
        assert_eq!(sent(&mut router).len(), 1);
        let (mut times, mut drops) = (Vec::new(), Vec::new());
        while drops.is_empty() {
            let due = router.next_due();
            assert!(due < Time::from_millis(60_000), "the discovery ends");
            router.wake(due);
            while let Some(action) = router.poll() {
                match action {
                    Action::Send(_) => times.push(due),
                    Action::Drop(packet, reason) => drops.push((packet.id, reason)),
                    Action::Flush(_) => {}
                }
            }
        }
        // Each wait lasts 1.8 s times the number of floods. The router checks every 0.5 s whether the wait is over.
        let times: Vec<f64> = times.iter().map(|time| time.as_secs_f64()).collect();
        assert_eq!(times, [2.0, 6.0, 11.5]);
        assert_eq!(drops, [(1, DropReason::NoRoute)]);
        assert_eq!((router.counters().route_requests, router.counters().failed_discoveries), (4, 1));
        // For 10 s no request follows.
        router.route(packet(0, 2, 2), Time::from_millis(20_000));
        assert!(sent(&mut router).is_empty());
    }

    #[test]
    fn a_negative_lifetime_wraps() {
        assert_eq!(lifetime(Time::from_millis(9_900), Time::from_millis(4_000)), Duration::from_secs(5));
        assert_eq!(lifetime(Time::from_millis(9_900), Time::from_millis(10_000)), Duration::ZERO);
        assert!(lifetime(Time::ZERO, Time::from_millis(10_000)) > Duration::from_secs(1 << 31));
    }
}
