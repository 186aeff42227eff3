//! The ways to use a link that the planner knows.

/// A way to use a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanScheme {
    /// Plain TCP, Reno.
    Reno,
    /// Plain TCP, CUBIC.
    Cubic,
    /// Plain TCP, BBR.
    Bbr,
    /// CUBIC inside the tunnel.
    TunnelCubic,
    /// BBR inside the tunnel.
    TunnelBbr,
}

impl PlanScheme {
    /// Those whose efficiency is fitted, in the order in which campaigns keep them.
    pub const FITTED: [PlanScheme; 5] = [
        PlanScheme::Reno,
        PlanScheme::Cubic,
        PlanScheme::Bbr,
        PlanScheme::TunnelCubic,
        PlanScheme::TunnelBbr,
    ];

    /// Its name, as `--json` has it.
    pub fn name(&self) -> &'static str {
        match self {
            PlanScheme::Reno => "reno",
            PlanScheme::Cubic => "cubic",
            PlanScheme::Bbr => "bbr",
            PlanScheme::TunnelCubic => "tunnel-cubic",
            PlanScheme::TunnelBbr => "tunnel-bbr",
        }
    }

    /// Whether it runs inside the tunnel.
    pub fn is_tunnel(&self) -> bool {
        matches!(self, PlanScheme::TunnelCubic | PlanScheme::TunnelBbr)
    }

    /// Payload over bytes on the wire of a packet that is not coded: no share of C (1-p) is greater.
    pub fn ceiling(&self) -> f64 {
        let wire = super::PATH_MTU;
        match self {
            PlanScheme::Reno | PlanScheme::Cubic | PlanScheme::Bbr => (wire - TCP_HEADERS) / wire,
            PlanScheme::TunnelCubic | PlanScheme::TunnelBbr => {
                (wire - TUNNEL_MTU_TAKES - TCP_HEADERS) / (wire - TUNNEL_MTU_TAKES + SOURCE_HEADERS)
            }
        }
    }
}

/// Bytes of IP and TCP in front of the data, with time stamps.
pub const TCP_HEADERS: f64 = 52.0;
/// The same of hosts without time stamps, on which TCP/NC stands.
pub const PLAIN_HEADERS: f64 = 40.0;
/// What the tunnel takes of the path's MTU, bytes.
pub const TUNNEL_MTU_TAKES: f64 = 64.0;
/// What it puts before a source packet, bytes.
pub const SOURCE_HEADERS: f64 = 56.0;
