//! The settings of the coding layer. The defaults reproduce the results of paper 000.
//!
//! `mod.rs` explains the words *combination*, *innovative* and *R*. Coding *masks* losses if enough
//! combinations arrive in spite of the losses. TCP then does not notice the losses.

use ripstop_base::Fraction;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// R, the number of combinations sent for each segment: 1 to 100. The value is stored in
/// billionths. So [`Rounding::Accumulator`] sends exactly 113 combinations for 100 segments at R =
/// 1.13.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Factor(u64);

impl Factor {
    /// One combination for each segment.
    pub const ONE: Factor = Factor(BILLION);
    /// The largest factor.
    pub const MAX: Factor = Factor(100 * BILLION);

    /// The stored factor nearest to `factor`. None: `factor` is not between 1 and 100.
    pub fn new(factor: f64) -> Option<Factor> {
        (1.0..=100.0).contains(&factor).then(|| Factor((factor * BILLION as f64).round() as u64))
    }

    /// 1 plus `more` hundredths, at most [`Factor::MAX`].
    pub(super) fn from_hundredths(more: u32) -> Factor {
        Factor(BILLION + u64::from(more) * (BILLION / 100)).min(Factor::MAX)
    }

    /// The factor as a number.
    pub fn get(self) -> f64 {
        self.0 as f64 / BILLION as f64
    }

    /// The factor in billionths.
    pub(super) fn billionths(self) -> u64 {
        self.0
    }
}

/// The unit of [`Factor`]: billionths.
pub(super) const BILLION: u64 = 1_000_000_000;

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// How many combinations the sender sends for each segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CombinationRate {
    /// A fixed R.
    Fixed {
        /// R.
        factor: Factor,
        /// How a fraction of R becomes whole combinations.
        rounding: Rounding,
    },
    /// R by the rule of paper 000, section VI-B: [`super::rule`].
    Rule {
        /// TCP's congestion window, packets. The losses of a group of this number of packets are
        /// masked.
        window: u32,
        /// Where the loss probability comes from.
        loss: MaskedLoss,
        /// How a fraction of R becomes whole combinations.
        rounding: Rounding,
    },
    /// The number of combinations is computed anew for each segment. The number follows from the
    /// measured loss, the packets in flight, and the number of combinations that the receiver still
    /// lacks. It is the smallest number that masks the losses of the packets in flight with a
    /// probability of at least 1/2, within limits (see `redundancy.rs`). Without loss the number
    /// is 1.
    Adaptive,
}

/// How a fraction of R becomes whole combinations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// The fraction is carried over to the next segment (the variable NUM in paper 000's
    /// implementation).
    #[default]
    Accumulator,
    /// The fraction is the probability with which one more combination is sent for the segment.
    CoinFlip,
}

/// The packet loss that [`CombinationRate::Rule`] masks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaskedLoss {
    /// A given loss probability.
    Given(Fraction),
    /// The loss that the sender measures from the receiver's acknowledgements.
    Estimated,
}

/// Which unacknowledged segments a combination contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodingWindow {
    /// All unacknowledged segments.
    #[default]
    Whole,
    /// At most this number of segments: the last segments up to the one that TCP has just sent.
    Last(u32),
    /// At most this number of segments: the oldest unacknowledged segments.
    Oldest(u32),
}

/// What the sender does with a segment that TCP sends again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmissions {
    /// Send R combinations, as for a new segment.
    #[default]
    Coded,
    /// Send the segment uncoded.
    AsTheyAre,
    /// Send nothing. Only combinations that are sent for later segments then make up for losses.
    Dropped,
}

/// Which received packets the receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// Every packet.
    #[default]
    #[serde(rename = "every")]
    EveryArrival,
    /// Innovative packets only. If the acknowledgements of all packets in flight are lost, TCP
    /// waits for ever. TCP's retransmissions are not innovative, so the receiver does not
    /// acknowledge them.
    Innovative,
    /// Innovative packets, and packets that a retransmission of TCP caused.
    InnovativeOrRetransmission,
}

/// The values that coefficients are drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coefficients {
    /// 1 to 255. The packet carries a seed from which both ends compute the coefficients.
    #[default]
    Nonzero,
    /// 0 to 255. A segment with coefficient 0 is left out of the combination. If the newest segment
    /// is left out, the combination may not be innovative.
    AlsoZero,
}

/// The settings of the layer. Sender, receiver and relays must have the same settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NcConfig {
    /// How many combinations the sender sends for each segment.
    pub redundancy: CombinationRate,
    /// Which segments a combination contains.
    pub window: CodingWindow,
    /// What the sender does with a segment that TCP sends again.
    pub retransmissions: Retransmissions,
    /// Which packets the receiver acknowledges.
    pub acknowledge: Acknowledge,
    /// The values that coefficients are drawn from.
    pub coefficients: Coefficients,
    /// The TCP and IP headers of a packet or acknowledgement, bytes.
    pub header_bytes: u32,
    /// The size of a coefficient in a packet's header, bytes: 0 or 1. Paper 000 describes
    /// coefficients of 1 byte, but the results of the paper count 0 bytes for coefficients.
    pub coef_bytes: u32,
    /// The receiver accepts this number of segments beyond the first undecoded one. The limit
    /// bounds the receiver's memory. The limit should be at least twice TCP's window. A sender near
    /// this limit adds no new segment to its combinations until more segments are decoded.
    pub ahead: u32,
}

impl Default for NcConfig {
    /// The defaults are:
    ///
    /// - R is 1, rounded by [`Rounding::Accumulator`].
    /// - Combinations contain all unacknowledged segments. Retransmissions are coded.
    /// - The receiver acknowledges every packet, and accepts 65 536 segments ahead.
    /// - Coefficients are nonzero and take 0 bytes. The headers take 40 bytes.
    fn default() -> NcConfig {
        NcConfig {
            redundancy: CombinationRate::Fixed { factor: Factor::ONE, rounding: Rounding::default() },
            window: CodingWindow::default(),
            retransmissions: Retransmissions::default(),
            acknowledge: Acknowledge::default(),
            coefficients: Coefficients::default(),
            header_bytes: 40,
            coef_bytes: 0,
            ahead: 1 << 16,
        }
    }
}

/// A setting that is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NcConfigError {
    /// The coding window is 0.
    #[error("a coding window of 0 packets can send nothing; it must be 1 or more")]
    Window,
    /// The rule's window is 0 or too large.
    #[error("the redundancy rule needs TCP's window in packets, 1 to 1000000, not {0}")]
    RuleWindow(u32),
    /// A coefficient takes more than one byte.
    #[error("a coefficient takes 0 or 1 byte in the header, not {0}")]
    CoefBytes(u32),
    /// The receiver's limit is too small or too large.
    #[error("the receiver must accept 2 to 16777216 segments beyond the first undecoded one, not {0}")]
    Ahead(u32),
}

impl NcConfig {
    /// The default settings with R fixed at `factor`, rounded by [`Rounding::Accumulator`].
    pub fn with_factor(factor: Factor) -> NcConfig {
        let redundancy = CombinationRate::Fixed { factor, rounding: Rounding::Accumulator };
        NcConfig { redundancy, ..NcConfig::default() }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// The first setting that is not allowed.
    pub fn check(&self) -> Result<(), NcConfigError> {
        if matches!(self.window, CodingWindow::Last(0) | CodingWindow::Oldest(0)) {
            return Err(NcConfigError::Window);
        }
        if let CombinationRate::Rule { window, .. } = self.redundancy
            && !(1..=1_000_000).contains(&window)
        {
            return Err(NcConfigError::RuleWindow(window));
        }
        if self.coef_bytes > 1 {
            return Err(NcConfigError::CoefBytes(self.coef_bytes));
        }
        if !(2..=1 << 24).contains(&self.ahead) {
            return Err(NcConfigError::Ahead(self.ahead));
        }
        Ok(())
    }

    /// The size in bytes of a packet with `payload` bytes that combines `members` segments.
    /// `members` is None for an uncoded segment.
    pub(super) fn packet_bytes(&self, payload: usize, members: Option<usize>) -> u32 {
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let coefficients = self.coef_bytes.saturating_mul(small(members.unwrap_or(0)));
        self.header_bytes.saturating_add(small(payload)).saturating_add(coefficients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_exact_and_bounded() {
        assert_eq!(Factor::new(1.13).map(Factor::billionths), Some(1_130_000_000));
        assert_eq!(Factor::new(1.13), Some(Factor::from_hundredths(13)));
        assert_eq!(Factor::new(1.13).map(|r| r.to_string()), Some("1.13".to_owned()));
        assert_eq!(Factor::from_hundredths(u32::MAX), Factor::MAX);
        for wrong in [0.99, 100.01, f64::NAN, f64::INFINITY, -1.0] {
            assert_eq!(Factor::new(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn wrong_settings_are_named() {
        let wrong = |change: fn(&mut NcConfig)| {
            let mut config = NcConfig::default();
            change(&mut config);
            config.check().map_err(|error| error.to_string())
        };
        assert_eq!(wrong(|_| ()), Ok(()));
        assert!(wrong(|c| c.window = CodingWindow::Last(0)).unwrap_err().contains("1 or more"));
        assert!(wrong(|c| c.window = CodingWindow::Oldest(0)).unwrap_err().contains("1 or more"));
        assert!(wrong(|c| c.coef_bytes = 2).unwrap_err().contains("not 2"));
        assert!(wrong(|c| c.ahead = 1).unwrap_err().contains("2 to"));
        let loss = MaskedLoss::Estimated;
        let rule = CombinationRate::Rule { window: 0, loss, rounding: Rounding::CoinFlip };
        let config = NcConfig { redundancy: rule, ..NcConfig::default() };
        assert_eq!(config.check(), Err(NcConfigError::RuleWindow(0)));
    }
}
