//! The jobs of a campaign. A job simulates one scheme on one link.
//!
//! Jobs are independent, so several threads simulate several jobs at the same time. Each result is kept in the store.

use super::effort::{Effort, REQUEST_RUNS};
use super::measure::{MeasuredScheme, measure_requests};
use super::scenes::CampaignStage;
use super::unfitted::Unfitted;
use crate::cell::{hash_of, identity};
use crate::error::{LabError, LabResult};
use crate::store::ResultStore;
use ripstop_model::plan::campaign::{RequestResult, SchemeResult};
use ripstop_model::plan::{NetworkPath, PlanScheme, Weights, predict};
use ripstop_sim::engine::replicate;
use ripstop_sim::scenario::Scenario;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::atomic::{AtomicBool, Ordering};

/// A job: one simulation on one link.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// The index of the link among the results.
    pub(super) index: usize,
    /// The number of the link in the draw.
    pub(super) number: u64,
    /// The link.
    pub(super) path: NetworkPath,
    /// What is simulated.
    pub(super) task: Task,
}

/// What a job simulates.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// A long transfer with a fitted scheme.
    Fitted(PlanScheme),
    /// A long transfer with an unfitted scheme.
    Unfitted(Unfitted),
    /// Small requests over this scheme.
    Requests(PlanScheme),
}

/// The result of a job.
#[derive(Clone, Debug)]
pub(super) enum Done {
    /// The name of a scheme, and the result of a long transfer. `None` if the closed form does not predict the goodput;
    /// nothing is simulated then.
    Scheme(&'static str, Option<SchemeResult>),
    /// The result of requests over this scheme.
    Requests(PlanScheme, RequestResult),
}

/// Does all `jobs` of the campaign of `seed` on `threads` threads. Returns each result with the index of its link.
///
/// Each thread takes the next job when it has finished one. The jobs on the links that carry the most bits come first, so
/// that no thread has a long job left when the others have finished.
///
/// # Errors
/// The store cannot be read or written, or the simulator or the planner refuses a link. No job begins after an error.
pub(super) fn simulate(
    mut jobs: Vec<Job>,
    seed: u64,
    weights: &Weights,
    store: &ResultStore,
    threads: usize,
    show: &(dyn Fn(String) + Sync),
) -> LabResult<Vec<(usize, Done)>> {
    let bits = |job: &Job| CampaignStage::of(&job.path).bits();
    jobs.sort_by(|a, b| bits(b).total_cmp(&bits(a)));
    let failed = AtomicBool::new(false);
    let run = |k: u64| {
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let job = jobs.get(k as usize)?;
        let name = job.task.name();
        show(format!("seed {seed}, simulation {} of {}: link {}, {name}", k + 1, jobs.len(), job.number));
        let done = job.run(run_seed(seed, job.number), weights, store);
        failed.fetch_or(done.is_err(), Ordering::Relaxed);
        Some(done.map(|done| (job.index, done)))
    };
    replicate(jobs.len() as u64, threads, run).into_iter().flatten().collect()
}

/// The seed of all simulations on link `number` of the campaign of `seed`.
pub fn run_seed(seed: u64, number: u64) -> u64 {
    seed.wrapping_mul(1 << 32).wrapping_add(number)
}

impl Task {
    /// The name for progress messages.
    fn name(self) -> String {
        match self {
            Task::Fitted(scheme) => scheme.name().to_owned(),
            Task::Unfitted(scheme) => scheme.name().to_owned(),
            Task::Requests(scheme) => format!("requests over {}", scheme.name()),
        }
    }
}

impl Job {
    /// Does the job, unless its result is in the store. `seed` is the master seed of all runs.
    fn run(&self, seed: u64, weights: &Weights, store: &ResultStore) -> LabResult<Done> {
        let (path, stage) = (&self.path, CampaignStage::of(&self.path));
        let measured = |scenario: Scenario, effort: Effort| -> LabResult<MeasuredScheme> {
            kept(store, &scenario, &effort.rule(), || effort.until_known(&stage, path.capacity(), &scenario))
        };
        match self.task {
            Task::Fitted(scheme) => {
                let effort = Effort::of(scheme);
                let predicted =
                    predict(path, scheme, weights).map_err(|error| LabError::work("a drawn link", error))?;
                let measured = measured(stage.scenario(scheme, effort.most_runs(), seed), effort)?;
                Ok(Done::Scheme(scheme.name(), Some(measured.into_result(predicted.goodput_bps))))
            }
            Task::Unfitted(scheme) => {
                let (plan, effort) = (scheme.plan(path, weights)?, Effort::of_unfitted(scheme));
                let Some(predicted) = plan.goodput_bps() else { return Ok(Done::Scheme(scheme.name(), None)) };
                let measured = measured(plan.scenario(&stage, effort.most_runs(), seed), effort)?;
                Ok(Done::Scheme(scheme.name(), Some(measured.into_result(predicted))))
            }
            Task::Requests(scheme) => {
                let scenario = stage.requests(scheme, REQUEST_RUNS, seed);
                let result = kept(store, &scenario, &format!("{REQUEST_RUNS}"), || measure_requests(&scenario, 1))?;
                Ok(Done::Requests(scheme, result))
            }
        }
    }
}

/// The result of `scenario` from the store. If the store has no result, calls `make` and stores the
/// new result. `rule` says what decides the number of runs, and is part of the key.
fn kept<T: Serialize + DeserializeOwned>(
    store: &ResultStore,
    scenario: &Scenario,
    rule: &str,
    make: impl FnOnce() -> LabResult<T>,
) -> LabResult<T> {
    let text = scenario.to_toml().map_err(|error| LabError::Work(error.to_string()))?;
    let simulator = identity(&scenario.parts());
    let key = hash_of(&["plan", &simulator, rule, &text]);
    let unreadable = |error: serde_json::Error| LabError::work("the store", error);
    if let Some(kept) = store.get(&key)? {
        return serde_json::from_str(&kept).map_err(unreadable);
    }
    let new = make()?;
    store.put(&key, &simulator, &serde_json::to_string(&new).map_err(unreadable)?)?;
    Ok(new)
}
