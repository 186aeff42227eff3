//! What the kernel knows about a TCP connection.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// How many segments this end of a TCP connection has retransmitted so far (`tcpi_total_retrans` of tcp(7)).
///
/// # Errors
/// The descriptor is not a TCP socket.
pub fn retransmits(socket: &impl AsFd) -> io::Result<u64> {
    info(socket).map(|info| u64::from(info.tcpi_total_retrans))
}

/// How many segments this end of a TCP connection has sent that are not acknowledged (`tcpi_unacked` of tcp(7)).
///
/// # Errors
/// The descriptor is not a TCP socket.
pub fn unacknowledged(socket: &impl AsFd) -> io::Result<u32> {
    info(socket).map(|info| info.tcpi_unacked)
}

fn info(socket: &impl AsFd) -> io::Result<libc::tcp_info> {
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    #[allow(unsafe_code, reason = "the call has no safe wrapper")]
    // SAFETY: `tcp_info` is plain data, for which all zero is valid. The kernel writes at most `length` bytes to it.
    // The descriptor stays open while it is borrowed.
    let (result, info) = unsafe {
        let mut info: libc::tcp_info = std::mem::zeroed();
        let result = libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &mut length,
        );
        (result, info)
    };
    if result == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn a_fresh_connection_has_retransmitted_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert_eq!((retransmits(&socket).unwrap(), unacknowledged(&socket).unwrap()), (0, 0));
    }

    #[test]
    fn other_sockets_are_refused() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(retransmits(&socket).is_err() && unacknowledged(&socket).is_err());
    }
}
