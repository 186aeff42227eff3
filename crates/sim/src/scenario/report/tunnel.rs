//! What is said of a tunnel.

use crate::engine::{Sample, Statistic};
use crate::scenario::Scenario;
use ripstop_proto::session::tunnel::Status;
use serde::Serialize;

/// What was measured of a tunnel, over the runs: what `ripstop status` shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TunnelReport {
    /// Its name.
    pub name: String,
    /// From the first of its ends to the second, and the other way.
    pub directions: Vec<DirectionReport>,
}

/// One direction of a tunnel.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionReport {
    /// The node that sends.
    pub from: String,
    /// The node that receives.
    pub to: String,
    /// Bytes of all datagrams sent, feedback included, for each byte of payload that arrived in order in the flows whose data goes
    /// this way; over the runs that had any.
    pub sent_per_useful: Statistic,
    /// Datagrams sent, of all kinds.
    pub datagrams: Statistic,
    /// Packets that were taken in.
    pub taken_packets: Statistic,
    /// Packets that were delivered.
    pub delivered_packets: Statistic,
    /// Source symbols sent.
    pub sources: Statistic,
    /// Repairs sent because the receiver said that something was lost.
    pub repairs_exact: Statistic,
    /// Repairs sent ahead of such reports.
    pub repairs_ahead: Statistic,
    /// Symbols that arrived through repairs.
    pub recovered: Statistic,
    /// Repairs that brought nothing new.
    pub redundant: Statistic,
    /// Share of source symbols that never arrived, by themselves or through repairs: what the receiver gave up.
    pub residual_loss: Statistic,
    /// Packets refused on the way in for want of room.
    pub dropped_full: Statistic,
    /// Packets dropped on the way in to tell their flow to slow down.
    pub dropped_aqm: Statistic,
    /// Packets that waited on the way in for longer than a packet may.
    pub dropped_expired: Statistic,
    /// Symbols that the sender gave up.
    pub given_up_sender: Statistic,
    /// Times that a flow went on without a packet, patience being over.
    pub skipped: Statistic,
    /// Packets that came out after their flow had gone on without them.
    pub late: Statistic,
    /// What the path carries at the end of the time measured, as estimated.
    pub rate_bps: Statistic,
    /// The smoothed round-trip time then.
    pub rtt_s: Statistic,
    /// The loss then, as estimated.
    pub loss: Statistic,
    /// The mean length of a run of losses then, as estimated, in packets.
    pub burst_packets: Statistic,
    /// Datagrams taken for lost that arrived after all.
    pub spurious: Statistic,
    /// Times that everything in flight was given up because nothing was heard.
    pub silences: Statistic,
    /// Probes sent because the last datagrams had no report.
    pub tail_probes: Statistic,
    /// Repairs not sent for want of budget.
    pub repairs_over_budget: Statistic,
    /// Times that repairs ahead were suspended because they recovered nothing.
    pub repairs_suspended: Statistic,
    /// Exact repairs over all symbols from a first hole to a last one.
    pub repairs_ranges: Statistic,
    /// Repairs ahead over symbols that lie apart.
    pub repairs_spread: Statistic,
}

/// Of one run, of each end, its status at the beginning of a span and at its end.
pub(in crate::scenario) type TunnelSpan = [(Status, Status); 2];

impl TunnelReport {
    /// Of tunnel `k`. `useful` has, of each run, the payload that arrived in order in either direction.
    pub(super) fn new(
        scenario: &Scenario,
        k: usize,
        runs: &[&TunnelSpan],
        useful: &[[u64; 2]],
    ) -> TunnelReport {
        let spec = &scenario.tunnel[k];
        let directions = [0, 1].map(|side| {
            let [from, to] = [side, 1 - side].map(|end| spec.between[end].clone());
            direction(from, to, side, runs, useful)
        });
        TunnelReport { name: spec.name.clone(), directions: directions.into() }
    }
}

fn direction(
    from: String,
    to: String,
    side: usize,
    runs: &[&TunnelSpan],
    useful: &[[u64; 2]],
) -> DirectionReport {
    // What is sent is the one end's to say, what becomes of it the other's.
    let did = |end: usize, value: &dyn Fn(&Status) -> u64| {
        let runs = runs.iter().map(|ends| &ends[end]);
        runs.map(|(start, end)| (value(end) - value(start)) as f64).collect::<Sample>().statistic()
    };
    let sent = |value: &dyn Fn(&Status) -> u64| did(side, value);
    let arrived = |value: &dyn Fn(&Status) -> u64| did(1 - side, value);
    let last = |value: &dyn Fn(&Status) -> f64| {
        runs.iter().map(|ends| value(&ends[side].1)).collect::<Sample>().statistic()
    };
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
        (end.sent.bytes - start.sent.bytes) as f64 / useful[side] as f64
    });
    DirectionReport {
        from,
        to,
        sent_per_useful: per_useful.collect::<Sample>().statistic(),
        datagrams: sent(&|s| s.sent.datagrams),
        taken_packets: sent(&|s| s.sent.taken),
        delivered_packets: arrived(&|s| s.order.delivered),
        sources: sent(&|s| s.sent.sources),
        repairs_exact: sent(&|s| s.repairs.exact),
        repairs_ahead: sent(&|s| s.repairs.bulk + s.repairs.interactive),
        recovered: arrived(&|s| s.received.recovered),
        redundant: arrived(&|s| s.received.redundant),
        residual_loss: runs.iter().filter_map(residual).collect::<Sample>().statistic(),
        dropped_full: sent(&|s| s.drops.full),
        dropped_aqm: sent(&|s| s.drops.aqm),
        dropped_expired: sent(&|s| s.drops.expired),
        given_up_sender: sent(&|s| s.given_up),
        skipped: arrived(&|s| s.order.skipped),
        late: arrived(&|s| s.order.late),
        rate_bps: last(&|s| s.path.bandwidth * 8.0),
        rtt_s: last(&|s| s.srtt.as_secs_f64()),
        loss: last(&|s| s.loss),
        burst_packets: last(&|s| s.mean_burst),
        spurious: sent(&|s| s.spurious),
        silences: sent(&|s| s.sent.silences),
        tail_probes: sent(&|s| s.sent.tail_probes),
        repairs_over_budget: sent(&|s| s.repairs.over_budget),
        repairs_suspended: sent(&|s| s.repairs.suspended),
        repairs_ranges: sent(&|s| s.repairs.ranges),
        repairs_spread: sent(&|s| s.repairs.spread),
    }
}
