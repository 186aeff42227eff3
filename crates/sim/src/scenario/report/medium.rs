//! The report of a shared medium: how its stations used it.

use super::ideal::IdealReport;
use crate::engine::{Sample, Statistic};
use crate::scenario::spec::{BackoffName, MediumSpec};
use crate::scenario::totals::{ActivitySpan, MediumSpan, ReadTimes, RunTotals};
use crate::wifi::{Routing, RoutingCounters, StationCounters};
use crate::world::StationStatus;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// The measurements of a medium, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MediumReport {
    /// The name of the medium.
    pub name: String,
    /// XOR frames divided by frames with data of TCP or UDP, retransmissions included: the coding efficiency gamma of
    /// paper 002. There is no value when no such frame was sent.
    pub gamma: Statistic,
    /// Packets dropped at the retry limit, per second.
    pub mac_drops_per_s: Statistic,
    /// Frames that their receiver lost to overlapping frames, per second.
    pub collisions_per_s: Statistic,
    /// Packets dropped by full queues, per second.
    pub queue_drops_per_s: Statistic,
    /// XOR frames that a receiver could not decode, per second.
    pub undecodable_per_s: Statistic,
    /// Frames sent without XOR because no partner waited, per second. Each of these frames carries a packet from one
    /// neighbour to another.
    pub missed_partners_per_s: Statistic,
    /// What Cadence did, all stations together. None with another rule for back-offs.
    pub cadence: Option<CadenceReport>,
    /// What was lost at random, all stations together. None without `loss`.
    pub losses: Option<LossReport>,
    /// What AODV did, all stations together. None with static routing.
    pub routing: Option<RoutingReport>,
    /// What ideal access did. None with the DCF.
    pub ideal: Option<IdealReport>,
    /// The stations.
    pub stations: Vec<StationReport>,
}

/// What Cadence did in the measured time, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CadenceReport {
    /// Frames per second in which a station overheard its packet being passed on by the next hop.
    pub overheard_per_s: Statistic,
    /// Times per second at which a free MAC found that all packets of its queue were held.
    pub held_per_s: Statistic,
    /// Held packets per second that left as partners in XOR frames.
    pub free_rides_per_s: Statistic,
    /// TCP acknowledgements per second that were lost in XOR frames, where no MAC ACK was due for them.
    pub rider_losses_per_s: Statistic,
}

/// What was lost at random in the measured time, over the runs. `errors` of the medium says which of the two can happen.
/// The other count is 0.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LossReport {
    /// Packets lost above the MAC, after the station had acknowledged their frames.
    pub packets: Statistic,
    /// Frames lost at a station that would have decoded them, for this station or for others. A frame that is lost at
    /// several stations counts at each station.
    pub frames: Statistic,
}

/// What AODV did in the measured time, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoutingReport {
    /// Route requests of the stations' own. Forwarded requests do not count.
    pub route_requests: Statistic,
    /// Route replies of the stations' own.
    pub route_replies: Statistic,
    /// Route errors sent.
    pub route_errors: Statistic,
    /// Packets dropped at the retry limit, each a sign of a broken link.
    pub link_breaks: Statistic,
    /// Packets among the `link_breaks` that a station kept to repair the route itself.
    pub repairs: Statistic,
    /// Discoveries that were given up.
    pub failed_discoveries: Statistic,
    /// Packets dropped because no route was known or found.
    pub route_drops: Statistic,
    /// Packets dropped because the link to their next hop was broken.
    pub break_drops: Statistic,
    /// Packets dropped by full buffers of packets that wait for a route.
    pub buffer_drops: Statistic,
    /// Packets dropped after the longest wait for a route.
    pub expired_drops: Statistic,
    /// Packets dropped because they had passed the largest number of hops, or had come back to their source.
    pub loop_drops: Statistic,
}

/// The measurements of a station, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationReport {
    /// The name of the node.
    pub name: String,
    /// k at the end of the measured time: the number of hops over which a transmission disturbs others. The adaptive
    /// back-off protects a packet for k+1 data times. A data time is the duration of one data exchange. With ideal
    /// access, this is the k of the interference constraints.
    pub k: Statistic,
    /// Frames sent that carry packets: data, TCP ACKs, and broadcasts, retransmissions included.
    pub data_frames: Statistic,
    /// XOR frames among the `data_frames`.
    pub xor_frames: Statistic,
    /// Exchanges in which the CTS or the MAC ACK that the station waited for did not come.
    pub failures: Statistic,
    /// Packets dropped at the retry limit.
    pub mac_drops: Statistic,
    /// Packets dropped by the full queue.
    pub queue_drops: Statistic,
    /// Frames for this station lost to overlapping frames.
    pub collisions: Statistic,
    /// Packets received again, because a MAC ACK was lost.
    pub duplicates: Statistic,
    /// What this station lost at random. None without `loss`.
    pub losses: Option<LossReport>,
    /// What AODV did. None with static routing.
    pub routing: Option<RoutingReport>,
}

/// The figures of all media of a scenario together, over the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MediaSummary {
    /// Packets that arrived in order after the warm-up, IP and TCP headers included, bit/s, summed over all flows. None
    /// without media or without flows.
    pub throughput_ip_bps: Option<Statistic>,
    /// XOR frames divided by frames with data ([`MediumReport::gamma`]). None without media.
    pub gamma: Option<Statistic>,
    /// Packets dropped at the retry limit, per second. None without media.
    pub mac_drops_per_s: Option<Statistic>,
    /// Frames that their receiver lost to overlapping frames, per second. None without media.
    pub collisions_per_s: Option<Statistic>,
    /// Retransmission time-outs after the warm-up, of all flows.
    pub timeouts: Statistic,
    /// k of each station at the end, by the name of its node ([`StationReport::k`]).
    pub k: BTreeMap<String, Statistic>,
}

impl MediaSummary {
    /// The figures of these `media`. The figures of flows are left empty.
    pub(super) fn new(media: &[MediumReport], runs: &[RunTotals], times: &ReadTimes) -> MediaSummary {
        if media.is_empty() {
            return MediaSummary::default();
        }
        let [from, to] = times.spans[0];
        let seconds = to.since(from).as_secs_f64();
        let sum = |run: &RunTotals, value: fn(&StationCounters) -> u64| -> f64 {
            run.spans[0].media.iter().map(|span| did(span, value)).sum()
        };
        let rate = |value: fn(&StationCounters) -> u64| {
            Some(runs.iter().map(|run| sum(run, value) / seconds).collect::<Sample>().statistic())
        };
        let gamma = runs.iter().filter_map(|run| {
            let data = sum(run, |c| c.data_frames_with_data);
            (data > 0.0).then(|| sum(run, |c| c.xor_frames) / data)
        });
        let stations = media.iter().flat_map(|medium| &medium.stations);
        MediaSummary {
            gamma: Some(gamma.collect::<Sample>().statistic()),
            mac_drops_per_s: rate(|c| c.retry_drops),
            collisions_per_s: rate(|c| c.collisions),
            k: stations.map(|station| (station.name.clone(), station.k)).collect(),
            ..MediaSummary::default()
        }
    }
}

/// By how much a counter of all stations grew in a span.
fn did(span: &MediumSpan, value: fn(&StationCounters) -> u64) -> f64 {
    span.iter().map(|(start, end)| value(&end.counters) - value(&start.counters)).sum::<u64>() as f64
}

/// By how much a counter of these `stations` together grew in each run.
fn grown(runs: &[&MediumSpan], stations: Range<usize>, value: impl Fn(&StationStatus) -> u64) -> Statistic {
    let of_run = |span: &&MediumSpan| {
        let stations = span.get(stations.clone()).unwrap_or_default();
        stations.iter().map(|(start, end)| value(end) - value(start)).sum::<u64>() as f64
    };
    runs.iter().map(of_run).collect::<Sample>().statistic()
}

impl MediumReport {
    /// The report of a medium over a span of `seconds` of each run. `activities` is empty with the DCF.
    pub(super) fn new(
        spec: &MediumSpec,
        runs: &[&MediumSpan],
        activities: &[&ActivitySpan],
        seconds: f64,
    ) -> MediumReport {
        let rate = |value: fn(&StationCounters) -> u64| -> Statistic {
            runs.iter().map(|span| did(span, value) / seconds).collect::<Sample>().statistic()
        };
        let gamma = runs.iter().filter_map(|span| {
            let data = did(span, |c| c.data_frames_with_data);
            (data > 0.0).then(|| did(span, |c| c.xor_frames) / data)
        });
        MediumReport {
            name: spec.name.clone(),
            gamma: gamma.collect::<Sample>().statistic(),
            mac_drops_per_s: rate(|c| c.retry_drops),
            collisions_per_s: rate(|c| c.collisions),
            queue_drops_per_s: rate(|c| c.queue_drops),
            undecodable_per_s: rate(|c| c.undecodable),
            missed_partners_per_s: rate(|c| c.missed_partners),
            cadence: (spec.backoff == BackoffName::Cadence).then(|| CadenceReport {
                overheard_per_s: rate(|c| c.overheard),
                held_per_s: rate(|c| c.held),
                free_rides_per_s: rate(|c| c.free_rides),
                rider_losses_per_s: rate(|c| c.rider_losses),
            }),
            losses: LossReport::new(spec, 0..spec.stations.len(), runs),
            routing: RoutingReport::new(spec, 0..spec.stations.len(), runs),
            ideal: IdealReport::new(spec, activities, seconds),
            stations: spec
                .stations
                .iter()
                .enumerate()
                .map(|(k, station)| StationReport::new(spec, &station.name, k, runs))
                .collect(),
        }
    }
}

impl StationReport {
    fn new(spec: &MediumSpec, name: &str, station: usize, runs: &[&MediumSpan]) -> StationReport {
        let count = |value: fn(&StationCounters) -> u64| grown(runs, station..station + 1, |s| value(&s.counters));
        let k = runs.iter().filter_map(|span| span.get(station)).map(|(_, end)| f64::from(end.k));
        StationReport {
            name: name.to_owned(),
            k: k.collect::<Sample>().statistic(),
            data_frames: count(|c| c.data_frames),
            xor_frames: count(|c| c.xor_frames),
            failures: count(|c| c.failures),
            mac_drops: count(|c| c.retry_drops),
            queue_drops: count(|c| c.queue_drops),
            collisions: count(|c| c.collisions),
            duplicates: count(|c| c.duplicates),
            losses: LossReport::new(spec, station..station + 1, runs),
            routing: RoutingReport::new(spec, station..station + 1, runs),
        }
    }
}

impl LossReport {
    /// The report of these `stations`. None if the medium has no `loss`.
    fn new(spec: &MediumSpec, stations: Range<usize>, runs: &[&MediumSpan]) -> Option<LossReport> {
        let count = |value: fn(&StationCounters) -> u64| grown(runs, stations.clone(), |s| value(&s.counters));
        spec.loss.map(|_| LossReport { packets: count(|c| c.lost_packets), frames: count(|c| c.lost_frames) })
    }
}

impl RoutingReport {
    /// The report of these `stations`. None with static routing.
    fn new(spec: &MediumSpec, stations: Range<usize>, runs: &[&MediumSpan]) -> Option<RoutingReport> {
        if spec.routing == Routing::Static {
            return None;
        }
        let routing = |value: fn(&RoutingCounters) -> u64| grown(runs, stations.clone(), |s| value(&s.routing));
        let drops = |value: fn(&StationCounters) -> u64| grown(runs, stations.clone(), |s| value(&s.counters));
        Some(RoutingReport {
            route_requests: routing(|c| c.route_requests),
            route_replies: routing(|c| c.route_replies),
            route_errors: routing(|c| c.route_errors),
            link_breaks: routing(|c| c.link_breaks),
            repairs: routing(|c| c.repairs),
            failed_discoveries: routing(|c| c.failed_discoveries),
            route_drops: drops(|c| c.route_drops),
            break_drops: drops(|c| c.break_drops),
            buffer_drops: drops(|c| c.buffer_drops),
            expired_drops: drops(|c| c.expired_drops),
            loop_drops: drops(|c| c.loop_drops),
        })
    }
}
