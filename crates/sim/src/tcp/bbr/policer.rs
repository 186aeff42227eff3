//! Token-bucket policers: BBR finds the policed rate and keeps to it.

use super::{Bbr, Mode, PACING_MARGIN};
use crate::tcp::modern::FlowState;
use ripstop_base::Time;
use std::time::Duration;

/// Rounds in an interval: at least this many, at most four times as many.
const POLICER_ROUNDS: u32 = 4;
/// Losses as a share of deliveries that make an interval lossy.
const POLICER_LOSS: f64 = 50.0 / 256.0;
/// The share within which two rates count as equal.
const POLICER_RATIO: f64 = 1.0 / 8.0;
/// The difference in packets per second within which two rates count as equal: 4 kbit/s for packets of 1500 bytes.
const POLICER_DIFFERENCE: f64 = 500.0 / 1500.0;
/// Rounds for which the policer's rate is used.
const POLICER_USE: u32 = 48;

/// Detects a token-bucket policer by two intervals of at least four rounds with equal rates and a fifth of losses.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// The rate of the last interval in packets per second; 0 before the first.
    pub(super) rate: f64,
    /// Whether BBR uses this rate.
    pub(super) used: bool,
    rounds: u32,
    since: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    pub(super) fn begin(flow: &FlowState) -> Policer {
        Policer {
            since: flow.delivery.delivered_at,
            delivered: flow.delivery.delivered,
            lost: flow.lost,
            ..Policer::default()
        }
    }

    fn next_interval(&mut self, flow: &FlowState) {
        *self = Policer { sampling: self.sampling, rate: self.rate, ..Policer::begin(flow) };
    }
}

impl Bbr {
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
            // Intervals begin at a loss: the policer's tokens are used up then.
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
            && (difference <= POLICER_RATIO * policer.rate
                || difference * PACING_MARGIN <= POLICER_DIFFERENCE)
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
