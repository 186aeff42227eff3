//! The retransmission time-out, in clock ticks as the BSD kernels kept it, and ns-2 after them.

use ripstop_base::Time;
use std::time::Duration;

/// Bits behind the binary point of the smoothed round-trip time and of its variation, both in ticks.
const SRTT_BITS: u32 = 3;
const RTTVAR_BITS: u32 = 2;
/// RTO = srtt + 2^this rttvar.
const RTTVAR_EXPONENT: u32 = 2;

/// What bounds the time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Time-out before the first sample.
    pub initial: Duration,
    /// Floor, before back-off.
    pub min: Duration,
    /// Cap, after back-off.
    pub max: Duration,
    /// Granularity of the clock that measures round trips.
    pub tick: Duration,
}

impl Default for RtoConfig {
    /// 3 s at first, 0.2 s to 60 s, ticks of 10 ms: ns-2's.
    fn default() -> RtoConfig {
        RtoConfig {
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
            tick: Duration::from_millis(10),
        }
    }
}

/// Estimator of the round-trip time, and the time-out that follows from it (RFC 6298, in ticks).
#[derive(Clone, Debug)]
pub(super) struct Rto {
    config: RtoConfig,
    /// Where between two ticks of this host's clock virtual time began, ns.
    phase: u64,
    srtt: i64,
    rttvar: i64,
    current: Duration,
    backoff: u32,
    /// `srtt` as a span: it is asked for far more often than it changes.
    smoothed: Option<Duration>,
    /// The time-out, back-off included, for the same reason.
    timeout: Duration,
}

impl Rto {
    /// A clock that had `phase` of its tick behind it when virtual time began (a fraction, 0..1): clocks of hosts do not agree.
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

    /// A packet sent at `sent` was acknowledged at `now`.
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

    /// A time-out has come: the next one takes twice as long. After four the estimate is worth nothing any more.
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

    /// Something that was sent once has been acknowledged (Karn).
    pub(super) fn end_back_off(&mut self) {
        if self.backoff != 1 {
            self.backoff = 1;
            self.update_cached();
        }
    }

    /// The smoothed round-trip time; None before the first sample, and when time-outs have made it worthless.
    #[inline]
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.smoothed
    }

    /// Brings up to date what follows from estimate and back-off.
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
    fn the_time_out_follows_the_samples_in_ticks() {
        let mut rto = Rto::new(RtoConfig::default(), 0.0);
        assert_eq!(rto.timeout(), Duration::from_secs(3));
        rto.sample(Time::ZERO, Time::from_millis(805));
        // 80 ticks; variation half of that, four times.
        assert_eq!(rto.srtt(), Some(Duration::from_millis(800)));
        assert_eq!(rto.timeout(), Duration::from_millis(2400));
        for _ in 0..100 {
            rto.sample(Time::ZERO, Time::from_millis(805));
        }
        assert!(rto.timeout() >= Duration::from_millis(800) && rto.timeout() < Duration::from_millis(900));
        // A tick that ends on the way counts.
        let mut late = Rto::new(RtoConfig::default(), 0.9);
        late.sample(Time::from_millis(5), Time::from_millis(10));
        assert_eq!(late.srtt(), Some(Duration::from_millis(10)));
    }

    #[test]
    fn back_off_doubles_up_to_the_cap() {
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
