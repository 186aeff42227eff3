//! From TOML to [`DaemonConfig`]. An error in the content names its line and column. An error of
//! the file itself, such as a missing file, names only the path.

use super::addresses;
use super::file::{Classes, File, Interface, texts};
use super::security;
use super::{DEFAULT_NAME, DEFAULT_PORT, DaemonConfig, DaemonConfigError, Listen, PeerSettings, StatusSocket};
use crate::os::settings_file::SettingsFile;
use ipnet::IpNet;
use ripstop_base::text::is_control;
use ripstop_base::{Bytes, Place, Span};
use ripstop_proto::endpoint::EndpointConfig;
use ripstop_proto::packets::{ClassHints, ClassRule, Hint};
use ripstop_proto::secure::{KeyError, PrivateKey};
use ripstop_proto::session::tunnel::TunnelConfig;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;

/// The smallest inner MTU that is allowed: 576 bytes, the datagram size that every IPv4 host accepts (RFC 791). The
/// inner MTU is the size of the largest packet that the tunnel carries.
const MIN_INNER_MTU: u32 = 576;

/// The longest path of a socket, in bytes: the room in a socket's address, less the byte that ends the path (unix(7)).
const LONGEST_SOCKET_PATH: usize = 107;
/// The smallest budget of memory, bytes. A session without traffic holds less than 100 kB, and a session at 20 Mbit/s
/// and 100 ms about 2 MB. Half the value shrinks the sessions of ten such peers. Double the value excludes small devices.
const LEAST_MEMORY: u64 = 16_000_000;
/// The smallest budget of computing work, bytes per second. Decoding at 20 Mbit/s and 10 % loss takes at most 60 MB/s.
/// Half the value drops repairs at 2 Mbit/s. Double the value excludes small devices.
const LEAST_WORK: u64 = 10_000_000;
/// The largest budget of memory and of work, bytes. Half and double the value change nothing: no host has as much.
const MOST_BUDGET: u64 = 1_000_000_000_000;

/// Reads the whole configuration: the text of the file at `path`. If the text was read from the file, `file` says who may
/// change it.
pub(super) fn read(text: &str, path: &Path, file: Option<&SettingsFile>) -> Result<DaemonConfig, DaemonConfigError> {
    let mut reader = Reader { text, path, warnings: Vec::new(), has_key: false, key_files: Vec::new() };
    if let Some((at, problem)) = super::wireguard::recognise(text) {
        return Err(reader.at(at..at, problem));
    }
    let sections: File = toml::from_str(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        let hint = match reader.line_of(&at).trim_start().starts_with("[peer]") {
            true => ": a peer's section begins with [[peer]], in two brackets",
            false => "",
        };
        reader.at(at, format_args!("{}{hint}", error.message().trim_end()))
    })?;
    let Some(interface) = &sections.interface else {
        return Err(reader.at(0..0, "the section [interface] is missing"));
    };
    let (at, interface) = (interface.span(), interface.get_ref());
    let private = reader.private_key(at.clone(), interface)?;
    let listen = reader.listen(interface)?;
    let addresses = reader.addresses(at.clone(), &texts(interface.address.as_ref()))?;
    let name = reader.name(interface.name.as_ref())?;
    let peers = reader.peers(&sections.peer, &private.public(), &addresses)?;
    reader.check_listen(interface, &listen, &addresses, &peers)?;
    // The IP and UDP headers of a datagram have 48 bytes with IPv6 and 28 bytes with IPv4.
    let over_v6 = peers.iter().filter_map(|peer| peer.endpoint.as_ref()?.ip()).any(|ip| ip.is_ipv6());
    let tunnel = reader.tunnel(interface, if over_v6 { 48 } else { 28 })?;
    let status = match &interface.status {
        Some(path) => StatusSocket::At(reader.status(path)?),
        None => StatusSocket::Default(StatusSocket::default_path(&name)),
    };
    let defaults = EndpointConfig::default();
    let user = reader.optional("user", interface.user.as_ref(), user)?;
    let has_key = reader.has_key;
    let own = file.map(|file| security::FileToJudge { path, file, has_key });
    let keys = reader.key_files.iter().map(|(path, file)| security::FileToJudge { path, file, has_key: true });
    let (insecure_files, loose) = security::judge(own.into_iter().chain(keys), user.as_deref());
    reader.warnings.extend(loose);
    Ok(DaemonConfig {
        private,
        addresses,
        listen,
        name,
        tunnel,
        acks: reader.optional("acks", interface.acks.as_ref(), str::parse)?.unwrap_or_default(),
        memory: reader
            .optional("memory", interface.memory.as_ref(), |text| budget(text, LEAST_MEMORY, ""))?
            .map_or(defaults.memory, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        work_per_second: reader
            .optional("work", interface.work.as_ref(), |text| budget(text, LEAST_WORK, " per second"))?
            .unwrap_or(defaults.work_per_second),
        metrics: reader
            .optional("metrics", interface.metrics.as_ref(), |text| addresses::to_listen(text, "\"127.0.0.1:9482\""))?,
        user,
        status: Some(status),
        peers,
        warnings: reader.warnings,
        insecure_files,
    })
}

/// What the reading of a configuration has found so far.
pub(super) struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    warnings: Vec<String>,
    /// Whether the configuration itself holds a secret key.
    has_key: bool,
    /// The files with secret keys.
    key_files: Vec<(PathBuf, SettingsFile)>,
}

impl Reader<'_> {
    pub(super) fn at(&self, span: Range<usize>, problem: impl fmt::Display) -> DaemonConfigError {
        let Place { line, column } = Place::of(self.text, span.start);
        DaemonConfigError::content(self.path, line, column, &problem.to_string())
    }

    /// The line in which a span begins.
    fn line_of(&self, span: &Range<usize>) -> &str {
        let before = self.text.get(..span.start).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
    }

    pub(super) fn wrong<T>(&self, field: &str, value: &Spanned<T>, problem: impl fmt::Display) -> DaemonConfigError {
        self.at(value.span(), format_args!("{field}: {problem}"))
    }

    /// Reads an optional value with the function `read`. An error names the field and its place.
    pub(super) fn optional<T, V: AsRef<str>>(
        &self,
        field: &str,
        value: Option<&Spanned<V>>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, DaemonConfigError> {
        let Some(value) = value else { return Ok(None) };
        read(value.get_ref().as_ref()).map(Some).map_err(|problem| self.wrong(field, value, problem))
    }

    /// Resolves a path that is written in the file. A relative path starts at the file's directory.
    fn beside(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    fn private_key(&mut self, at: Range<usize>, interface: &Interface) -> Result<PrivateKey, DaemonConfigError> {
        let key = self.key("private-key", interface.private_key.as_ref(), interface.private_key_file.as_ref())?;
        key.ok_or_else(|| {
            self.at(
                at,
                "[interface] has no private-key: write private-key = \"...\" or private-key-file = \"...\"; \
                 `ripstop keys new` makes a key",
            )
        })
    }

    /// Reads a secret key, which the setting `field` gives, or a file that the setting `field`-file
    /// names. Notes the file with the key if other users have access to it.
    pub(super) fn key<K: FromStr<Err = KeyError>>(
        &mut self,
        field: &str,
        key: Option<&Spanned<String>>,
        file: Option<&Spanned<String>>,
    ) -> Result<Option<K>, DaemonConfigError> {
        match (key, file) {
            (None, None) => Ok(None),
            (Some(key), None) => {
                self.has_key = true;
                key.get_ref().parse().map(Some).map_err(|error| self.wrong(field, key, error))
            }
            (None, Some(file)) => {
                let path = self.beside(file.get_ref());
                let field = format!("{field}-file");
                let (key, file) = super::key_file(&path).map_err(|error| self.wrong(&field, file, error))?;
                self.key_files.push((path, file));
                Ok(Some(key))
            }
            (Some(_), Some(second)) => {
                let problem = format!("the section has a {field} too; keep one of the two");
                Err(self.wrong(&format!("{field}-file"), second, problem))
            }
        }
    }

    fn addresses(&self, at: Range<usize>, list: &[Spanned<String>]) -> Result<Vec<IpNet>, DaemonConfigError> {
        const EXAMPLE: &str = "for example address = [\"10.77.0.1/24\", \"fd77::1/64\"]";
        if list.is_empty() {
            return Err(self.at(at, format_args!("[interface] has no address; write {EXAMPLE}")));
        }
        let mut addresses: Vec<IpNet> = Vec::new();
        for item in list {
            let wrong = |problem: &str| {
                self.wrong("address", item, format_args!("`{}` {problem}; write {EXAMPLE}", item.get_ref()))
            };
            let address: IpNet =
                item.get_ref().trim().parse().map_err(|_| wrong("is not an address with a prefix length"))?;
            let has_v4 = addresses.iter().any(|a| matches!(a, IpNet::V4(_)));
            if has_v4 && matches!(address, IpNet::V4(_)) {
                return Err(wrong("is a second IPv4 address; only one IPv4 address is possible"));
            }
            if addresses.iter().any(|a| a.addr() == address.addr()) {
                return Err(wrong("appears twice"));
            }
            addresses::check_own(address).map_err(|problem| self.wrong("address", item, problem))?;
            addresses.push(address);
        }
        Ok(addresses)
    }

    /// Checks what the UDP address has to do with the other settings.
    fn check_listen(
        &mut self,
        interface: &Interface,
        listen: &Listen,
        addresses: &[IpNet],
        peers: &[PeerSettings],
    ) -> Result<(), DaemonConfigError> {
        let (Listen::At(at), Some(written)) = (listen, &interface.listen) else { return Ok(()) };
        if addresses.iter().any(|own| own.addr() == at.ip()) {
            let problem = "this is the tunnel's own address; write an address of this host outside the tunnel";
            return Err(self.wrong("listen", written, problem));
        }
        // An IPv6 socket at `::` serves IPv4 too.
        let serves = |ip: IpAddr| at.ip().is_ipv6() == ip.is_ipv6() || at.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        for peer in peers {
            if let Some(endpoint) =
                peer.endpoint.as_ref().filter(|endpoint| endpoint.ip().is_some_and(|ip| !serves(ip)))
            {
                self.warnings.push(format!(
                    "listen: a socket at {at} sends no datagram to the peer `{}` at {endpoint}, which has another address \
                     family; change `endpoint` or `listen`",
                    peer.name
                ));
            }
        }
        Ok(())
    }

    fn status(&self, path: &Spanned<String>) -> Result<PathBuf, DaemonConfigError> {
        let socket = self.beside(path.get_ref());
        let shown = |problem: String| Err(self.wrong("status", path, problem));
        let bytes = socket.as_os_str().len();
        if bytes > LONGEST_SOCKET_PATH {
            return shown(format!(
                "the path has {bytes} bytes; a socket's path has at most {LONGEST_SOCKET_PATH}, so write a shorter path"
            ));
        }
        if path.get_ref().ends_with('/') || socket.file_name().is_none() {
            return shown(
                "this is a directory; write the path of a socket, for example \"/run/ripstop/rip0.sock\"".to_owned(),
            );
        }
        if path.get_ref().contains('\0') {
            return shown("a path has no NUL character; write for example \"/run/ripstop/rip0.sock\"".to_owned());
        }
        Ok(socket)
    }

    fn name(&self, name: Option<&Spanned<String>>) -> Result<String, DaemonConfigError> {
        let Some(name) = name else { return Ok(DEFAULT_NAME.to_owned()) };
        let text = name.get_ref();
        let fits = (1..=15).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            && !matches!(text.as_str(), "." | "..");
        // The kernel has settings of all devices and of new devices under two of these names, and the loopback device.
        if matches!(text.as_str(), "all" | "default" | "lo") {
            let problem = format!("the kernel needs the name `{text}` for itself; write for example \"rip0\"");
            return Err(self.wrong("name", name, problem));
        }
        if !fits {
            let problem = "a device name has 1 to 15 letters, digits, `-`, `_` or `.`; for example \"rip0\"";
            return Err(self.wrong("name", name, problem));
        }
        Ok(text.clone())
    }

    fn listen(&self, interface: &Interface) -> Result<Listen, DaemonConfigError> {
        match (&interface.listen, &interface.port) {
            (Some(_), Some(port)) => {
                Err(self.wrong("port", port, "the section has a listen address too; keep one of the two"))
            }
            (Some(listen), None) => {
                let read = addresses::to_listen(listen.get_ref(), "\"0.0.0.0:5182\" or \"[::]:5182\"");
                read.map(Listen::At).map_err(|problem| self.wrong("listen", listen, problem))
            }
            (None, Some(port)) => port.get_ref().parse().map(Listen::Everywhere).map_err(|_| {
                let problem = format!("`{}` is not a port; write 0 to 65535, for example 5182", port.get_ref());
                self.wrong("port", port, problem)
            }),
            (None, None) => Ok(Listen::Everywhere(DEFAULT_PORT)),
        }
    }

    fn tunnel(&mut self, interface: &Interface, header: u32) -> Result<TunnelConfig, DaemonConfigError> {
        let mut tunnel = TunnelConfig { header, ..TunnelConfig::default() };
        if let Some(mtu) = &interface.mtu {
            let overhead = tunnel.path_mtu - tunnel.inner_mtu();
            let value: u32 = mtu.get_ref().parse().ok().filter(|mtu| *mtu <= 65_535).ok_or_else(|| {
                let problem = format!(
                    "`{}` is not an MTU; write the path's MTU in bytes, at most 65535, for example 1500",
                    mtu.get_ref()
                );
                self.wrong("mtu", mtu, problem)
            })?;
            tunnel.path_mtu = value;
            let inner = value.saturating_sub(overhead);
            if inner < MIN_INNER_MTU {
                let problem = format!(
                    "{value} is too small: only {inner} bytes remain for inner packets; write at least {}",
                    MIN_INNER_MTU + overhead
                );
                return Err(self.wrong("mtu", mtu, problem));
            }
        }
        if let Some(rate) = self.optional("rate", interface.rate.as_ref(), str::parse)? {
            tunnel.rate = rate;
        }
        if let Some(redundancy) = self.optional("redundancy", interface.redundancy.as_ref(), str::parse)? {
            tunnel.redundancy = redundancy;
        }
        if let Some(code) = &interface.code {
            tunnel.code = code.get_ref().code().map_err(|problem| self.wrong("code", code, problem))?;
        }
        tunnel.ecn = interface.ecn.unwrap_or(tunnel.ecn);
        if let Some(most) = &interface.max_overhead {
            if let Some(bulk) = self.optional("max-overhead.bulk", most.bulk.as_ref(), overhead)? {
                tunnel.max_overhead_bulk = bulk;
            }
            let interactive = self.optional("max-overhead.interactive", most.interactive.as_ref(), overhead)?;
            if let Some(interactive) = interactive {
                tunnel.max_overhead_interactive = interactive;
            }
        }
        if let Some(classes) = &interface.classes {
            tunnel.classes = self.classes(classes)?;
        }
        tunnel.deadline = self.optional("deadline", interface.deadline.as_ref(), |text| {
            span(text, Duration::from_millis(1)..=Duration::from_secs(600))
        })?;
        Ok(tunnel)
    }

    /// Reads the rules for classes. They are added to the default rules, and precede them.
    fn classes(&self, classes: &Classes) -> Result<ClassHints, DaemonConfigError> {
        let mut hints = ClassHints::default();
        let mut known: Vec<ClassRule> = Vec::new();
        for (name, list, hint) in [
            ("interactive", &classes.interactive, Hint::Interactive),
            ("bulk", &classes.bulk, Hint::Bulk),
            ("neutral", &classes.neutral, Hint::None),
        ] {
            for item in texts(list.as_ref()) {
                let field = format!("classes.{name}");
                let rule: ClassRule = item.get_ref().parse().map_err(|error| self.wrong(&field, &item, error))?;
                if known.contains(&rule) {
                    return Err(self.wrong(&field, &item, format_args!("`{rule}` appears twice; keep one of the two")));
                }
                known.push(rule);
                hints.add(rule, hint);
            }
        }
        Ok(hints)
    }
}

/// Reads a limit on repair bytes per source byte, as a number or in per cent. Unlike a
/// [`ripstop_base::Fraction`], the limit may exceed 1.
fn overhead(text: &str) -> Result<f64, String> {
    let (number, scale) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |n| (n.trim(), 0.01));
    match number.parse::<f64>() {
        Ok(value) if (0.0..=10.0).contains(&(value * scale)) => Ok(value * scale),
        _ => Err(format!(
            "`{text}` is not an overhead between 0 and 1000% (repair bytes per source byte); write for example \"100%\" or 0.2"
        )),
    }
}

/// Reads the name of a user.
fn user(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(|c: char| is_control(c) || c == ':') {
        true => Err("this is not the name of a user; write for example \"nobody\"".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Reads a budget in bytes.
fn budget(text: &str, least: u64, per: &str) -> Result<u64, String> {
    let bytes = Bytes::from_str(text).map_err(|error| error.to_string())?;
    match bytes.get() {
        value if (least..=MOST_BUDGET).contains(&value) => Ok(value),
        _ => Err(format!(
            "{bytes} is out of range; write {} to {}{per}, for example \"1GB\"",
            Bytes::new(least),
            Bytes::new(MOST_BUDGET)
        )),
    }
}

pub(super) fn span(text: &str, range: std::ops::RangeInclusive<Duration>) -> Result<Duration, String> {
    let span = Span::from_str(text).map_err(|error| error.to_string())?;
    if range.contains(&span.duration()) {
        return Ok(span.duration());
    }
    let (least, most) = (Span::from(*range.start()), Span::from(*range.end()));
    Err(format!("{span} is out of range; write {least} to {most}"))
}
