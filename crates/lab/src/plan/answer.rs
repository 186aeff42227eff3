//! The answer of `ripstop plan` as data, in the form that `--json` prints
//! (docs/schemas/plan.schema.json).
//!
//! A scheme is a way to use the link, such as a plain TCP or a TCP through the tunnel. There are
//! two families of schemes: the plain TCPs, and the TCPs through the tunnel. C is the rate of the
//! link, and p its loss probability; C (1-p) is the capacity that is left after losses.

use serde::Serialize;

/// The answer of `ripstop plan`. Shares are numbers from 0 to 1.
#[derive(Debug, Serialize)]
pub struct PlanAnswer {
    /// The properties of the link.
    pub link: LinkFacts,
    /// What the link is for: `bulk`, `interactive` or `mixed`.
    pub traffic: &'static str,
    /// What the sending hosts may run: `cubic`, `bbr` or `any`.
    pub hosts: &'static str,
    /// Largest overhead the user allows (`--budget`): bytes sent beyond the useful bytes, divided
    /// by the useful bytes.
    pub budget: Option<f64>,
    /// The scheme to use; `None` if the budget is too small for every useful scheme.
    pub recommended: Option<&'static str>,
    /// Why this scheme is recommended, as a sentence.
    pub reason: String,
    /// The smallest overhead of all schemes with at least half of the best goodput; `None` if the
    /// given budget is enough for a recommendation.
    pub budget_needed: Option<f64>,
    /// What must be set up for the recommended scheme.
    pub setup: Vec<String>,
    /// Whether the recommended scheme uses coding.
    pub coding_helps: bool,
    /// The schemes that are not available on real networks, and would carry more than the recommended scheme by more than
    /// the 95th percentile of their errors, as sentences.
    pub outlook: Vec<String>,
    /// Warnings about links of this kind, as sentences.
    pub cautions: Vec<String>,
    /// The shares of simulated links on which the planner chose well; `None` outside the domain of
    /// validity.
    pub accuracy: Option<Accuracy>,
    /// The domain of validity in words: the range of links on which predictions were compared with
    /// simulations.
    pub domain: &'static str,
    /// The properties of this link that are outside the domain of validity.
    pub extrapolated: Vec<&'static str>,
    /// The text for the tunnel's configuration file; `None` if no tunnel is recommended.
    pub config: Option<String>,
    /// The plan for each scheme, including schemes that are not allowed.
    pub schemes: Vec<SchemePlan>,
    /// Number of base stations; `None` if no number of users was given.
    pub stations: Option<Stations>,
}

/// The properties of the planned link.
#[derive(Debug, Serialize)]
pub struct LinkFacts {
    /// Rate in bit/s, including IP headers.
    pub rate_bps: f64,
    /// Round-trip time of the idle link, s.
    pub rtt_s: f64,
    /// p: loss probability of data packets.
    pub loss: f64,
    /// Loss probability of acknowledgements.
    pub loss_back: f64,
    /// Mean length of a run of losses, packets.
    pub burst_packets: f64,
    /// Queue in each direction, bytes.
    pub queue_bytes: f64,
    /// Number of simultaneous connections.
    pub flows: u32,
    /// Capacity after losses, C (1-p), bit/s.
    pub capacity_bps: f64,
    /// Bandwidth-delay product, in packets of full size.
    pub bdp_packets: f64,
}

/// The shares of simulated links on which the planner chose well. "Within 3 %" means that the
/// goodput is at least 97 % of the best scheme's goodput.
#[derive(Debug, Serialize)]
pub struct Accuracy {
    /// The seed of the simulated links.
    pub seed: u64,
    /// Number of all simulated links.
    pub links: u64,
    /// Share of all links on which the recommended scheme was within 3 %.
    pub scheme: f64,
    /// Share of all links on which the best scheme of the recommended family was within 3 %.
    pub family: f64,
    /// The loss pattern of the planned link, in words.
    pub pattern: &'static str,
    /// Number of simulated links with this loss pattern.
    pub pattern_links: u64,
    /// Share of the links with this loss pattern on which the recommended scheme was within 3 %.
    pub pattern_scheme: f64,
}

/// The prediction for one scheme on the planned link.
#[derive(Debug, Serialize)]
pub struct SchemePlan {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Whether this program implements the scheme on real networks.
    pub available: bool,
    /// Whether the hosts given by `--hosts` can use the scheme.
    pub allowed: bool,
    /// Predicted goodput, bit/s; `None` where the closed form is known to fail.
    pub goodput_bps: Option<f64>,
    /// Predicted goodput as a share of C (1-p).
    pub share: Option<f64>,
    /// What limits the goodput: `losses`, `link`, `window` or `blocks` (the blocks that TCP/LT may have in flight).
    pub bound: Option<&'static str>,
    /// Why the goodput is not predicted; `None` if the goodput is predicted.
    pub not_predicted: Option<&'static str>,
    /// Predicted number of bytes on the link per useful byte.
    pub sent_per_useful: Option<f64>,
    /// Median delay of a packet of a long transfer, s.
    pub packet_p50_s: Option<f64>,
    /// 99th percentile of the delay of a packet of a long transfer, s.
    pub packet_p99_s: Option<f64>,
    /// Median latency of a request on the idle link, s.
    pub request_p50_s: Option<f64>,
    /// 99th percentile of the latency of a request on the idle link, s.
    pub request_p99_s: Option<f64>,
    /// The model that predicts the goodput.
    pub model: &'static str,
    /// Median relative error of the predicted goodput against simulations of links with this loss
    /// pattern; `None` if the error is not known.
    pub error_median: Option<f64>,
    /// 95th percentile of the relative error of the predicted goodput, against the same
    /// simulations.
    pub error_p95: Option<f64>,
    /// Median relative error of `packet_p99_s`.
    pub packet_p99_error_median: Option<f64>,
    /// Median relative error of `request_p99_s`.
    pub request_p99_error_median: Option<f64>,
    /// The scheme's settings for this link, in words.
    pub settings: Option<String>,
    /// Result of the simulation; `None` if the scheme was not simulated.
    pub simulated: Option<Simulated>,
}

/// The result of simulating a scheme on the planned link.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Simulated {
    /// Mean goodput of the runs, bit/s.
    pub goodput_bps: f64,
    /// Half the width of the 95 % confidence interval of `goodput_bps`, bit/s.
    pub ci95_bps: Option<f64>,
    /// Number of independent runs.
    pub runs: u32,
    /// Relative error of the prediction: predicted goodput divided by simulated goodput, minus 1.
    /// `None` if nothing was predicted or nothing arrived.
    pub error: Option<f64>,
    /// Bytes on the link per useful byte.
    pub sent_per_useful: Option<f64>,
    /// Median delay of a packet of a long transfer, s.
    pub packet_p50_s: Option<f64>,
    /// 99th percentile of the delay of a packet of a long transfer, s.
    pub packet_p99_s: Option<f64>,
    /// Median latency of a request on the idle link, s; only with `--verify`.
    pub request_p50_s: Option<f64>,
    /// 99th percentile of the latency of a request on the idle link, s; only with `--verify`.
    pub request_p99_s: Option<f64>,
}

/// Number of base stations that are needed for the users of `--users`, by equation (22) of paper
/// 000.
#[derive(Debug, Serialize)]
pub struct Stations {
    /// The number of users.
    pub users: u32,
    /// Number of stations needed with TCP, rounded up.
    pub tcp: f64,
    /// Number of stations needed with TCP/NC, rounded up.
    pub tcpnc: f64,
    /// Number of stations saved by TCP/NC: `tcp` minus `tcpnc`.
    pub saved: f64,
    /// Power of the saved stations, W.
    pub saved_power_w: f64,
}
