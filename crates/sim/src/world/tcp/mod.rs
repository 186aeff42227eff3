//! TCP flows as nodes: what their hosts do when a packet comes or a timer is due.

mod flow;
mod kernel;
mod segments;

pub use flow::TcpConfig;
pub(super) use flow::TcpFlow;
pub use kernel::{Hosts, STAMPED_HEADERS};

use super::fabric::{Fabric, TimerKind};
use super::node::{Entering, Handoff, Outlet};
use super::observer::{Happening, Observer};
use super::packet::{Body, Ecn};
use crate::engine::Alarm;
use crate::tcp::{Ack, Pattern};
use ripstop_base::Time;

/// All TCP flows of a world.
#[derive(Debug, Default)]
pub(super) struct TcpFlows {
    pub(super) flows: Vec<TcpFlow>,
    /// Flows for which something came out of a session at this moment, and the answer to that is due.
    touched: Vec<u32>,
}

impl TcpFlows {
    /// A timer of flow `k` is due.
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
        // The timer was put off since.
        if due > now {
            fabric.scheduler.set(alarm, due);
        } else {
            flow.wake(now);
            self.pump(k, fabric, observer);
        }
    }

    /// A packet of flow `k` has come over a link to the host where it belongs.
    pub(super) fn receive(&mut self, k: u32, body: Body, fabric: &mut Fabric, observer: &mut impl Observer) {
        if self.flows[k as usize].kernel.is_some() {
            self.take_in(k, body, fabric, observer);
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
            _ => {}
        }
    }

    /// A packet of flow `k` has come out of a session. Hosts that are kernels, and a coding layer's receiver, answer all that
    /// came at one moment together, with [`TcpFlows::settle_touched`].
    pub(super) fn deliver(&mut self, k: u32, body: Body, fabric: &mut Fabric, observer: &mut impl Observer) {
        let flow = &mut self.flows[k as usize];
        let coded = matches!(flow.outlet, Outlet::Coding(_));
        if flow.kernel.is_none() && !(coded && matches!(body, Body::Data(_))) {
            return self.receive(k, body, fabric, observer);
        }
        if !std::mem::replace(&mut flow.touched, true) {
            self.touched.push(k);
        }
        match body {
            Body::Data(segment) if coded => {
                // The layer has acknowledged already: the receiving TCP's acknowledgement is absorbed.
                let _ = flow.on_packet(fabric.now(), segment);
            }
            body => self.take_in(k, body, fabric, observer),
        }
    }

    /// What came out of sessions at this moment is answered.
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
    /// On flows of other patterns.
    pub(super) fn pair(&mut self, requests: u32, answers: u32) {
        let pattern = |flow: u32| self.flows[flow as usize].config.pattern;
        assert!(
            matches!(pattern(requests), Pattern::Requests { .. } | Pattern::Scheduled { .. })
                && matches!(pattern(answers), Pattern::Answers { .. }),
            "requests are answered by answers"
        );
        self.flows[requests as usize].peer = Some(answers);
        self.flows[answers as usize].peer = Some(requests);
    }

    /// Makes two flows the two directions of one connection.
    ///
    /// # Panics
    /// As [`TcpFlows::pair`]; on flows whose hosts are not kernels.
    pub(super) fn join(&mut self, requests: u32, answers: u32) {
        self.pair(requests, answers);
        for flow in [requests, answers] {
            let kernel = self.flows[flow as usize].kernel.as_mut();
            kernel.expect("a connection of two ways is one between kernels").joined = true;
        }
    }

    /// A packet of flow `k` has come to a kernel. What is to be sent for it leaves with [`TcpFlows::settle`].
    fn take_in(&mut self, k: u32, body: Body, fabric: &mut Fabric, observer: &mut impl Observer) {
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
        let opens = flow.hear(now, segment) && !matches!(flow.config.pattern, Pattern::Answers { .. });
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

    /// Sends what the hosts of flow `k` have to send after [`TcpFlows::take_in`]: data, which takes acknowledgements with it,
    /// then what is left of these.
    fn settle(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        let both = [Some(k), self.flows[k as usize].peer];
        for flow in both.into_iter().flatten() {
            let kernel = self.flows[flow as usize].kernel.as_mut();
            if kernel.is_some_and(|kernel| std::mem::take(&mut kernel.told)) {
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

    /// The alarm of an acknowledgement that was put off has rung. Most have left before, and the next one is due later.
    fn send_delayed_ack(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        let flow = &mut self.flows[k as usize];
        match flow.kernel.as_ref().map(|kernel| kernel.delayed) {
            Some(delayed) if delayed <= fabric.now() => {
                flow.stop_waiting();
                self.settle(k, fabric, observer);
            }
            Some(delayed) => fabric.scheduler.set(flow.ack_timer, delayed),
            None => {}
        }
    }

    /// Tells the flow in the other direction which requests, or answers, have arrived over flow `k`.
    fn tell_peer(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        if let Some(peer) = self.note_received(k, fabric.now(), observer) {
            self.pump(peer, fabric, observer);
        }
    }

    /// A packet of flow `k` was received: the observer is told, and of transfers that have arrived whole the peer. Some(peer):
    /// there were any.
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

    /// Sends what flow `k` has to send.
    fn pump(&mut self, k: u32, fabric: &mut Fabric, observer: &mut impl Observer) {
        let now = fabric.now();
        while let Some(number) = self.flows[k as usize].transmit(now) {
            let (body, bytes) = self.load(k, number);
            self.send(k, false, bytes, body, fabric, observer);
        }
        let flow = &self.flows[k as usize];
        let (sender, due) = (&flow.sender, flow.due());
        let srtt = sender.srtt().map(|srtt| srtt.as_secs_f64());
        let window = Happening::Window { flow: flow.number as usize, cwnd: sender.cwnd(), srtt };
        observer.note(now, window);
        // A timer that is put off is looked at when it rings: most are put off with every acknowledgement.
        if due < fabric.scheduler.when(flow.timer) {
            fabric.scheduler.set(flow.timer, due);
        }
    }

    /// Packet `number` of flow `k` as it leaves, and its size: with an acknowledgement where the connection has two ways.
    fn load(&mut self, k: u32, number: u64) -> (Body, u32) {
        let flow = &self.flows[k as usize];
        let bytes = flow.packet_bytes(number);
        let peer = flow.peer.filter(|_| flow.kernel.as_ref().is_some_and(|kernel| kernel.joined));
        let ack = peer.and_then(|peer| self.flows[peer as usize].ride_along());
        (ack.map_or(Body::Data(number), |ack| Body::Both(Box::new((number, ack)))), bytes)
    }

    /// Sends an acknowledgement of flow `k` on its way.
    fn send_ack(&mut self, k: u32, ack: Ack, fabric: &mut Fabric, observer: &mut impl Observer) {
        let (ack, bytes) = self.flows[k as usize].acknowledgement(ack);
        self.send(k, true, bytes, Body::Ack(ack), fabric, observer);
    }

    /// Sends a packet of flow `k` on its way.
    #[inline]
    fn send(
        &mut self,
        k: u32,
        back: bool,
        bytes: u32,
        body: Body,
        fabric: &mut Fabric,
        observer: &mut impl Observer,
    ) {
        let flow = &self.flows[k as usize];
        match flow.outlet {
            Outlet::Route(route) => fabric.send(route, back, Ecn::NotCapable, bytes, body, observer),
            Outlet::Coding(session) => {
                if let Body::Data(number) = body {
                    let bytes = flow.payload(number);
                    let entering =
                        Entering { flow: flow.number, back, to: session, bytes, immediate: false, body };
                    fabric.handoffs.push_back(Handoff::Enter(session, entering));
                }
            }
            Outlet::Session(ends) => {
                let (from, to) = (ends[usize::from(back)], ends[usize::from(!back)]);
                let immediate = matches!(body, Body::Ack(_));
                let entering = Entering { flow: flow.number, back, to, bytes, immediate, body };
                fabric.handoffs.push_back(Handoff::Enter(from, entering));
            }
        }
    }
}
