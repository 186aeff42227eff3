//! A TCP source, an LT sender, a path in each direction, and an LT receiver, in virtual time.
//!
//! The path is a queue with a rate, a delay, and random losses. The source has a window, as TCP has,
//! and sends a packet again if no acknowledgement comes for three seconds.

use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::Symbol;
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_schemes::lt::*;
use std::collections::VecDeque;
use std::time::Duration;

/// One direction of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Bits per second.
    pub(crate) rate: f64,
    pub(crate) delay: Duration,
    pub(crate) loss: f64,
    /// Packets that wait; more are dropped.
    pub(crate) queue: usize,
    /// A random additional delay, which reorders packets.
    pub(crate) jitter: Duration,
    /// The share of packets that arrive twice.
    pub(crate) repeat: f64,
    /// From when to when nothing passes.
    pub(crate) blackout: Option<(Time, Time)>,
}

/// A path like the mesh of paper 004: a packet of 1040 bytes takes 29 ms.
pub(crate) fn mesh(loss: f64) -> Path {
    let delay = Duration::from_millis(3);
    Path { rate: 287e3, delay, loss, queue: 50, jitter: Duration::ZERO, repeat: 0.0, blackout: None }
}

#[derive(Debug)]
struct Wire<T> {
    path: Path,
    free_at: Time,
    /// When each packet in the queue leaves.
    leaving: VecDeque<Time>,
    draws: Stream,
    on_the_way: Vec<(Time, Received<T>)>,
}

impl<T: Clone> Wire<T> {
    fn new(path: Path, draws: Stream) -> Wire<T> {
        Wire { path, free_at: Time::ZERO, leaving: VecDeque::new(), draws, on_the_way: Vec::new() }
    }

    fn send(&mut self, now: Time, packet: T, bytes: u32) {
        let airtime = Duration::from_secs_f64(8.0 * f64::from(bytes) / self.path.rate);
        while self.leaving.front().is_some_and(|leaves| *leaves <= now) {
            self.leaving.pop_front();
        }
        if self.leaving.len() > self.path.queue {
            return;
        }
        self.free_at = self.free_at.max(now) + airtime;
        self.leaving.push_back(self.free_at);
        let is_dark = self.path.blackout.is_some_and(|(from, to)| from <= now && now < to);
        if self.draws.chance(self.path.loss) || is_dark {
            return;
        }
        let copies = 1 + usize::from(self.draws.chance(self.path.repeat));
        for _ in 0..copies {
            let arrival = self.free_at + self.path.delay + self.path.jitter.mul_f64(self.draws.unit());
            self.on_the_way
                .push((arrival, Received { packet: packet.clone(), bytes, reception: Reception::default() }));
        }
    }

    fn next(&self) -> Time {
        self.on_the_way.iter().map(|(at, _)| *at).min().unwrap_or(Time::NEVER)
    }

    fn take(&mut self, now: Time) -> Option<Received<T>> {
        let at = self.next();
        let place = self.on_the_way.iter().position(|(when, _)| *when == at && at <= now)?;
        Some(self.on_the_way.remove(place).1)
    }
}

/// Both ends, with the path between them and a TCP source.
pub(crate) struct World {
    pub(crate) sender: LtSender<Symbol>,
    pub(crate) receiver: LtReceiver<Symbol>,
    there: Wire<LtPacket<Symbol>>,
    back: Wire<LtAck>,
    pub(crate) now: Time,
    /// TCP's window in packets.
    window: u64,
    /// TCP's first packet that is not acknowledged, and its next packet.
    pub(crate) acknowledged: u64,
    /// TCP may send the packets before this one.
    edge: u64,
    next: u64,
    /// When TCP sends again.
    again: Time,
    pub(crate) packets: u64,
    pub(crate) delivered: u64,
    pub(crate) events: VecDeque<LtEvent>,
}

/// Packet `number`. Its length varies, and is in its first bytes.
pub(crate) fn content(number: u64) -> Symbol {
    let len = 20 + (number * 37 % 900) as usize;
    let mut bytes: Vec<u8> = (0..len).map(|i| (i as u64 * 31 + number * 7) as u8).collect();
    bytes[..2].copy_from_slice(&(len as u16).to_be_bytes());
    bytes[2..10].copy_from_slice(&number.to_be_bytes());
    Symbol::from_slice(&bytes)
}

impl World {
    pub(crate) fn new(config: LtConfig, there: Path, back: Path, seed: u64) -> World {
        let seed = Seed::new(seed);
        let mut sender = LtSender::new(config, seed.stream("session").next_u64() as u32).unwrap();
        sender.handle_inner(Time::ZERO, LtInner::Open);
        sender.set_rate((there.rate * 0.95 * (1.0 - there.loss)) as u64);
        World {
            sender,
            receiver: LtReceiver::new(config).unwrap(),
            there: Wire::new(there, seed.stream("there")),
            back: Wire::new(back, seed.stream("back")),
            now: Time::ZERO,
            window: 100,
            acknowledged: 0,
            edge: if config.mode == LtMode::Improved { 0 } else { u64::MAX },
            next: 0,
            again: Time::from_millis(3000),
            packets: u64::MAX,
            delivered: 0,
            events: VecDeque::new(),
        }
    }

    /// Runs until `packets` packets are delivered and acknowledged, or until `end`. Returns whether all are.
    pub(crate) fn run(&mut self, packets: u64, end: Time) -> bool {
        self.packets = packets;
        let mut steps = 0;
        while self.now < end && (self.delivered < packets || self.acknowledged < packets) {
            self.pump();
            let timers = [self.sender.poll_timeout(), self.receiver.poll_timeout()];
            let next = timers.into_iter().flatten().fold(self.there.next().min(self.back.next()), Time::min);
            let next = next.min(self.again);
            if next == Time::NEVER {
                return false;
            }
            steps += 1;
            assert!(steps < 1000 * packets, "the session does not come to rest at {:?}", self.now);
            self.now = self.now.max(next).min(end);
            self.step();
        }
        self.delivered == packets && self.acknowledged == packets
    }

    /// Handles everything that is due now.
    fn step(&mut self) {
        let now = self.now;
        while let Some(received) = self.there.take(now) {
            self.receiver.handle_datagram(now, received);
            self.pump();
        }
        while let Some(received) = self.back.take(now) {
            self.sender.handle_datagram(now, received);
            self.pump();
        }
        self.sender.handle_timeout(now);
        self.pump();
        self.receiver.handle_timeout(now);
        self.pump();
        if self.again <= now {
            self.again = now + Duration::from_secs(3);
            match self.edge {
                0 => self.sender.handle_inner(now, LtInner::Open),
                _ => self.offer(self.acknowledged),
            }
        }
    }

    fn offer(&mut self, number: u64) {
        if number < self.packets {
            self.sender.handle_inner(self.now, LtInner::Segment(Segment { number, payload: content(number) }));
        }
    }

    /// Takes what the receiver delivers. Returns whether TCP has accepted the connection.
    fn take_deliveries(&mut self) -> bool {
        let mut opens = false;
        while let Some(delivered) = self.receiver.poll_deliver() {
            let LtDelivered::Packet { number, payload } = delivered else {
                opens = true;
                continue;
            };
            assert_eq!(number, self.delivered, "packets must come in order");
            let len = usize::from(u16::from_be_bytes([payload.as_slice()[0], payload.as_slice()[1]]));
            assert_eq!(&payload.as_slice()[..len], content(number).as_slice(), "packet {number} has other bytes");
            assert!(payload.as_slice()[len..].iter().all(|byte| *byte == 0));
            self.delivered += 1;
        }
        if opens {
            self.receiver.handle_inner(self.now, Accepted);
        }
        opens
    }

    /// Moves packets between the ends, the source and the path until nothing moves. Each input of an end is followed by
    /// all outputs.
    fn pump(&mut self) {
        loop {
            let mut moved = self.take_deliveries();
            while let Some(ack) = self.sender.poll_deliver() {
                moved = true;
                if let Some(room) = ack.room {
                    self.edge = self.edge.max(ack.next + u64::from(room));
                }
                if ack.next > self.acknowledged {
                    self.acknowledged = ack.next;
                    self.again = self.now + Duration::from_secs(3);
                }
            }
            while let Some(sent) = self.sender.poll_transmit(self.now) {
                moved = true;
                assert_eq!(sent.packet.wrong_field(), None);
                self.there.send(self.now, sent.packet, sent.bytes);
            }
            while let Some(sent) = self.receiver.poll_transmit(self.now) {
                moved = true;
                assert_eq!(sent.packet.wrong_field(), None);
                self.back.send(self.now, sent.packet, sent.bytes);
            }
            while let Some(event) = self.sender.poll_event().or_else(|| self.receiver.poll_event()) {
                self.events.push_back(event);
            }
            if self.next < self.packets.min(self.acknowledged + self.window).min(self.edge) {
                self.again = self.now + Duration::from_secs(3);
                let number = self.next;
                self.next += 1;
                self.offer(number);
            } else if !moved {
                return;
            }
        }
    }

    /// Replaces the receiver by one that knows nothing.
    pub(crate) fn restart_receiver(&mut self, config: LtConfig) {
        self.receiver = LtReceiver::new(config).unwrap();
    }
}
