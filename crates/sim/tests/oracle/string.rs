//! The strings of 802.11 stations of paper 002, as ns-2 and the independent study simulated them.

use super::cells::{Cell, Setting};
use super::settings::{SEED, seconds};
use ripstop_base::{Bytes, Distance, Rate};
use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{
    AdaptiveSpec, BackoffName, FlowSpec, MediumSpec, RunSpec, Scenario, ScenarioReport, StationSpec, UdpSpec,
};
use ripstop_sim::tcp::Variant;
use ripstop_sim::wifi::{PostBackoff, Routing};

/// Whether the setting is a string.
pub(crate) fn is_string(setting: &Setting) -> bool {
    setting.case.starts_with("002-") || setting.case == "xor"
}

/// Whether the setting is a string with AODV.
pub(crate) fn has_aodv(setting: &Setting) -> bool {
    setting.get("routing") == "aodv"
}

/// The scenario of the setting, with `runs` runs: 100 s after a warm-up of 5 s.
pub(crate) fn scenario(setting: &Setting, runs: u32) -> Scenario {
    let nodes = setting.number("n").expect("the setting has nodes") as usize;
    let backoff = match setting.get("backoff") {
        "" => BackoffName::Standard,
        "L" => BackoffName::Adaptive,
        "R" => BackoffName::AdaptiveRedrawn,
        "AB" => BackoffName::AdaptiveSmallPost,
        other => panic!("no rule is called `{other}`"),
    };
    let post = (setting.get("post") == "small").then_some(PostBackoff::Small);
    let medium = MediumSpec {
        capture: setting.number("capture"),
        rts: setting.get("rts") == "on",
        xor: setting.get("xor") == "on",
        backoff,
        routing: if has_aodv(setting) { Routing::Aodv } else { Routing::Static },
        adaptive: AdaptiveSpec { post, ..AdaptiveSpec::default() },
        ..MediumSpec::new(StationSpec::string(&vec![Distance::from_meters(200.0); nodes - 1]))
    };
    let (first, last) = ("n0".to_owned(), format!("n{}", nodes - 1));
    let (udp, both) = match setting.get("traffic") {
        "" => (false, false),
        "both" => (false, true),
        "udp" => (true, false),
        "udp-both" => (true, true),
        other => panic!("no traffic is called `{other}`"),
    };
    let flow = |from: &str, to: &str| {
        let flow = FlowSpec { name: format!("from {from}"), ..FlowSpec::new(from, to) };
        if udp {
            // Datagrams of 1500 bytes with their headers of 28 bytes.
            let udp = Some(UdpSpec::Constant(Rate::from_bps(8_000_000)));
            return FlowSpec { packet: Bytes::new(1472), udp, ..flow };
        }
        FlowSpec {
            packet: Bytes::new(1460),
            window: setting.number("W").expect("the setting has a window") as u32,
            tcp: match setting.get("variant") {
                "" => Variant::NewReno,
                "Reno" => Variant::Reno,
                "Sack1" => Variant::Sack,
                other => panic!("no string was simulated with `{other}`"),
            },
            acks_out_of_band: setting.get("noack") == "1",
            ..flow
        }
    };
    let mut flows = vec![flow(&first, &last)];
    if both {
        flows.push(flow(&last, &first));
    }
    let run = RunSpec { runs, seed: SEED, duration: seconds(105), warmup: seconds(5), ..RunSpec::default() };
    Scenario { run, medium: vec![medium], flow: flows, ..Scenario::default() }
}

/// The simulator's figure for a cell, in the cell's unit: kbit/s with 1500 bytes for each packet, or the coding
/// efficiency.
pub(crate) fn measured(cell: &Cell, report: &ScenarioReport) -> Statistic {
    let summary = &report.summary;
    let figure = if cell.metric == "gamma" { summary.gamma } else { summary.throughput_ip_bps };
    let figure = figure.expect("the scenario has a medium");
    if cell.metric == "gamma" {
        return figure;
    }
    let Statistic { mean, ci95, n } = figure;
    Statistic { mean: mean.map(|mean| mean / 1e3), ci95: ci95.map(|ci95| ci95 / 1e3), n }
}
