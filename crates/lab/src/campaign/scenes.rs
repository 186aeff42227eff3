//! Builds the simulator's scenarios for a path: one for each scheme, and one for small requests.
//!
//! A scheme is a way to use the path, such as plain CUBIC or CUBIC through the tunnel.

use crate::preset::loss_model;
use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Span};
use ripstop_link::LinkConfig;
use ripstop_model::plan::block::BlockCode;
use ripstop_model::plan::lt::{LT_PAYLOAD, LtSettings};
use ripstop_model::plan::nc::NcSettings;
use ripstop_model::plan::scheme::{PLAIN_HEADERS, TCP_HEADERS, TUNNEL_MTU_TAKES};
use ripstop_model::plan::{
    MEASURED_FROM_RTTS, MEASURED_FROM_SECONDS, MEASURED_PACKETS, MEASURED_RTTS, MEASURED_SECONDS, NetworkPath,
    PATH_MTU, PlanScheme,
};
use ripstop_sim::scenario::{
    BlockLength, BlockSettings, BlockSize, BlockWord, Code, FlowSpec, GatewaySpec, LinkSpec, NcRedundancy, NcSpec,
    RunSpec, Scenario, SourceSpec, Tandem, TunnelSpec,
};
use ripstop_sim::tcp::{Distribution, Variant};
use std::time::Duration;

/// A path as links of the simulator.
#[derive(Clone, Debug)]
pub struct CampaignStage {
    /// The link in the direction of the data.
    pub forth: LinkConfig,
    /// The link in the direction of the acknowledgements.
    pub back: LinkConfig,
    /// The number of simultaneous connections.
    pub flows: u32,
}

/// The receiver's window, packets. The window is so large that it never limits the sender, so half
/// or double the value changes nothing.
const NO_LIMIT: u32 = 1_000_000;
impl CampaignStage {
    /// The simulator's links for a path.
    pub fn of(path: &NetworkPath) -> CampaignStage {
        let direction = |loss: f64| LinkConfig {
            rate: Rate::from_bps(path.rate as u64),
            delay: Span::from(Duration::from_secs_f64(path.rtt / 2.0)),
            queue: Some(QueueLimit::Bytes(path.queue as u64)),
            loss: loss_model(Fraction::new(loss).unwrap_or(Fraction::ZERO), path.burst),
            ..LinkConfig::default()
        };
        CampaignStage { forth: direction(path.loss), back: direction(path.loss_back), flows: path.flows }
    }

    /// The round-trip time of the idle path.
    fn rtt(&self) -> Duration {
        self.forth.delay.duration() + self.back.delay.duration()
    }

    /// The length of a run, and the time from the start of the run to the start of the measurement.
    pub fn run(&self) -> (Duration, Duration) {
        let rtt = self.rtt();
        let packets = self.forth.rate.time_for(MEASURED_PACKETS as usize * PATH_MTU as usize);
        let whole = Duration::from_secs_f64(MEASURED_SECONDS).max(rtt * MEASURED_RTTS).max(packets);
        let from = Duration::from_secs_f64(MEASURED_FROM_SECONDS).max(rtt.mul_f64(MEASURED_FROM_RTTS));
        (whole, from)
    }

    /// The number of bits that the link can carry in one run.
    pub fn bits(&self) -> f64 {
        self.forth.rate.bps() as f64 * self.run().0.as_secs_f64()
    }

    /// The scenario of a scheme, with `runs` runs. `seed` is the master seed of all runs.
    pub fn scenario(&self, scheme: PlanScheme, runs: u32, seed: u64) -> Scenario {
        let (tcp, tunnel) = match scheme {
            PlanScheme::Reno => (Variant::LinuxReno, false),
            PlanScheme::Cubic => (Variant::LinuxCubic, false),
            PlanScheme::Bbr => (Variant::Bbr, false),
            PlanScheme::TunnelCubic => (Variant::LinuxCubic, true),
            PlanScheme::TunnelBbr => (Variant::Bbr, true),
        };
        let headers = if tunnel { TUNNEL_MTU_TAKES + TCP_HEADERS } else { TCP_HEADERS };
        let flow = FlowSpec { tcp, packet: payload(headers), ..self.flow() };
        self.tandem(flow, tunnel, runs, seed)
    }

    /// The scenario of TCP/NC: Reno over a coding layer, with `runs` runs. `seed` is the master
    /// seed of all runs.
    pub fn nc_scenario(&self, settings: NcSettings, runs: u32, seed: u64) -> Scenario {
        let NcSettings { redundancy, window } = settings;
        let nc = NcSpec {
            redundancy: redundancy.to_string().parse().unwrap_or(NcRedundancy::Rule),
            coef_bytes: 1,
            ..NcSpec::default()
        };
        let flow = FlowSpec {
            tcp: Variant::Reno,
            packet: payload(PLAIN_HEADERS),
            window,
            nc: Some(nc),
            ack_every: 1,
            ..self.flow()
        };
        self.tandem(flow, false, runs, seed)
    }

    /// The scenario of TCP/LT: a gateway in front of the link, with `runs` runs. `seed` is the master seed of all runs.
    ///
    /// The host and the gateway are joined by a fast link without losses. The gateway's link has the random streams of the
    /// only link of the other schemes, so all schemes have the same losses.
    pub fn lt_scenario(&self, settings: LtSettings, runs: u32, seed: u64) -> Scenario {
        let flow = FlowSpec {
            tcp: Variant::Cubic,
            packet: Bytes::new(LT_PAYLOAD as u64),
            ack_every: 1,
            gateway: Some("gateway".to_owned()),
            ..self.flow()
        };
        let mut scenario = self.behind(MIDDLE, flow, runs, seed);
        let near = LinkConfig { rate: NEAR_RATE, delay: Span::from(NEAR_DELAY), ..LinkConfig::default() };
        scenario.link[0].forth = near;
        scenario.gateway = vec![GatewaySpec {
            capacity: Some(Rate::from_bps(settings.capacity_bps as u64)),
            block: BlockWord(BlockSize::Fixed(settings.block as u8)),
            buffer: Some(settings.buffer),
            in_flight: Some(settings.window),
            ..GatewaySpec::new(MIDDLE, &scenario.flow[0].to)
        }];
        scenario
    }

    /// The scenario of CUBIC in a tunnel with the block code `code`, with `runs` runs. `seed` is the master seed of all
    /// runs. The acknowledgements have the same code.
    pub fn block_scenario(&self, code: &BlockCode, runs: u32, seed: u64) -> Scenario {
        let mut scenario = self.scenario(PlanScheme::TunnelCubic, runs, seed);
        let settings = BlockSettings { k: code.k as u8, n: BlockLength::Fixed(code.n as u8) };
        scenario.tunnel.iter_mut().for_each(|tunnel| tunnel.code = Code::Block(settings));
        scenario
    }

    /// The scenario with `flow` over two links: a link to the node `middle`, and this path's link. The caller sets the
    /// first link.
    fn behind(&self, middle: &str, flow: FlowSpec, runs: u32, seed: u64) -> Scenario {
        let mut scenario = self.tandem(flow, false, runs, seed);
        let [from, to] = scenario.link[0].between.clone();
        scenario.link[0].between = [middle.to_owned(), to];
        scenario.link[0].stream = Some("link".to_owned());
        scenario.link.insert(0, LinkSpec::new([from, middle.to_owned()], LinkConfig::default(), None));
        scenario
    }

    /// The flow settings that all schemes share.
    fn flow(&self) -> FlowSpec {
        FlowSpec { count: self.flows, window: NO_LIMIT, ack_every: 2, ..FlowSpec::new("", "") }
    }

    /// The scenario with `flow` on this path, inside a tunnel if `tunnel` is true.
    fn tandem(&self, flow: FlowSpec, tunnel: bool, runs: u32, seed: u64) -> Scenario {
        let (duration, warmup) = self.run();
        let run =
            RunSpec { duration: Span::from(duration), warmup: Span::from(warmup), runs, seed, ..RunSpec::default() };
        Tandem {
            run,
            hops: 1,
            forth: self.forth.clone(),
            back: self.back.clone(),
            flows: vec![flow],
            tunnel: tunnel.then(|| TunnelSpec::new("tunnel", "", "")),
        }
        .scenario()
    }

    /// The scenario of small requests and their answers on the otherwise idle path.
    ///
    /// When an answer has arrived, the client waits for a random think time and then sends the next
    /// request. The mean of the think time is `THINK`.
    pub fn requests(&self, scheme: PlanScheme, runs: u32, seed: u64) -> Scenario {
        let mut scenario = self.scenario(scheme, runs, seed);
        let length = Distribution::Fixed(Bytes::new(REQUEST));
        let think = Distribution::Exponential(Span::from(THINK));
        let Some(flow) = scenario.flow.pop() else { return scenario };
        let (from, to) = (flow.to.clone(), flow.from.clone());
        let answers = SourceSpec::Answers { to: "ask".to_owned(), length };
        let ask = FlowSpec { name: "ask".to_owned(), count: 1, source: SourceSpec::Requests { length, think }, ..flow };
        let answer = FlowSpec { name: "answer".to_owned(), from, to, source: answers, ..ask.clone() };
        scenario.flow = vec![ask, answer];
        scenario.run.warmup = Span::from(Duration::from_secs(1));
        scenario.run.duration = Span::from(REQUESTS * (self.rtt() + THINK));
        scenario
    }
}

/// The size of a request, and of its answer, bytes. A request fits into one packet, and so does an
/// answer. The delay therefore does not depend on the congestion window. Half or double the value
/// changes only the short time to send a request and an answer.
const REQUEST: u64 = 100;
/// The mean think time: the time from the arrival of an answer to the next request. Think times are
/// exponentially distributed.
///
/// With half the value, requests are sent at shorter intervals and runs are shorter. With double
/// the value, the intervals and the runs are longer.
const THINK: Duration = Duration::from_millis(50);
/// The number of requests in a run, if each request is answered after exactly one round trip.
/// Losses reduce the number.
///
/// This number sets the length of a run. Half the value leaves half the samples for the 99th
/// percentile. Double the value makes runs twice as long.
const REQUESTS: u32 = 500;

/// The node between the two links of TCP/LT.
const MIDDLE: &str = "middle";
/// The rate of the link between the host and the gateway of TCP/LT: ten times the fastest link of a campaign. With half
/// or double the value, the results differ by less than their confidence intervals.
const NEAR_RATE: Rate = Rate::from_bps(10_000_000_000);
/// The delay of the same link. Even at 1 Gbit/s, a round trip over this link takes less time than the packets in the
/// gateway's buffer. Half or double the value changes nothing that can be measured.
const NEAR_DELAY: Duration = Duration::from_micros(100);

/// Bytes of data in a full packet that has `headers` bytes of headers.
fn payload(headers: f64) -> Bytes {
    Bytes::new((PATH_MTU - headers) as u64)
}
