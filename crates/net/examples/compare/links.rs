//! The links of the comparison.

use ripstop_base::{Fraction, Rate};
use ripstop_link::{LinkConfig, Loss};
use ripstop_net::testbed::TwoWayLink;
use std::time::Duration;

/// A link. Both directions have the same rate, delay, queue and loss.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CompareLink {
    /// The name on the command line.
    pub(crate) name: &'static str,
    /// Rate, bit/s.
    pub(crate) rate_bps: u64,
    /// Round-trip time without queues.
    pub(crate) rtt: Duration,
    /// Share of packets lost.
    pub(crate) loss: f64,
    /// Mean number of packets in a run of losses. 1: the losses are independent.
    pub(crate) burst: f64,
}

/// All links, in the order of the page.
pub(crate) fn all() -> Vec<CompareLink> {
    let link = |name, rate_bps, rtt_ms, loss, burst| CompareLink {
        name,
        rate_bps,
        rtt: Duration::from_millis(rtt_ms),
        loss,
        burst,
    };
    vec![
        link("0", 20_000_000, 100, 0.0, 1.0),
        link("1", 20_000_000, 100, 0.01, 1.0),
        link("5", 20_000_000, 100, 0.05, 1.0),
        link("20", 20_000_000, 100, 0.20, 1.0),
        link("600ms", 20_000_000, 600, 0.05, 1.0),
        link("bursts", 50_000_000, 100, 0.05, 4.0),
    ]
}

impl CompareLink {
    /// The link in words.
    pub(crate) fn words(&self) -> String {
        let bursts = if self.burst > 1.0 { format!(" in bursts of {}", self.burst) } else { String::new() };
        format!(
            "{} Mbit/s, {} ms, {} % loss{bursts}",
            self.rate_bps / 1_000_000,
            self.rtt.as_millis(),
            100.0 * self.loss
        )
    }

    /// The settings of the emulator: a drop-tail queue of one bandwidth-delay product, then losses, then the delay.
    pub(crate) fn path(&self) -> Result<TwoWayLink, String> {
        let loss = Fraction::new(self.loss).ok_or("the loss is no fraction")?;
        let mut way = LinkConfig::path(Rate::from_bps(self.rate_bps), self.rtt, loss);
        if self.burst > 1.0 {
            way.loss = Loss::Gilbert { mean: loss, burst: self.burst };
        }
        Ok(TwoWayLink { forth: way.clone(), back: way })
    }

    /// The bandwidth-delay product, bytes.
    pub(crate) fn bdp(&self) -> f64 {
        self.rate_bps as f64 / 8.0 * self.rtt.as_secs_f64()
    }

    /// What the link can deliver: its rate times the share of packets that arrive, bit/s.
    pub(crate) fn capacity_bps(&self) -> f64 {
        self.rate_bps as f64 * (1.0 - self.loss)
    }
}
