//! The report of a link: packets by fate, rate, and queue.

use crate::engine::{Sample, Statistic};
use crate::scenario::totals::LinkSpan;
use ripstop_link::LinkCounters;
use serde::Serialize;

/// The measurements of one direction of a link, over the runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkReport {
    /// The nodes at the ends, such as `n0>n1`.
    pub name: String,
    /// Packets offered to the link.
    pub offered_packets: Statistic,
    /// Packets dropped because the queue was full.
    pub dropped_queue_packets: Statistic,
    /// Packets that the policer refused, or that exceeded the MTU.
    pub dropped_other_packets: Statistic,
    /// Packets that the policer refused. `dropped_other_packets` includes them.
    pub dropped_policer_packets: Statistic,
    /// Packets that the queue discipline (CoDel, PIE or FQ) dropped to keep the queue short.
    pub dropped_aqm_packets: Statistic,
    /// ECN-capable packets that the link marked with Congestion Experienced.
    pub marked_packets: Statistic,
    /// Packets lost on the channel: by the loss model, or in a blackout. With a block code, a packet is lost when one of
    /// its blocks loses more units than the code repairs.
    pub lost_packets: Statistic,
    /// Packets delivered, without copies.
    pub delivered_packets: Statistic,
    /// Delivered rate, headers included, bit/s.
    pub delivered_bps: Statistic,
    /// Share of the time in which the link was sending.
    pub utilisation: Statistic,
    /// Mean over time of the number of packets queued, without the packet in transmission.
    pub queue_packets: Statistic,
    /// Mean time that a packet waited in the queue.
    pub queue_s: Statistic,
    /// Configured impairments that acted in none of the runs, warm-up included. The scenario tests nothing about a
    /// setting in this list.
    pub unfired: Vec<&'static str>,
}

impl LinkReport {
    /// The report of a link over a span of `seconds` of each run. `unfired` lists the impairments that did not act.
    pub(super) fn new(name: String, runs: &[LinkSpan], unfired: Vec<&'static str>, seconds: f64) -> LinkReport {
        let statistic = |value: &dyn Fn(&LinkSpan) -> f64| runs.iter().map(value).collect::<Sample>().statistic();
        let count = |value: fn(&LinkCounters) -> u64| statistic(&|span| did(span, value) as f64);
        let sent = runs.iter().filter(|span| did(span, |c| c.serialised) > 0);
        LinkReport {
            name,
            offered_packets: count(|c| c.offered),
            dropped_queue_packets: count(|c| c.refused_queue),
            dropped_other_packets: count(|c| c.refused_mtu + c.refused_policer),
            dropped_policer_packets: count(|c| c.refused_policer),
            dropped_aqm_packets: count(|c| c.dropped_aqm),
            marked_packets: statistic(&|(start, end)| (end.marked - start.marked) as f64),
            lost_packets: count(|c| c.lost_channel + c.lost_blackout),
            delivered_packets: count(|c| c.delivered),
            delivered_bps: statistic(&|span| did(span, |c| c.delivered_bytes) as f64 * 8.0 / seconds),
            utilisation: statistic(&|(start, end)| (end.busy - start.busy).as_secs_f64() / seconds),
            queue_packets: statistic(&|span| waited_s(span) / seconds),
            queue_s: sent
                .map(|span| waited_s(span) / did(span, |c| c.serialised) as f64)
                .collect::<Sample>()
                .statistic(),
            unfired,
        }
    }
}

/// By how much a counter grew between the start and the end of the span.
fn did((start, end): &LinkSpan, value: fn(&LinkCounters) -> u64) -> u64 {
    value(&end.counters) - value(&start.counters)
}

/// The sum of the times that packets waited in the queue during the span, s. This sum divided by the length of the span
/// is the mean queue in packets (Little's law).
fn waited_s((start, end): &LinkSpan) -> f64 {
    (end.counters.queue_packet_ns - start.counters.queue_packet_ns) as f64 * 1e-9
}
