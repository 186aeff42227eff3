//! Whole endpoints in virtual time: roaming, floods, jumps of the clock, and peers that lie.

mod classes;
mod ending;
mod liar;
mod liveness;
mod silent;
mod small_path;
mod waiting;
mod world;

use ripstop_base::Seed;
use ripstop_proto::endpoint::{EndpointConfig, EndpointEvent, PeerConfig};
use ripstop_proto::secure::{Peers, SecureConfig};
use ripstop_proto::session::Reception;
use std::net::SocketAddr;
use std::time::Duration;
use world::*;

/// Traffic of 1 Mbit/s in each direction.
const TRAFFIC: Option<(Duration, usize)> = Some((Duration::from_millis(8), 1000));

#[test]
fn a_stream_follows_only_a_proven_address() {
    let mut world = World::new(Seed::new(1));
    let victim = address(99);
    // For 8 s, an attacker delivers a copy of each datagram of end 0 to end 1 first, from the address of a victim.
    let mut forged = 0;
    for _ in 0..400 {
        let before = world.sent.len();
        world.run(ms(20), TRAFFIC);
        let copies: Vec<Flying> = world.sent[before..].iter().filter(|f| f.from == address(0)).cloned().collect();
        for copy in copies {
            forged += copy.bytes.len();
            world.arrive(Flying { from: victim, ..copy });
        }
    }
    let (to_victim, to_peer) = (world.bytes_to(1, victim), world.bytes_to(1, address(0)));
    println!("{forged} bytes from the forged address, {to_victim} to it, {to_peer} to the peer");
    assert!(
        to_victim > 0 && to_victim <= 3 * forged && to_victim < 17 * 33,
        "two challenges a second, not {to_victim} bytes"
    );
    assert!(to_peer > 900_000, "{to_peer}");
    let status = world.ends[1].endpoint.peer_status(PEER).unwrap();
    assert_eq!((status.endpoint, status.sessions), (Some(address(0)), 1));
    assert_eq!(world.ends[1].endpoint.secure_counters().addresses.roamed, 0);
    world.run(secs(8), TRAFFIC);
    assert_eq!(world.ends[1].endpoint.secure_counters().addresses.refused, 1);

    // The peer really moves. The stream follows within a round trip, in the same session.
    world.ends[0].address = address(77);
    world.run(secs(2), TRAFFIC);
    let status = world.ends[1].endpoint.peer_status(PEER).unwrap();
    assert_eq!((status.endpoint, status.sessions), (Some(address(77)), 1));
    let counters = world.ends[1].endpoint.secure_counters();
    assert_eq!((counters.addresses.roamed, counters.addresses.proven), (1, 1));
    let before = world.ends[0].delivered;
    world.run(secs(1), TRAFFIC);
    assert!(world.ends[0].delivered >= before + 120, "the stream must go on");
    let roamed = EndpointEvent::Roamed { peer: PEER, from: Some(address(0)), to: address(77) };
    assert_eq!(world.ends[1].events.iter().filter(|event| **event == roamed).count(), 1);
}

/// An attacker delivers a copy of a challenge first, from the address of a victim. Challenges and the answer together are
/// at most three times as long as the copy.
#[test]
fn a_copied_challenge_is_not_amplified() {
    let mut world = World::new(Seed::new(12));
    let victim = address(99);
    world.run(secs(1), TRAFFIC);
    // End 0 moves, so end 1 challenges it.
    world.ends[0].address = address(77);
    let challenge = |flying: &&Flying| flying.to == address(77) && flying.bytes.len() == 33;
    let copy = loop {
        world.run(ms(1), TRAFFIC);
        if let Some(copy) = world.sent.iter().find(challenge) {
            break copy.clone();
        }
        assert!(world.sent.len() < 10_000);
    };
    world.arrive(Flying { from: victim, ..copy });
    world.run(secs(10), None);
    let to_victim = world.bytes_to(0, victim);
    assert!((33..=3 * 33).contains(&to_victim), "{to_victim} bytes for 33");
}

/// End 1 moves before end 0 has proven that it moved. Neither end has a proven address of the other then, so each learns
/// the other's address from a challenge, and must answer where the challenge came from.
#[test]
fn both_ends_may_move_one_after_the_other() {
    let mut world = World::new(Seed::new(5));
    world.run(secs(1), TRAFFIC);
    world.ends[0].address = address(77);
    world.run(2 * DELAY, TRAFFIC);
    assert_eq!(world.ends[1].endpoint.secure_counters().addresses.challenged, 1);
    world.ends[1].address = address(78);
    world.run(secs(2), TRAFFIC);
    let known = |n: usize| world.ends[n].endpoint.peer_status(PEER).unwrap().endpoint;
    assert_eq!([known(0), known(1)], [Some(address(78)), Some(address(77))]);
    let before = [0, 1].map(|n| world.ends[n].delivered);
    world.run(secs(1), TRAFFIC);
    for (end, before) in world.ends.iter().zip(before) {
        assert!(end.delivered >= before + 120, "the stream must go on at {}", end.address);
        assert_eq!(end.endpoint.peer_status(PEER).unwrap().sessions, 1);
    }
}

#[test]
fn a_wait_in_the_host_is_no_delay_of_the_path() {
    let mut world = World::new(Seed::new(8));
    let view = |world: &World| {
        let status = world.ends[0].endpoint.peer_status(PEER).unwrap().tunnel.unwrap();
        (status.path.srtt, status.path.view.queue, status.path.view.bandwidth)
    };
    world.run(secs(5), TRAFFIC);
    let before = view(&world);
    // The packet threads of both hosts take datagrams every 7 ms.
    world.turn = ms(7);
    world.run(secs(5), TRAFFIC);
    let after = view(&world);
    let quick = (after.0.abs_diff(2 * DELAY) < ms(1), after.1 < 0.0005);
    assert_eq!(quick, (true, true), "without waits {before:?}, with waits {after:?}");
}

/// End 0 sends much, and end 1 sends mostly reports.
#[test]
fn lost_reports_are_counted() {
    let mut world = World::new(Seed::new(12));
    world.loss = 0.1;
    for k in 0..5_000 {
        world.ends[0].endpoint.handle_inner(world.now, &inner(0, 1000));
        if k % 10 == 0 {
            world.ends[1].endpoint.handle_inner(world.now, &inner(1, 100));
        }
        world.run(ms(4), None);
    }
    let lost = world.lost;
    world.loss = 0.0;
    world.run(secs(2), TRAFFIC);
    for (n, lost) in lost.into_iter().enumerate() {
        let status = world.ends[n].endpoint.peer_status(PEER).unwrap().tunnel.unwrap();
        let counted = status.path.lost - status.path.spurious;
        println!("end {n}: {counted} of {lost} losses are counted, {} of them not of reports", status.path.settled.1);
        assert!(lost.abs_diff(counted) * 50 <= lost, "end {n}: {counted} of {lost}");
    }
}

#[test]
fn the_mtu_follows_the_address_family() {
    let mut world = World::new(Seed::new(7));
    let v6 = |n: u16| SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, n], 5182));
    let mtu = |world: &World, n: usize| world.ends[n].endpoint.peer_status(PEER).unwrap().inner_mtu;
    world.run(secs(1), TRAFFIC);
    assert_eq!([mtu(&world, 0), mtu(&world, 1)], [1436; 2]);
    // End 0 moves to an IPv6 network, and back. The datagrams fit into 1500 bytes with the headers of the network.
    for (new, mtu_then, header) in [(v6(5), 1416, 48), (address(5), 1436, 28)] {
        world.ends[0].address = new;
        world.run(secs(3), TRAFFIC);
        assert_eq!(mtu(&world, 1), mtu_then, "{new}");
        let before = world.sent.len();
        let now = world.now;
        for _ in 0..20 {
            world.ends[1].endpoint.handle_inner(now, &inner(1, mtu_then as usize));
        }
        world.run(secs(1), None);
        let to_it: Vec<usize> = world.sent[before..].iter().filter(|f| f.to == new).map(|f| f.bytes.len()).collect();
        let largest = to_it.iter().max().map_or(0, |len| len + header);
        assert!((1490..=1500).contains(&largest), "{largest} bytes to {new}");
        let told =
            |event: &&EndpointEvent| matches!(event, EndpointEvent::Mtu { inner_mtu, .. } if *inner_mtu == mtu_then);
        assert!(world.ends[1].events.iter().any(|event| told(&event)));
    }
    assert_eq!(world.ends[1].endpoint.secure_counters().addresses.roamed, 2);
}

#[test]
fn answers_to_a_flood_wait_for_data() {
    let seed = Seed::new(2);
    let mut world = World::new(seed);
    let mut stranger = Peers::new(private(seed, 7), SecureConfig::default(), Box::new(seed.stream("stranger")));
    let target = stranger.add(private(seed, 1).public(), Some(address(1))).unwrap();
    stranger.connect(world.now, target);
    let initiation = stranger.poll_transmit().unwrap().contents;
    // The socket of end 1 is blocked for 10 s, while a flood arrives from ever new networks and data waits.
    world.ends[1].blocked = true;
    for n in 0..20_000u32 {
        let from = SocketAddr::from(([172, 16 + (n >> 16) as u8, (n >> 8) as u8, n as u8], 9));
        world.ends[1].endpoint.handle_datagram(world.now, from, &mut initiation.clone(), Reception::default());
        if n % 16 == 0 {
            world.run(ms(8), TRAFFIC);
        }
    }
    let before = world.sent.len();
    world.ends[1].blocked = false;
    world.run(ms(400), TRAFFIC);
    let sent: Vec<&Flying> = world.sent[before..].iter().filter(|flying| flying.from == address(1)).collect();
    let answers = sent.iter().filter(|flying| flying.to != address(0)).count();
    println!("{} datagrams, {answers} answers", sent.len());
    let counters = world.ends[1].endpoint.secure_counters();
    assert!(counters.replies_dropped > 5_000, "{counters:?}");
    assert!((1..=128).contains(&answers), "the queue of answers is bounded: {answers}");
    assert_eq!(sent[0].to, address(0), "data leaves first");
}

/// The socket of end 1 is blocked for 10 s. Packets of the peer are delivered all the same, also behind a loss, and events
/// are reported.
#[test]
fn delivery_goes_on_while_the_socket_is_blocked() {
    let mut world = World::new(Seed::new(11));
    world.run(secs(1), TRAFFIC);
    world.ends[1].blocked = true;
    let before = world.ends[1].delivered;
    world.run(ms(100), TRAFFIC);
    assert!(world.ends[1].delivered >= before + 8, "{} packets", world.ends[1].delivered - before);
    // The packets behind a loss wait for the deadline, which is a time-out of the session.
    world.loss = 1.0;
    world.run(ms(20), TRAFFIC);
    world.loss = 0.0;
    let before = world.ends[1].delivered;
    for _ in 0..40 {
        world.run(ms(50), TRAFFIC);
        let now = world.clock(1);
        if world.ends[1].endpoint.poll_timeout().is_some_and(|at| at <= now) {
            world.ends[1].endpoint.handle_timeout(now);
        }
    }
    assert!(world.ends[1].delivered >= before + 50, "{} packets", world.ends[1].delivered - before);
    // Without reports, end 0 cannot empty its send queue.
    world.ends[0].endpoint.close();
    world.run(ms(200), None);
    world.ends[0].endpoint.close_now();
    world.run(ms(200), None);
    assert!(world.ends[1].events.contains(&EndpointEvent::Closed { peer: PEER }));
}

#[test]
fn ends_that_move_at_once_meet_again_by_name() {
    // Both ends change their addresses at the same moment. End 0 has a host name for its peer. When the peer does not
    // answer, end 0 looks the name up, as the daemon does, and gets the new address.
    for named in [true, false] {
        let mut world = World::new(Seed::new(6));
        world.run(secs(2), TRAFFIC);
        (world.ends[0].address, world.ends[1].address) = (address(70), address(71));
        let unreachable =
            |world: &World| world.ends[0].events.iter().any(|event| matches!(event, EndpointEvent::Unreachable { .. }));
        let moved = world.now;
        while !unreachable(&world) {
            world.run(ms(100), TRAFFIC);
        }
        println!("unreachable after {:?}", world.now.since(moved));
        assert!(world.now.since(moved) < secs(12));
        if named {
            let now = world.now;
            world.ends[0].endpoint.set_endpoint(now, PEER, address(71));
        }
        world.run(secs(5), TRAFFIC);
        let before = world.ends.each_ref().map(|end| end.delivered);
        world.run(secs(2), TRAFFIC);
        for (end, before) in world.ends.iter().zip(before) {
            assert_eq!(end.delivered >= before + 240, named, "{} packets in 2 s", end.delivered - before);
        }
    }
}

/// The peer sends from an address that the other end routes into the tunnel. A proven address inside would lead the
/// stream into the tunnel again.
#[test]
fn no_peer_proves_an_address_inside_the_tunnel() {
    let mut world = World::new(Seed::new(12));
    world.run(secs(1), TRAFFIC);
    world.ends[1].endpoint.set_inside(["10.77.0.0/24", "fd77::/64"].map(|prefix| prefix.parse().unwrap()));
    for inside in ["10.77.0.3:7000", "[::ffff:10.77.0.3]:7000", "[fd77::3]:7000"] {
        let before = world.ends[1].endpoint.counters().from_inside;
        world.ends[0].address = inside.parse().unwrap();
        world.run(secs(2), TRAFFIC);
        let secure = world.ends[1].endpoint.secure_counters();
        assert_eq!((secure.addresses.roamed, secure.addresses.challenged), (0, 0), "{inside}");
        assert!(world.ends[1].endpoint.counters().from_inside > before + 100, "{inside}");
        assert!(world.sent.iter().all(|flying| flying.to != inside.parse().unwrap()));
    }
    // Another address is proven as before, also one in a prefix of the allowed IPs that is not routed.
    world.ends[1].endpoint.set_inside([]);
    world.ends[0].address = "10.77.0.3:7000".parse().unwrap();
    world.run(secs(5), TRAFFIC);
    assert_eq!(world.ends[1].endpoint.peer_address(PEER), Some(world.ends[0].address));
}

/// The waits of a handshake grow while nobody answers. A new address is called at once.
#[test]
fn a_new_address_is_called_at_once() {
    let seed = Seed::new(13);
    let mut world = World::new(seed);
    world.ends[0].endpoint = endpoint(seed, 0, 1, &EndpointConfig::default());
    let peer = PeerConfig { endpoint: Some(address(98)), ..peer_config(seed, 0) };
    let now = world.now;
    world.ends[0].endpoint.add_peer(now, &peer).unwrap();
    world.run(secs(9), None);
    let sessions = |world: &World| world.ends[0].endpoint.peer_status(PEER).unwrap().sessions;
    assert_eq!(sessions(&world), 0);
    let now = world.now;
    world.ends[0].endpoint.set_endpoint(now, PEER, address(1));
    world.run(3 * DELAY, None);
    assert_eq!(sessions(&world), 1);
}

#[test]
fn a_peer_can_be_removed_and_added_again() {
    let seed = Seed::new(5);
    let mut world = World::new(seed);
    world.run(secs(1), TRAFFIC);
    let now = world.now;
    let end = &mut world.ends[0].endpoint;
    assert!(end.remove_peer(PEER) && !end.remove_peer(PEER));
    assert!(end.peer_status(PEER).is_none() && end.peers().next().is_none());
    end.handle_inner(now, &inner(0, 100));
    assert_eq!(end.counters().inner_no_route, 1);
    let config = PeerConfig { allowed_ips: Vec::new(), keepalive: Some(secs(1)), ..peer_config(seed, 0) };
    let again = end.add_peer(now, &config).unwrap();
    assert_ne!(again, PEER);
    end.set_routes(["10.77.0.1".parse().map(|prefix| (prefix, again)).unwrap()]);
    end.set_keepalive(now, again, None);
    let before = world.ends[1].delivered;
    world.run(secs(2), TRAFFIC);
    assert!(world.ends[1].delivered >= before + 240, "the new session carries packets");
    assert_eq!(world.ends[1].endpoint.peer_status(PEER).unwrap().sessions, 2);
}

#[test]
fn an_end_without_a_key_sleeps_until_the_next_handshake() {
    // The session is idle until the keys have expired, and the peer is gone. Then there is something to send.
    for keepalive in [None, Some(secs(25))] {
        let seed = Seed::new(4);
        let mut end = endpoint(seed, 0, 0, &EndpointConfig::default());
        let mut other = World::new(seed);
        end.add_peer(other.now, &PeerConfig { keepalive, ..peer_config(seed, 0) }).unwrap();
        other.ends[0].endpoint = end;
        other.run(secs(2), TRAFFIC);
        let mut end = other.ends.map(|end| end.endpoint).into_iter().next().unwrap();
        let (mut now, mut buffer) = (other.now + secs(3600), vec![0; 2000]);
        let end_at = now + secs(60);
        end.handle_inner(now, &inner(0, 100));
        let (mut turns, mut sent) = (0, 0);
        while now < end_at {
            end.handle_timeout(now);
            while end.poll_transmit(now, &mut buffer).is_some() {
                sent += 1;
            }
            turns += 1;
            assert!(turns < 1000, "a busy loop at {now:?}");
            now = now.max(end.poll_timeout().expect("handshakes go on"));
        }
        println!("{turns} turns, {sent} datagrams");
        assert!((15..60).contains(&sent), "{sent} handshakes in a minute");
    }
}

#[test]
fn a_clock_may_jump_in_the_middle_of_a_session() {
    // A machine sleeps, or its clock is corrected: the clock of one end jumps ahead.
    for sleeper in [0, 1] {
        for jump in [ms(1), ms(30), ms(700), secs(5), secs(150), secs(3 * 3600), secs(40 * 86_400)] {
            println!("jump of {jump:?} at end {sleeper}");
            let mut world = World::new(Seed::new(3));
            world.run(secs(3), TRAFFIC);
            let established = world.ends[sleeper].endpoint.secure_counters().established;
            world.ends[sleeper].clock_ahead += jump;
            world.run(secs(4), TRAFFIC);
            let before = world.ends.each_ref().map(|end| end.delivered);
            world.run(secs(2), TRAFFIC);
            for (end, before) in world.ends.iter().zip(before) {
                let delivered = end.delivered - before;
                assert!(delivered >= 245, "{delivered} of 250 packets arrived after a jump of {jump:?} at {sleeper}");
                let status = end.endpoint.peer_status(PEER).unwrap();
                assert_eq!(status.sessions, 1, "the session must survive a jump of {jump:?}");
            }
            let renewed = world.ends[sleeper].endpoint.secure_counters().established - established;
            // A jump of some seconds looks like a silence, which may start a handshake too.
            assert!(renewed > 0 || jump < secs(150), "a key that is too old must be renewed: {jump:?}");
            assert!(renewed == 0 || jump > secs(1), "a small jump must not start a handshake: {jump:?}");
        }
    }
}
