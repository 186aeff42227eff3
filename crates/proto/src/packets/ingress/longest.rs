//! The search for the bucket that holds the most memory.

use super::BUCKETS;

/// Finds the bucket that holds the most memory: a binary tree of comparisons over all buckets.
///
/// A change takes 10 comparisons. The tree is made when the queue is full for the first time, and
/// dropped when the queue is half empty, so that a queue that is seldom full has no work with it.
#[derive(Debug)]
pub(crate) struct Longest {
    /// For each node of the tree, the largest memory of a bucket below the node, and the
    /// bucket. Node n has the children 2n and 2n + 1; node 1 is the root. The buckets are the nodes
    /// from [`BUCKETS`] on. Of two equal buckets, the later one counts as longer.
    nodes: Vec<(usize, u16)>,
}

impl Longest {
    /// Makes the tree. `held` gives the memory of each bucket, bytes.
    pub(crate) fn of(held: impl Fn(u16) -> usize) -> Longest {
        let mut nodes = vec![(0, 0); BUCKETS];
        nodes.extend((0..BUCKETS as u16).map(|index| (held(index), index)));
        for node in (1..BUCKETS).rev() {
            nodes[node] = nodes[2 * node].max(nodes[2 * node + 1]);
        }
        Longest { nodes }
    }

    /// The bucket that holds the most memory.
    pub(crate) fn first(&self) -> u16 {
        self.nodes[1].1
    }

    /// Records that the bucket `index` now holds `held` bytes.
    pub(crate) fn set(&mut self, index: u16, held: usize) {
        let mut node = BUCKETS + usize::from(index);
        self.nodes[node].0 = held;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }
}
