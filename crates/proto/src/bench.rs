//! A complete session whose data path can be timed, for the command `ripstop speed`.
//!
//! The session runs between two [`Endpoint`]s over a path that loses datagrams. The sender turns
//! inner packets into datagrams, and the receiver turns the datagrams back into inner packets. The
//! caller times [`BenchSession::send`], the work of the sender, and [`BenchSession::receive`], the
//! work of the receiver. [`BenchSession::carry`] does the work of the path between the two ends,
//! and is not timed.

use crate::control::rate::RateMode;
use crate::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use crate::secure::{Key, PrivateKey, Suite};
use crate::session::Reception;
use crate::wire::HEADER_LEN;
use ripstop_base::{Seed, Stream, Time};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// Number of inner packets handed over in one step.
///
/// A device with offload hands over about this number of packets at once. With half the value, the
/// cost of a batch is spread over half as many packets; with double the value, over twice as many.
const BATCH: usize = 32;
/// Length of a step in the session's own time, 400 µs.
///
/// With 32 packets of 1400 bytes in each step, the session carries 0.9 Gbit/s. Half the value would
/// exceed the fixed rate of 1.2 Gbit/s. Double the value halves the session's rate.
const STEP: Duration = Duration::from_micros(400);
/// Delay of the path in each direction, steps.
///
/// The delay sets the number of datagrams in flight. Half or double the value halves or doubles
/// that number, and thus the number of symbols that the sender and the receiver keep.
const DELAY: usize = 4;
/// Length of the buffer for one datagram, bytes. The length must exceed the path's MTU; a longer
/// buffer has no effect.
const ROOM: usize = 2048;

/// Returns a function that seals `len` bytes with the AEAD of the preferred suite and returns
/// `len`.
pub fn seal(len: usize) -> impl FnMut() -> u64 {
    let key = Key::new(Suite::preferred(), &[7; 32]);
    let (mut number, mut body) = (0, vec![1; len]);
    move || {
        number += 1;
        std::hint::black_box(key.seal(number, &[0; HEADER_LEN], &mut body));
        len as u64
    }
}

/// A running session. One end sends inner packets at a constant rate, and the other delivers them.
///
/// Call [`send`](Self::send), [`carry`](Self::carry) and [`receive`](Self::receive) in turn. Each
/// round of calls is one step.
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

/// Counts of a [`BenchSession`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionCounts {
    /// Inner packets handed to the sender.
    pub given: u64,
    /// Inner packets that the receiver delivered.
    pub delivered: u64,
    /// Datagrams lost on the path.
    pub lost: u64,
    /// Source symbols recovered from repairs.
    pub recovered: u64,
}

/// One direction of the path.
///
/// The buffers are reused, as an end reuses the buffers that it passes to system calls.
#[derive(Default)]
struct Way {
    /// Datagrams that have left in this step.
    leaving: Datagrams,
    /// Datagrams in flight, one entry for each step.
    on_way: VecDeque<Datagrams>,
    /// Datagrams that arrive in this step.
    arriving: Datagrams,
    /// Buffers to use again.
    spare: Vec<Datagrams>,
}

/// A buffer of datagrams. Each datagram begins at a multiple of [`ROOM`] bytes.
#[derive(Default)]
struct Datagrams {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
}

/// The sender's inner network and its address on the path.
const SENDER: ([u8; 4], &str) = ([10, 0, 0, 1], "192.0.2.1:1");
/// The receiver's inner network and its address on the path.
const RECEIVER: ([u8; 4], &str) = ([10, 0, 0, 2], "192.0.2.2:1");

impl BenchSession {
    /// Creates a session and runs it until it is steady.
    ///
    /// `len` is the length of an inner packet, bytes; less than 28 counts as 28. `loss` is the
    /// share of datagrams lost from the sender to the receiver, 0 to 1.
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
        // During these steps, the session makes its handshake, finds the path's MTU, and makes its
        // first estimates.
        for step in 0..400 {
            session.sending(if step < 100 { 0 } else { BATCH });
            session.carry();
            session.receive();
        }
        session.counts.given = 0;
        session.counts.delivered = 0;
        session
    }

    /// Does the sender's work in a step: processes the reports that have arrived and 32 inner
    /// packets, and makes datagrams. Returns the total length of the inner packets, bytes.
    pub fn send(&mut self) -> u64 {
        self.sending(BATCH)
    }

    /// [`BenchSession::send`] with `packets` inner packets.
    fn sending(&mut self, packets: usize) -> u64 {
        self.now += STEP;
        let from = self.receiver_address;
        self.back.arriving.each(|datagram| self.sender.handle_datagram(self.now, from, datagram, Reception::default()));
        self.sender.handle_timeout(self.now);
        for _ in 0..packets {
            self.sender.handle_inner(self.now, &self.packet);
        }
        self.forth.leaving.fill(|room| Some(self.sender.poll_transmit(self.now, room)?.len));
        self.counts.given += packets as u64;
        (packets * self.packet.len()) as u64
    }

    /// Does the path's work in a step: delays or loses the datagrams that were sent.
    pub fn carry(&mut self) {
        let (losses, counts) = (&mut self.losses, &mut self.counts);
        self.forth.carry(|| {
            let lost = losses.chance(self.loss);
            counts.lost += u64::from(lost);
            lost
        });
        self.back.carry(|| false);
    }

    /// Does the receiver's work in a step: opens the datagrams that have arrived, recovers lost
    /// packets, delivers in order and makes reports. Returns the total length of the delivered
    /// inner packets, bytes.
    pub fn receive(&mut self) -> u64 {
        let from = self.sender_address;
        self.forth
            .arriving
            .each(|datagram| self.receiver.handle_datagram(self.now, from, datagram, Reception::default()));
        self.receiver.handle_timeout(self.now);
        self.back.leaving.fill(|room| Some(self.receiver.poll_transmit(self.now, room)?.len));
        let mut bytes = 0;
        while let Some((_, delivered)) = self.receiver.poll_deliver() {
            bytes += std::hint::black_box(inner_packet(&delivered)).len() as u64;
            self.counts.delivered += 1;
        }
        bytes
    }

    /// The counts since the session became steady. `lost` and `recovered` include the counts before
    /// that time.
    pub fn counts(&self) -> SessionCounts {
        let peer = self.receiver.peers().next();
        let status = peer.and_then(|peer| self.receiver.peer_status(peer)?.tunnel);
        SessionCounts { recovered: status.map_or(0, |status| status.received.recovered), ..self.counts }
    }
}

impl Way {
    /// Puts the datagrams of this step in flight, except those for which `lost` returns true. The
    /// datagrams that left [`DELAY`] steps ago arrive.
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
    /// Appends a copy of `datagram`.
    fn add(&mut self, datagram: &[u8]) {
        let start = self.room();
        self.bytes[start..start + datagram.len()].copy_from_slice(datagram);
        self.lengths.push(datagram.len());
    }

    /// Offset of the next datagram in `bytes`. Extends the buffer if needed.
    fn room(&mut self) -> usize {
        let start = self.lengths.len() * ROOM;
        if self.bytes.len() < start + ROOM {
            self.bytes.resize(start + 16 * ROOM, 0);
        }
        start
    }

    /// Replaces the content: lets `next` write one datagram after the other, until `next` returns
    /// `None`.
    fn fill(&mut self, mut next: impl FnMut(&mut [u8]) -> Option<usize>) {
        self.lengths.clear();
        loop {
            let start = self.room();
            let Some(len) = next(&mut self.bytes[start..start + ROOM]) else { return };
            self.lengths.push(len);
        }
    }

    /// Calls `take` for each datagram in order.
    fn each(&mut self, mut take: impl FnMut(&mut [u8])) {
        for (room, len) in self.bytes.chunks_exact_mut(ROOM).zip(&self.lengths) {
            take(&mut room[..*len]);
        }
    }
}

/// Creates the end `name`, whose only peer is `peer`. `place` is the peer's inner network and its
/// address on the path.
fn end(name: &str, peer: &str, place: ([u8; 4], &str)) -> Endpoint {
    let seed = Seed::new(1);
    let key = |name: &str| PrivateKey::generate(&mut seed.stream(name));
    let mut config = EndpointConfig::default();
    config.tunnel.rate = RateMode::Fixed("1.2Gbit/s".parse().expect("the text is a valid rate"));
    let entropy = |what: &str| Box::new(seed.stream(&format!("bench/{name}/{what}")));
    let mut end = Endpoint::new(key(name), config, entropy("keys"), entropy("sessions"));
    let peer = PeerConfig {
        public: key(peer).public(),
        preshared: None,
        endpoint: Some(address(place)),
        allowed_ips: vec![
            place.0.map(|byte| byte.to_string()).join(".").parse().expect("the text is a valid address prefix"),
        ],
        keepalive: None,
    };
    end.add_peer(Time::ZERO, &peer).expect("the only peer cannot conflict with another");
    end
}

/// The address on the path in `place`.
fn address(place: ([u8; 4], &str)) -> SocketAddr {
    place.1.parse().expect("the text is a valid socket address")
}

/// An IPv4 UDP packet of `len` bytes from the sender's inner network to the receiver's.
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
        // The rest is in flight, or waits for a repair in flight.
        assert!(counts.delivered + 40 * 32 > counts.given, "{counts:?}");
        assert_eq!(seal(100)(), 100);
    }
}
