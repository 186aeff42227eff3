//! Runs the points of experiments, and keeps what they gave.

use super::experiment::{Experiment, Set};
use super::points::Point;
use super::trace;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::store::{Key, Store, VERSION, key_of};
use ripstop_sim::scenario::{self, Scenario, ScenarioError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How points are run.
pub(super) struct Plan {
    /// With few runs, and without the sets that have no number for it.
    pub(super) quick: bool,
    /// At most so many at a time.
    pub(super) threads: usize,
}

impl Plan {
    /// How often each point of a set is run; None when the set is left out.
    fn runs(&self, set: &Set) -> Option<u32> {
        if self.quick { set.quick } else { Some(set.runs) }
    }
}

/// Results by what they are results of: the scenario, and the simulator that made them.
pub(super) struct Results {
    /// Where they are kept from one call to the next.
    store: Option<Store>,
    known: BTreeMap<Key, Value>,
    /// Points that were simulated now, and those that were known.
    pub(super) simulated: usize,
    pub(super) kept: usize,
}

impl Results {
    /// Results that are kept in this store; without one they are kept for this call.
    pub(super) fn new(store: Option<Store>) -> Results {
        Results { store, known: BTreeMap::new(), simulated: 0, kept: 0 }
    }

    /// Runs all points of an experiment that are not known, and gives of each set the results of its points; null where the set is left out.
    ///
    /// # Errors
    /// A scenario that cannot be, or a result that cannot be written.
    pub(super) fn run(
        &mut self,
        experiment: &Experiment,
        plan: &Plan,
        meter: &mut Meter,
    ) -> Outcome<Vec<Vec<Value>>> {
        let mut sets = Vec::with_capacity(experiment.sets.len());
        for (set, points) in experiment.sets.iter().zip(&experiment.points) {
            let Some(runs) = plan.runs(set) else {
                sets.push(vec![Value::Null; points.len()]);
                continue;
            };
            let mut results = Vec::with_capacity(points.len());
            for point in points {
                let name = format!("{}: {} {}", experiment.id, set.name.as_ref(), point.label());
                results.push(self.result(point, runs, set.trace, plan.threads, meter, name)?);
                meter.done += 1;
            }
            sets.push(results);
        }
        Ok(sets)
    }

    fn result(
        &mut self,
        point: &Point,
        runs: u32,
        traced: bool,
        threads: usize,
        meter: &mut Meter,
        name: String,
    ) -> Outcome<Value> {
        let mut scenario = point.scenario.clone();
        scenario.run.runs = runs;
        let wrong = |error: ScenarioError| Failure::Config(format!("{name}: {error}"));
        let text = scenario.to_toml().map_err(wrong)?;
        let key = key_of(&[VERSION, if traced { "papers, traced" } else { "papers" }, &text]);
        if let Some(known) = self.known(&key)? {
            self.kept += 1;
            return Ok(known);
        }
        let result = simulate(&scenario, traced, threads, meter, &name).map_err(wrong)?;
        // What is read back is what is written: a number may change in its last digit on the way.
        let text = serde_json::to_string(&result).map_err(|e| Failure::work("writing JSON", e))?;
        let result: Value = serde_json::from_str(&text).map_err(|e| Failure::work("reading JSON", e))?;
        if let Some(store) = &self.store {
            store.put(&key, VERSION, &text)?;
        }
        self.known.insert(key, result.clone());
        self.simulated += 1;
        meter.simulated += 1;
        Ok(result)
    }

    fn known(&mut self, key: &Key) -> Outcome<Option<Value>> {
        if let Some(known) = self.known.get(key) {
            return Ok(Some(known.clone()));
        }
        let Some(text) = self.store.as_ref().map_or(Ok(None), |store| store.get(key))? else {
            return Ok(None);
        };
        let value: Value =
            serde_json::from_str(&text).map_err(|e| Failure::work("a result in the store", e))?;
        self.known.insert(*key, value.clone());
        Ok(Some(value))
    }
}

/// Where results are kept when nothing is said: the user's cache.
pub(super) fn usual_file() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("ripstop/papers.redb"))
}

/// What is under way, and how long it may take.
pub(super) struct Meter {
    progress: Progress,
    done: usize,
    total: usize,
    simulated: usize,
    began: Instant,
}

impl Meter {
    /// For these experiments.
    pub(super) fn new(experiments: &[&Experiment], plan: &Plan) -> Meter {
        let sets = experiments.iter().flat_map(|e| e.sets.iter().zip(&e.points));
        let total = sets.filter(|(set, _)| plan.runs(set).is_some()).map(|(_, points)| points.len()).sum();
        Meter { progress: Progress::new(), done: 0, total, simulated: 0, began: Instant::now() }
    }

    /// By the mean of the points that were simulated.
    fn left(&self) -> Option<Duration> {
        let each = self.began.elapsed().checked_div(u32::try_from(self.simulated).ok()?)?;
        each.checked_mul(u32::try_from(self.total - self.done).ok()?)
    }
}

fn simulate(
    scenario: &Scenario,
    traced: bool,
    threads: usize,
    meter: &Meter,
    name: &str,
) -> Result<Value, ScenarioError> {
    meter.progress.begin(format!("{} of {}  {name}", meter.done + 1, meter.total));
    let left = meter.left().map_or_else(String::new, |left| format!(", about {} s left", left.as_secs()));
    let (runs, done) = (scenario.run.runs, AtomicU64::new(0));
    let report = scenario::run(scenario, threads, || {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        meter.progress.show(|| format!("run {done} of {runs}{left}"));
    })?;
    let trace = if traced { trace::record(scenario)? } else { Value::Null };
    let packet = scenario.flow.first().map(|flow| flow.packet.get());
    Ok(json!({ "packet_bytes": packet, "report": report, "trace": trace }))
}
