//! The link: all elements, in the order in which a packet meets them (see the crate's
//! documentation).
//!
//! The settings may change at given moments, the *steps* of the schedule. *Draws* are random
//! numbers.

mod fast_path;

pub use fast_path::ShortFate;

use crate::config::{Blackout, LinkConfig};
use crate::counters::LinkCounters;
use crate::error::LinkConfigError;
use crate::fate::{Corruption, Delivery, DropReason, Fate};
use crate::fec::Codec;
use crate::loss::{Channel, LossModel};
use crate::policer::Bucket;
use crate::serialiser::{Serialiser, Slot, step_at};
use fast_path::FastPath;
use ripstop_base::{QueueLimit, Rate, Seed, Stream, Time};
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// One direction of one hop. See the [crate's documentation](crate) for the order of its elements.
#[derive(Clone, Debug)]
pub struct Link {
    /// Each rate, with the moment from which the rate applies. The moments are the same as in
    /// `steps`.
    rates: Vec<(Time, Rate)>,
    /// All other settings, with the moment from which they apply. The first entry applies from the
    /// epoch.
    pub(crate) steps: Vec<(Time, Settings)>,
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
        let mut rates = vec![(Time::ZERO, settings.rate)];
        let mut steps = vec![(Time::ZERO, Settings::new(&settings))];
        for change in &config.schedule {
            settings.apply(change);
            let at = Time::ZERO + change.at.duration();
            rates.push((at, settings.rate));
            steps.push((at, Settings::new(&settings)));
        }
        let stream = |part: &str| seed.stream(&format!("{name}/{part}"));
        Ok(Link {
            configured: Configured::new(&steps, config),
            fast_path: FastPath::new(config),
            blackouts: config.blackouts.clone(),
            rates,
            steps,
            now: Time::ZERO,
            entry_step: 0,
            exit_step: 0,
            bucket: Bucket::default(),
            waiting: Waiting::default(),
            serialiser: Serialiser::default(),
            channel: Channel::new(seed, name),
            codec: config.fec.as_ref().map(|code| Codec::new(code, seed, name)),
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
    #[inline]
    pub fn offer(&mut self, now: Time, bytes: usize) -> Fate {
        match self.offer_fast(now, bytes) {
            Some(fate) => fate.into(),
            None => self.offer_full(now, bytes),
        }
    }

    /// The full path: every element that the packet can meet.
    fn offer_full(&mut self, now: Time, bytes: usize) -> Fate {
        self.now = self.now.max(now);
        let now = self.now;
        let index = self.counters.offered;
        self.counters.offered += 1;
        self.counters.offered_bytes = self.counters.offered_bytes.saturating_add(bytes as u64);
        self.waiting.leave(now);
        let refused = self.refuses(now, bytes);
        let congested = refused.is_none() && self.is_congested(now, bytes);
        let slot = match refused {
            None => self.serialise(now, bytes),
            // A refused packet also draws its random numbers. The draws use the settings that apply
            // when the link is free again.
            Some(_) => Slot { start: now, end: now.max(self.serialiser.free_at()) },
        };
        self.exit_step = step_at(&self.steps, self.exit_step, slot.end);
        self.counters.changes_applied = self.exit_step as u64;
        let draws = self.draw(index, bytes, refused.is_none());
        let fate = match refused {
            Some(reason) => Fate::Refused { reason },
            None => self.carry(slot.end, Draws { congested, ..draws }),
        };
        self.count(&fate, bytes);
        fate
    }

    /// The packets that wait for serialisation at `now`.
    pub fn backlog(&mut self, now: Time) -> Backlog {
        self.now = self.now.max(now);
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
        self.steps.iter().all(|(_, settings)| !settings.delay.is_zero())
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
            ("mark", on.mark && did.congested == 0),
            ("loss", on.loss && did.lost_channel == 0),
            ("fec", on.fec.is_some_and(|mends| mends && did.blocks_recovered == 0)),
            ("fec.loss", on.fec.is_some() && did.units_lost == 0),
            ("jitter", on.jitter && did.jittered == 0),
            ("reorder", on.reorder && did.overtakes == 0),
            ("duplicate", on.duplicate && did.duplicated == 0),
            ("corrupt", on.corrupt && did.corrupted == 0),
            ("blackouts", on.blackouts && did.lost_blackout == 0),
            ("schedule", did.changes_applied + 1 < self.steps.len() as u64),
        ]
        .into_iter()
        .filter_map(|(name, idle)| idle.then_some(name))
        .collect()
    }

    /// Applies the MTU, the policer and the queue limit. If the packet is refused, returns the
    /// reason.
    fn refuses(&mut self, now: Time, bytes: usize) -> Option<DropReason> {
        self.entry_step = step_at(&self.steps, self.entry_step, now);
        let settings = &self.steps.get(self.entry_step)?.1;
        if bytes as u64 > settings.mtu {
            return Some(DropReason::Mtu);
        }
        // The policer takes its tokens before the queue is checked, as a policer in front of the
        // router does.
        if settings.policer.is_some_and(|policer| !self.bucket.admits(&policer, now, bytes)) {
            return Some(DropReason::Policer);
        }
        let idle = self.serialiser.free_at() <= now;
        (!idle && !self.waiting.has_room(settings.queue, bytes)).then_some(DropReason::Queue)
    }

    /// Whether a packet that was not refused must wait, and does not fit within
    /// [`LinkConfig::mark`].
    fn is_congested(&self, now: Time, bytes: usize) -> bool {
        let limit = self.steps.get(self.entry_step).and_then(|(_, settings)| settings.mark);
        limit.is_some() && self.serialiser.free_at() > now && !self.waiting.has_room(limit, bytes)
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

    /// Draws the random numbers of one packet, from every stream in use. The numbers are drawn for
    /// every packet offered, so the k-th packet always gets the same numbers of a stream. A block
    /// code sends units only if `sent` is true (the packet was not refused).
    fn draw(&mut self, index: u64, bytes: usize, sent: bool) -> Draws {
        let block_lost = match &mut self.codec {
            Some(codec) if sent => codec.loses(bytes, &mut self.counters),
            Some(codec) => {
                codec.skip();
                false
            }
            None => false,
        };
        let on = &self.configured;
        let Some((_, settings)) = self.steps.get(self.exit_step) else { return Draws::default() };
        let luck = |on: bool, stream: &mut Stream| if on { stream.unit() } else { 1.0 };
        let corrupted = luck(on.corrupt, &mut self.corrupt) < settings.corrupt;
        let bit = if on.corrupt { self.corrupt.below((bytes as u64).saturating_mul(8)) } else { 0 };
        Draws {
            lost: on.loss && self.channel.loses(&settings.loss, index),
            block_lost,
            // The share of the configured jitter that delays this packet; 0 without jitter.
            jitter: if on.jitter { self.jitter.unit() } else { 0.0 },
            held_back: luck(on.reorder, &mut self.reorder) < settings.reorder,
            duplicated: luck(on.duplicate, &mut self.duplicate) < settings.duplicate,
            congested: false,
            corruption: (corrupted && bytes > 0)
                .then_some(Corruption { byte: (bit / 8) as usize, bit: (bit % 8) as u8 }),
        }
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
        let Some((_, settings)) = self.steps.get(self.exit_step) else {
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
        let Draws { congested, corruption, .. } = draws;
        Fate::Delivered(Delivery { departure, arrival, copy, congested, corruption })
    }

    /// Counts the packet's fate.
    fn count(&mut self, fate: &Fate, bytes: usize) {
        let counters = &mut self.counters;
        match fate.reason() {
            Some(DropReason::Mtu) => counters.refused_mtu += 1,
            Some(DropReason::Policer) => counters.refused_policer += 1,
            Some(DropReason::Queue) => counters.refused_queue += 1,
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
            counters.congested += u64::from(delivery.congested);
        }
    }
}

/// The results of one packet's random draws.
#[derive(Clone, Copy, Debug, Default)]
struct Draws {
    lost: bool,
    /// Whether a block of the packet's units was lost.
    block_lost: bool,
    jitter: f64,
    held_back: bool,
    duplicated: bool,
    /// Whether the packet met congestion. This is not random: the length of the queue decides.
    congested: bool,
    corruption: Option<Corruption>,
}

/// The settings of one step of the schedule, in the form that the link uses.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    mtu: u64,
    policer: Option<crate::config::Policer>,
    queue: Option<QueueLimit>,
    mark: Option<QueueLimit>,
    pub(crate) loss: LossModel,
    delay: Duration,
    jitter_ns: f64,
    reorder: f64,
    reorder_delay: Duration,
    duplicate: f64,
    duplicate_delay: Duration,
    corrupt: f64,
}

impl Settings {
    fn new(config: &LinkConfig) -> Settings {
        Settings {
            mtu: config.mtu.map_or(u64::MAX, |mtu| mtu.get()),
            policer: config.policer,
            queue: config.queue,
            mark: config.mark,
            loss: LossModel::new(&config.loss),
            delay: config.delay.duration(),
            jitter_ns: config.jitter.duration().as_nanos() as f64,
            reorder: config.reorder.map_or(0.0, |r| r.probability.get()),
            reorder_delay: config.reorder.map_or(Duration::ZERO, |r| r.extra_delay.duration()),
            duplicate: config.duplicate.map_or(0.0, |d| d.probability.get()),
            duplicate_delay: config.duplicate.map_or(Duration::ZERO, |d| d.extra_delay.duration()),
            corrupt: config.corrupt.get(),
        }
    }
}

/// Whether each impairment is configured in any step. Only configured impairments draw random
/// numbers.
#[derive(Clone, Debug)]
struct Configured {
    policer: bool,
    mark: bool,
    loss: bool,
    /// None: no units are lost. Otherwise whether the code has repair units (N > K).
    fec: Option<bool>,
    jitter: bool,
    reorder: bool,
    duplicate: bool,
    corrupt: bool,
    blackouts: bool,
}

impl Configured {
    fn new(steps: &[(Time, Settings)], config: &LinkConfig) -> Configured {
        let some = |is: fn(&Settings) -> bool| steps.iter().any(|(_, s)| is(s));
        Configured {
            policer: some(|s| s.policer.is_some()),
            mark: some(|s| s.mark.is_some()),
            loss: config.loss.is_active()
                || config.schedule.iter().any(|c| c.loss.as_ref().is_some_and(|l| l.is_active())),
            fec: config.fec.as_ref().filter(|fec| fec.loss.is_active()).map(|fec| fec.n > fec.k),
            jitter: some(|s| s.jitter_ns > 0.0),
            reorder: some(|s| s.reorder > 0.0),
            duplicate: some(|s| s.duplicate > 0.0),
            corrupt: some(|s| s.corrupt > 0.0),
            blackouts: !config.blackouts.is_empty(),
        }
    }
}

/// The packets that wait for serialisation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiting {
    /// The time at which each packet begins to leave, and its size in bytes.
    queue: VecDeque<(Time, u64)>,
    pub(crate) backlog: Backlog,
}

impl Waiting {
    /// Removes the packets whose serialisation has begun by `now`.
    #[inline]
    pub(crate) fn leave(&mut self, now: Time) {
        while let Some(&(start, bytes)) = self.queue.front() {
            if start > now {
                break;
            }
            self.queue.pop_front();
            self.backlog.packets -= 1;
            self.backlog.bytes -= bytes;
        }
    }

    /// Adds a packet that begins to leave at `start`.
    #[inline]
    pub(crate) fn join(&mut self, start: Time, bytes: usize) {
        // The sum of sizes must not saturate, because a saturated sum could not be counted down
        // again. A size that would overflow the sum is cut.
        let bytes = (bytes as u64).min(u64::MAX - self.backlog.bytes);
        self.queue.push_back((start, bytes));
        self.backlog.packets += 1;
        self.backlog.bytes += bytes;
    }

    /// Whether a packet of `bytes` bytes may wait under `limit`.
    fn has_room(&self, limit: Option<QueueLimit>, bytes: usize) -> bool {
        match limit {
            None => true,
            Some(QueueLimit::Packets(most)) => self.backlog.packets < most,
            Some(QueueLimit::Bytes(most)) => self.backlog.bytes.saturating_add(bytes as u64) <= most,
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
