//! The receiving system call, `recvmmsg`, and what the kernel says about the datagrams that it delivers.
//!
//! The kernel describes each buffer that it fills by control messages: the ECN field, the size of the datagrams, the
//! address that they were sent to, and the time of their arrival. `UdpSocketState::new` of quinn-udp asks for these
//! messages. But the receive of quinn-udp 0.6 has room for 96 bytes of them, and a buffer with several datagrams needs
//! up to 120 ([`CONTROL_BYTES`]). The ECN field comes last and is cut off, so a mark CE is lost. The safe `recvmmsg` of
//! nix keeps the lengths of the call before, so it needs new buffers for each call. rustix has no `recvmmsg`.

use super::{MAX_DATAGRAM, RECEIVE_BUFFERS};
use quinn_udp::EcnCodepoint;
use std::ffi::c_int;
use std::io;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// Room for the control messages of one buffer, in bytes. A message is a header of 16 bytes (on 64-bit machines) and a
/// value, rounded up to a multiple of 8 (`CMSG_SPACE` of cmsg(3)). Up to four messages come, in this order:
///
/// | message | value | space |
/// |---|---|---|
/// | `SCM_TIMESTAMPNS`: when the datagram arrived | 16 | 32 |
/// | `UDP_GRO`: the size of the datagrams, if there are several | 4 | 24 |
/// | `IP_PKTINFO` or `IPV6_PKTINFO`: the address that was called, and the device | 12 or 20 | 32 or 40 |
/// | `IP_TOS` or `IPV6_TCLASS`: the ECN field | 1 or 4 | 24 |
///
/// The sum is 112 bytes on an IPv4 socket and 120 bytes on an IPv6 socket. The value of 160 leaves room for a fifth
/// message. At half the value, the ECN field of several datagrams is cut off. Double the value has no effect.
const CONTROL_BYTES: usize = 160;
/// The length of the header of a control message, in bytes: a `size_t` and two `int`.
const CONTROL_HEADER: usize = size_of::<usize>() + 2 * size_of::<c_int>();

/// Buffers for received datagrams.
#[derive(Debug)]
pub struct ReceiveBuffers {
    pub(super) memory: [Box<[u8]>; RECEIVE_BUFFERS],
    /// What the last call says about each buffer that it has filled.
    pub(super) meta: [Meta; RECEIVE_BUFFERS],
    names: [Name; RECEIVE_BUFFERS],
    controls: [Control; RECEIVE_BUFFERS],
}

/// Memory for the address of a sender, as the kernel writes it. An IPv6 address is the longest of a UDP socket.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
struct Name([u8; size_of::<libc::sockaddr_in6>()]);

/// Memory for control messages, as the kernel writes them.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// What the kernel says about the datagrams in one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Meta {
    /// The sender.
    pub(super) from: SocketAddr,
    /// Length of all datagrams, in bytes.
    pub(super) len: usize,
    /// Length of each datagram, in bytes. The last datagram may be shorter.
    pub(super) stride: usize,
    /// The ECN field; None if the datagrams are not ECN-capable.
    pub(super) ecn: Option<EcnCodepoint>,
    /// The address of this host that the sender has called.
    pub(super) local: Option<IpAddr>,
    /// The number of the device through which the datagrams have come.
    pub(super) device: Option<u32>,
    /// When the first datagram arrived, on the wall clock.
    pub(super) stamp: Option<Duration>,
    /// Whether the kernel has cut off control messages (MSG_CTRUNC), so that values may be missing here.
    pub(super) is_truncated: bool,
}

impl ReceiveBuffers {
    /// Receives from the socket, without waiting if the socket is non-blocking. Returns the number of buffers that are
    /// filled. The first `len` bytes of a filled buffer are datagrams.
    pub(super) fn fill(&mut self, socket: &impl AsFd) -> io::Result<usize> {
        let mut vectors = self
            .memory
            .each_mut()
            .map(|memory| libc::iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: memory.len() });
        #[allow(unsafe_code, reason = "the type has private fields on some systems")]
        // SAFETY: `mmsghdr` is plain data, for which all zero is valid.
        let mut headers: [libc::mmsghdr; RECEIVE_BUFFERS] = unsafe { std::mem::zeroed() };
        let places = self.names.iter_mut().zip(&mut self.controls).zip(&mut vectors);
        for (libc::mmsghdr { msg_hdr, .. }, ((name, control), vector)) in headers.iter_mut().zip(places) {
            msg_hdr.msg_name = name.0.as_mut_ptr().cast();
            msg_hdr.msg_namelen = name.0.len() as libc::socklen_t;
            msg_hdr.msg_iov = vector;
            msg_hdr.msg_iovlen = 1;
            msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            msg_hdr.msg_controllen = control.0.len() as _;
        }
        let filled = loop {
            let (descriptor, count) = (socket.as_fd().as_raw_fd(), RECEIVE_BUFFERS as libc::c_uint);
            #[allow(unsafe_code, reason = "no safe interface keeps its buffers from one call to the next")]
            // SAFETY: each header has pointers to buffers of `self` and to an element of `vectors`, with their true
            // lengths. Nothing else uses them before the call returns. The kernel writes bytes to the buffers, where all
            // bytes are valid. An interrupted call changes no header. The descriptor stays open while it is borrowed.
            let result = unsafe { libc::recvmmsg(descriptor, headers.as_mut_ptr(), count, 0, std::ptr::null_mut()) };
            match usize::try_from(result) {
                Ok(filled) => break filled,
                Err(_) => match io::Error::last_os_error() {
                    error if error.kind() == io::ErrorKind::Interrupted => {}
                    error => return Err(error),
                },
            }
        };
        for (i, header) in headers.iter().enumerate().take(filled) {
            // The type of this length is not the same on all systems.
            let length: usize = header.msg_hdr.msg_controllen as _;
            let controls = self.controls[i].0.get(..length).unwrap_or_default();
            let from = address(&self.names[i].0)
                .ok_or_else(|| io::Error::other("the kernel named no IP address as the sender of a datagram"))?;
            let is_truncated = header.msg_hdr.msg_flags & libc::MSG_CTRUNC != 0;
            self.meta[i] = Meta::new(from, header.msg_len as usize, is_truncated, controls);
        }
        Ok(filled)
    }
}

impl Default for ReceiveBuffers {
    fn default() -> ReceiveBuffers {
        let nobody = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), 0);
        ReceiveBuffers {
            memory: std::array::from_fn(|_| vec![0; MAX_DATAGRAM].into_boxed_slice()),
            meta: [Meta::new(nobody, 0, false, &[]); RECEIVE_BUFFERS],
            names: [Name([0; size_of::<libc::sockaddr_in6>()]); RECEIVE_BUFFERS],
            controls: [Control([0; CONTROL_BYTES]); RECEIVE_BUFFERS],
        }
    }
}

impl Meta {
    /// Reads the control messages of a buffer with `len` bytes of datagrams.
    fn new(from: SocketAddr, len: usize, is_truncated: bool, controls: &[u8]) -> Meta {
        let mut meta = Meta { from, len, stride: len, ecn: None, local: None, device: None, stamp: None, is_truncated };
        for (level, kind, value) in ControlMessages(controls) {
            // A value that is cut off or has an unknown length leaves the field as it is.
            match (level, kind) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => meta.stamp = time(value).or(meta.stamp),
                (libc::SOL_UDP, libc::UDP_GRO) => meta.stride = number(value).map_or(meta.stride, |n| n as usize),
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let called: Option<[u8; 4]> = part(value, offset_of!(libc::in_pktinfo, ipi_addr));
                    meta.local = called.map(IpAddr::from).or(meta.local);
                    let device = part(value, offset_of!(libc::in_pktinfo, ipi_ifindex));
                    meta.device = device.map(u32::from_ne_bytes).or(meta.device);
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let called: Option<[u8; 16]> = part(value, offset_of!(libc::in6_pktinfo, ipi6_addr));
                    meta.local = called.map(IpAddr::from).or(meta.local);
                    let device = part(value, offset_of!(libc::in6_pktinfo, ipi6_ifindex));
                    meta.device = device.map(u32::from_ne_bytes).or(meta.device);
                }
                // Linux gives IP_TOS as one byte and IPV6_TCLASS as an `int`.
                (libc::IPPROTO_IP, libc::IP_TOS) | (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    meta.ecn = number(value).map_or(meta.ecn, |n| EcnCodepoint::from_bits(n as u8));
                }
                _ => {}
            }
        }
        meta
    }
}

/// The control messages in these bytes: level, type and value of each. Ends at a message that is not whole.
struct ControlMessages<'a>(&'a [u8]);

impl<'a> Iterator for ControlMessages<'a> {
    type Item = (c_int, c_int, &'a [u8]);

    fn next(&mut self) -> Option<(c_int, c_int, &'a [u8])> {
        let (length, rest) = self.0.split_first_chunk()?;
        let (level, rest) = rest.split_first_chunk()?;
        let (kind, _) = rest.split_first_chunk()?;
        let length = usize::from_ne_bytes(*length);
        let value = self.0.get(CONTROL_HEADER..length)?;
        self.0 = self.0.get(length.next_multiple_of(size_of::<usize>())..).unwrap_or_default();
        Some((c_int::from_ne_bytes(*level), c_int::from_ne_bytes(*kind), value))
    }
}

/// The address that these bytes of a `sockaddr_in` or `sockaddr_in6` hold.
fn address(name: &[u8]) -> Option<SocketAddr> {
    match c_int::from(libc::sa_family_t::from_ne_bytes(part(name, 0)?)) {
        libc::AF_INET => {
            let port = u16::from_be_bytes(part(name, offset_of!(libc::sockaddr_in, sin_port))?);
            let ip: [u8; 4] = part(name, offset_of!(libc::sockaddr_in, sin_addr))?;
            Some(SocketAddr::new(Ipv4Addr::from(ip).into(), port))
        }
        libc::AF_INET6 => {
            let port = u16::from_be_bytes(part(name, offset_of!(libc::sockaddr_in6, sin6_port))?);
            let ip: [u8; 16] = part(name, offset_of!(libc::sockaddr_in6, sin6_addr))?;
            let flow = u32::from_ne_bytes(part(name, offset_of!(libc::sockaddr_in6, sin6_flowinfo))?);
            let scope = u32::from_ne_bytes(part(name, offset_of!(libc::sockaddr_in6, sin6_scope_id))?);
            Some(SocketAddrV6::new(ip.into(), port, flow, scope).into())
        }
        _ => None,
    }
}

/// The time that these bytes of a `timespec` hold: two integers of equal length. None for a time before 1970.
fn time(value: &[u8]) -> Option<Duration> {
    let (seconds, nanoseconds) = value.split_at(value.len() / 2);
    let seconds = i64::try_from(number(seconds)?).ok()?;
    Duration::from_secs(seconds as u64).checked_add(Duration::from_nanos(number(nanoseconds)?))
}

/// The integer that these bytes hold, if its length is one that the kernel uses.
fn number(value: &[u8]) -> Option<u64> {
    match value.len() {
        1 => Some(u64::from(value[0])),
        4 => part(value, 0).map(u32::from_ne_bytes).map(u64::from),
        8 => part(value, 0).map(u64::from_ne_bytes),
        _ => None,
    }
}

/// `N` bytes, from the byte number `at` on.
fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control message as the kernel writes it.
    fn message(level: c_int, kind: c_int, value: &[u8]) -> Vec<u8> {
        let mut bytes = (CONTROL_HEADER + value.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    fn parsed(controls: &[u8]) -> Meta {
        Meta::new(SocketAddr::from(([192, 0, 2, 1], 9)), 3000, false, controls)
    }

    /// All messages of a coalesced receive on an IPv6 socket.
    fn all() -> Vec<u8> {
        let stamp = [7_i64.to_ne_bytes(), 5_i64.to_ne_bytes()].concat();
        let called = [&Ipv6Addr::LOCALHOST.octets()[..], &1_u32.to_ne_bytes()].concat();
        [
            message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &stamp),
            message(libc::SOL_UDP, libc::UDP_GRO, &1400_u32.to_ne_bytes()),
            message(libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, &called),
            message(libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &0b11_u32.to_ne_bytes()),
        ]
        .concat()
    }

    #[test]
    fn the_ecn_field_may_have_one_or_four_bytes() {
        for tos in [&[0xb9][..], &0xb9_u32.to_ne_bytes()] {
            assert_eq!(parsed(&message(libc::IPPROTO_IP, libc::IP_TOS, tos)).ecn, Some(EcnCodepoint::Ect1));
        }
    }

    /// A cut message gives no value, and the values before it stay.
    #[test]
    fn truncated_control_messages_are_harmless() {
        let whole = parsed(&all());
        assert_eq!((whole.stride, whole.ecn), (1400, Some(EcnCodepoint::Ce)));
        assert_eq!((whole.local, whole.stamp), (Some(Ipv6Addr::LOCALHOST.into()), Some(Duration::new(7, 5))));
        assert_eq!(whole.device, Some(1));
        let nothing = parsed(&[]);
        for cut in 0..all().len() {
            let cut = parsed(&all()[..cut]);
            assert!([whole.stride, nothing.stride].contains(&cut.stride), "{cut:?}");
            assert!([whole.ecn, None].contains(&cut.ecn), "{cut:?}");
            assert!([whole.local, None].contains(&cut.local), "{cut:?}");
            assert!([whole.device, None].contains(&cut.device), "{cut:?}");
            assert!([whole.stamp, None].contains(&cut.stamp), "{cut:?}");
        }
        for length in [0, 1, CONTROL_HEADER - 1, CONTROL_HEADER, 1000, usize::MAX] {
            let mut bytes = all();
            bytes[..size_of::<usize>()].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(parsed(&bytes).stamp, None, "{length}");
        }
        // Times that no clock has.
        for (seconds, nanoseconds) in [(-1, 0), (i64::MIN, -1)] {
            let stamp = [i64::to_ne_bytes(seconds), i64::to_ne_bytes(nanoseconds)].concat();
            assert_eq!(parsed(&message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS, &stamp)).stamp, None);
        }
    }

    #[test]
    fn addresses_are_read_with_all_their_parts() {
        for wanted in ["192.0.2.1:513", "[2001:db8::1]:513", "[fe80::1%3]:513"] {
            let wanted: SocketAddr = wanted.parse().unwrap();
            let name = socket2::SockAddr::from(wanted);
            let length = name.len() as usize;
            #[allow(unsafe_code, reason = "socket2 lends the bytes only as a pointer")]
            // SAFETY: the address owns `length` initialised bytes at this pointer.
            let bytes = unsafe { std::slice::from_raw_parts(name.as_ptr().cast::<u8>(), length) };
            assert_eq!(address(bytes), Some(wanted));
        }
        assert_eq!(address(&[0; 28]), None);
    }
}
