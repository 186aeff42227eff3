//! One direction of the emulated link: what is on its way, and when it is due.

use super::report::{DirectionReport, LatenessLog};
use ripstop_base::Time;
use ripstop_link::{Corruption, Delivery, Link};
use ripstop_proto::inner::mark_congestion;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

/// One direction: a link, and the packets it was offered and has not delivered yet.
#[derive(Debug)]
pub(super) struct Direction {
    link: Link,
    mtu: usize,
    /// Packets lie still in slots, which are used again.
    slots: Vec<Box<[u8]>>,
    free: Vec<usize>,
    /// Earliest arrival first; packets of the same arrival in the order in which they were offered.
    on_way: BinaryHeap<Reverse<OnWay>>,
    taken: u64,
    /// What became of the packets offered since it was last asked for, by [`ripstop_link::Fate::letter`]; None: not kept.
    fates: Option<Vec<u8>>,
    /// How many packets may be on their way.
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

/// A packet on its way. The order of the fields is the order of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OnWay {
    arrival: Time,
    order: u64,
    slot: usize,
    len: usize,
    damaged: bool,
}

/// Packets that arrive within this span of each other are handed over together, at its end. A timer
/// and a change of threads cost as much as three packets, so this halves the cost of a fast link; on
/// a slow one (1500 bytes at less than 240 Mbit/s) packets are further apart.
const TOGETHER: Duration = Duration::from_micros(50);

/// With an MTU of 1500 about 400 MB: 3 s at 1 Gbit/s.
const CAPACITY: usize = 1 << 18;

impl Direction {
    /// A direction whose sending device has the given MTU (bytes).
    /// It keeps the fates of packets where `fates` says so.
    pub(super) fn new(link: Link, mtu: u16, fates: bool) -> Direction {
        Direction {
            link,
            mtu: mtu.into(),
            slots: Vec::new(),
            free: Vec::new(),
            on_way: BinaryHeap::new(),
            taken: 0,
            fates: fates.then(Vec::new),
            capacity: CAPACITY,
            handed_over: 0,
            handed_over_bytes: 0,
            damaged: 0,
            marked: 0,
            refused_by_device: 0,
            not_ip: 0,
            too_large: 0,
            no_room: 0,
            lateness: LatenessLog::new(),
        }
    }

    /// Reads up to `most` packets with `recv` and offers them to the link, each at the moment it was
    /// read. Whether there may be more.
    ///
    /// # Errors
    /// What `recv` says, except that there is nothing to read.
    pub(super) fn take_in(
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

    /// Hands everything that is due by now to `send`.
    pub(super) fn hand_over(
        &mut self,
        mut now: impl FnMut() -> Time,
        mut send: impl FnMut(&[u8]) -> io::Result<usize>,
    ) {
        while let Some(Reverse(next)) = self.on_way.peek().copied() {
            let moment = now();
            if next.arrival > moment {
                return;
            }
            self.on_way.pop();
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

    /// When to hand over next; None when nothing is on its way. That is the next arrival, or a
    /// little later where another one follows at once: see [`TOGETHER`].
    pub(super) fn next_due(&self) -> Option<Time> {
        // A binary heap: the second to arrive is one of the root's two children.
        let (root, rest) = self.on_way.as_slice().split_first()?;
        let first = root.0.arrival;
        let together = first + TOGETHER;
        let follows = rest.iter().take(2).any(|Reverse(next)| next.arrival <= together);
        Some(if follows { together } else { first })
    }

    /// All counters but `overflowed`, which the kernel keeps.
    pub(super) fn report(&self) -> DirectionReport {
        DirectionReport {
            link: *self.link.counters(),
            unfired: self.link.unfired(),
            handed_over: self.handed_over,
            handed_over_bytes: self.handed_over_bytes,
            damaged: self.damaged,
            marked: self.marked,
            refused_by_device: self.refused_by_device,
            in_flight: self.on_way.len() as u64,
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

    /// Moves the fates that are kept to the end of `log`.
    pub(super) fn move_fates(&mut self, log: &mut Vec<u8>) {
        if let Some(fates) = &mut self.fates {
            log.append(fates);
        }
    }

    /// A slot nobody uses. One byte longer than a packet may be, so that a longer one shows.
    fn slot(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.slots.push(vec![0; self.mtu + 1].into_boxed_slice());
            self.slots.len() - 1
        })
    }

    /// Offers the packet in `slot` to the link and does as it says.
    fn accept(&mut self, now: Time, slot: usize, len: usize) {
        let version = self.slots.get(slot).filter(|_| len > 0).map_or(0, |packet| packet[0] >> 4);
        if !matches!(version, 4 | 6) {
            self.not_ip += 1;
        } else if len > self.mtu {
            self.too_large += 1;
        } else if let Some(delivery) = self.offer(now, len) {
            if delivery.congested
                && let Some(packet) = self.slots.get_mut(slot)
            {
                self.marked += u64::from(mark_congestion(&mut packet[..len]));
            }
            if let Some(copy) = delivery.copy {
                self.send_copy(slot, len, copy, delivery.corruption);
            }
            return self.send_off(slot, len, delivery.arrival, delivery.corruption);
        }
        self.free.push(slot);
    }

    fn offer(&mut self, now: Time, len: usize) -> Option<Delivery> {
        let fate = self.link.offer(now, len);
        if let Some(fates) = &mut self.fates {
            fates.push(fate.letter());
        }
        fate.delivery()
    }

    /// A second copy gets a slot of its own.
    fn send_copy(&mut self, original: usize, len: usize, arrival: Time, corruption: Option<Corruption>) {
        let slot = self.slot();
        if let Ok([from, to]) = self.slots.get_disjoint_mut([original, slot]) {
            to[..len].copy_from_slice(&from[..len]);
        }
        // The original comes first when both arrive at once: it has the lower number.
        let order = self.taken + 1;
        self.enter(slot, len, arrival, order, corruption);
    }

    fn send_off(&mut self, slot: usize, len: usize, arrival: Time, corruption: Option<Corruption>) {
        let order = self.taken;
        self.taken += 2;
        self.enter(slot, len, arrival, order, corruption);
    }

    fn enter(&mut self, slot: usize, len: usize, arrival: Time, order: u64, corruption: Option<Corruption>) {
        if self.on_way.len() >= self.capacity || arrival == Time::NEVER {
            self.no_room += 1;
            self.free.push(slot);
            return;
        }
        if let (Some(corruption), Some(packet)) = (corruption, self.slots.get_mut(slot)) {
            corruption.apply(&mut packet[..len]);
        }
        self.on_way.push(Reverse(OnWay { arrival, order, slot, len, damaged: corruption.is_some() }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::{Bytes, Fraction, Rate, Seed, Span};
    use ripstop_link::{Duplicate, LinkConfig, Loss};

    fn direction(config: LinkConfig) -> Direction {
        Direction::new(Link::new(&config, Seed::new(1), "link/0").unwrap(), 100, true)
    }

    /// Feeds packets in, all at `now`.
    fn feed(direction: &mut Direction, now: Time, packets: &[&[u8]]) {
        let mut rest = packets.iter();
        let more = direction.take_in(
            1000,
            || now,
            |buffer| {
                let packet = rest.next().ok_or(io::ErrorKind::WouldBlock)?;
                let len = packet.len().min(buffer.len());
                buffer[..len].copy_from_slice(&packet[..len]);
                Ok(len)
            },
        );
        assert!(!more.unwrap());
    }

    /// What comes out by `now`.
    fn drain(direction: &mut Direction, now: Time) -> Vec<Vec<u8>> {
        let mut out = Vec::new();
        direction.hand_over(
            || now,
            |packet| {
                out.push(packet.to_vec());
                Ok(packet.len())
            },
        );
        out
    }

    fn packet(number: u8) -> [u8; 50] {
        let mut packet = [number; 50];
        packet[0] = 0x45;
        packet
    }

    #[test]
    fn packets_come_out_when_the_link_says() {
        let mut d = direction(LinkConfig {
            rate: Rate::from_bps(400_000), // 50 bytes a millisecond
            delay: Span::from(Duration::from_millis(10)),
            loss: Loss::Indices { lost: vec![1], period: None },
            ..LinkConfig::default()
        });
        assert_eq!(d.next_due(), None);
        feed(&mut d, Time::ZERO, &[&packet(0), &packet(1), &packet(2)]);
        assert_eq!(d.next_due(), Some(Time::from_millis(11)));
        assert!(drain(&mut d, Time::from_micros(10_999)).is_empty());
        assert_eq!(drain(&mut d, Time::from_millis(11)), [packet(0)]);
        // Packet 1 is lost, but its slot was used; packet 2 is 2 ms late and counted so.
        assert_eq!(drain(&mut d, Time::from_millis(15)), [packet(2)]);
        let report = d.report();
        assert_eq!((report.handed_over, report.handed_over_bytes, report.in_flight), (2, 100, 0));
        assert_eq!((report.lateness.n, report.lateness.over_1ms), (2, 1));
        assert!((report.lateness.max_s.unwrap() / 2e-3 - 1.0).abs() < 0.01);
        assert_eq!(d.fates(), 3);
        let mut log = Vec::new();
        d.move_fates(&mut log);
        assert_eq!((log.as_slice(), d.fates()), (b".x.".as_slice(), 0));
        assert_eq!(d.slots.len(), 3, "the slot of a lost packet is used again");
        for k in 0..100 {
            feed(&mut d, Time::from_millis(100 + k), &[&packet(3)]);
            drain(&mut d, Time::from_millis(100 + k));
        }
        assert!(d.slots.len() < 16, "{} slots", d.slots.len());
    }

    #[test]
    fn packets_that_follow_at_once_come_together() {
        // 50 bytes at 10 Mbit/s take 40 us; three packets arrive at 40, 80 and 120 us.
        let mut d = direction(LinkConfig { rate: Rate::from_bps(10_000_000), ..LinkConfig::default() });
        feed(&mut d, Time::ZERO, &[&packet(0), &packet(1), &packet(2)]);
        assert_eq!(d.next_due(), Some(Time::from_micros(90)));
        assert_eq!(drain(&mut d, Time::from_micros(90)).len(), 2);
        assert_eq!(d.next_due(), Some(Time::from_micros(120)), "the last one is not made to wait");
        assert_eq!(drain(&mut d, Time::from_micros(120)).len(), 1);
    }

    #[test]
    fn capable_packets_are_marked_where_the_queue_is_long() {
        let mark = Some("1".parse().unwrap());
        let mut d = direction(LinkConfig { rate: Rate::from_bps(10_000_000), mark, ..LinkConfig::default() });
        let capable = |n: u8| {
            let mut packet = packet(n);
            packet[1] |= 2;
            packet
        };
        // The first is sent at once, the second waits alone, the third and the fourth find one waiting.
        feed(&mut d, Time::ZERO, &[&capable(0), &capable(1), &capable(2), &packet(3)]);
        let arrived = drain(&mut d, Time::from_millis(1));
        let marks: Vec<u8> = arrived.iter().map(|packet| packet[1] & 3).collect();
        assert_eq!(marks, [2, 2, 3, 0]);
        assert_eq!((d.report().marked, d.report().link.congested), (1, 2));
    }

    #[test]
    fn copies_and_damage_are_carried_out() {
        let always = Fraction::new(1.0).unwrap();
        let mut d = direction(LinkConfig {
            duplicate: Some(Duplicate {
                probability: always,
                extra_delay: Span::from(Duration::from_millis(1)),
            }),
            corrupt: always,
            ..LinkConfig::default()
        });
        feed(&mut d, Time::ZERO, &[&packet(9)]);
        let first = drain(&mut d, Time::ZERO);
        let second = drain(&mut d, Time::from_millis(1));
        assert_eq!(first, second);
        let flipped: u32 = first[0].iter().zip(packet(9)).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!((first.len(), flipped), (1, 1));
        let report = d.report();
        assert_eq!((report.handed_over, report.damaged, report.link.delivered), (2, 2, 1));
    }

    #[test]
    fn what_is_not_a_packet_is_counted() {
        let mut d = direction(LinkConfig { mtu: Some(Bytes::new(60)), ..LinkConfig::default() });
        let (long, v6) = ([0x45; 200], [0x60; 40]);
        feed(&mut d, Time::ZERO, &[&[], &[0x15; 30], &long, &long[..61], &v6]);
        assert_eq!(drain(&mut d, Time::ZERO), [v6]);
        let report = d.report();
        assert_eq!(
            (report.not_ip, report.too_large, report.link.refused_mtu, report.link.offered),
            (2, 1, 1, 2)
        );
    }

    #[test]
    fn there_is_a_limit_and_refusals_are_counted() {
        let mut d =
            direction(LinkConfig { delay: Span::from(Duration::from_secs(1)), ..LinkConfig::default() });
        d.capacity = 2;
        feed(&mut d, Time::ZERO, &[&packet(0), &packet(1), &packet(2)]);
        assert_eq!((d.report().no_room, d.report().in_flight), (1, 2));
        d.hand_over(|| Time::from_millis(2000), |_| Err(io::ErrorKind::InvalidInput.into()));
        assert_eq!((d.report().refused_by_device, d.report().handed_over), (2, 0));
    }

    #[test]
    fn a_broken_device_is_an_error_and_a_signal_is_not() {
        let mut d = direction(LinkConfig::default());
        assert!(d.take_in(1, || Time::ZERO, |_| Err(io::ErrorKind::Interrupted.into())).unwrap());
        assert!(d.take_in(1, || Time::ZERO, |_| Err(io::Error::other("gone"))).is_err());
    }
}
