//! A simulation of TCP in rounds, under the assumptions of paper 000, section III. The equations of section IV of the
//! paper describe this process.
//!
//! A round is one round-trip time. All W packets of the window are sent at the start of the round.
//!
//! - If every packet arrives, the next window is W + 1, and at most W_max.
//! - In the round of the first loss, only the *a* packets before the loss count, because the receiver keeps nothing out
//!   of order (go-back-N). The window becomes W + a/W, and one more round is sent with this window. The packets of this
//!   round that arrive cause duplicate acknowledgements.
//! - Three duplicate acknowledgements make a triple-duplicate event (TD), which halves the window.
//! - Fewer duplicates lead to a time-out (TO) of T_o rounds. Then one packet is sent with a window of 1. If this packet
//!   is lost too, the time-out doubles, up to 64 T_o.
//!
//! Packets are lost independently. There is no slow start.
//!
//! [`Rounds`] advances from loss to loss. Each [`Cycle`] has the quantities of equations (2) to (7)
//! and (13).
//!
//! The paper leaves two details open. First, windows are real numbers here. If a round cannot send a fraction of a
//! packet, the next round gets this fraction. A window of 4.5 therefore sends four and five packets alternately.
//! Second, a window is never below 1.

use ripstop_base::{Fraction, Stream};
use ripstop_model::tcp::time_out_series;

/// The parameters of the rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rules {
    /// p: the probability that a packet is lost.
    pub(crate) loss: Fraction,
    /// How far apart the first losses of successive cycles are.
    pub(crate) spacing: Spacing,
    /// W_max: the largest window, in packets, at least 1.
    pub(crate) window: f64,
    /// T_o: length of the first time-out, in rounds. None means that there are no time-outs, and
    /// that every loss halves the window.
    pub(crate) time_out: Option<f64>,
}

/// How far apart the first losses of successive cycles are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spacing {
    /// Each packet is lost with probability p, so the spacing is geometric, as section III says.
    Independent,
    /// (1-p)/p packets, plus or minus up to half a window. Section IV makes this assumption in two places. It replaces
    /// `E[r^2]` by `E[r]^2` in (8), and it lets the loss fall anywhere in its round with equal probability.
    Even,
}

/// One cycle, from one loss to the next: rounds j to j + r, and the time-outs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cycle {
    /// W_j: the window of the first round.
    pub(crate) first_window: f64,
    /// r: rounds up to and including the round of the loss.
    pub(crate) rounds: u64,
    /// W_(j+r-1): the window in the round of the loss.
    pub(crate) last_window: f64,
    /// Packets sent in the round of the loss.
    pub(crate) last_sent: u64,
    /// a_(j+r-1): the packets before the loss in the round of the loss.
    pub(crate) last_acknowledged: u64,
    /// N: packets acknowledged, each counted once.
    pub(crate) acknowledged: u64,
    /// Packets sent in round j + r, after the loss.
    pub(crate) sent_after: u64,
    /// Time-outs in the series that ended the cycle. 0 for a triple-duplicate event.
    pub(crate) time_outs: u32,
    /// Whether the cycle before ended with a time-out. The first packet of this cycle is then a packet that has arrived
    /// already.
    pub(crate) after_time_out: bool,
    /// Length in rounds: r + 1, plus the length of the time-outs.
    pub(crate) duration: f64,
}

/// An endless iterator over cycles. It is empty if every packet arrives, or if every packet is lost.
#[derive(Clone, Debug)]
pub(crate) struct Rounds {
    rules: Rules,
    random: Stream,
    window: f64,
    /// The fraction of a packet left over from earlier windows.
    credit: f64,
    after_time_out: bool,
    /// The window at the last loss. Even spacing varies over this number of packets.
    width: f64,
}

impl Rounds {
    /// Starts with a window of 1.
    pub(crate) fn new(rules: Rules, random: Stream) -> Rounds {
        Rounds { rules, random, window: 1.0, credit: 0.0, after_time_out: false, width: 1.0 }
    }

    /// The number of packets that arrive before the next loss.
    fn packets(&mut self) -> u64 {
        let p = self.rules.loss.get();
        let luck = self.random.unit();
        // A conversion with `as` saturates.
        let packets = match self.rules.spacing {
            Spacing::Independent => (libm::log(1.0 - luck) / libm::log1p(-p)) as u64,
            Spacing::Even => libm::round((1.0 - p) / p + (luck - 0.5) * self.width).max(0.0) as u64,
        };
        // The retransmission that ended the time-outs has arrived already.
        packets.saturating_add(u64::from(self.after_time_out))
    }

    /// The packets of a round with the current window.
    fn send(&mut self) -> u64 {
        let whole = libm::floor(self.window + self.credit);
        self.credit += self.window - whole;
        whole as u64
    }

    fn grow(&mut self, by: f64) {
        self.window = (self.window + by).min(self.rules.window.max(1.0));
    }

    /// Whether fewer than three of `sent` packets arrive.
    fn starves(&mut self, sent: u64) -> bool {
        let mut arrived = 0;
        for _ in 0..sent {
            arrived += u64::from(!self.random.chance(self.rules.loss.get()));
            if arrived == 3 {
                return false;
            }
        }
        true
    }

    /// The number of consecutive time-outs, the first included: the retransmission is lost with
    /// probability p each time.
    fn series(&mut self) -> u32 {
        let lost = libm::log(1.0 - self.random.unit()) / libm::log(self.rules.loss.get());
        (lost as u32).saturating_add(1)
    }
}

impl Iterator for Rounds {
    type Item = Cycle;

    fn next(&mut self) -> Option<Cycle> {
        let p = self.rules.loss.get();
        if p <= 0.0 || p >= 1.0 {
            return None;
        }
        let (first_window, after_time_out) = (self.window, self.after_time_out);
        let acknowledged = self.packets();
        let mut left = acknowledged;
        let mut rounds = 1;
        let last_sent = loop {
            let sent = self.send();
            if left < sent {
                break sent;
            }
            left -= sent;
            rounds += 1;
            self.grow(1.0);
        };
        let last_window = self.window;
        self.grow(left as f64 / last_sent as f64);
        let sent_after = self.send();
        let mut duration = (rounds + 1) as f64;
        let mut time_outs = 0;
        let time_out = self.rules.time_out;
        match time_out {
            Some(first) if self.starves(sent_after) => {
                time_outs = self.series();
                duration += time_out_series(first, time_outs);
                (self.window, self.credit) = (1.0, 0.0);
            }
            _ => self.window = (self.window / 2.0).max(1.0),
        }
        self.after_time_out = time_outs > 0;
        self.width = last_window;
        Some(Cycle {
            first_window,
            rounds,
            last_window,
            last_sent,
            last_acknowledged: left,
            acknowledged,
            sent_after,
            time_outs,
            after_time_out,
            duration,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_base::Seed;

    fn rounds(loss: f64, window: f64, time_out: Option<f64>) -> Rounds {
        let loss = Fraction::new(loss).unwrap();
        let rules = Rules { loss, spacing: Spacing::Independent, window, time_out };
        Rounds::new(rules, Seed::new(1).stream("rounds"))
    }

    #[test]
    fn a_cycle_is_the_sum_of_its_rounds() {
        for (loss, time_out) in [(0.02, None), (0.02, Some(3.75)), (0.3, Some(3.75))] {
            let mut before: Option<Cycle> = None;
            for cycle in rounds(loss, f64::INFINITY, time_out).take(20_000) {
                let r = cycle.rounds as f64;
                assert!((cycle.last_window - (cycle.first_window + r - 1.0)).abs() < 1e-9 * r, "{cycle:?}");
                // Equation (7): the packets of r - 1 whole rounds and of the last round up to the loss, except for a
                // fraction carried over.
                let whole = (r - 1.0) * cycle.first_window + (r - 1.0) * (r - 2.0) / 2.0;
                let sent = whole + cycle.last_acknowledged as f64;
                assert!((cycle.acknowledged as f64 - sent).abs() < 1.0 + 1e-9, "{cycle:?}");
                assert!(cycle.last_acknowledged < cycle.last_sent);
                if let Some(before) = before {
                    let grown = before.last_window + before.last_acknowledged as f64 / before.last_sent as f64;
                    // Equation (4). After time-outs, the window is 1.
                    let want = if before.time_outs > 0 { 1.0 } else { (grown / 2.0).max(1.0) };
                    assert!((cycle.first_window - want).abs() < 1e-12, "{before:?} {cycle:?}");
                    assert_eq!(cycle.after_time_out, before.time_outs > 0);
                }
                let waited = time_out_series(time_out.unwrap_or(0.0), cycle.time_outs);
                // Equation (3).
                assert_eq!(cycle.duration, r + 1.0 + waited);
                assert!(cycle.time_outs > 0 || time_out.is_none() || cycle.sent_after >= 3);
                before = Some(cycle);
            }
        }
    }

    #[test]
    fn the_window_stops_at_w_max() {
        let most = rounds(0.001, 20.0, None).take(5000).map(|c| c.last_window).fold(0.0, f64::max);
        assert_eq!(most, 20.0);
        assert!(rounds(0.3, 0.0, Some(1.0)).take(1000).all(|cycle| cycle.last_window == 1.0));
    }

    #[test]
    fn there_are_no_cycles_without_losses_or_without_arrivals() {
        assert_eq!(rounds(0.0, 50.0, Some(3.75)).next(), None);
        assert_eq!(rounds(1.0, 50.0, Some(3.75)).next(), None);
        // Close to these limits a cycle still ends.
        assert!(rounds(1.0 - 1e-16, 50.0, Some(3.75)).next().is_some_and(|cycle| cycle.duration.is_finite()));
    }
}
