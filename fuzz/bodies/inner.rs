//! Inner packets and symbols. The parsers must not read past the end of the input. Clamping the MSS must not change the
//! length of a packet.

use ripstop_proto::inner::{Inner, clamp_mss};
use ripstop_proto::packets::symbol;
use ripstop_proto::wire::SymbolKind;

/// Checks one input.
pub(crate) fn run(data: &[u8]) {
    if let Ok(inner) = Inner::parse(data) {
        assert!(inner.payload_at <= inner.bytes.len() && inner.bytes.len() <= data.len());
        let _ = (inner.flow(), inner.is_bare_ack(), inner.tcp());
        let mut changed = data.to_vec();
        clamp_mss(&mut changed, 1400);
        assert!(!clamp_mss(&mut changed, 1400), "a second clamping must change nothing");
        let again = Inner::parse(&changed).expect("still a packet");
        assert_eq!((again.flow(), again.bytes.len()), (inner.flow(), inner.bytes.len()));
    }
    if let Ok((gap, inner)) = symbol::unframe(data) {
        let kind = SymbolKind::of(data[0]).expect("unframe knows the kind");
        let mut framed = vec![0; data.len()];
        assert!(symbol::frame(kind, gap, inner, &mut framed).is_some());
        assert_eq!(framed, data);
    }
}
