//! The state of a link: what it waits for, its packets, and its counters.

use super::activity::LinkActivity;
use super::config::{IdealConfig, IdealLinkConfig, PacketTimes};
use crate::wifi::{Load, Packet};
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// A packet of a flow in the medium.
#[derive(Clone, Debug)]
pub(super) struct Parcel<P> {
    pub(super) packet: P,
    /// The packet's final destination.
    pub(super) destination: u32,
}

/// What a link is doing.
#[derive(Clone, Debug)]
pub(super) enum Phase<P> {
    /// The link has no packet, or may not send at present.
    Idle,
    /// The link's back-off ends at this time (CSMA).
    BackingOff(Time),
    /// The link is in an exchange. `parcel` is None for a packet without a destination.
    Active {
        /// When the exchange began.
        began: Time,
        /// When the exchange ends.
        ends: Time,
        /// The packet.
        parcel: Option<Parcel<P>>,
    },
}

/// A link.
#[derive(Debug)]
pub(super) struct Link<P> {
    config: IdealLinkConfig,
    packet_times: PacketTimes,
    /// The links in conflict with this link.
    pub(super) with: Vec<u32>,
    pub(super) phase: Phase<P>,
    /// The packets that wait. The packet that is being sent is not one of them.
    pub(super) queue: VecDeque<Parcel<P>>,
    /// The number of links in conflict that are active (CSMA).
    pub(super) blockers: u32,
    /// The number of the last slot in which the link was active (scheduled access). 0 if there was no such slot.
    pub(super) served: u64,
    draws: Stream,
    pub(super) activity: LinkActivity,
}

impl<P: Packet> Link<P> {
    /// The link between the stations `ends`, in conflict with the links `with`. Its back-offs and packet times are
    /// drawn from `draws`.
    pub(super) fn new(config: &IdealConfig, ends: (u32, u32), with: Vec<u32>, draws: Stream) -> Link<P> {
        let (from, to) = ends;
        Link {
            config: config.link(from, to),
            packet_times: config.packet_times,
            with,
            phase: Phase::Idle,
            queue: VecDeque::new(),
            blockers: 0,
            served: 0,
            draws,
            activity: LinkActivity { from, to, ..LinkActivity::default() },
        }
    }

    /// Whether the link has a packet to send.
    pub(super) fn has_packet(&self) -> bool {
        self.config.saturated || !self.queue.is_empty()
    }

    /// Whether the link is active.
    pub(super) fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Active { .. })
    }

    /// When the link's back-off or exchange ends. [`Time::NEVER`] if the link is idle.
    pub(super) fn due(&self) -> Time {
        match self.phase {
            Phase::Idle => Time::NEVER,
            Phase::BackingOff(ends) | Phase::Active { ends, .. } => ends,
        }
    }

    /// Draws a back-off, if the link has a packet, is idle, and is not blocked.
    pub(super) fn back_off(&mut self, now: Time) {
        if self.blockers == 0 && self.has_packet() && matches!(self.phase, Phase::Idle) {
            let mean = self.config.mean_backoff.unwrap_or_default();
            self.phase = Phase::BackingOff(now + self.exponential(mean));
        }
    }

    /// Begins the exchange of the link's next packet. Returns what the packet carries.
    pub(super) fn begin(&mut self, config: &IdealConfig, now: Time) -> Load {
        let parcel = self.queue.pop_front();
        let (bytes, load) = match &parcel {
            Some(parcel) => (parcel.packet.bytes(), parcel.packet.load()),
            None => (IdealConfig::FILLER_BYTES, Load::Data),
        };
        let mean = self.config.packet_time.unwrap_or_else(|| config.wifi.exchange(bytes));
        let time = match self.packet_times {
            PacketTimes::Constant => mean,
            PacketTimes::Exponential => self.exponential(mean),
        };
        self.phase = Phase::Active { began: now, ends: now + time, parcel };
        self.activity.attempts += 1;
        load
    }

    /// Ends the exchange, and returns its packet. None if the packet had no destination.
    pub(super) fn end(&mut self, now: Time) -> Option<Parcel<P>> {
        self.activity = LinkActivity { exchanges: self.activity.exchanges + 1, ..self.activity_until(now) };
        match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Active { parcel, .. } => parcel,
            Phase::Idle | Phase::BackingOff(_) => None,
        }
    }

    /// What the link did until `now`. The part of its exchange that has passed counts.
    pub(super) fn activity_until(&self, now: Time) -> LinkActivity {
        let under_way = match self.phase {
            Phase::Active { began, .. } => now.since(began),
            Phase::Idle | Phase::BackingOff(_) => Duration::ZERO,
        };
        LinkActivity { active: self.activity.active + under_way, ..self.activity }
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        Duration::from_secs_f64(self.draws.exponential(mean.as_secs_f64()))
    }
}
