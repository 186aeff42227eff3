//! The body of a datagram of any kind. The parser either rejects the body, or returns a packet that is written as the
//! same bytes. The first byte of the input selects the kind. The next eight bytes are the number with which truncated
//! numbers are completed.

use ripstop_proto::wire::{Header, Kind, WireContext, emit_body, parse_body};

/// Checks one input.
pub(crate) fn run(data: &[u8]) {
    let _ = Header::parse(data);
    let Some((&[kind, ref near @ ..], body)) = data.split_first_chunk::<9>() else { return };
    let Ok(kind) = Kind::from_byte(0x10 + kind % 32) else { return };
    let near = u64::from_be_bytes(*near);
    let near = WireContext { id_near: near, sent_id: near, sent_number: near, ..WireContext::default() };
    if let Ok(packet) = parse_body(kind, body, &near) {
        let mut buffer = vec![0; body.len()];
        assert_eq!(packet.body_len(), body.len());
        assert_eq!(emit_body(&packet, &mut buffer), Ok(body.len()));
        assert_eq!(buffer, body);
    }
}
