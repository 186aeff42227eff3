//! Networks in virtual time: links between nodes, and connections over them.
//!
//! A link is the very one of [`ripstop_link`]; a node forwards at once. A route is a list of links; what is sent on it passes
//! them one after another.

mod coding;
mod flow;
mod kernel;
mod packet;
mod routes;
mod segments;
mod tunnel;
mod watch;
mod wire;

pub use coding::{Combination, NcConfig, NcMoment, NcStatus};
pub use flow::{FlowConfig, FlowDelays, FlowTotals};
pub use kernel::{Hosts, STAMPED_HEADERS};
pub use packet::{Body, Packet, TCP_IP_HEADERS};
pub use tunnel::{TunnelDatagram, TunnelStatus};
pub use watch::{Happening, Observer, Owner};
pub use wire::LinkTotals;

use crate::engine::{Agenda, Alarm};
use crate::tcp::{Ack, Mechanisms, Pattern, SourceError};
use coding::Layer;
use flow::Flow;
use ripstop_base::{Seed, Time};
use ripstop_link::{ConfigError, Counters, Link, LinkConfig};
use ripstop_proto::session::nc::ConfigError as NcConfigError;
use ripstop_proto::session::tunnel::Config as TunnelConfig;
use routes::{Hop, Routes};
use tunnel::{End, Path};
use wire::Wire;

/// A setting of a connection that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// Of its coding layer.
    #[error(transparent)]
    Coding(#[from] NcConfigError),
    /// Of its source.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// What an alarm is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// A packet arrives at the end of this link.
    Arrival(u32),
    /// This flow's sender has something to do.
    Sender(u32),
    /// This flow's receiver has put off an acknowledgement.
    Acknowledge(u32),
    /// This end of this tunnel has something to do.
    Tunnel(u32, usize),
    /// This end of this tunnel gets the processor, later than it wanted it.
    Processor(u32, usize),
}

/// What carries a connection's packets.
#[derive(Clone, Debug, PartialEq)]
pub enum Carrier<'a> {
    /// The links there, and those back. An empty list arrives at once.
    Links(&'a [usize], &'a [usize]),
    /// As [`Carrier::Links`], with a coding layer below TCP.
    Coded(&'a [usize], &'a [usize], &'a NcConfig),
    /// A tunnel.
    Tunnel {
        /// Its number.
        tunnel: usize,
        /// Whether data enters it where its route ends.
        backwards: bool,
    },
}

/// How a connection's packets leave.
#[derive(Clone, Copy, Debug)]
enum Way {
    Route(u32),
    /// Along this route, as combinations of this coding layer.
    Coded(u32, usize),
    /// Through this tunnel; data enters at this end.
    Tunnel(u32, usize),
}

/// A network and what runs on it. All that happens is a function of what was added to it and of the seed.
#[derive(Debug)]
pub struct Network {
    seed: Seed,
    agenda: Agenda,
    /// By the numbers of alarms.
    purposes: Vec<Purpose>,
    wires: Vec<Wire>,
    flows: Vec<Flow>,
    /// By flow.
    ways: Vec<Way>,
    layers: Vec<Layer>,
    tunnels: Vec<Path>,
    routes: Routes,
    /// By route.
    owners: Vec<Owner>,
    /// Until when the network is being run.
    horizon: Time,
    /// Arrivals that were not on the agenda.
    passed: u64,
    /// Flows between kernels for which something came out of a tunnel at this moment.
    touched: Vec<u32>,
}

impl Network {
    /// A network without anything.
    pub fn new(seed: Seed) -> Network {
        Network {
            seed,
            agenda: Agenda::new(),
            purposes: Vec::new(),
            wires: Vec::new(),
            flows: Vec::new(),
            ways: Vec::new(),
            layers: Vec::new(),
            tunnels: Vec::new(),
            routes: Routes::default(),
            owners: Vec::new(),
            horizon: Time::ZERO,
            passed: 0,
            touched: Vec::with_capacity(8),
        }
    }

    /// Adds one direction of a link; returns its number. `name`, such as `link/2`, tells its random streams from others'.
    ///
    /// # Errors
    /// The setting that cannot be.
    pub fn add_link(&mut self, config: &LinkConfig, name: &str) -> Result<usize, ConfigError> {
        let link = Link::new(config, self.seed, name)?;
        let number = self.wires.len();
        let alarm = self.alarm(Purpose::Arrival(number as u32));
        self.wires.push(Wire::new(link, alarm));
        Ok(number)
    }

    /// Adds a connection; returns its number. `name` tells its random streams from others'.
    ///
    /// # Errors
    /// The setting of its coding layer or of its source that cannot be.
    ///
    /// # Panics
    /// On a link or a tunnel that was not added.
    pub fn add_flow(
        &mut self,
        mut config: FlowConfig,
        carrier: &Carrier<'_>,
        name: &str,
    ) -> Result<usize, FlowError> {
        let number = self.flows.len();
        if matches!(carrier, Carrier::Coded(..)) {
            config.hosts = Hosts::Agents;
        }
        let way = match carrier {
            Carrier::Links(there, back) => {
                Way::Route(self.add_route([there, back], Vec::new(), Owner::Flow(number as u32)))
            }
            Carrier::Coded(there, back, coding) => {
                self.layers.push(Layer::new(coding, self.seed, name)?);
                let relays = coding.relays.iter().map(|(behind, _)| *behind).collect();
                let route = self.add_route([there, back], relays, Owner::Flow(number as u32));
                Way::Coded(route, self.layers.len() - 1)
            }
            Carrier::Tunnel { tunnel, backwards } => {
                assert!(*tunnel < self.tunnels.len(), "a tunnel that was not added");
                Way::Tunnel(*tunnel as u32, usize::from(*backwards))
            }
        };
        let timer = self.alarm(Purpose::Sender(number as u32));
        let ack_timer = self.alarm(Purpose::Acknowledge(number as u32));
        let mut random = self.seed.stream(&format!("{name}/tcp"));
        let draws = self.seed.stream(&format!("{name}/source"));
        self.flows.push(Flow::new(config, [timer, ack_timer], &mut random, draws)?);
        self.ways.push(way);
        self.agenda.set(timer, self.flows[number].due());
        Ok(number)
    }

    /// Lets flow `answers` answer the requests of flow `requests`: to the one [`Pattern::Answers`], to the other
    /// [`Pattern::Requests`] or [`Pattern::Scheduled`].
    ///
    /// # Panics
    /// On flows that were not added, or are not of these patterns.
    pub fn pair(&mut self, requests: usize, answers: usize) {
        let pattern = |flow: usize| self.flows[flow].config.pattern;
        assert!(
            matches!(pattern(requests), Pattern::Requests { .. } | Pattern::Scheduled { .. })
                && matches!(pattern(answers), Pattern::Answers { .. }),
            "requests are answered by answers"
        );
        self.flows[requests].peer = Some(answers as u32);
        self.flows[answers].peer = Some(requests as u32);
    }

    /// Lets flow `flow`, of the pattern [`Pattern::Scheduled`], send requests at these `moments` as well, in their order.
    pub fn schedule(&mut self, flow: usize, moments: &[Time]) {
        self.flows[flow].schedule(moments);
        let timer = self.flows[flow].timer;
        self.agenda.set(timer, self.flows[flow].due());
    }

    /// Adds a tunnel whose ends have `config`; returns its number. Its datagrams pass the links `there`, and the other end's
    /// those of `back`. `name` tells its random streams from others'.
    ///
    /// # Panics
    /// On a link that was not added, and on an empty way.
    pub fn add_tunnel(
        &mut self,
        config: &TunnelConfig,
        there: &[usize],
        back: &[usize],
        name: &str,
    ) -> usize {
        assert!(!there.is_empty() && !back.is_empty(), "a tunnel needs links");
        let number = self.tunnels.len();
        let route = self.add_route([there, back], Vec::new(), Owner::Tunnel(number as u32));
        let ends = [0, 1].map(|side| {
            let alarm = self.alarm(Purpose::Tunnel(number as u32, side));
            let processor = self.alarm(Purpose::Processor(number as u32, side));
            End::new(config.clone(), self.seed, &format!("{name}/{side}"), [alarm, processor])
        });
        self.tunnels.push(Path { route, ends });
        for side in 0..2 {
            self.agenda.set(self.tunnels[number].ends[side].alarm, Time::ZERO);
        }
        number
    }

    fn add_route(&mut self, links: [&[usize]; 2], relays: Vec<usize>, owner: Owner) -> u32 {
        assert!(
            links.iter().all(|way| way.iter().all(|link| *link < self.wires.len())),
            "a link that was not added"
        );
        self.owners.push(owner);
        self.routes.add(links, relays)
    }

    /// Runs until the moment `end`.
    pub fn run_until(&mut self, end: Time, observer: &mut impl Observer) {
        self.horizon = end;
        self.routes.settle(&self.wires);
        while let Some(alarm) = self.agenda.next_until(end) {
            match self.purposes[alarm.index()] {
                Purpose::Arrival(link) => self.arrive(link, observer),
                Purpose::Sender(flow) => {
                    let now = self.agenda.now();
                    let due = self.flows[flow as usize].due();
                    // The timer was put off since.
                    if due > now {
                        self.agenda.set(alarm, due);
                    } else {
                        self.flows[flow as usize].wake(now);
                        self.pump(flow, observer);
                    }
                }
                Purpose::Acknowledge(flow) if self.flows[flow as usize].kernel.is_some() => {
                    self.acknowledge_late(flow, observer);
                }
                Purpose::Acknowledge(flow) => {
                    if let Some(ack) = self.flows[flow as usize].flush() {
                        self.send_ack(flow, ack, observer);
                    }
                }
                Purpose::Tunnel(tunnel, side) => self.call(tunnel, side, observer),
                Purpose::Processor(tunnel, side) => self.run(tunnel, side, observer),
            }
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.agenda.now()
    }

    /// How many events there were: arrivals of packets at the ends of links, and timers.
    pub fn events(&self) -> u64 {
        self.agenda.rung() + self.passed
    }

    /// How many flows were added.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// How many links were added.
    pub fn links(&self) -> usize {
        self.wires.len()
    }

    /// How many tunnels were added.
    pub fn tunnels(&self) -> usize {
        self.tunnels.len()
    }

    /// How many packets wait for link `link`, the one on its way not counted.
    pub fn queue(&mut self, link: usize) -> u64 {
        let now = self.agenda.now();
        self.wires[link].link.backlog(now).packets
    }

    /// What flow `flow` has done so far.
    pub fn totals(&self, flow: usize) -> FlowTotals {
        self.flows[flow].totals(self.agenda.now())
    }

    /// What flow `flow` went through since this was last asked.
    pub fn take_delays(&mut self, flow: usize) -> FlowDelays {
        self.flows[flow].take_delays()
    }

    /// Forgets what flow `flow` went through, and what is still to be delivered of what it has sent.
    pub fn forget_delays(&mut self, flow: usize) {
        self.flows[flow].forget_delays(self.agenda.now());
    }

    /// How often the mechanisms of flow `flow`'s sender did their work so far; None where its variant has none of them.
    pub fn mechanisms(&self, flow: usize) -> Option<Mechanisms> {
        self.flows[flow].mechanisms()
    }

    /// What link `link` has done so far, and for how long.
    pub fn link_totals(&self, link: usize) -> LinkTotals {
        self.wires[link].totals()
    }

    /// What link `link` has done so far.
    pub fn link(&self, link: usize) -> &Counters {
        self.wires[link].link.counters()
    }

    /// What the coding layer of flow `flow` has done; None when it has none.
    pub fn coding(&self, flow: usize) -> Option<NcStatus> {
        match self.ways[flow] {
            Way::Coded(_, layer) => Some(self.layers[layer].status()),
            _ => None,
        }
    }

    /// What the coding layer of flow `flow` holds now; None when it has none.
    pub fn coding_now(&self, flow: usize) -> Option<NcMoment> {
        match self.ways[flow] {
            Way::Coded(_, layer) => Some(self.layers[layer].moment()),
            _ => None,
        }
    }

    /// What the two ends of tunnel `tunnel` are doing.
    pub fn tunnel(&self, tunnel: usize) -> TunnelStatus {
        self.tunnels[tunnel].ends.each_ref().map(|end| end.tunnel.status())
    }

    /// The impairments of link `link` that are configured and never fired.
    pub fn unfired(&self, link: usize) -> Vec<&'static str> {
        self.wires[link].link.unfired()
    }

    /// How many packets are on link `link` or wait for it.
    pub fn on_link(&self, link: usize) -> usize {
        self.wires[link].len()
    }

    /// Packets that arrived damaged over link `link` and were dropped.
    pub fn damaged(&self, link: usize) -> u64 {
        self.wires[link].damaged
    }

    fn alarm(&mut self, purpose: Purpose) -> Alarm {
        let alarm = self.agenda.add();
        self.purposes.push(purpose);
        alarm
    }

    /// A packet has come to the end of link `link`.
    fn arrive(&mut self, link: u32, observer: &mut impl Observer) {
        let Some(mut packet) = self.wires[link as usize].arrive(&mut self.agenda) else { return };
        let last = usize::from(packet.hop) + 1 == self.routes.way(packet.route, packet.back).len();
        let owner = self.owners[packet.route as usize];
        observer.note(
            self.agenda.now(),
            Happening::Arrived { link: link as usize, packet: &packet, owner, last },
        );
        packet.hop += 1;
        match packet.body {
            Body::Coded(_) if !last => self.relay(packet, owner, observer),
            _ => self.forward(packet, observer),
        }
    }

    /// A combination has come to a node on its way: it is coded anew where there is a relay.
    fn relay(&mut self, packet: Packet, owner: Owner, observer: &mut impl Observer) {
        let layer = match owner {
            Owner::Flow(flow) => match self.ways[flow as usize] {
                Way::Coded(_, layer) => Some(layer),
                _ => None,
            },
            Owner::Tunnel(_) => None,
        };
        let behind = usize::from(packet.hop);
        let Some(layer) = layer.filter(|layer| self.layers[*layer].has_relay(behind)) else {
            return self.forward(packet, observer);
        };
        let (now, route, hop) = (self.agenda.now(), packet.route, packet.hop);
        let Body::Coded(combination) = packet.body else { return };
        self.layers[layer].relay(behind, now, combination);
        while let Some((body, bytes)) = self.layers[layer].relayed(behind, now) {
            self.forward(Packet { route, hop, back: false, bytes, body }, observer);
        }
    }

    /// Puts a packet on the next link of its route, or hands it over where the route ends.
    ///
    /// Where nobody looks, it goes on to the link after that, and so forth, as long as each is fed by the one before alone and
    /// the moments lie within the run: no event is needed where nothing can come in between.
    fn forward<O: Observer>(&mut self, mut packet: Packet, observer: &mut O) {
        let mut now = self.agenda.now();
        let way = self.routes.way(packet.route, packet.back);
        for Hop { link, through } in way.get(usize::from(packet.hop)..).unwrap_or(&[]) {
            let wire = &mut self.wires[*link as usize];
            let fate = wire.offer(now, packet.bytes);
            if O::LOOKS {
                let (link, owner) = (*link as usize, self.owners[packet.route as usize]);
                let first = packet.hop == 0;
                observer.note(now, Happening::Offered { link, packet: &packet, owner, first, fate: &fate });
            }
            let Some(delivery) = fate.delivery() else { return self.give_back(packet) };
            if !O::LOOKS && *through && wire.is_empty() && delivery.arrival <= self.horizon {
                now = delivery.arrival;
                packet.hop += 1;
                self.passed += 1;
                continue;
            }
            return wire.carry(&mut self.agenda, now, packet, &delivery);
        }
        self.hand_over(packet, observer);
    }

    /// What a packet that is lost took is used again.
    fn give_back(&mut self, packet: Packet) {
        if let (Body::Coded(combination), Owner::Flow(flow)) =
            (packet.body, self.owners[packet.route as usize])
            && let Way::Coded(_, layer) = self.ways[flow as usize]
        {
            self.layers[layer].give_back(combination);
        }
    }

    /// A packet has come to the end of its route.
    fn hand_over(&mut self, packet: Packet, observer: &mut impl Observer) {
        match (self.owners[packet.route as usize], packet.body) {
            (Owner::Flow(flow), body) => self.receive(flow, body, observer),
            (Owner::Tunnel(tunnel), Body::Datagram(datagram)) => {
                let side = usize::from(!packet.back);
                self.tunnels[tunnel as usize].ends[side].inbox.push((*datagram, packet.bytes));
                self.call(tunnel, side, observer);
            }
            // Nothing else is ever put on a tunnel's route.
            (Owner::Tunnel(_), _) => {}
        }
    }

    /// A packet of flow `flow` has come to the end where it belongs.
    fn receive(&mut self, number: u32, body: Body, observer: &mut impl Observer) {
        if self.flows[number as usize].kernel.is_some() {
            self.take_in(number, body, observer);
            return self.settle(number, observer);
        }
        let now = self.agenda.now();
        let flow = &mut self.flows[number as usize];
        match body {
            Body::Data(segment) => {
                let timer = flow.ack_timer;
                if let Some(ack) = flow.on_packet(now, segment) {
                    if flow.config.ack_every > 1 {
                        self.agenda.set(timer, Time::NEVER);
                    }
                    self.send_ack(number, ack, observer);
                } else if self.agenda.when(timer) == Time::NEVER {
                    let delay = flow.config.hosts.ack_delay();
                    self.agenda.set(timer, now + delay);
                }
                self.tell_peer(number, observer);
            }
            Body::Ack(ack) => {
                flow.on_ack(now, &ack);
                self.pump(number, observer);
            }
            Body::Coded(_) | Body::Seen(_) => self.decode(number, body, observer),
            Body::Both(_) | Body::Datagram(_) => {}
        }
    }

    /// Tells the connection in the other direction which requests, or answers, have arrived over flow `number`.
    fn tell_peer(&mut self, number: u32, observer: &mut impl Observer) {
        if let Some(peer) = self.note_received(number, observer) {
            self.pump(peer, observer);
        }
    }

    /// A packet of flow `number` was received: who looks on is told, and of transfers that have arrived whole the peer, which
    /// is answered if there were any.
    fn note_received<O: Observer>(&mut self, number: u32, observer: &mut O) -> Option<u32> {
        let now = self.agenda.now();
        let flow = &mut self.flows[number as usize];
        if O::LOOKS {
            observer.note(now, Happening::Received { flow: number as usize, bytes: flow.delivered_bytes() });
        }
        let arrived = flow.take_arrived();
        if arrived == 0 {
            return None;
        }
        let peer = flow.peer;
        if let Some(peer) = peer {
            self.flows[peer as usize].on_arrivals(now, arrived);
        }
        for number in [Some(number), peer].into_iter().flatten() {
            while let Some(completion) = self.flows[number as usize].pop_completion() {
                observer.note(now, Happening::Completed { flow: number as usize, completion });
            }
        }
        peer
    }

    /// What a coding layer sent has come to its other end.
    fn decode(&mut self, flow: u32, body: Body, observer: &mut impl Observer) {
        let (Way::Coded(route, layer), now) = (self.ways[flow as usize], self.agenda.now()) else { return };
        match body {
            Body::Coded(combination) => {
                self.layers[layer].receive(now, combination);
                while let Some(answer) = self.layers[layer].answer(now) {
                    let (bytes, body) = (answer.bytes, Body::Seen(answer.packet));
                    self.forward(Packet { route, hop: 0, back: true, bytes, body }, observer);
                }
                while let Some(segment) = self.layers[layer].deliver() {
                    // The layer has spoken already: what the receiving TCP says is absorbed.
                    let _ = self.flows[flow as usize].on_packet(now, segment);
                }
                self.tell_peer(flow, observer);
            }
            Body::Seen(answer) => {
                self.layers[layer].answered(now, &answer);
                self.pump(flow, observer);
            }
            _ => {}
        }
    }

    /// Gives TCP what its coding layer has to tell it. Whether it was anything.
    fn acknowledge(&mut self, flow: u32) -> bool {
        let Way::Coded(_, layer) = self.ways[flow as usize] else { return false };
        let mut any = false;
        while let Some(ack) = self.layers[layer].acknowledge() {
            self.flows[flow as usize].on_ack(self.agenda.now(), &ack);
            any = true;
        }
        any
    }

    /// Sends what flow `flow` has to send.
    fn pump(&mut self, flow: u32, observer: &mut impl Observer) {
        let now = self.agenda.now();
        let held = self.hold(flow);
        loop {
            let told = self.acknowledge(flow);
            while let Some(number) = self.flows[flow as usize].transmit(now) {
                let (body, bytes) = self.load(flow, number);
                self.send(flow, false, bytes, body, observer);
            }
            if !told {
                break;
            }
        }
        if let Some((tunnel, side)) = held {
            self.let_go(tunnel, side, observer);
        }
        let this = &self.flows[flow as usize];
        let (sender, due) = (&this.sender, this.due());
        let srtt = sender.srtt().map(|srtt| srtt.as_secs_f64());
        observer.note(now, Happening::Window { flow: flow as usize, cwnd: sender.cwnd(), srtt });
        // A timer that is put off is looked at when it rings: most are put off with every acknowledgement.
        if due < self.agenda.when(this.timer) {
            self.agenda.set(this.timer, due);
        }
    }

    /// Sends an acknowledgement of flow `flow` on its way.
    fn send_ack(&mut self, flow: u32, ack: Ack, observer: &mut impl Observer) {
        let (ack, bytes) = self.flows[flow as usize].acknowledgement(ack);
        self.send(flow, true, bytes, Body::Ack(ack), observer);
    }

    /// Sends a packet of flow `flow` on its way.
    fn send(&mut self, flow: u32, back: bool, bytes: u32, body: Body, observer: &mut impl Observer) {
        match self.ways[flow as usize] {
            Way::Route(route) => self.forward(Packet { route, hop: 0, back, bytes, body }, observer),
            Way::Coded(route, layer) => {
                let now = self.agenda.now();
                if let Body::Data(number) = body {
                    let payload = self.flows[flow as usize].payload(number);
                    self.layers[layer].segment(now, number, payload);
                }
                while let Some((body, bytes)) = self.layers[layer].transmit(now) {
                    self.forward(Packet { route, hop: 0, back, bytes, body }, observer);
                }
            }
            Way::Tunnel(tunnel, entrance) => {
                let side = entrance ^ usize::from(back);
                let end = &mut self.tunnels[tunnel as usize].ends[side];
                end.push(flow, back, bytes, body);
                if !end.busy {
                    self.call(tunnel, side, observer);
                }
            }
        }
    }
}
