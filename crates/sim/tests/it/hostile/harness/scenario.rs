//! Random hostile scenarios: paths, impairments, traffic and mishaps, all drawn from a seed.

use super::attacker::AttackPlan;
use super::extras;
use super::links::{log_uniform, packet_loss, random_code, random_link};
use ripstop_base::{Rate, Seed, Stream, Time};
use ripstop_link::{LinkConfig, LinkConfigError};
use ripstop_proto::endpoint::{EndpointConfig, PeerStatus};
use ripstop_proto::secure::{PresharedKey, SecureConfig};
use ripstop_proto::session::tunnel::TunnelConfig;
use ripstop_sim::world::{Carrier, Incident, UdpConfig, UdpPattern, World};
use std::time::Duration;

/// The share of links with a block code. Half the value gives half as many links with a block code; double the value
/// gives twice as many.
const CODED: f64 = 0.2;

/// One of the two ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The end that sends over the first link.
    Left,
    /// The end that sends over the second link.
    Right,
}

impl Side {
    /// Both ends.
    pub(crate) const BOTH: [Side; 2] = [Side::Left, Side::Right];

    /// The other end.
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }
}

/// Something that happens to one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mishap {
    /// [`Incident::Restart`].
    Restart,
    /// [`Incident::Roam`].
    Roam,
    /// [`Incident::Nuisance`].
    Nuisance,
    /// [`Incident::ClockJump`] by this time.
    ClockJump(Duration),
    /// [`Incident::WallClock`] to this time.
    WallClock(Duration),
}

/// A random scenario: two endpoints, one link in each direction, traffic, and mishaps.
#[derive(Clone, Debug)]
pub(crate) struct HostileScenario {
    /// The link from left to right, and the link from right to left.
    pub(crate) links: [LinkConfig; 2],
    /// The settings of both ends.
    pub(crate) config: TunnelConfig,
    /// The sources at the left end, and the sources at the right end.
    pub(crate) traffic: [Vec<UdpConfig>; 2],
    /// When all sources end.
    pub(crate) stop: Time,
    /// For each mishap: when it happens, to which end, and what it is.
    pub(crate) mishaps: Vec<(Time, Side, Mishap)>,
    /// Whether the session is interrupted by a blackout, a restart or roaming.
    pub(crate) interrupted: bool,
    /// Share of full packets lost in the worse direction, outside of blackouts.
    pub(crate) loss: f64,
    /// Whether the ends have a pre-shared key.
    pub(crate) preshared: bool,
    /// When both ends change their addresses at the same time. The left end then finds the right end by its name.
    pub(crate) both_move: Option<Time>,
    /// The attack of a hostile peer.
    pub(crate) attack: Option<AttackPlan>,
}

impl HostileScenario {
    /// The scenario of `seed`: a plain scenario with extras ([`extras`]).
    pub(crate) fn random(seed: Seed) -> HostileScenario {
        let mut scenario = HostileScenario::plain(seed);
        let length = scenario.stop.since(Time::ZERO).as_secs_f64();
        extras::add(&mut scenario, length, seed);
        scenario
    }

    /// The plain scenario of `seed`.
    ///
    /// Rates are 0.5 to 100 Mbit/s, round trips 2 to 800 ms, and losses 0 to 60 % (bursts of up to
    /// 8 packets). Some scenarios have reordering, duplication, corruption, jitter, block codes,
    /// rate changes, blackouts, restarts, roaming, or datagrams from strangers.
    pub(crate) fn plain(seed: Seed) -> HostileScenario {
        let mut r = seed.stream("hostile");
        let rate = Rate::from_bps(log_uniform(&mut r, 0.5e6, 100e6) as u64);
        let delay = Duration::from_secs_f64(log_uniform(&mut r, 0.001, 0.4));
        let heavy = r.chance(0.3);
        let blackout = r.chance(0.25);
        let length = 4.0 + 40.0 * delay.as_secs_f64();
        let stop = Time::from_secs_f64(length);
        let mut links = [0, 1].map(|_| random_link(&mut r, rate, delay, heavy, blackout, length));
        // Block codes draw from a random stream of their own, so that sessions without block codes do not depend on
        // them.
        let mut r_fec = seed.stream("hostile/fec");
        for link in &mut links {
            if r_fec.chance(CODED) {
                random_code(&mut r_fec, link, seed);
            }
        }
        let loss = links.iter().map(|link| packet_loss(link, seed)).fold(0.0, f64::max);
        let config = TunnelConfig::default();
        let mtu = config.inner_mtu();
        let traffic = [0, 1].map(|_| {
            let flows = 1 + r.below(4);
            (0..flows).map(|_| random_traffic(&mut r, mtu, rate, stop)).collect()
        });
        let mut mishaps = Vec::new();
        for (mishap, chance) in [(Mishap::Restart, 0.15), (Mishap::Roam, 0.2), (Mishap::Nuisance, 0.3)] {
            for side in Side::BOTH {
                // Only the left end moves in a plain scenario.
                if r.chance(chance) && (mishap, side) != (Mishap::Roam, Side::Right) {
                    mishaps.push((Time::from_secs_f64(length * (0.1 + 0.6 * r.unit())), side, mishap));
                }
            }
        }
        let cut = mishaps.iter().any(|(_, _, mishap)| *mishap != Mishap::Nuisance);
        let interrupted = blackout || cut;
        HostileScenario {
            links,
            config,
            traffic,
            stop,
            mishaps,
            interrupted,
            loss,
            preshared: false,
            both_move: None,
            attack: None,
        }
    }

    /// The number of restarts of both ends.
    pub(crate) fn restarts(&self) -> usize {
        self.mishaps.iter().filter(|(_, _, mishap)| *mishap == Mishap::Restart).count()
    }

    /// The world of the scenario at its start. Endpoint 0 is the left endpoint, and link 0 leads from left to right.
    ///
    /// # Errors
    /// If a setting of a link is invalid. The links of [`HostileScenario::random`] are valid.
    pub(crate) fn world(&self, seed: Seed) -> Result<HostileWorld, LinkConfigError> {
        let secure = SecureConfig { wall_clock: extras::WALL_CLOCK, ..SecureConfig::default() };
        let config = EndpointConfig { tunnel: self.config.clone(), secure, ..EndpointConfig::default() };
        let attacked = |side: Side| match self.attack {
            Some(plan) if plan.victim == side => EndpointConfig { memory: plan.memory, ..config.clone() },
            _ => config.clone(),
        };
        let mut world = World::new(seed);
        let [there, back] = &self.links;
        let links = [world.add_link(there, "link/0")?, world.add_link(back, "link/1")?];
        let ends = Side::BOTH.map(|side| world.add_endpoint(attacked(side)));
        let preshared = self.preshared.then(|| PresharedKey::generate(&mut seed.stream("preshared")));
        world.connect_with(ends[0], ends[1], preshared, &links[..1], &links[1..]);
        let mut add = |side: Side| -> Vec<usize> {
            let (from, to) = (side as usize, side.other() as usize);
            let carrier = Carrier::Endpoints { from, to };
            let named = self.traffic[from].iter().enumerate();
            named.map(|(k, source)| world.add_udp(source.clone(), &carrier, &format!("traffic/{from}/{k}"))).collect()
        };
        let flows = Side::BOTH.map(&mut add);
        for (at, side, mishap) in &self.mishaps {
            let endpoint = *side as usize;
            world.schedule(
                *at,
                match mishap {
                    Mishap::Restart => Incident::Restart { endpoint },
                    Mishap::Roam => Incident::Roam { endpoint },
                    Mishap::Nuisance => Incident::Nuisance { endpoint },
                    Mishap::ClockJump(by) => Incident::ClockJump { endpoint, by: *by },
                    Mishap::WallClock(wall_clock) => Incident::WallClock { endpoint, wall_clock: *wall_clock },
                },
            );
        }
        Ok(HostileWorld { world, flows })
    }
}

/// The world of a hostile scenario.
#[derive(Debug)]
pub(crate) struct HostileWorld {
    /// The world. An endpoint and the link over which it sends have the number of the endpoint's side.
    pub(crate) world: World,
    /// The numbers of the flows that start at the left end, and of the flows that start at the right end.
    pub(crate) flows: [Vec<usize>; 2],
}

impl HostileWorld {
    /// What the end on `side` knows of its peer.
    pub(crate) fn status(&self, side: Side) -> Option<PeerStatus> {
        self.world.peer_status(side as usize, side.other() as usize)
    }

    /// How many packets the sources on `side` sent, and how many of them were delivered.
    pub(crate) fn packets(&self, side: Side) -> (u64, u64) {
        let totals = self.flows[side as usize].iter().map(|flow| self.world.totals(*flow));
        totals.fold((0, 0), |(sent, out), flow| (sent + flow.sent, out + flow.packets))
    }
}

/// A source with a random pattern, and packets of at most `mtu` bytes.
fn random_traffic(r: &mut Stream, mtu: u32, rate: Rate, stop: Time) -> UdpConfig {
    let packets = rate.bps() as f64 / 8.0 / f64::from(mtu);
    let pattern = match r.below(4) {
        0 => UdpPattern::Greedy { backlog: 1 + r.below(60) as usize },
        1 => UdpPattern::Poisson { per_second: (packets * r.unit()).clamp(1.0, 2_000.0) },
        2 => UdpPattern::Periodic { every: Duration::from_millis(1 + r.below(300)), burst: 1 + r.below(20) as u32 },
        _ => UdpPattern::Poisson { per_second: 1.0 + 30.0 * r.unit() },
    };
    let least = 20 + r.below(u64::from(mtu) - 20) as u32;
    let most = least + r.below(u64::from(mtu - least) + 1) as u32;
    UdpConfig { len: (least, most), immediate: r.chance(0.15), stop, ..UdpConfig::new(pattern, most) }
}
