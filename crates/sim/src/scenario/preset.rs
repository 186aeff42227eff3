//! Scenarios that the papers use again and again.

use super::{FlowSpec, LinkSpec, RunSpec, Scenario, TunnelSpec};
use ripstop_link::LinkConfig;

/// Paper 000, fig. 8: sources at one end of a chain of equal links, sinks at the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Tandem {
    /// How it is run and measured.
    pub run: RunSpec,
    /// How many links there are.
    pub hops: u32,
    /// Each of them, in the direction of the data.
    pub forth: LinkConfig,
    /// And in the other.
    pub back: LinkConfig,
    /// The flows; their ends are set to those of the chain.
    pub flows: Vec<FlowSpec>,
    /// The tunnel that carries them all, from one end of the chain to the other; its ends are set too.
    pub tunnel: Option<TunnelSpec>,
}

impl Tandem {
    /// The scenario: nodes `n0`, `n1`, ... and the flows from the first to the last.
    pub fn scenario(&self) -> Scenario {
        let node = |k: u32| format!("n{k}");
        let link = |k: u32| LinkSpec {
            between: [node(k), node(k + 1)],
            forth: self.forth.clone(),
            back: (self.back != self.forth).then(|| self.back.clone()),
            one_way: false,
        };
        let name = self.tunnel.as_ref().map(|tunnel| tunnel.name.clone());
        let flow = |flow: &FlowSpec| FlowSpec {
            from: node(0),
            to: node(self.hops),
            tunnel: name.clone(),
            ..flow.clone()
        };
        let tunnel =
            |tunnel: &TunnelSpec| TunnelSpec { between: [node(0), node(self.hops)], ..tunnel.clone() };
        Scenario {
            run: self.run.clone(),
            link: (0..self.hops).map(link).collect(),
            tunnel: self.tunnel.iter().map(tunnel).collect(),
            flow: self.flows.iter().map(flow).collect(),
        }
    }
}
