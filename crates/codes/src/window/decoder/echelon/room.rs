//! Assigns columns to symbols and slots to stored repairs, and makes room for more of them. A slot
//! is a repair's index in the transforms (`mod.rs` explains the terms). Counts the memory, and frees spare memory.

use super::{Echelon, Store, VACANT};
use ripstop_gf256::{CHUNK, Chunk};

impl Echelon {
    /// The bytes that the matrix holds, with spare capacity.
    pub(in super::super) fn held(&self) -> usize {
        let store = match &self.store {
            Store::Rows(rows) => rows.held(),
            Store::Columns(columns) => columns.held(),
        };
        let eight = self.pivots.capacity() + self.columns.capacity();
        let four = self.used.capacity() + self.vacant.capacity();
        let one = self.live.capacity() + self.slots.capacity();
        let chunks = self.work.capacity() + self.factors.capacity();
        store + 8 * eight + 4 * four + one + CHUNK * chunks + size_of::<(u32, u64)>() * self.kept.capacity()
    }

    /// The bytes that the rows and columns need. The layout by columns, which is for simulations, never frees spare
    /// capacity, so it counts with all that it holds.
    pub(in super::super) fn needed(&self) -> usize {
        let matrix = match &self.store {
            Store::Rows(_) => self.bytes(),
            Store::Columns(columns) => columns.held(),
        };
        matrix + 8 * (self.pivots.len() + self.columns.len()) + self.slots.len()
    }

    /// Frees spare capacity.
    pub(in super::super) fn shrink_to_fit(&mut self) {
        if self.pivots.is_empty() && self.slots_used == 0 && self.columns_used == 0 {
            *self = Echelon::new(self.order, matches!(self.store, Store::Rows(_)));
            return;
        }
        if let Store::Rows(rows) = &mut self.store {
            rows.shrink_to_fit();
        }
        self.pivots.shrink_to_fit();
        self.columns.shrink_to_fit();
        self.used.shrink_to_fit();
        self.vacant.shrink_to_fit();
        self.live.shrink_to_fit();
        self.slots.shrink_to_fit();
        (self.work, self.factors, self.kept) = (vec![Chunk::ZERO], Vec::new(), Vec::new());
    }

    /// Makes room for `more` columns. Returns true if this gave the columns new indices.
    pub(in super::super) fn reserve_columns(&mut self, more: usize) -> bool {
        let rows = match &mut self.store {
            Store::Rows(rows) => rows,
            Store::Columns(columns) => {
                columns.reserve(self.columns.len() + more.saturating_sub(self.vacant.len()));
                return false;
            }
        };
        if self.columns.len() + more <= rows.column_room() {
            return false;
        }
        let mut kept = std::mem::take(&mut self.kept);
        let used = self.columns.iter().enumerate().filter(|(_, id)| **id != VACANT);
        kept.extend(used.map(|(column, id)| (column as u32, *id)));
        kept.sort_unstable_by_key(|(_, id)| *id);
        // Reserves room for half as many columns more, so that the rows are rarely moved. While
        // there are no rows, moving costs nothing and no extra room is needed.
        let wanted = kept.len() + more;
        let room = if self.pivots.is_empty() { wanted } else { wanted * 3 / 2 }.next_multiple_of(CHUNK);
        rows.rearrange_columns(room, kept.iter().map(|(column, _)| *column));
        self.columns.clear();
        self.live.clear();
        for (_, id) in kept.drain(..) {
            self.push_column(id);
        }
        self.kept = kept;
        self.ordered = true;
        true
    }

    /// Assigns a column to `id`. Room must have been reserved.
    pub(in super::super) fn claim_column(&mut self, id: u64) -> u32 {
        self.columns_used += 1;
        if matches!(self.store, Store::Columns(_)) {
            return self.claim_any_column(id);
        }
        // Vacant columns at the end are removed.
        while self.columns.last() == Some(&VACANT) {
            self.columns.pop();
            self.live.pop();
        }
        self.ordered &= self.columns.last().is_none_or(|last| *last < id);
        self.push_column(id);
        (self.columns.len() - 1) as u32
    }

    /// [`Echelon::claim_column`] in the layout by columns, where a column may have any index.
    fn claim_any_column(&mut self, id: u64) -> u32 {
        let column = self.vacant.pop().unwrap_or_else(|| {
            self.columns.push(VACANT);
            self.live.push(0);
            (self.columns.len() - 1) as u32
        });
        // A new symbol is mostly higher than all others.
        let highest = self.used.last().is_none_or(|last| self.columns[*last as usize] < id);
        let at = if highest {
            self.used.len()
        } else {
            self.used.partition_point(|column| self.columns[*column as usize] < id)
        };
        self.used.insert(at, column);
        self.columns[column as usize] = id;
        self.live[column as usize] = 0xff;
        column
    }

    /// Appends a column for `id`.
    fn push_column(&mut self, id: u64) {
        let expected = |first: u64| first.checked_add(self.columns.len() as u64) == Some(id);
        self.columns_run = match self.columns_run {
            _ if self.columns.is_empty() => Some(id),
            run => run.filter(|first| expected(*first)),
        };
        self.columns.push(id);
        self.live.push(0xff);
    }

    /// Makes `column` vacant. The column must be zero in all rows.
    pub(in super::super) fn release_column(&mut self, column: u32) {
        let id = std::mem::replace(&mut self.columns[column as usize], VACANT);
        if id != VACANT {
            self.columns_used -= 1;
            self.live[column as usize] = 0;
            if matches!(self.store, Store::Columns(_)) {
                self.vacant.push(column);
                if let Some(at) = self.used.iter().position(|used| *used == column) {
                    self.used.remove(at);
                }
            }
        }
    }

    /// Assigns a slot of the transforms to a repair that arrived.
    pub(in super::super) fn claim_slot(&mut self) -> usize {
        self.slots_used += 1;
        if self.slots_used <= self.slots.len()
            && let Some(vacant) = self.slots.iter().position(|used| !used)
        {
            self.slots[vacant] = true;
            return vacant;
        }
        self.slots.push(true);
        if let Store::Rows(rows) = &mut self.store {
            rows.reserve_slots(self.slots.len());
        }
        self.slots.len() - 1
    }

    /// Makes `slot` vacant. The slot must be zero in the transforms of all rows.
    pub(in super::super) fn release_slot(&mut self, slot: usize) {
        if std::mem::take(&mut self.slots[slot]) {
            self.slots_used -= 1;
        }
    }
}
