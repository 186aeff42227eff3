//! The erasure-aware rate controller. It finds the path's rate by itself, does not slow down for
//! random loss, and yields to congestion.
//!
//! Terms, in addition to the terms of `mod.rs`:
//! * p_e is the erasure floor.
//! * A *round* is a round trip, or longer if a round trip has few packets.
//! * A queue is *short* if its delay is at most `Fair::short_queue`, and otherwise *long*.
//! * A queue *stands* if it is never short during a whole round.
//! * To *probe* is to send above the estimated rate for about a round trip, to see whether the path
//!   carries more.
//!
//! The controller rests on six rules:
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
//! * If a queueing delay does not shrink while less is sent, the delay does not come from this
//!   sender's packets. The delay then counts as a delay of the path.
//! * Delay decides how much loss is tolerated. While the queue is long, a smaller excess loss
//!   lowers the rate than while the queue is short.

use super::super::filter::WindowedMax;
use super::super::loss::Losses;
use super::erasure::ErasureFloor;
use super::queue::QueueView;
use super::{GainClass, RateSample, Report, Settled, View};
use ripstop_base::{Stream, Time};

/// The first window, packets.
///
/// A first request or page fits into this window without a further round trip. RFC 6928 gives TCP
/// 10 packets. TCP cannot pace its first packets, but this sender can. Half the value takes one
/// more round trip to reach the path's rate. Double the value puts a larger burst on a slow path.
const INITIAL_WINDOW_PACKETS: f64 = 32.0;
/// The first rate spreads the first window over at least this time, s.
///
/// If a round trip is longer than this time, the first rate spreads the first window over a round
/// trip. A shorter path fills quickly anyway. Half the value doubles the first rate on paths with a
/// round trip of up to 10 ms. Double the value halves the first rate on paths with a round trip of
/// up to 20 ms.
const FASTEST_START: f64 = 0.02;
/// The first window leaves in this share of a round trip, or of [`FASTEST_START`] if that is
/// longer.
///
/// An inner TCP doubles its window in bursts. If a burst waits in this sender, the inner TCP
/// mistakes the wait for a queue of the path (HyStart), and stops doubling. Without this faster
/// start the inner TCP stopped at a quarter of the path's rate. Half the value sends larger bursts
/// to the path. Double the value lets bursts of the inner TCP wait twice as long.
const INITIAL_SPREAD: f64 = 0.15;
/// Pacing gain in start-up. 4 ln 2 = 2.77 doubles the rate in each round trip.
///
/// A smaller gain finds the rate later. A larger gain overshoots the path's rate more. At 1 Gbit/s
/// and 3 ms, a start-up that did not end sent 2.4 times the ideal number of bytes.
const STARTUP_GAIN: f64 = 2.77;
/// Pacing gain of a normal probe for more rate.
///
/// The excess is the gain minus 1. With half the excess, probes find free capacity more slowly.
/// With double the excess, a probe makes a queue of twice the length.
const PROBE_GAIN: f64 = 1.15;
/// Limit on the pacing gain of probes while `Fair::calm` is above 1, as after a probe that ended in
/// losses.
///
/// A path on which probes end in losses has a policer or a small buffer. A probe then loses packets
/// in proportion to its excess (the gain minus 1). Half the excess loses fewer packets and finds
/// free capacity more slowly. Double the excess would be above the excess of a normal probe.
const GENTLE_PROBE_GAIN: f64 = 1.1;
/// Pacing gain of a probe directly after a probe that found more rate.
///
/// The path may carry much more. With half the excess (the gain minus 1), it takes about twice the
/// number of probes to find the path's rate. Double the excess overshoots more.
const AGAIN_PROBE_GAIN: f64 = 1.35;
/// Length of the maximum filter for the bottleneck's rate, rounds.
///
/// The value covers two probes. Half the value may forget the path's rate between two probes.
/// Double the value keeps the old rate for longer after the path has become slower.
const RATE_ROUNDS: u64 = 10;
/// In start-up, excess loss above this share of a round's packets shows an overshoot. Excess loss
/// is the loss beyond the erasure floor and chance. The rule applies only to a round that did not
/// raise the delivered rate by a quarter.
///
/// A round that shows an overshoot counts as a round without growth, even if the inner traffic
/// limits the rate. Without this rule, an inner TCP kept the start-up from ending at 1 Gbit/s and 3
/// ms. The effect of this rule was measured together with that of the limit on the queue of short
/// paths in `Fair::step`. The bytes sent for each useful byte fell from 2.4 times to 0.99 times the
/// ideal. The goodput rose from 0.50 to 0.93 of what the path can carry. Half the value may mistake
/// random loss for an overshoot while the floor is unknown. Excess loss would hardly ever reach
/// double the value.
const OVERSHOOT: f64 = 0.35;
/// While the erasure floor is unknown, repairs make up for loss up to this share of packets.
///
/// The share applies in start-up while the queue is short, because nothing shows congestion then.
/// On a path with many losses, half the value protects the start of a session less. Double the
/// value sends more repairs into an overshoot.
const CODABLE_AT_FIRST: f64 = 0.3;
/// A queue that stands for this number of rounds, and hardly shrinks although less is sent, counts
/// as a delay of the path.
///
/// With half the value, a queue of this sender is more often mistaken for a delay of the path.
/// Double the value keeps the rate low for longer on a path that has become longer.
const DOUBT_ROUNDS: u32 = 3;
/// Least number of packets in a round.
///
/// On a short or slow path three or four packets fill a round trip. Now and then all packets of a
/// round trip are lost, which does not show congestion. At 1 Mbit/s, 50 ms and 30 % loss, such
/// losses lowered the rate. The goodput was only 0.10 of what the path can carry after its losses.
/// With this limit and with `LEAST` in `erasure.rs`, the goodput was 0.82. Half the value trusts
/// smaller samples. Double the value reacts later on slow paths.
const ROUND_PACKETS: u32 = 16;
/// After a round in which too little was sent to show the path's rate, at least this share of the
/// rate is left. Losses in a long queue may cut the rate by a further quarter. With half the value,
/// one such round could lower the rate to 0.43 of its former value, without evidence that the path
/// is slower. With a value of 1, only losses in a long queue could lower the rate after such a
/// round.
const UNSURE_CUT: f64 = 0.85;
/// Least rate, byte/s: one packet of 1500 bytes in 250 ms.
///
/// Nothing could be measured at a lower rate. With half the value it takes twice as long to notice
/// that the path carries more. Double the value may overload a slower path.
const MIN_RATE: f64 = 6_000.0;

/// How the controller behaves towards other traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Takes a fair share of the path.
    #[default]
    Fair,
    /// Takes only the rate that other traffic leaves: yields to any standing queue.
    Scavenge,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Counts over one round: a round trip, or longer if a round trip has fewer than [`ROUND_PACKETS`]
/// packets.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Datagrams settled in the round.
    all: Settled,
    /// Datagrams in `all` that were reported while the queue was long.
    queued: Settled,
    /// Least queueing delay, s.
    min_queue: f64,
    /// Largest delivered rate, byte/s.
    max_delivered: f64,
    /// Whether a rate sample of the round may show less than the path's rate.
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

/// A queue that stands although less is sent than the path carries. The delay may be a delay of the
/// path instead.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    /// Number of rounds since the queue was first found standing.
    rounds: u32,
    /// Queueing delay when the queue was first found standing, s.
    queue: f64,
    /// How much the delay of a queue of this sender would have shrunk since the queue was first
    /// found standing, s.
    due: f64,
    /// Estimated rate when the queue was first found standing, byte/s.
    bandwidth: f64,
}

/// The erasure-aware rate controller.
#[derive(Clone, Debug)]
pub struct Fair {
    mode: Mode,
    /// Size of a full packet, bytes.
    packet: f64,
    random: Stream,
    state: State,
    /// When the present state began.
    since: Time,
    /// When the last report arrived.
    last: Time,

    /// Maximum filter of rate samples, over [`RATE_ROUNDS`] rounds.
    rates: WindowedMax,
    /// Estimated rate of the bottleneck, byte/s.
    bandwidth: f64,
    /// The first rate, used before any measurement, byte/s.
    guess: f64,
    /// The largest recent estimate of the rate, byte/s. The value decays with a time constant of 10
    /// s.
    top: f64,
    /// Least round-trip time, s.
    min_rtt: f64,
    /// When `min_rtt` was last measured.
    min_rtt_renewed: Time,
    /// Whether `min_rtt` was measured. False: `min_rtt` is the round-trip time of the handshake.
    min_rtt_measured: bool,
    /// Smoothed round-trip time, s.
    srtt: f64,
    /// Interval between the receiver's reports, s.
    report_every: f64,
    queue: QueueView,
    erasure: ErasureFloor,
    /// Overdispersion of losses: the variance of the number of losses in a round, divided by the
    /// variance that independent losses would have. 1 for independent losses, more for losses in
    /// runs.
    dispersion: f64,
    /// Recent losses, from all causes.
    losses: Losses,

    rounds: u64,
    /// The round ends when this datagram number is acknowledged.
    round_end: u64,
    round: Round,
    /// Whether a queue stood for the whole last round.
    standing: bool,
    /// The standing queue that may be a delay of the path. `None`: no queue is in doubt.
    doubt: Option<Doubt>,
    /// Number of standing queues that were reclassified as a delay of the path.
    delays_accepted: u64,
    /// When the queue was last short.
    last_short_queue: Time,
    /// Start-up: the largest delivered rate in the last round in which this rate grew by a quarter
    /// or more, byte/s.
    full_rate: f64,
    /// Start-up: number of rounds since the last round with growth by a quarter or more. A round in
    /// which too little was sent counts only if it shows an overshoot ([`OVERSHOOT`]).
    flat_rounds: u32,
    /// Start-up: number of consecutive reports that showed a queue.
    queued_reports: u32,
    /// Start-up: the datagrams settled in the last round. They count for the erasure floor if the
    /// rate grows further, which shows that the path was not full.
    unproven: Settled,
    /// Start-up: least window, bytes.
    startup_window: f64,
    /// The round in which start-up ended.
    started_up_round: u64,

    /// Gain of the next probe.
    probe_gain: f64,
    /// [`State::Cruise`] lasts `cruise_for` times `calm` round trips. While a queue stands, `calm`
    /// counts as at most 3.
    cruise_for: f64,
    /// Factor on `cruise_for`, 1 to 8. The factor doubles after a probe that ended in losses, and
    /// is halved after any other probe.
    calm: f64,
    /// Datagrams settled during the present probe.
    up: Settled,
    /// Estimated rate when the last probe began, byte/s.
    up_from: f64,
    /// Set after a probe without excess loss. Cleared when the controller checks whether the probe
    /// has raised the estimated rate.
    check_after_up: bool,
    /// When the controller last left [`State::Up`], [`State::Down`] or [`State::Drain`].
    probe_ended: Time,
    /// When the rate was last cut for congestion.
    last_cut: Time,
}

impl Fair {
    /// Creates a controller for packets of up to `packet` bytes.
    ///
    /// `rtt` is the round-trip time of the handshake, s. `random` varies the times of probes, so
    /// that flows that share a bottleneck do not probe together.
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
            check_after_up: false,
            probe_ended: now,
            last_cut: now,
        }
    }

    /// Takes in one report. Only this method changes the controller.
    pub fn on_report(&mut self, report: &Report) {
        let dt = report.now.since(self.last).as_secs_f64();
        self.last = report.now;
        self.srtt = report.srtt.as_secs_f64();
        self.report_every = report.report_every.as_secs_f64();
        self.losses = report.losses;
        self.observe_delay(report);
        self.top *= (-dt / 10.0).exp();
        if self.state != State::Startup {
            // In start-up the estimate may still be the first rate, which is only a guess.
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
        // If the sender uses less than half of the window, the window does not grow (RFC 7661).
        if self.state == State::Startup && 2.0 * report.in_flight_before as f64 >= self.startup_window {
            // An inner TCP doubles its window in each round trip, so this window must at least
            // double as well. Lost packets and repairs need room too, so the window grows by twice
            // the acknowledged bytes.
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

    /// The pacing rate, byte/s, when `waiting` bytes wait to be sent.
    pub fn pacing_rate(&self, waiting: usize) -> f64 {
        // If more than a window of bytes waits, the inner traffic has no slow start of its own.
        // Then this sender must start slowly itself.
        let starts = self.state == State::Startup && waiting as f64 <= self.startup_window;
        let least = if starts { STARTUP_GAIN * self.guess / INITIAL_SPREAD } else { 0.0 };
        (self.bandwidth * self.pacing_gain()).max(least).max(MIN_RATE)
    }

    /// The pacing gain: the factor on the estimated rate.
    pub fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => 0.4,
            State::Down => 0.8,
            State::Up => self.up_gain(),
            State::Cruise if !self.standing => 1.0,
            State::Cruise => match self.mode {
                Mode::Fair => 1.0 - (self.queue.delay() / self.min_rtt).clamp(0.05, 0.3),
                Mode::Scavenge if self.last.since(self.last_short_queue).as_secs_f64() > 6.0 * self.srtt => 0.2,
                Mode::Scavenge => (1.0 - 3.0 * self.queue.delay() / self.min_rtt).clamp(0.25, 0.95),
            },
        }
    }

    /// Limit on the bytes in flight.
    pub fn window(&self) -> u64 {
        let gain = match self.state {
            State::Startup | State::Drain => STARTUP_GAIN,
            State::Down | State::Cruise => 1.5,
            State::Up => (self.up_gain() + 0.25).max(1.5),
        };
        // The first rate may set the pace, but not the window. The first rate times a long measured
        // round trip could be far more than the path holds.
        let bandwidth = match self.state {
            State::Startup => self.rates.get().unwrap_or(0.0),
            _ => self.bandwidth,
        };
        // The slack lets the sender continue when the next one or two reports are lost.
        let slack = 4.0 * self.packet + 2.5 * self.report_every * bandwidth;
        let mut window = gain * bandwidth * self.min_rtt + slack;
        if self.state == State::Startup {
            window = window.max(self.startup_window);
        }
        window.max(5.0 * self.packet) as u64
    }

    /// What the controller knows about the path.
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

    /// A queue counts as short up to this queueing delay, s. The limit is twice the jitter, plus
    /// the largest of three times: 3 ms, 3 % of the least round-trip time, and the time to send 2.5
    /// packets at the path's rate.
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
        // The first sample replaces the round-trip time of the handshake, whose datagrams may have
        // been lost or slow.
        let first = !std::mem::replace(&mut self.min_rtt_measured, true);
        if first || rtt <= self.min_rtt {
            self.min_rtt = rtt;
            self.min_rtt_renewed = report.now;
        } else if report.now.since(self.min_rtt_renewed).as_secs_f64() > 30.0
            && self.queue.delay() <= self.short_queue()
        {
            // The route has changed, or the minimum was an exceptional sample. Move `min_rtt`
            // slowly towards the measured times.
            self.min_rtt += (rtt - self.min_rtt) * 0.05;
        }
    }

    /// The rate that the bottleneck has carried, byte/s: min(passed, delivered / (1 - p_e)).
    fn sample(&self, rate: &RateSample) -> f64 {
        rate.passed.min(rate.delivered / (1.0 - self.erasure.get()))
    }

    fn take_sample(&mut self, rate: &RateSample) {
        let sample = self.sample(rate);
        if rate.app_limited && sample <= self.bandwidth {
            return;
        }
        let max = self.rates.offer(self.rounds, sample);
        // In start-up the estimate is at least the first rate. Jitter may spread the few packets of
        // a sample, which makes the sample too low.
        self.bandwidth = if self.state == State::Startup { max.max(self.guess) } else { max };
    }

    /// Lowers the estimated rate to at most `rate`, byte/s, and forgets older samples.
    fn set_bandwidth(&mut self, rate: f64) {
        self.bandwidth = self.bandwidth.min(rate).max(MIN_RATE);
        self.rates.reset(self.rounds, self.bandwidth);
    }

    /// Lowers the rate by a quarter because datagrams were marked Congestion Experienced, at most
    /// one time in a round trip. Random loss cannot produce such a mark.
    fn cut(&mut self, now: Time) {
        if now.since(self.last_cut).as_secs_f64() >= self.srtt {
            self.last_cut = now;
            self.set_bandwidth(0.75 * self.bandwidth);
        }
    }

    /// Whether `settled` has more losses than the erasure floor explains. The losses must exceed
    /// the expected number by more than two standard deviations plus the share `slack` of the
    /// packets.
    fn exceeds(&self, settled: Settled, slack: f64) -> bool {
        let n = f64::from(settled.packets);
        let floor = self.erasure.get();
        let chance = 2.0 * (self.dispersion.max(1.0) * floor * n).sqrt();
        f64::from(settled.lost) > floor * n + chance + slack * n
    }

    /// Like [`Fair::exceeds`], but for a whole round. The effect of runs of losses counts as
    /// chance.
    ///
    /// If losses come in runs, the number of losses varies more from round to round. Suppose that
    /// losses come in rare runs of B packets. The variance of the number of losses among n packets
    /// is then 2B - 1 times as large as for independent losses. If most packets of the round were
    /// reported while the queue was long, the queue caused the losses, and runs do not count.
    fn round_exceeds(&self, round: &Round, slack: f64) -> bool {
        let n = f64::from(round.all.packets);
        let queued = 2 * round.queued.packets > round.all.packets;
        let floor = self.erasure.get();
        let runs = if queued { 0.0 } else { (2.0 * self.losses.burst - 1.0).max(0.0) * self.losses.share.max(floor) };
        let chance = 2.0 * ((self.dispersion.max(1.0) * floor).max(runs) * n).sqrt();
        f64::from(round.all.lost) > floor * n + chance + slack * n
    }

    /// Handles the end of a round: lowers the rate for excess losses and for a standing queue.
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
            // A policer or a small buffer drops packets, so the delivered rate is the path's rate.
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

    /// Judges whether a standing queue of `queue` s belongs to this sender.
    ///
    /// A queue of this sender shrinks when the sender sends less. A queue that does not shrink is a
    /// delay of the path, or other traffic keeps the queue full. Sending less and less would then
    /// only leave the path to the other traffic. So the queue is judged after [`DOUBT_ROUNDS`]
    /// rounds and after each later round. If the queue has shrunk by less than 30 % of the expected
    /// amount, its delay is accepted as a delay of the path. The expected amount is `Doubt::due`,
    /// but at most the whole queue. After the acceptance, the rate is at least what it was when the
    /// queue was first found standing.
    fn doubt_queue(&mut self, queue: f64) {
        if queue <= self.short_queue() {
            self.doubt = None;
        }
        // The queue is not judged in the round after a probe: `standing` is false then. In the mode
        // `Scavenge`, the controller must yield to any standing queue.
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
            self.queue.accept_as_path_delay(self.last, queue);
            self.delays_accepted += 1;
            self.bandwidth = self.bandwidth.max(before);
            self.rates.reset(self.rounds, self.bandwidth);
            return;
        }
        doubt.due += unsent;
    }

    /// Handles the end of a round in start-up: ends the start-up when the rate no longer grows.
    fn end_startup_round(&mut self, round: &Round) {
        let grew = round.max_delivered >= 1.25 * self.full_rate;
        if grew {
            // The rate has grown, so the packets of the round before were sent below the path's
            // rate. The losses of that round are erasures.
            self.erasure.add(GainClass::At, self.unproven);
        }
        self.unproven = round.all;
        if grew {
            self.full_rate = round.max_delivered;
            self.flat_rounds = 0;
        } else if !round.app_limited || self.round_exceeds(round, OVERSHOOT) {
            self.flat_rounds += 1;
        }
        if self.flat_rounds >= 3 || (self.flat_rounds >= 2 && self.round_exceeds(round, 0.02)) {
            self.enter(State::Drain);
        }
    }

    /// Updates the overdispersion of losses. A round counts only if it ended in [`State::Cruise`]
    /// and the queue was short at some time during the round.
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
        // Packets that have arrived but are not reported yet still count in `in_flight`.
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
                        // The probe has raised the estimated rate: probe again with a higher gain.
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
                    self.calm = if exceeded { (self.calm * 2.0).min(8.0) } else { (self.calm / 2.0).max(1.0) };
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
    fn a_run_of_losses_is_no_overshoot() {
        let mut fair = Fair::new(Time::ZERO, Mode::Fair, 1500, 0.1, Seed::new(1).stream("rate"));
        let half = Settled { packets: 40, lost: 20 };
        let round = Round { all: half, ..Round::EMPTY };
        fair.losses = Losses { share: 0.25, burst: 1.0 };
        assert!(fair.round_exceeds(&round, 0.02), "for independent losses, 20 of 40 lost must count as an overshoot");
        fair.losses.burst = 15.0;
        assert!(!fair.round_exceeds(&round, 0.02) && !fair.round_exceeds(&round, OVERSHOOT));
        let queued = Round { queued: half, ..round };
        assert!(fair.round_exceeds(&queued, 0.02), "drops of a long queue must not be excused as runs of losses");
        let large = Round { all: Settled { packets: 4_000, lost: 2_000 }, ..Round::EMPTY };
        assert!(fair.round_exceeds(&large, 0.02), "2000 of 4000 lost are more than runs of 15 explain");
    }
}
