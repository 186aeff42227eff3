//! The test vectors of the wire format, which an independent program has made (`tests/vectors/make_lt.py`).

use ripstop_codes::Symbol;
use ripstop_proto::session::lt::*;
use ripstop_proto::wire::{LtContext, Malformed, emit_lt_ack, emit_lt_packet, parse_lt_ack, parse_lt_packet};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../vectors/lt.json")).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn hex(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn check_ack(vector: &Value, report: LtReport, context: LtContext) {
    let (session, rate) = (number(&vector["session"]) as u32, vector["rate"].as_u64());
    let (ack, bytes) = (LtAck { session, report, rate }, hex(&vector["bytes"]));
    let mut buffer = [0; 256];
    let len = emit_lt_ack(&ack, &mut buffer).unwrap();
    assert_eq!(buffer[..len], bytes, "{}", vector["name"]);
    assert_eq!(parse_lt_ack(&bytes, &context), Ok(ack), "{}", vector["name"]);
}

#[test]
fn packets_have_the_bytes_of_the_vectors() {
    let vectors = vectors();
    for vector in vectors["symbols"].as_array().unwrap() {
        let field = |name: &str| number(&vector[name]);
        let symbol = LtSymbol {
            session: field("session") as u32,
            number: field("number"),
            oldest: field("oldest"),
            block: field("block"),
            k: field("k") as u8,
            symbol: field("symbol") as u32,
            index: field("index") as u32,
            request: vector["request"].as_bool().unwrap(),
            payload: Symbol::from_slice(&hex(&vector["payload"])),
        };
        let context = LtContext { number: symbol.number + 1000, block: symbol.block.saturating_sub(3) };
        let (packet, bytes) = (LtPacket::Symbol(symbol), hex(&vector["bytes"]));
        let mut buffer = [0; 256];
        let len = emit_lt_packet(&packet, &mut buffer).unwrap();
        assert_eq!(buffer[..len], bytes, "{}", vector["name"]);
        assert_eq!(parse_lt_packet(&bytes, &context), Ok(packet), "{}", vector["name"]);
    }
    for vector in vectors["blocks"].as_array().unwrap() {
        let field = |name: &str| number(&vector[name]);
        let (block, received, heard) = (field("block"), field("received") as u32, field("heard") as u32);
        let report = LtReport::Block { block, received, heard, is_decoded: vector["is_decoded"].as_bool().unwrap() };
        check_ack(vector, report, LtContext { number: 0, block: block + 5 });
    }
    for vector in vectors["all"].as_array().unwrap() {
        let field = |name: &str| number(&vector[name]);
        let state = |pair: &Value| BlockState { missing: number(&pair[0]) as u8, known: number(&pair[1]) };
        let blocks = vector["blocks"].as_array().unwrap().iter().map(state).collect();
        let (heard, received, decoded) = (field("heard"), field("received"), field("decoded"));
        let context = LtContext { number: heard + 5, block: decoded + 5 };
        check_ack(vector, LtReport::All { heard, received, decoded, blocks }, context);
    }
    for vector in vectors["simple"].as_array().unwrap() {
        match vector["kind"].as_str().unwrap() {
            "open" => {
                let (packet, bytes) =
                    (LtPacket::Open { session: number(&vector["session"]) as u32 }, hex(&vector["bytes"]));
                assert_eq!(parse_lt_packet(&bytes, &LtContext::default()), Ok(packet));
            }
            "opened" => check_ack(vector, LtReport::Opened, LtContext::default()),
            _ => check_ack(vector, LtReport::Unknown, LtContext::default()),
        }
    }
}

#[test]
fn malformed_bytes_name_their_field() {
    let symbol =
        |bytes: &str| parse_lt_packet(&hex(&Value::from(bytes)), &LtContext::default()).map(|_| ()).unwrap_err();
    let ack = |bytes: &str| parse_lt_ack(&hex(&Value::from(bytes)), &LtContext::default()).map(|_| ()).unwrap_err();
    assert_eq!(symbol(""), Malformed::Short("type"));
    assert_eq!(symbol("7f"), Malformed::Type(0x7f));
    assert_eq!(symbol("40010203"), Malformed::Short("session"));
    assert_eq!(symbol("420102030405"), Malformed::Trailing(1));
    // Block 0 with an age of 1.
    assert_eq!(symbol("400102030400000000000000011000 00".replace(' ', "").as_str()), Malformed::Value("age"));
    assert_eq!(symbol("40010203040000000000000000410000"), Malformed::Value("k"));
    assert_eq!(symbol("4001020304000000000000000000"), Malformed::Value("k"));
    assert_eq!(symbol("400102030400000000000000001080 00".replace(' ', "").as_str()), Malformed::Form("symbol"));
    assert_eq!(ack("4b010203"), Malformed::Short("session"));
    assert_eq!(ack("4800000001000003 0506".replace(' ', "").as_str()), Malformed::Value("lost"));
    assert_eq!(ack("4a00000001000000010000000200000000"), Malformed::Value("received"));
    assert_eq!(ack("4a000000010000000100000001000000014100"), Malformed::Value("missing"));
    assert_eq!(ack("4a00000001000000010000000100000001020200ff"), Malformed::Form("known"));
    assert_eq!(ack("4a0000000100000001000000010000000102ff"), Malformed::Value("known"));
    assert_eq!(ack("4b0000000100"), Malformed::Trailing(1));
}
