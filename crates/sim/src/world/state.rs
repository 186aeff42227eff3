//! Results that can be read from a world between two calls of [`World::run_until`]. Counters count from the start of
//! the world, unless their method says otherwise.
//!
//! # Panics
//! All methods that take a number panic if no flow, link, tunnel or endpoint has this number.

use super::World;
use super::node::{NodeId, Outlet, SessionId};
use super::pipe::{LinkTotals, Pipe};
use super::routes::LinkId;
use super::session::{LtStatus, NcMoment, NcStatus, TunnelStatus};
use super::totals::{FlowDelays, FlowTotals};
use crate::tcp::Mechanisms;
use ripstop_base::Time;
use ripstop_link::LinkCounters;
use ripstop_proto::endpoint::{EndpointCounters, EndpointEvent, PeerStatus};
use ripstop_proto::secure;
use ripstop_proto::session::tunnel::TunnelEvent;
use std::time::Duration;

/// The state of flows.
impl World {
    /// The number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The counters of flow `flow` since the start.
    pub fn totals(&self, flow: usize) -> FlowTotals {
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].totals(self.now()),
            NodeId::Tcp(k) => self.tcp.flows[k as usize].totals(self.now()),
            NodeId::Session(_) => FlowTotals::default(),
        }
    }

    /// The delays of flow `flow` since the last call.
    pub fn take_delays(&mut self, flow: usize) -> FlowDelays {
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].take_delays(),
            NodeId::Tcp(k) => self.tcp.flows[k as usize].take_delays(),
            NodeId::Session(_) => FlowDelays::default(),
        }
    }

    /// Drops the delays of flow `flow` so far. Delays of packets that were sent before now are not recorded later
    /// either.
    pub fn forget_delays(&mut self, flow: usize) {
        let now = self.now();
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].forget_delays(now),
            NodeId::Tcp(k) => self.tcp.flows[k as usize].forget_delays(now),
            NodeId::Session(_) => {}
        }
    }

    /// How many times each mechanism of flow `flow`'s sender has acted so far. None if the sender's TCP variant has no
    /// such mechanisms.
    pub fn mechanisms(&self, flow: usize) -> Option<Mechanisms> {
        match self.flows[flow] {
            NodeId::Tcp(k) => self.tcp.flows[k as usize].mechanisms(),
            _ => None,
        }
    }

    /// The time from each request of UDP flow `flow` until its answer, in the order of the requests. An entry is None
    /// until the answer arrives. The list is empty for other flows.
    pub fn latencies(&self, flow: usize) -> &[Option<Duration>] {
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].latencies(),
            _ => &[],
        }
    }

    /// The counters of flow `flow`'s coding layer. None if the flow has no coding layer.
    pub fn coding(&self, flow: usize) -> Option<NcStatus> {
        let k = self.coding_layer(flow)?;
        let (sender, receiver) = (&self.nc_senders[k], &self.nc_receivers[k].end.session);
        let relay = |k: &u32| self.nc_relays[*k as usize].end.session.counts();
        Some(NcStatus {
            sender: sender.end.session.counts(),
            receiver: receiver.counts(),
            relays: sender.relays.iter().map(relay).collect(),
            decode_delays: receiver.decode_delays().clone(),
            mean_rows: receiver.mean_rows(),
        })
    }

    /// The state of flow `flow`'s TCP/LT session. None if the flow does not pass a gateway.
    pub fn blocks(&self, flow: usize) -> Option<LtStatus> {
        let NodeId::Tcp(k) = self.flows[flow] else { return None };
        let place = match self.tcp.flows[k as usize].outlet() {
            Outlet::Gateway(_) => self.lt_senders.iter().position(|node| node.place.flow as usize == flow)?,
            Outlet::Client(SessionId::LtSender(place), _) => place as usize,
            _ => return None,
        };
        let (sender, end) = (&self.lt_senders[place].end.session, &self.lt_receivers[place].end.session);
        Some(LtStatus {
            sender: sender.counts(),
            receiver: end.receiver.counts(),
            loss: sender.loss(),
            block_time: sender.block_time(),
            rate: sender.rate(),
            window_probes: self.tcp.flows[k as usize].window_probes(),
            wired_retransmits: end.host.as_ref().map_or(0, |host| host.counts().retransmits),
        })
    }

    /// What the coding layer of flow `flow` holds at the moment. None if the flow has no coding layer.
    pub fn coding_now(&self, flow: usize) -> Option<NcMoment> {
        let k = self.coding_layer(flow)?;
        let (sender, receiver) = (&self.nc_senders[k].end.session, &self.nc_receivers[k].end.session);
        Some(NcMoment { window: sender.held(), rows: receiver.rows(), deficit: receiver.deficit() })
    }

    /// The index of flow `flow`'s coding layer in `nc_senders` and in `nc_receivers`.
    fn coding_layer(&self, flow: usize) -> Option<usize> {
        let NodeId::Tcp(k) = self.flows[flow] else { return None };
        match self.tcp.flows[k as usize].outlet() {
            Outlet::Coding(SessionId::NcSender(k)) => Some(k as usize),
            _ => None,
        }
    }
}

/// The state of links.
impl World {
    /// The number of links. Each direction counts as one link.
    pub fn links(&self) -> usize {
        self.fabric.links.len()
    }

    /// The number of packets in the queue of link `link`, without the packet that is being sent.
    pub fn queue(&mut self, link: usize) -> u64 {
        let now = self.now();
        match self.fabric.links[link] {
            LinkId::Wired(k) => self.fabric.pipes[k as usize].link.backlog(now).packets,
            LinkId::Radio(k) => self.fabric.radio_links[k as usize].waiting(&self.fabric.media),
        }
    }

    /// The counters of link `link` since the start, and how long it was sending.
    pub fn link_totals(&self, link: usize) -> LinkTotals {
        match self.fabric.links[link] {
            LinkId::Wired(k) => self.fabric.pipes[k as usize].totals(),
            LinkId::Radio(k) => {
                LinkTotals { counters: self.fabric.radio_links[k as usize].counters, ..LinkTotals::default() }
            }
        }
    }

    /// The counters of link `link` since the start.
    pub fn link(&self, link: usize) -> &LinkCounters {
        match self.fabric.links[link] {
            LinkId::Wired(k) => self.fabric.pipes[k as usize].link.counters(),
            LinkId::Radio(k) => &self.fabric.radio_links[k as usize].counters,
        }
    }

    /// The impairments (such as loss or reordering) that are configured on link `link` and have never acted on a
    /// packet.
    pub fn unfired(&self, link: usize) -> Vec<&'static str> {
        self.pipe(link).map_or_else(Vec::new, |pipe| pipe.link.unfired())
    }

    /// The number of packets on link `link` and in its queue.
    pub fn on_link(&self, link: usize) -> usize {
        self.pipe(link).map_or(0, Pipe::len)
    }

    /// The number of packets that arrived damaged over link `link` and were dropped.
    pub fn damaged(&self, link: usize) -> u64 {
        self.pipe(link).map_or(0, |pipe| pipe.damaged)
    }

    /// The wired link `link`. None for a radio link.
    fn pipe(&self, link: usize) -> Option<&Pipe> {
        match self.fabric.links[link] {
            LinkId::Wired(k) => Some(&self.fabric.pipes[k as usize]),
            LinkId::Radio(_) => None,
        }
    }
}

/// The state of sessions.
impl World {
    /// The number of tunnels.
    pub fn tunnels(&self) -> usize {
        self.tunnels.len() / 2
    }

    /// The states of the two ends of tunnel `tunnel`.
    pub fn tunnel(&self, tunnel: usize) -> TunnelStatus {
        [0, 1].map(|side| self.tunnels[2 * tunnel + side].end.session.status())
    }

    /// The events of end `side` of tunnel `tunnel`, with their times.
    pub fn tunnel_events(&self, tunnel: usize, side: usize) -> &[(Time, TunnelEvent)] {
        &self.tunnels[2 * tunnel + side].events
    }

    /// The number of packets that came out of tunnels or endpoints wrongly. Such a packet never went in, came out
    /// twice, or came out after a later packet of its flow. The number must be 0.
    pub fn strays(&self) -> u64 {
        self.fabric.under_way.strays()
    }

    /// What endpoint `endpoint` knows of its peer `other`. None if the two are not connected.
    pub fn peer_status(&self, endpoint: usize, other: usize) -> Option<PeerStatus> {
        self.endpoints[endpoint].peer_status(other as u32)
    }

    /// What endpoint `endpoint` knew of its peers just before each of its restarts.
    pub fn before_restart(&self, endpoint: usize) -> &[PeerStatus] {
        &self.endpoints[endpoint].before
    }

    /// The counters of endpoint `endpoint` since its last start.
    pub fn endpoint_counters(&self, endpoint: usize) -> (EndpointCounters, &secure::SecureCounters) {
        let endpoint = &self.endpoints[endpoint].end.session.endpoint;
        (endpoint.counters(), endpoint.secure_counters())
    }

    /// Memory that the sessions of an endpoint's peers hold because of packets, bytes.
    pub fn endpoint_memory(&self, endpoint: usize) -> usize {
        self.endpoints[endpoint].end.session.endpoint.memory()
    }

    /// The events of endpoint `endpoint`, with their times.
    pub fn endpoint_events(&self, endpoint: usize) -> &[(Time, EndpointEvent)] {
        &self.endpoints[endpoint].events
    }
}
