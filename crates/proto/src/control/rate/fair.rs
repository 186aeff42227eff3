//! The erasure-aware controller: finds the path's rate without being told, is not fooled by random
//! loss, and yields to congestion.
//!
//! Six ideas carry it.
//! * Count what *passed* the bottleneck, not only what arrived: the rate sample is
//!   min(passed, delivered / (1 - p_e)), exact when erasures cause the loss, and the delivered rate
//!   when a queue or a policer drops.
//! * p_e, the erasure floor, is learned only from packets sent at gain <= 1 while the queue is short.
//! * Loss beyond the floor, by more than chance would have it, is congestion: believe what arrives.
//! * A queue that stands for a whole round makes the delivered rate the true share: take it.
//! * A delay that does not shrink while less is sent is none of our queue: it belongs to the path.
//! * Delay decides; a loss while the queue is short costs nothing.

use super::super::filter::WindowedMax;
use super::super::loss::Losses;
use super::erasure::ErasureFloor;
use super::queue::QueueView;
use super::{GainClass, RateSample, Report, Settled, View};
use ripstop_base::{Stream, Time};

/// The first window, in packets: a first request or page without waiting (RFC 6928 has 10 for TCP,
/// which cannot pace from the first packet on).
const INITIAL_WINDOW_PACKETS: f64 = 32.0;
/// The rate to begin with has it spread over a round trip, or over this (s) if that is longer: a path so short fills quickly
/// anyway.
const FASTEST_START: f64 = 0.02;
/// It leaves faster than that, in so much of a round trip. A TCP inside doubles its window in bursts: what a burst waits here
/// it takes for a queue of the path's (HyStart), and stops doubling.
const INITIAL_SPREAD: f64 = 0.15;
/// Doubles the rate each round trip: 4 ln 2.
const STARTUP_GAIN: f64 = 2.77;
const PROBE_GAIN: f64 = 1.15;
const GENTLE_PROBE_GAIN: f64 = 1.1;
const AGAIN_PROBE_GAIN: f64 = 1.35;
/// The filter for the bottleneck rate covers two probes.
const RATE_ROUNDS: u64 = 10;
/// More loss than this in a round that brought no more than the last ones is a start-up's own, whoever limits it.
const OVERRUN: f64 = 0.35;
/// Loss that parity answers before the floor is known.
const CODABLE_AT_FIRST: f64 = 0.3;
/// Rounds in which a queue stands although less is sent, until it is believed to be none.
const DOUBT_ROUNDS: u32 = 3;
/// A round has at least so many packets: of three, all are lost now and then, which says nothing.
const ROUND_PACKETS: u32 = 16;
/// The rate falls no faster than this in a round when too little was offered to show what there is.
const UNSURE_CUT: f64 = 0.85;
/// No slower than a packet each 200 ms or so: below, nothing could be measured any more.
const MIN_RATE: f64 = 6_000.0;

/// How the controller behaves towards others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Takes a fair share.
    #[default]
    Fair,
    /// Takes what others leave: yields to any standing queue.
    Scavenge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Doubling each round, from nothing.
    Startup,
    /// Letting the start-up's queue drain.
    Drain,
    /// Just below the rate, so that a probe's queue is gone before it can stand.
    Down,
    /// At the rate.
    Cruise,
    /// A little above it, to see whether there is more.
    Up,
}

/// Counts over one round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    all: Settled,
    /// Those reported while the queue was long.
    queued: Settled,
    min_queue: f64,
    /// The largest delivered rate, byte/s.
    max_delivered: f64,
    app_limited: bool,
}

impl Round {
    const EMPTY: Round = Round {
        all: Settled { packets: 0, lost: 0 },
        queued: Settled { packets: 0, lost: 0 },
        min_queue: f64::INFINITY,
        max_delivered: 0.0,
        app_limited: false,
    };
}

/// A queue that stands while less is sent than passes.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    rounds: u32,
    /// What it was at first, and by how much it should have shrunk since, s.
    queue: f64,
    due: f64,
    /// The rate at which it stood at first.
    bandwidth: f64,
}

/// The erasure-aware rate controller.
#[derive(Clone, Debug)]
pub struct Fair {
    mode: Mode,
    packet: f64,
    random: Stream,
    state: State,
    since: Time,
    last: Time,

    rates: WindowedMax,
    bandwidth: f64,
    /// The rate to begin with, before anything was measured.
    guess: f64,
    /// The most the path has shown of late.
    top: f64,
    min_rtt: f64,
    min_rtt_renewed: Time,
    min_rtt_measured: bool,
    srtt: f64,
    report_every: f64,
    queue: QueueView,
    erasure: ErasureFloor,
    /// Overdispersion of losses: 1 when independent, more in bursts.
    dispersion: f64,
    /// Losses of late, of whatever cause.
    losses: Losses,

    rounds: u64,
    round_end: u64,
    round: Round,
    standing: bool,
    /// What is known of a queue that stands, until it is short.
    doubt: Option<Doubt>,
    delays_accepted: u64,
    last_short_queue: Time,
    /// Start-up: rounds without growth, feedbacks with a queue, and what the last round settled.
    full_rate: f64,
    flat_rounds: u32,
    queued_reports: u32,
    unproven: Settled,
    startup_window: f64,
    started_up_round: u64,

    probe_gain: f64,
    cruise_for: f64,
    calm: f64,
    up: Settled,
    up_from: f64,
    up_exceeded: bool,
    check_after_up: bool,
    probe_ended: Time,
    last_cut: Time,
}

impl Fair {
    /// A controller for packets of up to `packet` bytes, over a path whose round-trip time is
    /// `rtt` s by the handshake. `random` spreads the probes of flows that share a bottleneck.
    pub fn new(now: Time, mode: Mode, packet: u32, rtt: f64, random: Stream) -> Fair {
        let packet = f64::from(packet);
        let guess = INITIAL_WINDOW_PACKETS * packet / rtt.max(FASTEST_START) / STARTUP_GAIN;
        Fair {
            mode,
            packet,
            random,
            state: State::Startup,
            since: now,
            last: now,
            rates: WindowedMax::new(RATE_ROUNDS),
            bandwidth: guess,
            guess,
            top: 0.0,
            min_rtt: rtt,
            min_rtt_renewed: now,
            min_rtt_measured: false,
            srtt: rtt,
            report_every: 0.0,
            queue: QueueView::new(),
            erasure: ErasureFloor::default(),
            dispersion: 1.0,
            losses: Losses::default(),
            rounds: 0,
            round_end: 0,
            round: Round::EMPTY,
            standing: false,
            doubt: None,
            delays_accepted: 0,
            last_short_queue: now,
            full_rate: 0.0,
            flat_rounds: 0,
            queued_reports: 0,
            unproven: Settled::default(),
            startup_window: INITIAL_WINDOW_PACKETS * packet,
            started_up_round: 0,
            probe_gain: PROBE_GAIN,
            cruise_for: 0.0,
            calm: 1.0,
            up: Settled::default(),
            up_from: 0.0,
            up_exceeded: false,
            check_after_up: false,
            probe_ended: now,
            last_cut: now,
        }
    }

    /// Takes in one feedback; nothing else changes the state.
    pub fn on_report(&mut self, report: &Report) {
        let dt = report.now.since(self.last).as_secs_f64();
        self.last = report.now;
        self.srtt = report.srtt.as_secs_f64();
        self.report_every = report.report_every.as_secs_f64();
        self.losses = report.losses;
        self.observe_delay(report);
        self.top *= (-dt / 10.0).exp();
        if self.state != State::Startup {
            // A first guess is no rate that this path has had.
            self.top = self.top.max(self.bandwidth);
        }
        self.erasure.fade(dt, 1.5 + 6.0 * self.min_rtt);

        let settled = report.settled_total();
        let short = self.queue.delay() <= self.short_queue();
        if short {
            self.last_short_queue = report.now;
            if self.state != State::Startup {
                self.erasure.add(GainClass::Below, report.settled[0]);
                self.erasure.add(GainClass::At, report.settled[1]);
            }
        }
        add(&mut self.round.all, settled);
        if !short {
            add(&mut self.round.queued, settled);
        }
        self.round.min_queue = self.round.min_queue.min(self.queue.delay());
        if let Some(rate) = report.rate {
            self.round.max_delivered = self.round.max_delivered.max(rate.delivered);
            self.round.app_limited |= rate.app_limited;
            self.take_sample(&rate);
        }
        if self.state == State::Up {
            add(&mut self.up, settled);
        }
        // Not for whoever uses little of it (RFC 7661).
        if self.state == State::Startup && 2.0 * report.in_flight_before as f64 >= self.startup_window {
            // A TCP inside doubles its window; what is lost, and what repairs it, is in flight as well.
            self.startup_window += 2.0 * report.acked_bytes as f64;
        }
        if report.ce > 0 {
            self.cut(report.now);
        }
        if report.largest_acked >= self.round_end && self.round.all.packets >= ROUND_PACKETS {
            self.round_end = report.next_number;
            self.end_round(report);
        }
        self.step(report);
    }

    /// The rate to pace at, byte/s, when `waiting` bytes wait to be sent.
    pub fn pacing_rate(&self, waiting: usize) -> f64 {
        // With more than a window waiting it is somebody who does not start slowly, so we do.
        let starts = self.state == State::Startup && waiting as f64 <= self.startup_window;
        let least = if starts { STARTUP_GAIN * self.guess / INITIAL_SPREAD } else { 0.0 };
        (self.bandwidth * self.pacing_gain()).max(least).max(MIN_RATE)
    }

    /// The factor on the estimated rate.
    pub fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => 0.4,
            State::Down => 0.8,
            State::Up => self.up_gain(),
            State::Cruise if !self.standing => 1.0,
            State::Cruise => match self.mode {
                Mode::Fair => 1.0 - (self.queue.delay() / self.min_rtt).clamp(0.05, 0.3),
                Mode::Scavenge if self.last.since(self.last_short_queue).as_secs_f64() > 6.0 * self.srtt => {
                    0.2
                }
                Mode::Scavenge => (1.0 - 3.0 * self.queue.delay() / self.min_rtt).clamp(0.25, 0.95),
            },
        }
    }

    /// How many bytes may be in flight.
    pub fn window(&self) -> u64 {
        let gain = match self.state {
            State::Startup | State::Drain => STARTUP_GAIN,
            State::Down | State::Cruise => 1.5,
            State::Up => (self.up_gain() + 0.25).max(1.5),
        };
        // A guess is good for a pace, not for what a path holds: nothing bounds how long its round trip turns out to be.
        let bandwidth = match self.state {
            State::Startup => self.rates.get().unwrap_or(0.0),
            _ => self.bandwidth,
        };
        // Room to go on when the next report, or two, are lost.
        let slack = 4.0 * self.packet + 2.5 * self.report_every * bandwidth;
        let mut window = gain * bandwidth * self.min_rtt + slack;
        if self.state == State::Startup {
            window = window.max(self.startup_window);
        }
        window.max(5.0 * self.packet) as u64
    }

    /// What is known of the path.
    pub fn view(&self) -> View {
        View {
            state: match self.state {
                State::Startup => "startup",
                State::Drain => "drain",
                State::Down => "down",
                State::Cruise => "cruise",
                State::Up => "up",
            },
            bandwidth: self.bandwidth,
            min_rtt: self.min_rtt,
            queue: self.queue.delay(),
            erasure_floor: self.erasure.get(),
            // Nothing is known of the floor yet, and nothing speaks of congestion.
            codable: match self.state {
                State::Startup if self.queue.delay() <= self.short_queue() => CODABLE_AT_FIRST,
                _ => 1.5 * self.erasure.get() + 0.01,
            },
            delays_accepted: self.delays_accepted,
        }
    }

    /// Bandwidth-delay product, bytes.
    fn bdp(&self) -> f64 {
        self.bandwidth * self.min_rtt
    }

    /// A queue up to this delay (s) counts as short: below CoDel's 5 ms on fast paths.
    fn short_queue(&self) -> f64 {
        let packets = 2.5 * self.packet / self.top.max(self.bandwidth);
        (0.03 * self.min_rtt).max(0.003).max(packets) + 2.0 * self.queue.jitter()
    }

    fn up_gain(&self) -> f64 {
        if self.calm > 1.0 { self.probe_gain.min(GENTLE_PROBE_GAIN) } else { self.probe_gain }
    }

    fn observe_delay(&mut self, report: &Report) {
        if let Some(delay) = report.one_way_delay {
            self.queue.offer(report.now, delay);
        }
        let Some(rtt) = report.rtt.map(|rtt| rtt.as_secs_f64()) else { return };
        // The handshake's was only a first guess: one of its datagrams may have been lost, or been slow.
        let first = !std::mem::replace(&mut self.min_rtt_measured, true);
        if first || rtt <= self.min_rtt {
            self.min_rtt = rtt;
            self.min_rtt_renewed = report.now;
        } else if report.now.since(self.min_rtt_renewed).as_secs_f64() > 30.0
            && self.queue.delay() <= self.short_queue()
        {
            // The route has changed, or it was a lucky sample: drift towards what is measured.
            self.min_rtt += (rtt - self.min_rtt) * 0.05;
        }
    }

    fn sample(&self, rate: &RateSample) -> f64 {
        rate.passed.min(rate.delivered / (1.0 - self.erasure.get()))
    }

    fn take_sample(&mut self, rate: &RateSample) {
        let sample = self.sample(rate);
        if rate.app_limited && sample <= self.bandwidth {
            return;
        }
        let max = self.rates.offer(self.rounds, sample);
        // A guess is as good as a low first sample (a few packets, spread by jitter) while starting up.
        self.bandwidth = if self.state == State::Startup { max.max(self.guess) } else { max };
    }

    /// Forgets faster times: the rate is at most `rate` now.
    fn set_bandwidth(&mut self, rate: f64) {
        self.bandwidth = self.bandwidth.min(rate).max(MIN_RATE);
        self.rates.reset(self.rounds, self.bandwidth);
    }

    /// A congestion signal that no erasure can imitate, or a loss that came with a queue.
    fn cut(&mut self, now: Time) {
        if now.since(self.last_cut).as_secs_f64() >= self.srtt {
            self.last_cut = now;
            self.set_bandwidth(0.75 * self.bandwidth);
        }
    }

    /// More losses than the floor explains, by two deviations and the `slack` fraction.
    fn exceeds(&self, settled: Settled, slack: f64) -> bool {
        let n = f64::from(settled.packets);
        let floor = self.erasure.get();
        let chance = 2.0 * (self.dispersion.max(1.0) * floor * n).sqrt();
        f64::from(settled.lost) > floor * n + chance + slack * n
    }

    /// The same for all of a round. Runs of losses make rounds differ by more than independent ones would: the losses of n packets
    /// vary by 2B - 1 times as much where runs of B packets are rare. But what is lost while a queue is long is the queue's.
    fn round_exceeds(&self, round: &Round, slack: f64) -> bool {
        let n = f64::from(round.all.packets);
        let queued = 2 * round.queued.packets > round.all.packets;
        let floor = self.erasure.get();
        let runs = if queued {
            0.0
        } else {
            (2.0 * self.losses.burst - 1.0).max(0.0) * self.losses.share.max(floor)
        };
        let chance = 2.0 * ((self.dispersion.max(1.0) * floor).max(runs) * n).sqrt();
        f64::from(round.all.lost) > floor * n + chance + slack * n
    }

    fn end_round(&mut self, report: &Report) {
        let round = std::mem::replace(&mut self.round, Round::EMPTY);
        self.rounds += 1;
        let after_probe = report.now.since(self.probe_ended).as_secs_f64() > 1.3 * self.srtt;
        let probing = self.state == State::Up;
        self.standing = round.min_queue.is_finite() && round.min_queue > self.short_queue() && after_probe;
        if self.state == State::Startup {
            self.end_startup_round(&round);
            return;
        }
        self.learn_dispersion(&round);
        if self.rounds < self.started_up_round + 4 {
            return;
        }
        let recent = report.rate.map(|rate| self.sample(&rate));
        let least = if round.app_limited { UNSURE_CUT * self.bandwidth } else { 0.0 };
        if self.round_exceeds(&round, 0.02) {
            // A policer or a shallow buffer: what is delivered is what there is.
            if let Some(sample) = recent {
                self.set_bandwidth(sample.max(least));
            }
        }
        if self.standing
            && !probing
            && let Some(rate) = report.rate
        {
            self.set_bandwidth((rate.received / (1.0 - self.erasure.get())).max(least));
        }
        self.doubt_queue(round.min_queue);
        if self.exceeds(round.queued, 0.002) && !probing && after_probe {
            let share = report.rate.map_or(0.0, |rate| rate.received / (1.0 - self.erasure.get()));
            if report.now.since(self.last_cut).as_secs_f64() >= self.srtt {
                self.last_cut = report.now;
                self.set_bandwidth(0.75 * self.bandwidth.max(share));
            }
        }
    }

    /// A queue of ours shrinks by what is not sent. One that does not is none of ours: delay of the path itself, or a queue that others
    /// keep full, to whom sending less and less would only leave the path.
    fn doubt_queue(&mut self, queue: f64) {
        if queue <= self.short_queue() {
            self.doubt = None;
        }
        // A probe, and the round after it, say nothing; and to yield is what a scavenger is for.
        if !self.standing || self.mode == Mode::Scavenge {
            return;
        }
        let unsent = (1.0 - self.pacing_gain()) * self.min_rtt;
        let Some(doubt) = &mut self.doubt else {
            self.doubt = Some(Doubt { rounds: 0, queue, due: unsent, bandwidth: self.bandwidth });
            return;
        };
        doubt.rounds += 1;
        if doubt.rounds >= DOUBT_ROUNDS && doubt.queue - queue < 0.3 * doubt.due.min(doubt.queue) {
            let before = doubt.bandwidth;
            (self.standing, self.doubt) = (false, None);
            self.queue.is_no_queue(self.last, queue);
            self.delays_accepted += 1;
            self.bandwidth = self.bandwidth.max(before);
            self.rates.reset(self.rounds, self.bandwidth);
            return;
        }
        doubt.due += unsent;
    }

    fn end_startup_round(&mut self, round: &Round) {
        let grew = round.max_delivered >= 1.25 * self.full_rate;
        if grew {
            // The round before was sent below capacity after all: its losses are erasures.
            self.erasure.add(GainClass::At, self.unproven);
        }
        self.unproven = round.all;
        if grew {
            self.full_rate = round.max_delivered;
            self.flat_rounds = 0;
        } else if !round.app_limited || self.round_exceeds(round, OVERRUN) {
            self.flat_rounds += 1;
        }
        if self.flat_rounds >= 3 || (self.flat_rounds >= 2 && self.round_exceeds(round, 0.02)) {
            self.enter(State::Drain);
        }
    }

    fn learn_dispersion(&mut self, round: &Round) {
        if self.state == State::Cruise && round.min_queue <= self.short_queue() && round.all.packets > 0 {
            let n = f64::from(round.all.packets);
            let floor = self.erasure.get();
            let off = f64::from(round.all.lost) - floor * n;
            let ratio = (off * off / (n * floor * (1.0 - floor) + 0.5)).min(16.0);
            self.dispersion += (ratio - self.dispersion) / 16.0;
        }
    }

    fn step(&mut self, report: &Report) {
        let spent = report.now.since(self.since).as_secs_f64();
        let in_flight = report.in_flight as f64;
        // What has arrived but is not reported yet counts as in flight.
        let margin = 0.5 * self.report_every * self.bandwidth + 3.0 * self.packet;
        match self.state {
            State::Startup => {
                let limit = (self.min_rtt / 8.0).max((self.min_rtt / 2.0).min(0.008));
                let queued = self.queue.delay() > limit + 2.0 * self.queue.jitter();
                self.queued_reports = if queued { self.queued_reports + 1 } else { 0 };
                if self.queued_reports >= 3 {
                    self.enter(State::Drain);
                }
            }
            State::Drain => {
                if in_flight <= self.bdp() + self.packet || spent > 6.0 * self.srtt {
                    self.enter(State::Down);
                }
            }
            State::Down => {
                if in_flight <= self.bdp() + margin || spent > 4.0 * self.min_rtt {
                    self.enter(State::Cruise);
                }
            }
            State::Cruise => {
                if self.check_after_up && spent > 1.1 * self.min_rtt {
                    self.check_after_up = false;
                    if self.bandwidth > (1.0 + (self.probe_gain - 1.0) / 2.0) * self.up_from {
                        // There was more: look again, harder.
                        self.probe_gain = AGAIN_PROBE_GAIN;
                        self.enter(State::Up);
                        return;
                    }
                    self.probe_gain = PROBE_GAIN;
                }
                let calm = if self.standing { self.calm.min(3.0) } else { self.calm };
                if spent > self.cruise_for * calm * self.min_rtt {
                    self.enter(State::Up);
                }
            }
            State::Up => {
                let least = self.min_rtt.max(1.5 * self.report_every);
                let full = in_flight >= self.up_gain() * self.bdp() + margin;
                let queued = self.queue.delay() > 0.2 * self.min_rtt + 0.003;
                let exceeded = self.exceeds(self.up, 0.02);
                if spent > least && (full || queued || exceeded || spent > 2.5 * least) {
                    self.up_exceeded = exceeded;
                    self.calm =
                        if exceeded { (self.calm * 2.0).min(8.0) } else { (self.calm / 2.0).max(1.0) };
                    self.check_after_up = !exceeded;
                    self.enter(State::Down);
                }
            }
        }
    }

    fn enter(&mut self, state: State) {
        if matches!(self.state, State::Up | State::Down | State::Drain) {
            self.probe_ended = self.last;
        }
        if self.state == State::Startup {
            self.started_up_round = self.rounds;
            self.bandwidth = self.rates.get().unwrap_or(self.guess);
        }
        match state {
            State::Up => {
                self.up = Settled::default();
                self.up_from = self.bandwidth;
            }
            State::Cruise => self.cruise_for = 3.0 + 4.0 * self.random.unit(),
            _ => {}
        }
        self.state = state;
        self.since = self.last;
    }
}

fn add(sum: &mut Settled, more: Settled) {
    sum.packets += more.packets;
    sum.lost += more.lost;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    #[test]
    fn a_run_of_losses_is_no_overrun() {
        let mut fair = Fair::new(Time::ZERO, Mode::Fair, 1500, 0.1, Seed::new(1).stream("rate"));
        let half = Settled { packets: 40, lost: 20 };
        let round = Round { all: half, ..Round::EMPTY };
        fair.losses = Losses { share: 0.25, burst: 1.0 };
        assert!(fair.round_exceeds(&round, 0.02), "independent losses would be a tenth");
        fair.losses.burst = 15.0;
        assert!(!fair.round_exceeds(&round, 0.02) && !fair.round_exceeds(&round, OVERRUN));
        let queued = Round { queued: half, ..round };
        assert!(fair.round_exceeds(&queued, 0.02), "a queue's drops come in runs, too");
        let large = Round { all: Settled { packets: 4_000, lost: 2_000 }, ..Round::EMPTY };
        assert!(fair.round_exceeds(&large, 0.02), "more than runs may be");
    }
}
