//! The schemes that the planner compares, and the share of each packet that headers leave for
//! payload.

/// A way to send over a path: a congestion control, with or without the tunnel.
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
    /// All schemes that a campaign simulates, in the order of the report.
    pub const FITTED: [PlanScheme; 5] =
        [PlanScheme::Reno, PlanScheme::Cubic, PlanScheme::Bbr, PlanScheme::TunnelCubic, PlanScheme::TunnelBbr];

    /// The scheme's name in `--json` output and in the data files.
    pub fn name(self) -> &'static str {
        match self {
            PlanScheme::Reno => "reno",
            PlanScheme::Cubic => "cubic",
            PlanScheme::Bbr => "bbr",
            PlanScheme::TunnelCubic => "tunnel-cubic",
            PlanScheme::TunnelBbr => "tunnel-bbr",
        }
    }

    /// Whether the TCP runs inside the tunnel.
    pub fn is_tunnel(self) -> bool {
        matches!(self, PlanScheme::TunnelCubic | PlanScheme::TunnelBbr)
    }

    /// The ceiling: payload divided by bytes on the wire, for a packet of new data. The goodput
    /// cannot exceed this share of C (1-p), the link's rate less its losses.
    pub fn ceiling(self) -> f64 {
        let wire = super::PATH_MTU;
        match self {
            PlanScheme::Reno | PlanScheme::Cubic | PlanScheme::Bbr => (wire - TCP_HEADERS) / wire,
            PlanScheme::TunnelCubic | PlanScheme::TunnelBbr => {
                (wire - TUNNEL_MTU_TAKES - TCP_HEADERS) / (wire - TUNNEL_MTU_TAKES + SOURCE_HEADERS)
            }
        }
    }
}

/// Bytes of IPv4 and TCP headers with TCP timestamps. Each further byte takes a byte of payload
/// from each packet.
pub const TCP_HEADERS: f64 = 52.0;
/// Bytes of IPv4 and TCP headers without TCP timestamps. The simulated TCP/NC uses these headers.
/// Each further byte takes a byte of payload from each packet.
pub const PLAIN_HEADERS: f64 = 40.0;
/// The difference between the path's MTU and the tunnel's MTU, bytes
/// (docs/contributors/wire-format.md). A larger value leaves less payload in each packet.
pub const TUNNEL_MTU_TAKES: f64 = 64.0;
/// Bytes of headers that the tunnel puts before a source packet, a packet that is not a repair
/// (docs/contributors/wire-format.md). A larger value lowers the tunnel's ceiling.
pub const SOURCE_HEADERS: f64 = 56.0;
