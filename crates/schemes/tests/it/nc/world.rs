//! A small world in virtual time: a TCP with only a window and a timer, the coding layer, and paths that lose, delay,
//! reorder and repeat packets.

use ripstop_base::{Seed, Stream, Time};
use ripstop_codes::{Length, Payload, Symbol};
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_schemes::nc::{Factor, NcAck, NcConfig, NcPacket, NcReceiver, NcRelay, NcSender, Segment};
use std::collections::BTreeMap;

/// Calls of [`Session`] with fewer arguments, for tests.
pub(crate) trait Drive: Session {
    /// Hands over a packet of the peer. The packet's size does not matter here.
    fn take(&mut self, now: Time, packet: Self::Incoming) {
        self.handle_datagram(now, Received { packet, bytes: 0, reception: Reception::default() });
    }

    /// The next packet that leaves. These sessions ignore the time.
    fn send(&mut self) -> Option<Self::Outgoing> {
        self.poll_transmit(Time::ZERO).map(|transmit| transmit.packet)
    }
}

impl<S: Session> Drive for S {}

/// The losses, repetitions and delays of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    pub(crate) loss: f64,
    pub(crate) repeat: f64,
    /// Ticks of random delay beyond [`DELAY`].
    pub(crate) jitter: u64,
}

/// The shortest delay of a hop, ticks.
pub(crate) const DELAY: u64 = 6;
/// Ticks without progress after which TCP sends its first unacknowledged segment again.
pub(crate) const TIMEOUT: u64 = 120;

/// A payload that a test makes for segment `number` and checks on delivery.
pub(crate) trait Content: Payload {
    fn make(number: u64) -> Self;
    fn check(&self, number: u64);
}

/// Segments of different lengths. The first two bytes give the length.
impl Content for Symbol {
    fn make(number: u64) -> Symbol {
        let mut random = Seed::new(number).stream("segment");
        let len = 2 + random.below(90) as usize;
        Symbol::build(len, |bytes| {
            random.fill(bytes);
            bytes[..2].copy_from_slice(&(len as u16).to_be_bytes());
        })
    }

    fn check(&self, number: u64) {
        let original = Symbol::make(number);
        assert_eq!(self.as_slice()[..original.len()], *original.as_slice(), "segment {number}");
        assert!(self.as_slice()[original.len()..].iter().all(|byte| *byte == 0), "segment {number}");
    }
}

impl Content for Length {
    fn make(number: u64) -> Length {
        Length(Symbol::make(number).len())
    }

    fn check(&self, number: u64) {
        assert!(self.0 >= Symbol::make(number).len(), "segment {number}");
    }
}

/// A packet in flight, ordered by its arrival time and then by the order of departure.
type Wire<T> = BTreeMap<(u64, u64), T>;

pub(crate) struct World<P> {
    pub(crate) sender: NcSender<P>,
    pub(crate) relays: Vec<NcRelay<P>>,
    pub(crate) receiver: NcReceiver<P>,
    forward: Path,
    back: Path,
    random: Stream,
    hops: Vec<Wire<NcPacket<P>>>,
    answers: Wire<NcAck>,
    order: u64,
    tick: u64,
    window: u64,
    next: u64,
    una: u64,
    progress: u64,
    pub(crate) delivered: u64,
    /// The record of a run: each acknowledgement (time, first unseen segment) and each delivery (time, segment).
    pub(crate) log: Vec<(u64, u64)>,
}

impl<P: Content> World<P> {
    pub(crate) fn new(config: NcConfig, window: u64, forward: Path, back: Path, seed: u64) -> World<P> {
        World::with_relays(config, window, forward, back, seed, &[])
    }

    /// A world with one relay for each factor.
    pub(crate) fn with_relays(
        config: NcConfig,
        window: u64,
        forward: Path,
        back: Path,
        seed: u64,
        relays: &[f64],
    ) -> World<P> {
        let seed = Seed::new(seed);
        let relay = |(i, factor): (usize, &f64)| {
            let seed = seed.child(&format!("relay {i}"));
            NcRelay::new(config, Factor::new(*factor).unwrap(), seed).unwrap()
        };
        World {
            sender: NcSender::new(config, seed).unwrap(),
            relays: relays.iter().enumerate().map(relay).collect(),
            receiver: NcReceiver::new(config).unwrap(),
            forward,
            back,
            random: seed.stream("paths"),
            hops: (0..=relays.len()).map(|_| BTreeMap::new()).collect(),
            answers: BTreeMap::new(),
            order: 0,
            tick: 0,
            window,
            next: 0,
            una: 0,
            progress: 0,
            delivered: 0,
            log: Vec::new(),
        }
    }

    /// Runs until `segments` segments are delivered. Returns false if `ticks` ticks are too few.
    pub(crate) fn run(&mut self, segments: u64, ticks: u64) -> bool {
        for _ in 0..ticks {
            if self.delivered == segments {
                return true;
            }
            self.step(segments);
        }
        self.delivered == segments
    }

    fn step(&mut self, segments: u64) {
        self.tick += 1;
        let now = Time::from_millis(self.tick);
        // TCP sends one segment per tick while its window allows. Without progress for `TIMEOUT` ticks, TCP sends the
        // first unacknowledged segment again.
        if self.next < segments && self.next < self.una + self.window {
            self.sender.handle_inner(now, Segment { number: self.next, payload: P::make(self.next) });
            self.next += 1;
        } else if self.una < self.next && self.tick - self.progress > TIMEOUT {
            self.progress = self.tick;
            self.sender.handle_inner(now, Segment { number: self.una, payload: P::make(self.una) });
        }
        while let Some(packet) = self.sender.send() {
            self.offer(0, packet);
        }
        for hop in 0..self.hops.len() {
            while let Some(packet) = arrived(&mut self.hops[hop], self.tick) {
                let Some(relay) = self.relays.get_mut(hop) else {
                    self.receive(now, packet);
                    continue;
                };
                relay.take(now, packet);
                while let Some(packet) = self.relays[hop].send() {
                    self.offer(hop + 1, packet);
                }
            }
        }
        while let Some(ack) = arrived(&mut self.answers, self.tick) {
            self.sender.take(now, ack);
            while let Some(una) = self.sender.poll_deliver() {
                if una > self.una {
                    (self.una, self.progress) = (una, self.tick);
                }
            }
            assert!(self.sender.held() as u64 <= self.next - self.una, "the sender must not hold seen segments");
        }
    }

    fn receive(&mut self, now: Time, packet: NcPacket<P>) {
        self.receiver.take(now, packet);
        while let Some((number, payload)) = self.receiver.poll_deliver() {
            assert_eq!(number, self.delivered, "segments must come in order, each once");
            payload.check(number);
            self.delivered += 1;
            self.log.push((self.tick, u64::MAX - number));
        }
        while let Some(ack) = self.receiver.send() {
            self.log.push((self.tick, ack.first_unseen));
            let path = self.back;
            for at in self.fates(path) {
                self.answers.insert(at, ack);
            }
        }
    }

    fn offer(&mut self, hop: usize, packet: NcPacket<P>) {
        let path = self.forward;
        for at in self.fates(path) {
            self.hops[hop].insert(at, packet.clone());
        }
    }

    /// The arrival times of a packet that is sent now: none, one or two.
    fn fates(&mut self, path: Path) -> Vec<(u64, u64)> {
        let lost = self.random.chance(path.loss);
        let times = 1 + u64::from(self.random.chance(path.repeat));
        let mut fate = |_| {
            self.order += 1;
            (self.tick + DELAY + self.random.below(path.jitter + 1), self.order)
        };
        if lost { Vec::new() } else { (0..times).map(&mut fate).collect() }
    }
}

fn arrived<T>(wire: &mut Wire<T>, tick: u64) -> Option<T> {
    let entry = wire.first_entry()?;
    (entry.key().0 <= tick).then(|| entry.remove())
}
