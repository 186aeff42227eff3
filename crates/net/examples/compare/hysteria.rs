//! Hysteria 2: TCP over QUIC with BBR, or with a rate that the user states. `hysteria/main.go` is a forwarder around
//! Hysteria's library, because the program itself is not in the Go module proxy.

use super::programs::{PORTS, Tools, listens, printed, start};
use ripstop_net::testbed::{Ends, OtherCarrier, OtherPrograms};
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::Command;

/// The UDP port of the server.
const PORT: u16 = 4433;

/// Hysteria on both hosts.
#[derive(Debug)]
pub(crate) struct Hysteria<'a> {
    pub(crate) tools: &'a Tools,
    /// The rate that both ends are told, bit/s; None: Hysteria finds the rate with BBR.
    pub(crate) rate_bps: Option<u64>,
}

/// The version of Hysteria's library.
pub(crate) fn version(tools: &Tools) -> Result<String, String> {
    let program = find(tools)?;
    printed(&program, &["version"]).ok_or_else(|| format!("`{} version` failed", program.display()))
}

fn find(tools: &Tools) -> Result<PathBuf, String> {
    tools.find("hysteria-forward", "`make compare` builds it if Go is installed")
}

impl OtherCarrier for Hysteria<'_> {
    fn start(&self, ends: &Ends<'_>) -> Result<OtherPrograms, String> {
        let address = format!("{}:{PORT}", ends.receiver_address);
        let program = find(self.tools)?;
        let mut server = Command::new(&program);
        server.args(["server", &address]);
        let server = start(ends.receiver, server, ends.limit, || listens(ends.receiver, "udp", PORT))?;
        let mut client = Command::new(&program);
        client.args(["client", &address, &(self.rate_bps.unwrap_or(0) / 8).to_string()]);
        client.args(PORTS.map(|port| port.to_string()));
        let client =
            start(ends.sender, client, ends.limit, || PORTS.into_iter().all(|port| listens(ends.sender, "tcp", port)))?;
        Ok(OtherPrograms { address: IpAddr::V4(Ipv4Addr::LOCALHOST), programs: vec![server, client] })
    }
}
