//! A trial of the tunnel alone: a source of packets that never runs dry, and requests that nobody sends again.

use super::{Bulk, Ending, MARKS, REQUEST_BYTES, Stage, Trial};
use crate::network::STAMPED_HEADERS;
use crate::tunnel::cargo::Parcel;
use crate::tunnel::traffic::Traffic;
use crate::tunnel::world::{Side, World};
use ripstop_base::{Delays, Time};
use ripstop_link::{ConfigError, Counters};
use std::time::Duration;

/// Inner flows: of the bulk, and of the requests.
const BULK: u32 = 16;
const REQUESTS: u32 = 32;
/// How finely the source is looked at until it has sent what is timed.
const FINE_STEP: Duration = Duration::from_millis(1);

pub(super) struct Packets {
    world: World<Parcel>,
    /// Useful bytes in a packet of the bulk.
    payload: u32,
    marks: [Option<Time>; 2],
    /// Until when it is looked at closely.
    timed_until: Time,
}

impl Packets {
    pub(super) fn new(trial: &Trial) -> Result<Packets, ConfigError> {
        let config = trial.config();
        let mut world = World::new([config.clone(), config], trial.links.clone(), trial.seed)?;
        if trial.fates {
            world.keep_fates();
        }
        let payload = trial.payload();
        if trial.bulk != Bulk::None {
            world.add(Side::Left, Traffic::greedy(BULK, payload + STAMPED_HEADERS), trial.seed);
        }
        world.ask(REQUESTS, REQUEST_BYTES + STAMPED_HEADERS, trial.due());
        let timed_until = if trial.bulk == Bulk::None { Time::ZERO } else { Time::ZERO + trial.from };
        Ok(Packets { world, payload, marks: [None; 2], timed_until })
    }
}

impl Stage for Packets {
    fn run_until(&mut self, end: Time) {
        while self.marks.contains(&None) && self.world.now() < end.min(self.timed_until) {
            let at = (self.world.now() + FINE_STEP).min(end);
            self.world.run_until(at);
            let bytes = self.useful().0;
            for (mark, least) in self.marks.iter_mut().zip(MARKS) {
                *mark = mark.or((bytes >= least).then_some(at));
            }
        }
        self.world.run_until(end);
    }

    fn now(&self) -> Time {
        self.world.now()
    }

    fn useful(&self) -> (u64, u64) {
        let of = |flow: u32, payload: u32| {
            let flow = self.world.flows(Side::Left).find(|(number, _)| *number == flow);
            let packets = flow.map_or(0, |(_, f)| f.bytes) / u64::from(payload + STAMPED_HEADERS);
            packets * u64::from(payload)
        };
        (of(BULK, self.payload), of(REQUESTS, REQUEST_BYTES))
    }

    fn link(&self) -> &Counters {
        self.world.link(Side::Left)
    }

    fn forget_delays(&mut self) {
        self.world.forget_delays();
    }

    fn delays(&mut self) -> Delays {
        let mut delays = Delays::default();
        if let Some((_, flow)) = self.world.flows(Side::Left).find(|(number, _)| *number == BULK) {
            flow.delays.iter().for_each(|delay| delays.record(Duration::from_secs_f64(*delay)));
        }
        delays
    }

    fn marks(&self) -> [Option<Time>; 2] {
        self.marks
    }

    fn complete(&self) -> Option<Time> {
        None
    }

    fn latency(&self, k: usize) -> Option<Duration> {
        self.world.requests().latencies().get(k).copied().flatten()
    }

    fn end(self) -> Ending {
        Ending {
            fates: Side::BOTH.map(|side| self.world.fates(side).to_vec()),
            unfired: Side::BOTH.into_iter().flat_map(|side| self.world.unfired(side)).collect(),
            violations: self.world.violations().count(),
        }
    }
}
