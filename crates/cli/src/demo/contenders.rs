//! The contenders of the demonstration.

use clap::ValueEnum;
use ripstop_lab::trial::{PathKind, Scheme};
use ripstop_sim::tcp::Variant;

/// A way to carry the transfer over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    /// The kernel's TCP with CUBIC, alone on the link
    Cubic,
    /// The kernel's TCP with BBR, alone on the link
    Bbr,
    /// The kernel's TCP with Reno, alone on the link
    Reno,
    /// The kernel's TCP with CUBIC, through the tunnel
    Ripstop,
    /// The kernel's TCP with BBR, through the tunnel
    #[value(name = "ripstop+bbr")]
    RipstopBbr,
    /// ns-2's NewReno, alone on the link (only with --virtual)
    Newreno,
    /// ns-2's Reno with selective acknowledgements, alone on the link (only with --virtual)
    Sack,
    /// The tunnel without a TCP: a source that always has packets to send (only with --virtual)
    Tunnel,
}

impl Contender {
    /// The default contenders.
    pub(crate) const USUAL: [Contender; 5] =
        [Contender::Cubic, Contender::Bbr, Contender::Reno, Contender::Ripstop, Contender::RipstopBbr];

    /// The name on the command line and in the results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Contender::Cubic => "cubic",
            Contender::Bbr => "bbr",
            Contender::Reno => "reno",
            Contender::Ripstop => "ripstop",
            Contender::RipstopBbr => "ripstop+bbr",
            Contender::Newreno => "newreno",
            Contender::Sack => "sack",
            Contender::Tunnel => "tunnel",
        }
    }

    /// Whether the transfers go through the tunnel.
    pub(crate) fn is_tunnelled(self) -> bool {
        matches!(self, Contender::Ripstop | Contender::RipstopBbr | Contender::Tunnel)
    }

    /// The kernel's name for the congestion control of the transfer's sockets. None for a contender that exists only
    /// in the simulator.
    pub(crate) fn kernel_cc(self) -> Option<&'static str> {
        match self {
            Contender::Cubic | Contender::Ripstop => Some("cubic"),
            Contender::Bbr | Contender::RipstopBbr => Some("bbr"),
            Contender::Reno => Some("reno"),
            Contender::Newreno | Contender::Sack | Contender::Tunnel => None,
        }
    }

    /// The congestion control of the transfer's connections. None if the contender has no TCP.
    pub(crate) fn cc(self) -> Option<&'static str> {
        match self {
            Contender::Newreno | Contender::Sack => Some(self.name()),
            other => other.kernel_cc(),
        }
    }

    /// The simulated scheme that corresponds to this contender.
    pub(crate) fn scheme(self) -> Scheme {
        let variant = match self {
            Contender::Cubic | Contender::Ripstop => Variant::LinuxCubic,
            Contender::Bbr | Contender::RipstopBbr => Variant::Bbr,
            Contender::Reno => Variant::LinuxReno,
            Contender::Newreno => Variant::NewReno,
            Contender::Sack => Variant::Sack,
            Contender::Tunnel => return Scheme::Packets,
        };
        Scheme::Tcp(variant, if self.is_tunnelled() { PathKind::Tunnel } else { PathKind::Link })
    }

    /// Whether the contender can send a file.
    pub(crate) fn has_file(self) -> bool {
        self != Contender::Tunnel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_command_line_takes() {
        for contender in Contender::value_variants() {
            let value = contender.to_possible_value().unwrap();
            assert_eq!(value.get_name(), contender.name());
        }
    }

    #[test]
    fn a_tunnel_is_a_tunnel_in_virtual_time_too() {
        for contender in Contender::value_variants() {
            let through = matches!(contender.scheme(), Scheme::Packets | Scheme::Tcp(_, PathKind::Tunnel));
            assert_eq!(through, contender.is_tunnelled(), "{contender:?}");
        }
    }
}
