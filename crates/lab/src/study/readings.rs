//! Where the numbers of a study's cells come from: results, a store, or numbers that were written down.

use super::Study;
use crate::cell::{LabCell, SIMULATOR, read_result};
use crate::error::LabResult;
use crate::measure::{Measure, MeasurePlace, MeasuredNumber};
use crate::run::CellTask;
use crate::store::ResultStore;
use serde_json::Value;
use std::cell::RefCell;

/// A measure of one cell of a study.
#[derive(Clone, Copy, Debug)]
pub struct WantedNumber<'a> {
    /// The cell's set: an index into the sets of the experiment.
    pub set: usize,
    /// The cell's index in its set.
    pub place: usize,
    /// The measure.
    pub measure: &'a Measure,
    /// The flow and the interval that are measured.
    pub at: &'a MeasurePlace,
}

/// The numbers of a study's cells.
pub trait CellReadings {
    /// Whether a cell was run.
    fn is_there(&self, set: usize, place: usize) -> bool;

    /// A measure of a cell; None where it has no value.
    ///
    /// # Errors
    /// What cannot be read.
    fn read(&self, wanted: &WantedNumber) -> Result<Option<MeasuredNumber>, String>;
}

/// The results of all cells, in memory: of each set, of each cell; null where it was not run.
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

/// Results that are read from a store when they are needed.
pub struct StoredReadings<'a> {
    study: &'a Study,
    store: &'a ResultStore,
    /// The one that was read last: measures of one cell often follow each other.
    last: RefCell<Option<(usize, usize, Value)>>,
}

impl<'a> StoredReadings<'a> {
    /// The results of `study` in `store`.
    pub fn new(study: &'a Study, store: &'a ResultStore) -> StoredReadings<'a> {
        StoredReadings { study, store, last: RefCell::new(None) }
    }

    /// The results of all cells; null where there is none.
    ///
    /// # Errors
    /// What the store refused; a result that cannot be read.
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

/// A cell of a study that is to be run, and its name.
#[derive(Clone, Debug)]
pub struct PlannedCell {
    /// For messages: `000.fig12: nc R = 1.12`.
    pub name: String,
    /// What is run.
    pub cell: LabCell,
}

impl PlannedCell {
    /// What the runner has to know of it.
    pub fn task(&self) -> CellTask {
        CellTask::of(&self.cell)
    }

    /// Its result in `store`.
    ///
    /// # Errors
    /// What the store refused; a result that is not there.
    pub fn result(&self, store: &ResultStore) -> LabResult<Value> {
        let text = store.get(&self.cell.key(SIMULATOR))?;
        let gone = || crate::error::LabError::work(&self.name, "its result is not in the store");
        read_result(&text.ok_or_else(gone)?)
    }
}
