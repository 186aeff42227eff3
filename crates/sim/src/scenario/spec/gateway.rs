//! The gateways of TCP/LT in a scenario (paper 004), and the flows that pass them.

use super::{FlowSpec, Scenario};
use crate::scenario::error::{ScenarioError, refuse};
use crate::scenario::routes::Leg;
use crate::world::LtLayer;
use ripstop_base::{Rate, Span, word};
use ripstop_codes::lt::{LtCode, RobustSoliton};
use ripstop_schemes::lt::{BlockCode, FirstRound, FlowShare, LtConfig, LtConfigError, MAX_BLOCK};

use ripstop_schemes::nc::Factor;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The mode of TCP/LT and the size of a block, which [`GatewaySpec`] takes.
pub use ripstop_schemes::lt::{BlockSize, LtMode};

/// A gateway between wired links and lossy paths. Its clients are at the ends of the lossy paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GatewaySpec {
    /// The name of the gateway.
    #[serde(default = "usual_name")]
    pub name: String,
    /// The node where the gateway is.
    pub at: String,
    /// The nodes that have the clients' side of TCP/LT.
    pub clients: Vec<String>,
    /// C_g: the rate that all flows of the gateway share. If left out, flows have no rate: the paper's modes then have
    /// one block in flight, and the improved mode does not pace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Rate>,
    /// The protocol: `improved`, `repaired` or `paper`.
    #[serde(default)]
    pub mode: LtMode,
    /// K, the packets of a block: 1 to 64, or `auto`.
    #[serde(default = "usual_block", with = "word")]
    pub block: BlockWord,
    /// The code of a block; `systematic` when left out, `optimised` in the paper's modes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeName>,
    /// R, the symbols sent at first for each packet of a block: `auto`, or 1 to 100.
    #[serde(default, with = "word", skip_serializing_if = "RedundancyWord::is_auto")]
    pub redundancy: RedundancyWord,
    /// Packets that an improved sender acknowledges to TCP before they are in a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<u32>,
    /// The largest number of packets of a flow that an improved sender has in flight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
    /// How long a receiver of the paper's modes waits for the next packet of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiving_timer: Option<Span>,
}

/// The code of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CodeName {
    /// The systematic LT code.
    Systematic,
    /// The LT code with the table of degrees that is optimised for the block size.
    Optimised,
    /// The LT code with the robust soliton distribution, c = .1 and delta = .05.
    Soliton,
    /// A systematic random linear code over GF(256).
    Rlnc,
    /// A systematic MDS code over GF(256).
    Block,
}

impl CodeName {
    /// The code.
    pub fn code(self) -> BlockCode {
        match self {
            CodeName::Systematic => BlockCode::Lt(LtCode::Systematic),
            CodeName::Optimised => BlockCode::Lt(LtCode::Optimised),
            CodeName::Soliton => BlockCode::Lt(LtCode::Soliton(RobustSoliton::default())),
            CodeName::Rlnc => BlockCode::Rlnc,
            CodeName::Block => BlockCode::Mds,
        }
    }
}

/// The size of a block, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockWord(pub BlockSize);

impl FromStr for BlockWord {
    type Err = String;

    fn from_str(text: &str) -> Result<BlockWord, String> {
        if text == "auto" {
            return Ok(BlockWord(BlockSize::Auto));
        }
        let size = text.parse().ok().filter(|k| (1..=MAX_BLOCK as u8).contains(k)).map(BlockSize::Fixed);
        size.map(BlockWord)
            .ok_or_else(|| format!("`{text}` is not the size of a block; write 1 to {MAX_BLOCK} packets, or \"auto\""))
    }
}

impl fmt::Display for BlockWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            BlockSize::Fixed(k) => k.fmt(f),
            BlockSize::Auto => f.write_str("auto"),
        }
    }
}

/// The redundancy of the first round, as it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedundancyWord(pub FirstRound);

impl RedundancyWord {
    fn is_auto(&self) -> bool {
        self.0 == FirstRound::Measured
    }
}

impl FromStr for RedundancyWord {
    type Err = String;

    fn from_str(text: &str) -> Result<RedundancyWord, String> {
        match text {
            "auto" => Ok(RedundancyWord(FirstRound::Measured)),
            other => other.parse().ok().and_then(Factor::new).map(|factor| RedundancyWord(FirstRound::Fixed(factor))).ok_or_else(
                || format!("`{other}` is not a redundancy; write \"auto\", or the symbols sent per packet, 1 to 100, such as 1.2"),
            ),
        }
    }
}

impl fmt::Display for RedundancyWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            FirstRound::Measured => f.write_str("auto"),
            FirstRound::Fixed(factor) => factor.fmt(f),
        }
    }
}

fn usual_name() -> String {
    "gateway".to_owned()
}

fn usual_block() -> BlockWord {
    BlockWord(LtConfig::new(LtMode::default()).block)
}

impl GatewaySpec {
    /// A gateway at node `at` for the client `client`, with default settings.
    pub fn new(at: &str, client: &str) -> GatewaySpec {
        GatewaySpec {
            name: usual_name(),
            at: at.to_owned(),
            clients: vec![client.to_owned()],
            capacity: None,
            mode: LtMode::default(),
            block: usual_block(),
            code: None,
            redundancy: RedundancyWord::default(),
            buffer: None,
            in_flight: None,
            receiving_timer: None,
        }
    }

    /// The settings of the sessions of a flow whose packets have `packet_bytes` bytes of payload.
    pub fn config(&self, packet_bytes: u32) -> LtConfig {
        let usual = LtConfig::new(self.mode);
        LtConfig {
            code: self.code.map_or(usual.code, CodeName::code),
            block: self.block.0,
            first_round: self.redundancy.0,
            packet_bytes,
            buffer: self.buffer.unwrap_or(usual.buffer),
            window: self.in_flight.unwrap_or(usual.window),
            receiving_timer: self.receiving_timer.map_or(usual.receiving_timer, Span::duration),
            ..usual
        }
    }

    /// Checks the settings. An error has the field and the problem.
    pub(in crate::scenario) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.clients.is_empty() {
            return Err(("clients", "a gateway without clients has no flows; name the nodes of its clients".into()));
        }
        if self.clients.contains(&self.at) {
            return Err(("clients", format!("`{}` is the gateway itself; name other nodes", self.at)));
        }
        if self.capacity.is_some_and(|capacity| capacity.bps() == 0) {
            return Err(("capacity", "flows cannot share a rate of 0; write for example `273kbit/s`".into()));
        }
        let improves = self.mode == LtMode::Improved;
        for (field, is_written) in [("buffer", self.buffer.is_some()), ("in-flight", self.in_flight.is_some())] {
            if is_written && !improves {
                return Err((field, format!("only the mode `improved` uses `{field}`; remove it")));
            }
        }
        if self.receiving_timer.is_some() && improves {
            return Err(("receiving-timer", "the mode `improved` has no receiving timer; remove it".into()));
        }
        if self.receiving_timer.is_some_and(|timer| timer.duration().is_zero()) {
            return Err((
                "receiving-timer",
                "a timer of 0 s sends LT-ACKs without end; write for example `200ms`".into(),
            ));
        }
        let field = |error: &LtConfigError| match error {
            LtConfigError::Block(_) | LtConfigError::Auto => "block",
            LtConfigError::Limit { field: "window", .. } => "in-flight",
            LtConfigError::Limit { .. } | LtConfigError::Buffer { .. } => "buffer",
            LtConfigError::PacketBytes => "name",
        };
        self.config(1).check().map_err(|error| (field(&error), error.to_string()))
    }
}

/// The path of a flow through a gateway.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::scenario) struct GatewayPath {
    /// The number of the gateway.
    pub(in crate::scenario) gateway: usize,
    /// Whether the client sends.
    pub(in crate::scenario) is_upload: bool,
    /// The wired legs that data takes, and the wired legs of the opposite direction.
    pub(in crate::scenario) wired: [Vec<Leg>; 2],
    /// The legs between gateway and client that data takes, and the legs of the opposite direction.
    pub(in crate::scenario) lossy: [Vec<Leg>; 2],
}

impl Scenario {
    /// The path of flow `index` through its gateway. None if the flow has no gateway. `legs` are the legs of the flow's
    /// route, there and back.
    pub(in crate::scenario) fn gateway_path(
        &self,
        index: usize,
        legs: &[Vec<Leg>; 2],
    ) -> Result<Option<GatewayPath>, ScenarioError> {
        let flow = &self.flow[index];
        let Some(name) = &flow.gateway else { return Ok(None) };
        let wrong = |field: &str, problem: String| refuse(format!("flow[{index}].{field}"), problem);
        let Some(number) = self.gateway.iter().position(|gateway| gateway.name == *name) else {
            return wrong("gateway", format!("there is no gateway `{name}`; add a section [[gateway]]"));
        };
        for (field, is_written) in
            [("tunnel", flow.tunnel.is_some()), ("nc", flow.nc.is_some()), ("udp", flow.udp.is_some())]
        {
            if is_written {
                return wrong("gateway", format!("a gateway takes plain TCP flows; remove `gateway` or `{field}`"));
            }
        }
        if flow.ack_every > 1 {
            return wrong("ack-every", "the gateway acknowledges every packet; remove `ack-every` or `gateway`".into());
        }
        if flow.acks_out_of_band {
            return wrong(
                "acks-out-of-band",
                "the gateway acknowledges; remove `acks-out-of-band` or `gateway`".into(),
            );
        }
        let gateway = &self.gateway[number];
        let is_upload = match (gateway.clients.contains(&flow.from), gateway.clients.contains(&flow.to)) {
            (false, true) => false,
            (true, false) => true,
            (true, true) => return wrong("gateway", "both ends are clients of the gateway; remove `gateway`".into()),
            (false, false) => {
                let clients = gateway.clients.join(", ");
                return wrong(
                    "gateway",
                    format!("no end of the flow is a client of `{name}`; the clients are {clients}"),
                );
            }
        };
        let [there, back] = legs;
        let split = |legs: &[Leg]| {
            let at = legs.iter().position(|leg| self.end_of(*leg) == gateway.at);
            at.filter(|at| at + 1 < legs.len()).map(|at| (legs[..=at].to_vec(), legs[at + 1..].to_vec()))
        };
        let (Some((first, second)), Some((back_first, back_second))) = (split(there), split(back)) else {
            let problem =
                format!("the route does not pass the gateway at `{}`; add links, or write a `route`", gateway.at);
            return wrong("gateway", problem);
        };
        let halves = [[first, back_second], [second, back_first]];
        let [wired, lossy] = if is_upload {
            let [client, host] = halves;
            [host, client]
        } else {
            halves
        };
        Ok(Some(GatewayPath { gateway: number, is_upload, wired, lossy }))
    }

    /// The settings of flow `index`, which takes the path `path`. `gateway` is the number of the gateway in the world,
    /// if the gateway has a capacity.
    pub(in crate::scenario) fn gateway_layer(
        &self,
        flow: &FlowSpec,
        path: &GatewayPath,
        gateway: Option<usize>,
    ) -> LtLayer {
        let session = self.gateway[path.gateway].config(flow.packet.get() as u32);
        let share = FlowShare { weight: flow.weight.unwrap_or(1.0), cap: flow.cap.map(|cap| cap.bps()) };
        LtLayer { session, gateway, share, is_upload: path.is_upload }
    }
}
