//! The settings of TCP/NC in a scenario, and the coding layer that they configure.
//!
//! The coding layer is below TCP. It sends *combinations*: linear combinations of TCP segments. A *relay* is a node on
//! the route that re-encodes: the relay sends combinations of the combinations that arrive.

use super::{FlowSpec, Scenario};
use crate::scenario::error::{ScenarioError, refuse};
use crate::scenario::routes::Leg;
use crate::world::NcLayer;
use ripstop_schemes::nc::{
    Acknowledge, CodingWindow, CombinationRate, Factor, MaskedLoss, NcConfig, NcConfigError, Retransmissions, Rounding,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A coding layer below a connection's TCP (papers 000 and 001). The defaults reproduce the papers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct NcSpec {
    /// Combinations sent for each segment, R in the papers.
    #[serde(with = "ripstop_base::word")]
    pub redundancy: NcRedundancy,
    /// How a fractional R becomes a whole number of combinations for each segment.
    #[serde(skip_serializing_if = "is_default")]
    pub rounding: Rounding,
    /// Bytes of a coefficient in the header, 0 or 1.
    pub coef_bytes: u32,
    /// If set, only this number of the newest unacknowledged segments is combined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_last: Option<u32>,
    /// If set, only this number of the oldest unacknowledged segments is combined.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_oldest: Option<u32>,
    /// How a TCP retransmission is handled.
    #[serde(skip_serializing_if = "is_default")]
    pub retransmissions: Retransmissions,
    /// Which arrivals are acknowledged.
    #[serde(skip_serializing_if = "is_default")]
    pub acknowledge: Acknowledge,
    /// Where combinations are re-encoded, and how.
    #[serde(skip_serializing_if = "is_default")]
    pub recode: Recode,
    /// The nodes that re-encode; all nodes between the ends when left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recode_at: Vec<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The redundancy R.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NcRedundancy {
    /// A fixed number of combinations for each segment.
    Fixed(Factor),
    /// The rule of paper 000, section VI-B, applied to the measured loss.
    Rule,
    /// Adapted to the measurements, anew for each segment.
    Auto,
}

impl Default for NcRedundancy {
    fn default() -> NcRedundancy {
        NcRedundancy::Fixed(Factor::ONE)
    }
}

impl FromStr for NcRedundancy {
    type Err = String;

    fn from_str(text: &str) -> Result<NcRedundancy, String> {
        match text {
            "rule" => Ok(NcRedundancy::Rule),
            "auto" => Ok(NcRedundancy::Auto),
            other => other.parse().ok().and_then(Factor::new).map(NcRedundancy::Fixed).ok_or_else(|| {
                format!("`{other}` is not a redundancy; write \"rule\", \"auto\", or the number of packets sent per packet, 1 to 100, such as 1.13")
            }),
        }
    }
}

impl fmt::Display for NcRedundancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NcRedundancy::Fixed(factor) => factor.fmt(f),
            NcRedundancy::Rule => f.write_str("rule"),
            NcRedundancy::Auto => f.write_str("auto"),
        }
    }
}

/// Where combinations are re-encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recode {
    /// Nowhere.
    #[default]
    EndToEnd,
    /// At nodes between the ends. A node sends one combination for each combination that arrives.
    Relay,
    /// At nodes between the ends. For each combination that arrives, a node sends enough combinations to make up for
    /// the loss of the next link.
    PerHop,
}

impl NcSpec {
    /// The configuration of the coding layer and its relays. The flow passes `nodes`, both ends included. `losses` are
    /// the loss probabilities of the links between these nodes.
    pub(in crate::scenario) fn config(
        &self,
        flow: &FlowSpec,
        nodes: &[String],
        losses: &[f64],
    ) -> Result<NcLayer, (&'static str, String)> {
        let rounding = self.rounding;
        let redundancy = match self.redundancy {
            NcRedundancy::Fixed(factor) => CombinationRate::Fixed { factor, rounding },
            NcRedundancy::Rule => CombinationRate::Rule { window: flow.window, loss: MaskedLoss::Estimated, rounding },
            NcRedundancy::Auto => CombinationRate::Adaptive,
        };
        let window = match (self.window_last, self.window_oldest) {
            (None, None) => CodingWindow::Whole,
            (Some(last), None) => CodingWindow::Last(last),
            (None, Some(oldest)) => CodingWindow::Oldest(oldest),
            (Some(_), Some(_)) => {
                return Err(("window-oldest", "`window-last` is set as well; remove one of the two".into()));
            }
        };
        let session = NcConfig {
            redundancy,
            window,
            retransmissions: self.retransmissions,
            acknowledge: self.acknowledge,
            coef_bytes: self.coef_bytes,
            ..NcConfig::default()
        };
        session.check().map_err(|error| (self.field_of(&error), error.to_string()))?;
        Ok(NcLayer { session, relays: self.relays(nodes, losses)? })
    }

    /// The field in the file that caused this error.
    fn field_of(&self, error: &NcConfigError) -> &'static str {
        match error {
            NcConfigError::Window if self.window_last.is_some() => "window-last",
            NcConfigError::Window => "window-oldest",
            NcConfigError::CoefBytes(_) => "coef-bytes",
            NcConfigError::RuleWindow(_) | NcConfigError::Ahead(_) => "redundancy",
        }
    }

    /// The relays. Each entry has the number of links before the relay, and how many combinations the relay sends for
    /// each combination that arrives.
    fn relays(&self, nodes: &[String], losses: &[f64]) -> Result<Vec<(usize, Factor)>, (&'static str, String)> {
        let inner = &nodes[1..nodes.len() - 1];
        if self.recode == Recode::EndToEnd && !self.recode_at.is_empty() {
            return Err((
                "recode-at",
                "no node re-encodes from end to end; set `recode` to \"relay\" or \"per-hop\"".into(),
            ));
        }
        if let Some(stranger) = self.recode_at.iter().find(|name| !inner.contains(name)) {
            return Err((
                "recode-at",
                format!("`{stranger}` is not between the ends of the flow; write one of {}", inner.join(", ")),
            ));
        }
        let here = |name: &String| self.recode_at.is_empty() || self.recode_at.contains(name);
        let too_lossy = |name: &String, loss: f64| {
            let problem = format!(
                "behind `{name}` {} % of the packets are lost, and no relay makes up for such a loss; write \"relay\", or a lower loss",
                100.0 * loss
            );
            ("recode", problem)
        };
        let mut relays = Vec::new();
        for (k, name) in inner.iter().enumerate().filter(|(_, name)| here(name)) {
            let loss = losses[k + 1];
            let factor = match self.recode {
                Recode::EndToEnd => continue,
                Recode::Relay => Factor::ONE,
                Recode::PerHop => Factor::new(1.0 / (1.0 - loss)).ok_or_else(|| too_lossy(name, loss))?,
            };
            relays.push((k + 1, factor));
        }
        Ok(relays)
    }
}

impl Scenario {
    /// The coding layer of flow `index`, whose data passes the directed links `there`.
    pub(in crate::scenario) fn nc_config(&self, index: usize, there: &[Leg]) -> Result<Option<NcLayer>, ScenarioError> {
        let flow = &self.flow[index];
        let Some(nc) = &flow.nc else { return Ok(None) };
        if flow.tunnel.is_some() {
            let problem = "the tunnel codes the flow already; remove `nc` or `tunnel`";
            return refuse(format!("flow[{index}].nc"), problem);
        }
        let mut nodes = vec![flow.from.clone()];
        let mut losses = Vec::with_capacity(there.len());
        for leg in there {
            nodes.push(self.end_of(*leg).to_owned());
            losses.push(match leg {
                Leg::Wired(link) => self.direction(*link).loss.mean(),
                Leg::Radio { .. } => 0.0,
            });
        }
        let wrong = |(field, problem)| ScenarioError::new(format!("flow[{index}].nc.{field}"), problem);
        nc.config(flow, &nodes, &losses).map(Some).map_err(wrong)
    }
}
