//! The preset `string`: TCP or UDP over a string of 802.11 stations (paper 002). A preset is a
//! network that a few parameters describe (see `mod.rs`).

use super::{GivenParameters, Parameter, ParameterKind as Kind, PresetError, ideal, measure};
use ripstop_base::{Bytes, Distance, Rate, Span};
use ripstop_sim::scenario::{
    AccessName, AdaptiveSpec, BackoffName, FlowSpec, KSpec, LearnedWord, MediumPreset, MediumSpec, RunSpec, Scenario,
    StationSpec, UdpSpec,
};
use ripstop_sim::wifi::{PostBackoff, Residual, Routing, TimerStart};
use std::time::Duration;

// Headings of the groups in the help text.
const STRING: &str = "The string";
const MAC: &str = "The medium access";
const BACKOFF: &str = "The adaptive back-off: what paper 002 leaves open";
const FLOWS: &str = "The flows";

/// The parameters of this preset alone.
#[rustfmt::skip]
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new("nodes", Kind::Count, "N", STRING, "The number of stations").or("10"),
    Parameter::new("spacing", Kind::Other, "DISTANCE", STRING, "Distance between neighbours, or a list with a distance for each pair of neighbours, such as `200m,100m,200m`. `asymmetric` is a string of ten stations as in paper 002, fig. 16").or("200m"),
    Parameter::new("capture", Kind::Other, "RATIO", STRING, "A frame survives an overlapping frame that begins later, if the first frame is at least this many times stronger").or("10"),
    Parameter::new("receive-range", Kind::Other, "DISTANCE", STRING, "Largest distance at which a frame is decoded [default: 250m]"),
    Parameter::new("sense-range", Kind::Other, "DISTANCE", STRING, "Largest distance at which a frame is sensed and disturbs other frames [default: 550m]"),
    Parameter::new("preset", Kind::Other, "NAME", MAC, "Semantics of the MAC: ns2 or standard (docs/researchers/wifi.md)").or("ns2"),
    Parameter::new("data-rate", Kind::Rate, "RATE", MAC, "Rate of data frames [default: 11Mbit/s]"),
    Parameter::new("basic-rate", Kind::Rate, "RATE", MAC, "Rate of MAC ACKs, RTS, CTS and broadcasts [default: 2Mbit/s]"),
    Parameter::new("rts", Kind::Other, "on|off", MAC, "Whether RTS and CTS announce data frames").or("off"),
    Parameter::new("short-retry", Kind::Count, "N", MAC, "Number of transmissions after which a frame without RTS, or an RTS, is dropped").or("7"),
    Parameter::new("long-retry", Kind::Count, "N", MAC, "Number of transmissions after which a frame with RTS is dropped").or("4"),
    Parameter::new("queue", Kind::Count, "PACKETS", MAC, "Capacity of the interface queue of each station").or("50"),
    Parameter::new("routing", Kind::Other, "NAME", MAC, "Routing: `static`, or `aodv` (RFC 3561, with the timers of ns-2)").or("static"),
    Parameter::new("xor", Kind::Other, "on|off", MAC, "Whether stations XOR packets that go in opposite directions").or("off"),
    Parameter::new("backoff", Kind::Other, "NAME", MAC, "Rule for back-offs: `standard`, `adaptive` (paper 002, algorithm 1), `adaptive-redrawn`, `adaptive-small-post`, `adaptive-hold`, or `cadence`").or("standard"),
    Parameter::new("k", Kind::Other, "learned|N", BACKOFF, "Number of hops over which a packet is protected. The timer runs for k + 1 packet times [default: learned]"),
    Parameter::new("most-k", Kind::Count, "N", BACKOFF, "The largest k that a station learns [default: no limit]"),
    Parameter::new("small-window", Kind::Count, "SLOTS", BACKOFF, "The back-off window while the timer does not run [default: 32]"),
    Parameter::new("large-window", Kind::Count, "SLOTS", BACKOFF, "The back-off window while the timer runs [default: 512]"),
    Parameter::new("residual", Kind::Other, "kept|redrawn", BACKOFF, "What happens to a back-off that is not over when the timer ends [default: that of --backoff]"),
    Parameter::new("timer-start", Kind::Other, "WHEN", BACKOFF, "What starts the timer: every-exchange, success or frame-start [default: that of --backoff]"),
    Parameter::new("post-backoff", Kind::Other, "ruled|small", BACKOFF, "How the back-off after an exchange is drawn: `ruled` as any other back-off, `small` from the small window [default: that of --backoff]"),
    Parameter::new("ack-window", Kind::Other, "ruled|small", BACKOFF, "The back-off window for frames with TCP acknowledgements: `ruled` as for any other frame, or always `small` [default: that of --backoff]"),
    Parameter::new("doubling", Kind::Other, "on|off", BACKOFF, "Whether the back-off window also doubles with each failure [default: that of --backoff]"),
    Parameter::new("traffic", Kind::Other, "KIND", FLOWS, "`tcp`: TCP flows. `udp`: datagrams, sent faster than the medium can carry them. `saturated`: no flows, but every link always has a packet (needs ideal access)").or("tcp"),
    Parameter::new("flows", Kind::Count, "N", FLOWS, "The number of flows in each direction").or("1"),
    Parameter::new("direction", Kind::Other, "one|both", FLOWS, "`one`: flows from the first station to the last. `both`: also flows from the last station to the first").or("one"),
    Parameter::new("tcp", Kind::Other, "NAME", FLOWS, "Congestion control").or("newreno"),
    Parameter::new("window", Kind::Count, "PACKETS", FLOWS, "The receiver's window, packets").or("20").or_named("wmax"),
    Parameter::new("packet", Kind::Bytes, "SIZE", FLOWS, "Payload of a TCP packet. A UDP datagram with its headers is 40 bytes larger than this payload").or("1460B"),
    Parameter::new("acks", Kind::Other, "on|off", FLOWS, "`on`: TCP's acknowledgements are sent over the medium. `off`: they reach the sender without the medium").or("on"),
];

/// The largest number of stations. A larger number is refused.
const MOST_NODES: u32 = 1000;
/// Headers of TCP and IP, bytes. A UDP packet with its headers has the size of a TCP packet with
/// these headers.
const TCP_IP: u64 = 40;
/// Headers of UDP and IP, bytes.
const UDP_IP: u64 = 28;

/// Makes the scenario from the given parameters. The caller checks the result with
/// `check_scenario`.
pub(super) fn scenario(given: &GivenParameters<'_>) -> Result<Scenario, PresetError> {
    let on_off = [("on", true), ("off", false)];
    let stations = stations(given)?;
    let access = given.choice("access", ideal::ACCESSES)?;
    let is_dcf = access == AccessName::Dcf;
    // These settings have defaults only if the access is DCF.
    let retry = |name| if is_dcf { given.value(name).map(Some) } else { given.optional(name) };
    let capture = if is_dcf { given.value("capture").map(Some) } else { given.optional("capture") };
    let mut medium = MediumSpec {
        access,
        preset: given.choice("preset", &[("ns2", MediumPreset::Ns2), ("standard", MediumPreset::Standard)])?,
        capture: capture.map_err(|wrong| with_example("capture", wrong, "10"))?,
        data_rate: given.optional::<Rate>("data-rate")?,
        basic_rate: given.optional::<Rate>("basic-rate")?,
        receive_range: given.optional::<Distance>("receive-range")?,
        sense_range: given.optional::<Distance>("sense-range")?,
        rts: given.choice("rts", &on_off)?,
        short_retry: retry("short-retry")?,
        long_retry: retry("long-retry")?,
        queue: Some(given.value("queue")?),
        routing: given.choice("routing", &[("static", Routing::Static), ("aodv", Routing::Aodv)])?,
        xor: given.choice("xor", &on_off)?,
        backoff: given.choice("backoff", BACKOFFS)?,
        adaptive: adaptive(given)?,
        ..MediumSpec::new(stations)
    };
    let is_saturated = traffic(given)? == Traffic::Saturated;
    let acks = given.choice("acks", &on_off)?;
    medium.ideal = ideal::settings(given, &medium, is_saturated, acks)?;
    let mut run = RunSpec { duration: Span::from(Duration::from_secs(100)), ..RunSpec::default() };
    measure::apply(given, &mut run)?;
    let flow = flows(given, &medium)?;
    let scenario = Scenario { run, medium: vec![medium], flow, ..Scenario::default() };
    Ok(measure::expect(given, scenario))
}

/// The rules for back-offs, by name. The names `L`, `R`, `AB'` and `hold` are those of an independent
/// study (docs/researchers/wifi.md).
const BACKOFFS: &[(&str, BackoffName)] = &[
    ("standard", BackoffName::Standard),
    ("adaptive", BackoffName::Adaptive),
    ("adaptive-redrawn", BackoffName::AdaptiveRedrawn),
    ("adaptive-small-post", BackoffName::AdaptiveSmallPost),
    ("adaptive-hold", BackoffName::AdaptiveHold),
    ("cadence", BackoffName::Cadence),
    ("L", BackoffName::Adaptive),
    ("R", BackoffName::AdaptiveRedrawn),
    ("AB'", BackoffName::AdaptiveSmallPost),
    ("hold", BackoffName::AdaptiveHold),
];

/// Adds an example to the error `wrong` of a parameter that takes a number without a unit.
pub(super) fn with_example(name: &str, wrong: PresetError, example: &str) -> PresetError {
    PresetError::new(name, format!("{}; write a number, for example `{example}`", wrong.problem))
}

/// The stations `n0`, `n1`, ... of the string.
fn stations(given: &GivenParameters<'_>) -> Result<Vec<StationSpec>, PresetError> {
    let nodes: u32 = given.value("nodes")?;
    if !(2..=MOST_NODES).contains(&nodes) {
        return Err(PresetError::new("nodes", format!("{nodes} stations; write 2 to {MOST_NODES}")));
    }
    let text: String = given.value("spacing")?;
    if text == ASYMMETRIC_NAME {
        return asymmetric(nodes);
    }
    Ok(StationSpec::string(&gaps(given, nodes as usize - 1)?))
}

/// The `count` gaps between neighbours: one distance for all gaps, or a list with a distance for each gap.
pub(super) fn gaps(given: &GivenParameters<'_>, count: usize) -> Result<Vec<Distance>, PresetError> {
    let text: String = given.value("spacing")?;
    let spacings: Vec<Distance> = text
        .split(',')
        .map(|one| one.trim().parse::<Distance>().map_err(|error| PresetError::new("spacing", error.to_string())))
        .collect::<Result<_, _>>()?;
    if spacings.len() != 1 && spacings.len() != count {
        let problem = format!("{} distances for {count} gaps; write one for all, or one for each gap", spacings.len());
        return Err(PresetError::new("spacing", problem));
    }
    Ok((0..count).map(|k| spacings[k.min(spacings.len() - 1)]).collect())
}

/// The value of `spacing` that stands for [`ASYMMETRIC_M`].
const ASYMMETRIC_NAME: &str = "asymmetric";
/// The coordinates x and y of the stations of the asymmetric string, m.
///
/// Fig. 16 of paper 002 shows a string on which the third node has k = 4 and the eighth has k = 2.
/// The paper does not give the coordinates. k of a node is the number of hops to the farthest node
/// within 550 m. The side with the larger number counts, as in `ripstop model string`.
///
/// With a reach of 250 m, no straight string has these two k. Let a, b, c, d and e be the five gaps
/// between the third node and the eighth. No route leaves out a node only if a + b > 250 m. The two
/// k need a + b + c + d <= 550 m and c + d + e > 550 m. So c + d < 300 m and e > 250 m, which is
/// more than the reach.
///
/// This string has a right angle at its fifth station, with gaps of 180 m before this station and 200 m after it. The
/// third node is 538 m from the seventh and 700 m from the eighth. With gaps of 170 m before the corner, the two
/// neighbours of the corner station are 262 m apart. With 160 m, they are 256 m apart. With 185 m, the third node is
/// 545 m from the seventh. With 190 m, it is 552 m, and the third node would have k = 3.
const ASYMMETRIC_M: [(f64, f64); 10] = [
    (0.0, 720.0),
    (0.0, 540.0),
    (0.0, 360.0),
    (0.0, 180.0),
    (0.0, 0.0),
    (200.0, 0.0),
    (400.0, 0.0),
    (600.0, 0.0),
    (800.0, 0.0),
    (1000.0, 0.0),
];

/// The stations `n0` to `n9` of the asymmetric string ([`ASYMMETRIC_M`]).
fn asymmetric(nodes: u32) -> Result<Vec<StationSpec>, PresetError> {
    let own = ASYMMETRIC_M.len();
    if nodes as usize != own {
        let problem = format!("`{ASYMMETRIC_NAME}` is a string of {own} stations, not {nodes}; write --nodes {own}");
        return Err(PresetError::new("spacing", problem));
    }
    let station = |(k, (x, y)): (usize, &(f64, f64))| StationSpec {
        name: format!("n{k}"),
        x: Distance::from_meters(*x),
        y: Distance::from_meters(*y),
    };
    Ok(ASYMMETRIC_M.iter().enumerate().map(station).collect())
}

/// The settings of the adaptive back-off that were given. All other settings keep their defaults.
fn adaptive(given: &GivenParameters<'_>) -> Result<AdaptiveSpec, PresetError> {
    let k = match given.optional::<String>("k")?.as_deref() {
        None => None,
        Some("learned") => Some(KSpec::Word(LearnedWord::Learned)),
        Some(text) => {
            let problem = || {
                PresetError::new("k", format!("`{text}` is not a value of k; write `learned`, or a number such as 2"))
            };
            Some(KSpec::Fixed(text.parse().map_err(|_| problem())?))
        }
    };
    Ok(AdaptiveSpec {
        k,
        most_k: given.optional("most-k")?,
        small_window: given.optional("small-window")?,
        large_window: given.optional("large-window")?,
        residual: choice(given, "residual", &[("kept", Residual::Kept), ("redrawn", Residual::Redrawn)])?,
        start: choice(
            given,
            "timer-start",
            &[
                ("every-exchange", TimerStart::EveryExchange),
                ("success", TimerStart::Success),
                ("frame-start", TimerStart::FrameStart),
            ],
        )?,
        post: choice(given, "post-backoff", &[("ruled", PostBackoff::Ruled), ("small", PostBackoff::Small)])?,
        acks_use_small_window: choice(given, "ack-window", &[("ruled", false), ("small", true)])?,
        doubling: choice(given, "doubling", &[("on", true), ("off", false)])?,
        effect: None,
    })
}

/// The value of a parameter that takes a word. None if the parameter was not given.
fn choice<T: Clone>(given: &GivenParameters<'_>, name: &str, words: &[(&str, T)]) -> Result<Option<T>, PresetError> {
    if given.is_given(name) { given.choice(name, words).map(Some) } else { Ok(None) }
}

/// What uses the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Traffic {
    /// TCP flows.
    Tcp,
    /// Datagrams.
    Udp,
    /// No flows: the links always have packets.
    Saturated,
}

fn traffic(given: &GivenParameters<'_>) -> Result<Traffic, PresetError> {
    given.choice("traffic", &[("tcp", Traffic::Tcp), ("udp", Traffic::Udp), ("saturated", Traffic::Saturated)])
}

/// The flows from the first station to the last, and perhaps flows back.
fn flows(given: &GivenParameters<'_>, medium: &MediumSpec) -> Result<Vec<FlowSpec>, PresetError> {
    let [first, last] = [medium.stations.first(), medium.stations.last()].map(|s| s.map_or("", |s| s.name.as_str()));
    let packet: Bytes = given.value("packet")?;
    let traffic = traffic(given)?;
    let is_udp = traffic == Traffic::Udp;
    let out_of_band = !given.choice("acks", &[("on", true), ("off", false)])?;
    if is_udp && out_of_band {
        return Err(PresetError::new("acks", "UDP has no acknowledgements; remove --acks or write --traffic tcp"));
    }
    let is_both = given.choice("direction", &[("one", false), ("both", true)])?;
    if traffic == Traffic::Saturated {
        let problem = "links that always have packets carry no flows; remove --direction, or write --traffic tcp";
        return if is_both { Err(PresetError::new("direction", problem)) } else { Ok(Vec::new()) };
    }
    let flow = |name: &str, from: &str, to: &str| -> Result<FlowSpec, PresetError> {
        let mut flow = FlowSpec { name: name.to_owned(), ..FlowSpec::new(from, to) };
        flow.count = given.value("flows")?;
        flow.packet = packet;
        if is_udp {
            flow.packet = Bytes::new((packet.get() + TCP_IP).saturating_sub(UDP_IP));
            flow.udp = Some(UdpSpec::Constant(Rate::from_bps(medium.config().data_rate)));
            return Ok(flow);
        }
        flow.tcp = given.value("tcp")?;
        flow.window = given.value("window")?;
        flow.acks_out_of_band = out_of_band;
        Ok(flow)
    };
    let mut flows = vec![flow("flow", first, last)?];
    if is_both {
        flows[0].name = "there".to_owned();
        flows.push(flow("back", last, first)?);
    }
    Ok(flows)
}

/// The parameter that sets a field of the scenario. None if no parameter of this preset sets the
/// field.
pub(super) fn parameter_of(field: &str) -> Option<&'static str> {
    let known = [
        ("medium[0].stations", "spacing"),
        ("medium[0].capture", "capture"),
        ("medium[0].data-rate", "data-rate"),
        ("medium[0].basic-rate", "basic-rate"),
        ("medium[0].receive-range", "receive-range"),
        ("medium[0].sense-range", "sense-range"),
        ("medium[0].short-retry", "short-retry"),
        ("medium[0].long-retry", "long-retry"),
        ("medium[0].queue", "queue"),
        ("medium[0].rts", "rts"),
        ("medium[0].routing", "routing"),
        ("medium[0].xor", "xor"),
        ("medium[0].backoff", "backoff"),
        ("medium[0].adaptive.k", "k"),
        ("medium[0].adaptive.most-k", "most-k"),
        ("medium[0].adaptive.small-window", "small-window"),
        ("medium[0].adaptive.large-window", "large-window"),
        ("medium[0].adaptive", "backoff"),
        ("flow[0].count", "flows"),
        ("flow[0].packet", "packet"),
        ("flow[0].window", "window"),
        ("flow[0].to", "spacing"),
    ];
    let known = known.into_iter().find_map(|(known, parameter)| field.starts_with(known).then_some(parameter));
    known.or_else(|| ideal::parameter_of(field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    fn stations(given: &[(&str, &str)]) -> Result<Vec<StationSpec>, PresetError> {
        let given: Vec<(String, String)> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Preset::String.scenario(&given).map(|mut scenario| scenario.medium.remove(0).stations)
    }

    /// The reach of `stations[k]`, which paper 002 calls k. As in `ripstop model string`, this is the number of
    /// stations within 550 m, on the side with the larger number.
    fn reach(stations: &[StationSpec], k: usize) -> usize {
        let near = |other: &&StationSpec| apart(&stations[k], other) <= 550.0;
        let behind = stations[..k].iter().rev().take_while(near).count();
        let ahead = stations[k + 1..].iter().take_while(near).count();
        behind.max(ahead)
    }

    /// The distance between two stations, m.
    fn apart(one: &StationSpec, other: &StationSpec) -> f64 {
        (one.x.meters() - other.x.meters()).hypot(one.y.meters() - other.y.meters())
    }

    #[test]
    fn the_asymmetric_string_has_the_k_of_the_paper() {
        let asymmetric = stations(&[("spacing", "asymmetric")]).unwrap();
        assert_eq!((reach(&asymmetric, 2), reach(&asymmetric, 7)), (4, 2));
        let straight = stations(&[]).unwrap();
        assert_eq!((reach(&straight, 2), reach(&straight, 7)), (2, 2));
        // Only neighbours decode each other, so that a packet passes every station.
        for (k, one) in asymmetric.iter().enumerate() {
            for (other, two) in asymmetric.iter().enumerate().skip(k + 1) {
                assert_eq!(apart(one, two) <= 250.0, other == k + 1, "{k} {other}");
            }
        }
        let wrong = stations(&[("spacing", "asymmetric"), ("nodes", "8")]).unwrap_err();
        assert_eq!(wrong.parameter.as_deref(), Some("spacing"));
        assert!(wrong.problem.contains("--nodes 10"), "{}", wrong.problem);
    }
}
