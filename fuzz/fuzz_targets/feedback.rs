//! Bodies of reports. They have a target of their own, because their sets have the most complex
//! form.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ripstop_proto::wire::{WireContext, Kind, MAX_FEEDBACK, Packet, emit_body, parse_body};

fuzz_target!(|body: &[u8]| {
    let near = WireContext { sent_id: 1 << 20, sent_number: 1 << 20, ..WireContext::default() };
    let Ok(packet) = parse_body(Kind::Report, body, &near) else { return };
    let mut buffer = [0; MAX_FEEDBACK];
    assert_eq!(emit_body(&packet, &mut buffer), Ok(body.len()));
    assert_eq!(&buffer[..body.len()], body);
    let Packet::Feedback(report) = packet else { panic!("not a report") };
    assert!(report.acked.windows(2).all(|pair| pair[1].end < pair[0].start));
    assert!(report.unseen.windows(2).all(|pair| pair[0].end < pair[1].start));
    assert!(report.unseen.last().is_none_or(|last| last.end <= report.end));
});
