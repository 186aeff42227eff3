//! AODV, the ad hoc on-demand distance vector protocol (RFC 3561), with the timers and the rules of ns-2.35.
//!
//! A station that has a packet of its own and no route floods a route request. The destination replies, or another
//! station that knows a fresh route. The reply sets up the route hop by hop. If the MAC gives a packet up at the retry
//! limit, the link counts as broken. Then the station repairs the route, or tells its neighbours that the route is
//! lost.
//!
//! - `messages` has the three messages, `table` the routes, and `buffer` the packets that wait for a route.
//! - `discovery` asks for routes and answers. `failure` handles broken links.
//! - This file has [`Router`], the protocol at one station, with its rules for packets and its timers.
//!
//! A router has no clock and no medium. The caller passes each input with the time, drains [`Router::poll`], and calls
//! [`Router::wake`] at [`Router::next_due`].
//!
//! Differences from ns-2.35:
//!
//! - There is no ARP. A station knows the MAC addresses of its neighbours. In ns-2 each station asks one time for the
//!   address of each neighbour, so only the first packets of a flow differ.
//! - ns-2 leaves the next hop of a broadcast at 0, which is also the address of the first station. When a link to the
//!   first station breaks, ns-2 also drops the broadcasts in the queue. Here the broadcasts stay in the queue.
//! - If only the MAC ACK of a packet was lost, its receiver already has the packet. ns-2 still salvages a copy of such
//!   a packet. Here such a packet ends at the next station.
//!
//! Differences from RFC 3561, as in ns-2:
//!
//! - The link layer detects broken links. There are no hello messages.
//! - A received message sets up no route to the neighbour that sent the message.
//! - Route errors are always broadcast.

mod buffer;
mod discovery;
mod encode;
mod failure;
mod messages;
mod table;

pub(super) use messages::Message;

use super::counters::RoutingCounters;
use super::frame::NOBODY;
use super::medium::DropReason;
use super::queue::{Load, Payload, Queued};
use buffer::{Buffer, Dropped};
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;
use table::{RouteState, Table};

/// How long a route stays valid after a packet has used it: 10 s (ns-2's value; RFC 3561 has 3 s). Half the value makes
/// a stalled TCP flow ask for routes more often. Double the value keeps stale routes longer.
const ACTIVE_ROUTE_TIMEOUT: Duration = Duration::from_secs(10);

/// The largest number of hops between two stations, and the time to live of packets: 30 (ns-2's value; RFC 3561 has
/// 35). Half the value leaves strings of more than 16 stations without a route from end to end. Double the value
/// doubles the wait for a reply.
const NET_DIAMETER: u32 = 30;

/// The time between packets that leave the buffer over a new route: 10 ms, as in ns-2, which leaves this time for ARP.
/// Half the value doubles the rate at which a buffer empties. Double the value delays the last packets of the buffer.
const BUFFER_SPACING: Duration = Duration::from_millis(10);

/// The longest random delay of forwarded requests and errors: 10 ms (ns-2's value). Without the delay, neighbours that
/// forward the same broadcast would collide. Half the value makes collisions more likely. Double the value delays
/// discoveries.
const BROADCAST_JITTER: Duration = Duration::from_millis(10);

/// The time between two checks of all routes: 500 ms (ns-2's value). Half the value repeats requests earlier. Double
/// the value lets expired routes live longer.
const PURGE_INTERVAL: Duration = Duration::from_millis(500);

/// How long a station remembers a request, and the time between two removals of old requests: 6 s (ns-2's value;
/// `PATH_DISCOVERY_TIME` in RFC 3561). The flood of a request ends within 1 s, so half or double the value changes only
/// the use of memory.
const REQUEST_MEMORY: Duration = Duration::from_secs(6);

/// The protocol at one station.
#[derive(Debug)]
pub(super) struct Router<P> {
    /// The number of the station.
    me: u32,
    /// The station's sequence number, which is even.
    sequence: u32,
    /// The number of the next request.
    next_request: u32,
    table: Table,
    buffer: Buffer<P>,
    /// The requests that the station remembers: the originator, the number, and the time until which it remembers the
    /// request.
    heard: Vec<(u32, u32, Time)>,
    /// The packets and messages that are sent later, in the order of their times.
    delayed: Vec<(Time, Queued<P>)>,
    /// The repairs under way: the time at which the station gives up each repair, and the destination.
    repairs: Vec<(Time, u32)>,
    /// When routes are checked next.
    next_purge: Time,
    /// The random numbers for jitter.
    draws: Stream,
    actions: VecDeque<Action<P>>,
    dropped: Dropped<P>,
    counters: RoutingCounters,
}

/// What a router asks its station to do.
#[derive(Debug)]
pub(super) enum Action<P> {
    /// Send the packet to its next hop, or to all neighbours.
    Send(Queued<P>),
    /// Drop the packet.
    Drop(Queued<P>, DropReason),
    /// Drop all packets in the interface queue whose next hop is this neighbour.
    Flush(u32),
}

impl<P> Router<P> {
    /// The router of station `me`. It draws jitter from `draws`.
    pub(super) fn new(me: u32, draws: Stream) -> Router<P> {
        Router {
            me,
            sequence: 2,
            next_request: 1,
            table: Table::default(),
            buffer: Buffer::new(),
            heard: Vec::new(),
            delayed: Vec::new(),
            repairs: Vec::new(),
            next_purge: Time::NEVER,
            draws,
            actions: VecDeque::new(),
            dropped: Dropped::new(),
            counters: RoutingCounters::default(),
        }
    }

    /// What the router has counted.
    pub(super) fn counters(&self) -> RoutingCounters {
        self.counters
    }

    /// The hop count of the route to `destination`, which is valid or in repair. None if there is no such route.
    pub(super) fn hops(&self, destination: u32) -> Option<u32> {
        let at = self.table.find(destination)?;
        Some(self.table[at].hops).filter(|hops| *hops != table::INFINITY)
    }

    /// The packets in the router: packets that wait for a route, and packets and messages that are sent later.
    pub(super) fn packets(&self) -> impl Iterator<Item = &Queued<P>> {
        self.buffer.iter().chain(self.delayed.iter().map(|(_, packet)| packet))
    }

    /// The next action for the station. None if no action is left.
    pub(super) fn poll(&mut self) -> Option<Action<P>> {
        let drop = |(packet, reason)| Action::Drop(packet, reason);
        self.actions.pop_front().or_else(|| self.dropped.pop_front().map(drop))
    }

    /// When [`Router::wake`] must be called.
    pub(super) fn next_due(&self) -> Time {
        let repair = self.repairs.iter().map(|(when, _)| *when).min().unwrap_or(Time::NEVER);
        let delayed = self.delayed.first().map_or(Time::NEVER, |(when, _)| *when);
        self.next_purge.min(repair).min(delayed)
    }

    /// Takes a packet that this station sends or forwards. The packet must not be for this station.
    pub(super) fn route(&mut self, packet: Queued<P>, now: Time) {
        let is_mine = packet.source == self.me;
        if is_mine && packet.forwards > 0 {
            return self.dropped.push_back((packet, DropReason::Loop));
        }
        if u32::from(packet.forwards) >= NET_DIAMETER {
            return self.dropped.push_back((packet, DropReason::TimeToLive));
        }
        let at = self.table.find_or_add(packet.destination);
        self.start_purges(now);
        match self.table[at].state {
            RouteState::Valid => self.send(at, packet, Duration::ZERO, now),
            _ if is_mine => {
                let destination = packet.destination;
                self.buffer.push(packet, now, &mut self.dropped);
                self.request(destination, now);
            }
            RouteState::InRepair => self.buffer.push(packet, now, &mut self.dropped),
            RouteState::Invalid => {
                let lost = (packet.destination, self.table[at].sequence);
                self.send_error(vec![lost], Duration::ZERO, now);
                self.dropped.push_back((packet, DropReason::NoRoute));
            }
        }
    }

    /// Handles a message from neighbour `from`.
    pub(super) fn receive(&mut self, message: Message, from: u32, now: Time) {
        match message {
            Message::Request(request) => self.on_request(request, from, now),
            Message::Reply(reply) => self.on_reply(reply, from, now),
            Message::Error(error) => self.on_error(&error, from, now),
        }
        self.start_purges(now);
    }

    /// Does what is due at `now`.
    pub(super) fn wake(&mut self, now: Time) {
        let due = self.delayed.partition_point(|(when, _)| *when <= now);
        self.actions.extend(self.delayed.drain(..due).map(|(_, packet)| Action::Send(packet)));
        self.end_repairs(now);
        if self.next_purge <= now {
            self.next_purge = now + PURGE_INTERVAL;
            self.purge(now);
        }
    }

    /// Begins to check routes at multiples of [`PURGE_INTERVAL`], as soon as the table has a route.
    fn start_purges(&mut self, now: Time) {
        if self.next_purge == Time::NEVER && !self.table.is_empty() {
            let interval = PURGE_INTERVAL.as_nanos() as u64;
            self.next_purge = Time::from_nanos((now.as_nanos() / interval + 1) * interval);
        }
    }

    /// Checks all routes, the newest first: ends expired routes, sends the packets that wait for a valid route, and
    /// repeats requests.
    fn purge(&mut self, now: Time) {
        if now.as_nanos().is_multiple_of(REQUEST_MEMORY.as_nanos() as u64) {
            self.heard.retain(|(_, _, until)| *until > now);
        }
        let mut delay = Duration::ZERO;
        for at in (0..self.table.len()).rev() {
            let route = &mut self.table[at];
            let destination = route.destination;
            if route.state != RouteState::Valid {
                if self.buffer.has(destination) {
                    self.request(destination, now);
                }
            } else if route.expires < now {
                route.sequence += 1;
                route.invalidate();
                self.drop_waiting(destination, now);
            } else {
                delay = self.send_waiting(at, delay, BUFFER_SPACING, now);
            }
        }
    }

    /// After `delay`, sends a packet over the valid route at place `at` of the table.
    fn send(&mut self, at: usize, mut packet: Queued<P>, delay: Duration, now: Time) {
        let route = &mut self.table[at];
        route.expires = now + ACTIVE_ROUTE_TIMEOUT;
        packet.to = route.next_hop;
        self.send_later(packet, delay, now);
    }

    /// Sends the packets that wait for the route at place `at` of the table. The first packet is sent after `delay`,
    /// and each further packet `spacing` after the packet before it. Returns the delay that one more packet would have.
    fn send_waiting(&mut self, at: usize, mut delay: Duration, spacing: Duration, now: Time) -> Duration {
        let destination = self.table[at].destination;
        while let Some(packet) = self.buffer.take(destination, now, &mut self.dropped) {
            self.send(at, packet, delay, now);
            delay += spacing;
        }
        delay
    }

    /// Drops the packets that wait for a route to `destination`.
    fn drop_waiting(&mut self, destination: u32, now: Time) {
        while let Some(packet) = self.buffer.take(destination, now, &mut self.dropped) {
            self.dropped.push_back((packet, DropReason::NoRoute));
        }
    }

    /// Broadcasts a message after `delay`.
    fn broadcast(&mut self, message: Message, delay: Duration, now: Time) {
        let packet = self.packet_of(message, NOBODY, NOBODY);
        self.send_later(packet, delay, now);
    }

    /// The packet that carries `message` to neighbour `to`, or to all neighbours.
    fn packet_of(&self, message: Message, destination: u32, to: u32) -> Queued<P> {
        Queued {
            bytes: message.bytes(),
            packet: Some(Payload::Message(message)),
            id: 0,
            load: Load::Routing,
            source: self.me,
            destination,
            to,
            from: None,
            since: Time::ZERO,
            is_backlogged: false,
            forwards: 0,
            failures: [0; 2],
        }
    }

    fn send_later(&mut self, packet: Queued<P>, delay: Duration, now: Time) {
        if delay == Duration::ZERO {
            return self.actions.push_back(Action::Send(packet));
        }
        let when = now + delay;
        let at = self.delayed.partition_point(|(other, _)| *other <= when);
        self.delayed.insert(at, (when, packet));
    }

    /// Draws a random delay for a broadcast.
    fn jitter(&mut self) -> Duration {
        BROADCAST_JITTER.mul_f64(self.draws.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::super::queue::{Load, Payload, Queued};
    use ripstop_base::Time;

    /// A packet of 1500 bytes from station `source` to station `destination`, with the number `id`.
    pub(super) fn packet(source: u32, destination: u32, id: u64) -> Queued<()> {
        Queued {
            packet: Some(Payload::Packet(())),
            id,
            bytes: 1500,
            load: Load::Data,
            source,
            destination,
            to: destination,
            from: None,
            since: Time::ZERO,
            is_backlogged: false,
            forwards: 0,
            failures: [0; 2],
        }
    }
}
