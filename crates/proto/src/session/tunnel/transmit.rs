//! Sending: numbers each datagram, records the datagram in the sent-packet history, and paces the
//! datagrams.

use super::class::Class;
use super::repair::{PlannedRepair, Purpose};
use super::sent_history::Content;
use super::silence::TailProbe;
use super::{InnerPacket, RateMode, Tunnel};
use crate::session::Transmit;
use crate::wire::symbol::PREFIX;
use crate::wire::{Datagram, Packet};
use ripstop_base::Time;
use ripstop_codes::window::Coding;

impl<P: InnerPacket> Tunnel<P> {
    /// Sends a probe with `padding` zero bytes.
    pub(super) fn send_probe(&mut self, now: Time, padding: u16) -> Transmit<Datagram<P>> {
        self.send(now, Content::Probe(u32::from(padding)), Packet::Probe { padding })
    }

    /// Sends the next packet of the ingress queue as a source symbol. `None`: the queue is empty or
    /// the coding window is full.
    pub(super) fn send_source(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        if !self.window_open() {
            return None;
        }
        let mut queued = self.ingress.pop(now, self.deadline.in_queue(), P::mark_congestion)?;
        // The path's MTU may have become smaller since the packet was queued.
        while queued.meta.len > self.inner_mtu() {
            self.counts.too_long += 1;
            queued = self.ingress.pop(now, self.deadline.in_queue(), P::mark_congestion)?;
        }
        let queued_class = queued.class;
        let interactive = queued_class == Class::Interactive;
        let longest = PREFIX + self.inner_mtu() as usize;
        let (id, gap, payload) = self.sources.push(now, queued, longest);
        match &mut self.blocks {
            Some(blocks) => blocks.on_source(now, id),
            None => self.repairs.on_source(now, interactive, payload.len() as u32),
        }
        let class = self.counts.of_class(queued_class);
        class.packets += 1;
        class.bytes += payload.len() as u64;
        self.counts.sources += 1;
        self.counts.source_bytes += payload.len() as u64;
        Some(self.send(now, Content::Source(id), Packet::Source { id, gap, payload }))
    }

    /// Makes and sends the repair of `plan`. `None`: a member of the repair has left the coding
    /// window.
    pub(super) fn send_repair(&mut self, now: Time, plan: &PlannedRepair) -> Option<Transmit<Datagram<P>>> {
        self.seed = self.seed.wrapping_add(1);
        // The encoder refuses a member that has left the coding window. A plan is sent right after
        // it was made, so this does not happen.
        let payload = self.sources.encoder().repair(&plan.members, self.seed).ok()?;
        let content = match plan.purpose {
            Purpose::Exact(group) => Content::Exact(group),
            Purpose::Interactive | Purpose::Bulk => Content::Proactive(self.repairs.next_proactive()),
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
        Some(self.send(now, content, Packet::Repair { members, coding: Coding::Seed(self.seed), payload }))
    }

    /// Makes the datagram that carries `packet`, records the datagram in the sent-packet history,
    /// and tells the pacer about it. Reports and the end of the session ([`Content::Feedback`]) are
    /// not paced.
    pub(super) fn send(&mut self, now: Time, content: Content, packet: Packet<P>) -> Transmit<Datagram<P>> {
        debug_assert_eq!(packet.check_carried(None), Ok(()), "the wire format would change this packet");
        let bytes = self.config.header + packet.wire_len() as u32;
        if self.skips.skip(self.sent_history.next()) {
            self.sent_history.skip(now);
            self.counts.skipped += 1;
        }
        let number = self.sent_history.next();
        if content != Content::Feedback {
            self.silence.tail = TailProbe::Possible;
        }
        self.sent_history.record(now, content, bytes, self.rate.gain_class(), self.ingress.is_empty());
        if content != Content::Feedback {
            let pace = self.rate.pacing_rate(self.ingress.backlog().1);
            self.pacer.sent(now, bytes, pace, self.sent_history.srtt());
        }
        self.counts.datagrams += 1;
        self.counts.bytes += u64::from(bytes);
        // A fixed rate does not slow down for marks, so its datagrams are not ECN-capable.
        let ect = self.config.ecn && !matches!(self.config.rate, RateMode::Fixed(_));
        Transmit { packet: Datagram { number, packet }, bytes, ect }
    }
}
