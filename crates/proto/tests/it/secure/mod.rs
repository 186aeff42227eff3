//! `secure` in virtual time: sessions over bad networks, renewal, restarts, roaming, and replays.

mod strangers;
mod world;

use ripstop_base::{Seed, Time};
use ripstop_proto::path::silence_limit;
use ripstop_proto::secure::*;
use ripstop_proto::wire::{HEADER_LEN, Kind, TAG_LEN};
use std::time::Duration;
use world::*;

/// Settings with frequent key renewal.
fn hurried() -> SecureConfig {
    SecureConfig { rekey_after: secs(5), reject_after: secs(25), ..SecureConfig::default() }
}

#[test]
fn opens_a_session_with_either_suite() {
    for suite in [Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
        let config = SecureConfig { suite, inner_mtu: 1400, ..SecureConfig::default() };
        let mut world = World::pair(Seed::new(1), &config, Weather::calm());
        world.connect(0);
        world.run(ms(61), None);
        assert!(world.is_open());
        for (n, initiator) in [(0, true), (1, false)] {
            let Some(SecureEvent::Established { suite: got, initiator: role, peer_mtu, epoch, .. }) =
                world.ends[n].events.iter().copied().find(|e| matches!(e, SecureEvent::Established { .. }))
            else {
                panic!("not established: {:?}", world.ends[n].events)
            };
            assert_eq!((got, role, peer_mtu, epoch), (suite, initiator, 1400, 1));
        }
        world.run(secs(1), Some(ms(10)));
        world.run(secs(1), None);
        assert_eq!(world.unopened(), 0);
        assert_eq!(world.ends[0].bodies.len(), 100 + 1);
    }
}

#[test]
fn holds_over_any_network() {
    let (mut renewed, mut repeated, mut old) = (0, 0, 0);
    for run in 0..60 {
        let seed = Seed::new(2).run(run);
        let mut rng = seed.stream("weather");
        let weather = Weather {
            loss: rng.unit() * 0.5,
            duplicate: rng.unit() * 0.3,
            corrupt: rng.unit() * 0.2,
            delay: (ms(rng.below(300)), ms(300 + rng.below(400))),
        };
        println!("replay with seed {} run {run}: {weather:?}", seed.master());
        let mut world = World::pair(seed, &hurried(), weather);
        world.run(secs(40), Some(ms(20)));
        // When the network has become good, all datagrams arrive.
        world.weather = Weather::calm();
        world.run(secs(12), Some(ms(20)));
        world.run(secs(1), None);
        assert!(world.is_open());
        world.settle();
        world.run(secs(12), Some(ms(20)));
        world.run(secs(1), None);
        assert_eq!(world.unopened(), 0);
        for end in &world.ends {
            let counters = end.peers.counters();
            renewed += counters.renewed;
            repeated += counters.initiations_repeated + counters.responses_repeated;
            old += counters.datagrams.opened_by_old_key;
            assert_eq!(counters.epochs, 1, "no end has restarted, so only one epoch may begin");
        }
    }
    assert!(renewed > 500 && repeated > 100 && old > 100, "{renewed} {repeated} {old}");
}

#[test]
fn loses_nothing_to_renewal() {
    for run in 0..20 {
        let seed = Seed::new(3).run(run);
        println!("replay with seed {} run {run}", seed.master());
        let weather = Weather { delay: (ms(10), ms(400)), ..Weather::calm() };
        let config = SecureConfig { rekey_messages: 300 + 10 * run, ..hurried() };
        let mut world = World::pair(seed, &config, weather);
        world.connect((run % 2) as usize);
        world.run(secs(2), None);
        world.settle();
        world.run(secs(30), Some(ms(5)));
        world.run(secs(2), None);
        assert_eq!(world.unopened(), 0);
        for end in &world.ends {
            assert!(end.peers.counters().renewed >= 5);
            assert!(end.peers.counters().datagrams.opened_by_old_key > 0);
        }
    }
}

#[test]
fn renews_by_count_and_seals_no_more_than_allowed() {
    let config = SecureConfig { rekey_messages: 50, reject_messages: 60, ..SecureConfig::default() };
    let mut world = World::pair(Seed::new(4), &config, Weather::calm());
    world.connect(0);
    world.run(ms(100), None);
    // All datagrams are sealed at once: a new key cannot be ready in time.
    let sealed = (0..100).take_while(|_| world.seal(0, FIRST, None).is_ok()).count();
    assert_eq!(sealed, 59, "60 with the first probe");
    assert_eq!(world.seal(0, FIRST, None), Err(SealError::NoSession));
    world.run(ms(100), None);
    assert!(world.seal(0, FIRST, None).is_ok());
    assert_eq!(world.ends[0].peers.counters().renewed, 1);
}

#[test]
fn both_may_start_at_once() {
    let mut crossed = 0;
    for run in 0..200 {
        let seed = Seed::new(5).run(run);
        println!("replay with seed {} run {run}", seed.master());
        let weather = Weather { delay: (ms(20), ms(60)), ..Weather::calm() };
        let mut world = World::pair(seed, &SecureConfig::default(), weather);
        world.connect(0);
        world.run(ms(run % 50), None);
        world.connect(1);
        world.run(secs(1), None);
        assert!(world.is_open());
        // Both ends use the same handshake: no datagram uses an old key, in either direction.
        world.settle();
        let before: Vec<_> = world.ends.iter().map(|e| e.peers.counters().datagrams.opened_by_old_key).collect();
        world.run(secs(2), Some(ms(50)));
        world.run(secs(1), None);
        assert_eq!(world.unopened(), 0);
        let after: Vec<_> = world.ends.iter().map(|e| e.peers.counters().datagrams.opened_by_old_key).collect();
        assert_eq!(before, after);
        crossed += world.ends.iter().map(|e| e.peers.counters().crossed).sum::<u64>();
        assert!(world.ends.iter().all(|e| e.peers.poll_timeout().is_none_or(|at| at > world.now + secs(2))));
    }
    assert!(crossed > 20, "{crossed}");
}

#[test]
fn a_restart_begins_a_new_epoch() {
    for restarted in [0, 1] {
        for caller in [0, 1] {
            let seed = Seed::new(6);
            let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
            world.record = Some(Vec::new());
            world.connect(0);
            world.run(secs(3), Some(ms(10)));
            let old = world.record.take().unwrap();
            let other = 1 - restarted;
            world.restart(seed, restarted, &SecureConfig::default(), 1);
            world.connect(caller);
            world.run(secs(1), Some(ms(10)));
            assert!(world.is_open());
            let survivor = &world.ends[other];
            assert_eq!(survivor.peers.counters().epochs, 2);
            assert_eq!(survivor.peers.epoch(world.now + survivor.clock_ahead, FIRST), Some(2));
            assert!(survivor.opened.contains(&(FIRST, 2, 0)), "numbers must begin at 0 again");
            // After the restart, datagrams and handshakes from before the restart are refused.
            let before =
                (world.ends[other].peers.counters().datagrams.opened, world.ends[other].peers.counters().responses);
            for flying in old.iter().filter(|f| f.to == address(other as u16)) {
                let incoming = world.arrive(flying.clone()).unwrap();
                assert!(matches!(incoming, Incoming::Rejected(_)), "{incoming:?}");
            }
            let after =
                (world.ends[other].peers.counters().datagrams.opened, world.ends[other].peers.counters().responses);
            assert_eq!(before, after);
            world.settle();
            world.run(secs(3), Some(ms(10)));
            world.run(secs(1), None);
            assert_eq!(world.unopened(), 0);
        }
    }
}

#[test]
fn a_sealed_datagram_of_a_former_epoch_is_refused() {
    let seed = Seed::new(7);
    let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
    world.connect(0);
    world.run(ms(100), None);
    world.restart(seed, 1, &SecureConfig::default(), 1);
    world.connect(1);
    world.run(ms(100), None);
    let now = world.now;
    let peers = &mut world.ends[0].peers;
    let mut buffer = [0; HEADER_LEN + TAG_LEN];
    let mut seal =
        |epoch, number, len: usize| peers.seal(now, FIRST, epoch, number, Kind::Probe, &mut buffer[..len]).map(|_| ());
    let whole = HEADER_LEN + TAG_LEN;
    assert_eq!(seal(1, 9, whole), Err(SealError::Epoch { given: 1, current: 2 }));
    assert_eq!(seal(2, 5, whole), Ok(()));
    assert_eq!(seal(2, 5, whole), Err(SealError::Number { given: 5, next: 6 }));
    assert_eq!(seal(2, u64::MAX, whole), Err(SealError::Number { given: u64::MAX, next: 6 }));
    assert_eq!(seal(2, 6, whole - 1), Err(SealError::Buffer(whole - 1)));
    assert_eq!(seal(2, 6, whole), Ok(()));
}

#[test]
fn numbers_go_on_over_32_bits_and_long_silence() {
    let mut world = World::pair(Seed::new(8), &SecureConfig::default(), Weather::calm());
    world.connect(0);
    world.run(ms(100), None);
    let seal = |world: &mut World, number: u64| {
        let now = world.now;
        let mut datagram = vec![0; HEADER_LEN + TAG_LEN];
        world.ends[0].peers.seal(now, FIRST, 1, number, Kind::Probe, &mut datagram).unwrap();
        let now = now + world.ends[1].clock_ahead;
        match world.ends[1].peers.handle_datagram(now, address(0), &mut datagram) {
            Incoming::Transport { number, .. } => Some(number),
            other => panic!("{other:?}"),
        }
    };
    for number in [1 << 20, (1 << 31) - 1, (1 << 32) - 1, 1 << 32, (1 << 32) + 5] {
        assert_eq!(seal(&mut world, number), Some(number));
    }
    // The number jumps by more than 32 bits can express: the peer learns the new number from the next handshake.
    let (now, far) = (world.now, (1u64 << 50) + 777_777);
    let mut lost = vec![0; HEADER_LEN + TAG_LEN];
    world.ends[0].peers.seal(now, FIRST, 1, far, Kind::Probe, &mut lost).unwrap();
    let there = now + world.ends[1].clock_ahead;
    let incoming = world.ends[1].peers.handle_datagram(there, address(0), &mut lost);
    assert_eq!(incoming, Incoming::Rejected(Rejected::Forged));
    world.ends[0].peers.connect(now, FIRST);
    let transmit = world.ends[0].peers.poll_transmit().unwrap();
    let mut bytes = transmit.contents;
    world.ends[1].peers.handle_datagram(there, address(0), &mut bytes);
    let mut bytes = world.ends[1].peers.poll_transmit().unwrap().contents;
    world.ends[0].peers.handle_datagram(now, address(1), &mut bytes);
    assert_eq!(seal(&mut world, far + 1), Some(far + 1));
}

#[test]
fn follows_a_peer_that_roams() {
    let mut world = World::pair(Seed::new(9), &SecureConfig::default(), Weather::calm());
    world.connect(0);
    world.run(ms(100), None);
    // A late datagram from the old address does not change the address back.
    world.record = Some(Vec::new());
    world.seal(0, FIRST, None).unwrap();
    let late = world.record.take().unwrap().pop().unwrap();
    world.weather.loss = 1.0;
    world.run(ms(100), None);
    world.weather.loss = 0.0;
    world.ends[0].address = address(77);
    // The new address is used one round trip after the first datagram from it.
    world.run(ms(59), Some(ms(10)));
    assert_eq!(world.ends[1].peers.endpoint(FIRST), Some(address(0)));
    world.run(ms(141), Some(ms(10)));
    assert_eq!(world.ends[1].peers.endpoint(FIRST), Some(address(77)));
    let _ = world.arrive(late);
    assert_eq!(world.ends[1].peers.endpoint(FIRST), Some(address(77)));
    let roamed = SecureEvent::Roamed { peer: FIRST, from: Some(address(0)), to: address(77) };
    assert_eq!(world.ends[1].events.iter().filter(|e| **e == roamed).count(), 1);
    let counters = world.ends[1].peers.counters();
    assert_eq!(
        (
            counters.addresses.roamed,
            counters.addresses.challenged,
            counters.addresses.proven,
            counters.addresses.refused
        ),
        (1, 1, 1, 0)
    );
    world.run(secs(1), None);
    world.settle();
    world.run(secs(1), Some(ms(10)));
    world.run(secs(1), None);
    assert_eq!(world.unopened(), 0);
}

#[test]
fn a_forged_source_address_redirects_nothing() {
    // An attacker on the path copies each datagram of end 0, and delivers the copy first, from the address of a victim.
    let mut world = World::pair(Seed::new(41), &SecureConfig::default(), Weather::calm());
    world.connect(0);
    world.run(ms(100), None);
    world.record = Some(Vec::new());
    let (mut to_victim, mut from_victim, mut elsewhere) = (0, 0, 0);
    for _ in 0..400 {
        world.seal(0, FIRST, None).unwrap();
        let sent = world.record.take().unwrap();
        world.record = Some(Vec::new());
        for flying in sent.into_iter().filter(|flying| flying.to == address(1)) {
            from_victim += flying.bytes.len();
            let _ = world.arrive(Flying { from: address(99), ..flying });
        }
        world.seal(1, FIRST, None).unwrap();
        world.run(ms(20), None);
        for flying in world.record.as_ref().unwrap().iter().filter(|f| f.from == address(1)) {
            match flying.to == address(99) {
                true => to_victim += flying.bytes.len(),
                false => elsewhere += flying.bytes.len(),
            }
        }
    }
    let end = &world.ends[1];
    assert_eq!(end.peers.endpoint(FIRST), Some(address(0)));
    assert!(!end.events.iter().any(|e| matches!(e, SecureEvent::Roamed { from: Some(_), .. })));
    let counters = end.peers.counters();
    println!("{to_victim} bytes to the victim, {elsewhere} to the peer, {from_victim} from the forged address");
    assert!(to_victim > 0 && to_victim <= 17 * 33 && 3 * from_victim >= to_victim && elsewhere > 10_000);
    assert_eq!((counters.addresses.roamed, counters.addresses.proven, counters.addresses.refused), (0, 0, 0));
    assert!((15..=17).contains(&counters.addresses.challenged), "{}", counters.addresses.challenged);
}

#[test]
fn a_copied_handshake_redirects_nothing() {
    // The attacker replays the peer's initiation and its first datagram from the address of a victim. End 1 has no
    // address for its peer yet.
    let seed = Seed::new(42);
    let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
    world.ends[1].peers.remove(FIRST);
    let peer = world.ends[1].peers.add(private(seed, 0).public(), None).unwrap();
    world.record = Some(Vec::new());
    world.connect(0);
    let copied = |world: &mut World| {
        let sent = world.record.replace(Vec::new()).unwrap();
        let sent: Vec<_> = sent.into_iter().filter(|f| f.to == address(1) && f.from == address(0)).collect();
        let count = sent.len();
        for flying in sent {
            let _ = world.arrive(Flying { from: address(99), ..flying });
        }
        count
    };
    assert_eq!(copied(&mut world), 1);
    world.run(ms(41), None);
    assert_eq!(copied(&mut world), 1, "the first datagram under the new keys");
    assert_eq!(world.ends[1].peers.endpoint(peer), None, "the victim's address is not proven");
    for _ in 0..50 {
        world.run(ms(20), None);
        let _ = world.seal(0, FIRST, None);
    }
    assert_eq!(world.ends[1].peers.endpoint(peer), Some(address(0)));
    assert_eq!(world.ends[1].peers.counters().addresses.proven, 1);
}

#[test]
fn tries_for_ever_says_so_once_and_recovers() {
    let mut world = World::pair(Seed::new(10), &SecureConfig::default(), Weather { loss: 1.0, ..Weather::calm() });
    world.connect(0);
    world.run(secs(3600), None);
    let unreachable =
        |world: &World| world.ends[0].events.iter().filter(|e| matches!(e, SecureEvent::Unreachable { .. })).count();
    assert_eq!(unreachable(&world), 1);
    let counters = world.ends[0].peers.counters();
    let sent = counters.initiations + counters.initiations_repeated;
    assert!((3600 / 4..=3600 / 3 + 10).contains(&sent), "every 3 to 3.75 s: {sent}");
    assert!((3600 / 22..=3600 / 15).contains(&counters.initiations), "{}", counters.initiations);
    world.weather.loss = 0.0;
    world.run(secs(7), None);
    assert!(world.is_open());
    assert_eq!(world.ends[0].events.iter().filter(|e| **e == SecureEvent::Reachable { peer: FIRST }).count(), 1);
    assert_eq!(unreachable(&world), 1);
}

#[test]
fn a_peer_that_is_heard_is_not_unreachable() {
    // An outage of 4.5 s, in which a handshake begins. Afterwards the peer's datagrams arrive, but this end's
    // initiations are lost for another 10 s.
    let mut world = World::pair(Seed::new(40), &SecureConfig::default(), Weather::calm());
    world.connect(0);
    world.run(secs(1), Some(ms(20)));
    world.weather.loss = 1.0;
    world.connect(0);
    world.run(ms(4500), Some(ms(20)));
    world.weather.loss = 0.0;
    let there = world.ends[1].address;
    world.ends[1].address = address(55);
    for _ in 0..50 {
        world.seal(1, FIRST, None).unwrap();
        world.run(ms(200), None);
    }
    let counters = world.ends[0].peers.counters();
    assert!(counters.initiations_repeated > 5, "the handshake must still be under way");
    assert!(!world.ends[0].events.iter().any(|e| matches!(e, SecureEvent::Unreachable { .. })));
    world.ends[1].address = there;
    world.run(secs(5), Some(ms(20)));
    assert!(world.is_open());
}

#[test]
fn retries_quickly_at_first() {
    let mut world = World::pair(Seed::new(11), &SecureConfig::default(), Weather { loss: 1.0, ..Weather::calm() });
    world.connect(0);
    let sent = |world: &World| {
        let counters = world.ends[0].peers.counters();
        counters.initiations + counters.initiations_repeated
    };
    for (at, least, most) in [(249, 1, 1), (313, 2, 2), (624, 2, 2), (782, 3, 3), (1186, 3, 3), (1485, 4, 4)] {
        world.run(ms(at) - world.now.since(Time::ZERO), None);
        assert!((least..=most).contains(&sent(&world)), "at {at} ms: {}", sent(&world));
    }
}

#[test]
fn a_long_path_needs_one_handshake() {
    // The response takes 1.2 s, and the initiation was repeated meanwhile. All repetitions are identical, so the
    // response is valid.
    let weather = Weather { delay: (ms(600), ms(600)), ..Weather::calm() };
    let mut world = World::pair(Seed::new(12), &SecureConfig::default(), weather);
    world.connect(0);
    world.run(ms(1201), None);
    assert_eq!(world.ends[0].peers.counters().established, 1);
    world.run(secs(10), Some(ms(100)));
    let (a, b) = (world.ends[0].peers.counters(), world.ends[1].peers.counters());
    assert_eq!((a.initiations, b.responses, a.established, b.established), (1, 1, 1, 1));
    assert!(a.initiations_repeated >= 2 && b.responses_repeated >= 1);
}

#[test]
fn clocks_may_jump_ahead() {
    // A machine wakes up from sleep: its clock jumps, and its keys have expired. The other end's keys have not expired.
    for sleeper in [0, 1] {
        let mut world = World::pair(Seed::new(13), &SecureConfig::default(), Weather::calm());
        world.connect(0);
        world.run(secs(5), Some(ms(50)));
        world.ends[sleeper].clock_ahead += secs(1_000_000);
        world.run(secs(1), Some(ms(50)));
        assert!(world.is_open());
        world.settle();
        world.run(secs(5), Some(ms(50)));
        world.run(secs(1), None);
        assert_eq!(world.unopened(), 0);
        assert!(world.ends.iter().all(|end| end.peers.counters().epochs == 1));
    }
}

#[test]
fn idle_sessions_expire_and_come_back() {
    let mut world = World::pair(Seed::new(14), &SecureConfig::default(), Weather::calm());
    world.connect(0);
    world.run(secs(1), Some(ms(100)));
    world.run(secs(200), None);
    assert!(!world.is_open());
    assert!(world.ends.iter().all(|end| end.peers.poll_timeout().is_none()), "nothing to do while idle");
    assert_eq!(world.seal(1, FIRST, None), Err(SealError::NoSession), "nothing can be sealed, but a handshake starts");
    world.drain_all();
    world.run(ms(100), None);
    assert!(world.is_open());
    assert!(world.seal(0, FIRST, None).unwrap() > 5, "numbers must continue");
    world.run(ms(100), None);
}

#[test]
fn peers_can_be_removed() {
    let mut world = World::pair(Seed::new(15), &SecureConfig::default(), Weather::calm());
    world.connect(0);
    world.run(secs(1), Some(ms(10)));
    let key = private(Seed::new(15), 1).public();
    let peers = &mut world.ends[0].peers;
    assert_eq!(peers.add(key, None), None, "the peer is known already");
    assert_eq!(peers.add(peers.public(), None), None, "an end's own key is refused");
    assert!(peers.remove(FIRST) && !peers.remove(FIRST));
    assert_eq!((peers.find(&key), peers.poll_timeout()), (None, None));
    let again = peers.add(key, Some(address(1))).unwrap();
    assert_ne!(again, FIRST, "identifiers are not reused");
    let now = world.now;
    assert!(world.ends[0].peers.connect(now, again));
    world.run(ms(100), None);
    assert_eq!(world.ends[0].peers.epoch(world.now, again), Some(1));
    assert_eq!(world.ends[1].peers.counters().epochs, 2, "for the other end, this end has restarted");
}

#[test]
fn silence_is_four_round_trips_or_a_second() {
    assert_eq!(silence_limit(ms(100)), secs(1));
    assert_eq!(silence_limit(ms(600)), ms(2400));
    assert_eq!(silence_limit(Duration::MAX), Duration::MAX);
}
