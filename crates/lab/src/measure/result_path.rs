//! Finds numbers in a result by their path: `goodput_bps`, `flows[bulk1].delay_s.p99`,
//! `links[a>b].lost_packets`.

use super::MeasuredNumber;
use serde_json::Value;

/// The number at `path`. If `path` leads to a statistic, the number is the mean, with half the
/// width of its confidence interval. A statistic is an object with the fields `mean` and `ci95`.
/// None if the value is null.
///
/// # Errors
/// Fails when the path does not exist. The error lists the names that exist at the wrong step.
pub(crate) fn find_number(result: &Value, path: &str) -> Result<Option<MeasuredNumber>, String> {
    let Some(mean) = find(result, path)? else { return Ok(None) };
    let ci95 = find(result, &format!("{path}.ci95")).ok().flatten();
    Ok(Some(MeasuredNumber { mean, ci95 }))
}

/// The number at `path`. None if the value is null, or if an object on the way to the value is
/// null. If the path does not exist, the error lists the names that exist at the wrong step.
pub(crate) fn find(report: &Value, path: &str) -> Result<Option<f64>, String> {
    let mut here = report;
    for step in steps(path)? {
        here = match (here, &step) {
            (Value::Null, _) => return Ok(None),
            (Value::Object(fields), Step::Field(name)) => fields.get(*name).ok_or_else(|| {
                let names: Vec<String> = fields.keys().map(|name| format!("`{name}`")).collect();
                format!("`{path}` is not in the result: there is no `{name}`; the names are {}", names.join(", "))
            })?,
            (Value::Array(list), Step::Item(which)) => item(list, which)
                .ok_or_else(|| format!("`{path}` is not in the result: there is no [{which}]{}", choice(list)))?,
            (Value::Array(list), Step::Field(name)) => {
                return Err(format!(
                    "`{path}` is not one number: write which list item has `{name}`, in brackets{}",
                    choice(list)
                ));
            }
            (_, Step::Field(step) | Step::Item(step)) => {
                return Err(format!("`{path}` is not in the result: the value before `{step}` has no parts"));
            }
        };
    }
    match here {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(number.as_f64()),
        Value::Object(fields) if fields.contains_key("mean") => Ok(fields["mean"].as_f64()),
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().map(|name| format!("`{path}.{name}`")).collect();
            Err(format!("`{path}` is not one number; its parts are {}", names.join(", ")))
        }
        Value::Array(list) => Err(format!("`{path}` is not one number{}", choice(list))),
        _ => Err(format!("`{path}` is not a number")),
    }
}

/// The item of `list` with the name or the index `which`. A name takes precedence.
fn item<'a>(list: &'a [Value], which: &str) -> Option<&'a Value> {
    let named = list.iter().find(|item| item["name"].as_str() == Some(which));
    named.or_else(|| list.get(which.parse::<usize>().ok()?))
}

/// Lists the names or indices of the items of `list`, as the end of an error message.
fn choice(list: &[Value]) -> String {
    /// Largest number of list items that an error message names. The other items are only counted.
    /// Half or double the value changes only the length of the message.
    const MANY: usize = 8;
    let name = |(k, item): (usize, &Value)| match item["name"].as_str() {
        Some(name) => format!("[{name}]"),
        None => format!("[{k}]"),
    };
    let names: Vec<String> = list.iter().enumerate().take(MANY).map(name).collect();
    match list.len() {
        0 => "; the list is empty".into(),
        n if n > MANY => format!("; the items are {} and {} more", names.join(", "), n - MANY),
        _ => format!("; the items are {}", names.join(", ")),
    }
}

/// A step of a path: the name of a field, or the name or index of a list item.
#[derive(Debug, PartialEq)]
enum Step<'a> {
    Field(&'a str),
    Item(&'a str),
}

/// Splits `path` into steps: field names are separated by dots, list items are in brackets.
fn steps(path: &str) -> Result<Vec<Step<'_>>, String> {
    let wrong = || format!("`{path}` is not a path into the result; write, for example, `flows[0].delay_s.p99`");
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (item, after) = bracket.split_once(']').ok_or_else(wrong)?;
            steps.push(Step::Item(item));
            rest = after;
        } else {
            let name = rest.strip_prefix('.').filter(|_| !steps.is_empty()).unwrap_or(rest);
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err(wrong());
            }
            steps.push(Step::Field(&name[..end]));
            rest = &name[end..];
        }
    }
    if steps.is_empty() { Err(wrong()) } else { Ok(steps) }
}
