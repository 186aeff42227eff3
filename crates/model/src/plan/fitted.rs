//! Weights of causes, as fitted to 200 links of seed 1. Written by `make plan-report`; do not edit.
//!
//! The powers are those of [`Causes`](super::wear::Causes): loss, burst, size, few, shallow, short, early.

use super::kind::Kind;
use super::scheme::Scheme;
use super::wear::Term;

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
    Term { weight: 0.85841, powers: [0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 1.06224, powers: [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.46052, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 0.0] },
    Term { weight: 0.09320, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
    Term { weight: 0.23748, powers: [0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 0.0] },
];

const CUBIC: &[Term] = &[
    Term { weight: 0.50024, powers: [0.0, 0.0, 8.0, 0.0, 0.0, 0.0, 1.0] },
    Term { weight: 0.62853, powers: [0.0, 0.0, 0.0, 1.0, 2.0, 0.0, 0.0] },
    Term { weight: 0.60447, powers: [0.0, 0.0, 0.0, 0.0, 0.5, 2.0, 0.0] },
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
        Scheme::Reno => [0.0076, 0.1478, 0.8451, 2.3638],
        Scheme::Cubic => [0.0106, 0.1833, 0.6573, 2.2938],
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
            [2.1438, 0.9154, 0.0, 0.0, 0.0, 0.0, 0.0002, 0.0],
            [9.0088, 34.8398, 0.3797, 5.5103, 0.0, 0.0589, 0.2342, 0.0396],
        ],
        Scheme::Cubic => [
            [2.1202, 0.7689, 0.001, 0.0, 0.0014, 0.0, 0.0007, 0.0],
            [6.364, 56.1829, 0.892, 1.1907, 6.3576, 0.0702, 0.0, 0.0],
        ],
        Scheme::Bbr => [
            [1.6724, 0.0, 0.0, 1.8887, 0.0, 0.0, 0.0, 0.234],
            [5.7882, 0.0, 0.2986, 16.0602, 0.0, 0.0, 0.0, 0.1884],
        ],
        Scheme::TunnelCubic | Scheme::TcpNc(_) => [
            [9.869, 60.9413, 0.0, 0.3117, 1.3248, 0.0, 0.1839, 1.6811],
            [31.7344, 555.4778, 1.2847, 3.7361, 4.9578, 0.2189, 0.0, 0.0],
        ],
        Scheme::TunnelBbr => [
            [8.643, 11.4824, 0.0, 1.2497, 0.5306, 0.0, 0.0, 0.6264],
            [36.5437, 68.4229, 0.9378, 7.812, 0.3332, 0.2505, 0.0, 0.0],
        ],
    }
}

/// Weights of [`request_times`](super::delay::request_times), plain or in the tunnel.
pub fn requests(tunnel: bool) -> [[f64; 8]; 2] {
    match tunnel {
        false => [[0.0; 8], [0.0, 0.0, 0.0, 0.0, 0.0, 5.0, 0.0, 0.0]],
        true => [[0.0; 8], [0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.0]],
    }
}
