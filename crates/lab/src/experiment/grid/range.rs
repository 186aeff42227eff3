//! Reads a range `{ from = .., to = .., steps = .. }` of values at equal distances.
//!
//! With `scale = "log"`, the logarithms of the values have equal distances instead.

use super::MOST_CELLS;
use super::values::{plain, written};
use crate::error::LabResult;
use crate::experiment::source::SourceText;
use toml::Value;
use toml::de::DeTable;

/// The fields that a range can have.
const FIELDS: [&str; 5] = ["from", "to", "steps", "scale", "round"];

/// Whether a table is a range: it has at least one of the fields `from`, `to` and `steps`.
pub(super) fn is_range(table: &DeTable<'_>) -> bool {
    table.keys().any(|key| ["from", "to", "steps"].contains(&key.get_ref().as_ref()))
}

/// The values of the range of `key`, which is at byte offset `at`. Each value is returned with this
/// offset.
///
/// The first and the last value are as the file writes them. The values between them are rounded to
/// six significant digits, so that people can read and type them. With `round = true`, the values
/// between are first rounded to whole numbers.
///
/// # Errors
/// The range is not valid. The message has file, line, column, key, and what would be right.
pub(super) fn values(source: &SourceText, key: &str, at: usize, table: &DeTable<'_>) -> LabResult<Vec<(usize, Value)>> {
    let wrong = |at: usize, problem: String| source.wrong(at, format!("{key}: {problem}"));
    for name in table.keys() {
        if !FIELDS.contains(&name.get_ref().as_ref()) {
            let problem = format!("a range has no `{}`; its fields are {}", name.get_ref(), FIELDS.join(", "));
            return Err(wrong(name.span().start, problem));
        }
    }
    let field = |name: &str| -> LabResult<Option<(usize, Value)>> {
        let found = table.iter().find(|(key, _)| key.get_ref() == name);
        let read = |at: usize, value| Ok((at, plain(source, at, key, value)?));
        found.map(|(_, value)| read(value.span().start, value.get_ref())).transpose()
    };
    let needed = |name: &str| {
        let missing = || wrong(at, format!("a range needs `{name}`: {{ from = 1, to = 9, steps = 5 }}"));
        field(name)?.ok_or_else(missing)
    };
    let (from_at, from) = needed("from")?;
    let (to_at, to) = needed("to")?;
    let (steps_at, steps) = needed("steps")?;
    let end = |at: usize, value: &Value| {
        let problem = || format!("`{}` is not a number or a quantity such as 100ms", written(value));
        Number::of(value).ok_or_else(|| wrong(at, problem()))
    };
    let (first, last) = (end(from_at, &from)?, end(to_at, &to)?);
    if first.unit != last.unit {
        let problem = format!("`{}` and `{}`: write both in one unit", written(&from), written(&to));
        return Err(wrong(to_at, problem));
    }
    let steps = match steps {
        Value::Integer(steps) if (2..=MOST_CELLS as i64).contains(&steps) => steps as usize,
        other => {
            let problem =
                format!("`{}` steps; write a number from 2 (only the two ends) to {MOST_CELLS}", written(&other));
            return Err(wrong(steps_at, problem));
        }
    };
    let logarithmic = match field("scale")? {
        None => false,
        Some((at, Value::String(scale))) => match scale.as_str() {
            "linear" => false,
            "log" if first.value > 0.0 && last.value > 0.0 => true,
            "log" => return Err(wrong(at, "with `scale = \"log\"`, both ends must be above 0".to_owned())),
            _ => return Err(wrong(at, format!("there is no scale `{scale}`; write \"linear\" or \"log\""))),
        },
        Some((at, other)) => {
            return Err(wrong(at, format!("there is no scale `{}`; write \"linear\" or \"log\"", written(&other))));
        }
    };
    let round = match field("round")? {
        None | Some((_, Value::Boolean(false))) => false,
        Some((_, Value::Boolean(true))) => true,
        Some((at, other)) => {
            return Err(wrong(at, format!("round: `{}`; write true or false", written(&other))));
        }
    };
    let between = |k: usize| {
        let part = k as f64 / (steps - 1) as f64;
        let value = match logarithmic {
            // `libm::pow` gives the same bits on every machine; `f64::powf` may not.
            true => first.value * libm::pow(last.value / first.value, part),
            false => first.value + (last.value - first.value) * part,
        };
        six_digits(if round { value.round() } else { value })
    };
    let value = |k: usize| match k {
        0 => from.clone(),
        _ if k == steps - 1 => to.clone(),
        _ => first.like(between(k)),
    };
    Ok((0..steps).map(|k| (at, value(k))).collect())
}

/// A number and the unit that is written after it.
struct Number {
    value: f64,
    unit: Option<String>,
}

impl Number {
    /// The number in a setting's value. `None` when the value is not a number and not a quantity.
    fn of(value: &Value) -> Option<Number> {
        match value {
            Value::Integer(number) => Some(Number { value: *number as f64, unit: None }),
            Value::Float(number) => Some(Number { value: *number, unit: None }),
            Value::String(text) => {
                let split = text.find(|c: char| c.is_alphabetic() || c == '%').unwrap_or(text.len());
                let (number, unit) = text.split_at(split);
                let value: f64 = number.trim().parse().ok()?;
                Some(Number { value, unit: Some(unit.trim().to_owned()) })
            }
            _ => None,
        }
    }

    /// `value` with this number's unit. Without a unit, whole numbers become TOML integers.
    fn like(&self, value: f64) -> Value {
        match &self.unit {
            Some(unit) => Value::String(format!("{value}{unit}")),
            None if value.fract() == 0.0 && value.abs() < 1e15 => Value::Integer(value as i64),
            None => Value::Float(value),
        }
    }
}

/// `value` rounded to six significant digits.
fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::grid::GridSpec;

    fn of(range: &str) -> Result<Vec<String>, String> {
        let text = format!("[base]\npreset = \"tandem\"\n[grid]\nloss = {range}\n");
        let plan = GridSpec::of_text("plan.toml", &text);
        let plan = plan.map_err(|error| error.to_string())?;
        Ok((0..plan.cells()).map(|k| written(&plan.cell(k)[0].value)).collect())
    }

    #[test]
    fn values_lie_between_the_ends() {
        for (range, want) in [
            ("{ from = 20, to = 24, steps = 3 }", &["20", "22", "24"][..]),
            ("{ from = 0, to = 1, steps = 4 }", &["0", "0.333333", "0.666667", "1"]),
            ("{ from = \"0%\", to = \"5%\", steps = 3 }", &["0%", "2.5%", "5%"]),
            ("{ from = \"10ms\", to = \"1000ms\", steps = 3, scale = \"log\" }", &["10ms", "100ms", "1000ms"]),
            ("{ from = 10, to = 1000, steps = 4, scale = \"log\", round = true }", &["10", "46", "215", "1000"]),
            ("{ from = 3, to = 1, steps = 3, scale = \"linear\" }", &["3", "2", "1"]),
        ] {
            assert_eq!(of(range).unwrap(), want, "{range}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_place() {
        for (range, words) in [
            ("{ from = 1, to = 2 }", "plan.toml:4:8: loss: a range needs `steps`"),
            ("{ from = 1, to = 2, steps = 1 }", "plan.toml:4:36: loss: `1` steps; write a number from 2"),
            ("{ from = 1, to = 2, steps = 2, setps = 3 }", "a range has no `setps`"),
            ("{ from = \"1ms\", to = \"2s\", steps = 3 }", "write both in one unit"),
            ("{ from = \"low\", to = \"2s\", steps = 3 }", "`low` is not a number"),
            ("{ from = 0, to = 2, steps = 3, scale = \"log\" }", "both ends must be above 0"),
            ("{ from = 1, to = 2, steps = 3, scale = \"lin\" }", "there is no scale `lin`"),
            ("{ from = 1, to = 2, steps = 3, round = 1 }", "write true or false"),
        ] {
            let error = of(range).unwrap_err();
            assert!(error.contains(words), "{range}: {error}");
        }
    }
}
