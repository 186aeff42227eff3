//! The fast path for a link that has only a rate, a queue, an MTU, a delay and a loss model.
//!
//! Most simulated links are of this kind. The fast path gives the same answers as the full path of
//! [`Link::offer`]: the same nanoseconds and the same random draws. A property test compares the
//! two paths.

use super::Link;
use crate::config::LinkConfig;
use crate::fate::{Delivery, DropReason, Fate};
use crate::loss::Loss;
use ripstop_base::{QueueLimit, Time};

/// The largest packet on the fast path, in bytes. The size of such a packet in nanobits (10^-9 bit,
/// the unit of `serialiser.rs`) fits 64 bits, and so does the serialiser's arithmetic with it. No
/// real packet is half as large.
const MAX_BYTES: usize = 1 << 30;
/// Packets that begin to leave after this moment, 292 years after the epoch, take the full path
/// too. [`Serialiser::serve_steadily`](crate::serialiser::Serialiser::serve_steadily) requires this
/// limit.
const MAX_TIME: Time = Time::from_nanos(1 << 63);

/// The settings of a link on the fast path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FastPath {
    mtu: u64,
    /// Limit on the waiting packets; u64::MAX: no limit.
    packets: u64,
    /// Limit on the waiting bytes; u64::MAX: no limit.
    bytes: u64,
    rate_bps: u64,
    delay_ns: u64,
    loss: LossDraw,
}

/// How the fast path decides whether a packet is lost.
#[derive(Clone, Copy, Debug)]
enum LossDraw {
    /// Nothing is lost and nothing is drawn.
    Never,
    /// A packet is lost if its draw, a random number of 53 bits, is below this number.
    Below(u64),
    /// The loss model decides.
    Model,
}

impl FastPath {
    /// The fast path of a link; None when the link has any other setting.
    pub(crate) fn new(config: &LinkConfig) -> Option<FastPath> {
        let never = config.jitter.duration().is_zero() && config.corrupt.get() == 0.0;
        let more = config.policer.is_some()
            || config.mark.is_some()
            || config.queue_discipline.is_aqm()
            || config.rate_trace.is_some()
            || config.reorder.is_some()
            || config.duplicate.is_some()
            || config.fec.is_some()
            || !config.blackouts.is_empty()
            || !config.schedule.is_empty();
        // The serialiser multiplies a time, rounded up to a nanosecond, by the rate. At a rate
        // above 2^60 bit/s the product might not fit 64 bits.
        if more || !never || config.rate.bps() > 1 << 60 {
            return None;
        }
        let (packets, bytes) = match config.queue {
            None => (u64::MAX, u64::MAX),
            Some(QueueLimit::Packets(most)) => (most, u64::MAX),
            Some(QueueLimit::Bytes(most)) => (u64::MAX, most),
        };
        Some(FastPath {
            mtu: config.mtu.map_or(u64::MAX, |mtu| mtu.get()),
            packets,
            bytes,
            rate_bps: config.rate.bps(),
            delay_ns: u64::try_from(config.delay.duration().as_nanos()).unwrap_or(u64::MAX),
            loss: match &config.loss {
                loss if !loss.is_active() => LossDraw::Never,
                // A packet with the draw k is lost when k/2^53 < p, that is, when k < p × 2^53. The
                // product is exact in f64.
                Loss::Bernoulli { probability } => {
                    LossDraw::Below((probability.get() * (1u64 << 53) as f64).ceil() as u64)
                }
                _ => LossDraw::Model,
            },
        })
    }
}

/// The fate of a packet on a link that cannot copy, mark or damage packets. It converts to a
/// [`Fate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the link does not keep the packet; the caller must carry out its fate"]
pub enum ShortFate {
    /// The packet is serialised and arrives, once and intact.
    Delivered {
        /// When the packet's last bit leaves the sender.
        departure: Time,
        /// When the packet reaches the receiver.
        arrival: Time,
    },
    /// The packet is serialised and lost by the loss model.
    Lost {
        /// When the packet's last bit leaves the sender.
        departure: Time,
    },
    /// The packet never enters the link.
    Refused {
        /// Why the packet was refused.
        reason: DropReason,
    },
}

impl From<ShortFate> for Fate {
    fn from(short: ShortFate) -> Fate {
        match short {
            ShortFate::Delivered { departure, arrival } => {
                Fate::Delivered(Delivery { departure, arrival, copy: None, congested: false, corruption: None })
            }
            ShortFate::Lost { departure } => Fate::Lost { departure, reason: DropReason::Channel },
            ShortFate::Refused { reason } => Fate::Refused { reason },
        }
    }
}

impl Link {
    /// Offers a packet as [`Link::offer`] does, on a link that has only a rate, a queue, an MTU, a
    /// delay and a loss model. Returns None if the packet must take the full path. The packet has
    /// then not been offered yet, so the caller must call [`Link::offer`].
    #[inline(always)]
    pub fn offer_fast(&mut self, now: Time, bytes: usize) -> Option<ShortFate> {
        let fast = self.fast_path.as_ref()?;
        let now = self.now.max(now);
        let free_at = self.serialiser.free_at();
        if bytes > MAX_BYTES || now.max(free_at) > MAX_TIME {
            return None;
        }
        self.now = now;
        let index = self.counters.offered;
        self.counters.offered += 1;
        // A packet has at most 2^30 bytes here. So no sum of bytes overflows before 2^34 packets.
        self.counters.offered_bytes = self.counters.offered_bytes.wrapping_add(bytes as u64);
        self.waiting.leave(now);
        let lost = match fast.loss {
            LossDraw::Never => false,
            LossDraw::Below(limit) => self.channel.draw() < limit,
            LossDraw::Model => {
                let settings = self.steps.get(self.exit_step);
                settings.is_some_and(|settings| self.channel.loses(&settings.loss, index))
            }
        };
        let size = bytes as u64;
        if size > fast.mtu {
            self.counters.refused_mtu += 1;
            return Some(ShortFate::Refused { reason: DropReason::Mtu });
        }
        let waits = free_at > now;
        let backlog = &self.waiting.backlog;
        if waits && (backlog.packets >= fast.packets || backlog.bytes.saturating_add(size) > fast.bytes) {
            self.counters.refused_queue += 1;
            return Some(ShortFate::Refused { reason: DropReason::Queue });
        }
        let delay_ns = fast.delay_ns;
        let departure = self.serialiser.serve_steadily(now, size, fast.rate_bps);
        self.counters.serialised += 1;
        self.counters.serialised_bytes = self.counters.serialised_bytes.wrapping_add(size);
        if waits {
            self.waiting.join(free_at, bytes);
            self.note_wait(free_at.nanos_since(now), size);
        }
        if lost {
            self.counters.lost_channel += 1;
            return Some(ShortFate::Lost { departure });
        }
        self.counters.delivered += 1;
        self.counters.delivered_bytes = self.counters.delivered_bytes.wrapping_add(size);
        let arrival = Time::from_nanos(departure.as_nanos().saturating_add(delay_ns));
        Some(ShortFate::Delivered { departure, arrival })
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
        /// Both paths give the same fates and the same counters.
        #[test]
        fn agrees_with_the_full_path(
            config in config(),
            seed in any::<u64>(),
            offers in prop::collection::vec(
                (prop_oneof![0u64..30_000_000, Just(0), Just(1 << 60)],
                 prop_oneof![0usize..3000, Just(1040), Just(40), Just(MAX_BYTES + 1)]),
                1..200,
            ),
        ) {
            let mut fast = Link::new(&config, Seed::new(seed), "link/0").expect("a link");
            prop_assert!(fast.fast_path.is_some());
            let mut full = fast.clone();
            full.fast_path = None;
            let mut now = Time::ZERO;
            for (span, bytes) in offers {
                now += Duration::from_nanos(span);
                prop_assert_eq!(fast.offer(now, bytes), full.offer(now, bytes));
                prop_assert_eq!(fast.counters(), full.counters());
                prop_assert_eq!(fast.backlog(now), full.backlog(now));
                prop_assert_eq!(fast.free_at(), full.free_at());
            }
        }
    }
}
