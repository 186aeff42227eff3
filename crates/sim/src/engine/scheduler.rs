//! The scheduler: a virtual clock and a set of alarms. Each step of a simulation takes the earliest alarm and moves the
//! clock to its time.

use ripstop_base::Time;

/// Identifies one alarm of a [`Scheduler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm(u32);

impl Alarm {
    /// How many alarms were added to the scheduler before this one.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A virtual clock, and alarms that can be set, moved and cleared any number of times.
///
/// Each source of events adds one alarm, once. For example, a link's alarm rings when its next packet arrives, and a
/// sender's alarm rings when its timer expires.
///
/// A tournament tree over the alarms finds the earliest one. Setting an alarm costs at most one comparison for each
/// level of the tree. Moving an alarm leaves no obsolete entry behind. Nothing is allocated after the last alarm was
/// added.
///
/// Alarms for the same time ring in the order in which they were set. If they were also set at the same time, they ring
/// in the order in which they were added. The order therefore depends on times alone, and not on how many other alarms
/// exist.
#[derive(Clone, Debug)]
pub struct Scheduler {
    now: Time,
    /// A complete binary tree. Node 1 is the root, and node k has the children 2k and 2k + 1. The second half of the
    /// vector holds the leaves, one for each alarm. Every inner node is a copy of the child with the earlier key.
    tree: Vec<Node>,
    alarms: usize,
    /// How many alarms have rung.
    rung: u64,
    /// The alarm that rang last, while its old key is still in the tree. Most alarms are set again at once. Replacing
    /// the old key then updates the tree once instead of twice.
    stale: Option<Alarm>,
}

/// One node of the tournament tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// The time at which the alarm rings (upper 64 bits), then the time at which it was set (lower 64 bits), in ns.
    key: u128,
    /// The alarm that the key belongs to.
    alarm: u32,
}

/// The key of an alarm that is not set.
const NEVER: u128 = u128::MAX;

/// The key of an alarm that rings at `when` and was set at `since`.
fn key(when: Time, since: Time) -> u128 {
    if when == Time::NEVER { NEVER } else { u128::from(when.as_nanos()) << 64 | u128::from(since.as_nanos()) }
}

/// The time at which an alarm with this key rings.
fn moment(key: u128) -> Time {
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
        let tree = vec![Node { key: NEVER, alarm: 0 }; 2];
        Scheduler { now: Time::ZERO, tree, alarms: 0, rung: 0, stale: None }
    }

    /// Adds an alarm. It is not set yet.
    pub fn add(&mut self) -> Alarm {
        self.settle();
        let leaves = self.tree.len() / 2;
        if self.alarms == leaves {
            let keys: Vec<u128> = self.tree[leaves..].iter().map(|node| node.key).collect();
            self.tree = vec![Node { key: NEVER, alarm: 0 }; 4 * leaves];
            for (k, node) in self.tree[2 * leaves..].iter_mut().enumerate() {
                *node = Node { key: keys.get(k).copied().unwrap_or(NEVER), alarm: k as u32 };
            }
            for at in (1..2 * leaves).rev() {
                self.tree[at] = Node::winner(self.tree[2 * at], self.tree[2 * at + 1]);
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
    /// A queue has one alarm, for its first entry. When that entry has left, the alarm is set for the next entry, and
    /// counts as set when the next entry was queued.
    #[inline]
    pub fn set_since(&mut self, alarm: Alarm, when: Time, since: Time) {
        if self.stale == Some(alarm) {
            self.stale = None;
        }
        self.write(alarm, key(when.max(self.now), since));
    }

    /// When `alarm` rings. [`Time::NEVER`] if it is not set.
    pub fn when(&self, alarm: Alarm) -> Time {
        if self.stale == Some(alarm) { Time::NEVER } else { moment(self.tree[self.leaf(alarm)].key) }
    }

    /// Takes the next alarm at or before `end`: clears it, and moves the clock to its time.
    ///
    /// If there is no such alarm, the clock moves to `end`, and the result is None.
    pub fn next_until(&mut self, end: Time) -> Option<Alarm> {
        self.settle();
        let Node { key, alarm } = self.tree[1];
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

    /// The position of `alarm` in the tree.
    fn leaf(&self, alarm: Alarm) -> usize {
        self.tree.len() / 2 + alarm.0 as usize
    }

    /// Removes the old key of the alarm that rang last, if it was not set again.
    fn settle(&mut self) {
        if let Some(stale) = self.stale.take() {
            self.write(stale, NEVER);
        }
    }

    /// Gives `alarm` a key. Updates the nodes on the path to the root, and stops at the first node that does not
    /// change.
    fn write(&mut self, alarm: Alarm, key: u128) {
        let mut at = self.leaf(alarm);
        let mut node = Node { key, alarm: alarm.0 };
        self.tree[at] = node;
        while at > 1 {
            let other = self.tree[at ^ 1];
            node = if at.is_multiple_of(2) { Node::winner(node, other) } else { Node::winner(other, node) };
            at /= 2;
            if node == self.tree[at] {
                return;
            }
            self.tree[at] = node;
        }
    }
}

impl Node {
    /// The node with the earlier key. On a tie it is the left one, whose alarm was added first.
    #[inline]
    fn winner(left: Node, right: Node) -> Node {
        if right.key < left.key { right } else { left }
    }
}
