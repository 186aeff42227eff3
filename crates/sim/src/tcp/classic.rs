//! The sender of the ns-2 algorithms. It has the state that all ns-2 algorithms share (`core`), and passes each event
//! to the algorithm in use.

use super::reno::{NewReno, Reno, tahoe_on_ack};
use super::sack::Sack;
use super::sender::Core;
use super::vegas::Vegas;
use super::{Ack, SenderConfig};
use ripstop_base::{Stream, Time};

/// A sender with one of the ns-2 algorithms.
#[derive(Clone, Debug)]
pub(super) struct Classic {
    /// The state that all ns-2 algorithms share.
    pub(super) core: Core,
    /// The algorithm in use, with the state that only this algorithm has.
    pub(super) algorithm: Algorithm,
}

/// The ns-2 algorithms.
#[derive(Clone, Debug)]
pub(super) enum Algorithm {
    Tahoe,
    Reno(Reno),
    NewReno(NewReno),
    Sack(Sack),
    Vegas(Vegas),
}

impl Classic {
    pub(super) fn new(algorithm: Algorithm, config: SenderConfig, random: &mut Stream) -> Classic {
        Classic { core: Core::new(config, random), algorithm }
    }

    pub(super) fn offer(&mut self, now: Time, packets: u64) {
        let first = u64::from(self.core.end == 0);
        self.core.end = self.core.end.saturating_add(packets).saturating_add(first);
        self.core.fill(now, self.core.window(), u32::MAX);
        self.note_sent(now);
    }

    pub(super) fn stop(&mut self) {
        self.core.end = self.core.max;
    }

    pub(super) fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.core.counts.acks += 1;
        self.core.counts.duplicate_acks += u64::from(ack.next == self.core.una);
        match &mut self.algorithm {
            Algorithm::Tahoe => tahoe_on_ack(&mut self.core, now, ack),
            Algorithm::Reno(algorithm) => algorithm.on_ack(&mut self.core, now, ack),
            Algorithm::NewReno(algorithm) => algorithm.on_ack(&mut self.core, now, ack),
            Algorithm::Sack(algorithm) => algorithm.on_ack(&mut self.core, now, ack),
            Algorithm::Vegas(algorithm) => algorithm.on_ack(&mut self.core, now, ack),
        }
        self.note_sent(now);
    }

    pub(super) fn on_timeout(&mut self, now: Time) {
        if now < self.core.deadline {
            return;
        }
        match &mut self.algorithm {
            Algorithm::Tahoe => {
                self.core.time_out(now);
                self.core.fill(now, self.core.window(), u32::MAX);
            }
            Algorithm::Reno(algorithm) => algorithm.on_timeout(&mut self.core, now),
            Algorithm::NewReno(algorithm) => algorithm.on_timeout(&mut self.core, now),
            Algorithm::Sack(algorithm) => algorithm.on_timeout(&mut self.core, now),
            Algorithm::Vegas(algorithm) => algorithm.on_timeout(&mut self.core, now),
        }
        self.note_sent(now);
    }

    /// Tells Vegas which packets are sent now.
    fn note_sent(&mut self, now: Time) {
        if let Algorithm::Vegas(algorithm) = &mut self.algorithm {
            self.core.sent_now().for_each(|number| algorithm.on_sent(now, number));
        }
    }
}
