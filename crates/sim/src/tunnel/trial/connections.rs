//! A trial of TCP connections between kernels, over the link or through the tunnel.

use super::{Bulk, Ending, MARKS, REQUEST_BYTES, Stage, Trial, Way};
use crate::network::{Carrier, FlowConfig, Happening, Hosts, Network, Observer};
use crate::tcp::{Length, Pattern, SenderConfig, Variant};
use crate::tunnel::world::LINKS;
use ripstop_base::{Delays, Time};
use ripstop_link::{ConfigError, Counters, Fate};
use std::time::Duration;

/// A kernel acknowledges every second packet (RFC 5681, section 4.2).
const ACK_EVERY: u32 = 2;

pub(super) struct Connections {
    network: Network,
    links: [usize; 2],
    tunnel: Option<usize>,
    bulk: Option<usize>,
    /// The way there of the connection that requests take.
    requests: Option<usize>,
    notes: Notes,
}

impl Connections {
    pub(super) fn new(trial: &Trial, variant: Variant, way: Way) -> Result<Connections, ConfigError> {
        let mut network = Network::new(trial.seed);
        let links =
            [network.add_link(&trial.links[0], LINKS[0])?, network.add_link(&trial.links[1], LINKS[1])?];
        let [there, back] = [[links[0]], [links[1]]];
        let tunnel =
            (way == Way::Tunnel).then(|| network.add_tunnel(&trial.config(), &there, &back, "tunnel/tunnel"));
        let carrier = |backwards: bool| match tunnel {
            Some(tunnel) => Carrier::Tunnel { tunnel, backwards },
            None if backwards => Carrier::Links(&back, &there),
            None => Carrier::Links(&there, &back),
        };
        // Streams are named as those of a scenario: a chain of one link is the very same run.
        let mut connect = |pattern, backwards, name| {
            let config = FlowConfig {
                variant,
                sender: SenderConfig::linux(),
                hosts: Hosts::Kernels,
                ack_every: ACK_EVERY,
                payload: trial.payload(),
                pattern,
                ..FlowConfig::default()
            };
            let flow = network.add_flow(config, &carrier(backwards), name);
            flow.expect("a source with a length, and no coding layer")
        };
        let bulk = match trial.bulk {
            Bulk::None => None,
            Bulk::Endless => Some(connect(Pattern::Endless, false, "flow/flow")),
            Bulk::File(bytes) => Some(connect(Pattern::File(bytes.max(1)), false, "flow/flow")),
        };
        let length = Length::Fixed(u64::from(REQUEST_BYTES));
        let requests = (!trial.requests.is_empty()).then(|| {
            let requests = connect(Pattern::Scheduled { length }, false, "flow/requests");
            (requests, connect(Pattern::Answers { length }, true, "flow/answers"))
        });
        if let Some((requests, answers)) = requests {
            network.join(requests, answers);
            network.schedule(requests, &trial.due());
        }
        let requests = requests.map(|(requests, _)| requests);
        let file = if let Bulk::File(bytes) = trial.bulk { Some(bytes.max(1)) } else { None };
        let notes = Notes {
            bulk,
            marks: [None; 2],
            file,
            complete: None,
            requests,
            latencies: Vec::with_capacity(trial.requests.len()),
            fates: trial.fates.then(Default::default),
        };
        Ok(Connections { network, links, tunnel, bulk, requests, notes })
    }
}

impl Stage for Connections {
    fn run_until(&mut self, end: Time) {
        self.network.run_until(end, &mut self.notes);
    }

    fn now(&self) -> Time {
        self.network.now()
    }

    fn useful(&self) -> (u64, u64) {
        let bytes = |flow: Option<usize>| flow.map_or(0, |flow| self.network.totals(flow).bytes);
        (bytes(self.bulk), bytes(self.requests))
    }

    fn link(&self) -> &Counters {
        self.network.link(self.links[0])
    }

    fn forget_delays(&mut self) {
        self.bulk.into_iter().for_each(|bulk| self.network.forget_delays(bulk));
    }

    fn delays(&mut self) -> Delays {
        self.bulk.map_or_else(Delays::default, |bulk| self.network.take_delays(bulk).packets)
    }

    fn marks(&self) -> [Option<Time>; 2] {
        self.notes.marks
    }

    fn complete(&self) -> Option<Time> {
        self.notes.complete
    }

    fn latency(&self, k: usize) -> Option<Duration> {
        self.notes.latencies.get(k).copied()
    }

    fn end(self) -> Ending {
        Ending {
            fates: self.notes.fates.unwrap_or_default(),
            unfired: self.links.iter().flat_map(|link| self.network.unfired(*link)).collect(),
            violations: self.tunnel.map_or(0, |tunnel| self.network.strays(tunnel) as usize),
        }
    }
}

/// What a trial wants to know of what happens.
struct Notes {
    bulk: Option<usize>,
    marks: [Option<Time>; 2],
    /// The size of a file, and when it had arrived.
    file: Option<u64>,
    complete: Option<Time>,
    requests: Option<usize>,
    /// In the order of the requests: a connection answers them in that order.
    latencies: Vec<Duration>,
    fates: Option<[Vec<Fate>; 2]>,
}

impl Observer for Notes {
    fn note(&mut self, now: Time, happening: Happening<'_>) {
        match happening {
            Happening::Offered { link, fate, .. } => {
                if let Some(fates) = &mut self.fates {
                    fates[link].push(*fate);
                }
            }
            Happening::Received { flow, bytes } if self.bulk == Some(flow) => {
                for (mark, least) in self.marks.iter_mut().zip(MARKS) {
                    *mark = mark.or((bytes >= least).then_some(now));
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
