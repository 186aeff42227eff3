//! The budgets of the process, which all peers share: memory and computing work.
//!
//! A peer that keeps within its fair share is never held back. A peer that takes more may do so
//! while the process is within its budget. When a budget is used up, the peer that takes most above
//! its share gives way first.

use crate::tokens::TokenBucket;
use ripstop_base::Time;
use std::time::Duration;

/// The time for which a budget of work may be saved up. A burst of losses is repaired by a burst
/// of work. Half the value drops repairs after shorter bursts. Double the value lets a peer keep
/// the process busy for twice as long at a time.
const BURST: Duration = Duration::from_millis(100);
/// The time for which a peer may save up its own share of the work. An honest peer works little, except when it recovers
/// thousands of losses at once: the end of a start-up, or a rate that overruns the path. Decoding them takes several
/// seconds of the budget at once. Half the value drops repairs of such a peer more often. Double the value lets a hostile
/// peer keep the process busy for twice as long, once.
const SAVED: Duration = Duration::from_secs(2);
/// The time after which a peer without work no longer counts as active. The active peers share the
/// budget. Half the value gives the share of a silent peer to the others sooner. Double the value
/// holds the share for a peer that pauses.
const ACTIVE: Duration = Duration::from_secs(1);

/// The time between two reports that are taken from a peer in debt. Without reports this end would not know what the path
/// carries, and would fall silent. A report costs at most 16 MB: a comparison with each symbol of the window (13 MB), and
/// as many ranges as fit (3 MB). Half the value doubles the work that a hostile peer in debt can cause: .32 GB a second.
/// Double the value slows the repair of this end's losses.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// The longest time for which decoding is put off at once, s. A debt may last longer; then decoding
/// is put off again. Half or double the value change nothing else.
const LONGEST_WAIT: f64 = 1.0;

/// The memory of all sessions.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    /// The largest number of bytes.
    limit: usize,
    /// The bytes of all sessions.
    total: usize,
    /// When `total` exceeds this number of bytes, sessions are shrunk.
    next_check: usize,
    /// Whether sessions have been shrunk since the total was last below half the limit.
    pub(super) short: bool,
}

impl MemoryBudget {
    pub(super) fn new(limit: usize) -> MemoryBudget {
        MemoryBudget { limit, total: 0, next_check: limit, short: false }
    }

    /// Notes that a session's memory has changed from `before` to `now` bytes.
    pub(super) fn note(&mut self, before: usize, now: usize) {
        self.total = (self.total + now).saturating_sub(before);
    }

    /// The bytes of all sessions.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Whether sessions must be shrunk.
    pub(super) fn is_exceeded(&self) -> bool {
        self.total > self.next_check
    }

    /// Whether the total without the bytes that leave soon is still above the aim of shrinking: 7/8 of the limit.
    pub(super) fn is_above_aim(&self, leaves: usize) -> bool {
        self.total.saturating_sub(leaves) > self.limit - self.limit / 8
    }

    /// The bytes above the limit.
    pub(super) fn excess(&self) -> usize {
        self.total.saturating_sub(self.limit)
    }

    /// The fair share of one of `sessions`, bytes.
    pub(super) fn share(&self, sessions: usize) -> usize {
        self.limit / sessions.max(1)
    }

    /// Notes that the sessions were shrunk as far as possible. The next check is made when the
    /// total has grown by 1/64 of the limit, so that not each packet causes a search.
    pub(super) fn checked(&mut self) {
        self.next_check = self.limit.max(self.total + self.limit / 64);
        self.short = true;
    }

    /// Whether memory is plentiful again: the total has fallen below half the limit after sessions
    /// were shrunk. Returns true once.
    pub(super) fn recovered(&mut self) -> bool {
        let recovered = self.short && self.total < self.limit / 2;
        if recovered {
            self.short = false;
            self.next_check = self.limit;
        }
        recovered
    }
}

/// The computing work of all sessions, in the unit of
/// [`Tunnel::work`](crate::session::tunnel::Tunnel::work): bytes combined.
#[derive(Debug)]
pub(super) struct WorkBudget {
    /// Work per second.
    rate: f64,
    all: TokenBucket,
    /// The present period of [`ACTIVE`], and the numbers of peers that have worked in the previous
    /// and in the present period.
    period: u64,
    active: (u32, u32),
}

/// The work of one peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct PeerWork {
    own: TokenBucket,
    /// The peer's work when it was last charged.
    charged: u64,
    /// When a report was last taken although the peer was in debt.
    reported: Time,
    /// The last period in which the peer has worked.
    period: Option<u64>,
}

impl PeerWork {
    pub(super) fn new(now: Time) -> PeerWork {
        PeerWork { own: TokenBucket::full(0.0, 0.0, now), charged: 0, reported: Time::ZERO, period: None }
    }
}

impl WorkBudget {
    pub(super) fn new(rate: u64) -> WorkBudget {
        let rate = rate as f64;
        let all = TokenBucket::full(rate, rate * BURST.as_secs_f64(), Time::ZERO);
        WorkBudget { rate, all, period: 0, active: (0, 0) }
    }

    /// Whether a packet of the peer that may cause much work is accepted at `now`: the process is
    /// within its budget, or the peer is within its fair share.
    pub(super) fn allows(&mut self, now: Time, peer: &mut PeerWork) -> bool {
        self.refill(now, peer);
        self.all.is_open() || peer.own.is_open()
    }

    /// Whether a report of the peer is accepted at `now`. A peer in debt may report now and then.
    pub(super) fn allows_report(&mut self, now: Time, peer: &mut PeerWork) -> bool {
        let allowed = self.allows(now, peer) || now.since(peer.reported) >= REPORT_EVERY;
        if allowed {
            peer.reported = now;
        }
        allowed
    }

    /// Charges the peer for its work: `work` is the peer's total so far.
    pub(super) fn charge(&mut self, now: Time, peer: &mut PeerWork, work: u64) {
        let spent = work.saturating_sub(peer.charged) as f64;
        peer.charged = work;
        if spent == 0.0 {
            return;
        }
        self.refill(now, peer);
        if peer.period != Some(self.period) {
            peer.period = Some(self.period);
            self.active.1 += 1;
        }
        peer.own.spend(spent);
        self.all.spend(spent);
    }

    /// When the peer may cause work again. None: now.
    pub(super) fn opens(&mut self, now: Time, peer: &mut PeerWork) -> Option<Time> {
        self.refill(now, peer);
        let wait = self.all.debt().min(peer.own.debt());
        (wait > 0.0).then(|| now + Duration::from_secs_f64(wait.min(LONGEST_WAIT)))
    }

    /// The number of peers that share the budget.
    fn peers(&self) -> f64 {
        f64::from(self.active.0.max(self.active.1).max(1))
    }

    fn refill(&mut self, now: Time, peer: &mut PeerWork) {
        let period = now.as_nanos() / ACTIVE.as_nanos() as u64;
        if period > self.period {
            let before = if period == self.period + 1 { self.active.1 } else { 0 };
            (self.active, self.period) = ((before, 0), period);
        }
        self.all.refill(now);
        let share = self.rate / self.peers();
        peer.own.set_rate(now, share, share * SAVED.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_within_its_share_is_never_refused() {
        let (mut budget, rate) = (WorkBudget::new(1_000_000), 1_000_000.0);
        let mut peers = [PeerWork::new(Time::ZERO); 3];
        let (mut work, mut refused) = ([0u64; 3], [0u64; 3]);
        // The first peer asks for ten times the budget, the others for a quarter of it each.
        for ms in 1..10_000 {
            let now = Time::from_millis(ms);
            for (n, (peer, cost)) in peers.iter_mut().zip([10_000, 250, 250]).enumerate() {
                match budget.allows(now, peer) {
                    true => work[n] += cost,
                    false => refused[n] += 1,
                }
                budget.charge(now, peer, work[n]);
            }
        }
        assert_eq!((refused[1], refused[2]), (0, 0));
        assert!(refused[0] > 9_000 / 2, "{refused:?}");
        let total = work.iter().sum::<u64>() as f64 / 10.0;
        assert!((0.9..1.2).contains(&(total / rate)), "{work:?}");
    }

    #[test]
    fn a_single_peer_has_the_whole_budget() {
        let mut budget = WorkBudget::new(1_000_000);
        let (mut peer, mut work) = (PeerWork::new(Time::ZERO), 0);
        for ms in 1..5_000 {
            let now = Time::from_millis(ms);
            if budget.allows(now, &mut peer) {
                work += 3_000;
            }
            budget.charge(now, &mut peer, work);
        }
        assert!((4_900_000..5_300_000).contains(&work), "{work}");
        // A pause saves up no more than the longest savings.
        let now = Time::from_millis(100_000);
        assert!(budget.allows(now, &mut peer));
        budget.charge(now, &mut peer, work + 1_900_000);
        assert!(budget.allows(now, &mut peer));
        budget.charge(now, &mut peer, work + 2_100_000);
        assert!(!budget.allows(now, &mut peer));
    }

    #[test]
    fn a_peer_in_debt_reports_now_and_then() {
        let (mut budget, mut peer) = (WorkBudget::new(1_000), PeerWork::new(Time::ZERO));
        budget.charge(Time::from_millis(1), &mut peer, 1_000_000);
        let taken =
            |budget: &mut WorkBudget, peer: &mut PeerWork, ms| budget.allows_report(Time::from_millis(ms), peer);
        let reports = (100..1_100).filter(|ms| taken(&mut budget, &mut peer, *ms)).count();
        assert_eq!(reports, 20);
        assert!(!budget.allows(Time::from_millis(1_100), &mut peer));
    }

    #[test]
    fn memory_is_checked_again_only_after_growth() {
        let mut memory = MemoryBudget::new(6_400);
        memory.note(0, 6_500);
        assert!(memory.is_exceeded() && memory.is_above_aim(0) && !memory.is_above_aim(1_000));
        memory.checked();
        memory.note(6_500, 6_590);
        assert!(!memory.is_exceeded() && !memory.recovered());
        memory.note(6_590, 6_601);
        assert!(memory.is_exceeded());
        memory.note(6_601, 3_000);
        assert!(memory.recovered() && !memory.recovered() && !memory.is_exceeded());
        assert_eq!((memory.total(), memory.share(4), memory.share(0)), (3_000, 1_600, 6_400));
    }
}
