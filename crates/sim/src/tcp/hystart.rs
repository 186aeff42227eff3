//! HyStart ends slow start when the delay rises, before packets are lost. This file has HyStart++ (RFC 9406) and
//! Linux's older HyStart.

use super::modern::{FlowState, Phase};
use ripstop_base::Time;
use std::time::Duration;

/// The smallest rise of the delay that counts as a sign of a queue. This constant and the next five constants are from
/// RFC 9406, section 4.3. With a smaller value, jitter can end slow start. A larger value lets the queue grow more.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// A rise of the delay that counts as a sign of a queue on every path. A smaller value ends slow start earlier on long
/// paths, and a larger value ends it later.
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
/// Between [`MIN_RTT_THRESH`] and [`MAX_RTT_THRESH`], the rise that counts is the round-trip time divided by this
/// number. Half the value tolerates twice the rise.
const MIN_RTT_DIVISOR: u32 = 8;
/// Number of round-trip times that a round must measure before the delay of the round counts. Linux's HyStart needs one
/// more sample. With fewer samples, noise can decide. More samples delay the decision.
const N_RTT_SAMPLE: u32 = 8;
/// Conservative slow start grows the window more slowly than slow start by this factor. With half the value, the window
/// overshoots more. With double the value, filling the path takes longer if the rise was no sign of a queue.
const CSS_GROWTH_DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start after which slow start ends. Half the value ends slow start sooner. Double the
/// value gives a passing rise more time to go away.
const CSS_ROUNDS: u32 = 5;
/// The smallest window in packets at which Linux's HyStart acts (Linux's value). Smaller windows give too few
/// acknowledgements to judge by.
const LEAST_WINDOW: f64 = 16.0;
/// The longest gap between two acknowledgements of one train, a series of acknowledgements that arrive close together
/// (Linux's value). With half the value, trains are shorter, and slow start ends less often. With double the value,
/// trains are longer, and slow start ends more often.
const TRAIN_GAP: Duration = Duration::from_millis(2);

/// The two versions of HyStart.
#[derive(Clone, Debug)]
pub(super) enum HyStart {
    PlusPlus(PlusPlus),
    Linux(LinuxHyStart),
}

impl HyStart {
    /// Handles an acknowledgement in slow start.
    pub(super) fn on_ack(&mut self, flow: &mut FlowState, now: Time, rtt: Option<Duration>) {
        match self {
            HyStart::PlusPlus(hystart) => hystart.on_ack(flow, rtt),
            HyStart::Linux(hystart) => hystart.on_ack(flow, now, rtt),
        }
    }

    /// The divisor of slow start's growth.
    pub(super) fn divisor(&self) -> f64 {
        match self {
            HyStart::PlusPlus(PlusPlus { conservative: Some(_), .. }) => CSS_GROWTH_DIVISOR,
            _ => 1.0,
        }
    }
}

/// The rise over `rtt` that counts as a sign of a queue. Such a rise ends slow start in Linux's HyStart. In HyStart++,
/// it starts conservative slow start.
fn allowance(rtt: Duration) -> Duration {
    (rtt / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH)
}

/// HyStart++ (RFC 9406, section 4.2): a rise of the delay starts conservative slow start, in which the window grows
/// more slowly. A rise that lasts for [`CSS_ROUNDS`] rounds ends slow start.
///
/// The RFC's limit L on the growth per acknowledgement is left out, because offload merges acknowledgements. Linux's
/// HyStart has no limit either.
#[derive(Clone, Debug, Default)]
pub(super) struct PlusPlus {
    /// The round ends when all packets before this packet are acknowledged.
    window_end: u64,
    last_round_min: Option<Duration>,
    round_min: Option<Duration>,
    /// Round-trip times measured in this round.
    samples: u32,
    /// The state of conservative slow start; None outside conservative slow start. The first value is the least
    /// round-trip time that the round had measured when conservative slow start began. Later samples of that round do
    /// not change this value. The second value is the number of rounds that have ended since.
    conservative: Option<(Duration, u32)>,
}

impl PlusPlus {
    fn on_ack(&mut self, flow: &mut FlowState, rtt: Option<Duration>) {
        // HyStart++ acts only in the first slow start.
        if flow.ssthresh.is_finite() || flow.phase > Phase::Disorder {
            return;
        }
        let (una, nxt) = flow.una_and_nxt();
        if una >= self.window_end {
            self.window_end = nxt;
            self.last_round_min = self.round_min.take();
            self.samples = 0;
            if let Some((_, rounds)) = &mut self.conservative {
                *rounds += 1;
                if *rounds >= CSS_ROUNDS {
                    flow.ssthresh = flow.cwnd;
                    flow.mechanisms.hystart_exits += 1;
                    self.conservative = None;
                    return;
                }
            }
        }
        let Some(rtt) = rtt else { return };
        let round_min = self.round_min.map_or(rtt, |min| min.min(rtt));
        self.round_min = Some(round_min);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE {
            return;
        }
        match (self.conservative, self.last_round_min) {
            (Some((baseline, _)), _) if round_min < baseline => {
                self.conservative = None;
                flow.mechanisms.resumed_starts += 1;
            }
            (None, Some(last)) if round_min >= last + allowance(last) => {
                self.conservative = Some((round_min, 0));
                flow.mechanisms.conservative_starts += 1;
            }
            _ => {}
        }
    }
}

/// HyStart as in Linux (Ha and Rhee 2011). Slow start ends in either of two cases:
///
/// - A round's least round-trip time exceeds the path's least round-trip time by more than [`allowance`].
/// - The train of acknowledgements that began with the round lasts longer than half of the path's least round-trip
///   time.
#[derive(Clone, Debug, Default)]
pub(super) struct LinuxHyStart {
    /// The round ends when this packet is acknowledged.
    window_end: u64,
    round_start: Time,
    /// When the last acknowledgement of the train arrived.
    last_ack: Time,
    round_min: Option<Duration>,
    /// Round-trip times measured in this round.
    samples: u32,
}

impl LinuxHyStart {
    fn on_ack(&mut self, flow: &mut FlowState, now: Time, rtt: Option<Duration>) {
        let (una, nxt) = flow.una_and_nxt();
        // Packet `window_end` is the first packet sent after the round began. The acknowledgement of this packet begins
        // the next round. It is the first acknowledgement of a flight, and the whole flight has been sent when this
        // acknowledgement arrives. With `>=`, each round would begin one acknowledgement earlier. After a few rounds, a
        // round would begin in the middle of a flight. The delay of the flight's later packets would then look like a
        // rise.
        if una > self.window_end {
            *self = LinuxHyStart { window_end: nxt, round_start: now, last_ack: now, round_min: None, samples: 0 };
        }
        let (Some(rtt), Some(least)) = (rtt, flow.rtt.min()) else { return };
        if flow.cwnd < LEAST_WINDOW {
            return;
        }
        let mut full = false;
        if now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = now;
            full = now.since(self.round_start) > least / 2;
        }
        let round_min = self.round_min.map_or(rtt, |min| min.min(rtt));
        self.round_min = Some(round_min);
        self.samples += 1;
        if full || self.samples > N_RTT_SAMPLE && round_min > least + allowance(least) {
            flow.ssthresh = flow.cwnd;
            flow.mechanisms.hystart_exits += 1;
        }
    }
}
