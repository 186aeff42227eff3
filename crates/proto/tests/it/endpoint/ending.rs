//! Sessions that one end or both ends close.

use super::world::*;
use ripstop_base::Seed;
use ripstop_proto::endpoint::{EndpointConfig, EndpointEvent};

/// Stops end `n` as a daemon does: it announces the end, and its process is gone.
fn stop(world: &mut World, n: usize) {
    world.ends[n].endpoint.close();
    world.drain();
    world.ends[n].blocked = true;
    world.ends[n].address = address(200);
}

/// Starts end `n` again at its address.
fn restart(world: &mut World, n: usize, run: u64) {
    let seed = Seed::new(1);
    let end = &mut world.ends[n];
    end.endpoint = endpoint(seed, n, run, &EndpointConfig::default());
    (end.blocked, end.address) = (false, address(n as u8));
    let now = world.clock(n);
    world.ends[n].endpoint.add_peer(now, &peer_config(seed, n)).unwrap();
}

fn sends(world: &mut World, n: usize, packets: usize) {
    for _ in 0..packets {
        let now = world.clock(n);
        world.ends[n].endpoint.handle_inner(now, &inner(n, 1000));
        world.run(ms(50), None);
    }
}

/// Whether a datagram is one of a session, not of a handshake.
fn is_transport(flying: &Flying) -> bool {
    flying.bytes[0] >= 0x10
}

/// One end closes and comes back, 20 times. The other end sends packets before and after the return. All of them arrive.
#[test]
fn no_packet_goes_into_a_closed_session() {
    for stopped in [0, 1] {
        let other = 1 - stopped;
        let mut world = World::new(Seed::new(1));
        for round in 1..=20 {
            world.run(secs(12), None);
            stop(&mut world, stopped);
            world.run(ms(100), None);
            let (sent, before) = (world.sent.len(), world.ends[stopped].delivered);
            sends(&mut world, other, 10);
            let dead = world.sent[sent..].iter().filter(|flying| is_transport(flying)).count();
            assert_eq!(dead, 0, "datagrams into the closed session, round {round}");
            restart(&mut world, stopped, round);
            world.run(ms(1000), None);
            sends(&mut world, other, 10);
            world.run(secs(5), None);
            let delivered = world.ends[stopped].delivered - before;
            assert_eq!(delivered, 20, "packets of end {other}, round {round}");
        }
        let status = world.ends[other].endpoint.peer_status(PEER).unwrap();
        assert_eq!((status.sessions, status.waited_in_vain, status.lost_in_restarts), (21, 0, 0));
    }
}

/// The caller calls a stopped callee again by itself. A callee leaves a stopped caller alone until it has packets.
#[test]
fn a_caller_calls_a_stopped_peer_and_a_callee_does_not() {
    for stopped in [0, 1] {
        let mut world = World::new(Seed::new(1));
        world.run(secs(2), None);
        stop(&mut world, stopped);
        world.run(secs(2), None);
        let sent = world.sent.len();
        world.run(secs(10), None);
        let calls = world.sent.len() - sent;
        match stopped {
            0 => assert_eq!(calls, 0, "a callee calls a stopped host"),
            _ => assert!((3..=20).contains(&calls), "{calls} calls"),
        }
        restart(&mut world, stopped, 1);
        world.run(secs(5), None);
        assert_eq!(world.ends[1 - stopped].endpoint.peer_status(PEER).unwrap().sessions, 2);
    }
}

#[test]
fn both_ends_may_close_at_once() {
    let mut world = World::new(Seed::new(1));
    world.run(secs(2), None);
    world.ends.iter_mut().for_each(|end| end.endpoint.close());
    world.drain();
    let sent = world.sent.len();
    world.run(secs(30), None);
    let later: Vec<u8> = world.sent[sent..].iter().map(|flying| flying.bytes[0]).collect();
    assert!(later.is_empty(), "ends that close send nothing more: {later:x?}");
    for end in &world.ends {
        assert_eq!(end.events.iter().filter(|event| matches!(event, EndpointEvent::Closed { .. })).count(), 1);
    }
}

/// An end that closes takes no new session: its peer would believe in it.
#[test]
fn an_end_that_closes_answers_no_handshake() {
    let mut world = World::new(Seed::new(1));
    world.run(secs(2), None);
    world.ends[1].endpoint.close();
    world.run(secs(10), None);
    assert_eq!(world.ends[0].endpoint.peer_status(PEER).unwrap().sessions, 1);
    assert!(world.ends[0].endpoint.peer_status(PEER).unwrap().tunnel.is_none());
}

/// The end waits until its send queue is empty, and announces the end after the last packet.
#[test]
fn the_end_of_the_session_comes_after_the_queued_packets() {
    let mut world = World::new(Seed::new(1));
    world.run(secs(2), None);
    let now = world.now;
    for _ in 0..60 {
        world.ends[0].endpoint.handle_inner(now, &inner(0, 1000));
    }
    world.ends[0].endpoint.close();
    world.run(secs(10), None);
    assert_eq!(world.ends[1].delivered, 60);
    assert!(world.ends[1].events.contains(&EndpointEvent::Closed { peer: PEER }));
}

/// A datagram is lost, and the peer closes before it repairs the loss. The packets behind the loss arrive all the same.
#[test]
fn packets_behind_a_loss_are_delivered_after_the_end() {
    let mut world = World::new(Seed::new(1));
    world.run(secs(2), None);
    world.loss = 1.0;
    let now = world.now;
    world.ends[0].endpoint.handle_inner(now, &inner(0, 1000));
    world.drain();
    world.loss = 0.0;
    (0..3).for_each(|_| world.ends[0].endpoint.handle_inner(now, &inner(0, 1000)));
    stop(&mut world, 0);
    world.run(secs(3), None);
    assert_eq!(world.ends[1].delivered, 3);
}
