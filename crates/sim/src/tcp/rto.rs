//! The retransmission time-out in clock ticks, as the BSD kernels and ns-2 compute it.

use ripstop_base::Time;
use std::time::Duration;

/// Fraction bits of the smoothed round-trip time in ticks. They also set its gain: 2^-3 = 1/8 (RFC 6298). Another value
/// gives other time-outs than ns-2's.
const SRTT_BITS: u32 = 3;
/// Fraction bits of the variation in ticks. They also set its gain: 2^-2 = 1/4 (RFC 6298). Another value gives other
/// time-outs than ns-2's.
const RTTVAR_BITS: u32 = 2;
/// The exponent e in the time-out, srtt + 2^e rttvar, where rttvar is the variation. RFC 6298 has 4 rttvar, so the
/// exponent is 2. An exponent of 3 doubles the margin above the round-trip time. An exponent of 1 halves the margin.
const RTTVAR_EXPONENT: u32 = 2;

/// The bounds of the retransmission time-out, and the tick of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// The time-out before the first sample.
    pub initial: Duration,
    /// The smallest time-out, before back-off.
    pub min: Duration,
    /// The largest time-out, after back-off.
    pub max: Duration,
    /// The tick of the clock that measures round trips.
    pub tick: Duration,
}

impl Default for RtoConfig {
    /// As in ns-2: the time-out is 3 s at first and 0.2 s to 60 s later, and the clock has ticks of 10 ms.
    fn default() -> RtoConfig {
        RtoConfig {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            tick: Duration::from_millis(10),
        }
    }
}

/// Estimates the round-trip time, and computes the time-out from this estimate (RFC 6298, in ticks).
#[derive(Clone, Debug)]
pub(super) struct Rto {
    config: RtoConfig,
    /// The phase of this host's clock at time zero, in ns after a tick.
    phase: u64,
    /// The smoothed round-trip time in ticks, times 2^[`SRTT_BITS`].
    srtt: i64,
    /// The variation in ticks, times 2^[`RTTVAR_BITS`].
    rttvar: i64,
    /// The time-out without back-off and bounds.
    current: Duration,
    /// The factor on `current`.
    backoff: u32,
    /// `srtt` as a duration, cached: reads are far more frequent than changes.
    smoothed: Option<Duration>,
    /// The time-out with back-off and bounds, at least two ticks. This value is cached for the same reason.
    timeout: Duration,
}

impl Rto {
    /// An estimator without samples. `phase` (0 to 1) is the part of a tick that has passed at time zero. The phase
    /// differs between hosts, because the hosts' clocks do not tick at the same times.
    pub(super) fn new(config: RtoConfig, phase: f64) -> Rto {
        let tick = config.tick.as_nanos() as u64;
        let mut rto = Rto {
            config,
            phase: ((phase * tick as f64) as u64).min(tick.saturating_sub(1)),
            srtt: 0,
            rttvar: 0,
            current: config.initial,
            backoff: 1,
            smoothed: None,
            timeout: config.initial,
        };
        rto.update_cached();
        rto
    }

    /// Takes the sample of a packet sent at `sent` and acknowledged at `now`.
    pub(super) fn sample(&mut self, sent: Time, now: Time) {
        let tick = (self.config.tick.as_nanos() as u64).max(1);
        let into = (sent.as_nanos() + self.phase) % tick;
        let ticks = (((now.as_nanos() - sent.as_nanos()) + into) / tick).max(1) as i64;
        if self.srtt == 0 {
            self.srtt = ticks << SRTT_BITS;
            self.rttvar = ticks << (RTTVAR_BITS - 1);
        } else {
            let delta = ticks - (self.srtt >> SRTT_BITS);
            self.srtt = (self.srtt + delta).max(1);
            self.rttvar = (self.rttvar + delta.abs() - (self.rttvar >> RTTVAR_BITS)).max(1);
        }
        let ticks = ((self.rttvar << (RTTVAR_EXPONENT + SRTT_BITS - RTTVAR_BITS)) + self.srtt) >> SRTT_BITS;
        self.current = Duration::from_nanos(ticks as u64 * tick);
        self.update_cached();
    }

    /// The time-out, back-off included.
    #[inline]
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Doubles the time-out, up to the configured maximum. At the fourth time-out in a row the estimate is discarded.
    pub(super) fn back_off(&mut self) {
        if self.backoff < 64 || self.timeout() < self.config.max {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > 8 {
            self.rttvar += self.srtt >> SRTT_BITS;
            self.srtt = 0;
        }
        self.update_cached();
    }

    /// Ends the back-off, because a packet that was sent only once is acknowledged (Karn's algorithm).
    pub(super) fn end_back_off(&mut self) {
        if self.backoff != 1 {
            self.backoff = 1;
            self.update_cached();
        }
    }

    /// The smoothed round-trip time; None before the first sample, and after time-outs have discarded the estimate.
    #[inline]
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Updates the cached values.
    fn update_cached(&mut self) {
        let tick = self.config.tick;
        self.smoothed = (self.srtt > 0).then(|| tick.mul_f64(self.srtt as f64 / f64::from(1 << SRTT_BITS)));
        self.timeout = (self.current.max(self.config.min) * self.backoff).min(self.config.max).max(2 * tick);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_out_counts_ticks() {
        let mut rto = Rto::new(RtoConfig::default(), 0.0);
        assert_eq!(rto.timeout(), Duration::from_secs(3));
        rto.sample(Time::ZERO, Time::from_millis(805));
        // The sample is 80 ticks. The variation is half of the sample, and counts four times.
        assert_eq!(rto.srtt(), Some(Duration::from_millis(800)));
        assert_eq!(rto.timeout(), Duration::from_millis(2400));
        for _ in 0..100 {
            rto.sample(Time::ZERO, Time::from_millis(805));
        }
        assert!(rto.timeout() >= Duration::from_millis(800) && rto.timeout() < Duration::from_millis(900));
        // A tick that ends during the round trip counts.
        let mut late = Rto::new(RtoConfig::default(), 0.9);
        late.sample(Time::from_millis(5), Time::from_millis(10));
        assert_eq!(late.srtt(), Some(Duration::from_millis(10)));
    }

    #[test]
    fn back_off_doubles_up_to_the_maximum() {
        let mut rto = Rto::new(RtoConfig::default(), 0.0);
        rto.sample(Time::ZERO, Time::from_millis(100));
        assert_eq!(rto.timeout(), Duration::from_millis(300));
        let mut timeouts = Vec::new();
        for _ in 0..10 {
            rto.back_off();
            timeouts.push(rto.timeout().as_millis());
        }
        assert_eq!(timeouts, [600, 1200, 2400, 4800, 9600, 19_200, 38_400, 60_000, 60_000, 60_000]);
        assert_eq!(rto.srtt(), None);
        rto.end_back_off();
        assert_eq!(rto.timeout(), Duration::from_millis(300));
    }
}
