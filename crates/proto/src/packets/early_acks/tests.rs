//! Early acknowledgements segment by segment. `stream.rs` runs whole connections.

use super::*;
use crate::packets::InnerPacket;
use etherparse::{PacketBuilder, PacketHeaders, TcpHeader, TcpOptionElement, TransportHeader};

mod hostile;
mod orphans;
mod repeats;
mod stream;

const SCALE: u8 = 7;
const LOCAL: u16 = 40_000;
const REMOTE: u16 = 443;

/// The fields of a segment that a test chooses.
#[derive(Clone, Debug, Default)]
pub(super) struct Seg {
    pub(super) seq: u32,
    pub(super) ack: Option<u32>,
    pub(super) window: u16,
    pub(super) len: usize,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    pub(super) ece: bool,
    pub(super) options: Vec<TcpOptionElement>,
    pub(super) v6: bool,
    pub(super) port: u16,
}

impl Seg {
    pub(super) fn new(seq: u32, ack: u32, window: u16, len: usize) -> Seg {
        Seg { seq, ack: Some(ack), window, len, ..Seg::default() }
    }

    pub(super) fn syn(seq: u32, ack: Option<u32>) -> Seg {
        let options = vec![
            TcpOptionElement::MaximumSegmentSize(1400),
            TcpOptionElement::WindowScale(SCALE),
            TcpOptionElement::Timestamp(1, 0),
        ];
        Seg { seq, ack, window: 12_800, syn: true, options, ..Seg::default() }
    }

    pub(super) fn time(mut self, value: u32, echo: u32) -> Seg {
        self.options.push(TcpOptionElement::Timestamp(value, echo));
        self
    }

    /// The packet, from the local TCP or from the remote TCP. The data repeats the sequence number.
    pub(super) fn packet(&self, local: bool) -> Vec<u8> {
        let (from, to) = if local { (1, 2) } else { (2, 1) };
        let mine = LOCAL + self.port;
        let (source, destination) = if local { (mine, REMOTE) } else { (REMOTE, mine) };
        let ip = match self.v6 {
            true => PacketBuilder::ipv6([from; 16], [to; 16], 64),
            false => PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, to], 64),
        };
        let mut tcp = ip.tcp(source, destination, self.seq, self.window);
        if let Some(ack) = self.ack {
            tcp = tcp.ack(ack);
        }
        tcp = if self.syn { tcp.syn() } else { tcp };
        tcp = if self.fin { tcp.fin() } else { tcp };
        tcp = if self.rst { tcp.rst() } else { tcp };
        tcp = if self.ece { tcp.ece() } else { tcp };
        let data: Vec<u8> = (0..self.len).map(|at| byte_at(self.seq.wrapping_add(at as u32))).collect();
        let mut packet = Vec::new();
        tcp.options(&self.options).unwrap().write(&mut packet, &data).unwrap();
        packet
    }

    pub(super) fn symbol(&self, local: bool) -> Symbol {
        Symbol::from_parts(&[&[0], &self.packet(local)])
    }
}

/// The byte of the stream with this sequence number.
pub(super) fn byte_at(seq: u32) -> u8 {
    (seq.wrapping_mul(0x9e37_79b9) >> 24) as u8
}

/// The TCP header and the data of a symbol, whose checksums must be right.
pub(super) fn read(symbol: &Symbol) -> (TcpHeader, Vec<u8>) {
    let headers = PacketHeaders::from_ip_slice(&symbol.as_slice()[1..]).unwrap();
    let Some(TransportHeader::Tcp(tcp)) = headers.transport else { panic!("no TCP") };
    let data = headers.payload.slice().to_vec();
    let sum = match headers.net.unwrap() {
        etherparse::NetHeaders::Ipv4(ip, _) => {
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            tcp.calc_checksum_ipv4(&ip, &data).unwrap()
        }
        etherparse::NetHeaders::Ipv6(ip, _) => tcp.calc_checksum_ipv6(&ip, &data).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(sum, tcp.checksum, "the TCP checksum");
    (tcp, data)
}

fn ms(n: u64) -> Time {
    Time::from_millis(n)
}

/// A connection that is open: the local TCP begins at 1000, the remote TCP at 9000 with a window of 100 units.
struct Opened {
    acks: EarlyAcks,
    next_id: u64,
    template: Seg,
}

impl Opened {
    fn new(template: Seg) -> Opened {
        let mut acks = EarlyAcks::default();
        let of = |seg: Seg| Seg { v6: template.v6, port: template.port, ..seg };
        assert!(acks.take_local(&of(Seg::syn(1000, None)).packet(true)));
        assert!(acks.take_remote(ms(0), &mut of(Seg::syn(9000, Some(1001))).symbol(false)));
        assert!(acks.take_local(&of(Seg::new(1001, 9001, 500, 0)).packet(true)));
        assert!(acks.take_remote(ms(0), &mut of(Seg::new(9001, 1001, 100, 0).time(5, 1)).symbol(false)));
        assert!(acks.poll_local().is_none());
        Opened { acks, next_id: 0, template }
    }

    fn of(&self, seg: Seg) -> Seg {
        Seg { v6: self.template.v6, port: self.template.port, ..seg }
    }

    /// The local TCP sends a segment, which leaves as the next symbol.
    fn send(&mut self, seg: Seg) -> bool {
        let seg = self.of(seg);
        let carried = self.acks.take_local(&seg.packet(true));
        if carried {
            self.acks.sent(self.next_id, &seg.symbol(true));
            self.next_id += 1;
        }
        carried
    }

    fn data(&mut self, seq: u32, len: usize) {
        assert!(self.send(Seg::new(seq, 9001, 500, len).time(seq, 5)));
    }

    /// The peer has seen all symbols sent, except these.
    fn see(&mut self, now: Time, unseen: &[u64]) {
        let list: Vec<_> = unseen.iter().map(|id| *id..*id + 1).collect();
        let next_undecoded = unseen.first().copied().unwrap_or(self.next_id);
        let deficit = unseen.len() as u32;
        let report =
            SymbolReport { next_undecoded, end: self.next_id, unseen: list, deficit, ..SymbolReport::default() };
        self.acks.report(now, &report);
    }

    /// A segment of the remote TCP, as it is delivered. None: it is not delivered.
    fn remote(&mut self, now: Time, seg: Seg) -> Option<TcpHeader> {
        let mut symbol = self.of(seg).symbol(false);
        self.acks.take_remote(now, &mut symbol).then(|| read(&symbol).0)
    }

    /// The only early acknowledgement that waits.
    fn early(&mut self) -> Option<TcpHeader> {
        let symbol = self.acks.poll_local()?;
        assert!(self.acks.poll_local().is_none(), "one acknowledgement for a report");
        Some(read(&symbol).0)
    }
}

#[test]
fn what_is_seen_is_acknowledged() {
    for v6 in [false, true] {
        let mut open = Opened::new(Seg { v6, ..Seg::default() });
        open.data(1001, 1000);
        open.data(2001, 1000);
        open.see(ms(10), &[1]);
        let first = open.early().expect("an acknowledgement");
        assert_eq!((first.acknowledgment_number, first.sequence_number), (2001, 9001));
        assert!(first.ack && !first.syn && !first.fin && !first.rst && !first.psh && !first.ece);
        assert_eq!((first.source_port, first.destination_port), (REMOTE, LOCAL));
        // The remote TCP allows up to 1001 + 100 * 128. The window is rounded down to a unit.
        assert_eq!(first.window_size, (1001 + 12_800 - 2001) >> SCALE);
        let times = first.options_iterator().find_map(|option| match option {
            Ok(TcpOptionElement::Timestamp(value, echo)) => Some((value, echo)),
            _ => None,
        });
        assert_eq!(times, Some((5, 1001)), "TSval of the remote TCP, TSval of the acknowledged segment");
        open.see(ms(20), &[]);
        assert_eq!(open.early().unwrap().acknowledgment_number, 3001);
        open.see(ms(30), &[]);
        assert!(open.early().is_none(), "nothing is new");
        assert_eq!(open.acks.counts().sent, 2);
    }
}

#[test]
fn a_gap_ends_the_acknowledgement() {
    let mut open = Opened::new(Seg::default());
    for seq in [1001, 2001, 3001, 4001] {
        open.data(seq, 1000);
    }
    open.see(ms(10), &[0, 2]);
    assert!(open.early().is_none(), "the first segment is missing");
    open.see(ms(20), &[2]);
    assert_eq!(open.early().unwrap().acknowledgment_number, 3001);
    // The list of unseen symbols is cut: nothing is known of symbols after the list.
    let cut = SymbolReport { next_undecoded: 2, end: 4, unseen: Vec::new(), deficit: 1, ..SymbolReport::default() };
    open.acks.report(ms(25), &cut);
    assert!(open.early().is_none());
    open.see(ms(30), &[]);
    assert_eq!(open.early().unwrap().acknowledgment_number, 5001, "segment 3001 closes the gap");
}

#[test]
fn the_right_edge_of_the_window_is_never_exceeded() {
    let mut open = Opened::new(Seg::default());
    // The window is 12 800 bytes; the local TCP sends 14 000.
    for n in 0..14 {
        open.data(1001 + 1000 * n, 1000);
    }
    open.see(ms(10), &[]);
    let early = open.early().unwrap();
    assert_eq!((early.acknowledgment_number, early.window_size), (13_001, (13_801 - 13_001) >> SCALE));
    // The remote TCP has read nothing: it acknowledges, and the right edge stays.
    assert_eq!(open.remote(ms(20), Seg::new(9001, 13_001, 6, 0)), None, "the local TCP knows this");
    // It has read 5000 bytes.
    let update = open.remote(ms(30), Seg::new(9001, 13_001, 45, 0)).expect("a window update passes");
    assert_eq!((update.acknowledgment_number, update.window_size), (13_001, 45));
}

#[test]
fn acknowledgements_of_the_remote_tcp_never_go_back() {
    let mut open = Opened::new(Seg::default());
    for n in 0..5 {
        open.data(1001 + 1000 * n, 1000);
    }
    open.see(ms(10), &[]);
    assert_eq!(open.early().unwrap().acknowledgment_number, 6001);
    // A bare acknowledgement that says nothing new is dropped.
    assert_eq!(open.remote(ms(20), Seg::new(9001, 2001, 92, 0)), None);
    // One that moves the right edge is delivered as a window update. The edge is 3001 + 100 * 128.
    let update = open.remote(ms(21), Seg::new(9001, 3001, 100, 0)).unwrap();
    assert_eq!((update.acknowledgment_number, update.window_size), (6001, (3001 + 12_800 - 6001) >> SCALE));
    // Data passes with the later number, and without SACK blocks. The checksum is right: `read` checks it.
    let sack = TcpOptionElement::SelectiveAcknowledgement((4001, 5001), [None; 3]);
    for front in 0..4 {
        let options = vec![TcpOptionElement::Noop; front];
        let data = Seg { options, ..Seg::new(9001, 3001, 100, 7) };
        let data = Seg { options: [data.options.clone(), vec![sack.clone()]].concat(), ..data };
        let data = open.remote(ms(22), data).unwrap();
        assert_eq!((data.acknowledgment_number, data.sequence_number), (6001, 9001));
        assert!(data.options_iterator().all(|option| option == Ok(TcpOptionElement::Noop)), "{data:?}");
    }
    // The end of the remote TCP's stream passes too.
    let fin = open.remote(ms(23), Seg { fin: true, ..Seg::new(9008, 3001, 100, 0) }).unwrap();
    assert!(fin.fin && fin.acknowledgment_number == 6001);
    // What the local TCP was not told is delivered as it is.
    open.data(6001, 1000);
    let fresh = open.remote(ms(24), Seg::new(9009, 7001, 77, 0)).unwrap();
    assert_eq!((fresh.acknowledgment_number, fresh.window_size), (7001, 77));
    let counts = open.acks.counts();
    assert_eq!((counts.suppressed, counts.changed, counts.resent), (1, 6, 0));
}

#[test]
fn marks_and_answers_to_probes_pass() {
    let mut open = Opened::new(Seg::default());
    open.data(1001, 1000);
    open.see(ms(10), &[]);
    assert!(!open.early().unwrap().ece);
    // A mark of congestion passes, although the number is old. Early acknowledgements repeat it.
    let marked = open.remote(ms(20), Seg { ece: true, ..Seg::new(9001, 1001, 100, 0) }).unwrap();
    assert!(marked.ece && marked.acknowledgment_number == 2001);
    open.data(2001, 1000);
    open.see(ms(30), &[]);
    assert!(open.early().unwrap().ece);
    // A keep-alive is carried, and its answer passes.
    assert_eq!(open.remote(ms(40), Seg { ece: true, ..Seg::new(9001, 1001, 100, 0) }), None);
    assert!(open.send(Seg::new(3000, 9001, 500, 0)));
    assert!(open.remote(ms(50), Seg { ece: true, ..Seg::new(9001, 1001, 100, 0) }).is_some());
    assert_eq!(open.remote(ms(60), Seg { ece: true, ..Seg::new(9001, 1001, 100, 0) }), None);
}

#[test]
fn the_local_tcp_gets_an_answer_to_what_it_repeats() {
    let mut open = Opened::new(Seg::default());
    open.data(1001, 1000);
    open.see(ms(10), &[]);
    open.early().unwrap();
    assert!(!open.send(Seg::new(1001, 9001, 500, 1000)), "the peer has this segment");
    assert_eq!(open.early().unwrap().acknowledgment_number, 2001);
    assert_eq!(open.acks.counts().answered, 1);
    // What was not acknowledged early is carried again.
    open.data(2001, 1000);
    assert!(open.send(Seg::new(2001, 9001, 500, 1000)));
}

#[test]
fn opening_and_closing_stay_end_to_end() {
    let mut open = Opened::new(Seg::default());
    open.see(ms(5), &[]);
    assert!(open.early().is_none());
    assert!(open.send(Seg { fin: true, ..Seg::new(1001, 9001, 500, 500) }));
    open.see(ms(10), &[]);
    assert_eq!(open.early().unwrap().acknowledgment_number, 1501, "the data, not the FIN");
    let closed = open.remote(ms(20), Seg::new(9001, 1502, 100, 0)).unwrap();
    assert_eq!(closed.acknowledgment_number, 1502);
}

#[test]
fn some_connections_are_left_alone() {
    let seen = |mut acks: EarlyAcks| {
        let data = Seg::new(1001, 9001, 500, 100);
        assert!(acks.take_local(&data.packet(true)));
        acks.sent(0, &data.symbol(true));
        acks.report(ms(9), &SymbolReport { next_undecoded: 1, end: 1, ..SymbolReport::default() });
        assert_eq!(acks.poll_local(), None);
        assert!(acks.take_remote(ms(10), &mut Seg::new(9001, 1001, 9, 0).symbol(false)));
        assert_eq!(acks.counts(), EarlyAckCounts::default());
    };
    // The SYNs were not seen.
    seen(EarlyAcks::default());
    // The SYN has accurate ECN, Multipath TCP, TCP-AO or MD5.
    for kind in [0, 30, 29, 19] {
        let mut acks = EarlyAcks::default();
        let mut syn = Seg { options: vec![TcpOptionElement::Timestamp(1, 0)], ..Seg::syn(1000, None) }.packet(true);
        match kind {
            0 => syn[32] |= 1,
            kind => syn[40] = kind,
        }
        assert!(acks.take_local(&syn));
        assert!(acks.take_remote(ms(0), &mut Seg::syn(9000, Some(1001)).symbol(false)));
        seen(acks);
    }
}

#[test]
fn a_connection_that_the_remote_tcp_opens_is_answered_too() {
    let mut acks = EarlyAcks::default();
    // Without the options, the window is not scaled, and there are no timestamps.
    let plain = |seg: Seg| Seg { options: Vec::new(), ..seg };
    assert!(acks.take_remote(ms(0), &mut plain(Seg::syn(u32::MAX - 5, None)).symbol(false)));
    assert!(acks.take_local(&plain(Seg::syn(u32::MAX - 7, Some(u32::MAX - 4))).packet(true)));
    assert!(acks.take_remote(ms(1), &mut Seg::new(u32::MAX - 4, u32::MAX - 6, 5000, 0).symbol(false)));
    let data = Seg::new(u32::MAX - 6, u32::MAX - 4, 500, 1000);
    assert!(acks.take_local(&data.packet(true)));
    acks.sent(0, &data.symbol(true));
    acks.report(ms(9), &SymbolReport { next_undecoded: 1, end: 1, ..SymbolReport::default() });
    let (early, _) = read(&acks.poll_local().unwrap());
    assert_eq!((early.acknowledgment_number, early.window_size, early.options.len()), (993, 4000, 0));
}

#[test]
fn symbols_that_are_given_up_are_not_seen() {
    let mut open = Opened::new(Seg::default());
    open.data(1001, 1000);
    open.data(2001, 1000);
    open.acks.given_up(1);
    open.see(ms(10), &[]);
    assert!(open.early().is_none(), "the peer waits for nothing, because symbol 0 was given up");
    // The local TCP sends the segment again.
    open.data(1001, 1000);
    open.see(ms(20), &[]);
    assert_eq!(open.early().unwrap().acknowledgment_number, 3001);
}

#[test]
fn an_end_that_stops_resets_what_it_owes() {
    for owes in [true, false] {
        let mut open = Opened::new(Seg::default());
        open.data(1001, 1000);
        open.see(ms(10), if owes { &[] } else { &[0] });
        assert_eq!(open.early().is_some(), owes);
        open.acks.close();
        assert_eq!(open.early().is_some_and(|rst| rst.rst), owes);
        assert_eq!(open.acks.poll_remote().is_some(), owes);
        assert_eq!(open.acks.counts().resets, u64::from(owes));
    }
}

#[test]
fn a_rst_ends_the_connection() {
    let mut open = Opened::new(Seg::default());
    open.data(1001, 1000);
    open.see(ms(10), &[]);
    open.early().unwrap();
    // The local TCP ignores a RST with a wrong number.
    assert!(open.remote(ms(20), Seg { rst: true, ..Seg::new(8000, 1001, 0, 0) }).is_some_and(|rst| rst.rst));
    assert!(open.acks.bytes() > 0);
    assert!(open.remote(ms(20), Seg { rst: true, ..Seg::new(9001, 1001, 0, 0) }).is_some_and(|rst| rst.rst));
    assert_eq!((open.acks.bytes(), open.acks.flows.len()), (0, 0));
}

#[test]
fn connections_and_memory_are_bounded() {
    let mut acks = EarlyAcks::default();
    for n in 0..20_000 {
        assert!(acks.take_local(&Seg { port: n, ..Seg::syn(1, None) }.packet(true)));
        assert!(acks.flows.len() <= MAX_FLOWS && acks.order.len() <= 2 * MAX_FLOWS + 1);
    }
    assert!(acks.flows.len() == MAX_FLOWS && acks.counts().refused == 0);
    let mut open = Opened::new(Seg::default());
    open.acks.set_limit(Some(3_000));
    for n in 0..5 {
        open.data(1001 + 1000 * n, 1000);
    }
    open.see(ms(10), &[]);
    assert_eq!(open.early().unwrap().acknowledgment_number, 3001, "two segments found room");
    assert!(open.acks.bytes() <= 3_000 && open.acks.counts().no_room == 3);
    // The other segments stay end to end.
    assert_eq!(open.remote(ms(20), Seg::new(9001, 6001, 100, 0)).unwrap().acknowledgment_number, 6001);
    // A connection that owes data is not forgotten for new ones.
    open.acks.set_limit(None);
    open.data(6001, 1000);
    open.see(ms(30), &[]);
    for n in 1..20_000 {
        open.acks.take_local(&Seg { port: n, ..Seg::syn(1, None) }.packet(true));
    }
    assert!(open.acks.flows.values().any(Flow::owes) && open.acks.flows.len() == MAX_FLOWS);
}
