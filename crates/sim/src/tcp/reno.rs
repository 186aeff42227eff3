//! Tahoe, Reno and NewReno as in ns-2. They detect losses by duplicate acknowledgements and by time-outs.

use super::Ack;
use super::sender::{Core, DUPLICATES};
use ripstop_base::Time;

/// The largest number of new packets that one duplicate acknowledgement releases in NewReno's recovery (ns-2's value).
/// With 1, a recovery sends more smoothly. With 4, a recovery may send larger bursts.
const RECOVERY_BURST: u32 = 2;

/// Handles an acknowledgement for Tahoe. Every sign of a loss restarts slow start with one packet (Jacobson 1988).
pub(super) fn tahoe_on_ack(core: &mut Core, now: Time, ack: &Ack) {
    if ack.next > core.una {
        core.take_new_ack(now, ack.next);
        core.grow_after_ack();
    } else if ack.next == core.una {
        core.duplicates += 1;
        if core.duplicates == DUPLICATES {
            if core.may_reduce() {
                core.halve();
                core.cwnd = 1.0;
                core.begin_recovery(now);
                core.nxt = core.una;
            }
        } else if core.duplicates < DUPLICATES {
            core.limited_transmit(now);
        }
    }
    core.fill(now, core.window(), u32::MAX);
}

/// Reno: fast retransmit and fast recovery (RFC 2581). The first acknowledgement of new data ends a recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Reno {
    /// Packets that have left the path during fast recovery. They are added to the window.
    inflation: u64,
}

impl Reno {
    pub(super) fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if ack.next > core.una {
            self.inflation = 0;
            core.end_recovery();
            core.take_new_ack(now, ack.next);
            core.grow_after_ack();
        } else if ack.next == core.una {
            core.take_duplicate(now, &mut self.inflation);
        }
        if core.duplicates == 0 || core.duplicates >= DUPLICATES {
            core.fill(now, core.inflated_window(self.inflation), u32::MAX);
        }
    }

    pub(super) fn on_timeout(&mut self, core: &mut Core, now: Time) {
        self.inflation = 0;
        core.restart(now);
    }
}

/// NewReno (RFC 6582, "careful" variant): a recovery lasts until every packet in flight at its start is acknowledged.
/// Each partial acknowledgement indicates the next loss. Only the first partial acknowledgement restarts the timer.
#[derive(Clone, Debug, Default)]
pub(super) struct NewReno {
    /// As [`Reno::inflation`].
    inflation: u64,
    /// Whether a partial acknowledgement arrived in this recovery.
    partial: bool,
}

impl NewReno {
    pub(super) fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if ack.next > core.una {
            if ack.next >= core.recover || !core.in_recovery() {
                if self.inflation > 0 {
                    self.inflation = 0;
                    core.end_recovery();
                }
                self.partial = false;
                core.take_new_ack(now, ack.next);
                core.grow_after_ack();
            } else {
                self.deflate(core, ack.next - core.una);
                if !std::mem::replace(&mut self.partial, true) {
                    core.set_timer(now);
                }
                core.take_partial_ack(ack.next);
                core.transmit(now, core.una);
            }
        } else if ack.next == core.una {
            core.take_duplicate(now, &mut self.inflation);
        }
        match core.duplicates {
            0 => core.fill(now, core.inflated_window(self.inflation), u32::MAX),
            DUPLICATES.. => core.fill(now, core.inflated_window(self.inflation), RECOVERY_BURST),
            _ => {}
        }
    }

    pub(super) fn on_timeout(&mut self, core: &mut Core, now: Time) {
        self.inflation = 0;
        core.restart(now);
    }

    /// Reduces the window by one packet less than the number of acknowledged packets. The difference makes room for the
    /// packet that is sent in response to the acknowledgement.
    fn deflate(&mut self, core: &mut Core, acked: u64) {
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            core.cwnd = (core.cwnd - (acked - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Sender, SenderConfig, Variant};
    use super::*;
    use ripstop_base::Seed;
    use std::time::Duration;

    /// A Reno sender with an acknowledged SYN, and a function that returns the packets sent for each acknowledgement.
    fn reno() -> (Sender, impl FnMut(&mut Sender, u64) -> Vec<u64>) {
        let mut sender = Sender::new(Variant::Reno, SenderConfig::default(), &mut Seed::new(1).stream("tcp"));
        sender.offer(Time::ZERO, u64::MAX);
        let mut now = Time::ZERO;
        let mut feed = move |sender: &mut Sender, next: u64| {
            now += Duration::from_millis(10);
            sender.on_ack(now, &Ack::new(next, []));
            std::iter::from_fn(|| sender.poll_transmit()).collect()
        };
        assert_eq!(feed(&mut sender, 1), [0, 1, 2]);
        (sender, feed)
    }

    #[test]
    fn limited_transmit_counts_whole_packets() {
        let (mut sender, mut feed) = reno();
        sender.classic().core.ssthresh = 2.0;
        assert_eq!(feed(&mut sender, 2), [3]);
        assert_eq!(sender.cwnd(), 2.5);
        assert_eq!(feed(&mut sender, 2), [4]);
        assert_eq!(feed(&mut sender, 2), [5]);
        // Three packets are in flight; a fourth needs a window of 4. The window of 2.9 and one duplicate make 3.9,
        // which is too little. Two duplicates make 4.9.
        assert!(feed(&mut sender, 3).is_empty());
        assert_eq!(sender.cwnd(), 2.9);
        assert!(feed(&mut sender, 3).is_empty());
        assert_eq!(feed(&mut sender, 3), [6]);
    }

    #[test]
    fn one_flight_inflates_the_window_once() {
        let (mut sender, mut feed) = reno();
        sender.classic().core.cwnd = 8.0;
        assert_eq!(feed(&mut sender, 2), (3..11).collect::<Vec<_>>());
        assert_eq!([feed(&mut sender, 2), feed(&mut sender, 2), feed(&mut sender, 2)], [[11], [12], [2]]);
        // The recovery ends here. Later losses wait for the time-out.
        assert!(feed(&mut sender, 4).is_empty());
        for _ in 0..20 {
            assert!(feed(&mut sender, 4).is_empty());
        }
        assert_eq!(sender.counts().fast_retransmits, 1);
    }

    #[test]
    fn the_window_is_never_below_one_packet() {
        let (mut sender, _) = reno();
        sender.classic().core.cwnd = 1.5;
        let core = &mut sender.classic().core;
        assert_eq!((core.halve(), core.ssthresh), (1.0, 2.0));
    }
}
