//! Senders that are not peers get no answer, or a cookie.

use super::world::*;
use proptest::prelude::*;
use ripstop_base::Seed;
use ripstop_proto::secure::*;
use ripstop_proto::wire::handshake::{COOKIE_REPLY_LEN, INITIATION_LEN, RESPONSE_LEN, VERSION};
use std::net::SocketAddr;
use std::time::Duration;

fn open_pair(seed: u64, config: &SecureConfig) -> World {
    let mut world = World::pair(Seed::new(seed), config, Weather::calm());
    world.record = Some(Vec::new());
    world.connect(0);
    world.run(secs(1), Some(ms(20)));
    world.run(ms(100), None);
    assert!(world.is_open());
    world
}

/// Hands a datagram to end 1 and returns the verdict and the answers.
fn throw(world: &mut World, from: u16, bytes: &[u8]) -> (Incoming, Vec<SecureTransmit>) {
    let now = world.now + world.ends[1].clock_ahead;
    let mut bytes = bytes.to_vec();
    let incoming = world.ends[1].peers.handle_datagram(now, address(from), &mut bytes);
    let answers = std::iter::from_fn(|| world.ends[1].peers.poll_transmit()).collect();
    (incoming, answers)
}

#[test]
fn replays_are_refused_and_unanswered() {
    let mut world = open_pair(20, &SecureConfig::default());
    let all = world.record.take().unwrap();
    let opened = world.ends[1].peers.counters().datagrams.opened;
    for round in 0..3 {
        for flying in all.iter().filter(|flying| flying.to == address(1)) {
            let (incoming, answers) = throw(&mut world, 50 + round, &flying.bytes);
            assert!(matches!(incoming, Incoming::Rejected(_)), "{incoming:?}");
            assert_eq!(answers, []);
        }
    }
    assert_eq!(world.ends[1].peers.counters().datagrams.opened, opened);
    assert!(world.ends[1].rejected("replayed") > 100 && world.ends[1].rejected("handshake_replayed") == 3);
    assert_eq!(world.ends[1].peers.counters().stamps_named, 0);
    assert_eq!(world.ends[1].peers.endpoint(FIRST), Some(address(0)), "a replay must not change the peer's address");
}

/// Records `count` initiations of end 0, each of another life of end 0.
fn recorded_initiations(world: &mut World, seed: Seed, count: u64) -> Vec<Flying> {
    let mut recorded = Vec::new();
    for life in 1..=count {
        world.restart(seed, 0, &SecureConfig::default(), life);
        world.record = Some(Vec::new());
        world.connect(0);
        world.run(ms(100), None);
        recorded.extend(world.record.take().unwrap().into_iter().filter(|f| f.bytes.len() == INITIATION_LEN));
    }
    assert_eq!(recorded.len() as u64, count);
    recorded
}

#[test]
fn initiations_replayed_to_a_restarted_end_lead_nowhere() {
    let seed = Seed::new(21);
    let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
    let recorded = recorded_initiations(&mut world, seed, 20);
    world.restart(seed, 1, &SecureConfig::default(), 1);
    world.connect(0);
    world.run(ms(100), None);
    let (epoch, established) = (1, world.ends[1].peers.counters().established);
    // Replayed initiations are refused. Traffic and key renewal go on during the replays.
    world.settle();
    for n in 0..2000 {
        let flying = &recorded[n % 19];
        let (incoming, answers) = throw(&mut world, 60, &flying.bytes);
        assert_eq!(incoming, Incoming::Rejected(Rejected::HandshakeReplayed));
        assert!(answers.iter().all(|answer| answer.contents.len() < flying.bytes.len()));
        world.run(ms(100), Some(ms(50)));
    }
    world.run(secs(1), None);
    assert_eq!(world.unopened(), 0);
    assert!(world.ends[1].peers.counters().established > established, "keys were renewed");
    let now = world.now + world.ends[1].clock_ahead;
    assert_eq!(world.ends[1].peers.epoch(now, FIRST), Some(epoch));
    assert_eq!(world.ends[1].peers.endpoint(FIRST), Some(address(0)));
}

#[test]
fn replays_do_not_keep_a_peer_out() {
    // An attacker replays 70 recorded initiations, one every 20 ms, to a responder that has restarted, or that has been
    // idle until its keys have expired.
    for restarted in [true, false] {
        for order in 0..3 {
            let seed = Seed::new(30).run(order);
            let mut world =
                World::pair(seed, &SecureConfig::default(), Weather { delay: (ms(50), ms(50)), ..Weather::calm() });
            let mut recorded = recorded_initiations(&mut world, seed, 70);
            match order {
                0 => {}
                1 => recorded.reverse(),
                _ => recorded.sort_by_key(|flying| flying.bytes[8..16].to_vec()),
            }
            if restarted {
                world.restart(seed, 1, &SecureConfig::default(), 1);
            } else {
                world.run(secs(200), None);
            }
            world.restart(seed, 0, &SecureConfig::default(), 99);
            for n in 0..300 {
                // The attack begins before the peer's handshake.
                if n == 60 {
                    world.connect(0);
                }
                throw(&mut world, 60, &recorded[n % recorded.len()].bytes);
                world.run(ms(20), None);
            }
            let answered = world.ends[1].peers.counters().responses;
            println!("restarted: {restarted}, order {order}: {answered} responses");
            assert!(world.is_open());
            assert_eq!(world.ends[0].peers.counters().initiations, 1, "the first handshake must succeed");
            assert_eq!(world.ends[0].peers.counters().initiations_repeated, 0);
            assert_eq!(world.ends[1].peers.endpoint(FIRST), Some(address(0)));
            assert!(world.ends[1].rejected("handshake_replayed") > 0);
        }
    }
}

#[test]
fn a_wall_clock_that_went_back_costs_one_round_trip() {
    let seed = Seed::new(31);
    let at = |wall_clock| SecureConfig { wall_clock, ..SecureConfig::default() };
    let mut world = World::pair(seed, &at(secs(1_800_000_000)), Weather::calm());
    world.connect(0);
    world.run(secs(1), Some(ms(20)));
    for (life, wall_clock) in
        [(1, secs(0)), (2, secs(1_000_000)), (3, secs(1_900_000_000)), (4, Duration::MAX), (5, secs(0))]
    {
        world.restart(seed, 0, &at(wall_clock), life);
        world.connect(0);
        world.run(ms(110), None);
        assert!(world.is_open(), "life {life}");
        assert_eq!(world.ends[0].peers.counters().stamps_corrected, u64::from(life != 3 && life != 4), "life {life}");
        // A reboot of a machine without a battery-backed clock: the peer's clock is still right.
        world.run(secs(1), Some(ms(20)));
    }
    assert_eq!(world.ends[1].peers.counters().stamps_named, 3);
    assert_eq!(world.ends[1].rejected("handshake_replayed"), 3);
}

#[test]
fn wrong_keys_get_no_answer() {
    let seed = Seed::new(22);
    let stranger = |key: usize, knows: usize| {
        let mut peers = Peers::new(private(seed, key), SecureConfig::default(), Box::new(seed.stream("stranger")));
        let peer = peers.add(private(seed, knows).public(), Some(address(1))).unwrap();
        peers.connect(ripstop_base::Time::ZERO, peer);
        peers.poll_transmit().unwrap().contents
    };
    let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
    // The first sender is no peer, but knows this end's key. The second sender is a peer, but has another key in place
    // of this end's key.
    let (incoming, answers) = throw(&mut world, 9, &stranger(5, 1));
    assert_eq!(incoming, Incoming::Rejected(Rejected::UnknownPeer(private(seed, 5).public())));
    assert_eq!(answers, []);
    let (incoming, answers) = throw(&mut world, 0, &stranger(0, 6));
    assert_eq!(incoming, Incoming::Rejected(Rejected::Mac1));
    assert_eq!(answers, []);
    // A damaged message is refused at the latest by the check of mac1, which costs one hash.
    let good = stranger(0, 1);
    for at in 0..good.len() - 16 {
        let mut bad = good.clone();
        bad[at] ^= 0x20;
        let (incoming, answers) = throw(&mut world, 0, &bad);
        assert!(matches!(incoming, Incoming::Rejected(_)), "byte {at}: {incoming:?}");
        assert_eq!(answers, []);
    }
    let (incoming, answers) = throw(&mut world, 0, &good);
    assert!(matches!(incoming, Incoming::Handshake { .. }) && answers.len() == 1);
    assert_eq!(world.ends[1].rejected("unknown_peer"), 1);
}

#[test]
fn answers_to_nothing_are_refused() {
    let mut world = open_pair(23, &SecureConfig::default());
    let all = world.record.take().unwrap();
    let response = all.iter().find(|flying| flying.bytes.len() == RESPONSE_LEN).unwrap();
    let now = world.now;
    let incoming = world.ends[0].peers.handle_datagram(now, address(1), &mut response.bytes.clone());
    assert_eq!(incoming, Incoming::Rejected(Rejected::Unsolicited));
    let mut cookie = vec![0; COOKIE_REPLY_LEN];
    cookie[0] = 3;
    let incoming = world.ends[0].peers.handle_datagram(now, address(1), &mut cookie);
    assert_eq!(incoming, Incoming::Rejected(Rejected::Unsolicited));
    assert!(world.ends[0].peers.poll_transmit().is_none());
}

#[test]
fn under_load_a_cookie_is_demanded_and_lets_peers_in() {
    let config = SecureConfig {
        handshakes_per_second: 5,
        handshakes_per_address: 2,
        replies_per_prefix: 1000,
        ..SecureConfig::default()
    };
    let seed = Seed::new(25);
    let mut world = World::pair(seed, &config, Weather::calm());
    let flood = |world: &mut World, n: u64| {
        let entropy = seed.stream(&format!("flood/{n}"));
        let mut peers = Peers::new(private(seed, 7), SecureConfig::default(), Box::new(entropy));
        let peer = peers.add(private(seed, 1).public(), Some(address(1))).unwrap();
        peers.connect(world.now, peer);
        let initiation = peers.poll_transmit().unwrap().contents;
        throw(world, 100 + (n % 50) as u16, &initiation)
    };
    for n in 0..100 {
        let (incoming, answers) = flood(&mut world, n);
        if n < 5 {
            assert!(matches!(incoming, Incoming::Rejected(Rejected::UnknownPeer(_))));
            assert_eq!(answers, []);
        } else {
            assert_eq!(incoming, Incoming::Rejected(Rejected::CookieDemanded));
            assert_eq!(answers.len(), 1);
            assert_eq!(answers[0].contents.len(), COOKIE_REPLY_LEN);
        }
    }
    // During the flood a real peer still connects, one round trip later.
    world.connect(0);
    for n in 100..200 {
        flood(&mut world, n);
        world.run(ms(2), None);
    }
    assert!(world.is_open());
    let (peer, guarded) = (world.ends[0].peers.counters(), world.ends[1].peers.counters());
    assert_eq!((peer.cookies_received, peer.established, guarded.established), (1, 1, 1));
    assert!(guarded.cookies_given > 150);
    // A cookie is valid for 120 s: the next handshake within that time needs no extra round trip.
    for (wait, cookies) in [(60, 1), (200, 2)] {
        world.run(secs(wait), None);
        (1000..1020).for_each(|n| {
            flood(&mut world, n);
        });
        let before = world.ends[0].peers.counters().established;
        world.connect(0);
        world.run(ms(200), None);
        assert_eq!(world.ends[0].peers.counters().established, before + 1);
        assert_eq!(world.ends[0].peers.counters().cookies_received, cookies);
    }
    // Even with a cookie, one address may start only a limited number of handshakes per second.
    (2000..2020).for_each(|n| {
        flood(&mut world, n);
    });
    for life in 1..9 {
        world.restart(seed, 0, &config, life);
        world.connect(0);
        world.run(ms(60), None);
        (3000 + 20 * life..3020 + 20 * life).for_each(|n| {
            flood(&mut world, n);
        });
    }
    assert!(world.ends[1].rejected("address_limit") > 0);
}

/// Forged initiations with a right mac1 come from 4300 networks at the start of each second, and then one each millisecond.
/// A new peer connects at any time within the second.
#[test]
fn forged_networks_do_not_keep_a_new_peer_waiting() {
    for at in [5, 100, 400, 700, 950] {
        let seed = Seed::new(33);
        let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
        let mut stranger = Peers::new(private(seed, 7), SecureConfig::default(), Box::new(seed.stream("flood")));
        let target = stranger.add(private(seed, 1).public(), Some(address(1))).unwrap();
        stranger.connect(world.now, target);
        let initiation = stranger.poll_transmit().unwrap().contents;
        let (mut opened, mut n) = (None, 0u32);
        let ahead = world.ends[1].clock_ahead;
        for step in 0..3_000u64 {
            let there = world.now + ahead;
            let begins = there.as_nanos() / 1_000_000_000 != (there - ms(1)).as_nanos() / 1_000_000_000;
            for _ in 0..if begins { 4_300 } else { 1 } {
                n += 1;
                let [.., high, low] = (n % 4_300).to_be_bytes();
                let from = SocketAddr::from(([20, high, low, 1], 9));
                world.ends[1].peers.handle_datagram(there, from, &mut initiation.clone());
                while world.ends[1].peers.poll_transmit().is_some() {}
            }
            if step == 1_000 + at {
                world.connect(0);
            }
            world.run(ms(1), None);
            if world.is_open() {
                opened = opened.or(Some(step));
            }
        }
        let waited = opened.map(|step| step - 1_000 - at);
        assert!(waited.is_some_and(|ms| ms < 500), "{at} ms: {waited:?}");
        assert!(world.ends[1].peers.counters().cookies_given > 4_000);
    }
}

#[test]
fn a_flood_grows_no_queue_while_nothing_can_be_sent() {
    // Each initiation of the flood has a right mac1 and another source address. The socket is blocked, so no answer is
    // taken. Meanwhile a peer connects, and its response is sent first when the socket is free again.
    let seed = Seed::new(32);
    let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
    let entropy = seed.stream("flood");
    let mut stranger = Peers::new(private(seed, 7), SecureConfig::default(), Box::new(entropy));
    let target = stranger.add(private(seed, 1).public(), Some(address(1))).unwrap();
    stranger.connect(world.now, target);
    let initiation = stranger.poll_transmit().unwrap().contents;
    let flood = |world: &mut World, n: u64| {
        let from = SocketAddr::from(([172, 16 + (n >> 16) as u8, (n >> 8) as u8, n as u8], 9));
        let now = world.now + Duration::from_micros(11 * n) + world.ends[1].clock_ahead;
        world.ends[1].peers.handle_datagram(now, from, &mut initiation.clone())
    };
    (0..50_000).for_each(|n| {
        let reason = flood(&mut world, n);
        let refused = [Rejected::UnknownPeer(private(seed, 7).public()), Rejected::CookieDemanded];
        assert!(refused.map(Incoming::Rejected).contains(&reason), "{reason:?}");
    });
    world.now += secs(2);
    let now = world.now;
    world.ends[0].peers.connect(now, FIRST);
    let mut genuine = world.ends[0].peers.poll_transmit().unwrap().contents;
    let there = now + world.ends[1].clock_ahead;
    assert_eq!(
        world.ends[1].peers.handle_datagram(there, address(0), &mut genuine),
        Incoming::Handshake { peer: FIRST }
    );
    (50_000..100_000).for_each(|n| {
        flood(&mut world, n);
    });
    let answers: Vec<_> = std::iter::from_fn(|| world.ends[1].peers.poll_transmit()).collect();
    assert!((100..300).contains(&answers.len()), "{}", answers.len());
    assert_eq!((answers[0].to, answers[0].contents.len()), (address(0), RESPONSE_LEN));
    let counters = world.ends[1].peers.counters();
    println!(
        "{} limited, {} dropped, {} given",
        counters.replies_limited, counters.replies_dropped, counters.cookies_given
    );
    // An answer for which the queue has no room uses up no limit.
    assert!(counters.replies_limited + counters.replies_dropped > 99_000 && counters.replies_dropped > 90_000);
    assert_eq!(counters.cookies_given as usize, answers.len() - 1);
    assert_eq!(counters.cookies_given, answers.len() as u64 - 1);
}

#[test]
fn initiations_do_not_pile_up_while_nothing_can_be_sent() {
    let mut world = World::pair(Seed::new(33), &SecureConfig::default(), Weather::calm());
    let now = world.now;
    world.ends[0].peers.connect(now, FIRST);
    for _ in 0..1000 {
        let at = world.ends[0].peers.poll_timeout().unwrap();
        world.ends[0].peers.handle_timeout(at);
    }
    let counters = world.ends[0].peers.counters();
    assert!(counters.initiations + counters.initiations_repeated > 1000);
    assert_eq!(std::iter::from_fn(|| world.ends[0].peers.poll_transmit()).count(), 1);
}

#[test]
fn a_preshared_key_must_be_the_same() {
    let key = |n: u8| Some(PresharedKey::from_bytes([n; 32]));
    for suite in [Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
        let config = SecureConfig { suite, ..SecureConfig::default() };
        for (ours, theirs, mismatch) in [
            (1, 1, None),
            (1, 2, Some((0, PresharedMismatch::Differ))),
            (0, 1, Some((1, PresharedMismatch::OnlyThisEnd))),
            (1, 0, Some((1, PresharedMismatch::OnlyPeer))),
        ] {
            let mut world = World::pair(Seed::new(34), &config, Weather::calm());
            for (end, n) in [(0, ours), (1, theirs)] {
                assert!(world.ends[end].peers.set_preshared(FIRST, key(n).filter(|_| n > 0)));
            }
            world.connect(0);
            world.run(secs(20), Some(ms(100)));
            assert_eq!(world.is_open(), mismatch.is_none());
            if let Some((end, mismatch)) = mismatch {
                let event = SecureEvent::PresharedMismatch { peer: FIRST, mismatch, from: address(1 - end as u16) };
                assert_eq!(world.ends[end].events.iter().filter(|e| **e == event).count(), 1, "{mismatch:?}");
                assert!(world.ends[end].peers.counters().preshared_mismatches > 1);
                // The keys are corrected.
                for end in 0..2 {
                    world.ends[end].peers.set_preshared(FIRST, key(9));
                }
                world.run(secs(20), Some(ms(100)));
                assert!(world.is_open());
            }
        }
    }
}

#[test]
fn an_initiator_under_load_demands_a_cookie_too() {
    let busy = SecureConfig { handshakes_per_second: 0, ..SecureConfig::default() };
    let seed = Seed::new(26);
    let mut world = World::pair(seed, &SecureConfig::default(), Weather::calm());
    world.restart(seed, 0, &busy, 1);
    world.connect(0);
    world.run(secs(2), None);
    assert!(world.is_open());
    assert_eq!(world.ends[1].peers.counters().cookies_received, 1);
    assert!(world.ends[1].peers.counters().responses_repeated >= 1);
}

#[test]
fn wrong_suites_and_versions_are_named() {
    let mut world = open_pair(27, &SecureConfig::default());
    let all = world.record.take().unwrap();
    let initiation = &all.iter().find(|flying| flying.bytes.len() == INITIATION_LEN).unwrap().bytes;
    let mut bad = initiation.clone();
    bad[2] = VERSION + 1;
    let (incoming, _) = throw(&mut world, 0, &bad);
    let Incoming::Rejected(reason) = incoming else { panic!("{incoming:?}") };
    assert!(reason.to_string().contains("`version`"), "{reason}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_bytes_get_no_answer(datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 1..50), kinds in prop::collection::vec(0u8..0x18, 50)) {
        let mut world = open_pair(28, &SecureConfig::default());
        for (mut bytes, kind) in datagrams.into_iter().zip(kinds) {
            if let Some(first) = bytes.first_mut() {
                *first = kind;
            }
            if kind < 4 {
                bytes.resize([0, INITIATION_LEN, RESPONSE_LEN, COOKIE_REPLY_LEN][usize::from(kind)], 1);
            }
            let (incoming, answers) = throw(&mut world, 3, &bytes);
            prop_assert!(matches!(incoming, Incoming::Rejected(_)));
            prop_assert_eq!(answers, vec![]);
        }
        prop_assert!(world.is_open());
    }

    #[test]
    fn mutated_datagrams_get_no_answer(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 1u8..), 1..200)) {
        let mut world = open_pair(29, &SecureConfig::default());
        let all: Vec<_> = world.record.take().unwrap().into_iter().filter(|f| f.to == address(1)).collect();
        for (which, at, change) in changes {
            let mut bytes = all[which.index(all.len())].bytes.clone();
            let at = at.index(bytes.len());
            bytes[at] ^= change;
            let (incoming, answers) = throw(&mut world, 3, &bytes);
            prop_assert!(matches!(incoming, Incoming::Rejected(_)), "{:?}", incoming);
            prop_assert_eq!(answers, vec![]);
        }
    }
}
