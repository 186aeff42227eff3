//! Reno: fast retransmit and fast recovery, which the first acknowledgement of anything new ends (RFC 2581).

use super::Ack;
use super::sender::{Core, DUPLICATES};
use ripstop_base::Time;

#[derive(Clone, Debug, Default)]
pub(super) struct Reno {
    /// Packets that have left the path during fast recovery: what inflates the window.
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
            core.duplicates += 1;
            if core.duplicates == DUPLICATES {
                if core.fast_retransmit(now) {
                    self.inflation = u64::from(DUPLICATES);
                }
            } else if core.duplicates > DUPLICATES {
                if core.in_recovery() {
                    self.inflation += 1;
                }
            } else {
                core.limited_transmit(now);
            }
        }
        if core.duplicates == 0 || core.duplicates >= DUPLICATES {
            core.fill(now, self.window(core), u32::MAX);
        }
    }

    pub(super) fn on_timeout(&mut self, core: &mut Core, now: Time) {
        self.inflation = 0;
        core.duplicates = 0;
        core.time_out(now);
        core.fill(now, core.window(), u32::MAX);
    }

    /// The receiver's window bounds the inflated one too: at a full window nothing new leaves during recovery.
    fn window(&self, core: &Core) -> u64 {
        (core.cwnd as u64 + self.inflation).min(u64::from(core.config.window))
    }
}
