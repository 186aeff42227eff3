//! The medium with ideal access: it moves packets from link to link.

use super::activity::{Activity, LinkActivity};
use super::config::{IdealAccess, IdealConfig};
use super::conflicts::Conflicts;
use super::link::{Link, Parcel};
use super::schedule::Slot;
use crate::wifi::propagation::hearers;
use crate::wifi::static_routes::StaticRoutes;
use crate::wifi::{DropReason, Load, MediumOutput, Packet, Position, StationCounters};
use ripstop_base::{Seed, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// A medium with ideal access, with its stations.
///
/// The caller drives it like [`Medium`](crate::wifi::Medium): it offers packets with [`IdealMedium::send`], calls
/// [`IdealMedium::run`] when the medium is due, and takes outputs with [`IdealMedium::poll`] until no output is left.
/// Before the first packet, the caller calls [`IdealMedium::start`].
#[derive(Debug)]
pub struct IdealMedium<P> {
    pub(super) config: IdealConfig,
    pub(super) links: Vec<Link<P>>,
    pub(super) slot: Slot,
    /// Totals of the medium. Each link has its own counters. [`IdealMedium::activity`] joins the totals and the
    /// counters of the links.
    pub(super) activity: Activity,
    conflicts: Conflicts,
    routes: StaticRoutes,
    counters: Vec<StationCounters>,
    /// The number of links that are active.
    active: usize,
    /// The totals in `activity` are up to date until this time.
    counted: Time,
    /// When the next step is due.
    due: Time,
    outputs: VecDeque<MediumOutput<P>>,
}

impl<P: Packet> IdealMedium<P> {
    /// A medium with stations at these `places`. The link from station a to station b draws from the stream
    /// `link/a/b` of `seed`.
    pub fn new(config: IdealConfig, places: &[Position], seed: Seed) -> IdealMedium<P> {
        let config = IdealConfig { interference: config.interference.max(1), ..config };
        let mut conflicts = Conflicts::new(&config.wifi, places, config.interference);
        let with = std::mem::take(&mut conflicts.with);
        let link = |(ends, with): (&(u32, u32), Vec<u32>)| {
            Link::new(&config, *ends, with, seed.stream(&format!("link/{}/{}", ends.0, ends.1)))
        };
        IdealMedium {
            links: conflicts.links.iter().zip(with).map(link).collect(),
            slot: Slot::None,
            activity: Activity::default(),
            conflicts,
            routes: StaticRoutes::new(&hearers(&config.wifi, places)),
            counters: vec![StationCounters::default(); places.len()],
            active: 0,
            counted: Time::ZERO,
            due: Time::NEVER,
            outputs: VecDeque::new(),
            config,
        }
    }

    /// Lets saturated links contend from `now` on.
    pub fn start(&mut self, now: Time) {
        self.due = self.contend(now);
    }

    /// The number of stations.
    pub fn stations(&self) -> usize {
        self.counters.len()
    }

    /// The counters of station `station`. A medium with ideal access counts only data frames, packets dropped by full
    /// queues, and packets dropped without a route.
    ///
    /// # Panics
    /// If there is no such station.
    pub fn counters(&self, station: usize) -> &StationCounters {
        &self.counters[station]
    }

    /// k, the interference range in hops.
    pub fn interference(&self) -> u32 {
        self.config.interference
    }

    /// The number of packets that wait at station `station`, over all links of the station.
    pub fn waiting(&self, station: usize) -> usize {
        let own = self.links.iter().filter(|link| link.activity.from as usize == station);
        own.map(|link| link.queue.len()).sum()
    }

    /// What the links did until the last call of [`IdealMedium::settle`].
    pub fn activity(&self) -> Activity {
        let links = self.links.iter().map(|link| link.activity_until(self.counted)).collect();
        Activity { links, ..self.activity.clone() }
    }

    /// Whether [`IdealMedium::poll`] has something to hand out.
    pub fn has_output(&self) -> bool {
        !self.outputs.is_empty()
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
        self.enqueue(from, Parcel { packet, destination: to });
        let due = self.contend(now);
        // The caller polls only after a step. So an output, such as a dropped packet, makes a step due now.
        self.due = if self.has_output() { now } else { due };
    }

    /// When the next step is due. [`Time::NEVER`] if no step is due.
    pub fn next_due(&self) -> Time {
        self.due
    }

    /// Handles what is due at `now`.
    pub fn run(&mut self, now: Time) {
        self.due = match self.config.access {
            IdealAccess::Csma => self.step_csma(now),
            IdealAccess::Scheduled => self.step_schedule(now),
        };
    }

    /// Adds the time until `now` to the totals.
    pub fn settle(&mut self, now: Time) {
        let passed = now.since(self.counted);
        self.counted = now;
        let together = &mut self.activity.together;
        if together.len() <= self.active {
            together.resize(self.active + 1, Duration::ZERO);
        }
        together[self.active] += passed;
    }

    /// `link` becomes active with its next packet.
    pub(super) fn begin_exchange(&mut self, link: usize, now: Time) {
        self.settle(now);
        debug_assert!(
            !self.links[link].with.iter().any(|other| self.links[*other as usize].is_active()),
            "two links in conflict are never active together"
        );
        self.active += 1;
        let load = self.links[link].begin(&self.config, now);
        let counters = &mut self.counters[self.links[link].activity.from as usize];
        counters.data_frames += 1;
        counters.data_frames_with_data += u64::from(load == Load::Data);
    }

    /// The exchange of `link` ends. Its packet goes on to the next link, or leaves the medium.
    pub(super) fn end_exchange(&mut self, link: usize, now: Time) {
        self.settle(now);
        self.active -= 1;
        let LinkActivity { to, .. } = self.links[link].activity;
        match self.links[link].end(now) {
            Some(parcel) if parcel.destination == to => self.outputs.push_back(MediumOutput::Delivered(parcel.packet)),
            Some(parcel) => self.enqueue(to, parcel),
            None => {}
        }
    }

    /// Puts a packet at station `at` into the queue of the link to the packet's next hop.
    fn enqueue(&mut self, at: u32, parcel: Parcel<P>) {
        let next = self.routes.next_hop(at as usize, parcel.destination as usize);
        let counters = &mut self.counters[at as usize];
        let Some(link) = next.and_then(|next| self.conflicts.link(at, next)) else {
            counters.route_drops += 1;
            return self.outputs.push_back(MediumOutput::Dropped(parcel.packet, DropReason::NoRoute));
        };
        if self.waiting(at as usize) >= self.config.wifi.queue {
            self.counters[at as usize].queue_drops += 1;
            return self.outputs.push_back(MediumOutput::Dropped(parcel.packet, DropReason::QueueFull));
        }
        self.links[link].queue.push_back(parcel);
    }

    /// Links with packets try to get the medium. Returns when the next step is due.
    fn contend(&mut self, now: Time) -> Time {
        match self.config.access {
            IdealAccess::Csma => self.begin_backoffs(now),
            IdealAccess::Scheduled => self.want_slot(now),
        }
    }
}
