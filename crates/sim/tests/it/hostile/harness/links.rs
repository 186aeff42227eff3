//! Random links, and the impairments that a link is configured with.

use ripstop_base::{Bytes, Fraction, QueueLimit, Rate, Seed, Span, Stream, Time};
use ripstop_link::{Blackout, Change, Duplicate, Fec, Link, LinkConfig, Loss, Reorder};
use std::time::Duration;

/// The largest share of full packets that a link with a block code may lose. If a link with a random code loses more,
/// the loss of units on this link is halved until the link complies. Half the value leaves less hostile links; double
/// the value removes the limit.
const MOST_LOSS: f64 = 0.6;

/// A random number between `least` and `most` whose logarithm is uniform.
pub(crate) fn log_uniform(r: &mut Stream, least: f64, most: f64) -> f64 {
    least * (most / least).powf(r.unit())
}

/// A fraction from a number. The number is first limited to the range from 0 to 1.
pub(crate) fn share(value: f64) -> Fraction {
    Fraction::new(value.clamp(0.0, 1.0)).unwrap_or(Fraction::ZERO)
}

/// A link with random impairments. `length` is the length of the session in seconds.
pub(crate) fn random_link(
    r: &mut Stream,
    rate: Rate,
    delay: Duration,
    heavy: bool,
    blackout: bool,
    length: f64,
) -> LinkConfig {
    let p = if heavy { 0.3 + 0.3 * r.unit() } else { 0.3 * r.unit() * r.unit() };
    let burst = 1.0 + 7.0 * r.unit();
    let loss = if r.chance(0.4) && p > 0.0 {
        // Independent losses already have a mean burst of 1 / (1 - p), so the burst is at least
        // this long.
        Loss::Gilbert { mean: share(p), burst: burst.max(1.0 / (1.0 - p)) }
    } else {
        Loss::bernoulli(share(p))
    };
    let bdp = rate.bps() as f64 / 8.0 * (2.0 * delay.as_secs_f64());
    let queue = (bdp * (0.3 + 2.0 * r.unit())).max(8_000.0);
    let extra = Span::from(delay.mul_f64(0.5 * r.unit()).max(Duration::from_micros(100)));
    LinkConfig {
        rate,
        queue: Some(QueueLimit::Bytes(queue as u64)),
        delay: Span::from(delay),
        jitter: if r.chance(0.4) { Span::from(delay.mul_f64(0.2 * r.unit())) } else { Span::from(Duration::ZERO) },
        loss,
        reorder: r.chance(0.3).then(|| Reorder { probability: share(0.1 * r.unit()), extra_delay: extra }),
        duplicate: r.chance(0.3).then(|| Duplicate { probability: share(0.1 * r.unit()), extra_delay: extra }),
        corrupt: if r.chance(0.3) { share(0.05 * r.unit()) } else { Fraction::ZERO },
        blackouts: if blackout {
            vec![Blackout {
                at: Span::from(Duration::from_secs_f64(0.2 * length + 0.3 * length * r.unit())),
                length: Span::from(Duration::from_secs_f64(0.05 + 2.0 * r.unit())),
                every: None,
            }]
        } else {
            Vec::new()
        },
        schedule: if r.chance(0.2) {
            vec![Change {
                at: Span::from(Duration::from_secs_f64(0.5 * length)),
                rate: Some(Rate::from_bps((rate.bps() as f64 * (0.3 + 1.5 * r.unit())) as u64)),
                ..Change::default()
            }]
        } else {
            Vec::new()
        },
        mtu: Some(Bytes::new(1500)),
        ..LinkConfig::default()
    }
}

/// Adds a block code to the link, and losses of units that the code mostly repairs.
///
/// A block is at most about a third of a full packet. The last block of a packet is padded and costs as much as a full
/// block.
pub(crate) fn random_code(r: &mut Stream, link: &mut LinkConfig, seed: Seed) {
    let unit = 53 + r.below(100);
    let k = 1 + r.below(500 / unit) as u32;
    let n = k + 1 + r.below(u64::from(k.div_ceil(2))) as u32;
    let mut mean = 0.08 * r.unit() * r.unit() + 0.002;
    let burst = r.chance(0.4).then(|| 1.5 + 6.0 * r.unit());
    if r.chance(0.5) {
        link.loss = Loss::None;
    }
    loop {
        let loss = match burst {
            Some(burst) => Loss::Gilbert { mean: share(mean), burst },
            None => Loss::bernoulli(share(mean)),
        };
        link.fec = Some(Fec { unit: Bytes::new(unit), ..Fec::new(n, k, loss) });
        if packet_loss(link, seed) <= MOST_LOSS || mean < 1e-4 {
            return;
        }
        mean /= 2.0;
    }
}

/// The share of full packets that a link loses. With a block code, packets are sent over a copy of
/// the link and counted, because the loss after repair depends on the packet.
pub(crate) fn packet_loss(link: &LinkConfig, seed: Seed) -> f64 {
    /// The number of packets that are sent over the copy. Half the value makes the estimate less precise; double the
    /// value takes twice the time.
    const PACKETS: u32 = 3000;
    if link.fec.is_none() {
        return link.loss.mean();
    }
    let bare = LinkConfig { loss: link.loss.clone(), fec: link.fec.clone(), ..LinkConfig::default() };
    let Ok(mut link) = Link::new(&bare, seed, "hostile/probe") else { return 1.0 };
    let lost = (0..PACKETS).filter(|_| link.offer(Time::ZERO, 1500).arrival().is_none()).count();
    lost as f64 / f64::from(PACKETS)
}

/// The configured impairments of a link, by the names of [`ripstop_link::Link::unfired`].
pub(crate) fn configured(link: &LinkConfig) -> Vec<&'static str> {
    [
        ("policer", link.policer.is_some()),
        ("loss", link.loss != Loss::None),
        ("fec", link.fec.as_ref().is_some_and(|fec| fec.n > fec.k && fec.loss.is_active())),
        ("fec.loss", link.fec.as_ref().is_some_and(|fec| fec.loss.is_active())),
        ("jitter", !link.jitter.duration().is_zero()),
        ("reorder", link.reorder.is_some()),
        ("duplicate", link.duplicate.is_some()),
        ("corrupt", link.corrupt.get() > 0.0),
        ("blackouts", !link.blackouts.is_empty()),
        ("schedule", !link.schedule.is_empty()),
        ("queue_discipline", link.queue_discipline.is_aqm()),
        ("ecn", link.ecn),
        ("mark", link.mark.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, on)| on.then_some(name))
    .collect()
}
