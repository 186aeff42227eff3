//! One TCP flow: its sender, its receiver, its traffic source, and its measurements.

use super::grant::Grant;
use super::kernel::{Hosts, Kernel};
use crate::engine::Alarm;
use crate::tcp::{
    Ack, Completion, Demand, Mechanisms, Packing, Pattern, Reassembly, Receiver, Sender, SenderConfig, SourceConfig,
    SourceError, TrafficSource, Variant,
};
use crate::world::node::Outlet;
use crate::world::packet::{Ecn, EcnFlags};
use crate::world::totals::{FlowDelays, FlowTotals};
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;

/// The settings of a TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Congestion control.
    pub variant: Variant,
    /// The sender's settings.
    pub sender: SenderConfig,
    /// What the receiver does with packets that arrive out of order.
    pub reassembly: Reassembly,
    /// How the hosts behave besides congestion control: header sizes, delayed acknowledgements, and packet filling.
    /// With a coding layer the value is always [`Hosts::Agents`], because the layer acknowledges for the receiver.
    pub hosts: Hosts,
    /// The receiver acknowledges every `ack_every`-th packet. An acknowledgement waits no longer than the delay of
    /// [`Hosts`].
    pub ack_every: u32,
    /// Payload of a full packet, bytes. [`Hosts::packet_bytes`] adds the headers.
    pub payload: u32,
    /// The pattern of the data to send.
    pub pattern: Pattern,
    /// When the flow begins to send.
    pub start: Time,
    /// When the flow stops to send new data.
    pub stop: Time,
}

impl Default for TcpConfig {
    /// NewReno with 1000 bytes per packet, from time zero and without end. Every packet is acknowledged.
    fn default() -> TcpConfig {
        TcpConfig {
            variant: Variant::default(),
            sender: SenderConfig::default(),
            reassembly: Reassembly::Buffer,
            hosts: Hosts::Agents,
            ack_every: 1,
            payload: 1000,
            pattern: Pattern::Endless,
            start: Time::ZERO,
            stop: Time::NEVER,
        }
    }
}

impl TcpConfig {
    /// The settings of the flow's traffic source.
    pub fn source(&self) -> SourceConfig {
        let packing = match self.hosts {
            Hosts::Agents => Packing::Whole,
            Hosts::Kernels => Packing::Exact,
        };
        let TcpConfig { pattern, payload, start, stop, .. } = *self;
        SourceConfig { pattern, payload, packing, start, stop }
    }
}

/// A TCP flow with both of its hosts.
///
/// Sender and receiver are at different places in the network and exchange nothing but packets. They share this struct
/// because most measurements need both.
#[derive(Debug)]
pub(in crate::world) struct TcpFlow {
    /// The flow's number among all flows of the world.
    pub(super) number: u32,
    /// Where the flow's packets go.
    pub(super) outlet: Outlet,
    pub(super) config: TcpConfig,
    pub(super) sender: Sender,
    /// What the application writes.
    source: TrafficSource,
    receiver: Receiver,
    /// Rings when the sender's timer expires, or when the traffic source has data or stops.
    pub(in crate::world) timer: Alarm,
    /// Rings when a delayed acknowledgement is due.
    pub(super) ack_timer: Alarm,
    /// The paired flow, by its place among the TCP flows. One of the two flows sends requests, and the other flow
    /// answers them.
    pub(super) peer: Option<u32>,
    /// The state of the flow's hosts if they are kernels ([`Hosts::Kernels`]).
    pub(super) kernel: Option<Kernel>,
    /// Whether a packet came out of a session for this flow and is not answered yet.
    pub(super) touched: bool,
    /// Complete transfers that the observer was not told of yet.
    completions: VecDeque<Completion>,
    /// Transfers that have arrived and that the paired flow was not told of yet.
    arrived: u32,
    /// Whether the flow has started.
    started: bool,
    /// When the flow stopped, or when its file was complete.
    ended: Time,
    /// The window of a gateway. None if no gateway limits the sender.
    grant: Option<Grant>,
    /// When each packet from number `delivered` on was first sent.
    first_sent: VecDeque<Time>,
    /// How many packets have arrived in order, the SYN included.
    delivered: u64,
    /// The time up to which `totals.window` is counted.
    window_since: Time,
    /// The flow's counters. [`TcpFlow::totals`] adds the sender's counters.
    totals: FlowTotals,
    /// Delays since they were last taken.
    delays: FlowDelays,
    /// Delays of packets first sent before this time are not recorded.
    delays_from: Time,
}

impl TcpFlow {
    /// The flow with this number, whose packets go to `outlet`. `random` is the random stream of its sender, and
    /// `draws` is the random stream of its traffic source.
    ///
    /// # Errors
    /// If a setting of its source is invalid.
    pub(in crate::world) fn new(
        number: u32,
        outlet: Outlet,
        config: TcpConfig,
        [timer, ack_timer]: [Alarm; 2],
        random: &mut Stream,
        draws: Stream,
    ) -> Result<TcpFlow, SourceError> {
        Ok(TcpFlow {
            number,
            outlet,
            touched: false,
            sender: Sender::new(config.variant, config.sender, random),
            source: TrafficSource::new(config.source(), draws)?,
            receiver: Receiver::new(config.reassembly, config.ack_every),
            timer,
            ack_timer,
            peer: None,
            kernel: (config.hosts == Hosts::Kernels).then(|| Kernel::new(config.payload)),
            completions: VecDeque::with_capacity(8),
            arrived: 0,
            started: false,
            ended: Time::NEVER,
            grant: None,
            first_sent: VecDeque::with_capacity(64),
            delivered: 0,
            window_since: Time::ZERO,
            totals: FlowTotals::default(),
            delays: FlowDelays::default(),
            delays_from: Time::ZERO,
            config,
        })
    }

    /// Lets only the SYN leave before a gateway advertises its window.
    pub(in crate::world) fn await_grant(&mut self) {
        self.grant = Some(Grant::new());
    }

    /// Where the flow's packets go.
    pub(in crate::world) fn outlet(&self) -> Outlet {
        self.outlet
    }

    /// The flow's counters at `now`.
    pub(in crate::world) fn totals(&self, now: Time) -> FlowTotals {
        let mut totals = self.totals;
        totals.window += self.window_area(now);
        let counts = self.sender.counts();
        totals.sent = counts.sent;
        totals.retransmits = counts.retransmits;
        totals.timeouts = counts.timeouts;
        totals.fast_retransmits = counts.fast_retransmits;
        totals.marked = self.receiver.marked();
        totals.merged_acks = self.kernel.as_ref().map_or(0, |kernel| kernel.merged);
        totals.active = now.min(self.ended).since(self.config.start).as_secs_f64();
        totals
    }

    /// The delays recorded since the last call.
    pub(in crate::world) fn take_delays(&mut self) -> FlowDelays {
        std::mem::take(&mut self.delays)
    }

    /// Drops all delays so far. Only packets first sent from `now` on count later.
    pub(in crate::world) fn forget_delays(&mut self, now: Time) {
        self.delays = FlowDelays::default();
        self.delays_from = now;
    }

    /// How many times each mechanism of the flow's sender has acted. None if the variant has no such mechanisms.
    pub(in crate::world) fn mechanisms(&self) -> Option<Mechanisms> {
        let has_them = self.config.variant.is_modern();
        has_them.then(|| self.sender.mechanisms())
    }

    /// When the flow's main timer should ring: when the sender's timer expires, or when the traffic source has
    /// something to do.
    pub(in crate::world) fn due(&self) -> Time {
        let probe_at = self.grant.map_or(Time::NEVER, |grant| grant.probe_at());
        if self.started { self.sender.timeout().min(self.source.next_due()).min(probe_at) } else { self.config.start }
    }

    /// Handles the main timer: starts the flow, takes the data that the source has, and handles a time-out of the
    /// sender.
    pub(in crate::world) fn wake(&mut self, now: Time) {
        self.note_window(now);
        if !self.started && now >= self.config.start {
            self.started = true;
            // The SYN is sent here, so that the connection is open before the first request is due. The way back of a
            // joined connection opens in [`TcpFlow::accept`] instead.
            let joined = self.kernel.as_ref().is_some_and(|kernel| kernel.joined);
            match self.config.pattern {
                Pattern::Scheduled { .. } => self.sender.offer(now, 0),
                Pattern::Answers { .. } if !joined => self.sender.offer(now, 0),
                _ => {}
            }
        }
        self.feed(now);
        self.probe_window(now);
        if self.started {
            self.sender.on_timeout(now);
        }
    }

    /// Gives the sender all data that its source has.
    fn feed(&mut self, now: Time) {
        while let Some(demand) = self.source.poll(now) {
            match demand {
                Demand::Offer(bytes) => {
                    let transfer = !matches!(self.config.pattern, Pattern::Endless | Pattern::OnOff { .. });
                    self.totals.begun += u64::from(transfer);
                    let packets = match &mut self.kernel {
                        Some(kernel) => kernel.segments.write(bytes),
                        None => self.config.source().packets(bytes),
                    };
                    match &mut self.grant {
                        Some(grant) => {
                            grant.wait(packets);
                            self.give(now);
                        }
                        None => self.sender.offer(now, packets),
                    }
                }
                Demand::Stop => {
                    if let Some(grant) = &mut self.grant {
                        grant.stop();
                    }
                    self.ended = self.ended.min(now);
                    self.sender.stop();
                }
            }
        }
    }

    /// Gives the sender the data that the gateway's window allows.
    fn give(&mut self, now: Time) {
        if let Some(grant) = &mut self.grant {
            let packets = grant.release(now, self.sender.acknowledged());
            self.sender.offer(now, packets);
        }
    }

    /// Sends one packet beyond a window that has been closed for some time.
    fn probe_window(&mut self, now: Time) {
        if self.grant.as_mut().is_some_and(|grant| grant.probe(now)) {
            self.give(now);
        }
    }

    /// How many packets were sent beyond a closed window.
    pub(in crate::world) fn window_probes(&self) -> u64 {
        self.grant.map_or(0, |grant| grant.probes_sent())
    }

    /// Handles an acknowledgement of a gateway, with the window that the gateway advertises.
    pub(in crate::world) fn on_granted(&mut self, now: Time, next: u64, room: u32) {
        let edge = next.saturating_add(u64::from(room));
        let is_repeated = next <= self.sender.acknowledged();
        let is_update = self.grant.is_some_and(|grant| grant.is_moved_by(edge));
        // A repeated acknowledgement with a larger window says nothing about losses (RFC 5681, section 2).
        if !(is_repeated && is_update) {
            self.on_ack(now, &Ack::new(next, []));
        }
        if let Some(grant) = &mut self.grant {
            grant.advertise(edge);
        }
        self.give(now);
    }

    /// How many transfers have arrived since the last call. The caller tells the paired flow.
    #[inline]
    pub(in crate::world) fn take_arrived(&mut self) -> u32 {
        std::mem::take(&mut self.arrived)
    }

    /// Opens this flow, the way back of a connection, because the SYN of the way there has arrived. The answer, a
    /// SYN-ACK, carries no data either.
    pub(in crate::world) fn accept(&mut self, now: Time) {
        self.note_window(now);
        self.started = true;
        self.sender.offer(now, 0);
        if let Some(kernel) = &mut self.kernel {
            kernel.has_input = true;
        }
    }

    /// Adds requests at these times ([`Pattern::Scheduled`]).
    pub(in crate::world) fn schedule(&mut self, moments: &[Time]) {
        self.source.schedule(moments);
    }

    /// The next complete transfer that the observer was not told of yet.
    pub(in crate::world) fn pop_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Handles the arrival of `transfers` transfers from the paired flow.
    pub(in crate::world) fn on_arrivals(&mut self, now: Time, transfers: u32) {
        self.note_window(now);
        if let Some(kernel) = &mut self.kernel {
            kernel.has_input = true;
        }
        (0..transfers).for_each(|_| self.source.on_arrival(now));
        self.note_completions();
        self.feed(now);
    }

    /// Counts the transfers that are complete now. A complete file ends the flow.
    fn note_completions(&mut self) {
        while let Some(completion) = self.source.poll_completion() {
            self.totals.completed += 1;
            self.delays.transfers.record(completion.ended.since(completion.began));
            self.completions.push_back(completion);
            if matches!(self.config.pattern, Pattern::File(_)) {
                self.note_window(completion.ended);
                self.ended = self.ended.min(completion.ended);
            }
        }
    }

    /// Handles an acknowledgement.
    pub(in crate::world) fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.note_window(now);
        self.sender.on_ack(now, ack);
        if let Some(kernel) = &mut self.kernel {
            kernel.segments.forget(self.sender.acknowledged());
            kernel.has_input = true;
        }
        if let Some(srtt) = self.sender.srtt() {
            self.totals.srtt.0 += srtt.as_secs_f64();
            self.totals.srtt.1 += 1;
        }
    }

    /// The number of the next packet to send, and what its headers say about congestion. None if nothing may be sent
    /// now.
    pub(in crate::world) fn transmit(&mut self, now: Time) -> Option<(u64, EcnFlags)> {
        let number = self.sender.poll_transmit()?;
        if let Some(kernel) = &mut self.kernel {
            kernel.segments.leave(number);
        }
        if number >= self.delivered + self.first_sent.len() as u64 {
            self.first_sent.push_back(now);
        }
        let (capable, cwr) = self.sender.ecn_flags(number);
        Some((number, EcnFlags { ecn: if capable { Ecn::Capable } else { Ecn::NotCapable }, cwr }))
    }

    /// Size of packet `number` on the network, bytes.
    pub(in crate::world) fn packet_bytes(&self, number: u64) -> u32 {
        let payload = match &self.kernel {
            Some(kernel) => kernel.segments.payload(number),
            None => self.config.payload,
        };
        self.config.hosts.packet_bytes(self.config.variant, number, payload)
    }

    /// Payload of packet `number`, bytes. The packet must not be acknowledged yet. Packet 0 stands for the SYN and has
    /// no payload.
    pub(in crate::world) fn payload(&self, number: u64) -> u32 {
        match &self.kernel {
            Some(kernel) => kernel.segments.payload(number),
            None if number == 0 => 0,
            None => self.config.payload,
        }
    }

    /// An acknowledgement as the sender receives it, and its size in bytes. SACK blocks are left out for a sender that
    /// ignores them.
    pub(in crate::world) fn acknowledgement(&self, ack: Ack) -> (Ack, u32) {
        self.config.hosts.acknowledgement(self.config.variant, ack)
    }

    /// Tells the receiver what the headers of the next packet say about congestion.
    pub(in crate::world) fn on_ecn(&mut self, marked: bool, reduced: bool) {
        self.receiver.on_ecn(marked, reduced);
    }

    /// Handles the arrival of packet `number`. Returns the acknowledgement if one is sent immediately.
    pub(in crate::world) fn on_packet(&mut self, now: Time, number: u64) -> Option<Ack> {
        let ack = self.receiver.on_packet(number);
        while self.delivered < self.receiver.in_order() {
            if self.delivered > 0 {
                self.totals.packets += 1;
                self.totals.bytes += u64::from(self.payload(self.delivered));
                if let Some(sent) = self.first_sent.front() {
                    let delay = now.since(*sent);
                    if *sent >= self.delays_from {
                        self.delays.packets.record(delay);
                    }
                    self.totals.delay.0 += delay.as_secs_f64();
                    self.totals.delay.1 += 1;
                }
            }
            self.first_sent.pop_front();
            self.delivered += 1;
        }
        self.arrived += self.source.on_delivered(now, self.totals.bytes);
        if self.arrived > 0 {
            self.note_completions();
        }
        ack
    }

    /// Bytes of payload that have arrived in order.
    pub(in crate::world) fn delivered_bytes(&self) -> u64 {
        self.totals.bytes
    }

    /// How many packets have arrived in order, the SYN included.
    pub(in crate::world) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The delayed acknowledgement, if there is one.
    pub(in crate::world) fn flush(&mut self) -> Option<Ack> {
        self.receiver.flush()
    }

    /// Adds the window since the last call to `totals.window`, the integral of the window over time.
    fn note_window(&mut self, now: Time) {
        self.totals.window += self.window_area(now);
        self.window_since = now;
    }

    /// The integral of the window since `window_since`, packets times seconds. The window is the smaller of the
    /// congestion window and the receiver's window.
    fn window_area(&self, now: Time) -> f64 {
        let window = self.sender.cwnd().min(f64::from(self.config.sender.window));
        let until = now.min(self.ended);
        if self.started { window * until.since(self.window_since).as_secs_f64() } else { 0.0 }
    }
}
