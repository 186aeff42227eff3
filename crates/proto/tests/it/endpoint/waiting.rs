//! Packets that wait for the next session of a peer that has closed: their memory, their age, and the calls that they cause.

use super::world::*;
use ripstop_base::{Rate, Seed, Time};
use ripstop_proto::control::rate::RateMode;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig};
use ripstop_proto::secure::PeerId;
use ripstop_proto::session::Reception;
use ripstop_proto::session::tunnel::TunnelConfig;
use std::time::Duration;

/// The memory budget of the hub, bytes.
const MEMORY: usize = 16_000_000;
/// The peers that fill their queues, and a peer with few packets.
const FULL: usize = 8;
const LIGHT: usize = FULL + 1;
/// Packets for each full queue, 9 MB with what they take besides their bytes.
const PACKETS: usize = 5_000;
/// How long a packet may wait in a send queue.
const WAIT: Duration = Duration::from_secs(30);

/// A hub whose peers come, and close their sessions one after the other. Number 0 is the hub.
struct Hub {
    now: Time,
    ends: Vec<Endpoint>,
    in_flight: InFlight,
    /// The largest memory of the hub, bytes.
    most: usize,
    /// Time-outs of the hub.
    timeouts: u32,
    /// The peers that are gone.
    gone: Vec<usize>,
}

impl Hub {
    fn new() -> Hub {
        let seed = Seed::new(7);
        let rate = RateMode::Fixed(Rate::from_bps(1_000_000));
        let tunnel = TunnelConfig { rate, deadline: Some(WAIT), ..TunnelConfig::default() };
        let config = EndpointConfig { memory: MEMORY, tunnel, ..EndpointConfig::default() };
        let mut ends: Vec<Endpoint> = (0..LIGHT + 1).map(|n| endpoint(seed, n, 0, &config)).collect();
        let known = |n: usize, endpoint| PeerConfig {
            public: private(seed, n).public(),
            preshared: None,
            endpoint,
            allowed_ips: vec![format!("10.77.0.{n}").parse().unwrap()],
            keepalive: None,
        };
        for n in 1..=LIGHT {
            ends[0].add_peer(Time::ZERO, &known(n, None)).unwrap();
            ends[n].add_peer(Time::ZERO, &known(0, Some(address(0)))).unwrap();
        }
        let mut hub =
            Hub { now: Time::ZERO, ends, in_flight: InFlight::default(), most: 0, timeouts: 0, gone: Vec::new() };
        hub.run(secs(1));
        hub
    }

    /// Takes the outputs of all ends.
    fn drain(&mut self) {
        let mut buffer = [0; 2048];
        for (n, end) in self.ends.iter_mut().enumerate().filter(|(n, _)| !self.gone.contains(n)) {
            while let Some(out) = end.poll_transmit(self.now, &mut buffer) {
                let flying = Flying { from: address(n as u8), to: out.to, bytes: buffer[..out.len].to_vec() };
                self.in_flight.add(self.now + DELAY, flying);
            }
            while end.poll_deliver().is_some() {}
            while end.poll_event().is_some() {}
        }
        self.most = self.most.max(self.ends[0].memory());
    }

    fn run(&mut self, span: Duration) {
        let until = self.now + span;
        loop {
            self.drain();
            let present = self.ends.iter().enumerate().filter(|(n, _)| !self.gone.contains(n));
            let timeout = present.filter_map(|(_, end)| end.poll_timeout()).min().unwrap_or(Time::NEVER);
            let next = timeout.min(self.in_flight.next().unwrap_or(Time::NEVER)).max(self.now);
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
            if self.in_flight.next().is_some_and(|at| at <= next)
                && let Some(mut flying) = self.in_flight.take()
            {
                let to = (0..self.ends.len()).find(|n| address(*n as u8) == flying.to).unwrap();
                self.ends[to].handle_datagram(next, flying.from, &mut flying.bytes, Reception::default());
                continue;
            }
            for (n, end) in self.ends.iter_mut().enumerate() {
                if !self.gone.contains(&n) && end.poll_timeout().is_some_and(|at| at <= next) {
                    self.timeouts += u32::from(n == 0);
                    end.handle_timeout(next);
                }
            }
        }
    }

    /// The hub's user sends packets to peer `n`. The peer closes its session, and is gone.
    fn fill_and_close(&mut self, n: usize, packets: usize) {
        for _ in 0..packets {
            self.ends[0].handle_inner(self.now, &inner_between(0, n, 1_400));
            self.most = self.most.max(self.ends[0].memory());
        }
        self.ends[n].close();
        self.drain();
        self.gone.push(n);
        self.run(secs(2));
    }

    /// Packets that wait for peer `n`, and packets for it that were dropped.
    fn waiting(&self, n: usize) -> (usize, u64) {
        let status = self.ends[0].peer_status(PeerId::from_index(n as u32 - 1)).unwrap();
        assert!(status.tunnel.is_none(), "the session is over");
        (status.waiting, status.waited_in_vain)
    }
}

/// The queues of closed peers share the budget with all sessions. The peer within its share keeps its packets. All packets
/// expire while the hub has nothing else to do.
#[test]
fn queues_of_closed_peers_keep_to_the_budget_and_expire() {
    let mut hub = Hub::new();
    hub.fill_and_close(LIGHT, 200);
    let light = hub.waiting(LIGHT);
    assert!(light.0 > 100, "{light:?}");
    for n in 1..=FULL {
        hub.fill_and_close(n, PACKETS);
    }
    println!("{} bytes of {MEMORY}, {:?} {light:?}", hub.most, (1..=FULL).map(|n| hub.waiting(n)).collect::<Vec<_>>());
    assert!(hub.most < MEMORY + MEMORY / 32, "{} bytes of {MEMORY}", hub.most);
    assert_eq!(hub.waiting(LIGHT), light, "the peer is within its share");
    assert!((1..FULL).all(|n| hub.waiting(n).1 > 0), "the queues were cut");
    hub.run(WAIT + secs(2));
    let (waiting, memory) = ((1..=LIGHT).map(|n| hub.waiting(n).0).sum::<usize>(), hub.ends[0].memory());
    assert_eq!((waiting, memory), (0, 0), "packets and bytes that remain");
    assert_eq!(hub.waiting(LIGHT).1, light.0 as u64);
    hub.run(secs(120));
    hub.timeouts = 0;
    hub.run(secs(600));
    assert_eq!(hub.timeouts, 0, "time-outs of an idle hub");
}

/// The caller closes with packets in the callee's queue. The callee calls for 90 s, and again when there are packets.
#[test]
fn a_closed_caller_is_called_for_a_while_after_the_last_packet() {
    let mut world = World::new(Seed::new(1));
    let now = world.now;
    (0..1_000).for_each(|_| world.ends[1].endpoint.handle_inner(now, &inner(1, 1_000)));
    world.ends[0].endpoint.close();
    world.drain();
    (world.ends[0].blocked, world.ends[0].address) = (true, address(200));
    world.run(secs(10), None);
    let status = world.ends[1].endpoint.peer_status(PEER).unwrap();
    assert_eq!(status.waiting, 0, "a new session would drop packets of this age");
    assert!(status.waited_in_vain > 100, "{}", status.waited_in_vain);
    for given_up in 1..=3 {
        let sent = world.sent.len();
        world.run(secs(75), None);
        let calls = world.sent.len() - sent;
        assert!((15..60).contains(&calls), "{calls} calls");
        world.run(secs(25), None);
        let sent = world.sent.len();
        world.run(secs(600), None);
        assert_eq!((world.sent.len() - sent, world.ends[1].endpoint.counters().peers_given_up), (0, given_up));
        assert_eq!(world.ends[1].endpoint.memory(), 0, "the packets have expired");
        let now = world.now;
        world.ends[1].endpoint.handle_inner(now, &inner(1, 1_000));
        world.drain();
    }
    // The last packet came just now.
    (world.ends[0].blocked, world.ends[0].address) = (false, address(0));
    world.ends[0].endpoint = endpoint(Seed::new(1), 0, 1, &EndpointConfig::default());
    let now = world.now;
    world.ends[0].endpoint.add_peer(now, &peer_config(Seed::new(1), 0)).unwrap();
    let before = world.ends[0].delivered;
    world.run(secs(5), None);
    assert_eq!(world.ends[0].delivered, before + 1);
}

/// Packets for a closed peer that keep coming keep the calls going, and each of them waits for 90 s at most.
#[test]
fn packets_that_keep_coming_keep_the_calls_going() {
    let mut world = World::new(Seed::new(2));
    world.ends[0].endpoint.close();
    world.drain();
    (world.ends[0].blocked, world.ends[0].address) = (true, address(200));
    world.run(secs(2), None);
    for _ in 0..20 {
        let now = world.now;
        world.ends[1].endpoint.handle_inner(now, &inner(1, 1_000));
        world.run(secs(30), None);
    }
    let status = world.ends[1].endpoint.peer_status(PEER).unwrap();
    assert_eq!((status.waiting, status.waited_in_vain), (2, 18));
    assert_eq!(world.ends[1].endpoint.counters().peers_given_up, 0);
    let sent = world.sent.len();
    world.run(secs(30), None);
    assert!(world.sent.len() > sent + 5);
    world.run(secs(100), None);
    assert_eq!(world.ends[1].endpoint.counters().peers_given_up, 1);
}
