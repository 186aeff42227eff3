//! Converts values of settings. Parsed TOML, which has positions in the file, becomes values
//! without positions. Values become text.

use crate::error::{LabError, LabResult};
use crate::experiment::source::SourceText;
use toml::Value;
use toml::de::DeValue;

/// Converts `value` into a value without positions in the file. `key` and the byte offset `at` are
/// for the error message.
///
/// # Errors
/// The value is a date, a number that is not finite, or an integer that does not fit into an `i64`.
pub(super) fn plain(source: &SourceText, at: usize, key: &str, value: &DeValue<'_>) -> LabResult<Value> {
    let wrong = |problem: &str| -> LabError { source.wrong(at, format!("{key}: {problem}")) };
    Ok(match value {
        DeValue::String(text) => Value::String(text.clone().into_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| wrong("the whole number does not fit into 64 bits with its sign"))?,
        DeValue::Float(number) => match number.as_str().parse::<f64>() {
            Ok(number) if number.is_finite() => Value::Float(number),
            _ => return Err(wrong("not a finite number")),
        },
        DeValue::Boolean(switch) => Value::Boolean(*switch),
        DeValue::Datetime(_) => return Err(wrong("a date is no value here; write a time as `100ms` or `1.5s`")),
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

/// A value as it is written on a command line. The items of a list are joined by commas.
pub(in crate::experiment) fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(written).collect::<Vec<_>>().join(","),
        // Writes `1.0` as `1`, so that parameters that take whole numbers can read it.
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}
