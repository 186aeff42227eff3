//! kcptun: TCP over KCP, with Reed-Solomon parity.

use super::links::CompareLink;
use super::programs::{PORTS, Tools, listens, printed, start};
use ripstop_net::testbed::{Ends, OtherCarrier, OtherPrograms};
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::process::Command;

/// The settings that differ from kcptun's defaults, in words.
pub(crate) const SETTINGS: &str =
    "mode fast2, no compression, windows of 2 BDP (at least 128 packets), one process pair per connection";

/// The MTU of kcptun's UDP payload by default, bytes.
const PACKET_BYTES: f64 = 1350.0;

/// kcptun on both hosts. kcptun forwards one port, so there is one pair of processes for each port.
#[derive(Debug)]
pub(crate) struct Kcptun<'a> {
    pub(crate) tools: &'a Tools,
    /// Window of each direction, packets.
    pub(crate) window: u64,
}

/// A window of two bandwidth-delay products: one for the link and one for its queue. kcptun's defaults are 128 packets
/// to send at the client and 512 to receive.
pub(crate) fn window(link: &CompareLink) -> u64 {
    (2.0 * link.bdp() / PACKET_BYTES).ceil().max(128.0) as u64
}

/// The version of the installed package, or of the program.
pub(crate) fn version(tools: &Tools) -> Result<String, String> {
    let program = find(tools, "kcptun-client")?;
    find(tools, "kcptun-server")?;
    let package = printed(Path::new("dpkg-query"), &["-W", "-f", "${Version}", "kcptun"]);
    Ok(package.or_else(|| printed(&program, &["-v"])).unwrap_or_else(|| "unknown".to_owned()))
}

fn find(tools: &Tools, program: &str) -> Result<std::path::PathBuf, String> {
    tools.find(program, "install the Debian package `kcptun`")
}

impl OtherCarrier for Kcptun<'_> {
    fn start(&self, ends: &Ends<'_>) -> Result<OtherPrograms, String> {
        let mut programs = Vec::new();
        for port in PORTS {
            // The UDP port of this pair.
            let outside = port + 1000;
            let local = format!("127.0.0.1:{port}");
            let mut server = Command::new(find(self.tools, "kcptun-server")?);
            server.args(["--listen", &format!(":{outside}"), "--target", &local]);
            let mut client = Command::new(find(self.tools, "kcptun-client")?);
            client.args(["--localaddr", &local, "--remoteaddr", &format!("{}:{outside}", ends.receiver_address)]);
            let window = self.window.to_string();
            for command in [&mut server, &mut client] {
                command.args(["--mode", "fast2", "--nocomp", "--quiet", "--sndwnd", &window, "--rcvwnd", &window]);
            }
            programs.push(start(ends.receiver, server, ends.limit, || listens(ends.receiver, "udp", outside))?);
            programs.push(start(ends.sender, client, ends.limit, || listens(ends.sender, "tcp", port))?);
        }
        Ok(OtherPrograms { address: IpAddr::V4(Ipv4Addr::LOCALHOST), programs })
    }
}
