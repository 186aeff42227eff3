//! The parts of a scenario, as they are written in a file. `nc`, `source` and `udp` have the larger parts of a flow.

mod former;
mod gateway;
mod ideal;
mod medium;
mod nc;
mod source;
mod udp;

pub use former::FormerBlock;
pub use gateway::{BlockSize, BlockWord, CodeName, GatewaySpec, LtMode, RedundancyWord};
pub use ideal::{AccessName, IdealLinkSpec, IdealSpec};
pub use medium::{AdaptiveSpec, BackoffName, CadenceSpec, KSpec, LearnedWord, MediumPreset, MediumSpec, StationSpec};
pub use nc::{NcRedundancy, NcSpec, Recode};
/// The code of a tunnel and its settings, which [`TunnelSpec`] takes.
pub use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
pub use source::SourceSpec;
pub use udp::UdpSpec;

use crate::tcp::{Reassembly, SenderConfig, Variant, VegasConfig};
use crate::world::{Hosts, TcpConfig, UDP_IP_HEADERS};
use ripstop_base::{Bytes, Rate, Span, Time, word};
use ripstop_link::LinkConfig;
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::control::rate::Tuning;
use ripstop_proto::control::redundancy::Redundancy;
use ripstop_proto::session::tunnel::TunnelConfig;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// A network, its traffic, and how it is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// How the scenario is run and measured.
    pub run: RunSpec,
    /// Links between nodes. A node exists when a link or a medium names it.
    pub link: Vec<LinkSpec>,
    /// Media that stations share.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub medium: Vec<MediumSpec>,
    /// Tunnels between nodes, which carry flows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tunnel: Vec<TunnelSpec>,
    /// Gateways of TCP/LT, which flows pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateway: Vec<GatewaySpec>,
    /// Connections and sources of datagrams.
    pub flow: Vec<FlowSpec>,
    /// Expectations of the result.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectSpec>,
}

impl Scenario {
    /// The settings of link direction `index`. Link k has the indices 2k (`forth`) and 2k + 1 (the other direction).
    pub(super) fn direction(&self, index: usize) -> &LinkConfig {
        let link = &self.link[index / 2];
        link.back.as_ref().filter(|_| index % 2 == 1).unwrap_or(&link.forth)
    }
}

/// How a scenario is run and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Virtual time of a run, warm-up included.
    pub duration: Span,
    /// Time at the start of a run that is not measured.
    pub warmup: Span,
    /// Number of independent runs.
    pub runs: u32,
    /// Master seed. The randomness of run k follows from the seed and k.
    pub seed: u64,
    /// The longest delay of each flow's start. The delay is drawn uniformly, so that runs without random losses differ
    /// in their phases, as real runs do. The delay is never more than half of the time from the written start to the
    /// end of the flow or run. A flow of answers has no delay.
    ///
    /// The default is the time of the flow's full packet on the slowest link of its way. `0s` starts every flow of
    /// every run at its written start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_jitter: Option<Span>,
    /// Intervals that are measured separately, each from its first time to its second time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<[Span; 2]>,
    /// If set, throughput is also measured in units of this number of bytes (paper 003). The headers of IP and TCP
    /// count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Bytes>,
    /// If set, a series over time is also measured. The run is cut into pieces of this length, from its start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Span>,
}

impl Default for RunSpec {
    /// Ten runs of 1000 s, without warm-up.
    fn default() -> RunSpec {
        RunSpec {
            duration: Span::from(Duration::from_secs(1000)),
            warmup: Span::from(Duration::ZERO),
            runs: 10,
            seed: 1,
            start_jitter: None,
            intervals: Vec::new(),
            unit: None,
            sample: None,
        }
    }
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkSpec {
    /// The nodes at the ends. The first node sends over `forth`.
    pub between: [String; 2],
    /// The direction from the first node to the second.
    #[serde(default, serialize_with = "without_defaults::link")]
    pub forth: LinkConfig,
    /// The other direction; equal to `forth` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "without_defaults::way_back")]
    pub back: Option<LinkConfig>,
    /// Whether the link has only the direction `forth`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
    /// The name of the link's random streams; named by its number when left out. Two scenarios with one seed lose the
    /// same packets on links with the same stream. The only link of a scenario has the stream `link`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
}

impl LinkSpec {
    /// A link with the settings `forth` and `back` between two nodes.
    pub fn new(between: [String; 2], forth: LinkConfig, back: Option<LinkConfig>) -> LinkSpec {
        LinkSpec { between, forth, back, one_way: false, stream: None }
    }
}

/// Writes links without the settings that have their default value.
mod without_defaults {
    use ripstop_link::LinkConfig;
    use serde::ser::{Error, Serialize, Serializer};

    pub(super) fn link<S: Serializer>(config: &LinkConfig, to: S) -> Result<S::Ok, S::Error> {
        let table = |config: &LinkConfig| toml::Table::try_from(config).map_err(S::Error::custom);
        let (mut said, usual) = (table(config)?, table(&LinkConfig::default())?);
        said.retain(|name, value| usual.get(name) != Some(&*value));
        said.serialize(to)
    }

    pub(super) fn way_back<S: Serializer>(config: &Option<LinkConfig>, to: S) -> Result<S::Ok, S::Error> {
        match config {
            Some(config) => link(config, to),
            None => to.serialize_none(),
        }
    }
}

/// The shipped tunnel session between two nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TunnelSpec {
    /// The name of the tunnel.
    #[serde(default = "defaults::tunnel")]
    pub name: String,
    /// The nodes at the ends. Flows may use the tunnel in both directions.
    pub between: [String; 2],
    /// The code of both ends: `window`, `block`, or a table such as `{ block = { k = 32, n = 40 } }`. With a block code,
    /// K packets are followed by N - K repairs of them, and nothing is sent again. If N is left out, it follows the
    /// measured losses.
    #[serde(default, with = "ripstop_proto::coding::written", skip_serializing_if = "is_window")]
    pub code: Code,
    /// How many repairs are sent before a loss is reported. The value is `adaptive`, `none`, or the number of packets
    /// sent for each packet, such as `1.25`. A block code ignores it.
    #[serde(default, with = "word")]
    pub redundancy: Redundancy,
    /// Rate control: `fair`, `strict`, `scavenge`, or a fixed rate.
    #[serde(default = "defaults::rate", with = "word")]
    pub rate: RateMode,
    /// How long the receiver waits for a packet before it gives the packet up. If left out, the time is derived from
    /// the path. `patience` is the former name.
    #[serde(default, alias = "patience", skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// The path's MTU: the largest datagram, IP header included.
    #[serde(default = "defaults::mtu")]
    pub mtu: Bytes,
    /// Constants of the adaptive rate controller that differ from their defaults, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tuning: BTreeMap<String, f64>,
    /// Whether the tunnel's datagrams are ECN-capable, so that links mark them instead of dropping them, and the tunnel
    /// slows down.
    #[serde(default = "defaults::tunnel_ecn", skip_serializing_if = "Clone::clone")]
    pub ecn: bool,
}

/// Whether a code is the one that a file may leave out.
fn is_window(code: &Code) -> bool {
    *code == Code::Window
}

impl TunnelSpec {
    /// A tunnel between two nodes with default settings.
    pub fn new(name: &str, a: &str, b: &str) -> TunnelSpec {
        TunnelSpec {
            name: name.to_owned(),
            between: [a.to_owned(), b.to_owned()],
            code: Code::Window,
            redundancy: Redundancy::default(),
            rate: defaults::rate(),
            deadline: None,
            mtu: defaults::mtu(),
            tuning: BTreeMap::new(),
            ecn: defaults::tunnel_ecn(),
        }
    }

    /// The constants of the rate controller.
    ///
    /// # Errors
    /// A name or a value in `tuning` is wrong. The error is a sentence.
    pub fn controller_tuning(&self) -> Result<Tuning, String> {
        let mut tuning = Tuning::default();
        for (name, value) in &self.tuning {
            tuning.set(name, *value)?;
        }
        Ok(tuning)
    }

    /// The configuration of the session.
    pub fn config(&self) -> TunnelConfig {
        TunnelConfig {
            path_mtu: self.mtu.get() as u32,
            code: self.code,
            redundancy: self.redundancy,
            rate: self.rate,
            deadline: self.deadline.map(Span::duration),
            tuning: self.controller_tuning().unwrap_or_default(),
            ecn: self.ecn,
            ..TunnelConfig::default()
        }
    }
}

/// A TCP connection or a source of UDP datagrams, or several equal connections or sources.
///
/// A *modern* TCP works as in today's kernels ([`Variant::is_modern`]). The other TCPs work as in ns-2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowSpec {
    /// The name of the flow. If `count` is above 1, each connection's name has a number after it.
    #[serde(default = "defaults::name")]
    pub name: String,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// The name of the tunnel that carries the flow; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
    /// The coding layer below TCP; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nc: Option<NcSpec>,
    /// Refused: a block code is the `code` of a tunnel.
    #[serde(default, skip_serializing)]
    pub block: FormerBlock,
    /// The name of the gateway that carries the flow in blocks (TCP/LT); none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<String>,
    /// The flow's weight in the shares of the gateway; 1 when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// The highest rate that the gateway gives to the flow; no limit when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Rate>,
    /// The nodes that data passes, ends included. If the list is left out, data takes the route with the fewest hops.
    /// Acknowledgements return on the same route if all its links have both directions. Otherwise acknowledgements take
    /// the route with the fewest hops.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// The number of equal connections or sources.
    #[serde(default = "defaults::one")]
    pub count: u32,
    /// Congestion control.
    #[serde(default)]
    pub tcp: Variant,
    /// Whether the TCP is ECN-capable (RFC 3168): links mark its packets instead of dropping them, and its sender reacts
    /// to marks as to losses. Only modern TCPs. BBR ignores marks, as version 1 does in Linux.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
    /// The receiver's window in packets.
    #[serde(default = "defaults::window")]
    pub window: u32,
    /// The initial congestion window in packets; 2 when left out, 10 for modern TCPs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// Payload of a packet. Headers add 40 bytes. They add 52 bytes for modern TCPs without `nc`, 28 bytes for UDP, and
    /// no bytes for Vegas.
    #[serde(default = "defaults::packet")]
    pub packet: Bytes,
    /// The least retransmission time-out, before back-off; 200 ms when left out. For modern TCPs this is the least time
    /// that the time-out adds to the round-trip time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_min: Option<Span>,
    /// The greatest time-out; 60 s when left out, 120 s for modern TCPs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_max: Option<Span>,
    /// The tick of the clock that measures round trips; 10 ms when left out. Modern TCPs measure exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<Span>,
    /// The thresholds of Vegas. If left out, they are 28, 30 and 2, as for paper 000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vegas: Option<VegasConfig>,
    /// The number of packets for each acknowledgement. An acknowledgement is delayed at most 100 ms, or 40 ms for
    /// modern TCPs.
    #[serde(default = "defaults::one")]
    pub ack_every: u32,
    /// Whether acknowledgements reach the sender without passing any link, and without delay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acks_out_of_band: bool,
    /// What the receiver does with packets out of order.
    #[serde(default)]
    pub receiver: Reassembly,
    /// The source of UDP datagrams; the flow is a TCP connection when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpSpec>,
    /// The data to send; without end when left out.
    #[serde(default, skip_serializing_if = "SourceSpec::is_endless")]
    pub source: SourceSpec,
    /// When the flow starts.
    #[serde(default = "defaults::start")]
    pub start: Span,
    /// When the flow stops sending new data; never when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Span>,
}

impl FlowSpec {
    /// A connection between two nodes with default settings: endless data, NewReno.
    pub fn new(from: &str, to: &str) -> FlowSpec {
        FlowSpec {
            name: defaults::name(),
            from: from.to_owned(),
            to: to.to_owned(),
            tunnel: None,
            nc: None,
            block: FormerBlock,
            gateway: None,
            weight: None,
            cap: None,
            route: Vec::new(),
            count: 1,
            tcp: Variant::default(),
            ecn: false,
            window: defaults::window(),
            initial_window: None,
            packet: defaults::packet(),
            rto_min: None,
            rto_max: None,
            tick: None,
            vegas: None,
            ack_every: 1,
            acks_out_of_band: false,
            receiver: Reassembly::default(),
            udp: None,
            source: SourceSpec::default(),
            start: defaults::start(),
            stop: None,
        }
    }

    /// The names of the connections.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.count).map(|k| if self.count == 1 { self.name.clone() } else { format!("{}{k}", self.name) })
    }

    /// The sender's settings: the defaults of the TCP, and the fields that the file sets.
    pub fn sender(&self) -> SenderConfig {
        let usual = if self.tcp.is_modern() { SenderConfig::linux() } else { SenderConfig::default() };
        let initial_window = self.initial_window.unwrap_or(usual.initial_window);
        let mut sender = SenderConfig { window: self.window, initial_window, ecn: self.ecn, ..usual };
        let span = |given: Option<Span>, usual: Duration| given.map_or(usual, Span::duration);
        sender.rto.min = span(self.rto_min, usual.rto.min);
        sender.rto.max = span(self.rto_max, usual.rto.max);
        sender.rto.tick = span(self.tick, usual.rto.tick);
        sender.vegas = self.vegas.unwrap_or(VegasConfig::LOSSY);
        sender
    }

    /// The model of the hosts: a modern TCP has kernels at both ends. With TCP/NC and with a gateway the hosts are agents,
    /// because the coding layer or the gateway acknowledges in place of the receiver.
    pub fn hosts(&self) -> Hosts {
        if self.tcp.is_modern() && self.nc.is_none() && self.gateway.is_none() { Hosts::Kernels } else { Hosts::Agents }
    }

    /// Bytes of a full packet on the path, headers included.
    pub fn packet_bytes(&self) -> u64 {
        self.packet.get().saturating_add(self.header_bytes())
    }

    /// Bytes of a packet's headers.
    pub fn header_bytes(&self) -> u64 {
        match self.udp {
            Some(_) => u64::from(UDP_IP_HEADERS),
            None => u64::from(self.hosts().packet_bytes(self.tcp, 1, 0)),
        }
    }

    /// The configuration of the simulated connection.
    pub fn config(&self) -> TcpConfig {
        TcpConfig {
            variant: self.tcp,
            sender: self.sender(),
            reassembly: self.receiver,
            hosts: self.hosts(),
            ack_every: self.ack_every,
            payload: self.packet.get() as u32,
            pattern: self.source.pattern(),
            start: Time::ZERO + self.start.duration(),
            stop: self.stop(),
        }
    }

    /// Whether the flow sends transfers that have an end.
    pub(super) fn transfers(&self) -> bool {
        self.udp.is_none() && self.source.transfers()
    }

    /// When the flow stops sending new data.
    pub(super) fn stop(&self) -> Time {
        self.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop.duration())
    }
}

/// An expectation of the result: a claim, or a figure with bounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectSpec {
    /// The claim, such as `flows[bulk1].delay_s.p99 <= 0.5`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The figure by its path in the JSON result. This is the older way to write an expectation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The least value of the figure, in the figure's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The greatest value of the figure, in the figure's unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

/// The defaults of fields that a file leaves out.
mod defaults {
    use crate::tcp::SenderConfig;
    use ripstop_base::{Bytes, Span};
    use ripstop_proto::control::rate::RateMode;
    use ripstop_proto::session::tunnel::TunnelConfig;
    use std::time::Duration;

    pub(super) fn tunnel() -> String {
        "tunnel".to_owned()
    }
    pub(super) fn rate() -> RateMode {
        TunnelConfig::default().rate
    }
    pub(super) fn mtu() -> Bytes {
        Bytes::new(u64::from(TunnelConfig::default().path_mtu))
    }
    pub(super) fn tunnel_ecn() -> bool {
        TunnelConfig::default().ecn
    }
    pub(super) fn name() -> String {
        "flow".to_owned()
    }
    pub(super) fn one() -> u32 {
        1
    }
    pub(super) fn window() -> u32 {
        SenderConfig::default().window
    }
    pub(super) fn packet() -> Bytes {
        Bytes::new(1000)
    }
    pub(super) fn start() -> Span {
        Span::from(Duration::ZERO)
    }
}
