//! Traffic inside the tunnels: ICMP and UDP echoes, and TCP in both directions.

use super::hosts::{Host, Pair, noise, until};
use quinn_udp::UdpSocketState;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Limit of the wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Sends an ICMP echo request with `len` bytes of data and waits for the reply (RFC 792, RFC 4443).
pub(crate) fn ping(from: &Host, to: IpAddr, len: usize) {
    let (domain, protocol, request, reply) = match to {
        IpAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4, 8, 0),
        IpAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6, 128, 129),
    };
    let mut socket = from
        .namespace
        .run(|| Socket::new(domain, Type::RAW, Some(protocol)))
        .unwrap()
        .expect("the creator of a namespace may open raw sockets in it");
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut message = vec![request, 0, 0, 0, 0x12, 0x34, 0, 1];
    message.extend(noise("ping", len));
    if to.is_ipv4() {
        // The kernel computes the checksum only for ICMPv6.
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
    }
    socket.send_to(&message, &SocketAddr::new(to, 0).into()).unwrap();
    let mut packet = [0; 65_535];
    loop {
        let len = socket.read(&mut packet).unwrap_or_else(|error| panic!("no echo from {to}: {error}"));
        // With IPv4 the kernel includes the IP header.
        let header = if to.is_ipv4() { usize::from(packet[0] & 15) * 4 } else { 0 };
        let answer = &packet[header..len];
        if answer[0] == reply && answer[4..] == message[4..] {
            return;
        }
    }
}

/// The Internet checksum (RFC 1071).
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded & 0xFFFF) + (folded >> 16)) as u16
}

/// A UDP socket with a receive time-out.
pub(crate) fn udp(host: &Host, address: SocketAddr) -> UdpSocket {
    let socket = host.namespace.run(|| UdpSocket::bind(address)).unwrap().unwrap();
    socket.set_read_timeout(Some(TIMEOUT)).unwrap();
    socket
}

/// A UDP socket whose datagrams may not be fragmented.
pub(crate) fn udp_uncut(host: &Host, address: SocketAddr) -> UdpSocket {
    let socket = udp(host, address);
    UdpSocketState::new((&socket).into()).unwrap();
    socket.set_nonblocking(false).unwrap();
    socket
}

/// Echoes all datagrams that arrive at a UDP port, until this value is dropped.
pub(crate) struct Echo {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Echo {
    pub(crate) fn at(host: &Host, address: IpAddr) -> Echo {
        let socket = udp(host, SocketAddr::new(address, 7));
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (address, stopped) = (socket.local_addr().unwrap(), stop.clone());
        let work = move || {
            let mut packet = [0; 65_535];
            while !stopped.load(Ordering::Relaxed) {
                if let Ok((len, from)) = socket.recv_from(&mut packet) {
                    socket.send_to(&packet[..len], from).unwrap();
                }
            }
        };
        Echo { address, stop, thread: Some(std::thread::spawn(work)) }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let thread = self.thread.take().map(JoinHandle::join);
        assert!(std::thread::panicking() || matches!(thread, Some(Ok(()))), "the echo thread failed");
    }
}

/// Sends a datagram of `len` bytes to an echo and waits for the same datagram.
pub(crate) fn exchange(socket: &UdpSocket, echo: &Echo, len: usize) {
    let message = noise(&format!("datagram/{len}"), len);
    socket.send_to(&message, echo.address).unwrap_or_else(|error| panic!("sending {len} bytes: {error}"));
    let mut answer = vec![0; 65_535];
    let (got, from) = socket.recv_from(&mut answer).unwrap_or_else(|error| panic!("{len} bytes: {error}"));
    assert_eq!((got, from), (len, echo.address));
    assert!(answer[..got] == message, "{len} bytes came back changed");
}

/// Sends one small datagram to an echo, and waits for the echoed datagram. After this, both directions work, and all
/// datagrams sent earlier have arrived.
pub(crate) fn echo_once(from: &Host, to: &Host) {
    let echo = Echo::at(to, to.v4());
    exchange(&udp(from, SocketAddr::new(from.v4(), 0)), &echo, 100);
}

/// Transfers `len` bytes by the kernel's TCP in each direction between two hosts, at the same time. Each receiver
/// checks the data.
pub(crate) fn tcp_both_ways(from: &Host, to: &Host, address: IpAddr, len: usize) {
    let listener = to.namespace.run(|| TcpListener::bind(SocketAddr::new(address, 80))).unwrap().unwrap();
    let (forth, back) = (noise(&format!("forth/{address}"), len), noise(&format!("back/{address}"), len));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (stream, _) = listener.accept().unwrap();
            both_ways(&stream, &back, &forth);
        });
        let address = SocketAddr::new(address, 80);
        let stream = from.namespace.run(|| TcpStream::connect_timeout(&address, TIMEOUT)).unwrap().unwrap();
        both_ways(&stream, &forth, &back);
    });
}

/// A TCP connection from the left host to the right host.
pub(crate) fn connected(pair: &Pair) -> (TcpStream, TcpStream) {
    let (left, right) = (&pair.left.host, &pair.right.host);
    let address = SocketAddr::new(right.v4(), 80);
    let listener = right.namespace.run(|| TcpListener::bind(address)).unwrap().unwrap();
    let sender = left.namespace.run(|| TcpStream::connect(address)).unwrap().unwrap();
    let receiver = listener.accept().unwrap().0;
    for stream in [&sender, &receiver] {
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    }
    (sender, receiver)
}

/// A TCP connection that sends data until it is dropped, at a rate that leaves room for others.
pub(crate) struct Flow {
    stop: Arc<AtomicBool>,
    seen: Arc<Mutex<Seen>>,
    threads: Vec<JoinHandle<()>>,
}

/// What a receiver saw of a connection.
struct Seen {
    bytes: u64,
    /// When the clock was started, or the last data came.
    last: Instant,
    longest_still: Duration,
}

impl Flow {
    /// Connects `from` to the address of `to`, and begins to send.
    pub(crate) fn new(from: &Host, to: &Host, address: IpAddr) -> Flow {
        let listener = to.namespace.run(|| TcpListener::bind(SocketAddr::new(address, 0))).unwrap().unwrap();
        let (address, source) = (listener.local_addr().unwrap(), from.namespace.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::new(Mutex::new(Seen { bytes: 0, last: Instant::now(), longest_still: Duration::ZERO }));
        let (sends, receives, sees) = (stop.clone(), stop.clone(), seen.clone());
        let sender = move || {
            let mut stream = source.run(|| TcpStream::connect_timeout(&address, TIMEOUT)).unwrap().unwrap();
            stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
            while !sends.load(Ordering::Relaxed) {
                // A time-out says that the connection stands still, which the receiver sees.
                let _ = stream.write(&[7; 8_000]);
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let receiver = move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let mut buffer = [0; 65_536];
            while !receives.load(Ordering::Relaxed) {
                let got = stream.read(&mut buffer).unwrap_or(0);
                sees.lock().unwrap().note(got);
            }
        };
        Flow { stop, seen, threads: vec![std::thread::spawn(sender), std::thread::spawn(receiver)] }
    }

    /// Waits until `bytes` more bytes have arrived.
    pub(crate) fn carry(&self, bytes: u64) {
        let wanted = self.seen.lock().unwrap().bytes + bytes;
        until("a connection carries data", || self.seen.lock().unwrap().bytes >= wanted);
    }

    /// Forgets how long the connection stood still before.
    pub(crate) fn restart_clock(&self) {
        let mut seen = self.seen.lock().unwrap();
        (seen.last, seen.longest_still) = (Instant::now(), Duration::ZERO);
    }

    /// The longest time without data.
    pub(crate) fn longest_still(&self) -> Duration {
        let seen = self.seen.lock().unwrap();
        seen.longest_still.max(seen.last.elapsed())
    }
}

impl Seen {
    fn note(&mut self, bytes: usize) {
        if bytes > 0 {
            let still = self.last.elapsed();
            (self.last, self.longest_still) = (Instant::now(), self.longest_still.max(still));
            self.bytes += bytes as u64;
        }
    }
}

impl Drop for Flow {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A receiver whose sender never connected waits for ever; the test has failed then.
        if !std::thread::panicking() {
            let results: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
            assert!(results.iter().all(Result::is_ok), "a thread of a connection failed");
        }
    }
}

/// Sends all of `sent`, and receives at the same time. The received bytes must be `wanted`.
fn both_ways(mut stream: &TcpStream, sent: &[u8], wanted: &[u8]) {
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.set_write_timeout(Some(TIMEOUT)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || -> io::Result<()> {
            let mut writer = stream;
            writer.write_all(sent)?;
            writer.shutdown(std::net::Shutdown::Write)
        });
        let mut got = Vec::with_capacity(wanted.len());
        stream.read_to_end(&mut got).unwrap_or_else(|error| panic!("after {} bytes: {error}", got.len()));
        assert!(got == wanted, "{} of {} bytes arrived, or the bytes differ", got.len(), wanted.len());
    });
}
