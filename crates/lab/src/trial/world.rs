//! The world of a trial, and the observer that records events while it runs.

use super::{BulkTraffic, PathKind, REQUEST_BYTES, Scheme, TIMED_BYTES, Trial, TunnelLosses};
use ripstop_base::{DelayHistogram, Time};
use ripstop_link::{Fate, LinkConfigError, LinkCounters};
use ripstop_sim::tcp::{Distribution, Pattern, SenderConfig, Variant};
use ripstop_sim::world::{
    Carrier, Happening, Hosts, Observer, STAMPED_HEADERS, TcpConfig, UdpConfig, UdpPattern, World,
};
use std::time::Duration;

/// A host acknowledges every second packet (RFC 5681, section 4.2).
const ACK_EVERY: u32 = 2;
/// The names of the random streams of the link in the data direction and of the link back. The emulator uses the same
/// names. So the same seed gives the same losses in the emulator.
const LINKS: [&str; 2] = ["link/0", "link/1"];

/// The world of a trial.
pub(super) struct TrialWorld {
    pub(super) world: World,
    pub(super) links: [usize; 2],
    pub(super) observer: TrialObserver,
}

impl TrialWorld {
    pub(super) fn new(trial: &Trial) -> Result<TrialWorld, LinkConfigError> {
        let mut world = World::new(trial.seed);
        let links = [world.add_link(&trial.links[0], LINKS[0])?, world.add_link(&trial.links[1], LINKS[1])?];
        let trial_world = |bulk, requests, payload, world| {
            let file = if let BulkTraffic::File(bytes) = trial.bulk { Some(bytes.max(1)) } else { None };
            let observer = TrialObserver {
                bulk,
                payload,
                timed_at: [None; 2],
                timed_until: Time::ZERO + trial.from,
                file: file.filter(|_| payload.is_none()),
                complete: None,
                requests,
                latencies: Vec::with_capacity(trial.requests.len()),
                fates: trial.fates.then(Default::default),
            };
            TrialWorld { world, links, observer }
        };
        Ok(match trial.scheme {
            Scheme::Packets => {
                let (bulk, requests) = add_packets(&mut world, links, trial);
                trial_world(bulk, Some(requests), Some(trial.payload()), world)
            }
            Scheme::Tcp(variant, way) => {
                let (bulk, requests) = add_connections(&mut world, links, trial, variant, way);
                trial_world(bulk, requests, None, world)
            }
        })
    }

    pub(super) fn run_until(&mut self, end: Time) {
        self.world.run_until(end, &mut self.observer);
    }

    /// Payload bytes delivered so far: of the bulk traffic, and of the requests.
    pub(super) fn useful(&self) -> (u64, u64) {
        let of = |flow: Option<usize>, payload: u32| {
            let totals = flow.map(|flow| self.world.totals(flow)).unwrap_or_default();
            match self.observer.payload {
                Some(_) => totals.packets * u64::from(payload),
                None => totals.bytes,
            }
        };
        (of(self.observer.bulk, self.observer.payload.unwrap_or(0)), of(self.observer.requests, REQUEST_BYTES))
    }

    /// Counters of the link in the data direction.
    pub(super) fn link(&self) -> &LinkCounters {
        self.world.link(self.links[0])
    }

    /// Number of packets that the bulk traffic's TCP has retransmitted; None without a TCP.
    pub(super) fn retransmits(&self) -> Option<u64> {
        let bulk = self.observer.bulk.filter(|_| self.observer.payload.is_none())?;
        Some(self.world.totals(bulk).retransmits)
    }

    /// Losses that the tunnel had to recover in the data direction; None without a tunnel.
    pub(super) fn tunnel(&self) -> Option<TunnelLosses> {
        (self.world.tunnels() > 0).then(|| {
            let [_, receiver] = self.world.tunnel(0);
            TunnelLosses { recovered: receiver.received.recovered, given_up: receiver.received.given_up }
        })
    }

    /// Drops the delays of packets sent before now.
    pub(super) fn forget_delays(&mut self) {
        self.observer.bulk.into_iter().for_each(|bulk| self.world.forget_delays(bulk));
    }

    /// The recorded delays of the bulk traffic's packets.
    pub(super) fn delays(&mut self) -> DelayHistogram {
        self.observer.bulk.map_or_else(DelayHistogram::default, |bulk| self.world.take_delays(bulk).packets)
    }

    /// Time from the due time of request `k` to its reply; None without a reply.
    pub(super) fn latency(&self, k: usize) -> Option<Duration> {
        match (self.observer.payload, self.observer.requests) {
            (Some(_), Some(requests)) => self.world.latencies(requests).get(k).copied().flatten(),
            _ => self.observer.latencies.get(k).copied(),
        }
    }

    /// Whether the first `n` requests all have replies.
    pub(super) fn is_answered(&self, n: usize) -> bool {
        (0..n).all(|k| self.latency(k).is_some())
    }

    /// The fates of packets on the two links, if the trial records fates.
    pub(super) fn fates(&mut self) -> [Vec<Fate>; 2] {
        self.observer.fates.take().unwrap_or_default()
    }
}

/// Adds the traffic of the tunnel alone: endless packets, and requests that are not retransmitted. Returns the flows
/// of the bulk traffic and of the requests.
fn add_packets(world: &mut World, links: [usize; 2], trial: &Trial) -> (Option<usize>, usize) {
    let names = ["tunnel/left", "tunnel/right"];
    let tunnel = world.add_tunnel(&trial.config(), &links[..1], &links[1..], names);
    let [there, back] = [false, true].map(|backwards| Carrier::Tunnel { tunnel, backwards });
    let bulk = (trial.bulk != BulkTraffic::None)
        .then(|| world.add_udp(UdpConfig::greedy(trial.payload() + STAMPED_HEADERS), &there, "traffic/bulk"));
    let len = REQUEST_BYTES + STAMPED_HEADERS;
    let ask = UdpConfig::new(UdpPattern::Requests(trial.due()), len);
    let requests = world.add_udp(ask, &there, "traffic/requests");
    let answers = world.add_udp(UdpConfig::new(UdpPattern::Answers, len), &back, "traffic/answers");
    world.pair(requests, answers);
    (bulk, requests)
}

/// Adds TCP connections between hosts that behave like Linux kernels, over the link or through the tunnel. Returns the
/// flows of the bulk traffic and of the requests.
fn add_connections(
    world: &mut World,
    links: [usize; 2],
    trial: &Trial,
    variant: Variant,
    way: PathKind,
) -> (Option<usize>, Option<usize>) {
    let [there, back] = [[links[0]], [links[1]]];
    let names = ["tunnel/tunnel/0", "tunnel/tunnel/1"];
    let tunnel = (way == PathKind::Tunnel).then(|| world.add_tunnel(&trial.config(), &there, &back, names));
    let carrier = |backwards: bool| match tunnel {
        Some(tunnel) => Carrier::Tunnel { tunnel, backwards },
        None if backwards => Carrier::Links(&back, &there),
        None => Carrier::Links(&there, &back),
    };
    // The random streams have the same names as in a scenario. So a scenario with one link and the same flows gives
    // exactly the same run.
    let mut connect = |pattern, backwards, name| {
        let config = TcpConfig {
            variant,
            sender: SenderConfig::linux(),
            hosts: Hosts::Kernels,
            ack_every: ACK_EVERY,
            payload: trial.payload(),
            pattern,
            ..TcpConfig::default()
        };
        let flow = world.add_tcp(config, &carrier(backwards), name);
        flow.expect("the source has a length and no coding layer")
    };
    let bulk = match trial.bulk {
        BulkTraffic::None => None,
        BulkTraffic::Endless => Some(connect(Pattern::Endless, false, "flow/flow")),
        BulkTraffic::File(bytes) => Some(connect(Pattern::File(bytes.max(1)), false, "flow/flow")),
    };
    let length = Distribution::Fixed(u64::from(REQUEST_BYTES));
    let requests = (!trial.requests.is_empty()).then(|| {
        let requests = connect(Pattern::Scheduled { length }, false, "flow/requests");
        (requests, connect(Pattern::Answers { length }, true, "flow/answers"))
    });
    if let Some((requests, answers)) = requests {
        world.join(requests, answers);
        world.ask_at(requests, &trial.due());
    }
    (bulk, requests.map(|(requests, _)| requests))
}

/// Records events while a trial runs.
pub(super) struct TrialObserver {
    /// The flow of the bulk traffic.
    bulk: Option<usize>,
    /// Payload bytes of a bulk packet with [`Scheme::Packets`]; None with TCP.
    payload: Option<u32>,
    /// When each of [`TIMED_BYTES`] had arrived.
    pub(super) timed_at: [Option<Time>; 2],
    /// With [`Scheme::Packets`], arrivals after this time do not count in `timed_at`.
    timed_until: Time,
    /// The size of the file, if the bulk traffic is a file.
    file: Option<u64>,
    /// When the file had arrived.
    pub(super) complete: Option<Time>,
    /// The flow of the requests.
    requests: Option<usize>,
    /// The latencies of the requests over TCP, in the order of the requests. A connection answers
    /// requests in this order.
    latencies: Vec<Duration>,
    fates: Option<[Vec<Fate>; 2]>,
}

impl Observer for TrialObserver {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        match happening {
            // A packet that waits for its fate counts when the link has decided.
            Happening::Offered { fate: Some(Fate::Queued), .. } => {}
            Happening::Offered { link, fate: Some(fate), .. } | Happening::Decided { link, fate, .. } => {
                if let Some(fates) = &mut self.fates {
                    fates[link].push(*fate);
                }
            }
            Happening::Received { flow, bytes } if self.bulk == Some(flow) => {
                let (useful, at) = match self.payload {
                    None => (bytes, Some(now)),
                    Some(payload) => {
                        let useful = bytes / u64::from(payload + STAMPED_HEADERS) * u64::from(payload);
                        let ms = Time::from_nanos(now.as_nanos().div_ceil(1_000_000) * 1_000_000);
                        (useful, Some(ms).filter(|at| *at <= self.timed_until))
                    }
                };
                for (mark, least) in self.timed_at.iter_mut().zip(TIMED_BYTES) {
                    *mark = mark.or(at.filter(|_| useful >= least));
                }
                self.complete = self.complete.or(self.file.filter(|file| bytes >= *file).map(|_| now));
            }
            Happening::Completed { flow, completion } if self.requests == Some(flow) => {
                self.latencies.push(completion.ended.since(completion.began));
            }
            _ => {}
        }
    }
}
