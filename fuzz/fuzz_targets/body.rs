//! The body of a datagram of any kind. The parser either rejects the body, or returns a packet that is written as the
//! same bytes. The first byte of the input selects the kind. The next eight bytes are the number with which truncated
//! numbers are completed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ripstop_proto::wire::{WireContext, Header, Kind, emit_body, parse_body};

fuzz_target!(|data: &[u8]| {
    let _ = Header::parse(data);
    let Some((&[kind, ref near @ ..], body)) = data.split_first_chunk::<9>() else { return };
    let Ok(kind) = Kind::from_byte(0x10 + kind % 10) else { return };
    let near = u64::from_be_bytes(*near);
    let near = WireContext { id_near: near, sent_id: near, sent_number: near, ..WireContext::default() };
    if let Ok(packet) = parse_body(kind, body, &near) {
        let mut buffer = vec![0; body.len()];
        assert_eq!(packet.body_len(), body.len());
        assert_eq!(emit_body(&packet, &mut buffer), Ok(body.len()));
        assert_eq!(buffer, body);
    }
});
