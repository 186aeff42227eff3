//! Predicts the throughput of one TCP connection by paper 000, section IV. Equation numbers are
//! those of this paper. `ripstop model tcp` prints the [`ConnectionPrediction`].
//!
//! [`crate::tcp`] explains the model and its terms, for example rounds and series of time-outs.

use crate::domain::{DomainError, at_least, positive, share};
use crate::tcp::{
    Tcp, TimeOutDuration, WindowReading, mean_time_out, mean_time_out_series, mean_window_acked,
    rounds_between_losses_acked, time_out_probability_by,
};

/// A TCP connection over a path that loses packets at random (independent losses).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpConnection {
    /// p: the probability that a packet is lost.
    pub loss: f64,
    /// RTT: the length of a round, s.
    pub rtt: f64,
    /// The length of the first time-out of a series, in *seconds*. The paper's T_o is this length
    /// divided by `rtt`, in rounds ("T_o = 3/RTT").
    pub first_time_out: f64,
    /// W_max: the largest window, packets.
    pub max_window: f64,
    /// The size of a packet, bytes.
    pub packet_bytes: f64,
    /// beta: the number of packets for which the receiver sends one acknowledgment.
    pub ack_every: u32,
    /// How equation (13) rounds a mean window that is not an integer.
    pub window: WindowReading,
    /// How equation (16) counts the duration of time-outs.
    pub duration: TimeOutDuration,
}

impl Default for TcpConnection {
    /// The values of section VI, without loss. The RTT is 0.8 s, and the first time-out is 3 s. The
    /// window is 50 packets of 1000 bytes, and each packet is acknowledged.
    fn default() -> TcpConnection {
        TcpConnection {
            loss: 0.0,
            rtt: 0.8,
            first_time_out: 3.0,
            max_window: 50.0,
            packet_bytes: 1000.0,
            ack_every: 1,
            window: WindowReading::default(),
            duration: TimeOutDuration::default(),
        }
    }
}

/// The throughput of a [`TcpConnection`], with the terms that determine it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectionPrediction {
    /// `E[W]`, the mean window in packets: equation (10). This mean ignores W_max, and is infinite
    /// without loss.
    pub expected_window: f64,
    /// `E[r]`, the mean number of rounds between triple-duplicate acknowledgements (TD): equation
    /// (9). Infinite without loss.
    pub rounds_between_td: f64,
    /// P(TO | `E[W]`), the probability that a loss leads to a time-out: equation (13).
    pub timeout_probability: f64,
    /// The expected duration of time-outs, in rounds: equation (15) or the conditional mean, by
    /// [`TimeOutDuration`]. Infinite at p = 1.
    pub timeout_duration_rounds: f64,
    /// Throughput in packets/s without time-outs and without a largest window: equation (11).
    /// Infinite without loss.
    pub throughput_td_only_pps: f64,
    /// Throughput in packets/s: equation (16).
    pub throughput_pps: f64,
    /// Throughput in bit/s, counting whole packets: equation (16).
    pub throughput_bps: f64,
}

impl TcpConnection {
    /// Computes the throughput and its terms.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn predict(&self) -> Result<ConnectionPrediction, DomainError> {
        share("the loss probability", self.loss)?;
        positive("the round-trip time in seconds", self.rtt)?;
        positive("the time-out in seconds", self.first_time_out)?;
        positive("the largest window in packets", self.max_window)?;
        positive("the packet size in bytes", self.packet_bytes)?;
        at_least("the number of packets for each acknowledgment", self.ack_every, 1, "1 or more")?;
        let (p, acked) = (self.loss, f64::from(self.ack_every));
        let rounds = self.first_time_out / self.rtt;
        let tcp = Tcp { rtt: self.rtt, time_out: rounds, window: self.max_window };
        let expected_window = mean_window_acked(p, acked);
        let rounds_between_td = rounds_between_losses_acked(p, acked);
        let throughput_pps = tcp.throughput_by(p, acked, self.window, self.duration);
        let td_only = if p == 0.0 { f64::INFINITY } else { (1.0 - p) / (self.rtt * (p + p * rounds_between_td)) };
        Ok(ConnectionPrediction {
            expected_window,
            rounds_between_td,
            timeout_probability: time_out_probability_by(expected_window, p, self.window),
            timeout_duration_rounds: match self.duration {
                TimeOutDuration::AsPrinted => mean_time_out(rounds, p),
                TimeOutDuration::Conditional => mean_time_out_series(rounds, p),
            },
            throughput_td_only_pps: td_only,
            throughput_pps,
            throughput_bps: throughput_pps * self.packet_bytes * 8.0,
        })
    }
}

/// The probability that a packet is lost on a path of `links` links. Each link loses a packet with
/// probability q = `link_loss`: 1 - (1 - q)^links (paper 000, section VI). The result is exact for
/// small q too.
///
/// # Errors
/// A probability is outside 0 to 1.
pub fn path_loss(link_loss: f64, links: u32) -> Result<f64, DomainError> {
    share("the loss probability of a link", link_loss)?;
    Ok(if links == 0 { 0.0 } else { -libm::expm1(f64::from(links) * libm::log1p(-link_loss)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lossy(loss: f64) -> TcpConnection {
        TcpConnection { loss, ..TcpConnection::default() }
    }

    #[test]
    fn readings_of_the_window_and_the_duration() {
        // The values are computed independently. The first three throughputs in Mbit/s read E[W] as
        // floor, nearest (= ceiling) and continuous; the fourth has conditional time-outs. P(TO |
        // E[W]) follows. At 0.1855, the window of 2.54 rounds to 3 before the limit is tested.
        for (q, mbps, probability) in [
            (0.005, [0.066732, 0.066732, 0.066732, 0.0667], [1.655e-9, 4.222e-11, 1.846e-10]),
            (0.015, [0.032524, 0.032553, 0.032552, 0.0320], [0.0190689, 0.0018454, 0.0023809]),
            (0.025, [0.021955, 0.022456, 0.022386, 0.0175], [0.2620017, 0.0487671, 0.0777169]),
            (0.05, [0.009831, 0.011348, 0.009831, 0.0047], [1.0, 0.4596399, 1.0]),
        ] {
            let connection = lossy(path_loss(q, 4).unwrap());
            let by = |window, duration| TcpConnection { window, duration, ..connection }.predict().unwrap();
            for (i, reading) in
                [WindowReading::Floor, WindowReading::Nearest, WindowReading::Continuous].into_iter().enumerate()
            {
                let got = by(reading, TimeOutDuration::AsPrinted);
                assert!(
                    (got.throughput_bps / 1e6 - mbps[i]).abs() <= 5.1e-7,
                    "q {q}, {reading:?}: wrong prediction {got:?}"
                );
                assert!(
                    (got.timeout_probability / probability[i] - 1.0).abs() < 3e-4,
                    "q {q}, {reading:?}: wrong prediction {got:?}"
                );
            }
            assert_eq!(
                by(WindowReading::Ceiling, TimeOutDuration::AsPrinted),
                by(WindowReading::Nearest, TimeOutDuration::AsPrinted)
            );
            let conditional = by(WindowReading::Floor, TimeOutDuration::Conditional);
            assert!(
                (conditional.throughput_bps / 1e6 - mbps[3]).abs() <= 5.1e-5,
                "q {q}: wrong prediction {conditional:?}"
            );
        }
    }

    #[test]
    fn delayed_acknowledgments_solve_their_equations() {
        for b in [1u32, 2, 3, 16] {
            for p in [1e-6, 1e-3, 0.05, 0.4] {
                let got = TcpConnection { ack_every: b, ..lossy(p) }.predict().unwrap();
                let (r, beta) = (got.rounds_between_td, f64::from(b));
                // The mean of equation (4): E[W_j] = (E[W_(j+r-1)] + 0.5/beta) / 2. The term
                // 0.5/beta is the mean growth by a uniformly distributed part of a round's
                // acknowledgments.
                let after = (r - 0.5) / beta;
                let before = after + (r - 1.0) / beta;
                assert!((after - 0.5 * (before + 0.5 / beta)).abs() < 1e-9 * after);
                // The mean of equation (7).
                let packets = (r - 1.0) * after + (r - 1.0) * (r - 2.0) / (2.0 * beta) + before / 2.0;
                assert!((packets * p / (1.0 - p) - 1.0).abs() < 1e-9, "b {b} p {p}: equation (7) does not hold");
                // Equation (10).
                assert!((got.expected_window - (after + before) / 2.0).abs() < 1e-9 * before);
                if p < 1e-4 {
                    // The square-root law sqrt(3 / (2 b p)) / RTT of Padhye and others.
                    let root = (1.5 / (beta * p)).sqrt() / 0.8;
                    assert!(
                        (got.throughput_td_only_pps / root - 1.0).abs() < 0.01,
                        "b {b}: {got:?} is far from the square-root law {root}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_loss_and_all_loss() {
        let none = lossy(0.0).predict().unwrap();
        assert_eq!((none.throughput_pps, none.throughput_bps, none.timeout_probability), (62.5, 500_000.0, 0.0));
        assert!(none.expected_window.is_infinite() && none.rounds_between_td.is_infinite());
        let all = lossy(1.0).predict().unwrap();
        assert_eq!((all.throughput_pps, all.throughput_td_only_pps, all.timeout_probability), (0.0, 0.0, 1.0));
        assert!(all.timeout_duration_rounds.is_infinite());
        assert_eq!(path_loss(1.0, 3), Ok(1.0));
        assert_eq!(path_loss(1.0, 0), Ok(0.0));
    }

    proptest! {
        #[test]
        fn throughput_falls_with_loss_and_rises_with_the_window(
            p in 0.0f64..=1.0, more in 0.0f64..=1.0, w in 1.0f64..1e4, wider in 1.0f64..1e4, b in 1u32..5,
            rtt in 1e-3f64..2.0, rto in 0.01f64..5.0, conditional in any::<bool>(),
        ) {
            let duration = if conditional { TimeOutDuration::Conditional } else { TimeOutDuration::AsPrinted };
            let one = TcpConnection {
                loss: p, rtt, first_time_out: rto, max_window: w, ack_every: b, duration, ..TcpConnection::default()
            };
            let at = |c: TcpConnection| c.predict().unwrap().throughput_pps;
            let lossier = at(TcpConnection { loss: p + more * (1.0 - p), ..one });
            prop_assert!(lossier <= at(one) * (1.0 + 1e-12));
            let wide = at(TcpConnection { max_window: w + wider, ..one });
            prop_assert!(wide >= at(one));
        }

        #[test]
        fn equation_16_as_it_is_printed(
            p in 1e-3f64..0.92, rtt in 0.01f64..1.0, rto in 0.1f64..5.0, w in 1.0f64..100.0,
        ) {
            let x = (1.0 - p) / p;
            let root = (-1.0 / 18.0 + 2.0 / 3.0 * x).sqrt();
            let mean = 1.5 * (2.0 / 3.0 + root) - 1.0;
            // Equation (13), for the mean window rounded down to whole packets.
            let packets = mean.floor();
            let time_out = if packets < 3.0 { 1.0 } else {
                let few = |i: i32, choose: f64| choose * p.powi(packets as i32 - i) * (1.0 - p).powi(i);
                few(0, 1.0) + few(1, packets) + few(2, packets * (packets - 1.0) / 2.0)
            };
            // Equation (14), term by term.
            let mut duration = 0.0;
            for i in 1..3000 {
                let waited = if i <= 6 { f64::from((1u32 << i) - 1) } else { 63.0 + 64.0 * f64::from(i - 6) };
                duration += (1.0 - p) * waited * rto / rtt * p.powi(i);
            }
            let want = (x / (rtt * (5.0 / 3.0 + root + time_out * duration))).min(w / rtt);
            let connection = TcpConnection { loss: p, rtt, first_time_out: rto, max_window: w, ..TcpConnection::default() };
            let got = connection.predict().unwrap().throughput_pps;
            prop_assert!((got / want - 1.0).abs() < 1e-9, "{connection:?}: {got}, not {want}");
        }

        #[test]
        fn wild_input_is_an_error_or_an_answer(
            x in prop::array::uniform5(prop::sample::select(vec![
                f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1e-310, 1e-9, 0.5, 1.0, 3.0, 1e300,
            ])),
            b in prop::sample::select(vec![0, 1, 2, u32::MAX]),
        ) {
            let connection = TcpConnection {
                loss: x[0], rtt: x[1], first_time_out: x[2], max_window: x[3], packet_bytes: x[4], ack_every: b,
                ..TcpConnection::default()
            };
            match connection.predict() {
                Ok(got) => prop_assert!(got.throughput_pps >= 0.0 && !got.expected_window.is_nan()
                    && (0.0..=1.0).contains(&got.timeout_probability) && got.timeout_duration_rounds >= 0.0
                    && got.throughput_td_only_pps >= 0.0, "{connection:?}: a result is outside its range: {got:?}"),
                Err(error) => prop_assert!(!error.domain.is_empty()),
            }
            let _ = path_loss(x[0], b);
        }
    }
}
