//! Block codes on the link, compared with times computed by hand and with exact probabilities.

use proptest::prelude::*;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span, Time};
use ripstop_link::{Change, DropReason, Fate, Fec, Link, LinkConfig, LinkCounters, Loss};
use std::time::Duration;

/// The link in paper 003 sends `MU` units per second, and each unit has `UNIT` bytes.
const MU: u64 = 3000;
const UNIT: usize = 53;

fn share(value: f64) -> Fraction {
    Fraction::new(value).unwrap()
}

fn config(fec: Fec) -> LinkConfig {
    LinkConfig { rate: Rate::from_bps(MU * fec.unit.get() * 8), fec: Some(fec), ..LinkConfig::default() }
}

fn link(fec: Fec, seed: u64) -> Link {
    Link::new(&config(fec), Seed::new(seed), "link/0").unwrap()
}

/// For each of `packets` packets of `bytes` bytes: whether it is lost. The link idles for `idle`
/// unit times before each packet.
fn losses(link: &mut Link, packets: usize, bytes: usize, idle: u64) -> Vec<bool> {
    (0..packets)
        .map(|_| {
            // The time is rounded up. The excess adds up to one step in about 10^5 packets.
            let now = link.free_at() + Duration::from_nanos((idle * 1_000_000_000).div_ceil(MU));
            link.offer(now, bytes).reason() == Some(DropReason::Fec)
        })
        .collect()
}

fn mean(lost: &[bool]) -> f64 {
    lost.iter().filter(|l| **l).count() as f64 / lost.len() as f64
}

/// Asserts that a share measured over `n` independent trials is `want` within four standard errors.
fn assert_share(got: f64, want: f64, n: usize, what: &str) {
    let error = (want * (1.0 - want) / n as f64).sqrt();
    assert!((got - want).abs() <= 4.0 * error, "{what}: {got}, not {want} (standard error {error:.2e})");
}

/// P(more than N - K of N units are lost), if each unit is lost with probability `p`: paper 003,
/// section 4.1.
fn binomial(n: u32, k: u32, p: f64) -> f64 {
    let mut term = (1.0 - p).powi(n as i32);
    let mut whole = 0.0;
    for lost in 0..=n - k {
        whole += term;
        term *= f64::from(n - lost) / f64::from(lost + 1) * p / (1.0 - p);
    }
    1.0 - whole
}

/// A two-state chain of units.
#[derive(Clone, Copy)]
struct Chain {
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
}

impl Chain {
    /// The chain in paper 003's letters: mean loss L and P(stay bad) = q.
    fn paper(l: f64, q: f64) -> Chain {
        Chain { to_bad: l * (1.0 - q) / (1.0 - l), to_good: 1.0 - q, loss_good: 0.0, loss_bad: 1.0 }
    }

    fn model(self) -> Loss {
        Loss::GilbertElliott {
            to_bad: share(self.to_bad),
            to_good: share(self.to_good),
            loss_good: share(self.loss_good),
            loss_bad: share(self.loss_bad),
        }
    }

    fn stationary(self) -> [f64; 2] {
        let bad = self.to_bad / (self.to_bad + self.to_good);
        [1.0 - bad, bad]
    }

    fn step(self, [good, bad]: [f64; 2]) -> [f64; 2] {
        let to_bad = good * self.to_bad + bad * (1.0 - self.to_good);
        [good + bad - to_bad, to_bad]
    }

    /// Maps the distribution of the last unit's state to [P(packet arrives, ends in state),
    /// P(packet is lost, ends in state)]. The chain first makes `idle` steps, and the packet is one
    /// block of `n` units. The result is computed unit by unit over (state, number of units lost).
    fn packet(self, before: [f64; 2], n: u32, k: u32, idle: u64) -> [[f64; 2]; 2] {
        let mut law = before;
        for _ in 0..idle {
            law = self.step(law);
        }
        let mut table = vec![[0.0; 2]; n as usize + 1];
        table[0] = law;
        for _ in 0..n {
            let mut next = vec![[0.0; 2]; n as usize + 1];
            for (lost, law) in table.iter().enumerate() {
                let [good, bad] = self.step(*law);
                next[lost][0] += good * (1.0 - self.loss_good);
                next[lost][1] += bad * (1.0 - self.loss_bad);
                if lost < n as usize {
                    next[lost + 1][0] += good * self.loss_good;
                    next[lost + 1][1] += bad * self.loss_bad;
                }
            }
            table = next;
        }
        let sum = |rows: &[[f64; 2]]| rows.iter().fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        let (whole, broken) = table.split_at((n - k) as usize + 1);
        [sum(whole), sum(broken)]
    }

    /// In the long run: P(a packet is lost), and P(a packet and the next packet are both lost).
    fn loss_and_both(self, n: u32, k: u32, idle: u64) -> (f64, f64) {
        let [_, lost] = self.packet(self.stationary(), n, k, idle);
        let [_, both] = self.packet(lost, n, k, idle);
        (lost[0] + lost[1], both[0] + both[1])
    }
}

#[test]
fn a_packet_takes_whole_blocks() {
    // 22 units of 53 bytes at 3000 units/s take 22/3000 s. The last block is padded.
    for (bytes, units) in [(20 * UNIT, 22), (20 * UNIT + 1, 44), (1, 22), (40 * UNIT, 44), (0, 0)] {
        let mut link = link(Fec::new(22, 20, Loss::None), 1);
        let nanos = (units * 1_000_000_000u64).div_ceil(MU);
        assert_eq!(link.offer(Time::ZERO, bytes).departure(), Some(Time::from_nanos(nanos)), "{bytes}");
        assert_eq!(link.counters().units_sent, units);
        assert_eq!(link.counters().serialised_bytes, bytes as u64);
    }
    // Packets get exactly K/N of the channel's rate.
    let mut full = link(Fec::new(22, 20, Loss::None), 1);
    let last = (0..3000).filter_map(|_| full.offer(Time::ZERO, 20 * UNIT).departure()).last();
    assert_eq!(last, Some(Time::from_millis(22_000)));
    // The queue limit counts the packets' own bytes.
    let base = config(Fec::new(40, 20, Loss::None));
    let narrow = LinkConfig { queue: Some(QueueLimit::Bytes(2 * 20 * UNIT as u64)), ..base };
    let mut narrow = Link::new(&narrow, Seed::new(1), "link/0").unwrap();
    let let_in = (0..9).filter(|_| narrow.offer(Time::ZERO, 20 * UNIT).departure().is_some()).count();
    assert_eq!(let_in, 3);
}

/// A packet has two blocks. Returns which of `packets` packets are lost when the units `lost` are
/// lost.
fn trace(n: u32, k: u32, lost: Vec<u64>, packets: u64) -> (Vec<u64>, LinkCounters) {
    let mut link = link(Fec::new(n, k, Loss::Indices { lost, period: None }), 1);
    let bytes = 2 * k as usize * UNIT;
    let lost = (0..packets).filter(|_| link.offer(Time::ZERO, bytes).reason() == Some(DropReason::Fec)).collect();
    (lost, *link.counters())
}

#[test]
fn a_block_survives_as_many_losses_as_it_has_repairs() {
    // A block has 4 + 2 units, and a packet has two blocks: packet 0 has the units 0..12, packet 1
    // has the units 12..24, ...
    let hits = vec![
        0, 5, 6, 11, // two of each block: restored
        12, 13, 14, // three of one block
        28, 29, 30, 31, // two at the end of one block and two at the start of the next
        42, 43, 44, 45, 46, 47, // the whole second block
        59, 60, 61, // the last of one packet and the first two of the next
    ];
    let (lost, c) = trace(6, 4, hits, 6);
    assert_eq!(lost, [1, 3]);
    assert_eq!((c.lost_channel, c.lost_fec, c.delivered), (2, 2, 4));
    assert_eq!((c.units_sent, c.units_lost, c.blocks_recovered, c.blocks_lost), (72, 20, 6, 2));
    // Without repair units every unit loss is a packet loss.
    assert_eq!(trace(4, 4, vec![3, 9, 10, 23], 4).0, [0, 1, 2]);
}

#[test]
fn independent_losses_follow_the_binomial() {
    const PACKETS: usize = 200_000;
    for (seed, (k, n, p)) in
        [(20, 20, 0.01), (20, 21, 0.01), (20, 22, 0.01), (10, 12, 0.05), (30, 36, 0.1), (1, 3, 0.5), (20, 24, 0.3)]
            .into_iter()
            .enumerate()
    {
        for (blocks, idle) in [(1, 0), (3, 7)] {
            let mut link = link(Fec::new(n, k, Loss::bernoulli(share(p))), seed as u64);
            let lost = losses(&mut link, PACKETS, blocks * k as usize * UNIT, idle);
            let what = format!("({n}, {k}), p {p}, {blocks} blocks, seed {seed}");
            let block = binomial(n, k, p);
            assert_share(mean(&lost), 1.0 - (1.0 - block).powi(blocks as i32), PACKETS, &what);
            let c = link.counters();
            let all = PACKETS * blocks;
            assert_share(c.units_lost as f64 / c.units_sent as f64, p, all * n as usize, &what);
            assert_share(c.blocks_lost as f64 / all as f64, block, all, &what);
            let hit = 1.0 - (1.0 - p).powi(n as i32);
            assert_share(c.blocks_recovered as f64 / all as f64, hit - block, all, &what);
            // The loss of one packet says nothing about the next packet.
            let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64 / PACKETS as f64;
            let both = (1.0 - (1.0 - block).powi(blocks as i32)).powi(2);
            assert!((pairs - both).abs() < 5.0 * (both.max(1e-6) / PACKETS as f64).sqrt(), "{what}: {pairs} {both}");
        }
    }
}

#[test]
fn a_rare_loss_is_as_rare_as_the_binomial_says() {
    // Figure 5 of paper 003 shows 1.3e-3 at N = 22 and 7.6e-5 at N = 23.
    for (n, packets) in [(22, 400_000), (23, 1_000_000)] {
        let mut link = link(Fec::new(n, 20, Loss::bernoulli(share(0.01))), 3);
        let lost = losses(&mut link, packets, 20 * UNIT, 0);
        assert_share(mean(&lost), binomial(n, 20, 0.01), packets, &format!("N = {n}"));
    }
}

/// Compares the chain's losses, of one packet and of two packets in a row, with the exact
/// recursion.
fn follows_its_chain(chain: Chain, model: &Loss, n: u32, k: u32, idle: u64, seed: u64) {
    // Neighbouring losses are correlated, so the standard error is computed from batch means.
    const BATCHES: usize = 100;
    const PACKETS: usize = 2000;
    let mut link = link(Fec::new(n, k, model.clone()), seed);
    let lost = losses(&mut link, BATCHES * PACKETS, k as usize * UNIT, idle);
    let both: Vec<bool> = lost.windows(2).map(|pair| pair[0] && pair[1]).chain([false]).collect();
    let (want, want_both) = chain.loss_and_both(n, k, idle);
    for (lost, want, what) in [(&lost, want, "lost"), (&both, want_both, "two in a row")] {
        let means: Vec<f64> = lost.chunks(PACKETS).map(mean).collect();
        let got = means.iter().sum::<f64>() / BATCHES as f64;
        let variance = means.iter().map(|m| (m - got).powi(2)).sum::<f64>() / (BATCHES - 1) as f64;
        // An event that few batches contain is Poisson distributed.
        let error = (variance / BATCHES as f64).sqrt().max((want / lost.len() as f64).sqrt());
        assert!(
            (got - want).abs() <= 4.0 * error,
            "({n}, {k}) {model:?}, {idle} idle, seed {seed}, {what}: {got}, not {want} ({error:.2e})"
        );
    }
    assert_eq!(link.unfired(), [""; 0]);
}

#[test]
fn gilbert_s_losses_follow_the_exact_recursion() {
    for (seed, q) in [0.0, 0.01, 0.1, 0.5, 0.9, 0.99].into_iter().enumerate() {
        let model = Loss::gilbert(share(0.01), share(q));
        for (n, idle) in [(20, 0), (21, 0), (22, 3), (24, 100)] {
            // With q = 0 two lost units never follow each other, but a block may still lose two.
            follows_its_chain(Chain::paper(0.01, q), &model, n, 20, idle, seed as u64);
        }
    }
    // A chain that is mostly bad, and a chain that alternates.
    follows_its_chain(Chain::paper(0.6, 0.8), &Loss::gilbert(share(0.6), share(0.8)), 30, 10, 1, 70);
    follows_its_chain(Chain::paper(0.45, 0.05), &Loss::gilbert(share(0.45), share(0.05)), 7, 4, 2, 71);
}

#[test]
fn states_may_lose_a_part() {
    for (seed, chain) in [
        Chain { to_bad: 0.02, to_good: 0.1, loss_good: 0.01, loss_bad: 0.7 },
        Chain { to_bad: 0.3, to_good: 0.4, loss_good: 0.0, loss_bad: 0.25 },
        Chain { to_bad: 0.05, to_good: 0.05, loss_good: 1.0, loss_bad: 0.0 },
    ]
    .into_iter()
    .enumerate()
    {
        for idle in [0, 5] {
            follows_its_chain(chain, &chain.model(), 24, 16, idle, 80 + seed as u64);
        }
    }
}

#[test]
fn with_q_of_l_losses_are_independent() {
    // Paper 003, section 2.1: p = q is the memoryless channel.
    let chain = Chain::paper(0.05, 0.05);
    assert!((chain.to_bad - 0.05).abs() < 1e-12);
    assert!((chain.loss_and_both(22, 20, 0).0 - binomial(22, 20, 0.05)).abs() < 1e-12);
}

#[test]
fn runs_of_lost_units_are_geometric() {
    // With one unit per packet a lost packet is a lost unit.
    for (seed, (l, q)) in [(0.01, 0.9), (0.2, 0.5), (0.1, 0.0)].into_iter().enumerate() {
        let mut link = link(Fec::new(1, 1, Loss::gilbert(share(l), share(q))), seed as u64);
        let lost = losses(&mut link, 1_000_000, UNIT, 0);
        let runs: Vec<usize> = lost.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
        let n = runs.len();
        for length in 1..6 {
            let got = runs.iter().filter(|run| **run >= length).count() as f64 / n as f64;
            assert_share(got, q.powi(length as i32 - 1), n, &format!("L {l} q {q}: runs of {length} or more"));
        }
        // Mean run of lost units L_B = 1/(1 - q), mean run of good units L_G = 1/p: equation (1) of
        // paper 003.
        let bad = runs.iter().sum::<usize>() as f64 / n as f64;
        let error = (q / n as f64).sqrt() / (1.0 - q);
        assert!((bad - 1.0 / (1.0 - q)).abs() <= 4.0 * error, "L {l} q {q}: mean run {bad}");
        let good = (lost.len() as f64 - runs.iter().sum::<usize>() as f64) / n as f64;
        let p = l * (1.0 - q) / (1.0 - l);
        assert!((good * p - 1.0).abs() <= 4.0 / (n as f64).sqrt(), "L {l} q {q}: mean good run {good}");
    }
}

#[test]
fn the_chain_goes_on_at_the_rate_the_idle_link_has() {
    // 1000 units/s, then no limit, then 100 units/s: 2 s of idle time are 2000, 0 or 200 steps.
    let at = |secs, bps| Change {
        at: Span::from(Duration::from_secs(secs)),
        rate: Some(Rate::from_bps(bps)),
        ..Change::default()
    };
    let q = 0.999;
    let both = |start: u64| {
        let lost = |run: u64| {
            let fec = Fec { unit: Bytes::new(1), ..Fec::new(1, 1, Loss::gilbert(share(0.5), share(q))) };
            let config = LinkConfig {
                rate: Rate::from_bps(8000),
                fec: Some(fec),
                schedule: vec![at(100, 0), at(200, 800)],
                ..LinkConfig::default()
            };
            let mut link = Link::new(&config, Seed::new(5).run(run), "link/0").unwrap();
            let fates =
                [start, start + 2].map(|secs| link.offer(Time::ZERO + Duration::from_secs(secs), 1).reason().is_some());
            fates[0] == fates[1]
        };
        (0..20_000).filter(|run| lost(*run)).count() as f64 / 20_000.0
    };
    // The states agree with probability (1 + memory^steps) / 2. The packet's own unit adds or
    // removes one step.
    for (start, steps) in [(10, 2000.0), (110, 1.0), (210, 200.0)] {
        let want = (1.0 + (2.0 * q - 1.0f64).powf(steps)) / 2.0;
        assert_share(both(start), want, 20_000, &format!("{steps} steps"));
    }
}

/// Without a chain, the k-th packet's fate depends only on k: refused packets and timing do not
/// change it.
#[test]
fn random_draws_belong_to_the_index() {
    let fec = Fec::new(21, 20, Loss::bernoulli(share(0.02)));
    let free = config(fec);
    let narrow = LinkConfig { queue: Some(QueueLimit::Packets(3)), mtu: Some(Bytes::new(1060)), ..free.clone() };
    let mut one = Link::new(&free, Seed::new(9), "link/0").unwrap();
    let mut other = Link::new(&narrow, Seed::new(9), "link/0").unwrap();
    let (mut sent, mut lost) = (0, 0);
    for k in 0..5000 {
        let a = one.offer(Time::ZERO, 1060);
        match other.offer(Time::from_millis(k * 5), 1060 + usize::from(k % 17 == 0)) {
            Fate::Refused { .. } => {}
            b => {
                assert_eq!(a.reason(), b.reason(), "packet {k}");
                sent += 1;
                lost += u64::from(b.reason().is_some());
            }
        }
    }
    let c = other.counters();
    assert!(sent > 2000 && lost > 50 && c.refused_queue > 500 && c.refused_mtu > 100, "{sent} {lost} {c:?}");
}

#[test]
fn impairments_that_did_nothing_are_named() {
    let idle = |fec: Fec| link(fec, 1).unfired();
    let lossy = Loss::bernoulli(share(0.1));
    assert_eq!(idle(Fec::new(22, 20, lossy.clone())), ["fec", "fec.loss"]);
    assert_eq!(idle(Fec::new(20, 20, lossy.clone())), ["fec.loss"]);
    assert_eq!(idle(Fec::new(22, 20, Loss::None)), [""; 0]);
    let mut link = link(Fec::new(22, 20, lossy), 1);
    losses(&mut link, 100, 20 * UNIT, 0);
    let c = link.counters();
    assert!(c.units_lost > 0 && c.blocks_recovered > 0 && c.blocks_lost > 0 && c.lost_fec > 0, "{c:?}");
    assert_eq!(link.unfired(), [""; 0]);
}

/// The lost units of each packet are those that the counters count, and keeping them changes
/// nothing.
#[test]
fn the_lost_units_of_a_packet_are_told() {
    let (mut told, mut refused) = (0, 0);
    for (seed, loss) in [
        Loss::None,
        Loss::bernoulli(share(0.05)),
        Loss::gilbert(share(0.1), share(0.7)),
        Chain { to_bad: 0.05, to_good: 0.1, loss_good: 0.01, loss_bad: 0.6 }.model(),
        Loss::Indices { lost: vec![1, 2, 5, 6, 7, 8, 40], period: Some(50) },
    ]
    .into_iter()
    .enumerate()
    {
        let fec = Fec::new(8, 6, loss);
        let config =
            LinkConfig { mtu: Some(Bytes::new(40 * UNIT as u64)), loss: Loss::bernoulli(share(0.1)), ..config(fec) };
        let mut plain = Link::new(&config, Seed::new(seed as u64), "link/0").unwrap();
        let mut keeping = plain.clone();
        keeping.keep_lost_units();
        for k in 0..3000u64 {
            let before = *keeping.counters();
            let (now, bytes) = (Time::from_millis(5 * k), (k * 91 % 2200) as usize);
            let fate = plain.offer(now, bytes);
            assert_eq!(keeping.offer(now, bytes), fate, "seed {seed}, packet {k}");
            assert_eq!(keeping.counters(), plain.counters());
            assert!(plain.lost_units().is_empty());
            let lost = keeping.lost_units();
            assert!(lost.iter().all(|range| range.start < range.end));
            assert!(lost.windows(2).all(|two| two[0].end < two[1].start));
            let units: Vec<u32> = lost.iter().cloned().flatten().collect();
            let blocks: Vec<usize> = units.chunk_by(|a, b| a / 8 == b / 8).map(<[u32]>::len).collect();
            let after = keeping.counters();
            assert_eq!(units.len() as u64, after.units_lost - before.units_lost);
            assert!(units.last().is_none_or(|last| u64::from(*last) < after.units_sent - before.units_sent));
            let broken = blocks.iter().filter(|lost| **lost > 2).count() as u64;
            assert_eq!(broken, after.blocks_lost - before.blocks_lost);
            assert_eq!(blocks.len() as u64 - broken, after.blocks_recovered - before.blocks_recovered);
            told += units.len();
            refused += u64::from(matches!(fate, Fate::Refused { .. }));
            assert!(fate.reason() != Some(DropReason::Fec) || broken > 0);
        }
    }
    assert!(told > 1000 && refused > 100, "{told} units told, {refused} packets refused");
}

#[test]
fn sizes_that_no_packet_has_end() {
    for (seed, loss) in [
        Loss::bernoulli(share(0.5)),
        Loss::gilbert(share(0.5), share(0.5)),
        Loss::Sequence { pattern: "01".to_owned() },
    ]
    .into_iter()
    .enumerate()
    {
        for unit in [1, 65_535] {
            let mut link = link(Fec { unit: Bytes::new(unit), ..Fec::new(255, 1, loss.clone()) }, seed as u64);
            link.keep_lost_units();
            assert!(link.offer(Time::ZERO, usize::MAX).departure().is_some());
            assert!(!link.lost_units().is_empty());
            assert!(link.offer(Time::ZERO, 1 << 40).departure().is_some());
            assert!(link.offer(Time::NEVER, 1).departure().is_some());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    /// For any code and channel, losses are as frequent as the exact recursion says, packets arrive
    /// in order, and every counter counts.
    #[test]
    fn any_code_on_any_channel(
        (k, spare) in (1u32..30, 1u32..8),
        (to_bad, to_good) in (0.005..0.5f64, 0.05..0.9f64),
        (loss_good, loss_bad) in (0.0..0.05f64, 0.3..=1.0f64),
        idle in prop_oneof![Just(0u64), 1u64..50],
        seed in any::<u64>(),
    ) {
        const PACKETS: usize = 4000;
        let n = k + spare;
        let chain = Chain { to_bad, to_good, loss_good, loss_bad };
        let mut link = link(Fec::new(n, k, chain.model()), seed);
        let lost = losses(&mut link, PACKETS, k as usize * UNIT, idle);
        // Neighbouring losses are correlated. Over 4000 packets this multiplies the variance by at
        // most `spread`.
        let memory = (1.0 - to_bad - to_good).abs();
        let spread = (1.0 + memory) / (1.0 - memory);
        let (want, _) = chain.loss_and_both(n, k, idle);
        let (hit, _) = chain.loss_and_both(n, n, idle);
        let error = (want * (1.0 - want) * spread / PACKETS as f64).sqrt() + 1.0 / PACKETS as f64;
        prop_assert!((mean(&lost) - want).abs() < 6.0 * error, "loss {}, not {} (standard error {})", mean(&lost), want, error);
        let c = link.counters();
        prop_assert_eq!(c.units_sent, PACKETS as u64 * u64::from(n));
        prop_assert_eq!(c.lost_fec, c.blocks_lost);
        prop_assert_eq!(c.lost_fec + c.delivered, c.serialised);
        prop_assert!(c.units_lost > 0 || hit * (PACKETS as f64) < 100.0, "{:?}", c);
        prop_assert!(c.blocks_recovered > 0 || (hit - want) * (PACKETS as f64) < 100.0 * spread, "{:?}", c);
    }

    #[test]
    fn packets_arrive_in_order(seed in any::<u64>(), gaps in prop::collection::vec(0u64..30, 1..200)) {
        let config = LinkConfig {
            jitter: Span::from(Duration::from_millis(40)),
            ..config(Fec::new(22, 20, Loss::gilbert(share(0.1), share(0.6))))
        };
        let mut link = Link::new(&config, Seed::new(seed), "link/0").unwrap();
        let (mut now, mut last) = (Time::ZERO, Time::ZERO);
        for gap in gaps {
            now += Duration::from_millis(gap);
            if let Some(arrival) = link.offer(now, 20 * UNIT).arrival() {
                prop_assert!(arrival >= last);
                last = arrival;
            }
        }
    }
}
