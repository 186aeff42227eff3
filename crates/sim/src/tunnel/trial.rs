//! One run of a contender, measured as the demonstration measures it: a stream that always has more, requests beside it,
//! or a file, and the link's own counters.

use super::cargo::Parcel;
use super::connection::{ConnectionConfig, Load, TCP_IP_HEADERS, Way};
use super::traffic::Traffic;
use super::world::{Side, World};
use crate::tcp::Variant;
use ripstop_base::{Seed, Time};
use ripstop_link::{ConfigError, Counters, Fate, LinkConfig};
use ripstop_proto::session::tunnel::Config;
use std::time::Duration;

/// Useful bytes of a request, and of its reply.
pub const REQUEST_BYTES: u32 = 100;

/// Bytes of a full packet on the link.
const LINK_MTU: u32 = 1500;
/// Inner flows: of the bulk, and of the requests.
const BULK: u32 = 16;
const REQUESTS: u32 = 32;
/// How often the virtual time is told, and how finely a source of bare packets is looked at until it has sent its first
/// megabyte.
const STEP: Duration = Duration::from_millis(500);
const FINE_STEP: Duration = Duration::from_millis(1);

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The tunnel alone: a source of packets that never runs dry, and requests that nobody sends again.
    Packets,
    /// TCP connections.
    Tcp(Variant, Way),
}

/// What is sent beside requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bulk {
    /// Nothing.
    None,
    /// Always more.
    Endless,
    /// So many bytes, by a TCP; a source of bare packets has no files, and sends without end.
    File(u64),
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The link in the data direction, and the way back.
    pub links: [LinkConfig; 2],
    /// What carries the data.
    pub scheme: Scheme,
    /// What is sent beside requests.
    pub bulk: Bulk,
    /// When 100-byte requests are due, since the start.
    pub requests: Vec<Duration>,
    /// Where the measured interval begins, since the start.
    pub from: Duration,
    /// Where it ends.
    pub until: Duration,
    /// How long replies are waited for after that, the bulk going on.
    pub grace: Duration,
    /// Whether the fates of packets are to be kept.
    pub fates: bool,
    /// Where all randomness comes from.
    pub seed: Seed,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Useful bytes of the bulk that came out in the measured interval, and since the start.
    pub bulk_bytes: (u64, u64),
    /// Useful bytes of requests that came out in the measured interval.
    pub request_bytes: u64,
    /// IP bytes offered to the link in the data direction in the measured interval.
    pub offered_bytes: u64,
    /// Since the start, until 100 kB of the bulk had come out.
    pub first_100kb: Option<Duration>,
    /// The same for 1 MB.
    pub first_1mb: Option<Duration>,
    /// The same for all of a file.
    pub complete: Option<Duration>,
    /// From the first transmission of the bulk's packets to their delivery in order, s: those sent and delivered in
    /// the measured interval. Of a source without TCP, from the way into the tunnel.
    pub delays: Vec<f64>,
    /// For each request, in their order: from the moment it was due until its reply had come; or how long it had waited
    /// at the end, without one.
    pub latencies: Vec<Result<Duration, Duration>>,
    /// What the link in the data direction had done by the end of the measured interval.
    pub link: Counters,
    /// What became of the packets on the link in the data direction and on the way back, in the order in which they were
    /// offered; nothing unless they were to be kept.
    pub fates: [Vec<Fate>; 2],
    /// Impairments that are configured, on either link, and never fired.
    pub unfired: Vec<&'static str>,
    /// What must never happen and did.
    pub violations: usize,
}

impl Trial {
    /// Runs it; a file's run ends when it has arrived. `progress` is told the virtual time now and then.
    ///
    /// Both ends of a tunnel have a session from the start, with the round-trip time of the empty path, as after a handshake.
    ///
    /// # Errors
    /// The link setting that cannot be.
    pub fn run(&self, mut progress: impl FnMut(Duration)) -> Result<Measured, ConfigError> {
        let mut world = self.world()?;
        let (mut first_100kb, mut first_1mb) = (None, None);
        let mut at = Duration::ZERO;
        let has_marks = self.scheme == Scheme::Packets && self.bulk != Bulk::None;
        while has_marks && at < self.from && first_1mb.is_none() {
            at = (at + FINE_STEP).min(self.from);
            world.run_until(Time::ZERO + at);
            let so_far = self.useful(&world).0;
            first_100kb = first_100kb.or((so_far >= 100_000).then_some(at));
            first_1mb = first_1mb.or((so_far >= 1_000_000).then_some(at));
        }
        let mut run_to = |world: &mut World<Parcel>, end: Duration| {
            while world.now() < Time::ZERO + end && !self.is_complete(world) {
                world.run_until((world.now() + STEP).min(Time::ZERO + end));
                progress(world.now().since(Time::ZERO));
            }
        };
        run_to(&mut world, self.from);
        world.forget_delays();
        let before = (self.useful(&world), world.link(Side::Left).offered_bytes);
        run_to(&mut world, self.until);
        let after = (self.useful(&world), world.link(Side::Left).offered_bytes);
        let link = *world.link(Side::Left);
        let delays = self.delays(&world);
        if let Some(bulk) = world.connections().next() {
            [first_100kb, first_1mb] = bulk.marks.map(|at| at.map(|at| at.since(Time::ZERO)));
        }
        if self.answered(&world).contains(&None) {
            run_to(&mut world, self.until + self.grace);
        }

        let end = world.now();
        let complete = world.connections().find_map(|tcp| tcp.complete);
        let waited = |due: &Duration| end.since(Time::ZERO + *due);
        let latencies = self.requests.iter().zip(self.answered(&world));
        Ok(Measured {
            bulk_bytes: (after.0.0 - before.0.0, after.0.0),
            request_bytes: after.0.1 - before.0.1,
            offered_bytes: after.1 - before.1,
            first_100kb,
            first_1mb,
            complete: complete.map(|at| at.since(Time::ZERO)),
            delays,
            latencies: latencies.map(|(due, latency)| latency.ok_or(waited(due))).collect(),
            link,
            fates: Side::BOTH.map(|side| world.fates(side).to_vec()),
            unfired: Side::BOTH.into_iter().flat_map(|side| world.unfired(side)).collect(),
            violations: world.violations().count(),
        })
    }

    /// The world at its beginning.
    fn world(&self) -> Result<World<Parcel>, ConfigError> {
        let config = self.config();
        let mut world: World<Parcel> = World::new([config.clone(), config], self.links.clone(), self.seed)?;
        if self.fates {
            world.keep_fates();
        }
        let due: Vec<Time> = self.requests.iter().map(|due| Time::ZERO + *due).collect();
        match self.scheme {
            Scheme::Packets => {
                if self.bulk != Bulk::None {
                    world.add(Side::Left, Traffic::greedy(BULK, self.packet()), self.seed);
                }
                world.ask(REQUESTS, REQUEST_BYTES + TCP_IP_HEADERS, due);
            }
            Scheme::Tcp(variant, way) => {
                let mut connect = |flow, load| {
                    let packet = self.packet();
                    world.connect(flow, ConnectionConfig { from: Side::Left, variant, way, packet, load });
                };
                match self.bulk {
                    Bulk::None => {}
                    Bulk::Endless => connect(BULK, Load::Endless),
                    Bulk::File(bytes) => connect(BULK, Load::File(bytes)),
                }
                if !due.is_empty() {
                    connect(REQUESTS, Load::Requests(REQUEST_BYTES, due));
                }
            }
        }
        Ok(world)
    }

    fn config(&self) -> Config {
        let rtt = self.links.iter().map(|link| link.delay.duration()).sum::<Duration>();
        Config { initial_rtt: rtt.max(Duration::from_micros(100)), ..Config::default() }
    }

    /// Bytes of a full packet, headers of IP and TCP included.
    fn packet(&self) -> u32 {
        match self.scheme {
            Scheme::Tcp(_, Way::Link) => LINK_MTU,
            _ => self.config().inner_mtu(),
        }
    }

    /// Useful bytes of the bulk and of requests that have come out.
    fn useful(&self, world: &World<Parcel>) -> (u64, u64) {
        if self.scheme == Scheme::Packets {
            let of = |flow: u32, len: u32| {
                let flow = world.flows(Side::Left).find(|(number, _)| *number == flow);
                flow.map_or(0, |(_, f)| f.bytes) / u64::from(len) * u64::from(len - TCP_IP_HEADERS)
            };
            return (of(BULK, self.packet()), of(REQUESTS, REQUEST_BYTES + TCP_IP_HEADERS));
        }
        let mut connections = world.connections().map(|tcp| tcp.bytes);
        let bulk = if self.bulk == Bulk::None { 0 } else { connections.next().unwrap_or(0) };
        (bulk, connections.next().unwrap_or(0))
    }

    /// How long the bulk's packets were under way.
    fn delays(&self, world: &World<Parcel>) -> Vec<f64> {
        if self.bulk == Bulk::None {
            return Vec::new();
        }
        match self.scheme {
            Scheme::Packets => {
                let flow = world.flows(Side::Left).find(|(number, _)| *number == BULK);
                flow.map_or_else(Vec::new, |(_, flow)| flow.delays.clone())
            }
            Scheme::Tcp(..) => world.connections().next().map_or_else(Vec::new, |tcp| tcp.delays.to_vec()),
        }
    }

    /// The latencies of requests, in their order; None: not answered yet.
    fn answered(&self, world: &World<Parcel>) -> Vec<Option<Duration>> {
        if self.scheme == Scheme::Packets {
            return world.requests().latencies().to_vec();
        }
        let asked = world.connections().nth(usize::from(self.bulk != Bulk::None));
        let known = asked.map_or_else(Vec::new, |tcp| tcp.latencies.to_vec());
        (0..self.requests.len()).map(|k| known.get(k).copied()).collect()
    }

    fn is_complete(&self, world: &World<Parcel>) -> bool {
        world.connections().next().is_some_and(|tcp| tcp.complete.is_some())
    }
}
