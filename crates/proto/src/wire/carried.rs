//! A check that a typed packet does not change when it is written to the wire and parsed. In debug
//! builds, sessions run this check on each packet.

use super::body::{emit_body, parse_body};
use super::context::WireContext;
use super::header::Kind;
use super::kind::SymbolKind;
use super::packet::Packet;
use ripstop_codes::{Payload, Symbol};

impl<P: Payload> Packet<P> {
    /// Emits the packet, parses the bytes, and compares the parsed packet with the original one.
    ///
    /// The payload is replaced by zeros of the same length. So packets of the simulator, whose
    /// payload may be only a length, can be checked too. `near` holds the numbers that the receiver
    /// knows. If `near` is `None`, the check uses the packet's own numbers.
    ///
    /// # Errors The format does not carry the packet unchanged. The text names the faulty field or
    /// shows the difference.
    pub fn check_carried(&self, near: Option<&WireContext>) -> Result<(), String> {
        let packet = self.with_zeros();
        let mut buffer = vec![0; packet.body_len()];
        let emitted = emit_body(&packet, &mut buffer).map_err(|error| error.to_string())?;
        if emitted != buffer.len() {
            return Err(format!("{emitted} bytes were emitted; the computed length is {}", buffer.len()));
        }
        let own = near.is_none().then(|| packet.nearest());
        let near = near.or(own.as_ref()).cloned().unwrap_or_default();
        let parsed = parse_body(Kind::of(&packet), &buffer, &near).map_err(|error| error.to_string())?;
        if parsed == packet { Ok(()) } else { Err(format!("sent {packet:?}, parsed {parsed:?}")) }
    }

    /// The packet with a payload of zeros. A source symbol keeps its kind.
    fn with_zeros(&self) -> Packet<Symbol> {
        let zeros = |len: usize| Symbol::build(len, |_| ());
        let source = |len: usize, kind: SymbolKind| {
            Symbol::build(len, |bytes| {
                if let Some(first) = bytes.first_mut() {
                    *first = kind.first_byte(0);
                }
            })
        };
        match self {
            Packet::Source { id, kind, payload } => {
                Packet::Source { id: *id, kind: *kind, payload: source(payload.len(), *kind) }
            }
            Packet::Repair { members, coding, payload } => {
                Packet::Repair { members: members.clone(), coding: coding.clone(), payload: zeros(payload.len()) }
            }
            Packet::BlockRepair { first, k, number, payload } => {
                Packet::BlockRepair { first: *first, k: *k, number: *number, payload: zeros(payload.len()) }
            }
            Packet::Feedback(feedback) => Packet::Feedback(feedback.clone()),
            Packet::Window(window) => Packet::Window(*window),
            Packet::Probe { padding } => Packet::Probe { padding: *padding },
            Packet::Close => Packet::Close,
            Packet::Challenge { token } => Packet::Challenge { token: *token },
            Packet::Answer { token } => Packet::Answer { token: *token },
        }
    }
}

impl Packet<Symbol> {
    /// The context of a receiver whose numbers are the packet's own.
    fn nearest(&self) -> WireContext {
        let mut near = WireContext::default();
        match self {
            Packet::Source { id, .. } => near.id_near = *id,
            Packet::Repair { members, .. } => near.id_near = members.first().unwrap_or(0),
            Packet::BlockRepair { first, .. } => near.id_near = *first,
            Packet::Window(window) => near.id_near = window.base,
            Packet::Feedback(feedback) => {
                if let Some(path) = &feedback.path {
                    near.sent_number = path.largest;
                    near.reported.update(path);
                }
                if let Some(symbols) = &feedback.symbols {
                    (near.sent_id, near.redundant) = (symbols.next_undecoded, symbols.redundant);
                }
            }
            Packet::Probe { .. } | Packet::Close | Packet::Challenge { .. } | Packet::Answer { .. } => {}
        }
        near
    }
}
