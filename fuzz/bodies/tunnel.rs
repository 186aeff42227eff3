//! The body of the fuzz target `tunnel`: sequences of packets, of inner packets and of times into one end of a tunnel.
//!
//! The input is a list of events. Each event has a byte that selects it, a byte with the time that passes, and a byte
//! with the length of the bytes that follow. The bytes are a packet's body, an inner packet's size, or an instruction
//! for the other end. The other end is a second tunnel, so that honest reports and repairs arrive too. The body checks
//! these properties:
//!
//! - What the tunnel sends, the wire format can carry.
//! - The memory stays within a bound that follows from the settings.
//! - The work of a packet is at most proportional to what it recovers.
//! - An event never causes endless output.
//!
//! The target runs the body on inputs that it makes up. A test of the crate `ripstop-proto` runs the body on the
//! committed inputs. The test also checks that packets of each kind are accepted.

use super::kinds::common_kind;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use ripstop_proto::coding::{BlockLength, BlockSettings, Code};
use ripstop_proto::session::tunnel::{Tunnel, TunnelConfig};
use ripstop_proto::session::{Received, Reception, Session, Transmit};
use ripstop_proto::wire::{Datagram, Kind, emit_body, parse_body};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// More datagrams than a tunnel may send at one time.
const ENDLESS: usize = 20_000;
/// The coding window, symbols.
const WINDOW: u32 = 512;
/// The most memory of a tunnel: the windows of both directions with a stored repair for each symbol, the matrix, the
/// queue, and the sent-packet history. Unit: bytes.
const MEMORY: usize = 4_000_000;

struct World {
    tunnel: Tunnel<Symbol>,
    other: Tunnel<Symbol>,
    /// Datagrams of the tunnel that may still reach the other end.
    there: VecDeque<Datagram<Symbol>>,
    now: Time,
    /// The next datagram number of the packets in the input.
    number: u64,
    /// The type bytes of the packets of the input that were packets.
    accepted: BTreeSet<u8>,
}

/// The kind of packet that an event of the input brings. None: the event brings no packet.
fn kind_of(event: u8) -> Option<Kind> {
    match event % 16 {
        7 => Some(Kind::RepairOfBlock),
        _ => common_kind(event),
    }
}

fn config(fast: bool, blocks: bool) -> TunnelConfig {
    let block = BlockSettings { k: 8, n: BlockLength::Fixed(12) };
    TunnelConfig {
        code: if blocks { Code::Block(block) } else { Code::Window },
        window_symbols: WINDOW,
        matrix_bytes: 1 << 18,
        queue_bytes: 100_000,
        initial_rtt: Some(Duration::from_millis(if fast { 1 } else { 50 })),
        ..TunnelConfig::default()
    }
}

/// Runs the events of an input. Returns the type bytes of its packets that were packets.
pub(crate) fn run(data: &[u8]) -> BTreeSet<u8> {
    let Some((&settings, mut events)) = data.split_first() else { return BTreeSet::new() };
    let (fast, blocks) = (settings % 2 == 0, settings & 2 != 0);
    let mut world = World {
        tunnel: Tunnel::new(Time::ZERO, config(fast, blocks), u64::from(settings)),
        other: Tunnel::new(Time::ZERO, config(fast, blocks), 7),
        there: VecDeque::new(),
        now: Time::ZERO,
        number: 0,
        accepted: BTreeSet::new(),
    };
    while let Some((&[event, passes, len], rest)) = events.split_first_chunk::<3>() {
        let (bytes, rest) = rest.split_at(usize::from(len).min(rest.len()));
        events = rest;
        world.now += Duration::from_micros(200 * u64::from(passes) * u64::from(passes));
        let before = (world.tunnel.work(), world.tunnel.status().received.recovered);
        world.take(event, bytes);
        world.drain();
        world.check(before);
    }
    world.accepted
}

impl World {
    fn take(&mut self, event: u8, bytes: &[u8]) {
        let now = self.now;
        let first = bytes.first().copied().unwrap_or(0);
        match event % 16 {
            // The inside sends packets.
            8 | 9 => {
                for n in 0..1 + first % 32 {
                    let len = 28 + usize::from(bytes.get(1).copied().unwrap_or(n)) * 4;
                    self.tunnel.handle_inner(now, inner(len, event >> 4));
                }
            }
            // Datagrams of the tunnel reach the other end. Some bytes say which ones are lost.
            10 | 11 => {
                for n in 0..1 + usize::from(first % 64) {
                    let Some(datagram) = self.there.pop_front() else { break };
                    if bytes.get(1 + n % 16).is_none_or(|byte| byte % 4 > 0) {
                        deliver(&mut self.other, now, datagram);
                    }
                }
            }
            // Datagrams of the other end reach the tunnel.
            12 => {
                let sent: Vec<_> = std::iter::from_fn(|| self.other.poll_transmit(now)).take(ENDLESS).collect();
                assert!(sent.len() < ENDLESS);
                for Transmit { packet, .. } in sent {
                    self.number = self.number.max(packet.number + 1);
                    deliver(&mut self.tunnel, now, packet);
                }
            }
            13 => {
                for n in 0..1 + first % 32 {
                    self.other.handle_inner(now, inner(100 + usize::from(n), event >> 4));
                }
            }
            14 => match first % 4 {
                0 => self.tunnel.request_probe(u16::from(first) * 5),
                1 => self.tunnel.set_path_mtu(600 + 4 * u32::from(first)),
                2 if first >= 128 => self.tunnel.defer(now + Duration::from_millis(u64::from(first))),
                2 => self.tunnel.shrink(usize::from(first) * 100),
                _ => self.tunnel.lift_limit(),
            },
            15 => self.now += Duration::from_millis(u64::from(first)),
            // A packet of the input. Its number may jump.
            _ => {
                let Some(kind) = kind_of(event) else { return };
                if let Ok(packet) = parse_body(kind, bytes, &self.tunnel.expand()) {
                    self.accepted.insert(kind.byte());
                    self.number += 1 + u64::from(event >> 4 == 15) * 20_000;
                    let reception =
                        Reception { ce: event & 0x20 != 0, waited: Duration::from_millis(u64::from(first) % 8) };
                    let datagram = received(Datagram { number: self.number, packet });
                    self.tunnel.handle_datagram(now, Received { reception, ..datagram });
                }
            }
        }
        self.tunnel.handle_timeout(now);
        self.other.handle_timeout(now);
    }

    /// Takes all outputs.
    fn drain(&mut self) {
        let now = self.now;
        let sent: Vec<_> = std::iter::from_fn(|| self.tunnel.poll_transmit(now)).take(ENDLESS).collect();
        assert!(sent.len() < ENDLESS);
        for Transmit { packet, bytes, .. } in sent {
            assert_eq!(packet.packet.check_carried(None), Ok(()));
            assert!(bytes <= 9000);
            self.there.push_back(packet);
        }
        self.there.drain(..self.there.len().saturating_sub(1000));
        while self.tunnel.poll_deliver().is_some() {}
        while self.tunnel.poll_event().is_some() {}
        while self.other.poll_deliver().is_some() {}
        while self.other.poll_event().is_some() {}
    }

    fn check(&self, (work, recovered): (u64, u64)) {
        assert!(self.tunnel.memory() <= MEMORY, "{} bytes", self.tunnel.memory());
        assert!(self.tunnel.outstanding() <= WINDOW as usize);
        assert!(self.tunnel.poll_timeout().is_none_or(|due| due < Time::NEVER));
        let status = self.tunnel.status();
        let (missing, rows, waiting) = status.receiving;
        assert!(missing <= WINDOW as usize && rows <= WINDOW as usize && waiting <= WINDOW as usize);
        // At most the whole matrix a few times, and for each recovered symbol all payloads.
        let recovered = status.received.recovered - recovered;
        let most = 16 * (1 << 18) + (recovered + 1) * 4 * u64::from(WINDOW) * 1500 + 1_000_000;
        let work = self.tunnel.work() - work;
        assert!(work <= most, "work {work}, at most {most}");
    }
}

/// A datagram passes through the wire format and arrives. After the packets of the input, an end may complete its
/// truncated numbers to other numbers than those that were sent.
fn deliver(to: &mut Tunnel<Symbol>, now: Time, datagram: Datagram<Symbol>) {
    let Datagram { number, packet } = datagram;
    let mut buffer = vec![0; packet.body_len()];
    emit_body(&packet, &mut buffer).expect("the format carries what a tunnel sends");
    if let Ok(packet) = parse_body(Kind::of(&packet), &buffer, &to.expand()) {
        to.handle_datagram(now, received(Datagram { number, packet }));
    }
}

fn received(packet: Datagram<Symbol>) -> Received<Datagram<Symbol>> {
    let bytes = 28 + packet.packet.wire_len() as u32;
    Received { packet, bytes, reception: Reception::default() }
}

/// A UDP packet of `len` bytes, as a symbol. Packets of odd flows are IPv6 packets if they are long enough, so they travel
/// in pieces where the path's MTU is small.
fn inner(len: usize, flow: u8) -> Symbol {
    let mut packet = vec![0; len];
    if flow % 2 == 1 && len >= 48 {
        (packet[0], packet[6], packet[7], packet[41]) = (0x60, 17, 64, flow);
        packet[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes());
        return Symbol::from_parts(&[&[0], &packet]);
    }
    (packet[0], packet[8], packet[9], packet[21]) = (0x45, 64, 17, flow);
    packet[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    Symbol::from_parts(&[&[0], &packet])
}
