//! The times of the sender: the window, the pace, and how long it waits for answers.

use super::LtSender;
use ripstop_base::Time;
use ripstop_codes::Payload;
use std::collections::VecDeque;
use std::time::Duration;

impl<P: Payload> LtSender<P> {
    /// Improved mode: whether the window has room for a packet.
    ///
    /// The window bounds the packets that may still be on their way. A packet whose answer is
    /// overdue has left the path, so a loss of LT-ACKs does not stop the sender.
    pub(super) fn has_room(&self) -> bool {
        !self.is_improved() || self.on_the_way.len() < self.config.window as usize
    }

    /// Improved mode: forgets packets that have left the path.
    pub(super) fn forget_overdue(&mut self, now: Time) {
        let limit = self.answer_limit();
        while self.on_the_way.front().is_some_and(|(number, sent)| *number < self.heard || *sent + limit <= now) {
            self.on_the_way.pop_front();
        }
    }

    /// How long an answer may take.
    pub(super) fn answer_limit(&self) -> Duration {
        self.answers.limit().unwrap_or(FIRST_ANSWER).clamp(LEAST_ANSWER, MOST_ANSWER)
    }

    /// Repaired mode: how long the sender waits for feedback after it has sent `packets` packets.
    ///
    /// The time must be longer than all packets in flight need to leave the path. A shorter time
    /// makes the sender send symbols that are not needed, and these delay the feedback further.
    pub(super) fn drain_time(&self, packets: u32) -> Duration {
        let rate = self.rate.unwrap_or(UNKNOWN_RATE).max(1);
        let in_flight: u32 = self.blocks.iter().map(|block| block.owed).sum();
        let bits = 8 * u64::from(self.config.packet_bytes) * u64::from(in_flight + packets);
        let drained = Duration::from_secs_f64(DRAIN_MARGIN * bits as f64 / rate as f64);
        drained.min(MOST_DRAIN) + ANSWER_MARGIN
    }

    /// Improved mode: sets the time at which the next packet may leave. x_s counts decoded packets,
    /// so symbols leave at x_s / (1 - P).
    pub(super) fn pace(&mut self, payload: usize, now: Time) {
        if let Some(rate) = self.rate.filter(|_| self.is_improved()) {
            let rate = PACE * rate.max(1) as f64 / (1.0 - self.loss.get());
            let gap = Duration::from_secs_f64(8.0 * payload as f64 / rate);
            self.paced = self.paced.max(now) + gap;
        }
    }

    /// Sets the time at which the sender stops to wait for an answer to the last request.
    pub(super) fn await_answer(&mut self, now: Time) {
        let factor = 1u32 << self.probes.saturating_sub(PATIENT_PROBES).min(6);
        self.probe_at = now + (self.answer_limit() * factor).min(MOST_ANSWER);
    }

    /// Improved mode: no answer has come. Sends a symbol that asks for one. After four probes without an answer, each
    /// further probe has twice as many symbols, because a burst of losses may take several packets.
    pub(super) fn probe(&mut self, now: Time) {
        self.counts.timeouts += 1;
        let symbols = (1 << self.probes.saturating_sub(SINGLE_PROBES).min(31)).min(MOST_PROBE_SYMBOLS);
        self.probes = self.probes.saturating_add(1);
        self.probing = symbols;
        self.await_answer(now);
        if self.blocks.iter().all(|block| block.owed == 0)
            && let Some(block) = self.blocks.iter_mut().find(|block| !block.is_decoded)
        {
            block.owed += symbols;
        }
    }

    /// Repaired mode: handles the timers of blocks.
    pub(super) fn time_out_blocks(&mut self, now: Time) {
        for at in 0..self.blocks.len() {
            let block = &self.blocks[at];
            if block.due > now || block.is_decoded {
                continue;
            }
            self.counts.timeouts += 1;
            let added = self.lacking(at);
            self.blocks[at].owed += added;
            self.blocks[at].due = now + self.drain_time(0);
        }
    }
}

/// Adds an entry to a list of at most `most` entries. The oldest entry makes room.
pub(super) fn remember<T>(list: &mut VecDeque<T>, entry: T, most: usize) {
    if list.len() >= most {
        list.pop_front();
    }
    list.push_back(entry);
}

/// The rate that is assumed for [`LtSender::drain_time`] if no rate was set, bit/s: 100 kbit/s, less
/// than the paper's paths carry. Half the value doubles the wait after a lost LT-ACK.
const UNKNOWN_RATE: u64 = 100_000;
/// How many times the airtime of the packets in flight the sender waits. The rate x_s is a bound, and
/// collisions and other flows make the path slower. On the path of paper 004 with a loss of .1 on each
/// link, half the value gives 118 instead of 103 kbit/s. But the wait must be longer than the path
/// needs: with a quarter of the value, the sender adds symbols to a path that is full already.
const DRAIN_MARGIN: f64 = 3.0;
/// The longest wait for all packets in flight to leave the path. A full queue makes the estimate of the loss large, and
/// a block of 64 packets then has 640 symbols, so the wait could be minutes. No queue holds packets for 10 s, a third
/// of this time. Half the value still has no effect on the paths of paper 004. Double the value doubles the longest
/// stall after an LT-ACK is lost.
const MOST_DRAIN: Duration = Duration::from_secs(30);
/// The part of the wait that does not depend on the packets in flight: the time of an LT-ACK.
const ANSWER_MARGIN: Duration = Duration::from_millis(300);
/// How much faster than x_s / (1 - P) the sender may send. C_g is a model of the path, and saturated
/// UDP carries up to 4 % more than the model says (paper 004's path without loss). With a value
/// below 1.05, the model limits the flow. With a large value, a flow that gets its packets through more
/// easily takes more than its share.
pub const PACE: f64 = 1.25;
/// How long the sender waits for the first answer. RFC 6298 waits for 1 s as well.
const FIRST_ANSWER: Duration = Duration::from_secs(1);
/// The shortest wait for an answer. The estimate of a path with little variation would otherwise be
/// shorter than the time between two polls of a busy machine.
const LEAST_ANSWER: Duration = Duration::from_millis(50);
/// How many probes are sent at the same interval. After them, the interval doubles with each probe.
/// On a path that loses half of the packets in each direction, a probe has an answer with a
/// probability of 1/4, and six probes with .82.
const PATIENT_PROBES: u32 = 6;
/// How many times a probe of one symbol is repeated before probes grow. On the path of paper 004, LT-ACKs collide with
/// packets, and more symbols delay the answers. With 0, when all probe symbols also asked for LT-ACKs, a loss of .1 on each
/// link left 194 instead of 197 kbit/s. With a larger value, a burst of losses stops a session for longer.
const SINGLE_PROBES: u32 = 3;
/// The largest number of symbols of a probe. Bursts of 16 losses in each direction stop a session with single probes for
/// many seconds, because each probe takes one packet of the burst. With half the value, such a stop needs more probes. With
/// double the value, a path that has failed gets 32 packets in 2 s.
const MOST_PROBE_SYMBOLS: u32 = 16;
/// The longest wait for an answer. After a blackout, the session goes on within this time.
const MOST_ANSWER: Duration = Duration::from_secs(2);
