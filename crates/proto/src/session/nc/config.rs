//! What the coding layer is told. The defaults are those that reproduce the published results.

use ripstop_base::Fraction;
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Combinations sent for each segment, R: between 1 and 100, held in billionths, so that 1.13 is exactly 13 more in 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Factor(u64);

impl Factor {
    /// One combination a segment.
    pub const ONE: Factor = Factor(BILLION);
    /// The most.
    pub const MAX: Factor = Factor(100 * BILLION);

    /// The factor nearest to `factor`; None unless that is between 1 and 100.
    pub fn new(factor: f64) -> Option<Factor> {
        (1.0..=100.0).contains(&factor).then(|| Factor((factor * BILLION as f64).round() as u64))
    }

    /// One and so many hundredths more, at most [`Factor::MAX`].
    pub(super) fn from_hundredths(more: u32) -> Factor {
        Factor(BILLION + u64::from(more) * (BILLION / 100)).min(Factor::MAX)
    }

    /// As a number.
    pub fn get(self) -> f64 {
        self.0 as f64 / BILLION as f64
    }

    /// In billionths.
    pub(super) fn billionths(self) -> u64 {
        self.0
    }
}

pub(super) const BILLION: u64 = 1_000_000_000;

impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.get())
    }
}

/// How many combinations a segment gets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CombinationRate {
    /// R of them.
    Fixed {
        /// R.
        factor: Factor,
        /// What is done with its fraction.
        rounding: Rounding,
    },
    /// R by the rule of paper 000, section VI-B: [`super::rule`].
    Rule {
        /// TCP's window, packets.
        window: u32,
        /// The loss to mask.
        loss: MaskedLoss,
        /// What is done with R's fraction.
        rounding: Rounding,
    },
    /// As many as the measured loss, what is under way and what the receiver lacks ask for: the question of
    /// [`CombinationRate::Rule`], put to the state of the moment at every segment. One a segment on a path without loss.
    Adaptive,
}

/// What is done with the fraction of R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rounding {
    /// It is kept for the next segment (NUM of paper 000's implementation).
    #[default]
    Accumulator,
    /// It is the probability of one more.
    CoinFlip,
}

/// A loss that is to be masked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MaskedLoss {
    /// Known beforehand.
    Given(Fraction),
    /// Measured by the receiver's answers.
    Estimated,
}

/// Which of the segments that are not acknowledged a combination takes in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodingWindow {
    /// All of them.
    #[default]
    Whole,
    /// The last so many, up to the one that TCP has just sent.
    Last(u32),
    /// The first so many.
    Oldest(u32),
}

/// What becomes of a segment that TCP sends again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Retransmissions {
    /// It counts as any other: R combinations are sent.
    #[default]
    Coded,
    /// It is sent as it is.
    AsTheyAre,
    /// Nothing is sent: TCP's time-outs do nothing for it.
    Dropped,
}

/// Which arrivals the receiver answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acknowledge {
    /// Every one.
    #[default]
    #[serde(rename = "every")]
    EveryArrival,
    /// Those that are innovative. When the answers to all that was under way are lost, TCP waits for ever: what it sends
    /// again is not innovative.
    Innovative,
    /// Those that are innovative, and those that a retransmission of TCP caused.
    InnovativeOrRetransmission,
}

/// What coefficients are drawn from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coefficients {
    /// 1 to 255, told by seed.
    #[default]
    Nonzero,
    /// 0 to 255. A combination may leave segments out, the newest too, and tell nothing new then.
    AlsoZero,
}

/// The settings of the layer. Sender, receiver and relays are given the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NcConfig {
    /// How many combinations a segment gets.
    pub redundancy: CombinationRate,
    /// Which segments they take in.
    pub window: CodingWindow,
    /// What becomes of a segment that TCP sends again.
    pub retransmissions: Retransmissions,
    /// Which arrivals are answered.
    pub acknowledge: Acknowledge,
    /// What coefficients are drawn from.
    pub coefficients: Coefficients,
    /// TCP and IP header of a packet or answer, bytes.
    pub header_bytes: u32,
    /// What a coefficient takes in a packet's header, bytes: 0 or 1. (Paper 000 speaks of 1 and charged 0.)
    pub coef_bytes: u32,
    /// How many segments beyond the first that is not decoded the receiver takes in, at least twice TCP's window: what
    /// bounds its memory. A sender that comes near adds no new segment to its combinations until more is decoded.
    pub ahead: u32,
}

impl Default for NcConfig {
    /// R = 1 over the whole buffer, retransmissions coded, every arrival answered, coefficients that are not 0 and cost
    /// nothing, 40 bytes of header.
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

/// Why settings are of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NcConfigError {
    /// No segment could be combined.
    #[error("a coding window of 0 packets can send nothing; it must be 1 or more")]
    Window,
    /// The rule needs a window.
    #[error("the redundancy rule needs TCP's window in packets, 1 to 1000000, not {0}")]
    RuleWindow(u32),
    /// A coefficient is a byte.
    #[error("a coefficient takes 0 or 1 byte in the header, not {0}")]
    CoefBytes(u32),
    /// Nothing could be received.
    #[error("a receiver must take in 2 to 16777216 packets beyond the first that is not decoded, not {0}")]
    Ahead(u32),
}

impl NcConfig {
    /// These settings with R fixed at `factor`, by accumulator.
    pub fn with_factor(factor: Factor) -> NcConfig {
        let redundancy = CombinationRate::Fixed { factor, rounding: Rounding::Accumulator };
        NcConfig { redundancy, ..NcConfig::default() }
    }

    /// Says what is wrong with the settings, if anything is.
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

    /// What a packet takes on a link that combines `members` segments to a payload of `payload` bytes; None of them
    /// when it is a segment as it is.
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
