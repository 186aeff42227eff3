//! One direction of the emulated link: the packets in flight and when they are due.

#[cfg(test)]
mod tests;

use super::block_code::PacketCoder;
use super::report::{EmulatedDirectionReport, LatenessLog};
use ripstop_base::Time;
use ripstop_codes::block::BlockError;
use ripstop_link::{Corruption, Fate, Fec, Link, Packet};
use ripstop_proto::inner::{Inner, mark_congestion};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

/// One direction: a link, and the packets that it has accepted but not delivered.
#[derive(Debug)]
pub(super) struct Direction {
    link: Link,
    /// Codes the packets with the link's block code; None without a block code.
    coder: Option<PacketCoder>,
    mtu: usize,
    /// Buffers for packets, called slots. A packet stays in its slot until it is delivered; then
    /// the slot is reused.
    slots: Vec<Box<[u8]>>,
    /// The lengths of the packets in the slots, for packets whose fate the link decides later.
    lens: Vec<usize>,
    /// The number of these packets.
    waiting: usize,
    /// Indices of the slots that hold no packet.
    free: Vec<usize>,
    /// Packets by arrival time; packets with the same arrival time in the order in which they were
    /// offered.
    in_flight: BinaryHeap<Reverse<InFlight>>,
    /// The order number of the next packet. The number grows by 2 per packet: a copy gets the
    /// number after the number of its original.
    taken: u64,
    /// Fates that were decided since the last [`Direction::move_fates`], one letter each
    /// ([`ripstop_link::Fate::letter`]). None if fates are not kept.
    fates: Option<Vec<u8>>,
    /// The largest number of packets in flight.
    capacity: usize,

    handed_over: u64,
    handed_over_bytes: u64,
    damaged: u64,
    marked: u64,
    refused_by_device: u64,
    not_ip: u64,
    too_large: u64,
    no_room: u64,
    lateness: LatenessLog,
}

/// A packet in flight. The order of the fields is the order of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct InFlight {
    arrival: Time,
    order: u64,
    slot: usize,
    len: usize,
    damaged: bool,
}

/// Packets that arrive within this time after a first packet are written together with the first
/// packet, at the end of this time. A timer and a thread switch cost as much as three packets, so
/// the CPU time for a fast link is halved. Below 240 Mbit/s, packets of 1500 bytes are further
/// apart, and the constant has no effect.
const COALESCE_SPAN: Duration = Duration::from_micros(50);

/// The largest number of packets in flight. Further packets are dropped and counted. With an MTU of 1500, this number
/// of packets takes about 400 MB of memory. A link of 1 Gbit/s carries this number of packets in 3 s.
const MAX_IN_FLIGHT: usize = 1 << 18;

impl Direction {
    /// A direction whose sending device has the given MTU in bytes. `fec` is the link's block code. `fates` tells
    /// whether to keep the fates of packets.
    ///
    /// # Errors
    /// If there is no block code of this shape.
    pub(super) fn new(mut link: Link, fec: Option<&Fec>, mtu: u16, fates: bool) -> Result<Direction, BlockError> {
        link.keep_lost_units();
        Ok(Direction {
            link,
            coder: fec.map(PacketCoder::new).transpose()?,
            mtu: mtu.into(),
            slots: Vec::new(),
            lens: Vec::new(),
            waiting: 0,
            free: Vec::new(),
            in_flight: BinaryHeap::new(),
            taken: 0,
            fates: fates.then(Vec::new),
            capacity: MAX_IN_FLIGHT,
            handed_over: 0,
            handed_over_bytes: 0,
            damaged: 0,
            marked: 0,
            refused_by_device: 0,
            not_ip: 0,
            too_large: 0,
            no_room: 0,
            lateness: LatenessLog::new(),
        })
    }

    /// Reads up to `most` packets with `recv`. Offers each packet to the link at the time when it was read. Returns
    /// whether there may be more.
    ///
    /// # Errors
    /// Any error of `recv`, except `WouldBlock` (nothing to read) and `Interrupted` (a signal came).
    pub(super) fn read_packets(
        &mut self,
        most: usize,
        mut now: impl FnMut() -> Time,
        mut recv: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<bool> {
        for _ in 0..most {
            let slot = self.slot();
            let outcome = match self.slots.get_mut(slot) {
                Some(packet) => recv(packet),
                None => return Ok(false),
            };
            match outcome {
                Ok(len) => self.accept(now(), slot, len),
                Err(error) => {
                    self.free.push(slot);
                    return match error.kind() {
                        io::ErrorKind::WouldBlock => Ok(false),
                        io::ErrorKind::Interrupted => Ok(true),
                        _ => Err(error),
                    };
                }
            }
        }
        Ok(true)
    }

    /// Writes all packets that are due. `send` writes one packet.
    pub(super) fn deliver_due(
        &mut self,
        mut now: impl FnMut() -> Time,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) {
        self.decide(&mut now);
        while let Some(Reverse(next)) = self.in_flight.peek().copied() {
            let moment = now();
            if next.arrival > moment {
                return;
            }
            self.in_flight.pop();
            self.lateness.record(moment.since(next.arrival));
            let sent = self.slots.get(next.slot).and_then(|s| s.get(..next.len)).map(&mut send);
            if let Some(Ok(_)) = sent {
                self.handed_over += 1;
                self.handed_over_bytes += next.len as u64;
                self.damaged += u64::from(next.damaged);
            } else {
                self.refused_by_device += 1;
            }
            self.free.push(next.slot);
        }
    }

    /// When to write next; None if no packet is in flight. Usually this is the time of the next arrival. If another
    /// packet arrives within [`COALESCE_SPAN`] after the next arrival, this is the end of that span. If packets wait
    /// for their fate, it may also be the time at which the link decides.
    pub(super) fn next_due(&self) -> Option<Time> {
        let decision = self.link.poll_at().filter(|at| *at != Time::NEVER);
        [self.next_arrival(), decision].into_iter().flatten().min()
    }

    /// When to write next, without regard to packets that wait for their fate.
    fn next_arrival(&self) -> Option<Time> {
        // In a binary heap the second-earliest packet is one of the root's two children.
        let (root, rest) = self.in_flight.as_slice().split_first()?;
        let first = root.0.arrival;
        let together = first + COALESCE_SPAN;
        let follows = rest.iter().take(2).any(|Reverse(next)| next.arrival <= together);
        Some(if follows { together } else { first })
    }

    /// All counters except `overflowed`, which the kernel keeps.
    pub(super) fn report(&self) -> EmulatedDirectionReport {
        EmulatedDirectionReport {
            link: *self.link.counters(),
            unfired: self.link.unfired(),
            coding: self.coder.as_ref().map(PacketCoder::counters).unwrap_or_default(),
            handed_over: self.handed_over,
            handed_over_bytes: self.handed_over_bytes,
            damaged: self.damaged,
            marked: self.marked,
            refused_by_device: self.refused_by_device,
            in_flight: self.in_flight.len() as u64,
            not_ip: self.not_ip,
            too_large: self.too_large,
            no_room: self.no_room,
            overflowed: None,
            lateness: self.lateness.report(),
        }
    }

    /// How many fates are kept.
    pub(super) fn fates(&self) -> usize {
        self.fates.as_ref().map_or(0, Vec::len)
    }

    /// Moves the kept fates to the end of `log`.
    pub(super) fn move_fates(&mut self, log: &mut Vec<u8>) {
        if let Some(fates) = &mut self.fates {
            log.append(fates);
        }
    }

    /// A free slot. A slot is one byte longer than the MTU, so that a longer packet is noticed.
    fn slot(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(vec![0; self.mtu + 1].into_boxed_slice());
            self.lens.push(0);
            self.slots.len() - 1
        })
    }

    /// Offers the packet in `slot` to the link, and carries out its fate.
    fn accept(&mut self, now: Time, slot: usize, len: usize) {
        let version = self.slots.get(slot).filter(|_| len > 0).map_or(0, |packet| packet[0] >> 4);
        if !matches!(version, 4 | 6) {
            self.not_ip += 1;
        } else if len > self.mtu {
            self.too_large += 1;
        } else if !self.link.answers_at_once() && self.waiting + self.in_flight.len() >= self.capacity {
            // Packets that wait for their fate take memory too.
            self.no_room += 1;
        } else {
            let blocks_lost = self.link.counters().blocks_lost;
            let fate = self.link.offer_packet(now, self.packet(slot, len));
            return self.carry_out(fate, slot, len, blocks_lost);
        }
        self.free.push(slot);
    }

    /// The packet in `slot` as the link sees it. Its tag is the number of the slot.
    fn packet(&self, slot: usize, len: usize) -> Packet {
        let plain = Packet { bytes: len, tag: slot as u64, ..Packet::default() };
        if self.link.answers_at_once() && !self.link.marks_capable_packets() {
            return plain;
        }
        let bytes = self.slots.get(slot).and_then(|bytes| bytes.get(..len)).unwrap_or_default();
        match Inner::parse(bytes) {
            Ok(inner) => Packet { ect: inner.ecn() != 0, flow: inner.flow(), ..plain },
            Err(_) => plain,
        }
    }

    /// Carries out the fates that the link has decided for waiting packets.
    fn decide(&mut self, now: &mut impl FnMut() -> Time) {
        if self.link.answers_at_once() {
            return;
        }
        let moment = now();
        while let Some((tag, fate)) = self.link.poll(moment) {
            let slot = tag as usize;
            let len = self.lens.get(slot).copied().unwrap_or(0);
            self.waiting = self.waiting.saturating_sub(1);
            self.carry_out(fate, slot, len, 0);
        }
    }

    /// Drops, marks, codes, copies or damages the packet in `slot` as the link has decided. `blocks_lost` is the link's
    /// counter before the offer. A packet that waits stays in its slot.
    fn carry_out(&mut self, fate: Fate, slot: usize, len: usize, blocks_lost: u64) {
        if fate == Fate::Queued {
            if let Some(entry) = self.lens.get_mut(slot) {
                *entry = len;
            }
            self.waiting += 1;
            return;
        }
        if let Some(fates) = &mut self.fates {
            fates.push(fate.letter());
        }
        let delivery = fate.delivery();
        let Some(packet) = self.slots.get_mut(slot).and_then(|packet| packet.get_mut(..len)) else { return };
        if delivery.is_some_and(|delivery| delivery.congested) {
            self.marked += u64::from(mark_congestion(packet));
        }
        let restored = match &mut self.coder {
            Some(coder) if !matches!(fate, Fate::Refused { .. }) => {
                let blocks_lost = self.link.counters().blocks_lost - blocks_lost;
                coder.carry(packet, self.link.lost_units(), blocks_lost)
            }
            _ => true,
        };
        let Some(delivery) = delivery.filter(|_| restored) else { return self.free.push(slot) };
        if let Some(copy) = delivery.copy {
            self.send_copy(slot, len, copy, delivery.corruption);
        }
        self.send_off(slot, len, delivery.arrival, delivery.corruption);
    }

    /// Puts a copy of the packet in flight, in a slot of its own.
    fn send_copy(&mut self, original: usize, len: usize, arrival: Time, corruption: Option<Corruption>) {
        let slot = self.slot();
        if let Ok([from, to]) = self.slots.get_disjoint_mut([original, slot]) {
            to[..len].copy_from_slice(&from[..len]);
        }
        // The original has the lower order number. So the original is delivered first if both
        // packets arrive at the same time.
        let order = self.taken + 1;
        self.enter(slot, len, arrival, order, corruption);
    }

    fn send_off(&mut self, slot: usize, len: usize, arrival: Time, corruption: Option<Corruption>) {
        let order = self.taken;
        self.taken += 2;
        self.enter(slot, len, arrival, order, corruption);
    }

    fn enter(&mut self, slot: usize, len: usize, arrival: Time, order: u64, corruption: Option<Corruption>) {
        if self.in_flight.len() >= self.capacity || arrival == Time::NEVER {
            self.no_room += 1;
            self.free.push(slot);
            return;
        }
        if let (Some(corruption), Some(packet)) = (corruption, self.slots.get_mut(slot)) {
            corruption.apply(&mut packet[..len]);
        }
        self.in_flight.push(Reverse(InFlight { arrival, order, slot, len, damaged: corruption.is_some() }));
    }
}
