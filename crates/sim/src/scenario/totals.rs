//! The counters of each run, read at the times that the report needs.
//!
//! A *span* is a part of a run that is reported: the whole measurement (the run without its warm-up), or an interval of
//! the scenario.

use super::spec::Scenario;
use crate::tcp::Mechanisms;
use crate::wifi::ideal::Activity;
use crate::world::{FlowDelays, FlowTotals, LinkTotals, LtStatus, NcMoment, NcStatus, Observer, StationStatus, World};
use ripstop_base::Time;
use ripstop_proto::session::tunnel::Status;
use std::time::Duration;

/// The counters of one run at each time at which they were read.
#[derive(Clone, Debug)]
pub struct RunTotals {
    /// The counters at each time.
    pub(super) snapshots: Vec<Snapshot>,
    /// The totals of each span, in the order of [`ReadTimes::spans`].
    pub(super) spans: Vec<SpanTotals>,
    /// The coding layer of each flow at the end.
    pub(super) coding: Vec<Option<NcStatus>>,
    /// The TCP/LT session of each flow at the end.
    pub(super) blocks: Vec<Option<LtStatus>>,
    /// The impairments of each link that had not acted by the end.
    pub(super) unfired: Vec<Vec<&'static str>>,
    /// How many events the run had.
    pub(super) events: u64,
}

/// The counters at one time.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    /// The totals of each flow.
    pub(super) flows: Vec<FlowTotals>,
    /// Packets queued at each link, if a series is measured.
    pub(super) queues: Vec<u64>,
    /// The coding layer of each flow, if a series is measured.
    pub(super) coding: Vec<Option<NcMoment>>,
    /// k of each station of each medium, if a series is measured.
    pub(super) protection: Vec<Vec<u32>>,
}

/// The totals of one span of one run.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanTotals {
    /// Details of each flow.
    pub(super) flows: Vec<FlowDetail>,
    /// The totals of each link.
    pub(super) links: Vec<LinkSpan>,
    /// The status of each tunnel.
    pub(super) tunnels: Vec<TunnelSpan>,
    /// The stations of each medium.
    pub(super) media: Vec<MediumSpan>,
    /// What the links of each medium with ideal access had done at the start and at the end of the span. None for other
    /// media.
    pub(super) activities: Vec<Option<ActivitySpan>>,
}

/// Measurements of a flow in a reported span that [`FlowTotals`] does not have.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowDetail {
    /// Delays of packets and transfers in the span.
    pub(super) delays: FlowDelays,
    /// The counters of the sender's mechanisms at the start and at the end of the span.
    pub(super) mechanisms: Option<(Mechanisms, Mechanisms)>,
}

/// The totals of a link at the start and at the end of a span of one run.
pub(super) type LinkSpan = (LinkTotals, LinkTotals);

/// The status of a medium's stations at the start and at the end of a span of one run.
pub(super) type MediumSpan = Vec<(StationStatus, StationStatus)>;

/// What the links of a medium with ideal access had done at the start and at the end of a span of one run.
pub(super) type ActivitySpan = (Activity, Activity);

/// The status of each end of a tunnel at the start and at the end of a span of one run.
pub(super) type TunnelSpan = [(Status, Status); 2];

/// The times at which counters are read.
#[derive(Clone, Debug)]
pub(super) struct ReadTimes {
    /// Start and end of the whole measurement, then start and end of each interval.
    pub(super) spans: Vec<[Time; 2]>,
    /// All times at which counters are read, in ascending order.
    moments: Vec<Time>,
}

impl RunTotals {
    /// Runs `world` to the end of `scenario`.
    pub(super) fn of(scenario: &Scenario, world: &mut World, observer: &mut impl Observer) -> RunTotals {
        let times = ReadTimes::of(scenario);
        let mut snapshots = Vec::with_capacity(times.moments.len());
        let mut spans = vec![SpanTotals::default(); times.spans.len()];
        for at in &times.moments {
            world.run_until(*at, observer);
            let flows = (0..world.flows()).map(|flow| world.totals(flow)).collect();
            let (mut queues, mut coding, mut protection) = (Vec::new(), Vec::new(), Vec::new());
            if scenario.run.sample.is_some() {
                queues.extend((0..world.links()).map(|link| world.queue(link)));
                coding.extend((0..world.flows()).map(|flow| world.coding_now(flow)));
                let ks = |medium| world.stations(medium).iter().map(|station| station.k).collect();
                protection.extend((0..world.media()).map(ks));
            }
            snapshots.push(Snapshot { flows, queues, coding, protection });
            if times.spans.iter().flatten().any(|edge| edge == at) {
                close_and_open_spans(&times, *at, world, &mut spans);
            }
        }
        world.run_until(Time::ZERO + scenario.run.duration.duration(), observer);
        let coding = (0..world.flows()).map(|flow| world.coding(flow)).collect();
        let blocks = (0..world.flows()).map(|flow| world.blocks(flow)).collect();
        let unfired = (0..world.links()).map(|link| world.unfired(link)).collect();
        RunTotals { snapshots, spans, coding, blocks, unfired, events: world.events() }
    }
}

/// Ends the spans that end at `at`, and begins the spans that begin at `at`.
fn close_and_open_spans(times: &ReadTimes, at: Time, world: &mut World, spans: &mut [SpanTotals]) {
    let flows = 0..world.flows();
    // Delays were last taken at the previous start or end of a span. The delays that are taken now therefore belong to
    // each span that contains the time since that start or end.
    for flow in flows.clone() {
        let delays = world.take_delays(flow);
        for (span, [from, to]) in spans.iter_mut().zip(&times.spans) {
            if *from < at && at <= *to {
                span.flows[flow].delays.packets.merge(&delays.packets);
                span.flows[flow].delays.transfers.merge(&delays.transfers);
            }
        }
    }
    for (span, [from, to]) in spans.iter_mut().zip(&times.spans) {
        let links = (0..world.links()).map(|link| world.link_totals(link));
        let tunnels = (0..world.tunnels()).map(|tunnel| world.tunnel(tunnel));
        let media = (0..world.media()).map(|medium| world.stations(medium));
        let activities = (0..world.media()).map(|medium| world.activity(medium));
        if *from == at {
            let both = |flow| world.mechanisms(flow).map(|mechanisms| (mechanisms, mechanisms));
            let detail = |flow| FlowDetail { mechanisms: both(flow), ..FlowDetail::default() };
            span.flows = flows.clone().map(detail).collect();
            span.links = links.map(|totals| (totals, totals)).collect();
            span.tunnels = tunnels.map(|ends| ends.map(|status| (status.clone(), status))).collect();
            span.media =
                media.map(|stations| stations.into_iter().map(|station| (station, station)).collect()).collect();
            span.activities =
                activities.map(|activity| activity.map(|activity| (activity.clone(), activity))).collect();
        } else if *to == at {
            for (flow, detail) in span.flows.iter_mut().enumerate() {
                if let Some((pair, now)) = detail.mechanisms.as_mut().zip(world.mechanisms(flow)) {
                    pair.1 = now;
                }
            }
            span.links.iter_mut().zip(links).for_each(|(pair, now)| pair.1 = now);
            for (pairs, ends) in span.tunnels.iter_mut().zip(tunnels) {
                pairs.iter_mut().zip(ends).for_each(|(pair, now)| pair.1 = now);
            }
            for (pair, now) in span.activities.iter_mut().zip(activities) {
                if let Some((pair, now)) = pair.as_mut().zip(now) {
                    pair.1 = now;
                }
            }
            for (pairs, stations) in span.media.iter_mut().zip(media) {
                pairs.iter_mut().zip(stations).for_each(|(pair, now)| pair.1 = now);
            }
        }
    }
}

impl ReadTimes {
    pub(super) fn of(scenario: &Scenario) -> ReadTimes {
        let run = &scenario.run;
        let mut spans = vec![[run.warmup, run.duration]];
        spans.extend(run.intervals.iter().copied());
        let spans: Vec<[Time; 2]> = spans.into_iter().map(|span| span.map(|at| Time::ZERO + at.duration())).collect();
        let mut moments: Vec<Time> = spans.iter().flatten().copied().collect();
        if let Some(sample) = run.sample {
            moments.extend(sample_times(sample.duration(), run.duration.duration()));
        }
        moments.sort_unstable();
        moments.dedup();
        ReadTimes { spans, moments }
    }

    /// The index of a time among the snapshots.
    pub(super) fn index(&self, at: Time) -> usize {
        self.moments.partition_point(|moment| *moment < at)
    }
}

/// The times that cut a run into pieces. They include the start and the end of the run.
pub(super) fn sample_times(sample: Duration, duration: Duration) -> impl Iterator<Item = Time> {
    let cuts = (0..).map(move |k| sample * k).take_while(move |at| *at < duration);
    cuts.chain([duration]).map(|at| Time::ZERO + at)
}
