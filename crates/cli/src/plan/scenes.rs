//! The simulations that stand behind a plan: one scenario for each scheme over the link that is planned.

use ripstop_base::{Bytes, Span};
use ripstop_link::{LinkConfig, Loss};
use ripstop_model::plan::scheme::TUNNEL_MTU_TAKES;
use ripstop_model::plan::{MEASURED_FROM_RTTS, NcSettings, Scheme};
use ripstop_sim::scenario::{
    Drawn, FlowSpec, NcRedundancy, NcSpec, RunSpec, Scenario, SourceSpec, Tandem, TunnelSpec,
};
use ripstop_sim::tcp::Variant;
use std::time::Duration;

/// The link in both directions, and what runs over it.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// The direction of the data.
    pub(super) forth: LinkConfig,
    /// The other.
    pub(super) back: LinkConfig,
    /// Connections at the same time.
    pub(super) flows: u32,
}

/// Bytes of IP and TCP in front of the data, with time stamps.
const HEADERS: u64 = 52;
/// What a path carries at most.
const PATH_MTU: u64 = 1500;
/// Bytes of IP and TCP in front of the data of TCP/NC, which stands on the simulator's plain hosts.
const PLAIN_HEADERS: u64 = 40;
/// A receiver's window that never decides, packets.
const NO_LIMIT: u32 = 1_000_000;
/// A run is no shorter than this.
const SHORTEST: Duration = Duration::from_secs(10);
/// Nor than so many round trips.
const ROUND_TRIPS: u32 = 60;
/// Nor than so many packets take: of fewer a share says little.
const PACKETS: u64 = 1000;

impl Stage {
    /// The round-trip time of the idle link.
    fn rtt(&self) -> Duration {
        self.forth.delay.duration() + self.back.delay.duration()
    }

    /// How long a run is, and what of it is not measured.
    pub(super) fn run(&self) -> (Duration, Duration) {
        let rtt = self.rtt();
        let packets = self.forth.rate.time_for((PACKETS * PATH_MTU) as usize);
        let whole = SHORTEST.max(rtt * ROUND_TRIPS).max(packets);
        (whole, Duration::from_secs(2).max(rtt.mul_f64(MEASURED_FROM_RTTS)))
    }

    /// Bits that a run of it moves at most.
    pub(super) fn bits(&self) -> f64 {
        self.forth.rate.bps() as f64 * self.run().0.as_secs_f64()
    }

    /// The scenario of a scheme, so many runs of it under a seed.
    pub(super) fn scenario(&self, scheme: &Scheme, runs: u32, seed: u64) -> Scenario {
        let (duration, warmup) = self.run();
        let run = RunSpec {
            duration: Span::from(duration),
            warmup: Span::from(warmup),
            runs,
            seed,
            ..RunSpec::default()
        };
        let usual = FlowSpec { count: self.flows, window: NO_LIMIT, ack_every: 2, ..FlowSpec::new("", "") };
        let plain = |tcp| FlowSpec { tcp, packet: Bytes::new(PATH_MTU - HEADERS), ..usual.clone() };
        let inside = |tcp| FlowSpec {
            tcp,
            packet: Bytes::new(PATH_MTU - TUNNEL_MTU_TAKES as u64 - HEADERS),
            ..usual.clone()
        };
        let (flow, tunnel) = match scheme {
            Scheme::Reno => (plain(Variant::LinuxReno), false),
            Scheme::Cubic => (plain(Variant::LinuxCubic), false),
            Scheme::Bbr => (plain(Variant::Bbr), false),
            Scheme::TunnelCubic => (inside(Variant::LinuxCubic), true),
            Scheme::TunnelBbr => (inside(Variant::Bbr), true),
            Scheme::TcpNc(NcSettings { redundancy, window }) => {
                let nc = NcSpec {
                    redundancy: redundancy.to_string().parse().unwrap_or(NcRedundancy::Rule),
                    coef_bytes: 1,
                    ..NcSpec::default()
                };
                let payload = Bytes::new(PATH_MTU - PLAIN_HEADERS);
                let flow = FlowSpec { tcp: Variant::Reno, packet: payload, window: *window, ..usual.clone() };
                (FlowSpec { nc: Some(nc), ack_every: 1, ..flow }, false)
            }
        };
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
}

impl Stage {
    /// Small requests and their answers on the link that carries nothing else, each a while after the answer to the one before, in CUBIC,
    /// plain or inside the tunnel.
    pub(super) fn requests(&self, tunnel: bool, runs: u32, seed: u64) -> Scenario {
        let scheme = if tunnel { Scheme::TunnelCubic } else { Scheme::Cubic };
        let mut scenario = self.scenario(&scheme, runs, seed);
        let length = Drawn::Fixed(Bytes::new(REQUEST));
        let think = Drawn::Exponential(Span::from(THINK));
        let Some(flow) = scenario.flow.pop() else { return scenario };
        let (from, to) = (flow.to.clone(), flow.from.clone());
        let answers = SourceSpec::Answers { to: "ask".to_owned(), length };
        let ask = FlowSpec {
            name: "ask".to_owned(),
            count: 1,
            source: SourceSpec::Requests { length, think },
            ..flow
        };
        let answer = FlowSpec { name: "answer".to_owned(), from, to, source: answers, ..ask.clone() };
        scenario.flow = vec![ask, answer];
        scenario.run.warmup = Span::from(Duration::from_secs(1));
        scenario.run.duration = Span::from(REQUESTS * (self.rtt() + THINK));
        scenario
    }
}

/// Bytes of a small request, and of its answer.
const REQUEST: u64 = 100;
/// From an answer to the next request, the mean.
const THINK: Duration = Duration::from_millis(50);
/// Requests in a run, where none is late.
const REQUESTS: u32 = 500;

/// Losses of this share in runs of this mean length.
pub(super) fn losses(loss: ripstop_base::Fraction, burst: f64) -> Loss {
    crate::link_flags::loss_model(loss, burst)
}
