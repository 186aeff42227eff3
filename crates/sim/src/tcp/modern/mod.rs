//! The modern sender, which works as in today's kernels. CUBIC, BBR and Reno run on this sender, and set the window and
//! the pacing rate.
//!
//! - It detects losses by time (RACK-TLP, RFC 8985).
//! - In a recovery it sends in proportion to deliveries (proportional rate reduction, RFC 6937).
//! - It samples delivery rates and paces packets.
//! - It undoes reductions of the window that prove spurious (RFC 5682, RFC 3708).
//!
//! Times are in ns: the clock ticks of [`SenderConfig::rto`] do not apply. Where the RFCs leave a choice, this sender
//! follows Linux. Receivers that renege, and time stamps are not modelled. Without time stamps there is no Eifel
//! detection. F-RTO finds spurious time-outs instead, and D-SACK finds spurious recoveries.

mod algorithm;
mod control;
mod mechanisms;
mod rack;
mod rate;
mod recovery;
mod rtt;
mod scoreboard;

pub use mechanisms::Mechanisms;

pub(in crate::tcp) use algorithm::Algorithm;
pub(in crate::tcp) use control::{AckSummary, CongestionControl, FlowState, Phase};
pub(in crate::tcp) use rtt::WindowedMax;

use super::{Ack, RtoConfig, SenderConfig, TcpCounts};
use rack::Rack;
use rate::Delivery;
use recovery::{AckNews, Frto, Recovery};
use ripstop_base::Time;
use rtt::Rtt;
use scoreboard::Scoreboard;
use std::collections::VecDeque;
use std::time::Duration;

/// Time that is added to two round trips in the time-out of a tail loss probe. The value is two of Linux's clock ticks.
/// While only one packet is outstanding, [`Rtt::floor`] is added instead.
const PROBE_SLACK: Duration = Duration::from_millis(2);
/// The number of a connection's first packets that are not paced, as in Linux.
const UNPACED: u64 = 10;

impl SenderConfig {
    /// Linux's defaults. The initial window is 10 packets, and the receiver's window has no limit. The time-out is 1 s
    /// before the first round-trip time is known. Later it is at least the round-trip time plus 200 ms, and at most 120
    /// s.
    pub fn linux() -> SenderConfig {
        SenderConfig {
            window: u32::MAX,
            initial_window: 10,
            rto: RtoConfig {
                initial: Duration::from_secs(1),
                min: Duration::from_millis(200),
                max: Duration::from_secs(120),
                ..RtoConfig::default()
            },
            ..SenderConfig::default()
        }
    }
}

/// The modern sender of a connection.
#[derive(Clone, Debug)]
pub(super) struct Modern {
    config: SenderConfig,
    pub(super) flow: FlowState,
    algorithm: Algorithm,
    rack: Rack,
    recovery: Recovery,
    /// One past the last packet to send.
    end: u64,
    /// The timer that expires next.
    timer: Timer,
    /// When `timer` expires.
    due: Time,
    /// When the retransmission timer expires. It also runs while `timer` is another timer.
    retransmission: Time,
    /// When the pacer releases the next packet; [`Time::NEVER`] when the pacer holds no packet back.
    departure: Time,
    /// The burst that leaves now.
    burst: Burst,
    /// The tail loss probe in flight: one past the number of the probe's packet, and whether the probe is a
    /// retransmission.
    probe: Option<(u64, bool)>,
    /// The use of the window is judged once per round trip (see [`Modern::judge_use`]). The round trip ends when all
    /// packets before this packet are acknowledged.
    usage_end: u64,
    last_sent: Time,
    ecn: EcnState,
    /// Packets that leave now, in order; [`super::Sender::poll_transmit`] drains them.
    pub(super) out: VecDeque<u64>,
    pub(super) counts: TcpCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timer {
    Off,
    Retransmission,
    TailProbe,
    Reordering,
}

/// The sender's part of ECN (RFC 3168).
#[derive(Clone, Copy, Debug, Default)]
struct EcnState {
    /// Whether the next new packet has the flag CWR.
    announce: bool,
    /// The packet with the flag CWR, while it waits to be polled.
    announcing: Option<u64>,
    /// BBR reacts to no echo of packets below this number, so that it announces at most once per round trip.
    high: u64,
}

/// A paced burst: packets that leave together. The pacer then waits for as long as the burst takes at the pacing rate.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// When the burst began.
    at: Time,
    /// Packets that the burst may still send.
    left: u32,
    /// The time that the packets sent so far take at the pacing rate.
    spent: Duration,
    /// How long after its earliest departure the burst began.
    late: Duration,
}

impl Modern {
    pub(super) fn new(config: SenderConfig, algorithm: Algorithm) -> Modern {
        Modern {
            flow: FlowState {
                cwnd: 1.0,
                ssthresh: f64::INFINITY,
                pacing_rate: None,
                burst: 2,
                next_departure: Time::ZERO,
                phase: Phase::Open,
                cwnd_limited: false,
                most_outstanding: 0,
                lost: 0,
                delivery: Delivery::default(),
                rtt: Rtt::new(config.rto),
                mechanisms: Mechanisms::default(),
                board: Scoreboard::default(),
            },
            config,
            algorithm,
            rack: Rack::default(),
            recovery: Recovery::default(),
            end: 0,
            timer: Timer::Off,
            due: Time::NEVER,
            retransmission: Time::NEVER,
            departure: Time::NEVER,
            burst: Burst::default(),
            probe: None,
            usage_end: 0,
            last_sent: Time::ZERO,
            ecn: EcnState::default(),
            out: VecDeque::with_capacity(64),
            counts: TcpCounts::default(),
        }
    }

    /// Adds `packets` to send. `packets` does not count a connection's first packet, which carries no data.
    pub(super) fn offer(&mut self, now: Time, packets: u64) {
        let first = u64::from(self.end == 0);
        self.end = self.end.saturating_add(packets).saturating_add(first);
        self.fill(now);
    }

    /// Stops sending new packets.
    pub(super) fn stop(&mut self) {
        self.end = self.flow.board.nxt();
    }

    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack) {
        let before = self.flow.board.una();
        let next = ack.next.clamp(before, self.flow.board.nxt());
        self.counts.acks += 1;
        self.counts.duplicate_acks += u64::from(next == before);
        if before == 0 {
            if next > 0 {
                self.establish(now);
            }
            return;
        }
        let prior = (self.flow.in_flight(), self.flow.lost, self.flow.delivery.delivered);
        let news = self.process_ack(now, ack, next);
        let rate = self.flow.delivery.sample(now, self.flow.rtt.min());
        self.rack.adapt(rate.map_or(prior.2, |rate| rate.prior_delivered), self.flow.delivery.delivered);
        self.finish_probe(now, ack, next, &news);
        let waits = self.assess(now, &news, ack.echo && self.config.ecn);
        // A packet has arrived that was sent before the last transmission of the first unacknowledged packet. This last
        // transmission may therefore still be on its way.
        let delivers = news.oldest_sacked().zip(self.flow.board.head_sent()).is_some_and(|(old, head)| old < head);
        if (news.in_order || delivers) && !waits {
            self.set_timer(now, true);
        }
        if self.flow.board.is_empty() {
            self.stop_timer();
        }
        self.flow.mechanisms.app_limited += u64::from(rate.is_some_and(|rate| rate.app_limited));
        let acked = AckSummary {
            delivered: news.delivered,
            in_order: news.in_order,
            lost: self.flow.lost - prior.1,
            prior_in_flight: prior.0,
            rtt: news.rtt(now),
            rate,
        };
        if self.reduces_in_proportion() {
            self.reduce_in_proportion(&acked);
        } else {
            self.algorithm.on_acked(&mut self.flow, now, &acked);
        }
        self.fill(now);
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        if now >= self.due {
            match self.timer {
                Timer::Off => {}
                Timer::Retransmission => self.on_retransmission_timeout(now),
                Timer::TailProbe => self.send_probe(now),
                Timer::Reordering => self.on_reordering_timeout(now),
            }
        }
        if now >= self.departure {
            self.departure = Time::NEVER;
            self.flow.mechanisms.paced += 1;
        }
        self.fill(now);
    }

    pub(super) fn timeout(&self) -> Time {
        self.due.min(self.departure)
    }

    /// See [`super::Sender::ecn_flags`].
    pub(super) fn ecn_flags(&mut self, number: u64) -> (bool, bool) {
        if !self.config.ecn || number == 0 {
            return (false, false);
        }
        let announces = self.ecn.announcing == Some(number);
        if announces {
            self.ecn.announcing = None;
        }
        // Packets that still wait in `out` follow `number`, and are polled before anything else is sent.
        (!self.flow.board.was_resent(number), announces)
    }

    /// Whether proportional rate reduction sets the window at present.
    fn reduces_in_proportion(&self) -> bool {
        matches!(self.flow.phase, Phase::Reduction | Phase::Recovery) && !self.algorithm.owns_recovery()
    }

    /// Handles the acknowledgement of the first packet, which stands for the SYN.
    fn establish(&mut self, now: Time) {
        let mut ambiguous = false;
        let mut sent = now;
        self.flow.board.advance(1, |_, packet| (ambiguous, sent) = (packet.ambiguous, packet.sent));
        if !ambiguous {
            self.flow.rtt.sample(now.since(sent));
            self.flow.rtt.sample_least(now, now.since(sent));
        }
        self.flow.rtt.end_back_off();
        // After a lost SYN the initial window is one packet (RFC 5681, section 3.1).
        let initial = if ambiguous { 1 } else { self.config.initial_window.max(1) };
        self.flow.cwnd = f64::from(initial);
        self.flow.delivery = Delivery::default();
        self.stop_timer();
        self.algorithm.on_established(&mut self.flow, now);
        self.fill(now);
    }

    /// Marks the packets that an acknowledgement reports for the first time, and samples their round-trip times.
    fn process_ack(&mut self, now: Time, ack: &Ack, next: u64) -> AckNews {
        let flow = &mut self.flow;
        let min_rtt = flow.rtt.min();
        let mut news = AckNews { in_order: next > flow.board.una(), ..AckNews::default() };
        let (high, highest) = (self.recovery.high, flow.board.highest());
        let mut take = |number: u64, packet: &scoreboard::SentPacket, sacked: bool| {
            news.add(number, packet, sacked, high, highest);
            flow.delivery.on_delivered(packet.order, packet.sent, packet.stamp);
            self.rack.on_delivered(now, (packet.order, packet.sent), packet.ambiguous, min_rtt);
        };
        flow.board.take_blocks(ack, |number, packet| take(number, packet, true));
        flow.board.advance(next, |number, packet| take(number, packet, false));
        if news.reordered > 0 {
            self.rack.reordering = true;
            flow.mechanisms.reordered += news.reordered;
        }
        if let Some(number) = ack.duplicate() {
            news.duplicate = true;
            flow.mechanisms.needless += 1;
            self.rack.on_duplicate();
            self.recovery.on_duplicate(number);
        }
        if let Some(rtt) = news.rtt(now) {
            flow.rtt.sample_least(now, rtt);
        }
        if let Some(rtt) = news.rtt_of_oldest(now) {
            flow.rtt.sample(rtt);
            // The back-off of the time-out ends only with an unambiguous sample (RFC 6298, sections 3 and 5).
            flow.rtt.end_back_off();
        }
        if news.in_order {
            self.recovery.timeouts = 0;
        }
        news
    }

    /// Sends the packets that the window, the pacer and the data allow.
    fn fill(&mut self, now: Time) {
        let (mut sent, mut limited, mut restart) = (false, false, false);
        if self.flow.board.is_empty() && self.flow.board.nxt() < self.end {
            self.leave_idle(now);
        }
        loop {
            let flow = &mut self.flow;
            if flow.board.in_flight() >= flow.cwnd.max(1.0) as u64 {
                limited = true;
                break;
            }
            // While F-RTO probes whether a time-out was spurious, only new packets leave (RFC 5682).
            let lost = if self.recovery.frto == Frto::Probing { None } else { flow.board.next_lost() };
            let Some(number) = lost.or_else(|| self.next_new()) else {
                if self.flow.board.nxt() >= self.end {
                    let in_flight = self.flow.in_flight();
                    self.flow.delivery.note_app_limited(in_flight);
                }
                break;
            };
            if !self.pace(now) {
                break;
            }
            // A retransmission of the first unacknowledged packet restarts the retransmission timer.
            restart |= number == self.flow.board.una();
            self.transmit(now, number);
            sent = true;
        }
        self.judge_use(limited);
        if sent {
            self.set_timer(now, restart);
        }
    }

    /// The next new packet, if there is one and the receiver's window has room.
    fn next_new(&self) -> Option<u64> {
        let (una, nxt) = self.flow.una_and_nxt();
        (nxt < self.end && nxt < una.saturating_add(u64::from(self.config.window))).then_some(nxt)
    }

    /// Prepares to send after an idle time with nothing in flight.
    fn leave_idle(&mut self, now: Time) {
        let idle = now.since(self.last_sent);
        let flow = &mut self.flow;
        if !self.algorithm.owns_recovery() && flow.board.una() > 0 && idle > flow.rtt.timeout() {
            // RFC 2861: the window halves for each time-out that has passed, but not below the initial window. The
            // threshold becomes at least 3/4 of the old window.
            let least = f64::from(self.config.initial_window).min(flow.cwnd);
            let halvings = (idle.as_secs_f64() / flow.rtt.timeout().as_secs_f64()) as u32;
            flow.ssthresh = flow.ssthresh.max(0.75 * flow.cwnd);
            let cwnd = (flow.cwnd / f64::from(1u32 << halvings.min(30))).max(least);
            flow.mechanisms.idle_restarts += u64::from(cwnd < flow.cwnd);
            flow.cwnd = cwnd;
        }
        self.algorithm.on_start(flow, now, idle);
    }

    /// Whether the pacer lets a packet leave now. If not, notes when the next packet may leave.
    fn pace(&mut self, now: Time) -> bool {
        let Some(rate) = self.flow.pacing_rate.filter(|_| self.counts.sent >= UNPACED) else { return true };
        let burst = &mut self.burst;
        if burst.left == 0 || burst.at != now {
            if now < self.flow.next_departure {
                self.departure = self.flow.next_departure;
                return false;
            }
            let late = now.since(self.flow.next_departure);
            *burst = Burst { at: now, left: self.flow.burst.max(1), spent: Duration::ZERO, late };
        }
        burst.left -= 1;
        burst.spent += Duration::try_from_secs_f64(1.0 / rate).unwrap_or(Duration::from_secs(1));
        // After a burst that began late, the next burst may leave earlier. The gain is the lateness of the first burst,
        // but at most half of the time that the first burst takes at the pacing rate.
        self.flow.next_departure = now + burst.spent - (burst.spent / 2).min(burst.late);
        self.departure = Time::NEVER;
        true
    }

    fn transmit(&mut self, now: Time, number: u64) {
        let board = &mut self.flow.board;
        let stamp = self.flow.delivery.stamp(now, board.is_empty());
        if number == board.nxt() {
            board.send(now, stamp);
            if number > 0 && std::mem::take(&mut self.ecn.announce) {
                self.ecn.announcing = Some(number);
            }
        } else {
            board.resend(now, number, stamp);
            self.recovery.note_resent();
            self.counts.retransmits += 1;
        }
        if self.reduces_in_proportion() {
            self.recovery.proportion.sent += 1;
            self.flow.mechanisms.proportional += 1;
        }
        self.counts.sent += 1;
        self.last_sent = now;
        self.out.push_back(number);
    }

    /// Records for a round trip whether the window limited sending, and the largest number of packets outstanding.
    fn judge_use(&mut self, limited: bool) {
        let flow = &mut self.flow;
        let outstanding = flow.board.outstanding();
        let (una, nxt) = flow.una_and_nxt();
        if una >= self.usage_end || limited || !flow.cwnd_limited && outstanding > flow.most_outstanding {
            (flow.cwnd_limited, flow.most_outstanding) = (limited, outstanding);
            self.usage_end = nxt;
        }
    }

    /// Starts the timer that is due next. This is the timer of the tail loss probe if a probe may be sent, and the
    /// retransmission timer otherwise. With `restart`, the retransmission timer begins again now.
    fn set_timer(&mut self, now: Time, restart: bool) {
        let flow = &self.flow;
        if flow.board.is_empty() {
            return self.stop_timer();
        }
        if restart || self.retransmission == Time::NEVER {
            self.retransmission = now + flow.rtt.timeout();
        }
        // A running reordering timer expires first. After this timer, one of the two timers below starts.
        if self.timer == Timer::Reordering && self.due > now {
            return;
        }
        (self.timer, self.due) = (Timer::Retransmission, self.retransmission);
        if let Some(srtt) = flow.rtt.smoothed()
            && matches!(flow.phase, Phase::Open | Phase::Reduction)
            && self.probe.is_none()
        {
            // RFC 8985, section 7.2: a single packet may wait for a delayed acknowledgement.
            let delay = if flow.board.outstanding() == 1 { flow.rtt.floor() } else { PROBE_SLACK };
            (self.timer, self.due) = (Timer::TailProbe, (now + 2 * srtt + delay).min(self.retransmission));
        }
    }

    fn stop_timer(&mut self) {
        (self.timer, self.due, self.retransmission) = (Timer::Off, Time::NEVER, Time::NEVER);
    }
}
