//! Connections whose data is gone: an earlier process of this end has acknowledged the data early, and has not delivered it.
//!
//! After a restart of this end, the local TCP goes on after the data that was acknowledged, and the remote TCP still asks
//! for this data. The local TCP has forgotten it, so neither TCP can go on. This end can tell: the local TCP sends the same
//! segment again and again, although the remote TCP asks for an earlier one. A TCP that has the earlier data sends it first
//! (RFC 6298, section 5.4).

use super::flow::Connection;
use super::segment::{ACK, Bare, FIN, RST, SYN, Segment};
use ripstop_codes::Symbol;
use std::collections::BTreeMap;

/// Largest number of connections that are watched. When there are more, all are forgotten, and the TCPs' next repetitions
/// are watched anew. Half the value suffices for a host with a few hundred transfers. Double the value takes 100 kB more.
const MOST: usize = 1024;
/// After this number of repetitions of a segment, each after a request for earlier data, the data is gone. A TCP repeats a
/// segment about 1, 3 and 7 s after it was sent. Half the value may take a tail loss probe (RFC 8985) for a proof. Double
/// the value takes about a minute longer.
const REPETITIONS: u8 = 3;

/// A connection of which this end knows no SYN.
#[derive(Clone, Copy, Debug)]
struct Orphan {
    /// The first sequence number that the local TCP still has.
    first: u32,
    /// How many times its segment was sent again after a request for earlier data.
    repetitions: u8,
    /// Whether the remote TCP has asked for earlier data since the segment was last sent.
    is_asked: bool,
    /// The acknowledgement number of the local TCP.
    ack: u32,
}

/// The connections of which this end knows no SYN, and whose local TCP sends data.
#[derive(Debug, Default)]
pub(super) struct Orphans(BTreeMap<Connection, Orphan>);

impl Orphans {
    /// Takes a segment of the local TCP.
    pub(super) fn take_local(&mut self, connection: Connection, segment: &Segment<'_>) {
        let Some(ack) = segment.ack().filter(|_| !segment.has(SYN) && (segment.len() > 0 || segment.has(FIN))) else {
            return;
        };
        if self.0.len() >= MOST && !self.0.contains_key(&connection) {
            self.0.clear();
        }
        let fresh = Orphan { first: segment.seq(), repetitions: 0, is_asked: false, ack };
        let orphan = self.0.entry(connection).or_insert(fresh);
        if is_before(segment.seq(), orphan.first) {
            *orphan = fresh;
        } else if segment.seq() == orphan.first {
            orphan.repetitions += u8::from(std::mem::take(&mut orphan.is_asked));
        }
        orphan.ack = ack;
    }

    /// Takes a segment of the remote TCP. Returns a RST for the local TCP and one for the remote TCP if the data that the
    /// remote TCP asks for is gone.
    pub(super) fn take_remote(&mut self, connection: Connection, segment: &Segment<'_>) -> Option<[Option<Symbol>; 2]> {
        let orphan = self.0.get_mut(&connection)?;
        let wanted = segment.ack()?;
        if !is_before(wanted, orphan.first) {
            // The remote TCP has all earlier data.
            self.0.remove(&connection);
            return None;
        }
        orphan.is_asked = true;
        if orphan.repetitions < REPETITIONS {
            return None;
        }
        let Orphan { first, ack, .. } = *orphan;
        self.0.remove(&connection);
        let Connection { local, remote } = connection;
        let rst = |source, destination, seq, ack| {
            Bare { source, destination, seq, ack, flags: RST | ACK, window: 0, timestamps: None }.to_symbol()
        };
        // Each TCP takes a RST with the number that it expects next (RFC 5961, section 3.2).
        Some([rst(remote, local, ack, first), rst(local, remote, wanted, ack)])
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn remove(&mut self, connection: &Connection) {
        self.0.remove(connection);
    }
}

/// Whether the sequence number `a` comes before `b` (RFC 9293, section 3.4).
fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
