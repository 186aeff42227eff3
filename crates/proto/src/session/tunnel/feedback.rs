//! How the tunnel handles a report of the peer. See `mod.rs` for the terms.
//!
//! The path's part of a report updates the path, which passes on what became of symbols. The symbols' part updates the coding
//! window, and decides which exact repairs (the repairs that answer a report) are due.

use super::Tunnel;
use super::bounds::REPORT_RANGES;
use super::sent::apply_outcome;
use crate::packets::InnerPacket;
use crate::wire::{Feedback, PathReport, SymbolReport};
use ripstop_base::Time;
use std::time::Duration;

impl<P: InnerPacket> Tunnel<P> {
    /// Takes in `feedback`, which datagram `number` of the peer carried. The datagram has `waited` in this host.
    pub(super) fn on_feedback(&mut self, now: Time, waited: Duration, number: u64, feedback: &Feedback) {
        let acked = feedback.path.as_ref().map_or(0, |path| path.acked.len());
        let unseen = feedback.symbols.as_ref().map_or(0, |symbols| symbols.unseen.len());
        self.ranges_listed += REPORT_RANGES + (acked + unseen) as u64;
        if let Some(report) = &feedback.path
            && !self.on_path_report(now, waited, report)
        {
            return;
        }
        // Reports may arrive out of order. Only the newest report says which symbols are missing
        // now.
        if self.newest_report.is_none_or(|newest| number > newest) {
            self.newest_report = Some(number);
            if let Some(report) = &feedback.symbols {
                self.on_symbol_report(now, report);
            }
            if let Some(report) = &feedback.path {
                self.path.note_newest(now, report.ce);
            }
        }
    }

    /// Takes the path's part of a report. Returns false if it cannot be true.
    fn on_path_report(&mut self, now: Time, waited: Duration, report: &PathReport) -> bool {
        let (sources, repairs, announce) = (&mut self.sources, &mut self.repairs, &mut self.announce);
        let (events, blocks) = (&mut self.events, &mut self.blocks);
        self.path.on_report(now, waited, report, |outcome| {
            apply_outcome(outcome, sources, repairs, announce, events, blocks);
        })
    }

    /// Takes the symbols' part of the newest report.
    fn on_symbol_report(&mut self, now: Time, report: &SymbolReport) {
        self.redundant = self.redundant.max(report.redundant);
        let holes = self.sources.take(report);
        self.update_deadline();
        let oldest = self.sources.sent(self.sources.first());
        let age = oldest.map_or(Duration::ZERO, |sent| now.since(sent));
        let srtt = self.path.srtt();
        self.recovery_wait.offer(now, age.saturating_sub(srtt));
        self.ingress.set_rtt(srtt, self.recovery_wait.get(srtt));
        let path = self.path_view(now);
        if self.blocks.is_none() {
            self.repairs.take_holes(now, &holes, report.redundant, &self.sources, &path);
        }
        self.path.rest_unless_waiting(self.is_outstanding());
        self.counts.peer_undecoded = u64::from(report.undecoded);
        self.counts.peer_redundant = report.redundant;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Tunnel, TunnelConfig};
    use crate::session::{Received, Session};
    use crate::wire::{Datagram, Feedback, Packet, PathReport, SymbolReport};
    use ripstop_base::Time;
    use ripstop_codes::Symbol;

    /// A relay answers for its own path, and passes the report of the symbols on. So each part of a report acts alone.
    #[test]
    fn the_parts_of_a_report_act_alone() {
        let mut tunnel: Tunnel<Symbol> = Tunnel::new(Time::ZERO, TunnelConfig::default(), 1);
        let mut packet = vec![0; 61];
        (packet[1], packet[4], packet[10]) = (0x45, 60, 17);
        (0..5).for_each(|_| tunnel.handle_inner(Time::ZERO, Symbol::from_slice(&packet)));
        let mut now = Time::from_millis(1);
        let mut largest = 0;
        while tunnel.outstanding() < 5 {
            while let Some(sent) = tunnel.poll_transmit(now) {
                largest = sent.packet.number;
            }
            now += std::time::Duration::from_millis(1);
        }
        let mut report = |number, path, symbols| {
            let packet = Packet::Feedback(Box::new(Feedback { path, symbols }));
            let packet = Datagram { number, packet };
            tunnel.handle_datagram(now, Received { packet, bytes: 100, reception: Default::default() });
            (tunnel.status().path.in_flight > 0, tunnel.outstanding())
        };
        let acked = std::iter::once(0..largest + 1).collect();
        let path = PathReport { largest, received: largest + 1, acked, ..PathReport::default() };
        assert_eq!(
            report(0, Some(path), None),
            (false, 5),
            "the datagrams have arrived, and the symbols are outstanding"
        );
        let symbols = SymbolReport { next_undecoded: 5, end: 5, ..SymbolReport::default() };
        assert_eq!(report(1, None, Some(symbols)), (false, 0));
    }
}
