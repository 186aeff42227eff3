//! The daemon's configuration ([`DaemonConfig`]), and how the configuration is read from a file.

mod addresses;
mod file;
mod host;
mod peers;
mod read;
mod security;
#[cfg(test)]
mod tests;
mod wireguard;

use crate::os::settings_file::SettingsFile;
use crate::os::zoned::ZonedAddress;
use ipnet::IpNet;
use ripstop_base::text::printable;
use ripstop_proto::endpoint::{Acks, IpPrefix};
use ripstop_proto::secure::{KeyError, PresharedKey, PrivateKey, PublicKey};
use ripstop_proto::session::tunnel::TunnelConfig;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// The smallest MTU of IPv6, in bytes (RFC 8200, section 5). The kernel removes IPv6 from a device
/// with a smaller MTU.
pub(super) const MIN_IPV6_MTU: u32 = 1280;
/// Default UDP port.
pub const DEFAULT_PORT: u16 = 5182;
/// Default name of the device.
pub const DEFAULT_NAME: &str = "rip0";
/// Default directory of status sockets.
pub const STATUS_DIRECTORY: &str = "/run/ripstop";

/// Everything that a daemon is configured with.
#[derive(Clone, Debug)]
pub struct DaemonConfig {
    /// This host's private key.
    pub private: PrivateKey,
    /// Addresses of the tunnel's device, each with the prefix reached through the device.
    pub addresses: Vec<IpNet>,
    /// The UDP address to listen on.
    pub listen: Listen,
    /// Name of the device.
    pub name: String,
    /// The tunnel's settings. The search for the path MTU starts at the field `path_mtu`.
    pub tunnel: TunnelConfig,
    /// When the TCPs of this host's side are told that their data has arrived.
    pub acks: Acks,
    /// The largest number of bytes that the sessions of all peers may hold
    /// ([`EndpointConfig::memory`](ripstop_proto::endpoint::EndpointConfig::memory)).
    pub memory: usize,
    /// The computing work that the packets of all peers may cause, bytes combined per second
    /// ([`EndpointConfig::work_per_second`](ripstop_proto::endpoint::EndpointConfig::work_per_second)).
    pub work_per_second: u64,
    /// The TCP address at which metrics are served over HTTP; None: metrics are not served.
    pub metrics: Option<ZonedAddress>,
    /// The user to which the daemon changes after its start; None: the user who started it.
    pub user: Option<String>,
    /// The status socket; None: there is no status socket.
    pub status: Option<StatusSocket>,
    /// The peers.
    pub peers: Vec<PeerSettings>,
    /// Warnings about settings that are allowed but may not be intended.
    pub warnings: Vec<String>,
    /// The files that other users may change, and the files with secret keys to which other users have access. The
    /// caller decides whether to refuse such files.
    pub insecure_files: Vec<InsecureFile>,
}

/// A file that the daemon should not trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsecureFile {
    /// The path of the file.
    pub path: PathBuf,
    /// A sentence that names the file, the problem and the remedy.
    pub problem: String,
}

/// The UDP address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// This port on every address of the host; 0 lets the kernel choose.
    Everywhere(u16),
    /// This address and port.
    At(ZonedAddress),
}

/// The Unix socket at which the daemon reports its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusSocket {
    /// At a path that the configuration names. The daemon does not start if the socket cannot be opened.
    At(PathBuf),
    /// At the default path. If the socket cannot be opened, the daemon runs without a status socket.
    Default(PathBuf),
}

/// A peer: another host, at the other end of the tunnel.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    /// The peer's public key.
    pub public: PublicKey,
    /// The key that this host shares with the peer in addition to the other keys.
    pub preshared: Option<PresharedKey>,
    /// The peer's address; None: the peer must start the handshake.
    pub endpoint: Option<HostPort>,
    /// The networks behind the peer. Packets to these networks go to the peer, and the peer may send
    /// only packets from these networks.
    pub allowed_ips: Vec<IpPrefix>,
    /// Longest time without a datagram to the peer; None: datagrams are sent only when there is
    /// something to send.
    pub keepalive: Option<Duration>,
    /// The peer's name. Default: the peer's public key as text.
    pub name: String,
}

/// A host by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostPort {
    /// Name or address, without brackets. A link-local address has its zone: `fe80::a%eth0`.
    pub host: String,
    /// UDP port.
    pub port: u16,
}

/// Why a configuration cannot be used. The message says where the problem is, and what would be
/// right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DaemonConfigError {
    /// The file cannot be read.
    #[error("{path}: {problem}")]
    File {
        /// The path of the file.
        path: String,
        /// The system's error, or why the file as a whole cannot be used.
        problem: String,
    },
    /// The content of the file is not valid.
    #[error("{path}:{line}:{column}: {problem}")]
    Content {
        /// The path of the file.
        path: String,
        /// The line, counted from 1.
        line: usize,
        /// The column in characters, counted from 1.
        column: usize,
        /// The field, the problem and what would be right.
        problem: String,
    },
}

impl DaemonConfig {
    /// Reads the file at `path`. Relative paths in the file are relative to the file's directory.
    ///
    /// # Errors
    /// The file cannot be read, or its content is not valid. See [`DaemonConfigError`].
    pub fn load(path: &Path) -> Result<DaemonConfig, DaemonConfigError> {
        let file = SettingsFile::read(path).map_err(|problem| DaemonConfigError::file(path, &problem))?;
        read::read(&file.text, path, Some(&file))
    }

    /// Checks what the configuration at `path` wants of this host: the user, and the directory of the status socket. The
    /// network is not looked at: neither addresses, ports and devices nor the rights of this user. A daemon that starts
    /// does without this check: it meets the same problems, and they may be gone when it is started again.
    ///
    /// # Errors
    /// The setting that this host does not meet.
    pub fn check_host(&self, path: &Path) -> Result<(), DaemonConfigError> {
        host::check(self, path)
    }

    /// Reads `text` as the content of the file at `path`.
    ///
    /// # Errors
    /// The content is not valid, or the file of the private key cannot be used.
    pub fn parse(text: &str, path: &Path) -> Result<DaemonConfig, DaemonConfigError> {
        read::read(text, path, None)
    }

    /// The public key of this host.
    pub fn public(&self) -> PublicKey {
        self.private.public()
    }
}

/// Reads the key in the file at `path`, a private or a pre-shared key: one line of base64.
///
/// # Errors
/// The file cannot be read or holds no key. The message does not repeat the file's content.
pub fn read_key<K: FromStr<Err = KeyError>>(path: &Path) -> Result<K, DaemonConfigError> {
    key_file(path).map(|(key, _)| key)
}

fn key_file<K: FromStr<Err = KeyError>>(path: &Path) -> Result<(K, SettingsFile), DaemonConfigError> {
    let file = SettingsFile::read(path).map_err(|problem| DaemonConfigError::file(path, &problem))?;
    let key = file.text.trim().parse();
    key.map(|key| (key, file)).map_err(|error: KeyError| DaemonConfigError::file(path, &error.to_string()))
}

impl DaemonConfigError {
    /// An error of the whole file. Control characters are escaped, because the message is printed.
    fn file(path: &Path, problem: &str) -> DaemonConfigError {
        let path = printable(&path.display().to_string()).into_owned();
        DaemonConfigError::File { path, problem: printable(problem).into_owned() }
    }

    /// An error of the content. Control characters are escaped, because the message may repeat a text of the file.
    fn content(path: &Path, line: usize, column: usize, problem: &str) -> DaemonConfigError {
        let path = printable(&path.display().to_string()).into_owned();
        DaemonConfigError::Content { path, line, column, problem: printable(problem).into_owned() }
    }
}

impl StatusSocket {
    /// The default path of the status socket for the device `name`.
    pub fn default_path(name: &str) -> PathBuf {
        Path::new(STATUS_DIRECTORY).join(format!("{name}.sock"))
    }

    /// The path of the socket.
    pub fn path(&self) -> &Path {
        match self {
            StatusSocket::At(path) | StatusSocket::Default(path) => path,
        }
    }
}

impl HostPort {
    /// The address; None if the host is a name that must be resolved, or if no device has the name of the zone yet.
    pub fn address(&self) -> Option<SocketAddr> {
        self.to_string().parse::<ZonedAddress>().ok()?.resolve().ok()
    }

    /// The address without its zone and port; None if the host is a name.
    pub fn ip(&self) -> Option<IpAddr> {
        self.host.split('%').next()?.parse().ok()
    }

    /// The zone of a link-local address.
    pub fn zone(&self) -> Option<&str> {
        self.host.split_once('%').map(|(_, zone)| zone)
    }

    /// Reads `host:port`, `1.2.3.4:5182`, `[fd00::1]:5182` or `[fe80::a%eth0]:5182`; None for any other form.
    pub fn parse(text: &str) -> Option<HostPort> {
        let (host, port) = text.trim().rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        let host = match host.strip_prefix('[') {
            Some(inside) => inside.strip_suffix(']').filter(|host| host.contains(':'))?,
            None => host,
        };
        let named = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        // The system's resolver takes `10.1` and `10.0.0.300` for addresses, or asks the name server in vain.
        let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
        let is_number = !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit());
        let named = named && (!is_number || host.parse::<IpAddr>().is_ok());
        let is_v6 = text.trim().starts_with('[')
            && match host.contains('%') {
                true => text.parse::<ZonedAddress>().is_ok(),
                false => host.parse::<std::net::Ipv6Addr>().is_ok(),
            };
        (named || is_v6).then(|| HostPort { host: host.to_owned(), port })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}
