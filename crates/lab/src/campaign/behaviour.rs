//! The behaviour fingerprint: a hash of the simulator's results on a few short scenarios.
//!
//! The planner's closed forms have fitted weights and measured errors (see `mod.rs`). The weights
//! and errors are valid only for the simulator to which the weights were fitted. A hash of the
//! simulator's sources changes with any edit, even if the edit changes no result. The fingerprint
//! changes only when a result changes. A test computes the fingerprint again and compares it with
//! the fingerprint in the repository.

use super::scenes::CampaignStage;
use crate::error::{LabError, LabResult};
use ripstop_model::plan::{NetworkPath, PlanScheme};
use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{self, Scenario, ScenarioReport};
use sha2::{Digest, Sha256};

/// The links of the fingerprint. The links are slow, so the whole fingerprint takes a few seconds.
///
/// The first link has no loss. The second is a long path with independent losses. The third has
/// bursts of losses and a short queue. The fourth has heavy losses in one direction. Any change of
/// a value changes the fingerprint. The data in `crates/model/data` must then be made again.
const LINKS: [NetworkPath; 4] = [
    NetworkPath { rate: 4e6, rtt: 0.04, loss: 0.0, loss_back: 0.0, burst: 1.0, queue: 20e3, flows: 1 },
    NetworkPath { rate: 2e6, rtt: 0.15, loss: 0.05, loss_back: 0.05, burst: 1.0, queue: 60e3, flows: 1 },
    NetworkPath { rate: 8e6, rtt: 0.03, loss: 0.03, loss_back: 0.03, burst: 5.0, queue: 9e3, flows: 1 },
    NetworkPath { rate: 10e6, rtt: 0.1, loss: 0.15, loss_back: 0.0, burst: 2.0, queue: 125e3, flows: 1 },
];
/// Index in [`LINKS`] of the link on which requests are simulated too. This link is a long path
/// with independent losses. Requests on a single link keep the computation of the fingerprint
/// short.
const REQUESTS_ON: usize = 1;
/// The seed of the runs. Any fixed seed would do; a new seed changes the fingerprint.
const SEED: u64 = 1;

/// The fingerprint of this program's simulator: 16 hexadecimal digits.
///
/// # Errors
/// The simulator refuses one of the scenarios.
pub fn fingerprint() -> LabResult<String> {
    let mut hash = Sha256::new();
    for path in &LINKS {
        let stage = CampaignStage::of(path);
        for scheme in PlanScheme::FITTED {
            add(&mut hash, &stage.scenario(scheme, 1, SEED))?;
        }
    }
    let stage = CampaignStage::of(&LINKS[REQUESTS_ON]);
    for scheme in [PlanScheme::Cubic, PlanScheme::TunnelCubic] {
        add(&mut hash, &stage.requests(scheme, 1, SEED))?;
    }
    let digest = hash.finalize();
    Ok(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

/// Runs `scenario` and adds its results to `hash`. [`figures`] selects the results.
fn add(hash: &mut Sha256, scenario: &Scenario) -> LabResult<()> {
    let report = scenario::run(scenario, 1, || {}).map_err(|error| LabError::work("a fixed scenario", error))?;
    let mut figure = |value: Option<f64>| hash.update(value.map_or(u64::MAX, f64::to_bits).to_le_bytes());
    figures(&report).into_iter().for_each(&mut figure);
    Ok(())
}

/// The results that enter the fingerprint: goodput, packets sent, retransmits, time-outs, delays,
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
    use crate::campaign::data;

    const REFIT_HEAD: &str = "\
# The planner's data were made with a simulator of another behaviour than this one, if `behaviour` is set here. The
# value is this simulator's behaviour. `make plan-report` makes the data anew; then the line is removed.
# `UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --lib behaviour` writes this file.
";

    #[test]
    fn the_committed_weights_and_errors_are_of_this_simulator() {
        let now = fingerprint().unwrap();
        let made = [
            ("the planner's weights", data::weights().unwrap().campaign.behaviour),
            ("the planner's errors", data::errors().unwrap().campaign.behaviour),
            ("the links of the planner's report", data::report().unwrap().campaign.behaviour),
        ];
        let fresh = made.iter().all(|(_, then)| *then == now);
        let pending = (!fresh).then(|| now.clone());
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            let line = pending.as_ref().map_or(String::new(), |now| format!("behaviour = \"{now}\"\n"));
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../model/data/refit.toml");
            std::fs::write(file, format!("{REFIT_HEAD}{line}")).unwrap();
            return;
        }
        assert_eq!(
            data::refit_pending().unwrap(),
            pending,
            "this simulator has the behaviour {now}; the data were made with {made:?}. Run `make plan-report` and commit \
             crates/model/data and docs/plan-report.md. Until then, declare the data outdated: \
             `UPDATE_SNAPSHOTS=1 cargo test -p ripstop-lab --lib behaviour`."
        );
    }
}
