//! Scenarios as TOML.

use super::{Scenario, ScenarioError};
use ripstop_base::Place;
use toml::de::{DeTable, DeValue};

/// What is wrong with a scenario in a file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}")]
pub struct FileError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, characters.
    pub column: usize,
    /// The field, what is wrong with it and what would be right.
    pub problem: String,
}

impl Scenario {
    /// Reads a scenario and checks it.
    ///
    /// # Errors
    /// Line, column, field, what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Scenario, FileError> {
        let scenario: Scenario = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            place(text, at, error.message().trim_end().to_owned())
        })?;
        scenario.check().map_err(|error| place(text, position(text, &error), error.to_string()))?;
        Ok(scenario)
    }

    /// The scenario as TOML, which [`Scenario::parse`] reads back.
    ///
    /// # Errors
    /// What cannot be written as TOML: numbers above `i64::MAX`.
    pub fn to_toml(&self) -> Result<String, ScenarioError> {
        toml::to_string(self).map_err(|error| ScenarioError::new("scenario", error.to_string()))
    }
}

fn place(text: &str, at: usize, problem: String) -> FileError {
    let Place { line, column } = Place::of(text, at);
    FileError { line, column, problem }
}

/// Where the field of an error stands; as much of its path as is in the text.
fn position(text: &str, error: &ScenarioError) -> usize {
    let Ok(table) = DeTable::parse(text) else { return 0 };
    let mut at = table.span().start;
    let mut here = DeValue::Table(table.into_inner());
    for name in error.field.replace('[', ".").replace(']', "").split('.') {
        let found = match here {
            DeValue::Table(mut fields) => fields.remove(name),
            DeValue::Array(list) => name.parse().ok().and_then(|index| list.into_iter().nth(index)),
            _ => None,
        };
        let Some(found) = found else { break };
        at = found.span().start;
        here = found.into_inner();
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_NODES: &str = r#"
[run]
duration = "100s"

[[link]]
between = ["a", "b"]
forth = { rate = "2Mbit/s", delay = "100ms", queue = 200, loss = "1.5%" }

[[flow]]
from = "a"
to = "b"
count = 2
"#;

    #[test]
    fn what_is_written_is_read_back() {
        let scenario = Scenario::parse(TWO_NODES).unwrap();
        assert_eq!((scenario.flow[0].count, scenario.flow[0].window, scenario.link.len()), (2, 50, 1));
        assert_eq!(Scenario::parse(&scenario.to_toml().unwrap()).unwrap(), scenario);
    }

    #[test]
    fn complaints_know_their_place() {
        for (from, to, line, words) in [
            ("1.5%", "120%", 7, "loss"),
            ("count = 2", "count = 0", 12, "`flow[0].count`: 0 connections; from 1 to"),
            ("count = 2", "stop = \"0s\"", 12, "`flow[0].stop`: stops before it starts"),
            ("count = 2", "stopp = 1", 12, "unknown field `stopp`"),
            ("to = \"b\"", "to = \"c\"", 11, "no link names the node `c`; there are `a`, `b`"),
            ("to = \"b\"", "to = \"a\"", 11, "is the node at the other end"),
            ("count = 2", "route = [\"a\", \"b\", \"a\"]", 12, "`a` is on the route already: a loop"),
            ("duration = \"100s\"", "warmup = \"1000s\"", 3, "leaves nothing"),
            ("duration = \"100s\"", "intervals = [[\"5s\", \"3s\"]]", 3, "an interval ends after it begins"),
            ("[\"a\", \"b\"]", "[\"a\", \"b\"]\none-way = true", 12, "no links lead from `b` to `a`"),
            ("count = 2", "window = 0", 12, "sends nothing"),
            ("count = 2", "tcp = \"cubik\"", 12, "cubik"),
        ] {
            let text = TWO_NODES.replace(from, to);
            let error = Scenario::parse(&text).expect_err(&text);
            assert!(error.problem.contains(words) && error.line == line, "{text}\n{error}");
        }
    }
}
