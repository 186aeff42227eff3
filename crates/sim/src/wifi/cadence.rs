//! Cadence: stations release packets in the rhythm at which the next hops pass them on.
//!
//! The packets of one TCP flow contend with each other on a string: a station that sends again too early collides with
//! the packet that it sent before. Cadence uses only what a station decodes, and what the frames for it say.
//!
//! - **Release.** A station sends the next data packet to a neighbour after it has overheard this neighbour pass the
//!   previous one on, plus a *lag*. By then the packet has left the part of the string that the station disturbs. If
//!   the station overhears nothing, a time-out releases the next packet. The last hop needs no release.
//! - **Hold.** A relay holds a TCP acknowledgement for a while if a data packet is expected to cross it. Then both are
//!   sent as one XOR frame. The *backlog* bit of data packets tells this: the first station sets the bit if more
//!   packets for the same neighbour wait behind it, and relays pass it on. Without backlog, holding would only
//!   lengthen the round trip.
//! - **One MAC ACK.** If an XOR frame carries a TCP acknowledgement, only its forward receiver sends a MAC ACK. The
//!   other receiver gets a TCP acknowledgement. If it is lost, the next one of its flow replaces it.
//! - **Small window.** Few stations contend at a time, so back-offs are drawn from a small window. Each failure
//!   makes the window four times as large: after two failures it is longer than a frame, and stations that do not hear
//!   each other no longer collide.

use super::frame::FrameKind;
use super::medium::Medium;
use super::queue::{Load, Packet, Queued};
use super::receiver::Reception;
use super::station::Exchange;
use super::timers::Timer;
use ripstop_base::Time;
use std::time::Duration;

/// The parameters of Cadence.
#[derive(Clone, Debug, PartialEq)]
pub struct Cadence {
    /// The contention window before a failure, slots. Each failure makes it four times as large, up to the largest window
    /// of the MAC.
    pub window: u32,
    /// How long a station waits after it has overheard its packet being passed on.
    pub lag: Duration,
    /// How long a station waits at most for its packet to be passed on.
    pub timeout: Duration,
    /// How long a relay holds a TCP acknowledgement at most.
    pub hold: Duration,
}

impl Default for Cadence {
    /// The figures are for ten stations, capture 20, and TCP windows W of 20 and of 5 packets (`ripstop sim string`,
    /// docs/researchers/cadence.md): 1525 and 793 kbit/s with these values.
    ///
    /// - A window of 8 slots, since two or three stations contend at a time. Half: 1546 and 778 kbit/s. Double: 1363 and
    ///   757.
    /// - A lag of three data times of paper 002, (k + 1) 1481 us with k = 2: the packet is then three hops beyond the
    ///   next hop. Half: 752 and 650. Double: 974 and 725.
    /// - A time-out of 15 ms, two periods of four exchanges of 1.9 ms. Half: 1407 (some runs collapse) and 902. Double:
    ///   1525 and 593.
    /// - A hold of 10 ms, longer than the period of 8 ms in which data packets come. Half: 1525 and 807. Double: 1525 and
    ///   853.
    fn default() -> Cadence {
        Cadence {
            window: 8,
            lag: Duration::from_micros(4443),
            timeout: Duration::from_millis(15),
            hold: Duration::from_millis(10),
        }
    }
}

/// What a station knows of a neighbour.
#[derive(Clone, Copy, Debug)]
struct Neighbour {
    station: u32,
    /// The packet that the neighbour acknowledged last and has to pass on.
    ahead: Option<u64>,
    /// When the next data packet may be sent to the neighbour.
    clear_at: Time,
    /// Until when a data packet is expected from the neighbour.
    expected_until: Time,
}

/// What a station knows of its neighbours.
#[derive(Clone, Debug, Default)]
pub(super) struct Rhythm {
    neighbours: Vec<Neighbour>,
}

impl Rhythm {
    fn find(&self, station: u32) -> Option<&Neighbour> {
        self.neighbours.iter().find(|neighbour| neighbour.station == station)
    }

    fn of(&mut self, station: u32) -> &mut Neighbour {
        let known = self.neighbours.iter().position(|neighbour| neighbour.station == station);
        let at = known.unwrap_or_else(|| {
            let (clear_at, expected_until) = (Time::ZERO, Time::ZERO);
            self.neighbours.push(Neighbour { station, ahead: None, clear_at, expected_until });
            self.neighbours.len() - 1
        });
        &mut self.neighbours[at]
    }

    /// Whether the station waits to overhear `sender` pass a packet on.
    #[inline]
    pub(super) fn watches(&self, sender: u32) -> bool {
        self.find(sender).is_some_and(|neighbour| neighbour.ahead.is_some())
    }
}

impl<P> Exchange<P> {
    /// The packet with this identity, if it is one of the exchange.
    fn packet(&self, id: u64) -> Option<&Queued<P>> {
        if self.first.id == id { Some(&self.first) } else { self.partner.as_ref().filter(|packet| packet.id == id) }
    }
}

impl<P: Packet> Medium<P> {
    /// When station `k` may send a packet of its queue. Without Cadence: at once.
    fn release_time(&self, k: usize, packet: &Queued<P>, now: Time) -> Time {
        let Some(cadence) = self.config.backoff.cadence() else { return now };
        let known = |station| self.stations[k].rhythm.find(station);
        match packet.load {
            Load::Routing => now,
            Load::Data => known(packet.to).map_or(now, |neighbour| neighbour.clear_at),
            Load::Ack => {
                let is_partner_expected =
                    packet.from.is_some() && known(packet.to).is_some_and(|neighbour| neighbour.expected_until > now);
                if is_partner_expected { packet.since + cadence.hold } else { now }
            }
        }
    }

    /// Whether station `k` may send a packet of its queue now.
    pub(super) fn is_released(&self, k: usize, packet: &Queued<P>, now: Time) -> bool {
        self.release_time(k, packet, now) <= now
    }

    /// Takes the first packet that station `k` may send from its queue. If it may send none yet, the release timer is
    /// set.
    pub(super) fn next_packet(&mut self, k: usize, now: Time) -> Option<Queued<P>> {
        if self.config.backoff.cadence().is_none() {
            return self.stations[k].queue.pop();
        }
        let times = self.stations[k].queue.iter().map(|packet| self.release_time(k, packet, now));
        let mut earliest = Time::NEVER;
        let mut free = None;
        for (at, when) in times.enumerate() {
            if when <= now {
                free = Some(at);
                break;
            }
            earliest = earliest.min(when);
        }
        if let Some(at) = free {
            return self.stations[k].queue.remove(at);
        }
        if earliest != Time::NEVER {
            self.stations[k].counters.held += 1;
        }
        self.stations[k].timers.set(Timer::Release, earliest);
        None
    }

    /// The release timer of station `k` has ended, or something that holds its packets has changed.
    pub(super) fn on_release(&mut self, k: usize, now: Time) {
        if self.stations[k].exchange.is_none()
            && let Some(packet) = self.next_packet(k, now)
        {
            self.accept(k, packet, now);
        }
    }

    /// Station `k` sends the frame of its exchange: its data packets say whether more wait behind them.
    pub(super) fn mark_backlog(&mut self, k: usize) {
        if self.config.backoff.cadence().is_none() {
            return;
        }
        let station = &mut self.stations[k];
        let Some(Exchange { first, partner, .. }) = &mut station.exchange else { return };
        for packet in std::iter::once(first).chain(partner.as_mut()).filter(|packet| packet.load == Load::Data) {
            let more = station.queue.iter().any(|other| other.load == Load::Data && other.to == packet.to);
            packet.is_backlogged |= more;
        }
    }

    /// Station `k` has received a packet from a neighbour, and learns whether to expect another one.
    pub(super) fn note_backlog(&mut self, k: usize, packet: &Queued<P>, now: Time) {
        let Some(cadence) = self.config.backoff.cadence() else { return };
        if let (Load::Data, Some(from)) = (packet.load, packet.from) {
            let expected = if packet.is_backlogged { now + cadence.timeout } else { now };
            self.stations[k].rhythm.of(from).expected_until = expected;
        }
    }

    /// The next hop of station `k` has acknowledged a packet, and is to pass it on.
    pub(super) fn note_passed(&mut self, k: usize, packet: &Queued<P>, now: Time) {
        let Some(cadence) = self.config.backoff.cadence() else { return };
        if packet.load != Load::Data {
            return;
        }
        let is_last = packet.to == packet.destination;
        let neighbour = self.stations[k].rhythm.of(packet.to);
        neighbour.ahead = (!is_last).then_some(packet.id);
        neighbour.clear_at = if is_last { now } else { now + cadence.timeout };
    }

    /// Station `k` has decoded a frame of `sender`. If `sender` passes on the packet that it got from station `k`, the
    /// next packet is released after the lag.
    pub(super) fn overhear(&mut self, k: usize, reception: &Reception, now: Time) {
        let Some(cadence) = self.config.backoff.cadence() else { return };
        if !matches!(reception.head.kind, FrameKind::Data | FrameKind::Xor) {
            return;
        }
        let Some(id) = self.stations[k].rhythm.find(reception.sender).and_then(|neighbour| neighbour.ahead) else {
            return;
        };
        let Some(packet) =
            self.stations[reception.sender as usize].exchange.as_ref().and_then(|exchange| exchange.packet(id))
        else {
            return;
        };
        let lag = if packet.to == packet.destination { Duration::ZERO } else { cadence.lag };
        let clear_at = reception.reserved + lag;
        let station = &mut self.stations[k];
        station.counters.overheard += 1;
        station.rhythm.of(reception.sender).clear_at = clear_at;
        self.on_release(k, now);
    }

    /// How many MAC ACKs answer the XOR frame of this exchange.
    pub(super) fn answers(&self, exchange: &Exchange<P>) -> u32 {
        let loads = [Some(&exchange.first), exchange.partner.as_ref()].map(|packet| packet.map(|packet| packet.load));
        let carries_ack = loads.contains(&Some(Load::Ack));
        if self.config.backoff.cadence().is_some() && carries_ack { 1 } else { 2 }
    }
}
