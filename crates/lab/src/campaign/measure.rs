//! Simulates one scheme on one link: the goodput, the overhead and the delays of all runs.

use super::scenes::CampaignStage;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::PlanScheme;
use ripstop_model::plan::campaign::{KEPT_RUNS, RequestResult, SchemeResult};
use ripstop_sim::engine::{Sample, replicate};
use ripstop_sim::scenario::{self, RunTotals, Scenario, ScenarioError, ScenarioReport};
use serde::{Deserialize, Serialize};

/// The simulated goodput and delays of a scheme on a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredScheme {
    /// The goodput of each run, summed over all connections, bit/s.
    pub each_bps: Vec<f64>,
    /// The number of bytes that the link sent for each byte of payload that arrived. Packets that a
    /// full queue drops do not count. `None` when nothing arrived.
    pub sent_per_useful: Option<f64>,
    /// The median packet delay, seconds.
    pub delay_p50_s: Option<f64>,
    /// The 99th percentile of packet delay, seconds.
    pub delay_p99_s: Option<f64>,
}

/// Simulates `runs` runs of `scheme` on `stage`.
///
/// # Errors
/// The simulator refuses the link.
pub fn measure(
    stage: &CampaignStage,
    scheme: PlanScheme,
    runs: u32,
    seed: u64,
    threads: usize,
) -> LabResult<MeasuredScheme> {
    measure_scenario(stage, &stage.scenario(scheme, runs, seed), threads)
}

/// Simulates `scenario`, which must be one of the scenarios of `stage`.
///
/// # Errors
/// The simulator refuses the link.
pub fn measure_scenario(stage: &CampaignStage, scenario: &Scenario, threads: usize) -> LabResult<MeasuredScheme> {
    GrowingRuns::new(stage, scenario).up_to(scenario.run.runs, threads)
}

/// Runs of one scenario whose number grows. Runs that were made are kept, and only added runs are simulated.
pub(super) struct GrowingRuns<'a> {
    stage: &'a CampaignStage,
    scenario: &'a Scenario,
    totals: Vec<RunTotals>,
}

impl<'a> GrowingRuns<'a> {
    /// No runs yet. `scenario` must be one of the scenarios of `stage`. Its own number of runs does not count.
    pub(super) fn new(stage: &'a CampaignStage, scenario: &'a Scenario) -> GrowingRuns<'a> {
        GrowingRuns { stage, scenario, totals: Vec::new() }
    }

    /// Simulates more runs until there are `runs` runs, and returns the results of all runs. The results do not depend
    /// on the number of threads, nor on the steps in which the number of runs grew.
    ///
    /// # Errors
    /// The simulator refuses the scenario.
    pub(super) fn up_to(&mut self, runs: u32, threads: usize) -> LabResult<MeasuredScheme> {
        let made = self.totals.len() as u64;
        let added = u64::from(runs).saturating_sub(made);
        let run = |k| scenario::run_once(self.scenario, made + k, &mut ());
        let new: Result<Vec<RunTotals>, ScenarioError> = replicate(added, threads, run).into_iter().collect();
        self.totals.extend(new.map_err(refused)?);
        Ok(MeasuredScheme::of(self.stage, self.scenario, &self.totals))
    }
}

/// Simulates requests. `scenario` must come from [`CampaignStage::requests`].
///
/// # Errors
/// The simulator refuses the link.
pub fn measure_requests(scenario: &Scenario, threads: usize) -> LabResult<RequestResult> {
    let report = scenario::run(scenario, threads, || {}).map_err(refused)?;
    let completion = report.flows[0].completion_s;
    Ok(RequestResult { p50_s: completion.p50, p99_s: completion.p99 })
}

impl MeasuredScheme {
    /// The results of all runs in `totals`, which are runs of `scenario` on `stage`.
    fn of(stage: &CampaignStage, scenario: &Scenario, totals: &[RunTotals]) -> MeasuredScheme {
        let all = ScenarioReport::new(scenario, totals);
        let flows = f64::from(stage.flows);
        let each =
            |run| ScenarioReport::new(scenario, std::slice::from_ref(run)).goodput_bps.mean.unwrap_or(0.0) * flows;
        // The path's link is the last link, in the direction of the data.
        let utilisation = all.links[all.links.len() - 2].utilisation.mean.unwrap_or(0.0);
        let each_bps: Vec<f64> = totals.iter().map(each).collect();
        let useful: f64 = each_bps.iter().sum::<f64>() / each_bps.len() as f64;
        let offered = utilisation * stage.forth.rate.bps() as f64;
        MeasuredScheme {
            sent_per_useful: (useful > 0.0).then(|| offered / useful),
            each_bps,
            delay_p50_s: all.flows[0].delay_s.p50,
            delay_p99_s: all.flows[0].delay_s.p99,
        }
    }

    /// The mean goodput, bit/s.
    pub fn mean(&self) -> f64 {
        self.each_bps.iter().sum::<f64>() / self.each_bps.len().max(1) as f64
    }

    /// The standard deviation of a run's goodput, bit/s. 0 when there is one run.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.each_bps.iter().map(|run| (run - mean) * (run - mean)).sum();
        (squares / (self.each_bps.len().max(2) - 1) as f64).sqrt()
    }

    /// Half the width of the 95 % confidence interval of the mean, bit/s. `None` when there is one
    /// run.
    pub fn interval(&self) -> Option<f64> {
        self.each_bps.iter().copied().collect::<Sample>().statistic().ci95
    }

    /// The standard error of the mean, bit/s.
    pub(super) fn standard_error(&self) -> f64 {
        self.deviation() / (self.each_bps.len().max(1) as f64).sqrt()
    }

    /// The entry of this scheme in the campaign's data. The entry also has the predicted goodput,
    /// bit/s.
    pub(super) fn into_result(self, predicted_bps: f64) -> SchemeResult {
        SchemeResult {
            predicted_bps,
            mean_bps: self.mean(),
            deviation_bps: self.deviation(),
            runs: self.each_bps.len() as u32,
            first_bps: self.each_bps.iter().copied().take(KEPT_RUNS).collect(),
            sent_per_useful: self.sent_per_useful,
            packet_p50_s: self.delay_p50_s,
            packet_p99_s: self.delay_p99_s,
        }
    }
}

fn refused(error: ScenarioError) -> LabError {
    LabError::Input(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_model::plan::NetworkPath;

    #[test]
    fn runs_made_in_steps_give_the_results_of_runs_made_at_once() {
        let path = NetworkPath { rate: 2e6, rtt: 0.03, loss: 0.05, burst: 3.0, queue: 15e3, ..NetworkPath::default() };
        let stage = CampaignStage::of(&path);
        for scheme in [PlanScheme::Cubic, PlanScheme::TunnelBbr] {
            let at_once = |runs| measure(&stage, scheme, runs, 7, 1).unwrap();
            let scenario = stage.scenario(scheme, 128, 7);
            let mut growing = GrowingRuns::new(&stage, &scenario);
            for (runs, threads) in [(2, 1), (4, 2), (8, 2)] {
                let grown = growing.up_to(runs, threads).unwrap();
                assert_eq!(grown.each_bps.len(), runs as usize);
                assert_eq!(grown, at_once(runs), "{}, seed 7, {runs} runs", scheme.name());
            }
            assert!(growing.up_to(8, 1).unwrap().deviation() > 0.0, "all runs are the same");
        }
    }
}
