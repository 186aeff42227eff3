//! The cells of a plan: what each one is, and by which key its result is found again.

use super::base::{Base, Wrong, steps};
use super::plan::{CASE, Plan, written};
use super::value::Entry;
use crate::failure::{Failure, Outcome};
use crate::sim::FlagKind;
use crate::store::{Key, key_of};

/// One point of a plan.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    /// Counted from 0, in the order of the plan.
    pub(super) index: usize,
    /// The value of each key of the plan, in its order.
    pub(super) values: Vec<Entry>,
    /// The same as it is written, for people.
    pub(super) texts: Vec<String>,
    /// Where its result is kept, or why there can be none.
    pub(super) key: Result<Key, Wrong>,
    /// Virtual time of all its runs, s.
    pub(super) work_s: f64,
    /// Its runs.
    pub(super) runs: u32,
}

/// All cells of a plan.
pub(super) fn all(plan: &Plan, base: &Base, version: &str) -> Vec<Cell> {
    (0..plan.cells()).map(|index| Cell::new(plan, base, index, version)).collect()
}

impl Cell {
    fn new(plan: &Plan, base: &Base, index: usize, version: &str) -> Cell {
        let settings = plan.cell(index);
        let resolved = base.resolve(plan, &settings);
        let json = match (base, &resolved) {
            (Base::File(_), Ok(resolved)) => serde_json::from_str(&resolved.text).unwrap_or_default(),
            _ => serde_json::Value::Null,
        };
        let (mut values, mut texts) = (Vec::new(), Vec::new());
        for key in &plan.keys {
            let of_cell = settings.iter().find(|setting| setting.key == *key).map(|setting| &setting.value);
            let given = of_cell.or_else(|| {
                plan.base.iter().find(|setting| setting.key == *key).map(|setting| &setting.value)
            });
            let text = given.map(written);
            let (value, default) = match base {
                _ if key == CASE => {
                    (text.as_ref().map_or(Entry::Missing, |text| Entry::Text(text.clone())), None)
                }
                Base::Preset(_, flags) => {
                    let flag = flags.iter().find(|flag| flag.name == *key);
                    let default = flag.and_then(|flag| flag.default.clone());
                    let kind = flag.map_or(FlagKind::Other, |flag| flag.kind);
                    let shown = text.as_ref().or(default.as_ref());
                    (shown.map_or(Entry::Missing, |text| Entry::of_flag(kind, text)), default)
                }
                Base::File(_) => {
                    let found = find(&json, &steps(key));
                    // What is read into several fields, such as a loss, is shown as it was written.
                    let plain = found.filter(|found| !found.is_object() && !found.is_array());
                    let written = || text.clone().map(serde_json::Value::String);
                    let shown = plain.cloned().or_else(written).or_else(|| found.cloned());
                    (shown.as_ref().map_or(Entry::Missing, Entry::of_json), found.map(json_text))
                }
            };
            values.push(value);
            texts.push(text.or(default).unwrap_or_default());
        }
        let (work_s, runs) = resolved.as_ref().map_or((0.0, 0), |resolved| {
            let run = &resolved.scenario.run;
            (run.duration.duration().as_secs_f64() * f64::from(run.runs), run.runs)
        });
        let key = resolved.map(|resolved| key_of(&[version, &resolved.text]));
        Cell { index, values, texts, key, work_s, runs }
    }

    /// What makes it differ from the others, for people: `loss=1%, tcp=reno`.
    pub(super) fn name(&self, plan: &Plan) -> String {
        let pairs = plan.keys.iter().zip(&self.texts).filter(|(_, text)| !text.is_empty());
        pairs.map(|(key, text)| format!("{key}={text}")).collect::<Vec<_>>().join(", ")
    }
}

/// Where a path leads in a scenario; the first of several.
fn find<'a>(mut here: &'a serde_json::Value, path: &[String]) -> Option<&'a serde_json::Value> {
    for step in path {
        here = match here {
            serde_json::Value::Array(list) if step == "*" => list.first()?,
            serde_json::Value::Array(list) => list.get(step.parse::<usize>().ok()?)?,
            other => other.get(step)?,
        };
    }
    Some(here).filter(|found| !found.is_null())
}

fn json_text(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The cells that `--only KEY=VALUE` picks: of several for one key any, for several keys all must hold.
///
/// # Errors
/// A key that does not vary, or a value that no cell has.
pub(super) fn only(plan: &Plan, base: &Base, cells: Vec<Cell>, wanted: &[String]) -> Outcome<Vec<Cell>> {
    let mut picks: Vec<(usize, Vec<&str>)> = Vec::new();
    for word in wanted {
        let wrong = |problem: String| Failure::flag("--only", problem);
        let (key, value) = word
            .rsplit_once('=')
            .ok_or_else(|| wrong(format!("`{word}`; write KEY=VALUE, such as tcp=reno")))?;
        let position = plan.keys.iter().position(|known| known == key.trim());
        let k = position.ok_or_else(|| {
            let known = match &plan.keys[..] {
                [] => "nothing does".to_owned(),
                [one] => format!("there is {one}"),
                keys => format!("there are {}", keys.join(", ")),
            };
            wrong(format!("`{}` does not vary in this plan; {known}", key.trim()))
        })?;
        if !cells.iter().any(|cell| is(base, plan, cell, k, value.trim())) {
            let mut known: Vec<&str> = Vec::new();
            for cell in &cells {
                let text = cell.texts[k].as_str();
                if !text.is_empty() && !known.contains(&text) && known.len() < 20 {
                    known.push(text);
                }
            }
            return Err(wrong(format!(
                "no cell has {key} = `{}`; there are {}",
                value.trim(),
                known.join(", ")
            )));
        }
        match picks.iter_mut().find(|(other, _)| *other == k) {
            Some((_, values)) => values.push(value.trim()),
            None => picks.push((k, vec![value.trim()])),
        }
    }
    let picked = |cell: &Cell| {
        picks.iter().all(|(k, values)| values.iter().any(|value| is(base, plan, cell, *k, value)))
    };
    Ok(cells.into_iter().filter(picked).collect())
}

/// Whether a cell has this value, as it is written or in other words: 1.5% is 0.015.
fn is(base: &Base, plan: &Plan, cell: &Cell, k: usize, wanted: &str) -> bool {
    if cell.texts[k] == wanted {
        return true;
    }
    let meant = match base {
        Base::Preset(_, flags) => {
            let flag = flags.iter().find(|flag| flag.name == plan.keys[k]);
            flag.map_or(Entry::Missing, |flag| Entry::of_flag(flag.kind, wanted))
        }
        Base::File(_) => Entry::of_json(&serde_json::Value::String(wanted.to_owned())),
    };
    matches!((&meant, &cell.values[k]), (Entry::Number(a, _), Entry::Number(b, _)) if a == b)
}
