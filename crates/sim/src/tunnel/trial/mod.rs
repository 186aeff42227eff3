//! One run of a contender, measured as the demonstration measures it: a stream that always has more, requests beside it,
//! or a file, and the link's own counters.

mod connections;
mod packets;

use crate::network::STAMPED_HEADERS;
use crate::tcp::Variant;
use connections::Connections;
use packets::Packets;
use ripstop_base::{Delays, Seed, Time};
use ripstop_link::{ConfigError, Counters, Fate, LinkConfig};
use ripstop_proto::session::tunnel::Config;
use std::time::Duration;

/// Useful bytes of a request, and of its reply.
pub const REQUEST_BYTES: u32 = 100;

/// Bytes of a full packet on the link.
const LINK_MTU: u32 = 1500;
/// How often the virtual time is told.
const STEP: Duration = Duration::from_millis(500);
/// How much of the bulk is timed, bytes.
const MARKS: [u64; 2] = [100_000, 1_000_000];

/// How a connection's packets get from host to host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Through the tunnel.
    Tunnel,
    /// Over the link as they are.
    Link,
}

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The tunnel alone: a source of packets that never runs dry, and requests that nobody sends again.
    Packets,
    /// TCP connections between kernels.
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
    /// From the first transmission of the bulk's packets to their delivery in order: those sent and delivered in the measured
    /// interval. Of a source without TCP, from the way into the tunnel.
    pub delays: Delays,
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
        match self.scheme {
            Scheme::Packets => Ok(self.perform(Packets::new(self)?, &mut progress)),
            Scheme::Tcp(variant, way) => {
                Ok(self.perform(Connections::new(self, variant, way)?, &mut progress))
            }
        }
    }

    fn perform<S: Stage>(&self, mut stage: S, progress: &mut impl FnMut(Duration)) -> Measured {
        let mut run_to = |stage: &mut S, end: Duration| {
            while stage.now() < Time::ZERO + end && stage.complete().is_none() {
                stage.run_until((stage.now() + STEP).min(Time::ZERO + end));
                progress(stage.now().since(Time::ZERO));
            }
        };
        run_to(&mut stage, self.from);
        stage.forget_delays();
        let (useful, offered) = (stage.useful(), stage.link().offered_bytes);
        run_to(&mut stage, self.until);
        let (useful_then, link) = (stage.useful(), *stage.link());
        let (delays, marks) = (stage.delays(), stage.marks());
        if !self.requests.is_empty() && !stage.is_answered(self.requests.len()) {
            run_to(&mut stage, self.until + self.grace);
        }

        let (end, complete) = (stage.now(), stage.complete());
        let since_start = |at: Time| at.since(Time::ZERO);
        let requests = self.requests.iter().enumerate();
        let latency = |(k, due): (usize, &Duration)| stage.latency(k).ok_or(end.since(Time::ZERO + *due));
        let latencies = requests.map(latency).collect();
        let [first_100kb, first_1mb] = marks.map(|at| at.map(since_start));
        let Ending { fates, unfired, violations } = stage.end();
        Measured {
            bulk_bytes: (useful_then.0 - useful.0, useful_then.0),
            request_bytes: useful_then.1 - useful.1,
            offered_bytes: link.offered_bytes - offered,
            first_100kb,
            first_1mb,
            complete: complete.map(since_start),
            delays,
            latencies,
            link,
            fates,
            unfired,
            violations,
        }
    }

    /// The tunnel's configuration.
    fn config(&self) -> Config {
        let rtt = self.links.iter().map(|link| link.delay.duration()).sum::<Duration>();
        Config { initial_rtt: rtt.max(Duration::from_micros(100)), ..Config::default() }
    }

    /// Bytes of payload in a full packet: what headers of IP and TCP leave of it.
    fn payload(&self) -> u32 {
        let packet = match self.scheme {
            Scheme::Tcp(_, Way::Link) => LINK_MTU,
            _ => self.config().inner_mtu(),
        };
        packet - STAMPED_HEADERS
    }

    /// When requests are due.
    fn due(&self) -> Vec<Time> {
        self.requests.iter().map(|due| Time::ZERO + *due).collect()
    }
}

/// What a trial runs on.
trait Stage {
    fn run_until(&mut self, end: Time);

    fn now(&self) -> Time;

    /// Useful bytes of the bulk and of requests that have come out.
    fn useful(&self) -> (u64, u64);

    /// What the link in the data direction has done.
    fn link(&self) -> &Counters;

    /// Keeps the delays of packets sent from now on only.
    fn forget_delays(&mut self);

    /// How long the bulk's packets were under way that are kept.
    fn delays(&mut self) -> Delays;

    /// When so much of the bulk had come out as [`MARKS`] says.
    fn marks(&self) -> [Option<Time>; 2];

    /// When all of a file had.
    fn complete(&self) -> Option<Time>;

    /// From when request number `k` was due until its reply had come.
    fn latency(&self, k: usize) -> Option<Duration>;

    /// Whether the first `n` requests are all answered.
    fn is_answered(&self, n: usize) -> bool {
        (0..n).all(|k| self.latency(k).is_some())
    }

    fn end(self) -> Ending;
}

/// What is asked when a trial is over.
struct Ending {
    fates: [Vec<Fate>; 2],
    unfired: Vec<&'static str>,
    violations: usize,
}
