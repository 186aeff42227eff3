//! The sent-packet history: for every datagram, when it left, what it carried, and what became of it.
//!
//! From the receiver's reports the history derives which datagrams arrived and which are lost. The history also
//! derives round-trip times, one-way delays and delivery-rate samples. Rate samples use the receiver's clock, so lost
//! reports and reports that arrive together do not disturb the samples.

mod forget;
mod samples;

use super::content::{Carried, Content, Outcome};
use super::round_trip::RoundTrip;
use crate::control::rate::{GainClass, Report};
use crate::wire::PathReport;
use ripstop_base::Time;
use ripstop_codes::window::IdRanges;
use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

/// Packet threshold of loss detection, datagrams (RFC 9002, section 6.1.1).
///
/// A datagram counts as lost when a datagram was received whose number is higher by at least this value. The received
/// datagram must also have left later, by at least the reordering window (see `detect_losses`). RFC 9002 recommends
/// 3. With half the value, more reordered datagrams are declared lost. With double the value, losses are detected
/// later, and more losses at the end of a burst are left to the tail probe.
const PACKET_THRESHOLD: u64 = 3;

/// What became of a datagram, as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    Received,
    Lost,
}

/// One datagram in the history. A loss keeps all later datagrams in the history for a second, so the history has often left
/// the cache. Therefore a record takes exactly one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Record<C> {
    content: Content<C>,
    fate: Fate,
    /// Class of the pacing gain when the datagram left.
    gain: GainClass,
    /// Whether a rate sample of this datagram may show less than the path can carry.
    app_limited: bool,
    /// Size on the link, bytes.
    bytes: u32,
    /// When the datagram left.
    sent: Time,
    /// Bytes of all datagrams sent, up to and including this one.
    passed: u64,
    /// Sum of the times at which this and all earlier datagrams left, ns.
    sent_sum: u128,
}

/// The beginning or end of a rate sample: a datagram that arrived, and the bytes received until then.
#[derive(Clone, Copy, Debug)]
struct Base {
    /// Number of the datagram.
    number: u64,
    /// Bytes of all datagrams sent up to and including this one.
    passed: u64,
    /// When the datagram left.
    sent: Time,
    /// When the datagram arrived, microseconds on the receiver's clock.
    arrived_us: u64,
    /// Bytes that the receiver had received when it reported this datagram.
    received_bytes: u64,
}

/// The memory of one datagram in the history, bytes.
pub(crate) const RECORD_BYTES: usize = 64;

/// The sent-packet history: all datagrams whose fate may still change.
#[derive(Debug)]
pub(crate) struct SentHistory<C> {
    /// Number of the first datagram in `records`.
    first: u64,
    records: VecDeque<Record<C>>,
    /// The datagrams in `records` that are known to have arrived.
    arrived: IdRanges,
    /// Bytes in flight, reports excluded.
    in_flight: u64,
    /// Bytes of all datagrams sent so far.
    passed: u64,
    /// Sum of the times at which all datagrams left, ns.
    sent_sum: u128,
    /// The datagram with the highest number that the peer has reported as received.
    largest: Option<Base>,
    /// The earlier and the present content of `largest`, ascending, each with the number of the first datagram that left
    /// with this content. The rate sample of a datagram begins with the `largest` of the time when the datagram left.
    bases: VecDeque<(u64, Base)>,
    /// The datagram with the highest number in the first report.
    origin: Option<Base>,
    /// Number of datagrams marked Congestion Experienced, according to the peer's reports.
    ce: u64,
    /// The fates of all datagrams with lower numbers are known.
    settled_to: u64,
    rtt: RoundTrip,
    /// How much later than its successors a datagram may arrive without being declared lost, s.
    reordering: f64,
    /// Number of window announcements and probes in flight. Their reports are awaited even when all symbols are decoded.
    asking: u32,
    /// When a datagram that asks for a report was last sent.
    last_eliciting: Time,
    /// When the wait for the next report began. `None`: no report is awaited. The wait begins with a report after which
    /// datagrams are still in flight, or else when the next datagram that asks for a report leaves.
    unanswered: Option<Time>,
    losses: LossCounts,
    /// The number of the last datagram after which nothing waited to be sent. Until this datagram is acknowledged, rate
    /// samples may show less than the path can carry.
    limited: Option<u64>,
    /// When this end was last resumed after a suspension. Round trips that began before are not measured.
    resumed: Time,
}

/// Numbers of datagrams that were declared lost.
#[derive(Debug, Default)]
struct LossCounts {
    /// Datagrams declared lost, reports included.
    declared: u64,
    /// Datagrams declared lost that arrived after all.
    spurious: u64,
    /// Reports declared lost that arrived after all.
    late_reports: u64,
}

impl<C: Carried> SentHistory<C> {
    /// Creates an empty history. `initial_rtt` is the round-trip time of the handshake.
    pub(crate) fn new(initial_rtt: Duration) -> SentHistory<C> {
        SentHistory {
            first: 0,
            records: VecDeque::new(),
            arrived: IdRanges::new(),
            in_flight: 0,
            passed: 0,
            sent_sum: 0,
            largest: None,
            bases: VecDeque::new(),
            origin: None,
            ce: 0,
            settled_to: 0,
            rtt: RoundTrip::new(initial_rtt),
            reordering: 0.0,
            asking: 0,
            last_eliciting: Time::ZERO,
            unanswered: None,
            losses: LossCounts::default(),
            limited: None,
            resumed: Time::ZERO,
        }
    }

    /// The number that the next datagram will have.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    /// The memory of the history, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.records.len() * RECORD_BYTES
            + self.arrived.ranges().len() * size_of::<Range<u64>>()
            + self.bases.len() * size_of::<(u64, Base)>()
    }

    /// The number of datagrams in the history.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Records the datagram that leaves now. Its number is [`SentHistory::next`]. `last`: nothing waits to be sent
    /// after this datagram.
    pub(crate) fn record(&mut self, now: Time, content: Content<C>, bytes: u32, gain: GainClass, last: bool) {
        self.forget_old(now);
        if last {
            self.limited = Some(self.next());
        }
        let app_limited = self.limited.is_some();
        self.passed += u64::from(bytes);
        self.sent_sum += u128::from(now.as_nanos());
        if content.asks() {
            self.in_flight += u64::from(bytes);
            self.asking += u32::from(content.is_awaited());
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
            sent_sum: self.sent_sum,
        });
    }

    /// Leaves out the next number. The number counts neither as received nor as lost.
    pub(crate) fn skip(&mut self, now: Time) {
        self.sent_sum += u128::from(now.as_nanos());
        self.records.push_back(Record {
            content: Content::Skipped,
            fate: Fate::Lost,
            gain: GainClass::default(),
            app_limited: false,
            bytes: 0,
            sent: now,
            passed: self.passed,
            sent_sum: self.sent_sum,
        });
    }

    /// Takes in a report, which has `waited` in this host until `now`. Returns the data that the rate controller needs.
    /// All numbers in the report were sent.
    ///
    /// `outcome` and `settle` are called only for datagrams that ask for a report. `outcome` takes what became known of
    /// a datagram: first the received datagrams, then the lost ones, each in order of number. `settle` is called once for
    /// each datagram, in order of number, when the fates of it and of all earlier ones are known. Its arguments: is the
    /// datagram lost, and its size in bytes.
    pub(crate) fn take(
        &mut self,
        now: Time,
        waited: Duration,
        feedback: &PathReport,
        mut outcome: impl FnMut(Outcome<Content<C>>),
        settle: impl FnMut(bool, u32),
    ) -> Report {
        let ce = feedback.ce.saturating_sub(self.ce);
        let mut report = Report { now, ce, in_flight_before: self.in_flight, ..Report::default() };
        self.ce = self.ce.max(feedback.ce);
        // The report lists ranges from high to low. Outcomes are passed on in ascending order.
        let news = self.not_arrived(&feedback.acked, feedback.largest);
        for number in news.into_iter().flatten() {
            self.receive(number, &mut report, &mut outcome);
        }
        self.take_largest(now - waited, feedback, &mut report);
        report.one_way_delay = self.one_way_delay(now, feedback);
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

    /// Declares everything in flight lost after a silence. `outcome` and `settle` are called as in [`SentHistory::take`].
    pub(crate) fn give_up_in_flight(
        &mut self,
        mut outcome: impl FnMut(Outcome<Content<C>>),
        settle: impl FnMut(bool, u32),
    ) {
        let from = (self.settled_to.max(self.first) - self.first) as usize;
        for record in self.records.iter_mut().skip(from) {
            if record.fate == Fate::Unknown {
                record.fate = Fate::Lost;
                if record.content.asks() {
                    self.losses.declared += u64::from(!matches!(record.content, Content::LargerProbe(_)));
                    outcome(Outcome::Lost(record.content));
                }
            }
        }
        self.in_flight = 0;
        self.asking = 0;
        self.settle(settle);
        self.bound();
    }

    /// Bytes in flight.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Whether a window announcement or a probe is in flight.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking > 0
    }

    /// Stops waiting for a report: the fates of the datagrams in flight no longer matter.
    pub(crate) fn all_answered(&mut self) {
        self.unanswered = None;
    }

    /// When a datagram that asks for a report was last sent.
    pub(crate) fn last_eliciting(&self) -> Time {
        self.last_eliciting
    }

    /// When the wait for the next report began. `None`: no report is awaited.
    pub(crate) fn unanswered(&self) -> Option<Time> {
        self.unanswered
    }

    /// Sets the result of [`SentHistory::last_eliciting`] back to `pause`, the beginning of the current pause (see
    /// `silence.rs`). This is done after a tail probe was sent, because a tail probe must not begin a new pause.
    pub(crate) fn go_on_from(&mut self, pause: Time) {
        self.last_eliciting = pause;
    }

    /// Time from the last datagram that asks for a report until the tail probe is due (RFC 8985, section 7.2).
    pub(crate) fn tail_timeout(&self, report_every: Duration) -> Duration {
        self.srtt() + (4 * self.rtt.variation()).max(2 * report_every) + Duration::from_millis(10)
    }

    /// Time from the last datagram that asks for a report until everything in flight counts as lost without a report.
    pub(crate) fn probe_timeout(&self, report_every: Duration) -> Duration {
        self.srtt() + (4 * self.rtt.variation()).max(8 * report_every) + Duration::from_millis(30)
    }

    /// The smoothed round-trip time. Before the first sample, this is the round-trip time of the handshake.
    pub(crate) fn srtt(&self) -> Duration {
        self.rtt.smoothed()
    }

    /// Whether the round-trip time has been measured since the handshake.
    pub(crate) fn has_rtt(&self) -> bool {
        self.rtt.is_measured()
    }

    /// Two counts: datagrams declared lost, and datagrams declared lost that arrived after all. Reports and ends of sessions are
    /// counted too; probes above the path's MTU in use are not.
    pub(crate) fn losses(&self) -> (u64, u64) {
        (self.losses.declared, self.losses.spurious + self.losses.late_reports)
    }

    /// The datagrams up to `largest` in the ranges `acked` that are in the history and are not known to have arrived,
    /// ascending. `acked` goes from high to low. A report repeats the numbers of earlier reports; only the news takes work.
    fn not_arrived(&self, acked: &[Range<u64>], largest: u64) -> Vec<Range<u64>> {
        let within = self.first..self.next().min(largest + 1);
        let lowest = acked.last().map_or(within.end, |range| range.start).max(within.start);
        // Both lists are walked at the same time, so a range takes no search.
        let (mut known, mut news) = (self.arrived.ranges_in(&(lowest..within.end)).peekable(), Vec::new());
        for range in acked.iter().rev() {
            let (mut at, end) = (range.start.max(within.start), range.end.min(within.end));
            while at < end {
                while known.next_if(|known| known.end <= at).is_some() {}
                let next = known.peek().filter(|known| known.start < end).cloned().unwrap_or(end..end);
                if at < next.start {
                    news.push(at..next.start);
                }
                at = next.end;
            }
        }
        news
    }

    /// Records that datagram `number` was received.
    ///
    /// If the datagram had been declared lost, `reordering` grows by half. The new value is at least 1.5 ms and at
    /// most a round trip. If the datagram's fate was unknown, `reordering` shrinks by 0.05 %.
    fn receive(&mut self, number: u64, report: &mut Report, outcome: &mut impl FnMut(Outcome<Content<C>>)) {
        let Some(record) = self.records.get_mut((number - self.first) as usize) else { return };
        self.arrived.insert(number);
        match record.fate {
            Fate::Received => {}
            Fate::Unknown => {
                record.fate = Fate::Received;
                if record.content.asks() {
                    self.in_flight -= u64::from(record.bytes);
                    self.asking -= u32::from(record.content.is_awaited());
                    report.acked_bytes += u64::from(record.bytes);
                    report.settled[record.gain as usize].packets += 1;
                    outcome(Outcome::Received(record.content));
                }
                self.reordering *= 0.9995;
            }
            Fate::Lost => {
                record.fate = Fate::Received;
                if !record.content.asks() {
                    self.losses.late_reports += 1;
                } else {
                    self.losses.spurious += 1;
                    report.spurious += 1;
                    outcome(Outcome::Late(record.content));
                }
                let srtt = self.rtt.smoothed().as_secs_f64();
                self.reordering = (self.reordering.max(0.001) * 1.5).min(srtt);
            }
        }
    }

    /// Marks datagrams as lost (RFC 9002, section 6.1).
    ///
    /// A datagram is lost if a datagram has arrived whose number is higher by at least [`PACKET_THRESHOLD`], and that left
    /// later by at least the reordering window: the larger of `reordering` and min(srtt / 16, 10 ms).
    fn detect_losses(&mut self, report: &mut Report, outcome: &mut impl FnMut(Outcome<Content<C>>)) {
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
                let counts = !matches!(record.content, Content::LargerProbe(_));
                self.losses.declared += u64::from(counts);
                if record.content.asks() {
                    self.in_flight -= u64::from(record.bytes);
                    self.asking -= u32::from(record.content.is_awaited());
                    if counts {
                        let class = &mut report.settled[record.gain as usize];
                        class.packets += 1;
                        class.lost += 1;
                    }
                    outcome(Outcome::Lost(record.content));
                }
            }
        }
    }

    /// Passes fates to `settle` in number order, up to the first datagram whose fate is unknown. The fates of reports
    /// and of probes of larger sizes are not passed on. A report of unknown fate is skipped if the report left before the datagram in `largest`.
    fn settle(&mut self, mut settle: impl FnMut(bool, u32)) {
        let from = self.settled_to.max(self.first) - self.first;
        for record in self.records.iter().skip(from as usize) {
            match (record.fate, record.content) {
                (Fate::Unknown, Content::Unasking) if self.largest.is_some_and(|l| l.sent > record.sent) => {}
                (Fate::Unknown, _) => break,
                (_, Content::Unasking | Content::Skipped | Content::LargerProbe(_)) => {}
                (fate, _) => settle(fate == Fate::Lost, record.bytes),
            }
            self.settled_to = self.settled_to.max(self.first) + 1;
        }
    }
}
