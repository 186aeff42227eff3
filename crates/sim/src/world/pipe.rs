//! One direction of a link, together with the packets that are on it.

use super::packet::{Body, Ecn, NetworkPacket, UDP_IP_HEADERS};
use crate::engine::{Alarm, Scheduler};
use ripstop_base::Time;
use ripstop_link::{Corruption, Delivery, Fate, Link, LinkCounters, Packet, ShortFate};
use std::collections::VecDeque;
use std::time::Duration;

/// One direction of a link, and the packets that are on it.
///
/// Packets arrive in the order in which they were offered, except packets that the link reorders. The pipe therefore
/// keeps all packets in a queue sorted by arrival. It sets one alarm, for the first packet of the queue.
#[derive(Debug)]
pub(super) struct Pipe {
    /// The model of the link, which decides the fate of each packet.
    pub(super) link: Link,
    /// The link's number among all links.
    pub(super) number: u32,
    /// Rings when the first packet of the queue arrives.
    alarm: Alarm,
    /// For each packet: when it arrives, when it was offered, and the packet. Sorted by arrival.
    travelling: VecDeque<(Time, Time, NetworkPacket)>,
    /// Packets that arrived damaged and were dropped, because a checksum would fail.
    pub(super) damaged: u64,
    /// ECN-capable packets that the link marked.
    pub(super) marked: u64,
    /// When the last bit of the most recently offered packet leaves.
    free: Time,
    /// How long the link has been sending, ns.
    busy: u64,
    /// The packets that wait for their fate. None for a link that decides each fate at once.
    waiting: Option<Waiting>,
}

/// Packets that wait in a link's queue, and whose fate the link has not decided yet.
#[derive(Debug)]
struct Waiting {
    /// Rings when the link decides the fate of a packet.
    alarm: Alarm,
    /// For each waiting packet, at the place of its tag: when it was offered, and the packet.
    packets: Vec<Option<(Time, NetworkPacket)>>,
    /// Tags that no packet has.
    free: Vec<usize>,
}

/// The work of a link since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// The link's own counters.
    pub counters: LinkCounters,
    /// How long the link was sending.
    pub busy: Duration,
    /// ECN-capable packets that the link marked with Congestion Experienced.
    pub marked: u64,
}

impl Pipe {
    /// A pipe without packets, for link number `number`. `alarm` will ring when the next packet of the pipe arrives.
    pub(super) fn new(link: Link, number: u32, alarm: Alarm) -> Pipe {
        Pipe {
            link,
            number,
            alarm,
            travelling: VecDeque::with_capacity(64),
            damaged: 0,
            marked: 0,
            free: Time::ZERO,
            busy: 0,
            waiting: None,
        }
    }

    /// Sets the alarm that will ring when the link decides the fate of a packet that waits. The link does not decide
    /// each fate at once.
    pub(super) fn await_decisions(&mut self, alarm: Alarm) {
        self.waiting = Some(Waiting { alarm, packets: Vec::new(), free: Vec::new() });
    }

    /// Whether the link decides the fate of each packet when the packet is offered.
    #[inline]
    pub(super) fn decides_at_once(&self) -> bool {
        self.waiting.is_none()
    }

    /// The link's counters, and how long it was sending.
    pub(super) fn totals(&self) -> LinkTotals {
        LinkTotals { counters: *self.link.counters(), busy: Duration::from_nanos(self.busy), marked: self.marked }
    }

    /// Offers the link a packet. If the packet has to wait for its fate, the caller calls [`Pipe::keep`].
    #[inline]
    pub(super) fn offer(&mut self, now: Time, packet: &NetworkPacket) -> Fate {
        let tag = self.waiting.as_ref().map_or(0, |waiting| *waiting.free.last().unwrap_or(&waiting.packets.len()));
        let fate = self.link.offer_packet(
            now,
            Packet {
                bytes: packet.bytes as usize,
                ect: packet.ecn != Ecn::NotCapable,
                // The packets of a route in one direction have the same addresses and ports.
                flow: u64::from(packet.route) << 1 | u64::from(packet.back),
                tag: tag as u64,
            },
        );
        if let Some(departure) = fate.departure() {
            self.sends_until(now, departure);
        }
        fate
    }

    /// Like [`Pipe::offer`], on the link's fast path. None means that the fast path does not apply, and that the packet
    /// was not offered.
    #[inline]
    pub(super) fn offer_fast(&mut self, now: Time, bytes: u32) -> Option<ShortFate> {
        let fate = self.link.offer_fast(now, bytes as usize)?;
        if let ShortFate::Delivered { departure, .. } | ShortFate::Lost { departure } = fate {
            self.sends_until(now, departure);
        }
        Some(fate)
    }

    /// Keeps the packet that was offered last, at `now`, until the link decides its fate.
    pub(super) fn keep(&mut self, scheduler: &mut Scheduler, now: Time, packet: NetworkPacket) {
        let Some(waiting) = &mut self.waiting else { return };
        match waiting.free.pop() {
            Some(tag) => waiting.packets[tag] = Some((now, packet)),
            None => waiting.packets.push(Some((now, packet))),
        }
        self.set_alarm(scheduler);
    }

    /// The next waiting packet whose fate the link has decided by `now`, with its fate. Without such a packet, sets the
    /// alarm for the next decision.
    pub(super) fn decide(&mut self, scheduler: &mut Scheduler, now: Time) -> Option<(NetworkPacket, Fate)> {
        let Some((tag, fate)) = self.link.poll(now) else {
            self.set_alarm(scheduler);
            return None;
        };
        let waiting = self.waiting.as_mut()?;
        let (since, packet) = waiting.packets.get_mut(tag as usize)?.take()?;
        waiting.free.push(tag as usize);
        if let Some(departure) = fate.departure() {
            // The packet waited, so the link was busy from the offer to the departure.
            self.sends_until(since, departure);
        }
        Some((packet, fate))
    }

    /// Sets the alarm for the next decision of the link.
    fn set_alarm(&mut self, scheduler: &mut Scheduler) {
        if let Some(waiting) = &self.waiting {
            scheduler.set(waiting.alarm, self.link.poll_at().unwrap_or(Time::NEVER));
        }
    }

    /// Counts the time for which the link sends a packet. The packet was offered at `now`, and its last bit leaves at
    /// `departure`.
    #[inline]
    fn sends_until(&mut self, now: Time, departure: Time) {
        // Packets leave one after another, in the order in which they were offered. The sum is therefore at most the
        // time of the last departure, and does not overflow.
        self.busy += departure.nanos_since(now.max(self.free));
        self.free = departure;
    }

    /// Carries a packet that was offered at `now` and that the link delivers.
    ///
    /// If the link corrupts a packet of sealed bytes, one bit is flipped, and the receiver has to notice the error. Any
    /// other corrupted packet is dropped.
    #[inline]
    pub(super) fn carry(
        &mut self,
        scheduler: &mut Scheduler,
        now: Time,
        mut packet: NetworkPacket,
        delivery: &Delivery,
    ) {
        if delivery.congested && packet.ecn == Ecn::Capable {
            packet.ecn = Ecn::Marked;
            self.marked += 1;
        }
        if let Some(corruption) = delivery.corruption
            && !damage(&mut packet, corruption)
        {
            self.damaged += 1 + u64::from(delivery.copy.is_some());
            return;
        }
        if let Some(copy) = delivery.copy {
            self.push(scheduler, now, delivery.arrival, packet.clone());
            self.push(scheduler, now, copy, packet);
        } else {
            self.push(scheduler, now, delivery.arrival, packet);
        }
    }

    /// Takes the packet that arrives now, and sets the alarm for the next packet.
    #[inline]
    pub(super) fn arrive(&mut self, scheduler: &mut Scheduler) -> Option<NetworkPacket> {
        let (_, _, packet) = self.travelling.pop_front()?;
        if let Some((at, since, _)) = self.travelling.front() {
            scheduler.set_since(self.alarm, *at, *since);
        }
        Some(packet)
    }

    /// The number of packets on the link and in its queue.
    pub(super) fn len(&self) -> usize {
        let waiting = self.waiting.as_ref().map_or(0, |waiting| waiting.packets.len() - waiting.free.len());
        self.travelling.len() + waiting
    }

    /// Whether no packet is on the link or in its queue.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.travelling.is_empty()
    }

    /// Carries a packet that was offered at `now` and arrives at `at`.
    #[inline]
    pub(super) fn push(&mut self, scheduler: &mut Scheduler, now: Time, at: Time, packet: NetworkPacket) {
        match self.travelling.back() {
            None => scheduler.set_since(self.alarm, at, now),
            Some((last, ..)) if *last > at => return self.overtake(scheduler, now, at, packet),
            Some(_) => {}
        }
        self.travelling.push_back((at, now, packet));
    }

    /// Inserts a packet that arrives before packets that were offered earlier.
    #[cold]
    fn overtake(&mut self, scheduler: &mut Scheduler, now: Time, at: Time, packet: NetworkPacket) {
        let overtaken = self.travelling.iter().rev().take_while(|(other, ..)| *other > at).count();
        let place = self.travelling.len() - overtaken;
        if place == 0 {
            scheduler.set_since(self.alarm, at, now);
        }
        self.travelling.insert(place, (at, now, packet));
    }
}

/// Flips one bit in a packet of sealed bytes. If the bit lies in the IP and UDP headers, nothing changes.
///
/// Returns false if the packet is not sealed bytes. A checksum of such a packet would fail, so the caller drops the
/// packet.
fn damage(packet: &mut NetworkPacket, mut corruption: Corruption) -> bool {
    let Body::Sealed(sealed) = &mut packet.body else { return false };
    if let Some(byte) = corruption.byte.checked_sub(UDP_IP_HEADERS as usize) {
        corruption.byte = byte;
        corruption.apply(&mut sealed.bytes);
    }
    true
}
