//! Vegas: keeps between `alpha` and `beta` packets in the queues of the path, told by the round-trip time (Brakmo and
//! Peterson 1995; ns-2's version, with what it does when its table of send transmissions wraps).

use super::Ack;
use super::sender::{Core, DUPLICATES, LastReduction};
use ripstop_base::Time;
use serde::{Deserialize, Serialize};

/// The window after a time-out.
const RESTART: f64 = 2.0;

/// How many packets of a connection may wait in the queues of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VegasConfig {
    /// With fewer the window grows.
    pub alpha: u32,
    /// With more it shrinks.
    pub beta: u32,
    /// With more slow start ends.
    pub gamma: u32,
}

impl VegasConfig {
    /// 28, 30 and 2, as in the work that TCP/NC comes from (Sundararajan et al.), which runs over Vegas. After a loss fewer
    /// packets than the window arrive in a round trip, which looks like a queue; so high a threshold does not take it for
    /// one. With these all cells of ns-2's for paper 000 agree; with ns-2's own defaults ns-2 itself is 5 % below them at
    /// q = .005.
    pub const LOSSY: VegasConfig = VegasConfig { alpha: 28, beta: 30, gamma: 2 };
}

impl Default for VegasConfig {
    /// 1, 3 and 1: ns-2's.
    fn default() -> VegasConfig {
        VegasConfig { alpha: 1, beta: 3, gamma: 1 }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Vegas {
    config: VegasConfig,
    /// When the first packet left (again, if it was lost): the clock of what follows.
    began: Time,
    first: bool,
    base_rtt: f64,
    /// Eight transmissions the mean round trip, and four transmissions its deviation.
    mean: f64,
    deviation: f64,
    /// The fine-grained time-out.
    timeout: f64,
    /// Acknowledgements after a duplicate that are still looked at for expired packets.
    expiry_checks: u64,
    /// The packet whose acknowledgement ends this round trip, and when it began.
    round_end: u64,
    round_began: f64,
    rtts: u32,
    rtt_sum: f64,
    growth: f64,
    grows: bool,
    /// The window without what duplicates add.
    base_window: f64,
    reduced_at: f64,
    /// By number modulo the receiver's window: when it left last (negative: acknowledged), and how often.
    sent: Vec<f64>,
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

    /// Packet `number` leaves.
    pub(super) fn on_sent(&mut self, now: Time, number: u64) {
        if number == 0 {
            // The clock starts anew; moments kept from before then lie ahead of it, as they do in the original.
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
        // Not while it is not used.
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

    /// Once a round trip: how many packets wait in queues, and what to do about it.
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
                // Every other round trip.
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

    /// Forgets what is acknowledged, and takes the round trip of the newest if it was sent once.
    fn take_rtt(&mut self, at: f64, before: u64, next: u64) {
        let last = self.slot(next - 1);
        let (sent, transmissions) = (self.sent[last], self.transmissions[last]);
        // The original does not follow the table around its end: those slots keep their counts.
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
        // Not for a packet that left before the window was cut last.
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

    fn expired(&self, at: f64, number: u64) -> bool {
        at - self.sent[self.slot(number)] >= self.timeout
    }

    fn slot(&self, number: u64) -> usize {
        (number % self.sent.len() as u64) as usize
    }

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
    fn a_lost_syn_is_no_round_trip() {
        let mut sender =
            Sender::new(Variant::Vegas, SenderConfig::default(), &mut Seed::new(1).stream("tcp"));
        sender.offer(Time::from_secs_f64(1.0), u64::MAX);
        assert_eq!(sender.timeout(), Time::from_secs_f64(4.0));
        sender.on_timeout(sender.timeout());
        sender.on_ack(Time::from_secs_f64(4.0) + Duration::from_millis(100), &Ack::new(1, []));
        let Algorithm::Vegas(algorithm) = &sender.classic().algorithm else { panic!("it is Vegas") };
        assert!((algorithm.base_rtt - 0.1).abs() < 1e-12, "{}", algorithm.base_rtt);
    }
}
