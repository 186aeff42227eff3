//! Networks in virtual time: links between nodes, and connections over them.
//!
//! A link is the very one of [`ripstop_link`]; a node forwards at once. A route is a list of links; what is sent on it passes
//! them one after another.

mod flow;
mod packet;
mod watch;
mod wire;

pub use flow::{FlowConfig, FlowTotals};
pub use packet::{Body, Packet, TCP_IP_HEADERS};
pub use watch::{Happening, Observer};

use crate::engine::{Agenda, Alarm};
use flow::Flow;
use ripstop_base::{Seed, Time};
use ripstop_link::{ConfigError, Counters, Link, LinkConfig};
use wire::Wire;

/// What an alarm is for.
#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// A packet arrives at the end of this link.
    Arrival(u32),
    /// This flow's sender has something to do.
    Sender(u32),
    /// This flow's receiver has put off an acknowledgement.
    Acknowledge(u32),
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
    /// Of each flow, there and back.
    routes: Vec<[Vec<u32>; 2]>,
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
            routes: Vec::new(),
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

    /// Adds a connection whose data passes the links `there`, and its acknowledgements the links `back`; returns its number.
    /// An empty route arrives at once. `name` tells its random streams from others'.
    ///
    /// # Panics
    /// On a link that was not added.
    pub fn add_flow(&mut self, config: FlowConfig, there: &[usize], back: &[usize], name: &str) -> usize {
        assert!(there.iter().chain(back).all(|link| *link < self.wires.len()), "a link that was not added");
        let number = self.flows.len();
        let timer = self.alarm(Purpose::Sender(number as u32));
        let ack_timer = self.alarm(Purpose::Acknowledge(number as u32));
        let mut random = self.seed.stream(&format!("{name}/tcp"));
        self.flows.push(Flow::new(config, timer, ack_timer, &mut random));
        self.routes.push([there, back].map(|route| route.iter().map(|link| *link as u32).collect()));
        self.agenda.set(timer, self.flows[number].due());
        number
    }

    /// Runs until the moment `end`.
    pub fn run_until(&mut self, end: Time, observer: &mut impl Observer) {
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
                Purpose::Acknowledge(flow) => {
                    if let Some(ack) = self.flows[flow as usize].flush() {
                        self.send(flow, true, TCP_IP_HEADERS, Body::Ack(ack), observer);
                    }
                }
            }
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.agenda.now()
    }

    /// How many events there were: arrivals of packets at the ends of links, and timers.
    pub fn events(&self) -> u64 {
        self.agenda.rung()
    }

    /// How many flows were added.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// What flow `flow` has done so far.
    pub fn totals(&self, flow: usize) -> FlowTotals {
        self.flows[flow].totals(self.agenda.now())
    }

    /// What link `link` has done so far.
    pub fn link(&self, link: usize) -> &Counters {
        self.wires[link].link.counters()
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
        observer.note(self.agenda.now(), Happening::Arrived { link: link as usize, packet: &packet });
        packet.hop += 1;
        self.forward(packet, observer);
    }

    /// Puts a packet on the next link of its route, or hands it over where the route ends.
    fn forward(&mut self, packet: Packet, observer: &mut impl Observer) {
        let route = &self.routes[packet.route as usize][usize::from(packet.back)];
        let Some(link) = route.get(usize::from(packet.hop)) else { return self.hand_over(packet, observer) };
        let (link, now) = (*link as usize, self.agenda.now());
        let wire = &mut self.wires[link];
        let fate = wire.link.offer(now, packet.bytes as usize);
        observer.note(now, Happening::Offered { link, packet: &packet, fate: &fate });
        wire.carry(&mut self.agenda, packet, &fate);
    }

    /// A packet has come to the end of its route.
    fn hand_over(&mut self, packet: Packet, observer: &mut impl Observer) {
        let now = self.agenda.now();
        let flow = &mut self.flows[packet.route as usize];
        match packet.body {
            Body::Data(number) => {
                let timer = flow.ack_timer;
                if let Some(ack) = flow.on_packet(now, number) {
                    if flow.config.ack_every > 1 {
                        self.agenda.set(timer, Time::NEVER);
                    }
                    self.send(packet.route, true, TCP_IP_HEADERS, Body::Ack(ack), observer);
                } else if self.agenda.when(timer) == Time::NEVER {
                    let delay = flow.config.ack_delay;
                    self.agenda.set(timer, now + delay);
                }
            }
            Body::Ack(ack) => {
                flow.on_ack(now, &ack);
                self.pump(packet.route, observer);
            }
        }
    }

    /// Sends what flow `flow` has to send.
    fn pump(&mut self, flow: u32, observer: &mut impl Observer) {
        let now = self.agenda.now();
        while let Some((number, bytes)) = self.flows[flow as usize].transmit(now) {
            self.send(flow, false, bytes, Body::Data(number), observer);
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

    fn send(&mut self, route: u32, back: bool, bytes: u32, body: Body, observer: &mut impl Observer) {
        self.forward(Packet { route, hop: 0, back, bytes, body }, observer);
    }
}
