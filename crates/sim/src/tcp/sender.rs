//! What all senders share: sequence space, window, timer, and what is sent when.
//!
//! Numbers are packets from 0 on. The first packet stands for the SYN: it carries no data, and the initial window opens
//! when it is acknowledged. Names are those of RFC 793 and RFC 5681: `una` is the first that is not acknowledged, `nxt` the
//! next to send (it goes back to `una` after a time-out), `max` one past the highest ever sent.

use super::rto::{Rto, RtoConfig};
use super::vegas::VegasConfig;
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;

/// Duplicate acknowledgements that tell of a loss.
pub(super) const DUPLICATES: u32 = 3;

/// What a sender is told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The receiver's window, packets.
    pub window: u32,
    /// The congestion window at first, packets.
    pub initial_window: u32,
    /// The retransmission time-out.
    pub rto: RtoConfig,
    /// Whether the first two duplicate acknowledgements send a new packet each (RFC 3042).
    pub limited_transmit: bool,
    /// What only Vegas is told.
    pub vegas: VegasConfig,
}

impl Default for SenderConfig {
    /// 50 packets, 2 at first, limited transmit; time-out and Vegas as in ns-2.
    fn default() -> SenderConfig {
        SenderConfig {
            window: 50,
            initial_window: 2,
            rto: RtoConfig::default(),
            limited_transmit: true,
            vegas: VegasConfig::default(),
        }
    }
}

/// What a sender did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Packets sent, again or not.
    pub sent: u64,
    /// Of these, sent before.
    pub retransmits: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Losses told by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// Acknowledgements taken in.
    pub acks: u64,
    /// Of these, duplicates.
    pub duplicate_acks: u64,
}

/// Why the window was cut last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastReduction {
    Never,
    DuplicateAcks,
    /// By duplicates, and that recovery is over.
    Recovered,
    Timeout,
}

/// The state that all senders share.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) config: SenderConfig,
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) max: u64,
    /// One past the last that there is to send.
    pub(super) end: u64,
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
    pub(super) duplicates: u32,
    /// `max` when the window was last cut: no second cut for the same flight ("bugfix", RFC 6582).
    pub(super) recover: u64,
    pub(super) last_reduction: LastReduction,
    pub(super) rto: Rto,
    /// Whether the SYN timed out.
    syn_lost: bool,
    /// The packet whose round trip is being timed, and since when.
    timed: Option<(u64, Time)>,
    /// Packets below this were timed already.
    timed_to: u64,
    /// When the retransmission timer runs out; never, when it does not run.
    pub(super) deadline: Time,
    out: VecDeque<u64>,
    pub(super) counts: TcpCounts,
}

impl Core {
    pub(super) fn new(config: SenderConfig, random: &mut Stream) -> Core {
        Core {
            config,
            una: 0,
            nxt: 0,
            max: 0,
            end: 0,
            cwnd: 1.0,
            ssthresh: f64::from(config.window),
            duplicates: 0,
            recover: 0,
            last_reduction: LastReduction::Never,
            rto: Rto::new(config.rto, random.unit()),
            syn_lost: false,
            timed: None,
            timed_to: 0,
            deadline: Time::NEVER,
            out: VecDeque::with_capacity(64),
            counts: TcpCounts::default(),
        }
    }

    /// The next packet that was sent.
    pub(super) fn poll(&mut self) -> Option<u64> {
        self.out.pop_front()
    }

    /// What leaves now and was not polled yet.
    pub(super) fn sent_now(&self) -> impl Iterator<Item = u64> + '_ {
        self.out.iter().copied()
    }

    /// What may be unacknowledged: the smaller of congestion window and receiver's, whole packets.
    pub(super) fn window(&self) -> u64 {
        self.cwnd.min(f64::from(self.config.window)) as u64
    }

    /// Sends what `window` allows, at most `burst` packets.
    pub(super) fn fill(&mut self, now: Time, window: u64, burst: u32) {
        for _ in 0..burst {
            if self.nxt >= self.una + window || self.nxt >= self.end {
                return;
            }
            self.transmit(now, self.nxt);
            self.nxt += 1;
        }
    }

    /// Sends packet `number`, for the first time or again.
    pub(super) fn transmit(&mut self, now: Time, number: u64) {
        // With nothing under way the timer starts anew, even if it runs.
        let idle = self.una == self.max;
        self.out.push_back(number);
        self.counts.sent += 1;
        if number >= self.max {
            self.max = number + 1;
            if self.timed.is_none() && number >= self.timed_to {
                self.timed = Some((number, now));
                self.timed_to = number + 1;
            }
        } else {
            self.counts.retransmits += 1;
        }
        if idle || self.deadline == Time::NEVER {
            self.set_timer(now);
        }
    }

    /// A new packet for each of the first two duplicates (RFC 3042).
    pub(super) fn limited_transmit(&mut self, now: Time) {
        let room = (self.una + u64::from(self.config.window)).min(self.end);
        let inflated = self.cwnd + f64::from(self.duplicates);
        // It has to fit whole: the fraction of a packet in the window does not let one more go.
        let flight = (self.nxt + 1 - self.una) as f64;
        if self.config.limited_transmit && self.nxt < room && flight <= inflated {
            self.transmit(now, self.nxt);
            self.nxt += 1;
        }
    }

    /// A duplicate under Reno and NewReno. `inflation` counts the packets that have left the path during fast recovery.
    pub(super) fn take_duplicate(&mut self, now: Time, inflation: &mut u64) {
        self.duplicates += 1;
        if self.duplicates == DUPLICATES {
            if self.fast_retransmit(now) {
                *inflation = u64::from(DUPLICATES);
            }
        } else if self.duplicates > DUPLICATES {
            *inflation += u64::from(self.in_recovery());
        } else {
            self.limited_transmit(now);
        }
    }

    /// The window in fast recovery. The receiver's window bounds it: at a full window nothing new leaves during recovery.
    pub(super) fn inflated_window(&self, inflation: u64) -> u64 {
        (self.cwnd as u64 + inflation).min(u64::from(self.config.window))
    }

    pub(super) fn set_timer(&mut self, now: Time) {
        self.deadline = now + self.rto.timeout();
    }

    /// Everything before `una` is acknowledged.
    pub(super) fn advance(&mut self, una: u64) {
        self.una = una;
        self.nxt = self.nxt.max(una);
    }

    /// The usual work of an acknowledgement that tells something new.
    pub(super) fn take_new_ack(&mut self, now: Time, una: u64) {
        self.duplicates = 0;
        self.advance(una);
        if let Some((number, sent)) = self.timed
            && una > number
        {
            self.timed = None;
            self.rto.end_back_off();
            self.rto.sample(sent, now);
        }
        // Also when nothing is left under way: after an idle time-out it begins anew with one packet (RFC 2581, 4.1).
        self.set_timer(now);
    }

    /// As [`Core::take_new_ack`] without growth of anything: in a recovery that goes on.
    pub(super) fn take_partial_ack(&mut self, una: u64) {
        self.advance(una);
        if self.timed.is_some_and(|(number, _)| una > number) {
            self.timed = None;
            self.rto.end_back_off();
        }
    }

    /// Slow start below the threshold, a packet a round trip above it. It grows beyond the receiver's window.
    pub(super) fn open_window(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    /// Growth for an acknowledgement of something new; that of the SYN opens the initial window.
    pub(super) fn grow_after_ack(&mut self) {
        self.open_window();
        if self.una == 1 {
            self.cwnd = f64::from(self.initial_window());
        }
    }

    /// The window that the acknowledgement of the SYN opens.
    pub(super) fn initial_window(&self) -> u32 {
        if self.syn_lost { 1 } else { self.config.initial_window }
    }

    /// Whether duplicates cut the window last, and that recovery is not over.
    pub(super) fn in_recovery(&self) -> bool {
        self.last_reduction == LastReduction::DuplicateAcks
    }

    /// All is acknowledged that was under way when the recovery began.
    pub(super) fn end_recovery(&mut self) {
        if self.last_reduction == LastReduction::DuplicateAcks {
            self.last_reduction = LastReduction::Recovered;
        }
    }

    /// Half of what may be under way becomes the threshold, at least two packets. Answers the half, at least one.
    pub(super) fn halve(&mut self) -> f64 {
        let half = self.cwnd.min(f64::from(self.config.window)) / 2.0;
        self.ssthresh = half.floor().max(2.0);
        half.max(1.0)
    }

    /// Whether duplicates may cut the window: not for a flight for which it was cut already.
    pub(super) fn may_reduce(&self) -> bool {
        self.una > self.recover || self.una == 1
    }

    /// Halves the window, sends the first packet again and begins a recovery; false for a flight for which the window was
    /// cut already.
    pub(super) fn fast_retransmit(&mut self, now: Time) -> bool {
        if !self.may_reduce() {
            return false;
        }
        self.cwnd = self.halve();
        self.begin_recovery(now);
        self.transmit(now, self.una);
        true
    }

    /// Begins a recovery that duplicates called for: what is timed is forgotten, the timer starts anew.
    pub(super) fn begin_recovery(&mut self, now: Time) {
        self.recover = self.max;
        self.last_reduction = LastReduction::DuplicateAcks;
        self.counts.fast_retransmits += 1;
        self.timed = None;
        self.set_timer(now);
    }

    /// Backs off and starts the timer anew; what is timed is forgotten.
    pub(super) fn back_off(&mut self, now: Time) {
        self.rto.back_off();
        self.timed = None;
        self.set_timer(now);
    }

    /// A time-out: one packet, slow start, everything from `una` on again.
    pub(super) fn time_out(&mut self, now: Time) {
        if self.una < self.max {
            self.counts.timeouts += 1;
            self.halve();
            self.back_off(now);
            // A path that lost the SYN is not met with more than one packet (RFC 5681, section 3.1).
            self.syn_lost |= self.una == 0;
        } else {
            self.deadline = Time::NEVER;
        }
        self.cwnd = 1.0;
        self.go_back();
    }

    /// A time-out after which the window is filled at once.
    pub(super) fn restart(&mut self, now: Time) {
        self.duplicates = 0;
        self.time_out(now);
        self.fill(now, self.window(), u32::MAX);
    }

    /// What follows every time-out: all that was under way counts as lost.
    pub(super) fn go_back(&mut self) {
        self.recover = self.max;
        self.last_reduction = LastReduction::Timeout;
        self.nxt = self.una;
        self.timed = None;
    }
}
