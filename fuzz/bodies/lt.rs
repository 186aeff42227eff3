//! The body of the fuzz target `lt`: the parsers of TCP/LT, and sequences of packets and times into both ends.
//!
//! The input begins with four bytes of settings. A list of events follows. Each event has a byte that selects it, a
//! byte with the time that passes in units of 10 ms, and a byte with the length of the packet that follows. A packet
//! goes through the parser into the sender or the receiver. The body checks these properties:
//!
//! - A packet that is parsed is written as the same bytes.
//! - The memory of both ends stays within the bounds of the settings.
//! - An event never causes endless output.
//! - Packets are delivered in order, and only accepted packets are acknowledged.
//!
//! The target `lt` runs the body on inputs that it makes up. A test of the crate `ripstop-proto` runs the body on the
//! committed inputs.

use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_codes::lt::{LtCode, RobustSoliton};
use ripstop_proto::session::lt::{
    Accepted, BlockCode, BlockSize, LtConfig, LtDelivered, LtInner, LtMode, LtReceiver, LtSender, Segment, TcpAck,
};
use ripstop_proto::session::{Received, Reception, Session};
use ripstop_proto::wire::{emit_lt_ack, emit_lt_packet, parse_lt_ack, parse_lt_packet};
use std::time::Duration;

/// The largest number of blocks in flight.
const BLOCKS: u32 = 8;
/// The largest number of packets that the sender holds in front of its blocks.
const HELD: u32 = 64;
/// More packets than an end may send at one time: a block has at most 64 symbols, and R is at most 10.
const ENDLESS: usize = 64 * 10 * (BLOCKS as usize + 2);

/// Both ends, and what TCP knows at each of them.
struct Ends {
    config: LtConfig,
    sender: LtSender<Symbol>,
    receiver: LtReceiver<Symbol>,
    now: Time,
    /// The next packet that TCP gives to the sender.
    next: u64,
    /// What the sender has acknowledged.
    acknowledged: u64,
    /// The next packet that the receiver delivers.
    delivered: u64,
}

/// Runs the events of an input.
pub(crate) fn run(data: &[u8]) {
    let Some((&[mode, code, block, window], mut events)) = data.split_first_chunk::<4>() else { return };
    let Some(mut ends) = Ends::new(mode, code, block, window) else { return };
    while let Some((&[event, passes, len], rest)) = events.split_first_chunk::<3>() {
        let (bytes, rest) = rest.split_at(usize::from(len).min(rest.len()));
        events = rest;
        ends.now += Duration::from_millis(10 * u64::from(passes));
        ends.take(event, bytes);
        ends.drain(event & 0x40 != 0);
        ends.check();
    }
}

impl Ends {
    /// Both ends with settings that four bytes select. None if the settings are not allowed.
    fn new(mode: u8, code: u8, block: u8, window: u8) -> Option<Ends> {
        let mode = if mode.is_multiple_of(2) { LtMode::Improved } else { LtMode::Repaired };
        let lt = [LtCode::Systematic, LtCode::Optimised, LtCode::Soliton(RobustSoliton::default())];
        let code = match code % 5 {
            code @ 0..3 => BlockCode::Lt(lt[usize::from(code)]),
            3 => BlockCode::Rlnc,
            _ => BlockCode::Mds,
        };
        let block = if block.is_multiple_of(65) { BlockSize::Auto } else { BlockSize::Fixed(block % 65) };
        let window = u32::from(window % 32) + 1;
        let config =
            LtConfig { code, block, window, most_blocks: BLOCKS, most_held: HELD, buffer: 16, ..LtConfig::new(mode) };
        let (sender, receiver) = (LtSender::new(config, 1).ok()?, LtReceiver::new(config).ok()?);
        Some(Ends { config, sender, receiver, now: Time::ZERO, next: 0, acknowledged: 0, delivered: 0 })
    }

    /// Takes an event.
    fn take(&mut self, event: u8, bytes: &[u8]) {
        let now = self.now;
        let mut buffer = vec![0; bytes.len()];
        match event % 8 {
            0 => self.sender.handle_inner(now, LtInner::Open),
            1 => {
                // The first byte may name an earlier or a later packet.
                let jump = bytes.first().map_or(0, |byte| u64::from(byte % 4));
                let number = (self.next + jump).saturating_sub(1);
                self.next = self.next.max(number + 1);
                let segment = Segment { number, payload: Symbol::from_slice(bytes) };
                self.sender.handle_inner(now, LtInner::Segment(segment));
            }
            2 => {
                if let Ok(packet) = parse_lt_ack(bytes, &self.sender.context()) {
                    assert_eq!(emit_lt_ack(&packet, &mut buffer), Ok(bytes.len()));
                    assert_eq!(buffer, bytes);
                    self.sender.handle_datagram(now, Received { packet, bytes: 60, reception: Reception::default() });
                }
            }
            3 => {
                if let Ok(packet) = parse_lt_packet(bytes, &self.receiver.context()) {
                    assert_eq!(emit_lt_packet(&packet, &mut buffer), Ok(bytes.len()));
                    assert_eq!(buffer, bytes);
                    self.receiver.handle_datagram(now, Received { packet, bytes: 60, reception: Reception::default() });
                }
            }
            4 => self.receiver.handle_inner(now, Accepted),
            5 => self.restart_sender(u32::from(event >> 3)),
            6 => self.restart_receiver(event & 0x80 != 0),
            // Packets of the sender really arrive.
            _ => {
                let sent: Vec<_> =
                    std::iter::from_fn(|| self.sender.poll_transmit(now)).take(1 + bytes.len()).collect();
                for sent in sent {
                    let received = Received { packet: sent.packet, bytes: sent.bytes, reception: Reception::default() };
                    self.receiver.handle_datagram(now, received);
                }
            }
        }
        self.sender.handle_timeout(now);
        self.receiver.handle_timeout(now);
    }

    /// Takes all outputs of both ends. If `arrives`, the receiver's first LT-ACK reaches the sender.
    fn drain(&mut self, arrives: bool) {
        let now = self.now;
        let mut buffer = [0; 2000];
        let acks: Vec<_> = std::iter::from_fn(|| self.receiver.poll_transmit(now)).take(ENDLESS).collect();
        assert!(acks.len() < ENDLESS);
        for sent in acks.into_iter().take(usize::from(arrives)) {
            assert_eq!(emit_lt_ack(&sent.packet, &mut buffer), Ok(sent.packet.wire_len()));
            self.sender.handle_datagram(
                now,
                Received { packet: sent.packet, bytes: sent.bytes, reception: Reception::default() },
            );
        }
        let sent: Vec<_> = std::iter::from_fn(|| self.sender.poll_transmit(now)).take(ENDLESS).collect();
        assert!(sent.len() < ENDLESS);
        for packet in sent {
            assert!(emit_lt_packet(&packet.packet, &mut buffer).is_ok());
        }
        while let Some(TcpAck { next, .. }) = self.sender.poll_deliver() {
            assert!(next >= self.acknowledged && next <= self.sender.counts().accepted);
            self.acknowledged = next;
        }
        while let Some(delivered) = self.receiver.poll_deliver() {
            if let LtDelivered::Packet { number, .. } = delivered {
                assert_eq!(number, self.delivered);
                self.delivered += 1;
            }
        }
        if self.sender.poll_event().is_some() {
            assert_eq!(self.sender.poll_event(), None);
            self.restart_sender(99);
        }
        if self.receiver.poll_event().is_some() {
            assert_eq!(self.receiver.poll_event(), None);
            self.restart_receiver(true);
        }
    }

    /// Checks the bounds of the memory.
    fn check(&self) {
        let in_blocks = self.config.block.most() * BLOCKS as usize;
        assert!(self.sender.held() <= HELD as usize + in_blocks);
        assert!(self.sender.blocks_in_flight() <= BLOCKS as usize && self.receiver.blocks() <= BLOCKS as usize);
        assert!(self.sender.remembered() <= self.config.most_remembered());
        assert!(self.sender.poll_timeout().is_none_or(|due| due < Time::NEVER));
        let counts = self.receiver.counts();
        assert_eq!(counts.packets, counts.innovative + counts.redundant + counts.late + counts.refused);
    }

    fn restart_sender(&mut self, session: u32) {
        self.sender = LtSender::new(self.config, session).expect("allowed settings");
        (self.next, self.acknowledged) = (0, 0);
    }

    /// With `knows`, the receiver knows which session has ended.
    fn restart_receiver(&mut self, knows: bool) {
        let fresh = || LtReceiver::new(self.config).expect("allowed settings");
        self.receiver = if knows { self.receiver.renewed() } else { fresh() };
        self.delivered = 0;
    }
}
