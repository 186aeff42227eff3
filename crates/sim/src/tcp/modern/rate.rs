//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation). A sample is the number of packets delivered
//! between the sending of a packet and its acknowledgement, divided by a time. The time is the longer of two: the time
//! in which these packets were sent, and the time in which they were acknowledged.

use ripstop_base::Time;
use std::time::Duration;

/// The state recorded with a packet when it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamp {
    /// Packets delivered before the packet was sent.
    delivered: u64,
    /// When the last of these deliveries happened. If nothing else was in flight, the time when this packet was sent.
    delivered_at: Time,
    /// When the last packet delivered before had been sent. If nothing else was in flight, the time when this packet
    /// was sent. The sending time of a sample begins here.
    first_sent: Time,
    /// Whether the application limited sending.
    app_limited: bool,
}

/// A sample of the delivery rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::tcp) struct RateSample {
    /// Packets delivered when the newest packet of this sample was sent.
    pub(in crate::tcp) prior_delivered: u64,
    /// Packets delivered since the newest packet of this sample was sent.
    pub(in crate::tcp) delivered: u64,
    /// The time by which `delivered` is divided; not zero.
    pub(in crate::tcp) interval: Duration,
    /// Whether the application limited the sample.
    pub(in crate::tcp) app_limited: bool,
}

impl RateSample {
    /// Packets per second.
    pub(in crate::tcp) fn rate(&self) -> f64 {
        self.delivered as f64 / self.interval.as_secs_f64()
    }
}

/// The deliveries so far.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct Delivery {
    /// Packets delivered.
    pub(in crate::tcp) delivered: u64,
    /// When the last packet was delivered.
    pub(in crate::tcp) delivered_at: Time,
    /// When the packet that was delivered last had been sent.
    first_sent: Time,
    /// The application-limited phase ends when `delivered` exceeds this number; 0 outside such a phase.
    app_limited_to: u64,
    /// The packet that was sent last, among the packets that the current acknowledgement reports: its order of sending,
    /// its time of sending, and its stamp.
    newest: Option<(u64, Time, Stamp)>,
}

impl Delivery {
    /// The stamp of a packet that is sent now. `idle`: nothing else is in flight.
    pub(super) fn stamp(&mut self, now: Time, idle: bool) -> Stamp {
        if idle {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_to > 0,
        }
    }

    /// Records the arrival of the packet that was sent as the `order`-th.
    pub(super) fn on_delivered(&mut self, order: u64, sent: Time, stamp: Stamp) {
        self.delivered += 1;
        if self.newest.is_none_or(|(newest, ..)| order > newest) {
            self.newest = Some((order, sent, stamp));
        }
    }

    /// The sample of an acknowledgement. Call this method after all packets of the acknowledgement were recorded. The
    /// sample is None if there were no such packets. It is also None if the interval is 0 or below `min_rtt`. An
    /// interval below `min_rtt` shows that an earlier transmission of the same packet arrived.
    pub(super) fn sample(&mut self, now: Time, min_rtt: Option<Duration>) -> Option<RateSample> {
        if self.app_limited_to > 0 && self.delivered > self.app_limited_to {
            self.app_limited_to = 0;
        }
        let (_, sent, stamp) = self.newest.take()?;
        self.first_sent = sent;
        self.delivered_at = now;
        let interval = sent.since(stamp.first_sent).max(now.since(stamp.delivered_at));
        (!interval.is_zero() && min_rtt.is_none_or(|min| interval >= min)).then_some(RateSample {
            prior_delivered: stamp.delivered,
            delivered: self.delivered - stamp.delivered,
            interval,
            app_limited: stamp.app_limited,
        })
    }

    /// Begins an application-limited phase: the application offers too little data to fill the path. The phase ends
    /// when the `in_flight` packets are delivered.
    pub(in crate::tcp) fn note_app_limited(&mut self, in_flight: u64) {
        self.app_limited_to = (self.delivered + in_flight).max(1);
    }

    /// Whether packets of an application-limited phase are still undelivered.
    pub(in crate::tcp) fn is_app_limited(&self) -> bool {
        self.app_limited_to > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_of_sending_and_acknowledging_counts() {
        let mut delivery = Delivery::default();
        let ms = Time::from_millis;
        // Ten packets are sent 1 ms apart. The first is acknowledged at 100 ms, and the last nine together at 118 ms.
        // All ten were sent before the first acknowledgement, so the second sample has ten packets in 118 ms.
        let stamps: Vec<Stamp> = (0..10).map(|k| delivery.stamp(ms(k), k == 0)).collect();
        delivery.on_delivered(0, ms(0), stamps[0]);
        let first = delivery.sample(ms(100), None).unwrap();
        assert_eq!((first.delivered, first.interval), (1, Duration::from_millis(100)));
        stamps.iter().enumerate().skip(1).for_each(|(k, s)| delivery.on_delivered(k as u64, ms(k as u64), *s));
        let sample = delivery.sample(ms(118), None).unwrap();
        assert_eq!((sample.prior_delivered, sample.delivered), (0, 10));
        assert_eq!(sample.interval, Duration::from_millis(118));
        assert_eq!(delivery.sample(ms(120), None), None, "an acknowledgement without news gives no sample");
    }

    #[test]
    fn early_acknowledgements_give_no_sample_and_idle_time_is_marked() {
        let mut delivery = Delivery::default();
        let ms = Time::from_millis;
        delivery.note_app_limited(0);
        let stamp = delivery.stamp(ms(0), true);
        delivery.on_delivered(0, ms(0), stamp);
        assert_eq!(delivery.sample(ms(10), Some(Duration::from_millis(50))), None);
        let stamp = delivery.stamp(ms(20), true);
        assert!(delivery.is_app_limited());
        delivery.on_delivered(1, ms(20), stamp);
        assert!(delivery.sample(ms(80), Some(Duration::from_millis(50))).unwrap().app_limited);
        assert!(!delivery.is_app_limited());
    }
}
