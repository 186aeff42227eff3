//! The scheduler: a virtual clock and a set of alarms. Each step of a simulation takes the earliest alarm and moves the
//! clock to its time.

use ripstop_base::Time;
use std::hint::select_unpredictable;

/// Identifies one alarm of a [`Scheduler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm(u32);

impl Alarm {
    /// How many alarms were added to the scheduler before this alarm.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A virtual clock, and alarms that can be set, moved and cleared any number of times.
///
/// Each source of events adds one alarm and sets this alarm again for each event. For example, a link's alarm rings
/// when its next packet arrives, and a sender's alarm rings when its timer expires.
///
/// A tournament tree over the alarms finds the earliest alarm. Setting an alarm costs at most one comparison for each
/// level of the tree. Moving an alarm leaves no obsolete entry behind. Nothing is allocated after the last alarm was
/// added.
///
/// Alarms for the same time ring in the order in which they were set. If these alarms were also set at the same time,
/// they ring in the order in which they were added. The order of two alarms therefore does not depend on how many other
/// alarms exist.
#[derive(Clone, Debug)]
pub struct Scheduler {
    now: Time,
    /// The keys of the alarms, by index. There is a key for every leaf of the tree, also if no alarm uses the leaf yet.
    keys: Vec<Key>,
    /// A complete binary tree of alarms. Node 1 is the root, and node k has the children 2k and 2k + 1. The second half
    /// of the vector holds the leaves. Leaf k belongs to alarm k. Every inner node names the child with the earlier
    /// key.
    tree: Vec<u32>,
    alarms: usize,
    /// How many alarms have rung.
    rung: u64,
    /// The alarm that rang last, while its old key is still in the tree. Most alarms are set again immediately. The new
    /// key then replaces the old key, and the tree is updated one time instead of two times.
    stale: Option<Alarm>,
}

/// The key of an alarm: the time at which it rings (upper 64 bits), then the time at which it was set (lower 64 bits).
/// Both times are in ns.
type Key = u128;

/// The key of an alarm that is not set. It is smaller than the largest possible key, because `Scheduler::write` adds 1
/// to keys.
const NEVER: Key = Key::MAX - 1;

/// The key of an alarm that rings at `when` and was set at `since`.
fn key(when: Time, since: Time) -> Key {
    if when == Time::NEVER { NEVER } else { u128::from(when.as_nanos()) << 64 | u128::from(since.as_nanos()) }
}

/// The time at which an alarm with this key rings.
fn moment(key: Key) -> Time {
    Time::from_nanos((key >> 64) as u64)
}

impl Default for Scheduler {
    fn default() -> Scheduler {
        Scheduler::new()
    }
}

impl Scheduler {
    /// A scheduler without alarms, at [`Time::ZERO`].
    pub fn new() -> Scheduler {
        Scheduler { now: Time::ZERO, keys: vec![NEVER], tree: vec![0; 2], alarms: 0, rung: 0, stale: None }
    }

    /// Adds an alarm, which is not set yet.
    pub fn add(&mut self) -> Alarm {
        self.settle();
        let leaves = self.keys.len();
        if self.alarms == leaves {
            self.keys.resize(2 * leaves, NEVER);
            self.tree = vec![0; 4 * leaves];
            for (alarm, node) in self.tree[2 * leaves..].iter_mut().enumerate() {
                *node = alarm as u32;
            }
            for at in (1..2 * leaves).rev() {
                let (left, right) = (self.tree[2 * at], self.tree[2 * at + 1]);
                let later = self.keys[right as usize] < self.keys[left as usize];
                self.tree[at] = if later { right } else { left };
            }
        }
        self.alarms += 1;
        Alarm(self.alarms as u32 - 1)
    }

    /// The virtual time: the time of the last alarm that rang, or the `end` that [`Scheduler::next_until`] has reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many alarms have rung.
    pub fn rung(&self) -> u64 {
        self.rung
    }

    /// Sets `alarm` to ring at `when`, or now if `when` is in the past. [`Time::NEVER`] clears the alarm.
    #[inline]
    pub fn set(&mut self, alarm: Alarm, when: Time) {
        self.set_since(alarm, when, self.now);
    }

    /// Like [`Scheduler::set`], but the alarm counts as set at `since`, which may be in the future.
    ///
    /// A queue has one alarm, for its first entry. When that entry has left, the alarm is set for the next entry. The
    /// alarm then counts as set at the time when the next entry was queued.
    #[inline]
    pub fn set_since(&mut self, alarm: Alarm, when: Time, since: Time) {
        if self.stale == Some(alarm) {
            self.stale = None;
        }
        self.write(alarm, key(when.max(self.now), since));
    }

    /// When `alarm` rings. [`Time::NEVER`] if the alarm is not set.
    pub fn when(&self, alarm: Alarm) -> Time {
        if self.stale == Some(alarm) { Time::NEVER } else { moment(self.keys[alarm.index()]) }
    }

    /// When the next alarm rings. [`Time::NEVER`] if none is set.
    #[inline]
    pub fn next_due(&mut self) -> Time {
        self.settle();
        moment(self.keys[self.tree[1] as usize])
    }

    /// Moves the clock forward to `now`, but not past the next alarm.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        let next = self.next_due();
        self.now = self.now.max(now.min(next));
    }

    /// Takes the next alarm that rings at or before `end`. Clears this alarm, and moves the clock to the alarm's time.
    ///
    /// If there is no such alarm, the clock moves to `end`, and the result is None.
    pub fn next_until(&mut self, end: Time) -> Option<Alarm> {
        self.settle();
        let alarm = self.tree[1];
        let key = self.keys[alarm as usize];
        let when = moment(key);
        if when > end || key == NEVER {
            if end != Time::NEVER {
                self.now = self.now.max(end);
            }
            return None;
        }
        self.stale = Some(Alarm(alarm));
        self.now = when;
        self.rung += 1;
        Some(Alarm(alarm))
    }

    /// Removes the old key of the alarm that rang last, if it was not set again.
    fn settle(&mut self) {
        if let Some(stale) = self.stale.take() {
            self.write(stale, NEVER);
        }
    }

    /// Gives `alarm` a key. Updates the nodes on the path to the root. Stops at the first node where another alarm was
    /// the earliest before and still is the earliest.
    fn write(&mut self, alarm: Alarm, key: Key) {
        self.keys[alarm.index()] = key;
        let (mut first, mut earliest) = (alarm.0, key);
        let mut at = self.keys.len() + alarm.index();
        while at > 1 {
            let other = self.tree[at ^ 1];
            let theirs = self.keys[other as usize];
            // On a tie the left child comes first, because its alarm was added first. Node `at` is a right child if
            // `at` is odd.
            let is_later = theirs < earliest + (at & 1) as Key;
            first = select_unpredictable(is_later, other, first);
            earliest = select_unpredictable(is_later, theirs, earliest);
            at /= 2;
            if self.tree[at] == first && first != alarm.0 {
                return;
            }
            self.tree[at] = first;
        }
    }
}
