//! The links, the coder and TCP in rounds, compared with theory: queueing theory, coding theory,
//! and the equations of paper 000.
//!
//! Under an equation's own assumptions, the equation and the simulation agree. Without these assumptions, they differ
//! by a known amount. The tests assert both the agreement and the difference.

mod rounds;
mod tcp_in_rounds;

use ripstop_base::{Fraction, QueueLimit, Rate, Seed, Time};
use ripstop_codes::Length;
use ripstop_codes::window::{Arrival, Coding, Decoder, Limits, Members};
use ripstop_link::{Fec, Link, LinkConfig, Loss};
use ripstop_sim::engine::Sample;
use std::time::Duration;

/// The seed of all tests here.
const SEED: Seed = Seed::new(40);

fn share(value: f64) -> Fraction {
    Fraction::new(value).expect("a share from 0 to 1")
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

/// Asserts that a measured mean is `want`. The tolerance is four standard errors plus the share
/// `slack` of `want`.
fn assert_mean((got, error): (f64, f64), want: f64, slack: f64, what: &str) {
    let within = 4.0 * error + slack * want.abs();
    assert!((got - want).abs() <= within, "{what}: {got}, not {want} (within {within:.3e}), seed {SEED}");
}

/// Asserts that `hits` of `n` independent trials have the probability `want`.
fn assert_share(hits: u64, n: u64, want: f64, what: &str) {
    let error = (want * (1.0 - want) / n as f64).sqrt();
    // The tolerance includes a quarter of a hit, because a nearly impossible event may still happen one time.
    assert_mean((hits as f64 / n as f64, error + 0.25 / n as f64), want, 0.0, what);
}

// Queues.

/// The M/D/1/K queue: `rho` Poisson arrivals per service time, and room for `k` packets, the packet in service
/// included.
struct Queue {
    /// Share of arrivals that find no room.
    loss: f64,
    /// Mean wait of the other arrivals, in service times.
    wait: f64,
    /// Mean number of packets waiting.
    waiting: f64,
}

/// The exact M/D/1/K queue, from the Markov chain of the number of packets that each departure leaves behind. This
/// number is the number at the previous departure, minus one unless it was 0, plus the number of arrivals during a
/// service.
fn m_d_1_k(rho: f64, k: usize) -> Queue {
    let mut arrivals = vec![(-rho).exp()];
    for n in 1..=k {
        arrivals.push(arrivals[n - 1] * rho / n as f64);
    }
    // The unnormalised distribution of the number left behind, 0 to k - 1, from its balance
    // equations.
    let mut left = vec![1.0];
    for n in 0..k - 1 {
        let reached: f64 = (1..=n).map(|i| left[i] * arrivals[n + 1 - i]).sum();
        left.push((left[n] - reached - left[0] * arrivals[n]) / arrivals[0]);
    }
    let sum: f64 = left.iter().sum();
    // Departures are one service time apart while packets wait, and 1 + 1/rho on average after the
    // system was empty. This gives the distribution at any time, and the probability of a full queue.
    let per_departure = left[0] / sum + rho;
    let loss = 1.0 - 1.0 / per_departure;
    let at_any_time = |n: usize| if n == k { loss } else { left[n] / sum / per_departure };
    let waiting: f64 = (2..=k).map(|n| (n - 1) as f64 * at_any_time(n)).sum();
    // Little's law for the admitted arrivals.
    Queue { loss, wait: waiting / (rho * (1.0 - loss)), waiting }
}

#[test]
fn the_exact_queue_matches_known_cases() {
    // The first case is Erlang's loss formula for one server. The second case is the formula of Pollaczek and Khinchine
    // for a queue without limit.
    assert!((m_d_1_k(0.8, 1).loss - 0.8 / 1.8).abs() < 1e-12);
    let open = m_d_1_k(0.7, 200);
    assert!(open.loss.abs() < 1e-12 && (open.wait - 0.7 / 0.6).abs() < 1e-9);
    // K = 2 by hand: the share e^-rho of departures leaves no packet behind.
    let by_hand = 1.0 - 1.0 / ((-0.9f64).exp() + 0.9);
    assert!((m_d_1_k(0.9, 2).loss - by_hand).abs() < 1e-12);
}

/// Offers Poisson arrivals to a drop-tail link. Returns loss, mean wait and mean number waiting, in
/// service times.
fn drop_tail(config: &LinkConfig, bytes: usize, service: f64, rho: f64, run: u64) -> [f64; 3] {
    const ARRIVALS: u64 = 50_000;
    let seed = SEED.run(run);
    let mut link = Link::new(config, seed, "link/0").expect("the link is valid");
    let mut gaps = seed.stream("arrivals");
    let mut now = Time::ZERO;
    let _ = link.offer(now, bytes);
    for _ in 1..ARRIVALS {
        now += Duration::from_secs_f64(gaps.exponential(service / rho));
        let _ = link.offer(now, bytes);
    }
    let c = link.counters();
    let loss = c.refused_queue as f64 / c.offered as f64;
    let elapsed = now.since(Time::ZERO);
    [loss, c.mean_wait().as_secs_f64() / service, c.mean_queue_packets(elapsed)]
}

#[test]
fn drop_tail_is_m_d_1_k() {
    const RUNS: u64 = 10;
    // The service time is 2.5 ms with and without a block code. 1000 bytes take this time at 3.2 Mbit/s, and 20 cells
    // that are sent as 25 cells take this time at 10 000 cells per second.
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
            for ((sample, want), name) in samples.iter().zip([exact.loss, exact.wait, exact.waiting]).zip(names) {
                let statistic = sample.statistic();
                let (got, ci) = (
                    statistic.mean.expect("the mean is known"),
                    statistic.ci95.expect("there is a confidence interval"),
                );
                // Two half-widths of the 95 % interval are about four standard errors.
                assert!(
                    (got - want).abs() <= 2.0 * ci + 1e-9,
                    "rho {rho}, K {k}, {bytes} bytes: {name} {got} +- {ci}, not {want}, seed {SEED}"
                );
            }
        }
    }
}

// Codes.

/// The nonzero elements of the subfield of GF(256) with `q` elements: 2, 4, 16 or 256.
fn nonzero_elements(q: usize) -> Vec<u8> {
    // Powers of the generator 2 modulo x^8 + x^4 + x^3 + x^2 + 1. The powers of 2^(255 / (q-1))
    // make the subfield.
    let mut powers = vec![1u8];
    for i in 0..254usize {
        let next = u16::from(powers[i]) << 1;
        powers.push((if next > 255 { next ^ 0x11D } else { next }) as u8);
    }
    powers.into_iter().step_by(255 / (q - 1)).collect()
}

/// The number of combinations beyond k that a decoder of k symbols needs; `combine` makes each
/// combination.
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

/// The probability that k + j random combinations of k symbols over a field of `q` elements decode the symbols. This is
/// the probability that the matrix of coefficients has rank k.
fn rank_probability(q: f64, k: i32, j: i32) -> f64 {
    (j + 1..=j + k).map(|i| 1.0 - q.powi(-i)).product()
}

#[test]
fn random_matrices_have_the_rank_of_theory() {
    const K: u64 = 8;
    // A combination whose coefficients are all zero cannot be sent, but it is counted.
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
                        let coefficients = members.iter().map(|i| elements[row[*i as usize] as usize - 1]).collect();
                        break (
                            Members::new(members, K..K).expect("the members are in ascending order"),
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
            let want = rank_probability(q as f64, K as i32, j as i32);
            assert_share(count, trials, want, &format!("GF({q}): {K} + {j} combinations decode"));
        }
        // The probabilities of the fields differ clearly: .29, .69, .93 and .996 for j = 0.
        assert!(decoded_by[0] < decoded_by[1]);
    }
}

#[test]
fn seeded_repairs_have_the_rank_of_theory() {
    // The coefficients of seeded repairs are never 0, so the last dimension fails with probability
    // 1/255 instead of 1/256. The trials cannot resolve the difference.
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
            rank_probability(256.0, K as i32, j as i32) - same,
            &format!("{K} + {j} seeds decode"),
        );
    }
}

#[test]
fn a_symbol_costs_1_over_1_minus_the_loss() {
    // A rateless code: combinations cross a lossy link until k symbols are decoded. The number that must arrive is k +
    // sum 1/(256^i - 1). For each combination that arrives, 1/(1-p) combinations are sent on average.
    const K: u64 = 16;
    let must_arrive = K as f64 + (1..=K as i32).map(|i| 1.0 / (256f64.powi(i) - 1.0)).sum::<f64>();
    for p in [0.0, 0.05, 0.2, 0.5] {
        let config = LinkConfig { loss: Loss::bernoulli(share(p)), ..LinkConfig::default() };
        let mut link = Link::new(&config, SEED, "link/0").expect("the link is valid");
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
        // Equal seeds cost another .002 of a packet.
        assert_mean(mean(sent), must_arrive / (1.0 - p), 2e-4, &format!("packets sent at p = {p}"));
    }
}

/// Sends combinations of all undecoded symbols over a link of one packet per slot, with a new
/// symbol for every `redundancy` combinations. Returns the degrees of freedom that arrive per slot.
fn streaming(p: f64, redundancy: f64, slots: u64, seed: Seed) -> f64 {
    let rate = Rate::from_bps(8_000_000);
    let config = LinkConfig { rate, loss: Loss::bernoulli(share(p)), ..LinkConfig::default() };
    let mut link = Link::new(&config, seed, "link/0").expect("the link is valid");
    let mut random = seed.stream("seeds");
    let mut decoder = Decoder::new(0, Limits::default());
    for slot in 0..slots {
        let next = ((slot + 1) as f64 / redundancy).ceil() as u64;
        let first = decoder.next_undecoded().min(next - 1);
        let seed = random.next_u64() as u16;
        if link.offer(Time::from_millis(slot), 1000).arrival().is_some() {
            decoder.repair(&Members::range(first..next), &Coding::Seed(seed), Length(1000));
            decoder.keep_from(decoder.next_undecoded());
        }
    }
    decoder.counters().innovative as f64 / slots as f64
}

#[test]
fn coding_carries_the_smaller_of_c_minus_losses_and_c_over_r() {
    // Paper 000, section VI-C: min{C(1-p), C/R} in packets, with C one packet per slot.
    const SLOTS: u64 = 800;
    const RUNS: u64 = 10;
    for (p, redundancy) in [(0.2, 1.0), (0.2, 1.1), (0.2, 1.4), (0.0, 1.25), (0.1, 1.05), (0.1, 1.3), (0.4, 2.0)] {
        let want = (1.0_f64 - p).min(1.0 / redundancy);
        let rates = (0..RUNS).map(|run| streaming(p, redundancy, SLOTS, SEED.run(run)));
        let (got, _) = mean(rates);
        // The tolerance is the spread of the arrivals. Where the source is the limit, about 1/(1-p-1/R) symbols still
        // wait at the end.
        let error = 4.0 * (p * (1.0 - p) / (RUNS * SLOTS) as f64).sqrt();
        let tail = 3.0 / ((1.0 - p - 1.0 / redundancy).abs() * SLOTS as f64);
        assert!((got - want).abs() < error + tail, "p {p} R {redundancy}: {got}, not {want}, seed {SEED}");
    }
    // At exactly R = 1/(1-p) the number of waiting symbols is a random walk. The rate is then below both limits by
    // about sqrt(p(1-p)/SLOTS).
    let (critical, _) = mean((0..RUNS).map(|run| streaming(0.2, 1.25, SLOTS, SEED.run(run))));
    assert!((0.77..0.8).contains(&critical), "{critical}");
}
