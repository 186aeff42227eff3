//! PIE (RFC 8033): a packet is dropped when it arrives, with a probability that follows the waiting
//! time. The waiting time at any moment is known, because packets leave in order.

use super::Verdict;
use ripstop_base::{Stream, Time};
use std::time::Duration;

/// T_UPDATE: time between two updates of the drop probability (RFC 8033, section 4.2). Half or
/// double the value needs half or double of [`ALPHA`].
const UPDATE: Duration = Duration::from_millis(15);
/// MAX_BURST: how long a queue may grow before PIE drops packets (RFC 8033, section 4.4). Half the
/// value drops packets of shorter bursts. Double the value lets longer bursts pass.
const MAX_BURST: Duration = Duration::from_millis(150);
/// The weight of the distance from the target, per second (RFC 8033, section 4.2). Half or double
/// the value reaches the target in twice or half the time.
const ALPHA: f64 = 0.125;
/// The weight of the change since the last update, per second (RFC 8033, section 4.2). Half the
/// value damps less, and the queue oscillates more.
const BETA: f64 = 1.25;
/// Bytes in the queue up to which nothing is dropped: two packets of MEAN_PKTSIZE (RFC 8033, section
/// 4.1). The value matters only at rates where two packets take about the target.
const FEW_BYTES: u64 = 2048;
/// MARK_ECNTH: up to this drop probability ECN-capable packets are marked instead of dropped (RFC
/// 8033, section 5.1). With a larger value a sender that ignores marks fills the queue for longer.
const MOST_MARKING: f64 = 0.1;
/// Bounds of the derandomisation (RFC 8033, section 5.4). While the probabilities since the last
/// drop add up to less than the first bound, nothing is dropped. From the second bound on, the next
/// packet is dropped.
const DERANDOMISED: (f64, f64) = (0.85, 8.5);
/// The largest number of updates between two packets, one minute of updates. Without packets for a
/// minute, the drop probability has reached 0 or 1. Half or double the value changes no result.
const MOST_UPDATES: u32 = 4096;

/// The state of PIE.
#[derive(Clone, Debug)]
pub(crate) struct Pie {
    /// The waiting time that PIE steers for, s.
    target: f64,
    /// The drop probability.
    probability: f64,
    /// The waiting time at the last update, s.
    last_wait: f64,
    /// For how long a burst may still pass.
    burst: Duration,
    /// The sum of the drop probabilities since the last drop.
    accumulated: f64,
    /// When the drop probability is updated next.
    update_at: Time,
    random: Stream,
}

impl Pie {
    /// PIE for an empty queue. `random` draws one number per offered packet.
    pub(crate) fn new(target: Duration, random: Stream) -> Pie {
        Pie {
            target: target.as_secs_f64(),
            probability: 0.0,
            last_wait: 0.0,
            burst: MAX_BURST,
            accumulated: 0.0,
            update_at: Time::ZERO,
            random,
        }
    }

    /// What PIE does to a packet that is offered at `now`. `free_at` is when the transmitter has
    /// sent everything accepted so far, and `bytes` is the number of waiting bytes. `may_mark`: the
    /// packet is ECN-capable, and marking is allowed. The packet is not refused for another reason.
    pub(crate) fn judge(&mut self, now: Time, free_at: Time, bytes: u64, may_mark: bool) -> Verdict {
        self.update(now, free_at);
        let draw = self.random.unit();
        if !self.burst.is_zero() || !self.acts(bytes, draw) {
            return Verdict::Pass;
        }
        if may_mark && self.probability <= MOST_MARKING { Verdict::Mark } else { Verdict::Drop }
    }

    /// Draws the number of a packet that is refused for another reason.
    pub(crate) fn skip(&mut self) {
        self.random.unit();
    }

    /// Whether a packet is dropped or marked (RFC 8033, section 4.1 and 5.4).
    fn acts(&mut self, bytes: u64, draw: f64) -> bool {
        let is_short = self.last_wait < self.target / 2.0 && self.probability < 0.2;
        if is_short || bytes <= FEW_BYTES {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let (least, most) = DERANDOMISED;
        if self.accumulated < least || self.accumulated < most && draw >= self.probability {
            return false;
        }
        self.accumulated = 0.0;
        true
    }

    /// Performs all updates that are due by `now`.
    fn update(&mut self, now: Time, free_at: Time) {
        for _ in 0..MOST_UPDATES {
            if self.update_at > now {
                return;
            }
            let wait = free_at.since(self.update_at).as_secs_f64();
            if wait == 0.0 && self.last_wait == 0.0 && self.probability == 0.0 && self.burst == MAX_BURST {
                // Nothing changes until the next packet.
                break;
            }
            self.step(wait);
            self.update_at += UPDATE;
        }
        self.update_at = now + UPDATE;
    }

    /// One update of the drop probability (RFC 8033, section 4.2). `wait` is the waiting time now.
    fn step(&mut self, wait: f64) {
        let change = ALPHA * (wait - self.target) + BETA * (wait - self.last_wait);
        // A small probability changes in small steps, so that the loop is stable at all loads.
        let divisor = match self.probability {
            p if p < 0.000_001 => 2048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        let mut change = change / divisor;
        if self.probability >= 0.1 {
            change = change.min(0.02);
        }
        self.probability += change;
        if wait == 0.0 && self.last_wait == 0.0 {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst = self.burst.saturating_sub(UPDATE);
        let half = self.target / 2.0;
        if self.probability == 0.0 && wait < half && self.last_wait < half {
            self.burst = MAX_BURST;
        }
        self.last_wait = wait;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    fn pie() -> Pie {
        Pie::new(Duration::from_millis(15), Seed::new(1).stream("pie"))
    }

    /// Offers a packet every millisecond to a queue whose waiting time is `wait_ms`, and counts the verdicts.
    fn offer(pie: &mut Pie, millis: std::ops::Range<u64>, wait_ms: u64, may_mark: bool) -> [u64; 3] {
        let mut counts = [0; 3];
        for ms in millis {
            let now = Time::from_millis(ms);
            let verdict = pie.judge(now, now + Duration::from_millis(wait_ms), 100_000, may_mark);
            counts[verdict as usize] += 1;
        }
        counts
    }

    #[test]
    fn a_burst_passes_and_a_standing_queue_does_not() {
        let mut pie = pie();
        assert_eq!(offer(&mut pie, 0..140, 100, false), [140, 0, 0]);
        let [_, marked, dropped] = offer(&mut pie, 140..10_000, 100, false);
        assert!(marked == 0 && dropped > 1000, "{dropped} drops");
        assert!(pie.probability > 0.5, "probability {}", pie.probability);
    }

    #[test]
    fn capable_packets_are_marked_until_the_probability_is_high() {
        let mut pie = pie();
        let [_, marked, dropped] = offer(&mut pie, 0..2000, 20, true);
        assert!(marked > 0 && dropped == 0, "{marked} marks, {dropped} drops, probability {}", pie.probability);
        let [_, _, dropped] = offer(&mut pie, 2000..20_000, 200, true);
        assert!(dropped > 0);
    }

    #[test]
    fn an_idle_queue_forgets_and_a_long_rest_is_cheap() {
        let mut pie = pie();
        offer(&mut pie, 0..5_000, 100, false);
        assert!(pie.probability > 0.0);
        assert_eq!(pie.judge(Time::from_millis(1 << 40), Time::ZERO, 0, false), Verdict::Pass);
        assert_eq!((pie.probability, pie.burst), (0.0, MAX_BURST));
        assert!(pie.update_at > Time::from_millis(1 << 40));
        assert_eq!(pie.judge(Time::NEVER, Time::NEVER, 0, false), Verdict::Pass);
    }
}
