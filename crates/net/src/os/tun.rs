//! TUN devices: IP packets in and out of a namespace.

use super::ip::ip;
use super::netns::{Namespace, NetnsError};
use ipnet::IpNet;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;
use tun_rs::{DeviceBuilder, SyncDevice};

pub use tun_rs::{ExpandBuffer, GROTable, IDEAL_BATCH_SIZE, VIRTIO_NET_HDR_LEN};

/// What a device is to be.
#[derive(Clone, Debug)]
pub struct TunConfig {
    /// Its name, at most 15 bytes; None lets the kernel choose (`tun0`, ...).
    pub name: Option<String>,
    /// Its addresses with the prefix that is reached through it: at most one of IPv4, any number
    /// of IPv6. Without an IPv6 address the device does no IPv6 at all, and so sends no router
    /// solicitations.
    pub addresses: Vec<IpNet>,
    /// Largest IP packet, in bytes; 68..=65535, and at least 1280 with IPv6.
    pub mtu: u16,
    /// Whether to exchange large segments with the kernel (GSO/GRO), by [`Tun::recv_multiple`] and
    /// [`Tun::send_multiple`].
    pub offload: bool,
    /// Packets that the kernel holds for the reader before it drops; see [`Tun::overflows`].
    pub queue_packets: u32,
}

impl Default for TunConfig {
    /// No address, MTU 1500, no offload, 1000 packets.
    fn default() -> TunConfig {
        TunConfig { name: None, addresses: Vec::new(), mtu: 1500, offload: false, queue_packets: 1000 }
    }
}

/// Why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum TunError {
    /// The kernel has no TUN driver, or the container hides it.
    #[error(
        "/dev/net/tun is missing: load the driver with `modprobe tun`; \
         in a container add `--device /dev/net/tun`"
    )]
    NoDriver,
    /// This user may not open the driver, or not make devices.
    #[error(
        "TUN devices are not allowed here: /dev/net/tun cannot be used by this user ({source}). \
         Run as root; or `chmod 0666 /dev/net/tun`, its usual mode (making a device still takes \
         CAP_NET_ADMIN in the namespace)"
    )]
    NotAllowed {
        /// What the system said.
        source: io::Error,
    },
    /// The settings cannot be.
    #[error("TUN device `{device}`: {problem}")]
    Config {
        /// The device's name, or `tun` where the kernel would choose.
        device: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// The system refused a step.
    #[error("TUN device `{device}` in namespace {namespace}: {what}: {source}")]
    System {
        /// The device's name, or `tun` where the kernel would choose.
        device: String,
        /// Where it was to be.
        namespace: String,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The namespace could not be entered.
    #[error(transparent)]
    Namespace(#[from] NetnsError),
}

/// A TUN device that is up. It vanishes when dropped, and with the process.
pub struct Tun {
    device: SyncDevice,
    name: String,
    mtu: u16,
    /// The namespace's /proc/net/dev, opened inside it: it goes on telling about that namespace.
    statistics: File,
}

impl Tun {
    /// Makes a device in `namespace`, gives it its addresses and sets it up. Reads and writes
    /// block; see [`Tun::set_nonblocking`].
    ///
    /// # Errors
    /// Which step the system refused; [`TunError::NoDriver`] says how to get the driver.
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
            open_here(config).map_err(|(what, source)| match source.kind() {
                io::ErrorKind::PermissionDenied if what == MAKING => TunError::NotAllowed { source },
                _ => wrong(what, source),
            })
        })?
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Largest IP packet at the time it was made, in bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Sets the largest IP packet, in bytes. Below 1280 the kernel takes the device's IPv6 away. To be called in
    /// the device's namespace.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_mtu(&self, mtu: u16) -> io::Result<()> {
        self.device.set_mtu(mtu)
    }

    /// Whether the kernel exchanges large TCP segments, and large UDP batches, through it.
    pub fn offload(&self) -> (bool, bool) {
        (self.device.tcp_gso(), self.device.udp_gso())
    }

    /// Whether reads and writes return [`io::ErrorKind::WouldBlock`] rather than wait.
    ///
    /// # Errors
    /// What the system says.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.device.set_nonblocking(nonblocking)
    }

    /// Reads one packet (with a virtio header before it when the device offloads). A packet longer
    /// than `buffer` is cut.
    ///
    /// # Errors
    /// What the system says.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.device.recv(buffer)
    }

    /// Writes one packet (with a virtio header before it when the device offloads).
    ///
    /// # Errors
    /// What the system says: EINVAL for what is not IP, EIO while the device is down.
    pub fn send(&self, packet: &[u8]) -> io::Result<usize> {
        self.device.send(packet)
    }

    /// Reads once and cuts what came into packets of at most the MTU: fills `packets` from `offset`
    /// on and `sizes`, and returns how many there are. `scratch` holds the large segment: 65535 +
    /// [`VIRTIO_NET_HDR_LEN`] bytes.
    ///
    /// # Errors
    /// What the system says; also a segment that needs more than `packets`.
    pub fn recv_multiple<B: AsRef<[u8]> + AsMut<[u8]>>(
        &self,
        scratch: &mut [u8],
        packets: &mut [B],
        sizes: &mut [usize],
        offset: usize,
    ) -> io::Result<usize> {
        self.device.recv_multiple(scratch, packets, sizes, offset)
    }

    /// Writes packets, joined to large segments where they follow one another. Each begins at
    /// `offset` of its buffer, at least [`VIRTIO_NET_HDR_LEN`].
    ///
    /// # Errors
    /// What the system says about the last packet it refused.
    pub fn send_multiple<B: ExpandBuffer>(
        &self,
        table: &mut GROTable,
        packets: &mut [B],
        offset: usize,
    ) -> io::Result<usize> {
        self.device.send_multiple(table, packets, offset)
    }

    /// How many packets the kernel dropped because nobody read them in time.
    ///
    /// # Errors
    /// When the kernel's table cannot be read or does not list the device.
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
        #[allow(unsafe_code, reason = "the device lends its descriptor as a number only")]
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
    fn shown_name(&self) -> &str {
        self.name.as_deref().unwrap_or("tun")
    }

    fn has_v6(&self) -> bool {
        self.addresses.iter().any(|a| matches!(a, IpNet::V6(_)))
    }

    fn check(&self) -> Result<(), TunError> {
        let wrong = |problem: String| Err(TunError::Config { device: self.shown_name().to_owned(), problem });
        let fits = |name: &str| {
            (1..=15).contains(&name.len())
                && name.bytes().all(|b| b.is_ascii_graphic() && b != b'/' && b != b'%')
        };
        if let Some(name) = &self.name
            && (!fits(name) || name == "." || name == "..")
        {
            return wrong("a device name has 1 to 15 characters, no `/`, `%` or space".into());
        }
        if self.addresses.iter().filter(|a| matches!(a, IpNet::V4(_))).count() > 1 {
            return wrong("takes at most one IPv4 address".into());
        }
        let least = if self.has_v6() { 1280 } else { 68 };
        if self.mtu < least {
            return wrong(format!("an MTU of {} is too small; at least {least}", self.mtu));
        }
        Ok(())
    }
}

/// The first step: opening the driver and making the device.
const MAKING: &str = "making it";

/// Makes the device in the namespace of this thread.
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
    let device = builder.build_sync().map_err(|e| (MAKING, e))?;
    let name = device.name().map_err(|e| ("asking its name", e))?;
    set_queue(&device, &name, config.queue_packets).map_err(|e| ("setting its queue length", e))?;
    // Before it goes up: an IPv6 device that goes up speaks of itself.
    quieten(&name, config.has_v6());
    device.enabled(true).map_err(|e| ("setting it up", e))?;
    for address in &config.addresses {
        if let IpNet::V6(v6) = address {
            device.add_address_v6(v6.addr(), v6.prefix_len()).map_err(|e| ("adding an IPv6 address", e))?;
        }
    }
    let statistics =
        File::open("/proc/thread-self/net/dev").map_err(|e| ("opening /proc/thread-self/net/dev", e))?;
    Ok(Tun { device, name, mtu: config.mtu, statistics })
}

/// Sets how many packets the kernel holds. The call for it wants privilege over the whole machine;
/// `ip` knows the other way, that root of a user namespace may go too.
fn set_queue(device: &SyncDevice, name: &str, packets: u32) -> io::Result<()> {
    match device.set_tx_queue_len(packets) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let here = Namespace::current().map_err(io::Error::other)?;
            let arguments = ["link", "set", "dev", name, "txqueuelen", &packets.to_string()];
            ip(&here, &arguments).map(drop).map_err(io::Error::other)
        }
        other => other,
    }
}

/// Turns IPv6 off, or leaves it without an address the kernel makes up and without router
/// solicitations. Where /proc/sys is read-only the kernel keeps its habits: a few small packets.
fn quieten(device: &str, v6: bool) {
    let set = |key: &str, value: &str| {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{device}/{key}"), value);
    };
    set("disable_ipv6", if v6 { "0" } else { "1" });
    if v6 {
        set("addr_gen_mode", "1");
        set("router_solicitations", "0");
    }
}

/// The column "drop" under "Transmit" of /proc/net/dev.
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
    fn says_what_a_device_cannot_be() {
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
