//! Links whose queue discipline decides later: CoDel and FQ.
//!
//! The fate of a packet is decided when the packet leaves the queue, that is, when the transmitter
//! becomes free. The random numbers of the packet are drawn when it is offered, with the settings of
//! that moment, so the k-th packet meets the same chances as on any other link.

use super::{Backlog, Draws, Link, Packet};
use crate::config::LinkConfig;
use crate::fate::{DropReason, Fate};
use crate::queue::{Entry, FairQueue, Taken};
use ripstop_base::Time;
use std::collections::VecDeque;

/// The queue of a link with CoDel or FQ.
#[derive(Clone, Debug)]
pub(super) struct Scheduled {
    queue: FairQueue,
    /// Fates that [`Link::poll`] has not told yet, by the packets' tags.
    decided: VecDeque<(u64, Fate)>,
    /// One more than the largest index of the packets sent so far.
    sent: u64,
}

impl Scheduled {
    /// The queue of a link with these settings; None if the link decides immediately.
    pub(super) fn new(config: &LinkConfig) -> Option<Scheduled> {
        let queue = FairQueue::new(&config.queue_discipline)?;
        Some(Scheduled { queue, decided: VecDeque::new(), sent: 0 })
    }
}

impl Link {
    /// The next packet whose fate was decided by `now`: the tag that it was offered with, and its
    /// fate, which is not [`Fate::Queued`]. None if there is no such packet. The caller repeats the
    /// call until None comes.
    ///
    /// Only packets that were answered with [`Fate::Queued`] are told here.
    pub fn poll(&mut self, now: Time) -> Option<(u64, Fate)> {
        self.scheduled.as_ref()?;
        self.now = self.now.max(now);
        self.serve_queue();
        self.scheduled.as_mut()?.decided.pop_front()
    }

    /// When to call [`Link::poll`]: when the fate of a packet is decided. None if no packet waits. An
    /// earlier call does no harm, and a later call makes the packets late.
    pub fn poll_at(&self) -> Option<Time> {
        let scheduled = self.scheduled.as_ref()?;
        if !scheduled.decided.is_empty() {
            return Some(self.now);
        }
        (scheduled.queue.backlog().packets > 0).then(|| self.serialiser.free_at())
    }

    /// Whether [`Link::offer`] always answers with the final fate, so that [`Link::poll`] is not
    /// needed.
    pub fn answers_at_once(&self) -> bool {
        self.scheduled.is_none()
    }

    /// Offers packet number `index` at `self.now`.
    pub(super) fn offer_scheduled(&mut self, index: u64, packet: Packet) -> Fate {
        let (now, bytes) = (self.now, packet.bytes);
        // A packet that is offered at the moment at which the transmitter becomes free finds the
        // queue after the next packet has left.
        self.serve_queue();
        let backlog = self.waiting_now();
        let refused = self.refuses(now, bytes);
        let marked = self.draw_mark();
        let mut draws = self.draw(index, bytes, refused.is_none(), self.entry_step);
        if let Some(reason) = refused {
            let fate = Fate::Refused { reason };
            self.count(&fate, bytes, &draws);
            return fate;
        }
        let waits = self.serialiser.free_at() > now;
        draws.congested = marked || waits && self.is_congested(bytes, &backlog);
        let may_mark = self.configured.ecn && packet.ect;
        let entry = Entry { tag: packet.tag, index, bytes, since: now, may_mark, draws };
        if !waits {
            // The queue is empty, so the packet begins to leave immediately.
            return self.send(entry, now);
        }
        self.enqueue(entry, packet.flow)
    }

    /// How many packets and bytes wait at `self.now`.
    pub(super) fn scheduled_backlog(&mut self) -> Backlog {
        self.serve_queue();
        self.waiting_now()
    }

    fn waiting_now(&self) -> Backlog {
        self.scheduled.as_ref().map_or(Backlog::default(), |scheduled| scheduled.queue.backlog())
    }

    /// Puts a packet into the queue, and drops packets that no longer fit.
    fn enqueue(&mut self, entry: Entry, flow: u64) -> Fate {
        let limit = self.steps.get(self.entry_step).and_then(|settings| settings.queue);
        let refused = Fate::Refused { reason: DropReason::Queue };
        let mut fate = Fate::Queued;
        let Some(mut scheduled) = self.scheduled.take() else { return fate };
        let mut dropped = scheduled.queue.push(entry, flow, limit);
        while let Some(old) = dropped {
            self.count(&refused, old.bytes, &Draws::default());
            if old.index == entry.index {
                fate = refused;
            } else {
                scheduled.decided.push_back((old.tag, refused));
            }
            dropped = scheduled.queue.shed(limit);
        }
        let backlog = scheduled.queue.backlog();
        self.counters.queue_max_packets = self.counters.queue_max_packets.max(backlog.packets);
        self.counters.queue_max_bytes = self.counters.queue_max_bytes.max(backlog.bytes);
        self.scheduled = Some(scheduled);
        fate
    }

    /// Takes packets out of the queue, as long as the transmitter becomes free by `self.now`.
    fn serve_queue(&mut self) {
        let Some(mut scheduled) = self.scheduled.take() else { return };
        while self.serialiser.free_at() <= self.now && scheduled.queue.backlog().packets > 0 {
            let at = self.serialiser.free_at();
            match scheduled.queue.take(at) {
                Some(Taken::Sent(mut entry, marked)) => {
                    entry.draws.marked = marked;
                    entry.draws.congested |= self.waits_long(entry.since, at);
                    self.counters.overtaken_in_queue += u64::from(entry.index < scheduled.sent);
                    scheduled.sent = scheduled.sent.max(entry.index + 1);
                    let fate = self.send(entry, at);
                    scheduled.decided.push_back((entry.tag, fate));
                }
                Some(Taken::Dropped(entry)) => {
                    let fate = Fate::Refused { reason: DropReason::Aqm };
                    self.count(&fate, entry.bytes, &entry.draws);
                    scheduled.decided.push_back((entry.tag, fate));
                }
                None => break,
            }
        }
        self.scheduled = Some(scheduled);
    }

    /// Serialises a packet that leaves the queue at `at`, when the transmitter is free.
    fn send(&mut self, entry: Entry, at: Time) -> Fate {
        let slot = self.serialiser.serve(at, entry.bytes as u128, &self.rates);
        let counters = &mut self.counters;
        counters.rate_steps = self.serialiser.step() as u64;
        counters.serialised += 1;
        counters.serialised_bytes = counters.serialised_bytes.saturating_add(entry.bytes as u64);
        self.note_wait(at.nanos_since(entry.since), entry.bytes as u64);
        self.exit_step = self.steps.index(self.exit_step, slot.end);
        self.counters.changes_applied = self.exit_step as u64;
        let fate = self.carry(slot.end, entry.draws);
        self.count(&fate, entry.bytes, &entry.draws);
        fate
    }
}
