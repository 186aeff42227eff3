//! From TOML to [`DaemonConfig`]. An error in the content names its line and column. An error of
//! the file itself, such as a missing file, names only the path.

use super::file::{Classes, File, Interface, Peer, texts};
use super::{
    DEFAULT_NAME, DEFAULT_PORT, DaemonConfig, DaemonConfigError, HostPort, Listen, PeerSettings, StatusSocket,
};
use ipnet::IpNet;
use ripstop_base::{Bytes, Place, Span};
use ripstop_proto::endpoint::{EndpointConfig, IpPrefix};
use ripstop_proto::secure::{KeyError, PresharedKey, PrivateKey, PublicKey};
use ripstop_proto::session::tunnel::{ClassHints, ClassRule, Hint, TunnelConfig};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;
use toml::Spanned;
use zeroize::Zeroizing;

/// The smallest inner MTU that is allowed: 576 bytes, the datagram size that every IPv4 host accepts (RFC 791). The
/// inner MTU is the size of the largest packet that the tunnel carries.
const MIN_INNER_MTU: u32 = 576;
/// The largest file that is read, in bytes: a configuration or a private key. The limit guards against a wrong path: a
/// real configuration has a few kilobytes.
const MAX_FILE: u64 = 1 << 20;

/// The smallest budget of memory, bytes. A session without traffic holds less than 100 kB, and a session at 20 Mbit/s
/// and 100 ms about 2 MB. Half the value shrinks the sessions of ten such peers. Double the value excludes small devices.
const LEAST_MEMORY: u64 = 16_000_000;
/// The smallest budget of computing work, bytes per second. Decoding at 20 Mbit/s and 10 % loss takes at most 60 MB/s.
/// Half the value drops repairs at 2 Mbit/s. Double the value excludes small devices.
const LEAST_WORK: u64 = 10_000_000;
/// The largest budget of memory and of work, bytes. Half and double the value change nothing: no host has as much.
const MOST_BUDGET: u64 = 1_000_000_000_000;

/// The content of a file. More than [`MAX_FILE`] bytes are an error.
pub(super) fn text_of(path: &Path) -> Result<Zeroizing<String>, DaemonConfigError> {
    use std::io::Read;
    let wrong = |problem: String| DaemonConfigError::File { path: path.display().to_string(), problem };
    let file = std::fs::File::open(path).map_err(|error| {
        wrong(match error.kind() {
            std::io::ErrorKind::NotFound => "No such file; check the path".to_owned(),
            std::io::ErrorKind::PermissionDenied => {
                "this user may not read the file; run the command as the file's owner or as root".to_owned()
            }
            _ => error.to_string(),
        })
    })?;
    let mut text = Zeroizing::new(String::new());
    file.take(MAX_FILE + 1).read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
    if text.len() as u64 > MAX_FILE {
        return Err(wrong(format!(
            "the file has more than {MAX_FILE} bytes; name a file with a configuration or a private key"
        )));
    }
    Ok(text)
}

/// Whether users other than the owner have any access to the file.
fn is_exposed(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o077 != 0)
}

/// Reads the whole configuration.
pub(super) fn read(text: &str, path: &Path) -> Result<DaemonConfig, DaemonConfigError> {
    let mut reader = Reader { text, path, warnings: Vec::new(), exposed_keys: Vec::new() };
    if let Some((at, problem)) = super::wireguard::recognise(text) {
        return Err(reader.at(at..at, problem));
    }
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().unwrap_or(0..0);
        let hint = match reader.line_of(&at).trim_start().starts_with("[peer]") {
            true => ": a peer's section begins with [[peer]], in two brackets",
            false => "",
        };
        reader.at(at, format_args!("{}{hint}", error.message().trim_end()))
    })?;
    let Some(interface) = &file.interface else {
        return Err(reader.at(0..0, "the section [interface] is missing"));
    };
    let (at, interface) = (interface.span(), interface.get_ref());
    let private = reader.private_key(at.clone(), interface)?;
    let addresses = reader.addresses(at.clone(), &texts(interface.address.as_ref()))?;
    let name = reader.name(interface.name.as_ref())?;
    let peers = reader.peers(&file.peer, &private.public(), &addresses)?;
    // The IP and UDP headers of a datagram have 48 bytes with IPv6 and 28 bytes with IPv4.
    let over_v6 = peers.iter().filter_map(|peer| peer.endpoint.as_ref()?.address()).any(|a| a.is_ipv6());
    let tunnel = reader.tunnel(interface, if over_v6 { 48 } else { 28 })?;
    let status = match &interface.status {
        Some(path) => StatusSocket::At(reader.beside(path.get_ref())),
        None => StatusSocket::Default(StatusSocket::default_path(&name)),
    };
    let defaults = EndpointConfig::default();
    Ok(DaemonConfig {
        private,
        addresses,
        listen: reader.listen(interface)?,
        name,
        tunnel,
        acks: reader.optional("acks", interface.acks.as_ref(), str::parse)?.unwrap_or_default(),
        memory: reader
            .optional("memory", interface.memory.as_ref(), |text| budget(text, LEAST_MEMORY, ""))?
            .map_or(defaults.memory, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        work_per_second: reader
            .optional("work", interface.work.as_ref(), |text| budget(text, LEAST_WORK, " per second"))?
            .unwrap_or(defaults.work_per_second),
        metrics: reader.optional("metrics", interface.metrics.as_ref(), |text| {
            text.parse().map_err(|_| format!("`{text}` is not an address; write for example \"127.0.0.1:9482\""))
        })?,
        user: interface.user.clone(),
        status: Some(status),
        peers,
        warnings: reader.warnings,
        exposed_keys: reader.exposed_keys,
    })
}

struct Reader<'a> {
    text: &'a str,
    path: &'a Path,
    warnings: Vec<String>,
    exposed_keys: Vec<PathBuf>,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>, problem: impl fmt::Display) -> DaemonConfigError {
        let Place { line, column } = Place::of(self.text, span.start);
        let path = self.path.display().to_string();
        DaemonConfigError::Content { path, line, column, problem: problem.to_string() }
    }

    /// The line in which a span begins.
    fn line_of(&self, span: &Range<usize>) -> &str {
        let before = self.text.get(..span.start).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default()
    }

    fn wrong<T>(&self, field: &str, value: &Spanned<T>, problem: impl fmt::Display) -> DaemonConfigError {
        self.at(value.span(), format_args!("{field}: {problem}"))
    }

    /// Reads an optional value with the function `read`. An error names the field and its place.
    fn optional<T, V: AsRef<str>>(
        &self,
        field: &str,
        value: Option<&Spanned<V>>,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, DaemonConfigError> {
        let Some(value) = value else { return Ok(None) };
        read(value.get_ref().as_ref()).map(Some).map_err(|problem| self.wrong(field, value, problem))
    }

    /// Resolves a path that is written in the file. A relative path starts at the file's directory.
    fn beside(&self, path: &str) -> std::path::PathBuf {
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
    fn key<K: FromStr<Err = KeyError>>(
        &mut self,
        field: &str,
        key: Option<&Spanned<String>>,
        file: Option<&Spanned<String>>,
    ) -> Result<Option<K>, DaemonConfigError> {
        let (key, path) = match (key, file) {
            (None, None) => return Ok(None),
            (Some(key), None) => {
                let read = key.get_ref().parse().map_err(|error| self.wrong(field, key, error))?;
                (read, self.path.to_owned())
            }
            (None, Some(file)) => {
                let path = self.beside(file.get_ref());
                let field = format!("{field}-file");
                (super::read_key(&path).map_err(|error| self.wrong(&field, file, error))?, path)
            }
            (Some(_), Some(second)) => {
                let problem = format!("the section has a {field} too; keep one of the two");
                return Err(self.wrong(&format!("{field}-file"), second, problem));
            }
        };
        if is_exposed(&path) && !self.exposed_keys.contains(&path) {
            self.exposed_keys.push(path);
        }
        Ok(Some(key))
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
            addresses.push(address);
        }
        Ok(addresses)
    }

    fn name(&self, name: Option<&Spanned<String>>) -> Result<String, DaemonConfigError> {
        let Some(name) = name else { return Ok(DEFAULT_NAME.to_owned()) };
        let text = name.get_ref();
        let fits = (1..=15).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
            && !matches!(text.as_str(), "." | "..");
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
                let example = "for example \"0.0.0.0:5182\" or \"[::]:5182\"";
                listen.get_ref().parse().map(Listen::At).map_err(|_| {
                    let problem = format_args!("`{}` is not an address with a port; write {example}", listen.get_ref())
                        .to_string();
                    self.wrong("listen", listen, problem)
                })
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

    fn peers(
        &mut self,
        list: &[Spanned<Peer>],
        own: &PublicKey,
        addresses: &[IpNet],
    ) -> Result<Vec<PeerSettings>, DaemonConfigError> {
        let mut peers: Vec<PeerSettings> = Vec::new();
        let mut prefixes: BTreeMap<IpPrefix, String> = BTreeMap::new();
        for peer in list {
            let (at, peer) = (peer.span(), peer.get_ref());
            let Some(key) = &peer.public_key else {
                let problem = "[[peer]] has no public-key; `ripstop keys show` on the other host prints it";
                return Err(self.at(at, problem));
            };
            let public: PublicKey = key.get_ref().parse().map_err(|error| self.wrong("public-key", key, error))?;
            if public == *own {
                return Err(self.wrong(
                    "public-key",
                    key,
                    "this is this host's own key; write the other host's public key",
                ));
            }
            if let Some(twin) = peers.iter().find(|other| other.public == public) {
                let problem = format!("the peer `{}` has this key already; every peer needs its own key", twin.name);
                return Err(self.wrong("public-key", key, problem));
            }
            let name = peer.name.as_ref().map_or_else(|| public.to_string(), |name| name.get_ref().clone());
            if let Some(written) = &peer.name
                && peers.iter().any(|other| other.name == name)
            {
                return Err(self.wrong(
                    "name",
                    written,
                    format_args!("two peers are called `{name}`; give each its own name"),
                ));
            }
            let allowed_ips = self.allowed_ips(at, peer, &name, &mut prefixes, addresses)?;
            let preshared: Option<PresharedKey> =
                self.key("preshared-key", peer.preshared_key.as_ref(), peer.preshared_key_file.as_ref())?;
            peers.push(PeerSettings {
                public,
                preshared,
                endpoint: self.optional("endpoint", peer.endpoint.as_ref(), |text| {
                    HostPort::parse(text).ok_or_else(|| {
                        format!(
                            "`{text}` is not a host with a port; write for example \"vpn.example.org:5182\", \
                             \"192.0.2.1:5182\" or \"[2001:db8::1]:5182\""
                        )
                    })
                })?,
                allowed_ips,
                keepalive: self.optional("keepalive", peer.keepalive.as_ref(), |text| {
                    span(text, Duration::from_secs(1)..=Duration::from_secs(65_535))
                })?,
                name,
            });
        }
        Ok(peers)
    }

    /// Reads the allowed prefixes of the peer `name` and adds them to `prefixes`. `prefixes` maps
    /// each prefix of the peers read so far to the name of the peer that owns the prefix.
    fn allowed_ips(
        &self,
        at: std::ops::Range<usize>,
        peer: &Peer,
        name: &str,
        prefixes: &mut BTreeMap<IpPrefix, String>,
        addresses: &[IpNet],
    ) -> Result<Vec<IpPrefix>, DaemonConfigError> {
        let list = texts(peer.allowed_ips.as_ref());
        if list.is_empty() {
            let problem =
                "[[peer]] has no allowed-ips; write the networks behind the peer, for example [\"10.77.0.2/32\"]";
            return Err(self.at(at, problem));
        }
        let mut allowed_ips = Vec::new();
        for item in &list {
            let prefix: IpPrefix = item.get_ref().parse().map_err(|error| self.wrong("allowed-ips", item, error))?;
            if let Some(owner) = prefixes.insert(prefix, name.to_owned()) {
                let problem = format!("{prefix} belongs to the peer `{owner}` already; a prefix has only one peer");
                return Err(self.wrong("allowed-ips", item, problem));
            }
            let is_v6 = prefix.address().is_ipv6();
            if !addresses.iter().any(|address| address.addr().is_ipv6() == is_v6) {
                let (family, example) = if is_v6 { ("IPv6", "fd77::1/64") } else { ("IPv4", "10.77.0.1/24") };
                let problem = format!("{prefix}: the interface has no {family} address; add for example \"{example}\"");
                return Err(self.wrong("allowed-ips", item, problem));
            }
            allowed_ips.push(prefix);
        }
        Ok(allowed_ips)
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

fn span(text: &str, range: std::ops::RangeInclusive<Duration>) -> Result<Duration, String> {
    let span = Span::from_str(text).map_err(|error| error.to_string())?;
    if range.contains(&span.duration()) {
        return Ok(span.duration());
    }
    let (least, most) = (Span::from(*range.start()), Span::from(*range.end()));
    Err(format!("{span} is out of range; write {least} to {most}"))
}
