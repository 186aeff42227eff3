//! Reaction to missing reports: tail probes and silences.
//!
//! A *pause* is the time since this end last sent a datagram that asks for a report. Sources,
//! repairs, window announcements and probes ask for a report; reports do not.
//!
//! A *tail probe* is one datagram that asks early in a pause whether the last datagrams arrived
//! (RFC 8985, section 7). If no report comes for a longer time, a *silence* begins. The path then
//! declares everything in flight lost. Until the peer reports, only a few packets
//! leave at a time, as probes.

use super::black_hole::Evidence;
use super::content::{Carried, Content, Outcome};
use super::{Path, PathEvent, take_own};
use crate::control::redundancy::{LEAST_PROBES, silence_probes};
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
pub(crate) struct Silence {
    /// Number of batches of probes since the last report. 0: there is no silence.
    pub(crate) batches: u32,
    /// Number of probes of the current batch that may still leave.
    due: u32,
    /// When the silence began. The value has no meaning while `batches` is 0.
    since: Time,
    /// When the current batch began, or its last probe left. Meaningless while `batches` is 0. Other datagrams, such
    /// as probes of the path's MTU, do not put the next batch off.
    last: Time,
    /// The state of the tail probe in the present pause.
    pub(crate) tail: TailProbe,
}

/// The state of the tail probe. There is at most one tail probe in each pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TailProbe {
    /// No tail probe was sent in this pause.
    Possible,
    /// A tail probe is to be sent now.
    Due,
    /// The tail probe of this pause was sent.
    Sent,
}

impl Silence {
    pub(crate) fn new(now: Time) -> Silence {
        Silence { batches: 0, due: 0, since: now, last: now, tail: TailProbe::Possible }
    }

    /// When the silence began. `None`: there is no silence.
    pub(crate) fn since(&self) -> Option<Time> {
        (self.batches > 0).then_some(self.since)
    }

    /// Records that the peer reported. Returns true when this ends a silence.
    pub(crate) fn end(&mut self) -> bool {
        self.due = 0;
        std::mem::take(&mut self.batches) > 0
    }
}

/// How long the next probe of a silence may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeSize {
    /// The probe only tests whether the path works again.
    Small,
    /// The probe may carry a repair or a source symbol.
    Full,
}

impl<C: Carried> Path<C> {
    /// When the current silence began. `None`: there is no silence.
    pub(crate) fn silent_since(&self) -> Option<Time> {
        self.silence.since()
    }

    /// Whether the path waits for a report.
    ///
    /// The path waits while something of the layer above is `outstanding`, or while a datagram is in flight whose report
    /// is awaited ([`Content::is_awaited`]). When nothing is outstanding, the path does not wait for reports of other datagrams.
    /// During a silence the path always waits, even if all probes are lost and nothing is in flight.
    pub(crate) fn is_waiting(&self, outstanding: bool) -> bool {
        outstanding || self.history.is_asking() || self.silence.batches > 0
    }

    /// Stops waiting for a report, if nothing is awaited.
    pub(crate) fn rest_unless_waiting(&mut self, outstanding: bool) {
        if !self.is_waiting(outstanding) {
            self.history.all_answered();
            self.silence.tail = TailProbe::Possible;
        }
    }

    /// When a silence begins or goes on, or a tail probe is due, unless a report arrives first.
    pub(crate) fn silence_timers(&self, outstanding: bool) -> [Option<Time>; 2] {
        [self.silence_due(outstanding), self.tail_probe_due(outstanding)]
    }

    /// Does what is due at `now`: begins a silence, or allows a tail probe. `outcome` learns what became of the layer's content.
    pub(crate) fn handle_silence(&mut self, now: Time, outstanding: bool, outcome: impl FnMut(Outcome<C>)) {
        if self.silence_due(outstanding).is_some_and(|at| at <= now) {
            self.on_silence(now, outstanding, outcome);
        } else if self.tail_probe_due(outstanding).is_some_and(|at| at <= now) {
            self.silence.tail = TailProbe::Due;
        }
    }

    /// Whether a tail probe is to be sent.
    ///
    /// The tail probe leaves well before a silence would begin. If only the report was lost, the
    /// tail probe costs one datagram. If a packet was lost, the sender learns of the loss before a
    /// silence would begin.
    pub(crate) fn is_tail_probe_due(&self) -> bool {
        self.silence.tail == TailProbe::Due
    }

    /// When the present pause began.
    pub(crate) fn pause(&self) -> Time {
        self.history.last_eliciting()
    }

    /// Notes that the tail probe was sent in the pause that began at `pause`.
    pub(crate) fn note_tail_probe(&mut self, pause: Time) {
        self.history.go_on_from(pause);
        self.silence.tail = TailProbe::Sent;
        self.counts.tail_probes += 1;
    }

    /// The next probe of the current batch. `None`: the batch is complete.
    ///
    /// The rate controller keeps its rate during a silence, but the path may be down. So only a few
    /// packets leave at a time.
    pub(crate) fn next_probe(&mut self, now: Time) -> Option<ProbeSize> {
        if self.silence.due == 0 {
            return None;
        }
        self.silence.due -= 1;
        self.silence.last = now;
        let packets = self.carried() / f64::from(self.config.mtu);
        // The first probes of a batch only test whether the path works again. Small probes suffice
        // for this test. The last probes are repairs or sources.
        // If the path no longer carries large datagrams, only small probes arrive.
        let small = self.black_hole.wants_small() && self.silence.due.is_multiple_of(2);
        let is_full = f64::from(self.silence.due) < (packets * FULL_PROBES).max(f64::from(LEAST_PROBES));
        Some(if small || !is_full { ProbeSize::Small } else { ProbeSize::Full })
    }

    /// When a silence begins or goes on, unless a report arrives first.
    fn silence_due(&self, outstanding: bool) -> Option<Time> {
        let first = self.history.probe_timeout(self.report_every);
        let wait = first.mul_f64(BACK_OFF.powi(self.silence.batches.min(20) as i32));
        let wait = wait.min(LONGEST_WAIT.max(first));
        let from = if self.silence.batches > 0 { self.silence.last } else { self.history.last_eliciting() };
        let pause = from + wait;
        if !self.is_waiting(outstanding) {
            return (self.history.in_flight() > 0).then_some(pause);
        }
        // While datagrams leave all the time, no pause becomes long. So the time since the wait for
        // a report began counts too.
        let unanswered = self.history.unanswered().filter(|_| self.silence.batches == 0);
        let steady = unanswered.map(|since| since + silence_limit(self.srtt()));
        Some(steady.map_or(pause, |steady| steady.min(pause)))
    }

    /// When to send a tail probe, because no report about the last datagrams has come.
    fn tail_probe_due(&self, outstanding: bool) -> Option<Time> {
        let possible = self.silence.tail == TailProbe::Possible && self.silence.batches == 0;
        (possible && self.is_waiting(outstanding))
            .then(|| self.history.last_eliciting() + self.history.tail_timeout(self.report_every))
    }

    /// Handles the lack of reports: declares everything in flight lost. If the path waits for a
    /// report, begins or continues a silence and allows the next batch of probes.
    fn on_silence(&mut self, now: Time, outstanding: bool, outcome: impl FnMut(Outcome<C>)) {
        let waiting = self.is_waiting(outstanding);
        self.give_up_in_flight(now, waiting && self.silence.batches == 0, outcome);
        if !waiting {
            return;
        }
        if self.silence.batches == 0 {
            self.silence.since = self.history.unanswered().unwrap_or(self.history.last_eliciting());
            self.events.push_back(PathEvent::Silent);
        }
        self.counts.silences += 1;
        self.silence.batches += 1;
        self.silence.last = now;
        self.silence.due = silence_probes(self.losses.get().losses());
    }

    /// Declares every datagram in flight lost. `begins`: a silence begins, so the path carried datagrams until now.
    fn give_up_in_flight(&mut self, now: Time, begins: bool, mut outcome: impl FnMut(Outcome<C>)) {
        let (events, too_large) = (&mut self.events, &mut self.too_large);
        let (losses, hole, mtu) = (&mut self.losses, &mut self.black_hole, self.config.mtu);
        let (mut evidence, mut late, mut may_count) = (Evidence::None, 0, begins);
        self.history.give_up_in_flight(
            |became| match became {
                // On a path that carries nothing, a lost probe says nothing about the MTU. The path may have failed
                // before the second probe.
                Outcome::Lost(Content::Probe(1..) | Content::LargerProbe(_)) if !std::mem::take(&mut may_count) => {}
                became => {
                    if let Some(carried) = take_own(became, events, too_large) {
                        outcome(carried);
                    }
                }
            },
            |lost, bytes| {
                late += u64::from(losses.settle(now, lost, bytes, mtu));
                evidence = evidence.and(hole.settle(bytes, lost, mtu));
            },
        );
        self.too_large.add(late);
        self.take_evidence(evidence);
    }
}
