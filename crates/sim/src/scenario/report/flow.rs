//! The report of a flow: goodput, window, delays, losses and transfers.

use crate::engine::{DelayStatistic, Sample, Statistic};
use crate::scenario::spec::FlowSpec;
use crate::scenario::totals::{FlowDetail, RunTotals};
use crate::world::{FlowTotals, LtStatus, NcStatus};
use ripstop_base::{DelayHistogram, Time};
use serde::Serialize;
use std::collections::BTreeMap;

/// The measurements of a flow, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// The name of the flow.
    pub name: String,
    /// Payload that arrived in order in the measured time, bit/s.
    pub goodput_bps: Statistic,
    /// Payload that arrived in order, divided by the flow's active time, bit/s. The active time ends when the flow
    /// stops or its file is complete. None if the flow is active all the time or never.
    pub active_goodput_bps: Option<Statistic>,
    /// Mean of the window in packets during the active time. The window is the smaller of the congestion window and the
    /// receiver's window. For UDP there is no value.
    pub cwnd_packets: Statistic,
    /// Mean of the smoothed round-trip time; each acknowledgement counts one time. For UDP there is no value.
    pub srtt_s: Statistic,
    /// Retransmission time-outs. For UDP there is no value.
    pub timeouts: Statistic,
    /// Packets retransmitted. For UDP there is no value.
    pub retransmits: Statistic,
    /// Packets that reached the receiver marked with Congestion Experienced. For UDP there is no value.
    pub marked_packets: Statistic,
    /// Packets sent, retransmissions included.
    pub packets_sent: Statistic,
    /// UDP packets sent less packets delivered in the measured time; None for TCP.
    pub packets_lost: Option<Statistic>,
    /// Time from a packet's first transmission to its delivery in order. Percentiles are accurate to 0.8 %.
    pub delay_s: DelayStatistic,
    /// Time from when a transfer was due until its last byte arrived. A transfer is a file, an answer, or a request
    /// with its answer. Only transfers that completed in the measured time count. Percentiles are accurate to 0.8 %.
    pub completion_s: DelayStatistic,
    /// Transfers that completed in the measured time; None for sources without transfers.
    pub completed: Option<Statistic>,
    /// Transfers begun and not complete at the end; None for sources without transfers.
    pub unfinished: Option<Statistic>,
    /// Time from the moment when the coding layer's receiver has *seen* a segment until the receiver has decoded the
    /// segment, over whole runs. The receiver has seen a segment if it holds a combination in which this segment is the
    /// first unknown segment. There is no value without a coding layer. Percentiles are accurate to 0.8 %.
    pub decode_delay_s: DelayStatistic,
    /// How many times each mechanism of the sender acted, by the field names of [`Mechanisms`](crate::tcp::Mechanisms).
    /// None for the ns-2 algorithms.
    pub mechanisms: Option<BTreeMap<&'static str, Statistic>>,
    /// The coding layer over each whole run; None without a coding layer.
    pub nc: Option<NcReport>,
    /// The TCP/LT session over each whole run; None without a gateway.
    pub lt: Option<LtReport>,
}

/// The totals of a flow between two times of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowSpan<'a> {
    /// The totals between the two times.
    pub(super) did: FlowTotals,
    /// The totals at the end.
    pub(super) end: FlowTotals,
    /// Delays and mechanisms in the span.
    pub(super) detail: Option<&'a FlowDetail>,
}

impl FlowReport {
    /// The report of flow `k`, a connection of `spec`, between two times of each run.
    pub(super) fn new(
        name: String,
        spec: &FlowSpec,
        k: usize,
        parts: &[FlowSpan<'_>],
        [from, to]: [Time; 2],
        runs: &[RunTotals],
    ) -> FlowReport {
        let seconds = to.since(from).as_secs_f64();
        let statistic = |value: &dyn Fn(&FlowSpan<'_>) -> f64| parts.iter().map(value).collect::<Sample>().statistic();
        let count = |value: &dyn Fn(&FlowTotals) -> u64| statistic(&|part| value(&part.did) as f64);
        // Runs in which nothing was counted (n is 0) are left out of the mean.
        let mean = |pair: &dyn Fn(&FlowTotals) -> (f64, u64)| {
            let known = parts.iter().map(|part| pair(&part.did)).filter(|(_, n)| *n > 0);
            known.map(|(sum, n)| sum / n as f64).collect::<Sample>().statistic()
        };
        let over_active = |value: &dyn Fn(&FlowTotals) -> f64| {
            let active = parts.iter().map(|part| &part.did).filter(|did| did.active > 0.0);
            active.map(|did| value(did) / did.active).collect::<Sample>().statistic()
        };
        // The start jitter alone does not shorten the active time.
        let shortened = spec.transfers() || from < Time::ZERO + spec.start.duration() || spec.stop() < to;
        let partly = shortened
            && parts.iter().any(|part| part.did.active > 0.0)
            && parts.iter().any(|part| part.did.active < seconds * (1.0 - 1e-12));
        let bits = |did: &FlowTotals| did.bytes as f64 * 8.0;
        let transfers = spec.transfers();
        let details = || parts.iter().filter_map(|part| part.detail);
        let status = |k: usize| runs.iter().filter_map(move |run| run.coding.get(k)?.as_ref());
        let udp = spec.udp.is_some();
        let of_tcp = |statistic: Statistic| if udp { Statistic::default() } else { statistic };
        let lost = |did: &FlowTotals| did.sent as f64 - did.packets as f64;
        FlowReport {
            name,
            goodput_bps: statistic(&|part| bits(&part.did) / seconds),
            active_goodput_bps: partly.then(|| over_active(&bits)),
            cwnd_packets: of_tcp(over_active(&|did| did.window)),
            srtt_s: mean(&|did| did.srtt),
            timeouts: of_tcp(count(&|did| did.timeouts)),
            retransmits: of_tcp(count(&|did| did.retransmits)),
            marked_packets: of_tcp(count(&|did| did.marked)),
            packets_sent: count(&|did| did.sent),
            packets_lost: udp.then(|| statistic(&|part| lost(&part.did))),
            delay_s: delay_statistic(details().map(|detail| &detail.delays.packets)),
            completion_s: delay_statistic(details().map(|detail| &detail.delays.transfers)),
            completed: transfers.then(|| count(&|did| did.completed)),
            unfinished: transfers.then(|| statistic(&|part| (part.end.begun - part.end.completed) as f64)),
            decode_delay_s: delay_statistic(status(k).map(|status| &status.decode_delays)),
            mechanisms: mechanisms(parts),
            nc: NcReport::new(&status(k).collect::<Vec<_>>()),
            lt: LtReport::new(&runs.iter().filter_map(|run| run.blocks.get(k)?.as_ref()).collect::<Vec<_>>()),
        }
    }
}

/// Statistic of the delays of all runs: the mean of the runs' means, and percentiles over all delays.
pub fn delay_statistic<'a>(runs: impl Iterator<Item = &'a DelayHistogram>) -> DelayStatistic {
    let (mut means, mut all) = (Sample::default(), DelayHistogram::default());
    for delays in runs {
        means.extend(delays.mean_s());
        all.merge(delays);
    }
    let Statistic { mean, ci95, n } = means.statistic();
    DelayStatistic { mean, ci95, n, p50: all.quantile_s(0.5), p99: all.quantile_s(0.99) }
}

/// How many times each mechanism acted, over the runs. None if the sender has no mechanisms.
fn mechanisms(parts: &[FlowSpan<'_>]) -> Option<BTreeMap<&'static str, Statistic>> {
    let mut counts: BTreeMap<&'static str, Sample> = BTreeMap::new();
    for (start, end) in parts.iter().filter_map(|part| part.detail?.mechanisms.as_ref()) {
        for ((name, start), (_, end)) in start.by_name().zip(end.by_name()) {
            counts.entry(name).or_default().push((end - start) as f64);
        }
    }
    let counts = counts.into_iter().map(|(name, counts)| (name, counts.statistic()));
    Some(counts.collect()).filter(|counts: &BTreeMap<_, _>| !counts.is_empty())
}

/// The coding layer of a flow over whole runs, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NcReport {
    /// Combinations that the sender sent.
    pub combinations: Statistic,
    /// Combinations without new information for the receiver.
    pub redundant: Statistic,
    /// Mean over time of the number of combinations that the receiver holds undecoded.
    pub rows: Statistic,
    /// The largest number of combinations that the receiver held undecoded at one time.
    pub rows_max: Statistic,
    /// Acknowledgements that named the same first unseen segment as the acknowledgement before.
    pub repeated_acks: Statistic,
    /// Combinations that relays sent.
    pub recoded: Statistic,
}

impl NcReport {
    fn new(all: &[&NcStatus]) -> Option<NcReport> {
        let statistic =
            |value: &dyn Fn(&NcStatus) -> f64| all.iter().map(|status| value(status)).collect::<Sample>().statistic();
        (!all.is_empty()).then(|| NcReport {
            combinations: statistic(&|s| s.sender.combinations as f64),
            redundant: statistic(&|s| s.receiver.redundant as f64),
            rows: statistic(&|s| s.mean_rows),
            rows_max: statistic(&|s| s.receiver.most_rows as f64),
            repeated_acks: statistic(&|s| s.receiver.repeated_acks as f64),
            recoded: statistic(&|s| s.relays.iter().map(|relay| relay.combinations as f64).sum()),
        })
    }
}

/// The TCP/LT session of a flow over whole runs, warm-up included.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LtReport {
    /// Symbols sent.
    pub symbols: Statistic,
    /// Symbols sent after the first round of their block.
    pub topped_up: Statistic,
    /// Blocks decoded.
    pub blocks: Statistic,
    /// Symbols received for each innovative symbol, less 1: the overhead of the code, and symbols that came too late.
    pub block_overhead: Statistic,
    /// LT-ACKs that the receiver sent for each packet delivered.
    pub lt_acks_per_packet: Statistic,
    /// Number of times that a timer of the sender has ended without feedback.
    pub timeouts: Statistic,
    /// The loss of the path that the sender measures at the end.
    pub loss: Statistic,
    /// The block round-trip time that the sender measures at the end, s. There is no value before the first block.
    pub block_time_s: Statistic,
    /// The rate that the gateway gives to the flow at the end, bit/s. There is no value without a rate.
    pub rate_bps: Statistic,
    /// The largest number of packets that the sender held at one time.
    pub held_max: Statistic,
    /// Packets that TCP sent beyond the window that the gateway advertised, because an update may have been lost.
    pub window_probes: Statistic,
    /// For an upload: packets that the gateway sent again over the wired links.
    pub wired_retransmits: Statistic,
}

impl LtReport {
    fn new(all: &[&LtStatus]) -> Option<LtReport> {
        let known = |value: &dyn Fn(&LtStatus) -> Option<f64>| {
            all.iter().filter_map(|status| value(status)).collect::<Sample>().statistic()
        };
        let statistic = |value: &dyn Fn(&LtStatus) -> f64| known(&|status| Some(value(status)));
        let per_packet = |value: &dyn Fn(&LtStatus) -> u64| {
            known(&|status| {
                let delivered = status.receiver.delivered;
                (delivered > 0).then(|| value(status) as f64 / delivered as f64)
            })
        };
        let received = |s: &LtStatus| s.receiver.innovative + s.receiver.redundant + s.receiver.late;
        (!all.is_empty()).then(|| LtReport {
            symbols: statistic(&|s| s.sender.packets as f64),
            topped_up: statistic(&|s| s.sender.topped_up as f64),
            blocks: statistic(&|s| s.receiver.blocks as f64),
            block_overhead: known(&|s| {
                let innovative = s.receiver.innovative;
                (innovative > 0).then(|| received(s) as f64 / innovative as f64 - 1.0)
            }),
            lt_acks_per_packet: per_packet(&|s| s.receiver.lt_acks),
            timeouts: statistic(&|s| s.sender.timeouts as f64),
            loss: statistic(&|s| s.loss),
            block_time_s: known(&|s| s.block_time),
            rate_bps: known(&|s| s.rate.map(|rate| rate as f64)),
            held_max: statistic(&|s| s.sender.most_held as f64),
            window_probes: statistic(&|s| s.window_probes as f64),
            wired_retransmits: statistic(&|s| s.wired_retransmits as f64),
        })
    }
}
