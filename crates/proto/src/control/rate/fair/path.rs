//! What the reports show of the path: delays, the erasure floor, and the pattern of losses.

use super::super::erasure::ErasureFloor;
use super::super::queue::{QueueView, Recent};
use super::super::{GainClass, Report, Settled, Tuning};
use super::long_queue::LongQueue;
use super::rounds::Round;
use crate::control::filter::WindowedMax;
use crate::control::loss::Losses;
use ripstop_base::Time;

/// The controller's measurements of its path.
#[derive(Clone, Debug)]
pub(super) struct PathState {
    /// Size of a full packet, bytes.
    pub(super) packet: f64,
    /// Estimated rate of the bottleneck, byte/s. Only `Fair` sets it.
    pub(super) bandwidth: f64,
    /// The largest recent estimate of the rate, byte/s. It decays with `top-decay`.
    pub(super) top: f64,
    /// Least round-trip time, s.
    pub(super) min_rtt: f64,
    /// When `min_rtt` was last measured.
    min_rtt_renewed: Time,
    /// Whether `min_rtt` was measured. False: `min_rtt` is the round-trip time of the handshake.
    min_rtt_measured: bool,
    /// The last round-trip times, s. The least round-trip time must last for all of them, as the least one-way delay must.
    rtts: Recent,
    /// Smoothed round-trip time, s.
    pub(super) srtt: f64,
    /// Interval between the receiver's reports, s.
    pub(super) report_every: f64,
    pub(super) queue: QueueView,
    /// A slow mean of the queueing delay, s: over `queue-mean` smoothed round trips.
    queue_mean: f64,
    /// The longest queueing delays of the last 10 s.
    longest: WindowedMax,
    pub(super) long: LongQueue,
    pub(super) erasure: ErasureFloor,
    /// Overdispersion of losses: the variance of the number of losses in a round, divided by the
    /// variance that independent losses would have. 1 for independent losses, more for losses in
    /// runs.
    dispersion: f64,
    /// Recent losses, from all causes.
    pub(super) losses: Losses,
    /// Recent losses of the direction in which the reports come.
    losses_back: Losses,
    /// Share of packets lost, over about `loss-mean` packets.
    pub(super) loss_mean: f64,
    /// Number of standing queues that were accepted as a delay of the path.
    pub(super) delays_accepted: u64,
}

impl PathState {
    pub(super) fn new(now: Time, packet: f64, rtt: f64, rate: f64, tuning: &Tuning) -> PathState {
        PathState {
            packet,
            bandwidth: rate,
            top: 0.0,
            min_rtt: rtt,
            min_rtt_renewed: now,
            min_rtt_measured: false,
            rtts: Recent::default(),
            srtt: rtt,
            report_every: 0.0,
            queue: QueueView::new(&tuning.queue),
            queue_mean: 0.0,
            longest: WindowedMax::new((tuning.queue.longest_for * 1e9) as u64),
            long: LongQueue::new(rate),
            erasure: ErasureFloor::default(),
            dispersion: 1.0,
            losses: Losses::default(),
            losses_back: Losses::default(),
            loss_mean: 0.0,
            delays_accepted: 0,
        }
    }

    /// Takes the delays and losses of a report that came `dt` seconds after the last one.
    pub(super) fn observe(&mut self, report: &Report, dt: f64, tuning: &Tuning) {
        self.srtt = report.srtt.as_secs_f64();
        self.report_every = report.report_every.as_secs_f64();
        self.losses = report.losses;
        self.losses_back = report.losses_back;
        let Settled { packets, lost } = report.settled_total();
        let packets = f64::from(packets);
        self.loss_mean += (f64::from(lost) - self.loss_mean * packets) / tuning.erasure.loss_mean.max(packets);
        self.top *= (-dt / tuning.path.top_decay).exp();
        self.erasure.fade(dt, self.min_rtt, &tuning.erasure);
        if let Some(delay) = report.one_way_delay {
            self.queue.offer(report.now, delay, &tuning.queue);
        }
        let part = (dt / (tuning.queue.mean * self.srtt).max(1e-3)).min(1.0);
        self.queue_mean += (self.queue.delay() - self.queue_mean) * part;
        self.longest.offer(report.now.as_nanos(), self.queue.delay());
        let long = self.is_long(self.queue.delay(), tuning) && self.queue.delay() > 0.1 * self.longest_queue();
        self.long.observe(report.now, long, self.queue.delay(), self.bandwidth, (part, self.srtt));
        if let Some(rtt) = report.rtt {
            self.observe_rtt(report.now, rtt.as_secs_f64(), tuning);
        }
    }

    fn observe_rtt(&mut self, now: Time, rtt: f64, tuning: &Tuning) {
        // The first sample replaces the round-trip time of the handshake, whose datagrams may have
        // been lost or slow.
        let first = !std::mem::replace(&mut self.min_rtt_measured, true);
        let rtt = self.rtts.offer(rtt, &tuning.queue);
        if first || rtt <= self.min_rtt {
            self.min_rtt = rtt;
            self.min_rtt_renewed = now;
        } else if now.since(self.min_rtt_renewed).as_secs_f64() > tuning.path.rtt_renewed && self.is_short(tuning) {
            self.min_rtt += (rtt - self.min_rtt) * tuning.path.renewal;
        }
    }

    /// Counts settled datagrams for the erasure floor. The caller knows that the path was not full.
    pub(super) fn learn_erasures(&mut self, now: Time, settled: &[Settled; 3], tuning: &Tuning) {
        self.erasure.add(now, GainClass::Below, settled[0], self.bandwidth, &tuning.erasure);
        self.erasure.add(now, GainClass::At, settled[1], self.bandwidth, &tuning.erasure);
    }

    /// Time from a change of the rate until a report shows its effect, s.
    pub(super) fn response(&self) -> f64 {
        self.min_rtt + self.report_every
    }

    /// For how long the sender goes on without a report, s, before the window stops it.
    ///
    /// The sender outlasts the loss of one or two reports, and most runs of lost reports (`blind-runs`).
    pub(super) fn blind_time(&self, tuning: &Tuning) -> f64 {
        let usual = 2.5 * self.report_every;
        if self.losses_back.share < tuning.path.lost_reports {
            return usual;
        }
        (tuning.path.blind_runs * self.losses_back.burst * self.report_every).min(self.min_rtt).max(usual)
    }

    /// Bandwidth-delay product, bytes.
    pub(super) fn bdp(&self) -> f64 {
        self.bandwidth * self.min_rtt
    }

    /// A queue counts as short up to this queueing delay, s: twice the jitter, plus the largest of
    /// `short-queue`, its part of the round trip, and the time to send 2.5 packets.
    pub(super) fn short_queue(&self, tuning: &Tuning) -> f64 {
        let packets = 2.5 * self.packet / self.top.max(self.bandwidth);
        (tuning.queue.short_part * self.min_rtt).max(tuning.queue.short).max(packets) + 2.0 * self.queue.jitter()
    }

    /// Whether the queue is short now.
    pub(super) fn is_short(&self, tuning: &Tuning) -> bool {
        self.queue.delay() <= self.short_queue(tuning)
    }

    /// Whether the queue is so long that an AQM or a full queue may have dropped packets: longer than a short queue and
    /// than `aqm-target`, or than half of the longest recent queue. CoDel drops after the delay has exceeded its target for
    /// 100 ms, so the least delay of the last reports counts: with jitter, single reports are above the target.
    pub(super) fn may_drop(&self, tuning: &Tuning) -> bool {
        let least =
            self.short_queue(tuning).max(tuning.queue.aqm_target.min(tuning.evidence.half_full * self.longest_queue()));
        self.queue.lasting() > least
    }

    /// Whether others may keep a queue with the delay `queue`, s: the queue is not short, and its delay is a noticeable
    /// part of the round trip.
    pub(super) fn is_long(&self, queue: f64, tuning: &Tuning) -> bool {
        queue > self.short_queue(tuning).max(tuning.queue.long_part * self.min_rtt)
    }

    /// By how much the queueing delay has risen during the last few round trips, s.
    pub(super) fn queue_rise(&self) -> f64 {
        (self.queue.delay() - self.queue_mean).max(0.0)
    }

    /// By how much the mean queueing delay has varied since the queue became long, s.
    pub(super) fn queue_range(&self) -> f64 {
        self.long.variation()
    }

    /// The longest queueing delay of the last 10 s.
    pub(super) fn longest_queue(&self) -> f64 {
        self.longest.get().unwrap_or(0.0)
    }

    /// For how long the queue has been long, s.
    pub(super) fn long_for(&self, now: Time) -> f64 {
        self.long.lasts(now)
    }

    /// Counts the queueing delay `queue`, s, as a delay of the path from now on.
    ///
    /// Such a delay arises when the path becomes longer. It also arises from jitter: one packet of
    /// many sent far apart may have a very low delay, which packets sent close together never have.
    pub(super) fn accept_delay(&mut self, now: Time, queue: f64) {
        self.queue.accept_as_path_delay(now, queue);
        self.longest.reset(now.as_nanos(), self.queue.delay());
        self.min_rtt += queue;
        self.min_rtt_renewed = now;
        self.long.since = None;
        self.delays_accepted += 1;
    }

    /// Whether the mean loss is above `share` by more than chance explains.
    pub(super) fn loses_more_than(&self, share: f64, tuning: &Tuning) -> bool {
        let chance = (self.losses.dispersion() * share / tuning.erasure.loss_mean).sqrt();
        self.loss_mean > share + 2.0 * chance
    }

    /// Whether `settled` has more losses than the erasure floor explains. The losses must exceed
    /// the expected number by more than `deviations` standard deviations plus the share `slack` of
    /// the packets.
    pub(super) fn exceeds(&self, settled: Settled, deviations: f64, slack: f64) -> bool {
        self.exceeds_runs(settled, 0.0, deviations, slack)
    }

    /// Like [`PathState::exceeds`], but the effect of runs of losses, which take `share` of the packets, counts as chance.
    ///
    /// If losses come in runs, the number of losses varies more ([`Losses::dispersion`]).
    fn exceeds_runs(&self, settled: Settled, share: f64, deviations: f64, slack: f64) -> bool {
        let n = f64::from(settled.packets);
        let floor = self.erasure.get();
        let variance = (self.dispersion.max(1.0) * floor).max(self.losses.dispersion() * share);
        f64::from(settled.lost) > floor * n + deviations * (variance * n).sqrt() + slack * n
    }

    /// Whether a whole round has more losses than the erasure floor, chance and the share `slack` explain.
    ///
    /// The effect of runs of losses counts as chance. If most packets of the round were
    /// reported while the queue was long, the queue caused the losses, and runs do not count.
    pub(super) fn round_exceeds(&self, round: &Round, slack: f64) -> bool {
        let queued = 2 * round.queued.packets > round.all.packets;
        let share = if queued { 0.0 } else { self.losses.share.max(self.erasure.get()) };
        self.exceeds_runs(round.all, share, 2.0, slack)
    }

    /// Whether the packets `settled` during a probe have more losses than the erasure floor and chance explain. The
    /// effect of runs of losses counts as chance, but losses far above the floor do not tell how long random runs are.
    pub(super) fn probe_exceeds(&self, settled: Settled) -> bool {
        self.exceeds_runs(settled, self.losses.share.min(1.5 * self.erasure.get()), 2.0, 0.02)
    }

    /// Updates the overdispersion of losses from a round with a short queue.
    pub(super) fn learn_dispersion(&mut self, round: &Round) {
        let n = f64::from(round.all.packets);
        let floor = self.erasure.get();
        let off = f64::from(round.all.lost) - floor * n;
        let ratio = (off * off / (n * floor * (1.0 - floor) + 0.5)).min(16.0);
        self.dispersion += (ratio - self.dispersion) / 16.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_losses_is_no_overshoot() {
        let mut path = PathState::new(Time::ZERO, 1500.0, 0.1, 1e6, &Tuning::default());
        let half = Settled { packets: 40, lost: 20 };
        let round = Round { all: half, ..Round::EMPTY };
        path.losses = Losses { share: 0.25, burst: 1.0 };
        assert!(path.round_exceeds(&round, 0.02), "for independent losses, 20 of 40 lost must count as an overshoot");
        path.losses.burst = 15.0;
        assert!(!path.round_exceeds(&round, 0.02) && !path.round_exceeds(&round, Tuning::default().start.overshoot));
        let queued = Round { queued: half, ..round };
        assert!(path.round_exceeds(&queued, 0.02), "drops of a long queue must not be excused as runs of losses");
        let large = Round { all: Settled { packets: 4_000, lost: 2_000 }, ..Round::EMPTY };
        assert!(path.round_exceeds(&large, 0.02), "2000 of 4000 lost are more than runs of 15 explain");
    }

    #[test]
    fn runs_of_lost_reports_extend_the_window() {
        let mut path = PathState::new(Time::ZERO, 1500.0, 0.1, 1e6, &Tuning::default());
        path.report_every = 0.01;
        path.losses_back = Losses { share: 0.2, burst: 1.25 };
        assert_eq!(path.blind_time(&Tuning::default()), 0.025, "single lost reports");
        path.losses_back.burst = 4.0;
        assert_eq!(path.blind_time(&Tuning::default()), 0.08);
        path.losses_back.burst = 40.0;
        assert_eq!(path.blind_time(&Tuning::default()), 0.1, "a round trip at most");
        path.losses_back.share = 0.0;
        assert_eq!(path.blind_time(&Tuning::default()), 0.025);
    }
}
