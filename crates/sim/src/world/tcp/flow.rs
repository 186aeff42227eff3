//! One TCP flow: its sender, its receiver, and what is measured of it.

use super::kernel::{Hosts, Kernel};
use crate::engine::Alarm;
use crate::tcp::{
    Ack, Completion, Demand, Mechanisms, Packing, Pattern, Reassembly, Receiver, Sender, SenderConfig,
    SourceConfig, SourceError, TrafficSource, Variant,
};
use crate::world::node::Outlet;
use crate::world::totals::{FlowDelays, FlowTotals};
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;

/// The settings of a TCP flow.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// Congestion control.
    pub variant: Variant,
    /// The sender.
    pub sender: SenderConfig,
    /// What the receiver does with packets that are out of order.
    pub reassembly: Reassembly,
    /// What the hosts do besides congestion control: headers, how long an acknowledgement may wait, what a packet carries. With
    /// a coding layer, which answers for the receiver, hosts are always [`Hosts::Agents`].
    pub hosts: Hosts,
    /// The receiver acknowledges one packet in this many, or after [`Hosts`]'s delay.
    pub ack_every: u32,
    /// Payload of a full packet, bytes. [`Hosts::packet_bytes`] adds the headers.
    pub payload: u32,
    /// What there is to send.
    pub pattern: Pattern,
    /// When the flow begins to send.
    pub start: Time,
    /// When the flow stops sending anything new.
    pub stop: Time,
}

impl Default for TcpConfig {
    /// A NewReno that sends 1000 bytes a packet, from the beginning and without end; every packet is acknowledged.
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
    /// The source of the flow's data.
    pub fn source(&self) -> SourceConfig {
        let packing = match self.hosts {
            Hosts::Agents => Packing::Whole,
            Hosts::Kernels => Packing::Exact,
        };
        let TcpConfig { pattern, payload, start, stop, .. } = *self;
        SourceConfig { pattern, payload, packing, start, stop }
    }
}

/// A TCP flow. Its sender and its receiver stand at different nodes of the network, and exchange nothing but packets; what is
/// measured needs both.
#[derive(Debug)]
pub(in crate::world) struct TcpFlow {
    /// Its number among all flows of the world.
    pub(super) number: u32,
    /// Where its packets go.
    pub(super) outlet: Outlet,
    pub(super) config: TcpConfig,
    pub(super) sender: Sender,
    source: TrafficSource,
    receiver: Receiver,
    /// Rings when the sender's timer runs out, or when the flow starts or stops.
    pub(in crate::world) timer: Alarm,
    /// Rings when an acknowledgement that was put off leaves.
    pub(super) ack_timer: Alarm,
    /// The flow that answers this one's requests, or whose requests this one answers: its place among the TCP flows.
    pub(super) peer: Option<u32>,
    /// The state of its hosts, where these are kernels.
    pub(super) kernel: Option<Kernel>,
    /// Whether something came out of a session for it at this moment, and the answer to that is due.
    pub(super) touched: bool,
    /// Complete transfers that no observer was told of.
    completions: VecDeque<Completion>,
    /// Transfers that have arrived, of which the peer has not been told.
    arrived: u32,
    started: bool,
    /// When the flow stopped, or its file was complete.
    ended: Time,
    /// When packets that are not delivered yet were first sent, from number `delivered` on.
    first_sent: VecDeque<Time>,
    delivered: u64,
    /// When the window last changed.
    window_since: Time,
    totals: FlowTotals,
    delays: FlowDelays,
    /// Delays of packets first sent before this moment are not kept.
    delays_from: Time,
}

impl TcpFlow {
    /// A flow of this number, whose packets go to `outlet`. `random` is for its sender, `draws` for its source.
    ///
    /// # Errors
    /// A setting of its source that cannot be.
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
            first_sent: VecDeque::with_capacity(64),
            delivered: 0,
            window_since: Time::ZERO,
            totals: FlowTotals::default(),
            delays: FlowDelays::default(),
            delays_from: Time::ZERO,
            config,
        })
    }

    /// Where its packets go.
    pub(in crate::world) fn outlet(&self) -> Outlet {
        self.outlet
    }

    /// What it did until `now`.
    pub(in crate::world) fn totals(&self, now: Time) -> FlowTotals {
        let mut totals = self.totals;
        totals.window += self.window_area(now);
        let counts = self.sender.counts();
        totals.sent = counts.sent;
        totals.retransmits = counts.retransmits;
        totals.timeouts = counts.timeouts;
        totals.fast_retransmits = counts.fast_retransmits;
        totals.merged_acks = self.kernel.as_ref().map_or(0, |kernel| kernel.merged);
        totals.active = now.min(self.ended).since(self.config.start).as_secs_f64();
        totals
    }

    /// What it went through since this was last asked.
    pub(in crate::world) fn take_delays(&mut self) -> FlowDelays {
        std::mem::take(&mut self.delays)
    }

    /// Keeps the delays of packets first sent from `now` on only.
    pub(in crate::world) fn forget_delays(&mut self, now: Time) {
        self.delays = FlowDelays::default();
        self.delays_from = now;
    }

    /// How often its sender's mechanisms did their work; None where the variant has none of them.
    pub(in crate::world) fn mechanisms(&self) -> Option<Mechanisms> {
        let has_them = self.config.variant.is_modern();
        has_them.then(|| self.sender.mechanisms())
    }

    /// The moment of the sender's alarm: its timer, or when its source has something for it.
    pub(in crate::world) fn due(&self) -> Time {
        if self.started { self.sender.timeout().min(self.source.next_due()) } else { self.config.start }
    }

    /// The sender's alarm has rung.
    pub(in crate::world) fn wake(&mut self, now: Time) {
        self.note_window(now);
        if !self.started && now >= self.config.start {
            self.started = true;
            // It is connected before the first request is due. The way back of a connection opens when the other way does.
            let joined = self.kernel.as_ref().is_some_and(|kernel| kernel.joined);
            match self.config.pattern {
                Pattern::Scheduled { .. } => self.sender.offer(now, 0),
                Pattern::Answers { .. } if !joined => self.sender.offer(now, 0),
                _ => {}
            }
        }
        self.feed(now);
        if self.started {
            self.sender.on_timeout(now);
        }
    }

    /// Gives the sender what its source has for it.
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
                    self.sender.offer(now, packets);
                }
                Demand::Stop => {
                    self.ended = self.ended.min(now);
                    self.sender.stop();
                }
            }
        }
    }

    /// Transfers that have arrived since this was last asked, for the peer.
    #[inline]
    pub(in crate::world) fn take_arrived(&mut self) -> u32 {
        std::mem::take(&mut self.arrived)
    }

    /// The other end has opened the connection that this is the way back of; the answer to that carries no data either.
    pub(in crate::world) fn accept(&mut self, now: Time) {
        self.note_window(now);
        self.started = true;
        self.sender.offer(now, 0);
        if let Some(kernel) = &mut self.kernel {
            kernel.told = true;
        }
    }

    /// Lets it send requests at these moments ([`Pattern::Scheduled`]).
    pub(in crate::world) fn schedule(&mut self, moments: &[Time]) {
        self.source.schedule(moments);
    }

    /// The next transfer that is complete and nobody was told of.
    pub(in crate::world) fn pop_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// So many transfers of the peer have arrived here.
    pub(in crate::world) fn on_arrivals(&mut self, now: Time, transfers: u32) {
        self.note_window(now);
        if let Some(kernel) = &mut self.kernel {
            kernel.told = true;
        }
        (0..transfers).for_each(|_| self.source.on_arrival(now));
        self.note_completions();
        self.feed(now);
    }

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

    /// An acknowledgement has come back.
    pub(in crate::world) fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.note_window(now);
        self.sender.on_ack(now, ack);
        if let Some(kernel) = &mut self.kernel {
            kernel.segments.forget(self.sender.acknowledged());
            kernel.told = true;
        }
        if let Some(srtt) = self.sender.srtt() {
            self.totals.srtt.0 += srtt.as_secs_f64();
            self.totals.srtt.1 += 1;
        }
    }

    /// The number of the next packet that leaves.
    pub(in crate::world) fn transmit(&mut self, now: Time) -> Option<u64> {
        let number = self.sender.poll_transmit()?;
        if let Some(kernel) = &mut self.kernel {
            kernel.segments.leave(number);
        }
        if number >= self.delivered + self.first_sent.len() as u64 {
            self.first_sent.push_back(now);
        }
        Some(number)
    }

    /// What packet `number` takes on the way.
    pub(in crate::world) fn packet_bytes(&self, number: u64) -> u32 {
        let payload = match &self.kernel {
            Some(kernel) => kernel.segments.payload(number),
            None => self.config.payload,
        };
        self.config.hosts.packet_bytes(self.config.variant, number, payload)
    }

    /// Payload of packet `number`, which is not acknowledged yet: the first one stands for the SYN.
    pub(in crate::world) fn payload(&self, number: u64) -> u32 {
        match &self.kernel {
            Some(kernel) => kernel.segments.payload(number),
            None if number == 0 => 0,
            None => self.config.payload,
        }
    }

    /// An acknowledgement as the sender is told it, and what it takes on the way: blocks are for those who heed them.
    pub(in crate::world) fn acknowledgement(&self, ack: Ack) -> (Ack, u32) {
        self.config.hosts.acknowledgement(self.config.variant, ack)
    }

    /// Packet `number` has arrived; the acknowledgement that leaves for it, if one does at once.
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

    /// How many packets have arrived in order, the first one, without data, included.
    pub(in crate::world) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The acknowledgement that was put off.
    pub(in crate::world) fn flush(&mut self) -> Option<Ack> {
        self.receiver.flush()
    }

    fn note_window(&mut self, now: Time) {
        self.totals.window += self.window_area(now);
        self.window_since = now;
    }

    fn window_area(&self, now: Time) -> f64 {
        let window = self.sender.cwnd().min(f64::from(self.config.sender.window));
        let until = now.min(self.ended);
        if self.started { window * until.since(self.window_since).as_secs_f64() } else { 0.0 }
    }
}
