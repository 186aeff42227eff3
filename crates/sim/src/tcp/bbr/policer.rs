//! Detects token-bucket policers, which drop packets above a fixed rate. BBR then uses the policer's rate. Linux calls
//! this long-term bandwidth sampling; the values are Linux's.
//!
//! A policer is assumed after two successive intervals that are lossy and have equal rates. Rounds are round trips.

use super::{Bbr, Mode, PACING_MARGIN};
use crate::tcp::modern::FlowState;
use ripstop_base::Time;
use std::time::Duration;

/// The least number of rounds in an interval. An interval of more than four times this number is abandoned.
const POLICER_ROUNDS: u32 = 4;
/// An interval is lossy if packets lost divided by packets delivered is at least this value, which is about 0.2.
const POLICER_LOSS: f64 = 50.0 / 256.0;
/// Two rates count as equal if they differ by at most this fraction of the earlier rate.
const POLICER_RATIO: f64 = 1.0 / 8.0;
/// Two rates also count as equal if their difference times [`PACING_MARGIN`] is at most this number of packets per
/// second. The value is 4 kbit/s for packets of 1500 bytes.
const POLICER_DIFFERENCE: f64 = 500.0 / 1500.0;
/// Rounds for which BBR uses the policer's rate before it looks for a new rate.
const POLICER_USE: u32 = 48;

/// The detection of a policer, and the rate found.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// Whether an interval is being measured. The first interval begins at a loss.
    sampling: bool,
    /// The rate of the last lossy interval in packets per second; 0 before the first. After a policer was detected,
    /// this is the mean of the two equal rates.
    pub(super) rate: f64,
    /// Whether BBR uses `rate`.
    pub(super) used: bool,
    /// Rounds in this interval so far, or rounds for which `rate` has been used.
    rounds: u32,
    /// When the interval began.
    since: Time,
    /// The flow's deliveries when the interval began.
    delivered: u64,
    /// The flow's losses when the interval began.
    lost: u64,
}

impl Policer {
    /// Forgets everything. The next loss begins an interval.
    pub(super) fn begin(flow: &FlowState) -> Policer {
        Policer {
            since: flow.delivery.delivered_at,
            delivered: flow.delivery.delivered,
            lost: flow.lost,
            ..Policer::default()
        }
    }

    /// Begins an interval and keeps the rate of the last interval.
    fn next_interval(&mut self, flow: &FlowState) {
        *self = Policer { sampling: self.sampling, rate: self.rate, ..Policer::begin(flow) };
    }
}

impl Bbr {
    /// Updates the detection. `losses`: packets were marked lost now. `app_limited`: the application limited sending.
    pub(super) fn check_policer(&mut self, flow: &mut FlowState, losses: bool, app_limited: bool) {
        let policer = &mut self.policer;
        if policer.used {
            if self.mode == Mode::ProbeBw && self.round_start {
                policer.rounds += 1;
                if policer.rounds >= POLICER_USE {
                    *policer = Policer::begin(flow);
                    self.begin_cycle(flow);
                }
            }
            return;
        }
        if !policer.sampling {
            // The first interval begins at a loss, when the policer's tokens are used up.
            if !losses {
                return;
            }
            policer.next_interval(flow);
            policer.sampling = true;
        }
        policer.rounds += u32::from(self.round_start);
        if app_limited || policer.rounds > 4 * POLICER_ROUNDS {
            *policer = Policer::begin(flow);
            return;
        }
        if policer.rounds < POLICER_ROUNDS || !losses {
            return;
        }
        let delivered = (flow.delivery.delivered - policer.delivered) as f64;
        let time = flow.delivery.delivered_at.since(policer.since);
        if delivered == 0.0
            || ((flow.lost - policer.lost) as f64) < POLICER_LOSS * delivered
            || time < Duration::from_millis(1)
        {
            return;
        }
        let rate = delivered / time.as_secs_f64();
        let difference = (rate - policer.rate).abs();
        if policer.rate > 0.0
            && (difference <= POLICER_RATIO * policer.rate || difference * PACING_MARGIN <= POLICER_DIFFERENCE)
        {
            policer.rate = (rate + policer.rate) / 2.0;
            policer.used = true;
            policer.rounds = 0;
            self.pacing_gain = 1.0;
            flow.mechanisms.policed += 1;
            return;
        }
        policer.rate = rate;
        policer.next_interval(flow);
    }
}
