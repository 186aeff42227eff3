//! What can be read off a world while it runs.

use super::World;
use super::node::{NodeId, Outlet, SessionId};
use super::pipe::LinkTotals;
use super::session::{NcMoment, NcStatus, TunnelStatus};
use super::totals::{FlowDelays, FlowTotals};
use crate::tcp::Mechanisms;
use ripstop_base::Time;
use ripstop_link::LinkCounters;
use ripstop_proto::endpoint::{EndpointCounters, EndpointEvent, PeerStatus};
use ripstop_proto::secure;
use ripstop_proto::session::tunnel::TunnelEvent;
use std::time::Duration;

/// Flows.
impl World {
    /// How many flows were added.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// What flow `flow` has done so far.
    pub fn totals(&self, flow: usize) -> FlowTotals {
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].totals(self.now()),
            NodeId::Tcp(k) => self.tcp.flows[k as usize].totals(self.now()),
            NodeId::Session(_) => FlowTotals::default(),
        }
    }

    /// The delays of flow `flow` since this was last asked.
    pub fn take_delays(&mut self, flow: usize) -> FlowDelays {
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].take_delays(),
            NodeId::Tcp(k) => self.tcp.flows[k as usize].take_delays(),
            NodeId::Session(_) => FlowDelays::default(),
        }
    }

    /// Forgets the delays of flow `flow` so far, and those of packets that it has sent and that are still to be delivered.
    pub fn forget_delays(&mut self, flow: usize) {
        let now = self.now();
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].forget_delays(now),
            NodeId::Tcp(k) => self.tcp.flows[k as usize].forget_delays(now),
            NodeId::Session(_) => {}
        }
    }

    /// How often the mechanisms of flow `flow`'s sender did their work so far; None where it has none of them.
    pub fn mechanisms(&self, flow: usize) -> Option<Mechanisms> {
        match self.flows[flow] {
            NodeId::Tcp(k) => self.tcp.flows[k as usize].mechanisms(),
            _ => None,
        }
    }

    /// How long each request of the UDP flow `flow` took until its answer came, in their order; None: not answered yet.
    pub fn latencies(&self, flow: usize) -> &[Option<Duration>] {
        match self.flows[flow] {
            NodeId::Udp(k) => self.udp[k as usize].latencies(),
            _ => &[],
        }
    }

    /// What the coding layer of flow `flow` has done; None when it has none.
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

    /// What the coding layer of flow `flow` holds now; None when it has none.
    pub fn coding_now(&self, flow: usize) -> Option<NcMoment> {
        let k = self.coding_layer(flow)?;
        let (sender, receiver) = (&self.nc_senders[k].end.session, &self.nc_receivers[k].end.session);
        Some(NcMoment { window: sender.held(), rows: receiver.rows(), deficit: receiver.deficit() })
    }

    /// The place of the coding layer of flow `flow`: of its sender and of its receiver.
    fn coding_layer(&self, flow: usize) -> Option<usize> {
        let NodeId::Tcp(k) = self.flows[flow] else { return None };
        match self.tcp.flows[k as usize].outlet() {
            Outlet::Coding(SessionId::NcSender(k)) => Some(k as usize),
            _ => None,
        }
    }
}

/// Links.
impl World {
    /// How many directions of links were added.
    pub fn links(&self) -> usize {
        self.fabric.pipes.len()
    }

    /// How many packets wait for link `link`, the one that is being sent not counted.
    pub fn queue(&mut self, link: usize) -> u64 {
        let now = self.now();
        self.fabric.pipes[link].link.backlog(now).packets
    }

    /// What link `link` has done so far, and for how long.
    pub fn link_totals(&self, link: usize) -> LinkTotals {
        self.fabric.pipes[link].totals()
    }

    /// What link `link` has done so far.
    pub fn link(&self, link: usize) -> &LinkCounters {
        self.fabric.pipes[link].link.counters()
    }

    /// The impairments of link `link` that are configured and never fired.
    pub fn unfired(&self, link: usize) -> Vec<&'static str> {
        self.fabric.pipes[link].link.unfired()
    }

    /// How many packets are on link `link` or wait for it.
    pub fn on_link(&self, link: usize) -> usize {
        self.fabric.pipes[link].len()
    }

    /// Packets that arrived damaged over link `link` and were dropped.
    pub fn damaged(&self, link: usize) -> u64 {
        self.fabric.pipes[link].damaged
    }
}

/// Sessions.
impl World {
    /// How many tunnels were added.
    pub fn tunnels(&self) -> usize {
        self.tunnels.len() / 2
    }

    /// The states of the two ends of tunnel `tunnel`.
    pub fn tunnel(&self, tunnel: usize) -> TunnelStatus {
        [0, 1].map(|side| self.tunnels[2 * tunnel + side].end.session.status())
    }

    /// The events of end `side` of tunnel `tunnel`, with their moments.
    pub fn tunnel_events(&self, tunnel: usize, side: usize) -> &[(Time, TunnelEvent)] {
        &self.tunnels[2 * tunnel + side].events
    }

    /// Packets that came out of tunnels or endpoints without having gone in, a second time, or after a later one of their
    /// flow. There must be none.
    pub fn strays(&self) -> u64 {
        self.fabric.under_way.strays()
    }

    /// What endpoint `endpoint` knows of its peer `other`.
    pub fn peer_status(&self, endpoint: usize, other: usize) -> Option<PeerStatus> {
        self.endpoints[endpoint].peer_status(other as u32)
    }

    /// What endpoint `endpoint` knew of its peers when it restarted, each time.
    pub fn before_restart(&self, endpoint: usize) -> &[PeerStatus] {
        &self.endpoints[endpoint].before
    }

    /// The counters of endpoint `endpoint` since its last start.
    pub fn endpoint_counters(&self, endpoint: usize) -> (EndpointCounters, &secure::SecureCounters) {
        let endpoint = &self.endpoints[endpoint].end.session.endpoint;
        (endpoint.counters(), endpoint.secure_counters())
    }

    /// The events of endpoint `endpoint`, with their moments.
    pub fn endpoint_events(&self, endpoint: usize) -> &[(Time, EndpointEvent)] {
        &self.endpoints[endpoint].events
    }
}
