//! Weights of causes, as fitted to 200 links of seed 1. Written by `make plan-report`; do not edit.
//!
//! The powers are those of [`Causes`](super::wear::Causes): loss, burst, size, few, shallow, short, early.

use super::kind::Kind;
use super::scheme::Scheme;
use super::wear::Term;

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
    Term { weight: 2.15761, powers: [0.5, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 1.09906, powers: [1.0, 0.5, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.73393, powers: [1.0, 0.5, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 39.31802, powers: [1.0, 0.5, 4.0, 0.5, 0.0, 0.0, 1.0] },
    Term { weight: 6.35162, powers: [1.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 71.65710, powers: [1.0, 1.0, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 498.55612, powers: [2.0, 1.0, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 1.38729, powers: [0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0] },
    Term { weight: 0.00146, powers: [0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 1.12880, powers: [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.39855, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.0] },
    Term { weight: 0.22281, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
];

const CUBIC: &[Term] = &[
    Term { weight: 0.27330, powers: [0.5, 1.0, 0.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 1.25680, powers: [0.5, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 8.12784, powers: [1.0, 0.5, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 4.82686, powers: [1.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 310.39567, powers: [2.0, 0.5, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 621.12391, powers: [2.0, 1.0, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 36.69258, powers: [2.0, 1.0, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 3.32332, powers: [0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0] },
    Term { weight: 1.66547, powers: [0.5, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0] },
    Term { weight: 0.66690, powers: [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.61388, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
];

const BBR: &[Term] = &[
    Term { weight: 1.82943, powers: [1.0, 1.5, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 6.14879, powers: [2.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 6.24711, powers: [2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.55244, powers: [2.0, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 352.00958, powers: [2.0, 0.5, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 20.48886, powers: [2.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 54.31189, powers: [2.0, 1.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 5.51955, powers: [2.0, 1.5, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 1.57146, powers: [1.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0] },
    Term { weight: 0.00866, powers: [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.01313, powers: [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 1.0] },
    Term { weight: 0.17062, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 1.0] },
];

const TUNNEL_CUBIC: &[Term] = &[
    Term { weight: 0.50087, powers: [0.5, 0.5, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.20429, powers: [0.5, 0.5, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.02821, powers: [0.5, 1.0, 2.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.28426, powers: [0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.91950, powers: [0.5, 1.0, 2.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.18880, powers: [0.5, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.12363, powers: [0.5, 1.5, 2.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.91327, powers: [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.00081, powers: [1.0, 1.0, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 19.79122, powers: [2.0, 1.5, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 5.73967, powers: [2.0, 1.5, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 4.77398, powers: [2.0, 2.0, 2.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 1.75068, powers: [2.0, 2.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.02988, powers: [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.29566, powers: [0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 1.62936, powers: [0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.00207, powers: [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.18431, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
    Term { weight: 0.06724, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 1.0] },
];

const TUNNEL_BBR: &[Term] = &[
    Term { weight: 0.66975, powers: [0.5, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.28582, powers: [0.5, 0.5, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.06839, powers: [0.5, 1.5, 4.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.83196, powers: [0.5, 1.5, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.82109, powers: [1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 8.69093, powers: [1.0, 1.5, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 8.19237, powers: [2.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.16757, powers: [2.0, 1.5, 0.0, 0.5, 0.0, 0.0, 1.0] },
    Term { weight: 1.74410, powers: [2.0, 1.5, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.37328, powers: [0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.02120, powers: [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 1.0] },
    Term { weight: 0.02882, powers: [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.38205, powers: [0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.30104, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 1.0] },
    Term { weight: 0.07995, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 1.0] },
    Term { weight: 0.02680, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0] },
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
    Term { weight: 0.00795, powers: [0.5, 0.0, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 0.01482, powers: [1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.01655, powers: [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 1.19741, powers: [2.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.05307, powers: [2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.20566, powers: [2.0, 1.0, 4.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.12824, powers: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0] },
    Term { weight: 0.74328, powers: [1.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
    Term { weight: 0.00058, powers: [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.00158, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.01497, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 1.0] },
];

const CUBIC_WASTE: &[Term] = &[
    Term { weight: 0.04743, powers: [0.5, 0.0, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 0.96354, powers: [2.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.19787, powers: [2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.07191, powers: [2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.11795, powers: [2.0, 0.0, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.62934, powers: [1.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.0] },
    Term { weight: 0.24110, powers: [1.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
    Term { weight: 0.00251, powers: [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.01573, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 1.0] },
];

const BBR_WASTE: &[Term] = &[
    Term { weight: 0.00980, powers: [1.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.16359, powers: [1.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.01943, powers: [1.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.09273, powers: [2.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.29676, powers: [2.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.02607, powers: [2.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.14186, powers: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0] },
    Term { weight: 0.00243, powers: [0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.00178, powers: [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.02621, powers: [0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0] },
    Term { weight: 0.02171, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 1.0] },
];

const TUNNEL_CUBIC_WASTE: &[Term] = &[
    Term { weight: 0.04119, powers: [0.5, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.13244, powers: [0.5, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.14682, powers: [0.5, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 0.04481, powers: [0.5, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.06382, powers: [0.5, 0.5, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.03459, powers: [0.5, 1.0, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 1.07757, powers: [0.5, 1.0, 4.0, 0.5, 0.0, 0.0, 1.0] },
    Term { weight: 0.01256, powers: [0.5, 2.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.10418, powers: [1.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.37966, powers: [1.0, 0.5, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.02282, powers: [1.0, 0.5, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.46189, powers: [2.0, 0.5, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.69144, powers: [2.0, 2.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.14262, powers: [0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0] },
    Term { weight: 0.10649, powers: [0.5, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0] },
    Term { weight: 0.00313, powers: [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.01466, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.03092, powers: [0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.00145, powers: [0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.36468, powers: [0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0] },
    Term { weight: 0.03680, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
    Term { weight: 0.23856, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 1.0] },
];

const TUNNEL_BBR_WASTE: &[Term] = &[
    Term { weight: 0.10502, powers: [0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.18699, powers: [0.5, 0.5, 1.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.03406, powers: [0.5, 0.5, 0.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 0.12563, powers: [0.5, 1.0, 4.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 0.02502, powers: [1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.25149, powers: [1.0, 0.5, 0.0, 1.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.45801, powers: [1.0, 0.5, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.47506, powers: [1.0, 1.0, 4.0, 0.0, 0.0, 0.0, 0.0] },
    Term { weight: 0.74517, powers: [2.0, 0.5, 0.0, 2.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.28892, powers: [2.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.00316, powers: [0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0] },
    Term { weight: 0.20311, powers: [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.97484, powers: [0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0] },
    Term { weight: 0.07320, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 1.0] },
    Term { weight: 0.01303, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0] },
];

/// The median error on the links that it was fitted to, by their kind; none is known of TCP/NC.
pub fn doubt(scheme: Scheme, kind: Kind) -> f64 {
    let by_kind = match scheme {
        Scheme::Reno => [0.0035, 0.1736, 0.2438, 0.3994],
        Scheme::Cubic => [0.0105, 0.2088, 0.3101, 0.3656],
        Scheme::Bbr => [0.0051, 0.03, 0.1609, 0.2994],
        Scheme::TunnelCubic => [0.0143, 0.0339, 0.034, 0.1954],
        Scheme::TunnelBbr => [0.0163, 0.0172, 0.0531, 0.1346],
        Scheme::TcpNc(_) => [0.0; 4],
    };
    by_kind[kind as usize]
}

/// Weights of [`times`](super::delay::times), of the median and of the 99th percentile.
pub fn delays(scheme: Scheme) -> [[f64; 8]; 2] {
    match scheme {
        Scheme::Reno => [
            [2.5245, 1.571, 0.0, 0.0, 0.0, 0.0022, 0.0689, 0.0538],
            [8.587, 122.6158, 0.5228, 4.2397, 1.1892, 0.3477, 0.0, 0.0],
        ],
        Scheme::Cubic => [
            [2.6571, 0.3973, 0.0, 0.0, 0.0, 0.0, 0.0815, 0.0197],
            [6.3844, 107.0023, 0.8601, 0.0, 7.1873, 0.2329, 0.2164, 0.0],
        ],
        Scheme::Bbr => [
            [1.1366, 0.0, 0.0222, 3.9715, 0.0, 0.0, 0.0382, 0.0316],
            [5.9231, 0.0, 0.5113, 17.0993, 0.0, 0.0, 0.0, 0.0],
        ],
        Scheme::TunnelCubic | Scheme::TcpNc(_) => [
            [9.7704, 57.3366, 0.3615, 2.7944, 0.2461, 0.0336, 0.0, 1.148],
            [42.0353, 608.0458, 2.1789, 4.0805, 8.3548, 0.0506, 0.0, 0.0],
        ],
        Scheme::TunnelBbr => [
            [7.9947, 12.2794, 0.0837, 0.8729, 0.7392, 0.0, 0.1294, 2.7354],
            [28.4235, 138.216, 2.528, 1.6952, 5.5793, 0.1919, 0.0, 1.5862],
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
            [0.2797, 0.0033, 0.0041, 0.0, 0.0, 0.0001, 0.0058, 0.0],
            [0.2254, 0.0, 0.0, 0.0, 6.4038, 0.0, 0.0, 0.0023],
        ],
    }
}
