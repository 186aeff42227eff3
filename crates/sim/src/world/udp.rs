//! Sources of UDP datagrams, each with its sink. The patterns are constant rate, Poisson, on-off, bursts, greedy, and
//! requests with answers.

use super::fabric::Fabric;
use super::node::{Entering, Handoff, Outlet};
use super::observer::{Happening, Observer};
use super::packet::{Body, EcnFlags};
use super::totals::{FlowDelays, FlowTotals};
use crate::engine::Alarm;
use crate::tcp::Period;
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// The largest number of packets of which a flow keeps a record. The record begins with the oldest packet that has not
/// arrived. When the record is full, the oldest packet is forgotten, and does not count if it arrives later.
///
/// No path holds this many packets. With half the value, the flow would forget packets only on a path that holds more
/// than 65 536 packets. Double the value costs only memory.
const MOST_UNDER_WAY: usize = 1 << 17;
/// The shortest interval between bursts, or between packets of an on period: 1 ns, the resolution of [`Time`]. With an
/// interval of zero, virtual time would not advance. Twice the value changes nothing at any realistic rate.
const SHORTEST_INTERVAL: Duration = Duration::from_nanos(1);

/// When a source sends.
#[derive(Clone, Debug, PartialEq)]
pub enum UdpPattern {
    /// The source always has more to send. It keeps `backlog` packets queued in the session that carries the source. If
    /// no session carries the source, it sends nothing, because nothing would limit its rate.
    Greedy {
        /// Packets kept in the queue.
        backlog: usize,
    },
    /// At random times, as a Poisson process.
    Poisson {
        /// Mean rate, packets per second. A rate below 0.001 counts as 0.001.
        per_second: f64,
    },
    /// Bursts at a fixed interval. With a burst of one packet this is a constant rate.
    Periodic {
        /// Time from burst to burst.
        every: Duration,
        /// Packets in a burst.
        burst: u32,
    },
    /// A constant rate during on periods, nothing during off periods.
    OnOff {
        /// Length of an on period.
        on: Period,
        /// Length of an off period.
        off: Period,
        /// Time from packet to packet during an on period.
        every: Duration,
    },
    /// One request at each of these times, in ascending order. The latency of a request begins when the request is due,
    /// and ends when its answer arrives.
    Requests(Vec<Time>),
    /// One packet for each request that arrives over the paired flow ([`super::World::pair`]).
    Answers,
}

/// The settings of a source of UDP datagrams.
#[derive(Clone, Debug, PartialEq)]
pub struct UdpConfig {
    /// When the source sends.
    pub pattern: UdpPattern,
    /// Lengths of the smallest and of the largest packet, IP bytes. All lengths between are equally likely.
    pub len: (u32, u32),
    /// How many bytes of each packet are headers. The sink does not count them.
    pub header: u32,
    /// Whether a session delivers the packets as they arrive, instead of in order.
    pub immediate: bool,
    /// When the source begins. [`UdpPattern::Requests`] and [`UdpPattern::Answers`] send regardless of this time.
    pub start: Time,
    /// When the source ends.
    pub stop: Time,
}

impl UdpConfig {
    /// Packets of `len` bytes with this pattern, from time zero and without end.
    pub fn new(pattern: UdpPattern, len: u32) -> UdpConfig {
        UdpConfig { pattern, len: (len, len), header: 0, immediate: false, start: Time::ZERO, stop: Time::NEVER }
    }

    /// A greedy source of packets of `len` bytes, which keeps 40 packets queued.
    pub fn greedy(len: u32) -> UdpConfig {
        UdpConfig::new(UdpPattern::Greedy { backlog: 40 }, len)
    }

    /// Packets of `len` bytes at random times, `per_second` on average.
    pub fn poisson(len: u32, per_second: f64) -> UdpConfig {
        UdpConfig::new(UdpPattern::Poisson { per_second }, len)
    }
}

/// A source of UDP datagrams with its sink, and what is measured at both.
#[derive(Debug)]
pub(super) struct UdpFlow {
    /// The flow's number among all flows of the world.
    number: u32,
    config: UdpConfig,
    outlet: Outlet,
    /// Random lengths and intervals.
    draws: Stream,
    pub(super) timer: Alarm,
    /// The paired UDP flow, by its place among the UDP flows. One of the two flows sends requests, and the other flow
    /// answers them.
    pub(super) peer: Option<u32>,
    /// Whether the source's timer has rung for the first time.
    started: bool,
    /// The end of the present on period ([`UdpPattern::OnOff`]). [`Time::NEVER`] if the next packet begins a new on
    /// period.
    on_until: Time,
    /// Requests sent so far ([`UdpPattern::Requests`]).
    asked: usize,
    /// For each request, the time from its due time to the arrival of its answer. None until the answer arrives.
    latencies: Vec<Option<Duration>>,
    /// For each answer sent, the number of its request ([`UdpPattern::Answers`]).
    answered: Vec<usize>,
    /// The number of the first packet in `under_way`.
    first: u64,
    /// When each packet was sent, and its length in bytes. None after the packet has arrived.
    under_way: VecDeque<Option<(Time, u32)>>,
    sent: u64,
    delivered: u64,
    bytes: u64,
    delay: f64,
    delays: FlowDelays,
    /// Delays of packets sent before this time are not recorded.
    delays_from: Time,
}

impl UdpFlow {
    /// A source with the settings `config`. `draws` is the source's random stream.
    pub(super) fn new(number: u32, config: UdpConfig, outlet: Outlet, timer: Alarm, draws: Stream) -> UdpFlow {
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

    /// When the source's timer rings first.
    pub(super) fn first_due(&self) -> Time {
        match &self.config.pattern {
            UdpPattern::Requests(due) => due.first().copied().unwrap_or(Time::NEVER),
            UdpPattern::Answers => Time::NEVER,
            _ => self.config.start,
        }
    }

    /// Sends the packets that are due, and sets the timer for the next packets.
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

    /// How many packets a greedy source wants to keep queued. None for other sources, and when the source is not active
    /// at `now`.
    pub(super) fn wants(&self, now: Time) -> Option<usize> {
        match self.config.pattern {
            UdpPattern::Greedy { backlog } if self.started && now < self.config.stop => Some(backlog),
            _ => None,
        }
    }

    /// Where the source's packets go.
    pub(super) fn outlet(&self) -> Outlet {
        self.outlet
    }

    /// Makes the next packet, which enters a session. None if no session carries the source.
    pub(super) fn make(&mut self, now: Time) -> Option<Entering> {
        let Outlet::Session([_, to]) = self.outlet else { return None };
        let (number, bytes) = self.next_packet(now);
        let (flow, immediate) = (self.number, self.config.immediate);
        Some(Entering { flow, back: false, to, bytes, immediate, flags: EcnFlags::default(), body: Body::Udp(number) })
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
                fabric.send(route, false, EcnFlags::default(), bytes, Body::Udp(number), observer);
            }
            Outlet::Coding(_) | Outlet::Gateway(_) | Outlet::Client(..) => {}
        }
    }

    /// The number and the length of the next packet, which is recorded as sent at `now`.
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

    /// Records that packet `number` has reached the sink. Returns false if the packet is a duplicate, or if it arrives
    /// so late that its record is gone.
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

    /// Answers request `number` of the paired source.
    pub(super) fn answer(&mut self, number: u64, fabric: &mut Fabric, observer: &mut impl Observer) {
        self.answered.push(number as usize);
        self.send(fabric, observer);
    }

    /// The number of the request that the answer `number` belongs to.
    pub(super) fn request_of(&self, number: u64) -> Option<usize> {
        self.answered.get(number as usize).copied()
    }

    /// Records that the answer to request `k` has arrived.
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

    /// For each request, in order, the time to its answer. None until the answer arrives.
    pub(super) fn latencies(&self) -> &[Option<Duration>] {
        &self.latencies
    }

    /// The flow's counters at `now`.
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

    /// The delays recorded since the last call.
    pub(super) fn take_delays(&mut self) -> FlowDelays {
        std::mem::take(&mut self.delays)
    }

    /// Drops all delays so far. Only packets sent from `now` on count later.
    pub(super) fn forget_delays(&mut self, now: Time) {
        self.delays = FlowDelays::default();
        self.delays_from = now;
    }
}
