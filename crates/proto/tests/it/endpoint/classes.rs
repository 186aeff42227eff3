//! The classes of packets: hints from DSCP and ports act on the first packet, and the flow's behaviour overrides them.

use super::world::*;
use ripstop_base::Seed;
use ripstop_proto::control::redundancy::Limit;
use ripstop_proto::session::tunnel::Status;

const TCP: u8 = 6;
const UDP: u8 = 17;

/// A packet of `len` bytes from end 0 with a DSCP, an IP protocol and a destination port.
fn packet(dscp: u8, protocol: u8, port: u16, len: usize) -> Vec<u8> {
    let mut packet = inner(0, len);
    (packet[1], packet[9]) = (dscp << 2, protocol);
    packet[20..22].copy_from_slice(&50_000u16.to_be_bytes());
    packet[22..24].copy_from_slice(&port.to_be_bytes());
    if protocol == TCP {
        // The length of the TCP header, and the flags ACK and PSH.
        (packet[32], packet[33]) = (5 << 4, 0x18);
    }
    packet
}

fn send(world: &mut World, packet: &[u8]) {
    let now = world.clock(0);
    world.ends[0].endpoint.handle_inner(now, packet);
}

fn status(world: &World) -> Status {
    world.ends[0].endpoint.peer_status(PEER).unwrap().tunnel.unwrap()
}

/// The state after one packet as the first of a session.
fn after_one(packet: &[u8]) -> Status {
    let mut world = World::new(Seed::new(21));
    send(&mut world, packet);
    world.run(ms(50), None);
    status(&world)
}

#[test]
fn a_hint_changes_the_treatment_of_the_first_packet() {
    // The path is new, so losses are presumed, and each interactive packet has repairs of its own.
    for (dscp, protocol, port) in [(46, UDP, 40_000), (34, UDP, 40_000), (0, UDP, 5060), (0, UDP, 53), (0, TCP, 22)] {
        let status = after_one(&packet(dscp, protocol, port, 1000));
        let (counts, hints) = (status.interactive.counts, status.interactive.hints);
        assert_eq!((counts.packets, hints.hinted, hints.followed), (1, 1, 1), "{dscp} {protocol} {port}");
        assert!(counts.repairs > 0 && counts.repair_bytes >= 1000 * counts.repairs, "{counts:?}");
        assert_eq!(status.bulk.counts.packets, 0);
    }
    for (dscp, protocol, port) in [(1, UDP, 40_000), (8, TCP, 22), (0, TCP, 873)] {
        let status = after_one(&packet(dscp, protocol, port, 1000));
        let (counts, hints) = (status.bulk.counts, status.bulk.hints);
        assert_eq!((counts.packets, hints.hinted, hints.followed), (1, 1, 1), "{dscp} {protocol} {port}");
        assert_eq!((status.interactive.counts.packets, status.interactive.counts.repairs), (0, 0));
    }
    // Without a hint, the behaviour of the flow alone decides: the first packets are interactive.
    let status = after_one(&packet(0, TCP, 443, 1000));
    assert_eq!((status.interactive.counts.packets, status.interactive.hints.hinted), (1, 0));
}

#[test]
fn a_flow_that_sends_much_becomes_bulk_in_spite_of_its_hint() {
    let of = |port: u16, every: u64| {
        let mut world = World::new(Seed::new(22));
        for _ in 0..200 {
            send(&mut world, &packet(0, TCP, port, 1000));
            world.run(ms(every), None);
        }
        (status(&world).interactive, status(&world).bulk.counts)
    };
    // 20 kB/s: more than a flow without a hint may have on a path whose rate is not known yet.
    let ((ssh, _), (none, other)) = (of(22, 50), of(443, 50));
    assert!(ssh.counts.packets > 2 * none.counts.packets && other.packets > 100, "{ssh:?} {none:?}");
    // 500 kB/s: a file copy over SSH.
    let (copy, bulk) = of(22, 2);
    println!("{copy:?} {bulk:?}");
    let (copy, hints) = (copy.counts, copy.hints);
    assert!(hints.followed > 0 && hints.hinted == 200 && hints.followed < 60, "{hints:?}");
    assert_eq!((copy.packets, bulk.packets), (hints.followed, 200 - hints.followed));
    assert!(bulk.bytes > 140_000 && copy.bytes > 0);
}

#[test]
fn both_classes_count_their_repairs_and_say_why() {
    let mut world = World::new(Seed::new(23));
    world.loss = 0.1;
    for n in 0..4_000u32 {
        send(&mut world, &packet(8, UDP, 40_000, 1000));
        if n % 25 == 0 {
            send(&mut world, &packet(46, UDP, 40_001, 200));
        }
        world.run(ms(1), None);
    }
    let status = status(&world);
    println!("{:?}\n{:?}", status.interactive, status.bulk);
    for class in [status.interactive, status.bulk] {
        let counts = class.counts;
        assert!(counts.packets > 0 && counts.bytes > 0 && counts.repairs > 0 && counts.repair_bytes > 0, "{counts:?}");
        assert!((0.05..0.2).contains(&class.explanation.losses.share), "{class:?}");
        assert!(class.explanation.target.is_some() && class.explanation.ratio > 1.0, "{class:?}");
    }
    let interactive = status.interactive;
    assert_eq!((interactive.explanation.target, interactive.explanation.limit), (Some(0.001), Limit::Target));
    // An interactive packet has about as many repairs as R says; bulk packets have far fewer.
    let ratio = |packets: u64, repairs: u64| repairs as f64 / packets as f64;
    let (few, many) = (status.bulk.counts, interactive.counts);
    assert!(ratio(many.packets, many.repairs) > 1.0 && ratio(few.packets, few.repairs) < 0.3, "{many:?} {few:?}");
    // The receiving end sees the same losses.
    let peer = world.ends[1].endpoint.peer_status(PEER).unwrap().tunnel.unwrap();
    assert!((0.05..0.2).contains(&peer.path.losses_from_peer.share), "{:?}", peer.path.losses_from_peer);
    // Without losses for long enough, nothing is protected.
    world.loss = 0.0;
    for _ in 0..700 {
        send(&mut world, &packet(8, UDP, 40_000, 1000));
        world.run(ms(10), None);
    }
    let status = self::status(&world);
    assert_eq!([status.bulk, status.interactive].map(|class| class.explanation.limit), [Limit::CleanPath; 2]);
    assert_eq!([status.bulk, status.interactive].map(|class| class.explanation.ratio), [1.0; 2]);
    world.run(secs(1), None);
}
