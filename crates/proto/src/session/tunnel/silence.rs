//! What is done when reports do not come: the end of a burst is asked after once, then it is a silence, into which a few
//! packets go at a time until something is heard.

use super::inner::InnerPacket;
use super::outcome::apply_outcome;
use super::{Tunnel, TunnelEvent};
use crate::control::redundancy::{LEAST_PROBES, silence_probes};
use crate::secure::silence_limit;
use crate::session::Transmit;
use crate::wire::Datagram;
use ripstop_base::Time;
use std::time::Duration;

/// Of a round trip full packets may take this share.
const FULL_PROBES: f64 = 0.25;
/// Silence grows by this factor from probe to probe, up to the limit.
const BACK_OFF: f64 = 1.3;
const LONGEST_SILENCE: Duration = Duration::from_millis(500);

/// How long nothing has been heard, and what was done about it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silence {
    /// Times that probes were sent since anything was heard, and how many of them may still leave.
    pub(super) probes: u32,
    due: u32,
    since: Time,
    pub(super) tail: TailProbe,
}

/// One probe for each pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailProbe {
    /// None was sent in this pause.
    Possible,
    Due,
    Sent,
}

impl Silence {
    pub(super) fn new(now: Time) -> Silence {
        Silence { probes: 0, due: 0, since: now, tail: TailProbe::Possible }
    }

    /// Since when it has lasted, if it is one.
    pub(super) fn since(&self) -> Option<Time> {
        (self.probes > 0).then_some(self.since)
    }

    /// Something was heard. True when that ends a silence.
    pub(super) fn end(&mut self) -> bool {
        self.due = 0;
        std::mem::take(&mut self.probes) > 0
    }
}

impl<P: InnerPacket> Tunnel<P> {
    /// Whether a report is waited for. The last repairs of a symbol that has arrived are not, and with all probes lost
    /// nothing is in flight, but the silence goes on.
    pub(super) fn is_waiting(&self) -> bool {
        self.sources.len() > 0 || self.sent_history.is_asking() || self.silence.probes > 0
    }

    /// When silence has lasted so long that something must be done.
    pub(super) fn silence_ends(&self) -> Option<Time> {
        let first = self.sent_history.probe_timeout(self.announced.report_every);
        let wait = first.mul_f64(BACK_OFF.powi(self.silence.probes.min(20) as i32));
        let wait = wait.min(LONGEST_SILENCE.max(first));
        let pause = self.sent_history.last_eliciting() + wait;
        if !self.is_waiting() {
            return (self.sent_history.in_flight() > 0).then_some(pause);
        }
        // Whoever never pauses for long enough is to notice a silence, too.
        let unanswered = self.sent_history.unanswered().filter(|_| self.silence.probes == 0);
        let steady = unanswered.map(|since| since + silence_limit(self.srtt()));
        Some(steady.map_or(pause, |steady| steady.min(pause)))
    }

    /// When the last datagrams have gone unanswered for long enough to suspect that the last of them is lost.
    pub(super) fn tail_probe_due(&self) -> Option<Time> {
        let possible = self.silence.tail == TailProbe::Possible && self.silence.probes == 0;
        (possible && self.is_waiting()).then(|| {
            self.sent_history.last_eliciting() + self.sent_history.tail_timeout(self.announced.report_every)
        })
    }

    /// Repeats what may be missing, once, well before the silence is taken for one: a report that is lost costs one datagram,
    /// a packet that is lost is found out in time.
    pub(super) fn probe_tail(&mut self, now: Time) -> Transmit<Datagram<P>> {
        let pause = self.sent_history.last_eliciting();
        let plan = self.repairs.plan_probe(&self.sources, &self.path(now));
        let repair = plan.and_then(|plan| self.send_repair(now, &plan));
        let sent = repair.unwrap_or_else(|| self.send_probe(now, 0));
        self.sent_history.go_on_from(pause);
        self.silence.tail = TailProbe::Sent;
        self.counts.tail_probes += 1;
        sent
    }

    /// Nothing was heard for too long: what is in flight is lost, and who waits for a report asks for one.
    pub(super) fn on_silence(&mut self) {
        let waiting = self.is_waiting();
        self.give_up_in_flight();
        if !waiting {
            return;
        }
        if self.silence.probes == 0 {
            self.silence.since = self.sent_history.unanswered().unwrap_or(self.sent_history.last_eliciting());
            self.events.push_back(TunnelEvent::Silent);
        }
        self.counts.silences += 1;
        self.silence.probes += 1;
        self.silence.due = silence_probes(self.loss.losses());
    }

    fn give_up_in_flight(&mut self) {
        let (sources, repairs, announce) = (&mut self.sources, &mut self.repairs, &mut self.announce);
        let events = &mut self.events;
        let (loss, now) = (&mut self.loss, self.now);
        self.sent_history.give_up_in_flight(
            |outcome| apply_outcome(outcome, sources, repairs, announce, events),
            |lost| loss.settle(now, lost),
        );
    }

    /// Into a silence go a few packets at a time, until something is heard: the rate is unchanged, but it
    /// may lead nowhere.
    pub(super) fn probe(&mut self, now: Time) -> Option<Transmit<Datagram<P>>> {
        if self.silence.due == 0 {
            return None;
        }
        self.silence.due -= 1;
        let path = self.path(now);
        // The first ones find out whether anything gets through, which small ones do as well; the last ones mend something.
        if f64::from(self.silence.due) >= (path.packets * FULL_PROBES).max(f64::from(LEAST_PROBES)) {
            return Some(self.send_probe(now, 0));
        }
        if let Some(plan) = self.repairs.plan_probe(&self.sources, &path)
            && let Some(sent) = self.send_repair(now, &plan)
        {
            return Some(sent);
        }
        self.send_source(now).or_else(|| Some(self.send_probe(now, 0)))
    }
}
