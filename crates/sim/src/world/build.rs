//! Builds a world: adds links, flows, and the tunnels, endpoints and coding layers that carry the flows.

use super::World;
use super::fabric::{Purpose, TimerKind};
use super::node::{NodeId, Outlet, SessionId};
use super::observer::Owner;
use super::routes::Route;
use super::session::{
    Clock, EndpointNode, LtLayer, LtPlace, LtReceiverNode, LtSenderNode, NcLayer, NcReceiverNode, NcRelayNode,
    NcSenderNode, ReceivingEnd, SessionEnd, TunnelNode,
};
use super::tcp::{Hosts, TcpConfig, TcpFlow};
use super::udp::{UdpConfig, UdpFlow, UdpPattern};
use crate::tcp::{Sender, SenderConfig, SourceError, Variant};
use ripstop_base::Time;
use ripstop_link::{Link, LinkConfig, LinkConfigError};
use ripstop_proto::endpoint::EndpointConfig;
use ripstop_proto::secure::PresharedKey;
use ripstop_proto::session::tunnel::{Tunnel, TunnelConfig};
use ripstop_schemes::lt::{LtConfig, LtConfigError, LtMode, LtReceiver, LtSender, Shares};
use ripstop_schemes::nc::{NcConfigError, NcReceiver, NcRelay, NcSender};
use std::time::Duration;

/// An invalid setting of a flow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowError {
    /// A setting of the flow's coding layer is invalid.
    #[error(transparent)]
    Coding(#[from] NcConfigError),
    /// A setting of the flow's TCP/LT session is invalid.
    #[error(transparent)]
    Blocks(#[from] LtConfigError),
    /// A setting of the flow's traffic source is invalid.
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// What carries a flow's packets from host to host.
#[derive(Clone, Debug, PartialEq)]
pub enum Carrier<'a> {
    /// The links of the way there, and the links of the way back. If a list is empty, packets arrive without delay.
    Links(&'a [usize], &'a [usize]),
    /// Links as in [`Carrier::Links`], with a TCP/NC coding layer below TCP.
    Coded(&'a [usize], &'a [usize], &'a NcLayer),
    /// A wired network and a lossy path, with a gateway between them (TCP/LT).
    Gateway {
        /// The wired links that data takes, and the wired links of the opposite direction. A download takes the first
        /// list to the gateway, and an upload takes the first list from the gateway.
        wired: [&'a [usize]; 2],
        /// The links of the lossy path that data takes, and the links of the opposite direction.
        lossy: [&'a [usize]; 2],
        /// The settings of the flow.
        layer: &'a LtLayer,
    },
    /// A tunnel.
    Tunnel {
        /// The number of the tunnel.
        tunnel: usize,
        /// Whether data enters at the tunnel's second end and leaves at its first end.
        backwards: bool,
    },
    /// Two connected endpoints.
    Endpoints {
        /// The number of the endpoint where data enters.
        from: usize,
        /// The number of the endpoint where data leaves.
        to: usize,
    },
}

impl World {
    /// Adds one direction of a link, and returns its number. `name`, such as `link/2`, selects the link's own random
    /// streams.
    ///
    /// # Errors
    /// If a setting of the link is invalid.
    pub fn add_link(&mut self, config: &LinkConfig, name: &str) -> Result<usize, LinkConfigError> {
        Ok(self.fabric.add_link(Link::new(config, self.seed, name)?))
    }

    /// Adds a TCP flow, and returns its number among all flows. `name` selects the flow's own random streams.
    ///
    /// # Errors
    /// If a setting of the flow's coding layer or of its traffic source is invalid.
    ///
    /// # Panics
    /// If `carrier` names a link, a tunnel or an endpoint that was not added.
    pub fn add_tcp(&mut self, mut config: TcpConfig, carrier: &Carrier<'_>, name: &str) -> Result<usize, FlowError> {
        let number = self.flows.len() as u32;
        let node = NodeId::Tcp(self.tcp.flows.len() as u32);
        let outlet = match carrier {
            Carrier::Coded(there, back, coding) => {
                config.hosts = Hosts::Agents;
                self.add_coding(number, [there, back], coding, name)?
            }
            Carrier::Gateway { wired, lossy, layer } => {
                config.hosts = Hosts::Agents;
                self.add_blocks(number, node, *wired, *lossy, layer, config.payload, name)?
            }
            other => self.outlet(number, node, other),
        };
        let timer = self.fabric.alarm(Purpose::Timer(node, TimerKind::Main));
        let ack_timer = self.fabric.alarm(Purpose::Timer(node, TimerKind::DelayedAck));
        let mut random = self.seed.stream(&format!("{name}/tcp"));
        let draws = self.seed.stream(&format!("{name}/source"));
        let mut flow = TcpFlow::new(number, outlet, config, [timer, ack_timer], &mut random, draws)?;
        if matches!(carrier, Carrier::Gateway { layer, .. } if layer.session.mode == LtMode::Improved) {
            flow.await_grant();
        }
        self.fabric.scheduler.set(timer, flow.due());
        self.tcp.flows.push(flow);
        self.flows.push(node);
        Ok(number as usize)
    }

    /// Adds a source of UDP datagrams with its sink, and returns its number among all flows. `name` selects the
    /// source's own random stream.
    ///
    /// With [`Carrier::Coded`] the coding layer is ignored, because it takes only TCP segments. UDP datagrams pass a
    /// gateway as they are, so a UDP flow takes [`Carrier::Links`].
    ///
    /// # Panics
    /// If `carrier` is a gateway or a block code, or names a link, a tunnel or an endpoint that was not added.
    pub fn add_udp(&mut self, config: UdpConfig, carrier: &Carrier<'_>, name: &str) -> usize {
        let number = self.flows.len() as u32;
        let node = NodeId::Udp(self.udp.len() as u32);
        let outlet = self.outlet(number, node, carrier);
        let timer = self.fabric.alarm(Purpose::Timer(node, TimerKind::Main));
        let is_greedy = matches!(config.pattern, UdpPattern::Greedy { .. });
        let flow = UdpFlow::new(number, config, outlet, timer, self.seed.stream(name));
        self.fabric.scheduler.set(timer, flow.first_due());
        if let Outlet::Session([session, _]) = outlet
            && is_greedy
        {
            let greedy = match session {
                SessionId::Tunnel(k) => &mut self.tunnels[k as usize].end.greedy,
                SessionId::Endpoint(k) => &mut self.endpoints[k as usize].end.greedy,
                _ => unreachable!("only tunnels and endpoints carry UDP"),
            };
            greedy.push(self.udp.len() as u32);
        }
        self.udp.push(flow);
        self.flows.push(node);
        number as usize
    }

    /// Lets flow `answers` answer the requests of flow `requests`. Both flows are TCP flows, or both are UDP flows.
    ///
    /// - TCP: `answers` has the pattern [`Answers`](crate::tcp::Pattern::Answers), and `requests` has the pattern
    ///   [`Requests`](crate::tcp::Pattern::Requests) or [`Scheduled`](crate::tcp::Pattern::Scheduled).
    /// - UDP: the patterns are [`UdpPattern::Answers`] and [`UdpPattern::Requests`].
    ///
    /// # Panics
    /// If a flow was not added, or if a flow has another pattern. For UDP, only the pattern of `answers` is checked.
    pub fn pair(&mut self, requests: usize, answers: usize) {
        match (self.flows[requests], self.flows[answers]) {
            (NodeId::Tcp(requests), NodeId::Tcp(answers)) => self.tcp.pair(requests, answers),
            (NodeId::Udp(requests), NodeId::Udp(answers)) => {
                assert!(self.udp[answers as usize].answers(), "the second flow must have the pattern Answers");
                self.udp[requests as usize].peer = Some(answers);
                self.udp[answers as usize].peer = Some(requests);
            }
            _ => panic!("both flows must be TCP, or both must be UDP"),
        }
    }

    /// Joins two TCP flows into one connection. `requests` is the direction there, and `answers` the direction back.
    ///
    /// The flows are paired as by [`World::pair`]. In addition, `answers` opens when the SYN of `requests` arrives, and
    /// the data of each flow carries the acknowledgements of the other flow.
    ///
    /// # Panics
    /// As [`World::pair`]. Also if a flow is not between kernels ([`Hosts::Kernels`]). Also if the data of one flow
    /// does not take the path of the other flow's acknowledgements.
    pub fn join(&mut self, requests: usize, answers: usize) {
        let (NodeId::Tcp(a), NodeId::Tcp(b)) = (self.flows[requests], self.flows[answers]) else {
            panic!("only two TCP flows can be joined into a connection");
        };
        assert!(self.turns_back(a, b), "the data of each flow must take the path of the other flow's acknowledgements");
        self.tcp.join(a, b);
    }

    /// Adds requests at these `moments`, in ascending order, to TCP flow `flow` with the pattern
    /// [`Scheduled`](crate::tcp::Pattern::Scheduled).
    ///
    /// # Panics
    /// If the flow was not added, or is not TCP.
    pub fn ask_at(&mut self, flow: usize, moments: &[Time]) {
        let NodeId::Tcp(k) = self.flows[flow] else { panic!("the flow must be TCP") };
        let flow = &mut self.tcp.flows[k as usize];
        flow.schedule(moments);
        self.fabric.scheduler.set(flow.timer, flow.due());
    }

    /// Adds a tunnel, and returns its number. Both ends have the settings `config`.
    ///
    /// Datagrams of the first end pass the links `there`, and datagrams of the second end the links `back`. `names`
    /// select the random streams of the two ends.
    ///
    /// # Panics
    /// If a link was not added, or if `there` or `back` is empty.
    pub fn add_tunnel(&mut self, config: &TunnelConfig, there: &[usize], back: &[usize], names: [&str; 2]) -> usize {
        assert!(!there.is_empty() && !back.is_empty(), "a tunnel needs links");
        let number = self.tunnels();
        let first = self.tunnels.len() as u32;
        let ends = [1, 0].map(|side| NodeId::Session(SessionId::Tunnel(first + side)));
        let (there, back) = (self.fabric.links(there), self.fabric.links(back));
        let route = self.fabric.add_route(Route::new(&there, &back, ends, Owner::Tunnel(number as u32)));
        let nodes = [0, 1].map(|side| {
            let id = SessionId::Tunnel(first + side);
            let name = names[side as usize];
            let clock = self.clock(id, name);
            let entropy = self.seed.stream(name).next_u64();
            let session = Tunnel::new(Time::ZERO, config.clone(), entropy);
            TunnelNode { end: SessionEnd::new(session, Some(clock)), path: (route, side == 1), events: Vec::new() }
        });
        for node in nodes {
            if let Some(clock) = &node.end.clock {
                self.fabric.scheduler.set(clock.timer, Time::ZERO);
            }
            self.tunnels.push(node);
        }
        number
    }

    /// Adds an endpoint without peers, and returns its number.
    pub fn add_endpoint(&mut self, config: EndpointConfig) -> usize {
        let number = self.endpoints.len() as u32;
        let clock = self.clock(SessionId::Endpoint(number), &format!("endpoint/{number}"));
        self.fabric.scheduler.set(clock.timer, Time::ZERO);
        self.endpoints.push(EndpointNode::new(number, config, self.seed, clock));
        number as usize
    }

    /// Connects two endpoints. Each endpoint gets the other endpoint's public key and address.
    ///
    /// Datagrams of the first endpoint pass the links `there`, and datagrams of the second the links `back`.
    ///
    /// # Panics
    /// If an endpoint or a link was not added, or if `there` or `back` is empty.
    pub fn connect(&mut self, first: usize, second: usize, there: &[usize], back: &[usize]) {
        self.connect_with(first, second, None, there, back);
    }

    /// Connects two endpoints as [`World::connect`] does. The endpoints also share the key `preshared`, if there is one.
    ///
    /// # Panics
    /// As [`World::connect`].
    pub fn connect_with(
        &mut self,
        first: usize,
        second: usize,
        preshared: Option<PresharedKey>,
        there: &[usize],
        back: &[usize],
    ) {
        assert!(!there.is_empty() && !back.is_empty(), "two endpoints need links");
        let ends = [second, first].map(|end| NodeId::Session(SessionId::Endpoint(end as u32)));
        let (there, back) = (self.fabric.links(there), self.fabric.links(back));
        let route = self.fabric.add_route(Route::new(&there, &back, ends, Owner::Endpoints(first as u32)));
        let now = self.fabric.now();
        self.endpoints[first].add_peer(now, second as u32, preshared.clone(), (route, false));
        self.endpoints[second].add_peer(now, first as u32, preshared, (route, true));
    }

    /// Adds the two alarms of a session, and its random stream for late processors.
    fn clock(&mut self, session: SessionId, name: &str) -> Clock {
        let node = NodeId::Session(session);
        Clock {
            timer: self.fabric.alarm(Purpose::Timer(node, TimerKind::Main)),
            processor: self.fabric.alarm(Purpose::Timer(node, TimerKind::Processor)),
            lateness: Duration::ZERO,
            draws: self.seed.stream(&format!("{name}/lateness")),
        }
    }

    /// Where the packets of flow `number` go. `node` is the node with the flow's hosts. Adds a route if the flow goes
    /// over links.
    fn outlet(&mut self, number: u32, node: NodeId, carrier: &Carrier<'_>) -> Outlet {
        match carrier {
            Carrier::Links(there, back) | Carrier::Coded(there, back, _) => {
                let (there, back) = (self.fabric.links(there), self.fabric.links(back));
                let route = Route::new(&there, &back, [node, node], Owner::Flow(number));
                Outlet::Route(self.fabric.add_route(route))
            }
            Carrier::Gateway { .. } => panic!("UDP passes gateways as it is, so its carrier must be the links"),
            Carrier::Tunnel { tunnel, backwards } => {
                assert!(*tunnel < self.tunnels(), "the carrier is a tunnel that was not added");
                let ends = [0, 1].map(|side| SessionId::Tunnel(2 * *tunnel as u32 + side));
                let [first, second] = ends;
                Outlet::Session(if *backwards { [second, first] } else { ends })
            }
            Carrier::Endpoints { from, to } => {
                assert!(*from.max(to) < self.endpoints.len(), "the carrier has an endpoint that was not added");
                Outlet::Session([*from, *to].map(|end| SessionId::Endpoint(end as u32)))
            }
        }
    }

    /// Adds the coding layer of flow `number`, with its relays and its route.
    fn add_coding(
        &mut self,
        number: u32,
        [there, back]: [&[usize]; 2],
        coding: &NcLayer,
        name: &str,
    ) -> Result<Outlet, NcConfigError> {
        let sender = SessionId::NcSender(self.nc_senders.len() as u32);
        let receiver = SessionId::NcReceiver(self.nc_receivers.len() as u32);
        let ends = [receiver, sender].map(NodeId::Session);
        let (there, back) = (self.fabric.links(there), self.fabric.links(back));
        let mut route = Route::new(&there, &back, ends, Owner::Flow(number));
        let first_relay = self.nc_relays.len() as u32;
        let relays = first_relay..first_relay + coding.relays.len() as u32;
        let node = |(k, (behind, _)): (u32, &(usize, _))| (*behind, NodeId::Session(SessionId::NcRelay(k)));
        route.relays = relays.clone().zip(&coding.relays).map(node).collect();
        let nc_sender = NcSender::new(coding.session, self.seed.child(&format!("{name}/nc")))?;
        let nc_receiver = NcReceiver::new(coding.session)?;
        let route = self.fabric.add_route(route);
        for (behind, factor) in &coding.relays {
            let seed = self.seed.child(&format!("{name}/relay/{behind}"));
            let relay = NcRelay::new(coding.session, *factor, seed)?;
            let end = SessionEnd::new(relay, None);
            self.nc_relays.push(NcRelayNode { end, route, behind: *behind as u16 });
        }
        let (sender_end, receiver_end) = (SessionEnd::new(nc_sender, None), SessionEnd::new(nc_receiver, None));
        let relays = relays.collect();
        self.nc_senders.push(NcSenderNode { end: sender_end, flow: number, route, relays });
        self.nc_receivers.push(NcReceiverNode { end: receiver_end, flow: number, route });
        Ok(Outlet::Coding(sender))
    }

    /// Adds a gateway of TCP/LT with a capacity of `capacity` bit/s, and returns its number.
    pub fn add_gateway(&mut self, capacity: u64) -> usize {
        self.fabric.gateways.push(Shares::new(capacity));
        self.fabric.gateways.len() - 1
    }

    /// Adds the two ends of TCP/LT for flow `number`, with the routes between them and the hosts. `node` is the node
    /// with the flow's hosts.
    #[expect(clippy::too_many_arguments, reason = "the parts of the flow's path are known only to the caller")]
    fn add_blocks(
        &mut self,
        number: u32,
        node: NodeId,
        wired: [&[usize]; 2],
        lossy: [&[usize]; 2],
        layer: &LtLayer,
        payload: u32,
        name: &str,
    ) -> Result<Outlet, LtConfigError> {
        let is_known = layer.gateway.is_none_or(|gateway| gateway < self.fabric.gateways.len());
        assert!(is_known, "the carrier has a gateway that was not added");
        let place = self.lt_senders.len() as u32;
        let [sender, receiver] = [SessionId::LtSender(place), SessionId::LtReceiver(place)];
        let nodes = [sender, receiver].map(NodeId::Session);
        let [wired, lossy] = [wired, lossy].map(|ways| ways.map(|way| self.fabric.links(way)));
        let owner = Owner::Flow(number);
        let ends = if layer.is_upload { [node, nodes[1]] } else { [nodes[0], node] };
        let wired = self.fabric.add_route(Route::new(&wired[0], &wired[1], ends, owner));
        let lossy = self.fabric.add_route(Route::new(&lossy[0], &lossy[1], [nodes[1], nodes[0]], owner));
        // The SYN, packet 0, passes the session.
        let session = LtConfig { first: 1, packet_bytes: payload, ..layer.session };
        let place = LtPlace { flow: number, lossy, wired, payload, layer: LtLayer { session, ..*layer } };
        let identifier = self.seed.stream(&format!("{name}/lt")).next_u64() as u32;
        let [sender_clock, receiver_clock] =
            [(sender, "sender"), (receiver, "receiver")].map(|(id, end)| self.clock(id, &format!("{name}/lt/{end}")));
        let end = SessionEnd::new(LtSender::new(session, identifier)?, Some(sender_clock));
        self.lt_senders.push(LtSenderNode { end, place });
        let mut random = self.seed.stream(&format!("{name}/gateway"));
        let host = layer.is_upload.then(|| Sender::new(Variant::NewReno, SenderConfig::default(), &mut random));
        let receiver = ReceivingEnd { receiver: LtReceiver::new(session)?, host, is_open: false };
        let end = SessionEnd::new(receiver, Some(receiver_clock));
        self.lt_receivers.push(LtReceiverNode { end, place });
        Ok(if layer.is_upload { Outlet::Client(sender, wired) } else { Outlet::Gateway(wired) })
    }

    /// Whether the data of each of two TCP flows takes the path of the other flow's acknowledgements.
    fn turns_back(&self, a: u32, b: u32) -> bool {
        let outlet = |k: u32| self.tcp.flows[k as usize].outlet();
        match (outlet(a), outlet(b)) {
            (Outlet::Session([first, second]), Outlet::Session(other)) => other == [second, first],
            (Outlet::Route(a), Outlet::Route(b)) => {
                let links = |route, back| self.fabric.routes.way(route, back).iter().map(|hop| hop.link);
                [false, true].into_iter().all(|back| links(a, back).eq(links(b, !back)))
            }
            _ => false,
        }
    }
}
