//! Cadence: stations release packets in the rhythm at which the next hops pass them on.
//!
//! The packets of one TCP flow contend with each other on a string. If a station sends its next packet too early, this
//! packet collides with the packet that the station sent before. With Cadence, a station uses only the frames that it
//! decodes, and the content of the frames that are for it.
//!
//! - **Release.** A station sends a data packet to a neighbour, and overhears the neighbour pass the packet on. After a
//!   *lag*, the station releases the next packet: the packet ahead has then left the part of the string that the
//!   station disturbs. If the station overhears nothing, a time-out releases the next packet. Near the destination the
//!   lag is shorter. If the packet has one hop left after the overheard one, half the lag is enough. If it has no hop
//!   left, there is no lag. If the station itself sends a packet to the destination, the MAC ACK releases the next
//!   packet at once.
//! - **Hold.** A relay holds a TCP acknowledgement for a while if a data packet is expected to cross it. Then both
//!   packets are sent as one XOR frame. Data packets carry a *backlog* bit. A station sets the bit of a packet if more
//!   data packets for the same neighbour wait behind it. No station clears the bit. If no data packet follows, holding
//!   the acknowledgement would only lengthen the round trip.
//! - **Free ride.** A held packet leaves at once if it can be the partner in an XOR frame, because a partner costs no
//!   time on the air.
//! - **One MAC ACK.** If an XOR frame carries a TCP acknowledgement, only the frame's forward receiver sends a MAC ACK.
//!   The other receiver gets the TCP acknowledgement. If this TCP acknowledgement is lost, the next TCP acknowledgement
//!   of its flow replaces it.
//! - **Small window.** Few stations contend at a time, so back-offs are drawn from a small window. Each failure makes
//!   the window four times as large. After two failures the window is longer than a frame. From then on, stations that
//!   do not sense each other no longer collide.

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
    /// The contention window without failures, slots. Each failure makes the window four times as large, up to the
    /// largest window of the MAC.
    pub window: u32,
    /// How long a station waits after it has overheard the next hop pass its packet on. This value holds if the packet
    /// has two or more hops left after the overheard hop.
    pub lag: Duration,
    /// The longest time for which a station waits to overhear its packet being passed on. After a data packet with the
    /// backlog bit, a station expects the next data packet of this neighbour within this time too.
    pub timeout: Duration,
    /// The longest time for which a relay holds a TCP acknowledgement.
    pub hold: Duration,
}

impl Default for Cadence {
    /// The figures are throughputs in kbit/s for ten stations and a capture ratio of 20. The first figure is for a TCP
    /// window W of 20 packets, and the second figure for W = 5. The figures come from `ripstop sim string`
    /// (docs/researchers/cadence.md). The values below give 1526 and 801.
    ///
    /// - A contention window of 8 slots, because two or three stations contend at a time. Half the value gives 1546 and
    ///   786. Double the value gives 1373 and 771.
    /// - A lag of three data times of paper 002, (k + 1) 1481 us with k = 2: after this time the packet is three hops
    ///   beyond the next hop. Half the value gives 772 and 655. Double the value gives 974 and 731.
    /// - A time-out of 15 ms, which is two periods of four exchanges of 1.9 ms. Half the value gives 1438 (some runs
    ///   collapse) and 908. Double the value gives 1526 and 644.
    /// - A hold of 10 ms, which is longer than the period of 8 ms between data packets. Half the value gives 1526 and
    ///   818. Double the value gives 1526 and 856.
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
    /// The number of the last packet that the neighbour acknowledged and has to pass on. None if there is no such
    /// packet.
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
    /// The packet with the number `id`. None if it is not in the exchange.
    fn packet(&self, id: u64) -> Option<&Queued<P>> {
        if self.first.id == id { Some(&self.first) } else { self.partner.as_ref().filter(|packet| packet.id == id) }
    }
}

impl<P: Packet> Medium<P> {
    /// The time from which station `k` may send a packet of its queue. Without Cadence, this time is `now`.
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

    /// Takes a packet from the queue of station `k`: the first packet that the station may send now. If the station
    /// must hold all its packets, the release timer is set.
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

    /// The release timer of station `k` has ended, or a reason to hold its packets may have ended.
    pub(super) fn on_release(&mut self, k: usize, now: Time) {
        if self.stations[k].exchange.is_none()
            && let Some(packet) = self.next_packet(k, now)
        {
            self.accept(k, packet, now);
        }
    }

    /// Station `k` is about to send the frame of its exchange. Sets the backlog bit of each data packet in the frame if
    /// more data packets for the same neighbour wait in the queue.
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

    /// Station `k` has received a packet from a neighbour. The backlog bit of a data packet tells whether to expect
    /// another data packet.
    pub(super) fn note_backlog(&mut self, k: usize, packet: &Queued<P>, now: Time) {
        let Some(cadence) = self.config.backoff.cadence() else { return };
        if let (Load::Data, Some(from)) = (packet.load, packet.from) {
            let expected = if packet.is_backlogged { now + cadence.timeout } else { now };
            self.stations[k].rhythm.of(from).expected_until = expected;
        }
    }

    /// The next hop of station `k` has acknowledged `packet`. The next hop is to pass the packet on, unless it is the
    /// destination.
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

    /// Station `k` has decoded a frame. If the frame passes on the packet that station `k` sent to this neighbour last,
    /// station `k` releases the next packet after the lag.
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
        // The number of hops that are left. Two hops do not count: the hop from `k` to the neighbour, and the overheard
        // hop.
        let lag = match self.hops(k, packet.destination).map(|hops| hops.saturating_sub(2)) {
            Some(0) => Duration::ZERO,
            Some(1) => cadence.lag / 2,
            Some(2..) | None => cadence.lag,
        };
        let clear_at = reception.reserved + lag;
        let station = &mut self.stations[k];
        station.counters.overheard += 1;
        station.rhythm.of(reception.sender).clear_at = clear_at;
        self.on_release(k, now);
    }

    /// The number of MAC ACKs that answer the XOR frame of this exchange.
    pub(super) fn answers(&self, exchange: &Exchange<P>) -> u32 {
        let loads = [Some(&exchange.first), exchange.partner.as_ref()].map(|packet| packet.map(|packet| packet.load));
        let carries_ack = loads.contains(&Some(Load::Ack));
        if self.config.backoff.cadence().is_some() && carries_ack { 1 } else { 2 }
    }
}
