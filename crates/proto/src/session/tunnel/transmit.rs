//! Sending: takes inner packets, and decides what the next datagram carries.

use super::Tunnel;
use crate::coding::{Carried, PathView, Sent};
use crate::control::loss::Losses;
use crate::control::rate::View;
use crate::packets::{InnerPacket, Meta, Traffic};
use crate::path::{Content, ProbeSize};
use crate::session::Transmit;
use crate::wire::{Datagram, Feedback, HEADER_LEN, Packet, TAG_LEN};
use ripstop_base::Time;

/// Number of source symbols at the beginning of a session that the start-up protects without regard to the backlog.
///
/// With half the value, only half of the first megabyte is protected. Double the value protects two megabytes, and costs
/// up to twice as many repairs.
const STARTING: u64 = 1000;
/// Longest round-trip time of a path on which the start-up does so, s.
///
/// On longer paths this sender's own start-up holds the inner TCP back, and repairs displace packets. With no limit, CUBIC
/// inside has .88 of the rate at 600 ms and 5 % loss instead of .91. Half the value leaves paths of 100 ms out.
const STARTING_RTT: f64 = 0.2;
/// Largest share of losses at which the start-up does so.
///
/// A policer drops more in a start-up, and repairs then add to the overload. Half the value leaves out paths with 20 % of
/// random loss. Double the value wastes 5 % of the bytes behind a policer.
const STARTING_LOSS: f64 = 0.25;
/// Largest share of losses times [`Losses::dispersion`] at which the start-up does so.
///
/// Losses in long runs need many repairs. Packets of the inner TCP wait behind these repairs, and the longer delay ends
/// CUBIC's slow start. At 910 Mbit/s, 95 ms and 12 % of losses in runs of 8, CUBIC inside has 150 Mbit/s from 2 to
/// 4 s, and 84 without the limit. Half the value leaves out links with single losses that chance puts in a row: the first
/// megabyte takes 1.03 s instead of 1.00 s at 5 %. Double the value protects such starts in runs of 16.
const STARTING_RUNS: f64 = 0.5;

impl<P: InnerPacket> Tunnel<P> {
    /// Takes a packet that was acknowledged already, so its sender will not send it in shorter packets. If it is longer than
    /// [`Tunnel::inner_mtu`], it travels in pieces.
    pub fn handle_acknowledged(&mut self, now: Time, payload: P) {
        let head = payload.meta_and_traffic();
        self.take_inner(now, payload, head, true);
    }

    /// Takes an inner packet whose header was parsed already ([`Meta::of`]), like
    /// [`Session::handle_inner`](crate::session::Session::handle_inner).
    pub(crate) fn handle_parsed(&mut self, now: Time, payload: P, head: (Meta, Traffic)) {
        self.take_inner(now, payload, Some(head), false);
    }

    /// Takes an inner packet from the user. `head` is what its header says. `promised`: the packet is carried although it is
    /// longer than the tunnel's MTU.
    pub(super) fn take_inner(&mut self, now: Time, payload: P, head: Option<(Meta, Traffic)>, promised: bool) {
        let now = self.tick(now);
        self.supply.take(now, payload, head, promised, self.path.view().bandwidth);
    }

    /// The next datagram. None: nothing is to be sent, or nothing may leave yet.
    pub(super) fn transmit(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        if let Some((content, packet)) = self.path.own_packet() {
            return Some(self.send(now, content, packet));
        }
        if let Some(report) = self.report(now) {
            return Some(self.send(now, Content::Unasking, Packet::Feedback(Box::new(report))));
        }
        if self.path.requests.take_close(self.supply.is_empty()) {
            return Some(self.send(now, Content::Unasking, Packet::Close));
        }
        if let Some(window) = self.coding.announcement(&self.path, self.deadline.get()) {
            self.path.set_report_every(window.report_every);
            return Some(self.send(now, Content::Carried(Sent::Window), Packet::Window(window)));
        }
        if self.path.silent_since().is_some() {
            return self.send_probe(now);
        }
        if !self.path.is_open(now) {
            let held = self.path.has_room() && self.has_waiting();
            self.path.hold(held);
            return None;
        }
        if self.path.is_tail_probe_due() {
            return Some(self.send_tail_probe(now));
        }
        let view = self.path_view(now);
        let carried = self.coding.repair(now, &self.path, &view).or_else(|| self.source(now));
        if carried.is_none() {
            self.path.hold(false);
        }
        carried.map(|carried| self.send_carried(now, carried))
    }

    /// Makes a report if one is due.
    fn report(&mut self, now: Time) -> Option<Feedback> {
        let path = self.path.received.report(now)?;
        let (report, is_cut) = Feedback { path: Some(path), symbols: Some(self.coding.received().report()) }.cut();
        if is_cut {
            self.path.received.note_cut();
        }
        Some(report)
    }

    /// Sends the tail probe: a repair of symbols that may be missing, or else an empty probe.
    fn send_tail_probe(&mut self, now: Time) -> Transmit<Datagram<P>> {
        let pause = self.path.pause();
        // If the path no longer carries large datagrams, a repair would not arrive.
        let repair = if self.path.wants_small() { None } else { self.probe_with_repair(now) };
        let sent = match repair {
            Some(carried) => self.send_carried(now, carried),
            None => self.send_empty_probe(now),
        };
        self.path.note_tail_probe(pause);
        sent
    }

    /// Sends the next probe of a silence. `None`: the batch is complete.
    fn send_probe(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        let carried = match self.path.next_probe(now)? {
            ProbeSize::Small => None,
            ProbeSize::Full => self.probe_with_repair(now).or_else(|| self.source(now)),
        };
        Some(match carried {
            Some(carried) => self.send_carried(now, carried),
            None => self.send_empty_probe(now),
        })
    }

    /// The repair that a probe carries.
    fn probe_with_repair(&mut self, now: Time) -> Option<Carried<P>> {
        let view = self.path_view(now);
        self.coding.probe(now, &view)
    }

    fn send_empty_probe(&mut self, now: Time) -> Transmit<Datagram<P>> {
        let (content, packet) = self.path.probe(0);
        self.send(now, content, packet)
    }

    /// The next source symbol. `None`: nothing waits, or the coding window is full.
    fn source(&mut self, now: Time) -> Option<Carried<P>> {
        if !self.coding.is_open(|| self.delivery.memory()) {
            return None;
        }
        let supplied = self.turns.supply(now, self.coding.next(), [&mut self.supply])?;
        Some(self.coding.source(now, supplied))
    }

    /// Makes the datagram that carries something of the coder.
    fn send_carried(&mut self, now: Time, (sent, packet): Carried<P>) -> Transmit<Datagram<P>> {
        self.send(now, Content::Carried(sent), packet)
    }

    /// Makes the datagram that carries `packet`.
    fn send(&mut self, now: Time, content: Content<Sent>, packet: Packet<P>) -> Transmit<Datagram<P>> {
        debug_assert_eq!(packet.check_carried(None), Ok(()), "the wire format would change this packet");
        let bytes = self.path.header() + packet.wire_len() as u32;
        let number = self.path.send(now, content, bytes, self.supply.backlog().1, self.supply.is_queue_empty());
        Transmit { packet: Datagram { number, packet }, bytes, ect: self.path.is_ecn_capable() }
    }

    /// Whether a datagram may be ready to leave as soon as the pacer allows it.
    pub(super) fn has_waiting(&self) -> bool {
        !self.supply.is_empty() && self.coding.is_open(|| self.delivery.memory())
            || self.coding.may_repair()
            || self.path.is_tail_probe_due()
    }

    /// What decisions about repairs know of the path.
    pub(super) fn path_view(&self, now: Time) -> PathView {
        let ((losses, proactive, sparse), view) = (self.path.losses().all(now), self.path.view());
        let carried = self.path.carried();
        PathView {
            losses,
            proactive: Losses { share: proactive.min(view.codable), ..losses },
            sparse: Losses { share: sparse.share.min(view.codable), ..sparse },
            srtt: self.path.srtt(),
            deadline: self.deadline.get(),
            room: self.path.mtu().saturating_sub(self.path.header() + (HEADER_LEN + TAG_LEN) as u32),
            waiting: if self.protects_start(&view, losses) { 0.0 } else { self.supply.backlog().1 as f64 / carried },
            packets: carried / f64::from(self.path.mtu()),
            rate: view.bandwidth,
        }
    }

    /// Whether repairs displace nothing that waits, because the session begins and the path is not full. A loss would delay
    /// the inner TCP, which then leaves its slow start.
    fn protects_start(&self, view: &View, losses: Losses) -> bool {
        let few = losses.share <= STARTING_LOSS && losses.share * losses.dispersion() <= STARTING_RUNS;
        view.starting && self.coding.next() < STARTING && view.min_rtt <= STARTING_RTT && few
    }
}

#[cfg(test)]
mod tests {
    use crate::path::PathEvent;
    use crate::session::Session;
    use crate::session::tunnel::{Tunnel, TunnelConfig, TunnelEvent};
    use crate::wire::Packet;
    use ripstop_base::Time;
    use ripstop_codes::Symbol;

    /// The path is dead, and the user goes on to probe its MTU. The tunnel still sends batches of its own probes. The user
    /// learns only that the probe before the silence was lost.
    #[test]
    fn a_dead_path_gets_small_probes_and_decides_one_probe_of_its_mtu() {
        let mut tunnel: Tunnel<Symbol> = Tunnel::new(Time::ZERO, TunnelConfig::default(), 1);
        let mut packet = vec![0; 61];
        (packet[1], packet[4], packet[10]) = (0x45, 60, 17);
        tunnel.handle_inner(Time::ZERO, Symbol::from_slice(&packet));
        tunnel.request_probe(1000);
        let (mut silences, mut decided) = (Vec::new(), Vec::new());
        for ms in (0..10_000).step_by(10) {
            let now = Time::from_millis(ms);
            tunnel.handle_timeout(now);
            if ms > 1000 && ms % 100 == 0 {
                tunnel.request_probe(1000);
            }
            while tunnel.poll_transmit(now).is_some() {}
            while let Some(event) = tunnel.poll_event() {
                decided.extend(
                    matches!(event, TunnelEvent::Path(PathEvent::Probe { padding: 1000, received: false }))
                        .then_some(ms),
                );
            }
            silences.push(tunnel.status().path.sent.silences);
        }
        assert!(matches!(decided[..], [0..1000]), "{decided:?}");
        let (early, late) = (silences[200], silences[999]);
        assert!(early > 1 && late > early + 10, "{early} batches after 2 s, {late} after 10 s");
    }

    /// A packet that was cut leaves whole before the end of the session is announced.
    #[test]
    fn the_end_is_announced_after_all_pieces() {
        let config = TunnelConfig { path_mtu: 1280, ..TunnelConfig::default() };
        let mut tunnel: Tunnel<Symbol> = Tunnel::new(Time::ZERO, config, 1);
        let mut packet = vec![0; 1 + 1280];
        (packet[1], packet[5], packet[6], packet[7]) = (0x60, (1240 >> 8) as u8, (1240 & 255) as u8, 17);
        tunnel.handle_inner(Time::ZERO, Symbol::from_slice(&packet));
        tunnel.close();
        let mut sent = Vec::new();
        for ms in 0..1000 {
            let now = Time::from_millis(ms);
            tunnel.handle_timeout(now);
            sent.extend(std::iter::from_fn(|| tunnel.poll_transmit(now)).map(|sent| sent.packet.packet));
        }
        let sources =
            |packets: &[Packet<Symbol>]| packets.iter().filter(|p| matches!(p, Packet::Source { .. })).count();
        let close = sent.iter().position(|packet| *packet == Packet::Close).expect("the session ends");
        assert_eq!((sources(&sent[..close]), sources(&sent)), (2, 2));
    }
}
