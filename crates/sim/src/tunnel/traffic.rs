//! Who sends what into the tunnel.

use ripstop_base::{Stream, Time};
use std::time::Duration;

/// When a flow sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Always has more to send: keeps so many packets waiting on the way in.
    Greedy {
        /// Packets kept waiting.
        backlog: usize,
    },
    /// At random moments, so many packets a second on average.
    Poisson {
        /// Packets a second.
        per_second: f64,
    },
    /// Bursts of packets at once, at a fixed interval.
    Periodic {
        /// From burst to burst.
        every: Duration,
        /// Packets in a burst.
        burst: u32,
    },
}

/// A flow of packets into one end of the tunnel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Traffic {
    /// Number of the flow; flows of one end differ in it.
    pub flow: u32,
    /// When it sends.
    pub pattern: Pattern,
    /// Length of the smallest and of the largest packet, bytes; each size in between is as likely.
    pub len: (u32, u32),
    /// Packets are delivered as they come, not in order.
    pub immediate: bool,
    /// When it begins.
    pub start: Time,
    /// When it ends.
    pub stop: Time,
}

impl Traffic {
    /// A greedy flow of packets of `len` bytes, for ever.
    pub fn greedy(flow: u32, len: u32) -> Traffic {
        Traffic {
            flow,
            pattern: Pattern::Greedy { backlog: 40 },
            len: (len, len),
            immediate: false,
            start: Time::ZERO,
            stop: Time::NEVER,
        }
    }

    /// A flow of packets of `len` bytes at random moments, `per_second` on average, for ever.
    pub fn poisson(flow: u32, len: u32, per_second: f64) -> Traffic {
        Traffic { pattern: Pattern::Poisson { per_second }, ..Traffic::greedy(flow, len) }
    }

    /// The length of the next packet.
    pub(crate) fn draw_len(&self, random: &mut Stream) -> u32 {
        let (least, most) = self.len;
        least + random.below(u64::from(most.saturating_sub(least)) + 1) as u32
    }

    /// How long after a burst the next one comes; None for greedy flows, which follow the backlog.
    pub(crate) fn pause(&self, random: &mut Stream) -> Option<Duration> {
        match self.pattern {
            Pattern::Greedy { .. } => None,
            Pattern::Poisson { per_second } => {
                Some(Duration::from_secs_f64(random.exponential(1.0 / per_second.max(1e-3)).min(1e6)))
            }
            Pattern::Periodic { every, .. } => Some(every.max(Duration::from_micros(1))),
        }
    }

    /// Packets in one burst.
    pub(crate) fn burst(&self) -> u32 {
        match self.pattern {
            Pattern::Periodic { burst, .. } => burst,
            _ => 1,
        }
    }
}
