//! The results of an experiment's cells, read from the store one at a time, and the table of them.

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

/// An experiment and what has become of its cells.
pub struct ResultTable<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its cells, or some of them.
    pub cells: &'a [GridCell],
    /// What became of each.
    pub states: &'a [CellState],
    /// Where the results are.
    pub store: Option<&'a ResultStore>,
}

impl ResultTable<'_> {
    /// The result of the `k`-th of the cells, as it is kept.
    ///
    /// # Errors
    /// What the store says.
    pub fn text(&self, k: usize) -> LabResult<Option<String>> {
        match (self.store, &self.cells[k].key) {
            (Some(store), Ok(key)) if self.states[k].is_there() => store.get(key),
            _ => Ok(None),
        }
    }

    /// The same, read.
    ///
    /// # Errors
    /// What the store says; a result that cannot be read.
    pub fn result(&self, k: usize) -> LabResult<Option<Value>> {
        self.text(k)?.map(|text| read_result(&text)).transpose()
    }

    /// How long what is missing will take with so many jobs, judged by what the other cells took, s; None where there are none.
    ///
    /// # Errors
    /// As [`ResultTable::result`].
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

    /// The names of all columns, and how to fill those of the statistics. `cell` counts from 1, in the order of the experiment.
    ///
    /// # Errors
    /// As [`ResultTable::result`].
    pub fn columns(&self) -> LabResult<(Vec<KeyColumn>, StatisticColumns)> {
        let mut statistics = StatisticColumns::default();
        for k in 0..self.cells.len() {
            self.result(k)?.iter().for_each(|result| statistics.learn(result));
        }
        let keys = key_columns(self.experiment, self.cells);
        statistics.leave_out(&keys);
        Ok((keys, statistics))
    }

    /// A row of the table, after the cell's number.
    ///
    /// # Errors
    /// As [`ResultTable::result`].
    pub fn row(
        &self,
        k: usize,
        keys: &[KeyColumn],
        statistics: &StatisticColumns,
    ) -> LabResult<Vec<TableEntry>> {
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

    /// Writes the table as CSV: a line of names, a line for each cell. The answer says what was left out: each flow where a cell has more
    /// than [`super::MOST_FLOWS`], each link where one has more than [`super::MOST_LINKS`].
    ///
    /// # Errors
    /// As [`ResultTable::result`]; what the writer says.
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
