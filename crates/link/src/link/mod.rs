//! The link: all elements, in the order in which a packet meets them (see the crate's
//! documentation).
//!
//! The settings may change at given moments, the *steps* of the schedule. *Draws* are random
//! numbers.

mod draws;
mod fast_path;
mod scheduled;
mod settings;

pub use fast_path::ShortFate;

use crate::config::{Blackout, Discipline, LinkConfig, Mark};
use crate::counters::LinkCounters;
use crate::error::LinkConfigError;
use crate::fate::{Delivery, DropReason, Fate};
use crate::fec::Codec;
use crate::loss::Channel;
use crate::policer::Bucket;
use crate::queue::{Pie, Verdict, Waiting, has_room};
use crate::serialiser::{Rates, Serialiser, Slot};
use crate::timeline::Timeline;
pub(crate) use draws::Draws;
use fast_path::FastPath;
use ripstop_base::{Rate, Seed, Stream, Time};
use scheduled::Scheduled;
use settings::{Configured, Settings};
use std::ops::Range;
use std::time::Duration;

/// One direction of one hop. See the [crate's documentation](crate) for the order of its elements.
#[derive(Clone, Debug)]
pub struct Link {
    rates: Rates,
    /// All settings except the rate.
    pub(crate) steps: Timeline<Settings>,
    blackouts: Vec<Blackout>,
    configured: Configured,

    /// The settings for the fast path; None for a link that always needs the full path.
    pub(crate) fast_path: Option<FastPath>,

    /// The latest moment at which a packet was offered. Time does not go back.
    pub(crate) now: Time,
    /// Index in `steps` of the settings that applied when the latest packet was offered.
    entry_step: usize,
    /// Index in `steps` of the settings that apply when the last bit of the latest packet leaves.
    pub(crate) exit_step: usize,
    bucket: Bucket,
    pub(crate) waiting: Waiting,
    pub(crate) serialiser: Serialiser,
    pub(crate) channel: Channel,
    codec: Option<Codec>,
    /// PIE; None with another queue discipline.
    pie: Option<Box<Pie>>,
    /// The queue of CoDel or FQ; None with another queue discipline.
    scheduled: Option<Box<Scheduled>>,
    mark: Stream,
    jitter: Stream,
    reorder: Stream,
    duplicate: Stream,
    corrupt: Stream,
    /// Latest arrival of all packets that reordering did not hold back.
    latest_in_order: Time,
    /// Latest arrival of all packets, copies not counted.
    latest: Time,
    pub(crate) counters: LinkCounters,
}

/// A packet as a caller offers it to a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// The packet's size in bytes, network-layer header included.
    pub bytes: usize,
    /// Whether the packet is ECN-capable (RFC 3168): a link may mark it instead of dropping it.
    pub ect: bool,
    /// The packet's flow, for [`Discipline::Fq`]. Packets of one flow have equal keys, and keep
    /// their order.
    pub flow: u64,
    /// The caller's name for the packet. [`Link::poll`] returns it with the packet's fate.
    pub tag: u64,
}

/// How many packets and bytes wait for serialisation. The packet being serialised is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of waiting packets.
    pub packets: u64,
    /// Sum of the sizes of the waiting packets, bytes.
    pub bytes: u64,
}

impl Link {
    /// A link with the given settings. `name`, such as `link/2`, names its random streams: two
    /// links of one seed and different names draw different numbers.
    ///
    /// # Errors
    /// The first setting that is not valid; see [`LinkConfig::check`].
    pub fn new(config: &LinkConfig, seed: Seed, name: &str) -> Result<Link, LinkConfigError> {
        config.check()?;
        let mut settings = config.clone();
        let unlimited = |rate: Rate| Some(rate.bps()).filter(|bps| *bps > 0);
        let mut rates = vec![(Time::ZERO, unlimited(settings.rate))];
        let mut steps = vec![(Time::ZERO, Settings::new(&settings))];
        for change in &config.schedule {
            settings.apply(change);
            let at = Time::ZERO + change.at.duration();
            rates.push((at, unlimited(settings.rate)));
            steps.push((at, Settings::new(&settings)));
        }
        let mut period = config.schedule_period.map(|period| period.duration());
        let steps = Timeline::new(steps, period);
        if let Some(trace) = &config.rate_trace {
            // In a trace, a rate of 0 stops the link.
            rates = trace.steps.iter().map(|(at, rate)| (Time::ZERO + at.duration(), Some(rate.bps()))).collect();
            period = trace.period.map(|period| period.duration());
        }
        let stream = |part: &str| seed.stream(&format!("{name}/{part}"));
        Ok(Link {
            configured: Configured::new(steps.steps(), config),
            fast_path: FastPath::new(config),
            blackouts: config.blackouts.clone(),
            rates: Rates::new(rates, period),
            steps,
            now: Time::ZERO,
            entry_step: 0,
            exit_step: 0,
            bucket: Bucket::default(),
            waiting: Waiting::default(),
            serialiser: Serialiser::default(),
            channel: Channel::new(seed, name),
            codec: config.fec.as_ref().map(|code| Codec::new(code, seed, name)),
            pie: match config.queue_discipline {
                Discipline::Pie { target } => Some(Box::new(Pie::new(target.duration(), stream("pie")))),
                _ => None,
            },
            scheduled: Scheduled::new(config).map(Box::new),
            mark: stream("mark"),
            jitter: stream("jitter"),
            reorder: stream("reorder"),
            duplicate: stream("duplicate"),
            corrupt: stream("corrupt"),
            latest_in_order: Time::ZERO,
            latest: Time::ZERO,
            counters: LinkCounters::default(),
        })
    }

    /// Offers a packet of `bytes` bytes (network-layer header included) at `now` and returns its
    /// fate. A `now` before the last offer counts as the time of the last offer.
    ///
    /// The packet is not ECN-capable, and it belongs to flow 0. [`Link::offer_packet`] takes other
    /// packets.
    #[inline]
    pub fn offer(&mut self, now: Time, bytes: usize) -> Fate {
        self.offer_packet(now, Packet { bytes, ..Packet::default() })
    }

    /// Offers a packet, as [`Link::offer`] does.
    #[inline]
    pub fn offer_packet(&mut self, now: Time, packet: Packet) -> Fate {
        match self.offer_fast(now, packet.bytes) {
            Some(fate) => fate.into(),
            None => self.offer_full(now, packet),
        }
    }

    /// The full path: every element that the packet can meet.
    fn offer_full(&mut self, now: Time, packet: Packet) -> Fate {
        self.now = self.now.max(now);
        let (now, bytes) = (self.now, packet.bytes);
        let index = self.counters.offered;
        self.counters.offered += 1;
        self.counters.offered_bytes = self.counters.offered_bytes.saturating_add(bytes as u64);
        if self.scheduled.is_some() {
            return self.offer_scheduled(index, packet);
        }
        self.waiting.leave(now);
        let backlog = self.waiting.backlog;
        let mut refused = self.refuses(now, bytes).or_else(|| self.is_full(now, bytes, &backlog));
        let verdict = self.judge(now, &packet, refused.is_some());
        refused = refused.or((verdict == Verdict::Drop).then_some(DropReason::Aqm));
        let waits = self.serialiser.free_at() > now;
        let slot = match refused {
            None => self.serialise(now, bytes),
            // A refused packet also draws its random numbers. The draws use the settings that apply
            // when the link is free again.
            Some(_) => Slot { start: now, end: now.max(self.serialiser.free_at()) },
        };
        self.exit_step = self.steps.index(self.exit_step, slot.end);
        self.counters.changes_applied = self.exit_step as u64;
        let marked = self.draw_mark();
        let mut draws = self.draw(index, bytes, refused.is_none(), self.exit_step);
        draws.congested = marked || waits && (self.is_congested(bytes, &backlog) || self.waits_long(now, slot.start));
        draws.marked = verdict == Verdict::Mark;
        let fate = match refused {
            Some(reason) => Fate::Refused { reason },
            None => self.carry(slot.end, draws),
        };
        self.count(&fate, bytes, &draws);
        fate
    }

    /// The packets that wait for serialisation at `now`.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        self.now = self.now.max(now);
        if self.scheduled.is_some() {
            return self.scheduled_backlog();
        }
        self.waiting.leave(self.now);
        self.waiting.backlog
    }

    /// Whether packets arrive in the order in which they were offered, each once and undamaged.
    pub fn keeps_order(&self) -> bool {
        let on = &self.configured;
        !(on.reorder || on.duplicate || on.corrupt)
    }

    /// Whether the delay is above zero at all times.
    pub fn always_delays(&self) -> bool {
        self.steps.steps().iter().all(|(_, settings)| !settings.delay.is_zero())
    }

    /// Whether the link treats ECN-capable packets differently ([`LinkConfig::ecn`]), so that
    /// [`Packet::ect`] matters.
    pub fn marks_capable_packets(&self) -> bool {
        self.configured.ecn
    }

    /// The moment at which all packets accepted so far will be serialised.
    pub fn free_at(&self) -> Time {
        self.serialiser.free_at()
    }

    /// Keeps from now on which units of the latest packet were lost, for [`Link::lost_units`]. This
    /// changes no fate and no random number. It has no effect without a block code.
    pub fn keep_lost_units(&mut self) {
        if let Some(codec) = &mut self.codec {
            codec.keep_lost_units();
        }
    }

    /// The lost units of the latest packet that was offered, as ascending ranges that do not touch.
    /// Unit u of a packet is symbol u mod N of block u / N. Empty if the packet was refused, without
    /// a block code, and without [`Link::keep_lost_units`].
    pub fn lost_units(&self) -> &[Range<u32>] {
        self.codec.as_ref().map_or(&[], Codec::lost_units)
    }

    /// What the link has done so far.
    pub fn counters(&self) -> &LinkCounters {
        &self.counters
    }

    /// The names of configured impairments that have not acted yet. A run tests nothing about a
    /// setting in this list. Limits that a well-behaved sender never meets (`queue`, `mtu`) are not
    /// listed.
    pub fn unfired(&self) -> Vec<&'static str> {
        let (on, did) = (&self.configured, &self.counters);
        [
            ("policer", on.policer && did.refused_policer == 0),
            ("queue_discipline", on.aqm && did.dropped_aqm + did.marked_aqm + did.overtaken_in_queue == 0),
            ("ecn", on.ecn && did.marked_aqm == 0),
            ("mark", on.mark && did.congested == 0),
            ("loss", on.loss && did.lost_channel == 0),
            ("fec", on.fec.is_some_and(|mends| mends && did.blocks_recovered == 0)),
            ("fec.loss", on.fec.is_some() && did.units_lost == 0),
            ("jitter", on.jitter && did.jittered == 0),
            ("reorder", on.reorder && did.overtakes == 0),
            ("duplicate", on.duplicate && did.duplicated == 0),
            ("corrupt", on.corrupt && did.corrupted == 0),
            ("blackouts", on.blackouts && did.lost_blackout == 0),
            ("schedule", did.changes_applied + 1 < self.steps.steps().len() as u64),
            ("rate_trace", on.rate_trace && did.rate_steps == 0),
        ]
        .into_iter()
        .filter_map(|(name, idle)| idle.then_some(name))
        .collect()
    }

    /// Applies the MTU and the policer. If the packet is refused, returns the reason.
    fn refuses(&mut self, now: Time, bytes: usize) -> Option<DropReason> {
        self.entry_step = self.steps.index(self.entry_step, now);
        let settings = self.steps.get(self.entry_step)?;
        if bytes as u64 > settings.mtu {
            return Some(DropReason::Mtu);
        }
        // The policer takes its tokens before the queue is checked, as a policer in front of the
        // router does.
        let policer = settings.policer.filter(|policer| !self.bucket.admits(policer, now, bytes));
        policer.map(|_| DropReason::Policer)
    }

    /// Applies the queue limit. Returns the reason if a packet must wait and finds no room.
    fn is_full(&self, now: Time, bytes: usize, backlog: &Backlog) -> Option<DropReason> {
        let limit = self.steps.get(self.entry_step)?.queue;
        let idle = self.serialiser.free_at() <= now;
        (!idle && !has_room(backlog, limit, bytes)).then_some(DropReason::Queue)
    }

    /// What PIE does to the packet. `refused`: the packet was refused for another reason.
    fn judge(&mut self, now: Time, packet: &Packet, refused: bool) -> Verdict {
        let (free_at, bytes) = (self.serialiser.free_at(), self.waiting.backlog.bytes);
        let may_mark = self.configured.ecn && packet.ect;
        match &mut self.pie {
            Some(pie) if !refused => pie.judge(now, free_at, bytes, may_mark),
            Some(pie) => {
                pie.skip();
                Verdict::Pass
            }
            None => Verdict::Pass,
        }
    }

    /// Whether a packet that waits does not fit within the queue length of [`LinkConfig::mark`].
    fn is_congested(&self, bytes: usize, backlog: &Backlog) -> bool {
        match self.steps.get(self.entry_step).and_then(|settings| settings.mark) {
            Some(Mark::Queue(limit)) => !has_room(backlog, Some(limit), bytes),
            _ => false,
        }
    }

    /// Whether a packet waits from `since` to `start`, and this is at least the wait of
    /// [`LinkConfig::mark`].
    fn waits_long(&self, since: Time, start: Time) -> bool {
        match self.steps.get(self.entry_step).and_then(|settings| settings.mark) {
            Some(Mark::Wait(wait)) => start.since(since) >= wait.duration(),
            _ => false,
        }
    }

    /// Assigns the packet its time on the transmitter, and counts the packet.
    fn serialise(&mut self, now: Time, bytes: usize) -> Slot {
        let mut wire = bytes as u128;
        if let Some(codec) = &mut self.codec {
            if codec.has_memory() {
                codec.idles(self.serialiser.idle_work(now, &self.rates));
            }
            wire = codec.wire_bytes(bytes);
        }
        let slot = self.serialiser.serve(now, wire, &self.rates);
        self.counters.rate_steps = self.serialiser.step() as u64;
        self.counters.serialised += 1;
        self.counters.serialised_bytes = self.counters.serialised_bytes.saturating_add(bytes as u64);
        let wait = slot.start.nanos_since(now);
        if wait > 0 {
            self.waiting.join(slot.start, bytes);
            self.note_wait(wait, bytes as u64);
        }
        slot
    }

    /// Records that a packet of `bytes` bytes, which has just joined the queue, waits for `wait`
    /// ns.
    pub(crate) fn note_wait(&mut self, wait: u64, bytes: u64) {
        let counters = &mut self.counters;
        counters.queue_max_packets = counters.queue_max_packets.max(self.waiting.backlog.packets);
        counters.queue_max_bytes = counters.queue_max_bytes.max(self.waiting.backlog.bytes);
        counters.wait_max_ns = counters.wait_max_ns.max(wait);
        counters.queue_packet_ns = counters.queue_packet_ns.saturating_add(u128::from(wait));
        counters.queue_byte_ns =
            counters.queue_byte_ns.saturating_add(u128::from(wait).saturating_mul(u128::from(bytes)));
    }

    /// What the channel does to a serialised packet whose last bit leaves at `departure`.
    fn carry(&mut self, departure: Time, draws: Draws) -> Fate {
        if self.blackouts.iter().any(|b| covers(b, departure)) {
            return Fate::Lost { departure, reason: DropReason::Blackout };
        }
        if draws.lost {
            return Fate::Lost { departure, reason: DropReason::Channel };
        }
        if draws.block_lost {
            return Fate::Lost { departure, reason: DropReason::Fec };
        }
        let Some(settings) = self.steps.get(self.exit_step) else {
            return Fate::Lost { departure, reason: DropReason::Channel };
        };
        let jitter = Duration::from_nanos((settings.jitter_ns * draws.jitter) as u64);
        let mut arrival = (departure + settings.delay + jitter).max(self.latest_in_order);
        if !jitter.is_zero() {
            self.counters.jittered += 1;
        }
        if draws.held_back {
            arrival += settings.reorder_delay;
            self.counters.held_back += 1;
        } else {
            self.latest_in_order = arrival;
        }
        if arrival < self.latest {
            self.counters.overtakes += 1;
        }
        self.latest = self.latest.max(arrival);
        let copy = draws.duplicated.then(|| arrival + settings.duplicate_delay);
        let Draws { congested, marked, corruption, .. } = draws;
        Fate::Delivered(Delivery { departure, arrival, copy, congested: congested || marked, corruption })
    }

    /// Counts the packet's fate.
    fn count(&mut self, fate: &Fate, bytes: usize, draws: &Draws) {
        let counters = &mut self.counters;
        match fate.reason() {
            Some(DropReason::Mtu) => counters.refused_mtu += 1,
            Some(DropReason::Policer) => counters.refused_policer += 1,
            Some(DropReason::Queue) => counters.refused_queue += 1,
            Some(DropReason::Aqm) => counters.dropped_aqm += 1,
            Some(DropReason::Channel) => counters.lost_channel += 1,
            Some(DropReason::Fec) => {
                counters.lost_channel += 1;
                counters.lost_fec += 1;
            }
            Some(DropReason::Blackout) => counters.lost_blackout += 1,
            None => {}
        }
        if let Some(delivery) = fate.delivery() {
            counters.delivered += 1;
            counters.delivered_bytes = counters.delivered_bytes.saturating_add(bytes as u64);
            counters.duplicated += u64::from(delivery.copy.is_some());
            counters.corrupted += u64::from(delivery.corruption.is_some());
            counters.congested += u64::from(draws.congested);
        }
        if draws.marked && !matches!(fate, Fate::Refused { .. }) {
            counters.marked_aqm += 1;
        }
    }
}

/// Whether `moment` lies in the blackout.
fn covers(blackout: &Blackout, moment: Time) -> bool {
    let begin = Time::ZERO + blackout.at.duration();
    if moment < begin {
        return false;
    }
    let since = moment.since(begin).as_nanos();
    let phase = match blackout.every {
        Some(every) => since.checked_rem(every.duration().as_nanos()).unwrap_or(since),
        None => since,
    };
    phase < blackout.length.duration().as_nanos()
}
