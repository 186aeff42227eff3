//! Datagrams as they leave: numbered, recorded and paced.

use super::ingress::Class;
use super::repair::{PlannedRepair, Purpose};
use super::sent_history::Content;
use super::silence::TailProbe;
use super::{InnerPacket, Tunnel};
use crate::session::Transmit;
use crate::wire::{Datagram, Packet};
use ripstop_base::Time;
use ripstop_codes::window::Coding;

impl<P: InnerPacket> Tunnel<P> {
    pub(super) fn send_probe(&mut self, now: Time, padding: u16) -> Transmit<Datagram<P>> {
        self.send(now, Content::Probe(u32::from(padding)), Packet::Probe { padding })
    }

    pub(super) fn send_source(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        if !self.window_open() {
            return None;
        }
        let queued = self.ingress.pop(now, self.deadline())?;
        let interactive = queued.class == Class::Interactive;
        let (id, gap, payload) = self.sources.push(now, queued);
        self.repairs.on_source(now, interactive, payload.len() as u32);
        self.counts.sources += 1;
        self.counts.source_bytes += payload.len() as u64;
        Some(self.send(now, Content::Source(id), Packet::Source { id, gap, payload }))
    }

    pub(super) fn send_repair(&mut self, now: Time, plan: &PlannedRepair) -> Option<Transmit<Datagram<P>>> {
        self.seed = self.seed.wrapping_add(1);
        // A member that is no longer in the window means a plan older than the window: none is
        // kept.
        let payload = self.sources.encoder().repair(&plan.members, self.seed).ok()?;
        let content = match plan.purpose {
            Purpose::Exact(group) => Content::Exact(group),
            Purpose::Interactive | Purpose::Bulk => Content::Proactive(self.repairs.next_proactive()),
        };
        self.repairs.sent(now, plan, &mut self.sources);
        self.counts.repair_bytes += payload.len() as u64;
        let members = plan.members.clone();
        Some(self.send(now, content, Packet::Repair { members, coding: Coding::Seed(self.seed), payload }))
    }

    pub(super) fn send(&mut self, now: Time, content: Content, packet: Packet<P>) -> Transmit<Datagram<P>> {
        debug_assert_eq!(packet.check_carried(None), Ok(()), "the wire format would change this packet");
        let bytes = self.config.header + packet.wire_len() as u32;
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
        Transmit { packet: Datagram { number, packet }, bytes, ect: self.config.ecn }
    }
}
