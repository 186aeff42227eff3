//! Tahoe: every sign of a loss restarts slow start with one packet (Jacobson 1988).

use super::Ack;
use super::sender::{Core, DUPLICATES};
use ripstop_base::Time;

pub(super) fn on_ack(core: &mut Core, now: Time, ack: &Ack) {
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
