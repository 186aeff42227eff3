//! Datagrams to an end that has an open session with one peer, and a handshake in progress with another. The end must
//! not panic, and must not answer a datagram that does not authenticate.
//!
//! The input is a list of changes. Two bytes precede each change. The first byte selects the genuine datagram to which
//! the change is applied; without such a datagram, the change itself is the datagram. The second byte is the length of
//! the change.

use ripstop_base::{Seed, Time};
use ripstop_proto::secure::{Incoming, PeerId, Peers, PrivateKey, PublicKey, Rejected, SecureConfig};
use ripstop_proto::wire::{HEADER_LEN, Kind, TAG_LEN};
use std::net::SocketAddr;
use std::sync::OnceLock;

/// The reasons for which a rejected datagram gets an answer.
const ANSWERED: [Rejected; 2] = [Rejected::CookieDemanded, Rejected::HandshakeReplayed];

/// Checks one input.
pub(crate) fn run(data: &[u8]) {
    let (mut end, genuine) = end();
    let mut data = data;
    let mut now = Time::ZERO;
    while let Some((&[choice, len], rest)) = data.split_first_chunk::<2>() {
        let (change, rest) = rest.split_at(usize::from(len).min(rest.len()));
        data = rest;
        let base = genuine.get(usize::from(choice)).map_or(&[][..], |datagram| datagram);
        let mut datagram = base.to_vec();
        datagram.resize(datagram.len().max(change.len()), 0);
        datagram.iter_mut().zip(change).for_each(|(byte, change)| *byte ^= change);
        let untouched = genuine.contains(&datagram);
        now += std::time::Duration::from_millis(u64::from(choice));
        end.handle_timeout(now);
        while end.poll_transmit().is_some() {}
        let incoming = end.handle_datagram(now, SocketAddr::from(([10, 0, 0, 1], 7)), &mut datagram);
        // Transport datagrams here are shorter than handshake messages. A changed transport datagram is never accepted.
        // A rejected datagram gets no answer, except a cookie if the end is under load, and the stamp to exceed if an
        // authentic initiation is old.
        assert!(untouched || datagram.len() > 100 || matches!(incoming, Incoming::Rejected(_)));
        if matches!(incoming, Incoming::Rejected(reason) if !ANSWERED.contains(&reason)) {
            assert!(end.poll_transmit().is_none());
        }
        while end.poll_event().is_some() {}
    }
}

/// What the two peers send. It is the same for each input, so it is made once.
struct Setup {
    /// The peers' public keys.
    peers: [PublicKey; 2],
    /// The messages of the first peer that open the session.
    opening: [Vec<u8>; 2],
    /// Further genuine datagrams to the end.
    genuine: Vec<Vec<u8>>,
}

fn address(n: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, n], 1))
}

fn peers(name: &str) -> Peers {
    let mut entropy = Seed::new(1).stream(name);
    Peers::new(PrivateKey::generate(&mut entropy), SecureConfig::default(), Box::new(entropy))
}

/// An end that has a session with one peer and a handshake with another, and genuine datagrams to this end.
fn end() -> (Peers, &'static [Vec<u8>]) {
    static SETUP: OnceLock<Setup> = OnceLock::new();
    let setup = SETUP.get_or_init(Setup::make);
    let mut end = peers("a");
    end.add(setup.peers[0], Some(address(2)));
    let other = end.add(setup.peers[1], Some(address(3))).expect("another peer");
    for message in &setup.opening {
        end.handle_datagram(Time::ZERO, address(2), &mut message.clone());
        while end.poll_transmit().is_some() {}
    }
    end.connect(Time::ZERO, other);
    while end.poll_transmit().is_some() {}
    (end, &setup.genuine)
}

impl Setup {
    fn make() -> Setup {
        let (mut a, mut b, mut c) = (peers("a"), peers("b"), peers("c"));
        let first = PeerId::from_index(0);
        a.add(b.public(), Some(address(2)));
        let other = a.add(c.public(), Some(address(3))).expect("another peer");
        b.add(a.public(), Some(address(1)));
        c.add(a.public(), Some(address(1)));
        b.connect(Time::ZERO, first);
        let initiation = b.poll_transmit().expect("an initiation").contents.to_vec();
        a.handle_datagram(Time::ZERO, address(2), &mut initiation.clone());
        let mut response = a.poll_transmit().expect("a response").contents;
        b.handle_datagram(Time::ZERO, address(1), &mut response);
        let mut sealed = |number| {
            let mut datagram = vec![0; HEADER_LEN + 20 + TAG_LEN];
            b.seal(Time::ZERO, first, 1, number, Kind::Probe, &mut datagram).expect("sealed");
            datagram
        };
        let (opening, data) = (sealed(0), sealed(1));
        a.handle_datagram(Time::ZERO, address(2), &mut opening.clone());
        a.connect(Time::ZERO, other);
        let mut called = a.poll_transmit().expect("an initiation").contents;
        c.handle_datagram(Time::ZERO, address(1), &mut called);
        let answer = c.poll_transmit().expect("a response").contents.to_vec();
        c.connect(Time::ZERO, first);
        let crossing = c.poll_transmit().expect("an initiation").contents.to_vec();
        let peers = [b.public(), c.public()];
        Setup { peers, opening: [initiation, opening], genuine: vec![data, answer, crossing] }
    }
}
