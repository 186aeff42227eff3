//! Sources of UDP datagrams and their sinks: constant rate, Poisson, on-off, bursts, sources that always have more, requests.

use super::fabric::Fabric;
use super::node::{Entering, Handoff, Outlet};
use super::observer::{Happening, Observer};
use super::packet::{Body, Ecn};
use super::totals::{FlowDelays, FlowTotals};
use crate::engine::Alarm;
use crate::tcp::Period;
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// Packets whose arrival is waited for at most; of an older one nothing is known when it arrives. A path holds fewer.
const MOST_UNDER_WAY: usize = 1 << 17;
/// The least time between two packets of a source at equal intervals: virtual time has to advance.
const SHORTEST_INTERVAL: Duration = Duration::from_nanos(1);

/// When a source sends.
#[derive(Clone, Debug, PartialEq)]
pub enum UdpPattern {
    /// Always has more to send: keeps this many packets waiting on the way into a session. Over links alone it sends
    /// nothing, because nothing holds it back.
    Greedy {
        /// Packets kept waiting.
        backlog: usize,
    },
    /// At random moments.
    Poisson {
        /// Packets a second, the mean.
        per_second: f64,
    },
    /// Bursts of packets at once, at a fixed interval. A burst of one packet is a constant rate.
    Periodic {
        /// From burst to burst.
        every: Duration,
        /// Packets in a burst.
        burst: u32,
    },
    /// A constant rate while on, nothing while off.
    OnOff {
        /// For how long on.
        on: Period,
        /// For how long off.
        off: Period,
        /// From packet to packet while on.
        every: Duration,
    },
    /// A request at each of these moments. Its latency counts from that moment to the arrival of its answer.
    Requests(Vec<Time>),
    /// A packet for each request that arrives over the flow with which this one is paired.
    Answers,
}

/// The settings of a source of UDP datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpConfig {
    /// When it sends.
    pub pattern: UdpPattern,
    /// Length of the smallest and of the largest packet, IP bytes; each size in between is as likely.
    pub len: (u32, u32),
    /// Of these, bytes of headers, which the sink does not count.
    pub header: u32,
    /// Whether a session delivers packets as they come, and not in order.
    pub immediate: bool,
    /// When the source begins.
    pub start: Time,
    /// When the source ends.
    pub stop: Time,
}

impl UdpConfig {
    /// Packets of `len` bytes in this pattern, from the beginning and without end.
    pub fn new(pattern: UdpPattern, len: u32) -> UdpConfig {
        UdpConfig {
            pattern,
            len: (len, len),
            header: 0,
            immediate: false,
            start: Time::ZERO,
            stop: Time::NEVER,
        }
    }

    /// A source of packets of `len` bytes that always has more, with forty packets waiting.
    pub fn greedy(len: u32) -> UdpConfig {
        UdpConfig::new(UdpPattern::Greedy { backlog: 40 }, len)
    }

    /// Packets of `len` bytes at random moments, `per_second` on average.
    pub fn poisson(len: u32, per_second: f64) -> UdpConfig {
        UdpConfig::new(UdpPattern::Poisson { per_second }, len)
    }
}

/// A source of UDP datagrams with its sink.
#[derive(Debug)]
pub(super) struct UdpFlow {
    /// Its number among all flows of the world.
    number: u32,
    config: UdpConfig,
    outlet: Outlet,
    draws: Stream,
    pub(super) timer: Alarm,
    /// The source whose requests this one answers, or that answers this one's: its place among the UDP flows.
    pub(super) peer: Option<u32>,
    /// Whether its start has come.
    started: bool,
    /// Until when it is on ([`UdpPattern::OnOff`]).
    on_until: Time,
    /// Requests that were sent ([`UdpPattern::Requests`]).
    asked: usize,
    /// How long each request took until its answer came; None: not yet.
    latencies: Vec<Option<Duration>>,
    /// Which request each answer belongs to ([`UdpPattern::Answers`]).
    answered: Vec<usize>,
    /// The number of the first packet in `under_way`.
    first: u64,
    /// When each packet was sent, and its length; None: it has arrived.
    under_way: VecDeque<Option<(Time, u32)>>,
    sent: u64,
    delivered: u64,
    bytes: u64,
    delay: f64,
    delays: FlowDelays,
    /// Delays of packets sent before this moment are not kept.
    delays_from: Time,
}

impl UdpFlow {
    pub(super) fn new(
        number: u32,
        config: UdpConfig,
        outlet: Outlet,
        timer: Alarm,
        draws: Stream,
    ) -> UdpFlow {
        let requests = if let UdpPattern::Requests(due) = &config.pattern { due.len() } else { 0 };
        UdpFlow {
            number,
            config,
            outlet,
            draws,
            timer,
            peer: None,
            started: false,
            on_until: Time::NEVER,
            asked: 0,
            latencies: vec![None; requests],
            answered: Vec::new(),
            first: 0,
            under_way: VecDeque::new(),
            sent: 0,
            delivered: 0,
            bytes: 0,
            delay: 0.0,
            delays: FlowDelays::default(),
            delays_from: Time::ZERO,
        }
    }

    /// When its timer is to ring first.
    pub(super) fn first_due(&self) -> Time {
        match &self.config.pattern {
            UdpPattern::Requests(due) => due.first().copied().unwrap_or(Time::NEVER),
            UdpPattern::Answers => Time::NEVER,
            _ => self.config.start,
        }
    }

    /// The source's timer is due.
    pub(super) fn wake(&mut self, fabric: &mut Fabric, observer: &mut impl Observer) {
        let now = fabric.now();
        self.started = true;
        if now >= self.config.stop {
            return;
        }
        let (count, next) = match &self.config.pattern {
            UdpPattern::Greedy { .. } | UdpPattern::Answers => return,
            UdpPattern::Poisson { per_second } => {
                let pause = self.draws.exponential(1.0 / per_second.max(1e-3)).min(1e6);
                (1, now + Duration::from_secs_f64(pause))
            }
            UdpPattern::Periodic { every, burst } => (*burst, now + (*every).max(SHORTEST_INTERVAL)),
            UdpPattern::OnOff { on, off, every } => {
                let mut draw = |period: &Period| period.draw(&mut self.draws);
                if self.on_until == Time::NEVER {
                    self.on_until = now + draw(on);
                }
                let next = now + (*every).max(SHORTEST_INTERVAL);
                match next < self.on_until {
                    true => (1, next),
                    false => {
                        let begin = self.on_until + draw(off);
                        self.on_until = Time::NEVER;
                        (1, begin.max(next))
                    }
                }
            }
            UdpPattern::Requests(due) => {
                let begun = self.asked;
                self.asked += due[begun..].iter().take_while(|at| **at <= now).count();
                let next = due.get(self.asked).copied().unwrap_or(Time::NEVER);
                ((self.asked - begun) as u32, next)
            }
        };
        for _ in 0..count {
            self.send(fabric, observer);
        }
        fabric.scheduler.set(self.timer, next);
    }

    /// How many packets the source wants to have waiting at `now`, where it always has more.
    pub(super) fn wants(&self, now: Time) -> Option<usize> {
        match self.config.pattern {
            UdpPattern::Greedy { backlog } if self.started && now < self.config.stop => Some(backlog),
            _ => None,
        }
    }

    /// The source's outlet.
    pub(super) fn outlet(&self) -> Outlet {
        self.outlet
    }

    /// The next packet on its way into a session.
    pub(super) fn make(&mut self, now: Time) -> Option<Entering> {
        let Outlet::Session([_, to]) = self.outlet else { return None };
        let (number, bytes) = self.next_packet(now);
        let (flow, immediate) = (self.number, self.config.immediate);
        Some(Entering { flow, back: false, to, bytes, immediate, body: Body::Udp(number) })
    }

    /// Sends the next packet.
    fn send(&mut self, fabric: &mut Fabric, observer: &mut impl Observer) {
        match self.outlet {
            Outlet::Session([from, _]) => {
                let entering = self.make(fabric.now());
                fabric.handoffs.extend(entering.map(|entering| Handoff::Enter(from, entering)));
            }
            Outlet::Route(route) => {
                let (number, bytes) = self.next_packet(fabric.now());
                fabric.send(route, false, Ecn::NotCapable, bytes, Body::Udp(number), observer);
            }
            Outlet::Coding(_) => {}
        }
    }

    /// The number and the length of the next packet, which leaves now.
    fn next_packet(&mut self, now: Time) -> (u64, u32) {
        let (least, most) = self.config.len;
        let bytes = least + self.draws.below(u64::from(most.saturating_sub(least)) + 1) as u32;
        if self.under_way.len() == MOST_UNDER_WAY {
            self.under_way.pop_front();
            self.first += 1;
        }
        self.under_way.push_back(Some((now, bytes)));
        self.sent += 1;
        (self.sent - 1, bytes)
    }

    /// Packet `number` has come to the sink. False: it has come before, or so late that nothing is known of it any more.
    pub(super) fn receive<O: Observer>(&mut self, number: u64, now: Time, observer: &mut O) -> bool {
        let at = number.checked_sub(self.first).and_then(|ahead| usize::try_from(ahead).ok());
        let entry = at.and_then(|at| self.under_way.get_mut(at)).and_then(Option::take);
        let Some((sent, bytes)) = entry else { return false };
        while self.under_way.front().is_some_and(Option::is_none) {
            self.under_way.pop_front();
            self.first += 1;
        }
        self.delivered += 1;
        self.bytes += u64::from(bytes.saturating_sub(self.config.header));
        let delay = now.since(sent);
        self.delay += delay.as_secs_f64();
        if sent >= self.delays_from {
            self.delays.packets.record(delay);
        }
        if O::LOOKS {
            observer.note(now, Happening::Received { flow: self.number as usize, bytes: self.bytes });
        }
        true
    }

    /// Request `number` of the peer has arrived: it is answered.
    pub(super) fn answer(&mut self, number: u64, fabric: &mut Fabric, observer: &mut impl Observer) {
        self.answered.push(number as usize);
        self.send(fabric, observer);
    }

    /// Which request the answer `number` belongs to.
    pub(super) fn request_of(&self, number: u64) -> Option<usize> {
        self.answered.get(number as usize).copied()
    }

    /// The answer to request `k` has arrived.
    pub(super) fn on_answer(&mut self, k: usize, now: Time) {
        let UdpPattern::Requests(due) = &self.config.pattern else { return };
        if let Some((due, latency)) = due.get(k).zip(self.latencies.get_mut(k)) {
            *latency = Some(now.since(*due));
        }
    }

    /// Whether this source answers requests.
    pub(super) fn answers(&self) -> bool {
        self.config.pattern == UdpPattern::Answers
    }

    /// How long each request took, in their order; None: not answered yet.
    pub(super) fn latencies(&self) -> &[Option<Duration>] {
        &self.latencies
    }

    pub(super) fn totals(&self, now: Time) -> FlowTotals {
        let active = now.min(self.config.stop).since(self.config.start).as_secs_f64();
        FlowTotals {
            packets: self.delivered,
            bytes: self.bytes,
            delay: (self.delay, self.delivered),
            sent: self.sent,
            active,
            ..FlowTotals::default()
        }
    }

    pub(super) fn take_delays(&mut self) -> FlowDelays {
        std::mem::take(&mut self.delays)
    }

    /// Keeps the delays of packets sent from `now` on only.
    pub(super) fn forget_delays(&mut self, now: Time) {
        self.delays = FlowDelays::default();
        self.delays_from = now;
    }
}
