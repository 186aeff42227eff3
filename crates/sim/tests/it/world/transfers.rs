//! TCP transfers through a tunnel with a block code: each one ends, whatever the links lose.
//!
//! A block code sends nothing again. What a block cannot restore, the TCP inside must repair. So a tunnel that goes on
//! too early, too late or never would stall the transfer. `TRANSFERS=3000 FIRST=100` runs more seeds.

use crate::common::{LINKS, TUNNEL, tunnel};
use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Span, Stream, Time};
use ripstop_link::{Duplicate, LinkConfig, Loss, Reorder};
use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
use ripstop_proto::control::loss::Losses;
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::session::tunnel::{Status, TunnelConfig};
use ripstop_sim::tcp::{Pattern, SenderConfig, Variant};
use ripstop_sim::world::{Carrier, Hosts, STAMPED_HEADERS, TcpConfig, World};
use std::time::Duration;

/// Seeds of the test. Half the value may leave an impairment out. Double the value takes twice as long.
const SEEDS: u64 = 40;
/// The longest time that a transfer may take. Residual losses of 20 % in both directions let a TCP back off up to
/// 120 s a few times. Half the value may fail by chance. Double the value takes longer to find a stall.
const LONGEST: Duration = Duration::from_secs(1800);
/// The time in which a tunnel comes to rest after a transfer: the deadline of 10 s on the slowest path, and 1.25 times
/// as long at the receiver. Half the value fails on slow paths. Double the value finds less.
const REST: Duration = Duration::from_secs(30);

/// A random transfer.
struct Transfer {
    links: [LinkConfig; 2],
    config: TunnelConfig,
    bytes: u64,
    /// A second connection, in the same direction or back.
    other: Option<(u64, bool)>,
}

/// What a transfer showed.
#[derive(Debug)]
struct Outcome {
    /// When the last byte arrived. None: some are missing.
    ended: Option<Duration>,
    /// The longest time without a new byte.
    pause: Duration,
    ends: [Status; 2],
}

fn log_uniform(r: &mut Stream, least: f64, most: f64) -> f64 {
    least * (most / least).powf(r.unit())
}

fn share(value: f64) -> Fraction {
    Fraction::new(value).expect("a share")
}

fn link(r: &mut Stream, rate: f64, delay: Duration) -> LinkConfig {
    let p = 0.01 + 0.19 * r.unit();
    let burst = 1.0 / (1.0 - p) + 6.0 * r.unit() * r.unit();
    let loss = if r.chance(0.5) { Loss::Gilbert { mean: share(p), burst } } else { Loss::bernoulli(share(p)) };
    let extra = Span::from(delay.mul_f64(r.unit()) + Duration::from_micros(100));
    let queue = (rate / 8.0 * 2.0 * delay.as_secs_f64() * (0.3 + 2.0 * r.unit())).max(8_000.0);
    LinkConfig {
        loss,
        queue: Some(QueueLimit::Bytes(queue as u64)),
        jitter: if r.chance(0.3) { Span::from(delay.mul_f64(0.3 * r.unit())) } else { Span::from(Duration::ZERO) },
        reorder: r.chance(0.4).then(|| Reorder { probability: share(0.1 * r.unit()), extra_delay: extra }),
        duplicate: r.chance(0.2).then(|| Duplicate { probability: share(0.05 * r.unit()), extra_delay: extra }),
        ..LinkConfig::path(Rate::from_bps(rate as u64), 2 * delay, Fraction::ZERO)
    }
}

impl Transfer {
    fn random(seed: Seed) -> Transfer {
        let r = &mut seed.stream("transfer");
        let rate = log_uniform(r, 0.5e6, 50e6);
        let delay = Duration::from_secs_f64(log_uniform(r, 0.001, 0.2));
        let back = rate * (0.2 + 0.8 * r.unit());
        let links = [rate, back].map(|rate| link(r, rate, delay));
        let k = [4, 8, 16, 16, 32, 64][r.below(6) as usize];
        let n = match r.below(4) {
            0 => BlockLength::Fixed(k + r.below(u64::from(k) + 1) as u8),
            1 => BlockLength::For(Losses { share: 0.2 * r.unit(), burst: 1.0 + 3.0 * r.unit() }),
            _ => BlockLength::Measured,
        };
        let fixed = RateMode::Fixed(Rate::from_bps((0.7 * rate) as u64));
        let config = TunnelConfig {
            code: Code::Block(BlockSettings { k, n }),
            rate: if r.chance(0.3) { fixed } else { TunnelConfig::default().rate },
            initial_rtt: Some(2 * delay),
            ..TunnelConfig::default()
        };
        let other = r.chance(0.5).then(|| (log_uniform(r, 100.0, 5e5) as u64, r.chance(0.5)));
        Transfer { links, config, bytes: log_uniform(r, 100.0, 2e6) as u64, other }
    }

    fn add(&self, world: &mut World, bytes: u64, backwards: bool) -> usize {
        let payload = self.config.inner_mtu() - STAMPED_HEADERS;
        let (variant, hosts, pattern) = (Variant::LinuxCubic, Hosts::Kernels, Pattern::File(bytes));
        let sender = SenderConfig { window: 1_000, ..SenderConfig::linux() };
        let flow = TcpConfig { variant, sender, hosts, pattern, payload, ack_every: 2, ..TcpConfig::default() };
        let name = format!("flow/{}", world.flows());
        world.add_tcp(flow, &Carrier::Tunnel { tunnel: TUNNEL, backwards }, &name).expect("a valid flow")
    }

    fn run(&self, seed: Seed) -> Outcome {
        let mut world = tunnel(&self.config, self.links.each_ref(), seed).expect("valid links");
        let mut flows = vec![self.add(&mut world, self.bytes, false)];
        flows.extend(self.other.map(|(bytes, backwards)| self.add(&mut world, bytes, backwards)));
        let (mut now, mut last, mut pause, mut had) = (Duration::ZERO, Duration::ZERO, Duration::ZERO, 0);
        let totals = |world: &World| flows.iter().map(|flow| world.totals(*flow)).collect::<Vec<_>>();
        let mut ended = None;
        while now < LONGEST && ended.is_none() {
            now += Duration::from_millis(50);
            world.run_until(Time::ZERO + now, &mut ());
            let totals = totals(&world);
            let has: u64 = totals.iter().map(|flow| flow.bytes).sum();
            if has > had {
                (had, last) = (has, now);
            }
            pause = pause.max(now - last);
            ended = totals.iter().all(|flow| flow.completed == 1).then_some(now);
        }
        world.run_until(Time::ZERO + now + REST, &mut ());
        assert_eq!(world.strays(), 0, "packets came out twice or out of order");
        assert!(LINKS.into_iter().all(|link| world.link(link).offered > 0));
        Outcome { ended, pause, ends: world.tunnel(TUNNEL) }
    }
}

#[test]
fn each_transfer_through_a_block_code_ends() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (count, first): (u64, u64) = (number("TRANSFERS").unwrap_or(SEEDS), number("FIRST").unwrap_or(0));
    let (mut recovered, mut repairs, mut given_up, mut pauses) = (0, 0, 0, Vec::new());
    for seed in first..first + count {
        let transfer = Transfer::random(Seed::new(seed));
        let outcome = transfer.run(Seed::new(seed));
        let Outcome { ended: Some(_), ends, pause } = &outcome else {
            panic!("seed {seed}: {} of bytes do not arrive: {outcome:?}", transfer.bytes)
        };
        for end in ends {
            assert_eq!((end.outstanding.0, end.backlog.0, end.receiving), (0, 0, (0, 0, 0)), "seed {seed}: at rest");
            recovered += end.received.recovered;
            repairs += end.blocks.map_or(0, |blocks| blocks.repairs);
            given_up += end.received.given_up;
        }
        pauses.push((*pause, seed));
    }
    pauses.sort_unstable();
    let longest = &pauses[pauses.len().saturating_sub(8)..];
    println!("{count} transfers, {recovered} symbols recovered of {repairs} repairs, {given_up} given up, {longest:?}");
    assert!(recovered > 10 * count && given_up > count, "{recovered} of {repairs}, {given_up} given up");
}

/// The losses of these short paths slow a TCP without repairs down to its time-outs. It gets repairs although it does
/// not use the path's rate.
#[test]
fn a_tcp_that_waits_for_time_outs_gets_repairs() {
    let mut shapes = Vec::new();
    for seed in [943, 1569, 2788] {
        let mut transfer = Transfer::random(Seed::new(seed));
        transfer.config.code = Code::Block(BlockSettings { k: 16, n: BlockLength::Measured });
        let outcome = transfer.run(Seed::new(seed));
        let blocks = outcome.ends[0].blocks.expect("a block code");
        assert!(outcome.ended.is_some_and(|ended| ended < Duration::from_secs(120)), "seed {seed}: {outcome:?}");
        shapes.push((seed, blocks));
    }
    let repaired = shapes.iter().filter(|(_, blocks)| blocks.repairs > 3 * blocks.blocks).count();
    assert!(repaired >= 2, "seed and blocks: {shapes:?}");
}
