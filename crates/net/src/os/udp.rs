//! UDP sockets that move many datagrams per system call and read and write ECN. One call sends
//! several datagrams as one buffer (GSO) or receives several buffers (`recvmmsg`), each with
//! several datagrams (GRO).
//!
//! A dual-stack socket is an IPv6 socket that serves IPv4 too. The kernel shows the IPv4 peers of
//! such a socket as `::ffff:a.b.c.d`. This module always shows these peers as IPv4. Datagrams are
//! never fragmented: a datagram that is larger than the path's MTU is refused or lost. The protocol
//! searches for the largest size that passes.

mod batch;
mod local_addresses;
mod receive;
#[cfg(test)]
mod tests;

pub use batch::DatagramBatch;
pub use receive::ReceiveBuffers;

use crate::log::{Admitted, LineLimit};
use batch::BatchHeader;
use local_addresses::LocalAddresses;
use nix::sys::socket::{setsockopt, sockopt};
use quinn_udp::{EcnCodepoint, Transmit, UdpSocketState};
use ripstop_base::counters;
use ripstop_proto::session::Reception;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, SystemTime};

/// The largest datagram that is sent or received, in bytes.
pub const MAX_DATAGRAM: usize = 65_535;
/// The number of receive buffers that one call can fill. With GRO, each buffer may hold up to 64
/// datagrams of one sender. So 8 buffers have an effect only if many senders alternate, or if the
/// kernel has no GRO. Each buffer takes 64 KB of memory.
const RECEIVE_BUFFERS: usize = 8;
/// The size of the kernel's buffer for each direction, in bytes. The buffer must hold the datagrams
/// that arrive while this process is not scheduled: 3.75 MB in 30 ms at 1 Gbit/s. The value of 16
/// MiB is more than four times as much. A buffer that is too small loses datagrams in such a pause.
/// A larger buffer has no effect.
const SOCKET_BUFFER: usize = 16 << 20;
/// The longest believable wait of a datagram in the socket, 1 s. The kernel stamps arrivals with the wall clock. After a
/// jump of the wall clock, the stamps of datagrams that wait are wrong by the jump. A longer wait counts as none. Half or
/// double the value has no effect, unless the process is not scheduled for such a time.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A non-blocking UDP socket.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    state: UdpSocketState,
    is_v6: bool,
    /// Whether an IPv6 socket does not serve IPv4.
    only_v6: bool,
    /// Whether several datagrams together could not be sent, although each of them could: GSO does not work here.
    lacks_gso: bool,
    /// Which address of this host each peer has called; None for a socket at one address.
    locals: Option<LocalAddresses>,
    counters: UdpCounters,
    /// The limit of lines about datagrams that the kernel refused.
    refusals: LineLimit,
    from_port_zero: u64,
    /// The number of the device whose datagrams are dropped.
    ignored: Option<u32>,
    from_ignored: u64,
}

counters! {
    /// Counters of a socket.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct UdpCounters {
        /// System calls that tried to send.
        pub send_calls: u64 => ("send_calls", "udp_send_calls_total"),
        /// Datagrams handed to the kernel.
        pub sent: u64 => ("sent", "udp_sent_datagrams_total"),
        /// Bytes of the datagrams handed to the kernel, without IP and UDP headers.
        pub sent_bytes: u64 => ("sent_bytes", "udp_sent_bytes_total"),
        /// Datagrams sent together with others in one call (GSO).
        pub segmented: u64 => ("segmented", "udp_segmented_total"),
        /// Datagrams larger than the first hop's MTU (EMSGSIZE). Most are probes of the MTU search.
        pub too_large: u64 => ("too_large", "udp_too_large_total"),
        /// Datagrams that the kernel refused for other reasons, such as a missing route or a firewall.
        pub refused: u64 => ("refused", "udp_refused_total"),
        /// System calls that received at least one datagram.
        pub receive_calls: u64 => ("receive_calls", "udp_receive_calls_total"),
        /// Datagrams received.
        pub received: u64 => ("received", "udp_received_datagrams_total"),
        /// Bytes of the datagrams received, without IP and UDP headers.
        pub received_bytes: u64 => ("received_bytes", "udp_received_bytes_total"),
        /// Datagrams received together with others in one buffer (GRO).
        pub coalesced: u64 => ("coalesced", "udp_coalesced_total"),
        /// Datagrams received with the kernel's stamp of the arrival.
        pub stamped: u64 => ("stamped", "udp_stamped_total"),
        /// Datagrams whose control data did not fit, so that the kernel cut it off (MSG_CTRUNC). A mark CE may be
        /// missing. The counter stays 0 unless the kernel gives data that was not asked for.
        pub control_truncated: u64 => ("control_truncated", "udp_control_truncated_total"),
    }
}

/// What a call received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Number of datagrams.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Whether the call filled all buffers. If not, no further datagram was waiting.
    pub full: bool,
}

/// The outcome of a send call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOutcome {
    /// All datagrams were either sent, or refused and counted.
    All,
    /// The kernel has no room. Wait until the socket is writable and try again.
    Blocked,
}

impl Udp {
    /// A socket at `listen`. A socket at the unspecified IPv6 address `::` serves IPv4 too.
    ///
    /// # Errors
    /// The system's error.
    pub fn bind(listen: SocketAddr) -> io::Result<Udp> {
        let domain = if listen.is_ipv6() { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        let only_v6 = listen.is_ipv6() && !listen.ip().is_unspecified();
        if listen.is_ipv6() {
            socket.set_only_v6(only_v6)?;
        }
        enlarge_buffers(&socket);
        socket.set_nonblocking(true)?;
        socket.bind(&listen.into())?;
        let state = UdpSocketState::new((&socket).into())?;
        let socket = UdpSocket::from(socket);
        Ok(Udp {
            socket,
            state,
            is_v6: listen.is_ipv6(),
            only_v6,
            lacks_gso: false,
            locals: listen.ip().is_unspecified().then(LocalAddresses::default),
            counters: UdpCounters::default(),
            refusals: LineLimit::default(),
            from_port_zero: 0,
            ignored: None,
            from_ignored: 0,
        })
    }

    /// A socket at every address of this host. On a host without IPv6, the socket serves only IPv4. With port 0 the
    /// kernel chooses the port.
    ///
    /// # Errors
    /// The system's error.
    pub fn bind_any(port: u16) -> io::Result<Udp> {
        match Udp::bind(SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port)) {
            Err(error) if no_such_family(&error) => Udp::bind(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port)),
            other => other,
        }
    }

    /// The local address.
    ///
    /// # Errors
    /// The system's error.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Whether the socket can send to addresses of this family.
    pub fn reaches(&self, address: &SocketAddr) -> bool {
        match unmapped(*address) {
            SocketAddr::V4(_) if self.is_v6 => !self.only_v6,
            SocketAddr::V4(_) => address.is_ipv4(),
            SocketAddr::V6(_) => self.is_v6,
        }
    }

    /// How many datagrams one call may send; 1 if the kernel has no GSO.
    pub fn segments(&self) -> usize {
        if self.lacks_gso { 1 } else { self.state.max_gso_segments() }
    }

    /// The socket's counters so far.
    pub fn counters(&self) -> UdpCounters {
        self.counters
    }

    /// How many datagrams came from UDP port 0, and were dropped. The kernel refuses to send an answer to this port, so
    /// no honest host sends from it.
    pub fn from_port_zero(&self) -> u64 {
        self.from_port_zero
    }

    /// Drops datagrams that arrive through the device with this number from now on.
    pub fn ignore_device(&mut self, index: u32) {
        self.ignored = Some(index);
    }

    /// How many datagrams arrived through the ignored device, and were dropped.
    pub fn from_ignored_device(&self) -> u64 {
        self.from_ignored
    }

    /// Lets the system choose this host's address for the next datagrams to `peer`, until `peer` sends again. For a peer
    /// that does not answer: the route to it may have moved to another network.
    pub fn forget_local_address(&mut self, peer: &SocketAddr) {
        if let Some(locals) = &mut self.locals {
            locals.forget(peer);
        }
    }

    /// Receives once and calls `take(from, datagram, reception)` for each datagram that does not come from UDP port 0 or
    /// through the ignored device.
    /// `take` returns whether the datagram is authentic. Answers to `from` leave from the address that `from` has called.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if there is nothing to receive, or the system's error.
    pub fn receive(
        &mut self,
        buffers: &mut ReceiveBuffers,
        mut take: impl FnMut(SocketAddr, &mut [u8], Reception) -> bool,
    ) -> io::Result<Received> {
        let filled = buffers.fill(&self.socket)?;
        self.counters.receive_calls += 1;
        let (mut count, before) = (0, self.counters.received_bytes);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        for (memory, meta) in buffers.memory.iter_mut().zip(&buffers.meta).take(filled) {
            let from = unmapped(meta.from);
            let ce = meta.ecn == Some(EcnCodepoint::Ce);
            let reception = Reception { ce, waited: waited(now, meta.stamp) };
            let bytes = memory.get_mut(..meta.len).unwrap_or_default();
            self.counters.received_bytes += bytes.len() as u64;
            let mut is_authentic = false;
            // The stride of an empty datagram is 0; `chunks_mut` needs 1.
            for datagram in bytes.chunks_mut(meta.stride.max(1)) {
                self.counters.coalesced += u64::from(meta.stride < meta.len);
                self.counters.stamped += u64::from(meta.stamp.is_some());
                self.counters.control_truncated += u64::from(meta.is_truncated);
                count += 1;
                match from.port() {
                    _ if meta.device.is_some() && meta.device == self.ignored => self.from_ignored += 1,
                    0 => self.from_port_zero += 1,
                    _ => is_authentic |= take(from, datagram, reception),
                }
            }
            if let (Some(locals), Some(local)) = (&mut self.locals, meta.local) {
                locals.note(from, local, is_authentic);
            }
        }
        self.counters.received += count;
        let bytes = self.counters.received_bytes - before;
        Ok(Received { datagrams: count, bytes, full: filled == RECEIVE_BUFFERS })
    }

    /// Sends the collected datagrams. A datagram that did not fit begins the next batch, which is
    /// not sent yet. [`DatagramBatch::is_empty`] then returns false.
    pub fn send(&mut self, batch: &mut DatagramBatch) -> SendOutcome {
        while let Some((contents, common)) = batch.collected() {
            if let Some(done) = self.send_batch(contents, common) {
                batch.skip(done);
                return SendOutcome::Blocked;
            }
            let has_next = batch.has_next();
            batch.advance();
            if has_next {
                // More datagrams may be added to the new batch.
                return SendOutcome::All;
            }
        }
        SendOutcome::All
    }

    /// Sends datagrams with a common header. Returns None if all datagrams were either sent, or refused and counted. If
    /// the kernel has no room, returns the length of the datagrams before that.
    fn send_batch(&mut self, contents: &[u8], common: BatchHeader) -> Option<usize> {
        let count = contents.len().div_ceil(common.segment.max(1));
        let mut gso_failed = false;
        if count <= 1 || self.segments() > 1 {
            match self.call(contents, common) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Some(0),
                Err(error) if count > 1 => gso_failed = switches_off(&error),
                result => {
                    self.count(result, contents.len(), count as u64, common.to);
                    return None;
                }
            }
        }
        self.send_each(contents, common, gso_failed)
    }

    /// Sends each datagram in a call of its own: the kernel has no GSO, or it refused the datagrams together. One
    /// datagram that is too large or has a bad destination then takes no other with it. Returns the same as
    /// [`Udp::send_batch`].
    fn send_each(&mut self, contents: &[u8], common: BatchHeader, gso_failed: bool) -> Option<usize> {
        let (mut done, mut all_sent) = (0, true);
        for one in contents.chunks(common.segment.max(1)) {
            let result = self.call(one, common);
            if result.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
                return Some(done);
            }
            all_sent &= result.is_ok();
            self.count(result, one.len(), 1, common.to);
            done += one.len();
        }
        // If each datagram alone could be sent, only GSO can have been the fault.
        self.lacks_gso |= gso_failed && all_sent;
        None
    }

    /// Counts the result of a call with `count` datagrams of `bytes` bytes in all.
    fn count(&mut self, result: io::Result<()>, bytes: usize, count: u64, to: SocketAddr) {
        match result {
            Ok(()) => {
                self.counters.sent += count;
                self.counters.sent_bytes += bytes as u64;
                self.counters.segmented += if count > 1 { count } else { 0 };
            }
            Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => self.counters.too_large += count,
            Err(error) => {
                self.counters.refused += count;
                if let Some(Admitted { left_out }) = self.refusals.admit() {
                    tracing::debug!(%to, %error, left_out, "a datagram could not be sent");
                }
            }
        }
    }

    /// Sends the datagrams from the address that their receiver has called. If that fails because of this address, sends
    /// them from the address that the system chooses.
    fn call(&mut self, contents: &[u8], common: BatchHeader) -> io::Result<()> {
        let local = self.locals.as_mut().and_then(|locals| locals.of(&common.to));
        let result = self.call_from(local, contents, common);
        if local.is_none() || !result.as_ref().is_err_and(may_be_of_source) {
            return result;
        }
        let again = self.call_from(None, contents, common);
        if again.is_ok() {
            self.forget_local_address(&common.to);
        }
        again
    }

    fn call_from(&mut self, local: Option<IpAddr>, contents: &[u8], common: BatchHeader) -> io::Result<()> {
        self.counters.send_calls += 1;
        let transmit = Transmit {
            destination: if self.is_v6 { mapped(common.to) } else { common.to },
            ecn: common.ect.then_some(EcnCodepoint::Ect0),
            contents,
            segment_size: (contents.len() > common.segment).then_some(common.segment),
            src_ip: local,
        };
        let result = self.state.try_send((&self.socket).into(), &transmit);
        if result.as_ref().is_err_and(switches_off)
            && let Ok(fresh) = UdpSocketState::new((&self.socket).into())
        {
            // After this error, `UdpSocketState` uses neither GSO nor ECN over IPv4 any more, for no peer. But the call
            // failed without ECN too, and `send_each` finds out whether GSO is the fault.
            self.state = fresh;
        }
        result
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The same address, but an IPv4-mapped IPv6 address is turned into an IPv4 address.
pub fn unmapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(IpAddr::V4(v4), v6.port()),
            None => address,
        },
        SocketAddr::V4(_) => address,
    }
}

fn mapped(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) => SocketAddr::new(v4.ip().to_ipv6_mapped().into(), v4.port()),
        SocketAddr::V6(_) => address,
    }
}

/// Whether [`UdpSocketState`] stops to use GSO and ECN over IPv4 after this error.
fn switches_off(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EIO))
}

/// Whether the error can come from the source address: this host no longer has the address, or there is no route from it.
fn may_be_of_source(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENETUNREACH | libc::EADDRNOTAVAIL))
}

fn no_such_family(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

/// Enlarges the kernel's buffers to [`SOCKET_BUFFER`]. If this process may not exceed the system's
/// limit, the buffers are enlarged only up to the limit.
fn enlarge_buffers(socket: &Socket) {
    if setsockopt(socket, sockopt::RcvBufForce, &SOCKET_BUFFER).is_err() {
        let _ = socket.set_recv_buffer_size(SOCKET_BUFFER);
    }
    if setsockopt(socket, sockopt::SndBufForce, &SOCKET_BUFFER).is_err() {
        let _ = socket.set_send_buffer_size(SOCKET_BUFFER);
    }
}

/// How long a datagram has waited in the socket at the wall-clock time `now`. The kernel stamped its arrival with
/// `stamp`. Zero without a stamp, or after a jump of the clock.
fn waited(now: Duration, stamp: Option<Duration>) -> Duration {
    let wait = stamp.and_then(|stamp| now.checked_sub(stamp));
    wait.filter(|wait| *wait <= LONGEST_WAIT).unwrap_or_default()
}
