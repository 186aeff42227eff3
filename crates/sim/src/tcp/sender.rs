//! The state that the ns-2 algorithms share: sequence numbers, window, retransmission timer, and the rules for sending.
//!
//! Packets are numbered from 0. The first packet stands for the SYN: it carries no data, and its acknowledgement opens
//! the initial window.
//!
//! The names are from RFC 793 and RFC 5681. `una` is the first unacknowledged packet. `nxt` is the next packet to send;
//! a time-out, and in Tahoe any reduction, sets it back to `una`. `max` is one past the highest packet ever sent.

use super::rto::{Rto, RtoConfig};
use ripstop_base::{Stream, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Number of duplicate acknowledgements that indicate a loss (RFC 5681, section 3.2). A smaller value mistakes
/// reordering for loss. A larger value repairs later, and losses in small windows wait for the time-out.
pub(super) const DUPLICATES: u32 = 3;

/// The settings of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderConfig {
    /// The receiver's window in packets.
    pub window: u32,
    /// The initial congestion window in packets.
    pub initial_window: u32,
    /// The retransmission time-out.
    pub rto: RtoConfig,
    /// Whether each of the first two duplicate acknowledgements sends a new packet (RFC 3042).
    pub limited_transmit: bool,
    /// Whether packets are ECN-capable, and the sender reacts to echoed marks (RFC 3168). The ns-2 algorithms ignore
    /// this setting.
    pub ecn: bool,
    /// The thresholds of Vegas; other algorithms ignore them.
    pub vegas: VegasConfig,
}

impl Default for SenderConfig {
    /// The receiver's window is 50 packets, and the initial window is 2 packets. Limited transmit is on. Time-out and
    /// Vegas are as in ns-2.
    fn default() -> SenderConfig {
        SenderConfig {
            window: 50,
            initial_window: 2,
            rto: RtoConfig::default(),
            limited_transmit: true,
            ecn: false,
            vegas: VegasConfig::default(),
        }
    }
}

/// The thresholds of Vegas, in packets. Vegas compares them with the number of the connection's packets that are queued
/// on its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VegasConfig {
    /// The window grows while fewer packets than this are queued.
    pub alpha: u32,
    /// The window shrinks while more packets than this are queued.
    pub beta: u32,
    /// Slow start ends when more packets than this are queued.
    pub gamma: u32,
}

impl VegasConfig {
    /// 28, 30 and 2, as in the work of Sundararajan et al. That work introduced TCP/NC, and runs TCP/NC below Vegas.
    ///
    /// After a loss, fewer packets than the window arrive in a round trip. To Vegas, this looks like a queue. With
    /// thresholds this high, Vegas does not mistake losses for a queue. ns-2's figures for paper 000 were made with
    /// these thresholds, and the simulator agrees with all these figures. With ns-2's default thresholds, ns-2's own
    /// results are 5 % below the figures where each link loses q = .005 of the packets.
    pub const LOSSY: VegasConfig = VegasConfig { alpha: 28, beta: 30, gamma: 2 };
}

impl Default for VegasConfig {
    /// 1, 3 and 1, as in ns-2.
    fn default() -> VegasConfig {
        VegasConfig { alpha: 1, beta: 3, gamma: 1 }
    }
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpCounts {
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions; `sent` includes them.
    pub retransmits: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Recoveries begun by duplicate acknowledgements, or by RACK in the modern sender.
    pub fast_retransmits: u64,
    /// Acknowledgements handled.
    pub acks: u64,
    /// Duplicate acknowledgements handled.
    pub duplicate_acks: u64,
}

/// The cause of the last reduction of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastReduction {
    Never,
    DuplicateAcks,
    /// Duplicate acknowledgements. The recovery that they began is over.
    Recovered,
    Timeout,
}

/// The state that the ns-2 algorithms share.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub(super) config: SenderConfig,
    pub(super) una: u64,
    pub(super) nxt: u64,
    pub(super) max: u64,
    /// One past the last packet to send.
    pub(super) end: u64,
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
    pub(super) duplicates: u32,
    /// `max` when the window was last reduced. Losses of packets below this number cause no further reduction, so one
    /// flight causes one reduction ("bugfix" in ns-2, RFC 6582).
    pub(super) recover: u64,
    pub(super) last_reduction: LastReduction,
    pub(super) rto: Rto,
    /// Whether the SYN timed out.
    syn_lost: bool,
    /// The packet whose round trip is being timed, and when it was sent.
    timed: Option<(u64, Time)>,
    /// Packets below this number are not timed any more, so that no packet is timed twice.
    timed_to: u64,
    /// When the retransmission timer expires; [`Time::NEVER`] when it is off.
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

    /// The next packet to hand to the caller.
    pub(super) fn poll(&mut self) -> Option<u64> {
        self.out.pop_front()
    }

    /// Packets sent and not polled yet.
    pub(super) fn sent_now(&self) -> impl Iterator<Item = u64> + '_ {
        self.out.iter().copied()
    }

    /// The largest allowed number of unacknowledged packets: the smaller of congestion window and receiver's window, in
    /// whole packets.
    pub(super) fn window(&self) -> u64 {
        self.cwnd.min(f64::from(self.config.window)) as u64
    }

    /// Sends at most `burst` new packets, while fewer than `window` packets are unacknowledged.
    pub(super) fn fill(&mut self, now: Time, window: u64, burst: u32) {
        for _ in 0..burst {
            if self.nxt >= self.una + window || self.nxt >= self.end {
                return;
            }
            self.transmit(now, self.nxt);
            self.nxt += 1;
        }
    }

    /// Sends packet `number`, which is new or is sent again.
    pub(super) fn transmit(&mut self, now: Time, number: u64) {
        // With nothing in flight the timer restarts, even if it is running.
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

    /// Sends a new packet for each of the first two duplicates (RFC 3042).
    pub(super) fn limited_transmit(&mut self, now: Time) {
        let room = (self.una + u64::from(self.config.window)).min(self.end);
        let inflated = self.cwnd + f64::from(self.duplicates);
        // The whole packet must fit into the window: room for a fraction of a packet is not enough.
        let flight = (self.nxt + 1 - self.una) as f64;
        if self.config.limited_transmit && self.nxt < room && flight <= inflated {
            self.transmit(now, self.nxt);
            self.nxt += 1;
        }
    }

    /// Handles a duplicate acknowledgement for Reno or NewReno. `inflation` counts the packets that have left the path
    /// during fast recovery.
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

    /// The window in fast recovery. The receiver's window bounds this window. At a full window, no new packet therefore
    /// leaves during recovery.
    pub(super) fn inflated_window(&self, inflation: u64) -> u64 {
        (self.cwnd as u64 + inflation).min(u64::from(self.config.window))
    }

    pub(super) fn set_timer(&mut self, now: Time) {
        self.deadline = now + self.rto.timeout();
    }

    /// Moves the first unacknowledged packet to `una`.
    pub(super) fn advance(&mut self, una: u64) {
        self.una = una;
        self.nxt = self.nxt.max(una);
    }

    /// Handles an acknowledgement of new data outside recovery: samples the round trip and restarts the timer.
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
        // The timer restarts even if nothing is in flight. If the timer expires while the sender is idle, the sender
        // later restarts with one packet (RFC 2581, section 4.1).
        self.set_timer(now);
    }

    /// Handles an acknowledgement of new data in a recovery that continues. Takes no round-trip sample.
    pub(super) fn take_partial_ack(&mut self, una: u64) {
        self.advance(una);
        if self.timed.is_some_and(|(number, _)| una > number) {
            self.timed = None;
            self.rto.end_back_off();
        }
    }

    /// Grows the window. Below the threshold, the window grows by slow start. From the threshold on, the window grows
    /// by one packet per round trip. The receiver's window does not limit the growth.
    pub(super) fn open_window(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    /// Grows the window after an acknowledgement of new data. The acknowledgement of the SYN opens the initial window.
    pub(super) fn grow_after_ack(&mut self) {
        self.open_window();
        if self.una == 1 {
            self.cwnd = f64::from(self.initial_window());
        }
    }

    /// The window that the acknowledgement of the SYN opens, in packets.
    pub(super) fn initial_window(&self) -> u32 {
        if self.syn_lost { 1 } else { self.config.initial_window }
    }

    /// Whether a recovery that duplicates began is going on.
    pub(super) fn in_recovery(&self) -> bool {
        self.last_reduction == LastReduction::DuplicateAcks
    }

    /// Ends the recovery: everything in flight at its start is acknowledged.
    pub(super) fn end_recovery(&mut self) {
        if self.last_reduction == LastReduction::DuplicateAcks {
            self.last_reduction = LastReduction::Recovered;
        }
    }

    /// Sets the threshold to half of the window in whole packets, at least 2. Returns the unrounded half, at least 1.
    pub(super) fn halve(&mut self) -> f64 {
        let half = self.cwnd.min(f64::from(self.config.window)) / 2.0;
        self.ssthresh = half.floor().max(2.0);
        half.max(1.0)
    }

    /// Whether duplicate acknowledgements may reduce the window. One flight may cause one reduction. While the first
    /// packet with data is unacknowledged, reductions are always allowed.
    pub(super) fn may_reduce(&self) -> bool {
        self.una > self.recover || self.una == 1
    }

    /// Halves the window, retransmits the first unacknowledged packet and begins a recovery. Does nothing and returns
    /// false if this flight has already reduced the window.
    pub(super) fn fast_retransmit(&mut self, now: Time) -> bool {
        if !self.may_reduce() {
            return false;
        }
        self.cwnd = self.halve();
        self.begin_recovery(now);
        self.transmit(now, self.una);
        true
    }

    /// Begins a recovery: drops the round-trip measurement under way and restarts the timer.
    pub(super) fn begin_recovery(&mut self, now: Time) {
        self.recover = self.max;
        self.last_reduction = LastReduction::DuplicateAcks;
        self.counts.fast_retransmits += 1;
        self.timed = None;
        self.set_timer(now);
    }

    /// Doubles the time-out, restarts the timer and drops the round-trip measurement under way.
    pub(super) fn back_off(&mut self, now: Time) {
        self.rto.back_off();
        self.timed = None;
        self.set_timer(now);
    }

    /// Handles a time-out. The window becomes one packet, slow start begins, and everything from `una` on will be sent
    /// again.
    pub(super) fn time_out(&mut self, now: Time) {
        if self.una < self.max {
            self.counts.timeouts += 1;
            self.halve();
            self.back_off(now);
            // After a lost SYN the initial window is one packet (RFC 5681, section 3.1).
            self.syn_lost |= self.una == 0;
        } else {
            self.deadline = Time::NEVER;
        }
        self.cwnd = 1.0;
        self.go_back();
    }

    /// Handles a time-out, then fills the window.
    pub(super) fn restart(&mut self, now: Time) {
        self.duplicates = 0;
        self.time_out(now);
        self.fill(now, self.window(), u32::MAX);
    }

    /// Counts every packet in flight as lost after a time-out.
    pub(super) fn go_back(&mut self) {
        self.recover = self.max;
        self.last_reduction = LastReduction::Timeout;
        self.nxt = self.una;
        self.timed = None;
    }
}
