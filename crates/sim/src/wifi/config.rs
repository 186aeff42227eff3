//! The parameters of a shared medium: rates, frame sizes, times, ranges and limits, with two presets.

use super::contention::BackoffRule;
use super::loss::RandomLoss;
use super::pairing::XorConfig;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The parameters of IEEE 802.11's distributed coordination function (DCF) and of the radio.
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
    /// DIFS: the medium must be idle for this time before the back-off counts slots.
    pub difs: Duration,
    /// EIFS: how long a station stays silent after a frame that it could not decode.
    pub eifs: Duration,
    /// Bytes that the MAC adds to an IP packet: MAC header, frame check sequence and, if counted, LLC.
    pub header_bytes: u32,
    /// Size of a MAC ACK.
    pub ack_bytes: u32,
    /// Size of an RTS frame.
    pub rts_bytes: u32,
    /// Size of a CTS frame.
    pub cts_bytes: u32,
    /// The smallest and the largest contention window, slots. A back-off is a uniform number of slots from 0 to one
    /// less than the window.
    pub contention_window: [u32; 2],
    /// How the contention window grows after a failure.
    pub growth: Growth,
    /// Whether a station sends a packet without back-off if the medium has been idle for DIFS.
    pub immediate_access: bool,
    /// A data frame of at least this size, MAC header included, is sent after an RTS and a CTS.
    pub rts_threshold: u32,
    /// A packet is dropped after this many failed transmissions of its RTS, or of its data frame if there is no RTS.
    pub short_retry: u32,
    /// A packet is dropped after this many failed transmissions of its data frame, if each has an RTS.
    pub long_retry: u32,
    /// How stations draw back-offs.
    pub backoff: BackoffRule,
    /// How stations find routes.
    pub routing: Routing,
    /// XOR coding. If None, stations send no XOR frames.
    pub xor: Option<XorConfig>,
    /// Random losses. If None, frames are lost only by collisions.
    pub loss: Option<RandomLoss>,
    /// The largest number of packets in a station's interface queue. The packet that the MAC sends does not count.
    pub queue: usize,
    /// The capture ratio. A frame survives a later frame if its power is at least this many times the power of the
    /// later frame.
    pub capture: f64,
    /// The largest distance at which a frame without interference is decoded.
    pub receive_range: f64,
    /// The largest distance at which a frame is sensed and disturbs other frames.
    pub sense_range: f64,
    /// Height of all antennas above the ground (two-ray ground model).
    pub antenna_height: f64,
    /// Carrier frequency in Hz.
    pub frequency: f64,
    /// A sender that waits for a response allows for this propagation delay in each direction.
    pub propagation_margin: Duration,
    /// The time that a packet takes between the interface queue and the layer above, in each direction.
    pub link_layer_delay: Duration,
}

/// How the contention window grows after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// The window becomes 2 window + 1. From ns-2's first window of 31, the windows are 31, 63, ..., 1023.
    DoubleAndOne,
    /// The window becomes 2 window. From the standard's first window of 32, the windows are 32, 64, ..., 1024. So a
    /// first back-off has 0 to 31 slots, a second one 0 to 63 slots, and so on.
    Double,
}

/// How stations find the next hop of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// Each station knows the shortest paths from the start. The paths never change.
    #[default]
    Static,
    /// AODV (RFC 3561) with ns-2's timers. The link layer detects broken links.
    Aodv,
}

/// Speed of light in m/s. Frames travel at this speed.
pub(super) const LIGHT: f64 = 299_792_458.0;

impl WifiConfig {
    /// The semantics of ns-2.35 with the parameters of paper 002's tables I and II. These are 802.11b at 11 and 2
    /// Mbit/s, no RTS, and a capture ratio of 10.
    ///
    /// - A station always backs off before a first transmission, even on an idle medium.
    /// - A first back-off is uniform on 0 to 30 slots, so its mean is 15 slots.
    /// - The MAC adds 34 bytes. The queue holds 49 packets, because ns-2's limit of 50 leaves one place empty.
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
            loss: None,
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
    /// - A station sends a packet at once, without back-off, if the medium has been idle for DIFS (10.3.4.2).
    /// - A first back-off is uniform on 0 to 31 slots, so its mean is 15.5 slots.
    /// - The MAC adds 36 bytes: 24 of header, 4 of frame check sequence, and 8 of LLC/SNAP.
    /// - Packets pass between the interface queue and the layer above without delay.
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

    /// Airtime of a broadcast frame, for an IP packet of `bytes` bytes.
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

    /// The duration of an exchange of a data frame and its MAC ACK, for an IP packet of `bytes` bytes.
    pub fn exchange(&self, bytes: u32) -> Duration {
        self.data_airtime(bytes) + self.sifs + self.ack_airtime()
    }

    /// How long a station treats the medium as reserved after a frame that it could not decode. After this time the
    /// station waits for DIFS.
    ///
    /// With ns-2's rules, a station waits for EIFS and then for DIFS. With the standard's rules, it waits for EIFS
    /// alone, because EIFS includes a DIFS.
    pub(super) fn shyness(&self) -> Duration {
        if self.immediate_access { self.eifs.saturating_sub(self.difs) } else { self.eifs }
    }

    fn airtime(&self, bytes: u32, rate: u64) -> Duration {
        let (bits, rate) = (8 * u64::from(bytes), rate.max(1));
        // A fast path: a 64-bit product is enough for all frames of less than 2 GB.
        let nanos = bits
            .checked_mul(1_000_000_000)
            .map_or_else(|| (u128::from(bits) * 1_000_000_000 / u128::from(rate)) as u64, |product| product / rate);
        self.preamble + Duration::from_nanos(nanos)
    }
}
