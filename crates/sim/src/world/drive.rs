//! How the world calls its nodes: the steps 2 to 4 of the run loop that the module [`super`] describes.
//!
//! 1. **Input.** `World::receive` gives a packet from a link to its node. TCP hosts, UDP sinks and coding layers react
//!    immediately. A tunnel end or an endpoint only stores the packet in its inbox and becomes *ready*. This models a
//!    daemon, which reads packets in batches.
//! 2. **Settle.** `World::settle` passes on all handoffs (`pass_on`). Then it calls one ready session. It repeats both
//!    steps until no handoff and no ready session is left.
//! 3. **Call.** `World::call` runs the session immediately. If the session has a late processor
//!    ([`super::Incident::LateProcessor`]), `World::call` sets an alarm for a random later time instead.
//! 4. **Run.** `World::run` gives the session its stored packets and its time-out if the time-out is due. Then it
//!    drains the session.
//! 5. **Drain.** `World::drain` is the only loop that drives a session. It keeps the contract of [`Session`]. The loop
//!    feeds inner packets, puts outgoing packets on links, passes deliveries on as handoffs, and repeats until the
//!    session has no output. Then it records events and sets the session's timer.
//!
//! A host can answer a delivery while its session is being drained. The session is marked busy during the drain. The
//! answer therefore waits in the session's queue, and the same loop takes the answer in.

use super::World;
use super::fabric::TimerKind;
use super::node::{Entering, Handoff, NodeId, Outlet, SessionId};
use super::observer::Observer;
use super::packet::{Body, Ecn, EcnFlags, NetworkPacket};
use super::session::{
    EndpointNode, Input, LtReceiverNode, LtSenderNode, NcReceiverNode, NcRelayNode, NcSenderNode, Packed, SessionNode,
    TunnelNode,
};
use ripstop_base::Time;
use ripstop_proto::session::{Received, Reception, Session};

/// Calls a generic method of [`World`] with the node type of a session.
macro_rules! for_session {
    ($world:expr, $session:expr, $method:ident ( $($argument:expr),* )) => {
        match $session {
            SessionId::Tunnel(k) => $world.$method::<TunnelNode>(k, $($argument),*),
            SessionId::Endpoint(k) => $world.$method::<EndpointNode>(k, $($argument),*),
            SessionId::NcSender(k) => $world.$method::<NcSenderNode>(k, $($argument),*),
            SessionId::NcReceiver(k) => $world.$method::<NcReceiverNode>(k, $($argument),*),
            SessionId::NcRelay(k) => $world.$method::<NcRelayNode>(k, $($argument),*),
            SessionId::LtSender(k) => $world.$method::<LtSenderNode>(k, $($argument),*),
            SessionId::LtReceiver(k) => $world.$method::<LtReceiverNode>(k, $($argument),*),
        }
    };
}

impl World {
    /// Gives `node` a packet that has passed its last link.
    #[inline]
    pub(super) fn receive(&mut self, node: NodeId, packet: NetworkPacket, observer: &mut impl Observer) {
        match node {
            NodeId::Tcp(k) => {
                let flags = packet.ecn_flags();
                self.tcp.receive(k, packet.body, flags, &mut self.fabric, observer);
            }
            NodeId::Udp(k) => self.sink(k, packet.body, observer),
            NodeId::Session(session) => for_session!(self, session, take_packet(session, packet, observer)),
        }
    }

    /// Passes on handoffs and calls ready sessions, until there are none.
    #[inline]
    pub(super) fn settle(&mut self, observer: &mut impl Observer) {
        // A fast path: most steps leave no handoff. Without a session, a TCP packet goes from host to link and from
        // link to host.
        if !self.fabric.handoffs.is_empty() || !self.ready.is_empty() {
            self.settle_all(observer);
        }
    }

    /// The slow path of [`World::settle`]: there is a handoff or a ready session.
    fn settle_all(&mut self, observer: &mut impl Observer) {
        loop {
            self.pass_on(observer);
            let Some(session) = self.ready.pop_front() else { return };
            for_session!(self, session, call(observer));
        }
    }

    /// Handles an alarm of a session: its time-out is due, or a late session gets the processor.
    pub(super) fn wake_session(&mut self, session: SessionId, timer: TimerKind, observer: &mut impl Observer) {
        match timer {
            TimerKind::Processor => for_session!(self, session, run(observer)),
            _ => for_session!(self, session, call(observer)),
        }
    }

    /// Handles the timer of UDP source `k`. A greedy source sends nothing here. The session that carries the source is
    /// called instead. From now on, the session asks the source for packets (`refill`).
    pub(super) fn wake_source(&mut self, k: u32, observer: &mut impl Observer) {
        let source = &mut self.udp[k as usize];
        source.wake(&mut self.fabric, observer);
        if source.wants(self.fabric.now()).is_some()
            && let Outlet::Session([session, _]) = source.outlet()
        {
            self.make_ready(session);
        }
    }

    /// Makes sure that `session` is called before the current step ends.
    pub(super) fn make_ready(&mut self, session: SessionId) {
        if !self.ready.contains(&session) {
            self.ready.push_back(session);
        }
    }

    /// Passes on handoffs and lets hosts answer, until no handoff is left. A session that receives input becomes ready.
    #[inline]
    fn pass_on(&mut self, observer: &mut impl Observer) {
        loop {
            while let Some(handoff) = self.fabric.handoffs.pop_front() {
                match handoff {
                    Handoff::Enter(session, entering) => {
                        for_session!(self, session, enter(session, entering, observer));
                    }
                    Handoff::Leave { flow, flags, body } => self.leave(flow, flags, body, observer),
                    Handoff::Send { route, back, bytes, body } => {
                        self.fabric.send(route, back, EcnFlags::default(), bytes, body, observer);
                    }
                    Handoff::Arrive(packet) => {
                        let route = self.fabric.routes.get(packet.route);
                        let node = route.ends[usize::from(packet.back)];
                        self.receive(node, packet, observer);
                    }
                }
            }
            self.tcp.settle_touched(&mut self.fabric, observer);
            if self.fabric.handoffs.is_empty() {
                return;
            }
        }
    }

    /// Gives a packet that came out of a session to the host of its flow.
    fn leave(&mut self, flow: u32, flags: EcnFlags, body: Body, observer: &mut impl Observer) {
        match self.flows[flow as usize] {
            NodeId::Tcp(k) => self.tcp.deliver(k, body, flags, &mut self.fabric, observer),
            NodeId::Udp(k) => self.sink(k, body, observer),
            NodeId::Session(_) => {}
        }
    }

    /// Gives a UDP datagram to the sink of source `k`. If the source belongs to a pair, a request is answered, and an
    /// answer completes its request.
    fn sink(&mut self, k: u32, body: Body, observer: &mut impl Observer) {
        let Body::Udp(number) = body else { return };
        let now = self.fabric.now();
        let flow = &mut self.udp[k as usize];
        if !flow.receive(number, now, observer) {
            return;
        }
        let Some(peer) = flow.peer else { return };
        match flow.answers() {
            true => {
                let request = flow.request_of(number);
                request.into_iter().for_each(|request| self.udp[peer as usize].on_answer(request, now));
            }
            false => self.udp[peer as usize].answer(number, &mut self.fabric, observer),
        }
    }

    /// Gives a packet from the network to a session. A session that takes packets in batches stores the packet. Any
    /// other session takes the packet in and is drained immediately.
    fn take_packet<N: SessionNode>(
        &mut self,
        number: u32,
        session: SessionId,
        packet: NetworkPacket,
        observer: &mut impl Observer,
    ) {
        let (node, fabric) = N::split(self, number);
        let (bytes, ce) = (packet.bytes, packet.ecn == Ecn::Marked);
        let input = node.unpack(packet.body, fabric);
        let end = node.end();
        match input {
            None => {}
            Some(Input::Peer(packet)) => {
                let reception = Reception { ce, ..Reception::default() };
                let received = Received { packet, bytes, reception };
                if N::BATCHES {
                    end.inbox.push_back(received);
                    self.make_ready(session);
                } else {
                    end.session.handle_datagram(fabric.now(), received);
                    self.drain::<N>(number, observer);
                }
            }
            Some(Input::Inner(inner)) => self.take_inner::<N>(number, session, inner, observer),
        }
    }

    /// Gives a flow's packet to the session that carries it.
    fn enter<N: SessionNode>(
        &mut self,
        number: u32,
        session: SessionId,
        entering: Entering,
        observer: &mut impl Observer,
    ) {
        let (node, fabric) = N::split(self, number);
        if let Some(inner) = node.enter(entering, fabric) {
            self.take_inner::<N>(number, session, inner, observer);
        }
    }

    /// Gives a session an inner packet. A session that takes packets one by one takes the packet in and is drained
    /// immediately, unless it is being drained already.
    fn take_inner<N: SessionNode>(
        &mut self,
        number: u32,
        session: SessionId,
        inner: <N::Session as Session>::Inner,
        observer: &mut impl Observer,
    ) {
        let (node, fabric) = N::split(self, number);
        let end = node.end();
        if !N::BATCHES && !end.busy {
            end.session.handle_inner(fabric.now(), inner);
            return self.drain::<N>(number, observer);
        }
        end.entering.push_back(inner);
        if !end.busy {
            self.make_ready(session);
        }
    }

    /// Calls a session that has input or a due time-out. The session runs immediately, or after a random delay if its
    /// processor is late.
    fn call<N: SessionNode>(&mut self, number: u32, observer: &mut impl Observer) {
        let (node, fabric) = N::split(self, number);
        match &mut node.end().clock {
            Some(clock) if !clock.lateness.is_zero() => {
                if fabric.scheduler.when(clock.processor) == Time::NEVER {
                    let late = clock.lateness.mul_f64(clock.draws.unit());
                    fabric.scheduler.set(clock.processor, fabric.now() + late);
                }
            }
            _ => self.run::<N>(number, observer),
        }
    }

    /// Gives a session its stored packets, and its time-out if the time-out is due. Then drains the session.
    fn run<N: SessionNode>(&mut self, number: u32, observer: &mut impl Observer) {
        let (node, fabric) = N::split(self, number);
        node.end().take_arrived(fabric.now());
        self.drain::<N>(number, observer);
    }

    /// The only loop that drives a session. It feeds inner packets and takes outputs until there are none. Then it
    /// records events and sets the timer.
    fn drain<N: SessionNode>(&mut self, number: u32, observer: &mut impl Observer) {
        N::split(self, number).0.end().busy = true;
        loop {
            if N::BATCHES {
                self.refill::<N>(number);
            }
            let (node, fabric) = N::split(self, number);
            let now = fabric.now();
            let mut again = node.end().take_entering(now, N::BATCHES);
            while let Some(sent) = node.end().session.poll_transmit(now) {
                // A session that takes inner packets one by one has nothing more to send until its next input.
                again |= N::BATCHES;
                let (bytes, ecn) = (sent.bytes, if sent.ect { Ecn::Capable } else { Ecn::NotCapable });
                if let Some(Packed { route, back, hop, body }) = node.pack(sent.packet, fabric) {
                    fabric.forward(NetworkPacket { route, hop, back, ecn, cwr: false, bytes, body }, observer);
                }
            }
            let mut delivers = false;
            loop {
                let (node, fabric) = N::split(self, number);
                let Some(delivered) = node.end().session.poll_deliver() else { break };
                delivers = true;
                match node.leave(delivered, fabric) {
                    // No other handoff waits, so this handoff skips the queue. The handoffs that it causes enter the
                    // queue.
                    Some(Handoff::Leave { flow, flags, body }) if !N::BATCHES && fabric.handoffs.is_empty() => {
                        self.leave(flow, flags, body, observer);
                    }
                    handoff => fabric.handoffs.extend(handoff),
                }
            }
            again |= delivers;
            if delivers || !self.fabric.handoffs.is_empty() {
                self.pass_on(observer);
            }
            if !again && N::split(self, number).0.end().entering.is_empty() {
                break;
            }
        }
        let (node, fabric) = N::split(self, number);
        let now = fabric.now();
        while let Some(event) = node.end().session.poll_event() {
            node.note(now, event);
        }
        let end = node.end();
        end.busy = false;
        let due = end.session.poll_timeout().unwrap_or(Time::NEVER);
        if let Some(clock) = &end.clock
            && due != fabric.scheduler.when(clock.timer)
        {
            fabric.scheduler.set(clock.timer, due);
        }
    }

    /// Lets greedy sources top up their session's backlog to the level that they want.
    fn refill<N: SessionNode>(&mut self, number: u32) {
        let (node, _) = N::split(self, number);
        if node.end().greedy.is_empty() {
            return;
        }
        let greedy = std::mem::take(&mut node.end().greedy);
        let now = self.fabric.now();
        let wanted = |world: &World, k: &u32| world.udp[*k as usize].wants(now);
        let sources = greedy.iter().filter(|k| wanted(self, k).is_some()).count().max(1);
        // The present backlog is divided evenly among the sources, before any of them adds to it.
        let waiting: Vec<usize> = greedy.iter().map(|k| self.waiting::<N>(number, *k) / sources).collect();
        for (k, waiting) in greedy.iter().zip(waiting) {
            for _ in waiting..wanted(self, k).unwrap_or(0) {
                let Some(entering) = self.udp[*k as usize].make(now) else { break };
                let (node, fabric) = N::split(self, number);
                let inner = node.enter(entering, fabric);
                node.end().entering.extend(inner);
            }
        }
        N::split(self, number).0.end().greedy = greedy;
    }

    /// The session's backlog for the destination of flow `k`, in packets. `usize::MAX` while the session accepts no
    /// packets, so that the source adds no packets.
    fn waiting<N: SessionNode>(&mut self, number: u32, k: u32) -> usize {
        let Outlet::Session([_, to]) = self.udp[k as usize].outlet() else { return usize::MAX };
        N::split(self, number).0.backlog(to).unwrap_or(usize::MAX)
    }
}
