//! The campaign that a plan's weights and errors come from: every scheme simulated on links drawn from a seed.

use super::draw;
use super::scenes::Stage;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use crate::store::{Store, VERSION, key_of};
use ripstop_model::plan::{Path, Scheme};
use ripstop_sim::engine::Sample;
use ripstop_sim::scenario::{self, Report, Scenario, ScenarioError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// How often a scheme runs on a link.
#[derive(Debug)]
struct Effort {
    /// The fewest and the most runs: twice as many, and again, until the mean is known.
    runs: (u32, u32),
    /// Bits that they move together, at most but for the fewest.
    bits: f64,
}

/// Of plain TCP, whose mean is often that of a few dead runs among many that get all, and which takes a twentieth of a second for 1 Gbit.
const PLAIN: Effort = Effort { runs: (8, 128), bits: 512e9 };
/// Of the tunnel, which takes a second for it.
const TUNNEL: Effort = Effort { runs: (2, 32), bits: 32e9 };
/// The mean is known when its standard error is no more than this share of it, or that of C (1-p).
const KNOWN: (f64, f64) = (0.02, 0.003);
/// Runs of requests.
const REQUEST_RUNS: u32 = 4;

/// What the simulator says of a scheme on a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Measured {
    /// Goodput of each run, all connections together, bit/s.
    pub(super) each_bps: Vec<f64>,
    /// Bytes sent for each useful one; None where nothing arrived.
    pub(super) sent_per_useful: Option<f64>,
    /// Percentiles of the delay of packets, s.
    pub(super) delay_p50_s: Option<f64>,
    pub(super) delay_p99_s: Option<f64>,
}

impl Measured {
    /// Its mean, bit/s.
    pub(super) fn mean(&self) -> f64 {
        self.each_bps.iter().sum::<f64>() / self.each_bps.len().max(1) as f64
    }

    /// The standard deviation of a run, bit/s; 0 of a single one.
    pub(super) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.each_bps.iter().map(|run| (run - mean) * (run - mean)).sum();
        (squares / (self.each_bps.len().max(2) - 1) as f64).sqrt()
    }

    /// Half of the 95 % interval of the mean, bit/s; None of a single run.
    pub(super) fn interval(&self) -> Option<f64> {
        self.each_bps.iter().copied().collect::<Sample>().statistic().ci95
    }

    /// The standard error of the mean, bit/s.
    pub(super) fn error(&self) -> f64 {
        self.deviation() / (self.each_bps.len().max(1) as f64).sqrt()
    }
}

/// What the simulator says of small requests on a quiet link: percentiles, s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Requests {
    pub(super) p50_s: Option<f64>,
    pub(super) p99_s: Option<f64>,
}

/// A link, and each scheme on it in the order of [`Scheme::FITTED`].
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) number: u64,
    pub(super) path: Path,
    /// Of plain TCP alone, which comes first, on links where the tunnel was not simulated.
    pub(super) measured: Vec<Measured>,
    /// Plain, and inside the tunnel.
    pub(super) requests: [Requests; 2],
}

impl Case {
    /// What was measured of `scheme`, if it was.
    pub(super) fn of(&self, scheme: Scheme) -> Option<&Measured> {
        let index = Scheme::FITTED.iter().position(|known| *known == scheme)?;
        self.measured.get(index)
    }
}

/// Simulates `scheme` on `stage`.
///
/// # Errors
/// A link that the simulator does not take.
pub(super) fn measure(
    stage: &Stage,
    scheme: &Scheme,
    runs: u32,
    seed: u64,
    threads: usize,
) -> Outcome<Measured> {
    let scenario = stage.scenario(scheme, runs, seed);
    let refused = |error: ScenarioError| Failure::Usage(error.to_string());
    let totals = scenario::run_all(&scenario, threads, || {}).map_err(refused)?;
    let all = Report::new(&scenario, &totals);
    let flows = f64::from(stage.flows);
    let each =
        |run| Report::new(&scenario, std::slice::from_ref(run)).goodput_bps.mean.unwrap_or(0.0) * flows;
    let utilisation = all.links[0].utilisation.mean.unwrap_or(0.0);
    let each_bps: Vec<f64> = totals.iter().map(each).collect();
    let useful: f64 = each_bps.iter().sum::<f64>() / each_bps.len() as f64;
    let offered = utilisation * stage.forth.rate.bps() as f64;
    Ok(Measured {
        sent_per_useful: (useful > 0.0).then(|| offered / useful),
        each_bps,
        delay_p50_s: all.flows[0].delay_s.p50,
        delay_p99_s: all.flows[0].delay_s.p99,
    })
}

/// The first links of `seed`, from the store where they are there: every scheme on `links` of them, and plain TCP on `plain` if that is more.
///
/// # Errors
/// What the store or the simulator refused.
pub(super) fn cases(seed: u64, links: u64, plain: u64, store: &Store, threads: usize) -> Outcome<Vec<Case>> {
    let progress = Progress::new();
    let most = links.max(plain);
    let mut cases = Vec::with_capacity(most as usize);
    for number in 0..most {
        let whole = number < links;
        let path = draw::link(seed, number);
        let stage = Stage::of(&path);
        let run_seed = seed.wrapping_mul(1 << 32).wrapping_add(number);
        let mut measured = Vec::with_capacity(Scheme::FITTED.len());
        for scheme in Scheme::FITTED.into_iter().filter(|scheme| whole || !scheme.is_tunnel()) {
            progress.begin(format!("seed {seed}, link {number} of {most}: {}", scheme.name()));
            progress.show(String::new);
            let scenario = stage.scenario(&scheme, effort(&scheme).runs.1, run_seed);
            let make = || well_known(&stage, &scheme, path.capacity(), run_seed, threads);
            measured.push(kept(store, &scenario, make)?);
        }
        let mut requests = [Requests::default(); 2];
        for (tunnel, found) in [false, true].into_iter().zip(&mut requests).filter(|_| whole) {
            let scenario = stage.requests(tunnel, REQUEST_RUNS, run_seed);
            *found = kept(store, &scenario, || measure_requests(&scenario, threads))?;
        }
        cases.push(Case { number, path, measured, requests });
    }
    Ok(cases)
}

/// Simulates `scheme` on `stage` as often as it takes to know its mean on a link that brings `capacity` bit/s at most.
fn well_known(stage: &Stage, scheme: &Scheme, capacity: f64, seed: u64, threads: usize) -> Outcome<Measured> {
    let Effort { runs: (fewest, most), bits } = *effort(scheme);
    let most = ((bits / stage.bits()) as u32).clamp(fewest, most);
    let mut runs = fewest;
    loop {
        let measured = measure(stage, scheme, runs, seed, threads)?;
        let enough = (KNOWN.0 * measured.mean()).max(KNOWN.1 * capacity);
        // A few runs that agree may do so by chance.
        if runs >= most || runs > fewest && measured.error() <= enough || measured.error() <= enough / 10.0 {
            return Ok(measured);
        }
        runs = (2 * runs).min(most);
    }
}

fn effort(scheme: &Scheme) -> &'static Effort {
    if scheme.is_tunnel() { &TUNNEL } else { &PLAIN }
}

/// What is kept of `scenario`, or what `make` makes of it, which is kept then.
fn kept<T: Serialize + DeserializeOwned>(
    store: &Store,
    scenario: &Scenario,
    make: impl FnOnce() -> Outcome<T>,
) -> Outcome<T> {
    let text = scenario.to_toml().map_err(|error| Failure::Work(error.to_string()))?;
    // How often it is simulated, and thus the result, follows from these.
    let rule = format!("{PLAIN:?} {TUNNEL:?} {KNOWN:?} {REQUEST_RUNS}");
    let key = key_of(&["plan", VERSION, &rule, &text]);
    let unreadable = |error: serde_json::Error| Failure::work("the store", error);
    if let Some(kept) = store.get(&key)? {
        return serde_json::from_str(&kept).map_err(unreadable);
    }
    let new = make()?;
    store.put(&key, VERSION, &serde_json::to_string(&new).map_err(unreadable)?)?;
    Ok(new)
}

/// How long requests take.
fn measure_requests(scenario: &Scenario, threads: usize) -> Outcome<Requests> {
    let report =
        scenario::run(scenario, threads, || {}).map_err(|error| Failure::Usage(error.to_string()))?;
    let completion = report.flows[0].completion_s;
    Ok(Requests { p50_s: completion.p50, p99_s: completion.p99 })
}
