//! Datagrams from strangers are dropped, counted and never answered.

use super::hosts::{End, Host, PORT, Pair, key, link, noise, over_v4, perfect, until};
use super::inside::{Echo, echo_once, exchange, udp};
use crate::common::with_namespaces;
use socket2::{Domain, Protocol, Socket, Type};
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// An attacker who reaches a daemon's port over a link of its own.
struct Stranger {
    socket: UdpSocket,
    /// The address on which the victim listens.
    victim: SocketAddr,
    /// Echoes datagrams that arrive at another port of the victim's host.
    echo: Echo,
}

impl Stranger {
    /// An attacker at the left end of link `number`. The victim is at the right end.
    fn at(host: &Host, number: u8, victim: &Host) -> Stranger {
        let socket = udp(host, SocketAddr::new(over_v4(number, 1).ip(), 0));
        let victim_at = over_v4(number, 2);
        Stranger { socket, victim: victim_at, echo: Echo::at(victim, victim_at.ip()) }
    }

    fn send(&self, datagram: &[u8]) {
        self.socket.send_to(datagram, self.victim).unwrap();
    }

    /// Waits until the victim has dropped `dropped` datagrams. Then asserts that the victim
    /// answered none of them.
    fn is_not_answered(&self, victim: &End, dropped: u64) {
        until("all datagrams were dropped", || victim.all_rejected() >= dropped);
        // An answer would have left before the victim's counters changed. The echo below takes the same path
        // later, so it must be the first datagram to come back.
        exchange(&self.socket, &self.echo, 100);
        self.socket.set_nonblocking(true).unwrap();
        assert_eq!(self.socket.recv(&mut [0; 2_000]).unwrap_err().kind(), ErrorKind::WouldBlock);
        self.socket.set_nonblocking(false).unwrap();
        assert_eq!(victim.all_rejected(), dropped, "{:?}", victim.status().rejected);
    }
}

#[test]
fn random_bytes_are_dropped_and_not_answered() {
    with_namespaces(|| {
        let pair = Pair::raise(&perfect(), 1500, "");
        let elsewhere = Host::new(66);
        let _link = link(2, &elsewhere, &pair.right.host, &perfect(), 1500);
        let stranger = Stranger::at(&elsewhere, 2, &pair.right.host);
        let mut sent = 0;
        // Every meaningful first byte and some others, at lengths close to those of real datagrams.
        for kind in (0..32).chain([0x80, 0xFF]) {
            for len in [1, 9, 24, 25, 26, 63, 64, 65, 129, 130, 131, 173, 174, 175, 500, 1400] {
                let mut datagram = noise(&format!("stranger/{kind}/{len}"), len);
                datagram[0] = kind;
                stranger.send(&datagram);
                sent += 1;
            }
        }
        // Handshake messages that are valid in every part that needs no key (docs/contributors/wire-format.md).
        for (header, len) in [([1, 1, 2, 0], 174), ([1, 2, 2, 0], 174), ([2, 0, 0, 0], 130), ([3, 0, 0, 0], 64)] {
            let mut datagram = noise(&format!("handshake/{header:?}"), len);
            datagram[..4].copy_from_slice(&header);
            stranger.send(&datagram);
            sent += 1;
        }
        // A datagram from UDP port 0: a UDP header without checksum, and four bytes.
        let raw = || Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::UDP)).unwrap();
        let [high, low] = stranger.victim.port().to_be_bytes();
        let from_port_zero = [0, 0, high, low, 0, 12, 0, 0, 1, 2, 3, 4];
        let victim = SocketAddr::new(stranger.victim.ip(), 0).into();
        elsewhere.namespace.run(raw).unwrap().send_to(&from_port_zero, &victim).unwrap();
        stranger.is_not_answered(&pair.right, sent + 1);
        for reason in ["malformed", "no_session", "mac1", "unsolicited", "port_zero"] {
            assert!(pair.right.rejected(reason) > 0, "{reason}: {:?}", pair.right.status().rejected);
        }
        let status = pair.right.status();
        assert_eq!((status.totals.addresses.roamed, status.totals.secure.responses), (0, 1), "{:?}", status.totals);
        echo_once(&pair.left.host, &pair.right.host);
    });
}

#[test]
fn replays_are_dropped_and_not_answered() {
    with_namespaces(|| {
        let [left, middle, right] = [1, 66, 2].map(Host::new);
        let _links = [link(1, &middle, &left, &perfect(), 1500), link(2, &middle, &right, &perfect(), 1500)];
        let relay = Relay::between(&middle, over_v4(1, 2), over_v4(2, 2));
        let called = right.up("", &[left.as_peer("")]);
        let caller = left.up("", &[right.as_peer(&format!("endpoint = \"{}\"", over_v4(1, 1)))]);
        until("both are connected", || called.is_connected() && caller.is_connected());
        for _ in 0..3 {
            echo_once(&left, &right);
        }
        for (number, victim, host) in [(2, &called, &right), (1, &caller, &left)] {
            let stranger = Stranger::at(&middle, number, host);
            let before = victim.all_rejected();
            let seen = relay.seen(number);
            assert!(seen.len() > 5, "{} datagrams were seen", seen.len());
            for datagram in &seen {
                stranger.send(datagram);
            }
            stranger.is_not_answered(victim, before + seen.len() as u64);
            let of_handshakes = victim.rejected("handshake_replayed") + victim.rejected("unsolicited");
            assert!(victim.rejected("replayed") > 4 && of_handshakes > 0, "{:?}", victim.status().rejected);

            // The same datagrams again, damaged, and with numbers that were never used.
            for datagram in &seen {
                let mut forged = datagram.clone();
                let last = forged.len() - 1;
                forged[6] ^= 1;
                forged[last] ^= 0x10;
                stranger.send(&forged);
            }
            stranger.is_not_answered(victim, before + 2 * seen.len() as u64);
            assert!(victim.rejected("forged") > 0, "{:?}", victim.status().rejected);
            let totals = victim.status().totals;
            assert_eq!(
                (totals.addresses.roamed, victim.peer().counts.sessions, victim.peer().counts.restarts),
                (0, 1, 0),
                "{totals:?}"
            );
        }
        echo_once(&right, &left);
    });
}

/// A relay that forwards datagrams and records them.
struct Relay {
    /// Datagrams forwarded to the end of link 1, and datagrams forwarded to the end of link 2.
    seen: Arc<[Mutex<Vec<Vec<u8>>>; 2]>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Relay {
    /// A relay on `host`, which has the left ends of links 1 and 2. The caller sends to the relay's port on link 1.
    fn between(host: &Host, first: SocketAddr, second: SocketAddr) -> Relay {
        let here = udp(host, over_v4(1, 1));
        let there = udp(host, SocketAddr::new(over_v4(2, 1).ip(), PORT));
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::new([Mutex::default(), Mutex::default()]);
        let threads = [(&there, &here, first, 0), (&here, &there, second, 1)]
            .map(|(from, to, target, index)| {
                let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
                let (stop, seen) = (stop.clone(), seen.clone());
                std::thread::spawn(move || {
                    let mut buffer = [0; 65_535];
                    while !stop.load(Ordering::Relaxed) {
                        let Ok((len, _)) = from.recv_from(&mut buffer) else { continue };
                        // The send fails while nobody listens at `target`.
                        if to.send_to(&buffer[..len], target).is_ok() {
                            // The datagram is recorded only now, so that a replay always comes
                            // after the original.
                            let seen: &[Mutex<Vec<Vec<u8>>>; 2] = &seen;
                            seen[index].lock().unwrap().push(buffer[..len].to_vec());
                        }
                    }
                })
            })
            .into();
        Relay { seen, stop, threads }
    }

    /// All datagrams forwarded to the end of link `number` so far.
    fn seen(&self, number: u8) -> Vec<Vec<u8>> {
        self.seen[usize::from(number) - 1].lock().unwrap().clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[test]
fn wrong_keys_never_connect() {
    with_namespaces(|| {
        let [left, right, unknown] = [1, 2, 3].map(Host::new);
        let _links = [link(1, &left, &right, &perfect(), 1500), link(2, &unknown, &right, &perfect(), 1500)];
        let called = right.up("", &[left.as_peer("")]);
        // One caller expects a wrong public key. The other caller's key is unknown to the called host.
        let wrong = right
            .as_peer(&format!("endpoint = \"{}\"", over_v4(1, 2)))
            .replace(&key(2).public().to_string(), &key(200).public().to_string());
        let misled = left.up("", &[wrong]);
        let stranger = unknown.up("", &[right.as_peer(&format!("endpoint = \"{}\"", over_v4(2, 2)))]);
        until("both callers say that nobody answers", || misled.peer().unreachable && stranger.peer().unreachable);
        until("the calls are counted", || called.rejected("mac1") > 2 && called.rejected("unknown_peer") > 2);
        for end in [&called, &misled, &stranger] {
            let (peer, totals) = (end.peer(), end.status().totals);
            assert!(!peer.connected && peer.counts.sessions == 0, "{peer:?}");
            assert_eq!((totals.secure.responses, totals.secure.established), (0, 0), "{totals:?}");
            assert_eq!(end.status().device.packets.packets_out, 0);
        }
        for caller in [&misled, &stranger] {
            assert_eq!(caller.status().udp.received, 0, "the caller got an answer");
        }
    });
}
