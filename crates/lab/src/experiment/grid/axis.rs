//! Reads the axes of a grid: lists of values, ranges, and keys whose values change together.
//!
//! An axis is a list of levels. A level gives values to one or more keys (see `mod.rs`).

use super::values::{plain, written};
use super::{GridAxis, KeySetting, range};
use crate::entry::TableEntry;
use crate::error::LabResult;
use crate::experiment::source::SourceText;
use toml::Value;
use toml::de::{DeTable, DeValue};

/// All `key = value` pairs of a table. The path of a nested table is put before its keys, as in
/// `flow.tcp`.
pub(super) fn settings(source: &SourceText, table: &DeTable<'_>) -> LabResult<Vec<KeySetting>> {
    leaves(table, &|_| false)
        .into_iter()
        .map(|(key, at, value)| Ok(KeySetting { value: plain(source, at, &key, value)?, key, at }))
        .collect()
}

/// Reads `[grid]`: one axis for each key. Each item has the byte offset of the axis's values in the
/// file, and the axis.
pub(super) fn grid(source: &SourceText, table: &DeTable<'_>) -> LabResult<Vec<(usize, GridAxis)>> {
    let axes = leaves(table, &range::is_range).into_iter().map(|(key, at, value)| {
        let values = values(source, &key, at, value)?;
        refuse_twice(source, &key, &values)?;
        let levels = values.into_iter().map(|(at, value)| vec![KeySetting { key: key.clone(), value, at }]);
        Ok((at, GridAxis { levels: levels.collect() }))
    });
    axes.collect()
}

/// Reads one `[[zip]]`: a single axis for all keys of the section. All keys must have the same
/// number of values, and the k-th level sets each key to its k-th value.
pub(super) fn zip(source: &SourceText, at: usize, table: &DeTable<'_>) -> LabResult<GridAxis> {
    let mut levels: Vec<Vec<KeySetting>> = Vec::new();
    for (k, (key, at, value)) in leaves(table, &range::is_range).into_iter().enumerate() {
        let values = values(source, &key, at, value)?;
        if k == 0 {
            levels.resize_with(values.len(), Vec::new);
        } else if values.len() != levels.len() {
            let first = &levels[0][0].key;
            let problem = format!(
                "{key}: {} values, but `{first}` has {}; all keys of a [[zip]] need the same number of values",
                values.len(),
                levels.len()
            );
            return Err(source.wrong(at, problem));
        }
        for (level, (at, value)) in levels.iter_mut().zip(values) {
            level.push(KeySetting { key: key.clone(), value, at });
        }
    }
    match levels.is_empty() {
        true => Err(source.wrong(at, "zip: this section has no keys; write keys with lists of values")),
        false => Ok(GridAxis { levels }),
    }
}

/// Refuses a list with equal values, because cells with such values would be run and counted twice.
fn refuse_twice(source: &SourceText, key: &str, values: &[(usize, Value)]) -> LabResult<()> {
    let entries: Vec<(String, TableEntry)> = values
        .iter()
        .map(|(_, value)| (written(value), TableEntry::of_json(&serde_json::Value::String(written(value)))))
        .collect();
    for (k, (text, entry)) in entries.iter().enumerate() {
        let same = |(other, value): &(String, TableEntry)| {
            other == text || matches!(entry, TableEntry::Number(..)) && value == entry
        };
        if let Some((first, _)) = entries[..k].iter().find(|other| same(other)) {
            let problem = format!("{key}: the list already has `{text}`, as `{first}`; leave out one of the two");
            return Err(source.wrong(values[k].0, problem));
        }
    }
    Ok(())
}

/// The values of an axis, each with its byte offset in the file.
fn values(source: &SourceText, key: &str, at: usize, value: &DeValue<'_>) -> LabResult<Vec<(usize, Value)>> {
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
                "{key}: write a list of values, such as [1, 2], or a range, such as \
                 {{ from = 1, to = 9, steps = 5 }}; a value that all cells share belongs into [base]"
            );
            Err(source.wrong(at, problem))
        }
    }
}

/// The keys of a table and its nested tables, in the order of the file.
///
/// Each item has the key with its path, the byte offset of its value, and the value. A nested table
/// for which `stop` returns true is not searched: the table itself is the value.
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
