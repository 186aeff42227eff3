//! The cells of an experiment: their values, their names, and the hashes of their results.
//!
//! A cell is one complete scenario. A set (see `mod.rs`) is a group of cells with one base. Its
//! cells differ in the values of their keys. A key is the name of a setting, such as `loss`. This
//! file also selects cells by `KEY=VALUE` for the command line.

use super::Experiment;
use super::base::{CellBase, WrongSetting};
use super::grid::{CASE, written};
use super::paths::{find, steps};
use crate::cell::{CellKey, LabCell};
use crate::entry::TableEntry;
use crate::preset::ParameterKind;
use crate::run::CellTask;

/// One cell of an experiment, with its place in the grid.
#[derive(Clone, Debug)]
pub struct GridCell {
    /// The cell's number in the experiment, from 0.
    pub index: usize,
    /// The index of the cell's set.
    pub set: usize,
    /// The cell's number within its set, from 0.
    pub place: usize,
    /// The cell's value of each key of the experiment, in the order of [`Experiment::keys`].
    pub values: Vec<TableEntry>,
    /// The values as text. Each text is as the file writes it, or is the default of the preset or
    /// the scenario. The text of a key that the cell does not have is empty.
    pub texts: Vec<String>,
    /// The hash under which the store keeps the cell's result, or why the cell has no valid
    /// scenario.
    pub key: Result<CellKey, WrongSetting>,
    /// The identity of the code that the cell runs ([`crate::cell::identity`]).
    pub simulator: String,
    /// The simulated time of all runs together, seconds.
    pub work_s: f64,
    /// The number of runs.
    pub runs: u32,
}

impl GridCell {
    /// Cell number `place` of a set, from 0. `index` is its number in the experiment.
    pub(super) fn new(experiment: &Experiment, index: usize, set: usize, place: usize) -> GridCell {
        let resolved = experiment.resolve(set, place);
        let (values, texts) = values_and_texts(experiment, set, place, resolved.as_ref().ok());
        let (work_s, runs) =
            resolved.as_ref().map_or((0.0, 0), |cell| (cell.run_s() * f64::from(cell.runs()), cell.runs()));
        let simulator = resolved.as_ref().map_or_else(|_| String::new(), |cell| cell.simulator().to_owned());
        let key = resolved.map(|cell| cell.key());
        GridCell { index, set, place, values, texts, key, simulator, work_s, runs }
    }

    /// The task that runs this cell.
    pub fn task(&self, experiment: &Experiment) -> CellTask {
        let words = |wrong: &WrongSetting| experiment.source().wrong(wrong.at, &wrong.problem).to_string();
        let key = self.key.as_ref().copied().map_err(words);
        CellTask { key, simulator: self.simulator.clone(), work_s: self.work_s, runs: self.runs }
    }

    /// A name for people, from all keys that vary in the experiment: `loss=1%, tcp=reno`.
    pub fn name(&self, experiment: &Experiment) -> String {
        let pairs = experiment.keys().iter().zip(&self.texts).filter(|(_, text)| !text.is_empty());
        pairs.map(|(key, text)| format!("{key}={text}")).collect::<Vec<_>>().join(", ")
    }

    /// A label for people, from the keys that vary in the cell's set: `R = 1.13, q = 2.5%`.
    pub fn label(&self, experiment: &Experiment) -> String {
        let pairs = experiment.set_keys(self.set).iter().filter_map(|key| Some((key, self.text(experiment, key)?)));
        pairs.map(|(key, text)| format!("{key} = {text}")).collect::<Vec<_>>().join(", ")
    }

    /// The cell's value of a key as text (see [`GridCell::texts`]). `None` when the cell has no
    /// such key.
    pub fn text(&self, experiment: &Experiment, key: &str) -> Option<&str> {
        let k = experiment.keys().iter().position(|known| known == key)?;
        Some(self.texts[k].as_str()).filter(|text| !text.is_empty())
    }

    /// The cell's value of a key. `None` when the cell has no such key.
    pub fn value(&self, experiment: &Experiment, key: &str) -> Option<&TableEntry> {
        let k = experiment.keys().iter().position(|known| known == key)?;
        Some(&self.values[k]).filter(|value| **value != TableEntry::Missing)
    }
}

/// The value and the text of each key of the experiment, for one cell.
///
/// If the cell does not set a key, the key's value comes from the base. If the base does not set
/// the key either, the value is the default of the preset or the scenario. `resolved` is the cell,
/// if its settings are valid.
fn values_and_texts(
    experiment: &Experiment,
    set: usize,
    place: usize,
    resolved: Option<&LabCell>,
) -> (Vec<TableEntry>, Vec<String>) {
    let spec = &experiment.sets[set];
    let settings = spec.grid.cell(place);
    let json = match (&spec.base.base, resolved) {
        (CellBase::Scenario(_), Some(cell)) => serde_json::from_str(cell.text()).unwrap_or_default(),
        _ => serde_json::Value::Null,
    };
    let name = |key: &String| -> (TableEntry, String) {
        if experiment.has_set_column() && key == super::SET {
            return (TableEntry::Text(spec.name.clone()), spec.name.clone());
        }
        let of_cell = settings.iter().find(|setting| setting.key == *key).map(|setting| &setting.value);
        let of_base = || spec.grid.base.iter().find(|setting| setting.key == *key).map(|s| &s.value);
        let text = of_cell.or_else(of_base).map(written);
        let plain = |text: Option<&String>| {
            text.map_or(TableEntry::Missing, |text| TableEntry::of_json(&serde_json::Value::String(text.clone())))
        };
        let (value, default) = match &spec.base.base {
            _ if key == CASE => (text.clone().map_or(TableEntry::Missing, TableEntry::Text), None),
            _ if spec.base.holes.contains(key) || spec.base.labels.contains(key) => (plain(text.as_ref()), None),
            CellBase::Chain => (plain(text.as_ref()), None),
            CellBase::Preset(preset) => {
                let parameter = preset.parameter(key);
                let switch = |kind| if kind == ParameterKind::Switch { Some("false") } else { None };
                let default = parameter.and_then(|p| p.default.or_else(|| switch(p.kind))).map(str::to_owned);
                let kind = parameter.map_or(ParameterKind::Other, |parameter| parameter.kind);
                let shown = text.as_ref().or(default.as_ref());
                (shown.map_or(TableEntry::Missing, |text| TableEntry::of_parameter(kind, text)), default)
            }
            CellBase::Scenario(_) => {
                let found = find(&json, &steps(key));
                // Some settings, such as a loss, become several fields of the scenario. The values
                // of such settings are shown as the file writes them.
                let single = found.filter(|found| !found.is_object() && !found.is_array());
                let written = || text.clone().map(serde_json::Value::String);
                let shown = single.cloned().or_else(written).or_else(|| found.cloned());
                (shown.as_ref().map_or(TableEntry::Missing, TableEntry::of_json), found.map(json_text))
            }
        };
        (value, text.or(default).unwrap_or_default())
    };
    experiment.keys().iter().map(name).unzip()
}

/// A JSON value as text. Strings have no quotes.
fn json_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Selects cells by words of the form `KEY=VALUE`.
///
/// A cell must match every key in `wanted`. If several words have the same key, the cell must have
/// one of the values of these words.
///
/// # Errors
/// A word is not `KEY=VALUE`, the key of a word does not vary, or no cell has the value of a word.
pub fn pick_cells(experiment: &Experiment, cells: Vec<GridCell>, wanted: &[String]) -> Result<Vec<GridCell>, String> {
    let mut picks: Vec<(usize, Vec<&str>)> = Vec::new();
    for word in wanted {
        let (key, value) =
            word.rsplit_once('=').ok_or_else(|| format!("`{word}` is not KEY=VALUE, such as tcp=reno"))?;
        let position = experiment.keys().iter().position(|known| known == key.trim());
        let k = position.ok_or_else(|| {
            let known = match experiment.keys() {
                [] => "no key varies".to_owned(),
                [one] => format!("the only key that varies is {one}"),
                keys => format!("the keys that vary are {}", keys.join(", ")),
            };
            format!("`{}` does not vary in this experiment; {known}", key.trim())
        })?;
        if !cells.iter().any(|cell| has_value(experiment, cell, k, value.trim())) {
            let mut known: Vec<&str> = Vec::new();
            for cell in &cells {
                let text = cell.texts[k].as_str();
                if !text.is_empty() && !known.contains(&text) && known.len() < 20 {
                    known.push(text);
                }
            }
            return Err(format!("no cell has {key} = `{}`; the cells have {}", value.trim(), known.join(", ")));
        }
        match picks.iter_mut().find(|(other, _)| *other == k) {
            Some((_, values)) => values.push(value.trim()),
            None => picks.push((k, vec![value.trim()])),
        }
    }
    let picked = |cell: &GridCell| {
        picks.iter().all(|(k, values)| values.iter().any(|value| has_value(experiment, cell, *k, value)))
    };
    Ok(cells.into_iter().filter(picked).collect())
}

/// Whether the cell's value of key number `k` is `wanted`. Equal numbers match, so `1.5%` matches
/// `0.015`.
fn has_value(experiment: &Experiment, cell: &GridCell, k: usize, wanted: &str) -> bool {
    if cell.texts[k] == wanted {
        return true;
    }
    let meant = match &experiment.sets[cell.set].base.base {
        CellBase::Preset(preset) => preset
            .parameter(&experiment.keys()[k])
            .map_or(TableEntry::Missing, |parameter| TableEntry::of_parameter(parameter.kind, wanted)),
        _ => TableEntry::of_json(&serde_json::Value::String(wanted.to_owned())),
    };
    matches!((&meant, &cell.values[k]), (TableEntry::Number(a, _), TableEntry::Number(b, _)) if a == b)
}
