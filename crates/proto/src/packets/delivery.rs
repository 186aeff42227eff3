//! The receiving half of a tunnel: takes symbols as they become known, and delivers the packets that they hold in the order
//! of each flow.

use super::inner_packet::InnerPacket;
use super::order::{Delivered, InOrder, OrderCounts};
use super::pieces::{Joiner, PieceCounts};
use super::undelivered::{self, DeliveryRoom, Undelivered};
use crate::coding::{Recipient, SLOT};
use ripstop_base::Time;
use ripstop_codes::window::IdRanges;
use std::time::Duration;

/// The packets that have arrived and were not taken by the user.
#[derive(Debug)]
pub(crate) struct Delivery<P> {
    order: InOrder<P>,
    joiner: Joiner<P>,
    /// How long a packet waits for missing earlier packets. This is 1.25 times the deadline in the
    /// last window announcement. A deadline above 60 s counts as 60 s. `None`: no announcement has
    /// come.
    deadline: Option<Duration>,
    /// Symbols that did not hold a valid inner packet.
    malformed: u64,
}

impl<P: InnerPacket> Delivery<P> {
    /// Nothing has arrived. See [`Joiner::set_longest`] for `inner_mtu`.
    pub(crate) fn new(inner_mtu: u32) -> Delivery<P> {
        let mut joiner = Joiner::new();
        joiner.set_longest(inner_mtu);
        Delivery { order: InOrder::new(), joiner, deadline: None, malformed: 0 }
    }

    /// Takes the deadline that the sender has announced.
    pub(crate) fn set_deadline(&mut self, announced: Duration) {
        // The sender gives up a symbol when the announced deadline has passed since the symbol was
        // sent. A quarter of the deadline is added, because the last repair may still be in flight
        // at that time.
        self.deadline = Some(announced.min(Duration::from_secs(60)).mul_f64(1.25));
    }

    /// Delivers packets that have waited longer than 1.25 times the announced deadline, and drops pieces whose rest has not
    /// come. Until the first announcement, packets wait for `deadline`.
    pub(crate) fn expire(&mut self, now: Time, deadline: Duration, missing: &IdRanges) {
        let deadline = self.deadline.unwrap_or(deadline);
        self.order.expire(now, deadline, missing);
        self.joiner.expire(now, deadline);
    }

    /// When [`Delivery::expire`] is due next.
    pub(crate) fn expires(&self, deadline: Duration) -> Option<Time> {
        let deadline = self.deadline.unwrap_or(deadline);
        [self.order.expires(deadline), self.joiner.expires(deadline)].into_iter().flatten().min()
    }

    /// Removes and returns the next packet for the user, if there is `room`.
    pub(crate) fn poll(&mut self, now: Time, room: &mut DeliveryRoom) -> Option<Delivered<P>> {
        undelivered::poll(now, &mut self.order, &mut self.joiner, room)
    }

    /// The number of packets that may be delivered now, and their memory, bytes.
    pub(crate) fn ready(&self) -> (usize, usize) {
        self.order.ready()
    }

    /// Removes all packets that may be delivered now. The session is over.
    pub(crate) fn take_undelivered(&mut self) -> Undelivered<P> {
        let order = std::mem::replace(&mut self.order, InOrder::new());
        Undelivered::new(order, std::mem::replace(&mut self.joiner, Joiner::new()))
    }

    /// Lets all packets that wait for earlier packets be delivered.
    pub(crate) fn release(&mut self) {
        self.order.release_all();
    }

    /// Frees memory: lets all packets that wait be delivered, and drops the pieces of incomplete packets.
    pub(crate) fn shrink(&mut self) {
        self.order.release_all();
        self.joiner.clear();
    }

    /// Number of packets that wait for earlier packets.
    pub(crate) fn waiting(&self) -> usize {
        self.order.waiting()
    }

    /// What became of packets, and of pieces of packets, so far.
    pub(crate) fn counts(&self) -> (OrderCounts, PieceCounts) {
        (self.order.counts(), self.joiner.counts())
    }

    /// Symbols that did not hold a valid inner packet.
    pub(crate) fn malformed(&self) -> u64 {
        self.malformed
    }

    /// Memory of packets that wait to be delivered, and of pieces of packets, bytes. Most packets that wait share their
    /// bytes with the decoder's history.
    pub(crate) fn memory(&self) -> usize {
        self.order.bytes() + self.joiner.bytes() + self.joiner.payloads() * SLOT
    }
}

impl<P: InnerPacket> Recipient<P> for Delivery<P> {
    /// Passes symbol `id` to in-order delivery. The decoder takes no symbol 2^64 - 1, so `id` has a next number.
    fn take(&mut self, now: Time, id: u64, payload: P, missing: &IdRanges) {
        match payload.meta() {
            Some(meta) => {
                let gap = payload.gap();
                self.order.arrive(now, id, gap, Delivered { payload, meta }, missing);
            }
            None => {
                self.malformed += 1;
                self.order.resolve(id, missing);
            }
        }
    }

    fn give_up_before(&mut self, base: u64, missing: &IdRanges) {
        self.order.resolve_before(base, missing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coding::Receiver;
    use crate::packets::Gap;
    use crate::packets::{Meta, Order};
    use crate::wire::Window;
    use ripstop_codes::Length;
    use ripstop_codes::window::{Coding, Members};

    impl InnerPacket for Length {
        fn set_gap(&mut self, _gap: Gap) {}
        fn gap(&self) -> Gap {
            Gap::rounded(2)
        }
        fn meta(&self) -> Option<Meta> {
            Some(Meta { flow: 1, order: Order::InOrder, len: self.0 as u32 - 1, ack: None, is_syn: false })
        }
    }

    /// The symbol 2^64 - 1 is refused, and no number before it overflows.
    #[test]
    fn the_highest_symbol_numbers_are_harmless() {
        const BASE: u64 = u64::MAX - 9;
        let (mut receiver, mut delivery) = (Receiver::<Length>::new(1 << 16, 128_000_000), Delivery::new(1436));
        let window = |base| {
            let (report_every, deadline) = (Duration::from_millis(10), Duration::from_secs(1));
            Window { base, reach: 1024, report_every, deadline }
        };
        receiver.advance(Time::ZERO, BASE, &mut delivery);
        // Every other number, so that symbols are missing and packets wait.
        for id in (BASE..u64::MAX).step_by(2).chain([u64::MAX]) {
            receiver.source(Time::ZERO, id, Length(60), &mut delivery);
        }
        assert_eq!((receiver.end(), receiver.backlog().0, receiver.counts().sources), (u64::MAX, 4, 6));
        for members in [Members::one(u64::MAX), Members::range(BASE..u64::MAX), Members::one(u64::MAX - 2)] {
            receiver.repair(Time::ZERO, &members, &Coding::Seed(1), Length(60), &mut delivery);
        }
        delivery.expire(Time::from_millis(90_000), Duration::ZERO, receiver.missing());
        receiver.go_on(Time::from_millis(90_000), &mut delivery);
        receiver.window(Time::ZERO, &window(u64::MAX), &mut delivery);
        assert_eq!((receiver.backlog().0, delivery.waiting()), (0, 0));
        let taken = std::iter::from_fn(|| delivery.poll(Time::ZERO, &mut DeliveryRoom::unlimited()));
        assert_eq!(taken.map(|packet| packet.payload.0).sum::<usize>(), 5 * 60);
    }
}
