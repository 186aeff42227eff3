//! Tests with forged messages whose MACs are right. The tests need the private functions of this
//! module. The forger knows all public keys, but no private key.

use super::key::{PrivateKey, PublicKey};
use super::mac::{COOKIE_LIFE, CookieJar, MacKeys, mac1_of};
use super::{Incoming, PeerId, Peers, Rejected, SecureConfig, Suite};
use crate::wire::handshake::{CookieReply, Initiation};
use crate::wire::{HEADER_LEN, Kind, TAG_LEN};
use ripstop_base::{Seed, Time};
use std::net::SocketAddr;
use std::time::Duration;

const A: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);
const B: SocketAddr = SocketAddr::new(std::net::IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), 2);
const PEER: PeerId = PeerId(0);

/// Two ends, and the initiation that the first end has sent.
fn ends(config: &SecureConfig) -> (Peers, Peers, Vec<u8>) {
    let end = |name: &str| {
        let key = PrivateKey::generate(&mut Seed::new(1).stream(name));
        Peers::new(key, config.clone(), Box::new(Seed::new(2).stream(name)))
    };
    let (mut a, mut b) = (end("a"), end("b"));
    a.add(b.public(), Some(B));
    b.add(a.public(), None);
    assert!(a.connect(Time::ZERO, PEER));
    assert!(!b.connect(Time::ZERO, PEER), "without the peer's address no handshake can start");
    let initiation = a.poll_transmit().unwrap().contents;
    (a, b, initiation)
}

/// A copy of `message` with one bit of byte `at` changed, and with a mac1 that is right for
/// `receiver`.
fn forged(message: &[u8], at: usize, receiver: PublicKey) -> Vec<u8> {
    let mut forged = message.to_vec();
    forged[at] ^= 1;
    MacKeys::of(&receiver).sign(&mut forged, None);
    forged
}

fn open(now: Time, config: &SecureConfig) -> (Peers, Peers) {
    let (mut a, mut b, mut initiation) = ends(config);
    b.handle_datagram(now, A, &mut initiation);
    let mut response = b.poll_transmit().unwrap().contents;
    a.handle_datagram(now, B, &mut response);
    let mut first = sealed(&mut a, now, 0);
    assert!(matches!(b.handle_datagram(now, A, &mut first), Incoming::Transport { number: 0, .. }));
    (a, b)
}

fn sealed(end: &mut Peers, now: Time, number: u64) -> Vec<u8> {
    let mut datagram = vec![0; HEADER_LEN + TAG_LEN];
    end.seal(now, PEER, 1, number, Kind::Probe, &mut datagram).unwrap();
    datagram
}

#[test]
fn forged_messages_do_not_end_a_handshake() {
    let config = SecureConfig { handshakes_per_second: 1000, ..SecureConfig::default() };
    let (mut a, mut b, mut initiation) = ends(&config);
    for at in 8..initiation.len() - 32 {
        let mut forged = forged(&initiation, at, b.public());
        let incoming = b.handle_datagram(Time::ZERO, A, &mut forged);
        assert_eq!(incoming, Incoming::Rejected(Rejected::HandshakeForged), "byte {at}");
        assert_eq!(b.poll_transmit(), None);
    }
    let mut other_suite = forged(&initiation, 1, b.public());
    assert_eq!(other_suite[1] ^ 1, Suite::preferred() as u8);
    let incoming = b.handle_datagram(Time::ZERO, A, &mut other_suite);
    assert!(matches!(incoming, Incoming::Rejected(Rejected::Suite(_) | Rejected::HandshakeForged)));
    other_suite[1] = 9;
    MacKeys::of(&b.public()).sign(&mut other_suite, None);
    let incoming = b.handle_datagram(Time::ZERO, A, &mut other_suite);
    assert_eq!(incoming, Incoming::Rejected(Rejected::Suite(9)));
    assert!(matches!(b.handle_datagram(Time::ZERO, A, &mut initiation), Incoming::Handshake { .. }));
    let mut response = b.poll_transmit().unwrap().contents;
    for at in 12..response.len() - 32 {
        let mut forged = forged(&response, at, a.public());
        let incoming = a.handle_datagram(Time::ZERO, B, &mut forged);
        assert_eq!(incoming, Incoming::Rejected(Rejected::HandshakeForged), "byte {at}");
    }
    let mut unknown = forged(&response, 8, a.public());
    let incoming = a.handle_datagram(Time::ZERO, B, &mut unknown);
    assert_eq!(incoming, Incoming::Rejected(Rejected::Unsolicited));
    assert!(matches!(a.handle_datagram(Time::ZERO, B, &mut response), Incoming::Handshake { .. }));
    assert_eq!(a.epoch(Time::ZERO, PEER), Some(1));
}

#[test]
fn too_many_forgeries_are_met_with_cookies() {
    let config = SecureConfig { handshakes_per_second: 3, ..SecureConfig::default() };
    let (_, mut b, initiation) = ends(&config);
    let verdicts: Vec<_> =
        (8..40).map(|at| b.handle_datagram(Time::ZERO, A, &mut forged(&initiation, at, b.public()))).collect();
    assert!(verdicts[..3].iter().all(|v| *v == Incoming::Rejected(Rejected::HandshakeForged)));
    assert!(verdicts[3..].iter().all(|v| *v == Incoming::Rejected(Rejected::CookieDemanded)));
    assert_eq!(b.counters().cookies_given, 29);
}

/// `message` with a valid cookie of `end` for the address `from`.
fn with_cookie(end: &mut Peers, message: &[u8], from: SocketAddr) -> Vec<u8> {
    let (shared, mut message) = (&mut end.shared, message.to_vec());
    let entropy = &mut *shared.entropy;
    let reply = shared.jar.reply(Time::ZERO, &shared.identity.macs, &message, 1, from, entropy).unwrap();
    let macs = MacKeys::of(&shared.identity.public);
    let cookie = macs.open_cookie(&reply, &mac1_of(&message)).unwrap();
    macs.sign(&mut message, Some(&cookie));
    message
}

/// Strangers have cookies for very many addresses. This end computes curve multiplications for a limited number of
/// messages, and a peer with a known address still connects.
#[test]
fn strangers_with_cookies_cause_limited_work() {
    let (a, mut b, initiation) = ends(&SecureConfig::default());
    let known = SocketAddr::from(([192, 0, 2, 1], 1));
    let stranger = forged(&initiation, 50, b.public());
    let six = |net: u16, n: u16| SocketAddr::from(([0x2001, 0xdb8, net, n, 0, 0, 0, 1], 1));
    let one = (0..20_000).map(|n| six(0, n));
    let many = (0..20_000).map(|n| six(n, 0));
    for (from, most) in [(one.collect::<Vec<_>>(), 200), (many.collect(), 1_100)] {
        for from in from {
            let mut message = with_cookie(&mut b, &stranger, from);
            b.handle_datagram(Time::ZERO, from, &mut message);
        }
        let worked = b.counters().datagrams.rejected[Rejected::HandshakeForged.index()];
        assert!(worked > most / 2 && worked <= most, "{worked} messages were processed");
    }
    let elsewhere = SocketAddr::from(([198, 51, 100, 1], 1));
    let mut message = with_cookie(&mut b, &initiation, elsewhere);
    assert_eq!(b.handle_datagram(Time::ZERO, elsewhere, &mut message), Incoming::Rejected(Rejected::AddressLimit));
    let peer = b.find(&a.public()).unwrap();
    b.set_endpoint(peer, known);
    let mut message = with_cookie(&mut b, &initiation, known);
    assert_eq!(b.handle_datagram(Time::ZERO, known, &mut message), Incoming::Handshake { peer });
}

#[test]
fn a_forged_cookie_is_refused() {
    let (mut a, b, initiation) = ends(&SecureConfig::default());
    let sender = Initiation::parse(&initiation).unwrap().sender;
    let reply = CookieReply { receiver: sender, nonce: [1; 24], sealed: [2; 32] };
    let incoming = a.handle_datagram(Time::ZERO, B, &mut reply.to_bytes());
    assert_eq!(incoming, Incoming::Rejected(Rejected::HandshakeForged));
    // This cookie reply is valid, but answers another message.
    let mut entropy = Seed::new(3).stream("jar");
    let other = forged(&initiation, 20, b.public());
    let mut jar = CookieJar::new(&mut entropy);
    let keys = MacKeys::of(&b.public());
    let reply = jar.reply(Time::ZERO, &keys, &other, sender, A, &mut entropy).unwrap();
    let incoming = a.handle_datagram(Time::ZERO, B, &mut reply.to_bytes());
    assert_eq!(incoming, Incoming::Rejected(Rejected::HandshakeForged));
    assert_eq!(a.poll_transmit(), None);
    let reply = jar.reply(Time::ZERO, &keys, &initiation, sender, A, &mut entropy).unwrap();
    let incoming = a.handle_datagram(Time::ZERO, B, &mut reply.to_bytes());
    assert_eq!(incoming, Incoming::Handshake { peer: PEER });
    // The first cookie makes the end repeat the initiation immediately. Further cookies have no
    // such effect: a flood of cookies causes no flood of initiations.
    let again = a.poll_transmit().unwrap().contents;
    assert!(jar.verify_mac2(Time::ZERO, &again, A, &mut entropy));
    a.handle_datagram(Time::ZERO, B, &mut reply.to_bytes());
    assert_eq!(a.poll_transmit(), None);
}

#[test]
fn a_cookie_is_good_for_one_address_and_two_lives_of_its_secret() {
    let mut entropy = Seed::new(4).stream("jar");
    let key = PrivateKey::generate(&mut entropy).public();
    let keys = MacKeys::of(&key);
    let mut jar = CookieJar::new(&mut entropy);
    let mut message = vec![7; 100];
    keys.sign(&mut message, None);
    assert!(keys.verify_mac1(&message));
    assert!(!jar.verify_mac2(Time::ZERO, &message, A, &mut entropy), "without a cookie, mac2 must not verify");
    let reply = jar.reply(Time::ZERO, &keys, &message, 5, A, &mut entropy).unwrap();
    let cookie = keys.open_cookie(&reply, &mac1_of(&message)).unwrap();
    assert_eq!(keys.open_cookie(&reply, &[0; 16]), None);
    keys.sign(&mut message, Some(&cookie));
    let mut good = |at: Time, from| jar.verify_mac2(at, &message, from, &mut entropy);
    let minute = |n: u64| Time::ZERO + Duration::from_secs(60 * n);
    assert!(good(Time::ZERO, A) && !good(Time::ZERO, B));
    assert!(!good(Time::ZERO, SocketAddr::new(A.ip(), 3)), "another port is another address");
    assert!(good(Time::ZERO + COOKIE_LIFE, A), "a cookie made with the previous secret must still verify");
    assert!(good(minute(3), A) && !good(minute(4), A));
    for short in 0..32 {
        assert!(!keys.verify_mac1(&message[..short]) && mac1_of(&message[..short]) == [0; 16]);
    }
}

#[test]
fn late_datagrams_are_told_by_reason() {
    let config = SecureConfig::default();
    let (mut a, mut b) = open(Time::ZERO, &config);
    let (late, next) = (sealed(&mut a, Time::ZERO, 1), sealed(&mut a, Time::ZERO, 2));
    let far = sealed(&mut a, Time::ZERO, 100_000);
    let mut verdict = |now, datagram: &[u8]| b.handle_datagram(now, A, &mut datagram.to_vec());
    assert!(matches!(verdict(Time::ZERO, &late), Incoming::Transport { .. }));
    assert_eq!(verdict(Time::ZERO, &late), Incoming::Rejected(Rejected::Replayed(1)));
    assert!(matches!(verdict(Time::ZERO, &far), Incoming::Transport { .. }));
    assert_eq!(verdict(Time::ZERO, &next), Incoming::Rejected(Rejected::TooOld(2)));
    let end = Time::ZERO + config.reject_after;
    let last = sealed(&mut a, end - Duration::from_nanos(1), 100_001);
    assert_eq!(verdict(end, &last), Incoming::Rejected(Rejected::Expired));
    b.handle_timeout(end);
    let incoming = b.handle_datagram(end, A, &mut last.clone());
    assert_eq!(incoming, Incoming::Rejected(Rejected::NoSession), "the expired key must be dropped");
}

#[test]
fn a_peer_that_names_ever_larger_stamps_fills_no_memory() {
    let config = SecureConfig {
        handshakes_per_second: 10_000,
        handshakes_saved: 1_000,
        replies_per_prefix: 10_000,
        ..SecureConfig::default()
    };
    let (mut a, mut b, mut initiation) = ends(&config);
    for n in 0..200 {
        // The peer acts as if it had received a larger stamp.
        b.peers[0].as_mut().unwrap().answered.newest += 1 << 40;
        b.handle_datagram(Time::ZERO, A, &mut initiation);
        let mut response = b.poll_transmit().unwrap().contents;
        a.handle_datagram(Time::ZERO, B, &mut response);
        initiation = a.poll_transmit().unwrap().contents;
        assert!(a.peers[0].as_ref().unwrap().calls.attempts.len() <= 8, "after {n} stamps");
    }
    assert_eq!(a.counters().stamps_corrected, 200);
}

/// A peer that names ever larger stamps causes few handshakes of this end.
#[test]
fn handshakes_that_a_peer_causes_are_limited() {
    let (mut a, mut b, mut initiation) = ends(&SecureConfig::default());
    let mut caused = 0;
    for ms in 0..10_000 {
        let now = Time::from_millis(ms);
        b.peers[0].as_mut().unwrap().answered.newest += 1 << 40;
        b.handle_datagram(now, A, &mut initiation);
        while let Some(mut response) = b.poll_transmit() {
            a.handle_datagram(now, B, &mut response.contents);
        }
        a.handle_timeout(now);
        while let Some(sent) = a.poll_transmit() {
            initiation = sent.contents;
            caused += 1;
        }
    }
    // 10 were saved up, and one is earned each second. Repetitions cost no curve multiplication.
    let counters = a.counters();
    assert!((10..=21).contains(&counters.initiations), "{counters:?}");
    assert!(caused > 10 && counters.stamps_corrected <= counters.initiations, "{caused} {counters:?}");
}

/// A peer that restarts ten times in a row connects at once each time. Then the keys of a new session are used when the
/// handshake is earned, with the next datagram, and no initiation is needed for this.
#[test]
fn sessions_that_a_peer_begins_are_limited_and_late_but_not_lost() {
    let unlimited = SecureConfig { handshakes_saved: 1_000, ..SecureConfig::default() };
    let (mut a, _, _) = ends(&unlimited);
    let (_, mut b, _) = ends(&SecureConfig::default());
    let mut begun = |now: Time, numbers: std::ops::Range<u64>| -> Option<u64> {
        a.forget(PEER);
        a.connect(now, PEER);
        let mut initiation = a.poll_transmit().unwrap().contents;
        b.handle_datagram(now, A, &mut initiation);
        let mut response = b.poll_transmit().unwrap().contents;
        a.handle_datagram(now, B, &mut response);
        let epoch = a.epoch(now, PEER).unwrap();
        numbers.into_iter().find(|number| {
            let at = now + Duration::from_millis(100 * number);
            let mut datagram = vec![0; HEADER_LEN + TAG_LEN];
            a.seal(at, PEER, epoch, *number, Kind::Probe, &mut datagram).unwrap();
            let incoming = b.handle_datagram(at, A, &mut datagram);
            assert!(!matches!(incoming, Incoming::Rejected(reason) if reason != Rejected::PeerLimit), "{incoming:?}");
            matches!(incoming, Incoming::Transport { .. })
        })
    };
    for restart in 0..10 {
        assert_eq!(begun(Time::from_millis(10 * restart), 0..1), Some(0), "restart {restart}");
    }
    let late = begun(Time::from_millis(200), 0..20);
    assert!(late.is_some_and(|number| (7..=9).contains(&number)), "{late:?}");
    assert_eq!(begun(Time::from_millis(5_000), 0..1), Some(0));
    assert!(b.counters().datagrams.rejected[Rejected::PeerLimit.index()] >= 7);
}

#[test]
fn reasons_have_one_name_each() {
    let mut names = Rejected::NAMES.to_vec();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Rejected::NAMES.len());
    assert_eq!(Rejected::PeerLimit.index(), names.len() - 1);
    assert_eq!(Rejected::NAMES[Rejected::TooOld(1).index()], "too_old");
}
