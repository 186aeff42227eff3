//! A plan: all numbers of it, as `--json` prints them.

use super::campaign::Measured;
use super::data;
use super::errors::{Errors, RelativeError};
use super::scenes::Stage;
use super::{Ask, campaign};
use crate::failure::{Failure, Outcome};
use ripstop_model::plan::advice::{self, Candidate, Caution, ChoiceReason, TrafficKind};
use ripstop_model::plan::block::{self, BlockCode};
use ripstop_model::plan::{Bound, NetworkPath, PlanScheme, Weights, delay, nc, predict};
use ripstop_model::stations::{Network, Protocol};
use serde::Serialize;

/// Bits that the quick simulation of a scheme moves at most: two schemes take less than a second and a half.
const QUICK_BITS: f64 = 12e9;
/// Runs of it.
const QUICK_RUNS: (u32, u32) = (4, 32);
/// Runs under `--verify`.
const VERIFY_RUNS: u32 = 8;
/// Bits that the verification of a scheme moves at most, but for two runs of it.
const VERIFY_BITS: f64 = 20e9;
/// The seed of both.
const SEED: u64 = 1;
/// Power of a base station, W (paper 000, section VII: 2 to 3 kW).
const STATION_W: f64 = 2500.0;

/// The answer.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    pub(super) link: LinkFacts,
    pub(super) traffic: &'static str,
    pub(super) budget: Option<f64>,
    /// Whether coding brings anything.
    pub(super) coding_helps: bool,
    pub(super) recommended: &'static str,
    pub(super) reason: String,
    pub(super) cautions: Vec<String>,
    /// What to write into the tunnel's configuration; None where no tunnel is recommended.
    pub(super) config: Option<String>,
    pub(super) schemes: Vec<SchemePlan>,
    pub(super) stations: Option<Stations>,
}

#[derive(Debug, Serialize)]
pub(super) struct LinkFacts {
    pub(super) rate_bps: f64,
    pub(super) rtt_s: f64,
    pub(super) loss: f64,
    pub(super) loss_back: f64,
    pub(super) burst_packets: f64,
    pub(super) queue_bytes: f64,
    pub(super) flows: u32,
    /// C (1-p).
    pub(super) capacity_bps: f64,
    pub(super) bdp_packets: f64,
}

/// What is said of a scheme.
#[derive(Debug, Serialize)]
pub(super) struct SchemePlan {
    pub(super) scheme: &'static str,
    /// Whether the program can do it on the wire.
    pub(super) available: bool,
    pub(super) goodput_bps: f64,
    /// Of C (1-p).
    pub(super) share: f64,
    pub(super) bound: &'static str,
    pub(super) sent_per_useful: Option<f64>,
    pub(super) packet_p50_s: f64,
    pub(super) packet_p99_s: f64,
    pub(super) request_p50_s: f64,
    pub(super) request_p99_s: f64,
    /// The model that the goodput is by.
    pub(super) model: &'static str,
    /// Its error on such links beside the simulator, relative; None where it was never set beside it.
    pub(super) error_median: Option<f64>,
    pub(super) error_p95: Option<f64>,
    /// The median errors of two delays.
    pub(super) packet_p99_error_median: Option<f64>,
    pub(super) request_p99_error_median: Option<f64>,
    pub(super) settings: Option<String>,
    pub(super) simulated: Option<Simulated>,
}

/// What the simulator says.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Simulated {
    pub(super) goodput_bps: f64,
    /// Half of the 95 % interval of the mean.
    pub(super) ci95_bps: Option<f64>,
    pub(super) runs: u32,
    /// Predicted over simulated, less 1; None where nothing arrived.
    pub(super) error: Option<f64>,
    pub(super) sent_per_useful: Option<f64>,
    pub(super) packet_p50_s: Option<f64>,
    pub(super) packet_p99_s: Option<f64>,
}

/// Base stations for so many users (paper 000, (22)).
#[derive(Debug, Serialize)]
pub(super) struct Stations {
    pub(super) users: u32,
    pub(super) tcp: f64,
    pub(super) tcpnc: f64,
    pub(super) saved: f64,
    pub(super) saved_power_w: f64,
}

/// Makes it.
pub(super) fn plan(path: &NetworkPath, ask: &Ask) -> Outcome<Plan> {
    let (weights, errors) = (data::weights()?, data::errors()?);
    let mut schemes = Vec::new();
    let mut candidates: Vec<(usize, Candidate)> = Vec::new();
    let stage = Stage::of(path);
    for scheme in PlanScheme::FITTED {
        let mut one = by_model(path, scheme, &weights, &errors)?;
        one.simulated = simulate(&stage, scheme, ask.verify, one.goodput_bps)?;
        let goodput_bps = counted_on(&one, path.flows);
        let (sent_per_useful, request_p99) =
            (one.sent_per_useful.unwrap_or(f64::INFINITY), one.request_p99_s);
        candidates.push((schemes.len(), Candidate { scheme, goodput_bps, sent_per_useful, request_p99 }));
        schemes.push(one);
    }
    schemes.push(by_tcpnc(path, &stage, &weights, ask.verify)?);
    schemes.push(by_blocks(path, block::best(path), &weights));
    let budget = ask.budget.map(|budget| budget.get());
    let offered: Vec<Candidate> = candidates.iter().map(|(_, candidate)| *candidate).collect();
    let choice = advice::choose(&offered, ask.traffic.kind(), budget)
        .ok_or_else(|| Failure::Work("there is no scheme to choose from".to_owned()))?;
    let chosen = offered[choice.index].scheme;
    Ok(Plan {
        link: LinkFacts {
            rate_bps: path.rate,
            rtt_s: path.rtt,
            loss: path.loss,
            loss_back: path.loss_back,
            burst_packets: path.burst,
            queue_bytes: path.queue,
            flows: path.flows,
            capacity_bps: path.capacity(),
            bdp_packets: path.packets(),
        },
        traffic: match ask.traffic.kind() {
            TrafficKind::Bulk => "bulk",
            TrafficKind::Interactive => "interactive",
            TrafficKind::Mixed => "mixed",
        },
        budget,
        coding_helps: chosen.is_tunnel(),
        recommended: chosen.name(),
        reason: reason(choice.reason, chosen),
        cautions: advice::cautions(path).into_iter().map(caution).collect(),
        config: chosen.is_tunnel().then(|| config(path, budget)),
        schemes,
        stations: ask.users.map(|users| stations(path, users)).transpose()?,
    })
}

fn by_model(
    path: &NetworkPath,
    scheme: PlanScheme,
    weights: &Weights,
    errors: &Errors,
) -> Outcome<SchemePlan> {
    let got = predict(path, scheme, weights).map_err(|error| Failure::Usage(error.to_string()))?;
    let packet = delay::bulk(path, scheme, weights);
    let request = delay::request(path, scheme.is_tunnel(), weights);
    let error: Option<RelativeError> = errors.of(scheme.name(), path);
    let median = |what: Option<&str>| what.and_then(|what| errors.of(what, path)).map(|miss| miss.median);
    let packet_error = median(match scheme {
        PlanScheme::Bbr => Some("packet-p99-bbr"),
        PlanScheme::TunnelBbr => Some("packet-p99-tunnel"),
        _ => None,
    });
    let request_error = median(match scheme {
        PlanScheme::Cubic => Some("request-p99-plain"),
        PlanScheme::TunnelCubic => Some("request-p99-tunnel"),
        _ => None,
    });
    let model = match scheme {
        PlanScheme::Reno => "plan: (16) of paper 000, or the link",
        PlanScheme::Cubic => "plan: RFC 9438 5.1, or the link",
        PlanScheme::Bbr => "plan: wear, plain BBR",
        PlanScheme::TunnelCubic => "plan: wear, CUBIC in the tunnel",
        PlanScheme::TunnelBbr => "plan: wear, BBR in the tunnel",
    };
    Ok(SchemePlan {
        scheme: scheme.name(),
        available: true,
        goodput_bps: got.goodput_bps,
        share: got.share,
        bound: match got.bound {
            Bound::Losses => "losses",
            Bound::Link => "link",
        },
        sent_per_useful: Some(got.sent_per_useful),
        packet_p50_s: packet.p50,
        packet_p99_s: packet.p99,
        request_p50_s: request.p50,
        request_p99_s: request.p99,
        model,
        error_median: error.map(|miss| miss.median),
        error_p95: error.map(|miss| miss.p95),
        packet_p99_error_median: packet_error,
        request_p99_error_median: request_error,
        settings: None,
        simulated: None,
    })
}

/// TCP/NC, with settings for this link.
fn by_tcpnc(path: &NetworkPath, stage: &Stage, weights: &Weights, verify: bool) -> Outcome<SchemePlan> {
    let settings = nc::settings(path);
    let goodput_bps = nc::goodput(path, settings);
    // Nothing is fitted to TCP/NC: its packets wait about as long as those of CUBIC inside the tunnel.
    let packet = delay::bulk(path, PlanScheme::TunnelCubic, weights);
    let request = delay::request(path, false, weights);
    let simulated = match verify {
        true => {
            let scenario = stage.nc_scenario(settings, verify_runs(stage), SEED);
            Some(Simulated::new(&campaign::measure_scenario(stage, &scenario, cores())?, goodput_bps))
        }
        false => None,
    };
    Ok(SchemePlan {
        scheme: "tcpnc",
        available: false,
        goodput_bps,
        share: goodput_bps / path.capacity(),
        bound: "window",
        sent_per_useful: Some(settings.redundancy / settings.ceiling()),
        packet_p50_s: packet.p50,
        packet_p99_s: packet.p99,
        request_p50_s: request.p50,
        request_p99_s: request.p99,
        model: "paper 000, (20) and VI-C",
        error_median: None,
        error_p95: None,
        packet_p99_error_median: None,
        request_p99_error_median: None,
        settings: Some(format!("R = {}, W = {} packets", settings.redundancy, settings.window)),
        simulated,
    })
}

fn by_blocks(path: &NetworkPath, code: BlockCode, weights: &Weights) -> SchemePlan {
    let request = delay::request(path, false, weights);
    let block = f64::from(code.n) * path.packet_time();
    SchemePlan {
        scheme: "block",
        available: false,
        goodput_bps: code.goodput_bps,
        share: code.goodput_bps / path.capacity(),
        bound: "link",
        sent_per_useful: (code.goodput_bps > 0.0).then(|| path.rate / code.goodput_bps),
        packet_p50_s: path.rtt / 2.0 + path.packet_time(),
        packet_p99_s: path.rtt / 2.0 + block,
        request_p50_s: request.p50,
        request_p99_s: request.p99,
        model: "codes/block, then RFC 9438 5.1",
        error_median: None,
        error_p95: None,
        packet_p99_error_median: None,
        request_p99_error_median: None,
        settings: Some(format!("K = {}, N = {}", code.k, code.n)),
        simulated: None,
    }
}

/// What is counted on of a scheme when schemes are compared, bit/s: the mean of closed form and simulation, each by how sure it is. The
/// 95 % interval of the one is that of its runs, that of the other three median errors of the report: links of which next to nothing
/// arrives, which make its 95th percentile, are not those that are chosen by. Of several connections the report says nothing.
fn counted_on(one: &SchemePlan, flows: u32) -> f64 {
    let Some(simulated) = one.simulated else { return one.goodput_bps };
    match (simulated.ci95_bps, one.error_median) {
        (Some(interval), Some(median)) if flows == 1 && interval > 0.0 => {
            let off = 3.0 * median * one.goodput_bps;
            let of_formula = interval * interval / (interval * interval + off * off);
            simulated.goodput_bps + of_formula * (one.goodput_bps - simulated.goodput_bps)
        }
        _ => simulated.goodput_bps,
    }
}

/// The quick simulation of plain CUBIC and BBR, or that of all schemes.
fn simulate(stage: &Stage, scheme: PlanScheme, verify: bool, predicted: f64) -> Outcome<Option<Simulated>> {
    let quick = matches!(scheme, PlanScheme::Cubic | PlanScheme::Bbr);
    let runs = match verify {
        true => verify_runs(stage),
        false if quick && f64::from(QUICK_RUNS.0) * stage.bits() <= QUICK_BITS => {
            ((QUICK_BITS / stage.bits()) as u32).clamp(QUICK_RUNS.0, QUICK_RUNS.1)
        }
        false => return Ok(None),
    };
    let threads = if verify { cores() } else { 1 };
    Ok(Some(Simulated::new(&campaign::measure(stage, scheme, runs, SEED, threads)?, predicted)))
}

fn verify_runs(stage: &Stage) -> u32 {
    ((VERIFY_BITS / stage.bits()) as u32).clamp(2, VERIFY_RUNS)
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Simulated {
    fn new(measured: &Measured, predicted: f64) -> Simulated {
        let mean = measured.mean();
        Simulated {
            goodput_bps: mean,
            ci95_bps: measured.interval(),
            runs: measured.each_bps.len() as u32,
            error: (mean > 0.0).then(|| predicted / mean - 1.0),
            sent_per_useful: measured.sent_per_useful,
            packet_p50_s: measured.delay_p50_s,
            packet_p99_s: measured.delay_p99_s,
        }
    }
}

fn reason(reason: ChoiceReason, scheme: PlanScheme) -> String {
    match reason {
        ChoiceReason::MostGoodput if scheme.is_tunnel() => {
            "it brings most: losses are repaired, not taken for congestion"
        }
        ChoiceReason::MostGoodput => "it brings most, without anything to set up",
        ChoiceReason::AsGoodWithoutTunnel => {
            "nothing brings noticeably more, and nothing has to be set up for it"
        }
        ChoiceReason::LeastDelay => "requests feel losses least in it",
        ChoiceReason::Both => {
            "it keeps requests short beside transfers, and brings about as much as anything"
        }
        ChoiceReason::Budget => "it brings most of what stays within --budget",
        ChoiceReason::OverBudget => "nothing stays within --budget on this link; it sends least",
    }
    .to_owned()
}

fn caution(caution: Caution) -> String {
    match caution {
        Caution::NoLoss => {
            "no loss: coding will not help; a tunnel only costs its headers, 4 % of the rate more than TCP's own".to_owned()
        }
        Caution::FlowsFillIt => "so many plain connections fill the link in spite of its losses: coding shortens delays and brings no goodput".to_owned(),
        Caution::FewPackets { packets } => format!(
            "the path holds {packets:.1} packets: repairs queue behind what they are to mend, and little can be measured"
        ),
        Caution::ShallowQueue { packets } => format!(
            "the queue holds {packets:.0} packets: every TCP overruns it, and what it drops is congestion that no code mends"
        ),
        Caution::LongRuns => {
            "losses in long runs: connections that start over it differ from each other by more than schemes do".to_owned()
        }
        Caution::MayBeCongestion => {
            "this holds for losses that are the link's own; losses that go when less is sent are congestion, and coding will not help".to_owned()
        }
    }
}

/// What of the tunnel's configuration differs from its defaults, or matters here.
fn config(path: &NetworkPath, budget: Option<f64>) -> String {
    let mut text = "[interface]\n# private-key-file, address, [[peer]]: docs/operating.md\nrate = \"fair\"\nredundancy = \"adaptive\"\n".to_owned();
    if let Some(budget) = budget {
        let percent = (budget * 100.0).round();
        text.push_str(&format!("max-overhead = {{ bulk = \"{percent}%\", interactive = \"{percent}%\" }}\n"));
    }
    // Runs of losses outlast what a packet is waited for by default.
    let patience = (8.0 * path.rtt).max(1.0);
    let run = 20.0 * path.burst * path.packet_time() + 4.0 * path.rtt;
    if run > patience {
        text.push_str(&format!("patience = \"{run:.1}s\"\n"));
    }
    text
}

fn stations(path: &NetworkPath, users: u32) -> Outcome<Stations> {
    let network = |protocol| Network {
        users,
        user_bps: path.rate,
        station_bps: Network::default().station_bps.max(path.rate),
        loss: path.loss,
        protocol,
        ..Network::default()
    };
    let count = |protocol: Protocol| {
        let needed = network(protocol.with_rtt(path.rtt)).predict();
        needed.map(|needed| needed.whole_stations).map_err(|error| Failure::flag("--users", error))
    };
    let (tcp, tcpnc) = (count(Protocol::PAPER_TCP)?, count(Protocol::paper_tcp_nc(path.loss))?);
    Ok(Stations { users, tcp, tcpnc, saved: tcp - tcpnc, saved_power_w: (tcp - tcpnc) * STATION_W })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_surer_counts_for_more() {
        let (weights, errors) = (data::weights().unwrap(), data::errors().unwrap());
        let mut one = by_model(&NetworkPath::default(), PlanScheme::Bbr, &weights, &errors).unwrap();
        (one.goodput_bps, one.error_median, one.simulated) = (10e6, Some(0.1 / 3.0), None);
        assert_eq!(counted_on(&one, 1), 10e6);
        let simulated = |ci95_bps| Simulated {
            goodput_bps: 8e6,
            ci95_bps,
            runs: 4,
            error: None,
            sent_per_useful: None,
            packet_p50_s: None,
            packet_p99_s: None,
        };
        // (Half of the 95 % interval in Mbit/s, what is counted on): as sure as the closed form; a third; wholly.
        let sure = [(Some(1e6), 9e6), (Some(3e6), 9.8e6), (Some(0.0), 8e6)];
        for (interval, expected) in sure {
            one.simulated = Some(simulated(interval));
            assert!((counted_on(&one, 1) - expected).abs() < 1.0, "{interval:?}: {}", counted_on(&one, 1));
        }
        // Where the closed form was never set beside the simulator, it does not count.
        one.simulated = Some(simulated(Some(1e6)));
        assert_eq!(counted_on(&one, 2), 8e6);
        one.error_median = None;
        assert_eq!(counted_on(&one, 1), 8e6);
    }
}
