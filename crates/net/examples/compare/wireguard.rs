//! WireGuard in user space: boringtun and wireguard-go. Both are configured over WireGuard's cross-platform interface
//! (a Unix socket), so the command `wg` is not needed.

use super::programs::{Tools, printed, start};
use ripstop_net::os::ip::ip;
use ripstop_net::os::netns::Namespace;
use ripstop_net::testbed::{Ends, OtherCarrier, OtherPrograms};
use ripstop_proto::secure::PrivateKey;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// The UDP port of both hosts.
const PORT: u16 = 51820;
/// The MTU of the tunnel by default (wg-quick(8)): 80 bytes less than the link's.
const MTU: &str = "1420";
/// The addresses of sender and receiver inside the tunnel.
const INSIDE: [[u8; 4]; 2] = [[10, 99, 0, 1], [10, 99, 0, 2]];
/// The names of the devices. The hosts share the file system, so the names differ.
const DEVICES: [&str; 2] = ["wg-send", "wg-receive"];

/// A WireGuard on both hosts.
#[derive(Debug)]
pub(crate) struct WireGuard<'a> {
    pub(crate) tools: &'a Tools,
    /// The name of the program.
    pub(crate) program: &'static str,
}

/// The version of the program.
pub(crate) fn version(program: &str, tools: &Tools) -> Result<String, String> {
    let path = find(program, tools)?;
    let text = printed(&path, &["--version"]).unwrap_or_default();
    let word = text.lines().next().and_then(|line| line.split_whitespace().last());
    Ok(word.unwrap_or("unknown").trim_start_matches('v').to_owned())
}

fn find(program: &str, tools: &Tools) -> Result<PathBuf, String> {
    let install = match program {
        "boringtun-cli" => "`make compare` installs the crate `boringtun-cli`",
        _ => "install the Debian package `wireguard-go`",
    };
    tools.find(program, install)
}

impl OtherCarrier for WireGuard<'_> {
    fn start(&self, ends: &Ends<'_>) -> Result<OtherPrograms, String> {
        let hosts = [ends.sender, ends.receiver];
        let outside = [ends.sender_address, ends.receiver_address];
        let keys = [key()?, key()?];
        let mut programs = Vec::new();
        for (i, host) in hosts.into_iter().enumerate() {
            let (device, peer) = (DEVICES[i], 1 - i);
            let mut command = Command::new(find(self.program, self.tools)?);
            command.args(["-f", device]).env("WG_PROCESS_FOREGROUND", "1");
            if self.program == "boringtun-cli" {
                // Otherwise boringtun gives up root, and then its device disappears when it is configured.
                command.arg("--disable-drop-privileges");
            }
            let socket = format!("/var/run/wireguard/{device}.sock");
            programs.push(start(host, command, ends.limit, || UnixStream::connect(&socket).is_ok())?);
            let public = hex(PrivateKey::from_bytes(keys[peer]).public().as_bytes());
            let settings = format!(
                "set=1\nprivate_key={}\nlisten_port={PORT}\nreplace_peers=true\npublic_key={public}\n\
                 endpoint={}:{PORT}\nreplace_allowed_ips=true\nallowed_ip={}/32\n\n",
                hex(&keys[i]),
                outside[peer],
                IpAddr::from(INSIDE[peer])
            );
            configure(&socket, &settings)?;
            let address = format!("{}/24", IpAddr::from(INSIDE[i]));
            for words in [&["addr", "add", &address, "dev", device][..], &["link", "set", device, "mtu", MTU, "up"]] {
                ip(host, words).map_err(|error| error.to_string())?;
            }
        }
        wait_for_path(hosts, ends.limit)?;
        Ok(OtherPrograms { address: INSIDE[1].into(), programs })
    }
}

fn key() -> Result<[u8; 32], String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Sends settings to a WireGuard.
fn configure(socket: &str, settings: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("configuring {socket}: {error}");
    let mut stream = UnixStream::connect(socket).map_err(failed)?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).map_err(failed)?;
    stream.write_all(settings.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(failed)?;
    if answer.trim() == "errno=0" { Ok(()) } else { Err(format!("configuring {socket}: {}", answer.trim())) }
}

/// Sends datagrams through the tunnel until one arrives, so that the handshake is over.
fn wait_for_path([sender, receiver]: [&Namespace; 2], limit: Duration) -> Result<(), String> {
    let socket = |host: &Namespace, address: [u8; 4]| -> Result<UdpSocket, String> {
        let bound = host.run(|| UdpSocket::bind((IpAddr::from(address), 7))).map_err(|error| error.to_string())?;
        bound.map_err(|error| error.to_string())
    };
    let (near, far) = (socket(sender, INSIDE[0])?, socket(receiver, INSIDE[1])?);
    far.set_read_timeout(Some(Duration::from_millis(200))).map_err(|error| error.to_string())?;
    let end = Instant::now() + limit;
    while Instant::now() < end {
        let _ = near.send_to(&[0; 32], (IpAddr::from(INSIDE[1]), 7));
        if far.recv(&mut [0; 64]).is_ok() {
            return Ok(());
        }
    }
    Err(format!("no datagram crossed the tunnel within {} s", limit.as_secs()))
}
