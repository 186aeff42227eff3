//! The thread that moves packets.
//!
//! The thread waits for all its descriptors with a [`Reactor`]: the descriptor by which other threads wake it, the UDP
//! sockets (`network.rs`), and those of the front ends. A front end is a module that registers descriptors, supplies the
//! endpoint with data to send, and takes what peers have sent. The TUN device (`device.rs`) is the front end for IP packets.
//! A daemon without a device drops the packets of its peers, and counts them.
//!
//! The thread wakes when a descriptor is readable, or when a blocked socket is writable again. The thread also wakes
//! when a time-out of the endpoint or a look-up of a name is due. Each pass of the thread's loop is a *turn*. In a
//! turn, the thread reads a bounded number of times from each socket and from the device, and then sends all outputs. So
//! all packets that waited for a wake-up share the cost of this wake-up.
//!
//! A wake-up costs as much as tens of packets. Two rules keep the number of wake-ups low:
//!
//! - After a turn that delivered packets, the thread reads from the device without waiting. The kernel's TCP answers a
//!   packet while the packet is written to the device, so the answer is there already.
//! - While much traffic flows, the thread pauses between two turns (`moderation.rs`). A pause takes one system call too:
//!   it waits only for descriptors that are urgent enough.

mod device;
mod events;
mod heap;
mod lookups;
mod meter;
mod moderation;
mod network;
mod peer_state;
mod rejected;
mod reload;
mod snapshot;
mod sources;
mod spare_ports;
mod waiting;

use super::config::{DaemonConfig, HostPort};
use super::status::LoopCounters;
use super::{DaemonError, Shared, System};
use crate::os::epoll::{Interest, Reactor, Registration, Urgency};
use crate::os::heap::return_free_pages;
pub(super) use device::{Device, open_device};
use heap::Heap;
use lookups::Lookups;
use meter::Meters;
pub(super) use network::Network;
use peer_state::PeerState;
use rejected::RejectedLog;
pub(super) use reload::needs_restart;
use ripstop_base::Time;
use ripstop_proto::endpoint::{Endpoint, EndpointConfig, PeerConfig, inner_packet};
use ripstop_proto::secure::SecureConfig;
use sources::{Port, Readable, Source};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use waiting::{Limits, Waits};

/// The largest number of read calls of a socket in one turn. A call brings up to 512 KB. Twice the value doubles the
/// longest time that a packet waits for the rest of its turn. Half the value makes twice as many turns while much data
/// waits. With little traffic the value has no effect: after one or two calls, nothing more can be read.
const MAX_READS: usize = 8;
/// The longest time, 200 ms, for which a daemon that stops goes on to send. What waits in the send queues is worth one or
/// two round trips, and applications count on it. With half the value, paths of more than 100 ms lose a part of it. With
/// double the value, a stop takes up to 400 ms if a peer with queued packets does not answer.
const CLOSING: Duration = Duration::from_millis(200);

/// The state of the packet thread.
pub(super) struct PacketLoop {
    shared: Arc<Shared>,
    config: DaemonConfig,
    endpoint: Endpoint,
    reactor: Reactor,
    /// The descriptor by which other threads wake this one.
    wakeup: Registration,
    network: Network,
    /// The front end for IP packets; None for a daemon that carries none.
    device: Option<Device>,
    counters: LoopCounters,
    /// Whether this turn has written packets to the device.
    has_delivered: bool,
    peers: Vec<PeerState>,
    lookups: Lookups,
    waits: Waits,
    rejected: RejectedLog,
    meters: Meters,
    heap: Heap,
}

impl PacketLoop {
    /// Adds all peers to the endpoint, and starts handshakes with the peers whose address is known.
    pub(super) fn new(
        config: &DaemonConfig,
        shared: Arc<Shared>,
        mut reactor: Reactor,
        mut network: Network,
        device: Option<Device>,
    ) -> Result<PacketLoop, DaemonError> {
        let now = shared.worker.now();
        let secure = SecureConfig { wall_clock: wall_clock(now), ..SecureConfig::default() };
        let settings = EndpointConfig {
            tunnel: config.tunnel.clone(),
            acks: config.acks,
            secure,
            memory: config.memory,
            work_per_second: config.work_per_second,
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(config.private.clone(), settings, Box::new(System), Box::new(System));
        let mut peers = Vec::new();
        for peer in &config.peers {
            let address = peer.endpoint.as_ref().and_then(HostPort::address);
            let id = endpoint.add_peer(
                now,
                &PeerConfig {
                    public: peer.public,
                    preshared: peer.preshared.clone(),
                    endpoint: address,
                    allowed_ips: peer.allowed_ips.clone(),
                    keepalive: peer.keepalive,
                },
            )?;
            network.warn_if_out_of_reach(&peer.name, address);
            peers.push(PeerState::new(id, peer, now));
        }
        let mut lookups = Lookups::new(shared.worker.wakeup().clone());
        lookups.follow(&peers);
        if let Some(device) = &device {
            network.ignore_device(device.tun().index());
            device.tell_inside(&mut endpoint);
        }
        let wakeup = reactor
            .register(shared.worker.wakeup(), Source::Wakeup.token(), Interest::READ, Urgency::Control)
            .map_err(DaemonError::system("watching an event descriptor"))?;
        Ok(PacketLoop {
            shared,
            config: config.clone(),
            endpoint,
            reactor,
            wakeup,
            network,
            device,
            counters: LoopCounters::default(),
            has_delivered: false,
            peers,
            lookups,
            waits: Waits::new(now),
            rejected: RejectedLog::new(now),
            meters: Meters::new(now),
            heap: Heap::new(now),
        })
    }

    /// Moves packets until the daemon is stopped or an error occurs. Then publishes the last
    /// snapshot.
    pub(super) fn run(mut self) {
        // Without this call the kernel may delay a timer by 50 us to combine it with others (timerslack).
        let _ = nix::sys::prctl::set_timerslack(1);
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run_until_stopped()));
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(error.to_string()),
            Err(_) => Some("the packet thread panicked; the log has the message".to_owned()),
        };
        let snapshot = catch_unwind(AssertUnwindSafe(|| self.snapshot())).ok();
        if let Some(device) = &self.device {
            device.end();
        }
        // The device must be gone before the threads that wait for this thread's end are notified.
        let shared = self.shared.clone();
        drop(self);
        if let Some(error) = error {
            let _ = shared.error.set(error);
        }
        shared.worker.end(snapshot);
        let _ = shared.ended.write(1);
    }

    fn run_until_stopped(&mut self) -> io::Result<()> {
        // The first turn reads from the device and from the socket.
        let mut readable = Readable { wakeup: false, device: true, ports: vec![Port::Listening] };
        loop {
            self.waits.turns += 1;
            let now = self.shared.worker.now();
            self.handle_timeout(now);
            if readable.wakeup {
                self.shared.worker.clear_wakeup();
            }
            let mut more = self.read_datagrams(&readable.ports)?;
            if let Some(device) = &mut self.device {
                if readable.device {
                    more |= device.read(now, &mut self.endpoint, &mut self.network, &mut self.waits.moderation);
                }
                device.follow(&mut self.reactor, &mut self.endpoint, &mut self.network)?;
            }
            self.lookups.advance(now, &mut self.endpoint, &self.network, &mut self.peers);
            self.change_ports(now);
            self.rejected.warn(now, &mut self.endpoint, self.network.udp.from_port_zero());
            let is_second = self.meters.read(now, &self.endpoint, &mut self.peers);
            if is_second && self.heap.is_due(now, self.endpoint.memory()) {
                return_free_pages();
            }
            self.reload(now);
            self.drain();
            if self.shared.worker.is_stopped() {
                return self.close();
            }
            self.shared.worker.answer(|| self.snapshot());
            let is_left = self.endpoint.has_undelivered();
            if std::mem::take(&mut self.has_delivered) || is_left {
                readable.clear();
                readable.device = true;
                if more || is_left {
                    // The turns that deliver the rest take the other peers' datagrams too.
                    readable.ports.extend(self.network.ports());
                }
            } else {
                self.wait(more, &mut readable)?;
            }
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.endpoint.poll_timeout().is_some_and(|at| at <= now) {
            self.endpoint.handle_timeout(now);
        }
    }

    /// Reads datagrams from peers. Returns whether there may be more.
    fn read_datagrams(&mut self, ports: &[Port]) -> io::Result<bool> {
        ports.iter().try_fold(false, |more, port| Ok(more | self.read_port(*port)?))
    }

    /// Reads datagrams that came to this port. Returns whether there may be more.
    fn read_port(&mut self, port: Port) -> io::Result<bool> {
        for _ in 0..MAX_READS {
            match self.network.receive(port, &mut self.endpoint) {
                None => return Ok(false),
                Some(Ok(received)) => {
                    self.waits.moderation.count(received.datagrams, received.bytes);
                    if !received.full {
                        return Ok(false);
                    }
                    self.drain();
                }
                Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                // The kernel reports an ICMP error about an earlier datagram.
                Some(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Some(Err(error)) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Sends and delivers the outputs of the endpoint.
    fn drain(&mut self) {
        self.network.transmit(&mut self.endpoint);
        self.deliver();
        while let Some(event) = self.endpoint.poll_event() {
            self.handle_event(event);
        }
    }

    /// Gives the packets that came through the tunnel to the front end.
    fn deliver(&mut self) {
        let Some(device) = &mut self.device else {
            while let Some((peer, delivered)) = self.endpoint.poll_deliver() {
                self.counters.no_device += 1;
                if let Some(peer) = self.peers.get_mut(peer.index()) {
                    peer.count_received(inner_packet(&delivered).len() as u64);
                }
            }
            return;
        };
        let written = device.write(&mut self.endpoint, &mut self.peers);
        self.has_delivered |= written.any;
        if written.short {
            self.waits.expect_answer();
        }
    }

    /// Waits for the next turn. Notes in `readable` what the turn must read.
    fn wait(&mut self, more: bool, readable: &mut Readable) -> io::Result<()> {
        self.network.watch(&mut self.reactor)?;
        if let Some(device) = &mut self.device {
            device.watch(&mut self.reactor)?;
        }
        let due = [self.endpoint.poll_timeout(), self.lookups.next_due(), self.network.spare_ports.next_due()];
        let limits = Limits { due: due.into_iter().flatten().min(), blocked: self.network.is_blocked(), more };
        let now = self.shared.worker.now();
        if self.waits.wait(&mut self.reactor, &mut self.endpoint, now, limits, readable)? {
            readable.ports.extend(self.network.ports());
        }
        Ok(())
    }

    /// Ends all sessions. Goes on to send and deliver until nothing is queued, for at most [`CLOSING`]. Then the peers are told
    /// about the end. The device is not read any more.
    fn close(&mut self) -> io::Result<()> {
        let (end, mut readable) = (self.shared.worker.now() + CLOSING, Readable::default());
        self.endpoint.close();
        if let Some(device) = &mut self.device {
            device.stop_reading(&mut self.reactor)?;
        }
        // Other threads are not answered any more.
        self.reactor.set_interest(self.shared.worker.wakeup(), &mut self.wakeup, Interest::NONE)?;
        loop {
            self.drain();
            let now = self.shared.worker.now();
            if !self.has_queued() {
                return Ok(());
            }
            if now >= end {
                self.endpoint.close_now();
                self.drain();
                return Ok(());
            }
            self.wait_for_reports(end, &mut readable)?;
            // Reports of the peers make room for further datagrams.
            self.read_datagrams(&readable.ports)?;
            self.handle_timeout(self.shared.worker.now());
        }
    }

    /// Whether datagrams wait for the socket, or inner packets for their turn in either direction.
    fn has_queued(&self) -> bool {
        let mut peers = self.endpoint.peers();
        self.network.is_blocked()
            || self.endpoint.has_undelivered()
            || peers.any(|peer| self.endpoint.backlog_packets(peer).is_some_and(|packets| packets > 0))
    }

    /// Waits until a socket is ready, or a time-out is due, at most until `end`.
    fn wait_for_reports(&mut self, end: Time, readable: &mut Readable) -> io::Result<()> {
        self.network.watch(&mut self.reactor)?;
        let due = self.endpoint.poll_timeout().map_or(end, |at| at.min(end));
        let (blocked, more) = (self.network.is_blocked(), self.endpoint.has_undelivered());
        let limits = Limits { due: Some(due), blocked, more };
        readable.clear();
        self.reactor.wait(Urgency::Bulk, limits.longest(self.shared.worker.now()), |ready| readable.note(ready))
    }
}

/// The wall clock (UTC since 1970) at the time zero of the thread's clock, on which it is `now`.
fn wall_clock(now: Time) -> Duration {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    wall.saturating_sub(now.since(Time::ZERO))
}

#[cfg(test)]
mod tests;
