//! The setting from which a rate controller is chosen.

use super::Mode;
use ripstop_base::Rate;
use std::fmt;
use std::str::FromStr;

/// How the sending rate is chosen.
///
/// The text form is `fair`, `strict`, `scavenge`, or a rate of at least 8 kbit/s such as `20Mbit/s`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateMode {
    /// The erasure-aware rate controller ([`Fair`](super::Fair)) finds the rate.
    Adaptive(Mode),
    /// The user sets the rate. The tunnel paces at this rate.
    Fixed(Rate),
}

impl FromStr for RateMode {
    type Err = String;

    fn from_str(text: &str) -> Result<RateMode, String> {
        match text {
            "fair" => Ok(RateMode::Adaptive(Mode::Fair)),
            "strict" => Ok(RateMode::Adaptive(Mode::Strict)),
            "scavenge" => Ok(RateMode::Adaptive(Mode::Scavenge)),
            other => match Rate::from_str(other) {
                Ok(rate) if rate.bps() >= 8_000 => Ok(RateMode::Fixed(rate)),
                _ => Err(format!(
                    "`{other}` is not a rate; write \"fair\", \"strict\", \"scavenge\", or a rate of at least 8kbit/s such as \"20Mbit/s\""
                )),
            },
        }
    }
}

impl fmt::Display for RateMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateMode::Adaptive(Mode::Fair) => f.write_str("fair"),
            RateMode::Adaptive(Mode::Strict) => f.write_str("strict"),
            RateMode::Adaptive(Mode::Scavenge) => f.write_str("scavenge"),
            RateMode::Fixed(rate) => rate.fmt(f),
        }
    }
}
