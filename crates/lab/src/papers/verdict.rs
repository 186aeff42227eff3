//! The verdicts of `ripstop papers check` on the numbers and trends that a paper states.
//!
//! A closed form is a formula of a paper, implemented in `ripstop_model::published`.

use crate::study::{JudgedStudy, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// The verdict on a number or a trend that a paper states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaperVerdict {
    /// A number: agrees to the last digit with the formula as printed, or agrees with a simulation.
    /// A trend: a simulation shows it.
    Reproduced,
    /// A number that is right under one interpretation of the paper's text.
    Reading,
    /// A misprint; the right number is known.
    Erratum,
    /// Our result differs, for a reason that is stated.
    Differs,
    /// The paper does not say enough to repeat its simulation.
    NotReproducible,
    /// A trend that closed forms show.
    Holds,
    /// A trend that closed forms do not show, for a reason that is stated.
    DoesNotHold,
    /// The number or trend is not the result of a computation, or no closed form and no experiment
    /// gives it.
    NotCheckable,
    /// An experiment decides the number or trend, and the experiment was not run.
    NotRun,
    /// The number or trend cannot be decided, because there were too few runs.
    Undecided,
    /// The number or trend was expected to hold, but does not hold.
    Failed,
    /// The number or trend was expected not to hold, but holds.
    Unexpected,
    /// The number or trend cannot be evaluated.
    Error,
}

impl PaperVerdict {
    /// The verdict as text for people.
    pub fn word(self) -> &'static str {
        match self {
            PaperVerdict::Reproduced => "reproduced",
            PaperVerdict::Reading => "reading",
            PaperVerdict::Erratum => "erratum",
            PaperVerdict::Differs => "differs",
            PaperVerdict::NotReproducible => "not reproducible",
            PaperVerdict::Holds => "holds",
            PaperVerdict::DoesNotHold => "does not hold",
            PaperVerdict::NotCheckable => "not checkable",
            PaperVerdict::NotRun => "not run",
            PaperVerdict::Undecided => "undecided",
            PaperVerdict::Failed => "FAILED",
            PaperVerdict::Unexpected => "UNEXPECTED",
            PaperVerdict::Error => "ERROR",
        }
    }

    /// Whether the verdict makes the program exit with an error.
    pub fn is_wrong(self) -> bool {
        matches!(self, PaperVerdict::Failed | PaperVerdict::Unexpected | PaperVerdict::Error)
    }
}

impl From<Verdict> for PaperVerdict {
    fn from(verdict: Verdict) -> PaperVerdict {
        match verdict {
            Verdict::Reproduced | Verdict::Agrees => PaperVerdict::Reproduced,
            Verdict::Differs => PaperVerdict::Differs,
            Verdict::NotReproducible => PaperVerdict::NotReproducible,
            Verdict::Failed => PaperVerdict::Failed,
            Verdict::Unexpected => PaperVerdict::Unexpected,
            Verdict::Error => PaperVerdict::Error,
            Verdict::Undecided => PaperVerdict::Undecided,
            Verdict::NotRun => PaperVerdict::NotRun,
        }
    }
}

/// The verdicts on experiments, by the experiment's name.
pub type JudgedStudies = BTreeMap<String, JudgedStudy>;

/// Combines several verdicts on one number or trend: the result is the worst verdict. The match
/// below ranks the verdicts: errors and failures are the worst, then "not run" and "undecided",
/// then "differs".
pub(super) fn worst_of(all: impl Iterator<Item = Verdict>) -> PaperVerdict {
    let rank = |verdict: &PaperVerdict| match verdict {
        PaperVerdict::Error => 6,
        PaperVerdict::Failed => 5,
        PaperVerdict::Unexpected => 4,
        PaperVerdict::NotRun => 3,
        PaperVerdict::Undecided => 2,
        PaperVerdict::Differs | PaperVerdict::NotReproducible => 1,
        _ => 0,
    };
    all.map(PaperVerdict::from).max_by_key(rank).unwrap_or(PaperVerdict::NotRun)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_verdicts_the_worst_counts() {
        for (all, want) in [
            (&[Verdict::Reproduced, Verdict::Agrees][..], PaperVerdict::Reproduced),
            (&[Verdict::Reproduced, Verdict::Differs], PaperVerdict::Differs),
            (&[Verdict::NotRun, Verdict::Reproduced], PaperVerdict::NotRun),
            (&[Verdict::NotRun, Verdict::Failed], PaperVerdict::Failed),
            (&[Verdict::Failed, Verdict::Error], PaperVerdict::Error),
            (&[], PaperVerdict::NotRun),
        ] {
            assert_eq!(worst_of(all.iter().copied()), want, "{all:?}");
        }
    }
}
