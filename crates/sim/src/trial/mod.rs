//! A trial: one run of a contender over one link, measured as the demonstration measures it. The contender sends a stream that
//! always has more, or a file, and requests beside it.

mod world;

use crate::tcp::Variant;
use crate::world::STAMPED_HEADERS;
use ripstop_base::{DelayHistogram, Seed, Time};
use ripstop_link::{Fate, LinkConfig, LinkConfigError, LinkCounters};
use ripstop_proto::session::tunnel::Config;
use std::time::Duration;
use world::TrialWorld;

/// Useful bytes of a request, and of its reply.
pub const REQUEST_BYTES: u32 = 100;

/// Bytes of a full packet on the link.
const LINK_MTU: u32 = 1500;
/// How often the virtual time is told.
const STEP: Duration = Duration::from_millis(500);
/// How much of the bulk is timed, bytes.
const TIMED_BYTES: [u64; 2] = [100_000, 1_000_000];

/// How a connection's packets get from host to host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
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
    Tcp(Variant, PathKind),
}

/// What is sent beside requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkTraffic {
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
    pub bulk: BulkTraffic,
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
    pub delays: DelayHistogram,
    /// For each request, in their order: from the moment it was due until its reply had come; or how long it had waited
    /// at the end, without one.
    pub latencies: Vec<Result<Duration, Duration>>,
    /// What the link in the data direction had done by the end of the measured interval.
    pub link: LinkCounters,
    /// Packets that the bulk's TCP had retransmitted by the end of the measured interval; None without a TCP.
    pub retransmits: Option<u64>,
    /// What the tunnel had repaired in the data direction by the end of the measured interval; None without a tunnel.
    pub tunnel: Option<TunnelLosses>,
    /// What became of the packets on the link in the data direction and on the way back, in the order in which they were
    /// offered; nothing unless they were to be kept.
    pub fates: [Vec<Fate>; 2],
    /// Impairments that are configured, on either link, and never fired.
    pub unfired: Vec<&'static str>,
    /// What must never happen and did.
    pub violations: usize,
}

/// Packets that the link lost and the tunnel had to recover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelLosses {
    /// Packets recovered from repairs.
    pub recovered: u64,
    /// Packets given up: the TCP inside had to notice their loss.
    pub given_up: u64,
}

impl Trial {
    /// Runs it; a file's run ends when it has arrived. `progress` is told the virtual time now and then.
    ///
    /// Both ends of a tunnel have a session from the start, with the round-trip time of the empty path, as after a handshake.
    ///
    /// # Errors
    /// The link setting that cannot be.
    pub fn run(&self, mut progress: impl FnMut(Duration)) -> Result<Measured, LinkConfigError> {
        let mut trial_world = TrialWorld::new(self)?;
        let mut run_to = |trial_world: &mut TrialWorld, end: Duration| {
            while trial_world.world.now() < Time::ZERO + end && trial_world.observer.complete.is_none() {
                trial_world.run_until((trial_world.world.now() + STEP).min(Time::ZERO + end));
                progress(trial_world.world.now().since(Time::ZERO));
            }
        };
        run_to(&mut trial_world, self.from);
        trial_world.forget_delays();
        let (useful, offered) = (trial_world.useful(), trial_world.link().offered_bytes);
        run_to(&mut trial_world, self.until);
        let (useful_then, link) = (trial_world.useful(), *trial_world.link());
        let (retransmits, tunnel) = (trial_world.retransmits(), trial_world.tunnel());
        let (delays, timed_at) = (trial_world.delays(), trial_world.observer.timed_at);
        if !self.requests.is_empty() && !trial_world.is_answered(self.requests.len()) {
            run_to(&mut trial_world, self.until + self.grace);
        }

        let (end, complete) = (trial_world.world.now(), trial_world.observer.complete);
        let since_start = |at: Time| at.since(Time::ZERO);
        let requests = self.requests.iter().enumerate();
        let latency =
            |(k, due): (usize, &Duration)| trial_world.latency(k).ok_or(end.since(Time::ZERO + *due));
        let latencies = requests.map(latency).collect();
        let [first_100kb, first_1mb] = timed_at.map(|at| at.map(since_start));
        let unfired = trial_world.links.iter().flat_map(|link| trial_world.world.unfired(*link)).collect();
        Ok(Measured {
            bulk_bytes: (useful_then.0 - useful.0, useful_then.0),
            request_bytes: useful_then.1 - useful.1,
            offered_bytes: link.offered_bytes - offered,
            first_100kb,
            first_1mb,
            complete: complete.map(since_start),
            delays,
            latencies,
            link,
            retransmits,
            tunnel,
            fates: trial_world.fates(),
            unfired,
            violations: trial_world.world.strays() as usize,
        })
    }

    /// The tunnel's configuration.
    fn config(&self) -> Config {
        let rtt = self.links.iter().map(|link| link.delay.duration()).sum::<Duration>();
        Config { initial_rtt: rtt.max(Duration::from_micros(100)), ..Config::default() }
    }

    /// Bytes of payload in a full packet: what headers of IP and TCP leave of it.
    fn payload(&self) -> u32 {
        let packet = match self.scheme {
            Scheme::Tcp(_, PathKind::Link) => LINK_MTU,
            _ => self.config().inner_mtu(),
        };
        packet - STAMPED_HEADERS
    }

    /// When requests are due.
    fn due(&self) -> Vec<Time> {
        self.requests.iter().map(|due| Time::ZERO + *due).collect()
    }
}
