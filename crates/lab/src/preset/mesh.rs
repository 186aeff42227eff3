//! The preset `mesh`: TCP or UDP between a server and a client behind the gateway of a wireless mesh (paper 004). A
//! preset is a network that a few parameters describe (see `mod.rs`).

use super::{GivenParameters, Parameter, ParameterKind as Kind, PresetError, measure, string};
use ripstop_base::{Bytes, Fraction, Rate};
use ripstop_link::LinkConfig;
use ripstop_model::mesh::path::MeshFrames;
use ripstop_sim::scenario::{
    CodeName, FlowSpec, GatewaySpec, LinkSpec, LtMode, MediumPreset, MediumSpec, NcRedundancy, NcSpec, RunSpec,
    Scenario, StationSpec, UdpSpec,
};
use ripstop_sim::wifi::Errors;

// Headings of the groups in the help text.
const WIRED: &str = "The wired link";
const MESH: &str = "The mesh";
const MAC: &str = "The medium access";
const FLOWS: &str = "The flows";
const LT: &str = "TCP/LT";

/// The parameters of this preset alone.
#[rustfmt::skip]
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::new("hops", Kind::Count, "N", MESH, "The number of wireless hops between the gateway and the client").or("3"),
    Parameter::new("link-loss", Kind::Fraction, "SHARE", MESH, "P: the share of random losses on each wireless hop").or("0"),
    Parameter::new("errors", Kind::Other, "WHAT", MESH, "What a random loss destroys: a packet `above-mac`, after the MAC has acknowledged its frame, or each frame on the air at each station (`per-frame`)").or("above-mac"),
    Parameter::new("spacing", Kind::Other, "DISTANCE", MESH, "Distance between neighbours, or a list with a distance for each hop").or("200m"),
    Parameter::new("capture", Kind::Other, "RATIO", MESH, "A frame survives an overlapping frame that begins later, if the first frame is at least this many times stronger").or("10"),
    Parameter::new("wired-rate", Kind::Rate, "RATE", WIRED, "Rate of the link between the server and the gateway").or("2Mbit/s"),
    Parameter::new("wired-delay", Kind::Span, "TIME", WIRED, "Propagation delay of this link").or("50ms"),
    Parameter::new("wired-queue", Kind::Queue, "QUEUE", WIRED, "Capacity of this link's queue, in packets or bytes").or("50"),
    Parameter::new("preset", Kind::Other, "NAME", MAC, "Semantics of the MAC: ns2 or standard (docs/researchers/wifi.md)").or("ns2"),
    Parameter::new("data-rate", Kind::Rate, "RATE", MAC, "Rate of data frames").or("1Mbit/s"),
    Parameter::new("basic-rate", Kind::Rate, "RATE", MAC, "Rate of MAC ACKs, RTS and CTS").or("1Mbit/s"),
    Parameter::new("rts", Kind::Other, "on|off", MAC, "Whether RTS and CTS announce data frames").or("off"),
    Parameter::new("short-retry", Kind::Count, "N", MAC, "Number of transmissions after which a frame without RTS, or an RTS, is dropped. 1 means no retransmission, as in paper 004").or("7"),
    Parameter::new("long-retry", Kind::Count, "N", MAC, "Number of transmissions after which a frame with RTS is dropped [default: 4, but at most the value of --short-retry]"),
    Parameter::new("queue", Kind::Count, "PACKETS", MAC, "Capacity of the interface queue of each station").or("50"),
    Parameter::new("scheme", Kind::Other, "NAME", FLOWS, "`tcp`: plain TCP. `tcp-nc`: TCP/NC from end to end. `tcp-lt`: TCP/LT between the gateway and the client").or("tcp"),
    Parameter::new("traffic", Kind::Other, "KIND", FLOWS, "`tcp`: TCP flows. `udp`: datagrams at a constant rate").or("tcp"),
    Parameter::new("down", Kind::Count, "N", FLOWS, "The number of flows from the server to the client").or("1"),
    Parameter::new("up", Kind::Count, "N", FLOWS, "The number of flows from the client to the server").or("0"),
    Parameter::new("tcp", Kind::Other, "NAME", FLOWS, "Congestion control").or("newreno"),
    Parameter::new("window", Kind::Count, "PACKETS", FLOWS, "The receiver's window, packets [default: 20; with TCP/LT 100, because the sender must fill blocks]").or_named("wmax"),
    Parameter::new("packet", Kind::Bytes, "SIZE", FLOWS, "Payload of a packet. The headers add 40 bytes (52 bytes with CUBIC, BBR and linux-reno, 28 bytes with UDP)").or("1000B"),
    Parameter::new("redundancy", Kind::Other, "R", FLOWS, "Number of combinations that TCP/NC sends for each segment: a number such as 2.1, `rule` (paper 000, section VI-B) or `auto` [default: 1.5/(1-P)^hops]. With TCP/LT: number of symbols that are sent at first for each packet of a block, or `auto`: 1/(1 - measured loss) [default: auto]"),
    Parameter::new("lt", Kind::Other, "MODE", LT, "`improved`: reliable LT-ACKs and early acknowledgements. `repaired`: paper 004 with the steps without which it stops. `paper`: as printed; stops when an LT-ACK is lost [default: improved]"),
    Parameter::new("block", Kind::Other, "PACKETS", LT, "Packets of a block, 1 to 64, or `auto` [default: 16]"),
    Parameter::new("code", Kind::Other, "NAME", LT, "The code of a block: `lt` (systematic; with the paper's modes, degrees optimised for small blocks), `systematic`, `optimised` or `soliton` (LT codes), `rlnc` (random linear over GF(256)) or `block` (MDS) [default: lt]"),
    Parameter::new("capacity", Kind::Rate, "RATE", LT, "The rate that the gateway shares among its flows [default: the capacity of the path by equation (12) of paper 004]"),
    Parameter::new("udp-rate", Kind::Rate, "RATE", FLOWS, "Payload rate of all UDP sources together [default: 1.1 times the capacity of the path without losses, by equation (12) of paper 004]"),
];

/// The largest number of hops. A medium has at most 1000 stations.
const MOST_HOPS: u32 = 999;
/// Combinations of TCP/NC that arrive for each segment if `--redundancy` is left out. The value comes from the
/// independent study of TCP/LT, which compares TCP/NC with it. At P = 10 % over 3 hops (W = 20, `--short-retry 1`),
/// TCP/NC carries 170 kbit/s. Half the value carries 3 kbit/s, and double the value carries 108 kbit/s.
const ARRIVING: f64 = 1.5;
/// Rate of UDP divided by the capacity of the path without losses, if `--udp-rate` is left out. The rate is 300 kbit/s
/// for 3 hops, as in the independent study of TCP/LT. UDP reaches 1.03 times the capacity, so the source saturates a
/// path without losses. Half the value saturates no path. With double the value, lossy paths carry more: 231 instead of
/// 218 kbit/s at P = 10 % (`--short-retry 1`).
const UDP_LOAD: f64 = 1.1;
/// The receiver's window of plain TCP and TCP/NC, as in ns-2's runs for paper 004. Half the value starves the path, and
/// double the value lengthens the queue.
const PAPER_WINDOW: u32 = 20;
/// The receiver's window with TCP/LT. The paper's modes acknowledge a packet when its block is decoded. So the window
/// must hold more than two blocks, or the path is idle while TCP fills the next block. Half the value is enough for
/// blocks of 16 packets. Double the value only lengthens the queue.
const LT_WINDOW: u32 = 100;
/// The largest number of flows in one direction. A larger number is probably a typing error. Half the value refuses
/// 5001 flows. Double the value allows simulations that need twice the memory, some kilobytes for each flow.
const MOST_FLOWS: u32 = 10_000;
/// The largest redundancy of TCP/NC (`Factor::MAX`).
const MOST_REDUNDANCY: f64 = 100.0;

/// What carries the data over the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scheme {
    /// Plain TCP.
    Tcp,
    /// TCP/NC from end to end (paper 000).
    TcpNc,
    /// TCP/LT between the gateway and the client (paper 004).
    TcpLt,
}

/// Makes the scenario from the given parameters. The caller checks the result with `check_scenario`.
pub(super) fn scenario(given: &GivenParameters<'_>) -> Result<Scenario, PresetError> {
    let hops: u32 = given.value("hops")?;
    if hops == 0 || hops > MOST_HOPS {
        return Err(PresetError::new("hops", format!("{hops} hops; write 1 to {MOST_HOPS}")));
    }
    let mut run = RunSpec::default();
    measure::apply(given, &mut run)?;
    let wired = LinkConfig {
        rate: given.value("wired-rate")?,
        delay: given.value("wired-delay")?,
        queue: Some(given.value("wired-queue")?),
        ..LinkConfig::default()
    };
    if wired.rate.bps() == 0 {
        return Err(PresetError::new("wired-rate", "a link of 0 bit/s carries nothing; write for example `2Mbit/s`"));
    }
    let medium = medium(given, hops)?;
    let flow = flows(given, hops, &medium)?;
    let between = [SERVER, GATEWAY].map(str::to_owned);
    let link = vec![LinkSpec::new(between, wired, None)];
    let gateway = gateway(given, hops, &medium)?.into_iter().collect();
    let scenario = Scenario { run, link, medium: vec![medium], gateway, flow, ..Scenario::default() };
    Ok(measure::expect(given, scenario))
}

/// Warnings about given parameters that have no effect.
pub(super) fn warnings(given: &GivenParameters<'_>) -> Result<Vec<String>, PresetError> {
    let none = given.value::<Fraction>("link-loss")?.get() == 0.0;
    let useless = given.is_given("errors") && none;
    Ok(useless.then(|| "--errors has no effect without --link-loss: nothing is lost".to_owned()).into_iter().collect())
}

// The names of the nodes. Relays between the gateway and the client are `relay1`, `relay2`, ...
const SERVER: &str = "server";
const GATEWAY: &str = "gateway";
const CLIENT: &str = "client";

fn medium(given: &GivenParameters<'_>, hops: u32) -> Result<MediumSpec, PresetError> {
    let mut stations = StationSpec::string(&string::gaps(given, hops as usize)?);
    for (k, station) in stations.iter_mut().enumerate() {
        station.name = match k {
            0 => GATEWAY.to_owned(),
            k if k == hops as usize => CLIENT.to_owned(),
            k => format!("relay{k}"),
        };
    }
    let loss: Fraction = given.value("link-loss")?;
    let errors = given.choice("errors", &[("above-mac", Errors::AboveMac), ("per-frame", Errors::PerFrame)])?;
    let short_retry: u32 = given.value("short-retry")?;
    let capture = given.value("capture").map_err(|wrong| string::with_example("capture", wrong, "10"))?;
    Ok(MediumSpec {
        preset: given.choice("preset", &[("ns2", MediumPreset::Ns2), ("standard", MediumPreset::Standard)])?,
        capture: Some(capture),
        data_rate: Some(given.value("data-rate")?),
        basic_rate: Some(given.value("basic-rate")?),
        rts: given.choice("rts", &[("on", true), ("off", false)])?,
        short_retry: Some(short_retry),
        long_retry: Some(given.optional("long-retry")?.unwrap_or(short_retry.min(4))),
        loss: (loss.get() > 0.0).then_some(loss),
        errors: (loss.get() > 0.0).then_some(errors),
        queue: Some(given.value("queue")?),
        ..MediumSpec::new(stations)
    })
}

/// The flows down from the server to the client, then the flows up.
fn flows(given: &GivenParameters<'_>, hops: u32, medium: &MediumSpec) -> Result<Vec<FlowSpec>, PresetError> {
    let [down, up] = [given.value::<u32>("down")?, given.value("up")?];
    for (name, count) in [("down", down), ("up", up)] {
        if count > MOST_FLOWS {
            return Err(PresetError::new(name, format!("{count} flows; write at most {MOST_FLOWS}")));
        }
    }
    if down == 0 && up == 0 {
        return Err(PresetError::new("down", "there is no flow; write at least 1, or write --up 1"));
    }
    let scheme = scheme(given)?;
    let is_udp = given.choice("traffic", &[("tcp", false), ("udp", true)])?;
    if is_udp && scheme != Scheme::Tcp {
        let problem = "UDP uses no coding; remove --scheme, or write --traffic tcp";
        return Err(PresetError::new("scheme", problem));
    }
    let usual = FlowSpec { packet: given.value("packet")?, ..FlowSpec::new("", "") };
    let flow = if is_udp {
        if let Some(name) = ["tcp", "window", "redundancy"].into_iter().find(|name| given.is_given(name)) {
            let problem = format!("UDP has no such setting; remove --{name}, or write --traffic tcp");
            return Err(PresetError::new(name, problem));
        }
        let share = udp_rate(given, hops, medium, usual.packet)?.bps() / (u64::from(down) + u64::from(up));
        FlowSpec { udp: Some(UdpSpec::Constant(Rate::from_bps(share))), ..usual }
    } else {
        if given.is_given("udp-rate") {
            return Err(PresetError::new("udp-rate", "only UDP has a rate; remove it, or write --traffic udp"));
        }
        let nc = match scheme {
            Scheme::Tcp if given.is_given("redundancy") => {
                let problem = "plain TCP sends no combinations; remove it, or write --scheme tcp-nc";
                return Err(PresetError::new("redundancy", problem));
            }
            Scheme::Tcp | Scheme::TcpLt => None,
            Scheme::TcpNc => Some(NcSpec { redundancy: redundancy(given, hops)?, ..NcSpec::default() }),
        };
        let gateway = (scheme == Scheme::TcpLt).then(|| GATEWAY.to_owned());
        let window = given.optional("window")?.unwrap_or(if gateway.is_some() { LT_WINDOW } else { PAPER_WINDOW });
        FlowSpec { tcp: given.value("tcp")?, window, nc, gateway, ..usual }
    };
    let directions = [("down", down, [SERVER, CLIENT]), ("up", up, [CLIENT, SERVER])];
    let used = directions.into_iter().filter(|(_, count, _)| *count > 0);
    Ok(used
        .map(|(name, count, [from, to])| FlowSpec {
            name: name.to_owned(),
            count,
            from: from.to_owned(),
            to: to.to_owned(),
            ..flow.clone()
        })
        .collect())
}

fn scheme(given: &GivenParameters<'_>) -> Result<Scheme, PresetError> {
    given.choice("scheme", &[("tcp", Scheme::Tcp), ("tcp-nc", Scheme::TcpNc), ("tcp-lt", Scheme::TcpLt)])
}

/// The gateway of TCP/LT. None with other schemes.
fn gateway(given: &GivenParameters<'_>, hops: u32, medium: &MediumSpec) -> Result<Option<GatewaySpec>, PresetError> {
    if scheme(given)? != Scheme::TcpLt {
        if let Some(name) = ["lt", "block", "code", "capacity"].into_iter().find(|name| given.is_given(name)) {
            let problem = format!("only TCP/LT has this setting; remove --{name}, or write --scheme tcp-lt");
            return Err(PresetError::new(name, problem));
        }
        return Ok(None);
    }
    let modes = [("improved", LtMode::Improved), ("repaired", LtMode::Repaired), ("paper", LtMode::Paper)];
    let codes = [
        ("lt", None),
        ("systematic", Some(CodeName::Systematic)),
        ("optimised", Some(CodeName::Optimised)),
        ("soliton", Some(CodeName::Soliton)),
        ("rlnc", Some(CodeName::Rlnc)),
        ("block", Some(CodeName::Block)),
    ];
    let packet: Bytes = given.value("packet")?;
    let capacity = match given.optional("capacity")? {
        Some(capacity) => capacity,
        None => capacity(medium, packet, hops, given.value::<Fraction>("link-loss")?.get(), 1.0),
    };
    let usual = GatewaySpec::new(GATEWAY, CLIENT);
    Ok(Some(GatewaySpec {
        name: GATEWAY.to_owned(),
        capacity: Some(capacity),
        mode: if given.is_given("lt") { given.choice("lt", &modes)? } else { usual.mode },
        block: given.optional("block")?.unwrap_or(usual.block),
        code: if given.is_given("code") { given.choice("code", &codes)? } else { usual.code },
        redundancy: given.optional("redundancy")?.unwrap_or(usual.redundancy),
        ..usual
    }))
}

/// The redundancy of TCP/NC: the given value, or the default.
fn redundancy(given: &GivenParameters<'_>, hops: u32) -> Result<NcRedundancy, PresetError> {
    if let Some(given) = given.optional("redundancy")? {
        return Ok(given);
    }
    let arrive = libm::pow(1.0 - given.value::<Fraction>("link-loss")?.get(), f64::from(hops));
    let default = (ARRIVING / arrive).min(MOST_REDUNDANCY);
    default.to_string().parse().map_err(|error| PresetError::new("redundancy", error))
}

/// The rate of all UDP sources together: the given value, or the default.
fn udp_rate(given: &GivenParameters<'_>, hops: u32, medium: &MediumSpec, packet: Bytes) -> Result<Rate, PresetError> {
    if let Some(rate) = given.optional("udp-rate")? {
        return Ok(rate);
    }
    Ok(capacity(medium, packet, hops, 0.0, UDP_LOAD))
}

/// `times` times the capacity of the path by equation (12) of paper 004.
fn capacity(medium: &MediumSpec, packet: Bytes, hops: u32, loss: f64, times: f64) -> Rate {
    let config = medium.config();
    let frames = MeshFrames {
        data_bytes: packet.get() as f64,
        data_bps: config.data_rate as f64,
        basic_bps: config.basic_rate as f64,
        ..MeshFrames::default()
    };
    // Without a capacity, the check of the scenario finds the invalid setting.
    let capacity = frames.path_capacity(hops, loss).unwrap_or(1.0);
    Rate::from_bps(((times * capacity).round() as u64).max(1))
}

/// The parameter that sets a field of the scenario. None if no parameter of this preset sets the field.
pub(super) fn parameter_of(field: &str) -> Option<&'static str> {
    if let Some((_, name)) = field.strip_prefix("flow[").and_then(|rest| rest.split_once("].")) {
        let known = [("to", "spacing"), ("udp", "udp-rate"), ("nc", "redundancy"), ("window", "window")];
        let known = known.into_iter().chain([("packet", "packet"), ("gateway", "scheme")]);
        return known.into_iter().find_map(|(known, parameter)| name.starts_with(known).then_some(parameter));
    }
    [
        ("link[0].forth.rate", "wired-rate"),
        ("link[0].forth.delay", "wired-delay"),
        ("link[0].forth.queue", "wired-queue"),
        ("medium[0].stations", "spacing"),
        ("medium[0].capture", "capture"),
        ("medium[0].data-rate", "data-rate"),
        ("medium[0].basic-rate", "basic-rate"),
        ("medium[0].short-retry", "short-retry"),
        ("medium[0].long-retry", "long-retry"),
        ("medium[0].loss", "link-loss"),
        ("medium[0].queue", "queue"),
        ("gateway[0].block", "block"),
        ("gateway[0].capacity", "capacity"),
    ]
    .into_iter()
    .find_map(|(known, parameter)| field.starts_with(known).then_some(parameter))
}
