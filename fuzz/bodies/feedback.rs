//! Bodies of reports. They have a target of their own, because their sets have the most complex
//! form.

use ripstop_proto::wire::{Kind, MAX_FEEDBACK, Packet, WireContext, emit_body, parse_body};

/// Checks one input.
pub(crate) fn run(body: &[u8]) {
    let near = WireContext { sent_id: 1 << 20, sent_number: 1 << 20, ..WireContext::default() };
    for kind in [Kind::Report, Kind::PathReport, Kind::SymbolReport] {
        check(kind, body, &near);
    }
}

/// Checks `body` as the body of a report of kind `kind`.
fn check(kind: Kind, body: &[u8], near: &WireContext) {
    let Ok(packet) = parse_body(kind, body, near) else { return };
    let mut buffer = [0; MAX_FEEDBACK];
    assert_eq!(emit_body(&packet, &mut buffer), Ok(body.len()));
    assert_eq!(&buffer[..body.len()], body);
    let Packet::Feedback(report) = packet else { panic!("not a report") };
    if let Some(path) = &report.path {
        assert!(path.acked.windows(2).all(|pair| pair[1].end < pair[0].start));
    }
    if let Some(symbols) = &report.symbols {
        assert!(symbols.unseen.windows(2).all(|pair| pair[0].end < pair[1].start));
        assert!(symbols.unseen.last().is_none_or(|last| last.end <= symbols.end));
    }
}
