//! One path to one peer: the layer that numbers datagrams and knows what became of them.
//!
//! ```text
//!  own packets, content of the layer above -> send: number, history, pacer
//!  path report of the peer -> on_report: history -> rate, losses, MTU -> outcomes for the layer above
//!  datagram of the peer -> arrive: numbers, losses of the peer's direction -> path reports
//! ```
//!
//! A path carries the content of the layer above without knowing it: the type `C` only names the content of a datagram, so
//! that the layer above learns what became of it. A path knows no symbols.
//!
//! Terms of this module and its files:
//!
//! * A *datagram* has a number. Each end numbers its datagrams to the peer 0, 1, 2, ...
//! * A *report* ([`PathReport`]) tells the sender which datagrams have arrived. Most datagrams ask for one.
//! * A *probe* is a datagram that is sent to obtain a report. Most probes carry only padding.
//! * A *silence* begins when the peer does not report in time.

mod balance;
mod black_hole;
mod content;
mod event;
mod losses;
mod pacer;
mod peer_losses;
mod received;
mod received_numbers;
mod reception;
mod report_interval;
mod report_limit;
mod report_timer;
mod requests;
mod round_trip;
mod sent_history;
mod silence;
mod skips;
mod status;
mod too_large;

pub use black_hole::Arrivals;
pub(crate) use content::{Carried, Content, Outcome};
pub use event::{PathCounts, PathEvent};
pub use received::ReceivedCounts;
pub use reception::Reception;
pub use requests::PathPacket;
pub(crate) use sent_history::RECORD_BYTES;
pub(crate) use silence::ProbeSize;
pub use silence::silence_limit;
pub use status::PathStatus;

use crate::control::loss::LossEstimator;
use crate::control::rate::{Fair, Fixed, RateControl, RateMode, Tuning, View};
use crate::wire::{HEADER_LEN, Packet, PathReport, PathTotals, TAG_LEN};
use balance::Balance;
use black_hole::{BlackHole, Evidence};
use losses::PathLosses;
use pacer::Pacer;
use received::Received;
use report_limit::ReportLimit;
use requests::Requests;
use ripstop_base::{Stream, Time};
use sent_history::SentHistory;
use silence::{Silence, TailProbe};
use skips::Skips;
use std::collections::VecDeque;
use std::time::Duration;
use too_large::TooLarge;

/// The settings of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathConfig {
    /// The length of the largest datagram, IP header included, bytes.
    pub(crate) mtu: u32,
    /// The length of the IP and UDP headers of a datagram, bytes.
    pub(crate) header: u32,
    /// How the rate is found.
    pub(crate) rate: RateMode,
    /// The constants of the rate controller.
    pub(crate) tuning: Tuning,
    /// Whether datagrams are sent as ECN-capable.
    pub(crate) ecn: bool,
    /// The round-trip time until it is measured.
    pub(crate) first_rtt: Duration,
}

/// One path to one peer. `C` names the content of the layer above.
#[derive(Debug)]
pub(crate) struct Path<C> {
    config: PathConfig,
    history: SentHistory<C>,
    skips: Skips,
    rate: RateControl,
    pacer: Pacer,
    losses: PathLosses,
    too_large: TooLarge,
    black_hole: BlackHole,
    silence: Silence,
    report_limit: ReportLimit,
    /// The interval of reports that this end has announced to the peer.
    report_every: Duration,
    /// The running totals in the peer's reports.
    reported: PathTotals,
    balance: Balance,
    /// The receiving half.
    pub(crate) received: Received,
    /// What the user has asked to send.
    pub(crate) requests: Requests,
    /// Whether the peer has ended the session.
    closed: bool,
    events: VecDeque<PathEvent>,
    counts: PathCounts,
}

impl<C: Carried> Path<C> {
    /// Creates a path that begins at `now`. `secret` decides which numbers are skipped, and `random` when to probe for more
    /// rate.
    pub(crate) fn new(now: Time, config: PathConfig, secret: u64, random: Stream) -> Path<C> {
        let rtt = config.first_rtt.as_secs_f64();
        let rate = match config.rate {
            RateMode::Adaptive(mode) => {
                RateControl::Fair(Box::new(Fair::new(now, mode, config.tuning, config.mtu, rtt, random)))
            }
            RateMode::Fixed(rate) => RateControl::Fixed(Fixed::new(rate.bps() as f64 / 8.0, rtt)),
        };
        Path {
            config,
            history: SentHistory::new(config.first_rtt),
            skips: Skips::new(secret),
            rate,
            pacer: Pacer::new(now),
            losses: PathLosses::default(),
            too_large: TooLarge::default(),
            black_hole: BlackHole::default(),
            silence: Silence::new(now),
            report_limit: ReportLimit::new(now),
            report_every: Duration::ZERO,
            reported: PathTotals::default(),
            balance: Balance::new(now),
            received: Received::new(),
            requests: Requests::default(),
            closed: false,
            events: VecDeque::new(),
            counts: PathCounts::default(),
        }
    }

    /// Sends a datagram of `bytes` bytes. Returns its number. Records the datagram in the sent-packet history, and tells the
    /// pacer about it. Reports and the end of the session ([`Content::Unasking`]) are not paced.
    ///
    /// `waiting`: the bytes that wait to be sent. `is_last`: nothing waits after this datagram.
    pub(crate) fn send(&mut self, now: Time, content: Content<C>, bytes: u32, waiting: usize, is_last: bool) -> u64 {
        if self.skips.skip(self.history.next()) {
            self.history.skip(now);
            self.counts.skipped += 1;
        }
        let number = self.history.next();
        if content.asks() {
            self.silence.tail = TailProbe::Possible;
        }
        self.history.record(now, content, bytes, self.rate.gain_class(), is_last);
        if content.asks() {
            let pace = self.rate.pacing_rate(waiting);
            self.pacer.sent(now, bytes, pace, self.history.srtt());
        }
        self.counts.datagrams += 1;
        self.counts.bytes += u64::from(bytes);
        number
    }

    /// The next packet of the path itself that leaves before all others: a requested packet or probe, or a notice about
    /// datagrams that were too large.
    pub(crate) fn own_packet<P>(&mut self) -> Option<(Content<C>, Packet<P>)> {
        if let Some(packet) = self.requests.take_packet() {
            let packet = match packet {
                PathPacket::Challenge(token) => Packet::Challenge { token },
                PathPacket::Answer(token) => Packet::Answer { token },
            };
            return Some((Content::Unasking, packet));
        }
        if let Some(padding) = self.requests.take_probe() {
            return Some(self.probe(padding));
        }
        let number = self.too_large.notice()?;
        Some((Content::TooLarge(number), Packet::Probe { padding: TooLarge::padding(number) }))
    }

    /// A probe with `padding` zero bytes.
    pub(crate) fn probe<P>(&self, padding: u16) -> (Content<C>, Packet<P>) {
        let bytes = self.config.header + (HEADER_LEN + TAG_LEN) as u32 + u32::from(padding);
        let is_larger = bytes > self.config.mtu;
        let content = if is_larger { Content::LargerProbe } else { Content::Probe }(u32::from(padding));
        (content, Packet::Probe { padding })
    }

    /// Records that datagram `number`, of `bytes` bytes, has arrived. See [`Received::arrive`].
    pub(crate) fn arrive(&mut self, now: Time, number: u64, bytes: u32, reception: Reception, eliciting: bool) -> bool {
        let is_new = self.received.arrive(now, number, bytes, reception, eliciting);
        if is_new {
            let (lost, sent, bursts) = self.received.totals();
            self.losses.presume(lost, sent, bursts);
        }
        is_new
    }

    /// Takes a report of the peer, which has `waited` in this host. `outcome` learns what became of the layer's content.
    /// Returns false if the report cannot be true.
    pub(crate) fn on_report(
        &mut self,
        now: Time,
        waited: Duration,
        report: &PathReport,
        mut outcome: impl FnMut(Outcome<C>),
    ) -> bool {
        if report.largest >= self.history.next() || self.skips.are_acknowledged(report) {
            self.counts.false_reports += 1;
            self.events.push_back(PathEvent::FalseReport);
            return false;
        }
        self.reported.update(report);
        if self.silence.end() {
            self.events.push_back(PathEvent::Heard);
        }
        let (events, too_large) = (&mut self.events, &mut self.too_large);
        let (losses, hole, mtu) = (&mut self.losses, &mut self.black_hole, self.config.mtu);
        let (mut evidence, mut late) = (Evidence::None, 0);
        let mut learned = self.history.take(
            now,
            waited,
            report,
            |became| {
                if let Some(carried) = take_own(became, events, too_large) {
                    outcome(carried);
                }
            },
            |lost, bytes| {
                late += u64::from(losses.settle(now, lost, bytes, mtu));
                evidence = evidence.and(hole.settle(bytes, lost, mtu));
            },
        );
        self.too_large.add(late);
        self.take_evidence(evidence);
        learned.report_every = self.report_every;
        learned.losses = self.losses.get().losses();
        learned.losses_back = self.received.losses();
        self.rate.on_report(&learned);
        self.balance.update(now, self.counts.bytes, self.received.bytes(), self.history.srtt());
        true
    }

    /// Reports that the peer has ended the session. A peer may say so in any number of datagrams, but the session ends
    /// one time.
    pub(crate) fn note_closed(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.events.push_back(PathEvent::Closed);
        }
    }

    /// Notes that this end was suspended until `now`, for example with its host. The time between is no part of a round trip.
    pub(crate) fn resume(&mut self, now: Time) {
        self.history.resume(now);
        self.counts.suspensions += 1;
    }

    /// Sets the path's MTU: the length of the largest datagram, IP header included, bytes.
    pub(crate) fn set_mtu(&mut self, now: Time, mtu: u32) {
        if mtu < self.config.mtu {
            self.too_large.add(self.losses.shrink_to(now, mtu));
        }
        self.config.mtu = mtu;
        self.rate.set_packet(mtu);
        self.black_hole.reset();
    }

    /// Sets the length of the IP and UDP headers of a datagram, bytes.
    pub(crate) fn set_header(&mut self, header: u32) {
        self.config.header = header;
    }

    /// The path's MTU, bytes.
    pub(crate) fn mtu(&self) -> u32 {
        self.config.mtu
    }

    /// The length of the IP and UDP headers of a datagram, bytes.
    pub(crate) fn header(&self) -> u32 {
        self.config.header
    }

    /// Whether datagrams are sent as ECN-capable. A fixed rate does not slow down for marks.
    pub(crate) fn is_ecn_capable(&self) -> bool {
        self.config.ecn && !matches!(self.config.rate, RateMode::Fixed(_))
    }

    /// The number that the next datagram will have.
    pub(crate) fn next_number(&self) -> u64 {
        self.history.next()
    }

    /// The running totals in the peer's reports.
    pub(crate) fn reported(&self) -> PathTotals {
        self.reported
    }

    /// The next event.
    pub(crate) fn poll_event(&mut self) -> Option<PathEvent> {
        self.events.pop_front()
    }

    /// Whether the rate controller's window allows one more full datagram in flight.
    pub(crate) fn has_room(&self) -> bool {
        self.history.in_flight() + u64::from(self.config.mtu) <= self.rate.window()
    }

    /// Whether a datagram may leave now: the window has room, and the pacer is open.
    pub(crate) fn is_open(&mut self, now: Time) -> bool {
        self.has_room() && self.pacer.is_open(now)
    }

    /// Notes that nothing leaves now. `held`: only the pacer holds back what waits.
    pub(crate) fn hold(&mut self, held: bool) {
        self.pacer.hold(held);
    }

    /// When the pacer opens.
    pub(crate) fn opens(&self) -> Time {
        self.pacer.opens()
    }

    /// The smoothed round-trip time (RFC 6298). Before the first sample, this is the round-trip time of the handshake.
    pub(crate) fn srtt(&self) -> Duration {
        self.history.srtt()
    }

    /// Whether the round-trip time has been measured since the handshake.
    pub(crate) fn has_rtt(&self) -> bool {
        self.history.has_rtt()
    }

    /// The rate controller's view of the path.
    pub(crate) fn view(&self) -> View {
        self.rate.view()
    }

    /// The rate at which datagrams leave while `waiting` bytes wait, byte/s.
    pub(crate) fn pacing_rate(&self, waiting: usize) -> f64 {
        self.rate.pacing_rate(waiting)
    }

    /// The losses of the path to the peer.
    pub(crate) fn losses(&self) -> &LossEstimator {
        self.losses.get()
    }

    /// The bytes that the path carries in a round trip, at least 1.
    pub(crate) fn carried(&self) -> f64 {
        (self.rate.view().bandwidth * self.history.srtt().as_secs_f64()).max(1.0)
    }

    /// What the traffic since the last call says of the path's MTU, as far as the peer's reports say.
    pub(crate) fn take_arrivals(&mut self) -> Arrivals {
        self.black_hole.take_arrivals()
    }

    /// Whether the path seems to carry only small datagrams.
    pub(crate) fn wants_small(&self) -> bool {
        self.black_hole.wants_small()
    }

    /// Frees memory: forgets datagrams whose fate is known.
    pub(crate) fn shrink(&mut self) {
        self.history.shrink();
    }

    /// The memory of the path, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.history.bytes()
    }

    /// The number of datagrams in the history.
    #[cfg(test)]
    pub(crate) fn remembered(&self) -> usize {
        self.history.len()
    }

    /// Reports what the fates of datagrams say of the path's MTU.
    fn take_evidence(&mut self, evidence: Evidence) {
        self.events.extend(match evidence {
            Evidence::None => None,
            Evidence::Suspicion => Some(PathEvent::LargeLost),
            Evidence::Proof => Some(PathEvent::LargeReceived),
        });
    }
}

/// Takes the outcome of a datagram. Returns the outcome of the content of the layer above. Adds an event when a probe was
/// received or lost.
fn take_own<C>(
    outcome: Outcome<Content<C>>,
    events: &mut VecDeque<PathEvent>,
    too_large: &mut TooLarge,
) -> Option<Outcome<C>> {
    match outcome {
        Outcome::Received(Content::Carried(carried)) => return Some(Outcome::Received(carried)),
        Outcome::Lost(Content::Carried(carried)) => return Some(Outcome::Lost(carried)),
        Outcome::Late(Content::Carried(carried)) => return Some(Outcome::Late(carried)),
        Outcome::Received(Content::Probe(padding) | Content::LargerProbe(padding)) => {
            events.push_back(PathEvent::Probe { padding, received: true });
        }
        Outcome::Lost(Content::Probe(padding)) => events.push_back(PathEvent::Probe { padding, received: false }),
        Outcome::Lost(Content::LargerProbe(padding)) => {
            too_large.add(1);
            events.push_back(PathEvent::Probe { padding, received: false });
        }
        Outcome::Received(Content::TooLarge(number)) | Outcome::Late(Content::TooLarge(number)) => {
            too_large.settled(number, true);
        }
        Outcome::Lost(Content::TooLarge(number)) => too_large.settled(number, false),
        _ => {}
    }
    None
}
