//! How many runs of a scheme a campaign makes on a link.

use super::measure::{GrowingRuns, MeasuredScheme};
use super::scenes::CampaignStage;
use super::unfitted::Unfitted;
use crate::error::LabResult;
use ripstop_model::plan::PlanScheme;
use ripstop_sim::scenario::Scenario;

/// Limits for the number of runs of a scheme on a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// The minimum and the maximum number of runs. The number doubles until the mean goodput is
    /// known precisely enough ([`KNOWN`]).
    runs: (u32, u32),
    /// Budget: the number of bits that the link can carry in all runs together. The minimum number
    /// of runs is made even if these runs exceed the budget.
    bits: f64,
}

impl Effort {
    /// The effort for a fitted scheme.
    pub(super) fn of(scheme: PlanScheme) -> Effort {
        if scheme.is_tunnel() { CODED } else { PLAIN }
    }

    /// The effort for an unfitted scheme.
    pub(super) fn of_unfitted(scheme: Unfitted) -> Effort {
        match scheme {
            Unfitted::TcpNc | Unfitted::Block => CODED,
            Unfitted::Lt => LT,
        }
    }

    /// The maximum number of runs.
    pub(super) fn most_runs(&self) -> u32 {
        self.runs.1
    }

    /// What decides the number of runs, as text.
    pub(super) fn rule(&self) -> String {
        format!("{self:?} {KNOWN:?}")
    }

    /// Simulates a growing number of runs of `scenario`, which must be one of the scenarios of `stage`. Ends when the mean
    /// is known ([`KNOWN`]) or the limits are reached. `capacity` is C (1-p), the capacity of the link after losses, bit/s.
    ///
    /// # Errors
    /// The simulator refuses the scenario.
    pub(super) fn until_known(
        &self,
        stage: &CampaignStage,
        capacity: f64,
        scenario: &Scenario,
    ) -> LabResult<MeasuredScheme> {
        let (fewest, most) = self.runs;
        let most = ((self.bits / stage.bits()) as u32).clamp(fewest, most);
        let (mut growing, mut runs) = (GrowingRuns::new(stage, scenario), fewest);
        loop {
            let measured = growing.up_to(runs, 1)?;
            let (error, enough) = (measured.standard_error(), (KNOWN.0 * measured.mean()).max(KNOWN.1 * capacity));
            // A few runs may agree by chance. With the minimum number of runs, the standard error must
            // therefore be ten times smaller.
            if runs >= most || runs > fewest && error <= enough || error <= enough / 10.0 {
                return Ok(measured);
            }
            runs = (2 * runs).min(most);
        }
    }
}

/// The effort for plain TCP.
///
/// On some links most runs stall and a few fill the link, so the mean needs many runs. Runs are
/// cheap: a simulated Gbit takes .05 s of CPU time. With half of the limits, the means on such
/// links are less exact. With double the limits, such links take up to twice the CPU time.
const PLAIN: Effort = Effort { runs: (8, 128), bits: 512e9 };
/// The effort for TCP/LT.
///
/// A simulated Gbit takes about .1 s of CPU time, and the runs differ little except over bursts of losses. With half of the
/// limits, the means over bursts are less exact. With double the limits, such links take up to twice the CPU time.
const LT: Effort = Effort { runs: (4, 64), bits: 64e9 };
/// The effort for the tunnel, with each of its codes, and for TCP/NC.
///
/// The limits are lower than [`PLAIN`]'s because a simulated Gbit takes .16 s of CPU time. Some links
/// reach the limits before the mean is known. With half of the limits, the means on such links are
/// less exact. With double the limits, such links take up to twice the CPU time.
const CODED: Effort = Effort { runs: (2, 32), bits: 32e9 };
/// The limits for the standard error of a mean goodput that counts as known. The standard error
/// must be at most the first number times the mean, or at most the second number times C (1-p). C
/// is the rate of the link, and p its loss probability.
///
/// If both values are halved, the number of runs doubles or quadruples. If both values are doubled,
/// the 95th percentile of errors in the report depends mainly on the random differences between
/// runs.
const KNOWN: (f64, f64) = (0.02, 0.003);
/// The number of runs with requests on a link. A run has 500 requests, so the 99th percentile is
/// computed from 2000 requests. Half the value makes this percentile noisier; double the value
/// takes twice the time.
pub(super) const REQUEST_RUNS: u32 = 4;
