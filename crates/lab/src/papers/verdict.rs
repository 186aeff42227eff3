//! Verdicts of `papers check`: what becomes of what a paper states.

use crate::study::{JudgedStudy, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// What becomes of something that a paper states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaperVerdict {
    /// A number: to its last digit by the formula as printed, or by simulation. A trend: by simulation.
    Reproduced,
    /// A number, under the reading that is named.
    Reading,
    /// Misprinted; what is right is given.
    Erratum,
    /// Ours is another, for a reason that is given.
    Differs,
    /// The paper does not say enough to simulate it.
    NotReproducible,
    /// A trend of computed curves.
    Holds,
    /// A trend that does not, for a reason that is given.
    DoesNotHold,
    /// There is nothing to compute, or nothing to compute it with.
    NotCheckable,
    /// An experiment decides it, and was not run.
    NotRun,
    /// Too few runs to tell.
    Undecided,
    /// It should hold, and does not.
    Failed,
    /// It is said not to hold, and does.
    Unexpected,
    /// It cannot be evaluated.
    Error,
}

impl PaperVerdict {
    /// For people.
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

    /// Whether the program is to say so by its exit status.
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

/// Experiments that were judged, by their names.
pub type JudgedStudies = BTreeMap<String, JudgedStudy>;

/// One verdict of several on the same thing: what is wrong counts most, then what was not run, then what is not reproduced.
pub(super) fn together(all: impl Iterator<Item = Verdict>) -> PaperVerdict {
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
            assert_eq!(together(all.iter().copied()), want, "{all:?}");
        }
    }
}
