//! The buffer of packets that wait for a route.

use crate::wifi::medium::DropReason;
use crate::wifi::queue::Queued;
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// The largest number of packets that wait at a station: 64 (ns-2's value). A TCP window of up to 64 packets never
/// overflows the buffer. Half the value drops packets if the TCP window has more than 32 packets. Double the value
/// keeps packets that TCP has given up.
const MOST_WAITING: usize = 64;

/// The longest time for which a packet waits: 30 s (ns-2's value). A discovery without a reply ends earlier, after
/// about 20 s. So half the value could end a wait before the last request. Double the value changes nothing.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Packets that wait for a route, oldest first.
#[derive(Clone, Debug)]
pub(super) struct Buffer<P> {
    /// The packets, each with the time until which it waits.
    waiting: VecDeque<(Time, Queued<P>)>,
}

/// Packets that the buffer dropped, each with the reason.
pub(super) type Dropped<P> = VecDeque<(Queued<P>, DropReason)>;

impl<P> Buffer<P> {
    pub(super) fn new() -> Buffer<P> {
        Buffer { waiting: VecDeque::new() }
    }

    /// Appends a packet. If the buffer is full, the oldest packet is dropped.
    pub(super) fn push(&mut self, packet: Queued<P>, now: Time, dropped: &mut Dropped<P>) {
        self.expire(now, dropped);
        if self.waiting.len() >= MOST_WAITING {
            dropped.extend(self.waiting.pop_front().map(|(_, packet)| (packet, DropReason::BufferFull)));
        }
        self.waiting.push_back((now + LONGEST_WAIT, packet));
    }

    /// Takes the oldest packet for `destination`.
    pub(super) fn take(&mut self, destination: u32, now: Time, dropped: &mut Dropped<P>) -> Option<Queued<P>> {
        self.expire(now, dropped);
        let at = self.waiting.iter().position(|(_, packet)| packet.destination == destination)?;
        self.waiting.remove(at).map(|(_, packet)| packet)
    }

    /// Whether a packet for `destination` waits.
    pub(super) fn has(&self, destination: u32) -> bool {
        self.waiting.iter().any(|(_, packet)| packet.destination == destination)
    }

    /// The packets that wait.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Queued<P>> {
        self.waiting.iter().map(|(_, packet)| packet)
    }

    /// Drops the packets that have waited too long. The oldest packets are at the front of the buffer.
    fn expire(&mut self, now: Time, dropped: &mut Dropped<P>) {
        while self.waiting.front().is_some_and(|(until, _)| *until < now) {
            dropped.extend(self.waiting.pop_front().map(|(_, packet)| (packet, DropReason::Expired)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::packet;
    use super::*;

    #[test]
    fn packets_leave_in_order_and_the_oldest_one_makes_room() {
        let mut buffer = Buffer::new();
        let mut dropped = Dropped::new();
        for number in 0..65 {
            buffer.push(packet(0, 8 + number % 2, u64::from(number)), Time::ZERO, &mut dropped);
        }
        assert_eq!(dropped.len(), 1);
        assert_eq!((dropped[0].0.id, dropped[0].1), (0, DropReason::BufferFull));
        let taken: Vec<u64> =
            std::iter::from_fn(|| buffer.take(8, Time::ZERO, &mut dropped)).map(|packet| packet.id).collect();
        assert_eq!(taken.len(), 32);
        assert!(taken.is_sorted() && !buffer.has(8) && buffer.has(9));
    }

    #[test]
    fn packets_expire_after_thirty_seconds() {
        let mut buffer = Buffer::new();
        let mut dropped = Dropped::new();
        buffer.push(packet(0, 8, 1), Time::ZERO, &mut dropped);
        buffer.push(packet(0, 8, 2), Time::from_millis(1), &mut dropped);
        let taken = buffer.take(8, Time::from_nanos(30_000_000_001), &mut dropped);
        assert_eq!(taken.map(|packet| packet.id), Some(2));
        assert_eq!((dropped[0].0.id, dropped[0].1), (1, DropReason::Expired));
    }
}
