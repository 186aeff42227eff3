//! What was measured.

use super::{FlowSpec, Scenario};
use crate::engine::{Sample, Statistic};
use crate::network::{FlowTotals, NcStatus, TCP_IP_HEADERS};
use ripstop_base::Time;
use serde::Serialize;
use std::time::Duration;

/// What one run had done at each moment at which its counters were read.
#[derive(Clone, Debug)]
pub struct RunTotals {
    /// At each moment.
    pub(super) snapshots: Vec<Snapshot>,
    /// At the end, of each flow.
    pub(super) coding: Vec<Option<NcStatus>>,
    pub(super) events: u64,
}

/// What was done by a moment.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// Of each flow.
    pub(super) flows: Vec<FlowTotals>,
    /// Packets that wait for each link, where there is a series.
    pub(super) queues: Vec<u64>,
}

/// What was measured in all runs of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Payload that arrived in order after the warm-up, bit/s: the mean of the flows.
    pub goodput_bps: Statistic,
    /// Units of the size that was asked for in packets that arrived in order, headers included, all flows together, in a
    /// second; None where no unit was given.
    pub throughput_units_per_s: Option<Statistic>,
    /// The flows.
    pub flows: Vec<FlowReport>,
    /// The intervals that were asked for.
    pub intervals: Vec<IntervalReport>,
    /// The series over time, if one was asked for.
    pub series: Option<Series>,
    /// Events of all runs.
    pub events: u64,
    /// Virtual time of all runs, s.
    pub sim_s: f64,
}

/// What was measured of a flow, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// Its name.
    pub name: String,
    /// Payload that arrived in order, bit/s of the time measured.
    pub goodput_bps: Statistic,
    /// The same over the time in which it was to send, where that is not all of it.
    pub active_goodput_bps: Option<Statistic>,
    /// Mean congestion window, packets, as far as the receiver's window allowed it, over the time in which it was to send.
    pub cwnd_packets: Statistic,
    /// Mean of the smoothed round-trip time, over acknowledgements.
    pub srtt_s: Statistic,
    /// Retransmission time-outs.
    pub timeouts: Statistic,
    /// Packets sent again.
    pub retransmits: Statistic,
    /// Packets sent, again or not.
    pub packets_sent: Statistic,
    /// Mean time from a packet's first transmission to its delivery in order.
    pub delay_s: Statistic,
    /// What its coding layer did in the whole of each run; None where it has none.
    pub nc: Option<NcReport>,
}

/// What the coding layer of a flow did in whole runs, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NcReport {
    /// From seen to decoded, the mean.
    pub decode_delay_s: Statistic,
    /// Its 99th percentile within a run.
    pub decode_delay_p99_s: Statistic,
    /// Combinations sent by the sender.
    pub combinations: Statistic,
    /// Combinations that told the receiver nothing new.
    pub redundant: Statistic,
    /// Combinations that waited at the receiver: the mean over time, and the most.
    pub rows: Statistic,
    /// The most at a time.
    pub rows_max: Statistic,
    /// Answers that named the same first unseen packet as the one before.
    pub repeated_acks: Statistic,
    /// Combinations sent by relays.
    pub recoded: Statistic,
}

impl NcReport {
    /// Of flow `k` in all runs.
    fn new(k: usize, runs: &[RunTotals]) -> Option<NcReport> {
        let all: Vec<&NcStatus> = runs.iter().filter_map(|run| run.coding.get(k)?.as_ref()).collect();
        let statistic = |value: &dyn Fn(&NcStatus) -> f64| {
            all.iter().map(|status| value(status)).collect::<Sample>().statistic()
        };
        let delay = |pick: &dyn Fn((Duration, Duration)) -> Duration| {
            let known = all.iter().filter_map(|status| status.decode_delay);
            known.map(|pair| pick(pair).as_secs_f64()).collect::<Sample>().statistic()
        };
        (!all.is_empty()).then(|| NcReport {
            decode_delay_s: delay(&|(mean, _)| mean),
            decode_delay_p99_s: delay(&|(_, p99)| p99),
            combinations: statistic(&|s| s.sender.combinations as f64),
            redundant: statistic(&|s| s.receiver.redundant as f64),
            rows: statistic(&|s| s.mean_rows),
            rows_max: statistic(&|s| s.receiver.most_rows as f64),
            repeated_acks: statistic(&|s| s.receiver.repeated_acks as f64),
            recoded: statistic(&|s| s.relays.iter().map(|relay| relay.combinations as f64).sum()),
        })
    }
}

/// What was measured in an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IntervalReport {
    /// Where it begins, s.
    pub from_s: f64,
    /// Where it ends, s.
    pub to_s: f64,
    /// As in [`Report`].
    pub goodput_bps: Statistic,
    /// The flows.
    pub flows: Vec<FlowReport>,
}

/// What happened over time: each list has one value for each piece of the run, the mean of the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Where each piece ends, s.
    pub until_s: Vec<f64>,
    /// The flows.
    pub flows: Vec<FlowSeries>,
    /// The links.
    pub links: Vec<LinkSeries>,
}

/// A flow over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSeries {
    /// Its name.
    pub name: String,
    /// Payload that arrived in order, bit/s.
    pub goodput_bps: Vec<f64>,
    /// Mean congestion window, packets, as far as the receiver's window allowed it.
    pub cwnd_packets: Vec<f64>,
    /// Mean of the smoothed round-trip time, s; null where no acknowledgement came.
    pub srtt_s: Vec<Option<f64>>,
    /// Retransmission time-outs.
    pub timeouts: Vec<f64>,
}

/// A link over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSeries {
    /// The nodes at its ends, such as `n0>n1`.
    pub name: String,
    /// Packets that wait where each piece ends.
    pub queue_packets: Vec<f64>,
}

/// The moments at which counters are read.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    /// Beginning and end of the whole measurement, then of the intervals.
    spans: Vec<[Time; 2]>,
    moments: Vec<Time>,
}

impl Edges {
    pub(super) fn of(scenario: &Scenario) -> Edges {
        let run = &scenario.run;
        let mut spans = vec![[run.warmup, run.duration]];
        spans.extend(run.intervals.iter().copied());
        let spans: Vec<[Time; 2]> =
            spans.into_iter().map(|span| span.map(|at| Time::ZERO + at.duration())).collect();
        let mut moments: Vec<Time> = spans.iter().flatten().copied().collect();
        if let Some(sample) = run.sample {
            moments.extend(pieces(sample.duration(), run.duration.duration()));
        }
        moments.sort_unstable();
        moments.dedup();
        Edges { spans, moments }
    }

    pub(super) fn moments(&self) -> &[Time] {
        &self.moments
    }

    fn index(&self, at: Time) -> usize {
        self.moments.partition_point(|moment| *moment < at)
    }
}

impl Report {
    /// What `runs` of `scenario` say, in the order of their indices: [`super::run`] for those who make each run themselves, by
    /// [`super::run_once`].
    pub fn new(scenario: &Scenario, runs: &[RunTotals]) -> Report {
        let edges = Edges::of(scenario);
        let mut measured = edges.spans.iter().map(|span| interval(scenario, &edges, *span, runs));
        let whole = measured.next();
        let (goodput_bps, flows) = whole.map(|w| (w.goodput_bps, w.flows)).unwrap_or_default();
        Report {
            goodput_bps,
            throughput_units_per_s: scenario
                .run
                .unit
                .map(|unit| throughput(scenario, &edges, unit.get(), runs)),
            flows,
            intervals: measured.collect(),
            series: scenario.run.sample.map(|sample| Series::new(scenario, &edges, sample.duration(), runs)),
            events: runs.iter().map(|run| run.events).sum(),
            sim_s: scenario.run.duration.duration().as_secs_f64() * runs.len() as f64,
        }
    }
}

/// Units in packets that arrived in order after the warm-up, in a second.
fn throughput(scenario: &Scenario, edges: &Edges, unit: u64, runs: &[RunTotals]) -> Statistic {
    let [from, to] = edges.spans[0];
    let (a, b) = (edges.index(from), edges.index(to));
    let sizes: Vec<f64> = scenario
        .flow
        .iter()
        .flat_map(|spec| {
            (0..spec.count).map(|_| (spec.packet.get() + u64::from(TCP_IP_HEADERS)) as f64 / unit as f64)
        })
        .collect();
    let rate = |run: &RunTotals| {
        let flows = run.snapshots[b].flows.iter().zip(&run.snapshots[a].flows);
        let units = flows.zip(&sizes).map(|((end, start), size)| (end.packets - start.packets) as f64 * size);
        units.sum::<f64>() / to.since(from).as_secs_f64()
    };
    runs.iter().map(rate).collect::<Sample>().statistic()
}

impl Series {
    fn new(scenario: &Scenario, edges: &Edges, sample: Duration, runs: &[RunTotals]) -> Series {
        let moments: Vec<Time> = pieces(sample, scenario.run.duration.duration()).collect();
        let n = runs.len() as f64;
        // Of each piece, what each run did in it.
        let did = |flow: usize, pair: &[Time]| -> Vec<FlowTotals> {
            let [a, b] = [pair[0], pair[1]].map(|at| edges.index(at));
            runs.iter().map(|run| run.snapshots[b].flows[flow].less(&run.snapshots[a].flows[flow])).collect()
        };
        let names = scenario.flow.iter().flat_map(FlowSpec::names);
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
            }
        };
        let link = |(k, name): (usize, String)| LinkSeries {
            name,
            queue_packets: moments[1..]
                .iter()
                .map(|at| {
                    runs.iter().map(|run| run.snapshots[edges.index(*at)].queues[k] as f64).sum::<f64>() / n
                })
                .collect(),
        };
        Series {
            until_s: moments[1..].iter().map(|at| at.as_secs_f64()).collect(),
            flows: names.enumerate().map(flow).collect(),
            links: scenario.link_names().into_iter().enumerate().map(link).collect(),
        }
    }
}

/// The moments at which a run is cut into pieces, its beginning and its end included.
fn pieces(sample: Duration, duration: Duration) -> impl Iterator<Item = Time> {
    let cuts = (0..).map(move |k| sample * k).take_while(move |at| *at < duration);
    cuts.chain([duration]).map(|at| Time::ZERO + at)
}

fn interval(scenario: &Scenario, edges: &Edges, [from, to]: [Time; 2], runs: &[RunTotals]) -> IntervalReport {
    let all = runs;
    let (a, b) = (edges.index(from), edges.index(to));
    let named: Vec<(String, &FlowSpec)> =
        scenario.flow.iter().flat_map(|spec| spec.names().map(move |name| (name, spec))).collect();
    let seconds = to.since(from).as_secs_f64();
    // Of each run, of each flow, what it did in between.
    let did: Vec<Vec<FlowTotals>> = runs
        .iter()
        .map(|run| {
            run.snapshots[b]
                .flows
                .iter()
                .zip(&run.snapshots[a].flows)
                .map(|(end, start)| end.less(start))
                .collect()
        })
        .collect();
    let mean_of_flows = |flows: &Vec<FlowTotals>| {
        flows.iter().map(|flow| flow.bytes as f64 * 8.0).sum::<f64>() / flows.len() as f64 / seconds
    };
    IntervalReport {
        from_s: from.as_secs_f64(),
        to_s: to.as_secs_f64(),
        goodput_bps: did.iter().map(mean_of_flows).collect::<Sample>().statistic(),
        flows: named
            .into_iter()
            .enumerate()
            .map(|(k, (name, spec))| {
                let active = active_seconds(spec, from, to);
                let runs: Vec<&FlowTotals> = did.iter().map(|flows| &flows[k]).collect();
                FlowReport { nc: NcReport::new(k, all), ..flow(name, &runs, seconds, active) }
            })
            .collect(),
    }
}

/// For how long between two moments a flow was to send.
fn active_seconds(spec: &FlowSpec, from: Time, to: Time) -> f64 {
    let config = spec.config();
    config.stop.min(to).since(config.start.max(from)).as_secs_f64()
}

fn flow(name: String, runs: &[&FlowTotals], seconds: f64, active: f64) -> FlowReport {
    let statistic = |value: &dyn Fn(&FlowTotals) -> f64| {
        runs.iter().map(|totals| value(totals)).collect::<Sample>().statistic()
    };
    // A run without any such packet says nothing of its mean.
    let mean = |pair: &dyn Fn(&FlowTotals) -> (f64, u64)| {
        let known = runs.iter().map(|totals| pair(totals)).filter(|(_, n)| *n > 0);
        known.map(|(sum, n)| sum / n as f64).collect::<Sample>().statistic()
    };
    let bits = |totals: &FlowTotals| totals.bytes as f64 * 8.0;
    FlowReport {
        name,
        goodput_bps: statistic(&|totals| bits(totals) / seconds),
        active_goodput_bps: (active < seconds && active > 0.0)
            .then(|| statistic(&|totals| bits(totals) / active)),
        cwnd_packets: if active > 0.0 {
            statistic(&|totals| totals.window / active)
        } else {
            Statistic::default()
        },
        srtt_s: mean(&|totals| totals.srtt),
        timeouts: statistic(&|totals| totals.timeouts as f64),
        retransmits: statistic(&|totals| totals.retransmits as f64),
        packets_sent: statistic(&|totals| totals.sent as f64),
        delay_s: mean(&|totals| totals.delay),
        nc: None,
    }
}
