//! The preset `tandem`: TCP over a chain of lossy links with equal settings (figure 8 of paper
//! 000). A preset is a network that a few parameters describe (see `mod.rs`).

use super::{GivenParameters, Parameter, ParameterKind as Kind, PresetError, measure};
use ripstop_base::{Bytes, Fraction, Rate, Span};
use ripstop_link::{LinkConfig, Loss};
use ripstop_sim::scenario::{
    FlowSpec, NcRedundancy, NcSpec, Recode, RunSpec, Scenario, SourceSpec, Tandem, TunnelSpec,
};
use ripstop_sim::tcp::{Distribution, Reassembly, VegasConfig};
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

/// Largest number of links in a chain, in this preset and in the `tandem` section of an experiment.
/// A larger number is probably a typing error and is refused. A scenario that lists its links may
/// have more links. Half the value refuses chains of more than 500 links. Twice the value allows
/// chains that take about twice as long to simulate.
pub(crate) const MOST_HOPS: u32 = 1000;

// Headings of the groups in the help text.
const CHAIN: &str = "The chain";
const FLOWS: &str = "The flows";
const SENT: &str = "What they send";
const NC: &str = "TCP/NC";

/// The parameters of this preset alone: name, kind, placeholder, heading and help text.
#[rustfmt::skip]
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new("hops", Kind::Count, "N", CHAIN, "The number of links in the chain").or("4"),
    Parameter::new("rate", Kind::Rate, "RATE", CHAIN, "Rate of each link. The headers of packets count").or("2Mbit/s"),
    Parameter::new("delay", Kind::Span, "TIME", CHAIN, "Propagation delay of each link").or("100ms"),
    Parameter::new("queue", Kind::Queue, "QUEUE", CHAIN, "Capacity of each link's queue, in packets (such as 200) or bytes (such as 300kB)").or("200"),
    Parameter::new("loss", Kind::Fraction, "SHARE", CHAIN, "Share of packets that each link loses. A lost packet occupies the link as long as any other packet").or("0"),
    Parameter::new("burst", Kind::Other, "PACKETS", CHAIN, "Mean length of a run of losses, in packets. If it is above 1, the losses follow Gilbert's model").or("1"),
    Parameter::new("ack-loss", Kind::Other, "ON|OFF", CHAIN, "Whether acknowledgements are lost as well: on or off").or("on"),
    Parameter::new("flows", Kind::Count, "N", FLOWS, "The number of flows").or("2"),
    Parameter::new("tcp", Kind::Other, "NAME", FLOWS, "Congestion control").or("reno"),
    Parameter::new("wmax", Kind::Count, "PACKETS", FLOWS, "The receiver's window, packets").or("50"),
    Parameter::new("packet", Kind::Bytes, "SIZE", FLOWS, "Payload of a packet. The headers add 40 bytes (52 bytes with CUBIC, BBR and linux-reno)").or("1000B"),
    Parameter::new("rto-min", Kind::Span, "TIME", FLOWS, "Smallest retransmission time-out, before back-off [default: 200ms]"),
    Parameter::new("rto-max", Kind::Span, "TIME", FLOWS, "Largest retransmission time-out [default: 60s; with CUBIC, BBR and linux-reno 120s]"),
    Parameter::new("tick", Kind::Span, "TIME", FLOWS, "Granularity of the clock that measures round trips [default: 10ms; CUBIC, BBR and linux-reno measure exactly]"),
    Parameter::new("initial-window", Kind::Count, "PACKETS", FLOWS, "The initial congestion window, packets [default: 2; with CUBIC, BBR and linux-reno 10]"),
    Parameter::new("vegas", Kind::Other, "ALPHA,BETA,GAMMA", FLOWS, "Thresholds of Vegas for the number of its packets in the path's queues. The window grows below ALPHA and shrinks above BETA. Slow start ends above GAMMA [default: 28,30,2, as in paper 000; the defaults of ns-2 are 1,3,1]"),
    Parameter::new("ack-every", Kind::Count, "N", FLOWS, "Send an acknowledgement after N packets, but at the latest after 100 ms (40 ms with CUBIC, BBR and linux-reno)").or("1"),
    Parameter::new("receiver", Kind::Other, "KIND", FLOWS, "What the receiver does with packets that are out of order: `buffer` keeps the packets, `go-back-n` drops them (paper 000, section III)").or("buffer"),
    Parameter::new("start", Kind::Span, "TIMES", FLOWS, "When the flows begin: one time for all flows, or a time for each flow").or("0s").repeats(),
    Parameter::new("stop", Kind::Span, "TIMES", FLOWS, "When the flows stop: one time for all flows, or a time for each flow [default: at the end]").repeats(),
    Parameter::new("file", Kind::Bytes, "SIZE", SENT, "Each flow sends one file of this size and ends"),
    Parameter::new("on-off", Kind::Other, "ON,OFF,RATE", SENT, "Each flow sends in bursts. ON is the length of a burst, OFF is the pause after a burst, and RATE is the payload rate during a burst. A time after `exp:` is the mean of an exponential distribution").conflicts(&["file"]),
    Parameter::new("requests", Kind::Other, "SIZE,SIZE,TIME", SENT, "Each flow sends requests. The values are the size of a request, the size of an answer, and the time from an answer to the next request. A value after `exp:` is the mean of an exponential distribution. Flows named `answer` carry the answers").conflicts(&["file", "on-off"]),
    Parameter::new("tunnel", Kind::Switch, "", FLOWS, "Carry all flows through one tunnel from end to end. The tunnel runs the same session code as `ripstop up`"),
    Parameter::new("nc", Kind::Switch, "", NC, "Put a coding layer below each TCP (TCP/NC, papers 000 and 001)").conflicts(&["tunnel"]),
    Parameter::new("redundancy", Kind::Other, "R", NC, "Number of combinations sent for each segment: a number such as 1.13, `rule` (paper 000, section VI-B) or `auto`").or("1").requires("nc"),
    Parameter::new("coef-bytes", Kind::Count, "BYTES", NC, "Number of bytes that a coefficient takes in the header: 0 (as in the paper) or 1").or("0").requires("nc"),
    Parameter::new("recode", Kind::Other, "HOW", NC, "Whether nodes inside the chain re-encode: `end-to-end` (no), `relay` (yes, without more redundancy) or `per-hop` (yes, with the redundancy that the next link's loss needs)").or("end-to-end").requires("nc"),
    Parameter::new("recode-at", Kind::Count, "NODES", NC, "The numbers of the nodes that re-encode [default: all nodes inside the chain]").repeats().requires("nc"),
];

/// Warnings about given parameters that have no effect.
pub(super) fn warnings(given: &GivenParameters<'_>) -> Result<Vec<String>, PresetError> {
    let none = given.value::<Fraction>("loss")?.get() == 0.0;
    let useless = given.is_given("burst") && none;
    Ok(useless.then(|| "--burst has no effect without --loss: nothing is lost".to_owned()).into_iter().collect())
}

/// Makes the scenario from the given parameters. The caller checks the result with
/// `check_scenario`.
pub(super) fn scenario(given: &GivenParameters<'_>) -> Result<Scenario, PresetError> {
    let hops: u32 = given.value("hops")?;
    if hops == 0 || hops > MOST_HOPS {
        return Err(PresetError::new("hops", format!("{hops} links; write 1 to {MOST_HOPS}")));
    }
    let mut run = RunSpec::default();
    measure::apply(given, &mut run)?;
    if given.value::<Rate>("rate")?.bps() == 0 {
        return Err(PresetError::new("rate", "links of 0 bit/s carry nothing; write for example `2Mbit/s`"));
    }
    let forth = LinkConfig {
        rate: given.value("rate")?,
        delay: given.value("delay")?,
        queue: Some(given.value("queue")?),
        loss: loss(given)?,
        ..LinkConfig::default()
    };
    let back = match given.choice("ack-loss", &[("on", true), ("off", false)])? {
        true => forth.clone(),
        false => LinkConfig { loss: Loss::None, ..forth.clone() },
    };
    let tunnel = given.is_given("tunnel").then(|| TunnelSpec::new("tunnel", "", ""));
    let flows = with_sources(given, flows(given)?)?;
    Ok(measure::expect(given, Tandem { run, hops, forth, back, flows, tunnel }.scenario()))
}

fn loss(given: &GivenParameters<'_>) -> Result<Loss, PresetError> {
    let mean: Fraction = given.value("loss")?;
    let burst: String = given.value("burst")?;
    let burst =
        burst.parse::<f64>().ok().filter(|burst| burst.is_finite() && *burst >= 1.0).ok_or_else(|| {
            PresetError::new("burst", "a mean burst length is 1 packet or more; write for example `4`")
        })?;
    Ok(loss_model(mean, burst))
}

/// A loss model with the mean loss probability `loss` and the mean burst length `burst`, packets. A
/// burst length of 1 means independent losses.
pub fn loss_model(loss: Fraction, burst: f64) -> Loss {
    match (loss.get() > 0.0, burst > 1.0) {
        (false, _) => Loss::None,
        (true, false) => Loss::bernoulli(loss),
        (true, true) => Loss::Gilbert { mean: loss, burst },
    }
}

/// The flows. If all flows start and stop at the same times, the list has one entry, which contains
/// the number of flows. Otherwise each flow has an entry of its own.
fn flows(given: &GivenParameters<'_>) -> Result<Vec<FlowSpec>, PresetError> {
    let count: u32 = given.value("flows")?;
    let times = |name: &'static str| -> Result<Vec<Span>, PresetError> {
        let times: Vec<Span> = given.list(name)?;
        match times.len() as u64 {
            0 | 1 => Ok(times),
            n if n == u64::from(count) => Ok(times),
            n => {
                let problem = format!("{n} times for {count} flows; write one for all, or one for each flow");
                Err(PresetError::new(name, problem))
            }
        }
    };
    let (start, stop) = (times("start")?, times("stop")?);
    let spec = FlowSpec {
        count,
        tcp: given.value("tcp")?,
        window: given.value("wmax")?,
        initial_window: given.optional("initial-window")?,
        packet: given.value("packet")?,
        rto_min: given.optional("rto-min")?,
        rto_max: given.optional("rto-max")?,
        tick: given.optional("tick")?,
        vegas: given.all("vegas").next().map(thresholds).transpose()?,
        ack_every: given.value("ack-every")?,
        receiver: given.choice("receiver", &[("buffer", Reassembly::Buffer), ("go-back-n", Reassembly::GoBackN)])?,
        start: start.first().copied().unwrap_or_else(|| Span::from(Duration::ZERO)),
        stop: stop.first().copied(),
        nc: if given.is_given("nc") { Some(coding(given)?) } else { None },
        ..FlowSpec::new("", "")
    };
    if start.len() <= 1 && stop.len() <= 1 {
        return Ok(vec![spec]);
    }
    let of = |times: &[Span], k: u32| times.get(k as usize).or(times.first()).copied();
    Ok((0..count)
        .map(|k| FlowSpec {
            name: format!("{}{k}", spec.name),
            count: 1,
            start: of(&start, k).unwrap_or(spec.start),
            stop: of(&stop, k),
            ..spec.clone()
        })
        .collect())
}

fn coding(given: &GivenParameters<'_>) -> Result<NcSpec, PresetError> {
    let words = [("end-to-end", Recode::EndToEnd), ("relay", Recode::Relay), ("per-hop", Recode::PerHop)];
    let redundancy: NcRedundancy = given.value("redundancy")?;
    let nodes: Vec<u32> = given.list("recode-at")?;
    Ok(NcSpec {
        redundancy,
        coef_bytes: given.value("coef-bytes")?,
        recode: given.choice("recode", &words)?,
        recode_at: nodes.iter().map(|node| format!("n{node}")).collect(),
        ..NcSpec::default()
    })
}

fn thresholds(text: &str) -> Result<VegasConfig, PresetError> {
    let numbers: Option<Vec<u32>> = text.split(',').map(|number| number.trim().parse().ok()).collect();
    match numbers.as_deref() {
        Some([alpha, beta, gamma]) => Ok(VegasConfig { alpha: *alpha, beta: *beta, gamma: *gamma }),
        _ => {
            let problem = "write three numbers of packets with commas between them, such as `28,30,2`";
            Err(PresetError::new("vegas", problem))
        }
    }
}

/// Gives each flow its traffic source, and adds the flows that answer requests.
fn with_sources(given: &GivenParameters<'_>, flows: Vec<FlowSpec>) -> Result<Vec<FlowSpec>, PresetError> {
    let source = |source: SourceSpec| {
        flows.iter().map(|flow| FlowSpec { source: source.clone(), ..flow.clone() }).collect::<Vec<_>>()
    };
    if let Some(bytes) = given.optional::<Bytes>("file")? {
        return Ok(source(SourceSpec::File(bytes)));
    }
    if let Some(text) = given.all("on-off").next() {
        let [on, off, rate] = three("on-off", text, "`1s,exp:2s,500kbit/s`")?;
        return Ok(source(SourceSpec::OnOff {
            on: part("on-off", on)?,
            off: part("on-off", off)?,
            rate: part::<Rate>("on-off", rate)?,
        }));
    }
    let Some(text) = given.all("requests").next() else { return Ok(flows) };
    let [request, answer, think] = three("requests", text, "`300B,exp:20kB,exp:1s`")?;
    let length: Distribution<Bytes> = part("requests", answer)?;
    let asks = SourceSpec::Requests {
        length: part("requests", request)?,
        think: part::<Distribution<Span>>("requests", think)?,
    };
    let answers = flows.iter().map(|flow| FlowSpec {
        name: flow.name.replacen("flow", "answer", 1),
        source: SourceSpec::Answers { to: flow.name.clone(), length },
        ..flow.clone()
    });
    let answers: Vec<FlowSpec> = answers.collect();
    Ok(source(asks).into_iter().chain(answers).collect())
}

fn three<'a>(name: &str, text: &'a str, example: &str) -> Result<[&'a str; 3], PresetError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    <[&str; 3]>::try_from(parts).map_err(|parts| {
        PresetError::new(name, format!("{} parts in `{text}`; write three parts, such as {example}", parts.len()))
    })
}

fn part<T: FromStr<Err: Display>>(name: &str, text: &str) -> Result<T, PresetError> {
    text.parse().map_err(|error: T::Err| PresetError::new(name, error.to_string()))
}

/// The parameter that sets a field of the scenario. None if no parameter of this preset sets the
/// field.
pub(super) fn parameter_of(field: &str) -> Option<&'static str> {
    let last = field.split('.').skip_while(|part| !part.starts_with("forth") && !part.starts_with("flow"));
    let name = last.skip(1).collect::<Vec<_>>().join(".");
    [
        ("rate", "rate"),
        ("delay", "delay"),
        ("queue", "queue"),
        ("loss.burst", "burst"),
        ("loss", "loss"),
        ("count", "flows"),
        ("window", "wmax"),
        ("initial-window", "initial-window"),
        ("vegas", "vegas"),
        ("source.file", "file"),
        ("source.on-off", "on-off"),
        ("source", "requests"),
        ("receiver", "receiver"),
        ("packet", "packet"),
        ("rto-min", "rto-min"),
        ("rto-max", "rto-max"),
        ("tick", "tick"),
        ("ack-every", "ack-every"),
        ("start", "start"),
        ("stop", "stop"),
        ("nc.recode-at", "recode-at"),
        ("nc.recode", "recode"),
        ("nc.coef-bytes", "coef-bytes"),
        ("nc.redundancy", "redundancy"),
    ]
    .into_iter()
    .find_map(|(field, parameter)| name.starts_with(field).then_some(parameter))
}
