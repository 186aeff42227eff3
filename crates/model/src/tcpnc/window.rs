//! The expected window of TCP/NC by round, equation (17) of paper 000, and the throughput of a
//! number of rounds, equations (19) and (20). A round is one round-trip time.
//!
//! Coding sends R combinations for each packet of TCP. The share g = min{1, R (1-p)} of the window
//! is acknowledged in each round, where p is the loss probability.

use super::chain;
use crate::domain::{DomainError, EquationForm, positive, require, share};

/// A TCP/NC flow over a path that loses packets at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedFlow {
    /// p: the probability that a packet is lost.
    pub loss: f64,
    /// R: the number of combinations sent for each packet of TCP.
    pub redundancy: f64,
    /// SRTT: the length of a round, s.
    pub srtt: f64,
    /// `E[W_1]`: the window at the start, packets. The paper states 1, but its table I needs 25.
    pub first_window: f64,
    /// W_max: the largest window, packets.
    pub max_window: f64,
    /// The size of a packet, bytes.
    pub packet_bytes: f64,
    /// The duration of the flow.
    pub duration: FlowDuration,
    /// The form of f(n) in equation (20), and of the count in equation (18).
    pub form: EquationForm,
}

/// The duration of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FlowDuration {
    /// A duration in seconds. The number of rounds n is real, and n SRTT is this duration.
    Seconds(f64),
    /// A duration in rounds.
    Rounds(f64),
    /// An infinite duration: the limit of equation (20), g W_max / SRTT.
    Infinite,
}

/// The throughput of a [`CodedFlow`], with the terms that determine it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedThroughput {
    /// n: the duration of the flow in rounds. Infinite for an infinite duration.
    pub rounds: f64,
    /// Throughput in packets/s: equation (20).
    pub throughput_pps: f64,
    /// Throughput in bit/s, counting whole packets: equation (20).
    pub throughput_bps: f64,
    /// The window after the last round, packets: equation (17).
    pub window_final: f64,
    /// The expected number of packets sent until the window is W_max: [`chain::packets_to_reach`],
    /// or equation (18) as printed. Infinite at p = 1.
    pub packets_to_wmax: f64,
}

/// One round of a [`CodedFlow`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedRound {
    /// `E[W_i]`, the window in this round, packets: equation (17).
    pub window: f64,
    /// T_i, the throughput in this round in bit/s, counting whole packets: equation (19).
    pub throughput_bps: f64,
}

impl Default for CodedFlow {
    /// The values of section VI of the paper, without loss and redundancy. The window is 1 to 50
    /// packets of 1000 bytes, the SRTT is 0.8 s, and the duration is 1000 s.
    fn default() -> CodedFlow {
        CodedFlow {
            loss: 0.0,
            redundancy: 1.0,
            srtt: 0.8,
            first_window: 1.0,
            max_window: 50.0,
            packet_bytes: 1000.0,
            duration: FlowDuration::Seconds(1000.0),
            form: EquationForm::Corrected,
        }
    }
}

impl CodedFlow {
    /// Computes the mean throughput and its terms.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn predict(&self) -> Result<CodedThroughput, DomainError> {
        let rounds = self.check()?;
        let throughput_pps = match self.form {
            EquationForm::Corrected => self.mean_window(rounds) * self.growth(),
            EquationForm::AsPrinted => self.printed_mean_window(rounds),
        } / self.srtt;
        Ok(CodedThroughput {
            rounds,
            throughput_pps,
            throughput_bps: throughput_pps * self.packet_bytes * 8.0,
            window_final: self.window(rounds),
            packets_to_wmax: match self.form {
                EquationForm::Corrected => chain::packets_to_reach(self.first_window, self.max_window, self.loss)?,
                EquationForm::AsPrinted => chain::packets_as_printed(self.max_window, self.loss)?,
            },
        })
    }

    /// The rounds 1, 2, ... of equations (17) and (19), without end.
    ///
    /// # Errors
    /// An argument is outside its domain.
    pub fn series(&self) -> Result<impl Iterator<Item = CodedRound> + use<>, DomainError> {
        self.check()?;
        let flow = *self;
        Ok((1u64..).map(move |i| {
            let window = flow.window(i as f64);
            let pps = window * flow.growth() / flow.srtt;
            CodedRound { window, throughput_bps: pps * flow.packet_bytes * 8.0 }
        }))
    }

    /// Checks the arguments, and returns the number of rounds.
    fn check(&self) -> Result<f64, DomainError> {
        share("the loss probability", self.loss)?;
        require(
            self.redundancy >= 1.0 && self.redundancy.is_finite(),
            "the redundancy R",
            self.redundancy,
            "1 or more: fewer combinations than packets cannot be decoded",
        )?;
        positive("the round-trip time in seconds", self.srtt)?;
        positive("the packet size in bytes", self.packet_bytes)?;
        let window = |what, w: f64| require(w >= 1.0 && w.is_finite(), what, w, "1 or more, and finite");
        window("the first window in packets", self.first_window)?;
        window("the largest window in packets", self.max_window)?;
        match self.duration {
            FlowDuration::Seconds(s) => {
                positive("the duration in seconds", s)?;
                let rounds = s / self.srtt;
                positive("the duration in rounds", rounds)?;
                Ok(rounds)
            }
            FlowDuration::Rounds(n) => positive("the duration in rounds", n).map(|()| n),
            FlowDuration::Infinite => Ok(f64::INFINITY),
        }
    }

    /// g = min{1, R (1-p)}: the window grows by g packets in a round. A round also acknowledges the
    /// share g of the window.
    fn growth(&self) -> f64 {
        (self.redundancy * (1.0 - self.loss)).min(1.0)
    }

    /// `E[W_i]`, the window in round i = `round`: equation (17), in which the window has grown by i
    /// g. The recursion above equation (17) in the paper has (i - 1) g instead. Equation (20) and
    /// the sum in paper 001 agree with equation (17).
    fn window(&self, round: f64) -> f64 {
        // At g = 0 the window does not grow, even in infinitely many rounds.
        let grown = if self.growth() == 0.0 { 0.0 } else { round * self.growth() };
        self.max_window.min(self.first_window + grown)
    }

    /// The mean window of n = `rounds` rounds by equation (17). The paper's f(n) is the sum of
    /// these windows. This function corrects f(n) in two ways. First, the window grows by g a
    /// round, and f(n) leaves g out. Second, a flow may reach W_max, after r* rounds. Then the last
    /// term is r* (r* + 1) / 2 instead of the printed r* (r* - 1) / 2.
    fn mean_window(&self, rounds: f64) -> f64 {
        let g = self.growth();
        let first = self.first_window.min(self.max_window);
        let grows = libm::floor((self.max_window - first) / g).min(rounds);
        if grows.is_infinite() || grows.is_nan() {
            // g = 0: the window does not change, and nothing is acknowledged.
            return first;
        }
        if rounds.is_infinite() {
            return self.max_window;
        }
        // Compute with the share of rounds in which the window grows. The square of a large number
        // of rounds could overflow.
        let share = grows / rounds;
        share * (first + g * (grows + 1.0) / 2.0) + (1.0 - share) * self.max_window
    }

    /// f(n) / n as printed under equation (20). The printed form has g = 1 for all R and p. The two
    /// branches of the form count rounds differently, so the sum jumps where the window reaches
    /// W_max.
    fn printed_mean_window(&self, rounds: f64) -> f64 {
        let first = self.first_window.min(self.max_window);
        let reaches = self.max_window - first;
        if rounds <= reaches {
            first + (rounds + 1.0) / 2.0
        } else {
            let deficit = reaches * reaches - reaches * (reaches - 1.0) / 2.0;
            self.max_window - deficit / rounds
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Table I: SRTT and R by loss.
    const TABLE: [(f64, f64); 5] = [(0.8256, 1.0), (0.8260, 1.03), (0.8264, 1.09), (0.8281, 1.13), (0.8347, 1.29)];

    fn mbps(flow: CodedFlow) -> f64 {
        flow.predict().unwrap().throughput_bps / 1e6
    }

    #[test]
    fn table_i_under_its_readings() {
        // The table assumes that redundancy masks all losses (g = 1).
        for ((srtt, _), want) in TABLE.into_iter().zip([
            [0.481896, 0.4747, 0.4751],
            [0.481662, 0.4745, 0.4749],
            [0.481427, 0.4742, 0.4746],
            [0.480433, 0.4732, 0.4736],
            [0.476614, 0.4694, 0.4698],
        ]) {
            let flow = CodedFlow { srtt, ..CodedFlow::default() };
            let printed = CodedFlow { form: EquationForm::AsPrinted, ..flow };
            assert!((mbps(CodedFlow { first_window: 25.0, ..printed }) - want[0]).abs() <= 5.1e-7);
            assert!((mbps(printed) - want[1]).abs() <= 5.1e-5);
            assert!((mbps(flow) - want[2]).abs() <= 5.1e-5);
            // A first window of 24 in the corrected form gives the same result as 25 in the printed
            // form. Both sums are 325 = 300 + 25 below n W_max.
            let from_24 = CodedFlow { first_window: 24.0, ..flow };
            assert!((mbps(from_24) - want[0]).abs() <= 5.1e-7, "{} Mbit/s, not {}", mbps(from_24), want[0]);
        }
    }

    #[test]
    fn sixty_rounds() {
        let flow = CodedFlow { srtt: 1.0, duration: FlowDuration::Rounds(60.0), ..CodedFlow::default() };
        let sum = |form| CodedFlow { form, ..flow }.predict().unwrap().throughput_pps * 60.0;
        assert!((sum(EquationForm::AsPrinted) - 1775.0).abs() < 1e-9);
        assert!((sum(EquationForm::Corrected) - 1824.0).abs() < 1e-9);
        // The printed branches differ by r* = 49 at n = r*.
        let at = |n| {
            let flow = CodedFlow { form: EquationForm::AsPrinted, duration: FlowDuration::Rounds(n), ..flow };
            flow.predict().unwrap().throughput_pps * n
        };
        assert!((at(49.0) - at(49.0 + 1e-9) - 49.0).abs() < 1e-4);
        // Fig. 5: from 30 to 90 in 60 rounds.
        let fig = CodedFlow { first_window: 30.0, max_window: 90.0, ..flow };
        let windows: Vec<f64> = fig.series().unwrap().take(62).map(|r| r.window).collect();
        assert_eq!((windows[0], windows[58], windows[59], windows[61]), (31.0, 89.0, 90.0, 90.0));
        assert_eq!(fig.predict().unwrap().window_final, 90.0);
    }

    #[test]
    fn limits() {
        let endless = CodedFlow { duration: FlowDuration::Infinite, srtt: 0.1, ..CodedFlow::default() };
        assert!((mbps(endless) - 4.0).abs() < 1e-12);
        assert!((mbps(CodedFlow { srtt: 0.5, ..endless }) - 0.8).abs() < 1e-12);
        // The limit is g W_max / SRTT if R does not mask all losses.
        assert!((mbps(CodedFlow { loss: 0.2, ..endless }) - 3.2).abs() < 1e-12);
        let dead = CodedFlow { loss: 1.0, ..endless }.predict().unwrap();
        assert_eq!((dead.throughput_pps, dead.window_final), (0.0, 1.0));
        assert!(dead.packets_to_wmax.is_infinite());
        // A window that starts at W_max or above.
        assert!((mbps(CodedFlow { first_window: 80.0, ..endless }) - 4.0).abs() < 1e-12);
        let full = CodedFlow { first_window: 80.0, duration: FlowDuration::Rounds(7.5), ..endless };
        assert!((mbps(full) - 4.0).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn the_mean_is_that_of_the_rounds(
            p in 0.0f64..1.0, r in 1.0f64..2.0, w1 in 1.0f64..60.0, wmax in 1.0f64..60.0, n in 1u32..300,
        ) {
            let flow = CodedFlow {
                loss: p, redundancy: r, first_window: w1, max_window: wmax,
                duration: FlowDuration::Rounds(f64::from(n)), ..CodedFlow::default()
            };
            let mean = flow.series().unwrap().take(n as usize).map(|r| r.throughput_bps).sum::<f64>() / f64::from(n);
            let got = flow.predict().unwrap().throughput_bps;
            prop_assert!((got - mean).abs() <= 1e-9 * mean, "{flow:?}: {got}, not {mean}");
        }

        #[test]
        fn falls_with_loss_rises_with_redundancy_and_window(
            p in 0.0f64..=1.0, r in 1.0f64..3.0, w1 in 1.0f64..60.0, wmax in 1.0f64..60.0, s in 0.1f64..1e6,
            x in 0.0f64..1.0,
        ) {
            let flow = CodedFlow {
                loss: p, redundancy: r, first_window: w1, max_window: wmax, duration: FlowDuration::Seconds(s),
                ..CodedFlow::default()
            };
            let got = mbps(flow) * (1.0 + 1e-12);
            let lossier = mbps(CodedFlow { loss: p + x * (1.0 - p), ..flow });
            prop_assert!(lossier <= got);
            let more = [
                CodedFlow { redundancy: r + x, ..flow },
                CodedFlow { max_window: wmax + 10.0 * x, ..flow },
                CodedFlow { first_window: w1 + 10.0 * x, ..flow },
            ];
            for flow in more {
                prop_assert!(mbps(flow) * (1.0 + 1e-12) >= got / (1.0 + 1e-12));
            }
        }

        #[test]
        fn wild_input_is_an_error_or_an_answer(
            x in prop::array::uniform7(prop::sample::select(vec![
                f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-310, 1e-9, 0.5, 1.0, 3.0, 50.0, 1e300,
            ])),
            which in 0usize..3, printed in any::<bool>(),
        ) {
            let flow = CodedFlow {
                loss: x[0], redundancy: x[1], srtt: x[2], first_window: x[3], max_window: x[4], packet_bytes: x[5],
                duration: [FlowDuration::Seconds(x[6]), FlowDuration::Rounds(x[6]), FlowDuration::Infinite][which],
                form: if printed { EquationForm::AsPrinted } else { EquationForm::Corrected },
            };
            match flow.predict() {
                Ok(got) => prop_assert!(got.throughput_bps >= 0.0 && got.rounds > 0.0 && got.window_final >= 1.0
                    && got.packets_to_wmax >= 0.0, "{flow:?}: a result is outside its range: {got:?}"),
                Err(error) => prop_assert!(!error.what.is_empty()),
            }
        }
    }
}
