//! TCP flows as nodes: what their hosts do when a packet arrives or a timer is due.
//!
//! Hosts that behave like ns-2's agents answer each packet immediately. Hosts that behave like kernels first process
//! everything that arrives in one step of the world's run loop (`take_in`). Then they send data and acknowledgements
//! together (`settle`).
//!
//! The file `flow` has a single flow, `kernel` the behaviour of its hosts, and `segments` the payload of its packets. `grant`
//! is the window of a gateway.
//! Two flows can be paired: one flow sends requests, and the other flow answers them.

mod flow;
mod grant;
mod kernel;
mod segments;

pub use flow::TcpConfig;
pub(super) use flow::TcpFlow;
pub use kernel::{Hosts, STAMPED_HEADERS};

use super::fabric::{Fabric, TimerKind};
use super::node::{Entering, Handoff, Outlet};
use super::observer::{Happening, Observer};
use super::packet::{Body, Ecn, EcnFlags};
use crate::engine::Alarm;
use crate::tcp::{Ack, Pattern};
use ripstop_base::Time;

/// All TCP flows of a world.
#[derive(Debug, Default)]
pub(super) struct TcpFlows {
    pub(super) flows: Vec<TcpFlow>,
    /// Flows that got packets from a session and have not answered them yet.
    touched: Vec<u32>,
}

impl TcpFlows {
    /// Handles a timer of flow `k`.
    pub(super) fn wake(
        &mut self,
        k: u32,
        timer: TimerKind,
        alarm: Alarm,
        fabric: &mut Fabric,
        observer: &mut impl Observer,
    ) {
        let now = fabric.now();
        let flow = &mut self.flows[k as usize];
        if timer == TimerKind::DelayedAck {
            if flow.kernel.is_some() {
                self.send_delayed_ack(k, fabric, observer);
            } else if let Some(ack) = flow.flush() {
                self.send_ack(k, ack, fabric, observer);
            }
            return;
        }
        let due = flow.due();
        // The timer may have been moved to a later time without changing the alarm.
        if due > now {
            fabric.scheduler.set(alarm, due);
        } else {
            flow.wake(now);
            self.pump(k, fabric, observer);
        }
    }

    /// Handles a packet of flow `k` that has arrived over a link.
    pub(super) fn receive(
        &mut self,
        k: u32,
        body: Body,
        flags: EcnFlags,
        fabric: &mut Fabric,
        observer: &mut impl Observer,
    ) {
        if self.flows[k as usize].kernel.is_some() {
            self.take_in(k, body, flags, fabric, observer);
            return self.settle(k, fabric, observer);
        }
        let now = fabric.now();
        let flow = &mut self.flows[k as usize];
        match body {
            Body::Data(segment) => {
                let timer = flow.ack_timer;
                if let Some(ack) = flow.on_packet(now, segment) {
                    if flow.config.ack_every > 1 {
                        fabric.scheduler.set(timer, Time::NEVER);
                    }
                    self.send_ack(k, ack, fabric, observer);
                } else if fabric.scheduler.when(timer) == Time::NEVER {
                    let delay = flow.config.hosts.ack_delay();
                    fabric.scheduler.set(timer, now + delay);
                }
                self.tell_peer(k, fabric, observer);
            }
            Body::Ack(ack) => {
                flow.on_ack(now, &ack);
                self.pump(k, fabric, observer);
            }
            Body::Granted { next, room } => {
                flow.on_granted(now, next, room);
                self.pump(k, fabric, observer);
            }
            _ => {}
        }
    }

    /// Handles a packet of flow `k` that has come out of a session.
    ///
    /// Kernels answer later, in [`TcpFlows::settle_touched`], where they answer all packets of one moment together. A
    /// TCP above a coding layer does the same.
    pub(super) fn deliver(
        &mut self,
        k: u32,
        body: Body,
        flags: EcnFlags,
        fabric: &mut Fabric,
        observer: &mut impl Observer,
    ) {
        let flow = &mut self.flows[k as usize];
        let coded = matches!(flow.outlet, Outlet::Coding(_) | Outlet::Gateway(_));
        if flow.kernel.is_none() && !(coded && matches!(body, Body::Data(_))) {
            return self.receive(k, body, flags, fabric, observer);
        }
        if !std::mem::replace(&mut flow.touched, true) {
            self.touched.push(k);
        }
        match body {
            Body::Data(segment) if coded => {
                // The coding layer has acknowledged already, so the receiving TCP's acknowledgement is dropped.
                let _ = flow.on_packet(fabric.now(), segment);
            }
            body => self.take_in(k, body, flags, fabric, observer),
        }
    }

    /// Answers the packets that came out of sessions in this step.
    pub(super) fn settle_touched(&mut self, fabric: &mut Fabric, observer: &mut impl Observer) {
        let mut touched = std::mem::take(&mut self.touched);
        for k in touched.drain(..) {
            let flow = &mut self.flows[k as usize];
            flow.touched = false;
            match flow.kernel {
                Some(_) => self.settle(k, fabric, observer),
                None => self.tell_peer(k, fabric, observer),
            }
        }
        self.touched = touched;
    }

    /// Lets flow `answers` answer the requests of flow `requests`.
    ///
    /// # Panics
    /// If a flow does not have the pattern for its part.
    pub(super) fn pair(&mut self, requests: u32, answers: u32) {
        let pattern = |flow: u32| self.flows[flow as usize].config.pattern;
        assert!(
            matches!(pattern(requests), Pattern::Requests { .. } | Pattern::Scheduled { .. })
                && matches!(pattern(answers), Pattern::Answers { .. }),
            "one flow must send requests, and the other must have the pattern Answers"
        );
        self.flows[requests as usize].peer = Some(answers);
        self.flows[answers as usize].peer = Some(requests);
    }

    /// Makes two flows the two directions of one connection.
    ///
    /// # Panics
    /// As [`TcpFlows::pair`]. Also if the hosts of a flow are not kernels.
    pub(super) fn join(&mut self, requests: u32, answers: u32) {
        self.pair(requests, answers);
        for flow in [requests, answers] {
            let kernel = self.flows[flow as usize].kernel.as_mut();
            kernel.expect("both flows of a connection must be between kernels").joined = true;
        }
    }

    /// Handles a packet of flow `k` that has arrived at a kernel. The answer is sent later, by [`TcpFlows::settle`].
    fn take_in(&mut self, k: u32, body: Body, flags: EcnFlags, fabric: &mut Fabric, observer: &mut impl Observer) {
        let now = fabric.now();
        let peer = self.flows[k as usize].peer;
        let (segment, acknowledged) = match body {
            Body::Data(segment) => (Some(segment), None),
            Body::Ack(ack) => (None, Some((k, ack))),
            Body::Both(both) => (Some(both.0), peer.map(|peer| (peer, both.1))),
            _ => return,
        };
        if let Some((flow, ack)) = acknowledged {
            self.flows[flow as usize].on_ack(now, &ack);
        }
        let Some(segment) = segment else { return };
        let flow = &mut self.flows[k as usize];
        flow.on_ecn(flags.ecn == Ecn::Marked, flags.cwr);
        let opens = flow.take_packet(now, segment) && !matches!(flow.config.pattern, Pattern::Answers { .. });
        let joined = flow.kernel.as_ref().is_some_and(|kernel| kernel.joined);
        if let Some(peer) = peer.filter(|_| opens && joined) {
            self.flows[peer as usize].accept(now);
        }
        if let Some(peer) = self.note_received(k, now, observer)
            && self.flows[peer as usize].kernel.is_none()
        {
            self.pump(peer, fabric, observer);
        }
    }

    /// Sends what the hosts of flow `k` have to send after [`TcpFlows::take_in`]. Data goes first and carries
    /// acknowledgements. The remaining acknowledgements follow.
    fn settle(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        let both = [Some(k), self.flows[k as usize].peer];
        for flow in both.into_iter().flatten() {
            let kernel = self.flows[flow as usize].kernel.as_mut();
            if kernel.is_some_and(|kernel| std::mem::take(&mut kernel.has_input)) {
                self.pump(flow, fabric, observer);
            }
        }
        for k in both.into_iter().flatten() {
            while let Some(ack) = self.flows[k as usize].poll_ack() {
                self.send_ack(k, ack, fabric, observer);
            }
            let flow = &self.flows[k as usize];
            if let Some(kernel) = &flow.kernel
                && kernel.delayed < fabric.scheduler.when(flow.ack_timer)
            {
                fabric.scheduler.set(flow.ack_timer, kernel.delayed);
            }
        }
    }

    /// Handles the alarm of a delayed acknowledgement at a kernel. In many cases this acknowledgement was sent earlier.
    /// The alarm then moves to the time of the next delayed acknowledgement.
    fn send_delayed_ack(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        let flow = &mut self.flows[k as usize];
        match flow.kernel.as_ref().map(|kernel| kernel.delayed) {
            Some(delayed) if delayed <= fabric.now() => {
                flow.release_delayed_ack();
                self.settle(k, fabric, observer);
            }
            Some(delayed) => fabric.scheduler.set(flow.ack_timer, delayed),
            None => {}
        }
    }

    /// Tells the paired flow which requests or answers have arrived over flow `k`, and lets the paired flow send.
    fn tell_peer(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        if let Some(peer) = self.note_received(k, fabric.now(), observer) {
            self.pump(peer, fabric, observer);
        }
    }

    /// Tells the observer that flow `k` has received a packet, and tells the paired flow which transfers are complete.
    /// Returns the paired flow if a transfer is complete.
    fn note_received<O: Observer>(&mut self, k: u32, now: Time, observer: &mut O) -> Option<u32> {
        let flow = &mut self.flows[k as usize];
        if O::LOOKS {
            let (flow, bytes) = (flow.number as usize, flow.delivered_bytes());
            observer.note(now, Happening::Received { flow, bytes });
        }
        let arrived = flow.take_arrived();
        if arrived == 0 {
            return None;
        }
        let peer = flow.peer;
        if let Some(peer) = peer {
            self.flows[peer as usize].on_arrivals(now, arrived);
        }
        for k in [Some(k), peer].into_iter().flatten() {
            let flow = &mut self.flows[k as usize];
            while let Some(completion) = flow.pop_completion() {
                observer.note(now, Happening::Completed { flow: flow.number as usize, completion });
            }
        }
        peer
    }

    /// Sends all that flow `k` may send now, and sets its timer.
    fn pump(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        let now = fabric.now();
        while let Some((number, flags)) = self.flows[k as usize].transmit(now) {
            let (body, bytes) = self.load(k, number);
            self.send(k, false, flags, bytes, body, fabric, observer);
        }
        let flow = &self.flows[k as usize];
        let (sender, due) = (&flow.sender, flow.due());
        let srtt = sender.srtt().map(|srtt| srtt.as_secs_f64());
        let window = Happening::Window { flow: flow.number as usize, cwnd: sender.cwnd(), srtt };
        observer.note(now, window);
        // A timer that moves to a later time keeps its early alarm, and is checked when this alarm rings. Almost every
        // acknowledgement moves the timer, so keeping the alarm saves most updates.
        if due < fabric.scheduler.when(flow.timer) {
            fabric.scheduler.set(flow.timer, due);
        }
    }

    /// The content of packet `number` of flow `k`, and its size in bytes. On a connection of two flows the packet also
    /// carries an acknowledgement.
    fn load(&mut self, k: u32, number: u64) -> (Body, u32) {
        let flow = &self.flows[k as usize];
        let bytes = flow.packet_bytes(number);
        let peer = flow.peer.filter(|_| flow.kernel.as_ref().is_some_and(|kernel| kernel.joined));
        let ack = peer.and_then(|peer| self.flows[peer as usize].piggyback_ack());
        (ack.map_or(Body::Data(number), |ack| Body::Both(Box::new((number, ack)))), bytes)
    }

    /// Sends an acknowledgement for flow `k`.
    fn send_ack(&mut self, k: u32, ack: Ack, fabric: &mut Fabric, observer: &mut impl Observer) {
        let (ack, bytes) = self.flows[k as usize].acknowledgement(ack);
        self.send(k, true, EcnFlags::default(), bytes, Body::Ack(ack), fabric, observer);
    }

    /// Sends a packet of flow `k`: onto its route, or into the session that carries the flow.
    #[inline]
    #[expect(clippy::too_many_arguments, reason = "the parts of a packet, and the two parts of the world")]
    fn send(
        &mut self,
        k: u32,
        back: bool,
        flags: EcnFlags,
        bytes: u32,
        body: Body,
        fabric: &mut Fabric,
        observer: &mut impl Observer,
    ) {
        let flow = &self.flows[k as usize];
        match flow.outlet {
            Outlet::Route(route) => fabric.send(route, back, flags, bytes, body, observer),
            Outlet::Gateway(route) => {
                if !back {
                    fabric.send(route, back, flags, bytes, body, observer);
                }
            }
            Outlet::Client(_, route) if back => fabric.send(route, back, flags, bytes, body, observer),
            Outlet::Coding(session) | Outlet::Client(session, _) => {
                if let Body::Data(number) = body {
                    let bytes = flow.payload(number);
                    let entering =
                        Entering { flow: flow.number, back, to: session, bytes, immediate: false, flags, body };
                    fabric.handoffs.push_back(Handoff::Enter(session, entering));
                }
            }
            Outlet::Session(ends) => {
                let (from, to) = (ends[usize::from(back)], ends[usize::from(!back)]);
                let immediate = matches!(body, Body::Ack(_));
                let entering = Entering { flow: flow.number, back, to, bytes, immediate, flags, body };
                fabric.handoffs.push_back(Handoff::Enter(from, entering));
            }
        }
    }
}
