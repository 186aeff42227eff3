//! The report of a mesh: flows that cross a wired link and a medium, as in paper 004.

use super::super::routes::{Leg, Topology};
use super::flow::delay_statistic;
use crate::engine::{DelayStatistic, Sample, Statistic};
use crate::scenario::spec::{AccessName, FlowSpec, Scenario};
use crate::scenario::totals::{ReadTimes, RunTotals};
use ripstop_base::DelayHistogram;
use ripstop_model::mesh::path::MeshFrames;
use serde::Serialize;

/// The figures of a mesh, over the runs. A scenario is a mesh if a flow crosses a wired link and a medium with the DCF.
/// In other scenarios all figures are None.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MeshSummary {
    /// The capacity of the path over the medium, bit/s of payload, by equation (12) of paper 004. The equation counts
    /// RTS and CTS, and no TCP acknowledgements. If several flows cross the medium, the path with the least capacity
    /// counts, because the paper lets the longest path decide.
    pub capacity_bps: Option<f64>,
    /// TCP acknowledgements and LT-ACKs that entered the medium, divided by packets that arrived in order. Only flows that cross
    /// the medium count. There is no value if no packet arrived.
    pub acks_per_packet: Option<Statistic>,
    /// Time from a packet's first transmission to its delivery in order, over all flows. Percentiles are accurate to
    /// 0.8 %.
    pub delay_s: Option<DelayStatistic>,
    /// Jain's index of the goodputs of all flows: the square of their sum, divided by their number and by the sum of
    /// their squares. The index is 1 if all flows are equal. There is no value if nothing arrived.
    pub jain: Option<Statistic>,
}

impl MeshSummary {
    pub(super) fn new(scenario: &Scenario, times: &ReadTimes, runs: &[RunTotals]) -> MeshSummary {
        let paths = paths(scenario);
        if !paths.iter().flatten().any(|path| path.is_wired_too) {
            return MeshSummary::default();
        }
        let [a, b] = times.spans[0].map(|at| times.index(at));
        let did = |run: &RunTotals| -> Vec<_> {
            run.snapshots[b].flows.iter().zip(&run.snapshots[a].flows).map(|(end, start)| end.less(start)).collect()
        };
        let acks_per_packet = |run: &RunTotals| {
            let crossing = did(run).into_iter().zip(&paths).filter(|(_, path)| path.is_some());
            let packets: u64 = crossing.map(|(did, _)| did.packets).sum();
            let stations = run.spans[0].media.iter().flatten();
            let acks: u64 = stations.map(|(start, end)| end.counters.acks_entered - start.counters.acks_entered).sum();
            (packets > 0).then(|| acks as f64 / packets as f64)
        };
        let jain = |run: &RunTotals| {
            let bytes: Vec<f64> = did(run).iter().map(|did| did.bytes as f64).collect();
            let (sum, squares) = (bytes.iter().sum::<f64>(), bytes.iter().map(|bytes| bytes * bytes).sum::<f64>());
            (squares > 0.0).then(|| sum * sum / (bytes.len() as f64 * squares))
        };
        let delays = runs.iter().map(|run| {
            let mut all = DelayHistogram::default();
            run.spans[0].flows.iter().for_each(|flow| all.merge(&flow.delays.packets));
            all
        });
        MeshSummary {
            capacity_bps: paths.iter().flatten().filter_map(|path| path.capacity_bps).reduce(f64::min),
            acks_per_packet: Some(runs.iter().filter_map(acks_per_packet).collect::<Sample>().statistic()),
            delay_s: Some(delay_statistic(delays.collect::<Vec<_>>().iter())),
            jain: Some(runs.iter().filter_map(jain).collect::<Sample>().statistic()),
        }
    }
}

/// The path of a flow over a medium with the DCF.
#[derive(Clone, Copy, Debug)]
struct MeshPath {
    /// Whether the flow also crosses a wired link.
    is_wired_too: bool,
    /// The capacity of the part on the medium. None if equation (12) has no value for it.
    capacity_bps: Option<f64>,
}

/// The path of each connection. None if the connection crosses no medium with the DCF.
fn paths(scenario: &Scenario) -> Vec<Option<MeshPath>> {
    if scenario.medium.iter().all(|medium| medium.access != AccessName::Dcf) {
        return Vec::new();
    }
    let topology = Topology::of(scenario);
    let of_flow = |(k, flow): (usize, &FlowSpec)| {
        let tunnel = flow.tunnel.as_ref().map(|name| scenario.tunnel_of(k, name)).transpose().ok()?;
        let [there, _] = scenario.flow_links(&topology, k, tunnel).ok()?;
        let mut capacities = there.iter().filter_map(|leg| capacity(scenario, *leg, flow)).peekable();
        capacities.peek()?;
        Some(MeshPath {
            is_wired_too: there.iter().any(|leg| matches!(leg, Leg::Wired(_))),
            capacity_bps: capacities.flatten().reduce(f64::min),
        })
    };
    let each = scenario.flow.iter().enumerate().map(|(k, flow)| (of_flow((k, flow)), flow.count));
    each.flat_map(|(path, count)| (0..count).map(move |_| path)).collect()
}

/// The capacity of a leg for packets of `flow`, bit/s. None if the leg is not on a medium with the DCF, and Some(None)
/// if equation (12) has no value.
fn capacity(scenario: &Scenario, leg: Leg, flow: &FlowSpec) -> Option<Option<f64>> {
    let Leg::Radio { medium, hops, .. } = leg else { return None };
    let medium = scenario.medium.get(medium).filter(|medium| medium.access == AccessName::Dcf)?;
    let config = medium.config();
    let frames = MeshFrames {
        data_bytes: flow.packet.get() as f64,
        data_bps: config.data_rate as f64,
        basic_bps: config.basic_rate as f64,
        ..MeshFrames::default()
    };
    Some(frames.path_capacity(hops, config.loss.map_or(0.0, |loss| loss.probability)).ok())
}
