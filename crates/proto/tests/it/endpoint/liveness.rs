//! Dead peers are found in time, and living peers are left alone.

use super::world::*;
use ripstop_base::{Seed, Time};
use ripstop_proto::endpoint::EndpointEvent;
use std::time::Duration;

/// Ends the process of end `n`: nothing arrives there, and nothing leaves.
fn kill(world: &mut World, n: usize) {
    world.ends[n].blocked = true;
    world.ends[n].address = address(200);
}

/// Runs until end `n` reports its peer as unreachable. Returns how long that takes.
fn until_unreachable(world: &mut World, n: usize, most: Duration) -> Option<Duration> {
    let start = world.now;
    while world.now.since(start) < most {
        world.run(ms(100), None);
        if world.ends[n].events.iter().any(|event| matches!(event, EndpointEvent::Unreachable { .. })) {
            return Some(world.now.since(start));
        }
    }
    None
}

/// Only end 0 sends keep-alives, as the documents teach it. The callee is told of the interval by a handshake.
#[test]
fn a_killed_peer_is_unreachable_within_three_keepalives_or_a_minute() {
    for (interval, most) in [(1, 3), (10, 30), (25, 60), (60, 180)] {
        for dead in [0, 1] {
            let mut world = World::new(Seed::new(1));
            let now = world.now;
            world.ends[0].endpoint.set_keepalive(now, PEER, Some(secs(interval)));
            world.run(secs(5 * interval) + ms(300), None);
            let heard = |world: &World| world.ends[1 - dead].endpoint.peer_status(PEER).unwrap().last_heard.unwrap();
            let asked = world.ends[1 - dead].endpoint.counters().peers_asked;
            assert_eq!(asked, 0, "a living peer with keep-alives is not asked");
            assert!(world.now.since(heard(&world)) <= secs(interval) + ms(500));
            kill(&mut world, dead);
            let killed = world.now;
            let after = until_unreachable(&mut world, 1 - dead, secs(1000));
            println!("keep-alives every {interval} s, end {dead} killed: unreachable after {after:?}");
            let after = after.expect("a dead peer must be noticed");
            assert!(after <= secs(most), "keep-alives every {interval} s, end {dead} killed: {after:?}");
            assert!(heard(&world) <= killed + DELAY, "a dead peer is not heard");
        }
    }
}

/// Neither end has keep-alives. End 0 sends packets, and is killed. Its datagrams stop, which alone means nothing.
#[test]
fn a_sender_without_keepalives_that_is_killed_is_unreachable_within_a_minute() {
    let mut world = World::new(Seed::new(2));
    for _ in 0..100 {
        let now = world.now;
        world.ends[0].endpoint.handle_inner(now, &inner(0, 1000));
        world.run(ms(10), None);
    }
    kill(&mut world, 0);
    let after = until_unreachable(&mut world, 1, secs(100)).expect("the sender is dead");
    println!("unreachable after {after:?}");
    assert!((secs(50)..=secs(60)).contains(&after), "{after:?}");
    assert_eq!(world.ends[1].endpoint.counters().peers_asked, 1);
}

/// Idle ends without keep-alives ask each other once after their last packets. Then nothing is sent.
#[test]
fn an_idle_tunnel_without_keepalives_is_silent() {
    let mut world = World::new(Seed::new(3));
    world.run(secs(1), Some((ms(10), 1000)));
    world.run(secs(120), None);
    let asked: u64 = world.ends.iter().map(|end| end.endpoint.counters().peers_asked).sum();
    assert!((1..=2).contains(&asked), "{asked} questions");
    let sent = world.sent.len();
    world.run(secs(3600), None);
    assert_eq!(world.sent.len(), sent, "nothing is sent for an hour");
    assert!(!world.ends.iter().any(|e| e.events.iter().any(|e| matches!(e, EndpointEvent::Unreachable { .. }))));
}

/// On a path that loses 30 % each way, living peers with keep-alives are not reported.
#[test]
fn losses_do_not_make_a_living_peer_unreachable() {
    let mut world = World::new(Seed::new(4));
    let now = world.now;
    world.ends[0].endpoint.set_keepalive(now, PEER, Some(secs(10)));
    world.loss = 0.3;
    world.run(secs(7200), None);
    let reports = world.ends.iter().flat_map(|end| &end.events);
    assert_eq!(reports.filter(|event| matches!(event, EndpointEvent::Unreachable { .. })).count(), 0);
}

/// A peer that was cut off is reported again as soon as it is heard.
#[test]
fn a_peer_that_is_heard_again_is_reachable() {
    let mut world = World::new(Seed::new(5));
    let now = world.now;
    world.ends[0].endpoint.set_keepalive(now, PEER, Some(secs(1)));
    world.run(secs(3), None);
    world.loss = 1.0;
    assert!(until_unreachable(&mut world, 1, secs(10)).is_some());
    world.loss = 0.0;
    world.run(secs(10), None);
    let events = &world.ends[1].events;
    assert!(events.contains(&EndpointEvent::Reachable { peer: PEER }), "{events:?}");
    let status = world.ends[1].endpoint.peer_status(PEER).unwrap();
    assert_eq!(status.sessions, 1, "the session goes on");
    assert!(status.last_heard > Some(Time::ZERO + secs(10)));
}

/// A callee does not call a dead caller for ever: it knows only where the caller was. It calls again when it has packets,
/// and the caller finds it when it is back.
#[test]
fn a_dead_caller_is_given_up() {
    let mut world = World::new(Seed::new(6));
    let now = world.now;
    world.ends[0].endpoint.set_keepalive(now, PEER, Some(secs(1)));
    world.run(secs(3), None);
    kill(&mut world, 0);
    world.run(secs(120), None);
    let sent = world.sent.len();
    world.run(secs(600), None);
    assert_eq!((world.sent.len(), world.ends[1].endpoint.counters().peers_given_up), (sent, 1));
    let now = world.now;
    world.ends[1].endpoint.handle_inner(now, &inner(1, 1000));
    world.run(secs(5), None);
    assert!(world.sent.len() > sent + 2, "a packet calls the peer again");
    (world.ends[0].blocked, world.ends[0].address) = (false, address(0));
    let now = world.now;
    world.ends[0].endpoint.handle_timeout(now);
    world.run(secs(30), None);
    let status = world.ends[1].endpoint.peer_status(PEER).unwrap();
    assert_eq!((status.sessions, world.ends[0].delivered), (2, 1));
}

/// Neither end has keep-alives. The caller has answered the question, and is killed. A packet of the callee calls it for 90 s.
#[test]
fn a_dead_caller_of_which_nothing_is_expected_is_given_up() {
    let mut world = World::new(Seed::new(7));
    world.run(secs(1), Some((ms(10), 1000)));
    world.run(secs(120), None);
    kill(&mut world, 0);
    let now = world.now;
    world.ends[1].endpoint.handle_inner(now, &inner(1, 1000));
    world.run(secs(80), None);
    let sent = world.sent.len();
    world.run(secs(5), None);
    assert!(world.sent.len() > sent, "the callee calls");
    world.run(secs(15), None);
    let sent = world.sent.len();
    world.run(secs(600), None);
    let end = &world.ends[1].endpoint;
    assert_eq!((world.sent.len() - sent, end.counters().peers_given_up, end.memory()), (0, 1, 0));
}

/// A callee with keep-alives does not call a dead caller again for them.
#[test]
fn keepalives_do_not_call_a_caller_that_was_given_up() {
    let mut world = World::new(Seed::new(8));
    let now = world.now;
    world.ends[1].endpoint.set_keepalive(now, PEER, Some(secs(5)));
    world.run(secs(30), None);
    kill(&mut world, 0);
    let now = world.now;
    world.ends[1].endpoint.handle_inner(now, &inner(1, 1000));
    world.run(secs(130), None);
    let now = world.now;
    world.ends[1].endpoint.handle_inner(now, &inner(1, 1000));
    world.run(secs(130), None);
    let sent = world.sent.len();
    world.run(secs(600), None);
    assert_eq!((world.sent.len() - sent, world.ends[1].endpoint.counters().peers_given_up), (0, 2));
}
