//! Sending: takes inner packets into the ingress queue, numbers each datagram, records the datagram in
//! the sent-packet history, and paces the datagrams.

use super::Tunnel;
use super::repair::{PlannedRepair, Purpose};
use super::sent::Sent;
use crate::packets::ingress::Queued;
use crate::packets::symbol::PREFIX;
use crate::packets::{Class, InnerPacket, class};
use crate::path::{Content, ProbeSize};
use crate::session::Transmit;
use crate::wire::{Datagram, Packet};
use ripstop_base::Time;
use ripstop_codes::window::Coding;

impl<P: InnerPacket> Tunnel<P> {
    /// Takes a packet that was acknowledged already, so its sender will not send it in shorter packets. If it is longer than
    /// [`Tunnel::inner_mtu`], it travels in pieces.
    pub fn handle_acknowledged(&mut self, now: Time, payload: P) {
        self.take_inner(now, payload, true);
    }

    /// Takes an inner packet from the user. `promised`: the packet is carried although it is longer than the tunnel's MTU.
    pub(super) fn take_inner(&mut self, now: Time, payload: P, promised: bool) {
        let now = self.tick(now);
        let most = self.inner_mtu();
        match payload.meta_and_traffic() {
            Some((meta, traffic)) if meta.len <= most || promised || payload.must_be_carried() => {
                self.counts.taken += 1;
                let hint = self.config.classes.of(traffic);
                let below = class::interactive_below(self.path.view().bandwidth, hint, meta.order);
                let class = self.ingress.push(now, payload, meta, below);
                self.counts.hinted(hint, class);
            }
            Some(_) => self.counts.too_long += 1,
            None => self.counts.malformed += 1,
        }
    }

    /// Sends the tail probe: a repair of symbols that may be missing, or else an empty probe.
    pub(super) fn send_tail_probe(&mut self, now: Time) -> Transmit<Datagram<P>> {
        let pause = self.path.pause();
        // If the path no longer carries large datagrams, a repair would not arrive.
        let plan = if self.path.wants_small() { None } else { self.plan_probe(now) };
        let repair = plan.and_then(|plan| self.send_repair(now, &plan));
        let sent = repair.unwrap_or_else(|| self.send_empty_probe(now));
        self.path.note_tail_probe(pause);
        sent
    }

    /// Sends the next probe of a silence. `None`: the batch is complete.
    pub(super) fn send_probe(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        let plan = match self.path.next_probe(now)? {
            ProbeSize::Small => return Some(self.send_empty_probe(now)),
            ProbeSize::Full => self.plan_probe(now),
        };
        if let Some(plan) = plan
            && let Some(sent) = self.send_repair(now, &plan)
        {
            return Some(sent);
        }
        self.send_source(now).or_else(|| Some(self.send_empty_probe(now)))
    }

    /// The repair that a probe carries. A block code sends no repair of its own accord.
    fn plan_probe(&mut self, now: Time) -> Option<PlannedRepair> {
        let path = self.path_view(now);
        if self.blocks.is_some() { None } else { self.repairs.plan_probe(&self.sources, &path) }
    }

    fn send_empty_probe(&mut self, now: Time) -> Transmit<Datagram<P>> {
        let (content, packet) = self.path.probe(0);
        self.send(now, content, packet)
    }

    /// Sends the next packet of the ingress queue as a source symbol. `None`: the queue is empty or
    /// the coding window is full.
    pub(super) fn send_source(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        if !self.window_open() {
            return None;
        }
        let queued = self.next_queued(now)?;
        let queued_class = queued.class;
        let interactive = queued_class == Class::Interactive;
        let longest = PREFIX + self.inner_mtu() as usize;
        let (id, kind, payload) = self.sources.push(now, queued, longest);
        match &mut self.blocks {
            Some(blocks) => blocks.on_source(now, id),
            None => self.repairs.on_source(now, interactive, payload.len() as u32),
        }
        let class = self.counts.of_class(queued_class);
        class.packets += 1;
        class.bytes += payload.len() as u64;
        self.counts.sources += 1;
        self.counts.source_bytes += payload.len() as u64;
        Some(self.send(now, Content::Carried(Sent::Source(id)), Packet::Source { id, kind, payload }))
    }

    /// The next packet of the ingress queue, or the next piece of a packet that is longer than the tunnel's MTU. The path's MTU
    /// may have become smaller since the packet was queued.
    fn next_queued(&mut self, now: Time) -> Option<Queued<P>> {
        if let Some(piece) = self.pieces.pop_front() {
            return Some(piece);
        }
        loop {
            let queued = self.ingress.pop(now, self.deadline.in_queue(), P::mark_congestion)?;
            if queued.meta.len <= self.inner_mtu() {
                return Some(queued);
            }
            if let Some(first) = self.cut(queued) {
                return Some(first);
            }
        }
    }

    /// Makes and sends the repair of `plan`. `None`: a member of the repair has left the coding
    /// window.
    pub(super) fn send_repair(&mut self, now: Time, plan: &PlannedRepair) -> Option<Transmit<Datagram<P>>> {
        self.seed = self.seed.wrapping_add(1);
        // The encoder refuses a member that has left the coding window. A plan is sent right after
        // it was made, so this does not happen.
        let payload = self.sources.encoder().repair(&plan.members, self.seed).ok()?;
        let content = match plan.purpose {
            Purpose::Exact(group) => Sent::Exact(group),
            Purpose::Interactive | Purpose::Bulk => Sent::Proactive(self.repairs.next_proactive()),
        };
        self.repairs.sent(now, plan, &mut self.sources);
        self.counts.repair_bytes += payload.len() as u64;
        let class = match plan.purpose {
            Purpose::Exact(_) => None,
            Purpose::Interactive => Some(Class::Interactive),
            Purpose::Bulk => Some(Class::Bulk),
        };
        if let Some(class) = class.map(|class| self.counts.of_class(class)) {
            class.repairs += 1;
            class.repair_bytes += payload.len() as u64;
        }
        let members = plan.members.clone();
        let packet = Packet::Repair { members, coding: Coding::Seed(self.seed), payload };
        Some(self.send(now, Content::Carried(content), packet))
    }

    /// Makes the datagram that carries `packet`.
    pub(super) fn send(&mut self, now: Time, content: Content<Sent>, packet: Packet<P>) -> Transmit<Datagram<P>> {
        debug_assert_eq!(packet.check_carried(None), Ok(()), "the wire format would change this packet");
        let bytes = self.path.header() + packet.wire_len() as u32;
        let number = self.path.send(now, content, bytes, self.ingress.backlog().1, self.ingress.is_empty());
        Transmit { packet: Datagram { number, packet }, bytes, ect: self.path.is_ecn_capable() }
    }

    /// Cuts a packet that is longer than the tunnel's MTU. Returns the first piece; the others leave directly after it. None:
    /// the packet cannot be cut, and is dropped.
    pub(crate) fn cut(&mut self, queued: Queued<P>) -> Option<Queued<P>> {
        let Queued { payload, meta, class, since, repeated } = queued;
        let piece = |payload: P| Some(Queued { meta: payload.meta()?, payload, class, since, repeated });
        self.pieces.extend(payload.cut(meta.flow, self.inner_mtu()).into_iter().filter_map(piece));
        let first = self.pieces.pop_front();
        match first {
            Some(_) => self.counts.cut += 1,
            None => self.counts.too_long += 1,
        }
        first
    }

    /// Drops the pieces that wait to be sent, if they no longer fit.
    pub(crate) fn drop_long_pieces(&mut self) {
        let most = self.inner_mtu();
        if self.pieces.iter().any(|piece| piece.meta.len > most) {
            self.pieces.clear();
            self.counts.too_long += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::path::PathEvent;
    use crate::session::Session;
    use crate::session::tunnel::{Tunnel, TunnelConfig, TunnelEvent};
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
}
