//! The rows of the result table. Results are read from the store one at a time, so large
//! experiments need little memory.

use super::columns::{KeyColumn, StatisticColumns, cell_entry, key_columns};
use crate::cell::read_result;
use crate::entry::TableEntry;
use crate::error::LabResult;
use crate::experiment::{Experiment, GridCell};
use crate::files::{self, Refused};
use crate::run::CellState;
use crate::store::ResultStore;
use serde_json::Value;
use std::io::Write;

/// An experiment, its cells, and the store with their results.
pub struct ResultTable<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// All cells of the experiment, or some cells.
    pub cells: &'a [GridCell],
    /// The state of each cell, in the order of `cells`.
    pub states: &'a [CellState],
    /// The store that holds the results. Without a store, no cell has a result.
    pub store: Option<&'a ResultStore>,
}

impl ResultTable<'_> {
    /// The result of cell `k` with the verdicts on its expectations. None if there is no result.
    ///
    /// # Errors
    /// Fails when the store cannot be read, or when the result is not valid.
    pub fn result(&self, k: usize) -> LabResult<Option<Value>> {
        self.text(k)?.map(|text| read_result(&text)).transpose()
    }

    /// The result of cell `k` as [`ResultTable::result`] reads it, as JSON text.
    ///
    /// # Errors
    /// The same as for [`ResultTable::result`].
    pub fn text(&self, k: usize) -> LabResult<Option<String>> {
        let (Some(store), Ok(key)) = (self.store, &self.cells[k].key) else { return Ok(None) };
        let Some(text) = (if self.states[k].is_there() { store.get(key)? } else { None }) else { return Ok(None) };
        match self.experiment.resolve(self.cells[k].set, self.cells[k].place) {
            Ok(cell) if !cell.scenario().expect.is_empty() => Ok(Some(cell.read(&text)?.to_string())),
            _ => Ok(Some(text)),
        }
    }

    /// Estimated wall-clock time for the missing cells on `jobs` threads, s. The estimate assumes
    /// that one simulated second takes as much processor time as in the cells that have results.
    /// None if no cell has a result.
    ///
    /// # Errors
    /// The same as for [`ResultTable::result`].
    pub fn estimate(&self, jobs: usize) -> LabResult<Option<f64>> {
        let (mut spent_s, mut simulated_s, mut left_s) = (0.0, 0.0, 0.0);
        for (k, cell) in self.cells.iter().enumerate() {
            match (&self.states[k], self.result(k)?) {
                (_, Some(result)) => {
                    spent_s += result["cpu_s"].as_f64().unwrap_or(0.0);
                    simulated_s += cell.work_s;
                }
                (CellState::Missing, None) => left_s += cell.work_s,
                _ => {}
            }
        }
        Ok((simulated_s > 0.0).then(|| spent_s / simulated_s * left_s / jobs as f64))
    }

    /// The columns of the keys and of the statistics.
    ///
    /// A row has two more columns. The column `cell` comes before the keys: it has the cell's
    /// number, counted from 1 in the order of the experiment. The column `state` comes after the
    /// keys.
    ///
    /// # Errors
    /// The same as for [`ResultTable::result`].
    pub fn columns(&self) -> LabResult<(Vec<KeyColumn>, StatisticColumns)> {
        let mut statistics = StatisticColumns::default();
        for k in 0..self.cells.len() {
            self.result(k)?.iter().for_each(|result| statistics.learn(result));
        }
        let keys = key_columns(self.experiment, self.cells);
        statistics.leave_out(&keys);
        Ok((keys, statistics))
    }

    /// The row of cell `k`: its number, its keys, its state (`done`, `failed` or `missing`), and
    /// its statistics.
    ///
    /// # Errors
    /// The same as for [`ResultTable::result`].
    pub fn row(&self, k: usize, keys: &[KeyColumn], statistics: &StatisticColumns) -> LabResult<Vec<TableEntry>> {
        let cell = &self.cells[k];
        let state = match &self.states[k] {
            CellState::Reused | CellState::Run => "done",
            CellState::Failed(_) => "failed",
            CellState::Missing => "missing",
        };
        let mut row = vec![TableEntry::Count(cell.index as u64 + 1)];
        row.extend(keys.iter().enumerate().map(|(k, column)| cell_entry(cell, k, column.unit)));
        row.push(TableEntry::Text(state.to_owned()));
        row.extend(statistics.row(self.result(k)?.as_ref()));
        Ok(row)
    }

    /// Writes the table as CSV: a header line, then one line per cell.
    ///
    /// Returns a sentence if columns were left out, and None otherwise. The flows of a cell have no
    /// columns of their own if the cell has more than [`super::MOST_FLOWS`] flows. The links of a
    /// cell have no columns of their own if the cell has more than [`super::MOST_LINKS`] links.
    ///
    /// # Errors
    /// The same as for [`ResultTable::result`]. Also fails when `out` cannot be written.
    pub fn csv(&self, out: &mut dyn Write) -> Result<Option<String>, Refused> {
        let (keys, statistics) = self.columns()?;
        let names = keys.iter().map(|column| column.name.clone());
        let first = ["cell".to_owned()].into_iter().chain(names).chain(["state".to_owned()]);
        files::csv_line(out, first.chain(statistics.names.iter().cloned()))?;
        for k in 0..self.cells.len() {
            let row = self.row(k, &keys, &statistics)?;
            files::csv_line(out, row.iter().map(TableEntry::text))?;
        }
        out.flush()?;
        Ok(statistics.left_out())
    }
}
