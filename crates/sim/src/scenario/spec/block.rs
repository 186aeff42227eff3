//! The settings of a block code without feedback in a scenario (paper 003), and the path of a flow through it.

use super::{FlowSpec, Scenario};
use crate::scenario::error::{ScenarioError, refuse};
use crate::scenario::routes::Leg;
use ripstop_base::Span;
use ripstop_proto::session::block::BlockConfig;
use serde::{Deserialize, Serialize};

/// A block code on the last links of a connection's route. Each K packets are sent as N packets, and any K of the N packets
/// restore the block. Unlike the key `fec` of a link, the code repairs losses of whole packets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BlockSpec {
    /// The node where packets enter the code. The links before the node carry the packets as they are.
    pub at: String,
    /// K: packets of a block, 1 to 255.
    pub k: u8,
    /// N: packets that are sent for a block, K to 255.
    pub n: u8,
    /// How long the code waits for the next packet before it ends a block that is not full. It should be at least the time
    /// of N packets on the link.
    pub flush: Span,
}

impl BlockSpec {
    /// The settings of the code.
    pub fn config(&self) -> BlockConfig {
        BlockConfig { k: self.k, n: self.n, flush: self.flush.duration() }
    }
}

/// The ways of a flow with a block code.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::scenario) struct BlockPath {
    /// The legs that data takes to the block code.
    pub(in crate::scenario) before: Vec<Leg>,
    /// The legs that data takes in blocks.
    pub(in crate::scenario) after: Vec<Leg>,
    /// The settings.
    pub(in crate::scenario) code: BlockConfig,
}

impl Scenario {
    /// The path of flow `index` through its block code. None if the flow has no block code. `there` are the legs of the
    /// flow's route.
    pub(in crate::scenario) fn block_path(
        &self,
        index: usize,
        there: &[Leg],
    ) -> Result<Option<BlockPath>, ScenarioError> {
        let flow = &self.flow[index];
        let Some(spec) = &flow.block else { return Ok(None) };
        let wrong = |field: &str, problem: String| refuse(format!("flow[{index}].{field}"), problem);
        if let Some(field) = other_carrier(flow) {
            return wrong("block", format!("a block code takes plain TCP flows; remove `block` or `{field}`"));
        }
        if flow.source.transfers() {
            let problem = "a block code takes flows with packets of one size; leave out `source`, or remove `block`";
            return wrong("block", problem.into());
        }
        let code = spec.config();
        code.check().map_err(|error| ScenarioError::new(format!("flow[{index}].block"), error.to_string()))?;
        let behind = match flow.from == spec.at {
            true => Some(0),
            false => there.iter().position(|leg| self.end_of(*leg) == spec.at).map(|leg| leg + 1),
        };
        let Some(behind) = behind.filter(|behind| *behind < there.len()) else {
            let problem =
                format!("the route does not go on from `{}`; write a node on the route before its end", spec.at);
            return wrong("block.at", problem);
        };
        let (before, after) = there.split_at(behind);
        Ok(Some(BlockPath { before: before.to_vec(), after: after.to_vec(), code }))
    }
}

/// The field of a flow that excludes a block code, if there is one.
fn other_carrier(flow: &FlowSpec) -> Option<&'static str> {
    let fields = [
        ("tunnel", flow.tunnel.is_some()),
        ("nc", flow.nc.is_some()),
        ("gateway", flow.gateway.is_some()),
        ("udp", flow.udp.is_some()),
    ];
    fields.into_iter().find(|(_, is_written)| *is_written).map(|(field, _)| field)
}
