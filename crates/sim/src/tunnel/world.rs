//! The world: two ends, two links, traffic.

use super::cargo::Cargo;
use super::requests::Requests;
use super::traffic::{Pattern, Traffic};
use super::watch::{FlowReport, Violation, Watch};
use crate::engine::{Engine, EventId};
use ripstop_base::{Seed, Stream, Time};
use ripstop_link::{ConfigError, Counters, Delivery, Fate, Link, LinkConfig};
use ripstop_proto::session::tunnel::{Config, Event as TunnelEvent, Status, Tunnel};
use ripstop_proto::session::{Received, Session, Transmit};
use ripstop_proto::wire::Datagram;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end whose link is the first.
    Left,
    /// The other.
    Right,
}

impl Side {
    /// The other end.
    pub fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    /// Both ends.
    pub const BOTH: [Side; 2] = [Side::Left, Side::Right];
}

enum Event<C> {
    /// A datagram of the tunnel.
    Arrive {
        to: Side,
        datagram: Datagram<C>,
        bytes: u32,
    },
    Wake(Side),
    Traffic {
        from: Side,
        index: usize,
    },
    Ask,
}

/// The names of the links from left to right and back, for their random streams: those of the emulator, which loses the same
/// packets under the same seed.
pub(super) const LINKS: [&str; 2] = ["link/0", "link/1"];

struct End<C: Cargo> {
    tunnel: Tunnel<C>,
    link: Link,
    traffic: Vec<(Traffic, Stream)>,
    /// Packets that this end sent, watched where they come out.
    watch: Watch,
    wake: Option<(Time, EventId)>,
    events: Vec<(Time, TunnelEvent)>,
    corrupted: u64,
    /// What the link answered to each packet, where that is kept.
    fates: Option<Vec<Fate>>,
}

/// Two tunnel ends and the links between them. All that happens is a function of the configuration
/// and the seed.
pub struct World<C: Cargo + std::fmt::Debug> {
    engine: Engine<Event<C>>,
    ends: [End<C>; 2],
    /// Whether anything is to go through the tunnel: its ends are silent until then.
    has_tunnel: bool,
    /// Flow and length of the requests, and what became of them.
    requests: (u32, u32, Requests),
}

impl<C: Cargo + std::fmt::Debug> World<C> {
    /// A world in which the end on side i has `configs[i]` and sends over a link of `links[i]`. The session begins with the
    /// first that is added to use it.
    ///
    /// # Errors
    /// The link setting that cannot be.
    pub fn new(configs: [Config; 2], links: [LinkConfig; 2], seed: Seed) -> Result<World<C>, ConfigError> {
        let [left, right] = configs;
        let end = |config: Config,
                   link: &LinkConfig,
                   name: &str,
                   path: &str|
         -> Result<End<C>, ConfigError> {
            Ok(End {
                tunnel: Tunnel::new(Time::ZERO, config, seed.stream(&format!("tunnel/{name}")).next_u64()),
                link: Link::new(link, seed, path)?,
                traffic: Vec::new(),
                watch: Watch::default(),
                wake: None,
                events: Vec::new(),
                corrupted: 0,
                fates: None,
            })
        };
        let ends = [end(left, &links[0], "left", LINKS[0])?, end(right, &links[1], "right", LINKS[1])?];
        let world =
            World { engine: Engine::new(), ends, has_tunnel: false, requests: (0, 0, Requests::default()) };
        Ok(world)
    }

    /// Adds a flow into the end `from`.
    pub fn add(&mut self, from: Side, traffic: Traffic, seed: Seed) {
        self.raise_tunnel();
        let end = &mut self.ends[from as usize];
        let index = end.traffic.len();
        end.traffic.push((traffic, seed.stream(&format!("traffic/{}/{}", from as usize, traffic.flow))));
        self.engine.at(traffic.start, Event::Traffic { from, index });
    }

    /// Lets the left end send requests of `len` bytes at these moments, and the right end answer each with as much.
    /// No other traffic may have the number `flow`, at either end. A second call takes the place of the first.
    pub fn ask(&mut self, flow: u32, len: u32, due: Vec<Time>) {
        self.raise_tunnel();
        due.iter().for_each(|at| {
            self.engine.at(*at, Event::Ask);
        });
        self.requests = (flow, len, Requests::new(due));
    }

    /// What became of the requests.
    pub fn requests(&self) -> &Requests {
        &self.requests.2
    }

    /// Keeps what becomes of each packet that is offered to a link from now on.
    pub fn keep_fates(&mut self) {
        self.ends.iter_mut().for_each(|end| end.fates = Some(end.fates.take().unwrap_or_default()));
    }

    /// What became of the packets offered to the link of `side`, in their order; none unless they are kept.
    pub fn fates(&self, side: Side) -> &[Fate] {
        self.ends[side as usize].fates.as_deref().unwrap_or_default()
    }

    /// Runs until the moment `end`.
    pub fn run_until(&mut self, end: Time) {
        while let Some(event) = self.engine.next_until(end) {
            let now = self.engine.now();
            match event {
                Event::Arrive { to, datagram, bytes } => {
                    self.ends[to as usize]
                        .tunnel
                        .handle_datagram(now, Received { packet: datagram, bytes, ce: false });
                    self.drain(to);
                }
                Event::Wake(side) => {
                    let end = &mut self.ends[side as usize];
                    end.wake = None;
                    end.tunnel.handle_timeout(now);
                    self.drain(side);
                }
                Event::Traffic { from, index } => {
                    self.send(from, index);
                    self.drain(from);
                }
                Event::Ask => {
                    self.request(Side::Left);
                    self.drain(Side::Left);
                }
            }
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.engine.now()
    }

    /// Events processed.
    pub fn events(&self) -> u64 {
        self.engine.processed()
    }

    /// What the tunnel end on `side` is doing.
    pub fn status(&self, side: Side) -> Status {
        self.ends[side as usize].tunnel.status()
    }

    /// What its link did.
    pub fn link(&self, side: Side) -> &Counters {
        self.ends[side as usize].link.counters()
    }

    /// The impairments of its link that never fired.
    pub fn unfired(&self, side: Side) -> Vec<&'static str> {
        self.ends[side as usize].link.unfired()
    }

    /// Datagrams to the other end that arrived damaged, and were dropped as not authentic.
    pub fn corrupted(&self, side: Side) -> u64 {
        self.ends[side as usize].corrupted
    }

    /// The flows that went in on `side`.
    pub fn flows(&self, side: Side) -> impl Iterator<Item = (u32, &FlowReport)> {
        self.ends[side as usize].watch.reports()
    }

    /// The events of the tunnel end on `side`, with their moments.
    pub fn tunnel_events(&self, side: Side) -> &[(Time, TunnelEvent)] {
        &self.ends[side as usize].events
    }

    /// What must never happen and did, on either side.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        self.ends.iter().flat_map(|end| &end.watch.violations)
    }

    /// Keeps the delays of packets sent from now on only.
    pub fn forget_delays(&mut self) {
        let now = self.now();
        for end in &mut self.ends {
            end.watch.forget_delays(now);
        }
    }

    /// Whether nothing is on its way from `side` any more.
    pub fn is_idle(&self, side: Side) -> bool {
        self.ends[side as usize].tunnel.is_idle()
    }

    fn raise_tunnel(&mut self) {
        if !std::mem::replace(&mut self.has_tunnel, true) {
            Side::BOTH.into_iter().for_each(|side| self.drain(side));
        }
    }

    fn send(&mut self, from: Side, index: usize) {
        let now = self.engine.now();
        let end = &mut self.ends[from as usize];
        let (traffic, random) = &mut end.traffic[index];
        if now >= traffic.stop {
            return;
        }
        if let Some(pause) = traffic.pause(random) {
            for _ in 0..traffic.burst() {
                let label = end.watch.send(now, traffic.flow, traffic.draw_len(random), traffic.immediate);
                end.tunnel.handle_inner(now, C::load(label));
            }
            self.engine.after(pause, Event::Traffic { from, index });
        }
    }

    /// Sends a request, or from the right a reply.
    fn request(&mut self, from: Side) {
        let (now, (flow, len, _)) = (self.engine.now(), &self.requests);
        let end = &mut self.ends[from as usize];
        let label = end.watch.send(now, *flow, *len, false);
        end.tunnel.handle_inner(now, C::load(label));
    }

    /// Greedy flows fill up what has left the queue.
    fn refill(&mut self, side: Side) -> bool {
        let now = self.engine.now();
        let end = &mut self.ends[side as usize];
        let mut any = false;
        let waiting = end.tunnel.backlog_packets();
        let greedy = end.traffic.iter().filter(|(t, _)| matches!(t.pattern, Pattern::Greedy { .. })).count();
        for (traffic, random) in &mut end.traffic {
            let Pattern::Greedy { backlog } = traffic.pattern else { continue };
            if now < traffic.start || now >= traffic.stop {
                continue;
            }
            for _ in waiting / greedy..backlog {
                let label = end.watch.send(now, traffic.flow, traffic.draw_len(random), traffic.immediate);
                end.tunnel.handle_inner(now, C::load(label));
                any = true;
            }
        }
        any
    }

    /// Takes all outputs of one end, as the contract wants it after each input.
    fn drain(&mut self, side: Side) {
        if !self.has_tunnel {
            return;
        }
        let now = self.engine.now();
        loop {
            self.refill(side);
            let sent = self.transmit(side);
            let asked = self.deliver(side);
            (0..asked).for_each(|_| self.request(side));
            if !sent && asked == 0 {
                break;
            }
        }
        let end = &mut self.ends[side as usize];
        while let Some(event) = end.tunnel.poll_event() {
            end.events.push((now, event));
        }
        let wanted = end.tunnel.poll_timeout();
        if end.wake.map(|(at, _)| at) != wanted {
            if let Some((_, id)) = end.wake.take() {
                self.engine.cancel(id);
            }
            end.wake = wanted.map(|at| (at, self.engine.at(at, Event::Wake(side))));
        }
    }

    /// Puts on the link what the end on `side` has to send. Whether it was anything.
    fn transmit(&mut self, side: Side) -> bool {
        let now = self.engine.now();
        let end = &mut self.ends[side as usize];
        let mut sent = false;
        while let Some(Transmit { packet: datagram, bytes, .. }) = end.tunnel.poll_transmit(now) {
            sent = true;
            let Some(delivery) = end.offer(now, bytes) else { continue };
            if let Some(at) = delivery.copy {
                let datagram = datagram.clone();
                self.engine.at(at, Event::Arrive { to: side.other(), datagram, bytes });
            }
            self.engine.at(delivery.arrival, Event::Arrive { to: side.other(), datagram, bytes });
        }
        sent
    }

    /// Takes what comes out on `side`. How many requests were among it.
    fn deliver(&mut self, side: Side) -> usize {
        let now = self.engine.now();
        let (flow, _, requests) = &mut self.requests;
        let [left, right] = &mut self.ends;
        let (end, peer) = if side == Side::Left { (left, right) } else { (right, left) };
        let mut asked = 0;
        while let Some(delivered) = end.tunnel.poll_deliver() {
            let Some(label) = peer.watch.deliver(now, &delivered.payload) else { continue };
            if label.flow != *flow || requests.due().is_empty() {
                continue;
            }
            match side {
                Side::Left => requests.answered(now, label.sequence),
                Side::Right => {
                    requests.arrived(label.sequence);
                    asked += 1;
                }
            }
        }
        asked
    }
}

impl<C: Cargo> End<C> {
    /// Puts a packet of `bytes` on the link: how it arrives, if it does. What arrives damaged is dropped there: a checksum or
    /// a tag tells.
    fn offer(&mut self, now: Time, bytes: u32) -> Option<Delivery> {
        let fate = self.link.offer(now, bytes as usize);
        if let Some(fates) = &mut self.fates {
            fates.push(fate);
        }
        let delivery = fate.delivery()?;
        let is_damaged = delivery.corruption.is_some();
        self.corrupted += u64::from(is_damaged);
        (!is_damaged).then_some(delivery)
    }
}
