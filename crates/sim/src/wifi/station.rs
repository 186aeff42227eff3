//! The state of one station: receiver, sender, back-off and queue.

use super::aodv::Message;
use super::cadence::Rhythm;
use super::config::WifiConfig;
use super::contention::Contention;
use super::countdown::{Countdown, EarliestEnd};
use super::counters::StationCounters;
use super::frame::{Frame, FrameKind, NOBODY};
use super::link_layer::LinkLayer;
use super::pairing::Sent;
use super::queue::{InterfaceQueue, Queued};
use super::receiver::Receiver;
use super::reception::UnderWay;
use super::timers::{Timer, Timers};
use ripstop_base::{Stream, Time};
use std::time::Duration;

/// What the sender of a station is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: the station may contend for the medium.
    Idle,
    /// It sends an RTS, or waits for the CTS.
    Rts,
    /// It sends a CTS, or waits for the data.
    Cts,
    /// It sends data, or waits for a MAC ACK.
    Data,
    /// It sends a MAC ACK.
    Ack,
}

/// A response that a station owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response {
    /// [`FrameKind::Cts`] or [`FrameKind::Ack`].
    pub(super) kind: FrameKind,
    pub(super) to: u32,
    /// How long after the frame that it answers the response is due.
    pub(super) after: Duration,
    /// How long the medium stays reserved after the response.
    pub(super) reserves: Duration,
}

/// The packets that a station contends for or sends: one, or two that are XORed.
#[derive(Clone, Debug)]
pub(super) struct Exchange<P> {
    /// The packet that the station took from its queue first.
    pub(super) first: Queued<P>,
    /// The packet that is XORed with it.
    pub(super) partner: Option<Queued<P>>,
    /// The place in the queue from which the partner was taken.
    pub(super) partner_place: usize,
    /// Whether an RTS must be answered before the packets are sent.
    pub(super) rts_due: bool,
    /// Of an XOR frame on the air: which of the two packets were acknowledged.
    pub(super) acknowledged: [bool; 2],
}

/// The frame that a station sends or sent last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) frame: Frame,
    pub(super) began: Time,
}

impl Flight {
    /// When the frame ends at its sender.
    #[inline]
    pub(super) fn ends(&self) -> Time {
        self.began + self.frame.airtime
    }
}

/// One station.
#[derive(Debug)]
pub(super) struct Station<P> {
    pub(super) timers: Timers,
    /// Frames that have not begun at the station yet.
    pub(super) under_way: UnderWay,
    pub(super) receiver: Receiver,
    /// When the frame that was decoded last ended.
    pub(super) decoded_until: Time,
    pub(super) flight: Flight,
    /// The content of the last broadcast frame. It is kept here, since the sender is done with the frame before the
    /// last station receives it.
    pub(super) announcement: Option<Message>,
    pub(super) phase: Phase,
    /// Until when the medium is reserved for others: the network allocation vector (NAV).
    pub(super) nav: Time,
    /// Until when the station stays silent after a frame that it could not decode (EIFS).
    pub(super) shy_until: Time,
    /// Since when the station has sensed no frame and sent none.
    pub(super) quiet_since: Time,
    pub(super) response: Option<Response>,
    /// When the MAC ACK that the station owes begins, or, while it is sent, when it ends. [`Time::NEVER`] without one.
    pub(super) answers: Time,
    pub(super) exchange: Option<Exchange<P>>,
    pub(super) queue: InterfaceQueue<P>,
    /// The packets that the station has sent lately, for decoding.
    pub(super) sent: Sent,
    pub(super) contention: Contention,
    /// What the station knows of its neighbours (Cadence).
    pub(super) rhythm: Rhythm,
    pub(super) countdown: Countdown,
    /// The time of the timer of the back-off, while it runs.
    earliest_end: EarliestEnd,
    /// Whether the countdown is the wait of DIFS for immediate access. A busy medium turns it into a back-off.
    pub(super) immediate: bool,
    /// Packets between the queue and the layer above.
    pub(super) link_layer: LinkLayer<P>,
    pub(super) draws: Stream,
    pub(super) counters: StationCounters,
}

impl<P> Station<P> {
    pub(super) fn new(config: &WifiConfig, draws: Stream) -> Station<P> {
        let frame = Frame::new(FrameKind::Ack, [NOBODY; 2], Duration::ZERO, Duration::ZERO);
        Station {
            timers: Timers::new(),
            under_way: UnderWay::new(),
            receiver: Receiver::new(),
            decoded_until: Time::ZERO,
            flight: Flight { frame, began: Time::ZERO },
            announcement: None,
            phase: Phase::Idle,
            nav: Time::ZERO,
            shy_until: Time::ZERO,
            quiet_since: Time::ZERO,
            response: None,
            answers: Time::NEVER,
            exchange: None,
            queue: InterfaceQueue::new(config.queue),
            sent: Sent::new(config.xor),
            contention: Contention::new(config.contention_window[0], &config.backoff),
            rhythm: Rhythm::default(),
            countdown: Countdown::Off,
            earliest_end: EarliestEnd::new(Time::ZERO, 0),
            immediate: false,
            link_layer: LinkLayer::new(),
            draws,
            counters: StationCounters::default(),
        }
    }

    /// Whether the station sends a frame at `now`.
    #[inline]
    pub(super) fn is_sending(&self, now: Time) -> bool {
        now < self.flight.ends() && !self.is_about_to_answer()
    }

    /// Whether the station is about to send a MAC ACK, without contention.
    #[inline]
    pub(super) fn is_about_to_answer(&self) -> bool {
        self.phase == Phase::Idle && self.answers != Time::NEVER
    }

    /// A new back-off begins with this many slots.
    pub(super) fn set_countdown(&mut self, slots: u32) {
        self.countdown = Countdown::Paused { slots };
        self.timers.stop(Timer::Backoff);
    }

    /// When the station has something to do next. It does not wake for the end of a back-off without a packet to send.
    #[inline]
    pub(super) fn next_wake(&self) -> Time {
        if self.exchange.is_none() && self.link_layer.is_empty() {
            self.timers.earliest_without(Timer::Backoff)
        } else {
            self.timers.earliest()
        }
    }

    /// Ends a back-off without a packet to send that has run out before `before`.
    #[inline]
    pub(super) fn end_idle_backoff(&mut self, before: Time, slot: Duration) {
        if self.exchange.is_none() && self.countdown.ends(slot) < before {
            self.countdown = Countdown::Off;
            self.immediate = false;
            self.timers.stop(Timer::Backoff);
        }
    }

    /// The back-off does not end before `slots` slots have passed from `from` on. Sets its timer, unless the timer ends
    /// later already, because of a frame that is to come.
    pub(super) fn expect_backoff(&mut self, from: Time, slots: u32, config: &WifiConfig) {
        let slot = config.slot;
        let mut earliest = EarliestEnd::new(from, slots);
        if config.immediate_access {
            self.under_way.decodable().for_each(|frame| earliest.advance(frame.ends + config.difs));
        }
        let ends = earliest.at(slot);
        if !self.timers.runs(Timer::Backoff) || ends > self.timers.when(Timer::Backoff) {
            self.earliest_end = earliest;
            self.timers.set(Timer::Backoff, ends);
        }
    }

    /// A frame comes that this station senses from `begins` to `ends`. Moves the timer of the back-off, and returns
    /// whether it has.
    ///
    /// With the rules of ns-2, no slot passes before DIFS after the end. With those of the standard, a frame that is
    /// decoded ends the wait of EIFS, so slots may pass earlier than without the frame.
    #[inline]
    pub(super) fn meet_frame(&mut self, begins: Time, ends: Time, decodes: bool, config: &WifiConfig) -> bool {
        let slot = config.slot;
        if !self.timers.runs(Timer::Backoff) || self.timers.when(Timer::Backoff) <= begins {
            return false;
        }
        let resumes = ends + config.difs;
        if !config.immediate_access {
            self.earliest_end.delay(begins, resumes, slot);
        } else if decodes {
            self.earliest_end.advance(resumes);
        }
        self.timers.set(Timer::Backoff, self.earliest_end.at(slot));
        true
    }

    /// Whether the station senses no frame and its sender does nothing. The NAV does not count.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.phase == Phase::Idle && self.receiver.is_idle()
    }

    /// Until when the NAV and EIFS keep the station silent.
    #[inline]
    pub(super) fn reserved_until(&self) -> Time {
        self.nav.max(self.shy_until)
    }

    /// Whether the medium is idle for the station, physically and by the NAV.
    #[inline]
    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.is_quiet() && self.reserved_until() <= now
    }
}
