//! UDP datagrams through the tunnel, in both directions all the time. They tell how long the tunnel carried nothing. A TCP
//! says less: after an outage it may wait 2 minutes until it tries again.

use super::gap::Gap;
use super::hosts::{Hosts, inside};
use ripstop_net::os::netns::Namespace;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The UDP port of the receivers.
const PORT: u16 = 5004;
/// Time between two datagrams of a direction. With half the value, the datagrams keep the tunnel busy. With double the value,
/// an outage is measured less exactly.
const EVERY: Duration = Duration::from_millis(250);

/// The datagrams of both directions.
pub(crate) struct Probes {
    stop: Arc<AtomicBool>,
    directions: [Arc<Direction>; 2],
    threads: Vec<JoinHandle<()>>,
}

/// The datagrams of one direction.
struct Direction {
    received: AtomicU64,
    gap: Gap,
    fault: Mutex<Option<String>>,
}

impl Direction {
    fn fail(&self, words: String) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    }
}

impl Probes {
    /// Starts the datagrams of both directions.
    pub(crate) fn start(hosts: &Hosts) -> Probes {
        let stop = Arc::new(AtomicBool::new(false));
        let direction = || Direction { received: AtomicU64::new(0), gap: Gap::new(), fault: Mutex::new(None) };
        let directions = [0, 1].map(|_| Arc::new(direction()));
        let mut threads = Vec::new();
        for (from, direction) in directions.iter().enumerate() {
            let to = 1 - from;
            let (sender, receiver) = (hosts.namespace(from), hosts.namespace(to));
            let (shared, stopped) = (direction.clone(), stop.clone());
            threads.push(std::thread::spawn(move || {
                if let Err(error) = receive(&receiver, &shared, &stopped) {
                    shared.fail(format!("receiving datagrams at host {to}: {error}"));
                }
            }));
            let (shared, stopped) = (direction.clone(), stop.clone());
            threads.push(std::thread::spawn(move || {
                if let Err(error) = send(&sender, SocketAddr::new(inside(to), PORT), &stopped) {
                    shared.fail(format!("sending datagrams from host {from}: {error}"));
                }
            }));
        }
        Probes { stop, directions, threads }
    }

    /// The faults so far. `limit` is the longest time without a datagram.
    pub(crate) fn faults(&self, limit: Duration) -> Vec<String> {
        let mut all = Vec::new();
        for (from, direction) in self.directions.iter().enumerate() {
            all.extend(direction.fault.lock().unwrap_or_else(PoisonError::into_inner).take());
            let longest = direction.gap.longest();
            if longest > limit {
                all.push(format!("no datagram from host {from} came for {longest:?}"));
            }
        }
        all
    }

    /// Ends the datagrams.
    pub(crate) fn finish(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }

    /// What has arrived, in words.
    pub(crate) fn summary(&self) -> String {
        let words = self.directions.iter().map(|direction| {
            let longest = direction.gap.longest().as_secs_f64();
            format!("{} received, longest time without one {longest:.1} s", direction.received.load(Ordering::Relaxed))
        });
        words.collect::<Vec<_>>().join("; ")
    }
}

fn bind(host: &Namespace, port: u16) -> io::Result<UdpSocket> {
    host.run(|| UdpSocket::bind(SocketAddr::from(([0, 0, 0, 0], port)))).map_err(io::Error::other)?
}

fn receive(host: &Namespace, shared: &Direction, stop: &AtomicBool) -> io::Result<()> {
    let socket = bind(host, PORT)?;
    socket.set_read_timeout(Some(EVERY))?;
    while !stop.load(Ordering::Relaxed) {
        if socket.recv(&mut [0; 64]).is_ok() {
            shared.received.fetch_add(1, Ordering::Relaxed);
            shared.gap.note();
        }
    }
    Ok(())
}

/// Sends datagrams. While the tunnel's device is away, sending fails.
fn send(host: &Namespace, to: SocketAddr, stop: &AtomicBool) -> io::Result<()> {
    let socket = bind(host, 0)?;
    while !stop.load(Ordering::Relaxed) {
        let _ = socket.send_to(&[0; 64], to);
        std::thread::sleep(EVERY);
    }
    Ok(())
}
