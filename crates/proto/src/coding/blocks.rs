//! The block code of the sending half ([`Code::Block`](super::Code::Block), paper 003): after K source symbols leave the N - K
//! repairs of their block. Nothing is sent again, and no report causes a repair. Reports serve the rate control, and the
//! choice of N.

use super::sent::Sent;
use super::settings::{BlockLength, BlockSettings};
use super::sources::Sources;
use crate::control::block::best_n;
use crate::control::loss::Losses;
use crate::path::Path;
use crate::wire::{MAX_BLOCK_REPAIRS, Packet, block_coding};
use ripstop_base::Time;
use ripstop_codes::Payload;
use std::collections::VecDeque;
use std::time::Duration;

/// Time between two choices of N. Half the value follows changes of the path sooner, and computes more. Double the value
/// keeps an N that no longer fits for up to 400 ms.
const CHOOSE_EVERY: Duration = Duration::from_millis(200);
/// N is chosen for this multiple of the path's measured rate. While losses limit a TCP, the measured rate is that of the
/// TCP. With half the value, N would fit this rate, and the TCP could not grow. Double the value sends about one repair
/// more for each block.
const HEADROOM: f64 = 2.0;
/// Shortest wait for the next packet before a block that is not full ends. Half the value makes more short blocks, which
/// have relatively more repairs. With double the value, the last packets before a pause are restored later.
const LEAST_FLUSH: Duration = Duration::from_millis(10);
/// Longest such wait. Half and double the value matter only on paths that need more than this time for a block.
const MOST_FLUSH: Duration = Duration::from_millis(500);
/// How much longer than two waits for a packet the peer waits for a missing one: repairs may be late on a path with jitter,
/// and on a busy host. With half the value, the peer sometimes goes on before a repair arrives. Double the value delays the
/// packets behind a loss that cannot be recovered.
const LATE: Duration = Duration::from_millis(50);
/// When this number of block repairs was lost and none was received, the peer does not know block repairs. Half the value
/// may be wrong on a path that loses 90 % of the packets. Double the value finds out later.
const IGNORED: u64 = 100;

/// What the block code has sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// K and N of a full block now.
    pub shape: (u8, u8),
    /// Blocks sent.
    pub blocks: u64,
    /// Blocks that ended early, because no packet came for a while.
    pub flushed: u64,
    /// Repairs sent.
    pub repairs: u64,
}

/// A block that has ended, and whose repairs have not been made.
#[derive(Clone, Copy, Debug)]
struct Ended {
    first: u64,
    k: u8,
    repairs: u8,
}

/// A repair that waits to be sent.
#[derive(Debug)]
struct Ready<P> {
    first: u64,
    k: u8,
    number: u8,
    payload: P,
}

/// The block that is being sent, and the repairs of the blocks before.
#[derive(Debug)]
pub(super) struct Blocks<P> {
    settings: BlockSettings,
    n: u8,
    chosen: Option<Time>,
    /// The first symbol of the open block, and the number of symbols in it.
    first: u64,
    count: u8,
    /// When the last symbol left.
    last: Time,
    /// Blocks that have ended, and whose repairs are not made yet. The sources of a silence may end several.
    ended: VecDeque<Ended>,
    ready: VecDeque<Ready<P>>,
    /// Block repairs that were received, and lost.
    fates: (u64, u64),
    /// Set once, when it is clear that the peer ignores block repairs.
    ignored: bool,
    counts: BlockCounts,
}

impl<P: Payload> Blocks<P> {
    pub(super) fn new(settings: BlockSettings) -> Blocks<P> {
        let n = match settings.n {
            BlockLength::Fixed(n) => n.max(settings.k),
            _ => settings.k,
        };
        let (first, count, last) = (0, 0, Time::ZERO);
        let counts = BlockCounts { shape: (settings.k, n), ..BlockCounts::default() };
        let (ended, ready) = (VecDeque::new(), VecDeque::new());
        Blocks { settings, n, chosen: None, first, count, last, ended, ready, fates: (0, 0), ignored: false, counts }
    }

    /// Records that source symbol `id` leaves.
    pub(super) fn on_source(&mut self, now: Time, id: u64) {
        if self.count == 0 {
            self.first = id;
        }
        self.count += 1;
        self.last = now;
        if self.count >= self.settings.k {
            self.end();
        }
    }

    /// Records the fate of a block repair.
    pub(super) fn settled(&mut self, received: bool) {
        let (arrived, lost) = &mut self.fates;
        *(if received { &mut *arrived } else { &mut *lost }) += 1;
        self.ignored |= *arrived == 0 && *lost == IGNORED && !received;
    }

    /// Whether it has become clear that the peer ignores block repairs. True once.
    pub(super) fn take_ignored(&mut self) -> bool {
        std::mem::take(&mut self.ignored)
    }

    /// How long a block waits for its next packet: the time of a block on the path, within limits.
    fn flush(&self, path: &Path<Sent>) -> Duration {
        let bytes = f64::from(self.n) * f64::from(path.mtu());
        let time = Duration::from_secs_f64((bytes / path.view().bandwidth.max(1.0)).min(10.0));
        time.clamp(LEAST_FLUSH, MOST_FLUSH)
    }

    /// How long the peer shall wait for a missing symbol: until the repairs of its block have arrived.
    pub(super) fn wait(&self, path: &Path<Sent>) -> Duration {
        2 * self.flush(path) + LATE
    }

    /// When a repair is due. None: no block is open.
    pub(super) fn next_due(&self, path: &Path<Sent>) -> Option<Time> {
        if !self.ended.is_empty() || !self.ready.is_empty() {
            return Some(self.last);
        }
        (self.count > 0).then(|| self.last + self.flush(path))
    }

    /// The next repair of a block, if one is due.
    pub(super) fn repair(&mut self, now: Time, path: &Path<Sent>, sources: &Sources<P>) -> Option<Packet<P>> {
        let flush = self.flush(path);
        let losses = Losses { share: path.losses().proactive(now), ..path.losses().losses() };
        let packets = HEADROOM * path.view().bandwidth / f64::from(path.mtu());
        self.choose(now, losses, packets, path.srtt());
        self.prepare(now, flush, sources);
        let Ready { first, k, number, payload } = self.ready.pop_front()?;
        self.counts.repairs += 1;
        Some(Packet::BlockRepair { first, k, number, payload })
    }

    pub(super) fn counts(&self) -> BlockCounts {
        self.counts
    }

    /// Ends the open block after a pause of `flush`, and makes the repairs of blocks that have ended. They are made
    /// together, because a later report may let the encoder forget symbols of the block.
    fn prepare(&mut self, now: Time, flush: Duration, sources: &Sources<P>) {
        if self.count > 0 && now >= self.last + flush {
            self.counts.flushed += 1;
            self.end();
        }
        while let Some(Ended { first, k, repairs }) = self.ended.pop_front() {
            // Symbols before the window's base are known to be decoded: the rest is a smaller block.
            let known = u8::try_from(sources.first().saturating_sub(first)).unwrap_or(u8::MAX).min(k);
            let (first, k) = (first + u64::from(known), k - known);
            for number in 0..repairs {
                let Some((members, coding)) = block_coding(first, k, number) else { break };
                let Ok(payload) = sources.encoder().explicit(&members, &coding.all(&members)) else { break };
                self.ready.push_back(Ready { first, k, number, payload });
            }
        }
    }

    /// Ends the open block. A short block gets its share of the repairs, rounded up.
    fn end(&mut self) {
        let (k, all) = (u16::from(self.settings.k), u16::from(self.n - self.settings.k));
        let repairs = (all * u16::from(self.count)).div_ceil(k).min(u16::from(MAX_BLOCK_REPAIRS)) as u8;
        self.ended.push_back(Ended { first: self.first, k: self.count, repairs });
        self.count = 0;
        self.counts.blocks += 1;
    }

    /// Chooses N anew if it is time.
    fn choose(&mut self, now: Time, measured: Losses, packets: f64, rtt: Duration) {
        let losses = match self.settings.n {
            BlockLength::Fixed(_) => return,
            BlockLength::For(losses) => losses,
            BlockLength::Measured => measured,
        };
        if self.chosen.is_none_or(|at| now.since(at) >= CHOOSE_EVERY) {
            self.chosen = Some(now);
            self.n = best_n(self.settings.k, losses, packets, rtt);
            self.counts.shape.1 = self.n;
        }
    }
}
