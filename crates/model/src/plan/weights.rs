//! The weights of the closed forms, fitted to simulations, as data. `make plan-report` writes the
//! weights to `crates/model/data/plan-weights.toml`.
//!
//! The functions of [`plan`](super) take the weights as an argument. The caller parses the file's
//! text ([`super::data::WEIGHTS`]) as TOML.

use super::campaign::CampaignRecord;
use super::efficiency::Term;
use super::scheme::PlanScheme;
use serde::{Deserialize, Serialize};

/// The number of terms in the weighted sum that predicts a delay. Each term is a time.
/// [`packet_times`](super::delay::packet_times) and [`request_times`](super::delay::request_times)
/// compute these times.
pub const TIMES: usize = 8;

/// The weights of all schemes and delays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Weights {
    /// The campaign that the weights were fitted to.
    pub campaign: CampaignRecord,
    /// Weights of [`request_times`](super::delay::request_times) for requests over plain TCP.
    pub plain_requests: DelayWeights,
    /// Weights of [`request_times`](super::delay::request_times) for requests inside the tunnel.
    pub tunnel_requests: DelayWeights,
    /// Weights of plain Reno.
    pub reno: SchemeWeights,
    /// Weights of plain CUBIC.
    pub cubic: SchemeWeights,
    /// Weights of plain BBR.
    pub bbr: SchemeWeights,
    /// Weights of CUBIC inside the tunnel.
    pub tunnel_cubic: SchemeWeights,
    /// Weights of BBR inside the tunnel.
    pub tunnel_bbr: SchemeWeights,
}

/// The weights of one scheme.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SchemeWeights {
    /// Weights of [`packet_times`](super::delay::packet_times).
    pub packets: DelayWeights,
    /// The efficiency factors that reduce the scheme's goodput (see
    /// [`efficiency`](super::efficiency)).
    pub efficiency: Vec<Term>,
    /// The terms that raise the bytes sent for each byte of payload, in addition to headers and the
    /// link's losses.
    pub overhead: Vec<Term>,
}

/// One weight for each of the [`TIMES`] terms. The weighted sum of the terms predicts a delay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayWeights {
    /// Weights for the median.
    pub p50: [f64; TIMES],
    /// Weights for the 99th percentile.
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
