//! What a daemon is told: [`DaemonConfig`], and how it is read from a file.

mod read;
#[cfg(test)]
mod tests;

use ipnet::IpNet;
use ripstop_proto::endpoint::IpPrefix;
use ripstop_proto::secure::{PrivateKey, PublicKey};
use ripstop_proto::session::tunnel::Config as TunnelConfig;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The port that a daemon listens on when the configuration names none.
pub const DEFAULT_PORT: u16 = 5182;
/// The device's name when the configuration names none.
pub const DEFAULT_NAME: &str = "rip0";
/// Where status sockets are when the configuration names no other place.
pub const STATUS_DIRECTORY: &str = "/run/ripstop";

/// Everything a daemon is told.
#[derive(Clone, Debug)]
pub struct DaemonConfig {
    /// The key of this end.
    pub private: PrivateKey,
    /// Addresses of the tunnel's device, with the prefix that is reached through it.
    pub addresses: Vec<IpNet>,
    /// Where to listen.
    pub listen: Listen,
    /// Name of the device.
    pub name: String,
    /// The tunnel's settings; its path MTU is where the search begins.
    pub tunnel: TunnelConfig,
    /// Where metrics are served; None: nowhere.
    pub metrics: Option<SocketAddr>,
    /// The socket that tells the status; None: there is none.
    pub status: Option<StatusSocket>,
    /// The peers.
    pub peers: Vec<PeerSettings>,
    /// What is allowed and may not be meant.
    pub warnings: Vec<String>,
}

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// At this port of every address of this host; 0 lets the kernel choose.
    Everywhere(u16),
    /// Here.
    At(SocketAddr),
}

/// The socket that tells the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatusSocket {
    /// At this path, which the user wants.
    At(PathBuf),
    /// At the usual path, if that can be.
    Usual(PathBuf),
}

/// A peer.
#[derive(Clone, Debug)]
pub struct PeerSettings {
    /// Its key.
    pub public: PublicKey,
    /// Where it is; None when it will call.
    pub endpoint: Option<HostPort>,
    /// What is inside, behind it.
    pub allowed_ips: Vec<IpPrefix>,
    /// How often something is sent when nothing else is.
    pub keepalive: Option<Duration>,
    /// Its name, or its key as text.
    pub name: String,
}

/// A host by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// Name or address, without brackets.
    pub host: String,
    /// UDP port.
    pub port: u16,
}

/// Why a configuration cannot be used: where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: {problem}")]
    File {
        /// Which file.
        path: String,
        /// What the system said.
        problem: String,
    },
    /// Something in it cannot be.
    #[error("{path}:{line}:{column}: {problem}")]
    Content {
        /// Which file.
        path: String,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, characters.
        column: usize,
        /// The field, what is wrong with it and what would be right.
        problem: String,
    },
}

impl DaemonConfig {
    /// Reads the file at `path`; relative paths in it are meant from where it is.
    ///
    /// # Errors
    /// File, line, column, field, what is wrong and what would be right.
    pub fn load(path: &Path) -> Result<DaemonConfig, ConfigError> {
        DaemonConfig::parse(&read::text_of(path)?, path)
    }

    /// Reads `text`, which is the content of the file at `path`.
    ///
    /// # Errors
    /// As [`DaemonConfig::load`].
    pub fn parse(text: &str, path: &Path) -> Result<DaemonConfig, ConfigError> {
        read::read(text, path)
    }

    /// The public key of this end.
    pub fn public(&self) -> PublicKey {
        self.private.public()
    }
}

/// Reads the private key in the file at `path`: its one line of base64.
///
/// # Errors
/// Why it cannot be read, or that it holds no key; what it holds instead is not repeated.
pub fn read_key(path: &Path) -> Result<PrivateKey, ConfigError> {
    let text = read::text_of(path)?;
    text.trim().parse().map_err(|error: ripstop_proto::secure::KeyError| ConfigError::File {
        path: path.display().to_string(),
        problem: error.to_string(),
    })
}

impl StatusSocket {
    /// Where the daemon of the device `name` has it unless told otherwise.
    pub fn usual(name: &str) -> PathBuf {
        Path::new(STATUS_DIRECTORY).join(format!("{name}.sock"))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        match self {
            StatusSocket::At(path) | StatusSocket::Usual(path) => path,
        }
    }
}

impl HostPort {
    /// The address, when no name has to be looked up.
    pub fn address(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.host.parse().ok()?, self.port))
    }

    /// Reads `host:port`, `1.2.3.4:5182` or `[fd00::1]:5182`.
    pub fn parse(text: &str) -> Option<HostPort> {
        let (host, port) = text.trim().rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        let host = match host.strip_prefix('[') {
            Some(inside) => inside.strip_suffix(']').filter(|host| host.contains(':'))?,
            None => host,
        };
        let named = !host.is_empty() && host.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
        let is_v6 = host.parse::<std::net::Ipv6Addr>().is_ok() && text.trim().starts_with('[');
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
