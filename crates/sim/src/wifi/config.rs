//! The parameters of a shared medium: rates, frame sizes, times, ranges and limits, with two presets.

use super::contention::BackoffRule;
use super::pairing::XorConfig;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The parameters of IEEE 802.11's distributed coordination function (DCF) and of its radio.
///
/// The presets are [`WifiConfig::ns2`] and [`WifiConfig::standard`]. Sizes are in bytes, rates in bit/s, distances in
/// metres.
#[derive(Clone, Debug, PartialEq)]
pub struct WifiConfig {
    /// Rate of data frames.
    pub data_rate: u64,
    /// Rate of MAC ACKs, RTS, CTS and broadcast frames.
    pub basic_rate: u64,
    /// Duration of the preamble and the PLCP header before each frame: 192 us for 802.11b's long preamble.
    pub preamble: Duration,
    /// SIFS, the time between a frame and its response.
    pub sifs: Duration,
    /// Slot time of the back-off.
    pub slot: Duration,
    /// DIFS, the idle time before the back-off counts.
    pub difs: Duration,
    /// EIFS, the idle time in place of DIFS after a frame that was not decoded.
    pub eifs: Duration,
    /// Bytes that the MAC adds to an IP packet: MAC header, frame check sequence and, if counted, LLC.
    pub header_bytes: u32,
    /// Size of a MAC ACK.
    pub ack_bytes: u32,
    /// Size of an RTS frame.
    pub rts_bytes: u32,
    /// Size of a CTS frame.
    pub cts_bytes: u32,
    /// Smallest and largest contention window. A back-off is uniform on 0..window slots.
    pub contention_window: [u32; 2],
    /// What the window becomes after a failure.
    pub growth: Growth,
    /// Whether a packet that meets a medium that was idle for DIFS is sent without back-off.
    pub immediate_access: bool,
    /// Frames of at least this size, MAC header included, are announced by RTS and CTS.
    pub rts_threshold: u32,
    /// The number of transmissions after which a frame without RTS, or an RTS, is dropped.
    pub short_retry: u32,
    /// The number of transmissions after which a frame with RTS is dropped.
    pub long_retry: u32,
    /// How stations draw back-offs.
    pub backoff: BackoffRule,
    /// How stations find routes.
    pub routing: Routing,
    /// XOR coding; none without it.
    pub xor: Option<XorConfig>,
    /// The most packets that wait in a station's interface queue, behind the packet that the MAC sends.
    pub queue: usize,
    /// How many times stronger a frame must be than a later frame to survive it.
    pub capture: f64,
    /// Up to this distance a frame without interference is decoded.
    pub receive_range: f64,
    /// Up to this distance a frame is sensed and disturbs other frames.
    pub sense_range: f64,
    /// Height of all antennas above the ground (two-ray ground model).
    pub antenna_height: f64,
    /// Carrier frequency in Hz.
    pub frequency: f64,
    /// The propagation delay in each direction that a sender allows for when it waits for a response.
    pub propagation_margin: Duration,
    /// Time that a packet takes between the interface queue and the layer above, in each direction.
    pub link_layer_delay: Duration,
}

/// How the contention window grows after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// window := 2 window + 1. With ns-2's first window of 31 this gives 31, 63, ..., 1023.
    DoubleAndOne,
    /// window := 2 window. With the standard's 32 this gives 32, 64, ..., 1024: back-offs from 0 to 31, to 63, ...
    Double,
}

/// How stations find the next hop of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// Each station knows the shortest ways from the start on, and never changes them.
    #[default]
    Static,
    /// AODV (RFC 3561) with ns-2's timers. The link layer detects broken links.
    Aodv,
}

/// Speed of light in m/s. Frames travel at this speed.
pub(super) const LIGHT: f64 = 299_792_458.0;

impl WifiConfig {
    /// The semantics of ns-2.35 with paper 002's tables I and II: 802.11b, 11 and 2 Mbit/s, no RTS, capture 10.
    ///
    /// - A station always backs off before a first transmission, also on an idle medium.
    /// - A back-off is uniform on 0..31 slots at first, so its mean is 15 slots.
    /// - The MAC adds 34 bytes. The queue holds 49 packets, since ns-2's limit of 50 leaves one place empty.
    pub fn ns2() -> WifiConfig {
        WifiConfig {
            data_rate: 11_000_000,
            basic_rate: 2_000_000,
            preamble: Duration::from_micros(192),
            sifs: Duration::from_micros(10),
            slot: Duration::from_micros(20),
            difs: Duration::from_micros(50),
            eifs: Duration::from_micros(364),
            header_bytes: 34,
            ack_bytes: 14,
            rts_bytes: 20,
            cts_bytes: 14,
            contention_window: [31, 1023],
            growth: Growth::DoubleAndOne,
            immediate_access: false,
            rts_threshold: u32::MAX,
            short_retry: 7,
            long_retry: 4,
            backoff: BackoffRule::Standard,
            routing: Routing::Static,
            xor: None,
            queue: 49,
            capture: 10.0,
            receive_range: 250.0,
            sense_range: 550.0,
            antenna_height: 1.5,
            frequency: 914e6,
            propagation_margin: Duration::from_micros(2),
            link_layer_delay: Duration::from_micros(25),
        }
    }

    /// IEEE 802.11-2016 for DSSS (clauses 10.3 and 15), with the radio of [`WifiConfig::ns2`].
    ///
    /// - A packet that meets a medium which was idle for DIFS is sent at once, without back-off (10.3.4.2).
    /// - A back-off is uniform on 0..=31 slots at first, so its mean is 15.5 slots.
    /// - The MAC adds 36 bytes: a header of 24, the frame check sequence of 4, and LLC/SNAP of 8.
    /// - The layer above takes no time.
    pub fn standard() -> WifiConfig {
        WifiConfig {
            header_bytes: 36,
            contention_window: [32, 1024],
            growth: Growth::Double,
            immediate_access: true,
            queue: 50,
            link_layer_delay: Duration::ZERO,
            ..WifiConfig::ns2()
        }
    }

    /// Airtime of a data frame to one station, for an IP packet of `bytes` bytes.
    pub fn data_airtime(&self, bytes: u32) -> Duration {
        self.airtime(bytes.saturating_add(self.header_bytes), self.data_rate)
    }

    /// Airtime of a frame to all stations, for an IP packet of `bytes` bytes.
    pub fn broadcast_airtime(&self, bytes: u32) -> Duration {
        self.airtime(bytes.saturating_add(self.header_bytes), self.basic_rate)
    }

    /// Airtime of a control frame of `bytes` bytes, such as a MAC ACK.
    pub fn control_airtime(&self, bytes: u32) -> Duration {
        self.airtime(bytes, self.basic_rate)
    }

    /// Airtime of a MAC ACK.
    pub fn ack_airtime(&self) -> Duration {
        self.control_airtime(self.ack_bytes)
    }

    /// The duration of an exchange of data and MAC ACK, for an IP packet of `bytes` bytes.
    pub fn exchange(&self, bytes: u32) -> Duration {
        self.data_airtime(bytes) + self.sifs + self.ack_airtime()
    }

    /// How long a station treats the medium as reserved after a frame that it could not decode. DIFS follows.
    ///
    /// ns-2 waits EIFS and then DIFS. The standard waits EIFS alone, which includes a DIFS.
    pub(super) fn shyness(&self) -> Duration {
        if self.immediate_access { self.eifs.saturating_sub(self.difs) } else { self.eifs }
    }

    fn airtime(&self, bytes: u32, rate: u64) -> Duration {
        let (bits, rate) = (8 * u64::from(bytes), rate.max(1));
        // A fast path: a product of 64 bits is enough for all frames of less than 2 GB.
        let nanos = bits
            .checked_mul(1_000_000_000)
            .map_or_else(|| (u128::from(bits) * 1_000_000_000 / u128::from(rate)) as u64, |product| product / rate);
        self.preamble + Duration::from_nanos(nanos)
    }
}
