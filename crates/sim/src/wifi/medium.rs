//! The shared medium: it carries frames from their senders to all stations that sense them.

use super::config::WifiConfig;
use super::counters::StationCounters;
use super::frame::{Frame, FrameKind};
use super::propagation::{Hearer, Position, hearers};
use super::queue::{Packet, Payload, Queued};
use super::receiver::{Beginning, Ending};
use super::routing::Routes;
use super::station::{Flight, Passing, Station, StationAlarm};
use crate::engine::{Alarm, Scheduler};
use ripstop_base::Seed;
use std::collections::VecDeque;

/// A medium that stations share, with its stations.
///
/// The caller owns the clock. It offers packets with [`Medium::send`], calls [`Medium::wake`] when an alarm of a
/// station rings, and takes what comes out with [`Medium::poll`] until nothing is left.
#[derive(Debug)]
pub struct Medium<P> {
    pub(super) config: WifiConfig,
    pub(super) stations: Vec<Station<P>>,
    /// For each station, the stations that hear it, the nearest first.
    hearers: Vec<Vec<Hearer>>,
    pub(super) routes: Routes<P>,
    pub(super) outputs: VecDeque<MediumOutput<P>>,
    /// How many packets entered the medium.
    entered: u64,
}

/// What a medium hands out.
#[derive(Clone, Debug, PartialEq)]
pub enum MediumOutput<P> {
    /// A packet has arrived at its station.
    Delivered(P),
    /// A packet was dropped.
    Dropped(P, DropReason),
}

/// Why a station dropped a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The interface queue was full.
    QueueFull,
    /// The packet was sent as often as the retry limit allows, and no MAC ACK came.
    RetryLimit,
    /// No way leads to the packet's destination.
    NoRoute,
    /// The link to the packet's next hop was broken (AODV).
    LinkBreak,
    /// The buffer of packets that wait for a route was full (AODV).
    BufferFull,
    /// The packet waited too long for a route (AODV).
    Expired,
    /// The packet has passed the largest number of hops (AODV).
    TimeToLive,
    /// The packet came back to its source (AODV).
    Loop,
}

impl<P: Packet> Medium<P> {
    /// A medium with stations at these `places`. `alarm` makes the alarms of each station. Station k draws its
    /// back-offs from the stream `station/k` of `seed`, and the jitter of AODV from `aodv/k`.
    pub fn new(
        config: WifiConfig,
        places: &[Position],
        seed: Seed,
        mut alarm: impl FnMut(u32, StationAlarm) -> Alarm,
    ) -> Medium<P> {
        let station = |k: usize| {
            let alarms = StationAlarm::ALL.map(|kind| alarm(k as u32, kind));
            Station::new(&config, alarms, seed.stream(&format!("station/{k}")))
        };
        let stations = (0..places.len()).map(station).collect();
        let hearers = hearers(&config, places);
        let routes = Routes::new(&config, &hearers, seed);
        Medium { config, stations, hearers, routes, outputs: VecDeque::new(), entered: 0 }
    }

    /// The counters of station `station`.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn counters(&self, station: usize) -> &StationCounters {
        &self.stations[station].counters
    }

    /// The present k of station `station`: the hops over which its adaptive back-off protects a packet.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn protection(&self, station: usize) -> u32 {
        self.stations[station].contention.k
    }

    /// The packets in the interface queue of station `station`, without the one that the MAC sends.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn waiting(&self, station: usize) -> usize {
        self.stations[station].queue.len()
    }

    /// The packets of the layer above in this medium: offered, and neither delivered nor dropped yet.
    pub fn held(&self) -> usize {
        let counts = |packet: &&Queued<P>| matches!(packet.packet, Some(Payload::Packet(_)));
        let at_station = |station: &Station<P>| {
            let passing = station.link_layer.iter().map(|(_, Passing::Up(packet) | Passing::Down(packet))| packet);
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

    /// The next output. None when nothing is left.
    pub fn poll(&mut self) -> Option<MediumOutput<P>> {
        self.outputs.pop_front()
    }

    /// Takes a packet at station `from` for station `to`. Stations between them pass it on.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn send(&mut self, from: u32, to: u32, packet: P, scheduler: &mut Scheduler) {
        let (bytes, load) = (packet.bytes(), packet.load());
        self.entered += 1;
        let id = self.entered;
        let packet = Some(Payload::Packet(packet));
        let (source, destination, failures) = (from, to, [0; 2]);
        let queued = Queued { packet, id, bytes, load, source, destination, to, from: None, forwards: 0, failures };
        self.route(from as usize, queued, scheduler);
    }

    /// Handles an alarm of a station.
    pub fn wake(&mut self, station: u32, kind: StationAlarm, scheduler: &mut Scheduler) {
        let k = station as usize;
        match kind {
            StationAlarm::Flight => self.fly(k, scheduler),
            StationAlarm::Backoff => self.on_backoff_end(k, scheduler),
            StationAlarm::Defer => self.on_defer_end(k, scheduler),
            StationAlarm::Wait => self.on_wait_end(k, scheduler),
            StationAlarm::Protection => self.on_protection_end(k, scheduler),
            StationAlarm::LinkLayer => self.leave_link_layer(k, scheduler),
            StationAlarm::Routing => self.wake_router(k, scheduler),
        }
    }

    /// Puts a frame of station `k` on the air. The caller has set the station's phase.
    pub(super) fn transmit(&mut self, k: usize, frame: Frame, scheduler: &mut Scheduler) {
        let station = &mut self.stations[k];
        debug_assert!(!station.sending, "a station sends one frame at a time");
        station.sending = true;
        station.receiver.deafen();
        let now = scheduler.now();
        station.flight = Flight { frame, began: now, edge: 0 };
        let counters = &mut station.counters;
        match frame.kind {
            FrameKind::Data | FrameKind::Xor | FrameKind::Broadcast => counters.data_frames += 1,
            FrameKind::Rts | FrameKind::Cts | FrameKind::Ack => counters.control_frames += 1,
        }
        let first = self.hearers[k].first().map_or(frame.airtime, |hearer| hearer.delay);
        scheduler.set(station.alarms[StationAlarm::Flight as usize], now + first);
    }

    /// Handles the edges of station `k`'s frame that are due now, and sets the alarm for the next.
    fn fly(&mut self, k: usize, scheduler: &mut Scheduler) {
        let now = scheduler.now();
        let count = self.hearers[k].len();
        loop {
            let Flight { frame, began, edge } = self.stations[k].flight;
            let when = match edge {
                _ if edge < count => began + self.hearers[k][edge].delay,
                _ if edge == count => began + frame.airtime,
                _ if edge <= 2 * count => began + frame.airtime + self.hearers[k][edge - count - 1].delay,
                _ => return,
            };
            if when > now {
                return scheduler.set(self.stations[k].alarm(StationAlarm::Flight), when);
            }
            self.stations[k].flight.edge += 1;
            if edge < count {
                self.begin_reception(k, edge, scheduler);
            } else if edge == count {
                self.stations[k].sending = false;
            } else {
                self.end_reception(k, self.hearers[k][edge - count - 1].station as usize, scheduler);
            }
        }
    }

    /// The frame of `sender` begins at the sender's hearer number `index`.
    fn begin_reception(&mut self, sender: usize, index: usize, scheduler: &mut Scheduler) {
        let Hearer { station, power, decodes, .. } = self.hearers[sender][index];
        let k = station as usize;
        let Flight { frame, .. } = self.stations[sender].flight;
        let now = scheduler.now();
        let station = &mut self.stations[k];
        let ends = now + frame.airtime;
        let flags = [decodes, station.sending];
        match station.receiver.begin(sender as u32, power, ends, flags, self.config.capture) {
            Beginning::Followed => self.turn_busy(k, scheduler),
            Beginning::Ignored => {
                station.counters.ignored += 1;
                station.shy_until = station.shy_until.max(ends + self.config.shyness());
            }
            Beginning::Collision { lost, intact } => {
                // The frame that is followed no more is counted now, and the other one when it ends.
                let is_mine = self.stations[lost as usize].flight.frame.carries_packet_for(k);
                let counters = &mut self.stations[k].counters;
                counters.collided += 1;
                counters.collisions += u64::from(is_mine && intact);
            }
        }
    }

    /// The frame of `sender` ends at station `k`.
    fn end_reception(&mut self, sender: usize, k: usize, scheduler: &mut Scheduler) {
        let now = scheduler.now();
        let Flight { frame, .. } = self.stations[sender].flight;
        let station = &mut self.stations[k];
        let Some(ending) = station.receiver.end(sender as u32, now) else { return };
        let is_mine = frame.is_for(k);
        match ending {
            Ending::Decoded => station.counters.received += 1,
            Ending::TooWeak => station.counters.too_weak += 1,
            Ending::Deaf => station.counters.deaf += 1,
            Ending::Collided { intact } => {
                station.counters.collided += 1;
                station.counters.collisions += u64::from(frame.carries_packet_for(k) && intact);
            }
        }
        if station.sending {
            // The station never sensed the frame.
        } else if ending != Ending::Decoded {
            station.shy_until = station.shy_until.max(now + self.config.shyness());
        } else {
            debug_assert!(now >= station.decoded_until + frame.airtime, "two frames that overlap were both decoded");
            station.decoded_until = now;
            if self.config.immediate_access {
                // A frame that was decoded ends the wait of EIFS (10.3.2.3.7).
                station.shy_until = now;
            }
            if !is_mine {
                station.nav = station.nav.max(now + frame.reserves);
            } else {
                self.receive(k, sender, frame, scheduler);
            }
        }
        self.stations[k].receiver.release();
        self.stations[k].quiet_since = now;
        self.resume_countdown(k, scheduler);
    }

    /// Passes a packet through the link layer of station `k`.
    pub(super) fn pass(&mut self, k: usize, packet: Passing<P>, scheduler: &mut Scheduler) {
        let station = &mut self.stations[k];
        let when = scheduler.now() + self.config.link_layer_delay;
        if station.link_layer.is_empty() {
            scheduler.set(station.alarm(StationAlarm::LinkLayer), when);
        }
        station.link_layer.push_back((when, packet));
    }

    /// Takes the packets that leave the link layer of station `k` now.
    fn leave_link_layer(&mut self, k: usize, scheduler: &mut Scheduler) {
        let now = scheduler.now();
        loop {
            let station = &mut self.stations[k];
            let Some((when, _)) = station.link_layer.front() else { return };
            if *when > now {
                let when = *when;
                return scheduler.set(station.alarm(StationAlarm::LinkLayer), when);
            }
            match station.link_layer.pop_front() {
                Some((_, Passing::Up(packet))) => self.arrive(k, packet, scheduler),
                Some((_, Passing::Down(packet))) => self.enqueue(k, packet, scheduler),
                None => return,
            }
        }
    }

    /// Counts and reports a packet that station `k` drops.
    pub(super) fn drop_packet(&mut self, k: usize, packet: Queued<P>, reason: DropReason) {
        let counters = &mut self.stations[k].counters;
        match reason {
            DropReason::QueueFull => counters.queue_drops += 1,
            DropReason::RetryLimit => counters.retry_drops += 1,
            DropReason::NoRoute => counters.route_drops += 1,
            DropReason::LinkBreak => counters.break_drops += 1,
            DropReason::BufferFull => counters.buffer_drops += 1,
            DropReason::Expired => counters.expired_drops += 1,
            DropReason::TimeToLive | DropReason::Loop => counters.loop_drops += 1,
        }
        // A packet that its receiver has already is not lost.
        if let Some(Payload::Packet(packet)) = packet.packet {
            self.outputs.push_back(MediumOutput::Dropped(packet, reason));
        }
    }
}
