//! The wire format: test vectors from files, round trips, and malformed bytes.

#![expect(clippy::single_range_in_vec_init, reason = "lists of ranges; some lists have one range")]

use crate::arbitrary::{NEAR, packets};
use proptest::prelude::*;
use ripstop_codes::Symbol;
use ripstop_codes::window::{Coding, Members};
use ripstop_proto::wire::handshake::{CookieReply, Hello, Initiation, Response};
use ripstop_proto::wire::*;
use serde::Deserialize;
use std::ops::Range;
use std::time::Duration;

#[derive(Deserialize)]
struct Vector {
    name: String,
    near: Near,
    packet: Written,
    body: String,
}

#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Near {
    id_near: u64,
    sent_id: u64,
    sent_number: u64,
    largest_at_us: u64,
    received: u64,
    received_bytes: u64,
    redundant: u64,
    ce: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Written {
    Source { id: u64, first: u8, payload: String },
    Repair { singles: Vec<u64>, tail: [u64; 2], coding: WrittenCoding, payload: String },
    BlockRepair { first: u64, k: u8, number: u8, payload: String },
    Window { base: u64, reach: u32, report_every_us: u64, deadline_us: u64 },
    Feedback(Box<WrittenFeedback>),
    PathReport(Box<WrittenPath>),
    SymbolReport(WrittenSymbols),
    Probe { padding: u16 },
    Close,
    Challenge { token: u64 },
    Answer { token: u64 },
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum WrittenCoding {
    Seed(u16),
    Explicit(Vec<u8>),
}

#[derive(Deserialize)]
struct WrittenFeedback {
    #[serde(flatten)]
    path: WrittenPath,
    #[serde(flatten)]
    symbols: WrittenSymbols,
}

#[derive(Deserialize)]
struct WrittenPath {
    largest: u64,
    largest_at_us: u64,
    delay_us: u64,
    received: u64,
    received_bytes: u64,
    ce: u64,
    batch: Option<WrittenBatch>,
    acked: Vec<[u64; 2]>,
    acked_from: u64,
}

#[derive(Deserialize)]
struct WrittenSymbols {
    next_undecoded: u64,
    end: u64,
    unseen: Vec<[u64; 2]>,
    deficit: u32,
    undecoded: u32,
    redundant: u64,
}

#[derive(Deserialize)]
struct WrittenBatch {
    count: u32,
    lowest: u64,
    mean_before_us: i32,
    lowest_before_us: i32,
}

fn typed(written: &Written) -> Packet<Symbol> {
    match written {
        Written::Source { id, first, payload } => {
            let kind = SymbolKind::of(*first).expect("a kind");
            Packet::Source { id: *id, kind, payload: symbol(*first, &unhex(payload)) }
        }
        Written::Repair { singles, tail, coding, payload } => Packet::Repair {
            members: Members::new(singles.clone(), tail[0]..tail[1]).unwrap(),
            coding: match coding {
                WrittenCoding::Seed(seed) => Coding::Seed(*seed),
                WrittenCoding::Explicit(coefficients) => Coding::Explicit(coefficients.clone()),
            },
            payload: Symbol::from_slice(&unhex(payload)),
        },
        Written::BlockRepair { first, k, number, payload } => {
            Packet::BlockRepair { first: *first, k: *k, number: *number, payload: Symbol::from_slice(&unhex(payload)) }
        }
        Written::Window { base, reach, report_every_us, deadline_us } => Packet::Window(Window {
            base: *base,
            reach: *reach,
            report_every: Duration::from_micros(*report_every_us),
            deadline: Duration::from_micros(*deadline_us),
        }),
        Written::Feedback(f) => Packet::Feedback(Box::new(Feedback {
            path: Some(path_report(&f.path)),
            symbols: Some(symbol_report(&f.symbols)),
        })),
        Written::PathReport(path) => {
            Packet::Feedback(Box::new(Feedback { path: Some(path_report(path)), symbols: None }))
        }
        Written::SymbolReport(symbols) => {
            Packet::Feedback(Box::new(Feedback { path: None, symbols: Some(symbol_report(symbols)) }))
        }
        Written::Probe { padding } => Packet::Probe { padding: *padding },
        Written::Close => Packet::Close,
        Written::Challenge { token } => Packet::Challenge { token: *token },
        Written::Answer { token } => Packet::Answer { token: *token },
    }
}

fn ranges(list: &[[u64; 2]]) -> Vec<Range<u64>> {
    list.iter().map(|[from, to]| *from..*to).collect()
}

fn path_report(f: &WrittenPath) -> PathReport {
    PathReport {
        largest: f.largest,
        largest_at_us: f.largest_at_us,
        delay: Duration::from_micros(f.delay_us),
        received: f.received,
        received_bytes: f.received_bytes,
        ce: f.ce,
        batch: f.batch.as_ref().map_or_else(Batch::default, |b| Batch {
            count: b.count,
            lowest: b.lowest,
            mean_before_us: b.mean_before_us,
            lowest_before_us: b.lowest_before_us,
        }),
        acked: ranges(&f.acked),
        acked_from: f.acked_from,
    }
}

fn symbol_report(f: &WrittenSymbols) -> SymbolReport {
    SymbolReport {
        next_undecoded: f.next_undecoded,
        end: f.end,
        unseen: ranges(&f.unseen),
        deficit: f.deficit,
        undecoded: f.undecoded,
        redundant: f.redundant,
    }
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

fn emitted(packet: &Packet<Symbol>) -> Vec<u8> {
    let mut buffer = vec![0xaa; 70_000];
    let len = emit_body(packet, &mut buffer).unwrap();
    assert_eq!(len, packet.body_len());
    assert_eq!(packet.wire_len(), len + HEADER_LEN + TAG_LEN);
    assert!(buffer[len..].iter().all(|byte| *byte == 0xaa), "wrote beyond its length");
    if len > 0 {
        let room = len - 1;
        assert_eq!(emit_body(packet, &mut buffer[..room]), Err(EmitError::Room { needed: len, room }));
    }
    buffer.truncate(len);
    buffer
}

fn symbol(first: u8, content: &[u8]) -> Symbol {
    Symbol::from_parts(&[&[first], content])
}

#[test]
fn bodies_are_those_of_the_vectors() {
    let vectors: Vec<Vector> = serde_json::from_str(include_str!("../vectors/bodies.json")).unwrap();
    let mut kinds = Vec::new();
    for vector in &vectors {
        let packet = typed(&vector.packet);
        let n = &vector.near;
        let near = WireContext {
            id_near: n.id_near,
            sent_id: n.sent_id,
            sent_number: n.sent_number,
            reported: PathTotals {
                largest_at_us: n.largest_at_us,
                received: n.received,
                received_bytes: n.received_bytes,
                ce: n.ce,
            },
            redundant: n.redundant,
        };
        let body = unhex(&vector.body);
        assert_eq!(emitted(&packet), body, "{}", vector.name);
        let kind = Kind::of(&packet);
        let parsed = parse_body(kind, &body, &near).unwrap_or_else(|e| panic!("{}: {e}", vector.name));
        assert_eq!(parsed, packet, "{}", vector.name);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    assert_eq!(kinds.len(), 13, "each kind must have a vector");
}

#[test]
fn malformed_bodies_are_named() {
    #[derive(Deserialize)]
    struct Bad {
        name: String,
        kind: u8,
        body: String,
        error: String,
    }
    let vectors: Vec<Bad> = serde_json::from_str(include_str!("../vectors/malformed.json")).unwrap();
    for bad in vectors {
        let kind = Kind::from_byte(bad.kind).unwrap();
        match parse_body(kind, &unhex(&bad.body), &WireContext::default()) {
            Ok(packet) => panic!("{}: parsed as {packet:?}", bad.name),
            Err(error) => assert_eq!(error.to_string(), bad.error, "{}", bad.name),
        }
    }
}

#[test]
fn datagrams_are_those_of_the_vectors() {
    let vectors: Vec<serde_json::Value> = serde_json::from_str(include_str!("../vectors/datagrams.json")).unwrap();
    for vector in &vectors {
        let bytes = unhex(vector["datagram"].as_str().unwrap());
        let field = |name: &str| vector["fields"][name].as_u64().unwrap_or_else(|| panic!("{name}"));
        let hex = |name: &str| unhex(vector["fields"][name].as_str().unwrap());
        match vector["kind"].as_str().unwrap() {
            "initiation" => {
                let noise = hex("noise");
                let message = Initiation {
                    suite: field("suite") as u8,
                    sender: field("sender") as u32,
                    noise: noise[..].try_into().unwrap(),
                };
                assert_eq!(message.to_bytes()[..], bytes);
                assert_eq!(Initiation::parse(&bytes), Ok(message));
                rejects_all_other_lengths(&bytes, |b| Initiation::parse(b).is_ok());
            }
            "response" => {
                let noise = hex("noise");
                let message = Response {
                    sender: field("sender") as u32,
                    receiver: field("receiver") as u32,
                    noise: noise[..].try_into().unwrap(),
                };
                assert_eq!(message.to_bytes()[..], bytes);
                assert_eq!(Response::parse(&bytes), Ok(message));
                rejects_all_other_lengths(&bytes, |b| Response::parse(b).is_ok());
            }
            "cookie_reply" => {
                let message = CookieReply {
                    receiver: field("receiver") as u32,
                    nonce: hex("nonce").try_into().unwrap(),
                    sealed: hex("sealed").try_into().unwrap(),
                };
                assert_eq!(message.to_bytes()[..], bytes);
                assert_eq!(CookieReply::parse(&bytes), Ok(message));
                rejects_all_other_lengths(&bytes, |b| CookieReply::parse(b).is_ok());
            }
            "hello" => {
                let hello = Hello {
                    instance: hex("instance").try_into().unwrap(),
                    peer_instance: hex("peer_instance").try_into().unwrap(),
                    next_number: field("next_number"),
                    inner_mtu: field("inner_mtu") as u16,
                    capabilities: field("capabilities") as u32,
                    stamp: field("stamp"),
                };
                assert_eq!(hello.to_bytes()[..], bytes);
                assert_eq!(Hello::parse(&bytes), Ok(hello));
                rejects_all_other_lengths(&bytes, |b| Hello::parse(b).is_ok());
            }
            "header" => {
                let header = Header::parse(&bytes).unwrap();
                assert_eq!(u64::from(header.kind.byte()), field("kind"));
                assert_eq!(u64::from(header.receiver), field("receiver"));
                assert_eq!(u64::from(header.number), field("number"));
                assert_eq!(header.to_bytes(), bytes[..HEADER_LEN]);
            }
            other => panic!("unknown kind {other}"),
        }
    }
}

fn rejects_all_other_lengths(bytes: &[u8], accepts: impl Fn(&[u8]) -> bool) {
    let mut longer = bytes.to_vec();
    longer.push(0);
    assert!(!accepts(&longer));
    (0..bytes.len()).for_each(|n| assert!(!accepts(&bytes[..n]), "{n}"));
}

#[test]
fn what_the_format_cannot_carry_is_refused() {
    let mut buffer = [0; 2000];
    let feedback = |change: fn(&mut Feedback)| {
        let mut feedback = Feedback {
            path: Some(PathReport { largest: 10, acked: vec![5..11], acked_from: 3, ..PathReport::default() }),
            symbols: Some(SymbolReport {
                next_undecoded: 4,
                end: 20,
                unseen: vec![4..5, 8..9],
                ..SymbolReport::default()
            }),
        };
        change(&mut feedback);
        Packet::<Symbol>::Feedback(Box::new(feedback))
    };
    assert!(emit_body(&feedback(|_| {}), &mut buffer).is_ok());
    fn path(report: &mut Feedback) -> &mut PathReport {
        report.path.as_mut().unwrap()
    }
    fn symbols(report: &mut Feedback) -> &mut SymbolReport {
        report.symbols.as_mut().unwrap()
    }
    type Change = fn(&mut Feedback);
    let wrong: [(Change, &str); 9] = [
        (|f| path(f).acked = vec![5..10], "acked"),
        (|f| path(f).acked = vec![5..11, 1..2], "acked"),
        (|f| path(f).acked = vec![5..11, 6..7], "acked"),
        (|f| path(f).acked_from = 12, "acked"),
        (|f| symbols(f).unseen = vec![3..5], "unseen"),
        (|f| symbols(f).unseen = vec![8..9, 4..5], "unseen"),
        (|f| symbols(f).unseen = vec![8..21], "unseen"),
        (|f| symbols(f).end = 3, "end"),
        (|f| path(f).batch = Batch { count: 1, lowest: 11, ..Batch::default() }, "batch.lowest"),
    ];
    for (change, field) in wrong {
        assert_eq!(emit_body(&feedback(change), &mut buffer), Err(EmitError::Value(field)));
    }
    let repair = |members, coding| Packet::Repair { members, coding, payload: Symbol::from_slice(&[1]) };
    let far = Members::new(vec![0], 1 << 19..(1 << 19) + 1).unwrap();
    for (packet, field) in [
        (repair(Members::default(), Coding::Seed(0)), "members"),
        (repair(far, Coding::Seed(0)), "members"),
        (repair(Members::range(0..2), Coding::Explicit(vec![1])), "coefficients"),
        (repair(Members::range(0..2), Coding::Explicit(vec![1, 0])), "coefficients"),
        (repair(Members::range(0..65), Coding::Explicit(vec![1; 65])), "coefficients"),
        (Packet::Source { id: 0, kind: SymbolKind::Piece, payload: symbol(1, b"E") }, "payload"),
        (Packet::Source { id: 0, kind: SymbolKind::Packet, payload: symbol(0, b"") }, "payload"),
    ] {
        assert_eq!(emit_body(&packet, &mut buffer), Err(EmitError::Value(field)));
    }
}

#[test]
fn a_long_report_is_cut_to_size() {
    // Each set has 30 000 ranges. The last ranges of each set are left out, and the other ranges
    // are correct.
    let long = Feedback {
        path: Some(PathReport {
            largest: 100_000,
            acked: (0..30_000u64).map(|i| 100_000 - 3 * i..100_001 - 3 * i).collect(),
            acked_from: 10_000,
            ..PathReport::default()
        }),
        symbols: Some(SymbolReport {
            next_undecoded: 0,
            end: 100_000,
            unseen: (0..30_000u64).map(|i| 3 * i..3 * i + 1).collect(),
            deficit: 30_000,
            undecoded: 99_999,
            ..SymbolReport::default()
        }),
    };
    // The receiver of the data shortens a report before sending. The serialiser does not shorten: a
    // report that is too long is an error.
    let whole = Packet::<Symbol>::Feedback(Box::new(long.clone()));
    assert!(matches!(emit_body(&whole, &mut [0; 65_536]), Err(EmitError::TooLong { .. })));
    let (cut, was_cut) = long.clone().cut();
    assert!(was_cut && cut.clone().cut() == (cut.clone(), false), "a report that fits must not be cut again");
    let packet = Packet::<Symbol>::Feedback(Box::new(cut.clone()));
    let body = emitted(&packet);
    assert!((MAX_FEEDBACK - 20..=MAX_FEEDBACK).contains(&body.len()), "{}", body.len());
    let near = WireContext { sent_number: 100_001, sent_id: 100_000, ..WireContext::default() };
    assert_eq!(parse_body(Kind::Report, &body, &near), Ok(packet));
    let (whole, cut) = ((long.path.unwrap(), long.symbols.unwrap()), (cut.path.unwrap(), cut.symbols.unwrap()));
    assert!(cut.0.acked.len() > 1000 && cut.1.unseen.len() > 1000, "each set must get half of the room");
    assert_eq!(cut.0.acked[..], whole.0.acked[..cut.0.acked.len()]);
    assert_eq!(cut.1.unseen[..], whole.1.unseen[..cut.1.unseen.len()]);
    assert!(cut.0.acked_from <= cut.0.acked.last().unwrap().start);
    assert_eq!(cut.1.deficit, 30_000);
}

proptest! {
    #[test]
    fn typed_packets_come_back(packet in packets()) {
        let body = emitted(&packet);
        let parsed = parse_body(Kind::of(&packet), &body, &NEAR);
        prop_assert_eq!(parsed, Ok(packet));
    }

    #[test]
    fn random_bytes_have_one_meaning(kind in (0x11u8..0x22).prop_filter("a type", |kind| Kind::from_byte(*kind).is_ok()), body in prop::collection::vec(any::<u8>(), 0..80)) {
        one_meaning(kind, &body);
    }

    #[test]
    fn mutated_packets_have_one_meaning(packet in packets(), changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..4), cut in any::<prop::sample::Index>()) {
        let mut body = emitted(&packet);
        if body.is_empty() {
            return Ok(());
        }
        let len = body.len();
        for (at, value) in changes {
            body[at % len] = value;
        }
        one_meaning(Kind::of(&packet).byte(), &body);
        body.truncate(cut.index(len));
        one_meaning(Kind::of(&packet).byte(), &body);
    }

    #[test]
    fn datagrams_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Header::parse(&bytes);
        let _ = Initiation::parse(&bytes);
        let _ = Response::parse(&bytes);
        let _ = CookieReply::parse(&bytes);
        let _ = Hello::parse(&bytes);
    }
}

/// If the bytes parse, the parsed packet is written as the same bytes.
fn one_meaning(kind: u8, body: &[u8]) {
    let kind = Kind::from_byte(kind).unwrap();
    if let Ok(packet) = parse_body(kind, body, &NEAR) {
        assert_eq!(emitted(&packet), body, "{packet:?}");
    }
}
