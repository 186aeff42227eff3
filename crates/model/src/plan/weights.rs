//! The fitted weights of the closed forms, as data: `crates/model/data/plan-weights.toml`, which `make plan-report` writes.
//!
//! The functions of [`plan`](super) take the weights as an argument. The caller reads the file's text ([`super::data::WEIGHTS`]) with a TOML
//! parser.

use super::campaign::CampaignRecord;
use super::efficiency::Term;
use super::scheme::PlanScheme;
use serde::{Deserialize, Serialize};

/// How many times a delay is made up of: [`packet_times`](super::delay::packet_times), [`request_times`](super::delay::request_times).
pub const TIMES: usize = 8;

/// All weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Weights {
    /// The campaign that the weights were fitted to.
    pub campaign: CampaignRecord,
    /// Requests over plain TCP.
    pub plain_requests: DelayWeights,
    /// Requests inside the tunnel.
    pub tunnel_requests: DelayWeights,
    /// Plain Reno.
    pub reno: SchemeWeights,
    /// Plain CUBIC.
    pub cubic: SchemeWeights,
    /// Plain BBR.
    pub bbr: SchemeWeights,
    /// CUBIC inside the tunnel.
    pub tunnel_cubic: SchemeWeights,
    /// BBR inside the tunnel.
    pub tunnel_bbr: SchemeWeights,
}

/// The weights of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SchemeWeights {
    /// Weights of [`packet_times`](super::delay::packet_times).
    pub packets: DelayWeights,
    /// What the scheme loses of its ceiling.
    pub efficiency: Vec<Term>,
    /// What the scheme sends beyond headers and what the link loses.
    pub overhead: Vec<Term>,
}

/// The weights of the times that make up a delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayWeights {
    /// For the median.
    pub p50: [f64; TIMES],
    /// For the 99th percentile.
    pub p99: [f64; TIMES],
}

impl Weights {
    /// The weights of `scheme`.
    pub fn of(&self, scheme: PlanScheme) -> &SchemeWeights {
        match scheme {
            PlanScheme::Reno => &self.reno,
            PlanScheme::Cubic => &self.cubic,
            PlanScheme::Bbr => &self.bbr,
            PlanScheme::TunnelCubic => &self.tunnel_cubic,
            PlanScheme::TunnelBbr => &self.tunnel_bbr,
        }
    }
}
