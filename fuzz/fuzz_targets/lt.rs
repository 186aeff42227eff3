//! TCP/LT: the parsers, and sequences of packets and times into both ends.
//!
//! The input is a list of events. Each event starts with a byte that selects it, a byte with the time that passes in
//! units of 10 ms, and a byte with the length of the packet that follows. A packet goes through the parser into the
//! sender or the receiver. A packet that is parsed is written as the same bytes. The memory of both ends stays within
//! the bounds of the settings, and an event never causes endless output.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ripstop_base::Time;
use ripstop_proto::session::lt::{
    Accepted, BlockCode, LtConfig, LtInner, LtMode, LtReceiver, LtSender, Segment,
};
use ripstop_proto::session::{Received, Session};
use ripstop_proto::wire::{LtContext, emit_lt_ack, emit_lt_packet, parse_lt_ack, parse_lt_packet};
use ripstop_codes::Symbol;
use std::time::Duration;

/// More packets than a sender may send at one time: a block has at most 64 symbols, and R is at most 10.
const ENDLESS: usize = 64 * 64 * 10;

fuzz_target!(|data: &[u8]| {
    let Some((&[mode, code], mut events)) = data.split_first_chunk::<2>() else { return };
    let mode = if mode % 2 == 0 { LtMode::Improved } else { LtMode::Repaired };
    let usual = LtConfig::new(mode);
    let code = [usual.code, BlockCode::Rlnc, BlockCode::Mds][usize::from(code % 3)];
    let config = LtConfig { code, most_blocks: 8, most_held: 64, buffer: 16, ..usual };
    let (Ok(mut sender), Ok(mut receiver)) = (LtSender::<Symbol>::new(config, 1), LtReceiver::<Symbol>::new(config)) else { return };
    let (mut now, mut number) = (Time::ZERO, 0);
    while let Some((&[event, passes, len], rest)) = events.split_first_chunk::<3>() {
        let (bytes, rest) = rest.split_at(usize::from(len).min(rest.len()));
        events = rest;
        now += Duration::from_millis(10 * u64::from(passes));
        let context = LtContext { number, block: 0 };
        let mut buffer = vec![0; bytes.len()];
        match event % 6 {
            0 => sender.handle_inner(now, LtInner::Open),
            1 => {
                sender.handle_inner(now, LtInner::Segment(Segment { number, payload: Symbol::from_slice(bytes) }));
                number += 1;
            }
            2 => {
                if let Ok(packet) = parse_lt_ack(bytes, &context) {
                    assert_eq!(emit_lt_ack(&packet, &mut buffer), Ok(bytes.len()));
                    assert_eq!(buffer, bytes);
                    sender.handle_datagram(now, Received { packet, bytes: 60, ce: false });
                }
            }
            3 => {
                if let Ok(packet) = parse_lt_packet(bytes, &context) {
                    assert_eq!(emit_lt_packet(&packet, &mut buffer), Ok(bytes.len()));
                    assert_eq!(buffer, bytes);
                    receiver.handle_datagram(now, Received { packet, bytes: u32::from(len), ce: false });
                }
            }
            4 => receiver.handle_inner(now, Accepted),
            // The sender's packets really arrive.
            _ => {
                for sent in std::iter::from_fn(|| sender.poll_transmit(now)).take(4) {
                    receiver.handle_datagram(now, Received { packet: sent.packet, bytes: sent.bytes, ce: false });
                }
            }
        }
        sender.handle_timeout(now);
        receiver.handle_timeout(now);
        assert!(std::iter::from_fn(|| sender.poll_transmit(now)).take(ENDLESS).count() < ENDLESS);
        let acks: Vec<_> = std::iter::from_fn(|| receiver.poll_transmit(now)).take(ENDLESS).collect();
        assert!(acks.len() < ENDLESS);
        for sent in acks.into_iter().take(usize::from(event & 0x40 != 0)) {
            sender.handle_datagram(now, Received { packet: sent.packet, bytes: sent.bytes, ce: false });
        }
        while sender.poll_deliver().is_some() {}
        while receiver.poll_deliver().is_some() {}
        assert!(sender.held() <= 64 + 8 * 64 && receiver.blocks() <= 8);
    }
});
