//! The data path that is timed, by the program's `speed` command: a whole session between two
//! [`Endpoint`]s, from inner packets to datagrams and back, over a path that loses some.
//!
//! The caller holds the clock: [`BenchSession::send`] and [`BenchSession::receive`] are what one end does, and
//! [`BenchSession::carry`] between them is the path, which nobody times.

use crate::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use crate::secure::{Key, PrivateKey, Suite};
use crate::session::tunnel::RateMode;
use crate::wire::HEADER_LEN;
use ripstop_base::{Seed, Stream, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Inner packets handed over in one go, as a device with offload hands them over.
const BATCH: usize = 32;
/// How long a go lasts in the session's own time: 32 packets of 1400 bytes in it are 0.9 Gbit/s.
const STEP: Duration = Duration::from_micros(400);
/// The delay of the path in each direction, in steps.
const DELAY: usize = 4;
/// Room for a datagram.
const ROOM: usize = 2048;

/// Seals `len` bytes with the AEAD of the preferred suite; answers `len`.
pub fn seal(len: usize) -> impl FnMut() -> u64 {
    let key = Key::new(Suite::preferred(), &[7; 32]);
    let (mut number, mut body) = (0, vec![1; len]);
    move || {
        number += 1;
        std::hint::black_box(key.seal(number, &[0; HEADER_LEN], &mut body));
        len as u64
    }
}

/// A session under way: one end sends inner packets as fast as it may, the other delivers them.
pub struct BenchSession {
    sender: Endpoint,
    receiver: Endpoint,
    sender_address: SocketAddr,
    receiver_address: SocketAddr,
    now: Time,
    packet: Vec<u8>,
    forth: Way,
    back: Way,
    loss: f64,
    losses: Stream,
    counts: SessionCounts,
}

/// What went through a [`BenchSession`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Inner packets handed over.
    pub given: u64,
    /// Inner packets delivered.
    pub delivered: u64,
    /// Datagrams lost.
    pub lost: u64,
    /// Source symbols that came back from repairs.
    pub recovered: u64,
}

/// One direction of the path. An end reads and writes the same buffers all the time, as it does when a
/// system call fills and empties them.
#[derive(Default)]
struct Way {
    leaving: Datagrams,
    on_way: VecDeque<Datagrams>,
    arriving: Datagrams,
    spare: Vec<Datagrams>,
}

/// Datagrams, each at the start of its own room.
#[derive(Default)]
struct Datagrams {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

const SENDER: ([u8; 4], &str) = ([10, 0, 0, 1], "192.0.2.1:1");
const RECEIVER: ([u8; 4], &str) = ([10, 0, 0, 2], "192.0.2.2:1");

impl BenchSession {
    /// A session that has been set up and runs, with inner packets of `len` bytes (at least 28) over a
    /// path that loses the share `loss` of the datagrams in the data direction.
    pub fn new(len: usize, loss: f64) -> BenchSession {
        let mut session = BenchSession {
            sender: end("sender", "receiver", RECEIVER),
            receiver: end("receiver", "sender", SENDER),
            sender_address: address(SENDER),
            receiver_address: address(RECEIVER),
            now: Time::ZERO,
            packet: inner(len.max(28)),
            forth: Way::default(),
            back: Way::default(),
            loss,
            losses: Seed::new(1).stream("bench/loss"),
            counts: SessionCounts::default(),
        };
        // Handshake, the search for the MTU, first estimates.
        for step in 0..400 {
            session.sending(if step < 100 { 0 } else { BATCH });
            session.carry();
            session.receive();
        }
        session.counts.given = 0;
        session.counts.delivered = 0;
        session
    }

    /// What the sending end does in a step: it takes the feedback that has come and as many packets as
    /// come in one go, and makes datagrams of them. Answers how many bytes of inner packets it took.
    pub fn send(&mut self) -> u64 {
        self.sending(BATCH)
    }

    fn sending(&mut self, packets: usize) -> u64 {
        self.now += STEP;
        let from = self.receiver_address;
        self.back.arriving.each(|datagram| self.sender.handle_datagram(self.now, from, datagram, false));
        self.sender.handle_timeout(self.now);
        for _ in 0..packets {
            self.sender.handle_inner(self.now, &mut self.packet);
        }
        self.forth.leaving.fill(|room| Some(self.sender.poll_transmit(self.now, room)?.len));
        self.counts.given += packets as u64;
        (packets * self.packet.len()) as u64
    }

    /// What the path does in a step: it carries on what was sent, or loses it.
    pub fn carry(&mut self) {
        let (losses, counts) = (&mut self.losses, &mut self.counts);
        self.forth.carry(|| {
            let lost = losses.chance(self.loss);
            counts.lost += u64::from(lost);
            lost
        });
        self.back.carry(|| false);
    }

    /// What the receiving end does in a step: it opens what has come, recovers, delivers in order and
    /// makes feedback. Answers how many bytes of inner packets it delivered.
    pub fn receive(&mut self) -> u64 {
        let from = self.sender_address;
        self.forth.arriving.each(|datagram| self.receiver.handle_datagram(self.now, from, datagram, false));
        self.receiver.handle_timeout(self.now);
        self.back.leaving.fill(|room| Some(self.receiver.poll_transmit(self.now, room)?.len));
        let mut bytes = 0;
        while let Some((_, delivered)) = self.receiver.poll_deliver() {
            bytes += std::hint::black_box(inner_packet(&delivered)).len() as u64;
            self.counts.delivered += 1;
        }
        bytes
    }

    /// What went through so far.
    pub fn counts(&self) -> SessionCounts {
        let peer = self.receiver.peers().next();
        let status = peer.and_then(|peer| self.receiver.peer_status(peer)?.tunnel);
        SessionCounts { recovered: status.map_or(0, |status| status.received.recovered), ..self.counts }
    }
}

impl Way {
    /// What left is under way now, but for what is `lost`; what left [`DELAY`] steps ago arrives.
    fn carry(&mut self, mut lost: impl FnMut() -> bool) {
        let mut sent = self.spare.pop().unwrap_or_default();
        sent.lengths.clear();
        self.leaving.each(|datagram| {
            if !lost() {
                sent.add(datagram);
            }
        });
        self.on_way.push_back(sent);
        self.arriving.lengths.clear();
        if self.on_way.len() > DELAY
            && let Some(mut arrived) = self.on_way.pop_front()
        {
            arrived.each(|datagram| self.arriving.add(datagram));
            self.spare.push(arrived);
        }
    }
}

impl Datagrams {
    fn add(&mut self, datagram: &[u8]) {
        let start = self.room();
        self.bytes[start..start + datagram.len()].copy_from_slice(datagram);
        self.lengths.push(datagram.len());
    }

    /// Where the next datagram's room starts.
    fn room(&mut self) -> usize {
        let start = self.lengths.len() * ROOM;
        if self.bytes.len() < start + ROOM {
            self.bytes.resize(start + 16 * ROOM, 0);
        }
        start
    }

    /// Takes datagrams, each written into the room it is given, for as long as there are any.
    fn fill(&mut self, mut next: impl FnMut(&mut [u8]) -> Option<usize>) {
        self.lengths.clear();
        loop {
            let start = self.room();
            let Some(len) = next(&mut self.bytes[start..start + ROOM]) else { return };
            self.lengths.push(len);
        }
    }

    fn each(&mut self, mut take: impl FnMut(&mut [u8])) {
        for (room, len) in self.bytes.chunks_exact_mut(ROOM).zip(&self.lengths) {
            take(&mut room[..*len]);
        }
    }
}

/// One end, whose only peer is at `place`.
fn end(name: &str, peer: &str, place: ([u8; 4], &str)) -> Endpoint {
    let seed = Seed::new(1);
    let key = |name: &str| PrivateKey::generate(&mut seed.stream(name));
    let mut config = EndpointConfig::default();
    config.tunnel.rate = RateMode::Fixed("1.2Gbit/s".parse().expect("a rate"));
    let entropy = |what: &str| Box::new(seed.stream(&format!("bench/{name}/{what}")));
    let mut end = Endpoint::new(key(name), config, entropy("keys"), entropy("sessions"));
    let peer = PeerConfig {
        public: key(peer).public(),
        endpoint: Some(address(place)),
        allowed_ips: vec![place.0.map(|byte| byte.to_string()).join(".").parse().expect("a prefix")],
        keepalive: None,
    };
    end.add_peer(Time::ZERO, &peer).expect("the only peer, another key");
    end
}

fn address(place: ([u8; 4], &str)) -> SocketAddr {
    place.1.parse().expect("an address")
}

/// A UDP packet of `len` bytes from the sender's network to the receiver's.
fn inner(len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[9] = 17;
    packet[12..16].copy_from_slice(&SENDER.0);
    packet[16..20].copy_from_slice(&RECEIVER.0);
    packet
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_delivers_what_it_was_given() {
        let mut session = BenchSession::new(1400, 0.05);
        for _ in 0..300 {
            assert_eq!(session.send(), 32 * 1400);
            session.carry();
            session.receive();
        }
        let counts = session.counts();
        assert_eq!(counts.given, 300 * 32);
        assert!(counts.lost > 300 && counts.recovered > 300, "{counts:?}");
        // All but what is on its way, or waits for a repair that is.
        assert!(counts.delivered + 40 * 32 > counts.given, "{counts:?}");
        assert_eq!(seal(100)(), 100);
    }
}
