//! Symbols over a path: source symbols, repairs of lost ones, and the decoder.
//!
//! ```text
//!  Supplier -> sources (coding window) -+-> packets for the path
//!              repairs, blocks ---------+
//!  report: which symbols are missing -> sources, repairs
//!  source, repair -> receive (decoder) -> Recipient
//!                      +-> report: which symbols are missing
//! ```
//!
//! The coder does not know what a symbol holds. A `Supplier` fills symbols, and learns what became of each. A
//! `Recipient` takes the symbols of the peer. The [`path`](crate::path) decides when a datagram may leave.
//!
//! Terms of this module and its files:
//!
//! * A *repair* is a linear combination of source symbols. These symbols are the *members* of the
//!   repair. The repair *spans* its members.
//! * The *coding window* holds the source symbols that repairs may still span. These symbols are
//!   *outstanding*.
//! * A *report* of symbols tells the sender which symbols are missing.
//! * An *exact repair* answers a report. A *proactive repair* is sent before a loss is known.
//! * The *deadline* is how long the ends wait for a symbol before they give up the symbol.

mod announcement;
mod blocks;
mod counts;
mod memory;
mod receive;
mod repair;
mod sent;
mod settings;
mod sources;
mod supplier;
mod view;
pub mod written;

pub use blocks::BlockCounts;
pub use counts::{ClassCounts, CodingCounts};
pub(crate) use memory::{PACKET, SLOT};
pub use receive::ReceiveCounts;
pub(crate) use receive::{Receiver, Recipient};
pub use repair::RepairCounts;
pub(crate) use sent::Sent;
pub(crate) use settings::CodingConfig;
pub use settings::{BlockLength, BlockSettings, Code};
pub(crate) use supplier::{Fate, Supplied, Supplier, Tag, Turns};
pub(crate) use view::PathView;

use crate::control::redundancy::Explanation;
use crate::path::{Outcome, Path, RECORD_BYTES};
use crate::wire::{Packet, SymbolReport, Window, whole_micros};
use announcement::{Announcement, reach};
use blocks::Blocks;
use repair::{PlannedRepair, Purpose, Repairs};
use ripstop_base::{Seed, Time};
use ripstop_codes::Payload;
use ripstop_codes::window::Coding as Coefficients;
use sources::Sources;
use std::time::Duration;

/// The part of a session's share of the memory that the sending half may take although the session is above its share.
/// Otherwise packets that wait at the receiving half could stop the sending half. Half the value sends less in this case.
/// With double the value, a session exceeds its share by up to a half.
const LEAST_SENDING: f64 = 0.25;

/// A packet that carries something of the coder, and the name by which the path returns its fate.
pub(crate) type Carried<P> = (Sent, Packet<P>);

/// Both halves of the coder at one end of a session.
#[derive(Debug)]
pub(crate) struct Coding<P: Payload> {
    sources: Sources<P>,
    repairs: Repairs,
    /// None: the code is not a block code.
    blocks: Option<Blocks<P>>,
    receiver: Receiver<P>,
    announcement: Announcement,
    /// The largest number of redundant repairs in the peer's reports.
    redundant: u64,
    /// Limit on the number of outstanding symbols.
    window_symbols: usize,
    /// The bytes from which the coding window no longer grows, while the process is short of memory.
    memory_limit: Option<usize>,
    /// The seed of the last repair's coefficients. Each repair takes the next seed.
    seed: u16,
    counts: CodingCounts,
}

impl<P: Payload> Coding<P> {
    /// No symbol has left and none has arrived. `seed` decides when proactive repairs leave and which coefficients they have.
    pub(crate) fn new(config: CodingConfig, seed: Seed) -> Coding<P> {
        Coding {
            sources: Sources::new(),
            repairs: Repairs::new(
                config.redundancy,
                config.max_overhead_bulk,
                config.max_overhead_interactive,
                config.path_mtu,
                seed.stream("repairs"),
            ),
            blocks: match config.code {
                Code::Window => None,
                Code::Block(settings) => Some(Blocks::new(settings)),
            },
            receiver: Receiver::new(config.window_symbols, config.matrix_bytes),
            announcement: Announcement::new(),
            redundant: 0,
            window_symbols: config.window_symbols as usize,
            memory_limit: None,
            seed: seed.stream("coefficients").next_u64() as u16,
            counts: CodingCounts::default(),
        }
    }

    /// Sets the path's MTU, bytes. Symbols of more than `longest` bytes no longer fit a datagram, and are given up together
    /// with all earlier symbols.
    pub(crate) fn set_mtu(&mut self, mtu: u32, longest: u32, supplier: &mut impl Supplier<P>) {
        self.repairs.set_packet(mtu);
        if self.sources.give_up_longer(longest, supplier) {
            self.announcement.request();
        }
    }

    // The sending half.

    /// Whether the coding window has room for one more source symbol. `others` computes the memory that the session holds
    /// besides this coder's, without its queues.
    pub(crate) fn is_open(&self, others: impl FnOnce() -> usize) -> bool {
        self.sources.len() < self.window_symbols && self.has_memory(others)
    }

    /// The source symbol that leaves at `now`.
    pub(crate) fn source(&mut self, now: Time, supplied: Supplied<P>) -> Carried<P> {
        let (id, bytes) = (self.sources.next(), supplied.payload.len());
        self.sources.push(now, &supplied);
        let Supplied { kind, payload, interactive, .. } = supplied;
        match &mut self.blocks {
            Some(blocks) => blocks.on_source(now, id),
            None => self.repairs.on_source(now, interactive, bytes as u32),
        }
        let class = self.counts.of_class(interactive);
        class.packets += 1;
        class.bytes += bytes as u64;
        self.counts.sources += 1;
        self.counts.source_bytes += bytes as u64;
        (Sent::Source(id), Packet::Source { id, kind, payload })
    }

    /// The repair that leaves at `now`, if one is due.
    pub(crate) fn repair(&mut self, now: Time, path: &Path<Sent>, view: &PathView) -> Option<Carried<P>> {
        if let Some(blocks) = &mut self.blocks {
            let packet = blocks.repair(now, path, &self.sources)?;
            if let Packet::BlockRepair { payload, .. } = &packet {
                self.counts.repair_bytes += payload.len() as u64;
            }
            return Some((Sent::BlockRepair, packet));
        }
        let plan = self.repairs.plan(now, &mut self.sources, view)?;
        self.make(now, &plan)
    }

    /// The repair that a probe carries. A block code sends no repair of its own accord.
    pub(crate) fn probe(&mut self, now: Time, view: &PathView) -> Option<Carried<P>> {
        if self.blocks.is_some() {
            return None;
        }
        let plan = self.repairs.plan_probe(&self.sources, view)?;
        self.make(now, &plan)
    }

    /// Makes the repair of `plan`. `None`: a member of the repair has left the coding window.
    fn make(&mut self, now: Time, plan: &PlannedRepair) -> Option<Carried<P>> {
        self.seed = self.seed.wrapping_add(1);
        // The encoder refuses a member that has left the coding window. A plan is sent right after
        // it was made, so this does not happen.
        let payload = self.sources.encoder().repair(&plan.members, self.seed).ok()?;
        let sent = match plan.purpose {
            Purpose::Exact(group) => Sent::Exact(group),
            Purpose::Interactive | Purpose::Bulk => Sent::Proactive(self.repairs.next_proactive()),
        };
        self.repairs.sent(now, plan, &mut self.sources);
        self.counts.repair_bytes += payload.len() as u64;
        if !matches!(plan.purpose, Purpose::Exact(_)) {
            let class = self.counts.of_class(plan.purpose == Purpose::Interactive);
            class.repairs += 1;
            class.repair_bytes += payload.len() as u64;
        }
        let coding = Coefficients::Seed(self.seed);
        Some((sent, Packet::Repair { members: plan.members.clone(), coding, payload }))
    }

    /// When a repair may be due next.
    pub(crate) fn next_due(&self, path: &Path<Sent>, view: &PathView) -> Option<Time> {
        match &self.blocks {
            Some(blocks) => blocks.next_due(path),
            None => self.repairs.next_due(&self.sources, view),
        }
    }

    /// Whether a repair may be due as soon as the path allows it.
    pub(crate) fn may_repair(&self) -> bool {
        self.repairs.may_be_due()
    }

    /// Whether symbols are outstanding: neither known to be decoded nor given up.
    pub(crate) fn is_outstanding(&self) -> bool {
        self.sources.len() > 0
    }

    /// Number of outstanding symbols, and how many of them are known to be lost.
    pub(crate) fn outstanding(&self) -> (usize, usize) {
        (self.sources.len(), self.sources.lost_count())
    }

    /// The base of the coding window: symbols before it are decoded or given up.
    pub(crate) fn base(&self) -> u64 {
        self.sources.first()
    }

    /// The number that the next source symbol will have.
    pub(crate) fn next(&self) -> u64 {
        self.sources.next()
    }

    /// The largest number of redundant repairs in the peer's reports.
    pub(crate) fn redundant(&self) -> u64 {
        self.redundant
    }

    /// Takes what became of a datagram. When a window announcement was lost, a new one is sent.
    pub(crate) fn settle(&mut self, outcome: Outcome<Sent>, supplier: &mut impl Supplier<P>) {
        let (sent, received) = match outcome {
            Outcome::Received(sent) => (sent, true),
            Outcome::Lost(sent) => (sent, false),
            Outcome::Late(Sent::Source(id)) => return self.sources.received(id, supplier),
            Outcome::Late(_) => return,
        };
        match sent {
            Sent::Source(id) if received => self.sources.received(id, supplier),
            Sent::Source(id) => self.sources.lost(id),
            Sent::Exact(group) => self.repairs.exact_settled(group, received),
            Sent::Proactive(number) => self.repairs.proactive_settled(number, received),
            Sent::BlockRepair => self.blocks.iter_mut().for_each(|blocks| blocks.settled(received)),
            Sent::Window if received => {}
            Sent::Window => self.announcement.request(),
        }
    }

    /// Takes the newest report of the symbols. Returns the holes, for [`Coding::repair_holes`].
    pub(crate) fn take_report(&mut self, report: &SymbolReport, supplier: &mut impl Supplier<P>) -> Vec<u64> {
        self.redundant = self.redundant.max(report.redundant);
        self.counts.peer_undecoded = u64::from(report.undecoded);
        self.counts.peer_redundant = report.redundant;
        self.sources.take(report, supplier)
    }

    /// Works out which exact repairs are due for the holes of the newest `report`.
    pub(crate) fn repair_holes(&mut self, now: Time, holes: &[u64], report: &SymbolReport, view: &PathView) {
        if self.blocks.is_none() {
            self.repairs.take_holes(now, holes, report.redundant, &self.sources, view);
        }
    }

    /// For how long the oldest outstanding symbol has been outstanding.
    pub(crate) fn oldest(&self, now: Time) -> Duration {
        self.sources.sent(self.sources.first()).map_or(Duration::ZERO, |sent| now.since(sent))
    }

    /// Gives up the symbols that were sent longer than `deadline` ago.
    pub(crate) fn expire(&mut self, now: Time, deadline: Duration, supplier: &mut impl Supplier<P>) {
        if self.sources.expire(now, deadline, supplier) {
            self.announcement.request();
        }
    }

    /// When [`Coding::expire`] is due next.
    pub(crate) fn expires(&self, deadline: Duration) -> Option<Time> {
        self.sources.expires(deadline)
    }

    /// Whether the peer receives datagrams, but no block repairs. True once: it is too old for a block code.
    pub(crate) fn take_blocks_ignored(&mut self) -> bool {
        self.blocks.as_mut().is_some_and(|blocks| blocks.take_ignored())
    }

    // Window announcements.

    /// Notes that the report interval or the deadline may have changed.
    pub(crate) fn outdate_announcement(&mut self) {
        self.announcement.outdate();
    }

    /// The announcement that is due, if one is.
    pub(crate) fn announcement(&mut self, path: &Path<Sent>, deadline: Duration) -> Option<Window> {
        let (blocks, base, reach) = (&self.blocks, self.sources.first(), reach(self.sources.len()));
        let now = || {
            let deadline = blocks.as_ref().map_or(deadline, |blocks| blocks.wait(path).min(deadline));
            Window { base, reach, report_every: path.report_interval(), deadline: whole_micros(deadline) }
        };
        if !self.announcement.is_due(reach, now) {
            return None;
        }
        let window = now();
        self.announcement.sent(window);
        Some(window)
    }

    // The receiving half.

    /// Takes a source symbol or a repair of the peer. Other packets are none of the coder's.
    pub(crate) fn take(&mut self, now: Time, packet: Packet<P>, to: &mut impl Recipient<P>) {
        match packet {
            Packet::Source { id, payload, .. } => self.receiver.source(now, id, payload, to),
            Packet::Repair { members, coding, payload } => self.receiver.repair(now, &members, &coding, payload, to),
            Packet::BlockRepair { first, k, number, payload } => {
                if let Some((members, coding)) = crate::wire::block_coding(first, k, number) {
                    self.receiver.repair(now, &members, &coding, payload, to);
                }
            }
            _ => {}
        }
    }

    /// Takes a window announcement of the peer.
    pub(crate) fn take_window(&mut self, now: Time, window: &Window, to: &mut impl Recipient<P>) {
        self.receiver.window(now, window, to);
    }

    /// The receiving half, for what needs nothing of the sending half.
    pub(crate) fn receiver(&mut self) -> &mut Receiver<P> {
        &mut self.receiver
    }

    /// What the receiving half knows.
    pub(crate) fn received(&self) -> &Receiver<P> {
        &self.receiver
    }

    // What the coder costs, and what it has done.

    /// Number of lost symbols that reports were compared with so far.
    pub(crate) fn compared(&self) -> u64 {
        self.sources.compared()
    }

    /// Memory of the coding window, bytes.
    pub(crate) fn sending_bytes(&self) -> usize {
        self.sources.held_bytes() + self.sources.len() * PACKET
    }

    /// Memory of the coding window and of the datagrams that carry it, bytes.
    pub(crate) fn window_bytes(&self) -> usize {
        self.sending_bytes() + self.sources.len() * RECORD_BYTES
    }

    /// Memory of the receiving half, bytes.
    pub(crate) fn receiving_bytes(&self) -> usize {
        self.receiver.bytes() + self.receiver.payloads() * SLOT
    }

    /// Frees memory of the receiving half. From now on the coding window grows only while the session holds less than
    /// `share` bytes. None: without such a limit.
    pub(crate) fn shrink(&mut self, share: usize) {
        self.receiver.shrink();
        self.memory_limit = Some(share);
    }

    /// Ends the limit that [`Coding::shrink`] has set.
    pub(crate) fn lift_limit(&mut self) {
        self.memory_limit = None;
    }

    /// Gives up the oldest symbols, until the window holds `above` bytes less, or nothing.
    pub(crate) fn cut_window(&mut self, mut above: usize, supplier: &mut impl Supplier<P>) {
        while above > 0
            && let Some(given_up) = self.sources.give_up_oldest(supplier)
        {
            above = above.saturating_sub(given_up.bytes + PACKET);
            if given_up.unknown {
                self.counts.given_up_for_memory += 1;
                self.announcement.request();
            }
        }
    }

    /// Whether the coding window may grow under the limit that [`Coding::shrink`] has set.
    fn has_memory(&self, others: impl FnOnce() -> usize) -> bool {
        self.memory_limit.is_none_or(|limit| {
            // The queue does not count: a packet that leaves it takes no more memory than before. Datagrams whose fate is
            // known do not count: they are forgotten only when further reports come.
            let (receiving, sending) = (self.receiving_bytes() + others(), self.window_bytes());
            sending + receiving < limit || (sending as f64) < LEAST_SENDING * limit as f64
        })
    }

    /// What was sent so far.
    pub(crate) fn counts(&self) -> CodingCounts {
        self.counts
    }

    /// Repairs sent so far.
    pub(crate) fn repair_counts(&self) -> RepairCounts {
        self.repairs.counts()
    }

    /// What the block code has sent. None: the code is not a block code.
    pub(crate) fn block_counts(&self) -> Option<BlockCounts> {
        self.blocks.as_ref().map(|blocks| blocks.counts())
    }

    /// Why bulk and interactive flows have the present number of proactive repairs. `measured` is the share of packets lost
    /// from all causes, for bulk and for interactive flows.
    pub(crate) fn explain(&self, now: Time, view: &PathView, measured: (f64, f64)) -> [Explanation; 2] {
        self.repairs.explain(now, view, measured)
    }
}
