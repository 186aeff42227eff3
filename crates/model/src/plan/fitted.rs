//! Weights of causes, as fitted. Written by `make plan-report`; do not edit.

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

const RENO: &[Term] = &[];
const CUBIC: &[Term] = &[];
const BBR: &[Term] = &[];
const TUNNEL_CUBIC: &[Term] = &[];
const TUNNEL_BBR: &[Term] = &[];
