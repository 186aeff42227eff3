//! One direction of a wired link, and the packets that are on it.

use super::packet::{Body, Ecn, NetworkPacket, UDP_IP_HEADERS};
use crate::engine::{Alarm, Scheduler};
use ripstop_base::Time;
use ripstop_link::{Corruption, Delivery, Fate, Link, LinkCounters, ShortFate};
use std::collections::VecDeque;
use std::time::Duration;

/// One direction of a wired link, and the packets that are on it.
///
/// Packets arrive in the order in which they left, except for those that the link holds back. So they wait in a queue, and
/// only the head of the queue has an alarm.
#[derive(Debug)]
pub(super) struct Pipe {
    pub(super) link: Link,
    alarm: Alarm,
    /// When each packet arrives, when it was offered, and the packet.
    travelling: VecDeque<(Time, Time, NetworkPacket)>,
    /// Packets that arrived damaged and were dropped: a checksum tells.
    pub(super) damaged: u64,
    /// ECN-capable packets that the link marked.
    pub(super) marked: u64,
    /// When the last bit of the last packet leaves.
    free: Time,
    /// For how long the link has been sending, ns.
    busy: u64,
}

/// What a link has done since the beginning of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// The link's own counters.
    pub counters: LinkCounters,
    /// For how long the link was sending.
    pub busy: Duration,
    /// ECN-capable packets that the link marked with Congestion Experienced.
    pub marked: u64,
}

impl Pipe {
    pub(super) fn new(link: Link, alarm: Alarm) -> Pipe {
        Pipe {
            link,
            alarm,
            travelling: VecDeque::with_capacity(64),
            damaged: 0,
            marked: 0,
            free: Time::ZERO,
            busy: 0,
        }
    }

    /// What the link did so far.
    pub(super) fn totals(&self) -> LinkTotals {
        LinkTotals {
            counters: *self.link.counters(),
            busy: Duration::from_nanos(self.busy),
            marked: self.marked,
        }
    }

    /// Offers the link a packet of so many bytes.
    #[inline]
    pub(super) fn offer(&mut self, now: Time, bytes: u32) -> Fate {
        let fate = self.link.offer(now, bytes as usize);
        if let Some(departure) = fate.departure() {
            self.sends_until(now, departure);
        }
        fate
    }

    /// As [`Pipe::offer`], on the link's fast path. None: the packet is not offered yet.
    #[inline]
    pub(super) fn offer_fast(&mut self, now: Time, bytes: u32) -> Option<ShortFate> {
        let fate = self.link.offer_fast(now, bytes as usize)?;
        if let ShortFate::Delivered { departure, .. } | ShortFate::Lost { departure } = fate {
            self.sends_until(now, departure);
        }
        Some(fate)
    }

    /// The last bit of a packet that was offered at `now` leaves at `departure`.
    #[inline]
    fn sends_until(&mut self, now: Time, departure: Time) {
        // Packets leave one after another, in the order in which they came.
        self.busy = self.busy.saturating_add(departure.nanos_since(now.max(self.free)));
        self.free = departure;
    }

    /// Carries a packet that was offered at `now` and is to be delivered. A damaged packet is dropped, unless it is sealed
    /// bytes: then the bit is flipped, and the receiver has to notice.
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

    /// Takes the packet that arrives now.
    #[inline]
    pub(super) fn arrive(&mut self, scheduler: &mut Scheduler) -> Option<NetworkPacket> {
        let (_, _, packet) = self.travelling.pop_front()?;
        if let Some((at, since, _)) = self.travelling.front() {
            scheduler.set_since(self.alarm, *at, *since);
        }
        Some(packet)
    }

    /// How many packets are on the link, those that wait for it included.
    pub(super) fn len(&self) -> usize {
        self.travelling.len()
    }

    /// Whether no packet is on the link.
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

/// Flips the bit in a packet of bytes. False: the packet has no bytes, and a checksum would drop it. A bit of the IP and UDP
/// headers stays as it is.
fn damage(packet: &mut NetworkPacket, mut corruption: Corruption) -> bool {
    let Body::Sealed(sealed) = &mut packet.body else { return false };
    if let Some(byte) = corruption.byte.checked_sub(UDP_IP_HEADERS as usize) {
        corruption.byte = byte;
        corruption.apply(&mut sealed.bytes);
    }
    true
}
