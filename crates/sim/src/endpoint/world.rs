//! The world: two endpoints, two links, traffic, and what befalls them.

use super::packet::packet;
use crate::engine::{Engine, EventId};
use crate::tunnel::{FlowReport, Pattern, Side, Traffic, Violation, Watch};
use ripstop_base::{Seed, Stream, Time};
use ripstop_link::{ConfigError, Counters, Link, LinkConfig};
use ripstop_proto::endpoint::{
    Endpoint, EndpointConfig, EndpointCounters, EndpointEvent, PeerConfig, PeerStatus,
};
use ripstop_proto::secure::{self, PeerId, PrivateKey};
use std::net::{Ipv4Addr, SocketAddr};

/// What can befall an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// It loses its memory, all but its keys, and starts anew.
    Restart,
    /// Its datagrams come from another address from now on.
    Roam,
    /// Somebody sends it random bytes, and its peer's last datagram once more.
    Nuisance,
}

enum Event {
    Arrive { to: Side, from: SocketAddr, datagram: Box<[u8]>, ce: bool },
    Wake(Side),
    Traffic { from: Side, index: usize },
    Befall(Side, Mishap),
}

struct End {
    endpoint: Endpoint,
    peer: PeerId,
    link: Link,
    address: SocketAddr,
    traffic: Vec<(Traffic, Stream)>,
    watch: Watch,
    wake: Option<(Time, EventId)>,
    events: Vec<(Time, EndpointEvent)>,
    /// Queue drops and the like of endpoints that restarted.
    before: Vec<PeerStatus>,
    last_datagram: Option<Box<[u8]>>,
    restarts: u64,
}

/// Two endpoints and the links between them.
pub struct EndpointWorld {
    engine: Engine<Event>,
    ends: [End; 2],
    configs: [EndpointConfig; 2],
    seed: Seed,
    random: Stream,
}

const MAX_DATAGRAM: usize = 65_536;

impl EndpointWorld {
    /// A world in which the end on side i has `configs[i]` and sends over a link of `links[i]`. The left one calls.
    ///
    /// # Errors
    /// The link setting that cannot be.
    pub fn new(
        configs: [EndpointConfig; 2],
        links: [LinkConfig; 2],
        seed: Seed,
    ) -> Result<EndpointWorld, ConfigError> {
        let end = |side: Side| -> Result<End, ConfigError> {
            let (endpoint, peer) = start(side, &configs[side as usize], seed, 0, Time::ZERO);
            Ok(End {
                endpoint,
                peer,
                link: Link::new(&links[side as usize], seed, &format!("link/{}", side as usize))?,
                address: address(side, 0),
                traffic: Vec::new(),
                watch: Watch::default(),
                wake: None,
                events: Vec::new(),
                before: Vec::new(),
                last_datagram: None,
                restarts: 0,
            })
        };
        let ends = [end(Side::Left)?, end(Side::Right)?];
        let random = seed.stream("nuisance");
        let mut world = EndpointWorld { engine: Engine::new(), ends, configs, seed, random };
        Side::BOTH.into_iter().for_each(|side| world.drain(side));
        Ok(world)
    }

    /// Adds a flow into the end `from`.
    pub fn add(&mut self, from: Side, traffic: Traffic) {
        let end = &mut self.ends[from as usize];
        let index = end.traffic.len();
        let stream = self.seed.stream(&format!("traffic/{}/{}", from as usize, traffic.flow));
        end.traffic.push((traffic, stream));
        self.engine.at(traffic.start, Event::Traffic { from, index });
    }

    /// Lets `mishap` befall the end `side` at `at`.
    pub fn befall(&mut self, at: Time, side: Side, mishap: Mishap) {
        self.engine.at(at, Event::Befall(side, mishap));
    }

    /// Runs until the moment `end`.
    pub fn run_until(&mut self, end: Time) {
        while let Some(event) = self.engine.next_until(end) {
            let now = self.engine.now();
            match event {
                Event::Arrive { to, from, mut datagram, ce } => {
                    let end = &mut self.ends[to as usize];
                    end.last_datagram = Some(datagram.clone());
                    end.endpoint.handle_datagram(now, from, &mut datagram, ce);
                    self.drain(to);
                }
                Event::Wake(side) => {
                    let end = &mut self.ends[side as usize];
                    end.wake = None;
                    end.endpoint.handle_timeout(now);
                    self.drain(side);
                }
                Event::Traffic { from, index } => {
                    self.send(from, index);
                    self.drain(from);
                }
                Event::Befall(side, mishap) => {
                    self.strike(side, mishap);
                    self.drain(side);
                }
            }
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Events processed.
    pub fn processed(&self) -> u64 {
        self.engine.processed()
    }

    /// What the end on `side` knows of its peer.
    pub fn status(&self, side: Side) -> Option<PeerStatus> {
        let end = &self.ends[side as usize];
        end.endpoint.peer_status(end.peer)
    }

    /// What the end on `side` knew of its peer when it restarted, each time.
    pub fn before(&self, side: Side) -> &[PeerStatus] {
        &self.ends[side as usize].before
    }

    /// The counters of the end on `side`, since its last start.
    pub fn counters(&self, side: Side) -> (EndpointCounters, &secure::Counters) {
        let endpoint = &self.ends[side as usize].endpoint;
        (endpoint.counters(), endpoint.secure_counters())
    }

    /// What its link did.
    pub fn link(&self, side: Side) -> &Counters {
        self.ends[side as usize].link.counters()
    }

    /// The impairments of its link that are configured and never fired.
    pub fn unfired(&self, side: Side) -> Vec<&'static str> {
        self.ends[side as usize].link.unfired()
    }

    /// The flows that went in on `side`.
    pub fn flows(&self, side: Side) -> impl Iterator<Item = (u32, &FlowReport)> {
        self.ends[side as usize].watch.reports()
    }

    /// The events of the end on `side`, with their moments.
    pub fn events(&self, side: Side) -> &[(Time, EndpointEvent)] {
        &self.ends[side as usize].events
    }

    /// What must never happen and did, on either side.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        self.ends.iter().flat_map(|end| &end.watch.violations)
    }

    fn strike(&mut self, side: Side, mishap: Mishap) {
        let now = self.engine.now();
        let end = &mut self.ends[side as usize];
        match mishap {
            Mishap::Restart => {
                end.before.extend(end.endpoint.peer_status(end.peer));
                end.restarts += 1;
                let config = &self.configs[side as usize];
                (end.endpoint, end.peer) = start(side, config, self.seed, end.restarts, now);
            }
            Mishap::Roam => {
                let port = end.address.port().wrapping_add(1);
                end.address = address(side, port);
            }
            Mishap::Nuisance => {
                let from = SocketAddr::from(([203, 0, 113, 9], 9));
                let len = self.random.below(200) as usize;
                let mut bytes = vec![0; len];
                self.random.fill(&mut bytes);
                end.endpoint.handle_datagram(now, from, &mut bytes, false);
                if let Some(mut replay) = end.last_datagram.clone() {
                    end.endpoint.handle_datagram(now, from, &mut replay, false);
                }
            }
        }
    }

    fn send(&mut self, from: Side, index: usize) {
        let now = self.engine.now();
        let end = &mut self.ends[from as usize];
        let (traffic, random) = &mut end.traffic[index];
        if now >= traffic.stop {
            return;
        }
        match traffic.pause(random) {
            Some(pause) => {
                for _ in 0..traffic.burst() {
                    push(end, index, now, from);
                }
                self.engine.after(pause, Event::Traffic { from, index });
            }
            None => self.refill(from),
        }
    }

    /// Greedy flows fill up what has left the queue.
    fn refill(&mut self, side: Side) {
        let now = self.engine.now();
        let end = &mut self.ends[side as usize];
        let greedy: Vec<(usize, usize)> = end
            .traffic
            .iter()
            .enumerate()
            .filter(|(_, (t, _))| now >= t.start && now < t.stop)
            .filter_map(|(i, (t, _))| match t.pattern {
                Pattern::Greedy { backlog } => Some((i, backlog)),
                _ => None,
            })
            .collect();
        if greedy.is_empty() {
            return;
        }
        // Nothing is offered before there is a session: it would only be dropped.
        let Some(waiting) = end.endpoint.backlog_packets(end.peer) else { return };
        for (index, backlog) in &greedy {
            for _ in waiting / greedy.len()..*backlog {
                push(end, *index, now, side);
            }
        }
    }

    /// Takes all outputs of one end, as the contract wants it after each input.
    fn drain(&mut self, side: Side) {
        let now = self.engine.now();
        let mut buffer = vec![0; MAX_DATAGRAM];
        loop {
            self.refill(side);
            let [left, right] = &mut self.ends;
            let (end, other) = if side == Side::Left { (left, right) } else { (right, left) };
            let mut sent = false;
            while let Some(outgoing) = end.endpoint.poll_transmit(now, &mut buffer) {
                sent = true;
                let mut datagram: Box<[u8]> = buffer[..outgoing.len].into();
                let Some(delivery) = end.link.offer(now, outgoing.len + 28).delivery() else { continue };
                // Whoever has moved away is not there any more.
                if outgoing.to != other.address {
                    continue;
                }
                if let Some(mut corruption) = delivery.corruption
                    && corruption.byte >= 28
                {
                    corruption.byte -= 28;
                    corruption.apply(&mut datagram);
                }
                for at in delivery.arrivals() {
                    let (to, from) = (side.other(), end.address);
                    self.engine.at(at, Event::Arrive { to, from, datagram: datagram.clone(), ce: false });
                }
            }
            while let Some((_, delivered)) = end.endpoint.poll_deliver() {
                other.watch.deliver(now, &delivered.payload);
            }
            while let Some(event) = end.endpoint.poll_event() {
                end.events.push((now, event));
            }
            if !sent {
                break;
            }
        }
        let end = &mut self.ends[side as usize];
        let wanted = end.endpoint.poll_timeout();
        if end.wake.map(|(at, _)| at) != wanted {
            if let Some((_, id)) = end.wake.take() {
                self.engine.cancel(id);
            }
            end.wake = wanted.map(|at| (at, self.engine.at(at, Event::Wake(side))));
        }
    }
}

fn push(end: &mut End, index: usize, now: Time, side: Side) {
    let (traffic, random) = &mut end.traffic[index];
    let len = traffic.draw_len(random).max(super::packet::LEAST);
    let label = end.watch.send(now, traffic.flow, len, traffic.immediate);
    let mut bytes = packet(label, inner(side), inner(side.other()));
    end.endpoint.handle_inner(now, &mut bytes);
}

fn inner(side: Side) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, 1 + side as u8)
}

fn address(side: Side, port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1 + side as u8], port.max(5182)))
}

fn key(side: Side, seed: Seed) -> PrivateKey {
    PrivateKey::generate(&mut seed.stream(&format!("key/{}", side as usize)))
}

/// An endpoint that knows its peer. Both know where the other was at the start.
fn start(side: Side, config: &EndpointConfig, seed: Seed, run: u64, now: Time) -> (Endpoint, PeerId) {
    let stream = |name: &str| Box::new(seed.run(run).stream(&format!("{name}/{}", side as usize)));
    let mut endpoint = Endpoint::new(key(side, seed), config.clone(), stream("endpoint"), stream("secure"));
    let other = side.other();
    let peer = PeerConfig {
        public: key(other, seed).public(),
        endpoint: Some(address(other, 0)),
        allowed_ips: vec![format!("{}/32", inner(other)).parse().expect("a prefix")],
        keepalive: None,
    };
    let peer = endpoint.add_peer(now, &peer).expect("the only peer, with another key");
    (endpoint, peer)
}
