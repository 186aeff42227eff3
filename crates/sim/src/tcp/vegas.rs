//! Vegas: keeps between `alpha` and `beta` packets in the queues of the path. The round-trip time shows how many
//! packets are queued.
//!
//! The algorithm is from Brakmo and Peterson 1995, as ns-2 implements it. ns-2 keeps send times in a table. The index
//! is the packet number modulo the length of the table. This file has the same table with the same faults, so that
//! results agree.

use super::Ack;
use super::sender::{Core, DUPLICATES, LastReduction, VegasConfig};
use ripstop_base::Time;

/// The window in packets after a time-out, as in ns-2. Another value gives other packets than ns-2's.
const RESTART: f64 = 2.0;

#[derive(Clone, Debug)]
pub(super) struct Vegas {
    config: VegasConfig,
    /// When the first packet was last sent. The other times in this struct are in seconds after this time.
    began: Time,
    /// Whether no acknowledgement has arrived yet.
    first: bool,
    /// The round-trip time without a queue, in seconds.
    base_rtt: f64,
    /// Eight times the mean round-trip time, in seconds.
    mean: f64,
    /// Four times the deviation of the round-trip time, in seconds.
    deviation: f64,
    /// The fine-grained time-out in seconds.
    timeout: f64,
    /// How many of the next acknowledgements of new data check whether the first unacknowledged packet has waited
    /// longer than the fine-grained time-out.
    expiry_checks: u64,
    /// The round trip ends when this packet is acknowledged.
    round_end: u64,
    /// When the round trip began.
    round_began: f64,
    /// Round-trip times sampled in this round trip.
    rtts: u32,
    /// The sum of these samples, in seconds.
    rtt_sum: f64,
    /// Packets by which each acknowledgement of new data raises the window.
    growth: f64,
    /// Whether slow start may grow the window in this round trip.
    grows: bool,
    /// The window in packets after the last reduction, without the packets added for duplicate acknowledgements.
    base_window: f64,
    /// When the window was last reduced.
    reduced_at: f64,
    /// When each packet was last sent; negative after the packet is acknowledged. The index is the packet number modulo
    /// the receiver's window.
    sent: Vec<f64>,
    /// How many times each packet was sent, with the same index.
    transmissions: Vec<u32>,
}

impl Vegas {
    pub(super) fn new(config: VegasConfig, window: u32) -> Vegas {
        let window = window.max(1) as usize;
        Vegas {
            config,
            began: Time::ZERO,
            first: true,
            base_rtt: 1e9,
            mean: 0.0,
            deviation: 0.0,
            timeout: 1000.0,
            expiry_checks: 0,
            round_end: 0,
            round_began: 0.0,
            rtts: 0,
            rtt_sum: 0.0,
            growth: 0.0,
            grows: true,
            base_window: 0.0,
            reduced_at: 0.0,
            sent: vec![-1.0; window],
            transmissions: vec![0; window],
        }
    }

    /// Records that packet `number` is sent.
    pub(super) fn on_sent(&mut self, now: Time, number: u64) {
        if number == 0 {
            // The clock restarts at 0. Times recorded before then seem to lie in the future, as in ns-2.
            self.began = now;
            self.transmissions.fill(0);
        }
        let at = self.clock(now);
        let slot = self.slot(number);
        self.sent[slot] = at;
        self.transmissions[slot] += 1;
    }

    pub(super) fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        let at = self.clock(now);
        if std::mem::replace(&mut self.first, false) {
            self.base_rtt = at;
            self.mean = 8.0 * at;
            self.deviation = at;
            self.timeout = (self.mean / 4.0 + self.deviation) / 2.0;
        }
        if ack.next > core.una {
            self.on_new_ack(core, now, at, ack.next);
        } else if ack.next == core.una {
            self.on_duplicate(core, now, at);
        }
        if core.duplicates == 0 || core.duplicates >= DUPLICATES {
            core.fill(now, core.window(), u32::MAX);
        }
    }

    pub(super) fn on_timeout(&mut self, core: &mut Core, now: Time) {
        core.duplicates = 0;
        if core.una < core.max {
            core.counts.timeouts += 1;
            core.halve();
            core.back_off(now);
        } else {
            core.deadline = Time::NEVER;
        }
        core.cwnd = RESTART;
        core.go_back();
        self.base_window = 0.0;
        self.reduced_at = self.clock(now);
        core.fill(now, core.window(), u32::MAX);
    }

    fn on_new_ack(&mut self, core: &mut Core, now: Time, at: f64, next: u64) {
        if core.una == 1 {
            core.cwnd = f64::from(core.initial_window());
        }
        if core.duplicates > DUPLICATES && core.cwnd > self.base_window {
            core.cwnd = self.base_window;
            core.ssthresh = 2.0;
        }
        let before = core.una;
        core.take_new_ack(now, next);
        if next > self.round_end {
            self.end_round(core, at);
        }
        if self.growth == 1.0 && core.cwnd >= core.ssthresh {
            self.growth = 0.0;
        }
        // The window does not grow while the sender leaves more than two packets of the window unused.
        if self.growth > 0.0 && core.cwnd - (core.nxt + 1 - core.una) as f64 <= 2.0 {
            core.cwnd += self.growth;
        }
        self.take_rtt(at, before, next);
        if self.expiry_checks > 0 {
            self.expiry_checks -= 1;
            if self.expired(at, core.una) {
                core.duplicates = DUPLICATES;
                core.transmit(now, core.una);
            } else {
                self.expiry_checks = 0;
            }
        }
    }

    /// Estimates how many packets are queued, and adjusts the window. Runs once per round trip.
    fn end_round(&mut self, core: &mut Core, at: f64) {
        let rtt = if self.rtts > 0 { self.rtt_sum / f64::from(self.rtts) } else { at - self.round_began };
        (self.rtts, self.rtt_sum) = (0, 0.0);
        let length = core.nxt as i64 - self.round_end as i64;
        if rtt > 0.0 {
            if rtt < self.base_rtt || length <= 1 {
                self.base_rtt = rtt;
            }
            let actual = length as f64 / rtt;
            let expected = (core.nxt + 1 - core.una) as f64 / self.base_rtt;
            let queued = ((expected - actual) * self.base_rtt + 0.5) as i64;
            if core.cwnd < core.ssthresh {
                // Slow start grows the window only in every other round trip.
                self.grows = !self.grows;
                self.growth = 0.0;
                if self.grows && queued > i64::from(self.config.gamma) {
                    core.ssthresh = 2.0;
                    core.cwnd = (core.cwnd - core.cwnd / 8.0).max(2.0);
                } else if self.grows {
                    self.growth = 1.0;
                }
            } else if queued > i64::from(self.config.beta) {
                core.cwnd = (core.cwnd - 1.0).max(2.0);
                self.growth = 0.0;
            } else {
                self.growth = if queued < i64::from(self.config.alpha) { 1.0 / core.cwnd } else { 0.0 };
            }
        }
        self.round_end = core.nxt;
        self.round_began = at;
    }

    /// Clears the acknowledged packets from the tables. Samples the round-trip time of the newest acknowledged packet
    /// if this packet was sent only once, and not at time 0.
    fn take_rtt(&mut self, at: f64, before: u64, next: u64) {
        let last = self.slot(next - 1);
        let (sent, transmissions) = (self.sent[last], self.transmissions[last]);
        // As in ns-2, nothing is cleared if the acknowledged packets wrap around the end of the table.
        let mut slot = self.slot(before);
        for _ in before..next {
            if slot > last {
                break;
            }
            self.sent[slot] = -1.0;
            self.transmissions[slot] = 0;
            slot = (slot + 1) % self.sent.len();
        }
        if sent == 0.0 || transmissions != 1 {
            return;
        }
        let rtt = at - sent;
        self.rtt_sum += rtt;
        self.rtts += 1;
        if rtt > 0.0 {
            self.base_rtt = self.base_rtt.min(rtt);
            let off = rtt - self.mean / 8.0;
            self.mean += off;
            self.deviation += off.abs() - self.deviation / 4.0;
            self.timeout = (self.mean / 4.0 + self.deviation) / 2.0 * (17.0 / 16.0);
        }
    }

    fn on_duplicate(&mut self, core: &mut Core, now: Time, at: f64) {
        core.duplicates += 1;
        if !self.expired(at, core.una) && core.duplicates != DUPLICATES {
            if core.duplicates > DUPLICATES {
                core.cwnd += 1.0;
            }
            return;
        }
        if core.una <= core.recover && core.last_reduction == LastReduction::Timeout {
            return;
        }
        let slot = self.slot(core.una);
        let (sent, transmissions) = (self.sent[slot], self.transmissions[slot]);
        let window = core.window();
        core.last_reduction = LastReduction::DuplicateAcks;
        core.recover = core.max;
        core.counts.fast_retransmits += 1;
        self.expiry_checks = 2.min(core.nxt + 1 - core.una);
        self.timeout *= if transmissions > 1 { 2.0 } else { 1.125 };
        // If the lost packet was sent before the last reduction, the window is not reduced again.
        if self.reduced_at < sent {
            let window = match (window, transmissions) {
                (0..=3, _) => 2,
                (_, 2..) => window / 2,
                _ => window - window / 4,
            };
            self.base_window = window as f64;
            core.cwnd = self.base_window + f64::from(core.duplicates);
            self.reduced_at = at;
        }
        core.back_off(now);
        core.transmit(now, core.una);
        if transmissions == 1 {
            core.duplicates = DUPLICATES;
        }
    }

    /// Whether packet `number` has waited longer than the fine-grained time-out.
    fn expired(&self, at: f64, number: u64) -> bool {
        at - self.sent[self.slot(number)] >= self.timeout
    }

    /// The index of packet `number` in the tables.
    fn slot(&self, number: u64) -> usize {
        (number % self.sent.len() as u64) as usize
    }

    /// Seconds since `began`.
    fn clock(&self, now: Time) -> f64 {
        now.since(self.began).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sender, SenderConfig, Variant, classic::Algorithm};
    use super::*;
    use ripstop_base::Seed;
    use std::time::Duration;

    #[test]
    fn a_lost_syn_gives_no_round_trip_sample() {
        let mut sender = Sender::new(Variant::Vegas, SenderConfig::default(), &mut Seed::new(1).stream("tcp"));
        sender.offer(Time::from_secs_f64(1.0), u64::MAX);
        assert_eq!(sender.timeout(), Time::from_secs_f64(4.0));
        sender.on_timeout(sender.timeout());
        sender.on_ack(Time::from_secs_f64(4.0) + Duration::from_millis(100), &Ack::new(1, []));
        let Algorithm::Vegas(algorithm) = &sender.classic().algorithm else { panic!("the sender runs Vegas") };
        assert!((algorithm.base_rtt - 0.1).abs() < 1e-12, "{}", algorithm.base_rtt);
    }
}
