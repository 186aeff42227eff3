//! The scheduler: a virtual clock, and a fixed set of alarms.

use ripstop_base::Time;

/// The name of an alarm of a [`Scheduler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm(u32);

impl Alarm {
    /// How many alarms were added before it.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A virtual clock and alarms that are set, moved and cleared again and again.
///
/// Each thing that can happen next has one alarm, which is added once: a link's alarm rings when its next packet arrives, a
/// sender's when its timer runs out. A tournament tree over the alarms finds the next one. Setting an alarm costs at most one
/// comparison for each level of the tree, moving a timer leaves no dead entry behind, and nothing is allocated after the last
/// alarm was added.
///
/// Alarms at the same moment ring in the order in which they were set. Alarms that were also set at the same moment ring in
/// the order in which they were added. So the order depends on moments alone, not on how many other alarms there are.
#[derive(Clone, Debug)]
pub struct Scheduler {
    now: Time,
    /// A complete binary tree. Node 1 is the root, the children of node k are 2k and 2k + 1, and the second half are the
    /// alarms. Each node has the earlier key of its two children, and the alarm that the key belongs to.
    tree: Vec<Node>,
    alarms: usize,
    rung: u64,
    /// The alarm that rang last, as long as its old key is still in the tree. Most alarms are set again at once, which then
    /// saves one way up the tree.
    stale: Option<Alarm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// The moment at which the alarm rings, then the moment at which it was set.
    key: u128,
    alarm: u32,
}

/// The key of an alarm that is not set.
const NEVER: u128 = u128::MAX;

fn key(when: Time, since: Time) -> u128 {
    if when == Time::NEVER { NEVER } else { u128::from(when.as_nanos()) << 64 | u128::from(since.as_nanos()) }
}

fn moment(key: u128) -> Time {
    Time::from_nanos((key >> 64) as u64)
}

impl Default for Scheduler {
    fn default() -> Scheduler {
        Scheduler::new()
    }
}

impl Scheduler {
    /// A scheduler at [`Time::ZERO`] without alarms.
    pub fn new() -> Scheduler {
        let tree = vec![Node { key: NEVER, alarm: 0 }; 2];
        Scheduler { now: Time::ZERO, tree, alarms: 0, rung: 0, stale: None }
    }

    /// Adds an alarm, which is not set.
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

    /// The virtual time: when the last alarm rang.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many alarms have rung.
    pub fn rung(&self) -> u64 {
        self.rung
    }

    /// Sets `alarm` to `when`, or to now when `when` is past. [`Time::NEVER`] clears the alarm.
    #[inline]
    pub fn set(&mut self, alarm: Alarm, when: Time) {
        self.set_since(alarm, when, self.now);
    }

    /// As [`Scheduler::set`], but the alarm counts as set at the moment `since`, which may lie ahead. A queue whose head has
    /// left passes on the moment at which its next entry was queued.
    #[inline]
    pub fn set_since(&mut self, alarm: Alarm, when: Time, since: Time) {
        if self.stale == Some(alarm) {
            self.stale = None;
        }
        self.write(alarm, key(when.max(self.now), since));
    }

    /// When `alarm` rings; [`Time::NEVER`] when it is not set.
    pub fn when(&self, alarm: Alarm) -> Time {
        if self.stale == Some(alarm) { Time::NEVER } else { moment(self.tree[self.leaf(alarm)].key) }
    }

    /// The next alarm at or before `end`. The alarm is not set any more, and the clock moves to its moment. Without such an
    /// alarm the answer is None, and the clock moves to `end`.
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

    fn leaf(&self, alarm: Alarm) -> usize {
        self.tree.len() / 2 + alarm.0 as usize
    }

    fn settle(&mut self) {
        if let Some(stale) = self.stale.take() {
            self.write(stale, NEVER);
        }
    }

    /// Gives `alarm` a key, and updates the nodes on the way to the root until one does not change.
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
    /// The node with the earlier key; of two equal ones the left, whose alarm was added first.
    #[inline]
    fn winner(left: Node, right: Node) -> Node {
        if right.key < left.key { right } else { left }
    }
}
