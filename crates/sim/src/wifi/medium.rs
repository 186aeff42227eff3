//! The shared medium: it carries frames from their senders to all stations that sense them.

use super::air::AirLog;
use super::config::WifiConfig;
use super::counters::StationCounters;
use super::frame::{Frame, FrameKind};
use super::propagation::{Hearer, Position, hearers};
use super::queue::{Load, Packet, Payload, Queued};
use super::routing::Routes;
use super::station::{Flight, Station};
use super::timers::Timer;
use super::wakes::Wakes;
use ripstop_base::{Seed, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// A medium that stations share, with its stations.
///
/// The caller owns the clock. It offers packets with [`Medium::send`], calls [`Medium::run`] when the medium is due
/// ([`Medium::next_due`]), and takes outputs with [`Medium::poll`] until no output is left.
#[derive(Debug)]
pub struct Medium<P> {
    pub(super) config: WifiConfig,
    pub(super) stations: Vec<Station<P>>,
    /// For each station, the stations that sense its frames. The nearest station comes first.
    pub(super) hearers: Vec<Vec<Hearer>>,
    /// When each station has something to do next.
    pub(super) wakes: Wakes,
    pub(super) routes: Routes<P>,
    pub(super) outputs: VecDeque<MediumOutput<P>>,
    /// The record of the air. None if the medium does not record.
    pub(super) air: Option<Box<AirLog<P>>>,
    /// The number of packets that have entered the medium.
    entered: u64,
    /// The number of times that a station has woken.
    steps: u64,
}

/// An output of a medium.
#[derive(Clone, Debug, PartialEq)]
pub enum MediumOutput<P> {
    /// A packet has arrived at its destination.
    Delivered(P),
    /// A packet was dropped.
    Dropped(P, DropReason),
}

/// Why a station dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The interface queue was full.
    QueueFull,
    /// The packet, or its RTS, was sent as many times as the retry limit allows, without an answer.
    RetryLimit,
    /// A random loss destroyed the packet above the MAC.
    RandomLoss,
    /// The packet was a TCP acknowledgement that was lost in an XOR frame. No MAC ACK was due for the packet, so it was
    /// not sent again (Cadence).
    NotAcknowledged,
    /// There was no route to the packet's destination.
    NoRoute,
    /// The link to the packet's next hop was broken (AODV).
    LinkBreak,
    /// The buffer of packets that wait for a route was full (AODV).
    BufferFull,
    /// The packet waited too long for a route (AODV).
    Expired,
    /// The packet had passed the largest number of hops (AODV).
    TimeToLive,
    /// The packet came back to its source (AODV).
    Loop,
}

impl<P: Packet> Medium<P> {
    /// A medium with stations at these `places`. Station k draws back-offs from the stream `station/k` of `seed`, random
    /// losses from the stream `loss/k`, and the jitter of AODV from the stream `aodv/k`.
    pub fn new(config: WifiConfig, places: &[Position], seed: Seed) -> Medium<P> {
        let stream = |name: &str, k: usize| seed.stream(&format!("{name}/{k}"));
        let station = |k: usize| Station::new(&config, stream("station", k), stream("loss", k));
        let stations = (0..places.len()).map(station).collect();
        let hearers = hearers(&config, places);
        let routes = Routes::new(&config, &hearers, seed);
        let (wakes, outputs) = (Wakes::new(places.len()), VecDeque::new());
        Medium { config, stations, hearers, wakes, routes, outputs, air: None, entered: 0, steps: 0 }
    }

    /// The counters of station `station`.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn counters(&self, station: usize) -> &StationCounters {
        &self.stations[station].counters
    }

    /// The present k of station `station`: the number of hops over which the station's adaptive back-off protects a
    /// packet.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn protection(&self, station: usize) -> u32 {
        self.stations[station].contention.k
    }

    /// The number of packets in the interface queue of station `station`. The packet that the MAC sends does not count.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn waiting(&self, station: usize) -> usize {
        self.stations[station].queue.len()
    }

    /// The number of packets of the layer above in this medium. The caller has offered these packets, and the medium
    /// has not delivered or dropped them yet.
    pub fn held(&self) -> usize {
        let counts = |packet: &&Queued<P>| matches!(packet.packet, Some(Payload::Packet(_)));
        let at_station = |station: &Station<P>| {
            let passing = station.link_layer.iter();
            let exchange =
                station.exchange.iter().flat_map(|exchange| [Some(&exchange.first), exchange.partner.as_ref()]);
            passing.chain(exchange.flatten()).chain(station.queue.iter()).filter(counts).count()
        };
        let in_routers = self.routers().iter().map(|router| router.packets().filter(counts).count());
        self.stations.iter().map(at_station).chain(in_routers).sum()
    }

    /// The number of stations.
    pub fn stations(&self) -> usize {
        self.stations.len()
    }

    /// The next output. None if no output is left.
    pub fn poll(&mut self) -> Option<MediumOutput<P>> {
        self.outputs.pop_front()
    }

    /// Takes a packet at station `from` for station `to`. Stations between them pass it on.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn send(&mut self, from: u32, to: u32, packet: P, now: Time) {
        let (bytes, load) = (packet.bytes(), packet.load());
        self.entered += 1;
        self.stations[from as usize].counters.acks_entered += u64::from(load == Load::Ack);
        let id = self.entered;
        let packet = Some(Payload::Packet(packet));
        let (source, destination, failures) = (from, to, [0; 2]);
        let (since, is_backlogged, forwards) = (now, false, 0);
        let queued = Queued {
            packet,
            id,
            bytes,
            load,
            source,
            destination,
            to,
            from: None,
            since,
            is_backlogged,
            forwards,
            failures,
        };
        self.route(from as usize, queued, now);
        self.set_wake(from as usize);
    }

    /// When a station has something to do next. [`Time::NEVER`] if no station has anything to do.
    pub fn next_due(&mut self) -> Time {
        self.wakes.first().1
    }

    /// The number of times that a station has woken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Handles everything that is due at `now`. Then handles what is due before `until`, and stops as soon as there is
    /// an output. Returns the time that the medium has reached.
    pub fn run(&mut self, now: Time, until: Time) -> Time {
        let mut reached = now;
        loop {
            let (station, due) = self.wakes.first();
            if due > reached {
                if due >= until || !self.outputs.is_empty() {
                    return reached;
                }
                reached = due;
            }
            self.steps += 1;
            self.wake(station, reached);
        }
    }

    /// Handles what is due at station `k`.
    fn wake(&mut self, k: usize, now: Time) {
        // A frame that begins in this nanosecond is handled after the timers, because the timers were set before the
        // frame was sent. So two stations whose back-offs end together both send, and their frames collide.
        self.hear(k, now, now);
        for timer in Timer::ALL {
            if self.stations[k].timers.take(timer, now) {
                match timer {
                    Timer::Reception => self.await_reception(k),
                    Timer::Defer => self.on_defer_end(k, now),
                    Timer::Wait => self.on_wait_end(k, now),
                    Timer::Backoff => self.on_backoff_timer(k, now),
                    Timer::Protection => self.on_protection_end(k, now),
                    Timer::Release => self.on_release(k, now),
                    // `hear` has already done the work of this timer.
                    Timer::Local => {}
                    Timer::Routing => self.wake_router(k, now),
                }
            }
        }
        self.await_local(k);
        self.record_state(k, now);
        self.set_wake(k);
    }

    /// Applies at each station everything that has reached the station by `now`. Then all counters are up to date.
    pub fn settle(&mut self, now: Time) {
        for k in 0..self.stations.len() {
            self.hear(k, now + Duration::from_nanos(1), now);
            self.set_wake(k);
        }
    }

    /// Lets station `k` wake at its first timer.
    #[inline]
    fn set_wake(&mut self, k: usize) {
        self.wakes.set(k, self.stations[k].next_wake());
    }

    /// Puts a frame of station `k` on the air. The caller has set the station's phase.
    pub(super) fn transmit(&mut self, k: usize, frame: Frame, now: Time) {
        let station = &mut self.stations[k];
        debug_assert!(!station.is_sending(now), "a station sends one frame at a time");
        station.receiver.deafen();
        station.flight = Flight { frame, began: now };
        let counters = &mut station.counters;
        match frame.head.kind {
            FrameKind::Data | FrameKind::Xor | FrameKind::Broadcast => counters.data_frames += 1,
            FrameKind::Rts | FrameKind::Cts | FrameKind::Ack => counters.control_frames += 1,
        }
        self.record_frame(k, frame, now);
        self.radiate(k, frame, now);
    }

    /// Counts and reports a packet that station `k` drops.
    pub(super) fn drop_packet(&mut self, k: usize, packet: Queued<P>, reason: DropReason) {
        let counters = &mut self.stations[k].counters;
        match reason {
            DropReason::QueueFull => counters.queue_drops += 1,
            DropReason::RetryLimit => counters.retry_drops += 1,
            DropReason::RandomLoss => counters.lost_packets += 1,
            DropReason::NotAcknowledged => counters.rider_losses += 1,
            DropReason::NoRoute => counters.route_drops += 1,
            DropReason::LinkBreak => counters.break_drops += 1,
            DropReason::BufferFull => counters.buffer_drops += 1,
            DropReason::Expired => counters.expired_drops += 1,
            DropReason::TimeToLive | DropReason::Loop => counters.loop_drops += 1,
        }
        // A packet without content is not lost: its receiver already has the content.
        if let Some(Payload::Packet(packet)) = packet.packet {
            self.outputs.push_back(MediumOutput::Dropped(packet, reason));
        }
    }
}
