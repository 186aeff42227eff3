//! Between datagrams and the peers' tunnels: parses the bodies of opened datagrams, and writes and seals the datagrams
//! that leave.

use super::{Endpoint, Outgoing, get};
use crate::path::PathPacket;
use crate::secure::{PeerId, SecureTransmit};
use crate::session::Reception;
use crate::session::Transmit;
use crate::session::tunnel::RANGE_WORK;
use crate::wire::handshake::{COOKIE_REPLY, INITIATION, RESPONSE};
use crate::wire::{HEADER_LEN, Kind, Packet, TAG_LEN, emit_body, parse_body};
use ripstop_base::Time;
use std::net::SocketAddr;

impl Endpoint {
    /// Parses the decrypted body of a datagram, and passes it to the peer's tunnel. A datagram of
    /// an earlier epoch is dropped.
    #[expect(clippy::too_many_arguments, reason = "the parts of one opened datagram")]
    pub(super) fn handle_body(
        &mut self,
        now: Time,
        from: SocketAddr,
        peer: PeerId,
        epoch: u64,
        number: u64,
        kind: Kind,
        body: &[u8],
        bytes: u32,
        reception: Reception,
    ) {
        let Some(path) = get(&mut self.paths, peer) else { return };
        if path.epoch != Some(epoch) {
            return;
        }
        let Some(near) = path.expand() else { return };
        // A report is refused before it is parsed, because parsing is a part of its work.
        if kind.is_report() {
            let asked = path.takes_report(now);
            if !asked || !self.work.allows_report(now, &mut path.work) {
                let (peer, all) = match asked {
                    true => (&mut path.over_work, &mut self.counters.over_work),
                    false => (&mut path.unasked_reports, &mut self.counters.unasked_reports),
                };
                *peer += 1;
                *all += 1;
                path.refuse_packet(now, number, None, bytes, reception);
                return;
            }
        }
        match parse_body(kind, body, &near) {
            Ok(packet) => {
                let is_allowed = match packet {
                    Packet::Repair { .. } | Packet::BlockRepair { .. } => self.work.allows(now, &mut path.work),
                    _ => true,
                };
                if !is_allowed {
                    path.over_work += 1;
                    self.counters.over_work += 1;
                    path.refuse_packet(now, number, Some(&packet), bytes, reception);
                    return;
                }
                match packet {
                    Packet::Challenge { token } => {
                        let is_admitted = self.secure.handle_challenge(peer, token, from);
                        if is_admitted {
                            path.request_path_packet(now, PathPacket::Answer(token));
                        }
                    }
                    Packet::Answer { token } => self.secure.handle_answer(peer, token),
                    _ => {}
                }
                path.handle_packet(now, number, packet, bytes, reception);
                path.charge(now, &mut self.work);
            }
            // The datagram is authentic, so the peer itself made the malformed body. The body was parsed up to the fault,
            // and may have listed as many ranges as it has bytes.
            Err(_) => {
                self.counters.body_malformed += 1;
                path.past_work += RANGE_WORK * body.len() as u64;
                path.charge(now, &mut self.work);
            }
        }
    }

    /// Takes one packet from a peer's tunnel, and writes it to `buffer` as a sealed datagram.
    pub(super) fn poll_peer(&mut self, now: Time, peer: PeerId, buffer: &mut [u8]) -> Option<Outgoing> {
        let path = get(&mut self.paths, peer)?;
        // Without a usable key, no packet may be taken from the tunnel, because the packet could
        // not be sealed. A peer that has closed the session would not receive it.
        if !path.has_session() || path.epoch.is_none() || self.secure.epoch(now, peer) != path.epoch {
            if path.wants_session(now) {
                self.connect(now, peer);
            }
            return None;
        }
        let epoch = path.epoch?;
        if self.secure.endpoint(peer).is_none() && !path.has_path_packet() {
            // The peer's only address is not proven yet. Only challenges may go there.
            return None;
        }
        let Transmit { packet: datagram, ect, .. } = path.poll_transmit(now)?;
        let end = buffer.len().checked_sub(TAG_LEN)?;
        let Ok(body) = emit_body(&datagram.packet, buffer.get_mut(HEADER_LEN..end)?) else {
            self.counters.unsendable += 1;
            return None;
        };
        let len = HEADER_LEN + body + TAG_LEN;
        let kind = Kind::of(&datagram.packet);
        let is_test = matches!(datagram.packet, Packet::Probe { padding } if padding > 0);
        let unproven = match datagram.packet {
            Packet::Challenge { token } => self.secure.challenged_address(peer, token),
            Packet::Answer { token } => self.secure.take_answered_address(peer, token),
            _ => None,
        };
        let sealed = self.secure.seal(now, peer, epoch, datagram.number, kind, &mut buffer[..len]);
        match sealed.ok().and_then(|endpoint| unproven.or(endpoint)) {
            Some(to) => Some(Outgoing { to, len, ect, is_test }),
            None => {
                self.counters.unsendable += 1;
                None
            }
        }
    }

    /// Writes a handshake datagram into `buffer`. If the datagram goes to a peer's address, notes the
    /// time: the time until the answer is the first estimate of the round-trip time.
    pub(super) fn send_handshake(&mut self, now: Time, sent: &SecureTransmit, buffer: &mut [u8]) -> Option<Outgoing> {
        let (to, len) = (sent.to, sent.contents.len());
        buffer.get_mut(..len)?.copy_from_slice(&sent.contents);
        if let Some(peer) = sent.peer.filter(|peer| self.secure.endpoint(*peer) == Some(to))
            && let Some(path) = get(&mut self.paths, peer)
        {
            path.note_handshake(now);
        }
        self.since_reply = 0;
        self.counters.datagrams_sent += 1;
        Some(Outgoing { to, len, ect: false, is_test: false })
    }
}

/// Whether the datagram is part of a handshake.
pub(super) fn is_handshake(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|kind| [INITIATION, RESPONSE, COOKIE_REPLY].contains(kind))
}
