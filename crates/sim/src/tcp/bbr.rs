//! BBR version 1 as in Linux 6 (Cardwell et al., ACM Queue 14 (5), 2016). The sending rate follows the greatest
//! delivery rate of the last ten rounds (round trips). The window follows the bandwidth-delay product. Losses have
//! little effect.
//!
//! [`Bbr`] moves through four [`Mode`]s. Each mode sets two gains. The pacing gain is the sending rate divided by the
//! path's estimated rate. The window gain is the window divided by the bandwidth-delay product.

mod policer;

use super::modern::{AckSummary, CongestionControl, FlowState, Phase, WindowedMax};
use policer::Policer;
use ripstop_base::{Seed, Stream, Time};
use std::time::Duration;

// All values are Linux's. The results in tests/snapshots/bare.txt depend on them.

/// The gain in start-up: 2/ln 2, rounded up to a 256th. It fills the path as fast as slow start does.
const HIGH_GAIN: f64 = 739.0 / 256.0;
/// The pacing gain of the drain: the inverse of the high gain, rounded down to a 256th. It removes the queue that
/// start-up leaves.
const DRAIN_GAIN: f64 = 88.0 / 256.0;
/// The window in bandwidth-delay products after start-up. The second product is room for delayed and aggregated
/// acknowledgements.
const CWND_GAIN: f64 = 2.0;
/// The pacing gains of a cycle, by phase. The first phase probes for more rate, the second drains the queue of the
/// probe, and the other phases keep the estimated rate.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The number of phases in which a cycle may begin: all but the draining phase.
const CYCLE_STARTS: u64 = 7;
/// Rounds over which the greatest delivery rate is kept.
const RATE_ROUNDS: u64 = 10;
/// The factor on each pacing rate: slightly below 1, so that queues drain.
const PACING_MARGIN: f64 = 0.99;
/// The least window in packets that an acknowledgement sets, except in the first round of a recovery. It is also the
/// greatest window while the round-trip time is measured.
const LEAST_CWND: f64 = 4.0;
/// The bandwidth-delay product in packets that is assumed before the first sample of the round-trip time. Until this
/// number of packets is delivered, start-up grows the window even beyond its target.
const INITIAL_CWND: f64 = 10.0;
/// The factor by which the rate must grow in a round of start-up. A round with less growth is a sign that the path is
/// full.
const FULL_GROWTH: f64 = 1.25;
/// Successive rounds with less growth than [`FULL_GROWTH`] after which the path counts as full. Rounds that the
/// application limited do not count.
const FULL_ROUNDS: u32 = 3;
/// How long a least round-trip time is kept before it is measured again.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// The least time for which the window stays at [`LEAST_CWND`] to measure the round-trip time.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Rounds that each of the two maxima in [`Aggregation`] covers. Together they cover the last 5 to 10 rounds.
const AGGREGATION_ROUNDS: u32 = 5;
/// The most that aggregation adds to the window, in seconds at the path's rate.
const AGGREGATION_TIME: f64 = 0.1;
/// Number of acknowledged packets after which the count for the aggregation restarts from 0.
const AGGREGATION_RESET: u64 = 1 << 20;
/// The duration of a paced burst in seconds at the pacing rate, within the bounds on the number of packets
/// ([`set_rate`]).
const BURST_TIME: f64 = 1.0 / 1024.0;
/// The largest number of packets in a paced burst.
const BURST_MOST: f64 = 44.0;
/// The rate in packets per second from which a burst has at least two packets: 1.2 Mbit/s for packets of 1500 bytes.
const TWO_PACKETS_FROM: f64 = 100.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Raises the rate quickly until the path is full.
    Startup,
    /// Empties the queue that start-up left.
    Drain,
    /// Goes through the gain cycle ([`CYCLE`]).
    ProbeBw,
    /// Keeps the window at [`LEAST_CWND`] or below, to measure the round-trip time without a queue.
    ProbeRtt,
}

/// The state of BBR for one connection.
#[derive(Clone, Debug)]
pub(in crate::tcp) struct Bbr {
    mode: Mode,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Delivery rates in packets per second, by round.
    rates: WindowedMax,
    rounds: u64,
    /// The number of packets delivered when the round began. The round ends when a packet is acknowledged that was sent
    /// after these deliveries.
    round_end: u64,
    /// Whether the current acknowledgement begins a round.
    round_start: bool,
    min_rtt: Option<Duration>,
    min_rtt_at: Time,
    /// Whether start-up has filled the path.
    full: bool,
    /// The rate at the last sufficient growth in start-up, packets per second.
    full_rate: f64,
    /// Rounds since the last sufficient growth in start-up.
    full_rounds: u32,
    /// The phase of the gain cycle, an index into [`CYCLE`].
    phase: usize,
    phase_since: Time,
    /// When [`Mode::ProbeRtt`] may end; None until at most [`LEAST_CWND`] packets are in flight.
    probe_rtt_until: Option<Time>,
    /// Whether a round has ended with the least window.
    probe_rtt_round_done: bool,
    /// Whether the sender has restarted after an idle time, and nothing has been delivered since.
    idle_restart: bool,
    /// The sender's state at the last acknowledgement.
    prior_phase: Phase,
    /// The window in packets before a recovery or a probe of the round-trip time reduced it.
    prior_cwnd: f64,
    /// Whether this is the first round of a recovery, in which the sender sends one packet for each packet delivered.
    conserves: bool,
    policer: Policer,
    aggregation: Aggregation,
    random: Stream,
}

/// Measures aggregation of acknowledgements: how many more packets were acknowledged than the estimated rate explains.
#[derive(Clone, Debug, Default)]
struct Aggregation {
    /// When the count `acked` began.
    since: Time,
    acked: u64,
    /// The greatest surplus in packets, for the current and for the previous [`AGGREGATION_ROUNDS`] rounds.
    extra: [f64; 2],
    /// The index of the current entry of `extra`.
    now: usize,
    /// Rounds in the current entry so far.
    rounds: u32,
}

impl Bbr {
    /// `random` draws the phase in which gain cycles begin.
    pub(in crate::tcp) fn new(random: &mut Stream) -> Bbr {
        Bbr {
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            rates: WindowedMax::new(RATE_ROUNDS),
            rounds: 0,
            round_end: 0,
            round_start: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            full: false,
            full_rate: 0.0,
            full_rounds: 0,
            phase: 0,
            phase_since: Time::ZERO,
            probe_rtt_until: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_phase: Phase::Open,
            prior_cwnd: 0.0,
            conserves: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            random: Seed::new(random.next_u64()).stream("bbr"),
        }
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, flow: &mut FlowState, now: Time) {
        self.min_rtt = flow.rtt.min();
        self.min_rtt_at = now;
        self.aggregation.since = now;
        let rtt = flow.rtt.smoothed().unwrap_or(Duration::from_millis(1)).max(Duration::from_micros(1));
        set_rate(flow, HIGH_GAIN * flow.cwnd / rtt.as_secs_f64());
    }

    fn on_start(&mut self, flow: &mut FlowState, now: Time, _idle: Duration) {
        if !flow.delivery.is_app_limited() || flow.pacing_rate.is_none() {
            return;
        }
        self.idle_restart = true;
        (self.aggregation.since, self.aggregation.acked) = (now, 0);
        match self.mode {
            Mode::ProbeBw => self.set_pacing(flow, 1.0),
            Mode::ProbeRtt => self.end_probe_rtt(flow, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    fn on_acked(&mut self, flow: &mut FlowState, now: Time, acked: &AckSummary) {
        self.update_rate(flow, acked);
        self.update_aggregation(flow, acked);
        if self.mode == Mode::ProbeBw && self.is_phase_over(flow, now, acked) {
            self.next_phase(flow);
        }
        self.check_full_pipe(flow, acked);
        self.drain(flow, now);
        self.update_min_rtt(flow, now, acked);
        self.set_gains();
        self.set_pacing(flow, self.pacing_gain);
        self.set_cwnd(flow, acked);
    }

    fn on_loss(&mut self, flow: &mut FlowState, _now: Time) {
        self.save_cwnd(flow);
    }

    fn on_timeout(&mut self, flow: &mut FlowState, _now: Time) {
        self.prior_phase = Phase::Loss;
        self.full_rate = 0.0;
        // A time-out ends the round.
        self.round_start = true;
        self.check_policer(flow, true, false);
    }

    fn on_spurious(&mut self, flow: &mut FlowState, _now: Time) {
        (self.full_rate, self.full_rounds) = (0.0, 0);
        self.policer = Policer::begin(flow);
    }
}

/// The model of the path: rate, round-trip time, aggregation.
impl Bbr {
    fn max_rate(&self) -> f64 {
        self.rates.get().unwrap_or(0.0)
    }

    /// The rate of the path in packets per second.
    fn rate(&self) -> f64 {
        if self.policer.used { self.policer.rate } else { self.max_rate() }
    }

    fn update_rate(&mut self, flow: &mut FlowState, acked: &AckSummary) {
        self.round_start = false;
        let Some(sample) = acked.rate else { return };
        if sample.prior_delivered >= self.round_end {
            self.round_end = flow.delivery.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.check_policer(flow, acked.lost > 0, sample.app_limited);
        // An application-limited sample counts only if it is not below the estimate.
        if !sample.app_limited || sample.rate() >= self.max_rate() {
            self.rates.push(self.rounds, sample.rate());
        }
    }

    fn update_min_rtt(&mut self, flow: &mut FlowState, now: Time, acked: &AckSummary) {
        let expired = now > self.min_rtt_at + MIN_RTT_WINDOW;
        if let Some(rtt) = acked.rtt
            && (expired || self.min_rtt.is_none_or(|min| rtt <= min))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd(flow);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt_until = None;
            flow.mechanisms.rtt_probes += 1;
        }
        if self.mode == Mode::ProbeRtt {
            // The low rate of this mode says nothing about the path.
            let in_flight = flow.in_flight();
            flow.delivery.note_app_limited(in_flight);
            if self.probe_rtt_until.is_none() {
                if in_flight as f64 <= LEAST_CWND {
                    self.probe_rtt_until = Some(now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.round_end = flow.delivery.delivered;
                }
            } else {
                self.probe_rtt_round_done |= self.round_start;
                if self.probe_rtt_round_done {
                    self.end_probe_rtt(flow, now);
                }
            }
        }
        self.idle_restart &= acked.delivered == 0;
    }

    fn end_probe_rtt(&mut self, flow: &mut FlowState, now: Time) {
        if self.probe_rtt_until.is_some_and(|until| now > until) {
            self.min_rtt_at = now;
            flow.cwnd = flow.cwnd.max(self.prior_cwnd);
            if self.full {
                self.begin_cycle(flow);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn update_aggregation(&mut self, flow: &mut FlowState, acked: &AckSummary) {
        let rate = self.rate();
        let aggregation = &mut self.aggregation;
        if acked.delivered == 0 || acked.rate.is_none() {
            return;
        }
        if self.round_start {
            aggregation.rounds += 1;
            if aggregation.rounds >= AGGREGATION_ROUNDS {
                aggregation.rounds = 0;
                aggregation.now = 1 - aggregation.now;
                aggregation.extra[aggregation.now] = 0.0;
            }
        }
        let at = flow.delivery.delivered_at;
        let mut expected = (rate * at.since(aggregation.since).as_secs_f64()).floor();
        if aggregation.acked as f64 <= expected || aggregation.acked + acked.delivered >= AGGREGATION_RESET {
            (aggregation.acked, aggregation.since) = (0, at);
            expected = 0.0;
        }
        aggregation.acked += acked.delivered;
        let extra = (aggregation.acked as f64 - expected).min(flow.cwnd);
        if extra > aggregation.extra[aggregation.now] {
            aggregation.extra[aggregation.now] = extra;
            flow.mechanisms.aggregated += 1;
        }
    }

    /// The number of packets that may be in flight with this rate and gain, including room for bursts.
    fn inflight(&self, flow: &FlowState, rate: f64, gain: f64) -> f64 {
        self.with_bursts(flow, self.bdp(rate, gain))
    }

    /// The bandwidth-delay product times `gain`, in whole packets; [`INITIAL_CWND`] before the first sample.
    fn bdp(&self, rate: f64, gain: f64) -> f64 {
        match self.min_rtt {
            None => INITIAL_CWND,
            Some(rtt) => (rate * rtt.as_secs_f64() * gain).ceil(),
        }
    }

    /// Adds three paced bursts to a window, and rounds it up to an even number of packets. In the probing phase of the
    /// cycle, adds two packets more.
    fn with_bursts(&self, flow: &FlowState, cwnd: f64) -> f64 {
        let cwnd = cwnd + 3.0 * f64::from(flow.burst);
        let even = 2.0 * ((cwnd + 1.0) / 2.0).floor();
        if self.mode == Mode::ProbeBw && self.phase == 0 { even + 2.0 } else { even }
    }

    /// Estimates the number of packets in flight at the moment when the pacer releases the next packet.
    fn inflight_at_departure(&self, flow: &FlowState, now: Time, in_flight: u64) -> f64 {
        let leaves = if self.pacing_gain > 1.0 { f64::from(flow.burst) } else { 0.0 };
        let arrives = (self.rate() * flow.next_departure.since(now).as_secs_f64()).floor();
        (in_flight as f64 + leaves - arrives).max(0.0)
    }
}

/// The modes.
impl Bbr {
    fn check_full_pipe(&mut self, flow: &mut FlowState, acked: &AckSummary) {
        if self.full || !self.round_start || acked.rate.is_some_and(|rate| rate.app_limited) {
            return;
        }
        if self.max_rate() >= self.full_rate * FULL_GROWTH {
            self.full_rate = self.max_rate();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
        flow.mechanisms.full_pipes += u64::from(self.full);
    }

    fn drain(&mut self, flow: &mut FlowState, now: Time) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
        }
        let in_flight = flow.in_flight();
        if self.mode == Mode::Drain
            && self.inflight_at_departure(flow, now, in_flight) <= self.inflight(flow, self.max_rate(), 1.0)
        {
            flow.mechanisms.drains += 1;
            self.begin_cycle(flow);
        }
    }

    fn begin_cycle(&mut self, flow: &mut FlowState) {
        self.mode = Mode::ProbeBw;
        self.phase = CYCLE.len() - 1 - self.random.below(CYCLE_STARTS) as usize;
        self.next_phase(flow);
    }

    fn next_phase(&mut self, flow: &mut FlowState) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_since = flow.delivery.delivered_at;
        flow.mechanisms.gain_phases += 1;
    }

    fn is_phase_over(&self, flow: &FlowState, now: Time, acked: &AckSummary) -> bool {
        let full_length = flow.delivery.delivered_at.since(self.phase_since) > self.min_rtt.unwrap_or(Duration::MAX);
        if self.pacing_gain == 1.0 {
            return full_length;
        }
        let in_flight = self.inflight_at_departure(flow, now, acked.prior_in_flight);
        if self.pacing_gain > 1.0 {
            // The probe lasts for at least the least round-trip time. After this time, the probe ends when enough
            // packets are in flight, or when a loss shows that the queue overflows.
            let enough = in_flight >= self.inflight(flow, self.max_rate(), self.pacing_gain);
            return full_length && (acked.lost > 0 || enough);
        }
        full_length || in_flight <= self.inflight(flow, self.max_rate(), 1.0)
    }

    fn set_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policer.used => (1.0, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.phase], CWND_GAIN),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }
}

/// The outputs: pacing rate and window.
impl Bbr {
    fn set_pacing(&mut self, flow: &mut FlowState, gain: f64) {
        let rate = self.rate() * gain;
        if self.full || flow.pacing_rate.is_none_or(|current| rate * PACING_MARGIN > current) {
            set_rate(flow, rate);
        }
    }

    fn set_cwnd(&mut self, flow: &mut FlowState, acked: &AckSummary) {
        if acked.delivered > 0 {
            self.grow(flow, acked);
        }
        if self.mode == Mode::ProbeRtt {
            flow.cwnd = flow.cwnd.min(LEAST_CWND);
        }
    }

    fn grow(&mut self, flow: &mut FlowState, acked: &AckSummary) {
        let delivered = acked.delivered as f64;
        let mut cwnd = flow.cwnd;
        if acked.lost > 0 {
            cwnd = (cwnd - acked.lost as f64).max(1.0);
        }
        let (before, phase) = (self.prior_phase, flow.phase);
        self.prior_phase = phase;
        if phase == Phase::Recovery && before != Phase::Recovery {
            // In the first round of a recovery, the sender sends one packet for each packet delivered.
            self.conserves = true;
            self.round_end = flow.delivery.delivered;
            cwnd = flow.in_flight() as f64 + delivered;
            flow.mechanisms.conserved += 1;
        } else if before >= Phase::Recovery && phase < Phase::Recovery {
            cwnd = cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        if self.conserves {
            flow.cwnd = cwnd.max(flow.in_flight() as f64 + delivered);
            return;
        }
        let mut target = self.bdp(self.rate(), self.cwnd_gain);
        if self.full {
            let extra = self.aggregation.extra[0].max(self.aggregation.extra[1]);
            target += extra.min((self.rate() * AGGREGATION_TIME).floor());
        }
        target = self.with_bursts(flow, target);
        if self.full {
            cwnd = (cwnd + delivered).min(target);
        } else if cwnd < target || (flow.delivery.delivered as f64) < INITIAL_CWND {
            cwnd += delivered;
        }
        flow.cwnd = cwnd.max(LEAST_CWND);
    }

    /// Saves the window before a recovery or a probe of the round-trip time reduces it.
    fn save_cwnd(&mut self, flow: &FlowState) {
        let whole = self.prior_phase < Phase::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if whole { flow.cwnd } else { self.prior_cwnd.max(flow.cwnd) };
    }
}

/// Sets the pacing rate to `rate` (packets per second) times [`PACING_MARGIN`], and sets the size of a paced burst.
fn set_rate(flow: &mut FlowState, rate: f64) {
    let rate = (rate * PACING_MARGIN).max(1e-3);
    let least = if rate < TWO_PACKETS_FROM { 1.0 } else { 2.0 };
    flow.pacing_rate = Some(rate);
    flow.burst = (rate * BURST_TIME).min(BURST_MOST).max(least) as u32;
}
