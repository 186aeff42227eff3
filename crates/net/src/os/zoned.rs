//! Socket addresses with a zone, as people write them: `[fe80::a%eth0]:5182` (RFC 4007, section 11).
//!
//! A link-local address exists once on every link, so it needs a zone: the name or the number of the network device that
//! leads to the link. The number of a device changes when the device is made again. So a name is turned into a number when
//! the address is used, not when it is read.

use nix::net::if_::{if_indextoname, if_nametoindex};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// An address and a port, with the zone of a link-local address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZonedAddress {
    /// The address without its zone.
    address: SocketAddr,
    zone: Option<String>,
}

/// Why a text is no address with a port, as the rest of a sentence that begins with the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ZoneError(String);

impl ZonedAddress {
    /// The address without its zone.
    pub fn ip(&self) -> IpAddr {
        self.address.ip()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The address with the present number of its zone.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`]: this namespace has no device with the zone's name or number.
    pub fn resolve(&self) -> io::Result<SocketAddr> {
        let mut address = self.address;
        if let (SocketAddr::V6(v6), Some(zone)) = (&mut address, &self.zone) {
            let index = index_of(zone).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, no_device(zone)))?;
            v6.set_scope_id(index);
        }
        Ok(address)
    }
}

impl From<SocketAddr> for ZonedAddress {
    /// The address as it is shown: its zone has a name, if there is a device with the zone's number.
    fn from(address: SocketAddr) -> ZonedAddress {
        let number = match address {
            SocketAddr::V6(v6) => v6.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        let zone = (number != 0).then(|| name_of(number).unwrap_or_else(|| number.to_string()));
        ZonedAddress { address: SocketAddr::new(address.ip(), address.port()), zone }
    }
}

impl FromStr for ZonedAddress {
    type Err = ZoneError;

    fn from_str(text: &str) -> Result<ZonedAddress, ZoneError> {
        let wrong = |problem: &str| ZoneError(problem.to_owned());
        let text = text.trim();
        let (plain, zone) = match text.split_once('%') {
            None => (text.to_owned(), None),
            Some((before, after)) => {
                let (zone, port) = after.rsplit_once(']').ok_or_else(|| wrong("is not an address with a port"))?;
                (format!("{before}]{port}"), Some(zone))
            }
        };
        let address: SocketAddr = plain.parse().map_err(|_| wrong("is not an address with a port"))?;
        let (ip, port) = (address.ip(), address.port());
        match zone {
            None if is_link_local(ip) => Err(ZoneError(format!(
                "is link-local and has no zone; write the network device that leads to the link: for example `[{ip}%eth0]:{port}`"
            ))),
            Some(_) if !is_link_local(ip) => Err(ZoneError(format!(
                "has a zone, but only a link-local address (fe80::/10) has one; write `{address}`"
            ))),
            Some(zone) if !is_zone(zone) => {
                Err(wrong("has no valid zone; a zone is the name or the number of a network device"))
            }
            _ => Ok(ZonedAddress { address, zone: zone.map(str::to_owned) }),
        }
    }
}

impl fmt::Display for ZonedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.zone {
            Some(zone) => write!(f, "[{}%{zone}]:{}", self.ip(), self.port()),
            None => write!(f, "{}", self.address),
        }
    }
}

/// Whether the address is link-local: the same address may exist on several links (RFC 4291, section 2.5.6).
pub fn is_link_local(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// Why a zone has no number.
fn no_device(zone: &str) -> String {
    let number = if zone.bytes().all(|byte| byte.is_ascii_digit()) { "with the number " } else { "" };
    format!("there is no network device {number}`{zone}` on this host; `ip link` lists the devices")
}

/// Whether the text can be a zone: the name of a network device has 1 to 15 characters, and its number is not 0.
fn is_zone(zone: &str) -> bool {
    zone.parse() != Ok(0)
        && (1..=15).contains(&zone.len())
        && zone.bytes().all(|b| b.is_ascii_graphic() && !b"/%[]:\"`".contains(&b))
}

/// The number of a zone; None if there is no device with this name or number.
fn index_of(zone: &str) -> Option<u32> {
    if_nametoindex(zone).ok().or_else(|| zone.parse().ok().filter(|number| name_of(*number).is_some()))
}

/// The name of the device with this number.
fn name_of(number: u32) -> Option<String> {
    // For an unknown number, `nix` returns an empty name instead of an error.
    if_indextoname(number).ok()?.into_string().ok().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ZonedAddress, String> {
        text.parse().map_err(|error: ZoneError| error.to_string())
    }

    #[test]
    fn a_zone_is_a_name_or_a_number_and_is_printed_as_it_was_read() {
        for text in ["[fe80::a%e0]:5182", "[fe80::a%7]:1", "[2001:db8::1]:5182", "192.0.2.1:0", "[::]:5182"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        for (zone, words) in [("no-device", "no network device `no-device`"), ("4000000", "number `4000000`")] {
            let error = read(&format!("[fe80::a%{zone}]:1")).unwrap().resolve().unwrap_err();
            assert!(error.kind() == io::ErrorKind::NotFound && error.to_string().contains(words), "{error}");
        }
        let scope = |text: &str| match read(text).unwrap().resolve().unwrap() {
            SocketAddr::V6(v6) => v6.scope_id(),
            SocketAddr::V4(_) => 0,
        };
        let lo = if_nametoindex("lo").unwrap();
        assert_eq!([scope("[fe80::a%lo]:1"), scope(&format!("[fe80::a%{lo}]:1"))], [lo, lo]);
        let gone = SocketAddr::from(std::net::SocketAddrV6::new("fe80::a".parse().unwrap(), 1, 0, 4_000_000));
        assert_eq!(ZonedAddress::from(gone).to_string(), "[fe80::a%4000000]:1");
        // An address that the daemon shows can be written into a configuration.
        let shown = ZonedAddress::from(read("[fe80::a%lo]:1").unwrap().resolve().unwrap());
        assert_eq!(shown, read("[fe80::a%lo]:1").unwrap());
    }

    #[test]
    fn only_link_local_addresses_have_a_zone() {
        for (text, words) in [
            ("[fe80::a]:5182", "`[fe80::a%eth0]:5182`"),
            ("[2001:db8::1%e0]:1", "write `[2001:db8::1]:1`"),
            ("[fe80::a%]:1", "valid zone"),
            ("[fe80::a%0]:1", "valid zone"),
            ("[fe80::a%00]:1", "valid zone"),
            ("[fe80::a%a/b]:1", "valid zone"),
            ("fe80::a%e0", "not an address with a port"),
            ("192.0.2.1%e0:1", "not an address with a port"),
            ("fe80::a%e0]:1", "not an address with a port"),
            ("[fe80::a%e0]", "not an address with a port"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
