//! The memory of a hub whose peers go out of reach one after the other.

use super::world::*;
use ripstop_base::{Rate, Seed, Time};
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig};
use ripstop_proto::secure::PeerId;
use ripstop_proto::session::Reception;
use ripstop_proto::session::tunnel::TunnelConfig;
use std::time::Duration;

/// The memory budget of the hub, bytes. A window takes 4 MB before the silence begins.
const MEMORY: usize = 5_000_000;
/// The bytes by which the hub may exceed its budget: a full queue for each client with the memory of its packets, and 1/64 of
/// the budget between two checks.
const SLACK: usize = 2 * (QUEUE + QUEUE / INNER * 352) + MEMORY / 64;
/// The most bytes that wait for the path to a client.
const QUEUE: usize = 200_000;
/// The length of an inner packet, bytes.
const INNER: usize = 1_000;
/// The time between two inner packets: 50 Mbit/s.
const EVERY: Duration = Duration::from_micros(160);

/// The settings of end `n` as a peer. Number 0 is the hub.
fn peer(seed: Seed, n: usize) -> PeerConfig {
    PeerConfig {
        public: private(seed, n).public(),
        preshared: None,
        endpoint: Some(address(n as u8)),
        allowed_ips: vec![format!("10.77.0.{n}").parse().unwrap()],
        keepalive: None,
    }
}

/// A hub and two clients.
struct Hub {
    now: Time,
    ends: Vec<Endpoint>,
    in_flight: InFlight,
    /// Whether the path to each end carries datagrams.
    carries: [bool; 3],
    /// The largest memory of the hub, bytes.
    most: usize,
}

impl Hub {
    fn new() -> Hub {
        let seed = Seed::new(3);
        let rate = RateMode::Fixed(Rate::from_bps(200_000_000));
        let deadline = Some(Duration::from_secs(30));
        let tunnel = TunnelConfig { rate, deadline, queue_bytes: QUEUE, ..TunnelConfig::default() };
        let config = EndpointConfig { memory: MEMORY, tunnel, ..EndpointConfig::default() };
        let mut ends: Vec<Endpoint> = (0..3).map(|n| endpoint(seed, n, 0, &config)).collect();
        for n in [1, 2] {
            ends[0].add_peer(Time::ZERO, &PeerConfig { endpoint: None, ..peer(seed, n) }).unwrap();
            ends[n].add_peer(Time::ZERO, &peer(seed, 0)).unwrap();
        }
        Hub { now: Time::ZERO, ends, in_flight: InFlight::default(), carries: [true; 3], most: 0 }
    }

    /// Runs for `span`. The hub sends to the client `to`.
    fn run(&mut self, span: Duration, to: Option<usize>) {
        let until = self.now + span;
        while self.now < until {
            self.now += EVERY;
            if let Some(to) = to {
                self.ends[0].handle_inner(self.now, &inner_between(0, to, INNER));
            }
            while self.in_flight.next().is_some_and(|at| at <= self.now) {
                let mut flying = self.in_flight.take().unwrap();
                let to = (0..3).find(|n| address(*n as u8) == flying.to).unwrap();
                self.ends[to].handle_datagram(self.now, flying.from, &mut flying.bytes, Reception::default());
            }
            (0..3).for_each(|n| self.drain(n));
            self.most = self.most.max(self.ends[0].memory());
        }
    }

    fn drain(&mut self, n: usize) {
        let (end, now) = (&mut self.ends[n], self.now);
        if end.poll_timeout().is_some_and(|at| at <= now) {
            end.handle_timeout(now);
        }
        let mut buffer = [0; 2048];
        while let Some(out) = end.poll_transmit(now, &mut buffer) {
            let to = (0..3).find(|n| address(*n as u8) == out.to).unwrap();
            if self.carries[n] && self.carries[to] {
                let bytes = buffer[..out.len].to_vec();
                self.in_flight.add(now + DELAY, Flying { from: address(n as u8), to: out.to, bytes });
            }
        }
        while end.poll_deliver().is_some() {}
        while end.poll_event().is_some() {}
    }

    /// Symbols to the client `n` that the hub has given up because memory was short.
    fn given_up(&self, n: usize) -> u64 {
        let status = self.ends[0].peer_status(PeerId::from_index(n as u32 - 1)).unwrap();
        status.tunnel.map_or(0, |tunnel| tunnel.sent.given_up_for_memory)
    }
}

/// The window of the first client fills the budget. The second client may fill its share. Without giving up packets of the
/// first client, the hub would hold 1.5 times its budget.
#[test]
fn windows_of_peers_out_of_reach_share_the_memory() {
    let mut hub = Hub::new();
    hub.run(secs(1), Some(1));
    assert_eq!((hub.given_up(1), hub.given_up(2)), (0, 0), "both peers are within reach");
    hub.carries[1] = false;
    hub.run(ms(600), Some(1));
    assert_eq!(hub.given_up(1), 0, "{} bytes: one session may hold the whole budget", hub.most);
    hub.run(secs(1), Some(2));
    hub.carries[2] = false;
    hub.run(secs(1), Some(2));
    println!("{} bytes, given up {} {}", hub.most, hub.given_up(1), hub.given_up(2));
    assert!(hub.given_up(1) > 0);
    assert!(hub.given_up(2) < QUEUE as u64 / INNER as u64, "the window of the second session is within its share");
    assert!(hub.most < MEMORY + SLACK, "{} bytes of {MEMORY}", hub.most);
}
