//! The figures: their names, their anchors (the figures that they are compared with), and the
//! ratios to reach.

/// The unit of a figure. The figure is computed from the time per byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpeedUnit {
    /// 10^9 bytes per second.
    GigabytesPerSecond,
    /// 10^9 bits per second.
    GigabitsPerSecond,
    /// Microseconds per packet of 1408 bytes.
    MicrosecondsPerPacket,
}

/// What a figure is compared with.
#[derive(Clone, Copy, Debug)]
pub struct SpeedAnchor {
    /// The key of the anchor.
    pub key: &'static str,
    /// The anchor's speed is divided by this number before the comparison. The number is the number
    /// of multiplications (or XORs, if the anchor is XOR) that the computation needs per byte of a
    /// source symbol.
    pub over: f64,
    /// The ratio to reach; None without a target.
    pub target: Option<f64>,
}

/// A figure.
#[derive(Clone, Copy, Debug)]
pub struct SpeedFigure {
    /// The figure's key in the JSON object.
    pub key: &'static str,
    /// The figure's name for people.
    pub what: &'static str,
    /// The unit of the figure.
    pub unit: SpeedUnit,
    /// The anchor that the figure is compared with; None: the figure is not compared.
    pub anchor: Option<SpeedAnchor>,
}

/// The length of a symbol, in bytes.
pub(super) const LEN: usize = 1408;
/// Source symbols per coding window.
pub(super) const WINDOW: usize = 50;
/// Repairs per window in a systematic code (source symbols sent unchanged, repairs added). This is
/// also the number of losses that the repairs recover.
pub(super) const REPAIRS: usize = 5;
/// Source symbols of a block in the block code, K.
pub(super) const BLOCK_K: usize = 32;
/// All symbols of a block in the block code, N. The decoder is measured when N-K source symbols are lost, which is the
/// worst case.
pub(super) const BLOCK_N: usize = 40;

/// Source symbols per block of the LT code.
pub(super) const LT_BLOCK: usize = 16;
/// XORs per symbol that the LT code's encoder and decoder need for blocks of [`LT_BLOCK`] symbols of
/// which no source symbol arrives (`crates/codes/examples/lt-overhead`).
const LT_XORS: [f64; 2] = [4.3, 5.2];

use SpeedUnit::{GigabitsPerSecond as Gbps, GigabytesPerSecond as Gbs, MicrosecondsPerPacket as Us};

/// All figures. An anchor comes before the figures that are compared with it.
pub const FIGURES: [SpeedFigure; 19] = [
    SpeedFigure { key: "memcpy_1408_gbs", what: "memcpy, 1408 bytes", unit: Gbs, anchor: None },
    SpeedFigure { key: "xor_1408_gbs", what: "XOR into, 1408 bytes", unit: Gbs, anchor: None },
    SpeedFigure { key: "register_limit_gbs", what: "multiplications in registers", unit: Gbs, anchor: None },
    figure("mac_1408_gbs", "multiply-accumulate, 1408 bytes", Gbs, "xor_1408_gbs", 1.0, Some(0.75)),
    figure("mac_fused4_1408_gbs", "fused, 50 to 4", Gbs, "register_limit_gbs", 1.0, None),
    figure("mac_fused8_1408_gbs", "fused, 50 to 8", Gbs, "register_limit_gbs", 1.0, Some(0.80)),
    figure(
        "rlnc_systematic_encode_gbps",
        "systematic encode, 5 for 50",
        Gbps,
        "mac_fused8_1408_gbs",
        REPAIRS as f64,
        Some(0.75),
    ),
    figure("rlnc_recover_gbps", "recover, 5 lost of 50", Gbps, "mac_fused8_1408_gbs", REPAIRS as f64, Some(0.60)),
    figure(
        "rlnc_dense_encode_gbps",
        "dense encode, 50, 8 at a time",
        Gbps,
        "mac_fused8_1408_gbs",
        WINDOW as f64,
        Some(0.80),
    ),
    figure("rlnc_dense_decode_gbps", "dense decode, 50", Gbps, "mac_fused8_1408_gbs", WINDOW as f64, Some(0.60)),
    // No targets: the references for the block code are other crates; see the example `compare` of ripstop-codes.
    figure(
        "mds_32_8_encode_gbps",
        "block code, 8 repairs for 32",
        Gbps,
        "mac_fused8_1408_gbs",
        (BLOCK_N - BLOCK_K) as f64,
        None,
    ),
    figure(
        "mds_32_8_decode_gbps",
        "block code, 8 lost of 32",
        Gbps,
        "mac_fused8_1408_gbs",
        (BLOCK_N - BLOCK_K) as f64,
        None,
    ),
    SpeedFigure { key: "rlnc_decode_us_per_packet", what: "receive and recover, 5 lost of 50", unit: Us, anchor: None },
    figure("lt_encode_k16_gbps", "LT encode, 16, only repairs", Gbps, "xor_1408_gbs", LT_XORS[0], Some(0.40)),
    figure("lt_decode_k16_gbps", "LT decode, 16, only repairs", Gbps, "xor_1408_gbs", LT_XORS[1], Some(0.25)),
    SpeedFigure { key: "aead_seal_1400_gbs", what: "AEAD seal, 1400 bytes", unit: Gbs, anchor: None },
    figure("session_send_gbps", "session send, 1400 bytes, 1 % lost", Gbps, "aead_seal_1400_gbs", 1.0, Some(0.40)),
    figure(
        "session_receive_gbps",
        "session receive, 1400 bytes, 1 % lost",
        Gbps,
        "aead_seal_1400_gbs",
        1.0,
        Some(0.40),
    ),
    // No target for sender and receiver together. The figure shows what one core carries if it does both.
    figure("session_both_gbps", "both on one core", Gbps, "aead_seal_1400_gbs", 1.0, None),
];

const fn figure(
    key: &'static str,
    what: &'static str,
    unit: SpeedUnit,
    anchor: &'static str,
    over: f64,
    target: Option<f64>,
) -> SpeedFigure {
    SpeedFigure { key, what, unit, anchor: Some(SpeedAnchor { key: anchor, over, target }) }
}

/// The keys of the figures `wanted`, of their anchors, and of the anchors of these anchors.
pub fn with_anchors(wanted: impl Fn(&str) -> bool) -> Vec<&'static str> {
    let anchors: Vec<&str> = FIGURES.iter().filter(|f| wanted(f.key)).filter_map(|f| Some(f.anchor?.key)).collect();
    let needed = |key: &str| wanted(key) || anchors.contains(&key) || anchors.iter().any(|a| is_anchor_of(key, a));
    FIGURES.iter().map(|figure| figure.key).filter(|key| needed(key)).collect()
}

/// Whether `key` is the anchor of `of`.
fn is_anchor_of(key: &str, of: &str) -> bool {
    FIGURES.iter().any(|figure| figure.key == of && figure.anchor.is_some_and(|anchor| anchor.key == key))
}

impl SpeedUnit {
    /// The figure when a byte takes `seconds`.
    pub fn of(self, seconds: f64) -> f64 {
        match self {
            SpeedUnit::GigabytesPerSecond => 1e-9 / seconds,
            SpeedUnit::GigabitsPerSecond => 8e-9 / seconds,
            SpeedUnit::MicrosecondsPerPacket => 1e6 * seconds * LEN as f64,
        }
    }

    /// The name of the unit.
    pub fn name(self) -> &'static str {
        match self {
            SpeedUnit::GigabytesPerSecond => "GB/s",
            SpeedUnit::GigabitsPerSecond => "Gbit/s",
            SpeedUnit::MicrosecondsPerPacket => "us/packet",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_figures_that_come_first() {
        for (at, figure) in FIGURES.iter().enumerate() {
            if let Some(anchor) = figure.anchor {
                assert!(FIGURES[..at].iter().any(|f| f.key == anchor.key), "{}", figure.key);
            }
        }
        assert_eq!(with_anchors(|_| true).len(), FIGURES.len());
        assert_eq!(with_anchors(|key| key == "mac_1408_gbs"), ["xor_1408_gbs", "mac_1408_gbs"]);
        assert_eq!(
            with_anchors(|key| key == "rlnc_recover_gbps"),
            ["register_limit_gbs", "mac_fused8_1408_gbs", "rlnc_recover_gbps"],
            "the anchor's own ratio is given too, so its anchor is needed"
        );
    }

    #[test]
    fn units_follow_from_the_time_of_a_byte() {
        assert_eq!(SpeedUnit::GigabytesPerSecond.of(1e-9), 1.0);
        assert_eq!(SpeedUnit::GigabitsPerSecond.of(1e-9), 8.0);
        assert!((SpeedUnit::MicrosecondsPerPacket.of(1e-9) - 1.408).abs() < 1e-12);
    }
}
