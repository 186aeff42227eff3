//! Scenarios that the papers use repeatedly: a chain of links, and a link with a block code. A block code sends packets
//! in small units of equal size, and protects blocks of K units.

use super::{FlowSpec, LinkSpec, RunSpec, Scenario, SourceSpec, TunnelSpec};
use ripstop_base::{Bytes, QueueLimit, Rate, Span};
use ripstop_link::{Fec, LinkConfig, Loss};

/// Paper 000, fig. 8: sources at one end of a chain of equal links, sinks at the other end.
#[derive(Clone, Debug, PartialEq)]
pub struct Tandem {
    /// How the scenario is run and measured.
    pub run: RunSpec,
    /// The number of links.
    pub hops: u32,
    /// The settings of every link in the direction of the data.
    pub forth: LinkConfig,
    /// The settings of every link in the other direction.
    pub back: LinkConfig,
    /// The flows. The preset sets the flows' ends to the ends of the chain. A flow of answers goes from the last node
    /// to the first, and other flows go from the first node to the last.
    pub flows: Vec<FlowSpec>,
    /// The tunnel that carries all flows between the ends of the chain. The preset also sets the tunnel's ends.
    pub tunnel: Option<TunnelSpec>,
}

impl Tandem {
    /// The scenario, with nodes `n0`, `n1`, ... and the flows between the ends.
    pub fn scenario(&self) -> Scenario {
        let node = |k: u32| format!("n{k}");
        let back = || (self.back != self.forth).then(|| self.back.clone());
        let link = |k: u32| LinkSpec::new([node(k), node(k + 1)], self.forth.clone(), back());
        let name = self.tunnel.as_ref().map(|tunnel| tunnel.name.clone());
        let flow = |flow: &FlowSpec| {
            // Answers go from the last node to the first.
            let answers = matches!(flow.source, SourceSpec::Answers { .. });
            let (from, to) = if answers { (self.hops, 0) } else { (0, self.hops) };
            FlowSpec { from: node(from), to: node(to), tunnel: name.clone(), ..flow.clone() }
        };
        let tunnel = |tunnel: &TunnelSpec| TunnelSpec { between: [node(0), node(self.hops)], ..tunnel.clone() };
        Scenario {
            run: self.run.clone(),
            link: (0..self.hops).map(link).collect(),
            medium: Vec::new(),
            tunnel: self.tunnel.iter().map(tunnel).collect(),
            gateway: Vec::new(),
            flow: self.flows.iter().map(flow).collect(),
            expect: Vec::new(),
        }
    }
}

/// Paper 003, section 4.3: a sender, a link with a block code, and a receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct FecPath {
    /// How the scenario is run and measured.
    pub run: RunSpec,
    /// The block code, and the loss of units on the channel.
    pub fec: Fec,
    /// Units that the channel carries per second.
    pub units_per_s: u64,
    /// Round-trip time without queueing and serialisation; each direction has half of it.
    pub rtt: Span,
    /// The limit of the link's queue.
    pub queue: QueueLimit,
    /// Losses of whole packets elsewhere on the path.
    pub other_loss: Loss,
    /// The number of code blocks that a packet fills.
    pub packet_blocks: u32,
    /// The flow. The preset sets the flow's ends to the ends of the link. It sets the packet size so that a packet with
    /// its headers fills `packet_blocks` blocks.
    pub flow: FlowSpec,
}

impl FecPath {
    /// The scenario, with nodes `sender` and `receiver`. Acknowledgements return without loss and without a rate limit.
    pub fn scenario(&self) -> Scenario {
        let unit = self.fec.unit.get();
        let delay = Span::from(self.rtt.duration() / 2);
        let forth = LinkConfig {
            rate: Rate::from_bps(self.units_per_s.saturating_mul(8).saturating_mul(unit)),
            delay,
            queue: Some(self.queue),
            fec: Some(self.fec.clone()),
            loss: self.other_loss.clone(),
            ..LinkConfig::default()
        };
        let ends = ["sender", "receiver"].map(str::to_owned);
        let bytes = u64::from(self.packet_blocks) * u64::from(self.fec.k) * unit;
        let flow = FlowSpec {
            from: ends[0].clone(),
            to: ends[1].clone(),
            packet: Bytes::new(bytes.saturating_sub(self.flow.header_bytes())),
            ..self.flow.clone()
        };
        Scenario {
            run: RunSpec { unit: Some(self.fec.unit), ..self.run.clone() },
            link: vec![LinkSpec::new(ends, forth, Some(LinkConfig { delay, ..LinkConfig::default() }))],
            medium: Vec::new(),
            tunnel: Vec::new(),
            gateway: Vec::new(),
            flow: vec![flow],
            expect: Vec::new(),
        }
    }
}
