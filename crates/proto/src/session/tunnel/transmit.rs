//! Sending: takes inner packets into the ingress queue, numbers each datagram, records the datagram in
//! the sent-packet history, and paces the datagrams.

use super::class::Class;
use super::ingress::Queued;
use super::repair::{PlannedRepair, Purpose};
use super::sent_history::Content;
use super::silence::TailProbe;
use super::{InnerPacket, RateMode, Tunnel, class};
use crate::session::Transmit;
use crate::wire::symbol::PREFIX;
use crate::wire::{Datagram, HEADER_LEN, Packet, TAG_LEN};
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
                let below = class::interactive_below(self.rate.view().bandwidth, hint, meta.order);
                let class = self.ingress.push(now, payload, meta, below);
                self.counts.hinted(hint, class);
            }
            Some(_) => self.counts.too_long += 1,
            None => self.counts.malformed += 1,
        }
    }

    /// Sends a probe with `padding` zero bytes.
    pub(super) fn send_probe(&mut self, now: Time, padding: u16) -> Transmit<Datagram<P>> {
        let bytes = self.config.header + (HEADER_LEN + TAG_LEN) as u32 + u32::from(padding);
        let is_larger = bytes > self.config.path_mtu;
        let content = if is_larger { Content::LargerProbe } else { Content::Probe }(u32::from(padding));
        self.send(now, content, Packet::Probe { padding })
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
