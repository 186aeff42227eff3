//! The behaviour of the simulator: for each scheme, a hash of the results on a few short scenarios.
//!
//! The planner's closed forms have fitted weights and measured errors (see `mod.rs`). The weights
//! and errors of a scheme are valid only for the simulator to which they were fitted. A hash of the
//! simulator's sources changes with any edit, even if the edit changes no result. The behaviour of a
//! scheme changes only when one of its results changes. A test computes the behaviour again and
//! compares it with the behaviour in the repository.

use super::data;
use super::scenes::CampaignStage;
use super::unfitted::Unfitted;
use crate::cell::hexadecimal;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::{NetworkPath, PlanScheme};
use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{self, Scenario, ScenarioReport};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The links of the scenarios. The links are slow, so all scenarios together take a few seconds.
///
/// The first link has no loss. The second is a long path with independent losses. The third has
/// bursts of losses and a short queue. The fourth has heavy losses in one direction. Any change of
/// a value changes the behaviour. The data in `crates/model/data` must then be made again.
const LINKS: [NetworkPath; 4] = [
    NetworkPath { rate: 4e6, rtt: 0.04, loss: 0.0, loss_back: 0.0, burst: 1.0, queue: 20e3, flows: 1 },
    NetworkPath { rate: 2e6, rtt: 0.15, loss: 0.05, loss_back: 0.05, burst: 1.0, queue: 60e3, flows: 1 },
    NetworkPath { rate: 8e6, rtt: 0.03, loss: 0.03, loss_back: 0.03, burst: 5.0, queue: 9e3, flows: 1 },
    NetworkPath { rate: 10e6, rtt: 0.1, loss: 0.15, loss_back: 0.0, burst: 2.0, queue: 125e3, flows: 1 },
];
/// Index in [`LINKS`] of the link on which requests are simulated too. This link is a long path
/// with independent losses. Requests on a single link keep the computation short.
const REQUESTS_ON: usize = 1;
/// The seed of the runs. Any fixed seed would do; a new seed changes the behaviour.
const SEED: u64 = 1;

/// The behaviour of this program's simulator: for each scheme, 16 hexadecimal digits. The schemes are those of the
/// data files. It is computed once.
///
/// # Errors
/// The simulator refuses one of the scenarios.
pub fn behaviour() -> LabResult<&'static BTreeMap<String, String>> {
    static BEHAVIOUR: LazyLock<Result<BTreeMap<String, String>, String>> =
        LazyLock::new(|| compute().map_err(|error| error.to_string()));
    BEHAVIOUR.as_ref().map_err(|problem| LabError::Work(problem.clone()))
}

/// The schemes whose behaviour differs between two records.
pub fn changed_schemes(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    now.iter().filter(|(scheme, hash)| then.get(*scheme) != Some(hash)).map(|(scheme, _)| scheme.clone()).collect()
}

fn compute() -> LabResult<BTreeMap<String, String>> {
    let weights = data::weights()?;
    let mut behaviour = BTreeMap::new();
    for scheme in PlanScheme::FITTED {
        let mut scenarios: Vec<Scenario> =
            LINKS.iter().map(|path| CampaignStage::of(path).scenario(scheme, 1, SEED)).collect();
        if matches!(scheme, PlanScheme::Cubic | PlanScheme::TunnelCubic) {
            scenarios.push(CampaignStage::of(&LINKS[REQUESTS_ON]).requests(scheme, 1, SEED));
        }
        behaviour.insert(scheme.name().to_owned(), hash(&scenarios)?);
    }
    for scheme in Unfitted::ALL {
        let mut scenarios = Vec::new();
        for path in &LINKS {
            let stage = CampaignStage::of(path);
            scenarios.push(scheme.plan(path, &weights)?.scenario(&stage, 1, SEED));
        }
        behaviour.insert(scheme.name().to_owned(), hash(&scenarios)?);
    }
    Ok(behaviour)
}

/// A hash of the results of `scenarios`.
fn hash(scenarios: &[Scenario]) -> LabResult<String> {
    let mut hash = Sha256::new();
    for scenario in scenarios {
        let report = scenario::run(scenario, 1, || {}).map_err(|error| LabError::work("a fixed scenario", error))?;
        let mut figure = |value: Option<f64>| hash.update(value.map_or(u64::MAX, f64::to_bits).to_le_bytes());
        figures(&report).into_iter().for_each(&mut figure);
    }
    Ok(hexadecimal(&hash.finalize().into())[..16].to_owned())
}

/// The results that enter the hash: goodput, packets sent, retransmits, time-outs, delays,
/// and each link's packet counts, rate and utilisation. `None` is a missing value.
fn figures(report: &ScenarioReport) -> Vec<Option<f64>> {
    let mean = |statistic: &Statistic| statistic.mean;
    let mut all = Vec::new();
    for flow in &report.flows {
        all.extend([&flow.goodput_bps, &flow.packets_sent, &flow.retransmits, &flow.timeouts].map(mean));
        all.extend([&flow.delay_s, &flow.completion_s].iter().flat_map(|delay| [delay.p50, delay.p99]));
    }
    for link in &report.links {
        let counts = [
            &link.offered_packets,
            &link.dropped_queue_packets,
            &link.dropped_other_packets,
            &link.lost_packets,
            &link.delivered_packets,
            &link.delivered_bps,
            &link.utilisation,
        ];
        all.extend(counts.map(mean));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFIT_HEAD: &str = "\
# The schemes whose data of the planner were made with a simulator of another behaviour than this one, if there are any.
# The values are this simulator's behaviour. `make plan-report` makes the data of these schemes anew; then the lines are
# removed. `UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --lib behaviour` writes this file.
";

    #[test]
    fn the_committed_weights_and_errors_are_of_this_simulator() {
        let now = behaviour().unwrap();
        let made = [
            ("the planner's weights", data::weights().unwrap().campaign.behaviour),
            ("the planner's errors", data::errors().unwrap().campaign.behaviour),
            ("the links of the planner's report", data::report().unwrap().campaign.behaviour),
        ];
        // The unfitted schemes have no weights.
        let is_fitted = |scheme: &String| PlanScheme::FITTED.iter().any(|fitted| fitted.name() == scheme);
        let concerns = |k: usize, scheme: &String| k > 0 || is_fitted(scheme);
        let pending: BTreeMap<String, String> = now
            .iter()
            .filter(|(scheme, hash)| {
                let mut files = made.iter().enumerate().filter(|(k, _)| concerns(*k, scheme));
                files.any(|(_, (_, then))| then.get(*scheme) != Some(hash))
            })
            .map(|(scheme, hash)| (scheme.clone(), hash.clone()))
            .collect();
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            let lines: String = pending.iter().map(|(scheme, hash)| format!("{scheme} = \"{hash}\"\n")).collect();
            let table = if lines.is_empty() { String::new() } else { format!("[behaviour]\n{lines}") };
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../model/data/refit.toml");
            std::fs::write(file, format!("{REFIT_HEAD}{table}")).unwrap();
            return;
        }
        assert_eq!(
            data::refit_pending().unwrap(),
            pending,
            "this simulator has the behaviour {now:?}; the data were made with {made:?}. Run `make plan-report` and commit \
             crates/model/data and docs/plan-report.md. Until then, declare the data outdated: \
             `UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --lib behaviour`."
        );
    }

    #[test]
    fn schemes_are_compared_one_by_one() {
        let record = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(scheme, hash)| ((*scheme).to_owned(), (*hash).to_owned())).collect()
        };
        let then = record(&[("bbr", "1"), ("cubic", "2"), ("lt", "3")]);
        let now = record(&[("bbr", "1"), ("cubic", "4"), ("reno", "5")]);
        assert_eq!(changed_schemes(&then, &now), ["cubic", "reno"]);
    }
}
