//! A TCP inside the tunnel: CUBIC (RFC 9438) with HyStart, SACK and delayed acknowledgements, as the kernels at both
//! ends of a real tunnel would have. What a session delays, drops or delivers in bursts shows in this
//! flow's window as it would in theirs.
//!
//! Segments are numbered from 0; all have one length, and the receiver's buffer has no end.

use super::cargo::Label;
use super::world::Side;
use ripstop_base::Time;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

const INITIAL_WINDOW: f64 = 10.0;
/// CUBIC's constants (RFC 9438, section 4).
const C: f64 = 0.4;
const BETA: f64 = 0.7;
/// HyStart looks at the first so many samples of a round, and only with so large a window.
const HYSTART_SAMPLES: u32 = 8;
const HYSTART_WINDOW: f64 = 16.0;
/// Segments beyond a hole that prove it is a loss (RFC 6675).
const DUP_THRESHOLD: u64 = 3;
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);
const DELAYED_ACK: Duration = Duration::from_millis(40);

/// What a TCP connection through the tunnel is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpStatus {
    /// Segments that the receiver has in order.
    pub in_order: u64,
    /// Congestion window, segments.
    pub window: f64,
    /// Times that the window was reduced, those by time-out included.
    pub reductions: u64,
    /// Times that nothing came back for a retransmission time-out.
    pub timeouts: u64,
    /// Segments sent again.
    pub resent: u64,
}

/// A connection that sends without end.
#[derive(Debug)]
pub(super) struct Connection {
    /// Where its data comes from.
    pub(super) from: Side,
    /// Flow of the data; that of the acknowledgements is the next one.
    pub(super) flow: u32,
    /// Bytes of a packet of data.
    pub(super) len: u32,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// What the packets under way carry, by their place in the flow.
    pub(super) segments: BTreeMap<u64, (u64, Time)>,
    pub(super) acks: BTreeMap<u64, Ack>,
}

impl Connection {
    pub(super) fn new(from: Side, flow: u32, len: u32) -> Connection {
        let (sender, receiver) = (Sender::new(), Receiver::default());
        Connection { from, flow, len, sender, receiver, segments: BTreeMap::new(), acks: BTreeMap::new() }
    }

    /// Takes a packet that came out on `side`; whether it is one of this connection.
    pub(super) fn take(&mut self, now: Time, side: Side, label: Label) -> bool {
        if side == self.from.other() && label.flow == self.flow {
            // The flow is delivered in order: what is older will never come.
            self.segments = self.segments.split_off(&label.sequence);
            if let Some((segment, sent)) = self.segments.remove(&label.sequence) {
                self.receiver.handle_segment(now, segment, sent);
            }
            return true;
        }
        if side == self.from && label.flow == self.flow + 1 {
            if let Some(ack) = self.acks.remove(&label.sequence) {
                self.sender.handle_ack(now, &ack);
            }
            return true;
        }
        false
    }

    /// When one of its timers is due.
    pub(super) fn next_due(&self) -> Option<Time> {
        [self.sender.next_due(), self.receiver.next_due()].into_iter().flatten().min()
    }

    pub(super) fn status(&self) -> TcpStatus {
        TcpStatus {
            in_order: self.receiver.next,
            window: self.sender.window,
            reductions: self.sender.reductions,
            timeouts: self.sender.timeouts,
            resent: self.sender.resent,
        }
    }
}

/// What an acknowledgement says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ack {
    /// The segment expected next.
    next: u64,
    /// Segments received beyond it (SACK).
    beyond: BTreeSet<u64>,
    /// When the newest segment that it answers was sent.
    echo: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    InFlight,
    Sacked,
    Lost,
    Resent,
}

/// The sending TCP.
#[derive(Debug)]
pub(super) struct Sender {
    window: f64,
    threshold: f64,
    /// Segments from the first unacknowledged one on.
    first: u64,
    segments: VecDeque<State>,
    /// The end of the recovery under way.
    recovery: Option<u64>,
    srtt: Option<f64>,
    var: f64,
    min_rtt: f64,
    timeout_at: Option<Time>,
    back_off: u32,
    /// When the last time-out was, and the window, threshold and CUBIC's top before it.
    before_timeout: Option<(Time, [f64; 3])>,
    /// CUBIC: the window at the last loss, and when growth began from below it.
    top: f64,
    epoch: Option<(Time, f64, f64)>,
    friendly: f64,
    /// HyStart: where the round ends, when it began, its samples.
    round_end: u64,
    round_start: Time,
    last_ack: Time,
    round_samples: u32,
    round_min: f64,
    reductions: u64,
    timeouts: u64,
    resent: u64,
}

impl Sender {
    pub(super) fn new() -> Sender {
        Sender {
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            first: 0,
            segments: VecDeque::new(),
            recovery: None,
            srtt: None,
            var: 0.0,
            min_rtt: f64::INFINITY,
            timeout_at: None,
            back_off: 0,
            before_timeout: None,
            top: 0.0,
            epoch: None,
            friendly: 0.0,
            round_end: 0,
            round_start: Time::ZERO,
            last_ack: Time::ZERO,
            round_samples: 0,
            round_min: f64::INFINITY,
            reductions: 0,
            timeouts: 0,
            resent: 0,
        }
    }

    /// The next segment to send now.
    pub(super) fn poll(&mut self, now: Time) -> Option<u64> {
        let pipe = self.segments.iter().filter(|s| matches!(s, State::InFlight | State::Resent)).count();
        if pipe as f64 + 1.0 > self.window {
            return None;
        }
        self.timeout_at = self.timeout_at.or(Some(now + self.timeout()));
        if let Some(lost) = self.segments.iter().position(|s| *s == State::Lost) {
            self.segments[lost] = State::Resent;
            self.resent += 1;
            return Some(self.first + lost as u64);
        }
        self.segments.push_back(State::InFlight);
        Some(self.first + self.segments.len() as u64 - 1)
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.timeout_at
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        if self.timeout_at.is_none_or(|at| at > now) {
            return;
        }
        self.timeouts += 1;
        self.before_timeout.get_or_insert((now, [self.window, self.threshold, self.top]));
        self.back_off = (self.back_off + 1).min(6);
        self.reduce();
        self.window = 1.0;
        self.recovery = Some(self.first + self.segments.len() as u64);
        for segment in &mut self.segments {
            if *segment != State::Sacked {
                *segment = State::Lost;
            }
        }
        self.timeout_at = (!self.segments.is_empty()).then(|| now + self.timeout());
    }

    pub(super) fn handle_ack(&mut self, now: Time, ack: &Ack) {
        self.undo_timeout(ack);
        let fresh = ack.next.saturating_sub(self.first).min(self.segments.len() as u64);
        self.segments.drain(..fresh as usize);
        self.first += fresh;
        for id in ack.beyond.range(self.first..) {
            if let Some(state) = self.segments.get_mut((id - self.first) as usize) {
                *state = State::Sacked;
            }
        }
        if fresh > 0 {
            self.back_off = 0;
            self.take_rtt(now.since(ack.echo).as_secs_f64());
            self.timeout_at = (!self.segments.is_empty()).then(|| now + self.timeout());
        }
        if self.recovery.is_some_and(|end| self.first >= end) {
            self.recovery = None;
        }
        self.find_losses(ack);
        if fresh > 0 && self.recovery.is_none() {
            self.grow(now, fresh as f64, now.since(ack.echo).as_secs_f64());
        }
    }

    /// What is acknowledged after a time-out was sent before it: it was only late (Eifel, RFC 3522 and RFC 4015).
    fn undo_timeout(&mut self, ack: &Ack) {
        if ack.next <= self.first {
            return;
        }
        let Some((_, [window, threshold, top])) = self.before_timeout.take().filter(|(at, _)| ack.echo < *at)
        else {
            return;
        };
        (self.window, self.threshold, self.top, self.recovery) = (window, threshold, top, None);
        for segment in &mut self.segments {
            if *segment == State::Lost {
                *segment = State::InFlight;
            }
        }
    }

    fn find_losses(&mut self, ack: &Ack) {
        let Some(highest) = ack.beyond.last() else { return };
        let proven = highest.saturating_sub(DUP_THRESHOLD);
        let mut any = false;
        for (i, state) in self.segments.iter_mut().enumerate() {
            if self.first + i as u64 > proven {
                break;
            }
            if *state == State::InFlight {
                *state = State::Lost;
                any = true;
            }
        }
        if any && self.recovery.is_none() {
            self.recovery = Some(self.first + self.segments.len() as u64);
            self.reduce();
        }
    }

    fn reduce(&mut self) {
        self.reductions += 1;
        // Fast convergence (RFC 9438, section 4.7).
        self.top = if self.window < self.top { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.window = (self.window * BETA).max(2.0);
        self.threshold = self.window;
        self.epoch = None;
    }

    fn grow(&mut self, now: Time, fresh: f64, rtt: f64) {
        if self.window < self.threshold {
            self.window += fresh;
            self.hystart(now, rtt);
            return;
        }
        let (start, from, k) = *self.epoch.get_or_insert_with(|| {
            self.friendly = self.window;
            let k = ((self.top - self.window).max(0.0) / C).cbrt();
            (now, self.top.max(self.window), k)
        });
        let t = now.since(start).as_secs_f64() + self.min_rtt;
        let target = (from + C * (t - k).powi(3)).clamp(self.window, 1.5 * self.window);
        self.friendly += 3.0 * (1.0 - BETA) / (1.0 + BETA) * fresh / self.window;
        let step = ((target - self.window) / self.window).max(0.01 / self.window) * fresh;
        self.window = (self.window + step.min(fresh / 2.0)).max(self.friendly);
    }

    fn hystart(&mut self, now: Time, rtt: f64) {
        if self.first >= self.round_end {
            self.round_end = self.first + self.segments.len() as u64;
            (self.round_start, self.last_ack) = (now, now);
            (self.round_samples, self.round_min) = (0, f64::INFINITY);
        }
        if self.window < HYSTART_WINDOW {
            return;
        }
        // A train of acknowledgements as long as half the path: it is full.
        let mut full = false;
        if now.since(self.last_ack) <= Duration::from_millis(2) {
            self.last_ack = now;
            full = now.since(self.round_start).as_secs_f64() > self.min_rtt / 2.0;
        }
        self.round_min = self.round_min.min(rtt);
        self.round_samples += 1;
        let risen = self.min_rtt + (self.min_rtt / 8.0).clamp(0.004, 0.016);
        if full || self.round_samples >= HYSTART_SAMPLES && self.round_min > risen {
            self.threshold = self.window;
        }
    }

    fn take_rtt(&mut self, rtt: f64) {
        self.min_rtt = self.min_rtt.min(rtt);
        match &mut self.srtt {
            None => (self.srtt, self.var) = (Some(rtt), rtt / 2.0),
            Some(srtt) => {
                self.var += ((rtt - *srtt).abs() - self.var) / 4.0;
                *srtt += (rtt - *srtt) / 8.0;
            }
        }
    }

    fn timeout(&self) -> Duration {
        let base = self.srtt.map_or(Duration::from_secs(1), |srtt| {
            Duration::from_secs_f64(srtt + (4.0 * self.var).max(LEAST_TIMEOUT.as_secs_f64()))
        });
        base * (1 << self.back_off)
    }
}

/// The receiving TCP.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    next: u64,
    beyond: BTreeSet<u64>,
    pending: u32,
    echo: Time,
    ack_at: Option<Time>,
}

impl Receiver {
    pub(super) fn handle_segment(&mut self, now: Time, id: u64, sent: Time) {
        let hole = !self.beyond.is_empty();
        if id == self.next {
            self.next += 1;
            while self.beyond.remove(&self.next) {
                self.next += 1;
            }
        } else if id > self.next {
            self.beyond.insert(id);
        }
        self.echo = sent;
        self.pending += 1;
        let at_once = self.pending >= 2 || hole || !self.beyond.is_empty();
        self.ack_at = Some(if at_once { now } else { self.ack_at.unwrap_or(now + DELAYED_ACK) });
    }

    /// The acknowledgement due now: one for all that came at once, as offload makes it.
    pub(super) fn poll(&mut self, now: Time) -> Option<Ack> {
        self.ack_at.filter(|at| *at <= now)?;
        (self.ack_at, self.pending) = (None, 0);
        Some(Ack { next: self.next, beyond: self.beyond.clone(), echo: self.echo })
    }

    pub(super) fn next_due(&self) -> Option<Time> {
        self.ack_at
    }
}
