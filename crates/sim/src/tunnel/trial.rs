//! One run of the tunnel alone, measured as the demonstration measures a contender: a source that always has
//! more, requests beside it, and the link's own counters.

use super::cargo::Parcel;
use super::traffic::Traffic;
use super::world::{Side, World};
use ripstop_base::{Seed, Time};
use ripstop_link::{ConfigError, Counters, LinkConfig};
use ripstop_proto::session::tunnel::Config;
use std::time::Duration;

/// Bytes of the IPv4 and TCP headers (with time stamps) that a full inner packet is taken to carry; the rest is useful.
pub const TCP_IP_HEADERS: u32 = 52;

/// Useful bytes of a request, and of its reply.
pub const REQUEST_BYTES: u32 = 100;

const BULK: u32 = 1;
const REQUESTS: u32 = 2;

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The link in the data direction, and the way back.
    pub links: [LinkConfig; 2],
    /// Whether a source fills the tunnel with full packets.
    pub bulk: bool,
    /// When 100-byte requests are due, since the start.
    pub requests: Vec<Duration>,
    /// Where the measured interval begins, since the start.
    pub from: Duration,
    /// Where it ends.
    pub until: Duration,
    /// How long replies are waited for after that, the bulk going on.
    pub grace: Duration,
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
    /// Since the start, until 100 kB of the bulk had come out; to a millisecond.
    pub first_100kb: Option<Duration>,
    /// The same for 1 MB.
    pub first_1mb: Option<Duration>,
    /// For each request, in their order: from the moment it was due until its reply had come; or how long it had waited
    /// at the end, without one.
    pub latencies: Vec<Result<Duration, Duration>>,
    /// What the link in the data direction had done by the end of the measured interval.
    pub link: Counters,
    /// Impairments that are configured, on either link, and never fired.
    pub unfired: Vec<&'static str>,
    /// What must never happen and did.
    pub violations: usize,
}

impl Trial {
    /// Runs it. `progress` is told the virtual time now and then.
    ///
    /// Both ends have a session from the start, with the round-trip time of the empty path, as after a handshake.
    ///
    /// # Errors
    /// The link setting that cannot be.
    pub fn run(&self, mut progress: impl FnMut(Duration)) -> Result<Measured, ConfigError> {
        let rtt = self.links.iter().map(|link| link.delay.duration()).sum::<Duration>();
        let config = Config { initial_rtt: rtt.max(Duration::from_micros(100)), ..Config::default() };
        let full = config.inner_mtu();
        let mut world: World<Parcel> = World::new([config.clone(), config], self.links.clone(), self.seed)?;
        if self.bulk {
            world.add(Side::Left, Traffic::greedy(BULK, full), self.seed);
        }
        world.ask(
            REQUESTS,
            REQUEST_BYTES + TCP_IP_HEADERS,
            self.requests.iter().map(|due| Time::ZERO + *due).collect(),
        );
        let useful = |world: &World<Parcel>, flow: u32, len: u32, payload: u32| {
            let bytes =
                world.flows(Side::Left).find(|(number, _)| *number == flow).map_or(0, |(_, f)| f.bytes);
            bytes / u64::from(len) * u64::from(payload)
        };
        let bulk = |world: &World<Parcel>| useful(world, BULK, full, full - TCP_IP_HEADERS);
        let asked =
            |world: &World<Parcel>| useful(world, REQUESTS, REQUEST_BYTES + TCP_IP_HEADERS, REQUEST_BYTES);

        // In steps of a millisecond until 1 MB has come out or the interval begins, in wide ones then.
        let (mut first_100kb, mut first_1mb) = (None, None);
        let mut at = Duration::ZERO;
        while self.bulk && at < self.from && first_1mb.is_none() {
            at = (at + Duration::from_millis(1)).min(self.from);
            world.run_until(Time::ZERO + at);
            let so_far = bulk(&world);
            first_100kb = first_100kb.or((so_far >= 100_000).then_some(at));
            first_1mb = first_1mb.or((so_far >= 1_000_000).then_some(at));
        }
        let mut run_to = |world: &mut World<Parcel>, end: Duration| {
            while world.now() < Time::ZERO + end {
                world.run_until((world.now() + Duration::from_millis(500)).min(Time::ZERO + end));
                progress(world.now().since(Time::ZERO));
            }
        };
        run_to(&mut world, self.from);
        let before = (bulk(&world), asked(&world), world.link(Side::Left).offered_bytes);
        run_to(&mut world, self.until);
        let after = (bulk(&world), asked(&world), world.link(Side::Left).offered_bytes);
        let link = *world.link(Side::Left);
        if world.requests().latencies().contains(&None) {
            run_to(&mut world, self.until + self.grace);
        }
        let end = world.now();
        let requests = world.requests();
        let latencies = requests.due().iter().zip(requests.latencies());
        let unfired = Side::BOTH.into_iter().flat_map(|side| world.unfired(side)).collect();
        Ok(Measured {
            bulk_bytes: (after.0 - before.0, after.0),
            request_bytes: after.1 - before.1,
            offered_bytes: after.2 - before.2,
            first_100kb,
            first_1mb,
            latencies: latencies.map(|(due, latency)| latency.ok_or(end.since(*due))).collect(),
            link,
            unfired,
            violations: world.violations().count(),
        })
    }
}
