//! SACK as in ns-2 (Fall and Floyd 1996; ns-2's Sack1). Acknowledgements report which packets arrived beyond a gap. An
//! estimate of the number of packets on the path, the "pipe", decides when to send.

use super::Ack;
use super::sender::{Core, DUPLICATES};
use ripstop_base::Time;
use std::ops::Range;

/// The state of SACK that the other ns-2 algorithms do not have.
#[derive(Clone, Debug, Default)]
pub(super) struct Sack {
    /// Whether a recovery is in progress.
    recovering: bool,
    /// Whether nothing new was acknowledged since the last time-out. While this is true, duplicate acknowledgements are
    /// ignored.
    timed_out: bool,
    /// Estimate of the number of packets on the path.
    pipe: i64,
    /// The first unacknowledged packet at the start of the recovery; equal to `una` outside a recovery.
    begun: u64,
    /// Ranges of packets that arrived beyond `una`: disjoint and in ascending order.
    sacked: Vec<Range<u64>>,
    /// Gaps below this number were retransmitted.
    resent: u64,
}

impl Sack {
    pub(super) fn on_ack(&mut self, core: &mut Core, now: Time, ack: &Ack) {
        if !self.recovering {
            if ack.next > core.una {
                core.take_new_ack(now, ack.next);
                core.grow_after_ack();
                self.begun = core.una;
                self.timed_out = false;
                self.forget();
            } else if ack.next == core.una && !self.timed_out && self.learn(core, ack) {
                core.duplicates += 1;
                if core.duplicates == DUPLICATES {
                    self.recover(core, now);
                } else if core.duplicates < DUPLICATES {
                    core.limited_transmit(now);
                }
            }
            if core.duplicates == 0 {
                self.fill(core, now);
            }
            return;
        }
        self.pipe -= 1;
        if ack.next >= core.recover {
            core.recover = 0;
            core.end_recovery();
            self.recovering = false;
            self.timed_out = false;
            core.take_new_ack(now, ack.next);
            self.begun = core.una;
            self.forget();
        } else if ack.next > core.una {
            // A partial acknowledgement shows that two packets have left the path: the original and its retransmission.
            // A recovery is therefore never slower than slow start.
            self.pipe -= 1;
            core.una = ack.next;
            self.learn(core, ack);
            core.set_timer(now);
            core.rto.end_back_off();
        } else if !self.timed_out && self.learn(core, ack) && core.duplicates > 0 {
            core.duplicates += 1;
        }
        self.fill(core, now);
    }

    pub(super) fn on_timeout(&mut self, core: &mut Core, now: Time) {
        core.duplicates = 0;
        self.recovering = false;
        self.timed_out = true;
        self.begun = core.una;
        self.forget();
        core.time_out(now);
        self.fill(core, now);
    }

    /// Begins a recovery, unless this flight has already reduced the window.
    fn recover(&mut self, core: &mut Core, now: Time) {
        if !core.may_reduce() {
            return;
        }
        self.pipe = (core.max - core.una) as i64 - i64::from(DUPLICATES);
        self.recovering = true;
        self.resent = self.resent.max(core.una + 1);
        core.cwnd = core.halve();
        core.begin_recovery(now);
        core.transmit(now, core.una);
    }

    /// Records the blocks of an acknowledgement. Returns whether the blocks contained anything new.
    fn learn(&mut self, core: &Core, ack: &Ack) -> bool {
        self.sacked.retain(|run| run.start > core.una);
        let mut new = false;
        for block in ack.blocks().filter(|block| block.start > core.una) {
            new |= self.add(block);
        }
        new
    }

    /// Adds `block`. Returns whether anything in the block is new.
    fn add(&mut self, mut block: Range<u64>) -> bool {
        let from = self.sacked.partition_point(|run| run.end < block.start);
        let to = self.sacked.partition_point(|run| run.start <= block.end);
        let touched = &self.sacked[from..to];
        if touched.iter().any(|run| run.start <= block.start && block.end <= run.end) {
            return false;
        }
        if let (Some(first), Some(last)) = (touched.first(), touched.last()) {
            block = block.start.min(first.start)..block.end.max(last.end);
        }
        self.sacked.splice(from..to, [block]);
        true
    }

    /// Forgets which packets arrived and which gaps were retransmitted.
    fn forget(&mut self) {
        self.sacked.clear();
        self.resent = 0;
    }

    /// The next packet to retransmit: a gap below a packet that has arrived.
    fn hole(&self, core: &Core) -> Option<u64> {
        let highest = self.sacked.last()?.end;
        let hole = self.resent.max(core.una);
        let hole = self.sacked.iter().find(|run| run.contains(&hole)).map_or(hole, |run| run.end);
        (hole < highest).then_some(hole)
    }

    fn fill(&mut self, core: &mut Core, now: Time) {
        let window = u64::from(core.config.window);
        loop {
            let open =
                if self.recovering { self.pipe < core.cwnd as i64 } else { core.nxt < self.begun + core.window() };
            if !open {
                return;
            }
            let number = match self.hole(core) {
                Some(hole) if core.recover > 0 && hole < core.una + window => {
                    self.resent = hole + 1;
                    hole
                }
                Some(_) => return,
                None => {
                    let room = if self.recovering { window } else { core.window() };
                    if core.nxt >= core.una + room || core.nxt >= core.end {
                        return;
                    }
                    core.nxt
                }
            };
            core.transmit(now, number);
            core.nxt = core.nxt.max(number + 1);
            self.pipe += 1;
        }
    }
}
