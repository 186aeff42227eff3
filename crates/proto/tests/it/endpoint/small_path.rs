//! Paths with a small MTU, which only one end may know.

use super::*;
use ripstop_proto::inner::Inner;
use ripstop_proto::session::tunnel::Status;

const UDP: u8 = 17;
const TCP: u8 = 6;

fn status(world: &World, n: usize) -> Status {
    world.ends[n].endpoint.peer_status(PEER).unwrap().tunnel.unwrap()
}

/// The path carries 1280 bytes, so 1216 bytes remain for inner packets. IPv6 packets of 1280 bytes travel in pieces.
#[test]
fn ipv6_packets_of_1280_bytes_cross_any_path() {
    for (seed, loss) in [(20, 0.0), (21, 0.1)] {
        let mut world = World::new(Seed::new(seed));
        (world.mtu, world.loss) = (1280, loss);
        let udp = |n: usize, k: usize| inner_v6(n, UDP, &[k as u8; 8], 1280);
        // The search for the path's MTU needs a doubt, which the first packets raise.
        for _ in 0..200 {
            (0..2).for_each(|n| world.ends[n].endpoint.handle_inner(world.now, &udp(n, 1)));
            world.run(ms(20), None);
        }
        world.run(secs(5), None);
        let mtu = |n: usize| world.ends[n].endpoint.peer_status(PEER).unwrap().inner_mtu;
        assert_eq!([mtu(0), mtu(1)], [1216; 2]);
        let before = [0, 1].map(|n| (world.ends[n].delivered, status(&world, n)));
        for k in 0..500 {
            (0..2).for_each(|n| world.ends[n].endpoint.handle_inner(world.now, &udp(n, k)));
            world.run(ms(10), None);
        }
        world.run(secs(5), None);
        for (n, (delivered, then)) in before.into_iter().enumerate() {
            let (now, counters) = (status(&world, n), world.ends[n].endpoint.counters());
            assert_eq!((world.ends[n].delivered - delivered, now.taken.cut - then.taken.cut), (500, 500), "{loss}");
            assert_eq!(now.pieces.joined - then.pieces.joined, 500);
            assert!(world.ends[n].last == udp(1 - n, 499), "the last packet differs");
            assert_eq!((counters.too_big_sent, counters.inner_too_long, now.taken.too_long), (0, 0, 0));
        }
        // A longer packet is refused. Its sender learns that 1280 bytes pass: kernels ignore a smaller value.
        let before = world.ends[0].delivered;
        world.ends[0].endpoint.handle_inner(world.now, &inner_v6(0, UDP, &[1; 8], 1281));
        world.run(ms(10), None);
        let (told, refused) = (&world.ends[0].last, world.ends[0].endpoint.counters());
        assert_eq!((world.ends[0].delivered - before, refused.inner_too_long, refused.too_big_sent), (1, 1, 1));
        assert_eq!((told[40], &told[44..48]), (2, &1280u32.to_be_bytes()[..]), "packet too big");
    }
}

/// End 1 alone knows that the path carries 1280 bytes. It reduces the MSS of the SYN that it gets.
#[test]
fn the_receiver_reduces_the_mss_by_what_it_knows_of_the_path() {
    let mut world = World::new(Seed::new(22));
    world.mtu = 1280;
    for _ in 0..200 {
        world.ends[1].endpoint.handle_inner(world.now, &inner(1, 1400));
        world.run(ms(20), None);
    }
    let mtu = |world: &World, n: usize| world.ends[n].endpoint.peer_status(PEER).unwrap().inner_mtu;
    assert_eq!([mtu(&world, 0), mtu(&world, 1)], [1436, 1216], "end 0 has sent nothing large");
    // A SYN-ACK with the option MSS 1376, which fits 1436 bytes.
    let syn = [0, 80, 0, 81, 0, 0, 0, 0, 0, 0, 0, 0, 0x60, 0x12, 0, 0, 0, 0, 0, 0, 2, 4, 5, 0x60];
    for clamped in 1..3 {
        world.ends[0].endpoint.handle_inner(world.now, &inner_v6(0, TCP, &syn, 64));
        world.run(secs(1), None);
        let got = &world.ends[1].last;
        assert!(Inner::parse(got).unwrap().is_syn());
        assert_eq!(got[62..64], 1156u16.to_be_bytes());
        let counts = [0, 1].map(|n| world.ends[n].endpoint.counters().mss_clamped);
        assert_eq!(counts, [0, clamped]);
    }
}

/// Probes of sizes that the path does not carry are no losses of the path, for both ends.
#[test]
fn probes_of_the_mtu_are_no_losses() {
    let mut world = World::with_mtu(Seed::new(23), 1280);
    let check = |world: &World, too_large: std::ops::RangeInclusive<u64>| {
        for status in [0, 1].map(|n| status(world, n)) {
            assert!(status.path.measured_loss < 0.005 && status.path.losses_from_peer.share < 0.005, "{status:?}");
            assert_eq!(
                (status.path.mean_burst, status.path.losses_from_peer.burst, status.path.settled.1),
                (1.0, 1.0, 0)
            );
            assert!(too_large.contains(&status.path.too_large), "{}", status.path.too_large);
        }
    };
    // The search for 1500 bytes, and the first one for 1340.
    world.run(secs(20), None);
    check(&world, 6..=6);
    let found = |event: &EndpointEvent| match event {
        EndpointEvent::Mtu { inner_mtu, is_found, .. } => Some((*inner_mtu, *is_found)),
        _ => None,
    };
    for end in &world.ends {
        let found: Vec<_> = end.events.iter().filter_map(found).collect();
        assert_eq!(found, [(1436, false), (1216, true)]);
    }
    // The search goes on upwards every minute.
    world.run(secs(300), TRAFFIC);
    check(&world, 15..=30);
}

/// On a long path, a probe is under way when the loss of the probes before it decides the MTU.
#[test]
fn a_probe_that_was_under_way_when_the_mtu_was_found_is_no_loss() {
    let mut world = World::with_path(Seed::new(26), 1280, ms(100));
    world.run(secs(20), None);
    for status in [0, 1].map(|n| status(&world, n)) {
        assert!(status.path.measured_loss < 0.005 && status.path.losses_from_peer.share < 0.005, "{status:?}");
        assert_eq!((status.path.settled.1, status.path.losses_from_peer.burst), (0, 1.0));
        assert!((6..=9).contains(&status.path.too_large), "{}", status.path.too_large);
    }
}

/// The path's MTU falls under traffic that fills the datagrams. The losses until the search ends are forgotten, but for
/// the random ones.
#[test]
fn losses_of_a_path_that_shrinks_are_forgotten() {
    for (seed, loss) in [(24, 0.0), (25, 0.2)] {
        let mut world = World::new(Seed::new(seed));
        world.loss = loss;
        world.run(secs(20), Some((ms(4), 1400)));
        let measured = |world: &World| {
            [0, 1]
                .map(|n| status(world, n))
                .map(|status| [status.path.measured_loss, status.path.losses_from_peer.share])
        };
        let before = measured(&world);
        world.mtu = 1280;
        world.run(secs(4), Some((ms(4), 1400)));
        let shrunk = [0, 1].map(|n| status(&world, n).path.too_large);
        assert!(shrunk.iter().all(|count| *count > 20), "{shrunk:?}");
        world.run(secs(2), Some((ms(4), 1000)));
        for (before, after) in before.as_flattened().iter().zip(measured(&world).as_flattened()) {
            assert!((before - loss).abs() < 0.1 && (after - loss).abs() < 0.1, "{loss}: {before} {after}");
        }
    }
}
