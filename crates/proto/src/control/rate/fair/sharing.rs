//! Others on the path: when the controller yields, tests to whom a queue belongs, and begins and ends a competition.

use super::compete::{Competition, Erasures, Left, Owner, QueueTest, Turn};
use super::rounds::Round;
use super::{Fair, Mode, State};
use crate::control::rate::tuning::CompeteTuning;
use crate::control::rate::{GainClass, Report};
use ripstop_base::Time;

impl Fair {
    /// Handles marks Congestion Experienced. Random loss cannot produce a mark, so a mark counts in
    /// every state. The cut lasts for at least a round trip: samples of packets sent before the cut
    /// do not raise the rate again.
    pub(super) fn on_ce(&mut self, now: Time) {
        match (self.state, &mut self.competition) {
            // The competition takes the mark with the report.
            (State::Compete, _) => return,
            (State::Test(_), Some(competition)) => {
                competition.on_congestion(now, &self.path, &self.tuning);
                return;
            }
            _ => {}
        }
        let starting = matches!(self.state, State::Startup);
        if starting {
            self.enter(State::Drain);
        }
        if self.cut(now, self.tuning.evidence.cut * self.path.bandwidth) {
            self.cuts.hold(now + self.round_trip());
            if self.comes_again(now, 0) && self.mode != Mode::Scavenge {
                self.compete(now, self.path.bandwidth * self.path.srtt);
            }
        }
    }

    /// Undoes what losses in a long queue have caused, if they were spurious: the packets only came late. The path
    /// reordered them, and no queue was full.
    pub(super) fn on_spurious(&mut self, report: &Report) {
        // Where many packets are lost, late packets do not show that the losses of this round were late packets too.
        if self.path.losses.share >= self.tuning.evidence.more_than_aqm {
            return;
        }
        let (forgiven, undone) = self.rounds.take_back(report.spurious);
        self.forgiven += u64::from(forgiven);
        let within = self.tuning.evidence.forgiven_for as u32 * self.round_trip();
        let Some(began) = undone.filter(|began| report.now.since(*began) <= within) else {
            return;
        };
        if matches!(self.state, State::Compete) && self.competition.is_some_and(|competition| competition.managed) {
            self.competition = None;
            self.enter(State::Cruise);
        }
        if let Some(before) = self.cuts.before(began) {
            self.set_bandwidth(self.path.bandwidth.max(before));
        }
    }

    /// Whether losses of `round` came from a long queue: they exceed the erasure floor by this
    /// number of standard deviations.
    pub(super) fn queue_drops(&self, round: &Round, deviations: f64) -> bool {
        match self.mode {
            Mode::Strict => round.queued.lost > 0,
            Mode::Fair | Mode::Scavenge => self.path.exceeds(round.queued, deviations, 0.002),
        }
    }

    /// Handles losses in a long queue that no probe made: cuts the rate.
    pub(super) fn on_queue_drops(&mut self, report: &Report) {
        let share = report.rate.map_or(0.0, |rate| self.share(&rate));
        self.cut(report.now, self.tuning.evidence.cut * self.path.bandwidth.max(share));
    }

    /// Handles losses in a long queue, those after a probe included: competes if unprovoked losses come soon after
    /// others. `unprovoked`: no probe caused the losses, and the path has no random loss.
    pub(super) fn on_crowding(&mut self, report: &Report, lost: u32, unprovoked: bool) {
        if self.mode == Mode::Scavenge {
            self.scavenge.back_off(report.now, self.path.srtt, &self.tuning);
            return;
        }
        let again = self.comes_again(report.now, lost);
        let left = self.left.filter(|left| unprovoked && left.managed);
        if let Some(competition) = left.and_then(|left| left.again(report.now, &self.path, &self.tuning)) {
            self.start_competition(competition);
        } else if again && unprovoked {
            self.compete(report.now, self.tuning.compete.cubic_beta * self.path.bandwidth * self.path.srtt);
            if let Some(competition) = &mut self.competition {
                competition.managed = true;
            }
        }
    }

    /// Records `lost` losses in a long queue, or a mark if `lost` is 0. Returns whether such an event comes again soon.
    fn comes_again(&mut self, now: Time, lost: u32) -> bool {
        let window = self.tuning.evidence.crowd_window + 40.0 * self.path.srtt;
        self.rounds.crowding_event(now, lost, self.path.srtt, window)
    }

    /// Begins a competition with a window of at least `window` bytes.
    pub(super) fn compete(&mut self, now: Time, window: f64) {
        let window = window.max(2.0 * self.path.packet);
        self.start_competition(Competition::new(now, window, &self.path, &self.tuning));
    }

    pub(super) fn start_competition(&mut self, competition: Competition) {
        self.competitions += 1;
        self.competition = Some(competition);
        self.enter(State::Compete);
    }

    /// Leaves a competition: the others have gone.
    pub(super) fn leave(&mut self) {
        if let Some(competition) = self.competition.take() {
            self.left = Some(Left::new(self.last, &competition));
            self.set_bandwidth(competition.rate(&self.path));
        }
        self.enter(State::Cruise);
    }

    /// Whether a long queue has lasted for so long that a queue test is due.
    pub(super) fn test_is_due(&self, report: &Report) -> bool {
        let least = self.tuning.queue_test.after * self.path.response() + 2.0 * self.path.srtt;
        self.mode != Mode::Scavenge
            && self.has_settled()
            && self.path.long_for(report.now) > least.max(self.tuning.queue_test.after_least)
    }

    pub(super) fn begin_test(&mut self, report: &Report) {
        let test = QueueTest::new(report.in_flight_before as f64, &self.path, &self.tuning);
        self.enter(State::Test(test));
    }

    pub(super) fn end_test(&mut self, report: &Report, owner: Owner) {
        let now = report.now;
        let spent = now.since(self.since);
        match owner {
            Owner::Own => {
                self.rounds.forget_crowding();
                self.leave();
            }
            Owner::Path => {
                self.path.accept_delay(now, self.path.queue.delay());
                self.set_bandwidth(self.path.bandwidth.max(0.5 * self.path.top));
                self.leave();
            }
            Owner::Others(rate) => match &mut self.competition {
                Some(competition) => {
                    competition.go_on(now, spent, &self.path, &self.tuning);
                    self.enter(State::Compete);
                }
                None => {
                    let CompeteTuning { fair_part, most_growth, most_queues, .. } = self.tuning.compete;
                    let own = self.path.bandwidth.max(self.path.long.rate_before);
                    let starved = most_growth * own < fair_part * rate;
                    let window = (fair_part * rate).min(most_growth * own) * self.path.srtt;
                    let most = own * (self.path.srtt + most_queues * self.path.longest_queue());
                    self.compete(now, window.min(most).max(own * self.path.srtt));
                    if let (true, Some(competition)) = (starved, &mut self.competition) {
                        competition.slow_start(&self.path);
                    }
                }
            },
        }
    }

    pub(super) fn step_competition(&mut self, report: &Report) {
        let floor = self.mode != Mode::Strict;
        let Some(competition) = &mut self.competition else { return };
        match competition.erasures(report, &self.path, &self.tuning) {
            Erasures::Unknown => {}
            Erasures::Random(settled) => {
                let known = self.path.erasure.get();
                self.path.erasure.add(report.now, GainClass::At, settled, self.path.bandwidth, &self.tuning.erasure);
                if known < 0.5 * self.path.erasure.get() {
                    competition.undo(report.now, &self.path);
                }
            }
            Erasures::Growing => {
                competition.distrust(report.now, &self.path, &self.tuning);
                self.forget_erasures(0.0);
            }
        }
        let Some(competition) = &mut self.competition else { return };
        match competition.on_report(report, &self.rounds.now, &self.path, floor, &self.tuning) {
            Turn::GoOn => {}
            Turn::Test => {
                let flight = competition.cubic.get();
                self.enter(State::Test(QueueTest::new(flight, &self.path, &self.tuning)));
            }
            Turn::Leave => {
                // The queue has been short for so long that nobody else keeps it.
                self.leave();
                self.left = self.left.filter(|left| left.managed);
            }
        }
    }
}
