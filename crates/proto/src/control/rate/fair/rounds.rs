//! Counts over rounds. A round is a round trip, or longer if a round trip has few packets.

use super::super::{Report, Settled, Tuning};
use ripstop_base::Time;

/// Counts over one round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// When the round began.
    pub(super) began: Time,
    /// Datagrams settled in the round.
    pub(super) all: Settled,
    /// Datagrams in `all` that were reported while the queue may have dropped packets ([`may_drop`](super::path::PathState::may_drop)).
    pub(super) queued: Settled,
    /// Least queueing delay, s.
    pub(super) min_queue: f64,
    /// Largest delivered rate, byte/s.
    pub(super) max_delivered: f64,
    /// Whether a rate sample of the round may show less than the path's rate.
    pub(super) app_limited: bool,
}

impl Round {
    pub(super) const EMPTY: Round = Round {
        began: Time::ZERO,
        all: Settled { packets: 0, lost: 0 },
        queued: Settled { packets: 0, lost: 0 },
        min_queue: f64::INFINITY,
        max_delivered: 0.0,
        app_limited: false,
    };
}

/// Losses in a long queue within two round trips.
#[derive(Clone, Copy, Debug)]
struct Event {
    /// When the event began.
    began: Time,
    /// Number of losses that have not proved spurious. 0: a mark Congestion Experienced.
    lost: u32,
}

/// The present round, and what the last rounds showed.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// Number of rounds that have ended.
    pub(super) count: u64,
    /// The round ends when this datagram number is acknowledged.
    end: u64,
    pub(super) now: Round,
    /// Whether a queue stood for the whole last round.
    pub(super) standing: bool,
    /// Two events of losses in a long queue, the newest first. `None`: no such event.
    events: [Option<Event>; 2],
    /// Recent rounds with losses while the queue was short, and while it may have dropped packets.
    lossy: [f64; 2],
}

impl Rounds {
    pub(super) fn new() -> Rounds {
        Rounds { count: 0, end: 0, now: Round::EMPTY, standing: false, events: [None; 2], lossy: [0.0; 2] }
    }

    /// Adds a report. `drops`: the queue may have dropped packets. `queue`: the queueing delay, s. `unsure`: the report's
    /// rate sample may show less than the path's rate.
    pub(super) fn add(&mut self, report: &Report, drops: bool, queue: f64, unsure: bool) {
        let settled = report.settled_total();
        self.now.all += settled;
        if drops {
            self.now.queued += settled;
        }
        self.now.min_queue = self.now.min_queue.min(queue);
        if let Some(rate) = report.rate {
            self.now.max_delivered = self.now.max_delivered.max(rate.delivered);
            self.now.app_limited |= unsure;
        }
    }

    /// Ends the round if `report` ends it, and returns its counts.
    pub(super) fn ended(&mut self, report: &Report, tuning: &Tuning) -> Option<Round> {
        let over = report.largest_acked >= self.end && f64::from(self.now.all.packets) >= tuning.path.round_packets;
        over.then(|| {
            self.end = report.next_number;
            self.count += 1;
            std::mem::replace(&mut self.now, Round { began: report.now, ..Round::EMPTY })
        })
    }

    /// Records in which queue `round` lost packets.
    pub(super) fn count_losses(&mut self, round: &Round, tuning: &Tuning) {
        let lost = [round.all.lost - round.queued.lost, round.queued.lost];
        for (lossy, lost) in self.lossy.iter_mut().zip(lost) {
            *lossy += f64::from(u8::from(lost > 0)) - *lossy / tuning.evidence.lossy_rounds;
        }
    }

    /// Whether at least as many recent rounds lost packets from a queue that may drop as from a short queue. Random losses
    /// do not depend on the queue, which is mostly short.
    pub(super) fn queue_loses(&self) -> bool {
        let [short, dropping] = self.lossy;
        dropping >= short
    }

    /// Forgets what spoke for others on the path: a queue test has shown that the queue was the
    /// sender's own.
    pub(super) fn forget_crowding(&mut self) {
        self.events = [None; 2];
    }

    /// Records `lost` losses in a long queue at `now`. Losses within two round trips (`srtt`, s) of the
    /// last event belong to this event. Returns whether a new event began within `window` seconds
    /// of the event before.
    pub(super) fn crowding_event(&mut self, now: Time, lost: u32, srtt: f64, window: f64) -> bool {
        let since = |event: &Event| now.since(event.began).as_secs_f64();
        if let Some(last) = self.events[0].as_mut().filter(|last| since(last) < 2.0 * srtt) {
            last.lost += lost;
            return false;
        }
        self.events = [Some(Event { began: now, lost }), self.events[0]];
        self.events[1].is_some_and(|before| since(&before) <= window)
    }

    /// Takes `arrived` losses back, because the packets have arrived: losses of the present round, and then of the last
    /// event. Returns how many of them counted as losses in a long queue, and when an event began of which no loss
    /// remains; such an event is forgotten.
    pub(super) fn take_back(&mut self, arrived: u32) -> (u32, Option<Time>) {
        let of_round = arrived.min(self.now.all.lost);
        let queued = of_round.min(self.now.queued.lost);
        self.now.all.lost -= of_round;
        self.now.queued.lost -= queued;
        let Some(event) = self.events[0].as_mut().filter(|event| event.lost > 0) else { return (queued, None) };
        let of_event = event.lost.min(arrived - of_round);
        event.lost -= of_event;
        let undone = (event.lost == 0).then_some(event.began);
        if undone.is_some() {
            self.events = [self.events[1], None];
        }
        (queued + of_event, undone)
    }
}
