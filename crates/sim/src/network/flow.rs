//! One connection: its two ends, and what is measured of it.

use super::packet::TCP_IP_HEADERS;
use crate::engine::Alarm;
use crate::tcp::{Ack, Reassembly, Receiver, Sender, SenderConfig, Variant};
use ripstop_base::{Stream, Time};
use std::collections::VecDeque;
use std::time::Duration;

/// What a connection is.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowConfig {
    /// Its congestion control.
    pub variant: Variant,
    /// Its sender.
    pub sender: SenderConfig,
    /// What its receiver does with packets that are out of order.
    pub reassembly: Reassembly,
    /// Its receiver acknowledges every so many packets, or when [`FlowConfig::ack_delay`] has passed.
    pub ack_every: u32,
    /// How long an acknowledgement may be put off.
    pub ack_delay: Duration,
    /// Payload of a packet, bytes; [`TCP_IP_HEADERS`] come on top.
    pub payload: u32,
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
            ack_every: 1,
            ack_delay: Duration::from_millis(100),
            payload: 1000,
            start: Time::ZERO,
            stop: Time::NEVER,
        }
    }
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
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) config: FlowConfig,
    pub(super) sender: Sender,
    receiver: Receiver,
    /// When the sender's timer runs out, or it starts or stops.
    pub(super) timer: Alarm,
    /// When an acknowledgement that was put off leaves.
    pub(super) ack_timer: Alarm,
    started: bool,
    stopped: bool,
    /// When packets that are not delivered yet were first sent, from number `delivered` on.
    first_sent: VecDeque<Time>,
    delivered: u64,
    /// Since when the window is what it is.
    window_since: Time,
    totals: FlowTotals,
}

impl Flow {
    pub(super) fn new(config: FlowConfig, timer: Alarm, ack_timer: Alarm, random: &mut Stream) -> Flow {
        Flow {
            sender: Sender::new(config.variant, config.sender, random),
            receiver: Receiver::new(config.reassembly, config.ack_every),
            timer,
            ack_timer,
            started: false,
            stopped: false,
            first_sent: VecDeque::with_capacity(64),
            delivered: 0,
            window_since: Time::ZERO,
            totals: FlowTotals::default(),
            config,
        }
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
        totals
    }

    /// The moment of the sender's alarm: its timer, its start or its stop.
    pub(super) fn due(&self) -> Time {
        if !self.started {
            return self.config.start;
        }
        let stop = if self.stopped { Time::NEVER } else { self.config.stop };
        self.sender.timeout().min(stop)
    }

    /// The sender's alarm has rung.
    pub(super) fn wake(&mut self, now: Time) {
        self.note_window(now);
        if !self.started && now >= self.config.start {
            self.started = true;
            self.sender.offer(now, u64::MAX);
        }
        if !self.stopped && now >= self.config.stop {
            self.stopped = true;
            self.sender.stop();
        }
        if self.started {
            self.sender.on_timeout(now);
        }
    }

    /// An acknowledgement has come back.
    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.note_window(now);
        self.sender.on_ack(now, ack);
        if let Some(srtt) = self.sender.srtt() {
            self.totals.srtt.0 += srtt.as_secs_f64();
            self.totals.srtt.1 += 1;
        }
    }

    /// The next packet that leaves: its number and its size, bytes.
    pub(super) fn transmit(&mut self, now: Time) -> Option<(u64, u32)> {
        let number = self.sender.poll_transmit()?;
        if number >= self.delivered + self.first_sent.len() as u64 {
            self.first_sent.push_back(now);
        }
        // The first packet stands for the SYN.
        Some((number, if number == 0 { TCP_IP_HEADERS } else { self.config.payload + TCP_IP_HEADERS }))
    }

    /// Packet `number` has arrived; the acknowledgement that leaves for it, if one does at once.
    pub(super) fn on_packet(&mut self, now: Time, number: u64) -> Option<Ack> {
        let ack = self.receiver.on_packet(number);
        while self.delivered < self.receiver.in_order() {
            if self.delivered > 0 {
                self.totals.packets += 1;
                self.totals.bytes += u64::from(self.config.payload);
                if let Some(sent) = self.first_sent.front() {
                    self.totals.delay.0 += now.since(*sent).as_secs_f64();
                    self.totals.delay.1 += 1;
                }
            }
            self.first_sent.pop_front();
            self.delivered += 1;
        }
        ack
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
        if self.started { window * now.since(self.window_since).as_secs_f64() } else { 0.0 }
    }
}
