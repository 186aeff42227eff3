//! The report of a scenario over time: one value for each piece of the run.

use crate::scenario::spec::{FlowSpec, MediumSpec, Scenario, StationSpec};
use crate::scenario::totals::{ReadTimes, RunTotals, sample_times};
use crate::world::{FlowTotals, NcMoment};
use ripstop_base::Time;
use serde::Serialize;
use std::time::Duration;

/// Measurements over time. Each list has one value for each piece of the run, the mean over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// End of each piece, s.
    pub until_s: Vec<f64>,
    /// The flows.
    pub flows: Vec<FlowSeries>,
    /// The links.
    pub links: Vec<LinkSeries>,
    /// The stations of all media.
    pub stations: Vec<StationSeries>,
}

/// A station over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationSeries {
    /// The name of the node.
    pub name: String,
    /// k at the end of each piece: the number of hops over which the adaptive back-off protects a packet.
    pub k: Vec<f64>,
}

/// A flow over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSeries {
    /// The name of the flow.
    pub name: String,
    /// Payload that arrived in order, bit/s.
    pub goodput_bps: Vec<f64>,
    /// Mean congestion window in packets, limited by the receiver's window.
    pub cwnd_packets: Vec<f64>,
    /// Mean of the smoothed round-trip time, s; null in a piece without acknowledgements.
    pub srtt_s: Vec<Option<f64>>,
    /// Retransmission time-outs.
    pub timeouts: Vec<f64>,
    /// The coding layer at the end of each piece; None without a coding layer.
    pub nc: Option<NcSeries>,
}

/// A coding layer over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NcSeries {
    /// The coding window: segments that the sender holds and combines.
    pub window_packets: Vec<f64>,
    /// Combinations that the receiver holds undecoded. Each combination stands for a segment that is seen and not
    /// decoded.
    pub rows: Vec<f64>,
    /// Degrees of freedom still missing: segments that the receiver knows of and has not seen.
    pub deficit_packets: Vec<f64>,
}

/// A link over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSeries {
    /// The nodes at the ends, such as `n0>n1`.
    pub name: String,
    /// Packets queued at the end of each piece.
    pub queue_packets: Vec<f64>,
}

impl Series {
    pub(super) fn new(scenario: &Scenario, times: &ReadTimes, sample: Duration, runs: &[RunTotals]) -> Series {
        let moments: Vec<Time> = sample_times(sample, scenario.run.duration.duration()).collect();
        let n = runs.len() as f64;
        // The totals of each run in a piece.
        let did = |flow: usize, pair: &[Time]| -> Vec<FlowTotals> {
            let [a, b] = [pair[0], pair[1]].map(|at| times.index(at));
            runs.iter().map(|run| run.snapshots[b].flows[flow].less(&run.snapshots[a].flows[flow])).collect()
        };
        let names = scenario.flow.iter().flat_map(FlowSpec::names);
        let nc = |flow: usize| {
            let over = |value: &dyn Fn(&NcMoment) -> usize| -> Option<Vec<f64>> {
                let mean = |at: &Time| {
                    let moment = |run: &RunTotals| {
                        run.snapshots[times.index(*at)].coding.get(flow)?.as_ref().map(|m| value(m) as f64)
                    };
                    runs.iter().map(moment).sum::<Option<f64>>().map(|sum| sum / n)
                };
                moments[1..].iter().map(mean).collect()
            };
            Some(NcSeries {
                window_packets: over(&|moment| moment.window)?,
                rows: over(&|moment| moment.rows)?,
                deficit_packets: over(&|moment| moment.deficit)?,
            })
        };
        let flow = |(k, name): (usize, String)| {
            let over = |value: &dyn Fn(&FlowTotals, f64) -> f64| {
                let mean = |pair: &[Time]| {
                    let seconds = pair[1].since(pair[0]).as_secs_f64();
                    did(k, pair).iter().map(|totals| value(totals, seconds)).sum::<f64>() / n
                };
                moments.windows(2).map(mean).collect::<Vec<f64>>()
            };
            let srtt = |pair: &[Time]| {
                let all = did(k, pair).iter().fold((0.0, 0), |sum, t| (sum.0 + t.srtt.0, sum.1 + t.srtt.1));
                (all.1 > 0).then(|| all.0 / all.1 as f64)
            };
            FlowSeries {
                name,
                goodput_bps: over(&|totals, seconds| totals.bytes as f64 * 8.0 / seconds),
                cwnd_packets: over(&|totals, seconds| totals.window / seconds),
                srtt_s: moments.windows(2).map(srtt).collect(),
                timeouts: over(&|totals, _| totals.timeouts as f64),
                nc: nc(k),
            }
        };
        let link = |(k, name): (usize, String)| LinkSeries {
            name,
            queue_packets: moments[1..]
                .iter()
                .map(|at| runs.iter().map(|run| run.snapshots[times.index(*at)].queues[k] as f64).sum::<f64>() / n)
                .collect(),
        };
        let station = |(medium, spec): (usize, &MediumSpec)| -> Vec<StationSeries> {
            let k = |k: usize, at: &Time| {
                let of = |run: &RunTotals| f64::from(run.snapshots[times.index(*at)].protection[medium][k]);
                runs.iter().map(of).sum::<f64>() / n
            };
            let series = |(number, station): (usize, &StationSpec)| StationSeries {
                name: station.name.clone(),
                k: moments[1..].iter().map(|at| k(number, at)).collect(),
            };
            spec.stations.iter().enumerate().map(series).collect()
        };
        Series {
            until_s: moments[1..].iter().map(|at| at.as_secs_f64()).collect(),
            flows: names.enumerate().map(flow).collect(),
            links: scenario.link_names().into_iter().enumerate().map(link).collect(),
            stations: scenario.medium.iter().enumerate().flat_map(station).collect(),
        }
    }
}
