//! The random draws of one packet.

use super::Link;
use crate::config::Mark;
use crate::fate::Corruption;
use ripstop_base::Stream;

/// The results of one packet's random draws.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Draws {
    pub(super) lost: bool,
    /// Whether a block of the packet's units was lost.
    pub(super) block_lost: bool,
    pub(super) jitter: f64,
    pub(super) held_back: bool,
    pub(super) duplicated: bool,
    /// Whether the packet met congestion by the setting `mark`. The length of the queue, the wait or
    /// a draw decides.
    pub(super) congested: bool,
    /// Whether the queue discipline marked the packet. This is random only with PIE.
    pub(super) marked: bool,
    pub(super) corruption: Option<Corruption>,
}

impl Link {
    /// Draws whether the packet meets congestion by the share of [`LinkConfig::mark`](crate::config::LinkConfig::mark).
    pub(super) fn draw_mark(&mut self) -> bool {
        if !self.configured.mark_share {
            return false;
        }
        let draw = self.mark.unit();
        match self.steps.get(self.entry_step).and_then(|settings| settings.mark) {
            Some(Mark::Share(share)) => draw < share.get(),
            _ => false,
        }
    }

    /// Draws the random numbers of one packet, from every stream in use. The numbers are drawn for
    /// every packet offered, so the k-th packet always gets the same numbers of a stream. A block
    /// code sends units only if `sent` is true (the packet was not refused). The settings are those
    /// of step number `step`.
    pub(super) fn draw(&mut self, index: u64, bytes: usize, sent: bool, step: usize) -> Draws {
        let block_lost = match &mut self.codec {
            Some(codec) if sent => codec.loses(bytes, &mut self.counters),
            Some(codec) => {
                codec.skip();
                false
            }
            None => false,
        };
        let on = &self.configured;
        let Some(settings) = self.steps.get(step) else { return Draws::default() };
        let luck = |on: bool, stream: &mut Stream| if on { stream.unit() } else { 1.0 };
        let corrupted = luck(on.corrupt, &mut self.corrupt) < settings.corrupt;
        let bit = if on.corrupt { self.corrupt.below((bytes as u64).saturating_mul(8)) } else { 0 };
        Draws {
            lost: on.loss && self.channel.loses(&settings.loss, index),
            block_lost,
            // The share of the configured jitter that delays this packet; 0 without jitter.
            jitter: if on.jitter { self.jitter.unit() } else { 0.0 },
            held_back: luck(on.reorder, &mut self.reorder) < settings.reorder,
            duplicated: luck(on.duplicate, &mut self.duplicate) < settings.duplicate,
            congested: false,
            marked: false,
            corruption: (corrupted && bytes > 0)
                .then_some(Corruption { byte: (bit / 8) as usize, bit: (bit % 8) as u8 }),
        }
    }
}
