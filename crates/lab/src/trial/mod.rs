//! A trial: one run of a contender over one simulated link. The measurements are those of the command `ripstop demo`.
//!
//! A contender is a way to carry data ([`Scheme`]): a plain TCP, a TCP through the tunnel, or the tunnel alone. A
//! contender carries bulk traffic (an endless stream, or a file) and small requests.

mod world;

use ripstop_base::{DelayHistogram, Seed, Time};
use ripstop_link::{Fate, LinkConfig, LinkConfigError, LinkCounters};
use ripstop_sim::tcp::Variant;
use ripstop_sim::world::STAMPED_HEADERS;
use ripstop_sim::world::TunnelConfig;
use std::time::Duration;
use world::TrialWorld;

/// Payload bytes of a request, and of its reply.
pub const REQUEST_BYTES: u32 = 100;

/// Bytes of a full packet on the link: Ethernet's MTU.
const LINK_MTU: u32 = 1500;
/// Virtual time between two reports of progress. Half the value reports twice as often, and double the value half as
/// often. A run with a file ends at the first report after the file has arrived.
const STEP: Duration = Duration::from_millis(500);
/// Amounts of bulk traffic, bytes. The trial records the time at which each amount has arrived.
const TIMED_BYTES: [u64; 2] = [100_000, 1_000_000];

/// The path of a connection's packets between the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Through the tunnel.
    Tunnel,
    /// Directly over the link.
    Link,
}

/// What carries the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// The tunnel alone: an endless source of packets, and requests. Packets that the tunnel loses are not
    /// retransmitted.
    Packets,
    /// TCP connections between hosts that behave like Linux kernels.
    Tcp(Variant, PathKind),
}

/// The bulk traffic, which is sent at the same time as the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BulkTraffic {
    /// No traffic.
    None,
    /// Endless data.
    Endless,
    /// A file of this many bytes, over TCP. [`Scheme::Packets`] has no files and sends endless data instead.
    File(u64),
}

/// The settings of a trial.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The link in the data direction, and the link back.
    pub links: [LinkConfig; 2],
    /// What carries the data.
    pub scheme: Scheme,
    /// The bulk traffic.
    pub bulk: BulkTraffic,
    /// When requests of [`REQUEST_BYTES`] are due, from the start of the run.
    pub requests: Vec<Duration>,
    /// Start of the measured interval, from the start of the run.
    pub from: Duration,
    /// End of the measured interval.
    pub until: Duration,
    /// How long the run waits for replies after the measured interval. The bulk traffic goes on during this time.
    pub grace: Duration,
    /// Whether to record what the links did with each packet ([`Measured::fates`]).
    pub fates: bool,
    /// The seed of all random numbers.
    pub seed: Seed,
}

/// The measurements of a trial.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Payload bytes of the bulk traffic delivered in the measured interval, and from the start of the run to the end
    /// of the interval.
    pub bulk_bytes: (u64, u64),
    /// Payload bytes of requests delivered in the measured interval.
    pub request_bytes: u64,
    /// IP bytes offered to the link in the data direction in an interval of the same length that begins and ends earlier
    /// by the link's delay. Bytes that are offered then arrive in the measured interval, unless they wait in a queue.
    pub offered_bytes: u64,
    /// Time from the start until 100 kB of the bulk traffic were delivered. None if less was
    /// delivered.
    pub first_100kb: Option<Duration>,
    /// Time from the start until 1 MB of the bulk traffic was delivered. None if less was
    /// delivered.
    pub first_1mb: Option<Duration>,
    /// Time from the start until the whole file was delivered. None if less was delivered, or
    /// without a file.
    pub complete: Option<Duration>,
    /// Delays of the bulk traffic's packets, from first transmission to delivery in order. Only packets sent and
    /// delivered in the measured interval count. With [`Scheme::Packets`] a delay begins when the packet enters the
    /// tunnel.
    pub delays: DelayHistogram,
    /// For each request, in order: `Ok` has the time from the due time to the reply. `Err` means that no reply came,
    /// and has the time from the due time to the end of the run.
    pub latencies: Vec<Result<Duration, Duration>>,
    /// Counters of the link in the data direction at the end of the measured interval.
    pub link: LinkCounters,
    /// Number of packets that the bulk traffic's TCP had retransmitted by the end of the measured interval; None
    /// without a TCP.
    pub retransmits: Option<u64>,
    /// Losses that the tunnel had to recover in the data direction by the end of the measured interval; None without a
    /// tunnel.
    pub tunnel: Option<TunnelLosses>,
    /// The fates of the packets on the link in the data direction and on the link back, in the order in which the
    /// packets were offered. Empty unless the trial records fates.
    pub fates: [Vec<Fate>; 2],
    /// Impairments that are configured on one of the links but never occurred.
    pub unfired: Vec<&'static str>,
    /// Number of packets that came out of the tunnel wrongly ([`World::strays`](ripstop_sim::world::World::strays)).
    /// Must be 0.
    pub violations: usize,
}

/// Packets that the link lost and the tunnel had to recover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelLosses {
    /// Number of packets recovered from repairs.
    pub recovered: u64,
    /// Number of packets given up. The TCP inside the tunnel had to detect the loss of these
    /// packets.
    pub given_up: u64,
}

impl Trial {
    /// Runs the trial. A run with a file ends when the file has arrived. `progress` is called with the virtual time,
    /// twice per virtual second.
    ///
    /// Both ends of a tunnel have a session from the start, with the round-trip time of the empty path, as after a
    /// handshake.
    ///
    /// # Errors
    /// The invalid setting of a link.
    pub fn run(&self, mut progress: impl FnMut(Duration)) -> Result<Measured, LinkConfigError> {
        let mut trial_world = TrialWorld::new(self)?;
        let mut run_to = |trial_world: &mut TrialWorld, end: Duration| {
            while trial_world.world.now() < Time::ZERO + end && trial_world.observer.complete.is_none() {
                trial_world.run_until((trial_world.world.now() + STEP).min(Time::ZERO + end));
                progress(trial_world.world.now().since(Time::ZERO));
            }
        };
        let delay = self.links[0].delay.duration();
        run_to(&mut trial_world, self.from.saturating_sub(delay));
        let offered = trial_world.link().offered_bytes;
        run_to(&mut trial_world, self.from);
        trial_world.forget_delays();
        let useful = trial_world.useful();
        run_to(&mut trial_world, self.until.saturating_sub(delay).max(self.from));
        let offered_then = trial_world.link().offered_bytes;
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
        let latency = |(k, due): (usize, &Duration)| trial_world.latency(k).ok_or(end.since(Time::ZERO + *due));
        let latencies = requests.map(latency).collect();
        let [first_100kb, first_1mb] = timed_at.map(|at| at.map(since_start));
        let unfired = trial_world.links.iter().flat_map(|link| trial_world.world.unfired(*link)).collect();
        Ok(Measured {
            bulk_bytes: (useful_then.0 - useful.0, useful_then.0),
            request_bytes: useful_then.1 - useful.1,
            offered_bytes: offered_then - offered,
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
    fn config(&self) -> TunnelConfig {
        let rtt = self.links.iter().map(|link| link.delay.duration()).sum::<Duration>();
        TunnelConfig { initial_rtt: Some(rtt.max(Duration::from_micros(100))), ..TunnelConfig::default() }
    }

    /// Payload bytes of a full packet, without the headers of IP and TCP.
    fn payload(&self) -> u32 {
        let packet = match self.scheme {
            Scheme::Tcp(_, PathKind::Link) => LINK_MTU,
            _ => self.config().inner_mtu(),
        };
        packet - STAMPED_HEADERS
    }

    /// When requests are due, in virtual time.
    fn due(&self) -> Vec<Time> {
        self.requests.iter().map(|due| Time::ZERO + *due).collect()
    }
}
