//! Reads one set of an experiment: the settings that all its cells share, and the axes that vary.
//!
//! `[base]` has the shared settings. An axis is a list of levels. A level gives values to one or
//! more keys, which are names of settings. Each key of `[grid]` is an axis, each `[[zip]]` is an
//! axis, and all `[[cases]]` together are one axis. The set has one cell for each combination that
//! takes one level from every axis.

mod axis;
mod range;
mod values;

pub(super) use values::written;

use super::source::SourceText;
use crate::error::LabResult;
use axis::settings;
use toml::Value;
use toml::de::{DeTable, DeValue};

/// The largest number of cells that an experiment may have.
///
/// The limit refuses a mistyped grid before all its cells are built. Half or double the value only
/// moves the size at which an experiment must be divided into several experiments.
pub const MOST_CELLS: usize = 100_000;

/// A key with its value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeySetting {
    /// The name of a parameter, a path into the scenario, or the name of a placeholder, as written.
    pub(super) key: String,
    /// The value of the key.
    pub(super) value: Value,
    /// The byte offset of the value in the file.
    pub(super) at: usize,
}

/// One axis of the grid.
#[derive(Clone, Debug, Default)]
pub(super) struct GridAxis {
    /// The levels of the axis. A level is a list of settings. A cell takes all settings of one
    /// level.
    pub(super) levels: Vec<Vec<KeySetting>>,
}

/// The key that names a case. This key is a column of the results and does not change the scenario.
pub(crate) const CASE: &str = "case";

/// The grid of a set, with one cell for each combination of levels of the axes.
#[derive(Clone, Debug)]
pub(super) struct GridSpec {
    /// The byte offset of `[base]` in the file.
    pub(super) base_at: usize,
    /// The settings that all cells share. A setting of an axis overrides a shared setting with the
    /// same key.
    pub(super) base: Vec<KeySetting>,
    /// The axes in the order of the file. From cell to cell, the last axis changes fastest.
    pub(super) axes: Vec<GridAxis>,
    /// The keys that the axes set, in the order of the axes.
    pub(super) keys: Vec<String>,
}

impl GridSpec {
    /// Reads the sections of a set that begins at byte offset `at`. Sections that do not belong to
    /// a grid are ignored.
    ///
    /// # Errors
    /// A section is not valid. The message has file, line, column, key, and what would be right.
    pub(super) fn read(source: &SourceText, at: usize, table: &DeTable<'_>) -> LabResult<GridSpec> {
        let mut grid = GridSpec { base_at: at, base: Vec::new(), axes: Vec::new(), keys: Vec::new() };
        let mut found: Vec<(usize, GridAxis)> = Vec::new();
        for (name, section) in table {
            let at = name.span().start;
            match (name.get_ref().as_ref(), section.get_ref()) {
                ("base", DeValue::Table(keys)) => {
                    grid.base_at = at;
                    grid.base = settings(source, keys)?;
                }
                ("grid", DeValue::Table(keys)) => found.extend(axis::grid(source, keys)?),
                ("zip", DeValue::Array(groups)) => {
                    for group in groups {
                        let DeValue::Table(keys) = group.get_ref() else {
                            return Err(source.wrong(group.span().start, TWO_BRACKETS));
                        };
                        found.push((group.span().start, axis::zip(source, group.span().start, keys)?));
                    }
                }
                ("cases", DeValue::Array(cases)) => {
                    let levels = cases.iter().map(|case| match case.get_ref() {
                        DeValue::Table(keys) => settings(source, keys),
                        _ => Err(source.wrong(case.span().start, TWO_BRACKETS)),
                    });
                    let axis = GridAxis { levels: levels.collect::<LabResult<_>>()? };
                    if axis.levels.is_empty() {
                        return Err(
                            source.wrong(at, "cases: the list is empty; remove the list, or write sections [[cases]]")
                        );
                    }
                    let first = cases.iter().map(|case| case.span().start).min().unwrap_or(at);
                    found.push((first, axis));
                }
                ("zip" | "cases", DeValue::Table(_)) => return Err(source.wrong(at, TWO_BRACKETS)),
                ("base" | "grid", _) => {
                    return Err(source.wrong(at, format!("`{}` is a section: write [{0}]", name.get_ref())));
                }
                _ => {}
            }
        }
        if !table.contains_key("base") {
            let problem = "the section [base] is missing: write `preset = \"tandem\"`, `preset = \"fec\"` \
                           or `scenario = \"FILE.toml\"` in it";
            return Err(source.wrong(at, problem));
        }
        found.sort_by_key(|(at, _)| *at);
        grid.axes = found.into_iter().map(|(_, axis)| axis).collect();
        grid.collect_keys(source)?;
        grid.check_size(source)?;
        Ok(grid)
    }

    /// Reads a grid from `text`, as if `text` were the content of the file `path`.
    #[cfg(test)]
    pub(super) fn of_text(path: &str, text: &str) -> LabResult<GridSpec> {
        let source = SourceText { path: path.into(), text: text.to_owned() };
        let table = DeTable::parse(text).map_err(|error| source.wrong(0, error.message()))?;
        GridSpec::read(&source, 0, table.get_ref())
    }

    /// The number of cells.
    pub(super) fn cells(&self) -> usize {
        self.axes.iter().map(|axis| axis.levels.len()).product()
    }

    /// The settings of cell number `index`, from 0, in the order of the axes.
    pub(super) fn cell(&self, index: usize) -> Vec<&KeySetting> {
        let mut rest = index;
        let mut chosen: Vec<&Vec<KeySetting>> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            chosen.push(&axis.levels[rest % axis.levels.len()]);
            rest /= axis.levels.len();
        }
        chosen.into_iter().rev().flatten().collect()
    }

    /// The keys that the axes set, in the order of the file.
    pub(super) fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Collects the keys of the axes, and refuses a key that two axes set.
    fn collect_keys(&mut self, source: &SourceText) -> LabResult<()> {
        for axis in &self.axes {
            let mut here: Vec<&KeySetting> = Vec::new();
            for setting in axis.levels.iter().flatten() {
                if !here.iter().any(|other| other.key == setting.key) {
                    here.push(setting);
                }
            }
            for setting in here {
                if self.keys.contains(&setting.key) {
                    let problem = format!("{}: varies already on another axis; leave out one of the two", setting.key);
                    return Err(source.wrong(setting.at, problem));
                }
                self.keys.push(setting.key.clone());
            }
        }
        Ok(())
    }

    /// Refuses a grid with more than [`MOST_CELLS`] cells.
    fn check_size(&self, source: &SourceText) -> LabResult<()> {
        let mut cells = 1usize;
        for axis in &self.axes {
            cells = cells.saturating_mul(axis.levels.len());
            if cells > MOST_CELLS {
                let at = axis.levels.iter().flatten().next().map_or(0, |setting| setting.at);
                let problem = format!("more than {MOST_CELLS} cells; write several experiments instead of one");
                return Err(source.wrong(at, problem));
            }
        }
        Ok(())
    }
}

/// The message about `[zip]` or `[cases]` that is not written as a list of tables.
const TWO_BRACKETS: &str = "each group of keys is a section of its own, in two brackets: [[zip]], [[cases]]";
