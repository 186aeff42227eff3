//! The report of a tunnel: what it sent, repaired, dropped and measured in each direction.
//!
//! A *symbol* is a unit of the tunnel's code. A source symbol is one packet that entered the tunnel, and a *repair* is
//! a linear combination of source symbols. An *exact* repair answers a report of missing symbols. A *proactive* repair
//! is sent before any loss is known.

use crate::engine::{Sample, Statistic};
use crate::scenario::spec::Scenario;
use crate::scenario::totals::TunnelSpan;
use ripstop_proto::session::tunnel::Status;
use serde::Serialize;

/// The measurements of a tunnel, over the runs. `ripstop status` shows the same figures for a real tunnel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelReport {
    /// The name of the tunnel.
    pub name: String,
    /// The direction from the first end to the second, and the other direction.
    pub directions: Vec<DirectionReport>,
}

/// One direction of a tunnel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionReport {
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Bytes of all datagrams sent, feedback included, per byte of payload that arrived in order in this direction's
    /// flows. Only runs with such payload count.
    pub sent_per_useful: Statistic,
    /// Datagrams sent, of all kinds.
    pub datagrams: Statistic,
    /// Packets accepted into the tunnel.
    pub taken_packets: Statistic,
    /// Packets delivered by the tunnel.
    pub delivered_packets: Statistic,
    /// Source symbols sent.
    pub sources: Statistic,
    /// Repairs sent for losses that the receiver reported.
    pub repairs_exact: Statistic,
    /// Repairs sent before any report of a loss.
    pub repairs_ahead: Statistic,
    /// What the block code sent; None without a block code. With a block code there are no other repairs.
    pub block: Option<BlockReport>,
    /// Symbols recovered from repairs.
    pub recovered: Statistic,
    /// Repairs without new information.
    pub redundant: Statistic,
    /// Share of source symbols that the receiver gave up, because they did not arrive and were not recovered.
    pub residual_loss: Statistic,
    /// Packets dropped at the entrance because the queue was full.
    pub dropped_full: Statistic,
    /// Packets that the queue management dropped to slow their flow down.
    pub dropped_aqm: Statistic,
    /// ECN-capable packets that the queue management marked instead of dropping them.
    pub marked_aqm: Statistic,
    /// Packets dropped at the entrance because they waited beyond their deadline.
    pub dropped_expired: Statistic,
    /// Symbols that the sender gave up.
    pub given_up_sender: Statistic,
    /// Times that a flow skipped a packet at its deadline.
    pub skipped: Statistic,
    /// Packets delivered after their flow had skipped them.
    pub late: Statistic,
    /// The sender's estimate of the path's rate at the end of the measured time.
    pub rate_bps: Statistic,
    /// The sender's smoothed round-trip time at the end of the measured time.
    pub rtt_s: Statistic,
    /// The sender's estimate of the loss probability at the end of the measured time.
    pub loss: Statistic,
    /// The sender's estimate of the mean length of a loss burst at the end of the measured time, in packets.
    pub burst_packets: Statistic,
    /// Datagrams declared lost that arrived after all.
    pub spurious: Statistic,
    /// Times that everything in flight was declared lost because no feedback arrived.
    pub silences: Statistic,
    /// Probes sent because the last datagrams were not reported.
    pub tail_probes: Statistic,
    /// Repairs not sent because the budget was used up.
    pub repairs_over_budget: Statistic,
    /// Times that proactive repairs were suspended because they recovered nothing.
    pub repairs_suspended: Statistic,
    /// Exact repairs that combine all symbols from the first to the last missing symbol.
    pub repairs_ranges: Statistic,
    /// Times that the receiver could not use such repairs, and the missing symbols were listed one by one.
    pub repairs_listed: Statistic,
    /// Proactive repairs that combine symbols that are not consecutive.
    pub repairs_spread: Statistic,
    /// Times that the rate controller began to compete with others that keep a queue.
    pub competitions: Statistic,
    /// Loss tests that found that losses grow with the rate.
    pub overloads: Statistic,
    /// Late packets that the rate controller had taken for drops of a queue.
    pub forgiven: Statistic,
    /// Queueing delays that the rate controller accepted as a delay of the path.
    pub delays_accepted: Statistic,
    /// Jumps of a clock that the rate controller noticed.
    pub clock_jumps: Statistic,
}

/// The blocks that one direction of a tunnel sent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BlockReport {
    /// Blocks sent.
    pub blocks: Statistic,
    /// Blocks that ended early, because no packet came for a while.
    pub flushed: Statistic,
    /// Repairs sent.
    pub repairs: Statistic,
}

impl TunnelReport {
    /// The report of tunnel `k`. `useful` is the payload that arrived in order in each run, by direction.
    pub(super) fn new(scenario: &Scenario, k: usize, runs: &[&TunnelSpan], useful: &[[u64; 2]]) -> TunnelReport {
        let spec = &scenario.tunnel[k];
        let directions = [0, 1].map(|side| {
            let [from, to] = [side, 1 - side].map(|end| spec.between[end].clone());
            direction(from, to, side, runs, useful)
        });
        TunnelReport { name: spec.name.clone(), directions: directions.into() }
    }
}

fn direction(from: String, to: String, side: usize, runs: &[&TunnelSpan], useful: &[[u64; 2]]) -> DirectionReport {
    // The sending end counts what is sent, and the receiving end counts what arrives.
    let did = |end: usize, value: &dyn Fn(&Status) -> u64| {
        let runs = runs.iter().map(|ends| &ends[end]);
        runs.map(|(start, end)| (value(end) - value(start)) as f64).collect::<Sample>().statistic()
    };
    let sent = |value: &dyn Fn(&Status) -> u64| did(side, value);
    let arrived = |value: &dyn Fn(&Status) -> u64| did(1 - side, value);
    let last =
        |value: &dyn Fn(&Status) -> f64| runs.iter().map(|ends| value(&ends[side].1)).collect::<Sample>().statistic();
    let residual = |ends: &&TunnelSpan| {
        let (start, end) = &ends[1 - side];
        let of = |value: fn(&Status) -> u64| (value(end) - value(start)) as f64;
        let [given_up, sources, recovered] =
            [of(|s| s.received.given_up), of(|s| s.received.sources), of(|s| s.received.recovered)];
        let all = given_up + sources + recovered;
        (all > 0.0).then(|| given_up / all)
    };
    let per_useful = runs.iter().zip(useful).filter(|(_, useful)| useful[side] > 0).map(|(ends, useful)| {
        let (start, end) = &ends[side];
        (end.path.sent.bytes - start.path.sent.bytes) as f64 / useful[side] as f64
    });
    DirectionReport {
        from,
        to,
        sent_per_useful: per_useful.collect::<Sample>().statistic(),
        datagrams: sent(&|s| s.path.sent.datagrams),
        taken_packets: sent(&|s| s.taken.taken),
        delivered_packets: arrived(&|s| s.order.delivered),
        sources: sent(&|s| s.sent.sources),
        repairs_exact: sent(&|s| s.repairs.exact),
        repairs_ahead: sent(&|s| s.repairs.bulk + s.repairs.interactive),
        block: runs.iter().all(|ends| ends[side].1.blocks.is_some()).then(|| BlockReport {
            blocks: sent(&|s| s.blocks.map_or(0, |code| code.blocks)),
            flushed: sent(&|s| s.blocks.map_or(0, |code| code.flushed)),
            repairs: sent(&|s| s.blocks.map_or(0, |code| code.repairs)),
        }),
        recovered: arrived(&|s| s.received.recovered),
        redundant: arrived(&|s| s.received.redundant),
        residual_loss: runs.iter().filter_map(residual).collect::<Sample>().statistic(),
        dropped_full: sent(&|s| s.drops.full),
        dropped_aqm: sent(&|s| s.drops.aqm),
        marked_aqm: sent(&|s| s.drops.marked),
        dropped_expired: sent(&|s| s.drops.expired),
        given_up_sender: sent(&|s| s.taken.given_up),
        skipped: arrived(&|s| s.order.skipped),
        late: arrived(&|s| s.order.late),
        rate_bps: last(&|s| s.path.view.bandwidth * 8.0),
        rtt_s: last(&|s| s.path.srtt.as_secs_f64()),
        loss: last(&|s| s.path.loss),
        burst_packets: last(&|s| s.path.mean_burst),
        spurious: sent(&|s| s.path.spurious),
        silences: sent(&|s| s.path.sent.silences),
        tail_probes: sent(&|s| s.path.sent.tail_probes),
        repairs_over_budget: sent(&|s| s.repairs.over_budget),
        repairs_suspended: sent(&|s| s.repairs.suspended),
        repairs_ranges: sent(&|s| s.repairs.ranges),
        repairs_listed: sent(&|s| s.repairs.listed),
        repairs_spread: sent(&|s| s.repairs.spread),
        competitions: sent(&|s| s.path.view.competitions),
        overloads: sent(&|s| s.path.view.overloads),
        forgiven: sent(&|s| s.path.view.forgiven),
        delays_accepted: sent(&|s| s.path.view.delays_accepted),
        clock_jumps: sent(&|s| s.path.view.clock_jumps),
    }
}
