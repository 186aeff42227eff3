//! A link and the packets that are on it.

use super::packet::Packet;
use crate::engine::{Agenda, Alarm};
use ripstop_base::Time;
use ripstop_link::{Counters, Delivery, Fate, Link};
use std::collections::VecDeque;
use std::time::Duration;

/// One direction of a link, and what travels on it.
///
/// Packets arrive in the order in which they left, but for those that the link holds back; so they wait in a queue, and only
/// its head is on the agenda.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) link: Link,
    alarm: Alarm,
    /// When each packet arrives, when it was offered, and the packet.
    travelling: VecDeque<(Time, Time, Packet)>,
    /// Packets that arrived damaged: a checksum tells, and they are dropped.
    pub(super) damaged: u64,
    /// When the last bit of the last packet leaves.
    free: Time,
    /// For how long it has been sending, ns.
    busy: u64,
}

/// What a link has done since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkTotals {
    /// What it counts itself.
    pub counters: Counters,
    /// For how long it was sending.
    pub busy: Duration,
}

impl Wire {
    pub(super) fn new(link: Link, alarm: Alarm) -> Wire {
        Wire { link, alarm, travelling: VecDeque::with_capacity(64), damaged: 0, free: Time::ZERO, busy: 0 }
    }

    /// What it did so far.
    pub(super) fn totals(&self) -> LinkTotals {
        LinkTotals { counters: *self.link.counters(), busy: Duration::from_nanos(self.busy) }
    }

    /// Offers the link a packet of so many bytes.
    #[inline]
    pub(super) fn offer(&mut self, now: Time, bytes: u32) -> Fate {
        let fate = self.link.offer(now, bytes as usize);
        if let Some(departure) = fate.departure() {
            // Packets leave one after another, in the order in which they came.
            self.busy = self.busy.saturating_add(departure.nanos_since(now.max(self.free)));
            self.free = departure;
        }
        fate
    }

    /// Carries a packet that was offered at `now` and is to be delivered.
    #[inline]
    pub(super) fn carry(&mut self, agenda: &mut Agenda, now: Time, packet: Packet, delivery: &Delivery) {
        if delivery.corruption.is_some() {
            self.damaged += 1 + u64::from(delivery.copy.is_some());
            return;
        }
        if let Some(copy) = delivery.copy {
            self.push(agenda, now, delivery.arrival, packet.clone());
            self.push(agenda, now, copy, packet);
        } else {
            self.push(agenda, now, delivery.arrival, packet);
        }
    }

    /// Takes the packet that arrives now.
    #[inline]
    pub(super) fn arrive(&mut self, agenda: &mut Agenda) -> Option<Packet> {
        let (_, _, packet) = self.travelling.pop_front()?;
        if let Some((at, since, _)) = self.travelling.front() {
            agenda.set_since(self.alarm, *at, *since);
        }
        Some(packet)
    }

    /// How many packets are on it, those that wait for it included.
    pub(super) fn len(&self) -> usize {
        self.travelling.len()
    }

    /// Whether there is none on it.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.travelling.is_empty()
    }

    #[inline]
    fn push(&mut self, agenda: &mut Agenda, now: Time, at: Time, packet: Packet) {
        match self.travelling.back() {
            None => agenda.set_since(self.alarm, at, now),
            Some((last, ..)) if *last > at => return self.overtake(agenda, now, at, packet),
            Some(_) => {}
        }
        self.travelling.push_back((at, now, packet));
    }

    #[cold]
    fn overtake(&mut self, agenda: &mut Agenda, now: Time, at: Time, packet: Packet) {
        let overtaken = self.travelling.iter().rev().take_while(|(other, ..)| *other > at).count();
        let place = self.travelling.len() - overtaken;
        if place == 0 {
            agenda.set_since(self.alarm, at, now);
        }
        self.travelling.insert(place, (at, now, packet));
    }
}
