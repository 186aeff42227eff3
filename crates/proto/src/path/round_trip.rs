//! The smoothed round-trip time of a path and its variation (RFC 6298).

use std::time::Duration;

/// The round-trip time of a path.
#[derive(Debug)]
pub(super) struct RoundTrip {
    /// Smoothed round-trip time. `None` before the first sample.
    smoothed: Option<Duration>,
    variation: Duration,
    /// Round-trip time of the handshake.
    initial: Duration,
}

impl RoundTrip {
    /// Nothing is measured. `initial` is the round-trip time of the handshake.
    pub(super) fn new(initial: Duration) -> RoundTrip {
        RoundTrip { smoothed: None, variation: initial / 2, initial }
    }

    /// The smoothed round-trip time. Before the first sample, this is the round-trip time of the handshake.
    pub(super) fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(self.initial)
    }

    /// The mean distance of the samples from the smoothed round-trip time.
    pub(super) fn variation(&self) -> Duration {
        self.variation
    }

    /// Whether the round-trip time has been measured since the handshake.
    pub(super) fn is_measured(&self) -> bool {
        self.smoothed.is_some()
    }

    /// Adds a sample to the smoothed mean and the variation (RFC 6298, section 2).
    pub(super) fn add(&mut self, sample: Duration) {
        match self.smoothed {
            None => {
                self.smoothed = Some(sample);
                self.variation = sample / 2;
            }
            Some(smoothed) => {
                self.variation = (self.variation * 3 + smoothed.abs_diff(sample)) / 4;
                self.smoothed = Some((smoothed * 7 + sample) / 8);
            }
        }
    }
}
