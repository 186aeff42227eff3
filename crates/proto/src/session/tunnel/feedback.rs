//! How the tunnel handles a report of the peer. See `mod.rs` for the terms.
//!
//! A report updates the sent-packet history, the rate, the loss estimate and the coding window. A
//! report also decides which exact repairs (the repairs that answer a report) are due.

use super::announcement::REPORT_BYTES;
use super::black_hole::Evidence;
use super::bounds::REPORT_RANGES;
use super::outcome::apply_outcome;
use super::silence::TailProbe;
use super::{InnerPacket, Tunnel, TunnelEvent};
use crate::control::loss::Losses;
use crate::control::redundancy::report_repeats;
use crate::wire::Feedback;
use ripstop_base::Time;
use std::time::Duration;

/// Repetitions of one report may take at most this share of the bytes that the path carries in a
/// round trip.
///
/// This end sends reports too, and repeats its last report while no datagram follows. The first
/// [`FEW_PACKETS`] packets of the round trip do not count for the share. The share bounds the cost
/// of repetitions when losses come in long runs. Half the share allows half the number of
/// repetitions, so it happens more often that all repetitions are lost. Double the share lets
/// repetitions displace more data.
const REPEAT_SHARE: f64 = 0.2;
/// On a path that carries at most this number of packets per round trip, a report is repeated only
/// [`LEAST_REPEATS`](crate::control::redundancy::LEAST_REPEATS) times.
///
/// Such a path has no room for extra repetitions. Half the value allows extra repetitions on
/// shorter and slower paths. Double the value forbids extra repetitions on more paths. The value
/// hardly matters on a path that carries hundreds of packets per round trip.
const FEW_PACKETS: f64 = 4.0;

impl<P: InnerPacket> Tunnel<P> {
    /// Takes in `feedback`, which datagram `number` of the peer carried. The datagram has `waited` in this host.
    pub(super) fn on_feedback(&mut self, now: Time, waited: Duration, number: u64, feedback: &Feedback) {
        self.ranges_listed += REPORT_RANGES + (feedback.acked.len() + feedback.unseen.len()) as u64;
        if feedback.largest >= self.sent_history.next() || self.skips.are_acknowledged(feedback) {
            self.counts.false_reports += 1;
            self.events.push_back(TunnelEvent::FalseReport);
            return;
        }
        self.reported.update(feedback);
        if self.silence.end() {
            self.events.push_back(TunnelEvent::Heard);
        }
        let (sources, repairs, announce) = (&mut self.sources, &mut self.repairs, &mut self.announce);
        let (events, blocks, too_large) = (&mut self.events, &mut self.blocks, &mut self.too_large);
        let (loss, hole, mtu) = (&mut self.loss, &mut self.black_hole, self.config.path_mtu);
        let (mut evidence, mut late) = (Evidence::None, 0);
        let mut report = self.sent_history.take(
            now,
            waited,
            feedback,
            |outcome| apply_outcome(outcome, sources, repairs, announce, events, blocks, too_large),
            |lost, bytes| {
                late += u64::from(loss.settle(now, lost, bytes, mtu));
                evidence = evidence.and(hole.settle(bytes, lost, mtu));
            },
        );
        self.too_large.add(late);
        self.take_evidence(evidence);
        report.report_every = self.announced.report_every;
        report.losses = self.loss.get().losses();
        report.losses_back = self.receiver.recent_losses();
        self.rate.on_report(&report);
        self.balance.update(now, self.counts.bytes, self.receiver.received_bytes(), self.sent_history.srtt());
        // Reports may arrive out of order. Only the newest report says which symbols are missing
        // now.
        if self.newest_report.is_none_or(|newest| number > newest) {
            self.newest_report = Some(number);
            let holes = self.sources.take(feedback);
            self.update_deadline();
            let oldest = self.sources.sent(self.sources.first());
            let age = oldest.map_or(Duration::ZERO, |sent| now.since(sent));
            let srtt = self.sent_history.srtt();
            self.recovery_wait.offer(now, age.saturating_sub(srtt));
            self.ingress.set_rtt(srtt, self.recovery_wait.get(srtt));
            let path = self.path(now);
            if self.blocks.is_none() {
                self.repairs.take_holes(now, &holes, feedback.redundant, &self.sources, &path);
            }
            if !self.is_waiting() {
                self.sent_history.all_answered();
                self.silence.tail = TailProbe::Possible;
            }
            self.counts.peer_undecoded = u64::from(feedback.undecoded);
            self.counts.peer_redundant = feedback.redundant;
            self.counts.peer_marked = feedback.ce;
            // Sets how many times this end repeats its own reports. A path that holds only a few
            // packets has no room for extra repetitions. A path without losses needs no extra
            // repetitions.
            let spare = (path.packets - FEW_PACKETS).max(0.0) * f64::from(self.config.path_mtu);
            let affordable = (REPEAT_SHARE * spare / REPORT_BYTES) as u32;
            let losses = Losses { share: self.loss.get().proactive(now), ..path.losses };
            self.receiver.set_repeats(report_repeats(losses, affordable));
        }
    }
}
