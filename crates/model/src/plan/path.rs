//! The path for which the planner predicts: one link with a rate, a round-trip time, losses and a
//! queue. The two directions are equal, except for the loss.

use super::{MEASURED_FROM_RTTS, MEASURED_FROM_SECONDS, MEASURED_PACKETS, MEASURED_RTTS, MEASURED_SECONDS};
use crate::codes::PacketLosses;
use crate::domain::{DomainError, at_least, positive, require, share};
use crate::fec::gilbert::Gilbert;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The MTU of the path: bytes of a full packet, headers included. With half the value, headers take
/// twice the share of each packet.
pub const PATH_MTU: f64 = 1500.0;

/// A path, and the number of connections that use it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct NetworkPath {
    /// C: the link's rate, headers included, bit/s.
    #[serde(rename = "rate-bps")]
    pub rate: f64,
    /// The round-trip time of the idle path, s. The time to send a packet at the link's rate is not
    /// included.
    #[serde(rename = "rtt-s")]
    pub rtt: f64,
    /// p: the loss probability in the direction of the data.
    pub loss: f64,
    /// The loss probability in the direction of the acknowledgements.
    pub loss_back: f64,
    /// B: the mean length of a burst of losses, packets. The value 1 means independent losses.
    #[serde(rename = "burst-packets")]
    pub burst: f64,
    /// The size of the queue in front of the link, bytes.
    #[serde(rename = "queue-bytes")]
    pub queue: f64,
    /// The number of TCP connections that use the path at the same time.
    pub flows: u32,
}

impl Default for NetworkPath {
    /// A link of 20 Mbit/s and 100 ms, with 5 % of loss in both directions and a queue of one
    /// bandwidth-delay product.
    fn default() -> NetworkPath {
        NetworkPath { rate: 20e6, rtt: 0.1, loss: 0.05, loss_back: 0.05, burst: 1.0, queue: 250_000.0, flows: 1 }
    }
}

impl NetworkPath {
    /// Checks that the closed forms accept this path.
    ///
    /// # Errors
    /// The first quantity that is outside its domain.
    pub fn check(&self) -> Result<(), DomainError> {
        positive("the rate in bits a second", self.rate)?;
        require(self.rate >= 1e4, "the rate in bits a second", self.rate, "10 kbit/s or more")?;
        require(self.rate <= 1e11, "the rate in bits a second", self.rate, "100 Gbit/s or less")?;
        positive("the round-trip time in seconds", self.rtt)?;
        require((1e-5..=60.0).contains(&self.rtt), "the round-trip time in seconds", self.rtt, "10 us to 60 s")?;
        share("the loss probability", self.loss)?;
        require(self.loss <= 0.9, "the loss probability", self.loss, "90 % or less")?;
        share("the loss probability of the way back", self.loss_back)?;
        require(self.loss_back <= 0.9, "the loss probability of the way back", self.loss_back, "90 % or less")?;
        require(self.burst >= 1.0 && self.burst <= 1e4, "the mean burst length in packets", self.burst, "1 to 10000")?;
        let worst = self.loss.max(self.loss_back);
        require(
            self.burst == 1.0 || worst <= self.burst / (self.burst + 1.0),
            "the mean burst length in packets",
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

    /// C (1-p): the rate of packets that arrive while the link is always busy, bit/s. No scheme has
    /// a higher goodput.
    pub fn capacity(&self) -> f64 {
        self.rate * (1.0 - self.loss)
    }

    /// N: the bandwidth-delay product in full packets.
    pub fn packets(&self) -> f64 {
        self.rate * self.rtt / (8.0 * PATH_MTU)
    }

    /// Q: the size of the queue in full packets.
    pub fn queue_packets(&self) -> f64 {
        self.queue / PATH_MTU
    }

    /// The time to send a full packet at the link's rate, s.
    pub fn packet_time(&self) -> f64 {
        8.0 * PATH_MTU / self.rate
    }

    /// The part of a simulated run in which goodput is measured, in s after the run's start.
    pub(super) fn measured(&self) -> Range<f64> {
        let to = MEASURED_SECONDS
            .max(f64::from(MEASURED_RTTS) * self.rtt)
            .max(f64::from(MEASURED_PACKETS) * self.packet_time());
        MEASURED_FROM_SECONDS.max(MEASURED_FROM_RTTS * self.rtt)..to
    }

    /// The losses in the direction of the data, in the form that the coding models use.
    pub fn losses(&self) -> PacketLosses {
        if self.burst > 1.0 && self.loss > 0.0 {
            PacketLosses::Bursts(Gilbert { loss: self.loss, stay_bad: 1.0 - 1.0 / self.burst })
        } else {
            PacketLosses::Independent(self.loss)
        }
    }
}
