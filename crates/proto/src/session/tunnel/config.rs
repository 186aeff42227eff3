//! The settings of a tunnel: sizes, limits, rate mode and redundancy.

use crate::coding::{Code, CodingConfig};
use crate::control::rate::{Mode, RateMode, Tuning};
use crate::control::redundancy::Redundancy;
use crate::packets::ClassHints;
use crate::path::PathConfig;
use crate::wire::{IPV4_UDP_LEN, MTU_OVERHEAD};
use std::time::Duration;

/// The settings of one end of a tunnel.
///
/// The settings of the two ends need not agree. In the handshake, each end tells the other end the
/// length of its largest inner packet.
#[derive(Clone, Debug)]
pub struct TunnelConfig {
    /// Length of the largest datagram that the path carries, bytes. The IP header is included.
    pub path_mtu: u32,
    /// Length of the IP and UDP headers of a datagram, bytes: 28 over IPv4, 48 over IPv6.
    pub header: u32,
    /// How the sending rate is chosen.
    pub rate: RateMode,
    /// The constants of the adaptive rate controller.
    pub tuning: Tuning,
    /// The code that protects the packets that this end sends. The ends may have different codes.
    pub code: Code,
    /// How many proactive repairs are sent. A proactive repair is sent before a loss is reported.
    pub redundancy: Redundancy,
    /// The rules that give packets a hint of their class, from their DSCP and ports.
    pub classes: ClassHints,
    /// Limit on proactive repair bytes per source byte for bulk flows.
    pub max_overhead_bulk: f64,
    /// Limit on proactive repair bytes per source byte for interactive flows.
    pub max_overhead_interactive: f64,
    /// How long the ends wait for a missing packet. After the deadline the sender gives up the
    /// packet's symbol. The receiver waits for 1.25 times the deadline that its peer announces.
    /// Then the receiver lets the packet's flow go on without the packet. An announced deadline of
    /// more than 60 s counts as 60 s.
    ///
    /// `None` chooses the longest of four times:
    /// - 1 s;
    /// - 8 round trips;
    /// - the time that the path needs for 100 full packets, at most 10 s. It matters on slow paths,
    ///   where repairs wait long in queues;
    /// - twice the time that the sender needs at its present pace for one repair of each lost packet,
    ///   at most 10 s. It matters after the rate has fallen far at once.
    ///
    /// With a block code, the sender keeps a symbol for the longest of the first and third time and 2 round trips.
    ///
    /// As long as the round-trip time is unknown, the deadline is at least 4 s. When this maximum falls later, the
    /// deadline follows by a quarter of a second for each second.
    pub deadline: Option<Duration>,
    /// The round-trip time that the handshake measured. `None`: it is unknown, because handshake messages were lost. The
    /// session then assumes 100 ms.
    pub initial_rtt: Option<Duration>,
    /// Whether datagrams are sent as ECN-capable, ECT(0) (RFC 3168).
    ///
    /// With a fixed rate, datagrams are never ECN-capable, because a fixed rate does not slow down.
    ///
    /// On by default: a mark is the only clear sign of congestion behind an AQM, and loses no packet.
    /// Turn ECN off only on a path that drops ECN-capable datagrams.
    pub ecn: bool,
    /// Limit on the bytes in the ingress queue, all flows together.
    pub queue_bytes: usize,
    /// Limit on the number of outstanding source symbols. The first outstanding symbol is the
    /// oldest symbol that is not given up and not known to be decoded. The last one is the newest
    /// symbol sent. This limit bounds the memory of both ends.
    pub window_symbols: u32,
    /// Limit on the memory for the coefficients of the repairs that the decoder holds, bytes
    /// ([`Limits::matrix`](ripstop_codes::window::Limits)).
    ///
    /// This memory grows with the square of the number of repairs that depend on each other. The
    /// payloads of these repairs take further memory. The decoder holds at most one repair for each
    /// outstanding symbol.
    pub matrix_bytes: usize,
}

impl Default for TunnelConfig {
    fn default() -> TunnelConfig {
        TunnelConfig {
            path_mtu: 1500,
            header: 28,
            rate: RateMode::Adaptive(Mode::Fair),
            tuning: Tuning::default(),
            code: Code::Window,
            redundancy: Redundancy::Adaptive,
            classes: ClassHints::default(),
            max_overhead_bulk: 1.0,
            max_overhead_interactive: 3.0,
            deadline: None,
            initial_rtt: None,
            ecn: true,
            queue_bytes: 16_000_000,
            window_symbols: 1 << 16,
            matrix_bytes: 128_000_000,
        }
    }
}

/// The round-trip time that a session assumes before anything is known about its path.
///
/// Typical of paths between continents. With half the value, a long path is probed before its first report can come. With
/// double the value, losses of the first packets on short paths are noticed later.
const ASSUMED_RTT: Duration = Duration::from_millis(100);
/// The deadline is at least this number of times the time for one repair of each lost packet.
///
/// Some repairs are lost, and new packets and their repairs share the pace. With half the value, a
/// scavenger that gives way after the rate fell gives up packets that its repairs would still bring.
/// With double the value, a flow waits up to twice as long for a packet that never comes.
const REPAIRS_TAKE: f64 = 2.0;
/// With a block code, the sender keeps a symbol for this number of round trips.
///
/// The first round trip brings the report, and the second one allows for a queue that grows. With half the value, a sender
/// on a path with jitter gives up symbols that have arrived. With double the value, lost symbols fill the window for longer.
const BLOCK_ROUNDS: u32 = 2;

impl TunnelConfig {
    /// Length of the largest inner packet, bytes: the path's MTU minus 64 over IPv4, minus 84 over
    /// IPv6.
    pub fn inner_mtu(&self) -> u32 {
        self.path_mtu.saturating_sub(self.header + (MTU_OVERHEAD - IPV4_UDP_LEN) as u32)
    }

    /// The settings of the path.
    pub(super) fn path(&self) -> PathConfig {
        PathConfig {
            mtu: self.path_mtu,
            header: self.header,
            rate: self.rate,
            tuning: self.tuning,
            ecn: self.ecn,
            first_rtt: self.first_rtt(),
        }
    }

    /// The settings of the coder.
    pub(super) fn coding(&self) -> CodingConfig {
        CodingConfig {
            code: self.code,
            redundancy: self.redundancy,
            max_overhead_bulk: self.max_overhead_bulk,
            max_overhead_interactive: self.max_overhead_interactive,
            path_mtu: self.path_mtu,
            window_symbols: self.window_symbols,
            matrix_bytes: self.matrix_bytes,
        }
    }

    /// The first round-trip time: measured by the handshake, or assumed.
    fn first_rtt(&self) -> Duration {
        self.initial_rtt.unwrap_or(ASSUMED_RTT)
    }

    /// How long to wait for a symbol on a path with the configured MTU. See [`TunnelConfig::deadline_at`].
    pub fn deadline(&self, srtt: Duration, rate: f64, repairs: f64) -> Duration {
        self.deadline_at(self.path_mtu, srtt, rate, repairs)
    }

    /// How long to wait for a symbol when the path's MTU is `mtu`, the smoothed round-trip time is `srtt`, the path
    /// carries `rate` byte/s, and repairs of the lost packets take `repairs` s at the present pace.
    /// See the field `deadline`.
    pub fn deadline_at(&self, mtu: u32, srtt: Duration, rate: f64, repairs: f64) -> Duration {
        self.deadline.unwrap_or_else(|| longest_of(mtu, 8 * srtt, rate, repairs))
    }

    /// How long the sender keeps a symbol. A block code repeats nothing, so the symbols of a block are of no use when the
    /// reports on the block have come.
    pub(super) fn kept(&self, mtu: u32, srtt: Duration, rate: f64, repairs: f64) -> Duration {
        match (self.deadline, self.code) {
            (None, Code::Block(_)) => longest_of(mtu, BLOCK_ROUNDS * srtt, rate, 0.0),
            _ => self.deadline_at(mtu, srtt, rate, repairs),
        }
    }
}

/// The longest of `rounds`, the time of 100 full packets, the time that repairs take, and 1 s.
fn longest_of(mtu: u32, rounds: Duration, rate: f64, repairs: f64) -> Duration {
    let slow = 100.0 * f64::from(mtu) / rate.max(1.0);
    let slow = Duration::from_secs_f64(slow.max(REPAIRS_TAKE * repairs).min(10.0));
    rounds.max(slow).max(Duration::from_secs(1))
}
