//! A peer that acknowledges what it has not received.

use super::world::{PEER, address, endpoint, inner, peer_config, private};
use ripstop_base::{Seed, Time};
use ripstop_codes::Symbol;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, EndpointEvent, PeerConfig};
use ripstop_proto::secure::{Incoming, Peers, SecureConfig, SecureEvent};
use ripstop_proto::session::Reception;
use ripstop_proto::wire::{
    Feedback, HEADER_LEN, Kind, Packet, PathReport, SymbolReport, TAG_LEN, WireContext, emit_body, parse_body,
};
use std::net::SocketAddr;
use std::time::Duration;

/// An authenticated peer that writes its own reports.
struct Liar {
    peers: Peers,
    epoch: u64,
    /// The next datagram number.
    number: u64,
    /// The highest datagram number and the next source symbol of the victim.
    largest: u64,
    end: u64,
}

impl Liar {
    /// Takes a datagram of the victim. Returns whether it was a transport datagram.
    fn take(&mut self, now: Time, mut datagram: Vec<u8>) -> bool {
        let incoming = self.peers.handle_datagram(now, address(1), &mut datagram);
        while let Some(event) = self.peers.poll_event() {
            if let SecureEvent::Established { epoch, .. } = event {
                (self.epoch, self.number) = (epoch, 0);
            }
        }
        let Incoming::Transport { number, kind, body, .. } = incoming else { return false };
        self.largest = self.largest.max(number);
        let near = WireContext { id_near: self.end, ..WireContext::default() };
        if let Ok(Packet::Source { id, .. }) = parse_body(kind, &datagram[body], &near) {
            self.end = self.end.max(id + 1);
        }
        true
    }

    fn seal(&mut self, now: Time, packet: &Packet<Symbol>) -> Vec<u8> {
        let mut datagram = vec![0; HEADER_LEN + packet.body_len() + TAG_LEN];
        let end = datagram.len() - TAG_LEN;
        emit_body(packet, &mut datagram[HEADER_LEN..end]).unwrap();
        self.peers.seal(now, PEER, self.epoch, self.number, Kind::of(packet), &mut datagram).unwrap();
        self.number += 1;
        datagram
    }

    /// A report that all of the latest 2000 datagrams up to `largest` have arrived.
    fn report(&mut self, now: Time, largest: u64) -> Vec<u8> {
        let from = largest.saturating_sub(2000);
        let micros = now.as_nanos() / 1000;
        let feedback = Feedback {
            path: Some(PathReport {
                largest,
                largest_at_us: micros,
                received: largest + 1,
                received_bytes: 300 * (largest + 1),
                acked: std::iter::once(from..largest + 1).collect(),
                acked_from: from,
                ..PathReport::default()
            }),
            symbols: Some(SymbolReport { next_undecoded: self.end, end: self.end, ..SymbolReport::default() }),
        };
        self.seal(now, &Packet::Feedback(Box::new(feedback)))
    }
}

/// An endpoint that is connected to a liar, and sends to it. `beyond`: the liar acknowledges a number that is too high,
/// after 100 ms. Otherwise the liar acknowledges all numbers up to the highest.
fn sent_until_found(beyond: bool) -> (Endpoint, u64) {
    let seed = Seed::new(9);
    let mut victim = endpoint(seed, 1, 0, &EndpointConfig::default());
    victim.add_peer(Time::ZERO, &peer_config(seed, 1)).unwrap();
    let mut peers = Peers::new(private(seed, 0), SecureConfig::default(), Box::new(seed.stream("liar")));
    peers.add(private(seed, 1).public(), Some(address(1))).unwrap();
    peers.connect(Time::ZERO, PEER);
    let mut liar = Liar { peers, epoch: 0, number: 0, largest: 0, end: 0 };
    let mut buffer = vec![0; 2000];
    let (mut sent, mut events) = (0, Vec::new());
    for tick in 0..20_000u64 {
        let now = Time::from_millis(tick);
        while let Some(mut out) = liar.peers.poll_transmit() {
            victim.handle_datagram(now, address(0), &mut out.contents, Reception::default());
        }
        victim.handle_timeout(now);
        victim.handle_inner(now, &inner(1, 300));
        while let Some(out) = victim.poll_transmit(now, &mut buffer) {
            assert_eq!(out.to, address(0));
            sent += u64::from(liar.take(now, buffer[..out.len].to_vec()));
        }
        if liar.epoch > 0 && liar.end == 0 && tick % 100 == 50 {
            let mut greeting = liar.seal(now, &Packet::Probe { padding: 0 });
            victim.handle_datagram(now, address(0), &mut greeting, Reception::default());
        }
        if liar.end > 0 && tick % 10 == 0 {
            let largest = liar.largest + u64::from(beyond && tick > 100);
            let mut report = liar.report(now, largest);
            victim.handle_datagram(now, address(0), &mut report, Reception::default());
            while let Some(out) = victim.poll_transmit(now, &mut buffer) {
                sent += u64::from(liar.take(now, buffer[..out.len].to_vec()));
            }
        }
        while victim.poll_deliver().is_some() {}
        events.extend(std::iter::from_fn(|| victim.poll_event()));
        if events.contains(&EndpointEvent::FalseReport { peer: PEER }) {
            return (victim, sent);
        }
    }
    panic!("not found after {sent} datagrams");
}

#[test]
fn a_peer_that_acknowledges_everything_is_found() {
    for beyond in [false, true] {
        let (mut victim, sent) = sent_until_found(beyond);
        println!("found after {sent} datagrams");
        assert!(sent <= 5_100 && (beyond || sent >= 500), "{sent}");
        assert_eq!(victim.counters().false_reports, 1);
        let status = victim.peer_status(PEER).unwrap();
        assert!(status.tunnel.is_none(), "the session must have ended");
        // What comes next waits for a new session.
        let now = Time::ZERO + Duration::from_secs(60);
        victim.handle_inner(now, &inner(1, 300));
        assert_eq!(victim.peer_status(PEER).unwrap().waiting, 1);
        let initiation = std::iter::from_fn(|| {
            let mut buffer = vec![0; 2000];
            victim.poll_transmit(now, &mut buffer).map(|out| buffer[..out.len].to_vec())
        });
        assert_eq!(initiation.map(|datagram| datagram[0]).collect::<Vec<_>>(), [1], "a handshake starts");
    }
}

/// A peer whose first address is not known beforehand gets no datagrams there until it answers a challenge. If it never
/// answers, no time-out may stay due: the caller would be called again and again.
#[test]
fn a_peer_that_answers_no_challenge_keeps_no_timeout_due() {
    let seed = Seed::new(9);
    let mut victim = endpoint(seed, 1, 0, &EndpointConfig::default());
    victim.add_peer(Time::ZERO, &PeerConfig { endpoint: None, ..peer_config(seed, 1) }).unwrap();
    let mut peers = Peers::new(private(seed, 0), SecureConfig::default(), Box::new(seed.stream("liar")));
    peers.add(private(seed, 1).public(), Some(address(1))).unwrap();
    peers.connect(Time::ZERO, PEER);
    let mut liar = Liar { peers, epoch: 0, number: 0, largest: 0, end: 0 };
    let (mut buffer, mut greeted) = (vec![0; 2000], false);
    for tick in 0..3_000u64 {
        let now = Time::from_millis(tick);
        while let Some(mut out) = liar.peers.poll_transmit() {
            victim.handle_datagram(now, address(0), &mut out.contents, Reception::default());
        }
        victim.handle_timeout(now);
        while let Some(out) = victim.poll_transmit(now, &mut buffer) {
            liar.take(now, buffer[..out.len].to_vec());
        }
        if liar.epoch > 0 && !std::mem::replace(&mut greeted, true) {
            let mut greeting = liar.seal(now, &Packet::Probe { padding: 0 });
            victim.handle_datagram(now, address(0), &mut greeting, Reception::default());
            while let Some(out) = victim.poll_transmit(now, &mut buffer) {
                liar.take(now, buffer[..out.len].to_vec());
            }
        }
        while victim.poll_event().is_some() {}
        let overdue = victim.poll_timeout().map_or(Duration::ZERO, |at| now.since(at));
        assert!(overdue < Duration::from_millis(10), "tick {tick}: due since {overdue:?}");
    }
    assert!(liar.epoch > 0 && victim.peer_status(PEER).unwrap().tunnel.is_some(), "there must be a session");
}

/// An endpoint with a session with a liar, at 1 s, and the liar.
fn connected() -> (Endpoint, Liar) {
    let seed = Seed::new(10);
    let mut victim = endpoint(seed, 1, 0, &EndpointConfig::default());
    victim.add_peer(Time::ZERO, &peer_config(seed, 1)).unwrap();
    let mut peers = Peers::new(private(seed, 0), SecureConfig::default(), Box::new(seed.stream("liar")));
    peers.add(private(seed, 1).public(), Some(address(1))).unwrap();
    peers.connect(Time::ZERO, PEER);
    let mut liar = Liar { peers, epoch: 0, number: 0, largest: 0, end: 0 };
    for tick in 0..1_000 {
        let now = Time::from_millis(tick);
        while let Some(mut out) = liar.peers.poll_transmit() {
            victim.handle_datagram(now, address(0), &mut out.contents, Reception::default());
        }
        victim.handle_timeout(now);
        exchange(&mut victim, &mut liar, now);
        if liar.epoch > 0 && liar.number == 0 {
            let mut greeting = liar.seal(now, &Packet::Probe { padding: 0 });
            victim.handle_datagram(now, address(0), &mut greeting, Reception::default());
        }
    }
    assert!(victim.peer_status(PEER).unwrap().tunnel.is_some());
    (victim, liar)
}

/// Hands all datagrams of the victim to the liar. Returns their number.
fn exchange(victim: &mut Endpoint, liar: &mut Liar, now: Time) -> u64 {
    let mut buffer = vec![0; 2000];
    let mut sent = 0;
    while let Some(out) = victim.poll_transmit(now, &mut buffer) {
        liar.take(now, buffer[..out.len].to_vec());
        sent += 1;
    }
    while victim.poll_deliver().is_some() {}
    sent
}

/// A liar sends 4000 packets a second for 5 s, and no reports: `packet` says which, and from which port. What the victim
/// sends about the path must not fill the sent-packet history.
fn flood_about_the_path(packet: impl Fn(u16) -> (Packet<Symbol>, SocketAddr)) {
    let (mut victim, mut liar) = connected();
    let mut sent = 0;
    for n in 0..20_000 {
        let now = Time::from_millis(1_000) + Duration::from_micros(250 * u64::from(n));
        let (packet, from) = packet(n);
        let mut sealed = liar.seal(now, &packet);
        victim.handle_datagram(now, from, &mut sealed, Reception::default());
        sent += exchange(&mut victim, &mut liar, now);
    }
    let memory = victim.peer_status(PEER).unwrap().memory;
    assert!((100..2_000).contains(&sent), "{sent} datagrams in 5 s");
    assert!(memory < 100_000, "{memory} bytes");
}

#[test]
fn answers_to_many_challenges_take_little_memory() {
    flood_about_the_path(|n| (Packet::Challenge { token: u64::from(n) }, address(0)));
}

/// The victim challenges ever new addresses.
#[test]
fn challenges_to_many_addresses_take_little_memory() {
    flood_about_the_path(|n| (Packet::Answer { token: 0 }, ([10, 9, 8, 7], 1000 + n).into()));
}

#[test]
fn the_end_of_a_session_is_reported_once() {
    let (mut victim, mut liar) = connected();
    let now = Time::from_millis(1_000);
    while victim.poll_event().is_some() {}
    for _ in 0..100 {
        let mut close = liar.seal(now, &Packet::Close);
        victim.handle_datagram(now, address(0), &mut close, Reception::default());
        exchange(&mut victim, &mut liar, now);
    }
    let events: Vec<EndpointEvent> = std::iter::from_fn(|| victim.poll_event()).collect();
    assert_eq!(events, [EndpointEvent::Closed { peer: PEER }]);
}

/// A peer that announces a next number near 2^64 in a handshake, and then uses the last numbers: neither is accepted.
#[test]
fn the_highest_datagram_numbers_are_harmless() {
    let (mut victim, mut liar) = connected();
    let now = Time::from_millis(1_000);
    let received = |victim: &Endpoint| victim.peer_status(PEER).unwrap().tunnel.unwrap().path.received.datagrams;
    let before = received(&victim);
    liar.number = u64::MAX - 3;
    liar.seal(now, &Packet::Probe { padding: 0 });
    liar.peers.connect(now, PEER);
    while let Some(mut out) = liar.peers.poll_transmit() {
        victim.handle_datagram(now, address(0), &mut out.contents, Reception::default());
    }
    exchange(&mut victim, &mut liar, now);
    liar.number = u64::MAX - 2;
    for _ in 0..2 {
        let mut probe = liar.seal(now, &Packet::Probe { padding: 0 });
        victim.handle_datagram(now, address(0), &mut probe, Reception::default());
    }
    exchange(&mut victim, &mut liar, now + Duration::from_millis(100));
    assert_eq!(received(&victim), before, "numbers above 2^62 are refused");
}
