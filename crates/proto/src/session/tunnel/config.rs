//! What a tunnel is told.

use crate::control::rate::Mode;
use crate::control::redundancy::Redundancy;
use crate::wire::{IPV4_UDP_LEN, MTU_OVERHEAD};
use ripstop_base::Rate;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How the rate is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RateMode {
    /// By the erasure-aware controller.
    Adaptive(Mode),
    /// By the user: pace at this rate.
    Fixed(Rate),
}

impl FromStr for RateMode {
    type Err = String;

    fn from_str(text: &str) -> Result<RateMode, String> {
        match text {
            "fair" => Ok(RateMode::Adaptive(Mode::Fair)),
            "scavenge" => Ok(RateMode::Adaptive(Mode::Scavenge)),
            other => match Rate::from_str(other) {
                Ok(rate) if rate.bps() >= 8_000 => Ok(RateMode::Fixed(rate)),
                _ => Err(format!(
                    "`{other}` is not a rate; write \"fair\", \"scavenge\", or a rate of at least 8kbit/s such as \"20Mbit/s\""
                )),
            },
        }
    }
}

impl fmt::Display for RateMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateMode::Adaptive(Mode::Fair) => f.write_str("fair"),
            RateMode::Adaptive(Mode::Scavenge) => f.write_str("scavenge"),
            RateMode::Fixed(rate) => rate.fmt(f),
        }
    }
}

/// The settings of a tunnel. Each end has its own; only the sizes must fit each other.
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// The largest datagram that the path carries, IP header included, bytes.
    pub path_mtu: u32,
    /// IP and UDP header of a datagram, bytes: 28 over IPv4, 48 over IPv6.
    pub header: u32,
    /// How the rate is found.
    pub rate: RateMode,
    /// What is sent ahead of losses.
    pub redundancy: Redundancy,
    /// Most proactive repair bytes per source byte for bulk flows.
    pub max_overhead_bulk: f64,
    /// Most proactive repair bytes per source byte for interactive flows.
    pub max_overhead_interactive: f64,
    /// How long a packet may be waited for, by the sender before it gives a symbol up and by the
    /// receiver before a flow goes on without it. None: the longest of 1 s, 8 round trips, and what 100
    /// full packets take at the path's rate (up to 10 s): on a slow path repairs queue for long.
    pub deadline: Option<Duration>,
    /// The round-trip time by the handshake.
    pub initial_rtt: Duration,
    /// Whether datagrams leave as ECN-capable, ECT(0) (RFC 3168). Off by default: the rate controller's answer to a mark is too
    /// weak to promise that there is one.
    pub ecn: bool,
    /// Most bytes waiting on the way in, all flows together.
    pub queue_bytes: usize,
    /// Most source symbols outstanding; bounds the memory of both ends.
    pub window_symbols: u32,
    /// Most bytes for what the repairs that wait are combinations of ([`Limits::matrix`](ripstop_codes::window::Limits)):
    /// the square of how many wait for one another. Their payloads come on top, as many as symbols are outstanding.
    pub matrix_bytes: usize,
}

impl Default for TunnelConfig {
    fn default() -> TunnelConfig {
        TunnelConfig {
            path_mtu: 1500,
            header: 28,
            rate: RateMode::Adaptive(Mode::Fair),
            redundancy: Redundancy::Adaptive,
            max_overhead_bulk: 1.0,
            max_overhead_interactive: 3.0,
            deadline: None,
            initial_rtt: Duration::from_millis(100),
            ecn: false,
            queue_bytes: 16_000_000,
            window_symbols: 1 << 16,
            matrix_bytes: 128_000_000,
        }
    }
}

impl TunnelConfig {
    /// The largest inner packet, bytes: the path's MTU less 64 over IPv4, less 84 over IPv6.
    pub fn inner_mtu(&self) -> u32 {
        self.path_mtu.saturating_sub(self.header + (MTU_OVERHEAD - IPV4_UDP_LEN) as u32)
    }

    /// How long to wait for a symbol when the round-trip time is `srtt` and the path carries `rate`
    /// byte/s.
    pub fn deadline(&self, srtt: Duration, rate: f64) -> Duration {
        self.deadline.unwrap_or_else(|| {
            let slow = Duration::from_secs_f64((100.0 * f64::from(self.path_mtu) / rate.max(1.0)).min(10.0));
            (8 * srtt).max(slow).max(Duration::from_secs(1))
        })
    }
}
