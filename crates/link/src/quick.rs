//! The short way through a link that waits, sends, delays, loses and does nothing else.
//!
//! What most links in a simulation are. It answers what [`Link::offer`] would on the long way, to the nanosecond and to the
//! draw; a property test holds one against the other.

use crate::config::LinkConfig;
use crate::fate::{Delivery, Fate, Reason};
use crate::link::Link;
use crate::loss::Loss;
use ripstop_base::{QueueLimit, Time};

/// Larger packets take the long way: their bits times 10^9 do not fit 64 bits.
const MAX_BYTES: usize = 1 << 30;
/// As do packets that are sent later than this, 292 years after the epoch.
const LAST: Time = Time::from_nanos(1 << 63);

/// The settings of such a link, ready for use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quick {
    mtu: u64,
    /// How much may wait; the largest number where there is no limit.
    packets: u64,
    bytes: u64,
    rate_bps: u64,
    delay_ns: u64,
    chance: Chance,
}

#[derive(Clone, Copy, Debug)]
enum Chance {
    /// Nothing is lost, and nothing drawn.
    Never,
    /// Lost are packets whose draw of 53 bits is below this.
    Below(u64),
    /// The model says.
    Model,
}

impl Quick {
    /// None where the link does anything else.
    pub(crate) fn new(config: &LinkConfig) -> Option<Quick> {
        let never = config.jitter.duration().is_zero() && config.corrupt.get() == 0.0;
        let more = config.policer.is_some()
            || config.mark.is_some()
            || config.reorder.is_some()
            || config.duplicate.is_some()
            || config.fec.is_some()
            || !config.blackouts.is_empty()
            || !config.schedule.is_empty();
        // Beyond this rate what a nanosecond takes more than the packet does not fit 64 bits beside it.
        if more || !never || config.rate.bps() > 1 << 60 {
            return None;
        }
        let (packets, bytes) = match config.queue {
            None => (u64::MAX, u64::MAX),
            Some(QueueLimit::Packets(most)) => (most, u64::MAX),
            Some(QueueLimit::Bytes(most)) => (u64::MAX, most),
        };
        Some(Quick {
            mtu: config.mtu.map_or(u64::MAX, |mtu| mtu.get()),
            packets,
            bytes,
            rate_bps: config.rate.bps(),
            delay_ns: u64::try_from(config.delay.duration().as_nanos()).unwrap_or(u64::MAX),
            chance: match &config.loss {
                loss if !loss.is_active() => Chance::Never,
                // A draw of k is k/2^53 < p exactly when k < p 2^53, a product without rounding.
                Loss::Bernoulli { probability } => {
                    Chance::Below((probability.get() * (1u64 << 53) as f64).ceil() as u64)
                }
                _ => Chance::Model,
            },
        })
    }
}

impl Link {
    /// What becomes of a packet of `bytes` bytes offered at `now`, its number `index`; None when it has to go the long way.
    #[inline]
    pub(crate) fn offer_quickly(
        &mut self,
        quick: &Quick,
        now: Time,
        bytes: usize,
        index: u64,
    ) -> Option<Fate> {
        let free_at = self.serialiser.free_at();
        if bytes > MAX_BYTES || now.max(free_at) > LAST {
            return None;
        }
        let lost = match quick.chance {
            Chance::Never => false,
            Chance::Below(limit) => self.channel.draw() < limit,
            Chance::Model => self.loses(index),
        };
        let size = bytes as u64;
        if size > quick.mtu {
            self.counters.refused_mtu += 1;
            return Some(Fate::Refused { reason: Reason::Mtu });
        }
        let waits = free_at > now;
        let backlog = &self.waiting.backlog;
        if waits && (backlog.packets >= quick.packets || backlog.bytes.saturating_add(size) > quick.bytes) {
            self.counters.refused_queue += 1;
            return Some(Fate::Refused { reason: Reason::Queue });
        }
        let departure = self.serialiser.serve_steadily(now, size, quick.rate_bps);
        self.counters.serialised += 1;
        self.counters.serialised_bytes = self.counters.serialised_bytes.saturating_add(size);
        if waits {
            self.waiting.join(free_at, bytes);
            self.note_wait(free_at.nanos_since(now), size);
        }
        if lost {
            self.counters.lost_channel += 1;
            return Some(Fate::Lost { departure, reason: Reason::Channel });
        }
        self.counters.delivered += 1;
        self.counters.delivered_bytes = self.counters.delivered_bytes.saturating_add(size);
        let arrival = Time::from_nanos(departure.as_nanos().saturating_add(quick.delay_ns));
        Some(Fate::Delivered(Delivery { departure, arrival, copy: None, congested: false, corruption: None }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use ripstop_base::{Bytes, Fraction, Rate, Seed};
    use std::time::Duration;

    fn config() -> impl Strategy<Value = LinkConfig> {
        let queue = prop_oneof![
            Just(None),
            (0u64..6).prop_map(|n| Some(QueueLimit::Packets(n))),
            (0u64..9_000).prop_map(|n| Some(QueueLimit::Bytes(n)))
        ];
        let share = |p: f64| Fraction::new(p).expect("a share");
        let loss = prop_oneof![
            Just(Loss::None),
            (0.0..=1.0f64).prop_map(move |p| Loss::bernoulli(share(p))),
            (0.0..0.4f64).prop_map(move |mean| Loss::Gilbert { mean: share(mean), burst: 3.0 }),
            Just(Loss::Sequence { pattern: "0010111".into() })
        ];
        let rate = prop_oneof![Just(0), Just(3), Just(2_000_000), Just(1 << 59), 1u64..1_000_000_000];
        let mtu = prop_oneof![Just(None), (1u64..2000).prop_map(|n| Some(Bytes::new(n)))];
        (rate, queue, 0u64..1_000_000, loss, mtu).prop_map(|(bps, queue, nanos, loss, mtu)| LinkConfig {
            rate: Rate::from_bps(bps),
            queue,
            delay: Duration::from_nanos(nanos).into(),
            loss,
            mtu,
            ..LinkConfig::default()
        })
    }

    proptest! {
        /// Every fate and every counter.
        #[test]
        fn answers_as_the_long_way(
            config in config(),
            seed in any::<u64>(),
            offers in prop::collection::vec(
                (prop_oneof![0u64..30_000_000, Just(0), Just(1 << 60)],
                 prop_oneof![0usize..3000, Just(1040), Just(40), Just(MAX_BYTES + 1)]),
                1..200,
            ),
        ) {
            let mut quick = Link::new(&config, Seed::new(seed), "link/0").expect("a link");
            prop_assert!(quick.quick.is_some());
            let mut long = quick.clone();
            long.quick = None;
            let mut now = Time::ZERO;
            for (span, bytes) in offers {
                now += Duration::from_nanos(span);
                prop_assert_eq!(quick.offer(now, bytes), long.offer(now, bytes));
                prop_assert_eq!(quick.counters(), long.counters());
                prop_assert_eq!(quick.backlog(now), long.backlog(now));
                prop_assert_eq!(quick.free_at(), long.free_at());
            }
        }
    }
}
