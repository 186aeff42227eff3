//! Early acknowledgements: the sending side of the tunnel answers a TCP as soon as the peer has *seen* a segment
//! (paper 000, section IV). Decoding, the way to the receiver, and the receiver's acknowledgement take longer.
//!
//! ```text
//!   local TCP --data--> take_local --> tunnel --> sent (symbol id) ............ peer --> remote TCP
//!             <--ACK--- poll_local <-- seen ids of the peer's report <---------
//!             <-------- take_remote: the remote TCP's own segments, with later acknowledgement numbers
//! ```
//!
//! An early acknowledgement is a promise: the local TCP forgets the data, and will not send it again. So this module
//! keeps each segment until the remote TCP has acknowledged it, and sends it again when the session, or the way behind
//! the peer, has lost it. If the remote TCP makes no progress for 100 s, both TCPs get a RST: no data is lost without an
//! error.
//!
//! Rules:
//!
//! - Only connections whose SYNs were seen are answered: the window scale and the timestamps option must be known.
//! - The acknowledgement number plus the window never exceeds what the remote TCP has announced (RFC 9293, section
//!   3.8.6).
//! - SYN and FIN are never acknowledged early. Opening and closing stay end to end.
//! - A segment that finds no room in the store is carried, but not acknowledged early.

mod flow;
mod orphans;
mod recovery;
mod segment;
mod store;
mod syns;
#[cfg(test)]
mod tests;

pub use flow::Connection;

use crate::packets::Gap;
use crate::packets::symbol::unframe;
use crate::wire::SymbolReport;
use flow::{Flow, FromLocal, FromRemote, State};
use orphans::Orphans;
use ripstop_base::Time;
use ripstop_base::counters;
use ripstop_codes::Symbol;
use segment::{RST, SYN, Segment, set_acknowledgement};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Largest number of connections of one peer. Further connections stay end to end, unless an idle one can be forgotten.
/// With half the value, connections of busy networks stay end to end sooner. Double the value takes another 2 MB.
const MAX_FLOWS: usize = 4096;
/// Number of connections that are considered for eviction when a new one needs room. Half the value leaves more new
/// connections end to end. Double the value makes a flood of SYNs twice as costly.
const EVICTION_TRIES: usize = 8;
/// Largest memory for the segments of one connection. The window of a connection with more data in flight is answered
/// partly. 16 MB last 128 ms at 1 Gbit/s. Half and double the value halve and double this time.
const MAX_FLOW_BYTES: usize = 16_000_000;
/// Largest memory for the segments of all connections to one peer. Half the value serves half as many fast connections.
/// Double the value lets them take more of the memory of the process.
const MAX_BYTES: usize = 64_000_000;
/// Time between two checks for segments that must be sent again. Half the value wakes the process twice as often.
/// Double the value delays a repetition by up to half a second.
const CHECK_EVERY: Duration = Duration::from_millis(250);

/// Shortest time between two repetitions of all stored segments. A peer can begin a hundred sessions a second, and each
/// would repeat up to [`MAX_BYTES`]. Half the value lets a hostile peer cause twice the work. Double the value delays the
/// segments of a peer that restarts two times within 2 s.
const REPEAT_EVERY: Duration = Duration::from_secs(1);

counters! {
    /// What early acknowledgements have done so far.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct EarlyAckCounts {
        /// Early acknowledgements sent to TCPs on this host's side.
        pub sent: u64 => ("sent", "early_acks_total"),
        /// Acknowledgements of the receiving TCPs that were not delivered, because the sending TCP had been told.
        pub suppressed: u64 => ("suppressed", "acks_suppressed_total"),
        /// Segments of the receiving TCPs that were delivered with a later acknowledgement number.
        pub changed: u64 => ("changed"),
        /// Segments of the sending TCPs that were answered and not carried, because they repeated acknowledged
        /// data.
        pub answered: u64 => ("answered"),
        /// Segments that this host has sent again.
        pub resent: u64 => ("resent", "segments_resent_total"),
        /// Segments that found no room, and were not acknowledged early.
        pub no_room: u64 => ("no_room"),
        /// Connections that found no room, and stayed end to end.
        pub refused: u64 => ("refused"),
        /// TCP connections reset, because data that was acknowledged early could not be delivered.
        pub resets: u64 => ("resets", "connections_reset_total"),
    }
}

/// A segment whose symbol was sent, and that the peer has not seen.
#[derive(Clone, Copy, Debug)]
struct Pending {
    id: u64,
    connection: Connection,
    generation: u64,
    start: u64,
    end: u64,
    timestamp: u32,
}

/// The connections through one peer.
#[derive(Debug)]
pub struct EarlyAcks {
    flows: BTreeMap<Connection, Flow>,
    orphans: Orphans,
    /// Connections and their generations in the order of eviction: the least recently used ones first (second chance).
    order: VecDeque<(Connection, u64)>,
    generation: u64,
    /// Ascending by symbol.
    pending: VecDeque<Pending>,
    bytes: usize,
    limit: usize,
    /// When to check for segments that must be sent again. None: no connection owes anything.
    check_at: Option<Time>,
    /// When all stored segments were last sent again.
    repeated_at: Option<Time>,
    /// When to send all stored segments again, because the last repetition was too recent.
    repeat_at: Option<Time>,
    /// The wait for an acknowledgement of a remote TCP: 4 round trips of the tunnel.
    wait: Duration,
    to_local: VecDeque<Symbol>,
    to_remote: VecDeque<Symbol>,
    reset: VecDeque<Connection>,
    compared: u64,
    counts: EarlyAckCounts,
}

impl Default for EarlyAcks {
    fn default() -> EarlyAcks {
        EarlyAcks {
            flows: BTreeMap::new(),
            orphans: Orphans::default(),
            order: VecDeque::new(),
            generation: 0,
            pending: VecDeque::new(),
            bytes: 0,
            limit: MAX_BYTES,
            check_at: None,
            repeated_at: None,
            repeat_at: None,
            wait: Duration::ZERO,
            to_local: VecDeque::new(),
            to_remote: VecDeque::new(),
            reset: VecDeque::new(),
            compared: 0,
            counts: EarlyAckCounts::default(),
        }
    }
}

impl EarlyAcks {
    /// Takes a packet of the local side before the tunnel carries it. Returns false if the tunnel must not carry it.
    pub fn take_local(&mut self, packet: &[u8]) -> bool {
        let Some(segment) = Segment::parse(packet) else { return true };
        let connection = Connection { local: segment.source, remote: segment.destination };
        if segment.has(RST) {
            self.remove(&connection);
            self.orphans.remove(&connection);
            return true;
        }
        let Some(flow) = self.flow(connection, &segment, true) else {
            self.orphans.take_local(connection, &segment);
            return true;
        };
        if flow.state == State::Reset {
            let answer = flow.rst_for_local(&segment);
            self.to_local.extend(answer);
            return false;
        }
        if flow.take_local(&segment) == FromLocal::Carry {
            return true;
        }
        let answer = flow.repeat_acknowledgement();
        self.counts.sent += u64::from(answer.is_some());
        self.to_local.extend(answer);
        self.counts.answered += 1;
        false
    }

    /// Takes the packet that leaves as symbol `id`. `symbol` holds the packet and its gap.
    pub fn sent(&mut self, id: u64, symbol: &Symbol) {
        let Ok((gap, packet)) = unframe(symbol.as_slice()) else { return };
        let Some(segment) = Segment::parse(packet) else { return };
        let connection = Connection { local: segment.source, remote: segment.destination };
        let Some(flow) = self.flows.get_mut(&connection).filter(|flow| flow.state == State::Open) else { return };
        let before = flow.store.bytes();
        let room = MAX_FLOW_BYTES.min(before + self.limit.saturating_sub(self.bytes));
        // A stored packet gets another gap when it is sent again, so an exact gap behind it is cut off.
        let symbol = match gap.trailer() {
            Some(_) => &Symbol::from_parts(&[&[Gap::NONE.nibble()], packet]),
            None => symbol,
        };
        let kept = flow.keep(&segment, symbol, room);
        self.bytes = self.bytes + flow.store.bytes() - before;
        let Some((start, end)) = kept else {
            self.counts.no_room += u64::from(segment.len() > 0 && before + symbol.len() > room);
            return;
        };
        let timestamp = segment.timestamps().map_or(0, |(value, _)| value);
        self.pending.push_back(Pending { id, connection, generation: flow.generation, start, end, timestamp });
    }

    /// Takes a report of the peer: acknowledges what the peer has seen.
    pub fn report(&mut self, now: Time, report: &SymbolReport) {
        let listed: u64 = report.unseen.iter().map(|range| range.end - range.start).sum();
        // If the list of unseen symbols was cut, nothing is known of the symbols after it.
        let known_to = match report.unseen.last() {
            _ if u64::from(report.deficit) <= listed => report.end,
            Some(last) => last.end,
            None => report.next_undecoded,
        };
        let known = self.pending.partition_point(|pending| pending.id < known_to);
        self.compared += known as u64;
        let mut unseen = report.unseen.iter().peekable();
        let (mut left, mut changed) = (Vec::new(), Vec::new());
        for pending in self.pending.drain(..known) {
            while unseen.peek().is_some_and(|range| range.end <= pending.id) {
                unseen.next();
            }
            if pending.id >= report.next_undecoded && unseen.peek().is_some_and(|range| range.contains(&pending.id)) {
                left.push(pending);
            } else if let Some(flow) = self.flows.get_mut(&pending.connection)
                && flow.generation == pending.generation
            {
                flow.store.see(pending.start, pending.end, pending.timestamp);
                if changed.last() != Some(&pending.connection) {
                    changed.push(pending.connection);
                }
            }
        }
        left.into_iter().rev().for_each(|pending| self.pending.push_front(pending));
        for connection in changed {
            let Some(flow) = self.flows.get_mut(&connection) else { continue };
            if let Some(answer) = flow.acknowledge(now, self.wait) {
                self.counts.sent += 1;
                self.to_local.push_back(answer);
                self.check_at.get_or_insert(now + CHECK_EVERY);
            }
        }
    }

    /// The tunnel has given up the symbols before `base` that are not known to be decoded. They no longer count as seen
    /// when the peer reports that it waits for none of them.
    pub fn given_up(&mut self, base: u64) {
        while self.pending.front().is_some_and(|pending| pending.id < base) {
            self.pending.pop_front();
        }
    }

    /// Takes a packet of the remote side, as a symbol, before it is delivered. May change it. Returns false if it must
    /// not be delivered.
    pub fn take_remote(&mut self, now: Time, symbol: &mut Symbol) -> bool {
        let Some(segment) = symbol.as_slice().get(1..).and_then(Segment::parse) else { return true };
        let connection = Connection { local: segment.destination, remote: segment.source };
        if segment.has(RST) {
            // The local TCP ignores a RST with another sequence number (RFC 5961).
            if self.flows.get(&connection).is_some_and(|flow| flow.is_ended_by(&segment)) {
                self.remove(&connection);
            }
            return true;
        }
        let wait = self.wait;
        let Some(flow) = self.flow(connection, &segment, false) else {
            if let Some([local, remote]) = self.orphans.take_remote(connection, &segment) {
                self.to_local.extend(local);
                self.to_remote.extend(remote);
                self.reset.push_back(connection);
                self.counts.resets += 1;
            }
            return true;
        };
        if flow.state == State::Reset {
            let answer = flow.rst_for_remote(Some(&segment));
            self.to_remote.extend(answer);
            return false;
        }
        let before = flow.store.bytes();
        let verdict = flow.take_remote(now, &segment, wait);
        let freed = before - flow.store.bytes();
        let again = match freed {
            0 => flow.repeat(now, wait),
            _ => flow.repeat_after_progress(),
        };
        self.bytes -= freed;
        self.counts.resent += again.len() as u64;
        self.to_remote.extend(again);
        match verdict {
            FromRemote::Deliver => true,
            FromRemote::Change(ack, window) => {
                self.counts.changed += 1;
                symbol.edit(|bytes| set_acknowledgement(&mut bytes[1..], ack, window));
                true
            }
            FromRemote::Drop => {
                self.counts.suppressed += 1;
                false
            }
        }
    }

    /// A new session has begun. `srtt` is its round-trip time. All stored segments are sent again, because the old
    /// session may have lost them. If they were sent again less than a second ago, they are sent later.
    pub fn new_session(&mut self, now: Time, srtt: Duration) {
        self.pending.clear();
        self.compared = 0;
        self.wait = 4 * srtt;
        self.repeat_at = Some(self.repeated_at.map_or(now, |last| now.max(last + REPEAT_EVERY)));
        self.repeat_all(now);
    }

    /// Sends all stored segments again, if this is due.
    fn repeat_all(&mut self, now: Time) {
        if self.repeat_at.take_if(|at| *at <= now).is_none() {
            return;
        }
        for flow in self.flows.values_mut() {
            if flow.state == State::Reset {
                self.to_remote.extend(flow.rst_for_remote(None));
            }
            let again = flow.repeat_all(now, self.wait);
            self.counts.resent += again.len() as u64;
            self.to_remote.extend(again);
        }
        if !self.to_remote.is_empty() {
            self.repeated_at = Some(now);
        }
    }

    /// Does what is due. `srtt` is the round-trip time of the tunnel; None: there is no session now, so nothing can be
    /// sent again.
    pub fn handle_timeout(&mut self, now: Time, srtt: Option<Duration>) {
        match srtt {
            Some(_) => self.repeat_all(now),
            // The next session begins with a repetition.
            None => self.repeat_at = None,
        }
        if self.check_at.is_none_or(|at| at > now) {
            return;
        }
        self.wait = srtt.map_or(self.wait, |srtt| 4 * srtt);
        let mut failed = Vec::new();
        let mut owes = false;
        for flow in self.flows.values_mut().filter(|flow| flow.owes()) {
            if flow.has_failed(now) {
                failed.push(flow.connection);
                continue;
            }
            owes = true;
            if srtt.is_some() {
                let again = flow.repeat(now, self.wait);
                self.counts.resent += again.len() as u64;
                self.to_remote.extend(again);
            }
        }
        self.check_at = owes.then_some(now + CHECK_EVERY);
        failed.iter().for_each(|connection| self.reset(connection));
    }

    /// When to call [`EarlyAcks::handle_timeout`].
    pub fn poll_timeout(&self) -> Option<Time> {
        [self.check_at, self.repeat_at].into_iter().flatten().min()
    }

    /// Resets all connections with data that was acknowledged early and is not delivered, because this end stops.
    pub fn close(&mut self) {
        let owing: Vec<Connection> =
            self.flows.values().filter(|flow| flow.owes()).map(|flow| flow.connection).collect();
        owing.iter().for_each(|connection| self.reset(connection));
    }

    /// The next packet for the local side, as a symbol.
    pub fn poll_local(&mut self) -> Option<Symbol> {
        self.to_local.pop_front()
    }

    /// The next packet that the tunnel must carry, as a symbol.
    pub fn poll_remote(&mut self) -> Option<Symbol> {
        self.to_remote.pop_front()
    }

    /// The next connection that was reset.
    pub fn poll_reset(&mut self) -> Option<Connection> {
        self.reset.pop_front()
    }

    /// Memory of the stored segments, bytes. Segments that the tunnel still keeps count twice.
    pub fn bytes(&self) -> usize {
        self.bytes + self.pending.len() * size_of::<Pending>()
    }

    /// Limits the memory for segments. Segments that were stored before stay. None: no limit besides the normal one.
    pub fn set_limit(&mut self, bytes: Option<usize>) {
        self.limit = bytes.unwrap_or(MAX_BYTES).min(MAX_BYTES);
    }

    /// Number of segments that the reports of this session were compared with.
    pub fn compared(&self) -> u64 {
        self.compared
    }

    /// What was done so far.
    pub fn counts(&self) -> EarlyAckCounts {
        self.counts
    }

    /// The flow of a segment. A SYN makes a new flow.
    fn flow(&mut self, connection: Connection, segment: &Segment<'_>, local: bool) -> Option<&mut Flow> {
        if segment.has(SYN) {
            if self.flows.get(&connection).is_some_and(|flow| flow.is_replaced_by(segment, local)) {
                self.remove(&connection);
            }
            if !self.flows.contains_key(&connection) {
                // The answer to a SYN that is not known says too little.
                if segment.ack().is_some() || !self.make_room() {
                    return None;
                }
                self.generation += 1;
                self.flows.insert(connection, Flow::new(connection, self.generation));
                self.order.push_back((connection, self.generation));
            }
        }
        let flow = self.flows.get_mut(&connection)?;
        flow.used |= !segment.has(SYN);
        Some(flow)
    }

    /// Makes room for one more flow: forgets a connection that owes nothing and was not used for longest.
    fn make_room(&mut self) -> bool {
        // Entries of removed flows must not add up.
        if self.order.len() > 2 * MAX_FLOWS {
            let flows = &self.flows;
            self.order.retain(|(connection, generation)| {
                flows.get(connection).is_some_and(|flow| flow.generation == *generation)
            });
        }
        let mut tries = 0;
        while self.flows.len() >= MAX_FLOWS && tries < EVICTION_TRIES {
            let Some((connection, generation)) = self.order.pop_front() else { break };
            let Some(flow) = self.flows.get_mut(&connection).filter(|flow| flow.generation == generation) else {
                continue;
            };
            if flow.owes() || std::mem::take(&mut flow.used) {
                self.order.push_back((connection, generation));
                tries += 1;
            } else {
                self.remove(&connection);
            }
        }
        let room = self.flows.len() < MAX_FLOWS;
        self.counts.refused += u64::from(!room);
        room
    }

    fn remove(&mut self, connection: &Connection) {
        if let Some(flow) = self.flows.remove(connection) {
            self.bytes -= flow.store.bytes();
        }
    }

    fn reset(&mut self, connection: &Connection) {
        let Some(flow) = self.flows.get_mut(connection) else { return };
        self.bytes -= flow.store.bytes();
        let [local, remote] = flow.reset();
        self.to_local.extend(local);
        self.to_remote.extend(remote);
        self.reset.push_back(*connection);
        self.counts.resets += 1;
    }
}
