//! The results of a plan's cells, read from the store one at a time, and the table of them.

use super::cells::Cell;
use super::columns::{self, KeyColumn, State, Statistics};
use super::plan::Plan;
use super::value::Entry;
use crate::failure::{Failure, Outcome};
use crate::files::{self, Refused};
use crate::store::Store;
use serde::Serialize;
use serde_json::Value;
use std::io::Write;

/// How many cells there are of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) cells: usize,
    pub(super) run: usize,
    pub(super) reused: usize,
    pub(super) failed: usize,
    pub(super) missing: usize,
}

/// A plan and what has become of its cells.
pub(super) struct Sweep<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cells: &'a [Cell],
    pub(super) states: &'a [State],
    pub(super) store: Option<&'a Store>,
}

impl Counts {
    pub(super) fn of(states: &[State]) -> Counts {
        let mut counts = Counts { cells: states.len(), ..Counts::default() };
        for state in states {
            match state {
                State::Run => counts.run += 1,
                State::Reused => counts.reused += 1,
                State::Failed(_) => counts.failed += 1,
                State::Missing => counts.missing += 1,
            }
        }
        counts
    }
}

impl Sweep<'_> {
    /// The result of the `k`-th of the cells, as it is kept.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn text(&self, k: usize) -> Outcome<Option<String>> {
        match (self.store, &self.cells[k].key) {
            (Some(store), Ok(key)) if self.states[k].is_there() => store.get(key),
            _ => Ok(None),
        }
    }

    /// The same, read.
    ///
    /// # Errors
    /// What the store says; a result that cannot be read.
    pub(super) fn result(&self, k: usize) -> Outcome<Option<Value>> {
        let read = |text: String| {
            serde_json::from_str(&text).map_err(|error| Failure::work("a result in the store", error))
        };
        self.text(k)?.map(read).transpose()
    }

    /// How long what is missing will take with so many jobs, judged by what the other cells took, s; None where there are none.
    ///
    /// # Errors
    /// As [`Sweep::result`].
    pub(super) fn estimate(&self, jobs: usize) -> Outcome<Option<f64>> {
        let (mut spent_s, mut simulated_s, mut left_s) = (0.0, 0.0, 0.0);
        for (k, cell) in self.cells.iter().enumerate() {
            match (&self.states[k], self.result(k)?) {
                (_, Some(result)) => {
                    spent_s += result["cpu_s"].as_f64().unwrap_or(0.0);
                    simulated_s += cell.work_s;
                }
                (State::Missing, None) => left_s += cell.work_s,
                _ => {}
            }
        }
        Ok((simulated_s > 0.0).then(|| spent_s / simulated_s * left_s / jobs as f64))
    }

    /// The names of all columns, and how to fill those of the statistics. `cell` counts from 1, in the order of the plan.
    ///
    /// # Errors
    /// As [`Sweep::result`].
    pub(super) fn columns(&self) -> Outcome<(Vec<KeyColumn>, Statistics)> {
        let mut statistics = Statistics::default();
        for k in 0..self.cells.len() {
            self.result(k)?.iter().for_each(|result| statistics.learn(result));
        }
        if statistics.too_many_flows {
            eprintln!(
                "note: cells with more than {} flows have no columns for each flow; --json has them",
                columns::MOST_FLOWS
            );
        }
        Ok((columns::of_keys(self.plan, self.cells), statistics))
    }

    /// A row of the table, after the cell's number.
    ///
    /// # Errors
    /// As [`Sweep::result`].
    pub(super) fn row(&self, k: usize, keys: &[KeyColumn], statistics: &Statistics) -> Outcome<Vec<Entry>> {
        let cell = &self.cells[k];
        let state = match &self.states[k] {
            State::Reused | State::Run => "done",
            State::Failed(_) => "failed",
            State::Missing => "missing",
        };
        let mut row = vec![Entry::Count(cell.index as u64 + 1)];
        row.extend(keys.iter().enumerate().map(|(k, column)| columns::of_cell(cell, k, column.unit)));
        row.push(Entry::Text(state.to_owned()));
        row.extend(statistics.row(self.result(k)?.as_ref()));
        Ok(row)
    }

    /// The table: a line of names, a line for each cell.
    pub(super) fn csv(&self, out: &mut dyn Write) -> Result<(), Refused> {
        let (keys, statistics) = self.columns()?;
        let names = keys.iter().map(|column| column.name.clone());
        let first = ["cell".to_owned()].into_iter().chain(names).chain(["state".to_owned()]);
        files::csv_line(out, first.chain(statistics.names.iter().cloned()))?;
        for k in 0..self.cells.len() {
            let row = self.row(k, &keys, &statistics)?;
            files::csv_line(out, row.iter().map(Entry::text))?;
        }
        Ok(out.flush()?)
    }
}
