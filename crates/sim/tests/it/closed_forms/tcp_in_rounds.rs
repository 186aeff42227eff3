//! The simulation of TCP in rounds, compared with the equations of paper 000, section IV.

use super::rounds::{Cycle, Rounds, Rules, Spacing};
use super::{SEED, assert_mean, assert_share, mean, share};
use ripstop_base::Stream;
use ripstop_model::tcp::{
    Tcp, mean_time_out, mean_time_out_series, mean_window, packets_between_losses, rounds_between_losses,
    time_out_probability,
};

/// `n` cycles at the loss rate `p`.
fn cycles(p: f64, spacing: Spacing, window: f64, time_out: Option<f64>, n: usize) -> Vec<Cycle> {
    let rules = Rules { loss: share(p), spacing, window, time_out };
    // The first cycles start from a window of 1. Each cycle keeps a quarter of the influence of this window, so the
    // first 30 cycles are skipped.
    Rounds::new(rules, SEED.stream(&format!("rounds/{p}"))).skip(30).take(n).collect()
}

/// The mean of a quantity over cycles. Its standard error comes from the means of batches, because
/// the window makes neighbouring cycles depend on each other.
fn over(cycles: &[Cycle], of: impl Fn(&Cycle) -> f64) -> (f64, f64) {
    mean(cycles.chunks_exact(cycles.len() / 100).map(|batch| batch.iter().map(&of).sum::<f64>() / batch.len() as f64))
}

/// A receiver's window without limit.
const NO_LIMIT: f64 = f64::INFINITY;
/// T_o: length of the first time-out, in rounds.
const T_O: f64 = 3.75;

#[test]
fn between_losses_equation_2_holds() {
    for p in [1e-4, 0.01, 0.1, 0.4] {
        let td = cycles(p, Spacing::Independent, NO_LIMIT, None, 100_000);
        assert_mean(over(&td, |c| c.acknowledged as f64), packets_between_losses(p), 0.0, &format!("(2) at {p}"));
        // With time-outs, the equation leaves out the packet that ends each series of time-outs.
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
        // In the long run (4) gives E[W_j] = E[r] - 1 + E[a/W] for any losses. (5) assumes that a/W is uniform on [0,
        // 1]. But a is a whole number below W. If each packet of the round is equally likely to be the first lost
        // packet, then E[a/W] = 1/2 (1 - E[1/W]).
        let part = over(&td, |c| c.last_acknowledged as f64 / c.last_sent as f64);
        assert_mean(over(&td, |c| c.first_window), r - 1.0 + part.0, 2e-4, &format!("(4) at {p}"));
        assert_mean(over(&td, |c| c.last_window), 2.0 * (r - 1.0) + part.0, 2e-4, &format!("(4) at {p}"));
        assert!((0.44..0.5).contains(&part.0), "{part:?}");
        let early = 0.5 - part.0;
        let whole = over(&td, |c| 0.5 / c.last_sent as f64).0;
        // The first loss is more often early in its round than late. This adds p W / 12, where p W
        // packets of the round are lost.
        let skewed = over(&td, |c| p * c.last_sent as f64 / 12.0).0;
        assert!((early - whole - skewed).abs() < 0.1 * early + 4.0 * part.1, "{p}: {early} {whole} {skewed}");
    }
}

/// The constant E[r] sqrt(p) for small p and independent losses.
///
/// Between losses the area under the window grows by N, which has the distribution Exp(1/p). Let S
/// = p W^2 / 2 at a loss. After the loss a quarter of S is left, so the next value is S' = S/4 + E,
/// where E has the distribution Exp(1). In the long run S is the sum of E_k / 4^k.
///
/// The density of S is sum a_k 4^k exp(-4^k s), where a_k is the product of 1/(1 - 4^(k-j)) over
/// all j != k. Then `E[r] sqrt(p) = E[W] sqrt(p) / 2 = E[sqrt(S/2)]`. (Ott, Kemperman and Mathis,
/// 1996: 1.31 = 1 / 0.7635.)
fn independent_losses_constant() -> f64 {
    let weight = |k: i32| -> f64 { (0..40).filter(|j| *j != k).map(|j| 1.0 / (1.0 - 4f64.powi(k - j))).product() };
    let root: f64 = (0..20).map(|k| weight(k) * 0.5f64.powi(k)).sum::<f64>() * std::f64::consts::PI.sqrt() / 2.0;
    root / 2f64.sqrt()
}

#[test]
fn equation_9_holds_for_even_losses_only() {
    let constant = independent_losses_constant();
    assert!((1.0 / constant - 1.3098).abs() < 1e-4, "{constant}");
    for (p, n, slack) in [(1e-6, 10_000, 1e-4), (1e-5, 50_000, 1e-4), (1e-4, 100_000, 2e-4), (1e-3, 200_000, 1e-3)] {
        // Under the assumptions of equation (9), r is nearly constant, and the loss falls anywhere in its round with
        // equal probability. The remaining error is that a is a whole number.
        let even = cycles(p, Spacing::Even, NO_LIMIT, None, n);
        assert_mean(over(&even, |c| c.rounds as f64), rounds_between_losses(p), slack, &format!("(9), even, {p}"));
        // With section III's independent losses E[r^2] exceeds E[r]^2, and r is smaller by 6.5 % for the same number of
        // packets.
        let free = cycles(p, Spacing::Independent, NO_LIMIT, None, n);
        let r = over(&free, |c| c.rounds as f64);
        let want = constant / p.sqrt() + 2.0 / 3.0;
        assert_mean(r, want, 1e-3, &format!("(9), independent, {p}"));
        let ratio = r.0 / rounds_between_losses(p);
        let short = constant / (2.0f64 / 3.0).sqrt();
        assert!((ratio - short).abs() < 0.002 + 4.0 * r.1 / r.0, "{p}: {ratio}, not {short}");
        // Equation (11) is therefore too low by the same factor.
        let tcp = Tcp { rtt: 1.0, time_out: T_O, window: NO_LIMIT };
        let throughput = over(&free, |c| c.acknowledged as f64).0 / over(&free, |c| c.duration).0;
        let above = throughput / tcp.td_throughput(p);
        assert!((1.055..1.08).contains(&above), "(11) at {p}: {above}");
    }
}

#[test]
fn equation_12_is_never_reached() {
    // The throughput stays below the minimum of two bounds, because a window that stops at W_max
    // loses its further growth.
    let tcp = Tcp { rtt: 1.0, time_out: T_O, window: 50.0 };
    // The throughput is furthest from the bound where both bounds meet. At this point it is four fifths of the bound.
    // Where losses are rare, a loss costs the packets by which the windows 25, 26, ... 49 are below 50, and a round and
    // a half of 50 packets.
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
    // (16) puts the mean window, rounded down, in place of the window. But P(TO | W) is far from linear in W. At a mean
    // window of 8.6, nearly all time-outs come from small windows. The measured probability is 0.0018, but (16) gives
    // 1.7e-9. At a mean window of 2.5, (16) takes every loss for a time-out.
    for (p, measured) in [(0.01985050, 1.8e-3), (0.05866345, 0.0465), (0.09631211, 0.145), (0.18549375, 0.450)] {
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
        // Padhye and others give the length of a series of time-outs: (1 + p + 2p^2 + ...) T_o /
        // (1-p).
        let lasts = mean(series.iter().map(|c| c.duration - (c.rounds + 1) as f64));
        assert_mean(lasts, mean_time_out_series(T_O, p), 0.0, &format!("time-outs at {p}"));
        // (14) gives p times this length, because its weights include the first loss of a packet. Equation (16) then
        // multiplies by the probability of a time-out, so the first loss counts a second time.
        let printed = mean_time_out(T_O, p);
        assert_mean((lasts.0 * p, lasts.1 * p), printed, 0.0, &format!("(14) at {p}"));
        assert!(printed < 0.5 * lasts.0);
    }
}

#[test]
fn equation_16_holds_for_its_assumptions_and_misses_by_known_parts() {
    let tcp = Tcp { rtt: 1.0, time_out: T_O, window: 50.0 };
    let throughput = |all: &[Cycle]| over(all, |c| c.acknowledged as f64).0 / over(all, |c| c.duration).0;
    // (16) holds while time-outs are rare and losses evenly spaced.
    for (p, within) in [(0.005, 0.003), (0.01, 0.005), (0.01985050, 0.01)] {
        let even = cycles(p, Spacing::Even, 50.0, Some(T_O), 100_000);
        let ratio = throughput(&even) / tcp.throughput(p);
        assert!((ratio - 1.0).abs() < within, "(16), even, at {p}: {ratio}");
    }
    // Independent losses, at the loss rates of Table I and above. `measured` is the simulated throughput divided by the
    // throughput of equation (16).
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
        // Four corrections explain the ratio: E[r] and P(TO) of independent losses, the length of a series instead of
        // (14), and the packet that ends a series. With these corrections, an equation of the form of (16) gives the
        // simulated throughput.
        let r = over(&all, |c| c.rounds as f64).0;
        let time_out = over(&all, |c| f64::from(u8::from(c.time_outs > 0))).0;
        let packets = packets_between_losses(p) + time_out;
        let repaired = packets / (r + 1.0 + time_out * mean_time_out_series(T_O, p));
        assert!((got / repaired - 1.0).abs() < 0.012, "at {p}: {got}, not {repaired}");
    }
}

/// `assert_mean` must refuse a value that is off by more than four standard errors.
#[test]
#[should_panic(expected = "not 1.5")]
fn a_wrong_mean_is_refused() {
    let mut random: Stream = SEED.stream("honest");
    assert_mean(mean((0..10_000).map(|_| random.exponential(1.4))), 1.5, 0.0, "mean");
}
