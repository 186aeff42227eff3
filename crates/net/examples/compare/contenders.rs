//! The contenders: how each is started, and which version it has.

use super::hysteria::Hysteria;
use super::kcptun::Kcptun;
use super::links::CompareLink;
use super::programs::Tools;
use super::wireguard::WireGuard;
use ripstop_net::testbed::OtherCarrier;
use ripstop_net::workload;

/// A way to carry the workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// The name on the command line and in the table.
    pub(crate) name: &'static str,
    /// The congestion control of the workload's sockets. It does not cross the link with a forwarder.
    pub(crate) congestion: &'static str,
    /// What carries the packets.
    pub(crate) kind: Kind,
    /// Settings that differ from the program's defaults, in words.
    pub(crate) settings: &'static str,
}

/// What carries the packets of a contender.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// The kernel's TCP alone.
    Kernel,
    /// Ripstop's tunnel.
    Ripstop,
    /// A forwarder over KCP.
    Kcptun,
    /// A WireGuard in user space, by the name of its program.
    WireGuard(&'static str),
    /// A forwarder over QUIC. `told`: the rate of the link is configured.
    Hysteria { told: bool },
}

/// All contenders, in the order of the table.
pub(crate) fn all() -> Vec<Contender> {
    let contender = |name, congestion, kind, settings| Contender { name, congestion, kind, settings };
    let told = "told the link's rate";
    vec![
        contender("cubic", "cubic", Kind::Kernel, "alone"),
        contender("bbr", "bbr", Kind::Kernel, "alone"),
        contender("ripstop+cubic", "cubic", Kind::Ripstop, "defaults"),
        contender("ripstop+bbr", "bbr", Kind::Ripstop, "defaults"),
        contender("kcptun", "cubic", Kind::Kcptun, super::kcptun::SETTINGS),
        contender("boringtun+cubic", "cubic", Kind::WireGuard("boringtun-cli"), "MTU 1420"),
        contender("boringtun+bbr", "bbr", Kind::WireGuard("boringtun-cli"), "MTU 1420"),
        contender("wireguard-go+bbr", "bbr", Kind::WireGuard("wireguard-go"), "MTU 1420"),
        contender("hysteria", "cubic", Kind::Hysteria { told: false }, "defaults (its own BBR)"),
        contender("hysteria+rate", "cubic", Kind::Hysteria { told: true }, told),
    ]
}

impl Contender {
    /// The version of what carries the packets.
    ///
    /// # Errors
    /// Why the contender cannot run here, and how to install it.
    pub(crate) fn version(&self, tools: &Tools) -> Result<String, String> {
        workload::check_congestion(self.congestion).map_err(|error| error.to_string())?;
        let kernel = || {
            let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
            let parts: Vec<&str> = release.split(['.', '-']).take(2).collect();
            format!("Linux {}", parts.join("."))
        };
        match self.kind {
            Kind::Kernel => Ok(kernel()),
            Kind::Ripstop => Ok(env!("CARGO_PKG_VERSION").to_owned()),
            Kind::Kcptun => super::kcptun::version(tools),
            Kind::WireGuard(program) => super::wireguard::version(program, tools),
            Kind::Hysteria { .. } => super::hysteria::version(tools),
        }
    }

    /// The other programs of the contender; None for the kernel and Ripstop.
    pub(crate) fn other<'a>(&self, link: &CompareLink, tools: &'a Tools) -> Option<Box<dyn OtherCarrier + 'a>> {
        match self.kind {
            Kind::Kernel | Kind::Ripstop => None,
            Kind::Kcptun => Some(Box::new(Kcptun { tools, window: super::kcptun::window(link) })),
            Kind::WireGuard(program) => Some(Box::new(WireGuard { tools, program })),
            Kind::Hysteria { told } => Some(Box::new(Hysteria { tools, rate_bps: told.then_some(link.rate_bps) })),
        }
    }
}
