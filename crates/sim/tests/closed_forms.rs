//! The engine, the links, the coder and TCP's round model against theory: queues, codes and equations with known answers.
//!
//! Where an equation and what it stands for differ, both are asserted: that they agree under the equation's own assumptions,
//! and by how much they differ without them.

use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Stream, Time};
use ripstop_codes::Length;
use ripstop_codes::window::{Arrival, Coding, Decoder, Limits, Members};
use ripstop_link::{Fec, Link, LinkConfig, Loss};
use ripstop_model::tcp::{
    Tcp, mean_time_out, mean_time_out_series, mean_window, packets_between_losses, rounds_between_losses,
    time_out_probability,
};
use ripstop_sim::engine::{Engine, Sample};
use ripstop_sim::rounds::{Cycle, Rounds, Rules, Spacing};
use std::time::Duration;

const SEED: Seed = Seed::new(40);

fn share(value: f64) -> Fraction {
    Fraction::new(value).expect("a share")
}

/// Mean and standard error of independent values.
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        n += 1.0;
        let away = value - mean;
        mean += away / n;
        squares += away * (value - mean);
    }
    (mean, (squares / (n - 1.0) / n).sqrt())
}

/// Asserts that a measured mean is `want` within four standard errors and the share `slack` of it.
fn assert_mean((got, error): (f64, f64), want: f64, slack: f64, what: &str) {
    let within = 4.0 * error + slack * want.abs();
    assert!((got - want).abs() <= within, "{what}: {got}, not {want} (within {within:.3e}), seed {SEED}");
}

/// Asserts a share among `n` independent trials.
fn assert_share(hits: u64, n: u64, want: f64, what: &str) {
    let error = (want * (1.0 - want) / n as f64).sqrt();
    // What is all but impossible may still happen once.
    assert_mean((hits as f64 / n as f64, error + 0.25 / n as f64), want, 0.0, what);
}

// Queues.

/// The M/D/1/K queue: Poisson arrivals in number `rho` a service time, room for `k` packets, the one in service included.
struct Queue {
    /// Share of arrivals that find no room.
    loss: f64,
    /// Mean wait of those that do, in service times.
    wait: f64,
    /// Mean number of packets that wait.
    waiting: f64,
}

/// By the chain embedded at departures: the number left behind is that before, one less, and what arrived during a service.
fn m_d_1_k(rho: f64, k: usize) -> Queue {
    let mut arrivals = vec![(-rho).exp()];
    for n in 1..=k {
        arrivals.push(arrivals[n - 1] * rho / n as f64);
    }
    // Unnormalised law of the number left behind, 0 to k - 1, from its balance equations.
    let mut left = vec![1.0];
    for n in 0..k - 1 {
        let reached: f64 = (1..=n).map(|i| left[i] * arrivals[n + 1 - i]).sum();
        left.push((left[n] - reached - left[0] * arrivals[n]) / arrivals[0]);
    }
    let sum: f64 = left.iter().sum();
    // A departure every 1 when busy, every 1 + 1/rho when it leaves nobody: the law at any time, and what is full of it.
    let per_departure = left[0] / sum + rho;
    let loss = 1.0 - 1.0 / per_departure;
    let at_any_time = |n: usize| if n == k { loss } else { left[n] / sum / per_departure };
    let waiting: f64 = (2..=k).map(|n| (n - 1) as f64 * at_any_time(n)).sum();
    // Little's law for those let in.
    Queue { loss, wait: waiting / (rho * (1.0 - loss)), waiting }
}

#[test]
fn the_exact_queue_is_right_where_it_is_known() {
    // Erlang's loss formula for one server; Pollaczek and Khinchine without a limit.
    assert!((m_d_1_k(0.8, 1).loss - 0.8 / 1.8).abs() < 1e-12);
    let open = m_d_1_k(0.7, 200);
    assert!(open.loss.abs() < 1e-12 && (open.wait - 0.7 / 0.6).abs() < 1e-9);
    // K = 2 by hand: of departures the share e^-rho leaves nobody.
    let by_hand = 1.0 - 1.0 / ((-0.9f64).exp() + 0.9);
    assert!((m_d_1_k(0.9, 2).loss - by_hand).abs() < 1e-12);
}

/// Offers Poisson arrivals to a drop-tail link for a while: loss, mean wait and mean number waiting, in service times.
fn drop_tail(config: &LinkConfig, bytes: usize, service: f64, rho: f64, run: u64) -> [f64; 3] {
    const ARRIVALS: u64 = 50_000;
    let seed = SEED.run(run);
    let mut link = Link::new(config, seed, "link/0").expect("a right configuration");
    let mut gaps = seed.stream("arrivals");
    let mut engine = Engine::new();
    engine.at(Time::ZERO, ());
    while let Some(()) = engine.next() {
        let _ = link.offer(engine.now(), bytes);
        if engine.processed() < ARRIVALS {
            engine.after(Duration::from_secs_f64(gaps.exponential(service / rho)), ());
        }
    }
    let c = link.counters();
    let loss = c.refused_queue as f64 / c.offered as f64;
    let elapsed = engine.now().since(Time::ZERO);
    [loss, c.mean_wait().as_secs_f64() / service, c.mean_queue_packets(elapsed)]
}

#[test]
fn drop_tail_is_m_d_1_k() {
    const RUNS: u64 = 10;
    // The same service time of 2.5 ms, with and without a block code: 1000 bytes at 3.2 Mbit/s; 20 cells sent as 25 at 10 000
    // cells a second.
    let plain = LinkConfig { rate: Rate::from_bps(3_200_000), ..LinkConfig::default() };
    let fec = Some(Fec::new(25, 20, Loss::None));
    let coded = LinkConfig { rate: Rate::from_bps(4_240_000), fec, ..LinkConfig::default() };
    for (base, bytes) in [(&plain, 1000), (&coded, 20 * 53)] {
        for (rho, k) in [(0.5, 2), (0.7, 4), (0.9, 10), (1.0, 5), (1.0, 20), (1.4, 8), (0.8, 1)] {
            let config = LinkConfig { queue: Some(QueueLimit::Packets(k - 1)), ..base.clone() };
            let mut samples = [Sample::default(); 3];
            for run in 0..RUNS {
                let got = drop_tail(&config, bytes, 0.0025, rho, run);
                samples.iter_mut().zip(got).for_each(|(sample, value)| sample.push(value));
            }
            let exact = m_d_1_k(rho, k as usize);
            let names = ["loss", "mean wait", "mean number waiting"];
            for ((sample, want), name) in
                samples.iter().zip([exact.loss, exact.wait, exact.waiting]).zip(names)
            {
                let statistic = sample.statistic();
                let (got, ci) = (statistic.mean.expect("a mean"), statistic.ci95.expect("an interval"));
                // Two half-widths of 95 % are four standard errors.
                assert!(
                    (got - want).abs() <= 2.0 * ci + 1e-9,
                    "rho {rho}, K {k}, {bytes} bytes: {name} {got} +- {ci}, not {want}, seed {SEED}"
                );
            }
        }
    }
}

// Codes.

/// The elements but 0 of the subfield of GF(256) that has `q`: 2, 4, 16 or 256.
fn nonzero_elements(q: usize) -> Vec<u8> {
    // Powers of the generator 2 modulo x^8 + x^4 + x^3 + x^2 + 1; those of 2^(255 / (q-1)) make the subfield.
    let mut powers = vec![1u8];
    for i in 0..254usize {
        let next = u16::from(powers[i]) << 1;
        powers.push((if next > 255 { next ^ 0x11D } else { next }) as u8);
    }
    powers.into_iter().step_by(255 / (q - 1)).collect()
}

/// Combinations of `k` symbols beyond k that a decoder needs, each made by `combine`.
fn needs(k: u64, mut combine: impl FnMut() -> (Members, Coding)) -> usize {
    let mut decoder = Decoder::new(0, Limits::default());
    for sent in 1.. {
        let (members, coding) = combine();
        let arrival = decoder.repair(&members, &coding, Length(1000));
        assert!(matches!(arrival, Arrival::Innovative | Arrival::Redundant), "{arrival:?}");
        if decoder.counters().innovative == k {
            assert_eq!(decoder.next_undecoded(), k, "full rank, but not decoded");
            return sent - k as usize;
        }
    }
    unreachable!("the loop ends by returning")
}

/// P(k + j random combinations of k symbols over a field of `q` elements decode them): the matrix has rank k.
fn rank_law(q: f64, k: i32, j: i32) -> f64 {
    (j + 1..=j + k).map(|i| 1.0 - q.powi(-i)).product()
}

#[test]
fn random_matrices_have_the_rank_that_theory_says() {
    const K: u64 = 8;
    // A combination of nothing but zeros is not sent, but counts.
    for (q, trials) in [(2, 10_000), (4, 10_000), (16, 20_000), (256, 30_000)] {
        let elements = nonzero_elements(q);
        assert_eq!(elements.len(), q - 1);
        let mut random = SEED.stream(&format!("rank/{q}"));
        let mut decoded_by = [0u64; 5];
        for _ in 0..trials {
            let mut empty = 0;
            let extra = needs(K, || {
                loop {
                    let row: Vec<u64> = (0..K).map(|_| random.below(q as u64)).collect();
                    let members: Vec<u64> = (0..K).filter(|i| row[*i as usize] > 0).collect();
                    if !members.is_empty() {
                        let coefficients =
                            members.iter().map(|i| elements[row[*i as usize] as usize - 1]).collect();
                        break (
                            Members::new(members, K..K).expect("ascending"),
                            Coding::Explicit(coefficients),
                        );
                    }
                    empty += 1;
                }
            });
            for count in decoded_by.iter_mut().skip(extra + empty) {
                *count += 1;
            }
        }
        for (j, count) in decoded_by.into_iter().enumerate() {
            let want = rank_law(q as f64, K as i32, j as i32);
            assert_share(count, trials, want, &format!("GF({q}): {K} + {j} combinations decode"));
        }
        // Between fields the law is far apart: .29, .69, .93 and .996 for j = 0.
        assert!(decoded_by[0] < decoded_by[1]);
    }
}

#[test]
fn seeded_repairs_follow_the_rank_law() {
    // Their coefficients are never 0, so that one more in 255 instead of 256 fails in the last dimension; no trial sees that.
    const K: u64 = 8;
    const TRIALS: u64 = 30_000;
    let mut random = SEED.stream("rank/seeds");
    let members = Members::range(0..K);
    let mut decoded_by = [0u64; 2];
    for _ in 0..TRIALS {
        let extra = needs(K, || (members.clone(), Coding::Seed(random.next_u64() as u16)));
        decoded_by.iter_mut().skip(extra).for_each(|count| *count += 1);
    }
    for (j, count) in decoded_by.into_iter().enumerate() {
        // Two seeds of a trial may be equal.
        let same = if j == 0 { (K * (K - 1) / 2) as f64 / 65_536.0 } else { 0.0 };
        assert_share(
            count,
            TRIALS,
            rank_law(256.0, K as i32, j as i32) - same,
            &format!("{K} + {j} seeds decode"),
        );
    }
}

#[test]
fn a_symbol_costs_one_over_one_less_the_loss() {
    // Rateless: combinations over a lossy link until k symbols are decoded. k + sum 1/(256^i - 1) must arrive, each has to be
    // sent 1/(1-p) times.
    const K: u64 = 16;
    let must_arrive = K as f64 + (1..=K as i32).map(|i| 1.0 / (256f64.powi(i) - 1.0)).sum::<f64>();
    for p in [0.0, 0.05, 0.2, 0.5] {
        let config = LinkConfig { loss: Loss::bernoulli(share(p)), ..LinkConfig::default() };
        let mut link = Link::new(&config, SEED, "link/0").expect("a right configuration");
        let mut random = SEED.stream("seeds");
        let members = Members::range(0..K);
        let sent = (0..10_000).map(|_| {
            let mut sent = 0;
            needs(K, || {
                loop {
                    sent += 1;
                    let seed = random.next_u64() as u16;
                    if link.offer(Time::ZERO, 1000).arrival().is_some() {
                        break (members.clone(), Coding::Seed(seed));
                    }
                }
            });
            f64::from(sent)
        });
        // Equal seeds cost .002 of a packet more.
        assert_mean(mean(sent), must_arrive / (1.0 - p), 2e-4, &format!("packets sent at p = {p}"));
    }
}

/// Sends combinations of all that is not decoded over a link of one packet a slot, a new symbol for every `redundancy` of them:
/// degrees of freedom a slot that arrive.
fn streaming(p: f64, redundancy: f64, slots: u64, seed: Seed) -> f64 {
    let rate = Rate::from_bps(8_000_000);
    let config = LinkConfig { rate, loss: Loss::bernoulli(share(p)), ..LinkConfig::default() };
    let mut link = Link::new(&config, seed, "link/0").expect("a right configuration");
    let mut random = seed.stream("seeds");
    let mut decoder = Decoder::new(0, Limits::default());
    let mut engine = Engine::new();
    engine.at(Time::ZERO, ());
    // The last slot ends at the end of the interval.
    while let Some(()) = engine.next_until(Time::from_millis(slots - 1)) {
        let next = (engine.processed() as f64 / redundancy).ceil() as u64;
        let first = decoder.next_undecoded().min(next - 1);
        let seed = random.next_u64() as u16;
        if link.offer(engine.now(), 1000).arrival().is_some() {
            decoder.repair(&Members::range(first..next), &Coding::Seed(seed), Length(1000));
            decoder.keep_from(decoder.next_undecoded());
        }
        engine.after(Duration::from_millis(1), ());
    }
    decoder.counters().innovative as f64 / slots as f64
}

#[test]
fn coding_carries_the_smaller_of_c_less_losses_and_c_over_r() {
    // Paper 000, section VI-C: min{C(1-p), C/R} in packets, with C a packet a slot.
    const SLOTS: u64 = 800;
    const RUNS: u64 = 10;
    for (p, redundancy) in
        [(0.2, 1.0), (0.2, 1.1), (0.2, 1.4), (0.0, 1.25), (0.1, 1.05), (0.1, 1.3), (0.4, 2.0)]
    {
        let want = (1.0_f64 - p).min(1.0 / redundancy);
        let rates = (0..RUNS).map(|run| streaming(p, redundancy, SLOTS, SEED.run(run)));
        let (got, _) = mean(rates);
        // The arrivals' own spread; and where the source is the limit, what still waits at the end: some 1/(1-p-1/R) symbols.
        let error = 4.0 * (p * (1.0 - p) / (RUNS * SLOTS) as f64).sqrt();
        let tail = 3.0 / ((1.0 - p - 1.0 / redundancy).abs() * SLOTS as f64);
        assert!((got - want).abs() < error + tail, "p {p} R {redundancy}: {got}, not {want}, seed {SEED}");
    }
    // At R = 1/(1-p) exactly what waits is a random walk: below both limits by some sqrt(p(1-p)/SLOTS).
    let (critical, _) = mean((0..RUNS).map(|run| streaming(0.2, 1.25, SLOTS, SEED.run(run))));
    assert!((0.77..0.8).contains(&critical), "{critical}");
}

// TCP in rounds.

fn cycles(p: f64, spacing: Spacing, window: f64, time_out: Option<f64>, n: usize) -> Vec<Cycle> {
    let rules = Rules { loss: share(p), spacing, window, time_out };
    // The first cycles come from a window of 1; each later one forgets three quarters of it.
    Rounds::new(rules, SEED.stream(&format!("rounds/{p}"))).skip(30).take(n).collect()
}

/// A mean over cycles, with the standard error of means of batches: neighbours depend on each other through the window.
fn over(cycles: &[Cycle], of: impl Fn(&Cycle) -> f64) -> (f64, f64) {
    mean(
        cycles
            .chunks_exact(cycles.len() / 100)
            .map(|batch| batch.iter().map(&of).sum::<f64>() / batch.len() as f64),
    )
}

const NO_LIMIT: f64 = f64::INFINITY;
const T_O: f64 = 3.75;

#[test]
fn between_losses_equation_2_holds() {
    for p in [1e-4, 0.01, 0.1, 0.4] {
        let td = cycles(p, Spacing::Independent, NO_LIMIT, None, 100_000);
        assert_mean(
            over(&td, |c| c.acknowledged as f64),
            packets_between_losses(p),
            0.0,
            &format!("(2) at {p}"),
        );
        // With time-outs the equation misses the packet that ended them: 1 more for each.
        let to = cycles(p, Spacing::Independent, NO_LIMIT, Some(T_O), 100_000);
        let excess = over(&to, |c| c.acknowledged as f64 - f64::from(u8::from(c.after_time_out)));
        assert_mean(excess, packets_between_losses(p), 0.0, &format!("(2) with time-outs at {p}"));
    }
}

#[test]
fn windows_follow_equations_3_to_5() {
    for p in [1e-4, 1e-3, 0.01] {
        let td = cycles(p, Spacing::Independent, NO_LIMIT, None, 200_000);
        let r = over(&td, |c| c.rounds as f64).0;
        assert_mean(over(&td, |c| c.duration), r + 1.0, 1e-12, "(3)");
        // In the long run (4) makes E[W_j] = E[r] - 1 + E[a/W] whatever the losses; (5) has a/W even on [0, 1], but a is a whole
        // number below W: E[a/W] = 1/2 (1 - E[1/W]) when each packet of the round is as likely to be the first lost.
        let part = over(&td, |c| c.last_acknowledged as f64 / c.last_sent as f64);
        assert_mean(over(&td, |c| c.first_window), r - 1.0 + part.0, 2e-4, &format!("(4) at {p}"));
        assert_mean(over(&td, |c| c.last_window), 2.0 * (r - 1.0) + part.0, 2e-4, &format!("(4) at {p}"));
        assert!((0.44..0.5).contains(&part.0), "{part:?}");
        let early = 0.5 - part.0;
        let whole = over(&td, |c| 0.5 / c.last_sent as f64).0;
        // That the first loss falls early in its round more often than late adds p W / 12 for p W packets lost in it.
        let skewed = over(&td, |c| p * c.last_sent as f64 / 12.0).0;
        assert!((early - whole - skewed).abs() < 0.1 * early + 4.0 * part.1, "{p}: {early} {whole} {skewed}");
    }
}

/// E[r] sqrt(p) for small p and independent losses.
///
/// Between losses the window's area grows by N ~ Exp(1/p): with S = p W^2 / 2 at the loss and a quarter of it after, S' = S/4 + E,
/// E ~ Exp(1). So S is the sum of E_k / 4^k, whose density is sum a_k 4^k exp(-4^k s) with a_k = prod over j != k of
/// 1/(1 - 4^(k-j)), and E[r] sqrt(p) = E[W] sqrt(p) / 2 = E[sqrt(S/2)]. (Ott, Kemperman and Mathis, 1996: 1.31 = 1 / 0.7635.)
fn independent_losses_constant() -> f64 {
    let weight =
        |k: i32| -> f64 { (0..40).filter(|j| *j != k).map(|j| 1.0 / (1.0 - 4f64.powi(k - j))).product() };
    let root: f64 =
        (0..20).map(|k| weight(k) * 0.5f64.powi(k)).sum::<f64>() * std::f64::consts::PI.sqrt() / 2.0;
    root / 2f64.sqrt()
}

#[test]
fn equation_9_holds_for_even_losses_and_not_for_independent_ones() {
    let constant = independent_losses_constant();
    assert!((1.0 / constant - 1.3098).abs() < 1e-4, "{constant}");
    for (p, n, slack) in
        [(1e-6, 10_000, 1e-4), (1e-5, 50_000, 1e-4), (1e-4, 100_000, 2e-4), (1e-3, 200_000, 1e-3)]
    {
        // Its own assumptions: r all but constant, the loss anywhere in its round. What is left is that a is a whole number.
        let even = cycles(p, Spacing::Even, NO_LIMIT, None, n);
        assert_mean(
            over(&even, |c| c.rounds as f64),
            rounds_between_losses(p),
            slack,
            &format!("(9), even, {p}"),
        );
        // Section III's independent losses: E[r^2] exceeds E[r]^2, and r is shorter by 6.5 % for the same packets.
        let free = cycles(p, Spacing::Independent, NO_LIMIT, None, n);
        let r = over(&free, |c| c.rounds as f64);
        let want = constant / p.sqrt() + 2.0 / 3.0;
        assert_mean(r, want, 1e-3, &format!("(9), independent, {p}"));
        let ratio = r.0 / rounds_between_losses(p);
        let short = constant / (2.0f64 / 3.0).sqrt();
        assert!((ratio - short).abs() < 0.002 + 4.0 * r.1 / r.0, "{p}: {ratio}, not {short}");
        // So (11) is below what it stands for by as much.
        let tcp = Tcp { rtt: 1.0, time_out: T_O, window: NO_LIMIT };
        let throughput = over(&free, |c| c.acknowledged as f64).0 / over(&free, |c| c.duration).0;
        let above = throughput / tcp.td_throughput(p);
        assert!((1.055..1.08).contains(&above), "(11) at {p}: {above}");
    }
}

#[test]
fn equation_12_is_never_reached() {
    // The minimum of two bounds is one: a window that stops at W_max loses what it would have grown to.
    let tcp = Tcp { rtt: 1.0, time_out: T_O, window: 50.0 };
    // It is furthest where both bounds meet: there it reaches four fifths.
    // A rare loss costs the packets that windows of 25, 26, ... 49 lack, a round and a half of 50.
    let lacks = (1..=25).map(f64::from).sum::<f64>() + 1.5 * 50.0;
    let rare = |p: f64| 1.0 / (1.0 + p * lacks);
    for (p, share) in [(1e-5, rare(1e-5)), (1e-4, rare(1e-4)), (5.46e-4, 0.809), (1e-3, 0.952)] {
        let capped = cycles(p, Spacing::Independent, 50.0, None, 50_000);
        let throughput = over(&capped, |c| c.acknowledged as f64).0 / over(&capped, |c| c.duration).0;
        let reached = throughput / tcp.capped_throughput(p);
        assert!((reached - share).abs() < 0.003, "(12) at {p}: {reached}, not {share}");
    }
}

#[test]
fn time_outs_follow_equation_13_window_by_window() {
    for p in [0.05, 0.1, 0.3] {
        let all = cycles(p, Spacing::Independent, NO_LIMIT, Some(T_O), 400_000);
        let mut seen = 0;
        for w in 1..12 {
            let these = all.iter().filter(|c| c.sent_after == w);
            let (n, hits) = these.fold((0, 0), |(n, hits), c| (n + 1, hits + u64::from(c.time_outs > 0)));
            if n > 1000 {
                let want = time_out_probability(w as f64, p);
                assert_share(hits, n, want, &format!("(13) at W = {w}, p = {p}"));
                seen += 1;
            }
        }
        assert!(seen >= 4, "{seen} windows at {p}");
    }
    // (16) puts the window's mean, rounded down, for the window. But P(TO | W) is far from linear: where the mean is 8.6 nearly
    // all time-outs come from small windows (measured .0018 for 1.7e-9), where it is 2.5 it takes all for time-outs.
    for (p, measured) in
        [(0.01985050, 1.8e-3), (0.05866345, 0.0465), (0.09631211, 0.145), (0.18549375, 0.450)]
    {
        let all = cycles(p, Spacing::Independent, NO_LIMIT, Some(T_O), 200_000);
        let share = over(&all, |c| f64::from(u8::from(c.time_outs > 0)));
        let exact = over(&all, |c| time_out_probability(c.sent_after as f64, p));
        assert_mean(share, exact.0, 0.0, &format!("P(TO) at {p}"));
        assert_mean(share, measured, 0.02, &format!("P(TO) at {p}"));
        let taken = time_out_probability(mean_window(p), p);
        let off = taken / share.0;
        assert!(if p < 0.09 { off < 0.5 } else { off > 1.7 }, "{p}: {taken} for {share:?}");
    }
}

#[test]
fn equation_14_weighs_twice() {
    for p in [0.02, 0.1, 0.4] {
        let all = cycles(p, Spacing::Independent, NO_LIMIT, Some(T_O), 400_000);
        let series: Vec<Cycle> = all.into_iter().filter(|c| c.time_outs > 0).collect();
        assert!(series.len() > 500, "{} at {p}", series.len());
        // A series of time-outs that has begun lasts as Padhye and others say: (1 + p + 2p^2 + ...) T_o / (1-p).
        let lasts = mean(series.iter().map(|c| c.duration - (c.rounds + 1) as f64));
        assert_mean(lasts, mean_time_out_series(T_O, p), 0.0, &format!("time-outs at {p}"));
        // (14) has p times that: its weights are those of all losses of a packet, the first included, which (16) multiplies by
        // the probability of a time-out once more.
        let printed = mean_time_out(T_O, p);
        assert_mean((lasts.0 * p, lasts.1 * p), printed, 0.0, &format!("(14) at {p}"));
        assert!(printed < 0.5 * lasts.0);
    }
}

#[test]
fn equation_16_holds_for_its_assumptions_and_misses_by_known_parts() {
    let tcp = Tcp { rtt: 1.0, time_out: T_O, window: 50.0 };
    let throughput = |all: &[Cycle]| over(all, |c| c.acknowledged as f64).0 / over(all, |c| c.duration).0;
    // While time-outs are rare and losses even, it holds.
    for (p, within) in [(0.005, 0.003), (0.01, 0.005), (0.01985050, 0.01)] {
        let even = cycles(p, Spacing::Even, 50.0, Some(T_O), 100_000);
        let ratio = throughput(&even) / tcp.throughput(p);
        assert!((ratio - 1.0).abs() < within, "(16), even, at {p}: {ratio}");
    }
    // With independent losses, at the loss rates of Table I and beyond: what is measured over what (16) says.
    for (p, measured) in [
        (0.01, 1.053),
        (0.01985050, 1.043),
        (0.05866345, 0.980),
        (0.09631211, 0.890),
        (0.18549375, 0.773),
        (0.3, 0.716),
        (0.5, 1.059),
    ] {
        let all = cycles(p, Spacing::Independent, 50.0, Some(T_O), 400_000);
        let got = throughput(&all);
        let ratio = got / tcp.throughput(p);
        assert!((ratio - measured).abs() < 0.01, "(16) at {p}: {ratio}, not {measured}");
        // Four parts explain it: in (16)'s own form, with E[r] and P(TO) of independent losses, a series' duration in place of
        // (14), and the packet that ends a series, it gives what is measured.
        let r = over(&all, |c| c.rounds as f64).0;
        let time_out = over(&all, |c| f64::from(u8::from(c.time_outs > 0))).0;
        let packets = packets_between_losses(p) + time_out;
        let repaired = packets / (r + 1.0 + time_out * mean_time_out_series(T_O, p));
        assert!((got / repaired - 1.0).abs() < 0.012, "at {p}: {got}, not {repaired}");
    }
}

/// Keeps the helper honest: a value off by more than four standard errors is refused.
#[test]
#[should_panic(expected = "not 1.5")]
fn a_wrong_mean_is_refused() {
    let mut random: Stream = SEED.stream("honest");
    assert_mean(mean((0..10_000).map(|_| random.exponential(1.4))), 1.5, 0.0, "mean");
}
