//! Weights of causes, as fitted to 200 links of seed 1, those of plain TCP to 1000. Written by `make plan-report`; do not edit.

use super::scheme::Scheme;
use super::wear::{Causes, Term};

/// The seed of those links.
pub const SEED: u64 = 1;

/// The terms of a scheme.
pub fn terms(scheme: Scheme) -> &'static [Term] {
    match scheme {
        Scheme::Reno => RENO,
        Scheme::Cubic => CUBIC,
        Scheme::Bbr => BBR,
        Scheme::TunnelCubic => TUNNEL_CUBIC,
        Scheme::TunnelBbr => TUNNEL_BBR,
        Scheme::TcpNc(_) => &[],
    }
}

const RENO: &[Term] = &[
    Term { weight: 0.24968, powers: Causes { loss: 0.5, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 4.50144, powers: Causes { loss: 2.0, burst: 1.0, size: 1.0, ..Causes::NONE } },
    Term { weight: 165.46366, powers: Causes { loss: 2.0, burst: 1.0, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.78260, powers: Causes { shallow: 2.0, ..Causes::NONE } },
    Term { weight: 0.69565, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.42830, powers: Causes { shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 33.72310, powers: Causes { loss: 2.0, burst: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 30.51957, powers: Causes { loss: 2.0, burst: 1.0, few: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 1.00328, powers: Causes { halt: 1.0, ..Causes::NONE } },
    Term { weight: 4.30116, powers: Causes { loss: 1.0, stuck: 1.0, ..Causes::NONE } },
    Term { weight: 8.22199, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

const CUBIC: &[Term] = &[
    Term { weight: 221.77935, powers: Causes { loss: 2.0, burst: 0.5, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.86268, powers: Causes { loss: 2.0, burst: 0.5, few: 0.5, early: 1.0, ..Causes::NONE } },
    Term { weight: 1.92553, powers: Causes { loss: 2.0, burst: 0.5, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 6.98419, powers: Causes { loss: 2.0, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 4.98534, powers: Causes { loss: 2.0, burst: 1.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.78682, powers: Causes { loss: 0.5, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 0.35668, powers: Causes { loss: 0.5, shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.67938, powers: Causes { shallow: 2.0, ..Causes::NONE } },
    Term { weight: 0.54562, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.30765, powers: Causes { shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 2.78726, powers: Causes { loss: 1.0, burst: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 8.11329, powers: Causes { loss: 2.0, burst: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 1.05300, powers: Causes { halt: 1.0, ..Causes::NONE } },
    Term { weight: 1.10709, powers: Causes { loss: 1.0, stuck: 1.0, ..Causes::NONE } },
    Term { weight: 7.84394, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

const BBR: &[Term] = &[
    Term { weight: 0.38883, powers: Causes { loss: 1.0, burst: 1.0, few: 2.0, ..Causes::NONE } },
    Term { weight: 1.54121, powers: Causes { loss: 1.0, burst: 1.5, few: 2.0, ..Causes::NONE } },
    Term { weight: 0.27251, powers: Causes { loss: 1.0, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 1.27053, powers: Causes { loss: 2.0, size: 4.0, ..Causes::NONE } },
    Term { weight: 2.65695, powers: Causes { loss: 2.0, few: 1.0, ..Causes::NONE } },
    Term { weight: 2.85472, powers: Causes { loss: 2.0, few: 2.0, ..Causes::NONE } },
    Term { weight: 125.77261, powers: Causes { loss: 2.0, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 12.12654, powers: Causes { loss: 2.0, burst: 0.5, size: 4.0, ..Causes::NONE } },
    Term { weight: 104.79671, powers: Causes { loss: 2.0, burst: 0.5, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 4.99186, powers: Causes { loss: 2.0, burst: 0.5, size: 2.0, far: 1.0, ..Causes::NONE } },
    Term { weight: 4.97097, powers: Causes { loss: 2.0, gulp: 0.5, ..Causes::NONE } },
    Term { weight: 0.21245, powers: Causes { loss: 2.0, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 0.36524, powers: Causes { loss: 1.0, short: 1.0, ..Causes::NONE } },
    Term { weight: 1.03326, powers: Causes { loss: 1.0, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.00057, powers: Causes { few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.02845, powers: Causes { far: 1.0, ..Causes::NONE } },
    Term { weight: 0.01680, powers: Causes { shallow: 0.5, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.03670, powers: Causes { shallow: 0.5, short: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.06986, powers: Causes { size: 2.0, short: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00169, powers: Causes { size: 2.0, short: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 8.91675, powers: Causes { loss: 1.0, burst: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 0.03020, powers: Causes { loss: 2.0, burst: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 96.41977, powers: Causes { loss: 2.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 0.57475, powers: Causes { halt: 1.0, ..Causes::NONE } },
    Term { weight: 3.13344, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

const TUNNEL_CUBIC: &[Term] = &[
    Term { weight: 0.05685, powers: Causes { loss: 0.5, few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.35593, powers: Causes { loss: 0.5, burst: 0.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.17713, powers: Causes { loss: 0.5, burst: 0.5, few: 2.0, ..Causes::NONE } },
    Term { weight: 0.07120, powers: Causes { loss: 0.5, burst: 0.5, few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.26822, powers: Causes { loss: 0.5, burst: 1.0, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.13519, powers: Causes { loss: 0.5, burst: 1.0, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.99252, powers: Causes { loss: 0.5, burst: 1.5, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.17876, powers: Causes { loss: 2.0, burst: 1.5, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.31211, powers: Causes { loss: 2.0, burst: 2.0, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.15614, powers: Causes { loss: 2.0, burst: 2.0, few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.32853, powers: Causes { loss: 1.0, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.02671, powers: Causes { few: 2.0, ..Causes::NONE } },
    Term { weight: 1.65276, powers: Causes { size: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00021, powers: Causes { few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.03362, powers: Causes { far: 1.0, ..Causes::NONE } },
    Term { weight: 0.41745, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.24542, powers: Causes { short: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.02434, powers: Causes { size: 2.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 0.26244, powers: Causes { size: 2.0, short: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.89868, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

const TUNNEL_BBR: &[Term] = &[
    Term { weight: 0.02595, powers: Causes { loss: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.34163, powers: Causes { loss: 0.5, burst: 0.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.21162, powers: Causes { loss: 0.5, burst: 0.5, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.40377, powers: Causes { loss: 0.5, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.42108, powers: Causes { loss: 1.0, burst: 0.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.26369, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.28469, powers: Causes { loss: 1.0, burst: 2.0, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00564, powers: Causes { loss: 2.0, burst: 1.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.20317, powers: Causes { loss: 2.0, burst: 2.0, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.32024, powers: Causes { loss: 2.0, burst: 2.0, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.45359, powers: Causes { loss: 2.0, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 0.38663, powers: Causes { loss: 1.0, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 1.22854, powers: Causes { loss: 1.0, shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.06652, powers: Causes { size: 8.0, ..Causes::NONE } },
    Term { weight: 0.01162, powers: Causes { few: 1.0, ..Causes::NONE } },
    Term { weight: 0.00511, powers: Causes { few: 2.0, ..Causes::NONE } },
    Term { weight: 0.04557, powers: Causes { size: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00579, powers: Causes { few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.11444, powers: Causes { far: 1.0, ..Causes::NONE } },
    Term { weight: 0.02488, powers: Causes { far: 2.0, ..Causes::NONE } },
    Term { weight: 0.23491, powers: Causes { shallow: 2.0, ..Causes::NONE } },
    Term { weight: 0.00736, powers: Causes { shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.26236, powers: Causes { shallow: 0.5, short: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.25580, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.56161, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

/// The terms of what a scheme sends in vain, beyond headers and what the link loses.
pub fn waste(scheme: Scheme) -> &'static [Term] {
    match scheme {
        Scheme::Reno => RENO_WASTE,
        Scheme::Cubic => CUBIC_WASTE,
        Scheme::Bbr => BBR_WASTE,
        Scheme::TunnelCubic => TUNNEL_CUBIC_WASTE,
        Scheme::TunnelBbr => TUNNEL_BBR_WASTE,
        Scheme::TcpNc(_) => &[],
    }
}

const RENO_WASTE: &[Term] = &[
    Term { weight: 0.00562, powers: Causes { loss: 0.5, size: 4.0, ..Causes::NONE } },
    Term { weight: 0.15557, powers: Causes { loss: 0.5, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.20522, powers: Causes { loss: 1.0, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 0.08233, powers: Causes { loss: 1.0, size: 2.0, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.07312, powers: Causes { loss: 1.0, shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.00169, powers: Causes { size: 4.0, ..Causes::NONE } },
    Term { weight: 0.00401, powers: Causes { few: 1.0, shallow: 2.0, ..Causes::NONE } },
    Term { weight: 0.02559, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00212, powers: Causes { size: 1.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 0.00302, powers: Causes { size: 2.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 0.08311, powers: Causes { loss: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 1.49719, powers: Causes { loss: 1.0, few: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 0.57673, powers: Causes { loss: 2.0, few: 1.0, back: 2.0, ..Causes::NONE } },
];

const CUBIC_WASTE: &[Term] = &[
    Term { weight: 0.25207, powers: Causes { loss: 1.0, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 0.21627, powers: Causes { loss: 1.0, shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.00557, powers: Causes { size: 2.0, ..Causes::NONE } },
    Term { weight: 0.00107, powers: Causes { size: 4.0, ..Causes::NONE } },
    Term { weight: 0.00176, powers: Causes { size: 2.0, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.01315, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00286, powers: Causes { size: 2.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 0.16622, powers: Causes { loss: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.79979, powers: Causes { loss: 1.0, few: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 0.11596, powers: Causes { loss: 2.0, few: 1.0, back: 1.0, ..Causes::NONE } },
];

const BBR_WASTE: &[Term] = &[
    Term { weight: 0.11163, powers: Causes { loss: 1.0, size: 2.0, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.04292, powers: Causes { loss: 1.0, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 0.94700, powers: Causes { loss: 2.0, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.05204, powers: Causes { loss: 1.0, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 0.00846, powers: Causes { size: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.01339, powers: Causes { few: 1.0, shallow: 2.0, ..Causes::NONE } },
];

const TUNNEL_CUBIC_WASTE: &[Term] = &[
    Term { weight: 0.00967, powers: Causes { loss: 0.5, size: 2.0, ..Causes::NONE } },
    Term { weight: 0.02195, powers: Causes { loss: 0.5, size: 4.0, ..Causes::NONE } },
    Term { weight: 0.12713, powers: Causes { loss: 0.5, few: 2.0, ..Causes::NONE } },
    Term { weight: 0.11817, powers: Causes { loss: 0.5, burst: 0.5, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.72740, powers: Causes { loss: 0.5, burst: 0.5, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.08201, powers: Causes { loss: 0.5, burst: 0.5, few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.07198, powers: Causes { loss: 0.5, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.15175, powers: Causes { loss: 0.5, burst: 1.0, few: 0.5, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.17205, powers: Causes { loss: 0.5, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.00047, powers: Causes { loss: 1.0, size: 2.0, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.11153, powers: Causes { loss: 1.0, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.02338, powers: Causes { size: 4.0, ..Causes::NONE } },
    Term { weight: 0.00388, powers: Causes { few: 2.0, ..Causes::NONE } },
    Term { weight: 0.01711, powers: Causes { size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00757, powers: Causes { far: 1.0, ..Causes::NONE } },
    Term { weight: 0.04681, powers: Causes { far: 2.0, ..Causes::NONE } },
    Term { weight: 0.72478, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.01903, powers: Causes { short: 8.0, ..Causes::NONE } },
    Term { weight: 0.08122, powers: Causes { short: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.17118, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.16580, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

const TUNNEL_BBR_WASTE: &[Term] = &[
    Term { weight: 0.08645, powers: Causes { loss: 0.5, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.02959, powers: Causes { loss: 0.5, burst: 0.5, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.18715, powers: Causes { loss: 0.5, burst: 0.5, few: 0.5, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.10585, powers: Causes { loss: 0.5, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.09126, powers: Causes { loss: 0.5, gulp: 0.5, ..Causes::NONE } },
    Term { weight: 0.24900, powers: Causes { loss: 1.0, burst: 0.5, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.20230, powers: Causes { loss: 1.0, burst: 0.5, few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.11416, powers: Causes { loss: 1.0, gulp: 0.5, ..Causes::NONE } },
    Term { weight: 0.02243, powers: Causes { size: 8.0, ..Causes::NONE } },
    Term { weight: 0.00160, powers: Causes { few: 0.5, ..Causes::NONE } },
    Term { weight: 0.00315, powers: Causes { few: 1.0, ..Causes::NONE } },
    Term { weight: 0.05136, powers: Causes { few: 1.0, shallow: 2.0, ..Causes::NONE } },
    Term { weight: 1.00344, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.03303, powers: Causes { shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.04091, powers: Causes { shallow: 0.5, short: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.02974, powers: Causes { size: 2.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 0.26270, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.07781, powers: Causes { loss: 1.0, stuck: 1.0, ..Causes::NONE } },
    Term { weight: 0.06393, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

/// Weights of [`times`](super::delay::times), of the median and of the 99th percentile.
pub fn delays(scheme: Scheme) -> [[f64; 8]; 2] {
    match scheme {
        Scheme::Reno => [
            [2.1425, 2.3864, 0.0, 0.0, 0.0, 0.0275, 0.0242, 0.0663],
            [5.7104, 61.1581, 0.1265, 0.0, 33.2927, 0.1412, 0.8182, 0.4685],
        ],
        Scheme::Cubic => [
            [2.1064, 1.4868, 0.0, 0.0, 0.014, 0.0, 0.0891, 0.0541],
            [4.9676, 94.6775, 0.4621, 0.0, 18.9273, 0.0, 0.908, 0.0],
        ],
        Scheme::Bbr => [
            [1.4006, 0.0, 0.0, 4.4318, 0.0, 0.0169, 0.0, 0.175],
            [6.0931, 4.9684, 0.6502, 14.7836, 5.0855, 0.0457, 0.0, 0.0],
        ],
        Scheme::TunnelCubic | Scheme::TcpNc(_) => [
            [8.7914, 89.8417, 0.4149, 1.7974, 0.607, 0.0, 0.0, 2.0108],
            [47.3208, 761.1915, 2.2274, 7.3566, 0.1564, 0.0563, 0.0, 0.0],
        ],
        Scheme::TunnelBbr => [
            [8.5476, 6.7222, 0.2178, 1.0189, 0.1865, 0.0, 0.0, 2.5578],
            [31.5138, 113.396, 2.8952, 1.7384, 2.028, 0.2222, 0.0, 0.0],
        ],
    }
}

/// Weights of [`request_times`](super::delay::request_times), plain or in the tunnel.
pub fn requests(tunnel: bool) -> [[f64; 8]; 2] {
    match tunnel {
        false => [
            [0.1146, 0.0, 0.0393, 0.0, 0.0, 0.0138, 0.648, 0.0],
            [0.0685, 39.7263, 0.0, 0.0, 0.0, 0.0, 1.1388, 0.0],
        ],
        true => [
            [0.2799, 0.0014, 0.0034, 0.0, 0.0, 0.0001, 0.0026, 0.0],
            [0.2277, 2.682, 0.0, 1.4034, 2.994, 0.0, 0.0, 0.002],
        ],
    }
}
