//! The cost of encryption for bodies of 1400 bytes: the AEAD alone, and the whole path with header, key look-up and
//! replay check. The difference between the two is the cost of this project's own code.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ripstop_base::{Seed, Time};
use ripstop_proto::secure::{Incoming, Key, PeerId, Peers, PrivateKey, SecureConfig, SecureEvent, Suite};
use ripstop_proto::wire::{HEADER_LEN, Kind, SymbolKind, TAG_LEN};
use std::hint::black_box;
use std::net::SocketAddr;

const BODY: usize = 1400;
const PEER: PeerId = PeerId::from_index(0);

fn seal_and_open(c: &mut Criterion) {
    for suite in [Suite::Aes256Gcm, Suite::ChaCha20Poly1305] {
        let mut group = c.benchmark_group(format!("{suite:?}"));
        group.throughput(Throughput::Bytes(BODY as u64));

        let key = Key::new(suite, &[7; 32]);
        let (mut number, mut body) = (0, vec![1; BODY]);
        group.bench_function("aead seal", |b| {
            b.iter(|| {
                number += 1;
                key.seal(number, &[0; HEADER_LEN], &mut body)
            });
        });
        let mut sealed = vec![1; BODY];
        let tag = key.seal(0, &[0; HEADER_LEN], &mut sealed).expect("sealed");
        sealed.extend_from_slice(&tag);
        group.bench_function("aead open", |b| {
            b.iter_batched_ref(
                || sealed.clone(),
                |sealed| key.open(0, &[0; HEADER_LEN], sealed).is_some(),
                BatchSize::SmallInput,
            );
        });

        let (mut a, mut b, from) = session(suite);
        let (mut number, mut datagram) = (1, vec![1; HEADER_LEN + BODY + TAG_LEN]);
        group.bench_function("session seal", |bench| {
            bench.iter(|| {
                number += 1;
                a.seal(Time::ZERO, PEER, 1, number, Kind::Source(SymbolKind::Packet), black_box(&mut datagram))
            });
        });
        group.bench_function("session open", |bench| {
            bench.iter_batched_ref(
                || {
                    number += 1;
                    a.seal(Time::ZERO, PEER, 1, number, Kind::Source(SymbolKind::Packet), &mut datagram)
                        .expect("sealed");
                    datagram.clone()
                },
                |datagram| {
                    let incoming = b.handle_datagram(Time::ZERO, from, datagram);
                    assert!(matches!(incoming, Incoming::Transport { .. }));
                },
                BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

fn handshake(c: &mut Criterion) {
    c.bench_function("handshake, both ends", |b| b.iter(|| session(Suite::preferred())));
}

/// Two ends with a session between them, and the address of the first end.
fn session(suite: Suite) -> (Peers, Peers, SocketAddr) {
    let config = SecureConfig { suite, rekey_messages: u64::MAX, reject_messages: u64::MAX, ..SecureConfig::default() };
    let address = |port| SocketAddr::from(([127, 0, 0, 1], port));
    let end = |name: &str| {
        let mut entropy = Seed::new(1).stream(name);
        Peers::new(PrivateKey::generate(&mut entropy), config.clone(), Box::new(entropy))
    };
    let (mut a, mut b) = (end("a"), end("b"));
    a.add(b.public(), Some(address(2)));
    b.add(a.public(), None);
    a.connect(Time::ZERO, PEER);
    let mut initiation = a.poll_transmit().expect("an initiation").contents;
    b.handle_datagram(Time::ZERO, address(1), &mut initiation);
    let mut response = b.poll_transmit().expect("a response").contents;
    a.handle_datagram(Time::ZERO, address(2), &mut response);
    assert!(std::iter::from_fn(|| a.poll_event()).any(|e| matches!(e, SecureEvent::Established { .. })));
    let mut first = vec![0; HEADER_LEN + TAG_LEN];
    a.seal(Time::ZERO, PEER, 1, 0, Kind::Probe, &mut first).expect("sealed");
    b.handle_datagram(Time::ZERO, address(1), &mut first);
    assert_eq!(b.epoch(Time::ZERO, PEER), Some(1));
    (a, b, address(1))
}

criterion_group!(benches, seal_and_open, handshake);
criterion_main!(benches);
