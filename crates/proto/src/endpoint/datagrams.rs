//! Between datagrams and the peers' tunnels: parses the bodies of opened datagrams, and writes and seals the datagrams
//! that leave.

use super::sessions::Sessions;
use super::{Endpoint, Outgoing};
use crate::path::PathPacket;
use crate::secure::{PeerId, SecureTransmit};
use crate::session::Reception;
use crate::session::Transmit;
use crate::session::tunnel::RANGE_WORK;
use crate::wire::handshake::{COOKIE_REPLY, INITIATION, RESPONSE};
use crate::wire::{HEADER_LEN, Kind, Packet, TAG_LEN, emit_body, parse_body};
use ripstop_base::Time;
use std::net::SocketAddr;

/// While data waits for the socket, one answer to a handshake message is sent after this number of
/// data datagrams. Strangers can cause answers, so answers wait for data, but data must not keep new
/// peers out. With half the value, answers take up to an eighth of the datagrams of a busy socket.
/// With double the value, a peer waits twice as long for its response.
const DATA_PER_REPLY: u32 = 16;

impl Endpoint {
    /// Writes the next datagram that may leave now into `buffer`, and returns the datagram's length
    /// and destination. `buffer` must be at least as long as the largest path MTU.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut [u8]) -> Option<Outgoing> {
        if let Some(initiation) = self.sessions.secure.poll_initiation() {
            return self.send_handshake(now, &initiation, buffer);
        }
        if self.since_reply >= DATA_PER_REPLY
            && let Some(reply) = self.sessions.secure.poll_reply()
        {
            return self.send_handshake(now, &reply, buffer);
        }
        while let Some(peer) = self.sessions.paths.first_ready() {
            match self.poll_peer(now, peer, buffer) {
                Some(outgoing) => {
                    self.sessions.paths.sent(outgoing.len);
                    self.sessions.counters.datagrams_sent += 1;
                    self.since_reply = self.since_reply.saturating_add(1);
                    return Some(outgoing);
                }
                None => {
                    self.sessions.paths.first_is_done();
                    self.collect(now, peer);
                }
            }
        }
        // A peer that had nothing to send may have started a handshake just now.
        let handshake = self.sessions.secure.poll_transmit()?;
        self.send_handshake(now, &handshake, buffer)
    }

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
        let Sessions { paths, secure, work, counters, .. } = &mut self.sessions;
        let Some(path) = paths.get_mut(peer) else { return };
        let Some(tunnel) =
            path.session.as_mut().filter(|session| session.epoch == epoch).map(|session| &mut session.tunnel)
        else {
            return;
        };
        let near = tunnel.expand();
        // A report is refused before it is parsed, because parsing is a part of its work.
        if kind.is_report() {
            let asked = tunnel.takes_report(now);
            if !asked || !work.allows_report(now, &mut path.share.work) {
                let (peer, all) = match asked {
                    true => (&mut path.share.over_work, &mut counters.over_work),
                    false => (&mut path.share.unasked_reports, &mut counters.unasked_reports),
                };
                *peer += 1;
                *all += 1;
                tunnel.note_refused(now, number, None, bytes, reception);
                return;
            }
        }
        match parse_body(kind, body, &near) {
            Ok(packet) => {
                let is_allowed = match packet {
                    Packet::Repair { .. } | Packet::BlockRepair { .. } => work.allows(now, &mut path.share.work),
                    _ => true,
                };
                if !is_allowed {
                    path.share.over_work += 1;
                    counters.over_work += 1;
                    tunnel.note_refused(now, number, Some(&packet), bytes, reception);
                    return;
                }
                match packet {
                    Packet::Challenge { token } => {
                        let is_admitted = secure.handle_challenge(peer, token, from);
                        if is_admitted {
                            path.request_path_packet(now, PathPacket::Answer(token));
                        }
                    }
                    Packet::Answer { token } => secure.handle_answer(peer, token),
                    _ => {}
                }
                path.handle_packet(now, number, packet, bytes, reception);
                path.charge(now, work);
            }
            // The datagram is authentic, so the peer itself made the malformed body. The body was parsed up to the fault,
            // and may have listed as many ranges as it has bytes.
            Err(_) => {
                counters.body_malformed += 1;
                path.share.past_work += RANGE_WORK * body.len() as u64;
                path.charge(now, work);
            }
        }
    }

    /// Takes one packet from a peer's tunnel, and writes it to `buffer` as a sealed datagram.
    fn poll_peer(&mut self, now: Time, peer: PeerId, buffer: &mut [u8]) -> Option<Outgoing> {
        let sessions = &mut self.sessions;
        let path = sessions.paths.get_mut(peer)?;
        // Without a usable key, no packet may be taken from the tunnel, because the packet could
        // not be sealed. A peer that has closed the session would not receive it.
        if !path.has_session() || sessions.secure.epoch(now, peer) != path.epoch() {
            if path.wants_session(now) {
                sessions.connect(now, peer);
            }
            return None;
        }
        let epoch = path.epoch()?;
        if sessions.secure.endpoint(peer).is_none() && !path.tunnel()?.has_path_packet() {
            // The peer's only address is not proven yet. Only challenges may go there.
            return None;
        }
        let Transmit { packet: datagram, ect, .. } = path.poll_transmit(now)?;
        let end = buffer.len().checked_sub(TAG_LEN)?;
        let Ok(body) = emit_body(&datagram.packet, buffer.get_mut(HEADER_LEN..end)?) else {
            sessions.counters.unsendable += 1;
            return None;
        };
        let len = HEADER_LEN + body + TAG_LEN;
        let kind = Kind::of(&datagram.packet);
        let is_test = matches!(datagram.packet, Packet::Probe { padding } if padding > 0);
        let unproven = match datagram.packet {
            Packet::Challenge { token } => sessions.secure.challenged_address(peer, token),
            Packet::Answer { token } => sessions.secure.take_answered_address(peer, token),
            _ => None,
        };
        let sealed = sessions.secure.seal(now, peer, epoch, datagram.number, kind, &mut buffer[..len]);
        match sealed.ok().and_then(|endpoint| unproven.or(endpoint)) {
            Some(to) => Some(Outgoing { to, len, ect, is_test }),
            None => {
                sessions.counters.unsendable += 1;
                None
            }
        }
    }

    /// Writes a handshake datagram into `buffer`. If the datagram goes to a peer's address, notes the
    /// time: the time until the answer is the first estimate of the round-trip time.
    fn send_handshake(&mut self, now: Time, sent: &SecureTransmit, buffer: &mut [u8]) -> Option<Outgoing> {
        let (to, len) = (sent.to, sent.contents.len());
        buffer.get_mut(..len)?.copy_from_slice(&sent.contents);
        if let Some(peer) = sent.peer.filter(|peer| self.sessions.secure.endpoint(*peer) == Some(to))
            && let Some(path) = self.sessions.paths.get_mut(peer)
        {
            path.handshakes.note_sent(now);
        }
        self.since_reply = 0;
        self.sessions.counters.datagrams_sent += 1;
        Some(Outgoing { to, len, ect: false, is_test: false })
    }
}

/// Whether the datagram is part of a handshake.
pub(super) fn is_handshake(datagram: &[u8]) -> bool {
    datagram.first().is_some_and(|kind| [INITIATION, RESPONSE, COOKIE_REPLY].contains(kind))
}
