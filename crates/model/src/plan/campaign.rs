//! What a campaign found, as data: every link that was drawn, and what was predicted and simulated on it.
//!
//! `ripstop plan campaign --data FILE` writes a [`CampaignResults`] as TOML. The example `fit-plan` of this crate reads one and fits weights;
//! `crates/model/data/plan-report.toml` is the one behind `docs/plan-report.md`.

use super::path::NetworkPath;
use super::scheme::PlanScheme;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Where fitted numbers come from: the campaign of simulations that they were fitted to or compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CampaignRecord {
    /// The seed that the links were drawn from.
    pub seed: u64,
    /// The number of links on which every scheme was simulated.
    pub links: u64,
    /// The number of links on which plain TCP was simulated, where it was simulated on more than `links`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_links: Option<u64>,
    /// Only links of at most this rate were taken, bit/s; absent where all links were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate_bps: Option<u64>,
    /// The program's version and the hash of the simulator's sources. Any edit of a source changes this hash.
    pub simulator: String,
    /// The fingerprint of the simulator's results. Only a change of behaviour changes the fingerprint.
    pub behaviour: String,
}

/// All that a campaign found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CampaignResults {
    /// The campaign.
    pub campaign: CampaignRecord,
    /// Its links, in the order in which they were drawn.
    pub link: Vec<LinkResult>,
}

/// What was found on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkResult {
    /// The link's number in the draw, from 0.
    pub number: u64,
    /// The link.
    pub path: NetworkPath,
    /// Requests on the otherwise idle link, over plain CUBIC; absent where only plain TCP's goodput was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_requests: Option<RequestResult>,
    /// The same inside the tunnel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel_requests: Option<RequestResult>,
    /// Each simulated scheme, by its name.
    pub scheme: BTreeMap<String, SchemeResult>,
}

/// What was predicted and simulated of one scheme on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SchemeResult {
    /// The goodput by the closed form, with the weights that were committed when the campaign ran, bit/s.
    pub predicted_bps: f64,
    /// The mean goodput of the simulated runs, all connections together, bit/s.
    pub mean_bps: f64,
    /// The standard deviation of a run, bit/s; 0 of a single run.
    pub deviation_bps: f64,
    /// The number of runs.
    pub runs: u32,
    /// The goodput of the first runs, at most [`KEPT_RUNS`], bit/s.
    pub first_bps: Vec<f64>,
    /// Bytes offered to the link for each byte of payload that arrived; absent where nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_per_useful: Option<f64>,
    /// The median of a packet's delay, s; absent where nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_p50_s: Option<f64>,
    /// The 99th percentile of a packet's delay, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_p99_s: Option<f64>,
}

/// What was simulated of requests on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RequestResult {
    /// The median of the time from a request to the end of its answer, s; absent where no answer arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_s: Option<f64>,
    /// Its 99th percentile, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_s: Option<f64>,
}

/// The number of runs whose goodput is kept one by one. Enough for a test to compare runs and for the report to show their spread; all of up to
/// 128 runs would make the file five times as large.
pub const KEPT_RUNS: usize = 8;

impl LinkResult {
    /// What was found of `scheme`, where it was simulated.
    pub fn of(&self, scheme: PlanScheme) -> Option<&SchemeResult> {
        self.scheme.get(scheme.name())
    }
}

impl SchemeResult {
    /// The standard error of the mean, bit/s.
    pub fn standard_error(&self) -> f64 {
        self.deviation_bps / f64::from(self.runs.max(1)).sqrt()
    }
}
