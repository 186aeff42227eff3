//! The cost of the wire format: the benchmarks write, parse and measure a source packet, a repair and a report. They
//! also compare this project's parser of inner packets with a general parser.

use criterion::{Criterion, criterion_group, criterion_main};
use etherparse::{PacketBuilder, SlicedPacket};
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, Members};
use ripstop_proto::inner::Inner;
use ripstop_proto::packets::Gap;
use ripstop_proto::wire::*;
use std::hint::black_box;

fn packets(c: &mut Criterion) {
    let gap = Gap::ADJACENT;
    let symbol = Symbol::build(1401, |bytes| bytes[0] = gap.nibble());
    let source = Packet::Source { id: 77, kind: SymbolKind::Packet, payload: symbol.clone() };
    let members = Members::new(vec![3, 9, 12], 40..90).expect("ascending");
    let repair = Packet::Repair { members, coding: Coding::Seed(5), payload: symbol };
    let report = Packet::Feedback(Box::new(Feedback {
        path: Some(PathReport {
            largest: 2000,
            acked: (0..20u64).map(|i| 1970 - 100 * i..2001 - 100 * i).collect(),
            acked_from: 50,
            ..PathReport::default()
        }),
        symbols: Some(SymbolReport {
            next_undecoded: 1500,
            end: 1900,
            unseen: (0..10u64).map(|i| 1500 + 30 * i..1502 + 30 * i).collect(),
            deficit: 20,
            undecoded: 300,
            ..SymbolReport::default()
        }),
    }));
    let near = WireContext { id_near: 80, sent_id: 1900, sent_number: 2001, ..WireContext::default() };
    for (name, packet) in [("source", source), ("repair", repair), ("report", report)] {
        let mut buffer = vec![0; 1500];
        c.bench_function(&format!("emit {name}"), |b| b.iter(|| emit_body(black_box(&packet), &mut buffer)));
        let len = emit_body(&packet, &mut buffer).expect("a valid packet");
        let kind = Kind::of(&packet);
        c.bench_function(&format!("parse {name}"), |b| {
            b.iter(|| parse_body(kind, black_box(&buffer[..len]), &near));
        });
        c.bench_function(&format!("measure {name}"), |b| b.iter(|| black_box(&packet).wire_len()));
    }
}

fn inner(c: &mut Criterion) {
    for (name, builder) in [
        ("IPv4", PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)),
        ("IPv6", PacketBuilder::ipv6([1; 16], [2; 16], 64)),
    ] {
        let mut packet = Vec::new();
        builder.tcp(1, 2, 3, 4).write(&mut packet, &[0; 1200]).expect("a packet");
        c.bench_function(&format!("inner {name} with flow"), |b| {
            b.iter(|| Inner::parse(black_box(&packet)).map(|inner| inner.flow()));
        });
        c.bench_function(&format!("inner {name}, etherparse, no flow"), |b| {
            b.iter(|| SlicedPacket::from_ip(black_box(&packet)).is_ok());
        });
    }
}

criterion_group!(benches, packets, inner);
criterion_main!(benches);
