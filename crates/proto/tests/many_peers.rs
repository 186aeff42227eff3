//! One endpoint with a thousand peers of little traffic: its memory, and its work while the peers are idle.
//!
//! This test is a separate binary, because its counting allocator applies to the whole binary.
#![allow(unsafe_code, reason = "an allocator that counts")]

use ripstop_base::{Seed, Time};
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig};
use ripstop_proto::secure::PrivateKey;
use ripstop_proto::session::Reception;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::SocketAddr;
use std::time::Duration;

/// An allocator that counts the bytes in use and passes all calls on to the system's allocator.
struct Counting;

thread_local! {
    /// Bytes allocated minus bytes freed by this thread.
    static IN_USE: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.set(IN_USE.get() + layout.size() as i64);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        IN_USE.set(IN_USE.get() - layout.size() as i64);
        // SAFETY: passed on.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        IN_USE.set(IN_USE.get() + size as i64 - layout.size() as i64);
        // SAFETY: passed on.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of peers.
const PEERS: usize = 1_000;
/// The largest memory of an endpoint with these peers, bytes.
const MOST_MEMORY: i64 = 200_000_000;
/// One-way delay between the endpoint and a peer.
const DELAY: Duration = Duration::from_millis(20);

/// The address of a peer inside the tunnel. Number 0 is the hub.
fn inside(number: usize) -> [u8; 4] {
    [10, 1, (number >> 8) as u8, number as u8]
}

fn outside(number: usize) -> SocketAddr {
    SocketAddr::from(([198, 18, (number >> 8) as u8, number as u8], 5182))
}

fn key(number: usize) -> PrivateKey {
    PrivateKey::generate(&mut Seed::new(1).run(number as u64).stream("key"))
}

fn endpoint(number: usize, peers: impl Iterator<Item = usize>) -> Endpoint {
    let entropy = |what: &str| Box::new(Seed::new(2).run(number as u64).stream(what));
    let mut end = Endpoint::new(key(number), EndpointConfig::default(), entropy("sessions"), entropy("keys"));
    for peer in peers {
        let prefix = inside(peer).map(|byte| byte.to_string()).join(".");
        let config = PeerConfig {
            public: key(peer).public(),
            endpoint: (peer == 0).then(|| outside(0)),
            allowed_ips: vec![prefix.parse().unwrap()],
            keepalive: None,
            preshared: None,
        };
        end.add_peer(Time::ZERO, &config).unwrap();
    }
    end
}

/// A UDP packet of 125 bytes: 1 kbit.
fn packet(from: usize, to: usize) -> Vec<u8> {
    let mut packet = vec![0; 125];
    (packet[0], packet[3], packet[9]) = (0x45, 125, 17);
    packet[12..16].copy_from_slice(&inside(from));
    packet[16..20].copy_from_slice(&inside(to));
    packet
}

/// The hub, its peers, and the datagrams in flight: when they arrive, from and to whom. Number 0 is the hub.
struct World {
    now: Time,
    ends: Vec<Endpoint>,
    in_flight: std::collections::VecDeque<(Time, usize, usize, Vec<u8>)>,
    /// Memory of the hub, bytes.
    memory: i64,
    /// Number of time-outs that the hub has handled.
    timeouts: u64,
    delivered: u64,
}

impl World {
    /// Does `work` with one end, and takes the end's outputs.
    fn step(&mut self, number: usize, work: impl FnOnce(&mut Endpoint, Time)) {
        let (mut sent, mut room, before) = (Vec::with_capacity(64), vec![0; 2_048], IN_USE.get());
        let end = &mut self.ends[number];
        work(end, self.now);
        while let Some(out) = end.poll_transmit(self.now, &mut room) {
            let std::net::IpAddr::V4(address) = out.to.ip() else { panic!("{out:?}") };
            let [.., high, low] = address.octets();
            sent.push((usize::from(u16::from_be_bytes([high, low])), room[..out.len].to_vec()));
        }
        while end.poll_deliver().is_some() {
            self.delivered += 1;
        }
        while end.poll_event().is_some() {}
        let bytes: i64 = sent.iter().map(|(_, datagram)| datagram.capacity() as i64).sum();
        self.memory += if number == 0 { IN_USE.get() - before - bytes } else { 0 };
        let arrival = self.now + DELAY;
        self.in_flight.extend(sent.into_iter().map(|(to, datagram)| (arrival, number, to, datagram)));
    }

    /// Lets everything happen that is due until `end`, in steps of 1 ms.
    fn run(&mut self, end: Time) {
        while self.now < end {
            self.now += Duration::from_millis(1);
            while self.in_flight.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (_, from, to, mut datagram) = self.in_flight.pop_front().unwrap();
                self.step(to, |end, now| end.handle_datagram(now, outside(from), &mut datagram, Reception::default()));
            }
            for number in 0..self.ends.len() {
                if self.ends[number].poll_timeout().is_some_and(|at| at <= self.now) {
                    self.timeouts += u64::from(number == 0);
                    self.step(number, |end, now| end.handle_timeout(now));
                }
            }
        }
    }
}

#[test]
fn a_thousand_light_peers_take_little_memory_and_no_work_when_idle() {
    let before = IN_USE.get();
    let hub = endpoint(0, 1..PEERS + 1);
    let memory = IN_USE.get() - before;
    let mut ends = vec![hub];
    ends.extend((1..PEERS + 1).map(|number| endpoint(number, std::iter::once(0))));
    let mut world = World { now: Time::ZERO, ends, in_flight: Default::default(), memory, timeouts: 0, delivered: 0 };
    for _ in 0..3 {
        let start = world.now;
        for number in 1..PEERS + 1 {
            // Each peer sends 1 kbit/s and receives 1 kbit/s.
            world.run(start + Duration::from_millis(number as u64));
            world.step(number, |end, now| end.handle_inner(now, &packet(number, 0)));
            world.step(0, |end, now| end.handle_inner(now, &packet(0, number)));
        }
    }
    world.run(world.now + Duration::from_secs(1));
    assert_eq!(world.delivered, 3 * 2 * PEERS as u64);
    println!("{} MB for {PEERS} peers", world.memory / 1_000_000);
    assert!(world.memory < MOST_MEMORY, "{} bytes", world.memory);
    // The peers are quiet now. A time-out for each peer and second would be 10 000.
    world.timeouts = 0;
    world.run(world.now + Duration::from_secs(10));
    println!("{} time-outs in 10 s", world.timeouts);
    assert!(world.timeouts < PEERS as u64, "{} time-outs in 10 s without traffic", world.timeouts);
}
