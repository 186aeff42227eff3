//! The settings of ideal access.

use crate::wifi::WifiConfig;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How links get the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdealAccess {
    /// Each link attempts after an exponential back-off. The back-off runs only while no link in conflict with the link
    /// is active (Boorstyn et al.; paper 002, section III-B).
    Csma,
    /// Time is divided into slots. In each slot, the links that have waited longest are active (paper 002, section
    /// III-A).
    Scheduled,
}

/// The distribution of packet times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PacketTimes {
    /// Every exchange takes its mean time.
    #[default]
    Constant,
    /// The time of each exchange is drawn from an exponential distribution.
    Exponential,
}

/// The settings of a medium with ideal access.
#[derive(Clone, Debug, PartialEq)]
pub struct IdealConfig {
    /// This configuration gives frame times, the range in which neighbours decode each other, and the length of queues.
    /// Ideal access does not use the rules of the DCF.
    pub wifi: WifiConfig,
    /// How links get the medium.
    pub access: IdealAccess,
    /// k, the interference range in hops: a transmitter up to k hops away disturbs a receiver. With k = 0, a station
    /// could send to two neighbours at once. So 0 counts as 1.
    pub interference: u32,
    /// The distribution of packet times.
    pub packet_times: PacketTimes,
    /// The mean time of an exchange. If None, the mean time is the time of a data frame, SIFS and a MAC ACK for the
    /// packet's size ([`WifiConfig::exchange`]).
    pub packet_time: Option<Duration>,
    /// The mean back-off of a link, 1/beta in paper 002.
    pub mean_backoff: Duration,
    /// Links with settings of their own.
    pub links: Vec<IdealLinkConfig>,
}

/// The settings of one link. A field that is None takes its value from [`IdealConfig`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdealLinkConfig {
    /// The station that sends.
    pub from: u32,
    /// The neighbour that receives.
    pub to: u32,
    /// The mean back-off, 1/beta_i.
    pub mean_backoff: Option<Duration>,
    /// The mean time of an exchange, 1/mu_i.
    pub packet_time: Option<Duration>,
    /// Whether the link always has a packet. Packets of flows go first. Packets without a destination fill the rest of
    /// the time.
    pub saturated: bool,
}

impl IdealConfig {
    /// The mean back-off of paper 002: DIFS + CW_min/2 = 50 us + 15.5 slots of 20 us.
    ///
    /// The mean back-off limits how often a link attempts. Half the value raises the bound of table III for ten nodes
    /// from 1523 to 1624 kbit/s (`ripstop model string --attempt-cap 8.23`). Double the value lowers the bound to 1393
    /// kbit/s (`--attempt-cap 2.06`).
    pub const PAPER_BACKOFF: Duration = Duration::from_micros(360);

    /// The size of packets without a destination: 1500 bytes with the IP header. A full TCP packet of paper 002 has
    /// this size.
    pub(super) const FILLER_BYTES: u32 = 1500;

    /// Ideal access with the paper's k = 2 and mean back-off, constant packet times, and the frame times of `wifi`.
    pub fn new(access: IdealAccess, wifi: WifiConfig) -> IdealConfig {
        IdealConfig {
            wifi,
            access,
            interference: 2,
            packet_times: PacketTimes::Constant,
            packet_time: None,
            mean_backoff: IdealConfig::PAPER_BACKOFF,
            links: Vec::new(),
        }
    }

    /// The settings of the link from station `from` to station `to`.
    pub(super) fn link(&self, from: u32, to: u32) -> IdealLinkConfig {
        let own = self.links.iter().find(|link| (link.from, link.to) == (from, to));
        let usual = IdealLinkConfig { from, to, ..IdealLinkConfig::default() };
        let own = own.copied().unwrap_or(usual);
        IdealLinkConfig {
            mean_backoff: own.mean_backoff.or(Some(self.mean_backoff)),
            packet_time: own.packet_time.or(self.packet_time),
            ..own
        }
    }
}
