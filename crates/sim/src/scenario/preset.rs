//! Scenarios that the papers use again and again.

use super::{FlowSpec, LinkSpec, RunSpec, Scenario};
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
        let flow =
            self.flows.iter().cloned().map(|flow| FlowSpec { from: node(0), to: node(self.hops), ..flow });
        Scenario { run: self.run.clone(), link: (0..self.hops).map(link).collect(), flow: flow.collect() }
    }
}
