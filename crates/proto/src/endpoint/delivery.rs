//! Delivery: takes packets and events out of the peers' tunnels, and gives the packets to the inside.
//!
//! Delivery does not depend on sending. While the caller's socket is blocked, the caller takes no datagrams, and peers
//! wait for their turn to send. Their packets must not wait too: otherwise one full socket would stop the traffic in the
//! other direction, and the packets would take memory.
//!
//! One datagram can make a whole window of packets deliverable, and writing them to the device takes longer than all other
//! work. So a turn takes a bounded number of packets from each peer ([`TURN_PACKETS`]). The rest comes in the next turns,
//! for which [`Endpoint::poll_timeout`] asks at once, and other peers are served in between. A peer that makes packets
//! wait causes no more deliveries than other peers: each packet has come in a datagram. So deliveries are not charged to
//! the budget of work, and a peer in debt gets them too.

use super::Endpoint;
use crate::inner::{self, clamp_mss};
use crate::packets::{Delivered, DeliveryRoom, InnerPacket};
use crate::secure::PeerId;
use ripstop_base::Time;
use ripstop_codes::Symbol;
use std::time::Duration;

/// Packets of one peer that are delivered in one turn, 512. One read call of the daemon brings at most 512 datagrams, so in
/// ordinary traffic all packets are delivered in the turn of their datagrams. Writing a packet to the device takes 2 to
/// 3 us: 512 packets delay other peers by 1 to 1.5 ms. With half the value, packets may come faster than they are delivered.
/// Double the value lets a peer delay others by twice as long.
pub const TURN_PACKETS: usize = 512;
/// Bytes of one peer that are delivered in one turn, 1 MiB, and the rest of the last packet. One read call of the daemon
/// brings at most half as many. 512 packets of 1436 bytes are .7 MiB. With half the value, a repair that recovers packets
/// may leave some for the next turn. Double the value lets a peer with packets of 64 kB delay others by twice as long.
pub const TURN_BYTES: usize = 1 << 20;

/// The shortest round trip and the highest loss of the active peers' paths; see
/// [`Endpoint::take_active_paths`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ActivePaths {
    /// The shortest smoothed round-trip time of these paths.
    pub shortest_rtt: Duration,
    /// The highest recent loss of these paths and their directions, a share from 0 to 1.
    pub highest_loss: f64,
}

impl ActivePaths {
    /// These paths together with others.
    fn and(self, others: ActivePaths) -> ActivePaths {
        ActivePaths {
            shortest_rtt: self.shortest_rtt.min(others.shortest_rtt),
            highest_loss: self.highest_loss.max(others.highest_loss),
        }
    }
}

/// The packets of one peer that were collected, and that the caller has not taken yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HandedOver {
    packets: usize,
    bytes: usize,
}

impl HandedOver {
    fn add(&mut self, delivered: &Delivered<Symbol>) {
        self.packets += 1;
        self.bytes += delivered.meta.len as usize;
    }

    /// The caller has taken a packet.
    fn taken(&mut self, delivered: &Delivered<Symbol>) {
        // Messages of this end were not counted.
        self.packets = self.packets.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(delivered.meta.len as usize);
    }

    /// How much may still be collected in this turn.
    fn room(&self) -> DeliveryRoom {
        DeliveryRoom {
            packets: TURN_PACKETS.saturating_sub(self.packets),
            bytes: TURN_BYTES.saturating_sub(self.bytes),
        }
    }
}

impl Endpoint {
    /// The paths of the peers that sent or received something since the last call; None: no peer with a session did.
    pub fn take_active_paths(&mut self) -> Option<ActivePaths> {
        self.active.take()
    }

    /// The next packet for the inside, and the peer that sent it. [`inner_packet`] gives the
    /// packet's bytes. An ICMP message of this end about a packet that was too long for a peer
    /// counts as a packet of this peer.
    ///
    /// None says that this turn delivers nothing more. If packets are left ([`Endpoint::has_undelivered`]), they come after
    /// the next call of [`Endpoint::handle_timeout`], which [`Endpoint::poll_timeout`] asks for at once.
    ///
    /// A caller that cannot send may call this method without [`Endpoint::poll_transmit`].
    pub fn poll_deliver(&mut self) -> Option<(PeerId, Delivered<Symbol>)> {
        if self.delivered.is_empty() {
            self.collect_ready();
        }
        let (peer, delivered) = self.delivered.pop_front()?;
        if let Some(path) = self.sessions.paths.get_mut(peer) {
            path.handed_over.taken(&delivered);
        }
        Some((peer, delivered))
    }

    /// Whether packets are left for the next turns.
    pub fn has_undelivered(&self) -> bool {
        self.sessions.paths.has_left()
    }

    /// Collects from the peers that wait for their turn to send. There are none after
    /// [`Endpoint::poll_transmit`] has returned None.
    fn collect_ready(&mut self) {
        let mut at = 0;
        // Collecting may make further peers ready. They are added at the end of the list.
        while let Some((peer, is_collected)) = self.sessions.paths.ready_at(at) {
            at += 1;
            if !is_collected {
                self.collect(self.now, peer);
            }
        }
    }

    /// Collects the events of a peer's tunnel, and the packets of one turn, and updates the peer's memory and time-out. A
    /// packet whose source is not in the peer's allowed IPs is dropped.
    pub(super) fn collect(&mut self, now: Time, peer: PeerId) {
        let sessions = &mut self.sessions;
        sessions.paths.note_collected(peer);
        let Some(path) = sessions.paths.get_mut(peer) else { return };
        if let Some(tunnel) = path.tunnel() {
            let path = ActivePaths { shortest_rtt: tunnel.srtt(), highest_loss: tunnel.highest_loss() };
            self.active = Some(self.active.map_or(path, |others| others.and(path)));
        }
        let routes = &self.routes;
        let is_allowed = |delivered: &Delivered<Symbol>| {
            inner::source(inner_packet(delivered)).is_some_and(|source| routes.find(source) == Some(peer))
        };
        let counters = &mut sessions.counters;
        let mut room = path.handed_over.room();
        loop {
            let clamped = sessions.config.clamp_mss.then_some(&mut counters.mss_clamped);
            let delivered = path.poll_deliver(now, &mut room, is_allowed, &mut counters.wrong_source, clamped);
            let Some(delivered) = delivered else { break };
            path.handed_over.add(&delivered);
            self.delivered.push_back((peer, delivered));
        }
        sessions.collect_events(now, peer);
        sessions.account(peer);
        sessions.reschedule(now, peer);
    }
}

/// The bytes of the inner packet that [`Endpoint::poll_deliver`] gave.
pub fn inner_packet(delivered: &Delivered<Symbol>) -> &[u8] {
    let bytes = delivered.payload.as_slice();
    // The first byte of the symbol is not part of the packet. The tunnel has checked `len` against
    // the symbol, so the range lies within the symbol.
    bytes.get(1..1 + delivered.meta.len as usize).unwrap_or(&[])
}

/// An ICMP message of this end, in the form of a packet for the inside.
pub(super) fn answer(message: &[u8]) -> Option<Delivered<Symbol>> {
    let payload = Symbol::from_parts(&[&[0], message]);
    let meta = payload.meta()?;
    Some(Delivered { payload, meta })
}

/// Reduces the MSS of the TCP SYN in `symbol`, so that segments fit inner packets of `mtu` bytes. Returns whether the packet
/// was changed.
pub(super) fn clamp_symbol(symbol: &mut Symbol, mtu: u32) -> bool {
    let mut changed = false;
    symbol.edit(|bytes| changed = bytes.get_mut(1..).is_some_and(|packet| clamp_mss(packet, mtu.min(65_535) as u16)));
    changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_path_and_the_highest_loss_count() {
        let path = |ms, highest_loss| ActivePaths { shortest_rtt: Duration::from_millis(ms), highest_loss };
        assert_eq!(path(100, 0.0).and(path(20, 0.1)), path(20, 0.1));
        assert_eq!(path(20, 0.2).and(path(100, 0.1)), path(20, 0.2));
    }
}
