//! A plan as it is written: what all cells have, and what changes from one to the next.

use super::place::Source;
use super::range;
use crate::failure::{Failure, Outcome};
use toml::Value;
use toml::de::{DeTable, DeValue};

/// The most cells of a plan.
pub(super) const MOST_CELLS: usize = 100_000;

/// A key that is given a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    /// A flag's name, or a path into the scenario's file, as it is written.
    pub(super) key: String,
    pub(super) value: Value,
    /// Where the value stands in the plan, in bytes.
    pub(super) at: usize,
}

/// What changes: each level is a set of values that go together.
#[derive(Clone, Debug, Default)]
pub(super) struct Axis {
    pub(super) levels: Vec<Vec<Setting>>,
}

/// The name that a case is given: a column, and nothing that is simulated.
pub(super) const CASE: &str = "case";

/// A plan: one cell for each choice of one level of each axis.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) source: Source,
    /// Where `[base]` stands.
    pub(super) base_at: usize,
    /// What all cells have, unless an axis says otherwise.
    pub(super) base: Vec<Setting>,
    /// In the order in which they are written. The last one changes fastest.
    pub(super) axes: Vec<Axis>,
    /// What the axes give values to, in the same order.
    pub(super) keys: Vec<String>,
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// File, line, column, key and what would be right.
    pub(super) fn read(source: Source) -> Outcome<Plan> {
        let table = DeTable::parse(&source.text).map_err(|error| {
            source.wrong(error.span().map_or(0, |span| span.start), error.message().trim_end())
        })?;
        let mut plan =
            Plan { source: source.clone(), base_at: 0, base: Vec::new(), axes: Vec::new(), keys: Vec::new() };
        let mut found: Vec<(usize, Axis)> = Vec::new();
        for (name, section) in table.get_ref() {
            let at = name.span().start;
            match (name.get_ref().as_ref(), section.get_ref()) {
                ("base", DeValue::Table(keys)) => {
                    plan.base_at = at;
                    plan.base = settings(&source, keys)?;
                }
                ("grid", DeValue::Table(keys)) => found.extend(grid(&source, keys)?),
                ("zip", DeValue::Array(groups)) => {
                    for group in groups {
                        let DeValue::Table(keys) = group.get_ref() else {
                            return Err(source.wrong(group.span().start, TWO_BRACKETS));
                        };
                        found.push((group.span().start, zip(&source, group.span().start, keys)?));
                    }
                }
                ("cases", DeValue::Array(cases)) => {
                    let levels = cases.iter().map(|case| match case.get_ref() {
                        DeValue::Table(keys) => settings(&source, keys),
                        _ => Err(source.wrong(case.span().start, TWO_BRACKETS)),
                    });
                    let axis = Axis { levels: levels.collect::<Outcome<_>>()? };
                    if axis.levels.is_empty() {
                        return Err(
                            source.wrong(at, "cases: there is none; leave it out, or write [[cases]]")
                        );
                    }
                    let first = cases.iter().map(|case| case.span().start).min().unwrap_or(at);
                    found.push((first, axis));
                }
                ("zip" | "cases", DeValue::Table(_)) => return Err(source.wrong(at, TWO_BRACKETS)),
                ("base" | "grid", _) => {
                    return Err(source.wrong(at, format!("`{}` is a section: write [{0}]", name.get_ref())));
                }
                (other, _) => {
                    let problem =
                        format!("a plan has no `{other}`; it has [base], [grid], [[zip]] and [[cases]]");
                    return Err(source.wrong(at, problem));
                }
            }
        }
        if !table.get_ref().contains_key("base") {
            let problem = "the section [base] is missing: write `preset = \"tandem\"`, `preset = \"fec\"` \
                           or `scenario = \"FILE.toml\"` in it";
            return Err(source.wrong(0, problem));
        }
        found.sort_by_key(|(at, _)| *at);
        plan.axes = found.into_iter().map(|(_, axis)| axis).collect();
        plan.name_keys()?;
        plan.count()?;
        Ok(plan)
    }

    /// How many cells there are.
    pub(super) fn cells(&self) -> usize {
        self.axes.iter().map(|axis| axis.levels.len()).product()
    }

    /// What the `index`-th cell sets, counted from 0, in the order of the axes.
    pub(super) fn cell(&self, index: usize) -> Vec<&Setting> {
        let mut rest = index;
        let mut chosen: Vec<&Vec<Setting>> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            chosen.push(&axis.levels[rest % axis.levels.len()]);
            rest /= axis.levels.len();
        }
        chosen.into_iter().rev().flatten().collect()
    }

    /// Collects the keys of the axes. A key belongs to one of them.
    fn name_keys(&mut self) -> Outcome<()> {
        for axis in &self.axes {
            let mut here: Vec<&Setting> = Vec::new();
            for setting in axis.levels.iter().flatten() {
                if !here.iter().any(|other| other.key == setting.key) {
                    here.push(setting);
                }
            }
            for setting in here {
                if self.keys.contains(&setting.key) {
                    let problem = format!("{}: varies already; leave one of the two out", setting.key);
                    return Err(self.source.wrong(setting.at, problem));
                }
                self.keys.push(setting.key.clone());
            }
        }
        Ok(())
    }

    fn count(&self) -> Outcome<()> {
        let mut cells = 1usize;
        for axis in &self.axes {
            cells = cells.saturating_mul(axis.levels.len());
            if cells > MOST_CELLS {
                let at = axis.levels.iter().flatten().next().map_or(0, |setting| setting.at);
                let problem = format!("more than {MOST_CELLS} cells; divide the plan into several");
                return Err(self.source.wrong(at, problem));
            }
        }
        Ok(())
    }
}

const TWO_BRACKETS: &str = "each group of keys is a section of its own, in two brackets: [[zip]], [[cases]]";

/// `key = value`, all of them; what stands in tables below has its path in front.
fn settings(source: &Source, table: &DeTable<'_>) -> Outcome<Vec<Setting>> {
    leaves(table, &|_| false)
        .into_iter()
        .map(|(key, at, value)| Ok(Setting { value: plain(source, at, &key, value)?, key, at }))
        .collect()
}

/// An axis for each key.
fn grid(source: &Source, table: &DeTable<'_>) -> Outcome<Vec<(usize, Axis)>> {
    let axes = leaves(table, &range::is_range).into_iter().map(|(key, at, value)| {
        let values = values(source, &key, at, value)?;
        let levels = values.into_iter().map(|(at, value)| vec![Setting { key: key.clone(), value, at }]);
        Ok((at, Axis { levels: levels.collect() }))
    });
    axes.collect()
}

/// One axis of all keys, which have equally many values.
fn zip(source: &Source, at: usize, table: &DeTable<'_>) -> Outcome<Axis> {
    let mut levels: Vec<Vec<Setting>> = Vec::new();
    for (k, (key, at, value)) in leaves(table, &range::is_range).into_iter().enumerate() {
        let values = values(source, &key, at, value)?;
        if k == 0 {
            levels.resize_with(values.len(), Vec::new);
        } else if values.len() != levels.len() {
            let first = &levels[0][0].key;
            let problem = format!(
                "{key}: {} values go together with {} of `{first}`; write equally many",
                values.len(),
                levels.len()
            );
            return Err(source.wrong(at, problem));
        }
        for (level, (at, value)) in levels.iter_mut().zip(values) {
            level.push(Setting { key: key.clone(), value, at });
        }
    }
    match levels.is_empty() {
        true => Err(source.wrong(at, "zip: nothing goes together here; write keys with lists of values")),
        false => Ok(Axis { levels }),
    }
}

/// The values of an axis, each with its place.
fn values(source: &Source, key: &str, at: usize, value: &DeValue<'_>) -> Outcome<Vec<(usize, Value)>> {
    match value {
        DeValue::Array(list) if list.is_empty() => {
            Err(source.wrong(at, format!("{key}: an empty list leaves no cell; write at least one value")))
        }
        DeValue::Array(list) => list
            .iter()
            .map(|item| {
                let at = item.span().start;
                Ok((at, plain(source, at, key, item.get_ref())?))
            })
            .collect(),
        DeValue::Table(table) => range::values(source, key, at, table),
        _ => {
            let problem = format!(
                "{key}: a list of values, such as [1, 2], or a range, such as \
                 {{ from = 1, to = 9, steps = 5 }}; what all cells have belongs into [base]"
            );
            Err(source.wrong(at, problem))
        }
    }
}

/// The keys of a table and of those in it, in the order in which they are written, each with the place of its value. A table
/// for which `stop` holds is a value.
fn leaves<'a, 'i>(
    table: &'a DeTable<'i>,
    stop: &dyn Fn(&DeTable<'_>) -> bool,
) -> Vec<(String, usize, &'a DeValue<'i>)> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value.get_ref() {
            DeValue::Table(below) if !stop(below) => {
                let below = leaves(below, stop).into_iter();
                found.extend(below.map(|(path, at, value)| (format!("{}.{path}", key.get_ref()), at, value)));
            }
            leaf => found.push((key.get_ref().clone().into_owned(), value.span().start, leaf)),
        }
    }
    found.sort_by_key(|(_, at, _)| *at);
    found
}

/// A value without its place.
pub(super) fn plain(source: &Source, at: usize, key: &str, value: &DeValue<'_>) -> Outcome<Value> {
    let wrong = |problem: &str| -> Failure { source.wrong(at, format!("{key}: {problem}")) };
    Ok(match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| wrong("a number of more than 63 bits"))?,
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => return Err(wrong("not a finite number")),
        },
        DeValue::Boolean(switch) => Value::Boolean(*switch),
        DeValue::Datetime(_) => return Err(wrong("a date; times are written `100ms` or `1.5s`")),
        DeValue::Array(list) => {
            let items = list.iter().map(|item| plain(source, item.span().start, key, item.get_ref()));
            Value::Array(items.collect::<Outcome<_>>()?)
        }
        DeValue::Table(table) => {
            let items = table.iter().map(|(name, item)| {
                let value = plain(source, item.span().start, key, item.get_ref())?;
                Ok((name.get_ref().clone().into_owned(), value))
            });
            Value::Table(items.collect::<Outcome<_>>()?)
        }
    })
}

/// A value as it would be written on a command line.
pub(super) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(written).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
