//! The link that is planned.

use super::{MEASURED_FROM_RTTS, MEASURED_FROM_SECONDS, MEASURED_PACKETS, MEASURED_RTTS, MEASURED_SECONDS};
use crate::codes::PacketLosses;
use crate::domain::{DomainError, at_least, positive, require, share};
use crate::fec::gilbert::Gilbert;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes of a full packet on the path.
pub const PATH_MTU: f64 = 1500.0;

/// A link and what is to run over it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkPath {
    /// C: what the link carries, headers included, bit/s.
    #[serde(rename = "rate-bps")]
    pub rate: f64,
    /// Round-trip time of the idle link without serialisation, s.
    #[serde(rename = "rtt-s")]
    pub rtt: f64,
    /// p: the share of packets lost in the direction of the data.
    pub loss: f64,
    /// The share of packets lost on the way back.
    pub loss_back: f64,
    /// The mean length of a run of losses, packets; 1: independent losses.
    #[serde(rename = "burst-packets")]
    pub burst: f64,
    /// What may wait for the link, bytes.
    #[serde(rename = "queue-bytes")]
    pub queue: f64,
    /// Connections at the same time.
    pub flows: u32,
}

impl Default for NetworkPath {
    /// The link of the comparisons: 20 Mbit/s, 100 ms, 5 % both ways, a queue of one bandwidth-delay product.
    fn default() -> NetworkPath {
        NetworkPath {
            rate: 20e6,
            rtt: 0.1,
            loss: 0.05,
            loss_back: 0.05,
            burst: 1.0,
            queue: 250_000.0,
            flows: 1,
        }
    }
}

impl NetworkPath {
    /// Fails on a link there is no plan for.
    ///
    /// # Errors
    /// The quantity outside its domain.
    pub fn check(&self) -> Result<(), DomainError> {
        positive("the rate in bits a second", self.rate)?;
        require(self.rate >= 1e4, "the rate in bits a second", self.rate, "10 kbit/s or more")?;
        require(self.rate <= 1e11, "the rate in bits a second", self.rate, "100 Gbit/s or less")?;
        positive("the round-trip time in seconds", self.rtt)?;
        require(
            (1e-5..=60.0).contains(&self.rtt),
            "the round-trip time in seconds",
            self.rtt,
            "10 us to 60 s",
        )?;
        share("the loss probability", self.loss)?;
        require(self.loss <= 0.9, "the loss probability", self.loss, "90 % or less")?;
        share("the loss probability of the way back", self.loss_back)?;
        require(
            self.loss_back <= 0.9,
            "the loss probability of the way back",
            self.loss_back,
            "90 % or less",
        )?;
        require(
            self.burst >= 1.0 && self.burst <= 1e4,
            "the mean run of losses in packets",
            self.burst,
            "1 to 10000",
        )?;
        let worst = self.loss.max(self.loss_back);
        require(
            self.burst == 1.0 || worst <= self.burst / (self.burst + 1.0),
            "the mean run of losses in packets",
            self.burst,
            "long enough for the loss: p/(1-p) or more",
        )?;
        require(
            self.queue >= PATH_MTU && self.queue.is_finite(),
            "the queue in bytes",
            self.queue,
            "a packet (1500) or more",
        )?;
        at_least("the number of connections", self.flows, 1, "1 or more")
    }

    /// C (1-p): what arrives of a link that is kept busy, bit/s. No scheme gets more.
    pub fn capacity(&self) -> f64 {
        self.rate * (1.0 - self.loss)
    }

    /// The bandwidth-delay product, in full packets.
    pub fn packets(&self) -> f64 {
        self.rate * self.rtt / (8.0 * PATH_MTU)
    }

    /// What the queue holds, in full packets.
    pub fn queue_packets(&self) -> f64 {
        self.queue / PATH_MTU
    }

    /// The time that the link takes for a full packet, s.
    pub fn packet_time(&self) -> f64 {
        8.0 * PATH_MTU / self.rate
    }

    /// From when to when in a run shares are measured, s.
    pub(super) fn measured(&self) -> Range<f64> {
        let to = MEASURED_SECONDS
            .max(f64::from(MEASURED_RTTS) * self.rtt)
            .max(f64::from(MEASURED_PACKETS) * self.packet_time());
        MEASURED_FROM_SECONDS.max(MEASURED_FROM_RTTS * self.rtt)..to
    }

    /// How packets are lost on the way of the data.
    pub fn losses(&self) -> PacketLosses {
        if self.burst > 1.0 && self.loss > 0.0 {
            PacketLosses::Bursts(Gilbert { loss: self.loss, stay_bad: 1.0 - 1.0 / self.burst })
        } else {
            PacketLosses::Independent(self.loss)
        }
    }
}
