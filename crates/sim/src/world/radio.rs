//! Shared media in a world. The way from one station of a medium to another is a link that routes can use.

use super::World;
use super::fabric::{Fabric, Purpose};
use super::node::NodeId;
use super::observer::{Happening, Observer, Owner};
use super::packet::{Body, NetworkPacket};
use super::routes::LinkId;
use crate::wifi::ideal::{Activity, IdealConfig, IdealMedium};
use crate::wifi::{
    AirContent, AirEvent, DropReason, Load, Medium, MediumOutput, Packet, Position, RoutingCounters, SharedMedium,
    StationCounters, WifiConfig,
};
use ripstop_link::LinkCounters;

/// The way from one station of a medium to another. Routes use it like a wired link.
#[derive(Clone, Debug)]
pub(super) struct RadioLink {
    medium: u32,
    from: u32,
    to: u32,
    /// The link's number among all links.
    number: u32,
    /// Packets by fate. A packet counts as lost on the channel if a random loss destroyed it above the MAC, or if it was
    /// dropped at the retry limit or by routing.
    pub(super) counters: LinkCounters,
}

impl RadioLink {
    /// The number of packets in the queue of the link's first station, for all links of this station.
    pub(super) fn waiting(&self, media: &[SharedMedium<NetworkPacket>]) -> u64 {
        media[self.medium as usize].waiting(self.from as usize) as u64
    }
}

/// The state of a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StationStatus {
    /// The station's counters since the start.
    pub counters: StationCounters,
    /// What the station's routing protocol has counted since the start.
    pub routing: RoutingCounters,
    /// The number of hops over which the station's adaptive back-off protects a packet at present. With ideal access,
    /// this is the interference range.
    pub k: u32,
}

impl Packet for NetworkPacket {
    fn bytes(&self) -> u32 {
        self.bytes
    }

    fn load(&self) -> Load {
        match self.body {
            Body::Ack(_) | Body::Seen(_) | Body::Granted { .. } | Body::LtAck(_) | Body::Admitted(_) => Load::Ack,
            _ => Load::Data,
        }
    }
}

impl World {
    /// Adds a medium with stations at these `places`, and returns its number. `name`, such as `medium/0`, selects the
    /// random streams of its stations.
    pub fn add_medium(&mut self, config: WifiConfig, places: &[Position], name: &str) -> usize {
        let number = self.fabric.media.len();
        let seed = self.seed.child(name);
        let alarm = self.fabric.alarm(Purpose::Medium(number as u32));
        self.fabric.media.push(SharedMedium::Dcf(Medium::new(config, places, seed)));
        self.fabric.media_alarms.push(alarm);
        number
    }

    /// Adds a medium with ideal access and stations at these `places`, and returns its number among all media. `name`,
    /// such as `medium/0`, selects the random streams of its links. Saturated links contend from now on.
    pub fn add_ideal_medium(&mut self, config: IdealConfig, places: &[Position], name: &str) -> usize {
        let number = self.fabric.media.len();
        let alarm = self.fabric.alarm(Purpose::Medium(number as u32));
        let mut medium = IdealMedium::new(config, places, self.seed.child(name));
        medium.start(self.fabric.now());
        self.fabric.media.push(SharedMedium::Ideal(medium));
        self.fabric.media_alarms.push(alarm);
        self.fabric.await_medium(number);
        number
    }

    /// Adds the way from one station of a medium to another as a link, and returns its number among all links.
    ///
    /// # Panics
    /// If the medium or a station was not added.
    pub fn add_radio_link(&mut self, medium: usize, from: usize, to: usize) -> usize {
        let stations = self.fabric.media[medium].stations();
        assert!(from < stations && to < stations && from != to, "a radio link joins two stations of its medium");
        let number = self.fabric.links.len();
        self.fabric.links.push(LinkId::Radio(self.fabric.radio_links.len() as u32));
        self.fabric.radio_links.push(RadioLink {
            medium: medium as u32,
            from: from as u32,
            to: to as u32,
            number: number as u32,
            counters: LinkCounters::default(),
        });
        number
    }

    /// The number of media.
    pub fn media(&self) -> usize {
        self.fabric.media.len()
    }

    /// The states of a medium's stations.
    ///
    /// # Panics
    /// If the medium was not added.
    pub fn stations(&self, medium: usize) -> Vec<StationStatus> {
        let medium = &self.fabric.media[medium];
        let status = |k| StationStatus {
            counters: *medium.counters(k),
            routing: medium.routing_counters(k),
            k: medium.protection(k),
        };
        (0..medium.stations()).map(status).collect()
    }

    /// What the links of a medium with ideal access did since the start. None for other media.
    ///
    /// # Panics
    /// If the medium was not added.
    pub fn activity(&self, medium: usize) -> Option<Activity> {
        self.fabric.media[medium].activity()
    }

    /// Handles the alarm of a medium, and passes on what comes out. The medium goes on until something comes out, or until
    /// the next alarm of something else.
    #[inline]
    pub(super) fn wake_medium<O: Observer>(&mut self, medium: u32, observer: &mut O) {
        let (medium, fabric) = (medium as usize, &mut self.fabric);
        let now = fabric.scheduler.now();
        // An observer is told at once what happens on the air.
        let until = if O::LOOKS { now } else { fabric.scheduler.next_due().min(fabric.horizon) };
        let shared = &mut fabric.media[medium];
        let (reached, steps) = shared.run(now, until);
        let has_output = shared.has_output();
        fabric.passed += steps.saturating_sub(1);
        fabric.scheduler.advance(reached);
        fabric.await_medium(medium);
        if O::LOOKS || has_output {
            self.take_outputs(medium, observer);
        }
    }

    /// Passes on what comes out of a medium.
    pub(super) fn take_outputs(&mut self, medium: usize, observer: &mut impl Observer) {
        while let Some(output) = self.fabric.media[medium].poll() {
            if let Some((packet, node)) = self.fabric.leave_medium(output, observer) {
                self.go_on(packet, node, observer);
            }
        }
        self.fabric.report_air(medium, observer);
    }

    /// Lets the media record what happens on the air if the observer wants to be told of it.
    pub(super) fn begin_air(&mut self, observer: &impl Observer) {
        if observer.hears_air() {
            self.fabric.media.iter_mut().for_each(SharedMedium::record_air);
        }
    }

    /// Lets all stations process everything that has reached them, so that the stations' counters are up to date.
    pub(super) fn settle_media(&mut self, observer: &mut impl Observer) {
        let now = self.fabric.scheduler.now();
        for medium in 0..self.fabric.media.len() {
            self.fabric.media[medium].settle(now);
            self.fabric.await_medium(medium);
            self.take_outputs(medium, observer);
        }
    }
}

impl Fabric {
    /// Tells the observer what has happened on the air of a medium.
    #[inline]
    fn report_air<O: Observer>(&mut self, medium: usize, observer: &mut O) {
        if !O::LOOKS {
            return;
        }
        while let Some(event) = self.media[medium].poll_air(self.scheduler.now()) {
            let mut owners = [None; 2];
            if let AirEvent::Sent(frame) = &event {
                owners = frame.packets.each_ref().map(|packet| match packet.as_ref().map(|packet| &packet.content) {
                    Some(AirContent::Packet(packet)) => Some(self.routes.get(packet.route).owner),
                    _ => None,
                });
            }
            observer.note(self.scheduler.now(), Happening::Air { medium, event: &event, owners });
        }
    }

    /// Puts a packet on a radio link.
    pub(super) fn enter_medium(
        &mut self,
        link: u32,
        packet: NetworkPacket,
        owner: Owner,
        observer: &mut impl Observer,
    ) {
        let RadioLink { medium, from, to, number, counters } = &mut self.radio_links[link as usize];
        counters.offered += 1;
        let (link, first) = (*number as usize, packet.hop == 0);
        observer.note(self.scheduler.now(), Happening::Offered { link, packet: &packet, owner, first, fate: None });
        let medium = *medium as usize;
        self.media[medium].send(*from, *to, packet, self.scheduler.now());
        self.await_medium(medium);
    }

    /// Sets the alarm of a medium to the time at which it is due.
    #[inline]
    fn await_medium(&mut self, medium: usize) {
        let due = self.media[medium].next_due();
        self.scheduler.set(self.media_alarms[medium], due);
    }

    /// Counts what came out of a medium. The result is as for [`Fabric::arrive`]; None for a dropped packet.
    fn leave_medium(
        &mut self,
        output: MediumOutput<NetworkPacket>,
        observer: &mut impl Observer,
    ) -> Option<(NetworkPacket, Option<NodeId>)> {
        let (MediumOutput::Delivered(packet) | MediumOutput::Dropped(packet, _)) = &output;
        let way = self.routes.way(packet.route, packet.back);
        let LinkId::Radio(link) = way.get(usize::from(packet.hop))?.link else { return None };
        let RadioLink { counters, number, .. } = &mut self.radio_links[link as usize];
        match output {
            MediumOutput::Delivered(packet) => {
                counters.delivered += 1;
                counters.delivered_bytes += u64::from(packet.bytes);
                let number = *number;
                Some(self.pass_link(number, packet, observer))
            }
            MediumOutput::Dropped(packet, reason) => {
                match reason {
                    DropReason::QueueFull | DropReason::BufferFull => counters.refused_queue += 1,
                    DropReason::RetryLimit
                    | DropReason::RandomLoss
                    | DropReason::NotAcknowledged
                    | DropReason::NoRoute
                    | DropReason::LinkBreak
                    | DropReason::Expired
                    | DropReason::TimeToLive
                    | DropReason::Loop => counters.lost_channel += 1,
                }
                self.recycle(packet.body);
                None
            }
        }
    }
}
