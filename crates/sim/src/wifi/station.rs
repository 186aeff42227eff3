//! The state of one station: receiver, sender, back-off and queue.

use super::aodv::Message;
use super::cadence::Rhythm;
use super::config::WifiConfig;
use super::contention::Contention;
use super::countdown::{Countdown, EarliestEnd};
use super::counters::StationCounters;
use super::frame::{Frame, FrameKind, NOBODY};
use super::link_layer::LinkLayer;
use super::loss::LossDraws;
use super::pairing::Sent;
use super::queue::{InterfaceQueue, Queued};
use super::receiver::{Receiver, Reception};
use super::reception::UnderWay;
use super::timers::{Timer, Timers};
use ripstop_base::{Stream, Time};
use std::time::Duration;

/// What the sending side of a station is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: the station may contend for the medium.
    Idle,
    /// The station sends an RTS, or waits for the CTS.
    Rts,
    /// The station sends a CTS, or waits for the data frame.
    Cts,
    /// The station sends a data frame, or waits for a MAC ACK.
    Data,
    /// The station sends a MAC ACK.
    Ack,
}

/// A response that a station owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Response {
    /// [`FrameKind::Cts`] or [`FrameKind::Ack`].
    pub(super) kind: FrameKind,
    pub(super) to: u32,
    /// The time from the end of the answered frame to the beginning of the response.
    pub(super) after: Duration,
    /// How long the medium stays reserved after the response.
    pub(super) reserves: Duration,
}

/// What a station contends with or sends: one packet, or two packets that are XORed.
#[derive(Clone, Debug)]
pub(super) struct Exchange<P> {
    /// The packet that the station took from its queue first.
    pub(super) first: Queued<P>,
    /// The packet that is XORed with `first`.
    pub(super) partner: Option<Queued<P>>,
    /// The place in the queue from which the partner was taken.
    pub(super) partner_place: usize,
    /// Whether the station must send an RTS and receive a CTS before it sends the packets.
    pub(super) rts_due: bool,
    /// For an XOR frame: whether `first` was acknowledged, and whether `partner` was.
    pub(super) acknowledged: [bool; 2],
}

/// The latest frame of a station: the frame has ended, is on the air, or is about to begin.
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
    /// The end of the last frame that the station decoded.
    pub(super) decoded_until: Time,
    pub(super) flight: Flight,
    /// The content of the station's last broadcast frame. The exchange ends before the last receiver has the frame, so
    /// the content is kept here.
    pub(super) announcement: Option<Message>,
    pub(super) phase: Phase,
    /// The network allocation vector (NAV): until this time the medium is reserved for other stations.
    pub(super) nav: Time,
    /// The station stays silent until this time, because of a frame that it could not decode (EIFS).
    pub(super) shy_until: Time,
    /// The station has sensed no frame and sent none since this time.
    pub(super) quiet_since: Time,
    pub(super) response: Option<Response>,
    /// When the MAC ACK that the station owes begins. While this MAC ACK is sent: when it ends. [`Time::NEVER`] if the
    /// station owes and sends no MAC ACK.
    pub(super) answers: Time,
    pub(super) exchange: Option<Exchange<P>>,
    pub(super) queue: InterfaceQueue<P>,
    /// The packets that the station has sent lately. It decodes XOR frames with them.
    pub(super) sent: Sent,
    pub(super) contention: Contention,
    /// What the station knows of its neighbours (Cadence).
    pub(super) rhythm: Rhythm,
    pub(super) countdown: Countdown,
    /// The time for which the back-off timer is set, while this timer runs.
    earliest_end: EarliestEnd,
    /// Whether the countdown is the wait for DIFS before immediate access. If the medium becomes busy, a back-off
    /// replaces this wait.
    pub(super) immediate: bool,
    /// Packets between the interface queue and the layer above.
    pub(super) link_layer: LinkLayer<P>,
    pub(super) draws: Stream,
    /// What the station loses at random.
    pub(super) losses: LossDraws,
    pub(super) counters: StationCounters,
}

impl<P> Station<P> {
    /// A station that draws its back-offs from `draws`, and its random losses from `losses`.
    pub(super) fn new(config: &WifiConfig, draws: Stream, losses: Stream) -> Station<P> {
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
            losses: LossDraws::new(config.loss, losses),
            counters: StationCounters::default(),
        }
    }

    /// Whether the station sends a frame at `now`.
    #[inline]
    pub(super) fn is_sending(&self, now: Time) -> bool {
        now < self.flight.ends() && !self.is_about_to_answer()
    }

    /// Whether the station owes a MAC ACK that has not begun yet.
    #[inline]
    pub(super) fn is_about_to_answer(&self) -> bool {
        self.phase == Phase::Idle && self.answers != Time::NEVER
    }

    /// Starts a new back-off of `slots` slots. The back-off is paused at first.
    pub(super) fn set_countdown(&mut self, slots: u32) {
        self.countdown = Countdown::Paused { slots };
        self.timers.stop(Timer::Backoff);
    }

    /// When the station has something to do next. A station that has no packet to send, and none in its link layer,
    /// does not wake for the end of its back-off.
    #[inline]
    pub(super) fn next_wake(&self) -> Time {
        if self.exchange.is_none() && self.link_layer.is_empty() {
            self.timers.earliest_without(Timer::Backoff)
        } else {
            self.timers.earliest()
        }
    }

    /// Ends a back-off that has run out before `before`, if the station has no packet to send.
    #[inline]
    pub(super) fn end_idle_backoff(&mut self, before: Time, slot: Duration) {
        if self.exchange.is_none() && self.countdown.ends(slot) < before {
            self.countdown = Countdown::Off;
            self.immediate = false;
            self.timers.stop(Timer::Backoff);
        }
    }

    /// Sets the timer of the back-off, which does not end before `slots` slots have passed from `from` on. If the timer
    /// already ends later because of a frame that is to come, the timer does not change.
    pub(super) fn expect_backoff(&mut self, from: Time, slots: u32, config: &WifiConfig) {
        let slot = config.slot;
        let mut earliest = EarliestEnd::new(from, slots);
        if config.immediate_access {
            self.under_way.readable().for_each(|frame| earliest.advance(frame.ends + config.difs));
        }
        let ends = earliest.at(slot);
        if !self.timers.runs(Timer::Backoff) || ends > self.timers.when(Timer::Backoff) {
            self.earliest_end = earliest;
            self.timers.set(Timer::Backoff, ends);
        }
    }

    /// Prepares for a frame that this station will sense. Sets the timer of the back-off anew if the frame matters to
    /// the back-off, and returns whether it does.
    ///
    /// With ns-2's rules, no slot passes from the beginning of the frame until DIFS after its end. With the standard's
    /// rules, a decoded frame ends the wait for EIFS, so slots may pass earlier than without the frame.
    #[inline]
    pub(super) fn meet_frame(&mut self, frame: &Reception, config: &WifiConfig) -> bool {
        let (slot, begins) = (config.slot, frame.begins);
        if !self.timers.runs(Timer::Backoff) || self.timers.when(Timer::Backoff) <= begins {
            return false;
        }
        let resumes = frame.ends + config.difs;
        if !config.immediate_access {
            self.earliest_end.delay(begins, resumes, slot);
        } else if frame.is_readable() {
            self.earliest_end.advance(resumes);
        }
        self.timers.set(Timer::Backoff, self.earliest_end.at(slot));
        true
    }

    /// Whether the station senses no frame, sends none, and waits for no response. The NAV and EIFS are not considered.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        self.phase == Phase::Idle && self.receiver.is_idle()
    }

    /// Until when the NAV and EIFS keep the station silent.
    #[inline]
    pub(super) fn reserved_until(&self) -> Time {
        self.nav.max(self.shy_until)
    }

    /// Whether the medium is idle for the station: the station is quiet, and its NAV and EIFS have ended.
    #[inline]
    pub(super) fn is_idle(&self, now: Time) -> bool {
        self.is_quiet() && self.reserved_until() <= now
    }
}
