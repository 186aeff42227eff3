//! The reduced row echelon form, on coefficients alone.
//!
//! A row stands for one combination that was innovative. Reduced, it has coefficient 1 at its *pivot*,
//! the lowest of its unknown symbols, 0 at all other pivots, and anything at the *free columns*: the
//! unknown symbols that are nobody's pivot. So a row need only store its free columns, and these are
//! few even when thousands of rows wait (near R(1-p) = 1).
//!
//! Beside them a row stores its *transform*: which combination of the payloads as they arrived it is.
//! Payloads themselves are not touched before a symbol is decoded.
//!
//! A row lies in memory as `columns`, then `transform`, in whole chunks together: one chunk as long as
//! there are few of both. An elimination step is one matrix operation over all rows.

use ripstop_gf256::{CHUNK, Chunk, Kernel, bytes, bytes_mut, inv};

/// No column.
pub(super) const NONE: u32 = u32::MAX;

/// Stands for the symbol of a column that was given back. No decoder ever accepts this identifier.
const VACANT: u64 = u64::MAX;

/// Which of its unknown symbols a row has as its pivot, and so which symbols are called *seen*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pivots {
    /// The lowest (paper 001, section 2): the unseen symbols are as high as can be, so that an
    /// acknowledgement of the first unseen one goes as far as it can.
    #[default]
    Lowest,
    /// The highest: the unseen symbols are as low as can be. Up to any bound, exactly so many of them are
    /// unseen as are missing to decode everything up to that bound, whatever comes after it; so
    /// these are the ones to ask for where what is old must be decoded first.
    Highest,
}

/// Rows over free columns, with their transforms.
#[derive(Clone, Debug)]
pub(super) struct Echelon {
    order: Pivots,
    /// Whether rows have transforms. Where payloads have no content they need none.
    transforms: bool,
    /// Bytes of a row that hold columns, and those after them that hold the transform. Together whole chunks.
    column_room: usize,
    transform_room: usize,
    /// All rows, end to end.
    store: Vec<Chunk>,
    /// Each row's pivot, and whether they count up one by one, as they do in a dense code.
    pivots: Vec<u64>,
    pivots_run: bool,
    /// For each row a column in which it was not zero when last looked at, so that a row is known not
    /// to be decoded by a look at one byte.
    witnesses: Vec<u32>,
    /// The symbol of each column, or [`VACANT`]. Columns ascend with their symbols while `ordered`, which
    /// makes the lowest one easy to find.
    columns: Vec<u64>,
    columns_used: usize,
    ordered: bool,
    /// The symbol of the first column if they count up one by one from there, vacant ones included.
    columns_run: Option<u64>,
    /// 0xff for each column in use, 0 for a vacant one.
    live: Vec<u8>,
    /// Which slots of the transform are in use.
    slots: Vec<bool>,
    slots_used: usize,
    /// The row at work.
    work: Vec<Chunk>,
    /// A factor for each row.
    factors: Vec<u8>,
    /// Kept for their memory.
    spare: Vec<Chunk>,
    kept: Vec<(u32, u64)>,
}

impl Echelon {
    pub(super) fn new(order: Pivots, transforms: bool) -> Echelon {
        let (column_room, transform_room) = Echelon::rooms(transforms);
        Echelon {
            order,
            transforms,
            column_room,
            transform_room,
            store: Vec::new(),
            pivots: Vec::new(),
            pivots_run: true,
            witnesses: Vec::new(),
            columns: Vec::new(),
            columns_used: 0,
            ordered: true,
            columns_run: None,
            live: Vec::new(),
            slots: Vec::new(),
            slots_used: 0,
            work: vec![Chunk::ZERO],
            factors: Vec::new(),
            spare: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// The smallest room for columns and transform: one chunk together.
    fn rooms(transforms: bool) -> (usize, usize) {
        if transforms { (CHUNK / 2, CHUNK / 2) } else { (CHUNK, 0) }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.pivots.len()
    }

    /// The pivot of `row`.
    pub(super) fn pivot(&self, row: usize) -> u64 {
        self.pivots[row]
    }

    /// How many slots of the transform are in use.
    pub(super) fn slots_used(&self) -> usize {
        self.slots_used
    }

    /// How many slots there may be before the rows must be laid out anew.
    pub(super) fn slots(&self) -> usize {
        self.slots.len()
    }

    /// The transform of `row`: a factor for each slot.
    pub(super) fn transform(&self, row: usize) -> &[u8] {
        let start = row * self.stride() * CHUNK + self.column_room;
        &bytes(&self.store)[start..start + self.slots.len()]
    }

    /// The coefficients of `row` at the free columns: (symbol, coefficient), not in order.
    pub(super) fn free_part(&self, row: usize) -> impl Iterator<Item = (u64, u8)> + '_ {
        let coefficients = &bytes(&self.store[row * self.stride()..])[..self.column_room];
        let named = self.columns.iter().zip(coefficients);
        named.filter(|(id, c)| **c != 0 && **id != VACANT).map(|(id, c)| (*id, *c))
    }

    /// The symbol of `column`, if it is in use.
    pub(super) fn symbol_of(&self, column: usize) -> Option<u64> {
        self.columns.get(column).copied().filter(|id| *id != VACANT)
    }

    /// How many columns are in use.
    pub(super) fn columns_used(&self) -> usize {
        self.columns_used
    }

    /// How many columns there may be before the rows must be laid out anew.
    pub(super) fn width(&self) -> usize {
        self.columns.len()
    }

    /// Forgets all rows, columns and slots.
    pub(super) fn clear(&mut self) {
        (self.column_room, self.transform_room) = Echelon::rooms(self.transforms);
        self.store.clear();
        self.pivots.clear();
        self.pivots_run = true;
        self.witnesses.clear();
        self.columns.clear();
        self.live.clear();
        self.columns_used = 0;
        self.ordered = true;
        self.slots.clear();
        self.slots_used = 0;
    }

    /// Makes room for `more` columns. True when the columns were numbered anew.
    pub(super) fn reserve_columns(&mut self, more: usize) -> bool {
        if self.columns.len() + more <= self.column_room {
            return false;
        }
        let mut kept = std::mem::take(&mut self.kept);
        let used = self.columns.iter().enumerate().filter(|(_, id)| **id != VACANT);
        kept.extend(used.map(|(column, id)| (column as u32, *id)));
        kept.sort_unstable_by_key(|(_, id)| *id);
        // Half as much again, so that laying out anew stays rare; as yet it may cost nothing.
        let wanted = kept.len() + more;
        let room = if self.rows() == 0 { wanted } else { wanted * 3 / 2 }.next_multiple_of(CHUNK);
        let old = self.column_room;
        self.lay_out(room, self.transform_room.next_multiple_of(CHUNK), |from, to| {
            for (column, (old, _)) in kept.iter().enumerate() {
                to[column] = from[*old as usize];
            }
            to[room..room + from.len() - old].copy_from_slice(&from[old..]);
        });
        self.columns.clear();
        self.live.clear();
        for (_, id) in kept.drain(..) {
            self.push_column(id);
        }
        self.kept = kept;
        self.ordered = true;
        self.witnesses.fill(0);
        true
    }

    /// Gives every row so much room for columns and for the transform; `copy` takes over each row's
    /// bytes, from the old row to the new one, which is zero.
    fn lay_out(&mut self, column_room: usize, transform_room: usize, copy: impl Fn(&[u8], &mut [u8])) {
        let before = self.stride();
        (self.column_room, self.transform_room) = (column_room, transform_room);
        let stride = self.stride();
        self.spare.clear();
        self.spare.resize(self.rows() * stride, Chunk::ZERO);
        for (from, to) in self.store.chunks_exact(before).zip(self.spare.chunks_exact_mut(stride)) {
            copy(bytes(from), bytes_mut(to));
        }
        std::mem::swap(&mut self.store, &mut self.spare);
    }

    /// A new column for `id`; room was reserved.
    pub(super) fn claim_column(&mut self, id: u64) -> u32 {
        // Columns given back at the end are in nobody's way.
        while self.columns.last() == Some(&VACANT) {
            self.columns.pop();
            self.live.pop();
        }
        self.ordered &= self.columns.last().is_none_or(|last| *last < id);
        self.columns_used += 1;
        self.push_column(id);
        (self.columns.len() - 1) as u32
    }

    fn push_column(&mut self, id: u64) {
        let expected = |first: u64| first.checked_add(self.columns.len() as u64) == Some(id);
        self.columns_run = match self.columns_run {
            _ if self.columns.is_empty() => Some(id),
            run => run.filter(|first| expected(*first)),
        };
        self.columns.push(id);
        self.live.push(0xff);
    }

    /// Gives `column` back; it is zero in all rows.
    pub(super) fn release_column(&mut self, column: u32) {
        let id = std::mem::replace(&mut self.columns[column as usize], VACANT);
        self.columns_used -= usize::from(id != VACANT);
        self.live[column as usize] = 0;
    }

    /// A new slot of the transform, for a payload that arrived.
    pub(super) fn claim_slot(&mut self) -> usize {
        self.slots_used += 1;
        if self.slots_used <= self.slots.len()
            && let Some(vacant) = self.slots.iter().position(|used| !used)
        {
            self.slots[vacant] = true;
            return vacant;
        }
        self.slots.push(true);
        if self.slots.len() > self.transform_room {
            let column_room = self.column_room.next_multiple_of(CHUNK);
            let transform_room = (self.transform_room * 3 / 2 + 1).next_multiple_of(CHUNK);
            let old = self.column_room;
            self.lay_out(column_room, transform_room, |from, to| {
                to[..old].copy_from_slice(&from[..old]);
                to[column_room..column_room + from.len() - old].copy_from_slice(&from[old..]);
            });
        }
        self.slots.len() - 1
    }

    /// Gives `slot` back; no row's transform has it.
    pub(super) fn release_slot(&mut self, slot: usize) {
        if std::mem::take(&mut self.slots[slot]) {
            self.slots_used -= 1;
        }
    }

    /// Starts a row at work: the payload in `slot`, if rows have transforms, nothing else yet.
    pub(super) fn begin(&mut self, slot: Option<usize>) {
        self.work.clear();
        self.work.resize(self.stride(), Chunk::ZERO);
        self.factors.clear();
        self.factors.resize(self.rows(), 0);
        if let Some(slot) = slot {
            bytes_mut(&mut self.work)[self.column_room + slot] = 1;
        }
    }

    /// Gives the row at work coefficient `c` at a free column.
    pub(super) fn set_column(&mut self, column: u32, c: u8) {
        bytes_mut(&mut self.work)[column as usize] = c;
    }

    /// Gives the row at work coefficient `c` at the pivot of `row`.
    pub(super) fn set_pivot(&mut self, row: u32, c: u8) {
        self.factors[row as usize] = c;
    }

    /// Gives the row at work the coefficients of the contiguous symbols from `start` on, wherever they are
    /// a pivot or a column.
    pub(super) fn set_run(&mut self, start: u64, coefficients: &[u8]) {
        let place = |id: u64| usize::try_from(id.wrapping_sub(start)).unwrap_or(usize::MAX);
        if let (true, Some(first)) = (self.pivots_run, self.pivots.first()) {
            let (to, from) = overlap(*first, self.factors.len(), start, coefficients);
            self.factors[to..][..from.len()].copy_from_slice(from);
        } else {
            for (factor, pivot) in self.factors.iter_mut().zip(&self.pivots) {
                if let Some(c) = coefficients.get(place(*pivot)) {
                    *factor = *c;
                }
            }
        }
        let work = bytes_mut(&mut self.work);
        if let Some(first) = self.columns_run {
            let (to, from) = overlap(first, self.columns.len(), start, coefficients);
            let bytes = work[to..].iter_mut().zip(from).zip(&self.live[to..]);
            bytes.for_each(|((byte, c), live)| *byte = c & live);
        } else {
            // A vacant column's symbol is higher than any.
            for (byte, id) in work.iter_mut().zip(&self.columns) {
                if let Some(c) = coefficients.get(place(*id)) {
                    *byte = *c;
                }
            }
        }
    }

    /// Adds up all rows, each with a factor from `draw`: tells `each` the coefficient of every pivot and free column
    /// in the sum, and writes its transform to `transform`.
    pub(super) fn mix(
        &mut self,
        mut draw: impl FnMut() -> u8,
        transform: &mut [u8],
        mut each: impl FnMut(u64, u8),
    ) {
        self.begin(None);
        for (factor, pivot) in self.factors.iter_mut().zip(&self.pivots) {
            *factor = draw();
            each(*pivot, *factor);
        }
        Kernel::chosen().gather(&mut self.work, &self.store, &self.factors);
        let (columns, transforms) = bytes(&self.work).split_at(self.column_room);
        for (id, c) in self.columns.iter().zip(columns).filter(|(id, _)| **id != VACANT) {
            each(*id, *c);
        }
        transform.copy_from_slice(&transforms[..transform.len()]);
    }

    /// Eliminates the pivots from the row at work and, if anything is left, adds it as a new row and
    /// returns its pivot. Pivot columns are zero in all other rows, so that one pass is enough.
    pub(super) fn reduce(&mut self) -> Option<u64> {
        Kernel::chosen().gather(&mut self.work, &self.store, &self.factors);
        self.insert()
    }

    /// Adds the row at work, which is zero at all pivots; returns its pivot, None when it is zero.
    /// The pivot's column is given back.
    fn insert(&mut self) -> Option<u64> {
        let (column, id) = self.leading()?;
        let kernel = Kernel::chosen();
        let scale = inv(bytes(&self.work)[column]);
        kernel.mul(bytes_mut(&mut self.work), scale);
        self.clear_column(column);
        bytes_mut(&mut self.work)[column] = 0;
        self.store.extend_from_slice(&self.work);
        self.pivots_run &= self.pivots.last().is_none_or(|last| last.checked_add(1) == Some(id));
        self.pivots.push(id);
        // A guess that is mostly right: the column that is farthest from becoming a pivot.
        self.witnesses.push(match self.order {
            Pivots::Lowest => (self.columns.len() - 1) as u32,
            Pivots::Highest => 0,
        });
        self.release_column(column as u32);
        Some(id)
    }

    /// Makes `column` zero in all rows by adding multiples of the row at work, which is 1 there.
    fn clear_column(&mut self, column: usize) {
        let stride = self.stride() * CHUNK;
        self.factors.clear();
        self.factors.resize(self.rows(), 0);
        let all = bytes(&self.store);
        let mut at = column;
        for factor in &mut self.factors {
            *factor = all[at];
            at += stride;
        }
        Kernel::chosen().scatter(&mut self.store, &self.work, &self.factors);
    }

    /// The symbol at which the row at work is to have its pivot, and its column.
    fn leading(&self) -> Option<(usize, u64)> {
        let coefficients = &bytes(&self.work)[..self.columns.len()];
        if self.ordered && self.order == Pivots::Lowest {
            // Eight at a time: zero as long as all of them are.
            let start =
                coefficients.chunks(8).position(|eight| eight.iter().fold(0, |sum, c| sum | c) != 0)? * 8;
            let column = start + coefficients[start..].iter().position(|c| *c != 0)?;
            return Some((column, self.columns[column]));
        }
        let named = coefficients.iter().zip(&self.columns).enumerate();
        let mut named = named.filter(|(_, (c, _))| **c != 0).map(|(column, (_, id))| (column, *id));
        match self.order {
            Pivots::Lowest => named.min_by_key(|(_, id)| *id),
            Pivots::Highest if self.ordered => named.next_back(),
            Pivots::Highest => named.max_by_key(|(_, id)| *id),
        }
    }

    /// The symbol of `column` became known: it is no unknown any more, in any row.
    pub(super) fn erase_column(&mut self, column: u32) {
        let stride = self.stride();
        for row in self.store.chunks_exact_mut(stride) {
            bytes_mut(row)[column as usize] = 0;
        }
        self.release_column(column);
    }

    /// The pivot of `row` became known: what is left of the row says something about its free columns,
    /// and the lowest of them is its new pivot, which is returned.
    pub(super) fn repivot(&mut self, row: usize) -> Option<u64> {
        let stride = self.stride();
        self.work.clear();
        self.work.extend_from_slice(&self.store[row * stride..][..stride]);
        self.remove(row);
        self.insert()
    }

    /// Removes `row`; the last row takes its place.
    pub(super) fn remove(&mut self, row: usize) {
        let stride = self.stride();
        let last = self.rows() - 1;
        self.store.copy_within(last * stride.., row * stride);
        self.store.truncate(last * stride);
        self.pivots.swap_remove(row);
        self.pivots_run &= row == last;
        self.witnesses.swap_remove(row);
    }

    /// The symbol of `column` will never be known: the rows are replaced by all their combinations
    /// that do not involve it. One row is lost, that with the highest pivot of those that do, and its
    /// pivot, which is returned, becomes free again. None when no row involves the symbol.
    ///
    /// Room for a column must have been reserved.
    pub(super) fn forbid(&mut self, column: u32) -> Option<(u64, u32)> {
        let stride = self.stride();
        let involved = |row: &usize| bytes(&self.store[row * stride..])[column as usize] != 0;
        let involved = (0..self.rows()).filter(involved);
        let row = match self.order {
            Pivots::Lowest => involved.max_by_key(|row| self.pivots[*row]),
            Pivots::Highest => involved.min_by_key(|row| self.pivots[*row]),
        };
        let freed = row.map(|row| {
            let pivot = self.pivots[row];
            self.work.clear();
            self.work.extend_from_slice(&self.store[row * stride..][..stride]);
            self.remove(row);
            let again = self.claim_column(pivot);
            bytes_mut(&mut self.work)[again as usize] = 1;
            let scale = inv(bytes(&self.work)[column as usize]);
            Kernel::chosen().mul(bytes_mut(&mut self.work), scale);
            self.clear_column(column as usize);
            (pivot, again)
        });
        self.release_column(column);
        freed
    }

    /// Lists the rows whose pivot is determined in `units`: those with no free column left. Ascending.
    pub(super) fn units(&mut self, units: &mut Vec<usize>) {
        units.clear();
        if self.columns_used == 0 {
            units.extend(0..self.rows());
            return;
        }
        let stride = self.stride() * CHUNK;
        let all = bytes(&self.store);
        let mut at = 0;
        for row in 0..self.witnesses.len() {
            if all[at + self.witnesses[row] as usize] == 0 {
                let coefficients = &all[at..][..self.columns.len()];
                let nonzero = match self.order {
                    Pivots::Lowest => coefficients.iter().rposition(|c| *c != 0),
                    Pivots::Highest => coefficients.iter().position(|c| *c != 0),
                };
                match nonzero {
                    Some(column) => self.witnesses[row] = column as u32,
                    None => units.push(row),
                }
            }
            at += stride;
        }
    }

    /// Removes the rows `units` (ascending), whose symbols are known now. The payloads that only they
    /// needed are told in `freed` (their slots are given back), as many as there are units: a unit row
    /// is a combination of payloads and known symbols, so it can express one payload in the others.
    pub(super) fn retire(&mut self, units: &[usize], mut freed: impl FnMut(usize)) {
        if units.len() == self.rows() {
            for slot in 0..self.slots.len() {
                if self.slots[slot] {
                    freed(slot);
                }
            }
            self.clear();
            return;
        }
        let stride = self.stride();
        for unit in units {
            let Some(slot) = self.transform(*unit).iter().position(|c| *c != 0) else { continue };
            let at = self.column_room + slot;
            self.work.clear();
            self.work.extend_from_slice(&self.store[unit * stride..][..stride]);
            let scale = inv(bytes(&self.work)[at]);
            Kernel::chosen().mul(bytes_mut(&mut self.work), scale);
            self.clear_column(at);
            self.release_slot(slot);
            freed(slot);
        }
        for unit in units.iter().rev() {
            self.remove(*unit);
        }
    }

    /// Makes every row its own payload: row i stands for the payload in slot i, alone.
    pub(super) fn reset_transforms(&mut self) {
        let stride = self.stride();
        let start = self.column_room;
        for (row, chunks) in self.store.chunks_exact_mut(stride).enumerate() {
            let transform = &mut bytes_mut(chunks)[start..];
            transform.fill(0);
            transform[row] = 1;
        }
        self.slots.clear();
        self.slots.resize(self.pivots.len(), true);
        self.slots_used = self.slots.len();
    }

    fn stride(&self) -> usize {
        (self.column_room + self.transform_room) / CHUNK
    }
}

/// Where the symbols from `start` on meet the `count` symbols from `first` on: the index among those,
/// and the coefficients from there.
fn overlap(first: u64, count: usize, start: u64, coefficients: &[u8]) -> (usize, &[u8]) {
    let small = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let to = small(start.saturating_sub(first)).min(count);
    let from = small(first.saturating_sub(start)).min(coefficients.len());
    (to, &coefficients[from..][..(count - to).min(coefficients.len() - from)])
}
