//! Components: rows fall into groups that have no unknown symbol in common, and each is eliminated by itself.
//!
//! Where losses come in many places at once, a repair names those of one place. Thousands of rows may wait then, but few of
//! them have to do with one another, and an arrival concerns one group: its work, and the memory that a row takes, grow
//! with that group and not with all that waits.

use super::echelon::{Echelon, Pivots};
use super::payloads::Raw;
use super::{Cell, Decoder};
use crate::Payload;
use crate::window::Members;
use ripstop_gf256::CHUNK;
use std::ops::Range;

/// Rows that share unknown symbols, directly or through other rows. One that falls apart, while its symbols become known,
/// stays one.
#[derive(Clone, Debug)]
pub(super) struct Component<P> {
    pub(super) space: Echelon,
    /// The payloads that the rows are combinations of, by slot.
    pub(super) raws: Vec<Option<Raw<P>>>,
    /// Where payloads have no content ([`Payload::CONTENT`]) there are no slots: the longest that arrived since last
    /// no row waited stands for all of them.
    pub(super) longest: Option<P>,
}

impl<P: Payload> Component<P> {
    pub(super) fn new(pivots: Pivots) -> Component<P> {
        Component { space: Echelon::new(pivots, P::CONTENT), raws: Vec::new(), longest: None }
    }

    pub(super) fn clear(&mut self) {
        self.space.clear();
        self.raws.clear();
        self.longest = None;
    }
}

/// Puts `raw` in its slot.
pub(super) fn keep_raw<P>(raws: &mut Vec<Option<Raw<P>>>, slot: usize, raw: Option<Raw<P>>) {
    if raws.len() <= slot {
        raws.resize_with(slot + 1, || None);
    }
    raws[slot] = raw;
}

/// Keeps `payload` if it is the longest.
pub(super) fn keep_longest<P: Payload>(longest: &mut Option<P>, payload: P) {
    if longest.as_ref().is_none_or(|longest| longest.len() < payload.len()) {
        *longest = Some(payload);
    }
}

/// The components that are not at work.
#[derive(Clone, Debug)]
pub(super) struct OtherComponents<P> {
    /// By number; in the place of the one at work is a stand-in.
    components: Vec<Component<P>>,
    /// The numbers of those without rows.
    vacant: Vec<u32>,
    /// How many rows they have, and how many bytes their matrices take.
    rows: usize,
    bytes: usize,
    /// Those that the repair at hand concerns, the one at work among them.
    concerned: Vec<u32>,
}

impl<P: Payload> OtherComponents<P> {
    /// None, as the first component, number 0, is at work.
    pub(super) fn new(pivots: Pivots) -> OtherComponents<P> {
        OtherComponents {
            components: vec![Component::new(pivots)],
            vacant: Vec::new(),
            rows: 0,
            bytes: 0,
            concerned: Vec::new(),
        }
    }

    /// How many rows they have.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }
}

impl<P: Payload> Decoder<P> {
    /// The rows of a component.
    pub(super) fn space_of(&self, component: u32) -> &Echelon {
        match self.others.components.get(component as usize) {
            Some(other) if component != self.current_id => &other.space,
            _ => &self.current.space,
        }
    }

    /// Puts a component to work, and the one that was at work aside.
    pub(super) fn select(&mut self, component: u32) {
        if component == self.current_id {
            return;
        }
        self.drop_unused_payloads();
        let OtherComponents { components, vacant, rows, bytes, .. } = &mut self.others;
        if self.current.space.rows() == 0 {
            vacant.push(self.current_id);
        }
        *rows += self.current.space.rows();
        *bytes += self.current.space.bytes();
        std::mem::swap(&mut self.current, &mut components[self.current_id as usize]);
        std::mem::swap(&mut self.current, &mut components[component as usize]);
        *rows -= self.current.space.rows();
        *bytes -= self.current.space.bytes();
        self.current_id = component;
    }

    /// Calls `each` with every component that has rows at work, one after the other; once, too, where none has.
    pub(super) fn with_each(&mut self, mut each: impl FnMut(&mut Self)) {
        if self.others.rows == 0 {
            return each(self);
        }
        for component in 0..self.others.components.len() as u32 {
            if self.space_of(component).rows() > 0 {
                self.select(component);
                each(self);
            }
        }
    }

    /// Finds the components that a repair of `members` concerns. `unknown` says where the unknown ones of its tail are, `unheard`
    /// how many more were not heard of yet. False: its row would take more memory with theirs than there is.
    pub(super) fn find_concerned(
        &mut self,
        members: &Members,
        unknown: Range<usize>,
        unheard: usize,
    ) -> bool {
        let mut concerned = std::mem::take(&mut self.others.concerned);
        concerned.clear();
        if self.rows() > 0 {
            for id in members.singles().iter().chain(&self.unknown[unknown.clone()]) {
                let Some(Cell::Pivot(place) | Cell::Free(place)) = self.cell(*id) else { continue };
                if concerned.last() != Some(&place.component) && !concerned.contains(&place.component) {
                    concerned.push(place.component);
                    if self.others.rows == 0 {
                        break;
                    }
                }
            }
        }
        let (mut rows, mut bytes) = (1, 0);
        let mut width = 1 + members.singles().len() + unknown.len() + unheard;
        for space in concerned.iter().map(|component| self.space_of(*component)) {
            rows += space.rows();
            width += space.columns_used() + space.slots_used();
            bytes += space.bytes();
        }
        self.others.concerned = concerned;
        let others = self.others.bytes + self.current.space.bytes() - bytes;
        others + bytes.max(rows * width.next_multiple_of(CHUNK)) <= self.limits.matrix
    }

    /// Whether the repair at hand concerns no row.
    pub(super) fn concerns_no_row(&self) -> bool {
        self.others.concerned.is_empty()
    }

    /// Puts to work what the repair at hand concerns, as one component.
    pub(super) fn select_concerned(&mut self) {
        let concerned = std::mem::take(&mut self.others.concerned);
        match concerned.iter().copied().max_by_key(|component| self.space_of(*component).rows()) {
            Some(largest) => {
                self.select(largest);
                concerned.iter().filter(|other| **other != largest).for_each(|other| self.absorb(*other));
            }
            None if self.current.space.rows() > 0 => {
                let vacant = self.others.vacant.pop().unwrap_or_else(|| {
                    self.others.components.push(Component::new(self.pivots));
                    (self.others.components.len() - 1) as u32
                });
                self.select(vacant);
            }
            None => {}
        }
        self.others.concerned = concerned;
    }

    /// Adds the rows of the component `number`, which is aside, to those at work, and leaves it without any.
    fn absorb(&mut self, number: u32) {
        self.counters.joined += 1;
        let stand_in = Component::new(self.pivots);
        let mut other = std::mem::replace(&mut self.others.components[number as usize], stand_in);
        self.others.rows -= other.space.rows();
        self.others.bytes -= other.space.bytes();
        self.current.space.reserve_columns(other.space.columns_used());
        let first = self.current.space.rows();
        let raws = &mut self.current.raws;
        self.current.space.absorb(&other.space, |from, to| {
            keep_raw(raws, to, other.raws[from].take());
        });
        if let Some(longest) = other.longest.take() {
            keep_longest(&mut self.current.longest, longest);
        }
        (first..self.current.space.rows()).for_each(|row| self.renumber_row(row));
        self.renumber_columns();
        // Kept for its memory.
        other.clear();
        self.others.components[number as usize] = other;
        self.others.vacant.push(number);
    }

    /// Forgets all rows.
    pub(super) fn clear_rows(&mut self) {
        self.current.clear();
        for component in &mut self.others.components {
            component.clear();
        }
        self.others.vacant.clear();
        self.others.vacant.extend((0..self.others.components.len() as u32).filter(|n| *n != self.current_id));
        (self.others.rows, self.others.bytes) = (0, 0);
    }
}
