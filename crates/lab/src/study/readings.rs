//! Sources of the numbers by which a study is judged: results in memory, or results in a store. A
//! third source, numbers that are kept in files of the repository, is in [`crate::papers`].

use super::Study;
use crate::cell::{LabCell, read_result};
use crate::error::LabResult;
use crate::measure::{Measure, MeasurePlace, MeasuredNumber};
use crate::run::CellTask;
use crate::store::ResultStore;
use serde_json::Value;
use std::cell::RefCell;

/// A request for one measure of one cell of a study.
#[derive(Clone, Copy, Debug)]
pub struct WantedNumber<'a> {
    /// Index of the cell's set in the experiment.
    pub set: usize,
    /// Index of the cell in its set.
    pub place: usize,
    /// The measure to read.
    pub measure: &'a Measure,
    /// The flow and the interval to read.
    pub at: &'a MeasurePlace,
}

/// A source of the numbers of a study's cells.
pub trait CellReadings {
    /// Whether there is a result for the cell.
    fn is_there(&self, set: usize, place: usize) -> bool;

    /// The value of a measure of a cell. None if the cell's result has no value for the measure.
    ///
    /// # Errors
    /// Fails when the number cannot be read, or when the cell was not run.
    fn read(&self, wanted: &WantedNumber) -> Result<Option<MeasuredNumber>, String>;
}

/// The results of all cells in memory. The outer index is the index of the set. The inner index is
/// the index of the cell in its set. A cell that was not run has the value null.
#[derive(Clone, Debug)]
pub struct CellResults(pub Vec<Vec<Value>>);

impl CellReadings for CellResults {
    fn is_there(&self, set: usize, place: usize) -> bool {
        !self.0[set][place].is_null()
    }

    fn read(&self, wanted: &WantedNumber) -> Result<Option<MeasuredNumber>, String> {
        wanted.measure.read(&self.0[wanted.set][wanted.place], wanted.at)
    }
}

/// Results that are read from a store on demand.
pub struct StoredReadings<'a> {
    study: &'a Study,
    store: &'a ResultStore,
    /// The result that was read last, with the index of its set and of its cell. This result is
    /// kept because several measures of one cell are often read one after another.
    last: RefCell<Option<(usize, usize, Value)>>,
}

impl<'a> StoredReadings<'a> {
    /// Reads the results of `study` from `store`.
    pub fn new(study: &'a Study, store: &'a ResultStore) -> StoredReadings<'a> {
        StoredReadings { study, store, last: RefCell::new(None) }
    }

    /// The results of all cells; null for a cell without a result.
    ///
    /// # Errors
    /// Fails when the store cannot be read, or when a result is not valid.
    pub fn all(&self) -> LabResult<CellResults> {
        let result = |set: usize, place: usize| match self.text(set, place)? {
            Some(text) => read_result(&text),
            None => Ok(Value::Null),
        };
        let sets = 0..self.study.experiment.sets().len();
        let of_set = |set: usize| (0..self.study.cells(set).len()).map(|place| result(set, place)).collect();
        Ok(CellResults(sets.map(of_set).collect::<LabResult<_>>()?))
    }

    fn text(&self, set: usize, place: usize) -> LabResult<Option<String>> {
        match &self.study.cells(set)[place].key {
            Ok(key) => self.store.get(key),
            Err(_) => Ok(None),
        }
    }
}

impl CellReadings for StoredReadings<'_> {
    fn is_there(&self, set: usize, place: usize) -> bool {
        matches!(self.text(set, place), Ok(Some(_)))
    }

    fn read(&self, wanted: &WantedNumber) -> Result<Option<MeasuredNumber>, String> {
        let WantedNumber { set, place, measure, at } = *wanted;
        let mut last = self.last.borrow_mut();
        if !matches!(&*last, Some((s, p, _)) if (*s, *p) == (set, place)) {
            let text = self.text(set, place).map_err(|error| error.to_string())?;
            let text = text.ok_or("a cell was not run")?;
            *last = Some((set, place, read_result(&text).map_err(|error| error.to_string())?));
        }
        last.as_ref().map_or(Ok(None), |(_, _, result)| measure.read(result, at))
    }
}

/// A cell of a study, ready to be run, and its name.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// Name for messages, such as `000.fig12: nc R = 1.12`.
    pub name: String,
    /// The cell to run.
    pub cell: LabCell,
}

impl PlannedCell {
    /// The task for [`crate::run::run_missing`].
    pub fn task(&self) -> CellTask {
        CellTask::of(&self.cell)
    }

    /// The result of the cell in `store`.
    ///
    /// # Errors
    /// Fails when the store cannot be read, when it has no result of the cell, or when the result
    /// is not valid.
    pub fn result(&self, store: &ResultStore) -> LabResult<Value> {
        let text = store.get(&self.cell.key())?;
        let gone = || crate::error::LabError::work(&self.name, "its result is not in the store");
        self.cell.read(&text.ok_or_else(gone)?)
    }
}
