//! Who takes part in the demonstration.

use clap::ValueEnum;

/// A way to carry the same transfer over the same link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    /// The kernel's TCP with CUBIC, alone on the link
    Cubic,
    /// The kernel's TCP with BBR, alone on the link
    Bbr,
    /// The kernel's TCP with Reno, alone on the link
    Reno,
    /// Through the tunnel, CUBIC inside
    Ripstop,
    /// Through the tunnel, BBR inside
    #[value(name = "ripstop+bbr")]
    RipstopBbr,
}

impl Contender {
    /// Its name on the command line and in the results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Contender::Cubic => "cubic",
            Contender::Bbr => "bbr",
            Contender::Reno => "reno",
            Contender::Ripstop => "ripstop",
            Contender::RipstopBbr => "ripstop+bbr",
        }
    }

    /// Whether its transfers go through the tunnel.
    pub(crate) fn is_tunnelled(self) -> bool {
        matches!(self, Contender::Ripstop | Contender::RipstopBbr)
    }

    /// The congestion control of the transfer's own sockets, by the kernel's name.
    pub(crate) fn inner_cc(self) -> &'static str {
        match self {
            Contender::Cubic | Contender::Ripstop => "cubic",
            Contender::Bbr | Contender::RipstopBbr => "bbr",
            Contender::Reno => "reno",
        }
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
}
