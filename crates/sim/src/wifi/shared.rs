//! A shared medium of either kind: with the rules of IEEE 802.11, or with ideal access.

use super::ideal::{Activity, IdealMedium};
use super::{AirEvent, Medium, MediumOutput, Packet, RoutingCounters, StationCounters};
use ripstop_base::Time;

/// A medium that a world drives.
#[derive(Debug)]
pub enum SharedMedium<P> {
    /// IEEE 802.11 with its distributed coordination function.
    Dcf(Medium<P>),
    /// Ideal access.
    Ideal(IdealMedium<P>),
}

impl<P: Packet> SharedMedium<P> {
    /// The number of stations.
    pub fn stations(&self) -> usize {
        match self {
            SharedMedium::Dcf(medium) => medium.stations(),
            SharedMedium::Ideal(medium) => medium.stations(),
        }
    }

    /// The counters of station `station`.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn counters(&self, station: usize) -> &StationCounters {
        match self {
            SharedMedium::Dcf(medium) => medium.counters(station),
            SharedMedium::Ideal(medium) => medium.counters(station),
        }
    }

    /// What the routing protocol of station `station` has counted. With ideal access all counters are 0, because the
    /// routes are static.
    ///
    /// # Panics
    /// If the stations use AODV and there is no such station.
    pub fn routing_counters(&self, station: usize) -> RoutingCounters {
        match self {
            SharedMedium::Dcf(medium) => medium.routing_counters(station),
            SharedMedium::Ideal(_) => RoutingCounters::default(),
        }
    }

    /// With DCF: the number of hops over which the adaptive back-off of station `station` protects a packet at present.
    /// With ideal access: k, the interference range in hops.
    ///
    /// # Panics
    /// If there is no such station of a medium with DCF.
    pub fn protection(&self, station: usize) -> u32 {
        match self {
            SharedMedium::Dcf(medium) => medium.protection(station),
            SharedMedium::Ideal(medium) => medium.interference(),
        }
    }

    /// The number of packets that wait at station `station`. Packets that are being sent do not count.
    ///
    /// # Panics
    /// If there is no such station of a medium with DCF.
    pub fn waiting(&self, station: usize) -> usize {
        match self {
            SharedMedium::Dcf(medium) => medium.waiting(station),
            SharedMedium::Ideal(medium) => medium.waiting(station),
        }
    }

    /// What the links of a medium with ideal access have done so far. None with DCF.
    pub fn activity(&self) -> Option<Activity> {
        match self {
            SharedMedium::Dcf(_) => None,
            SharedMedium::Ideal(medium) => Some(medium.activity()),
        }
    }

    /// Whether [`SharedMedium::poll`] has something to hand out.
    #[inline]
    pub fn has_output(&self) -> bool {
        match self {
            SharedMedium::Dcf(medium) => !medium.outputs.is_empty(),
            SharedMedium::Ideal(medium) => medium.has_output(),
        }
    }

    /// The next output. None if no output is left.
    #[inline]
    pub fn poll(&mut self) -> Option<MediumOutput<P>> {
        match self {
            SharedMedium::Dcf(medium) => medium.poll(),
            SharedMedium::Ideal(medium) => medium.poll(),
        }
    }

    /// Takes a packet at station `from` for station `to`.
    ///
    /// # Panics
    /// If there is no such station.
    #[inline]
    pub fn send(&mut self, from: u32, to: u32, packet: P, now: Time) {
        match self {
            SharedMedium::Dcf(medium) => medium.send(from, to, packet, now),
            SharedMedium::Ideal(medium) => medium.send(from, to, packet, now),
        }
    }

    /// When the medium has something to do next. [`Time::NEVER`] if it has nothing to do.
    #[inline]
    pub fn next_due(&mut self) -> Time {
        match self {
            SharedMedium::Dcf(medium) => medium.next_due(),
            SharedMedium::Ideal(medium) => medium.next_due(),
        }
    }

    /// Handles what is due at `now`. A medium with DCF then handles what is due before `until`, and stops as soon as
    /// there is an output. Returns the time that the medium has reached, and the number of steps.
    #[inline]
    pub fn run(&mut self, now: Time, until: Time) -> (Time, u64) {
        match self {
            SharedMedium::Dcf(medium) => {
                let before = medium.steps();
                (medium.run(now, until), medium.steps() - before)
            }
            SharedMedium::Ideal(medium) => {
                medium.run(now);
                (now, 1)
            }
        }
    }

    /// Records what happens on the air from now on, for [`SharedMedium::poll_air`]. A medium with ideal access has no
    /// frames, so it records nothing.
    pub fn record_air(&mut self) {
        if let SharedMedium::Dcf(medium) = self {
            medium.record_air();
        }
    }

    /// The next recorded event up to `now`. None if no such event is left, or if the medium does not record.
    pub fn poll_air(&mut self, now: Time) -> Option<AirEvent<P>> {
        match self {
            SharedMedium::Dcf(medium) => medium.poll_air(now),
            SharedMedium::Ideal(_) => None,
        }
    }

    /// Brings the counters up to date at `now`.
    pub fn settle(&mut self, now: Time) {
        match self {
            SharedMedium::Dcf(medium) => medium.settle(now),
            SharedMedium::Ideal(medium) => medium.settle(now),
        }
    }
}
