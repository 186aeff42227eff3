//! A TCP inside the tunnel, as the kernels at both ends of a real one would have: what a session delays, drops or delivers in
//! bursts shows in this flow's window as it would in theirs.

use super::cargo::Label;
use super::world::Side;
use crate::tcp::{Ack, Mechanisms, Reassembly, Receiver, Sender, SenderConfig, SenderCounts, Variant};
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// A receiver acknowledges every second packet, and a single one after so long (Linux).
const ACK_EVERY: u32 = 2;
const DELAYED_ACK: Duration = Duration::from_millis(40);
/// An acknowledgement with time stamps and nothing else, bytes; the first packet, which carries no data, is as long.
const BARE_BYTES: u32 = 52;

/// What a TCP connection through the tunnel is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpStatus {
    /// Packets of data that the receiver has in order.
    pub in_order: u64,
    /// Congestion window, packets.
    pub window: f64,
    /// What the sender did.
    pub counts: SenderCounts,
    /// How often its mechanisms did their work.
    pub mechanisms: Mechanisms,
}

/// A connection that sends without end.
#[derive(Debug)]
pub(super) struct Connection {
    /// Where its data comes from.
    pub(super) from: Side,
    /// Flow of the data; that of the acknowledgements is the next one.
    pub(super) flow: u32,
    /// Bytes of a packet of data.
    len: u32,
    sender: Sender,
    receiver: Receiver,
    /// What leaves next from the receiver, and when one that is delayed does.
    ready: VecDeque<Ack>,
    delayed: Time,
    /// What the packets under way carry, by their places in the flows, from these on.
    packets: UnderWay<u64>,
    acks: UnderWay<Ack>,
}

impl Connection {
    /// A connection that begins at `now`; `random` is for the sender.
    pub(super) fn new(
        now: Time,
        from: Side,
        flow: u32,
        len: u32,
        variant: Variant,
        random: &mut Stream,
    ) -> Connection {
        let mut sender = Sender::new(variant, SenderConfig::linux(), random);
        sender.offer(now, u64::MAX);
        Connection {
            from,
            flow,
            len,
            sender,
            receiver: Receiver::new(Reassembly::Buffer, ACK_EVERY),
            ready: VecDeque::with_capacity(16),
            delayed: Time::NEVER,
            packets: UnderWay::default(),
            acks: UnderWay::default(),
        }
    }

    /// Takes a packet that came out on `side`; whether it is one of this connection.
    pub(super) fn take(&mut self, now: Time, side: Side, label: Label) -> bool {
        if side == self.from.other() && label.flow == self.flow {
            if let Some(number) = self.packets.take(label.sequence) {
                self.receive(now, number);
            }
            return true;
        }
        if side == self.from && label.flow == self.flow + 1 {
            if let Some(ack) = self.acks.take(label.sequence) {
                self.sender.on_ack(now, &ack);
            }
            return true;
        }
        false
    }

    /// The next packet of data that leaves now: its length. It is the `sequence`-th of its flow.
    pub(super) fn poll_data(&mut self) -> Option<u32> {
        let number = self.sender.poll_transmit()?;
        self.packets.push(number);
        Some(if number == 0 { BARE_BYTES } else { self.len })
    }

    /// The next acknowledgement that leaves now: its length.
    pub(super) fn poll_ack(&mut self) -> Option<u32> {
        if !self.ready.is_empty() {
            // The odd one of what came at this moment goes with it.
            self.delayed = Time::NEVER;
            if let Some(ack) = self.receiver.flush() {
                self.acknowledge(ack);
            }
        }
        self.acks.push(self.ready.pop_front()?);
        Some(BARE_BYTES)
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        self.sender.on_timeout(now);
        if now >= self.delayed {
            self.delayed = Time::NEVER;
            self.ready.extend(self.receiver.flush());
        }
    }

    /// When one of its timers is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        Some(self.sender.timeout().min(self.delayed)).filter(|due| *due != Time::NEVER)
    }

    pub(super) fn status(&self) -> TcpStatus {
        TcpStatus {
            in_order: self.receiver.in_order().saturating_sub(1),
            window: self.sender.cwnd(),
            counts: self.sender.counts(),
            mechanisms: self.sender.mechanisms(),
        }
    }

    fn receive(&mut self, now: Time, number: u64) {
        match self.receiver.on_packet(number) {
            Some(ack) => self.acknowledge(ack),
            // The first packet is a SYN, which is answered at once.
            None if number == 0 => self.ready.extend(self.receiver.flush()),
            None => self.delayed = self.delayed.min(now + DELAYED_ACK),
        }
    }

    /// What arrives in order at one moment is merged by offload, and acknowledged once.
    fn acknowledge(&mut self, ack: Ack) {
        let plain = |ack: &Ack| ack.duplicate.is_none() && ack.blocks().next().is_none();
        if plain(&ack) && self.ready.back().is_some_and(plain) {
            self.ready.pop_back();
        }
        self.ready.push_back(ack);
    }
}

/// What a flow's packets under way carry, by their places in it.
#[derive(Debug)]
struct UnderWay<T> {
    first: u64,
    contents: VecDeque<T>,
}

impl<T> Default for UnderWay<T> {
    fn default() -> UnderWay<T> {
        UnderWay { first: 0, contents: VecDeque::with_capacity(64) }
    }
}

impl<T> UnderWay<T> {
    fn push(&mut self, content: T) {
        self.contents.push_back(content);
    }

    /// What the packet in this place carries. A flow is delivered in order: what is older will never come.
    fn take(&mut self, place: u64) -> Option<T> {
        let at =
            usize::try_from(place.checked_sub(self.first)?).ok().filter(|at| *at < self.contents.len())?;
        self.first = place + 1;
        self.contents.drain(..=at).next_back()
    }
}
