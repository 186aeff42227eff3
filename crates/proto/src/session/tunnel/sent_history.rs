//! The sender's record of every datagram: when it left, what it carried, what became of it.
//!
//! From the receiver's reports it derives which datagrams arrived and which are lost, round-trip and one-way
//! delays, and delivery-rate samples that lost or bunched reports do not disturb (they are taken on the
//! receiver's clock).

use crate::control::rate::{GainClass, RateSample, Report};
use crate::wire::Feedback;
use ripstop_base::Time;
use std::collections::VecDeque;
use std::time::Duration;

/// A datagram is lost when one this much higher was received, and was sent `reordering` later.
const PACKET_THRESHOLD: u64 = 3;

/// What a datagram carried, as far as its fate matters to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Source symbol `id`.
    Source(u64),
    /// A repair for the holes of a group.
    Exact(u64),
    /// A repair sent ahead of any report, by its number among these.
    Proactive(u64),
    /// What the coding window is.
    Window,
    /// A probe of this many bytes.
    Probe(u32),
    /// Feedback: never reported by itself.
    Feedback,
}

impl Content {
    /// Whether a report of this very datagram is wanted.
    fn asks(self) -> bool {
        matches!(self, Content::Window | Content::Probe(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    Received,
    Lost,
}

#[derive(Clone, Debug)]
struct Record {
    content: Content,
    fate: Fate,
    gain: GainClass,
    app_limited: bool,
    bytes: u32,
    sent: Time,
    /// Bytes of all datagrams up to and including this one.
    passed: u64,
    /// The newest report when this one left: where its rate sample begins.
    base: Option<Base>,
}

/// A point that rate samples begin at: a datagram that arrived, and what had arrived by then.
#[derive(Clone, Copy, Debug)]
struct Base {
    number: u64,
    passed: u64,
    sent: Time,
    /// On the receiver's clock.
    arrived_us: u64,
    received_bytes: u64,
}

/// Something that became known of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Received(Content),
    Lost(Content),
    /// It was taken for lost, but has arrived.
    Late(Content),
}

/// All datagrams whose fate may still change.
#[derive(Debug)]
pub(super) struct SentHistory {
    first: u64,
    records: VecDeque<Record>,
    in_flight: u64,
    passed: u64,
    /// The highest number received, and the first one that ever was reported so.
    largest: Option<Base>,
    origin: Option<Base>,
    ce: u64,
    /// Below this number every fate is known.
    settled_to: u64,
    srtt: Option<Duration>,
    rttvar: Duration,
    initial_rtt: Duration,
    /// How much later than its successors a datagram may arrive.
    reordering: f64,
    /// When the last datagram that asks for a report left.
    /// Window announcements and probes in flight: they are waited for whatever else is known.
    asking: u32,
    last_eliciting: Time,
    /// When the first of them left since the last report.
    unanswered: Option<Time>,
    spurious: u64,
    lost: u64,
    /// Until this number is acknowledged samples show less than the path can do: nothing waited to be sent after it.
    limited: Option<u64>,
}

impl SentHistory {
    pub(super) fn new(initial_rtt: Duration) -> SentHistory {
        SentHistory {
            first: 0,
            records: VecDeque::new(),
            in_flight: 0,
            passed: 0,
            largest: None,
            origin: None,
            ce: 0,
            settled_to: 0,
            srtt: None,
            rttvar: initial_rtt / 2,
            initial_rtt,
            reordering: 0.0,
            asking: 0,
            last_eliciting: Time::ZERO,
            unanswered: None,
            spurious: 0,
            lost: 0,
            limited: None,
        }
    }

    /// The number that the next datagram will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// Records the datagram that leaves now, under [`SentHistory::next`]'s number; it is the `last` one when nothing
    /// waits to be sent after it.
    pub(super) fn record(&mut self, now: Time, content: Content, bytes: u32, gain: GainClass, last: bool) {
        if last {
            self.limited = Some(self.next());
        }
        let app_limited = self.limited.is_some();
        self.passed += u64::from(bytes);
        if content != Content::Feedback {
            self.in_flight += u64::from(bytes);
            self.asking += u32::from(content.asks());
            self.last_eliciting = now;
            self.unanswered.get_or_insert(now);
        }
        self.records.push_back(Record {
            content,
            fate: Fate::Unknown,
            gain,
            app_limited,
            bytes,
            sent: now,
            passed: self.passed,
            base: self.largest,
        });
    }

    /// Takes in a report; tells `outcome` what became known (lost before received, in number order within each), and
    /// `settle` the final fate of every eliciting datagram in number order. Returns what the rate controller needs to know.
    pub(super) fn take(
        &mut self,
        now: Time,
        feedback: &Feedback,
        mut outcome: impl FnMut(Outcome),
        settle: impl FnMut(bool),
    ) -> Report {
        let mut report = Report { now, in_flight_before: self.in_flight, ..Report::default() };
        if feedback.largest >= self.next() {
            // A number that was never sent: not from our peer's session. Nothing of it can be believed.
            return report;
        }
        report.ce = feedback.ce.saturating_sub(self.ce);
        self.ce = self.ce.max(feedback.ce);
        // Ranges come from high to low; fates are told in ascending order.
        for range in feedback.acked.iter().rev() {
            for number in range.start.max(self.first)..range.end.min(feedback.largest + 1) {
                self.receive(number, &mut report, &mut outcome);
            }
        }
        self.take_largest(now, feedback, &mut report);
        report.one_way_delay = self.one_way_delay(feedback);
        self.detect_losses(&mut report, &mut outcome);
        self.settle(settle);
        self.forget(now);
        self.unanswered = (self.in_flight > 0).then_some(now);
        report.in_flight = self.in_flight;
        report.srtt = self.srtt();
        report.next_number = self.next();
        report.largest_acked = self.largest.map_or(0, |l| l.number);
        report
    }

    /// Nothing was heard for too long: everything in flight is lost.
    pub(super) fn give_up_in_flight(&mut self, mut outcome: impl FnMut(Outcome), settle: impl FnMut(bool)) {
        let from = (self.settled_to.max(self.first) - self.first) as usize;
        for record in self.records.iter_mut().skip(from) {
            if record.fate == Fate::Unknown {
                record.fate = Fate::Lost;
                if record.content != Content::Feedback {
                    self.lost += 1;
                    outcome(Outcome::Lost(record.content));
                }
            }
        }
        self.in_flight = 0;
        self.asking = 0;
        self.settle(settle);
    }

    /// Bytes in flight.
    pub(super) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether an announcement or a probe is in flight.
    pub(super) fn is_asking(&self) -> bool {
        self.asking > 0
    }

    /// What is still in flight matters to nobody.
    pub(super) fn all_answered(&mut self) {
        self.unanswered = None;
    }

    /// When the last datagram left that asks for a report.
    pub(super) fn last_eliciting(&self) -> Time {
        self.last_eliciting
    }

    /// When the first datagram left that asks for a report and has none since.
    pub(super) fn unanswered(&self) -> Option<Time> {
        self.unanswered
    }

    /// Takes the pause for one that began at `pause`, whatever has left since.
    pub(super) fn go_on_from(&mut self, pause: Time) {
        self.last_eliciting = pause;
    }

    /// How long after the last datagram it is worth asking whether it arrived (RFC 8985, 7.2).
    pub(super) fn tail_timeout(&self, report_every: Duration) -> Duration {
        self.srtt() + (4 * self.rttvar).max(2 * report_every) + Duration::from_millis(10)
    }

    /// How long after the last datagram silence means loss.
    pub(super) fn probe_timeout(&self, report_every: Duration) -> Duration {
        self.srtt() + (4 * self.rttvar).max(8 * report_every) + Duration::from_millis(30)
    }

    /// The smoothed round-trip time, or the handshake's before the first sample.
    pub(super) fn srtt(&self) -> Duration {
        self.srtt.unwrap_or(self.initial_rtt)
    }

    /// Datagrams taken for lost, and those of them that arrived after all.
    pub(super) fn losses(&self) -> (u64, u64) {
        (self.lost, self.spurious)
    }

    fn receive(&mut self, number: u64, report: &mut Report, outcome: &mut impl FnMut(Outcome)) {
        let Some(record) = self.records.get_mut((number - self.first) as usize) else { return };
        match record.fate {
            Fate::Received => {}
            Fate::Unknown => {
                record.fate = Fate::Received;
                if record.content != Content::Feedback {
                    self.in_flight -= u64::from(record.bytes);
                    self.asking -= u32::from(record.content.asks());
                    report.acked_bytes += u64::from(record.bytes);
                    report.settled[record.gain as usize].packets += 1;
                    outcome(Outcome::Received(record.content));
                }
                self.reordering *= 0.9995;
            }
            Fate::Lost => {
                record.fate = Fate::Received;
                if record.content != Content::Feedback {
                    self.spurious += 1;
                    outcome(Outcome::Late(record.content));
                }
                let srtt = self.srtt.unwrap_or(self.initial_rtt).as_secs_f64();
                self.reordering = (self.reordering.max(0.001) * 1.5).min(srtt);
            }
        }
    }

    fn take_largest(&mut self, now: Time, feedback: &Feedback, report: &mut Report) {
        if self.largest.is_some_and(|l| feedback.largest <= l.number) {
            return;
        }
        let Some(record) =
            feedback.largest.checked_sub(self.first).and_then(|i| self.records.get(i as usize))
        else {
            return;
        };
        let base = record.base.or(self.origin);
        let app_limited = record.app_limited;
        let newest = Base {
            number: feedback.largest,
            passed: record.passed,
            sent: record.sent,
            arrived_us: feedback.largest_at_us,
            received_bytes: feedback.received_bytes,
        };
        let rtt = now.since(record.sent).saturating_sub(feedback.delay);
        self.limited = self.limited.filter(|last| *last > newest.number);
        self.largest = Some(newest);
        self.origin = self.origin.or(Some(newest));
        self.smooth(rtt);
        report.rtt = Some(rtt);
        report.rate = base.and_then(|base| self.sample(base, newest, app_limited));
    }

    fn sample(&self, base: Base, newest: Base, app_limited: bool) -> Option<RateSample> {
        // The interval on the receiver's clock, or the sending interval if that was longer: the path
        // cannot have shown more than it was offered.
        let receiving = newest.arrived_us.saturating_sub(base.arrived_us) as f64 / 1e6;
        let sending = newest.sent.since(base.sent).as_secs_f64();
        if receiving <= 0.0 || receiving < 0.3 * self.srtt().as_secs_f64() {
            return None;
        }
        let span = receiving.max(sending);
        let received = newest.received_bytes.saturating_sub(base.received_bytes) as f64;
        Some(RateSample {
            delivered: received / span,
            passed: newest.passed.saturating_sub(base.passed) as f64 / span,
            received: received / receiving,
            app_limited,
        })
    }

    /// RFC 6298.
    fn smooth(&mut self, rtt: Duration) {
        match self.srtt {
            None => {
                self.srtt = Some(rtt);
                self.rttvar = rtt / 2;
            }
            Some(srtt) => {
                self.rttvar = (self.rttvar * 3 + srtt.abs_diff(rtt)) / 4;
                self.srtt = Some((srtt * 7 + rtt) / 8);
            }
        }
    }

    /// Mean over the report's batch: mean arrival less mean departure.
    fn one_way_delay(&self, feedback: &Feedback) -> Option<f64> {
        let batch = feedback.batch;
        let (mut count, mut sent) = (0u32, 0.0);
        let largest = self.records.get(feedback.largest.checked_sub(self.first)? as usize)?;
        if batch.count > 0 {
            for range in &feedback.acked {
                for number in range.start.max(batch.lowest).max(self.first)..range.end {
                    let Some(record) = self.records.get((number - self.first) as usize) else { break };
                    count += 1;
                    sent += record.sent.signed_since(largest.sent) as f64;
                }
            }
        }
        // Reordering may put earlier arrivals between the batch's numbers; then the highest alone must do.
        let mean_before = if count == batch.count && count > 0 {
            f64::from(batch.mean_before_us) / 1e6 + sent / f64::from(count) / 1e9
        } else {
            0.0
        };
        Some(feedback.largest_at_us as f64 / 1e6 - largest.sent.as_secs_f64() - mean_before)
    }

    fn detect_losses(&mut self, report: &mut Report, outcome: &mut impl FnMut(Outcome)) {
        let Some(largest) = self.largest else { return };
        let srtt = self.srtt().as_secs_f64();
        let window = Duration::from_secs_f64((srtt / 16.0).min(0.010).max(self.reordering));
        let end = (largest.number + 1).saturating_sub(PACKET_THRESHOLD);
        for number in self.settled_to.max(self.first)..end {
            let Some(record) = self.records.get_mut((number - self.first) as usize) else { break };
            if record.sent + window > largest.sent {
                break;
            }
            if record.fate == Fate::Unknown {
                record.fate = Fate::Lost;
                if record.content != Content::Feedback {
                    self.in_flight -= u64::from(record.bytes);
                    self.asking -= u32::from(record.content.asks());
                    self.lost += 1;
                    let class = &mut report.settled[record.gain as usize];
                    class.packets += 1;
                    class.lost += 1;
                    outcome(Outcome::Lost(record.content));
                }
            }
        }
    }

    fn settle(&mut self, mut settle: impl FnMut(bool)) {
        let from = self.settled_to.max(self.first) - self.first;
        for record in self.records.iter().skip(from as usize) {
            match (record.fate, record.content) {
                (Fate::Unknown, Content::Feedback) if self.largest.is_some_and(|l| l.sent > record.sent) => {}
                (Fate::Unknown, _) => break,
                (_, Content::Feedback) => {}
                (fate, _) => settle(fate == Fate::Lost),
            }
            self.settled_to = self.settled_to.max(self.first) + 1;
        }
    }

    /// Lost datagrams are remembered for a while: they may yet turn out to be late.
    fn forget(&mut self, now: Time) {
        let keep = (4 * self.srtt()).max(Duration::from_secs(1));
        while self.first < self.settled_to {
            match self.records.front() {
                Some(r) if r.fate == Fate::Received || now.since(r.sent) > keep => {
                    if self.largest.is_some_and(|l| l.number == self.first) {
                        break;
                    }
                    self.records.pop_front();
                    self.first += 1;
                }
                _ => break,
            }
        }
    }
}
