//! What a scenario is expected to show: bounds on its figures, which turn a run into a test.

use super::report::Report;
use super::{Scenario, ScenarioError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::str::FromStr;

/// A figure of the result, and where it must lie.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ExpectSpec {
    /// Which figure, by its place in the JSON result: `goodput_bps`, `flows[0].timeouts`, `flows[bulk1].delay_s.p99`,
    /// `links[a>b].lost_packets`, `intervals[0].goodput_bps`. Of a statistic its mean is meant.
    pub value: String,
    /// It is this at least, in the figure's own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// It is this at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

/// What became of an expectation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectReport {
    /// The figure.
    pub value: String,
    /// The least that was expected; None for no bound.
    pub least: Option<f64>,
    /// The most that was expected; None for no bound.
    pub most: Option<f64>,
    /// What it was; None where nothing is known of it.
    pub found: Option<f64>,
    /// Whether it is known and within the bounds.
    pub met: bool,
}

impl FromStr for ExpectSpec {
    type Err = String;

    /// From a figure, `>=` or `<=`, and a number: `flows[0].timeouts<=3`.
    fn from_str(text: &str) -> Result<ExpectSpec, String> {
        let parts = text.split_once(">=").map(|(value, bound)| (value, bound, true));
        let parts = parts.or_else(|| text.split_once("<=").map(|(value, bound)| (value, bound, false)));
        let Some((value, bound, least)) = parts else {
            return Err("a figure, `>=` or `<=`, and a number, such as `goodput_bps>=480e3`".into());
        };
        let number: f64 = bound.trim().parse().map_err(|_| {
            format!("`{}` is not a number; figures are in the unit that their name ends in", bound.trim())
        })?;
        let (least, most) = if least { (Some(number), None) } else { (None, Some(number)) };
        Ok(ExpectSpec { value: value.trim().to_owned(), least, most })
    }
}

impl Scenario {
    /// Checks that every figure that is expected exists and can lie where it is expected. All else was found right.
    pub(super) fn check_expectations(&self) -> Result<(), ScenarioError> {
        if self.expect.is_empty() {
            return Ok(());
        }
        let nothing = serde_json::to_value(Report::new(self, &[])).unwrap_or(Value::Null);
        for (k, expect) in self.expect.iter().enumerate() {
            let wrong = |field: &str, problem: String| {
                Err(ScenarioError::new(format!("expect[{k}].{field}"), problem))
            };
            if let Err(problem) = find(&nothing, &expect.value) {
                return wrong("value", problem);
            }
            match (expect.least, expect.most) {
                (None, None) => {
                    return wrong("value", "no bound is given; add `least`, `most` or both".into());
                }
                (Some(least), Some(most)) if least > most => {
                    return wrong("least", format!("{least} is above `most`, {most}; nothing lies between"));
                }
                (least, most) if [least, most].into_iter().flatten().any(f64::is_nan) => {
                    return wrong("value", "NaN bounds nothing; write a number".into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What became of the expectations, by the figures of `report`.
    pub(super) fn judge(&self, report: &Report) -> Vec<ExpectReport> {
        if self.expect.is_empty() {
            return Vec::new();
        }
        let all = serde_json::to_value(report).unwrap_or(Value::Null);
        let judge = |expect: &ExpectSpec| {
            let found = find(&all, &expect.value).ok().flatten();
            let within = |found: f64| {
                expect.least.is_none_or(|least| found >= least)
                    && expect.most.is_none_or(|most| found <= most)
            };
            ExpectReport {
                value: expect.value.clone(),
                least: expect.least,
                most: expect.most,
                found,
                met: found.is_some_and(within),
            }
        };
        self.expect.iter().map(judge).collect()
    }
}

/// The figure at `path`; None where it is null, or lies in something that is. What else there is where it is not found.
fn find(report: &Value, path: &str) -> Result<Option<f64>, String> {
    let mut here = report;
    for step in steps(path)? {
        here = match (here, &step) {
            (Value::Null, _) => return Ok(None),
            (Value::Object(fields), Step::Field(name)) => fields.get(*name).ok_or_else(|| {
                let names: Vec<String> = fields.keys().map(|name| format!("`{name}`")).collect();
                format!("`{path}` is no figure: there is no `{name}`; there are {}", names.join(", "))
            })?,
            (Value::Array(list), Step::Item(which)) => item(list, which)
                .ok_or_else(|| format!("`{path}` is no figure: there is no [{which}]{}", choice(list)))?,
            (Value::Array(list), Step::Field(name)) => {
                return Err(format!("`{path}` is no figure: which one has `{name}`?{}", choice(list)));
            }
            (_, Step::Field(step) | Step::Item(step)) => {
                return Err(format!("`{path}` is no figure: `{step}` is of something that has no parts"));
            }
        };
    }
    match here {
        Value::Null => Ok(None),
        Value::Number(number) => Ok(number.as_f64()),
        Value::Object(fields) if fields.contains_key("mean") => Ok(fields["mean"].as_f64()),
        Value::Object(fields) => {
            let names: Vec<String> = fields.keys().map(|name| format!("`{path}.{name}`")).collect();
            Err(format!("`{path}` is not one figure; there are {}", names.join(", ")))
        }
        Value::Array(list) => Err(format!("`{path}` is not one figure{}", choice(list))),
        _ => Err(format!("`{path}` is not a number")),
    }
}

/// The item of that number or name.
fn item<'a>(list: &'a [Value], which: &str) -> Option<&'a Value> {
    let named = list.iter().find(|item| item["name"].as_str() == Some(which));
    named.or_else(|| list.get(which.parse::<usize>().ok()?))
}

/// How the items of a list are called.
fn choice(list: &[Value]) -> String {
    const MANY: usize = 8;
    let name = |(k, item): (usize, &Value)| match item["name"].as_str() {
        Some(name) => format!("[{name}]"),
        None => format!("[{k}]"),
    };
    let names: Vec<String> = list.iter().enumerate().take(MANY).map(name).collect();
    match list.len() {
        0 => "; the list is empty".into(),
        n if n > MANY => format!("; there are {} and {} more", names.join(", "), n - MANY),
        _ => format!("; there are {}", names.join(", ")),
    }
}

/// A part of a path.
#[derive(Debug, PartialEq)]
enum Step<'a> {
    Field(&'a str),
    Item(&'a str),
}

/// The parts of `path`: names with dots between, items in brackets.
fn steps(path: &str) -> Result<Vec<Step<'_>>, String> {
    let wrong = || format!("`{path}` is no figure; write it as in `flows[0].delay_s.p99`");
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::run;

    fn scenario(expect: &[&str]) -> Scenario {
        let text = "[run]\nduration = \"20s\"\nruns = 2\nsample = \"5s\"\n[[link]]\nbetween = [\"a\", \"b\"]\n\
                    forth = { rate = \"1Mbit/s\", delay = \"100ms\", loss = \"2%\" }\n\
                    [[flow]]\nname = \"bulk\"\ncount = 2\nfrom = \"a\"\nto = \"b\"\n";
        let mut scenario = Scenario::parse(text).expect("a scenario");
        scenario.expect = expect.iter().map(|text| text.parse().expect("an expectation")).collect();
        scenario
    }

    #[test]
    fn figures_are_found_by_place_and_name() {
        let scenario = scenario(&[
            "goodput_bps>=1",
            "goodput_bps<=1",
            "flows[0].timeouts <= 1e9",
            "flows[bulk1].cwnd_packets>=1",
            "flows[1].delay_s.p99>=0.1",
            "links[a>b].lost_packets>=1e9",
            "series.flows[0].goodput_bps[1]>=1",
            "flows[0].completion_s<=1",
            "flows[0].nc.rows<=1",
        ]);
        let report = run(&scenario, 1, || ()).expect("a scenario");
        let met: Vec<bool> = report.expectations.iter().map(|expect| expect.met).collect();
        assert_eq!(met, [true, false, true, true, true, false, true, false, false]);
        // What is not known is not as expected.
        assert!(report.expectations[7..].iter().all(|expect| expect.found.is_none()));
        assert_eq!(report.expectations[0].found, report.goodput_bps.mean);
        let again = Scenario::parse(&scenario.to_toml().expect("TOML")).expect("a scenario");
        assert_eq!(again, scenario);
    }

    #[test]
    fn what_cannot_be_expected_is_named() {
        for (text, words) in [
            ("goodput>=1", "there is no `goodput`; there are `events`"),
            ("flows>=1", "`flows` is not one figure; there are [bulk0], [bulk1]"),
            ("flows[9].timeouts>=1", "there is no [9]; there are [bulk0], [bulk1]"),
            ("flows.timeouts>=1", "which one has `timeouts`?"),
            ("flows[0]>=1", "is not one figure; there are `flows[0]."),
            ("flows[0].name>=1", "is not a number"),
            ("goodput_bps.mean.x>=1", "has no parts"),
            ("flows[0>=1", "write it as in"),
            (".goodput_bps>=1", "write it as in"),
            (">=1", "write it as in"),
            ("goodput_bps>=NaN", "NaN bounds nothing"),
        ] {
            let mut scenario = scenario(&[text]);
            // Statistics that no run has filled in have no value to be looked into.
            if text.contains("mean.x") {
                scenario.expect[0].value = "flows[0].name.x".into();
            }
            let error = scenario.check().expect_err(text);
            assert!(error.field == "expect[0].value" && error.problem.contains(words), "{text}: {error}");
        }
        let mut crossed = scenario(&["goodput_bps>=5"]);
        crossed.expect[0].most = Some(4.0);
        assert_eq!(crossed.check().expect_err("crossed").field, "expect[0].least");
        crossed.expect[0] = ExpectSpec { value: "goodput_bps".into(), least: None, most: None };
        assert!(crossed.check().expect_err("nothing").problem.contains("no bound is given"));
        for text in ["goodput_bps", "goodput_bps=3", "goodput_bps>=many"] {
            assert!(text.parse::<ExpectSpec>().is_err(), "{text}");
        }
    }
}
