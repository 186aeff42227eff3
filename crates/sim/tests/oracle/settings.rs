//! The simulator's scenarios that correspond to ns-2's settings.

use super::cells::{Cell, Setting};
use super::{mesh, string};
use ripstop_base::{Fraction, QueueLimit, Rate, Span};
use ripstop_link::{Fec, LinkConfig, Loss};
use ripstop_sim::engine::Statistic;
use ripstop_sim::scenario::{FecPath, FlowSpec, IntervalReport, RunSpec, Scenario, ScenarioReport, Tandem};
use ripstop_sim::tcp::Variant;
use std::time::Duration;

/// The seed of all comparisons.
pub(crate) const SEED: u64 = 1;

/// Whether the simulator has a scenario for the setting.
pub(crate) fn known(setting: &Setting) -> bool {
    let is_wired = setting.case.starts_with("000-") || setting.case.starts_with("003-");
    is_wired || string::is_string(setting) || mesh::is_mesh(setting)
}

/// The scenario of the setting, with `runs` runs.
pub(crate) fn scenario(setting: &Setting, runs: u32) -> Scenario {
    if string::is_string(setting) {
        return string::scenario(setting, runs);
    }
    if mesh::is_mesh(setting) {
        return mesh::scenario(setting, runs);
    }
    let mut run = RunSpec { runs, seed: SEED, ..RunSpec::default() };
    // Paper 000 reports three parts of the run: before, during and after a second flow.
    if setting.get("start1") == "350" {
        run.intervals = [[0, 350], [400, 650], [700, 1000]].map(|pair| pair.map(seconds)).to_vec();
    }
    if setting.case.starts_with("003-") { code(setting, run) } else { chain(setting, run) }
}

/// The link with a block code of paper 003, section 4.3.
fn code(setting: &Setting, run: RunSpec) -> Scenario {
    let share =
        |name: &str| Fraction::new(setting.number(name).expect("a share from 0 to 1")).expect("a share from 0 to 1");
    let units = |name: &str| setting.number(name).expect("the setting has units") as u32;
    let loss = match setting.case.as_str() {
        "003-F13" => Loss::gilbert(share("L"), share("q")),
        _ => Loss::bernoulli(share("p")),
    };
    FecPath {
        run: RunSpec { warmup: seconds(100), ..run },
        fec: Fec::new(units("N"), units("K"), loss),
        units_per_s: 3000,
        rtt: Span::from(Duration::from_millis(560)),
        queue: waiting(100),
        other_loss: Loss::None,
        packet_blocks: 1,
        flow: FlowSpec {
            tcp: variant(setting),
            count: setting.number("C").map_or(1, |c| c as u32),
            window: 100_000,
            ..FlowSpec::new("", "")
        },
    }
    .scenario()
}

/// The chain of links of paper 000, fig. 8.
fn chain(setting: &Setting, run: RunSpec) -> Scenario {
    let q = setting.number("q").unwrap_or(0.0);
    let forth = LinkConfig {
        rate: Rate::from_bps((setting.number("C").unwrap_or(2.0) * 1e6) as u64),
        delay: Span::from(Duration::from_millis(100)),
        queue: Some(waiting(200)),
        loss: if q > 0.0 { Loss::bernoulli(Fraction::new(q).expect("a share from 0 to 1")) } else { Loss::None },
        ..LinkConfig::default()
    };
    let back = match setting.get("errack") {
        "0" => LinkConfig { loss: Loss::None, ..forth.clone() },
        _ => forth.clone(),
    };
    let mut flow = FlowSpec { tcp: variant(setting), ..FlowSpec::new("", "") };
    let span = |name: &str| setting.number(name).map(|s| Span::from(Duration::from_secs_f64(s)));
    flow.rto_min = span("minrto");
    flow.rto_max = span("maxrto");
    flow.tick = span("tick");
    let flows = (0..2).map(|k| FlowSpec { name: format!("flow{k}"), ..flow.clone() });
    let mut flows: Vec<FlowSpec> = flows.collect();
    if let Some(start) = setting.number("start1") {
        flows[1].start = Span::from(Duration::from_secs_f64(start));
        let stop = setting.number("stop1").filter(|stop| *stop > 0.0);
        flows[1].stop = stop.map(|stop| Span::from(Duration::from_secs_f64(stop)));
    }
    Tandem { run, hops: 4, forth, back, flows, tunnel: None }.scenario()
}

/// The simulator's figure for a cell, in the cell's unit.
pub(crate) fn measured(setting: &Setting, cell: &Cell, scenario: &Scenario, report: &ScenarioReport) -> Statistic {
    if string::is_string(setting) {
        return string::measured(cell, report);
    }
    if mesh::is_mesh(setting) {
        return mesh::measured(setting, report);
    }
    if cell.metric == "thr_units_per_s" {
        return report.throughput_units_per_s.expect("a unit is given");
    }
    let megabits = |statistic: Statistic| Statistic {
        mean: statistic.mean.map(|mean| mean / 1e6),
        ci95: statistic.ci95.map(|ci95| ci95 / 1e6),
        n: statistic.n,
    };
    // For example `goodput_Mbps`, `goodput1_Mbps`, or `goodput0_400-650_Mbps`.
    let words: Vec<&str> = cell.metric.split('_').collect();
    let flow = words[0].trim_start_matches("goodput").parse::<usize>().ok();
    let part = |interval: &&IntervalReport| words[1] == format!("{}-{}", interval.from_s, interval.to_s);
    let statistic = match (flow, report.intervals.iter().find(part)) {
        (None, _) => report.goodput_bps,
        (Some(flow), None) => {
            assert!(scenario.run.intervals.is_empty(), "no interval for {}", cell.metric);
            report.flows[flow].goodput_bps
        }
        (Some(flow), Some(interval)) => interval.flows[flow].goodput_bps,
    };
    megabits(statistic)
}

/// The queue limit that corresponds to ns-2's `limit`. While ns-2 sends a packet, it refuses the
/// packet that would fill the queue to `limit`, so one packet fewer can wait.
fn waiting(limit: u64) -> QueueLimit {
    QueueLimit::Packets(limit - 1)
}

fn variant(setting: &Setting) -> Variant {
    match setting.get("variant") {
        "Tahoe" => Variant::Tahoe,
        "Reno" => Variant::Reno,
        "Newreno" => Variant::NewReno,
        "Sack1" => Variant::Sack,
        "Vegas" => Variant::Vegas,
        other => panic!("ns-2 has no `{other}` here"),
    }
}

pub(crate) fn seconds(s: u64) -> Span {
    Span::from(Duration::from_secs(s))
}
