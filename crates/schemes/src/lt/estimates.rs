//! The estimates of the sender: the loss P_s of the path, and the block round-trip time T_s.

use ripstop_base::Time;
use ripstop_model::mesh::shares::smoothed;
use std::time::Duration;

/// A value that is smoothed by equations (9) and (10) of paper 004: 7/8 of the old value and 1/8 of
/// the sample. The first sample is the first value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Smoothed {
    value: Option<f64>,
}

impl Smoothed {
    /// The estimate. None before the first sample.
    pub(super) fn get(self) -> Option<f64> {
        self.value
    }

    /// Adds a sample.
    pub(super) fn add(&mut self, sample: f64) {
        if let Ok(value) = smoothed(self.value, sample) {
            self.value = Some(value);
        }
    }
}

/// The share of packets that the path loses, P_s.
///
/// A sample counts only packets up to the last packet that has arrived. Packets after it may still
/// be on their way. If they counted as lost, the estimate would only grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PathLoss {
    smoothed: Smoothed,
    /// Packets whose fate is known, and packets that have arrived, since the last sample.
    pending: (u64, u64),
}

/// The number of packets in a sample of [`PathLoss`]. Reports may cover only a few packets, and a
/// smoothed value of such samples would follow the last few losses. Half the value follows a change
/// of the loss in half the time, and varies by a factor of 1.4 more.
const SAMPLE: u64 = 16;

impl PathLoss {
    /// Of `sent` packets, `arrived` have arrived.
    pub(super) fn add(&mut self, sent: u64, arrived: u64) {
        self.pending.0 += sent;
        self.pending.1 += arrived.min(sent);
        if self.pending.0 >= SAMPLE {
            self.sample();
        }
    }

    /// Of the `sent` packets of one block, `arrived` have arrived. Makes one sample of the block.
    pub(super) fn add_block(&mut self, sent: u64, arrived: u64) {
        if sent > 0 {
            self.pending = (sent, arrived.min(sent));
            self.sample();
        }
    }

    fn sample(&mut self) {
        let (sent, arrived) = std::mem::take(&mut self.pending);
        self.smoothed.add(1.0 - arrived as f64 / sent as f64);
    }

    /// The estimate: 0 before the first sample, and at most [`MOST_LOSS`].
    pub(super) fn get(self) -> f64 {
        self.smoothed.get().unwrap_or(0.0).min(MOST_LOSS)
    }
}

/// The largest estimate of the loss: R = 1/(1-P) is at most 10. Without this bound, a blackout would
/// make R infinite. Half the R (P = .8) is too little for paths that lose nine of ten packets.
/// Double the R sends twice the symbols after a blackout.
const MOST_LOSS: f64 = 0.9;

/// How long the sender waits for the answer to a request: the smoothed time of earlier answers plus
/// four times their mean deviation, as TCP does (RFC 6298).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AnswerTime {
    mean: Smoothed,
    deviation: f64,
}

impl AnswerTime {
    /// An answer came after `time`.
    pub(super) fn add(&mut self, time: Duration) {
        let sample = time.as_secs_f64();
        self.deviation = match self.mean.get() {
            None => sample / 2.0,
            Some(mean) => 0.75 * self.deviation + 0.25 * (sample - mean).abs(),
        };
        self.mean.add(sample);
    }

    /// How long to wait for an answer. None before the first answer.
    pub(super) fn limit(self) -> Option<Duration> {
        self.mean.get().map(|mean| Duration::from_secs_f64(mean + 4.0 * self.deviation))
    }
}

/// The time from the first packet of each block to its acknowledgement, T_s.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BlockTime(Smoothed);

impl BlockTime {
    /// A block that was begun at `began` is acknowledged at `now`.
    pub(super) fn add(&mut self, began: Time, now: Time) {
        self.0.add(now.since(began).as_secs_f64());
    }

    /// The estimate in seconds. None before the first sample.
    pub(super) fn get(self) -> Option<f64> {
        self.0.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_percent_of_a_step_is_reached_after_18_samples() {
        let mut smoothed = Smoothed::default();
        assert_eq!(smoothed.get(), None);
        smoothed.add(0.0);
        for k in 1..=18 {
            assert!(smoothed.get().unwrap() < 0.9, "after {} samples", k - 1);
            smoothed.add(1.0);
        }
        assert!(smoothed.get().unwrap() >= 0.9);
    }

    #[test]
    fn the_loss_is_bounded_and_starts_with_the_first_sample() {
        let mut loss = PathLoss::default();
        assert_eq!(loss.get(), 0.0);
        loss.add(10, 8);
        assert_eq!(loss.get(), 0.0, "the sample is not complete");
        loss.add(10, 7);
        assert_eq!(loss.get(), 0.25);
        loss.add_block(0, 0);
        assert_eq!(loss.get(), 0.25);
        let mut blackout = PathLoss::default();
        blackout.add_block(20, 0);
        assert_eq!(blackout.get(), MOST_LOSS);
    }

    #[test]
    fn the_limit_of_an_answer_is_above_all_usual_answers() {
        let mut answers = AnswerTime::default();
        assert_eq!(answers.limit(), None);
        for _ in 0..40 {
            answers.add(Duration::from_millis(100));
            answers.add(Duration::from_millis(140));
        }
        let limit = answers.limit().unwrap();
        assert!((Duration::from_millis(160)..Duration::from_millis(260)).contains(&limit), "{limit:?}");
    }
}
