//! The erasure-aware rate controller. It finds the path's rate by itself, does not slow down for
//! random loss, and shares the path with other traffic.
//!
//! Terms, in addition to the terms of `rate/mod.rs`:
//! * p_e is the erasure floor.
//! * A *round* is a round trip, or longer if a round trip has few packets.
//! * A queue is *short* if its delay is at most `PathState::short_queue`, and otherwise *long*.
//! * A queue *stands* if it is never short during a whole round.
//! * To *probe* is to send above the estimated rate for about a round trip, to see whether the path
//!   carries more.
//! * A *queue test* finds out to whom a long queue belongs (`compete.rs`).
//!
//! The controller rests on these rules:
//! * The rate sample counts the packets that *passed* the bottleneck, not only the packets that
//!   arrived. The sample is min(passed, delivered / (1 - p_e)); see [`RateSample`]. The sample is
//!   exact if erasures cause all losses. If a queue or a policer drops packets, the sample is about
//!   the delivered rate.
//! * After start-up, p_e is learned only from packets sent at a gain of about 1 or less while the
//!   queue is short. In start-up, the losses of a round count for p_e only if the rate grows in the
//!   next round.
//! * If the loss exceeds p_e by more than chance explains, the loss is congestion. Then the rate is
//!   lowered to the last rate sample.
//! * If a queue stands, this sender's share of the path is the rate at which its packets arrive,
//!   divided by 1 - p_e. The rate is lowered to this share.
//! * If a long queue lasts, a queue test follows. If others keep the queue, the sender competes: its
//!   window follows CUBIC's curve, and losses in a full queue are congestion events.
//! * A mark Congestion Experienced lowers the rate in every state and for at least a round trip.
//! * When p_e has risen, a loss test finds out whether losses grow with the rate (`loss_test.rs`). If they do, p_e is
//!   forgotten, and the rate is lowered to the rate at which packets arrive.
//!
//! `startup.rs`, `probe.rs`, `loss_test.rs` and `compete.rs` have one phase each, and `sharing.rs` decides when to
//! compete. `path.rs` and `rounds.rs` have the measurements, and `evidence.rs` what they prove. `rate/tuning` has all constants.

mod compete;
mod cubic;
mod cuts;
mod evidence;
mod long_queue;
mod loss_test;
mod path;
mod probe;
mod rounds;
mod scavenge;
mod sharing;
mod startup;
#[cfg(test)]
mod tests;
mod view;

use super::super::filter::WindowedMax;
use super::{RateSample, Report, Tuning, View};
use compete::{Competition, Left, QueueTest};
use cuts::Cuts;
use loss_test::{LossTest, LossTests};
use path::PathState;
use probe::Probe;
use ripstop_base::{Stream, Time};
use rounds::{Round, Rounds};
use scavenge::Scavenge;
use startup::Startup;
use std::time::Duration;

/// How the controller behaves towards other traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Takes a fair share of the path.
    #[default]
    Fair,
    /// Like [`Mode::Fair`], but each loss while the queue is long is congestion, even if the
    /// erasure floor explains the loss. This mode is fairer behind an AQM, and slower on paths
    /// that have random loss and other traffic.
    Strict,
    /// Takes only the rate that other traffic leaves: yields to any standing queue.
    Scavenge,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Begins at the first rate, and doubles the rate in each round.
    Startup,
    /// Lets the queue of the start-up drain.
    Drain,
    /// Sends below the estimated rate, so that the queue of a probe drains soon.
    Down,
    /// Sends at the estimated rate, or below it while a queue stands.
    Cruise,
    /// Probes: sends above the estimated rate, to see whether the path carries more.
    Up,
    /// Withholds a part of the flight, to see to whom a long queue belongs.
    Test(QueueTest),
    /// Sends below the estimated rate, to see whether losses grow with the rate.
    LossTest(LossTest),
    /// Competes with others that keep a queue.
    Compete,
}

/// The erasure-aware rate controller.
#[derive(Clone, Debug)]
pub struct Fair {
    mode: Mode,
    tuning: Tuning,
    state: State,
    /// When the present state began.
    since: Time,
    /// When the last report arrived.
    last: Time,
    path: PathState,
    /// By how much the flight is larger than the path needs, bytes: the queue that will remain when the packets sent so
    /// far have passed. From the last report.
    excess: f64,
    /// Maximum filter of rate samples, over `rate-rounds` rounds.
    rates: WindowedMax,
    rounds: Rounds,
    startup: Startup,
    /// The round in which start-up ended.
    started_up_round: u64,
    probe: Probe,
    /// The competition that is going on, also during a queue test. `None`: there is none.
    competition: Option<Competition>,
    /// The last competition. `None`: there was none.
    left: Option<Left>,
    /// Number of competitions so far.
    competitions: u64,
    loss_tests: LossTests,
    scavenge: Scavenge,
    /// When the controller last left [`State::Up`], [`State::Down`], [`State::Drain`] or
    /// [`State::Test`].
    disturbed: Time,
    cuts: Cuts,
    /// Number of losses in a long queue so far that proved spurious.
    forgiven: u64,
}

impl Fair {
    /// Creates a controller for packets of up to `packet` bytes.
    ///
    /// `rtt` is the round-trip time of the handshake, s. `random` varies the times of probes, so
    /// that flows that share a bottleneck do not probe together.
    pub fn new(now: Time, mode: Mode, tuning: Tuning, packet: u32, rtt: f64, random: Stream) -> Fair {
        let packet = f64::from(packet);
        let startup = Startup::new(packet, rtt, &tuning);
        Fair {
            mode,
            tuning,
            state: State::Startup,
            since: now,
            last: now,
            path: PathState::new(now, packet, rtt, startup.guess, &tuning),
            excess: 0.0,
            rates: WindowedMax::new(tuning.path.rate_rounds as u64),
            rounds: Rounds::new(),
            startup,
            started_up_round: 0,
            probe: Probe::new(random, &tuning),
            competition: None,
            left: None,
            competitions: 0,
            loss_tests: LossTests::default(),
            scavenge: Scavenge::new(now),
            disturbed: now,
            cuts: Cuts::new(now),
            forgiven: 0,
        }
    }

    /// Sets the length of a full datagram, bytes.
    pub(in super::super) fn set_packet(&mut self, packet: u32) {
        self.path.packet = f64::from(packet);
    }

    /// Takes in one report. Only this method and `set_packet` change the controller.
    pub fn on_report(&mut self, report: &Report) {
        let dt = report.now.since(self.last).as_secs_f64();
        self.last = report.now;
        self.path.observe(report, dt, &self.tuning);
        self.loss_tests.forget(dt, self.path.erasure.get(), &self.tuning.loss_test);
        self.excess = report.in_flight as f64 - self.path.bdp() - self.tuning.path.excess_slack * self.path.packet;
        let starting = matches!(self.state, State::Startup);
        if !starting && self.rates.get().is_some() {
            // Until the first sample, the estimate is the first rate, which is only a guess.
            self.path.top = self.path.top.max(self.path.bandwidth);
        }
        let short = self.path.is_short(&self.tuning);
        self.scavenge.observe(report.now, &self.path, &self.tuning);
        if !starting && (short || self.loses_at_random()) {
            self.path.learn_erasures(report.now, &report.settled, &self.tuning);
        }
        let unsure = report.rate.is_some_and(|rate| rate.app_limited && !self.path_limits(&rate));
        self.rounds.add(report, self.path.may_drop(&self.tuning), self.path.queue.delay(), unsure);
        if let Some(rate) = report.rate {
            self.take_sample(&rate);
        }
        if !short && matches!(self.state, State::Up | State::Down) {
            self.probe.count_drops(report.settled_total().lost);
        }
        match self.state {
            State::Up => self.probe.settled += report.settled_total(),
            State::Startup => self.startup.grow(report),
            _ => {}
        }
        if report.ce > 0 {
            self.on_ce(report.now);
        }
        if report.spurious > 0 {
            self.on_spurious(report);
        }
        if let Some(round) = self.rounds.ended(report, &self.tuning) {
            self.end_round(&round, report);
        }
        self.step(report);
    }

    /// What the controller knows about the path.
    pub fn view(&self) -> View {
        view::of(self)
    }

    /// The pacing rate, byte/s, when `waiting` bytes wait to be sent.
    pub fn pacing_rate(&self, waiting: usize) -> f64 {
        if let (State::Compete, Some(competition)) = (self.state, &self.competition) {
            return (self.tuning.compete.gain * competition.rate(&self.path)).max(self.tuning.path.least_rate);
        }
        // If more than a window of bytes waits, the inner traffic has no slow start of its own.
        // Then this sender must start slowly itself.
        let starts = matches!(self.state, State::Startup) && waiting as f64 <= self.startup.window;
        let spread = self.tuning.start.gain / self.tuning.start.initial_spread;
        let burst = self.startup.burst(waiting, &self.path, &self.tuning.start);
        let least = if starts { (spread * self.startup.guess).max(burst) } else { 0.0 };
        (self.path.bandwidth * self.pacing_gain()).max(least).max(self.tuning.path.least_rate)
    }

    /// The pacing gain: the factor on the estimated rate.
    pub fn pacing_gain(&self) -> f64 {
        let path = &self.path;
        match self.state {
            State::Startup => self.tuning.start.gain,
            State::Drain => self.tuning.start.drain_gain,
            State::Down => 1.0 - self.excess_part().max(self.tuning.probe.down_least).min(self.tuning.probe.down_most),
            State::Test(_) => self.tuning.queue_test.gain,
            State::LossTest(test) => test.gain(&self.tuning.loss_test),
            State::Up => self.probe.gain(&self.tuning),
            State::Compete => self.tuning.compete.gain,
            State::Cruise if self.scavenge.backs_off(self.last) => self.tuning.scavenge.least_gain,
            State::Cruise if !self.rounds.standing => 1.0,
            State::Cruise => match self.mode {
                Mode::Fair | Mode::Strict => 1.0 - self.excess_part().clamp(0.0, self.tuning.evidence.yield_most),
                Mode::Scavenge => self.scavenge.gain(self.last, path, &self.tuning),
            },
        }
    }

    /// The excess of the flight, as a share of what the path carries until a report shows the effect.
    fn excess_part(&self) -> f64 {
        self.excess / (self.path.bandwidth * self.path.response())
    }

    /// Limit on the bytes in flight.
    pub fn window(&self) -> u64 {
        let path = &self.path;
        let gain = match self.state {
            State::Startup | State::Drain => self.tuning.start.gain,
            State::Down | State::Cruise | State::LossTest(_) => self.tuning.path.window_gain,
            State::Up => self.probe.gain(&self.tuning).max(self.tuning.path.window_gain),
            State::Test(test) => return test.flight as u64,
            State::Compete => {
                let window = self.competition.map_or(0.0, |c| c.cubic.get()).max(2.0 * path.packet);
                // A receiver of TCP acknowledges at once. Here packets wait for the next report, and count as in
                // flight until then.
                return (window * (1.0 + 0.5 * path.report_every / path.srtt.max(1e-3))) as u64;
            }
        };
        // The first rate may set the pace, but not the window. The first rate times a long measured
        // round trip could be far more than the path holds.
        let bandwidth = match self.state {
            State::Startup => self.rates.get().unwrap_or(0.0),
            _ => path.bandwidth,
        };
        // The slack lets the sender continue when the next reports are lost.
        let slack = 4.0 * path.packet + path.blind_time(&self.tuning) * bandwidth;
        let mut window = gain * bandwidth * path.min_rtt + slack;
        if matches!(self.state, State::Startup) {
            window = window.max(self.startup.window);
        }
        window.max(5.0 * path.packet) as u64
    }

    /// The rate that the bottleneck has carried, byte/s: min(passed, delivered / (1 - p_e)).
    fn sample(&self, rate: &RateSample) -> f64 {
        rate.passed.min(rate.delivered / (1.0 - self.path.erasure.get()))
    }

    /// This sender's share of the path when a queue stands, byte/s.
    fn share(&self, rate: &RateSample) -> f64 {
        rate.received / (1.0 - self.path.erasure.get())
    }

    fn take_sample(&mut self, rate: &RateSample) {
        let sample = self.sample(rate);
        let held = self.cuts.holds(self.last) || matches!(self.state, State::LossTest(_));
        // After the start-up, a guess yields to any sample in a long queue: the path limits that sample, even if the sender
        // had little to send. Before, jitter may look like a queue.
        let guessed = self.rates.get().is_none()
            && !matches!(self.state, State::Startup)
            && self.path.is_long(self.path.queue.delay(), &self.tuning);
        if held || rate.app_limited && sample <= self.path.bandwidth && !guessed {
            return;
        }
        let max = self.rates.offer(self.rounds.count, sample);
        // In start-up the estimate is at least the first rate. Jitter may spread the few packets of
        // a sample, which makes the sample too low.
        self.path.bandwidth = if matches!(self.state, State::Startup) { max.max(self.startup.guess) } else { max };
    }

    /// Sets the estimated rate to `rate`, byte/s, and forgets older samples.
    fn set_bandwidth(&mut self, rate: f64) {
        self.path.bandwidth = rate.max(self.tuning.path.least_rate);
        self.rates.reset(self.rounds.count, self.path.bandwidth);
    }

    /// Lowers the estimated rate to at most `rate`, byte/s, and forgets older samples.
    fn lower(&mut self, rate: f64) {
        self.set_bandwidth(self.path.bandwidth.min(rate));
    }

    /// Lowers the rate to `rate`, byte/s, at most one time in a round trip. Returns whether the
    /// rate was lowered.
    fn cut(&mut self, now: Time, rate: f64) -> bool {
        let is_due = self.cuts.begin(now, self.path.bandwidth, self.path.srtt);
        if is_due {
            self.lower(rate);
        }
        is_due
    }

    fn round_trip(&self) -> Duration {
        Duration::from_secs_f64(self.path.srtt + self.path.report_every)
    }

    /// Handles the end of a round: lowers the rate for excess losses and for a standing queue.
    fn end_round(&mut self, round: &Round, report: &Report) {
        let calm = self.is_calm(round);
        let probing = matches!(self.state, State::Up | State::Down | State::Test(_));
        let standing = round.min_queue.is_finite() && round.min_queue > self.path.short_queue(&self.tuning) && calm;
        let twice = self.rounds.standing && standing;
        self.rounds.standing = standing;
        if matches!(self.state, State::Startup) {
            if self.startup.end_round(round, &mut self.path, &self.tuning) {
                self.enter(State::Drain);
            }
            return;
        }
        self.rounds.count_losses(round, &self.tuning);
        let short = round.min_queue <= self.path.short_queue(&self.tuning);
        if matches!(self.state, State::Cruise) && short && round.all.packets > 0 {
            self.path.learn_dispersion(round);
        }
        if !self.has_settled() || matches!(self.state, State::Compete | State::Test(_) | State::LossTest(_)) {
            return;
        }
        let least = if round.app_limited { self.tuning.evidence.unsure_cut * self.path.bandwidth } else { 0.0 };
        if self.path.round_exceeds(round, 0.02)
            && let Some(rate) = report.rate
        {
            // A policer or a small buffer drops packets, so the delivered rate is the path's rate.
            self.lower(self.sample(&rate).max(least));
        }
        if self.mode != Mode::Scavenge
            && twice
            && let Some(competition) = self.left.and_then(|left| left.again(report.now, &self.path, &self.tuning))
        {
            self.start_competition(competition);
            return;
        }
        if standing
            && !probing
            && let Some(rate) = report.rate
        {
            self.lower(self.share(&rate).max(least));
        }
        let unprovoked = calm && !probing && (!self.is_lossless() || self.rounds.queue_loses());
        if unprovoked && self.queue_drops(round, 2.0) {
            self.on_queue_drops(report);
        }
        if self.queue_drops(round, self.tuning.evidence.crowding_deviations) {
            self.on_crowding(report, round.queued.lost, unprovoked && self.is_lossless());
        }
    }

    fn step(&mut self, report: &Report) {
        let spent = report.now.since(self.since).as_secs_f64();
        let in_flight = report.in_flight as f64;
        let path = &self.path;
        // Packets that have arrived but are not reported yet still count in `in_flight`.
        let margin = 0.5 * path.report_every * path.bandwidth + 3.0 * path.packet;
        match self.state {
            State::Startup => {
                if self.startup.queue_shows(path, &self.tuning) {
                    self.enter(State::Drain);
                }
            }
            State::Drain => {
                if in_flight <= path.bdp() + path.packet || spent > self.tuning.start.drain_for * path.srtt {
                    self.enter(State::Down);
                }
            }
            State::Down => {
                if self.excess <= 0.0 || spent > self.tuning.probe.down_for * path.response() {
                    self.enter(State::Cruise);
                }
            }
            State::Cruise => self.step_cruise(report, spent),
            State::Up => {
                if self.probe.ends(spent, report, path, margin, &self.tuning) {
                    self.enter(State::Down);
                }
            }
            State::Test(mut test) => {
                let owner = test.observe(spent, path, &self.tuning);
                self.state = State::Test(test);
                if let Some(owner) = owner {
                    self.end_test(report, owner);
                }
            }
            State::LossTest(mut test) => {
                let cause = test.observe(report, spent, path.srtt, &self.tuning.loss_test);
                self.state = State::LossTest(test);
                if let Some(cause) = cause {
                    self.end_loss_test(test, cause);
                }
            }
            State::Compete => self.step_competition(report),
        }
    }

    fn step_cruise(&mut self, report: &Report, spent: f64) {
        if self.scavenge.backs_off(report.now) {
            // Others fill the queue: no probe until the back-off ends.
        } else if self.test_is_due(report) {
            self.begin_test(report);
        } else if !self.begin_loss_test(report)
            && self.probe.is_due(spent, &self.path, self.rounds.standing, &self.tuning)
        {
            self.enter(State::Up);
        }
    }

    fn enter(&mut self, state: State) {
        if matches!(self.state, State::Up | State::Down | State::Drain | State::Test(_)) {
            self.disturbed = self.last;
        }
        if matches!(self.state, State::Startup) {
            self.started_up_round = self.rounds.count;
            self.path.bandwidth = self.rates.get().unwrap_or(self.startup.guess);
        }
        match state {
            State::Up => self.probe.begin(self.path.bandwidth),
            State::Cruise => self.probe.rest(&self.path, &self.tuning),
            _ => {}
        }
        self.state = state;
        self.since = self.last;
    }
}
