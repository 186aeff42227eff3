//! One connection: what its receiver has announced, what the local TCP was told, and what the receiver still owes.
//!
//! *Local* is the TCP behind this end of the tunnel, which sends the data. *Remote* is the TCP behind the peer, which
//! receives the data. `store.rs` explains the offsets.

use super::recovery::Recovery;
use super::segment::{ACK, Bare, ECE, FIN, RST, SYN, Segment, refresh};
use super::store::Store;
use super::syns::Syns;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::net::SocketAddr;
use std::time::Duration;

/// Number of segments sent again for each acknowledgement during recovery, as in a slow start. Half the value needs one
/// round trip for each lost segment. Double the value sends bursts where the queue behind the peer was full.
const PER_ACKNOWLEDGEMENT: usize = 2;

/// The addresses of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// The local TCP.
    pub local: SocketAddr,
    /// The remote TCP, behind the peer.
    pub remote: SocketAddr,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// At least one of the two SYNs is known.
    Opening,
    /// Both SYNs and an acknowledgement of the remote TCP are known.
    Open,
    /// The connection may not be answered early.
    Untouched,
    /// The connection was reset. Further segments are answered with RST.
    Reset,
}

/// What to do with a segment of the local TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromLocal {
    /// The tunnel carries the segment.
    Carry,
    /// The local TCP repeats what was acknowledged early. The acknowledgement is repeated, and the segment not carried.
    Repeated,
}

/// What to do with a segment of the remote TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromRemote {
    /// Delivered as it is.
    Deliver,
    /// Delivered with this acknowledgement number and window.
    Change(u32, u16),
    /// Not delivered: the local TCP has already been told.
    Drop,
}

/// One connection.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) connection: Connection,
    pub(super) state: State,
    /// Whether the flow was used since it was last considered for eviction.
    pub(super) used: bool,
    /// Distinguishes flows of the same connection, one after the other.
    pub(super) generation: u64,
    pub(super) store: Store,
    syns: Syns,
    /// The local TCP's initial sequence number, which has offset 0.
    origin: u32,
    /// What the remote TCP has acknowledged itself.
    acked: u64,
    /// What the local TCP has been told. Not less than `acked`.
    told: u64,
    /// End of what the local TCP has sent.
    sent_to: u64,
    /// The right edge of the window that the remote TCP last announced.
    edge: u64,
    /// The highest right edge that the local TCP has been told.
    told_edge: u64,
    /// The next sequence number of the remote TCP, as far as its data has been delivered.
    remote_next: u32,
    /// The last TSval of the remote TCP that does not overtake its data.
    remote_time: u32,
    local: Newest,
    /// Whether the last acknowledgement of the remote TCP had the flag ECE.
    ece: bool,
    /// Whether the local TCP waits for an answer to a window probe or a keep-alive.
    probe: bool,
    /// The remote TCP owes an acknowledgement while `told` is more than `acked`.
    recovery: Recovery,
}

/// The header fields of the local TCP's newest segment. Segments that are sent again carry them.
#[derive(Debug, Default)]
struct Newest {
    /// The highest acknowledgement number: what the local TCP has received.
    ack: u32,
    window: u16,
    /// The timestamps: TSval, TSecr.
    times: (u32, u32),
}

impl Flow {
    pub(super) fn new(connection: Connection, generation: u64) -> Flow {
        Flow {
            connection,
            state: State::Opening,
            used: false,
            generation,
            store: Store::default(),
            syns: Syns::default(),
            origin: 0,
            acked: 0,
            told: 0,
            sent_to: 0,
            edge: 0,
            told_edge: 0,
            remote_next: 0,
            remote_time: 0,
            local: Newest::default(),
            ece: false,
            probe: false,
            recovery: Recovery::default(),
        }
    }

    /// Whether data was acknowledged early that the remote TCP has not acknowledged.
    pub(super) fn owes(&self) -> bool {
        self.recovery.is_owed()
    }

    /// Whether `segment` is a SYN of another connection between the same ports than the one that is known.
    pub(super) fn is_replaced_by(&self, segment: &Segment<'_>, local: bool) -> bool {
        let known = if local { self.syns.local } else { self.syns.remote };
        segment.has(SYN) && (self.state == State::Reset || known.is_some_and(|(seq, _)| seq != segment.seq()))
    }

    /// Whether a RST of the remote TCP ends the connection.
    pub(super) fn is_ended_by(&self, rst: &Segment<'_>) -> bool {
        self.state != State::Open || [self.remote_next, self.local.ack].contains(&rst.seq())
    }

    /// Takes a segment of the local TCP before the tunnel carries it.
    pub(super) fn take_local(&mut self, segment: &Segment<'_>) -> FromLocal {
        if segment.has(SYN) {
            self.syns.local = Some((segment.seq(), segment.syn_options()));
            self.origin = segment.seq();
            self.check_syns();
        }
        if let Some(ack) = segment.ack().filter(|ack| !is_after(self.local.ack, *ack) && !segment.has(SYN)) {
            self.local = Newest { ack, window: segment.window(), times: segment.timestamps().unwrap_or_default() };
        }
        if self.state != State::Open {
            return FromLocal::Carry;
        }
        let Some(start) = self.offset(segment.seq()) else { return FromLocal::Carry };
        let (len, end) = (segment.len(), start + u64::from(segment.len()));
        self.sent_to = self.sent_to.max(end + u64::from(segment.has(FIN)));
        if len <= 1 {
            self.probe |= start < self.told;
        } else if end <= self.told && end > self.acked && !segment.has(FIN | SYN) {
            return FromLocal::Repeated;
        }
        FromLocal::Carry
    }

    /// Takes a data segment that leaves as a symbol. Keeps it if it may be acknowledged early. Returns its place in the
    /// stream, if the peer's report about it is of interest.
    pub(super) fn keep(&mut self, segment: &Segment<'_>, packet: &Symbol, room: usize) -> Option<(u64, u64)> {
        let start = self.offset(segment.seq()).filter(|_| self.state == State::Open && segment.len() > 0)?;
        let end = start + u64::from(segment.len());
        let fits = start >= self.acked && end > self.told && end <= self.edge && !segment.has(SYN);
        (fits && self.store.insert(start, end, packet, room)).then_some((start, end))
    }

    /// The acknowledgement for what the peer has seen; None: the local TCP knows it.
    pub(super) fn acknowledge(&mut self, now: Time, wait: Duration) -> Option<Symbol> {
        let to = self.store.seen_to().0.min(self.edge);
        if self.state != State::Open || to <= self.told {
            return None;
        }
        self.told = to;
        self.recovery.owe(now, wait);
        self.repeat_acknowledgement()
    }

    /// The acknowledgement of what the local TCP has been told, once more.
    pub(super) fn repeat_acknowledgement(&mut self) -> Option<Symbol> {
        self.told_edge = self.told_edge.max(self.edge);
        let timestamps = self.syns.have_timestamps().then_some((self.remote_time, self.store.seen_to().1));
        Bare {
            source: self.connection.remote,
            destination: self.connection.local,
            seq: self.next_of_remote(),
            ack: self.wire(self.told),
            flags: if self.ece { ACK | ECE } else { ACK },
            window: self.window(),
            timestamps,
        }
        .to_symbol()
    }

    /// Takes a segment of the remote TCP, just before it is delivered.
    pub(super) fn take_remote(&mut self, now: Time, segment: &Segment<'_>, wait: Duration) -> FromRemote {
        let (len, seq) = (segment.len(), segment.seq());
        if segment.has(SYN) {
            self.syns.remote = Some((seq, segment.syn_options()));
            self.remote_next = seq.wrapping_add(1);
            self.local.ack = self.remote_next;
            self.check_syns();
        }
        self.take_sequence(segment, seq, len);
        let Some(ack) = segment.ack() else { return FromRemote::Deliver };
        let opened = self.state == State::Opening && self.open(ack);
        if self.state != State::Open || (segment.has(SYN) && !opened) {
            return FromRemote::Deliver;
        }
        let bare = len == 0 && !segment.has(SYN | FIN | RST);
        let Some(at) = self.offset(ack).filter(|at| *at <= self.sent_to) else { return FromRemote::Deliver };
        if at < self.acked {
            // An acknowledgement that a newer one has overtaken.
            return if bare { FromRemote::Drop } else { FromRemote::Change(self.wire(self.told), self.window()) };
        }
        let progress = at > self.acked;
        let scale = if segment.has(SYN) { 0 } else { self.syns.scale() };
        let edge = at + (u64::from(segment.window()) << scale);
        let same_window = edge == self.edge;
        self.edge = if progress { edge } else { edge.max(self.edge) };
        let news = segment.has(ECE) && !self.ece;
        self.ece = segment.has(ECE);
        if progress {
            self.progress(now, at, wait);
        } else if bare && same_window && at < self.told {
            self.recovery.duplicate();
        }
        if at > self.told || (at == self.told && !progress) {
            (self.told, self.told_edge) = (at, self.told_edge.max(edge));
            return FromRemote::Deliver;
        }
        // The local TCP has this number already. A bare acknowledgement would count as a duplicate, unless it changes
        // the window.
        let wanted = !bare || news || std::mem::take(&mut self.probe) || self.edge > self.told_edge;
        if !wanted {
            return FromRemote::Drop;
        }
        self.told_edge = self.told_edge.max(self.edge);
        if at == self.told { FromRemote::Deliver } else { FromRemote::Change(self.wire(self.told), self.window()) }
    }

    /// The segments to send again now: after duplicates, during recovery, or because the time is up.
    pub(super) fn repeat(&mut self, now: Time, wait: Duration) -> Vec<Symbol> {
        let all = self.store.first().map(|first| (first, self.told));
        if self.recovery.begin_if_lost(now, wait, all) { self.repeat_some(1) } else { Vec::new() }
    }

    /// All stored segments: a new session has begun, and the old one may have lost them.
    pub(super) fn repeat_all(&mut self, now: Time, wait: Duration) -> Vec<Symbol> {
        self.recovery.begin_anew(now, wait);
        self.store.starting_at(0).map(|(_, _, packet)| self.refreshed(packet)).collect()
    }

    /// The segments that recovery sends after progress.
    pub(super) fn repeat_after_progress(&mut self) -> Vec<Symbol> {
        match self.recovery.after(self.acked) {
            Some(_) => self.repeat_some(PER_ACKNOWLEDGEMENT),
            None => Vec::new(),
        }
    }

    /// Whether the remote TCP has made no progress for too long.
    pub(super) fn has_failed(&self, now: Time) -> bool {
        self.recovery.has_failed(now)
    }

    /// Resets the connection. Returns the RST for the local TCP and the RST for the remote TCP.
    pub(super) fn reset(&mut self) -> [Option<Symbol>; 2] {
        self.state = State::Reset;
        let local = self.rst_to_local(self.next_of_remote());
        let remote = self.rst_to_remote(self.wire(self.acked));
        self.store.begin(self.acked);
        self.recovery.end();
        [local, remote]
    }

    /// The RST for the remote TCP, whose next sequence number is `seq` or the last one that is known.
    pub(super) fn rst_for_remote(&self, segment: Option<&Segment<'_>>) -> Option<Symbol> {
        self.rst_to_remote(segment.and_then(Segment::ack).unwrap_or(self.wire(self.acked)))
    }

    /// The RST that answers a segment of the local TCP.
    pub(super) fn rst_for_local(&self, segment: &Segment<'_>) -> Option<Symbol> {
        self.rst_to_local(segment.ack().unwrap_or(self.next_of_remote()))
    }

    fn rst_to_local(&self, seq: u32) -> Option<Symbol> {
        let Connection { local, remote } = self.connection;
        let (ack, flags) = (self.wire(self.told), RST | ACK);
        Bare { source: remote, destination: local, seq, ack, flags, window: 0, timestamps: None }.to_symbol()
    }

    fn rst_to_remote(&self, seq: u32) -> Option<Symbol> {
        let Connection { local, remote } = self.connection;
        let (ack, flags) = (self.next_of_remote(), RST | ACK);
        Bare { source: local, destination: remote, seq, ack, flags, window: 0, timestamps: None }.to_symbol()
    }

    /// Decides whether the connection may be answered early when both SYNs are known.
    fn check_syns(&mut self) {
        if !self.syns.are_plain() {
            self.state = State::Untouched;
        }
    }

    /// Begins to answer, with the first acknowledgement after both SYNs. Returns false if it does not fit.
    fn open(&mut self, ack: u32) -> bool {
        let (Some((origin, _)), Some(_)) = (self.syns.local, self.syns.remote) else { return false };
        // The first acknowledgement covers the SYN, and perhaps data that the SYN carried (RFC 7413).
        let at = u64::from(ack.wrapping_sub(origin));
        if !(1..=0xffff).contains(&at) {
            return false;
        }
        (self.acked, self.told, self.edge, self.told_edge) = (at, at, at, at);
        self.sent_to = self.sent_to.max(at);
        self.store.begin(at);
        self.state = State::Open;
        true
    }

    /// Notes the sequence number and the timestamp of the remote TCP.
    fn take_sequence(&mut self, segment: &Segment<'_>, seq: u32, len: u32) {
        // If data of the remote TCP was lost and sent again, `remote_next` says too little.
        if self.syns.remote.is_none() || is_after(seq, self.next_of_remote()) {
            // A bare acknowledgement has overtaken data. With its timestamp, the local TCP would discard this data
            // (RFC 7323, section 5.3).
            return;
        }
        let end = seq.wrapping_add(len).wrapping_add(u32::from(segment.has(FIN)));
        if is_after(end, self.remote_next) {
            self.remote_next = end;
        }
        if let Some((value, _)) = segment.timestamps() {
            self.remote_time = value;
        }
    }

    /// Takes progress of the remote TCP's own acknowledgement.
    fn progress(&mut self, now: Time, at: u64, wait: Duration) {
        self.acked = at;
        self.store.acknowledge(at);
        self.recovery.progress(now, wait, self.told > at);
    }

    /// Sends the next `most` segments of the recovery again.
    fn repeat_some(&mut self, most: usize) -> Vec<Symbol> {
        let Some((next, until)) = self.recovery.range() else { return Vec::new() };
        let from = next.max(self.store.first().unwrap_or(until));
        let due = self.store.starting_at(from).take_while(|(start, ..)| *start < until).take(most);
        let (mut after, mut packets) = (from, Vec::new());
        for (start, _, packet) in due {
            after = start + 1;
            packets.push(self.refreshed(packet));
        }
        self.recovery.set_range((after, until));
        packets
    }

    /// A stored segment with the acknowledgement and the timestamps of the local TCP's newest segment.
    ///
    /// The remote TCP discards data whose TSval is older than that of an earlier part of the stream (RFC 7323, section
    /// 5.3). The local TCP may have sent such a part again, with a newer TSval. Linux also discards segments whose
    /// acknowledgement is older than a whole window (RFC 5961, section 5.2).
    fn refreshed(&self, packet: &Symbol) -> Symbol {
        let mut packet = packet.clone();
        packet.edit(|bytes| refresh(&mut bytes[1..], self.local.ack, self.local.window, self.local.times));
        packet
    }

    /// The window to announce: up to the right edge, never beyond it.
    fn window(&self) -> u16 {
        (self.edge.saturating_sub(self.told) >> self.syns.scale()).min(0xffff) as u16
    }

    /// The next sequence number that the local TCP expects of the remote TCP.
    fn next_of_remote(&self) -> u32 {
        if is_after(self.local.ack, self.remote_next) { self.local.ack } else { self.remote_next }
    }

    /// The offset of a sequence number: the nearest one to `acked`. None: it would be negative.
    fn offset(&self, seq: u32) -> Option<u64> {
        let distance = seq.wrapping_sub(self.wire(self.acked)) as i32;
        self.acked.checked_add_signed(i64::from(distance))
    }

    fn wire(&self, offset: u64) -> u32 {
        self.origin.wrapping_add(offset as u32)
    }
}

/// Whether the sequence number `a` comes after `b` (RFC 9293, section 3.4).
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}
