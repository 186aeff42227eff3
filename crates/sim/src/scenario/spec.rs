//! What a scenario consists of, as it is written in a file.

use super::{ExpectSpec, NcSpec, SourceSpec, UdpSpec};
use crate::tcp::{Reassembly, SenderConfig, Variant, VegasConfig};
use crate::world::{Hosts, TcpConfig, UDP_IP_HEADERS};
use ripstop_base::{Bytes, Span, Time, word};
use ripstop_link::LinkConfig;
use ripstop_proto::control::redundancy::Redundancy;
use ripstop_proto::session::tunnel::{Config as TunnelConfig, RateMode};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A world, what runs on it, and how it is measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scenario {
    /// How it is run and measured.
    pub run: RunSpec,
    /// Links between nodes. A node is whatever a link names.
    pub link: Vec<LinkSpec>,
    /// Tunnels between nodes, for flows to go through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tunnel: Vec<TunnelSpec>,
    /// Connections.
    pub flow: Vec<FlowSpec>,
    /// What the result is expected to be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<ExpectSpec>,
}

impl Scenario {
    /// The directions of its links by the nodes at their ends, such as `n0>n1`, in the order in which the network numbers them.
    pub fn link_names(&self) -> Vec<String> {
        let names = |link: &LinkSpec| {
            let [a, b] = &link.between;
            [Some(format!("{a}>{b}")), (!link.one_way).then(|| format!("{b}>{a}"))]
        };
        self.link.iter().flat_map(names).flatten().collect()
    }

    /// The `index`-th direction of its links: of the k-th, `forth` is 2k and the way back 2k + 1.
    pub(super) fn direction(&self, index: usize) -> &LinkConfig {
        let link = &self.link[index / 2];
        link.back.as_ref().filter(|_| index % 2 == 1).unwrap_or(&link.forth)
    }
}

/// How a scenario is run and measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RunSpec {
    /// Virtual time of a run, its warm-up included.
    pub duration: Span,
    /// Time at its beginning that is not measured.
    pub warmup: Span,
    /// Independent runs.
    pub runs: u32,
    /// Master seed: run k takes its randomness from this and k.
    pub seed: u64,
    /// Each flow starts at a random moment, uniform between its start and this much later. When left out: the time that its full
    /// packet takes on the slowest link of its way. Runs without random losses then differ in their phases, as real ones do.
    /// `0s` starts every flow of every run at the same moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_jitter: Option<Span>,
    /// Intervals that are measured on their own, each from its first moment to its second.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<[Span; 2]>,
    /// Also measure throughput in units of this size, headers of IP and TCP included (paper 003).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Bytes>,
    /// Also measure each piece of this length, from the beginning of the run: a series over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<Span>,
}

impl Default for RunSpec {
    /// Ten runs of 1000 s, all of them measured.
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
    /// The nodes at its ends. The first one sends over `forth`.
    pub between: [String; 2],
    /// The direction from the first node to the second.
    #[serde(default, serialize_with = "without_defaults::link")]
    pub forth: LinkConfig,
    /// The other direction; as `forth` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "without_defaults::way_back")]
    pub back: Option<LinkConfig>,
    /// Whether there is no other direction.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_way: bool,
}

/// Links as people write them: without what goes without saying.
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
    /// Its name.
    #[serde(default = "defaults::tunnel")]
    pub name: String,
    /// The nodes at its ends. Flows may run through it in either direction.
    pub between: [String; 2],
    /// What is sent ahead of losses: `adaptive`, `none`, or packets sent for each packet, such as `1.25`.
    #[serde(default, with = "word")]
    pub redundancy: Redundancy,
    /// How its rate is found: `fair`, `scavenge`, or a rate.
    #[serde(default = "defaults::rate", with = "word")]
    pub rate: RateMode,
    /// How long a packet is waited for at most; by the path when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patience: Option<Span>,
    /// The largest datagram that the path carries, IP header included.
    #[serde(default = "defaults::mtu")]
    pub mtu: Bytes,
}

impl TunnelSpec {
    /// A tunnel between two nodes with all defaults.
    pub fn new(name: &str, a: &str, b: &str) -> TunnelSpec {
        TunnelSpec {
            name: name.to_owned(),
            between: [a.to_owned(), b.to_owned()],
            redundancy: Redundancy::default(),
            rate: defaults::rate(),
            patience: None,
            mtu: defaults::mtu(),
        }
    }

    /// As the session wants it.
    pub fn config(&self) -> TunnelConfig {
        TunnelConfig {
            path_mtu: self.mtu.get() as u32,
            redundancy: self.redundancy,
            rate: self.rate,
            patience: self.patience.map(Span::duration),
            ..TunnelConfig::default()
        }
    }
}

/// A TCP connection or a source of UDP datagrams, or several of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FlowSpec {
    /// Its name; several of one kind get a number behind it.
    #[serde(default = "defaults::name")]
    pub name: String,
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// The tunnel that carries it, by its name; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<String>,
    /// The coding layer below its TCP; none when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nc: Option<NcSpec>,
    /// The nodes that data passes, ends included; the way with the fewest links when left out. Acknowledgements come back
    /// the same way where it has links both ways, otherwise by the fewest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<String>,
    /// How many connections of this kind there are.
    #[serde(default = "defaults::one")]
    pub count: u32,
    /// Congestion control.
    #[serde(default)]
    pub tcp: Variant,
    /// The receiver's window, packets.
    #[serde(default = "defaults::window")]
    pub window: u32,
    /// The congestion window at first, packets; when left out 2, of those of today 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// Payload of a packet; 40 bytes of headers come on top, of those of today 52, of UDP 28.
    #[serde(default = "defaults::packet")]
    pub packet: Bytes,
    /// Floor of the retransmission time-out, before back-off; 200 ms when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_min: Option<Span>,
    /// Its cap; when left out 60 s, of those of today 120 s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto_max: Option<Span>,
    /// Granularity of the clock that measures round trips; when left out 10 ms. Those of today measure exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<Span>,
    /// What only Vegas is told; 28, 30 and 2 when left out, as for paper 000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vegas: Option<VegasConfig>,
    /// Every so many packets are acknowledged, or after 100 ms, of those of today 40 ms.
    #[serde(default = "defaults::one")]
    pub ack_every: u32,
    /// What the receiver does with packets that are out of order.
    #[serde(default)]
    pub receiver: Reassembly,
    /// The source of UDP datagrams that the flow is; a TCP connection when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpSpec>,
    /// What there is to send; without end when left out.
    #[serde(default, skip_serializing_if = "SourceSpec::is_endless")]
    pub source: SourceSpec,
    /// When it begins.
    #[serde(default = "defaults::start")]
    pub start: Span,
    /// When it sends nothing new any more; never when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Span>,
}

impl FlowSpec {
    /// A connection from one node to another with all defaults: endless, NewReno.
    pub fn new(from: &str, to: &str) -> FlowSpec {
        FlowSpec {
            name: defaults::name(),
            from: from.to_owned(),
            to: to.to_owned(),
            tunnel: None,
            nc: None,
            route: Vec::new(),
            count: 1,
            tcp: Variant::default(),
            window: defaults::window(),
            initial_window: None,
            packet: defaults::packet(),
            rto_min: None,
            rto_max: None,
            tick: None,
            vegas: None,
            ack_every: 1,
            receiver: Reassembly::default(),
            udp: None,
            source: SourceSpec::default(),
            start: defaults::start(),
            stop: None,
        }
    }

    /// The names of its connections.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.count).map(|k| if self.count == 1 { self.name.clone() } else { format!("{}{k}", self.name) })
    }

    /// Its sender: what its TCP has, but for what the description says otherwise.
    pub fn sender(&self) -> SenderConfig {
        let usual = if self.tcp.is_modern() { SenderConfig::linux() } else { SenderConfig::default() };
        let initial_window = self.initial_window.unwrap_or(usual.initial_window);
        let mut sender = SenderConfig { window: self.window, initial_window, ..usual };
        let span = |given: Option<Span>, usual: Duration| given.map_or(usual, Span::duration);
        sender.rto.min = span(self.rto_min, usual.rto.min);
        sender.rto.max = span(self.rto_max, usual.rto.max);
        sender.rto.tick = span(self.tick, usual.rto.tick);
        sender.vegas = self.vegas.unwrap_or(VegasConfig::LOSSY);
        sender
    }

    /// What its hosts do: a TCP of today has kernels of today at both ends. (TCP/NC answers for the receiver itself.)
    pub fn hosts(&self) -> Hosts {
        if self.tcp.is_modern() && self.nc.is_none() { Hosts::Kernels } else { Hosts::Agents }
    }

    /// Bytes of a full packet on the way, headers included.
    pub fn packet_bytes(&self) -> u64 {
        self.packet.get().saturating_add(self.header_bytes())
    }

    /// Bytes of the headers in that.
    pub fn header_bytes(&self) -> u64 {
        match self.udp {
            Some(_) => u64::from(UDP_IP_HEADERS),
            None => u64::from(self.hosts().packet_bytes(self.tcp, 1, 0)),
        }
    }

    /// As the network wants it.
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

    /// Whether it sends transfers that have an end.
    pub(super) fn transfers(&self) -> bool {
        self.udp.is_none() && self.source.transfers()
    }

    /// When it sends nothing new any more.
    pub(super) fn stop(&self) -> Time {
        self.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop.duration())
    }
}

/// What a flow has that its description leaves out.
mod defaults {
    use crate::tcp::SenderConfig;
    use ripstop_base::{Bytes, Span};
    use ripstop_proto::session::tunnel::{Config as TunnelConfig, RateMode};
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
