//! Files over the kernel's TCP through the tunnel, in both directions, one connection after the other.

use super::gap::Gap;
use super::hosts::{Hosts, inside};
use ripstop_base::Seed;
use ripstop_net::os::netns::Namespace;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The TCP port of the receivers.
const PORT: u16 = 5003;
/// The longest file, bytes. Half the value makes more connections. With double the value, fewer connections begin
/// during a mishap.
const LONGEST: u64 = 4_000_000;
/// How long an end waits for one read or write before it looks whether the run is over.
const LOOK: Duration = Duration::from_millis(500);

/// The files of both directions.
pub(crate) struct Transfers {
    directions: [Arc<Direction>; 2],
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// The files of one direction.
struct Direction {
    stop: AtomicBool,
    /// Whether the sender has ended. A receiver that ended sooner would reset the sender's next connection.
    sent: AtomicBool,
    files: AtomicU64,
    bytes: AtomicU64,
    gap: Gap,
    faults: Mutex<Vec<String>>,
}

impl Direction {
    fn fault(&self, words: String) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }

    fn new() -> Direction {
        Direction {
            stop: AtomicBool::new(false),
            sent: AtomicBool::new(false),
            files: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            gap: Gap::new(),
            faults: Mutex::new(Vec::new()),
        }
    }
}

impl Transfers {
    /// Starts the files of both directions.
    pub(crate) fn start(hosts: &Hosts, seed: Seed) -> Transfers {
        let directions = [0, 1].map(|_| Arc::new(Direction::new()));
        let mut threads = Vec::new();
        for (from, direction) in directions.iter().enumerate() {
            let to = 1 - from;
            let (sender, receiver) = (hosts.namespace(from), hosts.namespace(to));
            let shared = direction.clone();
            threads.push(std::thread::spawn(move || {
                if let Err(error) = receive(&receiver, to, &shared, seed) {
                    shared.fault(format!("receiving at host {to}: {error}"));
                }
            }));
            let shared = direction.clone();
            threads.push(std::thread::spawn(move || {
                send(&sender, from, &shared, seed);
                shared.sent.store(true, Ordering::Relaxed);
            }));
        }
        Transfers { directions, threads: Mutex::new(threads) }
    }

    /// The faults so far. `limit` is the longest time without a byte.
    pub(crate) fn faults(&self, limit: Duration) -> Vec<String> {
        let mut all = Vec::new();
        for direction in &self.directions {
            all.append(&mut direction.faults.lock().unwrap_or_else(PoisonError::into_inner));
            let longest = direction.gap.longest();
            if longest > limit {
                all.push(format!("no byte came for {longest:?}"));
            }
        }
        all
    }

    /// Lets each direction finish its file, and ends. A file that does not finish within `limit` is a fault.
    pub(crate) fn finish(&self, limit: Duration) -> Vec<String> {
        self.directions.iter().for_each(|direction| direction.stop.store(true, Ordering::Relaxed));
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + limit;
        while threads.iter().any(|thread| !thread.is_finished()) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
        }
        let mut all = self.faults(limit);
        if threads.iter().any(|thread| !thread.is_finished()) {
            all.push(format!("the last files did not arrive within {limit:?} on a calm link"));
        } else {
            threads.drain(..).for_each(|thread| drop(thread.join()));
        }
        let empty = self.directions.iter().any(|direction| direction.files.load(Ordering::Relaxed) == 0);
        all.extend(empty.then(|| "no file arrived".to_owned()));
        all
    }

    /// What has arrived, in words.
    pub(crate) fn summary(&self) -> String {
        let words = self.directions.iter().map(|direction| {
            let longest = direction.gap.longest().as_secs_f64();
            let (files, bytes) = (direction.files.load(Ordering::Relaxed), direction.bytes.load(Ordering::Relaxed));
            format!("{files} complete, {bytes} bytes, longest time without a byte {longest:.1} s")
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

/// The bytes of file `number` from host `from`.
fn content(seed: Seed, from: usize, number: u64) -> Vec<u8> {
    let mut stream = seed.run(number).stream(&format!("file/{from}"));
    let mut bytes = vec![0; 1 + stream.below(LONGEST) as usize];
    stream.fill(&mut bytes);
    bytes
}

fn is_pause(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Accepts one connection after the other, and compares what comes with the file of its number.
fn receive(host: &Namespace, to: usize, shared: &Direction, seed: Seed) -> io::Result<()> {
    let bound = host.run(|| TcpListener::bind(SocketAddr::from(([0, 0, 0, 0], PORT))));
    let listener = bound.map_err(io::Error::other)??;
    listener.set_nonblocking(true)?;
    let mut number = 0;
    loop {
        let mut stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if is_pause(&error) => {
                if shared.sent.load(Ordering::Relaxed) {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(LOOK))?;
        let (expected, mut got, mut buffer) = (content(seed, 1 - to, number), 0, vec![0; 1 << 16]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => {
                    if expected.get(got..got + n) != Some(&buffer[..n]) {
                        shared.fault(format!("host {to}: file {number} differs after {got} bytes"));
                        return Ok(());
                    }
                    got += n;
                    shared.bytes.fetch_add(n as u64, Ordering::Relaxed);
                    shared.gap.note();
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => {
                    shared.fault(format!("host {to}: file {number} broke off after {got} bytes: {error}"));
                    return Ok(());
                }
            }
        }
        if got != expected.len() {
            shared.fault(format!("host {to}: file {number} has {got} of {} bytes", expected.len()));
            return Ok(());
        }
        // The sender waits for this byte, so that the next file begins after the end of this one.
        stream.write_all(&[1])?;
        shared.files.fetch_add(1, Ordering::Relaxed);
        number += 1;
    }
}

/// Sends one file after the other until the run is over.
fn send(host: &Namespace, from: usize, shared: &Direction, seed: Seed) {
    let to = SocketAddr::new(inside(1 - from), PORT);
    for number in 0.. {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        let bytes = content(seed, from, number);
        if let Err(error) = send_file(host, to, &bytes) {
            return shared.fault(format!("host {from}: sending file {number}: {error}"));
        }
    }
}

/// Sends one file, and waits until the receiver has it. While the tunnel's device is away, a connection cannot begin.
fn send_file(host: &Namespace, to: SocketAddr, bytes: &[u8]) -> io::Result<()> {
    let end = Instant::now() + super::MOST_STALL;
    let mut stream = loop {
        let connected =
            host.run(|| TcpStream::connect_timeout(&to, Duration::from_secs(30))).map_err(io::Error::other)?;
        match connected {
            Ok(stream) => break stream,
            Err(_) if Instant::now() < end => std::thread::sleep(Duration::from_millis(100)),
            Err(error) => return Err(error),
        }
    };
    stream.write_all(bytes)?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(super::MOST_STALL * 2))?;
    stream.read_exact(&mut [0])
}
