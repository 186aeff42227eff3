//! Components: rows fall into groups that have no unknown symbol in common, and each is eliminated by itself.
//!
//! Where losses come in many places at once, a repair names those of one place. Thousands of rows may wait then, but few of
//! them have to do with one another, and an arrival concerns one group: its work, and the memory that a row takes, grow
//! with that group and not with all that waits.

use super::echelon::{Echelon, Pivots};
use super::lift::Raw;
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
pub(super) struct Aside<P> {
    /// By number; in the place of the one at work is a stand-in.
    components: Vec<Component<P>>,
    /// The numbers of those without rows.
    vacant: Vec<u32>,
    /// How many rows they have, and how many bytes their matrices take.
    rows: usize,
    bytes: usize,
    /// Those that the repair at hand concerns, the one at work among them.
    met: Vec<u32>,
}

impl<P: Payload> Aside<P> {
    /// None, as the first component, number 0, is at work.
    pub(super) fn new(pivots: Pivots) -> Aside<P> {
        Aside {
            components: vec![Component::new(pivots)],
            vacant: Vec::new(),
            rows: 0,
            bytes: 0,
            met: Vec::new(),
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
        match self.aside.components.get(component as usize) {
            Some(aside) if component != self.at_work => &aside.space,
            _ => &self.work.space,
        }
    }

    /// Puts a component to work, and the one that was at work aside.
    pub(super) fn select(&mut self, component: u32) {
        if component == self.at_work {
            return;
        }
        self.neaten();
        let Aside { components, vacant, rows, bytes, .. } = &mut self.aside;
        if self.work.space.rows() == 0 {
            vacant.push(self.at_work);
        }
        *rows += self.work.space.rows();
        *bytes += self.work.space.bytes();
        std::mem::swap(&mut self.work, &mut components[self.at_work as usize]);
        std::mem::swap(&mut self.work, &mut components[component as usize]);
        *rows -= self.work.space.rows();
        *bytes -= self.work.space.bytes();
        self.at_work = component;
    }

    /// Calls `each` with every component that has rows at work, one after the other; once, too, where none has.
    pub(super) fn with_each(&mut self, mut each: impl FnMut(&mut Self)) {
        if self.aside.rows == 0 {
            return each(self);
        }
        for component in 0..self.aside.components.len() as u32 {
            if self.space_of(component).rows() > 0 {
                self.select(component);
                each(self);
            }
        }
    }

    /// Finds the components that a repair of `members` concerns. `unknown` says where the unknown ones of its tail are, `unheard`
    /// how many more were not heard of yet. False: its row would take more memory with theirs than there is.
    pub(super) fn meet(&mut self, members: &Members, unknown: Range<usize>, unheard: usize) -> bool {
        let mut met = std::mem::take(&mut self.aside.met);
        met.clear();
        if self.rows() > 0 {
            for id in members.singles().iter().chain(&self.unknown[unknown.clone()]) {
                let Some(Cell::Pivot(place) | Cell::Free(place)) = self.cell(*id) else { continue };
                if met.last() != Some(&place.component) && !met.contains(&place.component) {
                    met.push(place.component);
                    if self.aside.rows == 0 {
                        break;
                    }
                }
            }
        }
        let (mut rows, mut bytes) = (1, 0);
        let mut width = 1 + members.singles().len() + unknown.len() + unheard;
        for space in met.iter().map(|component| self.space_of(*component)) {
            rows += space.rows();
            width += space.columns_used() + space.slots_used();
            bytes += space.bytes();
        }
        self.aside.met = met;
        let others = self.aside.bytes + self.work.space.bytes() - bytes;
        others + bytes.max(rows * width.next_multiple_of(CHUNK)) <= self.limits.matrix
    }

    /// Whether the repair at hand concerns no row.
    pub(super) fn met_none(&self) -> bool {
        self.aside.met.is_empty()
    }

    /// Puts to work what the repair at hand concerns, as one component.
    pub(super) fn join(&mut self) {
        let met = std::mem::take(&mut self.aside.met);
        match met.iter().copied().max_by_key(|component| self.space_of(*component).rows()) {
            Some(largest) => {
                self.select(largest);
                met.iter().filter(|other| **other != largest).for_each(|other| self.absorb(*other));
            }
            None if self.work.space.rows() > 0 => {
                let vacant = self.aside.vacant.pop().unwrap_or_else(|| {
                    self.aside.components.push(Component::new(self.pivots));
                    (self.aside.components.len() - 1) as u32
                });
                self.select(vacant);
            }
            None => {}
        }
        self.aside.met = met;
    }

    /// Adds the rows of the component `number`, which is aside, to those at work, and leaves it without any.
    fn absorb(&mut self, number: u32) {
        self.counters.joined += 1;
        let stand_in = Component::new(self.pivots);
        let mut other = std::mem::replace(&mut self.aside.components[number as usize], stand_in);
        self.aside.rows -= other.space.rows();
        self.aside.bytes -= other.space.bytes();
        self.work.space.reserve_columns(other.space.columns_used());
        let first = self.work.space.rows();
        let raws = &mut self.work.raws;
        self.work.space.absorb(&other.space, |from, to| {
            keep_raw(raws, to, other.raws[from].take());
        });
        if let Some(longest) = other.longest.take() {
            keep_longest(&mut self.work.longest, longest);
        }
        (first..self.work.space.rows()).for_each(|row| self.renumber_row(row));
        self.renumber_columns();
        // Kept for its memory.
        other.clear();
        self.aside.components[number as usize] = other;
        self.aside.vacant.push(number);
    }

    /// Forgets all rows.
    pub(super) fn clear_rows(&mut self) {
        self.work.clear();
        for component in &mut self.aside.components {
            component.clear();
        }
        self.aside.vacant.clear();
        self.aside.vacant.extend((0..self.aside.components.len() as u32).filter(|n| *n != self.at_work));
        (self.aside.rows, self.aside.bytes) = (0, 0);
    }
}
