//! Two whole endpoints and a network between them in virtual time. A run depends only on its seed.

pub(crate) use crate::network::{Flying, InFlight, ms, private, secs};
use ripstop_base::{Seed, Stream, Time};
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, EndpointEvent, PeerConfig, inner_packet};
use ripstop_proto::secure::PeerId;
use ripstop_proto::session::Reception;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// The only peer of each end.
pub(crate) const PEER: PeerId = PeerId::from_index(0);
/// The one-way delay of the network.
pub(crate) const DELAY: Duration = Duration::from_millis(20);

/// One endpoint, and what came out of it.
pub(crate) struct End {
    pub(crate) endpoint: Endpoint,
    pub(crate) address: SocketAddr,
    /// How far this end's clock is ahead of the world's.
    pub(crate) clock_ahead: Duration,
    /// Whether nothing can be sent.
    pub(crate) blocked: bool,
    /// Inner packets delivered.
    pub(crate) delivered: u64,
    /// The last inner packet delivered.
    pub(crate) last: Vec<u8>,
    pub(crate) events: Vec<EndpointEvent>,
}

pub(crate) struct World {
    pub(crate) now: Time,
    pub(crate) ends: [End; 2],
    in_flight: InFlight,
    /// When the datagrams in flight arrive, in the same order.
    arrivals: VecDeque<Time>,
    /// The hosts take datagrams only at multiples of this time. Zero: at once.
    pub(crate) turn: Duration,
    /// All datagrams sent.
    pub(crate) sent: Vec<Flying>,
    /// The share of datagrams that the network loses.
    pub(crate) loss: f64,
    /// The network's MTU: longer datagrams are lost in silence.
    pub(crate) mtu: usize,
    /// The delay of a datagram.
    delay: Duration,
    /// Datagrams that the network lost at random, by end.
    pub(crate) lost: [u64; 2],
    random: Stream,
}

pub(crate) fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([198, 18, 0, n], 5182))
}

/// The settings of end `1 - n` as the peer of end `n`. End 0 knows the address of end 1.
pub(crate) fn peer_config(seed: Seed, n: usize) -> PeerConfig {
    PeerConfig {
        public: private(seed, 1 - n).public(),
        preshared: None,
        endpoint: (n == 0).then(|| address(1)),
        allowed_ips: vec![format!("10.77.0.{}", 1 - n).parse().unwrap(), format!("fd77::{}", 1 - n).parse().unwrap()],
        keepalive: None,
    }
}

/// End `n` of two. `run` counts its restarts.
pub(crate) fn endpoint(seed: Seed, n: usize, run: u64, config: &EndpointConfig) -> Endpoint {
    let stream = |name: &str| Box::new(seed.run(run).stream(&format!("{name}/{n}")));
    Endpoint::new(private(seed, n), config.clone(), stream("endpoint"), stream("secure"))
}

/// An IPv4 UDP packet of `len` bytes from end `n` to the other end.
pub(crate) fn inner(n: usize, len: usize) -> Vec<u8> {
    inner_between(n, 1 - n, len)
}

/// An IPv4 UDP packet of `len` bytes from the end `from` to the end `to`.
pub(crate) fn inner_between(from: usize, to: usize, len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    packet[9] = 17;
    packet[12..16].copy_from_slice(&[10, 77, 0, from as u8]);
    packet[16..20].copy_from_slice(&[10, 77, 0, to as u8]);
    packet
}

/// An IPv6 packet of `len` bytes with the header `header` after the IP header, from end `n` to the other end.
pub(crate) fn inner_v6(n: usize, protocol: u8, header: &[u8], len: usize) -> Vec<u8> {
    let mut packet = vec![0; len];
    (packet[0], packet[6], packet[7]) = (0x60, protocol, 64);
    packet[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes());
    for (at, end) in [(8, n), (24, 1 - n)] {
        (packet[at], packet[at + 1], packet[at + 15]) = (0xfd, 0x77, end as u8);
    }
    packet[40..40 + header.len()].copy_from_slice(header);
    packet
}

impl World {
    /// Two endpoints that are connected.
    pub(crate) fn new(seed: Seed) -> World {
        World::with_mtu(seed, 1500)
    }

    /// Two endpoints that are connected by a network with this MTU.
    pub(crate) fn with_mtu(seed: Seed, mtu: usize) -> World {
        World::with_path(seed, mtu, DELAY)
    }

    /// Two ends that are connected by a path with this MTU and this delay.
    pub(crate) fn with_path(seed: Seed, mtu: usize, delay: Duration) -> World {
        let ends = [0, 1].map(|n| End {
            endpoint: endpoint(seed, n, 0, &EndpointConfig::default()),
            address: address(n as u8),
            clock_ahead: Duration::ZERO,
            blocked: false,
            delivered: 0,
            last: Vec::new(),
            events: Vec::new(),
        });
        let mut world = World {
            now: Time::ZERO,
            ends,
            in_flight: InFlight::default(),
            arrivals: VecDeque::new(),
            turn: Duration::ZERO,
            sent: Vec::new(),
            loss: 0.0,
            mtu,
            delay,
            lost: [0; 2],
            random: seed.stream("world"),
        };
        for n in 0..2 {
            world.ends[n].endpoint.add_peer(Time::ZERO, &peer_config(seed, n)).unwrap();
        }
        world.run(Duration::from_secs(1), None);
        assert!(world.ends.iter().all(|end| end.endpoint.peer_status(PEER).unwrap().sessions == 1));
        world
    }

    /// The time on the clock of end `n`.
    pub(crate) fn clock(&self, n: usize) -> Time {
        self.now + self.ends[n].clock_ahead
    }

    /// Runs the world for `span`. At intervals of the given length, each end gets an inner packet of
    /// the given length for the other end.
    pub(crate) fn run(&mut self, span: Duration, traffic: Option<(Duration, usize)>) {
        let end = self.now + span;
        let mut next_inner = traffic.map_or(Time::NEVER, |_| self.now);
        self.drain();
        loop {
            let arrival = self.in_flight.next().unwrap_or(Time::NEVER);
            // The time-out of a blocked endpoint may lie in the past.
            let timeout =
                |end: &End| end.endpoint.poll_timeout().filter(|_| !end.blocked).map(|at| at - end.clock_ahead);
            let timeout = self.ends.iter().filter_map(timeout).min().unwrap_or(Time::NEVER);
            let next = arrival.min(timeout).min(next_inner).max(self.now);
            if next > end {
                self.now = end;
                return;
            }
            self.now = next;
            if let Some((every, len)) = traffic.filter(|_| next_inner <= next) {
                next_inner += every;
                (0..2).for_each(|n| {
                    let now = self.clock(n);
                    self.ends[n].endpoint.handle_inner(now, &inner(n, len));
                });
            } else if arrival <= next {
                if let (Some(flying), Some(arrival)) = (self.in_flight.take(), self.arrivals.pop_front()) {
                    self.take(flying, self.now.since(arrival));
                }
            } else {
                (0..2).for_each(|n| {
                    let now = self.clock(n);
                    self.ends[n].endpoint.handle_timeout(now);
                });
            }
            self.drain();
        }
    }

    /// Hands a datagram to the end with its destination address.
    pub(crate) fn arrive(&mut self, flying: Flying) {
        self.take(flying, Duration::ZERO);
    }

    fn take(&mut self, mut flying: Flying, waited: Duration) {
        let Some(n) = self.ends.iter().position(|end| end.address == flying.to) else { return };
        let now = self.clock(n);
        self.ends[n].endpoint.handle_datagram(now, flying.from, &mut flying.bytes, Reception { ce: false, waited });
    }

    /// Takes all outputs of both ends.
    pub(crate) fn drain(&mut self) {
        let mut buffer = vec![0; 2000];
        for n in 0..2 {
            let now = self.clock(n);
            let end = &mut self.ends[n];
            while !end.blocked
                && let Some(out) = end.endpoint.poll_transmit(now, &mut buffer)
            {
                let flying = Flying { from: end.address, to: out.to, bytes: buffer[..out.len].to_vec() };
                self.sent.push(flying.clone());
                if self.random.chance(self.loss) {
                    self.lost[n] += 1;
                    continue;
                }
                if out.len + 28 > self.mtu {
                    continue;
                }
                let arrival = self.now + self.delay;
                let turn = self.turn.as_nanos().max(1) as u64;
                self.arrivals.push_back(arrival);
                self.in_flight.add(Time::from_nanos(arrival.as_nanos().div_ceil(turn) * turn), flying);
            }
            while let Some((_, delivered)) = end.endpoint.poll_deliver() {
                end.delivered += 1;
                end.last = inner_packet(&delivered).to_vec();
            }
            while let Some(event) = end.endpoint.poll_event() {
                end.events.push(event);
            }
        }
    }

    /// Bytes that end `n` has sent to `to`, UDP payload.
    pub(crate) fn bytes_to(&self, n: usize, to: SocketAddr) -> usize {
        let from = self.ends[n].address;
        self.sent.iter().filter(|f| f.from == from && f.to == to).map(|f| f.bytes.len()).sum()
    }
}
