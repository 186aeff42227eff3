//! The mesh of paper 004, as ns-2 and an independent study of TCP/LT simulated it: node 1, a wired link of 2 Mbit/s and
//! 50 ms, node 2, and three 802.11 hops to node 5.

use super::cells::Setting;
use super::settings::SEED;
use ripstop_base::{Bytes, Distance, Fraction, QueueLimit, Rate, Span};
use ripstop_link::LinkConfig;
use ripstop_model::mesh::path::MeshFrames;
use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{
    FlowSpec, GatewaySpec, LinkSpec, LtMode, MediumSpec, NcRedundancy, NcSpec, RunSpec, Scenario, ScenarioReport,
    StationSpec, UdpSpec,
};
use ripstop_sim::wifi::Errors;
use std::time::Duration;

/// Payload of a packet, bytes. TCP and IP headers add 40 bytes.
const PAYLOAD: u64 = 1000;
/// Bytes of a UDP datagram without its headers of 28 bytes. With the headers it is as long as a TCP packet.
const DATAGRAM: u64 = 1012;
/// The rate of the UDP source in packets per second: 300 kbit/s of payload. At P = .1 and .2 this rate, not the medium,
/// limits what arrives: the study's figures with retransmissions are 300 (1-P)^3.
const DATAGRAMS_PER_S: f64 = 37.5;

/// Whether the setting is a mesh.
pub(crate) fn is_mesh(setting: &Setting) -> bool {
    setting.case.starts_with("004-") || setting.case == "lt"
}

/// The relative difference of the means up to which a cell agrees.
pub(crate) fn tolerance(setting: &Setting) -> f64 {
    match setting.get("scheme") {
        "udp" => 0.03,
        // The study leaves the lengths of the timers open.
        "tcp-lt" => 0.15,
        _ => 0.10,
    }
}

/// The scenario of the setting, with `runs` runs of 1000 s.
pub(crate) fn scenario(setting: &Setting, runs: u32) -> Scenario {
    let node = |k: usize| format!("node{k}");
    let mut stations = StationSpec::string(&[Distance::from_meters(200.0); 3]);
    stations.iter_mut().enumerate().for_each(|(k, station)| station.name = node(k + 2));
    let short = setting.number("short_retry").expect("the setting has a retry limit") as u32;
    let loss = setting.number("P").expect("the setting has a loss");
    let medium = MediumSpec {
        capture: Some(10.0),
        data_rate: Some(Rate::from_bps(1_000_000)),
        basic_rate: Some(Rate::from_bps(1_000_000)),
        rts: setting.get("rts") == "on",
        short_retry: Some(short),
        long_retry: Some(setting.number("long_retry").map_or(short, |long| long as u32)),
        loss: Some(Fraction::new(loss).expect("a share from 0 to 1")),
        errors: Some(match setting.get("errors") {
            "per-frame" => Errors::PerFrame,
            "" | "above-mac" => Errors::AboveMac,
            other => panic!("no losses are called `{other}`"),
        }),
        ..MediumSpec::new(stations)
    };
    let wired = LinkConfig {
        rate: Rate::from_bps(2_000_000),
        delay: Span::from(Duration::from_millis(50)),
        // ns-2's limit of 50 packets counts the packet in transmission.
        queue: Some(QueueLimit::Packets(49)),
        ..LinkConfig::default()
    };
    let ends = if setting.get("rev") == "1" { [5, 1] } else { [1, 5] }.map(node);
    let tcp = FlowSpec { packet: Bytes::new(PAYLOAD), window: 20, ..FlowSpec::new(&ends[0], &ends[1]) };
    let flow = match setting.get("scheme") {
        "" => tcp,
        "tcp-lt" => FlowSpec { gateway: Some("gateway".to_owned()), window: 100, ..tcp },
        "tcp-nc" => {
            let arrive = (1.0 - loss) * (1.0 - loss) * (1.0 - loss);
            let redundancy: NcRedundancy = (1.5 / arrive).to_string().parse().expect("a redundancy from 1 to 100");
            FlowSpec { nc: Some(NcSpec { redundancy, ..NcSpec::default() }), ..tcp }
        }
        "udp" => FlowSpec {
            packet: Bytes::new(DATAGRAM),
            udp: Some(UdpSpec::Constant(Rate::from_bps((DATAGRAMS_PER_S * 8.0 * DATAGRAM as f64) as u64))),
            ..FlowSpec::new(&ends[0], &ends[1])
        },
        other => panic!("no scheme is called `{other}`"),
    };
    let link = LinkSpec::new([node(1), node(2)], wired, None);
    let run = RunSpec { runs, seed: SEED, ..RunSpec::default() };
    let gateway = flow.gateway.iter().map(|_| gateway(loss, [node(2), node(5)])).collect();
    Scenario { run, link: vec![link], medium: vec![medium], gateway, flow: vec![flow], ..Scenario::default() }
}

/// The gateway of the study's working version of the paper's protocol. Its capacity is equation (12).
fn gateway(loss: f64, [at, client]: [String; 2]) -> GatewaySpec {
    let capacity = MeshFrames::default().path_capacity(3, loss).expect("a path of three hops has a capacity");
    let capacity = Some(Rate::from_bps(capacity as u64));
    GatewaySpec { capacity, mode: LtMode::Repaired, ..GatewaySpec::new(&at, &client) }
}

/// The simulator's figure for a cell: kbit/s with 1000 bytes for each packet.
pub(crate) fn measured(setting: &Setting, report: &ScenarioReport) -> Statistic {
    let payload = if setting.get("scheme") == "udp" { DATAGRAM } else { PAYLOAD };
    let factor = 1e-3 * PAYLOAD as f64 / payload as f64;
    let Statistic { mean, ci95, n } = report.goodput_bps;
    Statistic { mean: mean.map(|mean| mean * factor), ci95: ci95.map(|ci95| ci95 * factor), n }
}
