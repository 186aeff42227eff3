//! What a tunnel costs the process: memory and work. An endpoint shares its budgets among its
//! tunnels with these figures. `docs/security.md` lists all bounds.

use super::Tunnel;
use crate::packets::InnerPacket;
use crate::session::Reception;
use crate::wire::{Feedback, Packet};
use ripstop_base::Time;

/// Work for each lost symbol that a report is compared with, in units of [`Tunnel::work`]. One unit
/// is one byte that is combined. A comparison takes about 10 ns, the time for 200 bytes. With half
/// or double the value, a peer's reports count as half or twice the work.
pub(crate) const REPORT_WORK: u64 = 200;
/// Work for each range that a report lists, in units of [`Tunnel::work`]. A range takes about 32 ns from the parser to the
/// sent-packet history (`cargo run --release -p ripstop-proto --example packet-costs`, line "report, most ranges": 142 us
/// for 4455 ranges), the time for 640 bytes. With half or double the value, a peer's reports count as half or twice the
/// work.
pub(crate) const RANGE_WORK: u64 = 640;
/// The ranges that cost as much as a report without any: 1.7 us (the same command, line "report, 1 range"). Half and double
/// the value act like those of [`RANGE_WORK`], for short reports.
const REPORT_RANGES: u64 = 55;
/// The ranges that `feedback` lists, and those that a report costs without any.
pub(super) fn ranges(feedback: &Feedback) -> u64 {
    let acked = feedback.path.as_ref().map_or(0, |path| path.acked.len());
    let unseen = feedback.symbols.as_ref().map_or(0, |symbols| symbols.unseen.len());
    REPORT_RANGES + (acked + unseen) as u64
}

impl<P: InnerPacket> Tunnel<P> {
    /// Memory that the tunnel holds because of packets, bytes. The figure is approximate. Tables of
    /// fixed size, about 250 kB, do not count.
    pub fn memory(&self) -> usize {
        self.receiving() + self.coding.sending_bytes() + self.path.bytes() + self.supply.bytes()
    }

    /// The base of the coding window: symbols before it are decoded or given up.
    pub fn window_base(&self) -> u64 {
        self.coding.base()
    }

    /// The computing work that the peer's packets have caused so far, in bytes of payloads and rows
    /// that were combined. The work depends only on the packets, not on the machine. Work in
    /// proportion to a packet's own length does not count.
    pub fn work(&self) -> u64 {
        self.coding.received().work() + REPORT_WORK * self.coding.compared() + RANGE_WORK * self.ranges_listed
    }

    /// Frees memory. The stored repairs and the history of known symbols are discarded, packets
    /// that wait for earlier packets are delivered, half of the ingress queue is dropped, and datagrams
    /// whose fate is known are forgotten. From now on the coding window of this end grows only while the session holds less than `share` bytes.
    pub fn shrink(&mut self, share: usize) {
        self.coding.shrink(share);
        self.delivery.shrink();
        self.supply.shrink();
        self.path.shrink();
    }

    /// During a silence, gives up the oldest symbols of the coding window until the session holds at most `most` bytes.
    /// Without a silence, reports and the deadline empty the window soon, so nothing is given up.
    pub fn cut_window(&mut self, most: usize) {
        if self.silent_since().is_none() {
            return;
        }
        self.coding.cut_window(self.memory().saturating_sub(most), &mut self.supply);
    }

    /// Whether a report that arrives at `now` is taken: this end may have asked for it (`report_limit.rs`).
    pub fn takes_report(&mut self, now: Time) -> bool {
        self.path.takes_report(now)
    }

    /// Notes that a datagram of the peer has arrived, and drops its packet, because the peer's packets have caused too much
    /// work. If the datagram counted as lost, the peer would take the path to be worse than it is, and slow down.
    /// `packet` is None for a report, which is dropped before it is parsed.
    pub fn note_refused(
        &mut self,
        now: Time,
        number: u64,
        packet: Option<&Packet<P>>,
        bytes: u32,
        reception: Reception,
    ) {
        let now = self.tick(now);
        self.path.received.arrive(now, number, bytes, reception, packet.is_some_and(Packet::is_eliciting));
        if let Some(Packet::Repair { members, .. }) = packet {
            self.coding.receiver().refuse(members);
        }
    }

    /// Puts decoding off until `at`, because the peer's packets have caused too much work. Work that is left from an
    /// earlier step waits. So does the elimination of sources that arrive before `at`. These are delivered all the
    /// same.
    pub fn defer(&mut self, at: Time) {
        self.coding.receiver().defer(at);
    }

    /// Ends the limit that [`Tunnel::shrink`] has set on the coding window.
    pub fn lift_limit(&mut self) {
        self.coding.lift_limit();
    }

    /// Memory of the receiving half, bytes.
    fn receiving(&self) -> usize {
        self.coding.receiving_bytes() + self.delivery.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::super::TunnelConfig;
    use super::*;
    use crate::coding::SLOT;
    use crate::control::rate::RateMode;
    use crate::packets::Piece;
    use crate::session::{Received, Session};
    use crate::wire::{Datagram, SymbolKind};
    use ripstop_base::Rate;
    use ripstop_codes::Symbol;
    use std::time::Duration;

    /// An inner UDP packet.
    fn udp_packet(len: usize) -> Symbol {
        let mut packet = vec![0; len];
        (packet[1], packet[4], packet[10]) = (0x45, 60, 17);
        Symbol::from_slice(&packet)
    }

    /// Two ends that send at 100 Mbit/s.
    fn ends(deadline: Option<Duration>) -> [Tunnel<Symbol>; 2] {
        let rate = RateMode::Fixed(Rate::from_bps(100_000_000));
        let config = TunnelConfig { rate, deadline, ..TunnelConfig::default() };
        [1, 2].map(|seed| Tunnel::new(Time::ZERO, config.clone(), seed))
    }

    /// The sending half takes `share` bytes with all that it keeps for each packet, also for small packets.
    #[test]
    fn a_shrunk_session_keeps_its_share() {
        const SHARE: usize = 400_000;
        let rate = RateMode::Fixed(Rate::from_bps(1_000_000_000));
        let mut tunnel: Tunnel<Symbol> = Tunnel::new(Time::ZERO, TunnelConfig { rate, ..TunnelConfig::default() }, 1);
        let packet = udp_packet(61);
        tunnel.shrink(SHARE);
        // A full queue does not stop the sending half.
        for _ in 0..3_000 {
            tunnel.handle_inner(Time::ZERO, packet.clone());
        }
        assert!(tunnel.memory() > SHARE && tunnel.poll_transmit(Time::from_millis(1)).is_some());
        let mut most = 0;
        for us in 0..20_000 {
            let now = Time::from_micros(1_000 + 10 * us);
            if tunnel.backlog_packets() < 10 {
                tunnel.handle_inner(now, packet.clone());
            }
            while tunnel.poll_transmit(now).is_some() {}
            most = most.max(tunnel.coding.window_bytes());
        }
        assert!((SHARE / 2..SHARE + 20_000).contains(&most), "{most} of {SHARE}");
        tunnel.lift_limit();
        for ms in 300..400 {
            while tunnel.poll_transmit(Time::from_millis(ms)).is_some() {}
        }
        assert_eq!(tunnel.backlog_packets(), 0);
    }

    /// Carries what both ends have to send, without delay. `carries` takes the sending end, and says whether the datagram arrives.
    fn exchange(now: Time, ends: &mut [Tunnel<Symbol>; 2], mut carries: impl FnMut(usize) -> bool) {
        for side in [0, 1] {
            ends[side].handle_timeout(now);
            while let Some(sent) = ends[side].poll_transmit(now) {
                if carries(side) {
                    ends[1 - side].handle_datagram(
                        now,
                        Received { packet: sent.packet, bytes: sent.bytes, reception: Default::default() },
                    );
                }
            }
        }
    }

    /// A lost datagram at the front of the history keeps those behind it, until memory is short.
    #[test]
    fn a_shrunk_session_forgets_datagrams_whose_fate_is_known() {
        let (mut ends, packet) = (ends(None), udp_packet(1_000));
        let mut sent = 0;
        for ms in 0..700 {
            let now = Time::from_millis(ms);
            if ms < 500 {
                (0..5).for_each(|_| ends[0].handle_inner(now, packet.clone()));
            }
            exchange(now, &mut ends, |side| {
                sent += u32::from(side == 0);
                side == 1 || sent != 10
            });
            if ms == 450 {
                let before = ends[0].path.remembered();
                ends[0].shrink(100_000_000);
                let after = ends[0].path.remembered();
                assert!(before > 2_000 && after < 100, "{before} {after}");
            }
        }
        let status = ends[0].status();
        assert_eq!((status.outstanding.0, status.taken.given_up), (0, 0));
        assert_eq!(ends[0].status().path.lost, 1);
    }

    /// The receiver frees the known symbols between the holes. Repairs of ranges are then of no use.
    #[test]
    fn a_receiver_that_has_freed_its_memory_gets_repairs_of_listed_holes() {
        let (mut ends, packet) = (ends(Some(Duration::from_secs(30))), udp_packet(1_000));
        let mut sent = 0;
        for ms in 0..2_000 {
            let now = Time::from_millis(ms);
            if ms < 30 {
                (0..10).for_each(|_| ends[0].handle_inner(now, packet.clone()));
            }
            // Two of three symbols are lost, and then all repairs until the receiver frees its memory.
            exchange(now, &mut ends, |side| {
                sent += u32::from(side == 0);
                side == 1 || sent < 100 || sent < 300 && sent % 3 == 0 || ms > 60
            });
            if ms == 60 {
                ends[1].shrink(1_000_000);
            }
        }
        let status = ends[0].status();
        assert!(status.repairs.listed > 0, "{:?}", status.repairs);
        assert_eq!((status.outstanding.0, status.taken.given_up), (0, 0), "{:?}", status.repairs);
    }

    /// A session that is otherwise idle gives the memory of pieces back whose rest never comes.
    #[test]
    fn an_idle_session_drops_pieces_whose_rest_never_comes() {
        let mut tunnel: Tunnel<Symbol> = Tunnel::new(Time::ZERO, TunnelConfig::default(), 1);
        let (mut number, mut now) = (0, Time::from_millis(1));
        for flow in 0..20 {
            for index in 0..14 {
                let header = Piece { flow, index, count: 15, total: 15 }.header();
                let payload = Symbol::from_parts(&[&[SymbolKind::Piece.first_byte(0)], &header, &[7]]);
                let packet = Packet::Source { id: number, kind: SymbolKind::Piece, payload };
                let packet = Datagram { number, packet };
                tunnel.handle_datagram(now, Received { packet, bytes: 80, reception: Default::default() });
                number += 1;
            }
        }
        let before = tunnel.memory() - tunnel.deliverable().unwrap();
        assert!(tunnel.poll_deliver().is_none());
        let held = tunnel.memory() - before;
        assert!(held >= 280 * (SLOT + size_of::<Symbol>() + 8), "{held} bytes");
        while now < Time::from_millis(20_000) {
            now = tunnel.poll_timeout().map_or(Time::NEVER, |at| at.max(now + Duration::from_millis(1)));
            tunnel.handle_timeout(now);
            while tunnel.poll_transmit(now).is_some() {}
        }
        assert_eq!(tunnel.status().pieces.dropped, 280);
    }
}
