//! Reads the cells of an experiment from its file.
//!
//! A cell is one complete scenario (see `cell/mod.rs`). A file has one set of cells, or several
//! sets in `[[set]]` sections. A set has a base and a grid:
//!
//! - The base is the scenario, or the preset, from which all cells of the set are made.
//! - The grid gives values to keys. A key is the name of a setting that may differ from cell to
//!   cell, such as `loss` or `link[0].forth.rate`.
//!
//! The caller reads the other sections of the file, such as measures and claims.

mod base;
mod cells;
pub(crate) mod grid;
mod paths;
mod source;

pub use base::WrongSetting;
pub use cells::{GridCell, pick_cells};
pub use grid::MOST_CELLS;
pub use source::SourceText;

use crate::cell::LabCell;
use crate::error::LabResult;
use base::BaseSpec;
use grid::GridSpec;
use toml::de::{DeTable, DeValue};

/// The name of the sections that define sets: `[[set]]`. Also the name of the column that holds the
/// set of each cell. Only experiments with several sets have this column.
const SET: &str = "set";

/// A set of cells that share a base and differ in the values of a grid.
#[derive(Clone, Debug)]
pub struct ExperimentSet {
    /// The set's name, unique in the experiment. Empty when the file has no `[[set]]` sections.
    pub name: String,
    /// The byte offset of the set in the file.
    pub at: usize,
    /// The number of runs of each cell with `--quick`. `None` leaves the set out with `--quick`.
    pub quick: Option<u32>,
    /// Whether each cell's first run records the first flow's window and the number of lost
    /// packets.
    pub trace: bool,
    grid: GridSpec,
    base: BaseSpec,
}

/// An experiment: its file, its sets, and the keys to which its grids give values.
#[derive(Clone, Debug)]
pub struct Experiment {
    source: SourceText,
    sets: Vec<ExperimentSet>,
    keys: Vec<String>,
}

impl Experiment {
    /// Reads the cells of an experiment. Sections whose names are in `others` are ignored: the
    /// caller reads them.
    ///
    /// # Errors
    /// The file is not valid. The message has file, line, column, key, and what would be right.
    pub fn read(source: SourceText, others: &[&str]) -> LabResult<Experiment> {
        let table = DeTable::parse(&source.text)
            .map_err(|error| source.wrong(error.span().map_or(0, |span| span.start), error.message().trim_end()))?;
        let table = table.get_ref();
        const GRID: [&str; 4] = ["base", "grid", "zip", "cases"];
        let named = table.iter().find(|(name, _)| name.get_ref().as_ref() == SET);
        for (name, _) in table {
            let (word, at) = (name.get_ref().as_ref(), name.span().start);
            if others.contains(&word) || word == SET {
                continue;
            }
            if !GRID.contains(&word) {
                let problem = format!(
                    "an experiment has no section `{word}`; its sections are [base], [grid], [[zip]], [[cases]] \
                     and [[set]]"
                );
                return Err(source.wrong(at, problem));
            }
            if named.is_some() {
                let problem = format!(
                    "this file has [[set]] sections, so `{word}` must belong to one of them: write [set.{word}] \
                     ([[set.{word}]] for zip and cases), or remove [[set]]"
                );
                return Err(source.wrong(at, problem));
            }
        }
        let sets = match named.map(|(_, value)| value.get_ref()) {
            None => vec![set(&source, 0, table, &GRID)?],
            Some(DeValue::Array(list)) => list
                .iter()
                .map(|item| match item.get_ref() {
                    DeValue::Table(keys) => set(&source, item.span().start, keys, &SET_FIELDS),
                    _ => Err(source
                        .wrong(item.span().start, "`set` must be a list of sections: begin each set with [[set]]")),
                })
                .collect::<LabResult<Vec<_>>>()?,
            Some(_) => return Err(source.wrong(0, "`set` must be a list of sections: begin each set with [[set]]")),
        };
        let mut experiment = Experiment { source, sets, keys: Vec::new() };
        experiment.check_sets_and_collect_keys()?;
        Ok(experiment)
    }

    /// The file from which the experiment was read.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// The sets, in the order of the file.
    pub fn sets(&self) -> &[ExperimentSet] {
        &self.sets
    }

    /// All keys that vary, in the order of the file. The first key is `set` when there are several
    /// sets.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// The keys that vary in set number `set`, in the order of the file.
    ///
    /// # Panics
    /// No set has the number `set`.
    pub fn set_keys(&self, set: usize) -> &[String] {
        self.sets[set].grid.keys()
    }

    /// The index of the set with this name.
    pub fn set(&self, name: &str) -> Option<usize> {
        self.sets.iter().position(|set| set.name == name)
    }

    /// All cells, set by set.
    pub fn cells(&self) -> Vec<GridCell> {
        let places = self.sets.iter().enumerate().flat_map(|(set, spec)| (0..spec.cells()).map(move |k| (set, k)));
        places.enumerate().map(|(index, (set, place))| GridCell::new(self, index, set, place)).collect()
    }

    /// Cell number `place` of set number `set`, ready to run. Both numbers count from 0.
    ///
    /// # Errors
    /// The setting that makes the cell's scenario invalid.
    pub fn resolve(&self, set: usize, place: usize) -> Result<LabCell, WrongSetting> {
        let spec = &self.sets[set];
        let scenario = spec.base.resolve(&spec.grid, &spec.grid.cell(place))?;
        LabCell::new(&scenario, spec.trace).map_err(|problem| WrongSetting { at: spec.grid.base_at, problem })
    }

    /// Whether there are several sets, so that cells need a column with the set's name.
    fn has_set_column(&self) -> bool {
        self.sets.len() > 1
    }

    /// Checks that the sets have different names and at most [`MOST_CELLS`] cells in all. Collects
    /// the keys.
    fn check_sets_and_collect_keys(&mut self) -> LabResult<()> {
        let mut cells = 0;
        for (k, set) in self.sets.iter().enumerate() {
            if self.set(&set.name) != Some(k) {
                return Err(self
                    .source
                    .wrong(set.at, format!("`name`: two sets are called `{}`; rename one of them", set.name)));
            }
            cells += set.cells();
            if cells > MOST_CELLS {
                let problem = format!("more than {MOST_CELLS} cells; write several experiments instead of one");
                return Err(self.source.wrong(set.at, problem));
            }
        }
        let mut keys: Vec<String> = if self.has_set_column() { vec![SET.to_owned()] } else { Vec::new() };
        for key in self.sets.iter().flat_map(|set| set.grid.keys()) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        self.keys = keys;
        Ok(())
    }
}

impl ExperimentSet {
    /// The number of cells.
    pub fn cells(&self) -> usize {
        self.grid.cells()
    }
}

/// The keys and sections that a `[[set]]` can have.
const SET_FIELDS: [&str; 8] = ["name", "quick", "trace", "labels", "base", "grid", "zip", "cases"];

/// Reads one set from `table`, which is at byte offset `at`.
///
/// `fields` are the allowed fields of the table:
///
/// - For a `[[set]]` section, the allowed fields are [`SET_FIELDS`]. Any other field is refused.
/// - In a file without `[[set]]`, `fields` does not contain `name`. Then `name`, `quick`, `trace` and `labels` are not
///   read, and other fields are not refused here, because the caller has checked these fields.
fn set(source: &SourceText, at: usize, table: &DeTable<'_>, fields: &[&str]) -> LabResult<ExperimentSet> {
    let field = |name: &str| table.iter().find(|(key, _)| key.get_ref().as_ref() == name).map(|(_, value)| value);
    let stranger = table.iter().map(|(key, _)| key).find(|key| !fields.contains(&key.get_ref().as_ref()));
    if let Some(stranger) = stranger.filter(|_| fields.contains(&"name")) {
        let problem = format!("unknown field `{}`; the fields of a set are {}", stranger.get_ref(), fields.join(", "));
        return Err(source.wrong(stranger.span().start, problem));
    }
    let named = fields.contains(&"name");
    let name = match field("name").filter(|_| named).map(|value| (value.span().start, value.get_ref())) {
        Some((_, DeValue::String(name))) => name.clone().into_owned(),
        Some((at, _)) => return Err(source.wrong(at, "name: write a text in quotes")),
        None if named => return Err(source.wrong(at, "a set needs a name: write `name = \"..\"`")),
        None => String::new(),
    };
    let quick = match field("quick").filter(|_| named).map(|value| (value.span().start, value.get_ref())) {
        None => None,
        Some((at, DeValue::Integer(runs))) => match runs.as_str().parse() {
            Ok(runs @ 1..) => Some(runs),
            _ => return Err(source.wrong(at, "quick: write a number of runs, at least 1")),
        },
        Some((at, _)) => return Err(source.wrong(at, "quick: write a number of runs, at least 1")),
    };
    let trace = match field("trace").filter(|_| named).map(|value| (value.span().start, value.get_ref())) {
        None => false,
        Some((_, DeValue::Boolean(trace))) => *trace,
        Some((at, _)) => return Err(source.wrong(at, "trace: write true or false")),
    };
    let labels = match field("labels").filter(|_| named).map(|value| (value.span().start, value.get_ref())) {
        None => Vec::new(),
        Some((_, DeValue::Array(list))) if list.iter().all(|item| item.get_ref().is_str()) => {
            list.iter().filter_map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
        }
        Some((at, _)) => {
            return Err(source.wrong(
                at,
                "labels: write a list of keys in quotes; these keys name cells and do not change the scenario",
            ));
        }
    };
    let mut grid = GridSpec::read(source, at, table)?;
    let base = BaseSpec::of(source, &mut grid, labels)?;
    Ok(ExperimentSet { name, at, quick, trace, grid, base })
}
