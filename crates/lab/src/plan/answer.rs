//! The answer of `ripstop plan`: every number, as `--json` prints them (docs/schemas/plan.schema.json).

use serde::Serialize;

/// The answer.
#[derive(Debug, Serialize)]
pub struct PlanAnswer {
    /// The link.
    pub link: LinkFacts,
    /// What the link is for: `bulk`, `interactive` or `mixed`.
    pub traffic: &'static str,
    /// What the sending hosts may run: `cubic`, `bbr` or `any`.
    pub hosts: &'static str,
    /// The most bytes beyond the useful ones, as a share of these.
    pub budget: Option<f64>,
    /// The scheme to use; `None` where the budget is too small.
    pub recommended: Option<&'static str>,
    /// Why this scheme, as a sentence.
    pub reason: String,
    /// The budget that a useful scheme needs, where the given one is too small.
    pub budget_needed: Option<f64>,
    /// What must be set up for the recommended scheme.
    pub setup: Vec<String>,
    /// Whether the recommended scheme codes.
    pub coding_helps: bool,
    /// What the reader must know about such a link, as sentences.
    pub cautions: Vec<String>,
    /// How often the choice was right on simulated links; `None` outside the domain of validity.
    pub accuracy: Option<Accuracy>,
    /// The links on which predictions were compared with simulations.
    pub domain: &'static str,
    /// The quantities of this link that are outside.
    pub extrapolated: Vec<&'static str>,
    /// What to write into the tunnel's configuration; `None` where no tunnel is recommended.
    pub config: Option<String>,
    /// Every scheme, allowed or not.
    pub schemes: Vec<SchemePlan>,
    /// Base stations; `None` where no number of users was given.
    pub stations: Option<Stations>,
}

/// The link.
#[derive(Debug, Serialize)]
pub struct LinkFacts {
    /// Rate in bit/s, IP headers included.
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
    /// Connections at the same time.
    pub flows: u32,
    /// C (1-p), bit/s.
    pub capacity_bps: f64,
    /// The bandwidth-delay product, full packets.
    pub bdp_packets: f64,
}

/// How often the named scheme was within 3 % of the best one.
#[derive(Debug, Serialize)]
pub struct Accuracy {
    /// The seed of the simulated links.
    pub seed: u64,
    /// All simulated links.
    pub links: u64,
    /// The share of links on which the named scheme was.
    pub scheme: f64,
    /// The share of links on which the best scheme of the named family was.
    pub family: f64,
    /// The pattern of this link's losses, in words.
    pub pattern: &'static str,
    /// Links with losses of this pattern.
    pub pattern_links: u64,
    /// The share of these on which the named scheme was.
    pub pattern_scheme: f64,
}

/// What is said of a scheme.
#[derive(Debug, Serialize)]
pub struct SchemePlan {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Whether the program can do the scheme on the wire.
    pub available: bool,
    /// Whether the hosts of `--hosts` can use the scheme.
    pub allowed: bool,
    /// By the closed form; `None` where the closed form is known to fail.
    pub goodput_bps: Option<f64>,
    /// The goodput as a share of C (1-p).
    pub share: Option<f64>,
    /// What limits the goodput: `losses`, `link` or `window`.
    pub bound: Option<&'static str>,
    /// Why there is no prediction.
    pub not_predicted: Option<&'static str>,
    /// Bytes on the link for each useful byte.
    pub sent_per_useful: Option<f64>,
    /// Median delay of a packet of a long transfer, s.
    pub packet_p50_s: Option<f64>,
    /// 99th percentile of that delay, s.
    pub packet_p99_s: Option<f64>,
    /// Median latency of a request on the idle link, s.
    pub request_p50_s: Option<f64>,
    /// 99th percentile of that latency, s.
    pub request_p99_s: Option<f64>,
    /// The model that the goodput is by.
    pub model: &'static str,
    /// The error of the goodput on links with such losses, relative to the simulation; `None` where it is not known.
    pub error_median: Option<f64>,
    /// The 95th percentile of that error.
    pub error_p95: Option<f64>,
    /// The median error of `packet_p99_s`.
    pub packet_p99_error_median: Option<f64>,
    /// The median error of `request_p99_s`.
    pub request_p99_error_median: Option<f64>,
    /// The scheme's settings for this link, in words.
    pub settings: Option<String>,
    /// What the simulator says; `None` where the scheme was not simulated.
    pub simulated: Option<Simulated>,
}

/// What the simulator says of a scheme.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Simulated {
    /// Mean goodput of the runs, bit/s.
    pub goodput_bps: f64,
    /// Half of the 95 % confidence interval of the mean.
    pub ci95_bps: Option<f64>,
    /// Independent runs.
    pub runs: u32,
    /// Predicted over simulated, less 1; `None` where nothing was predicted or nothing arrived.
    pub error: Option<f64>,
    /// Bytes on the link for each useful byte.
    pub sent_per_useful: Option<f64>,
    /// Median delay of a packet of a long transfer, s.
    pub packet_p50_s: Option<f64>,
    /// 99th percentile of that delay, s.
    pub packet_p99_s: Option<f64>,
    /// Requests on the idle link, with `--verify`.
    pub request_p50_s: Option<f64>,
    /// The 99th percentile of the same, s.
    pub request_p99_s: Option<f64>,
}

/// Base stations for the users of `--users` (paper 000, equation (22)).
#[derive(Debug, Serialize)]
pub struct Stations {
    /// The number of users.
    pub users: u32,
    /// Whole stations with TCP.
    pub tcp: f64,
    /// Whole stations with TCP/NC.
    pub tcpnc: f64,
    /// Stations that TCP/NC saves.
    pub saved: f64,
    /// Their power, W.
    pub saved_power_w: f64,
}
