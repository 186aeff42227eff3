//! The world in virtual time: nodes and links that share one clock.
//!
//! # What a world consists of
//!
//! - A **node** is a TCP flow with its two hosts (`tcp`), a UDP source with its sink (`udp`), or a session (`session`).
//! - A **session** is one end of a tunnel, a whole endpoint, or part of a TCP/NC coding layer (sender, receiver or
//!   relay). A tunnel end exchanges datagrams as Rust values (*typed packets*). An endpoint exchanges datagrams as
//!   encrypted bytes (*sealed bytes*).
//! - A **link** is a [`ripstop_link::Link`], the same type that the real-time emulator uses.
//! - A **route** has two lists of links. The *way there* leads from a first node to a second node, and the *way back*
//!   leads from the second node to the first. A packet passes the links of one list one after another. The node at the
//!   end of the list receives the packet.
//! - A **handoff** is a packet that one node passes to another without a link. For example, a host's packet enters a
//!   tunnel, or a tunnel delivers a packet to a host.
//!
//! # How to use it
//!
//! Add links, then flows and the sessions that carry them (`build`), and optionally incidents ([`Incident`]). Then call
//! [`World::run_until`] with later and later times. Between the calls, read the results (`state`). An [`Observer`] is
//! told of each [`Happening`] during the run.
//!
//! The result depends only on the seed, on the parts that were added, and on the order in which they were added.
//!
//! # The run loop
//!
//! [`World::run_until`] repeats these steps. The clock stands still during the steps 2 to 4.
//!
//! 1. **Take the next alarm.** The clock moves to the alarm's time. The alarm is an arrival at the end of a link, a
//!    timer of a node, or an incident.
//! 2. **Handle the alarm.** A packet that still has links ahead goes onto the next link. In all other cases one node is
//!    called: the node to which the packet, the timer or the incident belongs.
//! 3. **The node acts.** It puts packets on links (`fabric`) and appends handoffs to a queue. Nodes never call each
//!    other.
//! 4. **Settle.** `World::settle` (in `drive`) passes on the handoffs and then runs the sessions that have input. It
//!    repeats this until no handoff and no input is left. A tunnel end or an endpoint therefore gets all its input of
//!    the step before it answers.
//!
//! Read on in this order: `drive` tells how nodes are called and how sessions are driven; `node` names the nodes and
//! defines handoffs.

mod build;
mod drive;
mod fabric;
mod incident;
mod node;
mod observer;
mod outside;
mod packet;
mod pipe;
mod radio;
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
    BlockSymbol, Body, Combination, Ecn, NetworkPacket, SealedDatagram, TCP_IP_HEADERS, TunnelDatagram, UDP_IP_HEADERS,
};
pub use pipe::LinkTotals;
pub use radio::StationStatus;
/// The settings of a tunnel session, which [`World`] takes.
pub use ripstop_proto::session::tunnel::TunnelConfig;
pub use session::{LabelledPacket, LtLayer, LtStatus, NcLayer, NcMoment, NcStatus, TunnelStatus};
pub use tcp::{Hosts, STAMPED_HEADERS, TcpConfig};
pub use totals::{FlowDelays, FlowTotals};
pub use udp::{UdpConfig, UdpPattern};

use fabric::{Fabric, Purpose};
use incident::Scheduled;
use node::NodeId;
use ripstop_base::{Seed, Stream, Time};
use session::{EndpointNode, LtReceiverNode, LtSenderNode, NcReceiverNode, NcRelayNode, NcSenderNode, TunnelNode};
use std::collections::VecDeque;
use tcp::TcpFlows;
use udp::UdpFlow;

/// A simulated network in virtual time: its nodes, its links, and its clock. The module documentation explains the run
/// loop.
#[derive(Debug)]
pub struct World {
    /// The source of all randomness.
    seed: Seed,
    /// Clock, links, routes and handoffs.
    fabric: Fabric,
    tcp: TcpFlows,
    udp: Vec<UdpFlow>,
    /// The node of each flow, by the flow's number.
    flows: Vec<NodeId>,
    /// The ends of tunnels. The ends of tunnel k are at 2k and 2k + 1.
    tunnels: Vec<TunnelNode>,
    endpoints: Vec<EndpointNode>,
    nc_senders: Vec<NcSenderNode>,
    nc_receivers: Vec<NcReceiverNode>,
    nc_relays: Vec<NcRelayNode>,
    lt_senders: Vec<LtSenderNode>,
    lt_receivers: Vec<LtReceiverNode>,
    /// Sessions that have input and will be called before the current step ends.
    ready: VecDeque<node::SessionId>,
    /// All scheduled incidents, by number.
    incidents: Vec<Scheduled>,
    /// Random bytes for the datagrams of [`Incident::Nuisance`].
    strangers: Stream,
}

impl World {
    /// An empty world. All its randomness derives from `seed`.
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
            lt_senders: Vec::new(),
            lt_receivers: Vec::new(),
            ready: VecDeque::with_capacity(8),
            incidents: Vec::new(),
            strangers: seed.stream("nuisance"),
        }
    }

    /// Runs the world until the virtual time `end`. The module documentation explains the loop.
    pub fn run_until(&mut self, end: Time, observer: &mut impl Observer) {
        self.fabric.begin(end);
        self.begin_air(observer);
        while let Some((alarm, purpose)) = self.fabric.next_until(end) {
            match purpose {
                Purpose::Arrival(link) => {
                    if let Some((packet, node)) = self.fabric.arrive(link, observer) {
                        self.go_on(packet, node, observer);
                    }
                }
                Purpose::Decision(link) => self.fabric.decide(link, observer),
                Purpose::Medium(medium) => self.wake_medium(medium, observer),
                Purpose::Timer(NodeId::Tcp(k), timer) => {
                    self.tcp.wake(k, timer, alarm, &mut self.fabric, observer);
                }
                Purpose::Timer(NodeId::Udp(k), _) => self.wake_source(k, observer),
                Purpose::Timer(NodeId::Session(session), timer) => self.wake_session(session, timer, observer),
                Purpose::Incident(k) => self.happen(k, observer),
            }
            self.settle(observer);
        }
        self.settle_media(observer);
    }

    /// Gives a packet that has passed a link to `node`. Without a node, the packet goes onto its next link.
    #[inline]
    fn go_on(&mut self, packet: NetworkPacket, node: Option<NodeId>, observer: &mut impl Observer) {
        match node {
            Some(node) => self.receive(node, packet, observer),
            None => self.fabric.forward(packet, observer),
        }
    }

    /// The virtual time.
    pub fn now(&self) -> Time {
        self.fabric.now()
    }

    /// How many events there were so far: arrivals of packets at the ends of links, timers, and incidents.
    pub fn events(&self) -> u64 {
        self.fabric.events()
    }
}
