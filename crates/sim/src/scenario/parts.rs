//! Which parts of the simulator a scenario runs.

use super::Scenario;

/// A part of the simulator's code.
///
/// A stored result is valid while the code of the parts that it used is the same. `crates/lab/build/parts.rs` says which
/// source files belong to which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// What every scenario runs: the engine, links, the world, the shared parts of TCP, reports.
    Core,
    /// The senders that behave as in ns-2.
    TcpClassic,
    /// The senders that behave as in today's kernels.
    TcpModern,
    /// Shared media (IEEE 802.11 and ideal access).
    Wifi,
    /// The shipped tunnel session, with each of its codes.
    Tunnel,
    /// The coding layer of TCP/NC.
    Nc,
    /// The gateways of TCP/LT.
    Lt,
}

impl Part {
    /// All parts, in their order.
    pub const ALL: [Part; 7] =
        [Part::Core, Part::TcpClassic, Part::TcpModern, Part::Wifi, Part::Tunnel, Part::Nc, Part::Lt];

    /// The part's name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Part::Core => "core",
            Part::TcpClassic => "tcp-classic",
            Part::TcpModern => "tcp-modern",
            Part::Wifi => "wifi",
            Part::Tunnel => "tunnel",
            Part::Nc => "nc",
            Part::Lt => "lt",
        }
    }
}

impl Scenario {
    /// The parts of the simulator that a run of this scenario uses, in the order of [`Part::ALL`].
    pub fn parts(&self) -> Vec<Part> {
        Part::ALL.into_iter().filter(|part| self.uses(*part)).collect()
    }

    fn uses(&self, part: Part) -> bool {
        let mut tcps = self.flow.iter().filter(|flow| flow.udp.is_none());
        match part {
            Part::Core => true,
            Part::TcpClassic => tcps.any(|flow| !flow.tcp.is_modern()),
            Part::TcpModern => tcps.any(|flow| flow.tcp.is_modern()),
            Part::Wifi => !self.medium.is_empty(),
            Part::Tunnel => !self.tunnel.is_empty(),
            Part::Nc => self.flow.iter().any(|flow| flow.nc.is_some()),
            Part::Lt => !self.gateway.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_scenario() {
        let link = "[run]\nduration = \"5s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nforth = { rate = \"1Mbit/s\" }\n";
        let flow = "[[flow]]\nfrom = \"a\"\nto = \"b\"\n";
        for (more, parts) in [
            ("", "core tcp-classic"),
            ("tcp = \"bbr\"\n", "core tcp-modern"),
            ("udp = { constant = \"10kbit/s\" }\n", "core"),
            ("tunnel = \"tunnel\"\n[[tunnel]]\nbetween = [\"a\", \"b\"]\n", "core tcp-classic tunnel"),
            (
                "tunnel = \"tunnel\"\n[[tunnel]]\nbetween = [\"a\", \"b\"]\ncode = \"block\"\n",
                "core tcp-classic tunnel",
            ),
            ("nc = {}\n", "core tcp-classic nc"),
        ] {
            let scenario = Scenario::parse(&format!("{link}{flow}{more}")).unwrap();
            let names: Vec<&str> = scenario.parts().into_iter().map(Part::name).collect();
            assert_eq!(names.join(" "), parts, "{more}");
        }
    }
}
