//! A link and the packets that are on it.

use super::packet::Packet;
use crate::engine::{Agenda, Alarm};
use ripstop_base::Time;
use ripstop_link::{Counters, Fate, Link};
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
    /// When each packet arrives, its place among what happens at that moment, and the packet.
    travelling: VecDeque<(Time, u64, Packet)>,
    /// Packets that arrived damaged: a checksum tells, and they are dropped.
    pub(super) damaged: u64,
    /// When the last bit of the last packet leaves.
    free: Time,
    busy: Duration,
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
        Wire {
            link,
            alarm,
            travelling: VecDeque::with_capacity(64),
            damaged: 0,
            free: Time::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// What it did so far.
    pub(super) fn totals(&self) -> LinkTotals {
        LinkTotals { counters: *self.link.counters(), busy: self.busy }
    }

    /// Carries out the `fate` that the link had for a packet offered at `now`.
    pub(super) fn carry(&mut self, agenda: &mut Agenda, packet: Packet, fate: &Fate, now: Time) {
        if let Some(departure) = fate.departure() {
            // Packets leave one after another, in the order in which they came.
            self.busy += departure.since(now.max(self.free));
            self.free = departure;
        }
        let Some(delivery) = fate.delivery() else { return };
        if delivery.corruption.is_some() {
            self.damaged += 1 + u64::from(delivery.copy.is_some());
            return;
        }
        if let Some(copy) = delivery.copy {
            self.push(agenda, delivery.arrival, packet.clone());
            self.push(agenda, copy, packet);
        } else {
            self.push(agenda, delivery.arrival, packet);
        }
    }

    /// Takes the packet that arrives now.
    pub(super) fn arrive(&mut self, agenda: &mut Agenda) -> Option<Packet> {
        let (_, _, packet) = self.travelling.pop_front()?;
        if let Some((at, order, _)) = self.travelling.front() {
            agenda.set_in_order(self.alarm, *at, *order);
        }
        Some(packet)
    }

    /// How many packets are on it, those that wait for it included.
    pub(super) fn len(&self) -> usize {
        self.travelling.len()
    }

    fn push(&mut self, agenda: &mut Agenda, at: Time, packet: Packet) {
        let order = agenda.order();
        let overtaken = self.travelling.iter().rev().take_while(|(other, ..)| *other > at).count();
        let place = self.travelling.len() - overtaken;
        if place == 0 {
            agenda.set_in_order(self.alarm, at, order);
        }
        if overtaken == 0 {
            self.travelling.push_back((at, order, packet));
        } else {
            self.travelling.insert(place, (at, order, packet));
        }
    }
}
