//! The pattern of a path's losses: none, single losses, or bursts.
//!
//! The planner reports the errors of its closed forms for each pattern. The longer the bursts, the
//! more single runs differ from their mean, and the larger the errors are.

use super::path::NetworkPath;

/// The pattern of a path's losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LossPattern {
    /// Nothing is lost.
    NoLoss,
    /// Losses whose mean burst length is at most 2 packets.
    Single,
    /// Losses whose mean burst length is above 2 and at most 6 packets.
    ShortBursts,
    /// Losses whose mean burst length is above 6 packets.
    LongBursts,
}

impl LossPattern {
    /// All patterns.
    pub const ALL: [LossPattern; 4] =
        [LossPattern::NoLoss, LossPattern::Single, LossPattern::ShortBursts, LossPattern::LongBursts];

    /// The pattern of the losses on `path`.
    pub fn of(path: &NetworkPath) -> LossPattern {
        match path.burst {
            _ if path.loss == 0.0 => LossPattern::NoLoss,
            burst if burst <= 2.0 => LossPattern::Single,
            burst if burst <= 6.0 => LossPattern::ShortBursts,
            _ => LossPattern::LongBursts,
        }
    }

    /// The key of the pattern in the data files.
    pub fn name(self) -> &'static str {
        match self {
            LossPattern::NoLoss => "no-loss",
            LossPattern::Single => "single",
            LossPattern::ShortBursts => "short-bursts",
            LossPattern::LongBursts => "long-bursts",
        }
    }

    /// The name of the pattern in printed text.
    pub fn words(self) -> &'static str {
        match self {
            LossPattern::NoLoss => "no loss",
            LossPattern::Single => "losses in bursts of up to 2 packets",
            LossPattern::ShortBursts => "losses in bursts of 2 to 6 packets",
            LossPattern::LongBursts => "losses in bursts of more than 6 packets",
        }
    }
}
