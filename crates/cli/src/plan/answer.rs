//! The answer of `ripstop plan`: every number, as `--json` prints them (docs/schemas/plan.schema.json).

use serde::Serialize;

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct PlanAnswer {
    pub(super) link: LinkFacts,
    pub(super) traffic: &'static str,
    pub(super) hosts: &'static str,
    /// The most bytes beyond the useful ones, as a share of these.
    pub(super) budget: Option<f64>,
    /// The scheme to use; `None` where the budget is too small.
    pub(super) recommended: Option<&'static str>,
    pub(super) reason: String,
    /// The budget that a useful scheme needs, where the given one is too small.
    pub(super) budget_needed: Option<f64>,
    /// What must be set up for the recommended scheme.
    pub(super) setup: Vec<String>,
    /// Whether the recommended scheme codes.
    pub(super) coding_helps: bool,
    pub(super) cautions: Vec<String>,
    /// How often the choice was right on simulated links; `None` outside the domain of validity.
    pub(super) accuracy: Option<Accuracy>,
    /// The links on which predictions were compared with simulations.
    pub(super) domain: &'static str,
    /// The quantities of this link that are outside.
    pub(super) extrapolated: Vec<&'static str>,
    /// What to write into the tunnel's configuration; `None` where no tunnel is recommended.
    pub(super) config: Option<String>,
    pub(super) schemes: Vec<SchemePlan>,
    pub(super) stations: Option<Stations>,
}

/// The link.
#[derive(Debug, Serialize)]
pub(super) struct LinkFacts {
    pub(super) rate_bps: f64,
    pub(super) rtt_s: f64,
    pub(super) loss: f64,
    pub(super) loss_back: f64,
    pub(super) burst_packets: f64,
    pub(super) queue_bytes: f64,
    pub(super) flows: u32,
    /// C (1-p).
    pub(super) capacity_bps: f64,
    pub(super) bdp_packets: f64,
}

/// How often the named scheme was within 3 % of the best one.
#[derive(Debug, Serialize)]
pub(super) struct Accuracy {
    /// The seed of the simulated links.
    pub(super) seed: u64,
    pub(super) links: u64,
    /// The share of links on which the named scheme was.
    pub(super) scheme: f64,
    /// The share of links on which the best scheme of the named family was.
    pub(super) family: f64,
    /// The pattern of this link's losses, in words.
    pub(super) pattern: &'static str,
    /// Links with losses of this pattern.
    pub(super) pattern_links: u64,
    /// The share of these on which the named scheme was.
    pub(super) pattern_scheme: f64,
}

/// What is said of a scheme.
#[derive(Debug, Serialize)]
pub(super) struct SchemePlan {
    pub(super) scheme: &'static str,
    /// Whether the program can do the scheme on the wire.
    pub(super) available: bool,
    /// Whether the hosts of `--hosts` can use the scheme.
    pub(super) allowed: bool,
    /// By the closed form; `None` where the closed form is known to fail.
    pub(super) goodput_bps: Option<f64>,
    /// Of C (1-p).
    pub(super) share: Option<f64>,
    pub(super) bound: Option<&'static str>,
    /// Why there is no prediction.
    pub(super) not_predicted: Option<&'static str>,
    pub(super) sent_per_useful: Option<f64>,
    pub(super) packet_p50_s: Option<f64>,
    pub(super) packet_p99_s: Option<f64>,
    pub(super) request_p50_s: Option<f64>,
    pub(super) request_p99_s: Option<f64>,
    /// The model that the goodput is by.
    pub(super) model: &'static str,
    /// The error of the goodput on links with such losses, relative to the simulation; `None` where it is not known.
    pub(super) error_median: Option<f64>,
    pub(super) error_p95: Option<f64>,
    pub(super) packet_p99_error_median: Option<f64>,
    pub(super) request_p99_error_median: Option<f64>,
    pub(super) settings: Option<String>,
    pub(super) simulated: Option<Simulated>,
}

/// What the simulator says of a scheme.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Simulated {
    pub(super) goodput_bps: f64,
    /// Half of the 95 % confidence interval of the mean.
    pub(super) ci95_bps: Option<f64>,
    pub(super) runs: u32,
    /// Predicted over simulated, less 1; `None` where nothing was predicted or nothing arrived.
    pub(super) error: Option<f64>,
    pub(super) sent_per_useful: Option<f64>,
    pub(super) packet_p50_s: Option<f64>,
    pub(super) packet_p99_s: Option<f64>,
    /// Requests on the idle link, with `--verify`.
    pub(super) request_p50_s: Option<f64>,
    pub(super) request_p99_s: Option<f64>,
}

/// Base stations for the users of `--users` (paper 000, equation (22)).
#[derive(Debug, Serialize)]
pub(super) struct Stations {
    pub(super) users: u32,
    pub(super) tcp: f64,
    pub(super) tcpnc: f64,
    pub(super) saved: f64,
    pub(super) saved_power_w: f64,
}
