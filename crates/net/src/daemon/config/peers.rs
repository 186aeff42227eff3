//! Reads the sections [[peer]].

use super::addresses;
use super::file::{Peer, texts};
use super::read::{Reader, span};
use super::{DaemonConfigError, PeerSettings};
use ipnet::IpNet;
use ripstop_base::text::is_control;
use ripstop_proto::endpoint::IpPrefix;
use ripstop_proto::secure::{PresharedKey, PublicKey};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;
use toml::Spanned;

impl Reader<'_> {
    pub(super) fn peers(
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
            let name = self.peer_name(peer, &public, &peers)?;
            let allowed_ips = self.allowed_ips(at, peer, &name, &mut prefixes, addresses)?;
            let preshared: Option<PresharedKey> =
                self.key("preshared-key", peer.preshared_key.as_ref(), peer.preshared_key_file.as_ref())?;
            peers.push(PeerSettings {
                public,
                preshared,
                endpoint: self
                    .optional("endpoint", peer.endpoint.as_ref(), |text| addresses::endpoint(text, addresses))?,
                allowed_ips,
                keepalive: self.optional("keepalive", peer.keepalive.as_ref(), |text| {
                    span(text, Duration::from_secs(1)..=Duration::from_secs(65_535))
                })?,
                name,
            });
        }
        Ok(peers)
    }

    /// The name of a peer: the text of `name`, or else its public key. The name is printed in the log, the status and the
    /// metrics, so it has no character on which a terminal acts.
    fn peer_name(&self, peer: &Peer, public: &PublicKey, others: &[PeerSettings]) -> Result<String, DaemonConfigError> {
        let Some(written) = &peer.name else { return Ok(public.to_string()) };
        let name = written.get_ref();
        if name.trim().is_empty() || name.contains(is_control) {
            let problem =
                "a name has letters and no control characters, such as a line break; write for example \"berlin\"";
            return Err(self.wrong("name", written, problem));
        }
        if others.iter().any(|other| other.name == *name) {
            return Err(self.wrong(
                "name",
                written,
                format_args!("two peers are called `{name}`; give each its own name"),
            ));
        }
        Ok(name.clone())
    }

    /// Reads the allowed prefixes of the peer `name` and adds them to `prefixes`. `prefixes` maps
    /// each prefix of the peers read so far to the name of the peer that owns the prefix.
    fn allowed_ips(
        &self,
        at: Range<usize>,
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
            let prefix = addresses::allowed(item.get_ref(), addresses);
            let prefix = prefix.map_err(|problem| self.wrong("allowed-ips", item, problem))?;
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
