//! What nodes stand on: the scheduler, the links, the routes over them, and what nodes hand to each other.

use super::node::{Handoff, NodeId};
use super::observer::{Happening, Observer};
use super::packet::{Body, Combination, Ecn, NetworkPacket};
use super::pipe::Pipe;
use super::routes::{Hop, Route, Routes};
use super::session::UnderWay;
use crate::engine::{Alarm, Scheduler};
use ripstop_base::Time;
use ripstop_link::{Link, ShortFate};
use std::collections::VecDeque;

/// What an alarm is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A packet arrives at the end of this link.
    Arrival(u32),
    /// This timer of this node is due.
    Timer(NodeId, TimerKind),
    /// This incident happens.
    Incident(u32),
}

/// Which of a node's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// The timer of a sender, a source or a session.
    Main,
    /// Of a TCP flow: its receiver has put off an acknowledgement.
    DelayedAck,
    /// Of a session: it gets the processor, later than it wanted it.
    Processor,
}

/// What nodes stand on.
#[derive(Debug)]
pub(super) struct Fabric {
    pub(super) scheduler: Scheduler,
    /// By the numbers of alarms.
    purposes: Vec<Purpose>,
    pub(super) pipes: Vec<Pipe>,
    pub(super) routes: Routes,
    pub(super) handoffs: VecDeque<Handoff>,
    /// Inner packets inside tunnels and between endpoints.
    pub(super) under_way: UnderWay,
    /// Memory of combinations that have arrived or are lost, for those that are still to come.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    pub(super) spare: Vec<Box<Combination>>,
    /// Until when the world is being run.
    horizon: Time,
    /// Arrivals that needed no event.
    passed: u64,
}

impl Fabric {
    pub(super) fn new() -> Fabric {
        Fabric {
            scheduler: Scheduler::new(),
            purposes: Vec::new(),
            pipes: Vec::new(),
            routes: Routes::default(),
            handoffs: VecDeque::with_capacity(64),
            under_way: UnderWay::default(),
            spare: Vec::new(),
            horizon: Time::ZERO,
            passed: 0,
        }
    }

    /// The virtual time.
    pub(super) fn now(&self) -> Time {
        self.scheduler.now()
    }

    /// How many events there were: arrivals of packets at the ends of links, and timers.
    pub(super) fn events(&self) -> u64 {
        self.scheduler.rung() + self.passed
    }

    /// Adds an alarm.
    pub(super) fn alarm(&mut self, purpose: Purpose) -> Alarm {
        let alarm = self.scheduler.add();
        self.purposes.push(purpose);
        alarm
    }

    /// Adds one direction of a link; returns its number.
    pub(super) fn add_link(&mut self, link: Link) -> usize {
        let number = self.pipes.len();
        let alarm = self.alarm(Purpose::Arrival(number as u32));
        self.pipes.push(Pipe::new(link, alarm));
        number
    }

    /// Adds a route.
    ///
    /// # Panics
    /// On a link that was not added.
    pub(super) fn add_route(&mut self, route: Route) -> u32 {
        let known = |way: &Vec<Hop>| way.iter().all(|hop| (hop.link as usize) < self.pipes.len());
        assert!(route.ways.iter().all(known), "a link that was not added");
        self.routes.add(route)
    }

    /// The world is about to be run until `horizon`.
    pub(super) fn begin(&mut self, horizon: Time) {
        self.horizon = horizon;
        self.routes.settle(&self.pipes);
    }

    /// The next alarm until `end`, and what it is for.
    #[inline]
    pub(super) fn next_until(&mut self, end: Time) -> Option<(Alarm, Purpose)> {
        let alarm = self.scheduler.next_until(end)?;
        Some((alarm, self.purposes[alarm.index()]))
    }

    /// Sends a packet along a route: `back` on its way back.
    #[inline]
    pub(super) fn send(
        &mut self,
        route: u32,
        back: bool,
        ecn: Ecn,
        bytes: u32,
        body: Body,
        observer: &mut impl Observer,
    ) {
        self.forward(NetworkPacket { route, hop: 0, back, ecn, bytes, body }, observer);
    }

    /// Takes the packet that arrives over `link`, which then has one hop more behind it. Some(node): it belongs there.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        link: u32,
        observer: &mut impl Observer,
    ) -> Option<(NetworkPacket, Option<NodeId>)> {
        let mut packet = self.pipes[link as usize].arrive(&mut self.scheduler)?;
        let route = self.routes.get(packet.route);
        let last = usize::from(packet.hop) + 1 == route.ways[usize::from(packet.back)].len();
        observer.note(
            self.scheduler.now(),
            Happening::Arrived { link: link as usize, packet: &packet, owner: route.owner, last },
        );
        packet.hop += 1;
        let node = match last {
            true => Some(route.ends[usize::from(packet.back)]),
            false if packet.back => None,
            false => {
                let behind = usize::from(packet.hop);
                route.relays.iter().find(|(at, _)| *at == behind).map(|(_, node)| *node)
            }
        };
        Some((packet, node))
    }

    /// Puts a packet on the next link of its route, or hands it over where the route ends.
    ///
    /// Where nobody observes, the packet goes on to the link after that, and so forth, as long as each link is fed by the one
    /// before alone and the moments lie within the run. No event is needed where nothing can come in between.
    pub(super) fn forward<O: Observer>(&mut self, mut packet: NetworkPacket, observer: &mut O) {
        let mut now = self.scheduler.now();
        let route = self.routes.get(packet.route);
        let way = &route.ways[usize::from(packet.back)];
        for Hop { link, through } in way.get(usize::from(packet.hop)..).unwrap_or(&[]) {
            let pipe = &mut self.pipes[*link as usize];
            if !O::LOOKS
                && let Some(fate) = pipe.offer_fast(now, packet.bytes)
            {
                let ShortFate::Delivered { arrival, .. } = fate else { return self.recycle(packet.body) };
                if *through && pipe.is_empty() && arrival <= self.horizon {
                    now = arrival;
                    packet.hop += 1;
                    self.passed += 1;
                    continue;
                }
                return pipe.push(&mut self.scheduler, now, arrival, packet);
            }
            let fate = pipe.offer(now, packet.bytes);
            if O::LOOKS {
                let (link, owner) = (*link as usize, route.owner);
                let first = packet.hop == 0;
                observer.note(now, Happening::Offered { link, packet: &packet, owner, first, fate: &fate });
            }
            let Some(delivery) = fate.delivery() else { return self.recycle(packet.body) };
            if !O::LOOKS && *through && pipe.is_empty() && delivery.arrival <= self.horizon {
                now = delivery.arrival;
                packet.hop += 1;
                self.passed += 1;
                continue;
            }
            return pipe.carry(&mut self.scheduler, now, packet, &delivery);
        }
        self.handoffs.push_back(Handoff::Arrive(packet));
    }

    /// The memory of a packet that is lost is used again.
    fn recycle(&mut self, body: Body) {
        if let Body::Coded(combination) = body {
            self.spare.push(combination);
        }
    }
}
