//! NewReno (RFC 6582, "careful" variant): a recovery lasts until every packet in flight at its start is acknowledged. Each
//! partial acknowledgement indicates the next loss. Only the first partial acknowledgement restarts the timer.

use super::Ack;
use super::sender::{Core, DUPLICATES};
use ripstop_base::Time;

/// The most new packets sent for one duplicate acknowledgement in recovery.
const RECOVERY_BURST: u32 = 2;

#[derive(Clone, Debug, Default)]
pub(super) struct NewReno {
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

    /// Removes the acknowledged packets from the window, except one: the packet that is sent for the acknowledgement.
    fn deflate(&mut self, core: &mut Core, acked: u64) {
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            core.cwnd = (core.cwnd - (acked - self.inflation) as f64).max(1.0);
            self.inflation = 1;
        }
    }
}
