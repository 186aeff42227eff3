//! The world in virtual time: nodes and links on one scheduler.
//!
//! A **node** is a TCP flow with its two hosts (`tcp`), a source of UDP datagrams with its sink (`udp`), or a session
//! (`session`): an end of a tunnel that exchanges typed packets, a whole endpoint that exchanges sealed bytes, a coding
//! layer below a TCP, a relay. A **link** is the very one of [`ripstop_link`]. A route is a list of links; a packet passes
//! them one after another, and is given to the node at the end.
//!
//! # The loop
//!
//! 1. [`World::run_until`] takes the next alarm: a packet arrives at the end of a link, a node's timer is due, or an incident
//!    happens. Exactly one node is called.
//! 2. The node puts packets on links (`fabric`) and hands others to nodes at the same place: a host's packet enters a
//!    tunnel, a tunnel delivers to a host. Nodes never call each other; what they hand over waits in a queue.
//! 3. `World::settle` empties the queue. All that reached a node at this moment is in before the node answers. A session is
//!    driven by `World::drain` alone.
//!
//! All that happens is a function of what was added to the world, in which order, and of the seed.

mod build;
mod drive;
mod fabric;
mod incident;
mod node;
mod observer;
mod packet;
mod pipe;
mod routes;
mod session;
mod state;
mod tcp;
mod totals;
mod udp;

pub use build::{Carrier, FlowError};
pub use incident::Incident;
pub use observer::{Happening, Observer, Owner};
pub use packet::{
    Body, Combination, Ecn, NetworkPacket, SealedDatagram, TCP_IP_HEADERS, TunnelDatagram, UDP_IP_HEADERS,
};
pub use pipe::LinkTotals;
pub use session::{LabelledPacket, NcLayer, NcMoment, NcStatus, TunnelStatus};
pub use tcp::{Hosts, STAMPED_HEADERS, TcpConfig};
pub use totals::{FlowDelays, FlowTotals};
pub use udp::{UdpConfig, UdpPattern};

use fabric::{Fabric, Purpose};
use incident::Scheduled;
use node::NodeId;
use ripstop_base::{Seed, Stream, Time};
use session::{EndpointNode, NcReceiverNode, NcRelayNode, NcSenderNode, TunnelNode};
use std::collections::VecDeque;
use tcp::TcpFlows;
use udp::UdpFlow;

/// Nodes, links, and the scheduler.
#[derive(Debug)]
pub struct World {
    seed: Seed,
    fabric: Fabric,
    tcp: TcpFlows,
    udp: Vec<UdpFlow>,
    /// The nodes of the flows, by the numbers of the flows.
    flows: Vec<NodeId>,
    tunnels: Vec<TunnelNode>,
    endpoints: Vec<EndpointNode>,
    nc_senders: Vec<NcSenderNode>,
    nc_receivers: Vec<NcReceiverNode>,
    nc_relays: Vec<NcRelayNode>,
    /// Sessions for which something waits.
    ready: VecDeque<node::SessionId>,
    incidents: Vec<Scheduled>,
    /// What strangers send.
    strangers: Stream,
}

impl World {
    /// A world without anything.
    pub fn new(seed: Seed) -> World {
        World {
            seed,
            fabric: Fabric::new(),
            tcp: TcpFlows::default(),
            udp: Vec::new(),
            flows: Vec::new(),
            tunnels: Vec::new(),
            endpoints: Vec::new(),
            nc_senders: Vec::new(),
            nc_receivers: Vec::new(),
            nc_relays: Vec::new(),
            ready: VecDeque::with_capacity(8),
            incidents: Vec::new(),
            strangers: seed.stream("nuisance"),
        }
    }

    /// Runs until the moment `end`.
    pub fn run_until(&mut self, end: Time, observer: &mut impl Observer) {
        self.fabric.begin(end);
        while let Some((alarm, purpose)) = self.fabric.next_until(end) {
            match purpose {
                Purpose::Arrival(link) => {
                    if let Some((packet, node)) = self.fabric.arrive(link, observer) {
                        match node {
                            Some(node) => self.receive(node, packet, observer),
                            None => self.fabric.forward(packet, observer),
                        }
                    }
                }
                Purpose::Timer(NodeId::Tcp(k), timer) => {
                    self.tcp.wake(k, timer, alarm, &mut self.fabric, observer);
                }
                Purpose::Timer(NodeId::Udp(k), _) => self.wake_source(k, observer),
                Purpose::Timer(NodeId::Session(session), timer) => {
                    self.wake_session(session, timer, observer)
                }
                Purpose::Incident(k) => self.happen(k, observer),
            }
            self.settle(observer);
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.fabric.now()
    }

    /// How many events there were: arrivals of packets at the ends of links, timers and incidents.
    pub fn events(&self) -> u64 {
        self.fabric.events()
    }
}
