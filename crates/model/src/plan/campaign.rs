//! The results of a campaign as data. A campaign draws links at random and simulates the schemes on
//! each link. The data has every drawn link, with the predicted and the simulated goodput of each
//! scheme.
//!
//! `ripstop plan campaign --data FILE` writes a [`CampaignResults`] as TOML. The example `fit-plan`
//! of this crate reads such a file and fits the weights. `docs/plan-report.md` is made from
//! `crates/model/data/plan-report.toml`.

use super::path::NetworkPath;
use super::scheme::PlanScheme;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The origin of fitted numbers: the simulation campaign that the numbers were fitted to or
/// compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CampaignRecord {
    /// The seed of the random draw of the links.
    pub seed: u64,
    /// The number of links on which every scheme was simulated.
    pub links: u64,
    /// The number of links on which plain TCP (TCP outside the tunnel) was simulated. Absent if
    /// equal to `links`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_links: Option<u64>,
    /// The largest rate of the links that were simulated, bit/s. Absent if every drawn link was
    /// simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate_bps: Option<u64>,
    /// The identity of the simulator's sources. Any edit of a source changes the identity.
    pub simulator: String,
    /// For each scheme, a hash of the simulator's results on a fixed set of scenarios. An edit of the
    /// sources that changes no result leaves the hashes as they are.
    pub behaviour: BTreeMap<String, String>,
}

/// All results of a campaign.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CampaignResults {
    /// The settings of the campaign.
    pub campaign: CampaignRecord,
    /// The links, in the order of the draw.
    pub link: Vec<LinkResult>,
}

/// The results on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LinkResult {
    /// The link's number in the draw, from 0.
    pub number: u64,
    /// The link.
    pub path: NetworkPath,
    /// Delays of requests over plain CUBIC on the otherwise idle link. Absent if only the goodput
    /// of plain TCP was simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_requests: Option<RequestResult>,
    /// Delays of requests inside the tunnel, on the otherwise idle link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tunnel_requests: Option<RequestResult>,
    /// The result of each simulated scheme, by [`PlanScheme::name`].
    pub scheme: BTreeMap<String, SchemeResult>,
}

/// The predicted and the simulated results of one scheme on one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SchemeResult {
    /// The goodput by the closed form, bit/s, with the weights that were committed when the
    /// campaign ran.
    pub predicted_bps: f64,
    /// The mean goodput of the simulated runs, all connections together, bit/s.
    pub mean_bps: f64,
    /// The standard deviation of the goodput between runs, bit/s; 0 for a single run.
    pub deviation_bps: f64,
    /// The number of runs.
    pub runs: u32,
    /// The goodput of each of the first runs, bit/s. At most [`KEPT_RUNS`] values.
    pub first_bps: Vec<f64>,
    /// Bytes offered to the link for each byte of payload that arrived. Absent if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_per_useful: Option<f64>,
    /// The median of the delay from a packet's first transmission to its delivery in order, s.
    /// Absent if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_p50_s: Option<f64>,
    /// The 99th percentile of the same delay, s. Absent if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_p99_s: Option<f64>,
}

/// The simulated delays of requests on one link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct RequestResult {
    /// The median of the time from a request to the end of its answer, s. Absent if no answer
    /// arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_s: Option<f64>,
    /// The 99th percentile of the same time, s. Absent if no answer arrived.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_s: Option<f64>,
}

/// The number of runs whose goodput is stored one by one. A test can compare these runs, and the
/// report can show their spread. A campaign has up to 128 runs on a link. If the goodput of all
/// runs were stored, the file would be five times as large. Half the value shows the spread less
/// well.
pub const KEPT_RUNS: usize = 8;

impl LinkResult {
    /// The result of `scheme`, or `None` if the scheme was not simulated.
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
