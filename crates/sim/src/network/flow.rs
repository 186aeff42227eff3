//! One connection: its two ends, and what is measured of it.

use super::kernel::{Hosts, Kernel};
use crate::engine::Alarm;
use crate::tcp::{
    Ack, Completion, Demand, Mechanisms, Packing, Pattern, Reassembly, Receiver, Sender, SenderConfig,
    Source, SourceConfig, SourceError, Variant,
};
use ripstop_base::{Delays, Stream, Time};
use std::collections::VecDeque;

/// What a connection is.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// Its congestion control.
    pub variant: Variant,
    /// Its sender.
    pub sender: SenderConfig,
    /// What its receiver does with packets that are out of order.
    pub reassembly: Reassembly,
    /// What its hosts do besides: headers, how long an acknowledgement may wait, what a packet carries. A coding layer, which
    /// answers for the receiver, has [`Hosts::Agents`] in any case.
    pub hosts: Hosts,
    /// Its receiver acknowledges every so many packets, or after a while.
    pub ack_every: u32,
    /// Payload of a full packet, bytes; what comes on top is [`Hosts::packet_bytes`]'s to say.
    pub payload: u32,
    /// What there is to send.
    pub pattern: Pattern,
    /// When it begins to send.
    pub start: Time,
    /// When it stops sending anything new.
    pub stop: Time,
}

impl Default for FlowConfig {
    /// A NewReno that sends 1000 bytes a packet, from the beginning and without end; every packet is acknowledged.
    fn default() -> FlowConfig {
        FlowConfig {
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

impl FlowConfig {
    /// The source that it has.
    pub fn source(&self) -> SourceConfig {
        let packing = match self.hosts {
            Hosts::Agents => Packing::Whole,
            Hosts::Kernels => Packing::Exact,
        };
        let FlowConfig { pattern, payload, start, stop, .. } = *self;
        SourceConfig { pattern, payload, packing, start, stop }
    }
}

/// What a connection went through between two moments at which this was asked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowDelays {
    /// Of packets, from first transmission to delivery in order.
    pub packets: Delays,
    /// Of transfers: a file, an answer, a request with its answer.
    pub transfers: Delays,
}

/// What a connection has done since it was made; the difference of two says what it did in between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowTotals {
    /// Packets with payload that arrived in order.
    pub packets: u64,
    /// Bytes of payload that arrived in order.
    pub bytes: u64,
    /// The integral of the congestion window, as far as the receiver's allows it, over time: packets times seconds.
    pub window: f64,
    /// Samples of the smoothed round-trip time (one for each acknowledgement), their sum in seconds, and their number.
    pub srtt: (f64, u64),
    /// From first transmission to delivery in order: sum in seconds, and the number of packets.
    pub delay: (f64, u64),
    /// Packets sent, again or not.
    pub sent: u64,
    /// Of these, sent before.
    pub retransmits: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
    /// Losses told by duplicate acknowledgements.
    pub fast_retransmits: u64,
    /// For how long it was to send, s: from its start until it stops, or its file is complete.
    pub active: f64,
    /// Transfers begun: files, requests, answers.
    pub begun: u64,
    /// Of these, complete.
    pub completed: u64,
    /// Acknowledgements that were merged with the one after them ([`Hosts::Kernels`]).
    pub merged_acks: u64,
}

impl FlowTotals {
    /// What was done between `earlier` and this.
    pub fn less(&self, earlier: &FlowTotals) -> FlowTotals {
        let pair = |a: (f64, u64), b: (f64, u64)| (a.0 - b.0, a.1 - b.1);
        FlowTotals {
            packets: self.packets - earlier.packets,
            bytes: self.bytes - earlier.bytes,
            window: self.window - earlier.window,
            srtt: pair(self.srtt, earlier.srtt),
            delay: pair(self.delay, earlier.delay),
            sent: self.sent - earlier.sent,
            retransmits: self.retransmits - earlier.retransmits,
            timeouts: self.timeouts - earlier.timeouts,
            fast_retransmits: self.fast_retransmits - earlier.fast_retransmits,
            active: self.active - earlier.active,
            begun: self.begun - earlier.begun,
            completed: self.completed - earlier.completed,
            merged_acks: self.merged_acks - earlier.merged_acks,
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) config: FlowConfig,
    pub(super) sender: Sender,
    source: Source,
    receiver: Receiver,
    /// When the sender's timer runs out, or it starts or stops.
    pub(super) timer: Alarm,
    /// When an acknowledgement that was put off leaves.
    pub(super) ack_timer: Alarm,
    /// The flow that carries the answers to this one's requests, or the requests to its answers.
    pub(super) peer: Option<u32>,
    /// Where its hosts are kernels, what they keep.
    pub(super) kernel: Option<Kernel>,
    /// Transfers that are complete and nobody was told of.
    completions: VecDeque<Completion>,
    /// Transfers that have arrived and the peer has not been told of.
    arrived: u32,
    started: bool,
    /// When it stopped, or its file was complete.
    ended: Time,
    /// When packets that are not delivered yet were first sent, from number `delivered` on.
    first_sent: VecDeque<Time>,
    delivered: u64,
    /// Since when the window is what it is.
    window_since: Time,
    totals: FlowTotals,
    delays: FlowDelays,
    /// Delays of packets first sent before this moment are not kept.
    delays_from: Time,
}

impl Flow {
    /// A connection; `random` is for its sender, `draws` for its source.
    ///
    /// # Errors
    /// A setting of its source that cannot be.
    pub(super) fn new(
        config: FlowConfig,
        [timer, ack_timer]: [Alarm; 2],
        random: &mut Stream,
        draws: Stream,
    ) -> Result<Flow, SourceError> {
        Ok(Flow {
            sender: Sender::new(config.variant, config.sender, random),
            source: Source::new(config.source(), draws)?,
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

    /// What it did until `now`.
    pub(super) fn totals(&self, now: Time) -> FlowTotals {
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
    pub(super) fn take_delays(&mut self) -> FlowDelays {
        std::mem::take(&mut self.delays)
    }

    /// Keeps the delays of packets first sent from `now` on only.
    pub(super) fn forget_delays(&mut self, now: Time) {
        self.delays = FlowDelays::default();
        self.delays_from = now;
    }

    /// How often its sender's mechanisms did their work; None where the variant has none of them.
    pub(super) fn mechanisms(&self) -> Option<Mechanisms> {
        let has_them = matches!(self.config.variant, Variant::Cubic | Variant::LinuxCubic | Variant::Bbr);
        has_them.then(|| self.sender.mechanisms())
    }

    /// The moment of the sender's alarm: its timer, or when its source has something for it.
    pub(super) fn due(&self) -> Time {
        if self.started { self.sender.timeout().min(self.source.next_due()) } else { self.config.start }
    }

    /// The sender's alarm has rung.
    pub(super) fn wake(&mut self, now: Time) {
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
    pub(super) fn take_arrived(&mut self) -> u32 {
        std::mem::take(&mut self.arrived)
    }

    /// The other end has opened the connection that this is the way back of; the answer to that carries no data either.
    pub(super) fn accept(&mut self, now: Time) {
        self.note_window(now);
        self.started = true;
        self.sender.offer(now, 0);
        if let Some(kernel) = &mut self.kernel {
            kernel.told = true;
        }
    }

    /// Lets it send requests at these moments ([`Pattern::Scheduled`]).
    pub(super) fn schedule(&mut self, moments: &[Time]) {
        self.source.schedule(moments);
    }

    /// The next transfer that is complete and nobody was told of.
    pub(super) fn pop_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// So many transfers of the peer have arrived here.
    pub(super) fn on_arrivals(&mut self, now: Time, transfers: u32) {
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
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack) {
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
    pub(super) fn transmit(&mut self, now: Time) -> Option<u64> {
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
    pub(super) fn packet_bytes(&self, number: u64) -> u32 {
        let payload = match &self.kernel {
            Some(kernel) => kernel.segments.payload(number),
            None => self.config.payload,
        };
        self.config.hosts.packet_bytes(self.config.variant, number, payload)
    }

    /// Payload of packet `number`, which is not acknowledged yet: the first one stands for the SYN.
    pub(super) fn payload(&self, number: u64) -> u32 {
        match &self.kernel {
            Some(kernel) => kernel.segments.payload(number),
            None if number == 0 => 0,
            None => self.config.payload,
        }
    }

    /// An acknowledgement as the sender is told it, and what it takes on the way: blocks are for those who heed them.
    pub(super) fn acknowledgement(&self, ack: Ack) -> (Ack, u32) {
        self.config.hosts.acknowledgement(self.config.variant, ack)
    }

    /// Packet `number` has arrived; the acknowledgement that leaves for it, if one does at once.
    pub(super) fn on_packet(&mut self, now: Time, number: u64) -> Option<Ack> {
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
    pub(super) fn delivered_bytes(&self) -> u64 {
        self.totals.bytes
    }

    /// How many packets have arrived in order, the first one, without data, included.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// The acknowledgement that was put off.
    pub(super) fn flush(&mut self) -> Option<Ack> {
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
