//! Contention: how many slots a station draws for a back-off. The window follows one of three rules: the standard,
//! paper 002's adaptive back-off (section V), or Cadence.
//!
//! With the adaptive back-off, a station starts a *protection timer* after a data frame. The timer runs for k+1 data
//! times: k is the number of hops over which the station protects the packet. When the timer ends, the packet has left
//! the part of the string that the station disturbs. While the timer runs, the station draws from a large window.
//! Otherwise it draws from a small window. A station learns k, unless k is given: k begins at 1, and grows by 1 with
//! each packet that the station drops at the retry limit.

use super::cadence::Cadence;
use super::config::Growth;
use super::medium::Medium;
use super::queue::{Load, Packet};
use super::station::Station;
use super::timers::Timer;
use ripstop_base::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The rule by which stations draw their back-offs.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum BackoffRule {
    /// The contention window doubles with each failure.
    #[default]
    Standard,
    /// Paper 002's adaptive back-off.
    Adaptive(AdaptiveBackoff),
    /// Cadence: the window is small and grows fourfold with each failure, and stations release packets in rhythm.
    Cadence(Cadence),
}

impl BackoffRule {
    /// The parameters of Cadence. None with another rule.
    #[inline]
    pub(super) fn cadence(&self) -> Option<&Cadence> {
        if let BackoffRule::Cadence(cadence) = self { Some(cadence) } else { None }
    }
}

/// The adaptive back-off of paper 002, section V. The paper leaves several choices open. Each of these choices is a
/// field.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveBackoff {
    /// The window while the protection timer does not run, slots.
    pub small_window: u32,
    /// The window while the protection timer runs, slots.
    pub large_window: u32,
    /// The duration of one data exchange. The protection timer runs for k+1 times this duration.
    pub data_time: Duration,
    /// How k is found.
    pub k: ProtectionK,
    /// What happens to a back-off from the large window that is not over when the protection timer ends.
    pub residual: Residual,
    /// What starts the protection timer.
    pub start: TimerStart,
    /// How the back-off after an exchange is drawn.
    pub post: PostBackoff,
    /// Whether TCP acknowledgements always use the small window.
    pub acks_use_small_window: bool,
    /// Whether both windows double with each failure.
    pub doubling: bool,
    /// What the running protection timer does to the station.
    pub effect: TimerEffect,
}

/// How a station finds k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectionK {
    /// k begins at 1, and grows by 1 with each packet that is dropped at the retry limit, up to `most`.
    Learned {
        /// The largest k.
        most: u32,
    },
    /// k is given.
    Fixed(u32),
}

/// What happens to a back-off from the large window that is not over when the protection timer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Residual {
    /// The back-off is counted to its end.
    Kept,
    /// A draw from the small window replaces the back-off.
    Redrawn,
}

/// What starts the protection timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerStart {
    /// The end of each exchange with data, even if the data was not acknowledged.
    EveryExchange,
    /// The end of each exchange with data, if the data was acknowledged.
    Success,
    /// The beginning of each frame with data.
    FrameStart,
}

/// How the back-off after an exchange is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PostBackoff {
    /// By the same rule as any other back-off.
    Ruled,
    /// From the small window.
    Small,
}

/// What the running protection timer does to the station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimerEffect {
    /// Back-offs are drawn from the large window.
    LargeWindow,
    /// The station does not contend. Back-offs are drawn from the small window.
    Silence,
}

impl AdaptiveBackoff {
    /// Variant L of the independent study: algorithm 1 of paper 002, read literally, with windows of 32 and 512 slots.
    /// The data time of 1481 us is from the paper's section IV-A.
    pub fn literal() -> AdaptiveBackoff {
        AdaptiveBackoff {
            small_window: 32,
            large_window: 512,
            data_time: Duration::from_micros(1481),
            k: ProtectionK::Learned { most: u32::MAX },
            residual: Residual::Kept,
            start: TimerStart::EveryExchange,
            post: PostBackoff::Ruled,
            acks_use_small_window: false,
            doubling: false,
            effect: TimerEffect::LargeWindow,
        }
    }

    /// Variant R of the study: a back-off that is not over when the protection timer ends is redrawn.
    pub fn redrawn() -> AdaptiveBackoff {
        AdaptiveBackoff { residual: Residual::Redrawn, ..AdaptiveBackoff::literal() }
    }

    /// Variant AB' of the study: as variant R, but the back-off after an exchange is always drawn from the small
    /// window.
    pub fn redrawn_small_post() -> AdaptiveBackoff {
        AdaptiveBackoff { post: PostBackoff::Small, ..AdaptiveBackoff::redrawn() }
    }

    /// Variant hold of the study: the station is silent while the protection timer runs.
    pub fn hold() -> AdaptiveBackoff {
        AdaptiveBackoff { effect: TimerEffect::Silence, ..AdaptiveBackoff::literal() }
    }
}

/// The contention state of a station.
#[derive(Clone, Copy, Debug)]
pub(super) struct Contention {
    /// The contention window of the standard rule, slots.
    pub(super) window: u32,
    /// The number of failures since the last success or drop.
    failures: u32,
    /// Until when the protection timer runs.
    pub(super) protected_until: Time,
    /// The present k.
    pub(super) k: u32,
    /// Whether the present back-off was drawn from the large window.
    is_large: bool,
}

impl Contention {
    pub(super) fn new(window: u32, rule: &BackoffRule) -> Contention {
        let k = match rule {
            BackoffRule::Adaptive(AdaptiveBackoff { k: ProtectionK::Fixed(k), .. }) => *k,
            _ => 1,
        };
        Contention { window, failures: 0, protected_until: Time::ZERO, k, is_large: false }
    }
}

/// Why a back-off is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DrawReason {
    /// A packet is to be sent, for the first time or again.
    Access,
    /// An exchange has ended.
    Post,
}

impl<P: Packet> Medium<P> {
    /// Draws the number of slots of a back-off of station `k`.
    pub(super) fn draw(&mut self, k: usize, reason: DrawReason, now: Time) -> u32 {
        let Station { contention, draws, exchange, .. } = &mut self.stations[k];
        let window = match &self.config.backoff {
            BackoffRule::Standard => contention.window,
            BackoffRule::Cadence(cadence) => (cadence.window << (2 * contention.failures).min(10))
                .min(self.config.contention_window[1].max(cadence.window)),
            BackoffRule::Adaptive(rule) => {
                let is_ack = exchange.as_ref().is_some_and(|e| e.load() == Load::Ack);
                let small = rule.effect == TimerEffect::Silence
                    || now >= contention.protected_until
                    || (reason == DrawReason::Post && rule.post == PostBackoff::Small)
                    || (is_ack && rule.acks_use_small_window);
                contention.is_large = !small;
                let window = if small { rule.small_window } else { rule.large_window };
                let doublings = if rule.doubling { contention.failures.min(10) } else { 0 };
                (window << doublings).min(self.config.contention_window[1].max(window))
            }
        };
        draws.below(u64::from(window)) as u32
    }

    /// A frame of station `k` with this load begins.
    pub(super) fn note_frame(&mut self, k: usize, load: Load, now: Time) {
        if let BackoffRule::Adaptive(rule) = &self.config.backoff
            && rule.start == TimerStart::FrameStart
            && load == Load::Data
        {
            let contention = &mut self.stations[k].contention;
            contention.protected_until = now + rule.data_time * contention.k.saturating_add(1);
        }
    }

    /// An exchange of station `k` has ended. `success` tells whether all its packets arrived. Sets the contention
    /// window and the protection timer.
    pub(super) fn note_exchange(&mut self, k: usize, load: Load, success: bool, now: Time) {
        let station = &mut self.stations[k];
        let contention = &mut station.contention;
        if success {
            contention.window = self.config.contention_window[0];
            contention.failures = 0;
        } else {
            grow(contention, self.config.growth, self.config.contention_window[1]);
        }
        let BackoffRule::Adaptive(rule) = &self.config.backoff else { return };
        let starts = match rule.start {
            TimerStart::EveryExchange => load == Load::Data,
            TimerStart::Success => load == Load::Data && success,
            TimerStart::FrameStart => false,
        };
        if starts {
            contention.protected_until = now + rule.data_time * contention.k.saturating_add(1);
        }
        if rule.residual == Residual::Redrawn && contention.protected_until > now {
            station.timers.set(Timer::Protection, contention.protected_until);
        }
    }

    /// Station `k` has found the medium busy in the moment in which it wanted to send. This counts as a failure.
    pub(super) fn note_busy(&mut self, k: usize) {
        grow(&mut self.stations[k].contention, self.config.growth, self.config.contention_window[1]);
    }

    /// Station `k` has dropped a packet at the retry limit.
    pub(super) fn note_drop(&mut self, k: usize) {
        let contention = &mut self.stations[k].contention;
        contention.window = self.config.contention_window[0];
        contention.failures = 0;
        if let BackoffRule::Adaptive(AdaptiveBackoff { k: ProtectionK::Learned { most }, .. }) = &self.config.backoff {
            contention.k = contention.k.saturating_add(1).min(*most);
        }
    }

    /// The protection timer of station `k` has ended.
    pub(super) fn on_protection_end(&mut self, k: usize, now: Time) {
        let BackoffRule::Adaptive(rule) = &self.config.backoff else { return };
        let station = &mut self.stations[k];
        station.end_idle_backoff(now + Duration::from_nanos(1), self.config.slot);
        if station.contention.is_large && station.countdown.is_on() {
            station.contention.is_large = false;
            let slots = station.draws.below(u64::from(rule.small_window)) as u32;
            station.set_countdown(slots);
            self.resume_countdown(k, now);
        }
    }
}

/// Grows the contention window, and counts a failure.
fn grow(contention: &mut Contention, growth: Growth, most: u32) {
    let grown = match growth {
        Growth::DoubleAndOne => contention.window.saturating_mul(2).saturating_add(1),
        Growth::Double => contention.window.saturating_mul(2),
    };
    contention.window = grown.min(most);
    contention.failures = contention.failures.saturating_add(1);
}
