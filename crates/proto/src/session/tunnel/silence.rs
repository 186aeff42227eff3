//! Reaction to missing reports: tail probes and silences.
//!
//! A *pause* is the time since the tunnel last sent a datagram that asks for a report. Sources,
//! repairs, window announcements and probes ask for a report; reports do not.
//!
//! A *tail probe* is one datagram that asks early in a pause whether the last datagrams arrived
//! (RFC 8985, section 7). If no report comes for a longer time, a *silence* begins. The tunnel then
//! declares everything in flight lost. Until the peer reports, the tunnel sends only a few packets
//! at a time, as probes.

use super::black_hole::Evidence;
use super::inner::InnerPacket;
use super::outcome::apply_outcome;
use super::repair::PlannedRepair;
use super::sent_history::{Content, Outcome};
use super::{Tunnel, TunnelEvent};
use crate::control::redundancy::{LEAST_PROBES, silence_probes};
use crate::session::Transmit;
use crate::wire::Datagram;
use ripstop_base::Time;
use std::time::Duration;

/// How long a peer may be silent before the caller should start a new handshake with
/// [`Peers::connect`](crate::secure::Peers::connect): max(1 s, 4 RTT).
///
/// A silent peer may have restarted and lost its keys. Then only a new handshake restores the
/// session. The silence begins when this end sends a datagram that asks for an answer. The silence
/// ends when an answer arrives. `rtt` is the path's round-trip time.
pub fn silence_limit(rtt: Duration) -> Duration {
    rtt.saturating_mul(4).max(Duration::from_secs(1))
}

/// Limit on the number of full-size probes in a batch, as a share of the packets that the path
/// carries in a round trip.
///
/// The other probes are small. Full-size probes repair or deliver a packet, but put load on a path
/// that may have failed. Half the value sends fewer repairs during a silence. Double the value puts
/// more load on a path that may be full. On every path, the limit is at least [`LEAST_PROBES`]
/// packets.
const FULL_PROBES: f64 = 0.25;
/// Factor by which the wait for a report grows from one batch of probes to the next, up to
/// [`LONGEST_WAIT`].
///
/// With double the factor, the wait soon reaches its limit. A factor of 1 would send batches at a
/// constant interval.
const BACK_OFF: f64 = 1.3;
/// Longest wait between two batches of probes, 500 ms. If the first wait is longer, all waits are
/// as long as the first.
///
/// With half the value, the tunnel sends twice the number of probes, and notices up to 250 ms
/// sooner that the path works again. With double the value, the tunnel notices up to 500 ms later
/// that the path works again.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// The state of the current silence, and of the tail probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    /// Number of batches of probes since the last report. 0: there is no silence.
    pub(super) batches: u32,
    /// Number of probes of the current batch that may still leave.
    due: u32,
    /// When the silence began. The value has no meaning while `batches` is 0.
    since: Time,
    /// When the current batch began, or its last probe left. Meaningless while `batches` is 0. Other datagrams, such
    /// as probes of the path's MTU, do not put the next batch off.
    last: Time,
    /// The state of the tail probe in the present pause.
    pub(super) tail: TailProbe,
}

/// The state of the tail probe. There is at most one tail probe in each pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailProbe {
    /// No tail probe was sent in this pause.
    Possible,
    /// A tail probe is to be sent now.
    Due,
    /// The tail probe of this pause was sent.
    Sent,
}

impl Silence {
    pub(super) fn new(now: Time) -> Silence {
        Silence { batches: 0, due: 0, since: now, last: now, tail: TailProbe::Possible }
    }

    /// When the silence began. `None`: there is no silence.
    pub(super) fn since(&self) -> Option<Time> {
        (self.batches > 0).then_some(self.since)
    }

    /// Records that the peer reported. Returns true when this ends a silence.
    pub(super) fn end(&mut self) -> bool {
        self.due = 0;
        std::mem::take(&mut self.batches) > 0
    }
}

impl<P: InnerPacket> Tunnel<P> {
    /// Whether the tunnel waits for a report.
    ///
    /// The tunnel waits while symbols are outstanding, or while an announcement or a probe is in
    /// flight. When no symbol is outstanding, the tunnel does not wait for reports of repairs in
    /// flight. During a silence the tunnel always waits, even if all probes are lost and nothing is
    /// in flight.
    pub(super) fn is_waiting(&self) -> bool {
        self.sources.len() > 0 || self.sent_history.is_asking() || self.silence.batches > 0
    }

    /// When [`Tunnel::on_silence`] must be called, unless a report arrives first.
    pub(super) fn silence_due(&self) -> Option<Time> {
        let first = self.sent_history.probe_timeout(self.announced.report_every);
        let wait = first.mul_f64(BACK_OFF.powi(self.silence.batches.min(20) as i32));
        let wait = wait.min(LONGEST_WAIT.max(first));
        let from = if self.silence.batches > 0 { self.silence.last } else { self.sent_history.last_eliciting() };
        let pause = from + wait;
        if !self.is_waiting() {
            return (self.sent_history.in_flight() > 0).then_some(pause);
        }
        // While datagrams leave all the time, no pause becomes long. So the time since the wait for
        // a report began counts too.
        let unanswered = self.sent_history.unanswered().filter(|_| self.silence.batches == 0);
        let steady = unanswered.map(|since| since + silence_limit(self.srtt()));
        Some(steady.map_or(pause, |steady| steady.min(pause)))
    }

    /// When to send a tail probe, because no report about the last datagrams has come.
    pub(super) fn tail_probe_due(&self) -> Option<Time> {
        let possible = self.silence.tail == TailProbe::Possible && self.silence.batches == 0;
        (possible && self.is_waiting())
            .then(|| self.sent_history.last_eliciting() + self.sent_history.tail_timeout(self.announced.report_every))
    }

    /// Sends the tail probe: a repair of symbols that may be missing, or else an empty probe.
    ///
    /// The tail probe leaves well before a silence would begin. If only the report was lost, the
    /// tail probe costs one datagram. If a packet was lost, the sender learns of the loss before a
    /// silence would begin.
    pub(super) fn probe_tail(&mut self, now: Time) -> Transmit<Datagram<P>> {
        let pause = self.sent_history.last_eliciting();
        // If the path no longer carries large datagrams, a repair would not arrive.
        let plan = if self.black_hole.wants_small() { None } else { self.plan_probe(now) };
        let repair = plan.and_then(|plan| self.send_repair(now, &plan));
        let sent = repair.unwrap_or_else(|| self.send_probe(now, 0));
        self.sent_history.go_on_from(pause);
        self.silence.tail = TailProbe::Sent;
        self.counts.tail_probes += 1;
        sent
    }

    /// Handles the lack of reports: declares everything in flight lost. If the tunnel waits for a
    /// report, begins or continues a silence and allows the next batch of probes.
    pub(super) fn on_silence(&mut self) {
        let waiting = self.is_waiting();
        self.give_up_in_flight(waiting && self.silence.batches == 0);
        if !waiting {
            return;
        }
        if self.silence.batches == 0 {
            self.silence.since = self.sent_history.unanswered().unwrap_or(self.sent_history.last_eliciting());
            self.events.push_back(TunnelEvent::Silent);
        }
        self.counts.silences += 1;
        self.silence.batches += 1;
        self.silence.last = self.now;
        self.silence.due = silence_probes(self.loss.get().losses());
    }

    /// Declares every datagram in flight lost. `begins`: a silence begins, so the path carried datagrams until now.
    fn give_up_in_flight(&mut self, begins: bool) {
        let (sources, repairs, announce) = (&mut self.sources, &mut self.repairs, &mut self.announce);
        let (events, blocks, too_large) = (&mut self.events, &mut self.blocks, &mut self.too_large);
        let (loss, now) = (&mut self.loss, self.now);
        let (hole, mtu) = (&mut self.black_hole, self.config.path_mtu);
        let (mut evidence, mut late, mut may_count) = (Evidence::None, 0, begins);
        self.sent_history.give_up_in_flight(
            |outcome| match outcome {
                // On a path that carries nothing, a lost probe says nothing about the MTU. The path may have failed
                // before the second probe.
                Outcome::Lost(Content::Probe(1..) | Content::LargerProbe(_)) if !std::mem::take(&mut may_count) => {}
                outcome => apply_outcome(outcome, sources, repairs, announce, events, blocks, too_large),
            },
            |lost, bytes| {
                late += u64::from(loss.settle(now, lost, bytes, mtu));
                evidence = evidence.and(hole.settle(bytes, lost, mtu));
            },
        );
        self.too_large.add(late);
        self.take_evidence(evidence);
    }

    /// The repair that a probe carries. A block code sends no repair of its own accord.
    fn plan_probe(&mut self, now: Time) -> Option<PlannedRepair> {
        let path = self.path(now);
        if self.blocks.is_some() { None } else { self.repairs.plan_probe(&self.sources, &path) }
    }

    /// Sends the next probe of the current batch. `None`: the batch is complete.
    ///
    /// The rate controller keeps its rate during a silence, but the path may be down. So only a few
    /// packets leave at a time.
    pub(super) fn probe(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        if self.silence.due == 0 {
            return None;
        }
        self.silence.due -= 1;
        self.silence.last = now;
        let path = self.path(now);
        // The first probes of a batch only test whether the path works again. Small probes suffice
        // for this test. The last probes are repairs or sources.
        // If the path no longer carries large datagrams, only small probes arrive.
        let small = self.black_hole.wants_small() && self.silence.due.is_multiple_of(2);
        if small || f64::from(self.silence.due) >= (path.packets * FULL_PROBES).max(f64::from(LEAST_PROBES)) {
            return Some(self.send_probe(now, 0));
        }
        if let Some(plan) = self.plan_probe(now)
            && let Some(sent) = self.send_repair(now, &plan)
        {
            return Some(sent);
        }
        self.send_source(now).or_else(|| Some(self.send_probe(now, 0)))
    }
}

#[cfg(test)]
mod tests {
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
                decided.extend(matches!(event, TunnelEvent::Probe { padding: 1000, received: false }).then_some(ms));
            }
            silences.push(tunnel.status().sent.silences);
        }
        assert!(matches!(decided[..], [0..1000]), "{decided:?}");
        let (early, late) = (silences[200], silences[999]);
        assert!(early > 1 && late > early + 10, "{early} batches after 2 s, {late} after 10 s");
    }
}
