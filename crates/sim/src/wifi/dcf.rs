//! The distributed coordination function: when a station sends, and what it does with the frames that it receives.
//!
//! The rules are those of ns-2's `Mac/802_11`. They decide the results of ns-2. `config` lists where IEEE 802.11
//! differs.
//!
//! - A station contends with one packet at a time. It counts back-off slots while the medium is idle, then sends.
//! - The medium is idle for a station if the station senses no frame, sends none, and waits for no response. The
//!   station's NAV and EIFS must have ended too.
//! - After an exchange the station backs off again, even if it has no further packet (*post-back-off*).
//! - A response (CTS or MAC ACK) follows after SIFS, without contention. A station that itself waits for a response
//!   sends its own response only after this wait, which is too late.

use super::contention::DrawReason;
use super::countdown::Countdown;
use super::frame::{Frame, FrameKind, NOBODY};
use super::medium::{DropReason, Medium};
use super::queue::{Load, Packet, Payload, Queued};
use super::receiver::Reception;
use super::station::{Exchange, Flight, Phase, Response};
use super::timers::Timer;
use ripstop_base::Time;
use std::time::Duration;

/// Contention: the packet that a station contends with, its back-off, and the frame that follows.
impl<P: Packet> Medium<P> {
    /// Gives a packet to the MAC of station `k` if the MAC is free and Cadence does not hold the packet. Otherwise puts
    /// the packet into the interface queue. Messages of the routing protocol go to the front of the queue.
    pub(super) fn enqueue(&mut self, k: usize, mut packet: Queued<P>, now: Time) {
        packet.since = now;
        if self.stations[k].exchange.is_none() && self.is_released(k, &packet, now) {
            self.accept(k, packet, now);
            return;
        }
        let queue = &mut self.stations[k].queue;
        let refused = if packet.load == Load::Routing { queue.push_first(packet) } else { queue.push(packet).err() };
        if let Some(packet) = refused {
            self.drop_packet(k, packet, DropReason::QueueFull);
        }
        if self.stations[k].exchange.is_none() {
            self.on_release(k, now);
        }
    }

    /// Station `k` begins to contend with `packet`.
    pub(super) fn accept(&mut self, k: usize, packet: Queued<P>, now: Time) {
        let rts_due = self.needs_rts(&packet);
        let station = &mut self.stations[k];
        station.end_idle_backoff(now, self.config.slot);
        station.exchange = Some(Exchange::new(packet, rts_due));
        if station.countdown.is_on() || station.timers.runs(Timer::Defer) || station.is_about_to_answer() {
            return;
        }
        if self.config.immediate_access && station.is_idle(now) {
            station.immediate = true;
            station.set_countdown(0);
            self.resume_countdown(k, now);
        } else {
            self.back_off(k, DrawReason::Access, now);
        }
    }

    /// Whether an RTS announces the frame with this packet. No RTS announces a broadcast.
    pub(super) fn needs_rts(&self, packet: &Queued<P>) -> bool {
        packet.to != NOBODY && packet.bytes.saturating_add(self.config.header_bytes) >= self.config.rts_threshold
    }

    /// Starts the exchange of station `k` anew, with an RTS if the packet needs an RTS.
    fn set_rts_due(&mut self, k: usize) {
        let is_due = self.stations[k].exchange.as_ref().is_some_and(|exchange| self.needs_rts(&exchange.first));
        if let Some(exchange) = &mut self.stations[k].exchange {
            exchange.rts_due = is_due;
        }
    }

    /// Draws a back-off for station `k`, and lets it run if the medium is idle.
    pub(super) fn back_off(&mut self, k: usize, reason: DrawReason, now: Time) {
        let slots = self.draw(k, reason, now);
        let station = &mut self.stations[k];
        station.immediate = false;
        station.set_countdown(slots);
        self.resume_countdown(k, now);
    }

    /// Lets the countdown of station `k` run if the station is quiet. The first slot begins DIFS after `now`, or DIFS
    /// after the end of the NAV and EIFS if this end is later. For immediate access, the time at which the station
    /// became quiet counts in place of `now`.
    ///
    /// The timer of the back-off may end before the back-off, but never after it. While a frame keeps the countdown
    /// paused, the timer is set for the end that the back-off has if no further frame comes.
    pub(super) fn resume_countdown(&mut self, k: usize, now: Time) {
        let station = &mut self.stations[k];
        let Countdown::Paused { slots } = station.countdown else { return };
        let difs = self.config.difs;
        let mut from = None;
        if station.phase == Phase::Idle && station.receiver.is_idle() {
            let idle = if station.immediate { station.quiet_since } else { now };
            let first = (idle.max(station.reserved_until()) + difs).max(now);
            station.countdown.run(first);
            from = Some(first);
        }
        if station.answers != Time::NEVER {
            // The station owes or sends a MAC ACK.
            from = Some(station.flight.ends() + difs);
        } else if from.is_none() && station.phase == Phase::Idle {
            from = Some(station.receiver.quiet_from(k, self.config.shyness()) + difs);
        }
        if let Some(from) = from {
            station.expect_backoff(from, slots, &self.config);
        }
    }

    /// The medium has become busy for station `k`: its countdown stands still.
    pub(super) fn turn_busy(&mut self, k: usize, now: Time) {
        let station = &mut self.stations[k];
        if !matches!(station.countdown, Countdown::Running { .. }) {
            return;
        }
        // Timers that end in this nanosecond are handled before frames that begin in it.
        station.end_idle_backoff(now + Duration::from_nanos(1), self.config.slot);
        station.countdown.pause(now, self.config.slot);
        if std::mem::take(&mut station.immediate) {
            let slots = self.draw(k, DrawReason::Access, now);
            self.stations[k].set_countdown(slots);
            self.resume_countdown(k, now);
        }
    }

    /// The timer of station `k`'s back-off has ended. If the back-off has ended too, the station sends.
    pub(super) fn on_backoff_timer(&mut self, k: usize, now: Time) {
        let station = &mut self.stations[k];
        let Countdown::Running { slots, from } = station.countdown else { return self.resume_countdown(k, now) };
        if station.countdown.ends(self.config.slot) > now {
            return station.expect_backoff(from, slots, &self.config);
        }
        station.countdown = Countdown::Off;
        station.immediate = false;
        if station.response.is_none() {
            self.contend(k, now);
        }
    }

    /// Sends the RTS or the data frame of station `k`, if the station has a packet.
    fn contend(&mut self, k: usize, now: Time) {
        let is_idle = self.stations[k].is_idle(now);
        if self.stations[k].exchange.is_none() {
            return;
        }
        if !is_idle {
            // Another frame began in the same moment, or after the CTS.
            self.set_rts_due(k);
            self.note_busy(k);
            return self.back_off(k, DrawReason::Access, now);
        }
        self.find_partner(k, now);
        let xor = self.xor_frame(k);
        let answers = self.stations[k].exchange.as_ref().map_or(1, |exchange| self.answers(exchange));
        let Some(exchange) = &mut self.stations[k].exchange else { return };
        exchange.acknowledged = [false; 2];
        let (load, relayed) = (exchange.load(), exchange.first.from.is_some());
        let margin = 2 * self.config.propagation_margin;
        let (sifs, ack) = (self.config.sifs, self.config.ack_airtime());
        let (frame, phase, wait) = if exchange.rts_due {
            let [rts, cts] =
                [self.config.rts_bytes, self.config.cts_bytes].map(|bytes| self.config.control_airtime(bytes));
            let data = self.config.data_airtime(exchange.first.bytes);
            let (to, airtime, acks) =
                xor.map_or((exchange.first.to, data, 1), |xor| (xor.head.to[0], xor.airtime, answers));
            let reserves = 2 * sifs + cts + airtime + acks * (sifs + ack);
            let frame = Frame::new(FrameKind::Rts, [to, NOBODY], reserves, rts);
            (frame, Phase::Rts, rts + sifs + cts + margin)
        } else if let Some(frame) = xor {
            (frame, Phase::Data, frame.airtime + answers * (sifs + ack) + margin)
        } else if exchange.first.to == NOBODY {
            let airtime = self.config.broadcast_airtime(exchange.first.bytes);
            let frame = Frame::new(FrameKind::Broadcast, [NOBODY; 2], Duration::ZERO, airtime);
            (frame, Phase::Data, airtime)
        } else {
            let airtime = self.config.data_airtime(exchange.first.bytes);
            let frame = Frame::new(FrameKind::Data, [exchange.first.to, NOBODY], sifs + ack, airtime);
            (frame, Phase::Data, airtime + sifs + ack + margin)
        };
        if frame.head.kind == FrameKind::Broadcast
            && let Some(Payload::Message(message)) = &exchange.first.packet
        {
            let message = message.clone();
            self.stations[k].announcement = Some(message);
        }
        if phase == Phase::Data {
            self.remember(k);
            self.mark_backlog(k);
            self.note_frame(k, load, now);
            let counters = &mut self.stations[k].counters;
            counters.data_frames_with_data += u64::from(load == Load::Data);
            let is_xor = frame.head.kind == FrameKind::Xor;
            counters.xor_frames += u64::from(is_xor);
            counters.missed_partners += u64::from(self.config.xor.is_some() && !is_xor && relayed);
        }
        self.begin_phase(k, phase, now);
        self.stations[k].timers.set(Timer::Wait, now + wait);
        self.transmit(k, frame, now);
    }

    fn begin_phase(&mut self, k: usize, phase: Phase, now: Time) {
        self.stations[k].phase = phase;
        self.turn_busy(k, now);
    }

    /// Station `k` has finished its phase. It sends the response that it owes, contends with the packet that it has, or
    /// takes the next packet from its queue.
    pub(super) fn resume(&mut self, k: usize, now: Time) {
        let cleared = self.stations[k].exchange.as_ref().is_some_and(|e| !e.rts_due && self.needs_rts(&e.first));
        let station = &mut self.stations[k];
        if let Some(response) = station.response {
            match response.kind {
                FrameKind::Cts => station.timers.set(Timer::Defer, now + response.after),
                _ => self.answer(k, response, now + response.after),
            }
        } else if station.exchange.is_some() {
            if station.countdown.is_on() {
                // The station contends already.
            } else if cleared {
                station.timers.set(Timer::Defer, now + self.config.sifs);
            } else {
                self.back_off(k, DrawReason::Access, now);
            }
        } else if let Some(packet) = self.next_packet(k, now) {
            self.accept(k, packet, now);
        }
        let station = &mut self.stations[k];
        if station.phase != Phase::Idle {
            station.phase = Phase::Idle;
            station.quiet_since = now;
        }
        self.resume_countdown(k, now);
    }

    /// SIFS has passed: station `k` sends its CTS, or the data frame for which it has received a CTS.
    pub(super) fn on_defer_end(&mut self, k: usize, now: Time) {
        let station = &mut self.stations[k];
        let Some(response) = station.response else { return self.contend(k, now) };
        if !station.is_idle(now) {
            station.response = None;
            return self.resume(k, now);
        }
        let airtime = self.config.control_airtime(self.config.cts_bytes);
        let margin = 2 * self.config.propagation_margin;
        // The data frame must have ended before this wait is over.
        let wait = airtime + response.reserves + margin - self.config.sifs - self.config.ack_airtime();
        self.begin_phase(k, Phase::Cts, now);
        self.stations[k].timers.set(Timer::Wait, now + wait);
        let frame = Frame::new(FrameKind::Cts, [response.to, NOBODY], response.reserves, airtime);
        self.transmit(k, frame, now);
    }

    /// Station `k` owes a MAC ACK, which begins at `when`. Nothing can stop this MAC ACK, so its hearers are told of it
    /// now. The station does not wake when the MAC ACK begins or ends: `hear` applies its beginning and its end.
    fn answer(&mut self, k: usize, response: Response, when: Time) {
        let airtime = self.config.ack_airtime();
        let frame = Frame::new(FrameKind::Ack, [response.to, NOBODY], response.reserves, airtime);
        let station = &mut self.stations[k];
        debug_assert!(!station.is_sending(when), "a station sends one frame at a time");
        station.flight = Flight { frame, began: when };
        station.answers = when;
        self.record_frame(k, frame, when);
        self.radiate(k, frame, when);
    }

    /// Station `k` begins or ends its MAC ACK.
    pub(super) fn go_on_answering(&mut self, k: usize, now: Time) {
        let station = &mut self.stations[k];
        if station.phase == Phase::Idle {
            station.answers = station.flight.ends();
            station.receiver.deafen();
            station.counters.control_frames += 1;
            self.begin_phase(k, Phase::Ack, now);
        } else {
            station.answers = Time::NEVER;
            station.response = None;
            self.resume(k, now);
        }
        self.record_state(k, now);
    }

    /// The wait of station `k` has ended: a CTS, a data frame or a MAC ACK did not come, or the station's broadcast has
    /// ended.
    pub(super) fn on_wait_end(&mut self, k: usize, now: Time) {
        match self.stations[k].phase {
            Phase::Data if self.stations[k].flight.frame.head.kind == FrameKind::Xor => self.end_xor(k, now),
            Phase::Data if self.stations[k].flight.frame.head.kind == FrameKind::Broadcast => {
                self.end_broadcast(k, now)
            }
            Phase::Rts | Phase::Data => self.on_failure(k, now),
            Phase::Cts => self.stations[k].response = None,
            Phase::Ack | Phase::Idle => {}
        }
        self.resume(k, now);
    }

    /// The broadcast of station `k` has ended. No station acknowledges a broadcast, so the broadcast counts as a
    /// success.
    fn end_broadcast(&mut self, k: usize, now: Time) {
        let load = self.stations[k].exchange.take().map_or(Load::Routing, |exchange| exchange.load());
        self.note_exchange(k, load, true, now);
        self.back_off(k, DrawReason::Post, now);
    }

    /// Counts a failed RTS or data frame. The packet contends again, or is dropped at the retry limit.
    fn on_failure(&mut self, k: usize, now: Time) {
        let announced = self.stations[k].exchange.as_ref().is_some_and(|e| self.needs_rts(&e.first));
        let Some(load) = self.stations[k].exchange.as_ref().map(Exchange::load) else { return };
        let phase = self.stations[k].phase;
        self.note_exchange(k, if phase == Phase::Data { load } else { Load::Ack }, false, now);
        let station = &mut self.stations[k];
        station.counters.failures += 1;
        let short = station.phase == Phase::Rts || !announced;
        let limit = if short { self.config.short_retry } else { self.config.long_retry };
        let Some(exchange) = &mut station.exchange else { return };
        let failures = &mut exchange.first.failures[usize::from(!short)];
        *failures += 1;
        exchange.rts_due = announced;
        if *failures < limit {
            return self.back_off(k, DrawReason::Access, now);
        }
        if let Some(exchange) = station.exchange.take() {
            self.give_up(k, exchange.first, now);
            if let Some(partner) = exchange.partner {
                self.stations[k].queue.put_back(exchange.partner_place, partner);
            }
        }
        self.note_drop(k);
    }
}

/// Reception: what a station does with the frames that are for it.
impl<P: Packet> Medium<P> {
    /// Station `k` has decoded a frame that is for it.
    pub(super) fn receive(&mut self, k: usize, reception: &Reception, now: Time) {
        let sender = reception.sender as usize;
        match reception.head.kind {
            FrameKind::Rts => self.on_rts(k, reception, now),
            FrameKind::Cts => self.on_cts(k, now),
            FrameKind::Ack => self.on_ack(k, sender, now),
            FrameKind::Data => self.on_data(k, sender, now),
            FrameKind::Xor => self.on_xor(k, reception, now),
            FrameKind::Broadcast => self.on_broadcast(k, sender, now),
        }
    }

    fn on_rts(&mut self, k: usize, reception: &Reception, now: Time) {
        let cts = self.config.control_airtime(self.config.cts_bytes);
        let station = &mut self.stations[k];
        if station.phase != Phase::Idle || station.response.is_some() {
            station.counters.unanswered += 1;
            return;
        }
        let reserves = reception.reserved.since(now).saturating_sub(self.config.sifs + cts);
        let after = self.config.sifs;
        station.response = Some(Response { kind: FrameKind::Cts, to: reception.sender, after, reserves });
        self.resume(k, now);
    }

    fn on_cts(&mut self, k: usize, now: Time) {
        let station = &mut self.stations[k];
        if station.phase != Phase::Rts {
            return;
        }
        station.timers.stop(Timer::Wait);
        if let Some(exchange) = &mut station.exchange {
            exchange.rts_due = false;
            exchange.first.failures[0] = 0;
        }
        self.resume(k, now);
    }

    fn on_data(&mut self, k: usize, sender: usize, now: Time) {
        let announced = self.stations[sender].exchange.as_ref().is_some_and(|e| self.needs_rts(&e.first));
        let station = &mut self.stations[k];
        if announced && station.phase == Phase::Cts {
            station.timers.stop(Timer::Wait);
            station.response = None;
        } else if announced || station.response.is_some() {
            station.counters.unanswered += 1;
            return;
        }
        station.response = Some(Response {
            kind: FrameKind::Ack,
            to: sender as u32,
            after: self.config.sifs,
            reserves: Duration::ZERO,
        });
        if !station.timers.runs(Timer::Wait) {
            self.resume(k, now);
        }
        let exchange = self.stations[sender].exchange.as_mut();
        match exchange.and_then(|exchange| exchange.first.hand_over(sender)) {
            Some(packet) => {
                self.note_backlog(k, &packet, now);
                self.pass_up(k, packet, now);
            }
            None => self.stations[k].counters.duplicates += 1,
        }
    }

    fn on_broadcast(&mut self, k: usize, sender: usize, now: Time) {
        let Some(message) = self.stations[sender].announcement.clone() else { return };
        let packet = Queued {
            bytes: message.bytes(),
            packet: Some(Payload::Message(message)),
            id: 0,
            load: Load::Routing,
            source: sender as u32,
            destination: NOBODY,
            to: NOBODY,
            from: Some(sender as u32),
            since: now,
            is_backlogged: false,
            forwards: 1,
            failures: [0; 2],
        };
        self.pass_up(k, packet, now);
    }

    fn on_ack(&mut self, k: usize, sender: usize, now: Time) {
        let station = &mut self.stations[k];
        if station.phase != Phase::Data {
            return;
        }
        if station.flight.frame.head.kind == FrameKind::Xor {
            return self.on_xor_ack(k, sender, now);
        }
        station.timers.stop(Timer::Wait);
        let Some(exchange) = station.exchange.take() else { return };
        self.note_passed(k, &exchange.first, now);
        self.note_exchange(k, exchange.load(), true, now);
        self.back_off(k, DrawReason::Post, now);
        self.resume(k, now);
    }
}
