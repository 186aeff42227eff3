//! Random sessions over random hostile paths: what they must keep whatever happens.

use super::cargo::Cargo;
use super::traffic::{Pattern, Traffic};
use super::world::{Side, World};
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span, Stream, Time};
use ripstop_link::{Blackout, Change, Duplicate, LinkConfig, Loss, Reorder};
use ripstop_proto::session::tunnel::Config;
use std::time::Duration;

/// A random world: paths, impairments and traffic, all by seed.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The link from left to right, and the one back.
    pub links: [LinkConfig; 2],
    /// The settings of both ends.
    pub configs: [Config; 2],
    /// The flows into the left and into the right end.
    pub traffic: [Vec<Traffic>; 2],
    /// When the flows end.
    pub stop: Time,
    /// Whether the path is cut for a while.
    pub blackout: bool,
    /// Loss of the worse direction, without blackouts.
    pub loss: f64,
}

/// What a scenario came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What went wrong, in words; empty when all was well.
    pub faults: Vec<String>,
    /// Packets that went in, both ways.
    pub sent: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// Packets dropped on the way in: no room, CoDel, deadline.
    pub queue_drops: u64,
    /// Packets lost in the tunnel: sent, and never delivered.
    pub residual: u64,
    /// Of these: given up by the sender, late for their flow.
    pub given_up: u64,
    /// Late for their flow.
    pub late: u64,
    /// Events processed.
    pub events: u64,
}

impl Scenario {
    /// The scenario of `seed`: rates of 0.5 to 100 Mbit/s, round trips of 2 to 800 ms, loss of 0 to 60 % (bursts of up to 8),
    /// reordering, duplication, corruption, jitter, rate changes and blackouts in some of them.
    pub fn random(seed: Seed) -> Scenario {
        let mut r = seed.stream("hostile");
        let rate = Rate::from_bps(log_uniform(&mut r, 0.5e6, 100e6) as u64);
        let delay = Duration::from_secs_f64(log_uniform(&mut r, 0.001, 0.4));
        let heavy = r.chance(0.3);
        let blackout = r.chance(0.25);
        let length = 4.0 + 40.0 * delay.as_secs_f64();
        let stop = Time::from_secs_f64(length);
        let links = [0, 1].map(|_| random_link(&mut r, rate, delay, heavy, blackout, length));
        let loss = links.iter().map(|link| link.loss.mean()).fold(0.0, f64::max);
        let rtt = 2 * delay;
        let config = Config { initial_rtt: rtt.max(Duration::from_millis(1)), ..Config::default() };
        let mtu = config.inner_mtu();
        let traffic = [0, 1].map(|_| {
            let flows = 1 + r.below(4);
            (0..flows as u32).map(|flow| random_traffic(&mut r, flow, mtu, rate, stop)).collect()
        });
        Scenario { links, configs: [config.clone(), config], traffic, stop, blackout, loss }
    }

    /// Runs the scenario with packets of type `C`.
    pub fn run<C: Cargo + std::fmt::Debug>(&self, seed: Seed) -> Outcome {
        let mut world: World<C> = match World::new(self.configs.clone(), self.links.clone(), seed) {
            Ok(world) => world,
            Err(error) => return Outcome::of_fault(error.to_string()),
        };
        for (side, flows) in Side::BOTH.into_iter().zip(&self.traffic) {
            for flow in flows {
                world.add(side, *flow, seed);
            }
        }
        // After the traffic ends everything must come to rest: what is under way is delivered or given up.
        let rtt = self.configs[0].initial_rtt.as_secs_f64();
        let rest = self.stop + Duration::from_secs_f64(30.0 + 60.0 * rtt);
        world.run_until(rest);
        self.judge(&world)
    }

    fn judge<C: Cargo + std::fmt::Debug>(&self, world: &World<C>) -> Outcome {
        let mut faults: Vec<String> = world.violations().map(|v| format!("{v:?}")).collect();
        let (mut sent, mut delivered, mut queue_drops, mut excused) = (0, 0, 0, 0);
        let (mut given_up, mut late) = (0, 0);
        for side in Side::BOTH {
            let status = world.status(side);
            let peer = world.status(side.other());
            let drops = status.drops.full + status.drops.aqm + status.drops.expired;
            let (mut into, mut out) = (0, 0);
            for (flow, report) in world.flows(side) {
                into += report.sent;
                out += report.delivered;
                if report.delivered == 0 && report.sent > 200 {
                    faults
                        .push(format!("{side:?}: flow {flow} delivered nothing of {} packets", report.sent));
                }
            }
            if !world.is_idle(side) {
                faults.push(format!(
                    "{side:?}: not at rest after the traffic: {:?} outstanding, {:?} waiting",
                    status.outstanding, status.backlog
                ));
            }
            if peer.receiving != (0, 0, 0) {
                faults.push(format!(
                    "{:?}: {:?} undecoded, rows, held at rest",
                    side.other(),
                    peer.receiving
                ));
            }
            // Everything is accounted for: dropped on the way in, delivered, superseded, late, or given up.
            let known = drops
                + peer.order.delivered
                + peer.order.superseded
                + peer.order.late
                + peer.received.given_up;
            if known != into {
                faults.push(format!("{side:?}: {into} went in, {known} are accounted for"));
            }
            sent += into;
            delivered += out;
            queue_drops += drops;
            excused += peer.order.superseded;
            given_up += peer.received.given_up;
            late += peer.order.late;
        }
        let residual = sent - delivered - queue_drops - excused;
        Outcome { faults, sent, delivered, queue_drops, residual, given_up, late, events: world.events() }
    }
}

impl Outcome {
    fn of_fault(fault: String) -> Outcome {
        Outcome {
            faults: vec![fault],
            sent: 0,
            delivered: 0,
            queue_drops: 0,
            residual: 0,
            given_up: 0,
            late: 0,
            events: 0,
        }
    }
}

fn log_uniform(r: &mut Stream, least: f64, most: f64) -> f64 {
    least * (most / least).powf(r.unit())
}

fn share(value: f64) -> Fraction {
    Fraction::new(value.clamp(0.0, 1.0)).unwrap_or(Fraction::ZERO)
}

fn random_link(
    r: &mut Stream,
    rate: Rate,
    delay: Duration,
    heavy: bool,
    blackout: bool,
    length: f64,
) -> LinkConfig {
    let p = if heavy { 0.3 + 0.3 * r.unit() } else { 0.3 * r.unit() * r.unit() };
    let burst = 1.0 + 7.0 * r.unit();
    let loss = if r.chance(0.4) && p > 0.0 {
        // No shorter than independent losses would make it.
        Loss::Gilbert { mean: share(p), burst: burst.max(1.0 / (1.0 - p)) }
    } else {
        Loss::bernoulli(share(p))
    };
    let bdp = rate.bps() as f64 / 8.0 * (2.0 * delay.as_secs_f64());
    let queue = (bdp * (0.3 + 2.0 * r.unit())).max(8_000.0);
    let extra = Span::from(delay.mul_f64(0.5 * r.unit()).max(Duration::from_micros(100)));
    LinkConfig {
        rate,
        queue: Some(QueueLimit::Bytes(queue as u64)),
        delay: Span::from(delay),
        jitter: if r.chance(0.4) {
            Span::from(delay.mul_f64(0.2 * r.unit()))
        } else {
            Span::from(Duration::ZERO)
        },
        loss,
        reorder: r.chance(0.3).then(|| Reorder { probability: share(0.1 * r.unit()), extra_delay: extra }),
        duplicate: r
            .chance(0.3)
            .then(|| Duplicate { probability: share(0.1 * r.unit()), extra_delay: extra }),
        corrupt: if r.chance(0.3) { share(0.05 * r.unit()) } else { Fraction::ZERO },
        blackouts: if blackout {
            vec![Blackout {
                at: Span::from(Duration::from_secs_f64(0.2 * length + 0.3 * length * r.unit())),
                length: Span::from(Duration::from_secs_f64(0.05 + 2.0 * r.unit())),
                every: None,
            }]
        } else {
            Vec::new()
        },
        schedule: if r.chance(0.2) {
            vec![Change {
                at: Span::from(Duration::from_secs_f64(0.5 * length)),
                rate: Some(Rate::from_bps((rate.bps() as f64 * (0.3 + 1.5 * r.unit())) as u64)),
                ..Change::default()
            }]
        } else {
            Vec::new()
        },
        mtu: Some(Bytes::new(1500)),
        ..LinkConfig::default()
    }
}

fn random_traffic(r: &mut Stream, flow: u32, mtu: u32, rate: Rate, stop: Time) -> Traffic {
    let packets = rate.bps() as f64 / 8.0 / f64::from(mtu);
    let pattern = match r.below(4) {
        0 => Pattern::Greedy { backlog: 1 + r.below(60) as usize },
        1 => Pattern::Poisson { per_second: (packets * r.unit()).clamp(1.0, 2_000.0) },
        2 => Pattern::Periodic {
            every: Duration::from_millis(1 + r.below(300)),
            burst: 1 + r.below(20) as u32,
        },
        _ => Pattern::Poisson { per_second: 1.0 + 30.0 * r.unit() },
    };
    let least = 20 + r.below(u64::from(mtu) - 20) as u32;
    let most = least + r.below(u64::from(mtu - least) + 1) as u32;
    Traffic { flow, pattern, len: (least, most), immediate: r.chance(0.15), start: Time::ZERO, stop }
}
