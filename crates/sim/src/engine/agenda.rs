//! A fixed set of alarms, and which of them rings next.

use ripstop_base::Time;

/// The name of an alarm on an [`Agenda`].
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
/// Where [`crate::engine::Engine`] keeps any number of events, this keeps one moment for each of a number of things that is
/// known from the start: a link rings when the next packet arrives, a sender when its timer runs out. A tournament over the
/// alarms finds the next one: setting costs a comparison for each level at most, moving a timer leaves no dead entry behind,
/// and nothing is ever allocated. Alarms at the same moment ring in the order in which they were set; those that were also set
/// at the same moment, in the order of their numbers. So the order is a function of moments alone, and not of how many other
/// alarms there are.
#[derive(Clone, Debug)]
pub struct Agenda {
    now: Time,
    /// A complete binary tree: the root is 1, the children of k are 2k and 2k + 1, and the second half are the alarms. Each
    /// node has the earlier key of its children, and whose it is.
    tree: Vec<Node>,
    alarms: usize,
    rung: u64,
    /// The alarm that rang last, while it still stands in the tree: most are set again at once.
    stale: Option<Alarm>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// The moment, then the moment at which it was set.
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

impl Default for Agenda {
    fn default() -> Agenda {
        Agenda::new()
    }
}

impl Agenda {
    /// An agenda at [`Time::ZERO`] without alarms.
    pub fn new() -> Agenda {
        let tree = vec![Node { key: NEVER, alarm: 0 }; 2];
        Agenda { now: Time::ZERO, tree, alarms: 0, rung: 0, stale: None }
    }

    /// One more alarm, which is not set.
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

    /// Sets `alarm` to `when` (now, when that is past; [`Time::NEVER`] clears it), wherever it stood before.
    #[inline]
    pub fn set(&mut self, alarm: Alarm, when: Time) {
        self.set_since(alarm, when, self.now);
    }

    /// As [`Agenda::set`], for something that was to come since the moment `since`, which may lie ahead: it has its place
    /// among what happens at the same moment from then. (A queue's next entry keeps its own.)
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

    /// The next alarm that rings at or before `end`, which is then not set any more; the clock moves to its moment. None when
    /// there is none; the clock then moves to `end`.
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

    /// Gives `alarm` a key, and plays the matches on the way to the root again as far as they change.
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
    /// Of two equal ones the left, whose alarm has the lower number.
    #[inline]
    fn winner(left: Node, right: Node) -> Node {
        if right.key < left.key { right } else { left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn alarms_ring_in_order_of_time_then_of_setting() {
        let mut agenda = Agenda::new();
        assert_eq!(agenda.next_until(Time::NEVER), None);
        let alarms: Vec<Alarm> = (0..5).map(|_| agenda.add()).collect();
        for (index, millis) in [(3, 5), (0, 1), (4, 5), (1, 3), (2, 5)] {
            agenda.set(alarms[index], Time::from_millis(millis));
        }
        let rung: Vec<Alarm> = std::iter::from_fn(|| agenda.next_until(Time::from_millis(1000))).collect();
        assert_eq!(rung, [0, 1, 2, 3, 4].map(|k| alarms[k]));
        assert_eq!((agenda.now(), agenda.rung()), (Time::from_millis(1000), 5));
        // At the same moment those come first that were set first.
        agenda.set(alarms[4], Time::from_millis(2000));
        assert_eq!(agenda.next_until(Time::from_millis(1100)), None);
        agenda.set(alarms[2], Time::from_millis(2000));
        agenda.set_since(alarms[1], Time::from_millis(2000), Time::from_millis(1050));
        let rung: Vec<Alarm> = std::iter::from_fn(|| agenda.next_until(Time::from_millis(2000))).collect();
        assert_eq!(rung, [4, 1, 2].map(|k| alarms[k]));
        // What is past is now, and the clock never goes back.
        agenda.set(alarms[0], Time::from_millis(7));
        assert_eq!(agenda.when(alarms[0]), Time::from_millis(2000));
        assert_eq!(agenda.next_until(Time::from_millis(1)), None);
        assert_eq!(agenda.next_until(Time::from_millis(2000)), Some(alarms[0]));
    }

    proptest! {
        /// Against a list searched through each time.
        #[test]
        fn behaves_as_a_list(steps in prop::collection::vec((0u8..4, 0usize..7, 0u64..50), 1..400)) {
            let mut agenda = Agenda::new();
            let alarms: Vec<Alarm> = (0..7).map(|_| agenda.add()).collect();
            let mut list = [None; 7];
            for (what, which, nanos) in steps {
                match what {
                    0 | 1 => {
                        let when = agenda.now() + std::time::Duration::from_nanos(nanos);
                        agenda.set(alarms[which], when);
                        list[which] = Some((when, agenda.now(), which));
                    }
                    2 => {
                        agenda.set(alarms[which], Time::NEVER);
                        list[which] = None;
                    }
                    _ => {
                        let first = (0..7).filter(|k| list[*k].is_some()).min_by_key(|k| list[*k]);
                        let when = first.and_then(|k| list[k].take()).map(|(when, ..)| when);
                        prop_assert_eq!(agenda.next_until(Time::NEVER), first.map(|k| alarms[k]));
                        prop_assert!(when.is_none_or(|when| when == agenda.now()));
                    }
                }
                prop_assert!((0..7).all(|k| agenda.when(alarms[k]) == list[k].map_or(Time::NEVER, |(when, ..)| when)));
            }
        }
    }
}
