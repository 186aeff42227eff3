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
    Term { weight: 0.12433, powers: Causes { loss: 0.5, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 0.59923, powers: Causes { loss: 2.0, burst: 0.5, size: 1.0, ..Causes::NONE } },
    Term { weight: 226.63178, powers: Causes { loss: 2.0, burst: 0.5, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 4.93013, powers: Causes { loss: 2.0, burst: 0.5, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 7.71690, powers: Causes { loss: 2.0, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 3.99368, powers: Causes { loss: 2.0, burst: 1.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.69110, powers: Causes { loss: 0.5, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 0.44388, powers: Causes { loss: 0.5, shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.66838, powers: Causes { shallow: 2.0, ..Causes::NONE } },
    Term { weight: 0.61911, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.29110, powers: Causes { shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 13.64158, powers: Causes { loss: 1.0, burst: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 1.07711, powers: Causes { halt: 1.0, ..Causes::NONE } },
    Term { weight: 0.53438, powers: Causes { loss: 1.0, stuck: 1.0, ..Causes::NONE } },
    Term { weight: 7.79109, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
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
    Term { weight: 0.00742, powers: Causes { loss: 0.5, few: 2.0, ..Causes::NONE } },
    Term { weight: 0.06490, powers: Causes { loss: 0.5, few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.39532, powers: Causes { loss: 0.5, burst: 0.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.08502, powers: Causes { loss: 0.5, burst: 0.5, few: 2.0, ..Causes::NONE } },
    Term { weight: 0.19353, powers: Causes { loss: 0.5, burst: 1.0, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.42530, powers: Causes { loss: 0.5, burst: 1.5, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.03638, powers: Causes { loss: 1.0, burst: 1.5, few: 2.0, ..Causes::NONE } },
    Term { weight: 1.33105, powers: Causes { loss: 1.0, burst: 1.5, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.54364, powers: Causes { loss: 2.0, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 0.39571, powers: Causes { loss: 1.0, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.00724, powers: Causes { few: 1.0, ..Causes::NONE } },
    Term { weight: 0.00971, powers: Causes { few: 2.0, ..Causes::NONE } },
    Term { weight: 1.62538, powers: Causes { size: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.02115, powers: Causes { few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.01149, powers: Causes { far: 1.0, ..Causes::NONE } },
    Term { weight: 0.53567, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.20167, powers: Causes { short: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.20941, powers: Causes { size: 2.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 0.05305, powers: Causes { loss: 1.0, burst: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 1.44962, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.92299, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

const TUNNEL_BBR: &[Term] = &[
    Term { weight: 0.01114, powers: Causes { loss: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.35539, powers: Causes { loss: 0.5, burst: 0.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.19606, powers: Causes { loss: 0.5, burst: 0.5, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.45260, powers: Causes { loss: 0.5, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.44644, powers: Causes { loss: 1.0, burst: 0.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.18651, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.10040, powers: Causes { loss: 1.0, burst: 2.0, size: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.01551, powers: Causes { loss: 1.0, burst: 2.0, size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.20400, powers: Causes { loss: 2.0, burst: 1.5, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.13735, powers: Causes { loss: 2.0, burst: 2.0, few: 1.0, ..Causes::NONE } },
    Term { weight: 0.25626, powers: Causes { loss: 2.0, burst: 2.0, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.51942, powers: Causes { loss: 2.0, gulp: 2.0, ..Causes::NONE } },
    Term { weight: 0.33813, powers: Causes { loss: 1.0, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 1.24967, powers: Causes { loss: 1.0, shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.06019, powers: Causes { size: 8.0, ..Causes::NONE } },
    Term { weight: 0.01265, powers: Causes { few: 1.0, ..Causes::NONE } },
    Term { weight: 0.00311, powers: Causes { few: 2.0, ..Causes::NONE } },
    Term { weight: 0.06416, powers: Causes { size: 8.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00851, powers: Causes { few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.10531, powers: Causes { far: 1.0, ..Causes::NONE } },
    Term { weight: 0.03164, powers: Causes { far: 2.0, ..Causes::NONE } },
    Term { weight: 0.23868, powers: Causes { shallow: 2.0, ..Causes::NONE } },
    Term { weight: 0.00597, powers: Causes { shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.26585, powers: Causes { shallow: 0.5, short: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.29540, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.54556, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
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
    Term { weight: 0.00176, powers: Causes { loss: 0.5, size: 4.0, ..Causes::NONE } },
    Term { weight: 0.06877, powers: Causes { loss: 0.5, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.24351, powers: Causes { loss: 1.0, shallow: 1.0, ..Causes::NONE } },
    Term { weight: 0.07737, powers: Causes { loss: 1.0, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.02771, powers: Causes { loss: 1.0, shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.00086, powers: Causes { size: 2.0, ..Causes::NONE } },
    Term { weight: 0.00389, powers: Causes { size: 4.0, ..Causes::NONE } },
    Term { weight: 0.01650, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00415, powers: Causes { short: 8.0, ..Causes::NONE } },
    Term { weight: 0.15226, powers: Causes { loss: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.10263, powers: Causes { loss: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.76947, powers: Causes { loss: 1.0, few: 1.0, back: 2.0, ..Causes::NONE } },
    Term { weight: 0.00580, powers: Causes { loss: 2.0, few: 1.0, back: 1.0, ..Causes::NONE } },
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
    Term { weight: 0.03227, powers: Causes { loss: 0.5, size: 2.0, ..Causes::NONE } },
    Term { weight: 0.11628, powers: Causes { loss: 0.5, few: 2.0, ..Causes::NONE } },
    Term { weight: 0.12537, powers: Causes { loss: 0.5, burst: 0.5, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.70121, powers: Causes { loss: 0.5, burst: 0.5, size: 4.0, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.07783, powers: Causes { loss: 0.5, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.06228, powers: Causes { loss: 0.5, burst: 1.0, few: 0.5, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.08031, powers: Causes { loss: 0.5, early: 1.0, gulp: 0.5, ..Causes::NONE } },
    Term { weight: 0.14233, powers: Causes { loss: 0.5, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.14349, powers: Causes { loss: 1.0, shallow: 0.5, short: 1.0, ..Causes::NONE } },
    Term { weight: 0.01818, powers: Causes { size: 4.0, ..Causes::NONE } },
    Term { weight: 0.00354, powers: Causes { few: 2.0, ..Causes::NONE } },
    Term { weight: 0.02608, powers: Causes { size: 4.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00057, powers: Causes { far: 1.0, ..Causes::NONE } },
    Term { weight: 0.04432, powers: Causes { far: 2.0, ..Causes::NONE } },
    Term { weight: 0.81346, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.00222, powers: Causes { short: 8.0, ..Causes::NONE } },
    Term { weight: 0.12092, powers: Causes { size: 1.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 1.52504, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.15638, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

const TUNNEL_BBR_WASTE: &[Term] = &[
    Term { weight: 0.08359, powers: Causes { loss: 0.5, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.00350, powers: Causes { loss: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.04543, powers: Causes { loss: 0.5, burst: 0.5, few: 0.5, ..Causes::NONE } },
    Term { weight: 0.19739, powers: Causes { loss: 0.5, burst: 0.5, few: 0.5, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.10608, powers: Causes { loss: 0.5, burst: 0.5, far: 1.0, ..Causes::NONE } },
    Term { weight: 0.06965, powers: Causes { loss: 0.5, gulp: 0.5, ..Causes::NONE } },
    Term { weight: 0.20326, powers: Causes { loss: 1.0, burst: 0.5, few: 1.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.18780, powers: Causes { loss: 1.0, burst: 0.5, few: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.15819, powers: Causes { loss: 1.0, gulp: 0.5, ..Causes::NONE } },
    Term { weight: 0.02159, powers: Causes { size: 8.0, ..Causes::NONE } },
    Term { weight: 0.00178, powers: Causes { few: 0.5, ..Causes::NONE } },
    Term { weight: 0.00280, powers: Causes { few: 1.0, ..Causes::NONE } },
    Term { weight: 0.05043, powers: Causes { few: 1.0, shallow: 2.0, ..Causes::NONE } },
    Term { weight: 1.01635, powers: Causes { shallow: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.03360, powers: Causes { shallow: 0.5, short: 2.0, ..Causes::NONE } },
    Term { weight: 0.03858, powers: Causes { shallow: 0.5, short: 2.0, early: 1.0, ..Causes::NONE } },
    Term { weight: 0.03000, powers: Causes { size: 2.0, short: 8.0, ..Causes::NONE } },
    Term { weight: 0.38901, powers: Causes { loss: 1.0, burst: 1.0, few: 1.0, back: 1.0, ..Causes::NONE } },
    Term { weight: 0.05879, powers: Causes { loss: 1.0, stuck: 1.0, ..Causes::NONE } },
    Term { weight: 0.04625, powers: Causes { back: 1.0, stuck: 1.0, ..Causes::NONE } },
];

/// Weights of [`times`](super::delay::times), of the median and of the 99th percentile.
pub fn delays(scheme: Scheme) -> [[f64; 8]; 2] {
    match scheme {
        Scheme::Reno => [
            [2.1425, 2.3864, 0.0, 0.0, 0.0, 0.0275, 0.0242, 0.0663],
            [5.7104, 61.1581, 0.1265, 0.0, 33.2927, 0.1412, 0.8182, 0.4685],
        ],
        Scheme::Cubic => [
            [2.0912, 1.4486, 0.0, 0.0, 0.0, 0.0, 0.106, 0.0386],
            [4.9784, 89.9783, 0.3207, 0.0, 19.5009, 0.0, 1.1596, 0.0],
        ],
        Scheme::Bbr => [
            [1.4006, 0.0, 0.0, 4.4318, 0.0, 0.0169, 0.0, 0.175],
            [6.0931, 4.9684, 0.6502, 14.7836, 5.0855, 0.0457, 0.0, 0.0],
        ],
        Scheme::TunnelCubic | Scheme::TcpNc(_) => [
            [9.0693, 80.4622, 0.5547, 1.7479, 0.5944, 0.0, 0.0, 1.4319],
            [27.8238, 743.4814, 2.7226, 6.4518, 1.1496, 0.0, 0.0, 0.0],
        ],
        Scheme::TunnelBbr => [
            [8.4541, 7.3218, 0.1983, 0.9199, 0.2087, 0.0, 0.0362, 2.5997],
            [31.4501, 114.275, 2.909, 2.141, 1.563, 0.202, 0.0, 0.0],
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
