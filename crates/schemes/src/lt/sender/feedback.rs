//! What the sender learns from an LT-ACK.

use super::LtSender;
use crate::lt::{BlockState, LtAck, LtEvent, LtMode, LtReport, MAX_REPORTED};
use ripstop_base::Time;
use ripstop_codes::Payload;

impl<P: Payload> LtSender<P> {
    /// Takes an LT-ACK. An LT-ACK that cannot belong to this session is counted and dropped.
    pub(super) fn take_ack(&mut self, ack: LtAck, now: Time) {
        let mode_fits = match ack.report {
            LtReport::Block { .. } => !self.is_improved(),
            LtReport::All { .. } | LtReport::Opened => self.is_improved(),
            LtReport::Unknown => true,
        };
        if ack.session != self.session || !mode_fits {
            self.counts.invalid += 1;
            return;
        }
        // The rate comes with the answer that opens the connection, so it is set before the first block.
        let rate = self.rate;
        self.rate = ack.rate.or(rate);
        let is_valid = match ack.report {
            LtReport::Block { block, received, heard, is_decoded } => {
                self.take_block_report(block, received, heard, is_decoded, now)
            }
            LtReport::All { heard, received, decoded, blocks } => {
                self.take_full_report(heard, received, decoded, &blocks, now)
            }
            LtReport::Opened => self.opened(now),
            LtReport::Unknown => {
                // The receiver has restarted, or takes this session for one that has ended. It will never open the
                // session.
                self.end();
                true
            }
        };
        if is_valid {
            self.counts.lt_acks += 1;
        } else {
            self.counts.invalid += 1;
            self.rate = rate;
        }
    }

    /// The paper's LT-ACK: the report on one block. Returns whether the report is possible.
    fn take_block_report(&mut self, block: u64, received: u32, heard: u32, is_decoded: bool, now: Time) -> bool {
        if block >= self.oldest + self.blocks.len() as u64 {
            return false;
        }
        let Some(at) = block.checked_sub(self.oldest).map(|at| at as usize) else { return true };
        let state = &mut self.blocks[at];
        if heard > state.sent || received > heard {
            return false;
        }
        if state.is_decoded {
            return true;
        }
        if heard > state.heard {
            self.loss.add_block(u64::from(heard), u64::from(received));
        }
        state.heard = state.heard.max(heard);
        state.received = state.received.max(received);
        if !is_decoded {
            let added = self.lacking(at);
            self.blocks[at].owed += added;
            if self.config.mode == LtMode::Repaired {
                self.blocks[at].due = now + self.drain_time(0);
            }
            return true;
        }
        state.is_decoded = true;
        state.owed = 0;
        let began = state.began;
        self.block_time.add(began, now);
        self.release_decoded();
        self.acknowledge_decoded(now);
        true
    }

    /// The paper's top-up: ceil(L R - N_recv) symbols, at least 1.
    pub(super) fn lacking(&self, at: usize) -> u32 {
        let block = &self.blocks[at];
        let wanted = self.first_round(u32::from(block.k));
        wanted.saturating_sub(block.received).saturating_sub(block.owed).max(u32::from(block.owed == 0))
    }

    /// The improved LT-ACK: the report on all packets and blocks. Returns whether the report is
    /// possible.
    fn take_full_report(&mut self, heard: u64, received: u64, decoded: u64, blocks: &[BlockState], now: Time) -> bool {
        let end = self.oldest + self.blocks.len() as u64;
        if heard > self.number || received > heard || decoded > end || decoded + blocks.len() as u64 > end {
            return false;
        }
        if heard > self.heard && self.forgets(received, decoded, blocks) {
            self.end();
            return true;
        }
        if heard < self.heard || received < self.received || decoded < self.oldest {
            // An older report that was overtaken has no news.
            return true;
        }
        let arrived = (received - self.received).min(heard - self.heard);
        self.loss.add(heard - self.heard, arrived);
        (self.heard, self.received) = (heard, received);
        while let Some((number, sent)) = self.requests.front().copied()
            && number < heard
        {
            self.requests.pop_front();
            if number + 1 == heard {
                self.answers.add(now.since(sent));
            }
        }
        self.probes = 0;
        match self.requests.back() {
            Some((_, sent)) => self.await_answer(*sent),
            None => self.await_answer(now),
        }
        let is_systematic = self.config.code.is_systematic();
        let loss = self.loss.get();
        let mut is_oldest = true;
        for (at, block) in self.blocks.iter_mut().enumerate() {
            block.account(heard);
            let number = self.oldest + at as u64;
            let state = match number.checked_sub(decoded) {
                None => BlockState::DECODED,
                // A report may leave out the last blocks, so they may have arrived.
                Some(place) if place >= MAX_REPORTED as u64 => continue,
                Some(place) => blocks.get(place as usize).copied().unwrap_or(BlockState::UNHEARD),
            };
            let was_decoded = block.is_decoded;
            if !was_decoded && block.sent > 0 {
                block.top_up(state, is_systematic, is_oldest, loss);
                is_oldest &= block.is_decoded;
            }
            if block.is_decoded && !was_decoded {
                self.block_time.add(block.began, now);
            }
        }
        self.release_decoded();
        true
    }

    /// Whether a later report knows less than an earlier one. Then the receiver has restarted, and a late request of
    /// this session has opened the connection again. Blocks that are decoded here may be lost there.
    fn forgets(&self, received: u64, decoded: u64, blocks: &[BlockState]) -> bool {
        let is_decoded = |number: u64| match number.checked_sub(decoded) {
            None => true,
            Some(place) if place >= MAX_REPORTED as u64 => true,
            Some(place) => blocks.get(place as usize).is_some_and(|state| state.missing == 0),
        };
        let mut known = (self.oldest..).zip(&self.blocks).filter(|(_, block)| block.is_decoded);
        received < self.received || decoded < self.oldest || known.any(|(number, _)| !is_decoded(number))
    }

    /// The receiver has restarted.
    fn end(&mut self) {
        self.has_ended = true;
        self.events.push_back(LtEvent::PeerRestarted);
    }

    /// Forgets the oldest blocks that are decoded.
    fn release_decoded(&mut self) {
        while self.blocks.front().is_some_and(|block| block.is_decoded) {
            self.blocks.pop_front();
            self.oldest += 1;
            self.counts.decoded += 1;
        }
    }
}
