//! Components: groups of rows that share unknown symbols. Each component is eliminated by itself.
//!
//! When losses occur in many separate parts of the window, each repair is made for the losses of
//! one part. Thousands of rows may then wait, but few of them share unknown symbols. An arrival
//! concerns only the rows that share unknown symbols with the arrival: one component. The work of
//! an arrival and the memory of its row grow with the size of this component, not with the number
//! of all waiting rows.
//!
//! This file selects the current component, finds the components that a repair touches, and joins
//! these components.

use super::echelon::{Echelon, Pivots};
use super::raw::Raw;
use super::{Cell, Decoder};
use crate::Payload;
use crate::window::Members;
use ripstop_gf256::CHUNK;

/// Rows above the limit are accepted if their unknown symbols exceed the limit by at most 1 / 4.
///
/// On a path of 640 Mbit/s and 740 ms with 25 % loss, 2048 rows waited for 14 further repairs, which were refused. With half
/// the excess, components that lack an eighth of their rows stay incomplete. Double the excess takes 1.4 times the work.
const COMPLETED: usize = 4;

/// The work of one member in the search for the components of a repair that is then refused. Unit: bytes, as in
/// [`work_bytes`](super::DecoderCounters::work_bytes). A search reads a symbol's record and a component: about 10 ns,
/// the time for 200 bytes. With half or double the value, refused repairs count as half or twice the work.
const SEARCH_WORK: u64 = 200;

/// Rows that share unknown symbols, directly or through other rows. A component is never split,
/// even when its rows no longer share unknown symbols.
#[derive(Clone, Debug)]
pub(super) struct Component<P> {
    /// The coefficients of the rows.
    pub(super) space: Echelon,
    /// The repairs as they arrived. The rows are combinations of these repairs. A repair's index is
    /// its *slot*: the index of its factor in the transform of each row (`echelon/mod.rs`).
    pub(super) raws: Vec<Option<Raw<P>>>,
    /// Used instead of `raws` if payloads have no content ([`Payload::CONTENT`]). The value is the
    /// longest repair that arrived since the component last had no rows. The length of this repair
    /// stands for the length of every repair.
    pub(super) longest: Option<P>,
    /// The bytes of the lists in `raws` ([`Raw::lists`]).
    pub(super) lists: usize,
}

/// The memory that a component may hold besides its rows while it is not the current one. Unit: bytes. The next rows
/// use this memory. With half the value, small components allocate more often. Double the value takes up to twice the
/// memory when thousands of components have become empty.
const SPARE: usize = 4096;

impl<P: Payload> Component<P> {
    pub(super) fn new(pivots: Pivots) -> Component<P> {
        Component { space: Echelon::new(pivots, P::CONTENT), raws: Vec::new(), longest: None, lists: 0 }
    }

    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.space.clear();
        self.raws.clear();
        self.longest = None;
        self.lists = 0;
    }

    /// The bytes that the component takes, with spare capacity and without payloads.
    pub(super) fn held(&self) -> usize {
        let raws = self.raws.capacity() * size_of::<Option<Raw<P>>>();
        size_of::<Component<P>>() + self.space.held() + raws + self.lists
    }

    /// Frees memory that earlier rows have left. The component may then hold four times as much as its rows need, and
    /// [`SPARE`].
    fn trim(&mut self) {
        let needed = self.space.needed() + self.raws.len() * size_of::<Option<Raw<P>>>() + self.lists;
        if self.held() > size_of::<Component<P>>() + 4 * needed + SPARE {
            self.space.shrink_to_fit();
            self.raws.shrink_to_fit();
        }
    }
}

/// Stores `raw` in slot `slot`.
pub(super) fn keep_raw<P>(raws: &mut Vec<Option<Raw<P>>>, slot: usize, raw: Option<Raw<P>>) {
    if raws.len() <= slot {
        raws.resize_with(slot + 1, || None);
    }
    raws[slot] = raw;
}

/// Replaces `longest` by `payload` if `payload` is longer.
pub(super) fn keep_longest<P: Payload>(longest: &mut Option<P>, payload: P) {
    if longest.as_ref().is_none_or(|longest| longest.len() < payload.len()) {
        *longest = Some(payload);
    }
}

/// All components except the current one.
#[derive(Clone, Debug)]
pub(super) struct OtherComponents<P> {
    /// Components by id. The current component is taken out and replaced by an empty component.
    components: Vec<Component<P>>,
    /// The ids of the components without rows.
    vacant: Vec<u32>,
    /// The total number of rows of these components.
    rows: usize,
    /// The number of bytes that the matrices of these components take.
    bytes: usize,
    /// The number of stored repairs of these components.
    slots: usize,
    /// The bytes that these components hold ([`Component::held`]).
    held: usize,
    /// The components that contain unknown members of the repair that is being handled. The current
    /// component may be among them.
    concerned: Vec<u32>,
    /// For each component, the number of the last search that found it.
    found: Vec<u64>,
    /// The number of searches so far.
    searches: u64,
}

impl<P: Payload> OtherComponents<P> {
    /// No other components: the first component, with id 0, is the current component.
    pub(super) fn new(pivots: Pivots) -> OtherComponents<P> {
        OtherComponents {
            components: vec![Component::new(pivots)],
            vacant: Vec::new(),
            rows: 0,
            bytes: 0,
            slots: 0,
            held: 0,
            concerned: Vec::new(),
            found: Vec::new(),
            searches: 0,
        }
    }

    /// The total number of rows of these components.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The number of stored repairs of these components.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The bytes that these components hold.
    pub(super) fn held(&self) -> usize {
        self.held + self.found.capacity() * size_of::<u64>()
    }
}

impl<P: Payload> Decoder<P> {
    /// The coefficient matrix of a component, which may be the current one.
    pub(super) fn space_of(&self, component: u32) -> &Echelon {
        match self.others.components.get(component as usize) {
            Some(other) if component != self.current_id => &other.space,
            _ => &self.current.space,
        }
    }

    /// Makes `component` the current component, and puts the previous one back among the others.
    pub(super) fn select(&mut self, component: u32) {
        if component == self.current_id {
            return;
        }
        self.drop_unused_payloads();
        self.current.trim();
        let OtherComponents { components, vacant, rows, bytes, slots, held, .. } = &mut self.others;
        if self.current.space.rows() == 0 {
            vacant.push(self.current_id);
        }
        *rows += self.current.space.rows();
        *bytes += self.current.space.bytes();
        *slots += self.current.space.slots_used();
        *held += self.current.held();
        std::mem::swap(&mut self.current, &mut components[self.current_id as usize]);
        std::mem::swap(&mut self.current, &mut components[component as usize]);
        *rows -= self.current.space.rows();
        *bytes -= self.current.space.bytes();
        *slots -= self.current.space.slots_used();
        self.current_held = self.current.held();
        *held -= self.current_held;
        self.current_id = component;
    }

    /// Calls `each` once for every component that has rows, after making it the current component.
    /// If all rows are in the current component, or there are no rows, `each` is called once.
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

    /// Finds the components that contain unknown members of a repair, and checks the memory limit.
    /// `unknown` is the number of unknown members in the repair's tail.
    /// `unheard` is the number of members above the highest symbol heard of. Returns false if the
    /// memory of all rows would exceed [`Limits::matrix`](super::Limits::matrix) after these
    /// components are joined and the repair's row is added.
    pub(super) fn find_concerned(&mut self, members: &Members, unknown: usize, unheard: usize) -> bool {
        let mut concerned = std::mem::take(&mut self.others.concerned);
        concerned.clear();
        let mut found = std::mem::take(&mut self.others.found);
        found.resize(self.others.components.len(), 0);
        self.others.searches += 1;
        let (first, mut rows, mut visited) = (self.unknown.first_in(&members.tail()), 1, 0);
        if self.others.rows == 0 && first.is_some_and(|id| self.is_in_row(id)) {
            // All rows are in the current component.
            concerned.push(self.current_id);
        } else if self.rows() > 0 {
            for id in self.unknown_or_single(members) {
                visited += 1;
                let Some(Cell::Pivot(place) | Cell::Free(place)) = self.cell(id) else { continue };
                let last = std::mem::replace(&mut found[place.component as usize], self.others.searches);
                if last != self.others.searches {
                    concerned.push(place.component);
                    rows += self.space_of(place.component).rows();
                    // The list must be complete unless the repair is refused.
                    if self.others.rows == 0 || rows > self.most_unknown() {
                        break;
                    }
                }
            }
        }
        self.others.found = found;
        if self.limits.matrix == usize::MAX && self.limits.rows == usize::MAX {
            // There is no limit.
            self.others.concerned = concerned;
            return true;
        }
        let (mut rows, mut columns, mut bytes) = (1, 0, 0);
        let mut width = 1 + members.singles().len() + unknown + unheard;
        for space in concerned.iter().map(|component| self.space_of(*component)) {
            rows += space.rows();
            columns += space.columns_used();
            width += space.columns_used() + space.slots_used();
            bytes += space.bytes();
        }
        self.others.concerned = concerned;
        let others = self.others.bytes + self.current.space.bytes() - bytes;
        let fits = (rows <= self.limits.rows || self.can_complete(members, rows - 1 + columns + unheard))
            && others + bytes.max(rows * width.next_multiple_of(CHUNK)) <= self.limits.matrix;
        if !fits {
            self.counters.work_bytes += visited * SEARCH_WORK;
        }
        fits
    }

    /// The largest number of unknown symbols of rows above [`Limits::rows`](super::Limits::rows).
    fn most_unknown(&self) -> usize {
        self.limits.rows.saturating_add(self.limits.rows / COMPLETED)
    }

    /// Whether the rows that a repair joins have so few unknown symbols that further repairs may decode them all. See
    /// [`Limits::rows`](super::Limits::rows). `joined` is the number of their unknown symbols without those members of
    /// the repair that no row contains.
    fn can_complete(&self, members: &Members, joined: usize) -> bool {
        let most = self.most_unknown();
        let untouched = |id: &u64| matches!(self.cell(*id), Some(Cell::Untouched));
        joined <= most && joined + self.unknown_or_single(members).filter(untouched).count() <= most
    }

    /// The members of a repair that may be unknown: those listed singly, and the unknown ones of the tail.
    pub(super) fn unknown_or_single<'a>(&'a self, members: &'a Members) -> impl Iterator<Item = u64> + 'a {
        members.singles().iter().copied().chain(self.unknown.iter_in(&members.tail()))
    }

    /// Whether no row contains an unknown member of the repair that is being handled.
    pub(super) fn concerns_no_row(&self) -> bool {
        self.others.concerned.is_empty()
    }

    /// Joins the components that [`Decoder::find_concerned`] found, and makes the result the
    /// current component. If no component was found, a component without rows becomes the current
    /// component.
    pub(super) fn select_concerned(&mut self) {
        if self.others.concerned == [self.current_id] {
            return;
        }
        let concerned = std::mem::take(&mut self.others.concerned);
        match concerned.iter().copied().max_by_key(|component| self.space_of(*component).rows()) {
            Some(largest) => {
                self.select(largest);
                concerned.iter().filter(|other| **other != largest).for_each(|other| self.absorb(*other));
                if concerned.len() > 1 {
                    self.renumber_columns();
                }
            }
            None if self.current.space.rows() > 0 => {
                let vacant = self.others.vacant.pop().unwrap_or_else(|| {
                    let new = Component::new(self.pivots);
                    self.others.held += new.held();
                    self.others.components.push(new);
                    (self.others.components.len() - 1) as u32
                });
                self.select(vacant);
            }
            None => {}
        }
        self.others.concerned = concerned;
    }

    /// Moves the rows of component `number`, which is not the current one, into the current one.
    /// `number` is left without rows. The caller updates the cells of the columns.
    fn absorb(&mut self, number: u32) {
        self.counters.joined += 1;
        let stand_in = Component::new(self.pivots);
        let mut other = std::mem::replace(&mut self.others.components[number as usize], stand_in);
        self.others.rows -= other.space.rows();
        self.others.bytes -= other.space.bytes();
        self.others.slots -= other.space.slots_used();
        self.others.held -= other.held();
        self.counters.work_bytes += other.space.bytes() as u64;
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
        // `other` is emptied but not dropped, so that the next new component uses its memory.
        self.current.lists += other.lists;
        other.clear();
        other.trim();
        self.others.held += other.held();
        self.others.components[number as usize] = other;
        self.fold_again(0);
        self.others.vacant.push(number);
    }

    /// The number of components, with those without rows.
    pub(super) fn components(&self) -> u32 {
        self.others.components.len() as u32
    }

    /// Removes all rows from all components, and frees the memory of the components.
    pub(super) fn clear_rows(&mut self) {
        self.current.clear();
        self.current.trim();
        self.current_held = self.current.held();
        self.current_id = 0;
        self.others = OtherComponents::new(self.pivots);
        self.unfinished.clear();
        self.folding = None;
    }
}

#[cfg(test)]
#[path = "components/tests.rs"]
mod tests;
