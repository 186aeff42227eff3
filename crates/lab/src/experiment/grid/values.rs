//! Values of settings: from a file, and as text.

use crate::error::{LabError, LabResult};
use crate::experiment::source::SourceText;
use toml::Value;
use toml::de::DeValue;

/// A value without its place.
pub(super) fn plain(source: &SourceText, at: usize, key: &str, value: &DeValue<'_>) -> LabResult<Value> {
    let wrong = |problem: &str| -> LabError { source.wrong(at, format!("{key}: {problem}")) };
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
            Value::Array(items.collect::<LabResult<_>>()?)
        }
        DeValue::Table(table) => {
            let items = table.iter().map(|(name, item)| {
                let value = plain(source, item.span().start, key, item.get_ref())?;
                Ok((name.get_ref().clone().into_owned(), value))
            });
            Value::Table(items.collect::<LabResult<_>>()?)
        }
    })
}

/// A value as it would be written on a command line.
pub(in crate::experiment) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(written).collect::<Vec<_>>().join(","),
        // `1.0` is written `1`: as people write it, and as whole numbers are read.
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}
