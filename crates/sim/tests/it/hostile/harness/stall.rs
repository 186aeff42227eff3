//! Measures stalls: how long a session makes no progress although its path works.

use ripstop_base::Time;
use std::time::Duration;

/// Packets that each link must deliver before missing progress counts as a stall. Half the value counts stalls earlier,
/// and may blame the session for a loss burst. Double the value misses stalls on slow paths.
const ENOUGH: u64 = 20;

/// The counters of a session at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// When the counters were read.
    pub(crate) at: Time,
    /// What the session has achieved, for example the number of packets delivered.
    pub(crate) achieved: u64,
    /// Packets that the link there and the link back have delivered.
    pub(crate) carried: [u64; 2],
    /// Packets that the side has offered to its link.
    pub(crate) offered: u64,
}

/// The time since a session's last progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StallClock {
    /// The counters when the clock was set.
    was: Progress,
    /// When both links had delivered enough packets for progress. None until then. A loss burst has a length in
    /// packets, so it can last long on an idle link.
    able: Option<Time>,
    /// How many packets the side had offered to its link, and when it last offered a packet.
    tried: (u64, Time),
}

impl StallClock {
    /// Sets the clock: the session has made progress, its path was interrupted, or nothing waits.
    pub(crate) fn set(&mut self, is: Progress) {
        *self = StallClock { was: is, able: None, tried: (is.offered, is.at) };
    }

    /// The counters when the clock was set.
    pub(crate) fn was(&self) -> &Progress {
        &self.was
    }

    /// The longer of two times: how long nothing was achieved although both links carried enough packets, and how long
    /// the side has offered no packet.
    pub(crate) fn stall(&mut self, is: &Progress) -> Duration {
        if self.able.is_none() && is.carried.iter().zip(&self.was.carried).all(|(is, was)| is - was >= ENOUGH) {
            self.able = Some(is.at);
        }
        if is.offered != self.tried.0 {
            self.tried = (is.offered, is.at);
        }
        is.at.since(self.tried.1.min(self.able.unwrap_or(Time::NEVER)))
    }
}
