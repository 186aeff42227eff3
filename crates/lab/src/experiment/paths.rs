//! Reads and follows paths into a scenario, such as `link[0].forth.loss` or `flow.0.tcp`.

use super::grid::written;
use toml::{Table, Value};

/// Splits a path into its steps. `link[0].forth.loss` and `link.0.forth.loss` mean the same.
pub(super) fn steps(path: &str) -> Vec<String> {
    path.replace('[', ".").replace(']', "").split('.').map(str::to_owned).collect()
}

/// Stores `value` where `path` leads, starting at `here`. The step `*` leads to each item of a
/// list.
///
/// Missing tables along the path are created.
///
/// # Errors
/// The step that leads nowhere, and why.
pub(super) fn put(here: &mut Value, path: &[String], value: &Value) -> Result<(), String> {
    let Some((step, rest)) = path.split_first() else {
        *here = value.clone();
        return Ok(());
    };
    match here {
        Value::Table(table) if rest.is_empty() => {
            table.insert(step.clone(), value.clone());
            Ok(())
        }
        Value::Table(table) => {
            put(table.entry(step.clone()).or_insert_with(|| Value::Table(Table::new())), rest, value)
        }
        Value::Array(list) if step == "*" => list.iter_mut().try_for_each(|item| put(item, rest, value)),
        Value::Array(list) => {
            let length = list.len();
            let item = step.parse().ok().and_then(|index: usize| list.get_mut(index));
            let item = item.ok_or_else(|| {
                format!("`{step}` leads nowhere: the list has {length} items; write an index from 0, or `*` for all")
            })?;
            put(item, rest, value)
        }
        other => Err(format!("`{step}` leads nowhere: the value before it is `{}`, not a table", written(other))),
    }
}

/// The value to which `path` leads in the scenario `here`. The step `*` takes the first item of a
/// list.
///
/// `None` when the path leads nowhere or to `null`.
pub(super) fn find<'a>(mut here: &'a serde_json::Value, path: &[String]) -> Option<&'a serde_json::Value> {
    for step in path {
        here = match here {
            serde_json::Value::Array(list) if step == "*" => list.first()?,
            serde_json::Value::Array(list) => list.get(step.parse::<usize>().ok()?)?,
            other => other.get(step)?,
        };
    }
    Some(here).filter(|found| !found.is_null())
}
