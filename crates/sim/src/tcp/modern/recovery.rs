//! Recoveries and time-outs: how they begin, how they end, and how spurious reductions of the window are undone.
//!
//! A recovery repairs the losses of one flight. It begins when a loss is detected, and ends when all packets sent
//! before its start are acknowledged. The states are the values of [`Phase`].

use super::control::{AckSummary, CongestionControl, Phase};
use super::scoreboard::SentPacket;
use super::{Ack, Modern, Timer};
use ripstop_base::Time;
use std::time::Duration;

/// The current recovery, or the last recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    /// One past the last packet that had been sent when the recovery, the repair of a time-out or F-RTO's probing
    /// began. The recovery or repair ends when all packets below this number are acknowledged.
    pub(super) high: u64,
    pub(super) frto: Frto,
    /// Time-outs since the last acknowledgement of new packets in order.
    pub(super) timeouts: u32,
    pub(super) proportion: Proportion,
    /// The state to restore if the last reduction proves spurious.
    undo: Option<Undo>,
}

/// The detection of spurious time-outs (F-RTO, RFC 5682).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// No detection in progress.
    #[default]
    Off,
    /// The first unacknowledged packet was retransmitted. The next acknowledgement of new packets in order decides.
    Waiting,
    /// The acknowledgement in [`Frto::Waiting`] did not decide. New packets are sent, and the next acknowledgement
    /// decides.
    Probing,
}

/// The state of proportional rate reduction in a recovery (RFC 6937).
#[derive(Clone, Debug, Default)]
pub(super) struct Proportion {
    /// The window in packets before the reduction.
    prior_cwnd: f64,
    /// Packets delivered since the reduction.
    delivered: u64,
    /// Packets sent since the reduction.
    pub(super) sent: u64,
}

/// The state before a reduction that may prove spurious.
#[derive(Clone, Debug)]
struct Undo {
    /// The first unacknowledged packet at the reduction.
    marker: u64,
    /// Retransmissions that the receiver has not reported as unnecessary. The reduction was spurious if this number
    /// falls to 0. None before the first retransmission.
    needed: Option<u64>,
    cwnd: f64,
    ssthresh: f64,
}

impl Recovery {
    pub(super) fn note_resent(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.needed = Some(undo.needed.unwrap_or(0) + 1);
        }
    }

    /// Notes that the receiver reported `number` as received twice.
    pub(super) fn on_duplicate(&mut self, number: u64) {
        if let Some(undo) = self.undo.as_mut().filter(|undo| number >= undo.marker) {
            undo.needed = undo.needed.map(|needed| needed.saturating_sub(1));
        }
    }

    /// Whether all retransmissions since the reduction were unnecessary.
    fn is_needless(&self) -> bool {
        self.undo.as_ref().is_some_and(|undo| undo.needed == Some(0))
    }
}

/// The packets that an acknowledgement reports for the first time.
#[derive(Clone, Debug, Default)]
pub(super) struct AckNews {
    /// Whether new packets were acknowledged in order.
    pub(super) in_order: bool,
    /// The number of packets reported.
    pub(super) delivered: u64,
    /// Whether some of the packets were acknowledged out of order.
    pub(super) sacked: bool,
    /// Packets that arrived after packets with higher numbers, and were sent only once.
    pub(super) reordered: u64,
    /// Whether the receiver reported a packet as received twice.
    pub(super) duplicate: bool,
    /// Whether one of the packets was sent only once, and before the last recovery or time-out began.
    pub(super) original: bool,
    /// Whether a retransmitted packet was acknowledged in order. Its round-trip time is ambiguous.
    pub(super) ambiguous: bool,
    /// When the oldest and the newest packet were sent. Counts packets that were sent only once and acknowledged in
    /// order.
    pub(super) acked: Option<(Time, Time)>,
    /// When the oldest and the newest packet were sent. Counts packets that were sent only once and acknowledged out of
    /// order.
    pub(super) blocks: Option<(Time, Time)>,
}

impl AckNews {
    /// Adds packet `number`. `sacked`: the packet was acknowledged out of order. `high`: see [`Recovery::high`].
    /// `highest`: one past the highest packet that earlier acknowledgements reported out of order.
    pub(super) fn add(&mut self, number: u64, packet: &SentPacket, sacked: bool, high: u64, highest: u64) {
        self.delivered += 1;
        self.sacked |= sacked;
        if packet.ambiguous {
            self.ambiguous |= !sacked;
            return;
        }
        self.original |= number < high;
        self.reordered += u64::from(number < highest);
        let times = if sacked { &mut self.blocks } else { &mut self.acked };
        let (oldest, newest) = times.get_or_insert((packet.sent, packet.sent));
        *oldest = (*oldest).min(packet.sent);
        *newest = (*newest).max(packet.sent);
    }

    /// The round-trip time of the newest packet, which waited least for its acknowledgement.
    pub(super) fn rtt(&self, now: Time) -> Option<Duration> {
        self.blocks.or(self.acked.filter(|_| !self.ambiguous)).map(|(_, newest)| now.since(newest))
    }

    /// When the oldest of the packets acknowledged out of order was sent.
    pub(super) fn oldest_sacked(&self) -> Option<Time> {
        self.blocks.map(|(oldest, _)| oldest)
    }

    /// The round-trip time of the oldest packet. It includes the delay of a delayed acknowledgement, which the
    /// retransmission time-out must cover.
    pub(super) fn rtt_of_oldest(&self, now: Time) -> Option<Duration> {
        self.acked.filter(|_| !self.ambiguous).or(self.blocks).map(|(oldest, _)| now.since(oldest))
    }
}

impl Modern {
    /// Ends, undoes and begins recoveries after an acknowledgement. Returns whether the reordering timer was set.
    ///
    /// `echo`: the acknowledgement echoes a mark of Congestion Experienced.
    pub(super) fn assess(&mut self, now: Time, news: &AckNews, echo: bool) -> bool {
        match self.flow.phase {
            // One packet more must be acknowledged, as in Linux: the packet with the flag CWR.
            Phase::Reduction if self.flow.board.una() > self.recovery.high => self.end_reduction(),
            Phase::Recovery if self.flow.board.una() >= self.recovery.high => self.end_recovery(now),
            Phase::Loss => self.judge_timeout(now, news),
            _ if self.recovery.is_needless() => self.undo(now, false),
            _ => {}
        }
        let (again, waits) = self.detect(now);
        let fresh = match self.flow.phase {
            Phase::Open | Phase::Disorder | Phase::Reduction => self.flow.board.lost() > 0,
            // A retransmission after the time-out was lost as well.
            Phase::Loss => again > 0,
            Phase::Recovery => false,
        };
        if fresh {
            self.begin_recovery(now);
        } else if echo && self.flow.phase < Phase::Reduction {
            self.begin_reduction(now);
        }
        self.update_disorder();
        waits
    }

    /// Reduces the window because of an echoed mark, as for a loss (RFC 3168, section 6.1.2). Nothing is retransmitted.
    /// BBR (version 1) only announces a reduction that it does not make, as in Linux.
    fn begin_reduction(&mut self, now: Time) {
        if self.algorithm.owns_recovery() {
            let (una, nxt) = self.flow.una_and_nxt();
            if una >= self.ecn.high {
                self.ecn.high = nxt;
                self.ecn.announce = true;
                self.flow.mechanisms.ecn_reductions += 1;
            }
            return;
        }
        self.recovery.undo = None;
        self.reduce(now);
        self.recovery.high = self.flow.board.nxt();
        self.flow.phase = Phase::Reduction;
        self.flow.mechanisms.ecn_reductions += 1;
    }

    /// Ends a reduction: the packets sent before it are acknowledged.
    fn end_reduction(&mut self) {
        self.flow.cwnd = self.flow.ssthresh;
        self.flow.phase = Phase::Open;
    }

    /// Detects losses. Returns how many lost packets had been retransmitted before, and whether the reordering timer
    /// waits for other packets.
    fn detect(&mut self, now: Time) -> (u64, bool) {
        if !self.rack.advanced {
            return (0, false);
        }
        let (again, recheck_at) = self.find_losses(now);
        if let Some(due) = recheck_at {
            (self.timer, self.due) = (Timer::Reordering, due);
        } else if self.timer == Timer::Reordering {
            (self.timer, self.due) = (Timer::Off, Time::NEVER);
            self.set_timer(now, false);
        }
        (again, recheck_at.is_some())
    }

    /// Marks lost packets. Returns how many of these packets had been retransmitted before, and when to look for losses
    /// again.
    fn find_losses(&mut self, now: Time) -> (u64, Option<Time>) {
        let flow = &mut self.flow;
        let recovering = flow.phase >= Phase::Recovery;
        let window = self.rack.window(&flow.board, recovering, flow.rtt.min(), flow.rtt.smoothed());
        let found = self.rack.detect(now, &mut flow.board, window);
        flow.lost += found.lost;
        flow.mechanisms.rack_losses += found.lost;
        flow.mechanisms.rack_lost_again += found.again;
        (found.again, found.recheck_at)
    }

    /// Handles the reordering timer: packets that are too late by now count as lost.
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        self.flow.mechanisms.reorder_timeouts += 1;
        (self.timer, self.due) = (Timer::Off, Time::NEVER);
        let before = self.flow.lost;
        let (_, recheck_at) = self.find_losses(now);
        if self.flow.lost > before && self.flow.phase != Phase::Recovery {
            self.begin_recovery(now);
            if !self.algorithm.owns_recovery() {
                // Lets the first retransmission leave, as if one packet had been delivered.
                self.reduce_by(1, false);
            }
        }
        self.set_timer(now, false);
        if let Some(due) = recheck_at {
            (self.timer, self.due) = (Timer::Reordering, due);
        }
    }

    fn begin_recovery(&mut self, now: Time) {
        self.counts.fast_retransmits += 1;
        if self.flow.phase == Phase::Reduction {
            // The window is being reduced already. The loss belongs to the same congestion.
            self.recovery.undo = None;
        } else {
            self.note_undo();
            self.reduce(now);
        }
        self.recovery.high = self.flow.board.nxt();
        self.recovery.frto = Frto::Off;
        self.flow.phase = Phase::Recovery;
    }

    /// Ends a recovery, because everything sent before its start is acknowledged.
    fn end_recovery(&mut self, now: Time) {
        self.rack.end_recovery();
        if self.recovery.is_needless() {
            return self.undo(now, false);
        }
        if !self.algorithm.owns_recovery() {
            self.flow.cwnd = self.flow.ssthresh;
        }
        self.flow.phase = Phase::Open;
    }

    /// Decides whether the last time-out was spurious, and whether its repair is finished (RFC 5682, section 3.1).
    fn judge_timeout(&mut self, now: Time, news: &AckNews) {
        if self.recovery.frto != Frto::Off && news.original {
            // A packet that was sent only once, before the time-out, has arrived.
            return self.undo(now, true);
        }
        let (una, nxt) = self.flow.una_and_nxt();
        let over = una >= self.recovery.high;
        self.recovery.frto = match self.recovery.frto {
            Frto::Waiting if !news.in_order => Frto::Waiting,
            Frto::Waiting if !over && self.next_new().is_some() => {
                self.recovery.high = nxt;
                Frto::Probing
            }
            _ => Frto::Off,
        };
        if over {
            if self.recovery.is_needless() {
                self.undo(now, true);
            } else {
                self.flow.phase = Phase::Open;
            }
        }
    }

    /// Handles the retransmission timer.
    pub(super) fn on_retransmission_timeout(&mut self, now: Time) {
        self.counts.timeouts += 1;
        self.flow.rtt.back_off();
        (self.timer, self.due) = (Timer::Off, Time::NEVER);
        if self.flow.board.una() == 0 {
            self.transmit(now, 0);
            return self.set_timer(now, true);
        }
        let fresh = self.flow.phase < Phase::Recovery;
        let again = self.recovery.timeouts > 0;
        // One flight causes one reduction. A further reduction follows only if the repair of the last time-out had made
        // progress and then stopped.
        let unreduced = self.flow.phase <= Phase::Disorder;
        if unreduced || self.flow.board.una() >= self.recovery.high || self.flow.phase == Phase::Loss && !again {
            self.note_undo();
            self.reduce(now);
        } else if self.flow.phase == Phase::Reduction {
            self.note_undo();
        }
        let (rack, board) = (&self.rack, &mut self.flow.board);
        let una = board.una();
        let lost: Vec<u64> = board
            .on_path()
            .filter(|(number, packet)| *number == una || !rack.may_be_late(now, packet.sent))
            .map(|(number, _)| number)
            .collect();
        for number in lost {
            self.flow.lost += u64::from(board.mark_lost(number));
        }
        self.flow.phase = Phase::Loss;
        self.flow.cwnd = (self.flow.in_flight() + 1) as f64;
        self.recovery.high = self.flow.board.nxt();
        self.recovery.frto = if fresh || again { Frto::Waiting } else { Frto::Off };
        self.recovery.timeouts += 1;
        self.probe = None;
        self.algorithm.on_timeout(&mut self.flow, now);
        // The first retransmission ignores the pacer.
        if let Some(number) = self.flow.board.next_lost() {
            self.transmit(now, number);
        }
        self.set_timer(now, true);
    }

    /// Sends a tail loss probe (RFC 8985, section 7.3): a new packet if there is one, else the last packet again.
    pub(super) fn send_probe(&mut self, now: Time) {
        (self.timer, self.due) = (Timer::Off, Time::NEVER);
        let fresh = self.next_new();
        let number = fresh.unwrap_or(self.flow.board.nxt() - 1);
        self.flow.mechanisms.tail_probes += 1;
        self.transmit(now, number);
        self.probe = Some((self.flow.board.nxt(), fresh.is_none()));
        self.set_timer(now, true);
    }

    /// Ends a tail loss probe that was answered. If the probe repaired a loss, the window must be reduced (RFC 8985,
    /// section 7.4).
    pub(super) fn finish_probe(&mut self, now: Time, ack: &Ack, next: u64, news: &AckNews) {
        let Some((end, again)) = self.probe.filter(|(end, _)| next >= *end) else { return };
        let duplicate = ack.duplicate() == Some(end - 1);
        let repaired = again && !duplicate && next > end;
        // The acknowledgement reports no new packets, so the original and the probe have both arrived.
        let both = !news.in_order && !news.sacked;
        if !again || duplicate || repaired || both {
            self.probe = None;
        }
        if repaired {
            self.flow.mechanisms.tail_losses += 1;
            if self.flow.phase < Phase::Recovery {
                self.reduce(now);
                if !self.algorithm.owns_recovery() {
                    self.flow.cwnd = self.flow.ssthresh;
                }
            }
        }
    }

    /// Sets the window for an acknowledgement in a recovery.
    pub(super) fn reduce_in_proportion(&mut self, acked: &AckSummary) {
        if acked.delivered > 0 {
            self.reduce_by(acked.delivered, acked.in_order && acked.lost == 0);
        }
    }

    /// Proportional rate reduction (RFC 6937, section 3). While more packets than the slow-start threshold are in
    /// flight, packets are sent in proportion to deliveries.
    ///
    /// Otherwise the sender catches up. It may send one packet for each packet that was delivered and not replaced in
    /// this recovery, but at least `delivered` packets. It may send one packet more if the acknowledgement is `clean`.
    /// A clean acknowledgement covers new packets in order and shows no loss. The number of packets in flight may not
    /// exceed the threshold.
    fn reduce_by(&mut self, delivered: u64, clean: bool) {
        let (flow, proportion) = (&mut self.flow, &mut self.recovery.proportion);
        proportion.delivered += delivered;
        let pipe = flow.in_flight() as f64;
        let sent = proportion.sent as f64;
        let room = flow.ssthresh.floor() - pipe;
        let allowed = if room < 0.0 {
            (flow.ssthresh * proportion.delivered as f64 / proportion.prior_cwnd).ceil() - sent
        } else {
            let behind = (proportion.delivered as f64 - sent).max(delivered as f64);
            (behind + f64::from(u8::from(clean))).min(room)
        };
        // The first retransmission of a recovery always leaves.
        let least = if proportion.sent == 0 { 1.0 } else { 0.0 };
        flow.cwnd = pipe + allowed.max(least);
    }

    /// Lets the algorithm set the threshold, and starts proportional rate reduction.
    fn reduce(&mut self, now: Time) {
        self.probe = None;
        self.ecn.announce = self.config.ecn;
        self.recovery.proportion = Proportion { prior_cwnd: self.flow.cwnd.max(1.0), delivered: 0, sent: 0 };
        self.algorithm.on_loss(&mut self.flow, now);
    }

    /// Saves the state before a reduction.
    fn note_undo(&mut self) {
        let flow = &self.flow;
        self.recovery.undo = Some(Undo {
            marker: flow.board.una(),
            needed: Some(flow.board.resent()).filter(|n| *n > 0),
            cwnd: flow.cwnd,
            ssthresh: flow.ssthresh,
        });
    }

    /// Undoes the last reduction, which was spurious. `timeout`: a time-out caused the reduction.
    fn undo(&mut self, now: Time, timeout: bool) {
        let Some(undo) = self.recovery.undo.take() else { return };
        let flow = &mut self.flow;
        if timeout {
            flow.mechanisms.undone_timeouts += 1;
            flow.board.unmark_lost();
            self.rack.undo();
        } else {
            flow.mechanisms.undone_recoveries += 1;
        }
        flow.cwnd = flow.cwnd.max(undo.cwnd);
        flow.ssthresh = flow.ssthresh.max(undo.ssthresh);
        flow.phase = Phase::Open;
        self.recovery.frto = Frto::Off;
        // Makes the next detection of losses run.
        self.rack.advanced = true;
        self.algorithm.on_spurious(flow, now);
    }

    /// Outside recoveries and repairs of time-outs, sets the state. The state is `Disorder` if packets arrived out of
    /// order or are marked lost.
    fn update_disorder(&mut self) {
        let flow = &mut self.flow;
        if flow.phase < Phase::Reduction {
            let disorder = flow.board.sacked() + flow.board.lost() > 0;
            flow.phase = if disorder { Phase::Disorder } else { Phase::Open };
        }
    }
}
