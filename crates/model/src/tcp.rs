//! TCP's throughput over a path that loses packets at random: paper 000, section IV, equations (2)
//! to (16).
//!
//! The model counts time in rounds of one round-trip time. A window of W packets grows by 1 each
//! round until a packet is lost. One round later, triple-duplicate acknowledgements (TD) halve the
//! window. If too few packets follow the loss, a time-out (TO) sets the window back instead.
//! Further time-outs can follow, each twice as long as the time-out before, up to a limit. The
//! time-outs together are a *series*.
//!
//! In this file, p is the loss probability of a packet. r is the number of rounds from one TD to
//! the next loss. W_j is the window after the j-th TD, and W_(j+r-1) the window in the round of the
//! next loss. `E[x]` is the mean of x.
//!
//! Probabilities are clamped to 0..=1, and NaN counts as 0. So no function returns NaN for any `p`.

/// The largest p at which equation (9) has a real square root. For larger p the root counts as 0.
/// The value follows from equation (9).
pub const LARGEST_P: f64 = 12.0 / 13.0;

/// How equation (13) rounds a mean window that is not an integer. The paper does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowReading {
    /// Round down. Only this reading gives all four rows of table I.
    #[default]
    Floor,
    /// Round to the nearest integer. Gives one row of table I.
    Nearest,
    /// Round up. Gives one row of table I.
    Ceiling,
    /// Do not round. Gives two rows of table I.
    Continuous,
}

/// How long time-outs last in equation (16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeOutDuration {
    /// Equation (15), [`mean_time_out`]. The paper computed table I with this duration.
    #[default]
    AsPrinted,
    /// The mean duration of a series of time-outs that has begun, [`mean_time_out_series`]. The
    /// model of Padhye and others, on which the paper builds, uses this duration.
    Conditional,
}

/// A TCP sender and its path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcp {
    /// RTT: the length of a round, s.
    pub rtt: f64,
    /// T_o: the length of the first time-out of a series, rounds.
    pub time_out: f64,
    /// W_max: the largest window, packets.
    pub window: f64,
}

impl Tcp {
    /// Throughput in packets/s without time-outs and without a largest window: equation (11).
    /// Infinite at p = 0.
    ///
    /// For small p, the throughput is close to sqrt(3/(2p)) / RTT. For large p, the paper uses
    /// (1-p)/(p RTT) instead. That formula drops the factor 1/(`E[r]` + 1), which is 0.5 at p = 0.8
    /// and 0.6 at 12/13.
    pub fn td_throughput(&self, p: f64) -> f64 {
        let p = probability(p);
        if p == 1.0 { 0.0 } else { (1.0 - p) / (self.rtt * (p + times_p(p, 1.0))) }
    }

    /// Throughput in packets/s without time-outs, with the largest window: equation (12).
    pub fn capped_throughput(&self, p: f64) -> f64 {
        (self.window / self.rtt).min(self.td_throughput(p))
    }

    /// Throughput in packets/s: equation (16), with P(TO | `floor(E[W])`) and the duration of
    /// equation (15).
    ///
    /// The throughput falls as p rises. The throughput jumps down where `floor(E[W])` falls from m
    /// to m - 1, at p = 12/(8 m^2 + 13) for m = 3, 4, ...
    pub fn throughput(&self, p: f64) -> f64 {
        self.throughput_by(p, 1.0, WindowReading::Floor, TimeOutDuration::AsPrinted)
    }

    /// Throughput in packets/s by equation (16), with any reading of the window and any duration of
    /// time-outs. The receiver sends one acknowledgment for `ack_every` packets.
    pub fn throughput_by(&self, p: f64, ack_every: f64, reading: WindowReading, duration: TimeOutDuration) -> f64 {
        let p = probability(p);
        if p == 0.0 {
            return self.window / self.rtt;
        }
        if p == 1.0 {
            return 0.0;
        }
        let time_out = time_out_probability_by(mean_window_acked(p, ack_every), p, reading)
            * match duration {
                TimeOutDuration::AsPrinted => mean_time_out(self.time_out, p),
                TimeOutDuration::Conditional => mean_time_out_series(self.time_out, p),
            };
        let free = (1.0 - p) / (self.rtt * (p + times_p(p, ack_every) + p * time_out));
        (self.window / self.rtt).min(free)
    }
}

/// The number of packets that arrive between two losses: equation (2). Infinite at p = 0.
pub fn packets_between_losses(p: f64) -> f64 {
    let p = probability(p);
    (1.0 - p) / p
}

/// The time between two triple-duplicate events, s: equation (3). `rounds` is r of equation (9).
/// The time has one more round than `rounds`, in which the sender learns of the loss.
pub fn time_between_losses(rounds: f64, rtt: f64) -> f64 {
    rtt * (rounds + 1.0)
}

/// `E[W_j]`, the mean window after a triple-duplicate event, packets: equation (5). `rounds` is r.
pub fn window_after(rounds: f64) -> f64 {
    rounds - 0.5
}

/// `E[W_(j+r-1)]`, the mean window in the round of the loss, packets: equation (5). `rounds` is r.
pub fn window_before(rounds: f64) -> f64 {
    2.0 * rounds - 1.5
}

/// `E[r]`, the mean number of rounds from a triple-duplicate event to the next loss: equation (9),
/// which solves equation (8) for a constant r. Infinite at p = 0.
pub fn rounds_between_losses(p: f64) -> f64 {
    rounds_between_losses_acked(p, 1.0)
}

/// [`rounds_between_losses`] with one acknowledgment for `ack_every` packets (the paper's beta).
///
/// The window then grows by 1/beta a round, and the result is 2/3 + sqrt(-1/18 + 2/3 beta (1-p)/p).
///
/// The result follows from W_(j+r-1) = W_j + (r-1)/beta. Equation (5) becomes `E[W_j]` = (`E[r]` -
/// 1/2)/beta, with the paper's uniformly distributed a_(j-2). In equations (7) to (9), the number
/// of packets (1-p)/p is multiplied by beta.
pub fn rounds_between_losses_acked(p: f64, ack_every: f64) -> f64 {
    let p = probability(p);
    if p == 0.0 { f64::INFINITY } else { times_p(p, ack_every) / p }
}

/// `E[W]`, the mean window in packets: equation (10). Infinite at p = 0. The mean ignores the
/// largest window W_max. Above p = 4/7 the mean is below 1.
pub fn mean_window(p: f64) -> f64 {
    mean_window_acked(p, 1.0)
}

/// [`mean_window`] with one acknowledgment for `ack_every` packets (the paper's beta):
/// (3/2 `E[r]` - 1)/beta.
pub fn mean_window_acked(p: f64, ack_every: f64) -> f64 {
    (1.5 * rounds_between_losses_acked(p, ack_every) - 1.0) / ack_every
}

/// P(TO | W): the probability that a loss leads to a time-out and not to a triple-duplicate event.
/// This is equation (13), with W = `window` rounded down. A time-out follows if fewer than three
/// packets of the window arrive. For a window below three packets the probability is 1.
pub fn time_out_probability(window: f64, p: f64) -> f64 {
    time_out_probability_by(window, p, WindowReading::Floor)
}

/// [`time_out_probability`] with any reading of a window that is not an integer. The window is
/// rounded first, and then compared with the limit of three packets.
pub fn time_out_probability_by(window: f64, p: f64, reading: WindowReading) -> f64 {
    let p = probability(p);
    // At p = 0 the mean window is infinite, and no packet of the window is lost.
    if p == 0.0 {
        return if window >= 3.0 { 0.0 } else { 1.0 };
    }
    let w = match reading {
        WindowReading::Floor => libm::floor(window),
        WindowReading::Nearest => libm::round(window),
        WindowReading::Ceiling => libm::ceil(window),
        WindowReading::Continuous => window,
    };
    if w.is_nan() || w < 3.0 {
        return 1.0;
    }
    // For large windows this power underflows to 0, which is right.
    let arrive = 1.0 - p;
    let least = libm::pow(p, w - 2.0);
    if least == 0.0 {
        return 0.0;
    }
    (least * (p * p + w * p * arrive + 0.5 * w * (w - 1.0) * arrive * arrive)).min(1.0)
}

/// The expected duration of time-outs, in the unit of `first` (T_o): equations (14) and (15), as in
/// the paper's figures.
///
/// The paper weights the duration of i time-outs by p^i (1-p). This is the probability of i losses
/// in a row *including the loss that begins the series*. Equation (16) multiplies the result by the
/// probability of that loss a second time. So the result is p times [`mean_time_out_series`], and
/// tends to 0 for small p.
pub fn mean_time_out(first: f64, p: f64) -> f64 {
    let p = probability(p);
    // At p = 0 the result is 0, even if `first` is infinite. The product would be NaN.
    if p == 0.0 { 0.0 } else { p * mean_time_out_series(first, p) }
}

/// The expected duration of a series of time-outs that has begun, in the unit of `first` (T_o):
/// Padhye and others (1998), equation (27). The time-out doubles at each loss of the
/// retransmission, up to 64 T_o. The result tends to T_o for small p, and is infinite at p = 1.
pub fn mean_time_out_series(first: f64, p: f64) -> f64 {
    let p = probability(p);
    if p == 1.0 {
        return f64::INFINITY;
    }
    // The time-outs last 1, 2, 4, ... 64, 64, ... times T_o. Each time-out follows the time-out
    // before with probability p. The sum is (1 + p + 2 p^2 + ... + 32 p^6) / (1-p).
    first * (1.0 + p * (2.0 + p * (4.0 + p * (8.0 + p * (16.0 + p * (32.0 + 64.0 * p / (1.0 - p)))))))
}

/// The duration of a series of `time_outs` time-outs, with T_o = `first`: T_o, 3 T_o, 7 T_o, ... 63
/// T_o for 1, 2, 3, ... 6 time-outs, then 64 T_o more for each further time-out. Equation (14) sums
/// these durations.
pub fn time_out_series(first: f64, time_outs: u32) -> f64 {
    let doubled = time_outs.min(6);
    first * (f64::from((1u32 << doubled) - 1) + 64.0 * f64::from(time_outs - doubled))
}

/// `E[r] p`: 2p/3 + sqrt(2 beta p(1-p)/3 - p^2/18), where a negative number under the root counts
/// as 0. The product is finite also at p = 0, where `E[r]` is infinite.
fn times_p(p: f64, ack_every: f64) -> f64 {
    2.0 * p / 3.0 + (2.0 * ack_every * p * (1.0 - p) / 3.0 - p * p / 18.0).max(0.0).sqrt()
}

fn probability(p: f64) -> f64 {
    if p.is_nan() { 0.0 } else { p.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Tcp = Tcp { rtt: 0.8, time_out: 3.75, window: 50.0 };

    /// Asserts that `got` matches `want` to the printed digits: within 0.6 units of the last of
    /// `digits` significant digits.
    fn near(got: f64, want: f64, digits: i32) {
        let scale = if want == 0.0 { 1.0 } else { 10f64.powi(want.abs().log10().floor() as i32) };
        assert!((got - want).abs() <= 0.6 * scale * 10f64.powi(1 - digits), "{got}, not {want}");
    }

    #[test]
    fn known_values() {
        // Values computed independently: p, E[W], P(TO), duration (rounds), throughput (packets/s).
        for (p, w, timeout, rounds, throughput) in [
            (1e-6, 1224.7442, 0.0, 3.750e-6, 62.5),
            (0.001, 38.7088, 7.016e-106, 0.0037575, 45.45444),
            (0.005, 17.2735, 4.112e-33, 0.018939, 18.86992),
            (0.01, 12.1809, 6.481e-19, 0.038265, 12.64396),
            (0.02, 8.5659, 1.7311e-9, 0.078125, 8.302517),
            (0.05, 5.3268, 1.158125e-3, 0.208333, 4.551447),
            (0.1, 3.6572, 0.271000, 0.468747, 2.658431),
            (0.2, 2.4238, 1.0, 1.248720, 1.103441),
            (0.5, 1.1726, 1.0, 15.000000, 0.07163980),
            (0.8, 0.5000, 1.0, 330.544320, 9.397244e-4),
            (0.9, 0.2041, 1.0, 1287.18288, 1.077505e-4),
            (0.95, 0.0, 1.0, 3534.28397, 1.860588e-5),
            (0.99, 0.0, 1.0, 22594.0410, 5.587903e-7),
        ] {
            near(mean_window(p), w, if w > 1.0 { 5 } else { 4 });
            near(time_out_probability(mean_window(p), p), timeout, 4);
            near(mean_time_out(3.75, p), rounds, 4);
            near(PAPER.throughput(p), throughput, 7);
        }
    }

    #[test]
    fn table_i_reproduces() {
        // Four links of loss q in a row. The column "TCP analysis" of the table is in Mbit/s for
        // packets of 8000 bits.
        for (q, w, mbps) in [
            (0.005, 8.598828, 0.066732),
            (0.015, 4.893320, 0.032524),
            (0.025, 3.734885, 0.021955),
            (0.05, 2.541953, 0.009831),
        ] {
            let p = -libm::expm1(4.0 * libm::log1p(-q));
            near(mean_window(p), w, 7);
            near(PAPER.throughput(p) * 8000.0 / 1e6, mbps, 4);
        }
        // Without a loss, the largest window limits the throughput to 62.5 packets/s.
        assert_eq!((PAPER.throughput(0.0), PAPER.throughput(1.0)), (62.5, 0.0));
        assert!(PAPER.throughput(5.46e-4) == 62.5 && PAPER.throughput(5.47e-4) < 62.5);
    }

    #[test]
    fn the_equations_fit_together() {
        for p in [1e-7, 1e-4, 0.01, 0.1, 0.5, 0.9, LARGEST_P] {
            let r = rounds_between_losses(p);
            // Equation (8): (1-p)/p = 3/2 (E[r] - 1)^2 + E[a], with E[a] = E[W_(j+r-1)] / 2.
            let right = 1.5 * (r - 1.0).powi(2) + window_before(r) / 2.0;
            assert!((right / packets_between_losses(p) - 1.0).abs() < 1e-9, "p {p}: equation (8) gives {right}");
            // Equation (10): the mean of the windows of equation (5).
            assert!(
                (mean_window(p) - (window_after(r) + window_before(r)) / 2.0).abs() <= 1e-12 * r,
                "p {p}: equation (10) does not hold"
            );
            // Equation (11): packets divided by time.
            let throughput = packets_between_losses(p) / time_between_losses(r, 0.8);
            assert!((PAPER.td_throughput(p) / throughput - 1.0).abs() < 1e-12, "p {p}: equation (11) does not hold");
            assert!(PAPER.throughput(p) <= PAPER.capped_throughput(p));
        }
        // Equation (11) for small p is 0.2 % below the square-root law at 1e-6, and 2 % below at
        // 1e-4.
        for (p, within) in [(1e-6, 0.0021), (1e-4, 0.021)] {
            assert!((PAPER.td_throughput(p) / ((1.5 / p).sqrt() / 0.8) - 1.0).abs() < within);
        }
        // For large p: the factor 1/(E[r] + 1) that the paper's text drops.
        for (p, factor) in [(0.8, 0.5), (0.9, 0.5547), (LARGEST_P, 0.6)] {
            near(1.0 / (rounds_between_losses(p) + 1.0), factor, 4);
        }
    }

    #[test]
    fn durations_are_sums_of_doubled_time_outs() {
        for (k, want) in [(0, 0.0), (1, 1.0), (2, 3.0), (3, 7.0), (5, 31.0), (6, 63.0), (7, 127.0), (9, 255.0)] {
            assert_eq!(time_out_series(1.0, k), want);
        }
        for p in [1e-3, 0.1, 0.5, 0.9] {
            let (mut printed, mut conditional, mut weight) = (0.0, 0.0, 1.0 - p);
            for i in 1..2000 {
                let term = time_out_series(3.75, i);
                conditional += weight * term;
                weight *= p;
                printed += weight * term;
            }
            assert!((mean_time_out(3.75, p) / printed - 1.0).abs() < 1e-12, "p {p}: equation (14) does not hold");
            assert!(
                (mean_time_out_series(3.75, p) / conditional - 1.0).abs() < 1e-12,
                "p {p}: wrong conditional duration"
            );
        }
        assert!((mean_time_out_series(3.75, 1e-9) - 3.75).abs() < 1e-7);
    }

    #[test]
    fn time_outs_are_a_binomial_tail() {
        for w in 3..30u32 {
            for p in [0.01f64, 0.3, 0.9, 1.0] {
                let choose = [1.0, f64::from(w), f64::from(w * (w - 1) / 2)];
                let sum: f64 =
                    (0..3).map(|i| choose[i as usize] * p.powi((w - i) as i32) * (1.0 - p).powi(i as i32)).sum();
                let got = time_out_probability(f64::from(w) + 0.7, p);
                assert!((got - sum).abs() <= 1e-12 * sum.max(1e-300), "W {w} p {p}: {got}, not {sum}");
            }
        }
        for w in [f64::NAN, -1.0, 0.0, 2.99] {
            assert_eq!(time_out_probability(w, 0.1), 1.0);
        }
    }

    #[test]
    fn throughput_falls_and_jumps_with_the_window() {
        let mut last = f64::INFINITY;
        for i in 0..=100_000 {
            let throughput = PAPER.throughput(f64::from(i) / 1e5);
            assert!(throughput <= last, "throughput rises at p = {i} / 100000");
            last = throughput;
        }
        for (m, p) in [(3.0f64, 0.141176), (4.0, 0.085106), (5.0, 0.056338), (6.0, 0.039867)] {
            let jump = 12.0 / (8.0 * m * m + 13.0);
            near(jump, p, 5);
            assert_eq!([jump - 1e-9, jump + 1e-9].map(|p| libm::floor(mean_window(p))), [m, m - 1.0]);
        }
        near(PAPER.throughput(0.141176) * 8e-3, 0.015451, 4);
        near(PAPER.throughput(0.141177) * 8e-3, 0.013812, 4);
    }

    #[test]
    fn total_over_the_whole_range() {
        for p in [f64::NAN, -1.0, 0.0, 1e-300, 1e-9, 0.5, LARGEST_P, 0.95, 1.0 - 1e-16, 1.0, 2.0, f64::INFINITY] {
            for got in [
                PAPER.throughput(p),
                PAPER.capped_throughput(p),
                PAPER.td_throughput(p),
                packets_between_losses(p),
                rounds_between_losses(p),
                mean_time_out(3.75, p),
                mean_time_out_series(3.75, p),
            ] {
                assert!(got >= 0.0, "p {p}: {got} is negative or NaN");
            }
            assert!(PAPER.throughput(p) <= 62.5 && !mean_window(p).is_nan());
            for w in [3.0, 50.0, 1e300, f64::INFINITY] {
                assert!((0.0..=1.0).contains(&time_out_probability(w, p)), "W {w} p {p}: not a probability");
            }
        }
        assert_eq!(time_out_series(1.0, u32::MAX), 63.0 + 64.0 * (f64::from(u32::MAX) - 6.0));
    }
}
