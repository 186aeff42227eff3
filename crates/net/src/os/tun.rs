//! TUN devices: they bring IP packets into a namespace and out of it.

use super::netlink::{Change, Netlink};
use super::netns::{Namespace, NetnsError, in_namespace};
use super::offload::{self, split::split};
use ipnet::IpNet;
use nix::net::if_::if_nametoindex;
use nix::sys::uio::writev;
use std::fs::File;
use std::io::{self, IoSlice, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Room that [`Tun::read_packets`] needs for the data of one read, in bytes.
pub const READ_ROOM: usize = 65_535 + offload::HEADER_LEN;

/// The settings of a device.
#[derive(Clone, Debug)]
pub struct TunConfig {
    /// The device's name, at most 15 bytes; None lets the kernel choose (`tun0`, ...).
    pub name: Option<String>,
    /// The device's addresses, each with the prefix reached through the device: at most one IPv4
    /// address, any number of IPv6 addresses. If there is no IPv6 address, IPv6 is turned off on
    /// the device. The kernel then sends no router solicitations.
    pub addresses: Vec<IpNet>,
    /// Largest IP packet in bytes: 68 to 65535, and at least 1280 with IPv6.
    pub mtu: u16,
    /// Whether to exchange large segments with the kernel (GSO/GRO) through [`Tun::read_packets`] and
    /// [`Tun::write_parts`].
    pub offload: bool,
    /// How many packets the kernel queues for the reader before it drops packets; see
    /// [`Tun::overflows`].
    pub queue_packets: u32,
}

impl Default for TunConfig {
    /// No address, MTU 1500, no offload, 1000 packets.
    fn default() -> TunConfig {
        TunConfig { name: None, addresses: Vec::new(), mtu: 1500, offload: false, queue_packets: 1000 }
    }
}

/// Why a device could not be created.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The kernel has no TUN driver, or the container hides it.
    #[error(
        "/dev/net/tun is missing: load the driver with `modprobe tun`; \
         in a container add `--device /dev/net/tun`"
    )]
    NoDriver,
    /// This user may not open the driver or create devices.
    #[error(
        "TUN devices are not allowed here: this user cannot use /dev/net/tun ({source}). \
         Run as root, or give /dev/net/tun its usual mode with `chmod 0666 /dev/net/tun` (creating a device \
         still needs CAP_NET_ADMIN in the namespace)"
    )]
    NotAllowed {
        /// The system's error.
        source: io::Error,
    },
    /// The settings are not valid.
    #[error("TUN device `{device}`: {problem}")]
    Config {
        /// The device's name, or `tun` where the kernel would choose.
        device: String,
        /// The invalid setting.
        setting: TunSetting,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// Another device has the name.
    #[error(
        "TUN device `{device}`: another network device has this name; `ip link show {device}` shows it. Write another \
         `name` in [interface], or remove the device with `ip link del {device}`"
    )]
    NameTaken {
        /// The device's name.
        device: String,
    },
    /// Another program moves the packets of a TUN device with this name.
    #[error(
        "TUN device `{device}`: another program uses it, perhaps another `ripstop up`; stop that program, or write another \
         `name` in [interface]"
    )]
    InUse {
        /// The device's name.
        device: String,
    },
    /// The kernel takes no IPv6 address.
    #[error(
        "TUN device `{device}`: IPv6 is switched off here, so the address {address} cannot be set. Switch IPv6 on with \
         `sysctl -w net.ipv6.conf.all.disable_ipv6=0` (in a container: start it with `--sysctl \
         net.ipv6.conf.all.disable_ipv6=0`; a kernel without IPv6 was started with `ipv6.disable=1`), or remove the IPv6 \
         addresses from `address` and `allowed-ips`"
    )]
    Ipv6Off {
        /// The device's name.
        device: String,
        /// The first IPv6 address of the device.
        address: IpNet,
    },
    /// The system refused one step.
    #[error("TUN device `{device}`{}: {what}: {source}", in_namespace(.namespace))]
    System {
        /// The device's name, or `tun` where the kernel would choose.
        device: String,
        /// The namespace in which the device was to be created.
        namespace: String,
        /// The step that failed.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
}

/// A setting of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunSetting {
    /// [`TunConfig::name`].
    Name,
    /// [`TunConfig::addresses`].
    Addresses,
    /// [`TunConfig::mtu`].
    Mtu,
}

/// A TUN device that is up. The device disappears when this value is dropped, or when the process
/// ends.
pub struct Tun {
    device: SyncDevice,
    name: String,
    index: u32,
    mtu: u16,
    /// The namespace's /proc/net/dev. The file was opened inside the namespace, and always shows this namespace.
    statistics: File,
}

impl Tun {
    /// Creates a device in `namespace`, sets its addresses and brings it up. Reads and writes block unless
    /// [`Tun::set_nonblocking`] is called.
    ///
    /// # Errors
    /// The step that the system refused. [`TunError::NoDriver`] says how to get the driver.
    pub fn open(namespace: &Namespace, config: &TunConfig) -> Result<Tun, TunError> {
        config.check()?;
        if !Path::new("/dev/net/tun").exists() {
            return Err(TunError::NoDriver);
        }
        let wrong = |what, source| TunError::System {
            device: config.shown_name().to_owned(),
            namespace: namespace.to_string(),
            what,
            source,
        };
        namespace.run(|| {
            let is_taken = config.name.as_deref().is_some_and(|name| if_nametoindex(name).is_ok());
            let first_v6 = config.addresses.iter().copied().find(|address| matches!(address, IpNet::V6(_)));
            let device = || config.shown_name().to_owned();
            open_here(config).map_err(|(what, source)| match source.raw_os_error() {
                Some(libc::EINVAL | libc::EEXIST) if what == CREATE_STEP && is_taken => {
                    TunError::NameTaken { device: device() }
                }
                Some(libc::EBUSY) if what == CREATE_STEP => TunError::InUse { device: device() },
                Some(libc::EPERM | libc::EACCES) if what == CREATE_STEP => TunError::NotAllowed { source },
                Some(libc::EACCES | libc::EOPNOTSUPP | libc::EAFNOSUPPORT | libc::EPERM) if what == IPV6_STEP => {
                    match first_v6 {
                        Some(address) => TunError::Ipv6Off { device: device(), address },
                        None => wrong(what, source),
                    }
                }
                _ => wrong(what, source),
            })
        })?
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The kernel's number of the device. The number stays when the device gets another name.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The MTU at the creation of the device, in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Sets the MTU in bytes. Below 1280 the kernel removes IPv6 from the device. Must be called in the
    /// device's namespace.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_mtu(&self, mtu: u16) -> io::Result<()> {
        self.device.set_mtu(mtu)
    }

    /// Whether the kernel exchanges large segments through the device. The first value is for TCP, the second for UDP.
    pub fn offload(&self) -> (bool, bool) {
        (self.device.tcp_gso(), self.device.udp_gso())
    }

    /// Sets whether reads and writes return [`io::ErrorKind::WouldBlock`] instead of waiting.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.device.set_nonblocking(nonblocking)
    }

    /// Reads one packet. With offload, a virtio header precedes the packet. A packet longer than `buffer` is truncated.
    ///
    /// # Errors
    /// The system's error.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.recv(buffer)
    }

    /// Writes one packet. With offload, a virtio header must precede the packet.
    ///
    /// # Errors
    /// The system's error: EINVAL for data that is not IP, EIO while the device is down.
    pub fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.device.send(packet)
    }

    /// Reads one time, and calls `take` for each packet of the segment that was read. Each packet consists of one or two
    /// parts. Returns the number of bytes read. `scratch` needs [`READ_ROOM`] bytes.
    ///
    /// # Errors
    /// The system's error. [`io::ErrorKind::InvalidData`]: the data cannot be cut into packets.
    pub fn read_packets(&self, scratch: &mut [u8], mut take: impl FnMut(&[&[u8]])) -> io::Result<usize> {
        let len = self.device.recv(scratch)?;
        let data = scratch.get_mut(..len).unwrap_or_default();
        if self.device.tcp_gso() {
            split(data, &mut take).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        } else {
            take(&[data]);
        }
        Ok(len)
    }

    /// Writes a packet or a large segment that consists of `parts`. The first part is a virtio header, which is left
    /// out if the device takes none.
    ///
    /// # Errors
    /// The system's error; see [`Tun::send`].
    pub fn write_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        let parts = if self.device.tcp_gso() { parts } else { parts.get(1..).unwrap_or_default() };
        Ok(writev(self, parts)?)
    }

    /// How many packets the kernel dropped because they were not read in time.
    ///
    /// # Errors The kernel's table cannot be read, or does not list the device.
    pub fn overflows(&self) -> io::Result<u64> {
        let mut table = String::new();
        let mut file = &self.statistics;
        file.rewind()?;
        file.read_to_string(&mut table)?;
        dropped_on_transmit(&table, &self.name)
            .ok_or_else(|| io::Error::other(format!("/proc/net/dev does not list `{}`", self.name)))
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        #[allow(unsafe_code, reason = "the device lends its descriptor only as a number")]
        // SAFETY: the device owns the descriptor and lives as long as the borrow of `self`.
        unsafe {
            BorrowedFd::borrow_raw(self.device.as_raw_fd())
        }
    }
}

impl std::fmt::Debug for Tun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tun").field("name", &self.name).field("mtu", &self.mtu).finish_non_exhaustive()
    }
}

impl TunConfig {
    /// Checks the settings. [`Tun::open`] does so first.
    ///
    /// # Errors
    /// [`TunError::Config`] for the first invalid setting.
    pub fn check(&self) -> Result<(), TunError> {
        let wrong =
            |setting, problem: String| Err(TunError::Config { device: self.shown_name().to_owned(), setting, problem });
        let fits = |name: &str| {
            (1..=15).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic() && b != b'/' && b != b'%')
        };
        if let Some(name) = &self.name
            && (!fits(name) || name == "." || name == "..")
        {
            return wrong(TunSetting::Name, "a device name has 1 to 15 characters, no `/`, `%` or space".into());
        }
        if self.addresses.iter().filter(|a| matches!(a, IpNet::V4(_))).count() > 1 {
            let problem = "a device takes at most one IPv4 address; remove the others".into();
            return wrong(TunSetting::Addresses, problem);
        }
        let (least, why) = if self.has_v6() { (1280, " with IPv6") } else { (68, "") };
        if self.mtu < least {
            let problem = format!("an MTU of {} is too small{why}; write at least {least}", self.mtu);
            return wrong(TunSetting::Mtu, problem);
        }
        Ok(())
    }

    fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or("tun")
    }

    fn has_v6(&self) -> bool {
        self.addresses.iter().any(|a| matches!(a, IpNet::V6(_)))
    }
}

/// The name of the first step: opening the driver and creating the device.
const CREATE_STEP: &str = "creating it";
/// The name of the step that the kernel refuses while IPv6 is switched off.
const IPV6_STEP: &str = "adding an IPv6 address";

/// Creates the device in the namespace of the calling thread.
fn open_here(config: &TunConfig) -> Result<Tun, (&'static str, io::Error)> {
    let mut builder = DeviceBuilder::new().mtu(config.mtu).enable(false).offload(config.offload);
    if let Some(name) = &config.name {
        builder = builder.name(name);
    }
    for address in &config.addresses {
        if let IpNet::V4(v4) = address {
            builder = builder.ipv4(v4.addr(), v4.prefix_len(), None);
        }
    }
    let device = builder.build_sync().map_err(|e| (CREATE_STEP, e))?;
    let name = device.name().map_err(|e| ("asking its name", e))?;
    let index = device.if_index().map_err(|e| ("asking its number", e))?;
    set_queue(index, config.queue_packets).map_err(|e| ("setting its queue length", e))?;
    // IPv6 is restricted before the device goes up, because a device with IPv6 sends packets of its
    // own as soon as it is up.
    restrict_ipv6(&name, config.has_v6());
    device.enabled(true).map_err(|e| ("bringing it up", e))?;
    for address in &config.addresses {
        if let IpNet::V6(v6) = address {
            device.add_address_v6(v6.addr(), v6.prefix_len()).map_err(|e| (IPV6_STEP, e))?;
        }
    }
    let statistics = File::open("/proc/thread-self/net/dev").map_err(|e| ("opening /proc/thread-self/net/dev", e))?;
    Ok(Tun { device, name, index, mtu: config.mtu, statistics })
}

/// Sets the length of the kernel's queue. The ioctl needs privilege in the initial user namespace. Netlink works for root
/// of another user namespace too.
fn set_queue(index: u32, packets: u32) -> io::Result<()> {
    Netlink::open()?.apply(&[Change::SetQueue(index, packets)])?.into_iter().collect()
}

/// Without `v6`, turns IPv6 off. With `v6`, keeps the kernel from inventing an address and
/// soliciting routers. If /proc/sys is read-only, this function has no effect, and the kernel sends
/// a few small packets.
pub(crate) fn restrict_ipv6(device: &str, v6: bool) {
    let set = |key: &str, value: &str| {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{device}/{key}"), value);
    };
    set("disable_ipv6", if v6 { "0" } else { "1" });
    if v6 {
        set("addr_gen_mode", "1");
        set("router_solicitations", "0");
    }
}

/// The column "drop" under "Transmit" in /proc/net/dev.
fn dropped_on_transmit(table: &str, device: &str) -> Option<u64> {
    let line = table.lines().find_map(|line| line.trim_start().strip_prefix(device)?.strip_prefix(':'))?;
    line.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_table() {
        let table = "Inter-|   Receive  |  Transmit\n face |bytes ...\n\
            \x20   lo:       1       2    0    0    0     0          0         0        3       4    0    0    0     0       0          0\n\
            \x20 tun0: 5 6 0 0 0 0 0 0 7 8 0 9 0 0 0 0\n";
        assert_eq!(dropped_on_transmit(table, "tun0"), Some(9));
        assert_eq!(dropped_on_transmit(table, "lo"), Some(0));
        assert_eq!(dropped_on_transmit(table, "tun"), None);
        assert_eq!(dropped_on_transmit("", "tun0"), None);
    }

    #[test]
    fn invalid_device_settings_are_refused() {
        let problem = |config: TunConfig| config.check().map_err(|e| e.to_string());
        let addresses = |list: &[&str]| list.iter().map(|a| a.parse().unwrap()).collect();
        assert_eq!(problem(TunConfig::default()), Ok(()));
        for name in ["", "a/b", "..", "a b", "sixteen-letters-x"] {
            let error = problem(TunConfig { name: Some(name.into()), ..TunConfig::default() }).unwrap_err();
            assert!(error.contains("15 characters"), "{error}");
        }
        let two = TunConfig { addresses: addresses(&["10.0.0.1/24", "10.0.1.1/24"]), ..TunConfig::default() };
        assert!(problem(two).unwrap_err().contains("one IPv4"));
        let small = TunConfig { addresses: addresses(&["fd00::1/64"]), mtu: 1279, ..TunConfig::default() };
        assert!(problem(small).unwrap_err().contains("1280"));
        assert!(problem(TunConfig { mtu: 67, ..TunConfig::default() }).unwrap_err().contains("68"));
    }
}
