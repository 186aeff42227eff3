//! The report of a scenario: figures over all runs, for flows, links and tunnels.

mod flow;
mod ideal;
mod link;
mod medium;
mod mesh;
mod series;
mod tunnel;

pub use flow::{FlowReport, LtReport, NcReport, delay_statistic};
pub use ideal::{IdealLinkReport, IdealReport};
pub use link::LinkReport;
pub use medium::{CadenceReport, LossReport, MediaSummary, MediumReport, RoutingReport, StationReport};
pub use mesh::MeshSummary;
pub use series::{FlowSeries, LinkSeries, NcSeries, Series, StationSeries};
pub use tunnel::{BlockReport, DirectionReport, TunnelReport};

use super::spec::{FlowSpec, MediumSpec, Scenario, TunnelSpec};
use super::totals::{ActivitySpan, MediumSpan, ReadTimes, RunTotals, TunnelSpan};
use crate::engine::{Sample, Statistic};
use flow::FlowSpan;
use serde::Serialize;

/// The measurements of all runs of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenarioReport {
    /// Payload that arrived in order after the warm-up, bit/s, averaged over the flows. There is no value without flows.
    pub goodput_bps: Statistic,
    /// Units per second in packets that arrived in order, headers included, summed over all flows. `run.unit` of the
    /// scenario is the size of a unit. None if the scenario has no `run.unit`.
    pub throughput_units_per_s: Option<Statistic>,
    /// The figures of all media together.
    #[serde(flatten)]
    pub summary: MediaSummary,
    /// The figures of a mesh: a medium behind a wired link.
    #[serde(flatten)]
    pub mesh: MeshSummary,
    /// The flows.
    pub flows: Vec<FlowReport>,
    /// The directions of the links.
    pub links: Vec<LinkReport>,
    /// The tunnels.
    pub tunnels: Vec<TunnelReport>,
    /// The shared media.
    pub media: Vec<MediumReport>,
    /// The intervals of the scenario.
    pub intervals: Vec<IntervalReport>,
    /// The series over time, if the scenario has one.
    pub series: Option<Series>,
    /// Events of all runs.
    pub events: u64,
    /// Virtual time of all runs, s.
    pub sim_s: f64,
}

/// The measurements of an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IntervalReport {
    /// Start of the interval, s.
    pub from_s: f64,
    /// End of the interval, s.
    pub to_s: f64,
    /// Payload that arrived in order in the interval, bit/s, averaged over the flows.
    pub goodput_bps: Statistic,
    /// The flows.
    pub flows: Vec<FlowReport>,
    /// The directions of the links.
    pub links: Vec<LinkReport>,
    /// The tunnels.
    pub tunnels: Vec<TunnelReport>,
    /// The shared media.
    pub media: Vec<MediumReport>,
}

impl ScenarioReport {
    /// The report of these `runs` of `scenario`. They may be all runs, or a single run.
    pub fn new(scenario: &Scenario, runs: &[RunTotals]) -> ScenarioReport {
        let times = ReadTimes::of(scenario);
        let whole = interval(scenario, &times, 0, runs);
        ScenarioReport {
            goodput_bps: whole.goodput_bps,
            throughput_units_per_s: scenario.run.unit.map(|unit| throughput(scenario, &times, unit.get() as f64, runs)),
            summary: MediaSummary {
                throughput_ip_bps: (!whole.media.is_empty() && !whole.flows.is_empty())
                    .then(|| throughput(scenario, &times, 0.125, runs)),
                timeouts: timeouts(&times, runs),
                ..MediaSummary::new(&whole.media, runs, &times)
            },
            mesh: MeshSummary::new(scenario, &times, runs),
            flows: whole.flows,
            links: whole.links,
            tunnels: whole.tunnels,
            media: whole.media,
            intervals: (1..times.spans.len()).map(|k| interval(scenario, &times, k, runs)).collect(),
            series: scenario.run.sample.map(|sample| Series::new(scenario, &times, sample.duration(), runs)),
            events: runs.iter().map(|run| run.events).sum(),
            sim_s: scenario.run.duration.duration().as_secs_f64() * runs.len() as f64,
        }
    }
}

/// Units of `unit` bytes in packets that arrived in order after the warm-up, per second.
fn throughput(scenario: &Scenario, times: &ReadTimes, unit: f64, runs: &[RunTotals]) -> Statistic {
    let [from, to] = times.spans[0];
    let (a, b) = (times.index(from), times.index(to));
    let sizes: Vec<f64> =
        scenario.flow.iter().flat_map(|spec| (0..spec.count).map(|_| spec.packet_bytes() as f64 / unit)).collect();
    let rate = |run: &RunTotals| {
        let flows = run.snapshots[b].flows.iter().zip(&run.snapshots[a].flows);
        let units = flows.zip(&sizes).map(|((end, start), size)| (end.packets - start.packets) as f64 * size);
        units.sum::<f64>() / to.since(from).as_secs_f64()
    };
    runs.iter().map(rate).collect::<Sample>().statistic()
}

/// Retransmission time-outs after the warm-up, of all flows.
fn timeouts(times: &ReadTimes, runs: &[RunTotals]) -> Statistic {
    let [a, b] = times.spans[0].map(|at| times.index(at));
    let count = |run: &RunTotals| {
        let flows = run.snapshots[b].flows.iter().zip(&run.snapshots[a].flows);
        flows.map(|(end, start)| end.timeouts - start.timeouts).sum::<u64>() as f64
    };
    runs.iter().map(count).collect::<Sample>().statistic()
}

/// The report of the `index`-th span.
fn interval(scenario: &Scenario, times: &ReadTimes, index: usize, runs: &[RunTotals]) -> IntervalReport {
    let [from, to] = times.spans[index];
    let (a, b) = (times.index(from), times.index(to));
    let named: Vec<(String, &FlowSpec)> =
        scenario.flow.iter().flat_map(|spec| spec.names().map(move |name| (name, spec))).collect();
    let seconds = to.since(from).as_secs_f64();
    // The totals of flow `k` in one run: over the span, and at the end of the span.
    let part = |run: &'_ RunTotals, k: usize| {
        let (start, end) = (&run.snapshots[a].flows[k], run.snapshots[b].flows[k]);
        (end.less(start), end)
    };
    let parts = |k: usize| -> Vec<FlowSpan<'_>> {
        let of = |run| {
            let (did, end) = part(run, k);
            FlowSpan { did, end, detail: run.spans[index].flows.get(k) }
        };
        runs.iter().map(of).collect()
    };
    let mean_of_flows = |run: &RunTotals| {
        let bits = (0..named.len()).map(|k| part(run, k).0.bytes as f64 * 8.0);
        (!named.is_empty()).then(|| bits.sum::<f64>() / named.len() as f64 / seconds)
    };
    let link = |(k, name): (usize, String)| {
        let totals: Vec<_> = runs.iter().map(|run| run.spans[index].links[k]).collect();
        LinkReport::new(name, &totals, unfired(runs, k), seconds)
    };
    let tunnel = |(k, spec): (usize, &TunnelSpec)| {
        let spans: Vec<&TunnelSpan> = runs.iter().map(|run| &run.spans[index].tunnels[k]).collect();
        let useful = |run: &RunTotals| {
            let mut bytes = [0, 0];
            for (k, (_, flow)) in named.iter().enumerate() {
                if flow.tunnel.as_ref() == Some(&spec.name) {
                    bytes[usize::from(flow.from != spec.between[0])] += part(run, k).0.bytes;
                }
            }
            bytes
        };
        let useful: Vec<[u64; 2]> = runs.iter().map(useful).collect();
        TunnelReport::new(scenario, k, &spans, &useful)
    };
    let medium = |(k, spec): (usize, &MediumSpec)| {
        let spans: Vec<&MediumSpan> = runs.iter().map(|run| &run.spans[index].media[k]).collect();
        let activities: Vec<&ActivitySpan> =
            runs.iter().filter_map(|run| run.spans[index].activities[k].as_ref()).collect();
        MediumReport::new(spec, &spans, &activities, seconds)
    };
    IntervalReport {
        from_s: from.as_secs_f64(),
        to_s: to.as_secs_f64(),
        goodput_bps: runs.iter().filter_map(mean_of_flows).collect::<Sample>().statistic(),
        flows: named
            .iter()
            .enumerate()
            .map(|(k, (name, spec))| FlowReport::new(name.clone(), spec, k, &parts(k), [from, to], runs))
            .collect(),
        links: scenario.link_names().into_iter().enumerate().map(link).collect(),
        tunnels: scenario.tunnel.iter().enumerate().map(tunnel).collect(),
        media: scenario.medium.iter().enumerate().map(medium).collect(),
    }
}

/// The impairments of link `k` that acted in none of the runs.
fn unfired(runs: &[RunTotals], k: usize) -> Vec<&'static str> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let names = first.unfired[k].iter().copied();
    names.filter(|name| others.iter().all(|run| run.unfired[k].contains(name))).collect()
}
