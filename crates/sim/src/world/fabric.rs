//! What all nodes share: the scheduler, the links, the routes, and the queue of handoffs. The fabric moves packets from
//! link to link.

use super::node::{Handoff, NodeId};
use super::observer::{Happening, Observer, Owner};
use super::packet::{Body, Combination, EcnFlags, NetworkPacket};
use super::pipe::Pipe;
use super::radio::RadioLink;
use super::routes::{Hop, LinkId, Route, Routes};
use super::session::UnderWay;
use crate::engine::{Alarm, Scheduler};
use crate::wifi::SharedMedium;
use ripstop_base::Time;
use ripstop_link::{Fate, Link, ShortFate};
use ripstop_schemes::lt::Shares;
use std::collections::VecDeque;

/// What an alarm is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A packet arrives at the end of this link.
    Arrival(u32),
    /// This link decides the fate of a packet that waits in its queue.
    Decision(u32),
    /// This medium has something to do.
    Medium(u32),
    /// This timer of this node is due.
    Timer(NodeId, TimerKind),
    /// This incident happens.
    Incident(u32),
}

/// The kinds of timers that a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerKind {
    /// The timer of a TCP sender, a UDP source or a session.
    Main,
    /// A TCP receiver's delayed acknowledgement is due.
    DelayedAck,
    /// A session with a late processor may run now.
    Processor,
}

/// The scheduler, links, routes and handoffs that all nodes share.
#[derive(Debug)]
pub(super) struct Fabric {
    pub(super) scheduler: Scheduler,
    /// What each alarm is for, by the alarm's index.
    purposes: Vec<Purpose>,
    /// All links, by their numbers.
    pub(super) links: Vec<LinkId>,
    /// The wired links with the packets on them.
    pub(super) pipes: Vec<Pipe>,
    /// The shared media with their stations.
    pub(super) media: Vec<SharedMedium<NetworkPacket>>,
    /// The alarm of each medium.
    pub(super) media_alarms: Vec<Alarm>,
    /// The radio links. Each radio link leads from one station of a medium to another.
    pub(super) radio_links: Vec<RadioLink>,
    pub(super) routes: Routes,
    /// Handoffs that are not passed on yet, oldest first.
    pub(super) handoffs: VecDeque<Handoff>,
    /// Inner packets inside tunnels and between endpoints.
    pub(super) under_way: UnderWay,
    /// The gateways of TCP/LT, with the rates of their flows.
    pub(super) gateways: Vec<Shares>,
    /// Boxes of combinations that have arrived or are lost. Later combinations reuse these boxes.
    #[expect(clippy::vec_box, reason = "the boxes are what is kept")]
    pub(super) spare: Vec<Box<Combination>>,
    /// The end of the present run. No packet is moved ahead beyond this time.
    pub(super) horizon: Time,
    /// Events that needed no alarm: arrivals of packets that [`Fabric::forward`] moved ahead, and steps of a medium.
    pub(super) passed: u64,
}

impl Fabric {
    /// A fabric without links and routes, at [`Time::ZERO`].
    pub(super) fn new() -> Fabric {
        Fabric {
            scheduler: Scheduler::new(),
            purposes: Vec::new(),
            links: Vec::new(),
            pipes: Vec::new(),
            media: Vec::new(),
            media_alarms: Vec::new(),
            radio_links: Vec::new(),
            routes: Routes::default(),
            handoffs: VecDeque::with_capacity(64),
            under_way: UnderWay::default(),
            gateways: Vec::new(),
            spare: Vec::new(),
            horizon: Time::ZERO,
            passed: 0,
        }
    }

    /// The virtual time.
    pub(super) fn now(&self) -> Time {
        self.scheduler.now()
    }

    /// How many events there were: arrivals of packets at the ends of links, timers, and incidents.
    pub(super) fn events(&self) -> u64 {
        self.scheduler.rung() + self.passed
    }

    /// Adds an alarm for this purpose.
    pub(super) fn alarm(&mut self, purpose: Purpose) -> Alarm {
        let alarm = self.scheduler.add();
        self.purposes.push(purpose);
        alarm
    }

    /// Adds one direction of a link, and returns its number.
    pub(super) fn add_link(&mut self, link: Link) -> usize {
        let (number, pipe) = (self.links.len(), self.pipes.len() as u32);
        let alarm = self.alarm(Purpose::Arrival(pipe));
        let waits = !link.answers_at_once();
        self.pipes.push(Pipe::new(link, number as u32, alarm));
        if waits {
            let decision = self.alarm(Purpose::Decision(pipe));
            self.pipes[pipe as usize].await_decisions(decision);
        }
        self.links.push(LinkId::Wired(pipe));
        number
    }

    /// The links with these numbers.
    ///
    /// # Panics
    /// If there is no such link.
    pub(super) fn links(&self, numbers: &[usize]) -> Vec<LinkId> {
        numbers.iter().map(|number| *self.links.get(*number).expect("the link was not added")).collect()
    }

    /// Adds a route, and returns its number.
    pub(super) fn add_route(&mut self, route: Route) -> u32 {
        self.routes.add(route)
    }

    /// Prepares a run until `horizon`.
    pub(super) fn begin(&mut self, horizon: Time) {
        self.horizon = horizon;
        self.routes.settle(&self.pipes);
    }

    /// Takes the next alarm at or before `end`, and tells what the alarm is for.
    #[inline]
    pub(super) fn next_until(&mut self, end: Time) -> Option<(Alarm, Purpose)> {
        let alarm = self.scheduler.next_until(end)?;
        Some((alarm, self.purposes[alarm.index()]))
    }

    /// Puts a new packet on a route. With `back`, the packet takes the way back.
    #[inline]
    pub(super) fn send(
        &mut self,
        route: u32,
        back: bool,
        EcnFlags { ecn, cwr }: EcnFlags,
        bytes: u32,
        body: Body,
        observer: &mut impl Observer,
    ) {
        self.forward(NetworkPacket { route, hop: 0, back, ecn, cwr, bytes, body }, observer);
    }

    /// Takes the packet that arrives over `link` now, and counts the link as passed.
    ///
    /// Returns the packet, and the node that receives it: the end of the route, or a relay. The node is None if the
    /// packet goes on to the next link.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        link: u32,
        observer: &mut impl Observer,
    ) -> Option<(NetworkPacket, Option<NodeId>)> {
        let pipe = &mut self.pipes[link as usize];
        let number = pipe.number;
        let packet = pipe.arrive(&mut self.scheduler)?;
        Some(self.pass_link(number, packet, observer))
    }

    /// Counts link number `link` as passed by `packet`. The result is as for [`Fabric::arrive`].
    #[inline]
    pub(super) fn pass_link(
        &mut self,
        link: u32,
        mut packet: NetworkPacket,
        observer: &mut impl Observer,
    ) -> (NetworkPacket, Option<NodeId>) {
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
        (packet, node)
    }

    /// Puts a packet on the next link of its route. If the route has no link left, the packet becomes a handoff.
    ///
    /// If the observer ignores what it is told ([`Observer::LOOKS`]), a packet can pass several links in one step,
    /// which saves an alarm for each link. Three conditions make sure that nothing else can happen to the packet in
    /// between. The next link gets all its packets from the present link ([`Hop::through`]). No other packet is on the
    /// present link. The arrival lies within the run.
    pub(super) fn forward<O: Observer>(&mut self, mut packet: NetworkPacket, observer: &mut O) {
        let mut now = self.scheduler.now();
        let route = self.routes.get(packet.route);
        let way = &route.ways[usize::from(packet.back)];
        for Hop { link, through } in way.get(usize::from(packet.hop)..).unwrap_or(&[]) {
            let link = match link {
                LinkId::Wired(link) => *link,
                LinkId::Radio(link) => {
                    let (link, owner) = (*link, route.owner);
                    return self.enter_medium(link, packet, owner, observer);
                }
            };
            let pipe = &mut self.pipes[link as usize];
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
            if !pipe.decides_at_once() {
                // What is due now leaves the queue before this packet enters it.
                let owner = route.owner;
                return self.enter_queue(link, packet, owner, observer);
            }
            let fate = pipe.offer(now, &packet);
            if O::LOOKS {
                let (link, owner) = (pipe.number as usize, route.owner);
                let first = packet.hop == 0;
                observer.note(now, Happening::Offered { link, packet: &packet, owner, first, fate: Some(&fate) });
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

    /// Offers a packet to a link that decides the fates of waiting packets later.
    fn enter_queue(&mut self, link: u32, packet: NetworkPacket, owner: Owner, observer: &mut impl Observer) {
        self.decide(link, observer);
        let now = self.scheduler.now();
        let pipe = &mut self.pipes[link as usize];
        let fate = pipe.offer(now, &packet);
        let (number, first) = (pipe.number as usize, packet.hop == 0);
        observer.note(now, Happening::Offered { link: number, packet: &packet, owner, first, fate: Some(&fate) });
        match fate {
            Fate::Queued => pipe.keep(&mut self.scheduler, now, packet),
            Fate::Delivered(delivery) => pipe.carry(&mut self.scheduler, now, packet, &delivery),
            Fate::Lost { .. } | Fate::Refused { .. } => self.recycle(packet.body),
        }
        // The offer can decide the fates of other packets: a full queue drops a packet of another flow.
        self.decide(link, observer);
    }

    /// Carries out the fates that a link has decided by now for packets in its queue.
    pub(super) fn decide(&mut self, link: u32, observer: &mut impl Observer) {
        let now = self.scheduler.now();
        let pipe = &mut self.pipes[link as usize];
        while let Some((packet, fate)) = pipe.decide(&mut self.scheduler, now) {
            let (number, owner) = (pipe.number as usize, self.routes.get(packet.route).owner);
            observer.note(now, Happening::Decided { link: number, packet: &packet, owner, fate: &fate });
            match fate.delivery() {
                Some(delivery) => pipe.carry(&mut self.scheduler, now, packet, &delivery),
                None => {
                    if let Body::Coded(combination) = packet.body {
                        self.spare.push(combination);
                    }
                }
            }
        }
    }

    /// Keeps the memory of a lost packet for later combinations.
    pub(super) fn recycle(&mut self, body: Body) {
        if let Body::Coded(combination) = body {
            self.spare.push(combination);
        }
    }
}
