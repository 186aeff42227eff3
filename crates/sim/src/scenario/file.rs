//! Reads scenarios from TOML text, with the place of each error, and writes scenarios as TOML text.

use super::{Scenario, ScenarioError};
use ripstop_base::Place;
use ripstop_link::RateTrace;
use toml::de::{DeTable, DeValue};

/// An error in a scenario file, and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}")]
pub struct FileError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// The field, what is wrong, and what would be right.
    pub problem: String,
}

impl Scenario {
    /// Reads and checks a scenario that names no files.
    ///
    /// # Errors
    /// As [`Scenario::parse_with`]. A scenario that names a file is an error too.
    pub fn parse(text: &str) -> Result<Scenario, FileError> {
        Scenario::parse_with(text, |_| Err("this command reads no further files".to_owned()))
    }

    /// Reads and checks a scenario. `read` returns the text of a file that the scenario names, or says why it cannot.
    /// The steps of rate traces in files become part of the scenario.
    ///
    /// # Errors
    /// The first error: its line, column and field, what is wrong, and what would be right.
    pub fn parse_with(text: &str, read: impl Fn(&str) -> Result<String, String>) -> Result<Scenario, FileError> {
        let mut scenario: Scenario = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            place(text, at, ripstop_base::plain_words(error.message()))
        })?;
        scenario.read_traces(read).map_err(|error| place(text, position(text, &error), error.to_string()))?;
        scenario.check().map_err(|error| place(text, position(text, &error), error.to_string()))?;
        Ok(scenario)
    }

    /// Replaces the files of rate traces by their steps.
    fn read_traces(&mut self, read: impl Fn(&str) -> Result<String, String>) -> Result<(), ScenarioError> {
        for (k, link) in self.link.iter_mut().enumerate() {
            for (way, config) in [("forth", Some(&mut link.forth)), ("back", link.back.as_mut())] {
                let Some(trace) = config.and_then(|config| config.rate_trace.as_mut()) else { continue };
                let Some(file) = &trace.file else { continue };
                let wrong = |problem: String| {
                    ScenarioError::new(format!("link[{k}].{way}.rate_trace.file"), format!("`{file}`: {problem}"))
                };
                if !trace.steps.is_empty() || trace.period.is_some() {
                    return Err(wrong("the file gives the steps and the period; remove `steps` and `period`".into()));
                }
                *trace = read(file).and_then(|text| RateTrace::parse(&text)).map_err(wrong)?;
            }
        }
        Ok(())
    }

    /// The scenario as TOML, which [`Scenario::parse`] reads back.
    ///
    /// # Errors
    /// A number above `i64::MAX`, which TOML cannot express.
    pub fn to_toml(&self) -> Result<String, ScenarioError> {
        toml::to_string(self).map_err(|error| ScenarioError::new("scenario", error.to_string()))
    }
}

/// An error at the byte `at` of the text.
fn place(text: &str, at: usize, problem: String) -> FileError {
    let Place { line, column } = Place::of(text, at);
    FileError { line, column, problem }
}

/// The position in the text of an error's field. If the text lacks the last parts of the field's path, the result is
/// the position of the part before these parts.
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
