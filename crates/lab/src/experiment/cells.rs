//! The cells of an experiment: what each one is called, and by which key its result is found.

use super::Experiment;
use super::base::{CellBase, WrongSetting};
use super::grid::{CASE, written};
use super::paths::{find, steps};
use crate::cell::{CellKey, LabCell, SIMULATOR};
use crate::entry::TableEntry;
use crate::preset::ParameterKind;
use crate::run::CellTask;

/// One point of an experiment.
#[derive(Clone, Debug)]
pub struct GridCell {
    /// Counted from 0, in the order of the experiment.
    pub index: usize,
    /// The set that it belongs to, and its place there.
    pub set: usize,
    /// Counted from 0 within its set.
    pub place: usize,
    /// The value of each key of the experiment, in their order.
    pub values: Vec<TableEntry>,
    /// The same as it is written, for people; empty where the set has no such key.
    pub texts: Vec<String>,
    /// Where its result is kept, or why there can be none.
    pub key: Result<CellKey, WrongSetting>,
    /// Virtual time of all its runs, s.
    pub work_s: f64,
    /// Its runs.
    pub runs: u32,
}

impl GridCell {
    /// The `place`-th cell of a set.
    pub(super) fn new(experiment: &Experiment, index: usize, set: usize, place: usize) -> GridCell {
        let resolved = experiment.resolve(set, place);
        let (values, texts) = names(experiment, set, place, resolved.as_ref().ok());
        let (work_s, runs) =
            resolved.as_ref().map_or((0.0, 0), |cell| (cell.run_s() * f64::from(cell.runs()), cell.runs()));
        let key = resolved.map(|cell| cell.key(SIMULATOR));
        GridCell { index, set, place, values, texts, key, work_s, runs }
    }

    /// What the runner has to know of it.
    pub fn task(&self, experiment: &Experiment) -> CellTask {
        let words = |wrong: &WrongSetting| experiment.source().wrong(wrong.at, &wrong.problem).to_string();
        CellTask { key: self.key.as_ref().copied().map_err(words), work_s: self.work_s, runs: self.runs }
    }

    /// What makes it differ from the others, for people: `loss=1%, tcp=reno`.
    pub fn name(&self, experiment: &Experiment) -> String {
        let pairs = experiment.keys().iter().zip(&self.texts).filter(|(_, text)| !text.is_empty());
        pairs.map(|(key, text)| format!("{key}={text}")).collect::<Vec<_>>().join(", ")
    }

    /// The values of its set's keys, for people: `R = 1.13, q = 2.5%`.
    pub fn label(&self, experiment: &Experiment) -> String {
        let pairs =
            experiment.set_keys(self.set).iter().filter_map(|key| Some((key, self.text(experiment, key)?)));
        pairs.map(|(key, text)| format!("{key} = {text}")).collect::<Vec<_>>().join(", ")
    }

    /// How the value of a key is written.
    pub fn text(&self, experiment: &Experiment, key: &str) -> Option<&str> {
        let k = experiment.keys().iter().position(|known| known == key)?;
        Some(self.texts[k].as_str()).filter(|text| !text.is_empty())
    }

    /// The value of a key.
    pub fn value(&self, experiment: &Experiment, key: &str) -> Option<&TableEntry> {
        let k = experiment.keys().iter().position(|known| known == key)?;
        Some(&self.values[k]).filter(|value| **value != TableEntry::Missing)
    }
}

/// Of each key of the experiment the value and the text that a cell has.
fn names(
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
            text.map_or(TableEntry::Missing, |text| {
                TableEntry::of_json(&serde_json::Value::String(text.clone()))
            })
        };
        let (value, default) = match &spec.base.base {
            _ if key == CASE => (text.clone().map_or(TableEntry::Missing, TableEntry::Text), None),
            _ if spec.base.holes.contains(key) || spec.base.labels.contains(key) => {
                (plain(text.as_ref()), None)
            }
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
                // What is read into several fields, such as a loss, is shown as it was written.
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

fn json_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Picks cells by `KEY=VALUE`: of several for one key any, for several keys all must hold.
///
/// # Errors
/// A key that does not vary, or a value that no cell has.
pub fn pick_cells(
    experiment: &Experiment,
    cells: Vec<GridCell>,
    wanted: &[String],
) -> Result<Vec<GridCell>, String> {
    let mut picks: Vec<(usize, Vec<&str>)> = Vec::new();
    for word in wanted {
        let (key, value) =
            word.rsplit_once('=').ok_or_else(|| format!("`{word}`; write KEY=VALUE, such as tcp=reno"))?;
        let position = experiment.keys().iter().position(|known| known == key.trim());
        let k = position.ok_or_else(|| {
            let known = match experiment.keys() {
                [] => "nothing does".to_owned(),
                [one] => format!("there is {one}"),
                keys => format!("there are {}", keys.join(", ")),
            };
            format!("`{}` does not vary in this plan; {known}", key.trim())
        })?;
        if !cells.iter().any(|cell| is(experiment, cell, k, value.trim())) {
            let mut known: Vec<&str> = Vec::new();
            for cell in &cells {
                let text = cell.texts[k].as_str();
                if !text.is_empty() && !known.contains(&text) && known.len() < 20 {
                    known.push(text);
                }
            }
            return Err(format!("no cell has {key} = `{}`; there are {}", value.trim(), known.join(", ")));
        }
        match picks.iter_mut().find(|(other, _)| *other == k) {
            Some((_, values)) => values.push(value.trim()),
            None => picks.push((k, vec![value.trim()])),
        }
    }
    let picked = |cell: &GridCell| {
        picks.iter().all(|(k, values)| values.iter().any(|value| is(experiment, cell, *k, value)))
    };
    Ok(cells.into_iter().filter(picked).collect())
}

/// Whether a cell has this value, as it is written or in other words: 1.5% is 0.015.
fn is(experiment: &Experiment, cell: &GridCell, k: usize, wanted: &str) -> bool {
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
