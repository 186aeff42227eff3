//! Selects cells of a set by the values of their keys, as in `R = 1.12` or `q = *`.
//!
//! A cell is one complete scenario. A key is a setting whose value differs from cell to cell. A
//! selection can also name a flow and an interval, for which a number is read from the cells.

use super::Study;
use crate::entry::TableEntry;
use crate::experiment::GridCell;
use crate::measure::MeasurePlace;
use ripstop_base::Span;
use ripstop_sim::scenario::Scenario;
use toml::{Table, Value};

/// The value that a key must have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct KeyValue {
    /// The value as it is written.
    text: String,
    /// The value as a number, if the text is a number: `2.5%` is 0.025, and a duration is in
    /// seconds.
    number: Option<f64>,
}

/// A selection of cells, with the flow and the interval to read from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CellChoice {
    /// Keys and the values that they must have.
    fixed: Vec<(String, KeyValue)>,
    /// The key that may have any value (`q = *`). The selected cells then form a curve over this
    /// key.
    pub(super) star: Option<String>,
    /// The flow and the interval to read.
    pub(super) place: MeasurePlace,
}

impl KeyValue {
    /// Reads the text of a value, such as `1.12`, `2.5%` or `100ms`.
    fn of_text(text: &str) -> KeyValue {
        let number = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok().map(|x| x / 100.0),
            None => text.parse::<f64>().ok(),
        };
        let span = || text.parse::<Span>().ok().map(|span| span.duration().as_secs_f64());
        KeyValue { text: text.to_owned(), number: number.or_else(span) }
    }

    fn of_value(value: &Value) -> Option<KeyValue> {
        Some(match value {
            Value::String(text) => KeyValue::of_text(text),
            Value::Integer(n) => KeyValue { text: n.to_string(), number: Some(*n as f64) },
            Value::Float(x) => KeyValue { text: x.to_string(), number: Some(*x) },
            Value::Boolean(on) => KeyValue { text: on.to_string(), number: None },
            _ => return None,
        })
    }

    /// Whether this value equals a cell's value. Two values are equal if they have the same text,
    /// or if they are numbers that differ by at most 1e-9 of the larger number.
    fn is_of(&self, text: &str, entry: &TableEntry) -> bool {
        match (self.number, entry.number()) {
            _ if self.text == text => true,
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            _ => false,
        }
    }
}

impl CellChoice {
    /// Reads a selection from the table `at` of a `[[check]]` or a `[[figure]]` in the file.
    pub(super) fn of_table(at: &Table) -> Result<CellChoice, String> {
        let mut choice = CellChoice::default();
        for (name, value) in at {
            let value = KeyValue::of_value(value).ok_or("a value must be a number, a text, true or false")?;
            choice.set(name, value)?;
        }
        Ok(choice)
    }

    /// Reads a selection from the words of a claim: `R=1.12`, `flow=0`, `interval=100s..350s`.
    pub(super) fn of_words<'a>(words: impl Iterator<Item = &'a str>) -> Result<CellChoice, String> {
        let mut choice = CellChoice::default();
        for word in words {
            let (name, value) =
                word.split_once('=').ok_or_else(|| format!("`{word}`: write `key=value`, such as `R=1.12`"))?;
            choice.set(name.trim(), KeyValue::of_text(value.trim()))?;
        }
        Ok(choice)
    }

    fn set(&mut self, name: &str, value: KeyValue) -> Result<(), String> {
        match name {
            "flow" => {
                let number = value.number.filter(|k| *k >= 0.0 && k.fract() == 0.0);
                let number = number
                    .ok_or_else(|| format!("flow `{}` is not a whole number; flows are counted from 0", value.text))?;
                self.place.flow = Some(number as usize);
            }
            "interval" => {
                let ends = value
                    .text
                    .split_once("..")
                    .and_then(|(from, to)| Some([KeyValue::of_text(from).number?, KeyValue::of_text(to).number?]));
                let ends =
                    ends.ok_or_else(|| format!("`{}` is not an interval; write, for example, 350s..650s", value.text))?;
                self.place.interval = Some(ends);
            }
            _ if value.text == "*" && self.star.is_some() => return Err("only one key can have the value `*`".into()),
            _ if value.text == "*" => self.star = Some(name.to_owned()),
            _ => self.fixed.push((name.to_owned(), value)),
        }
        Ok(())
    }

    /// The selected cells of the set with index `set`.
    pub(super) fn select<'a>(&self, study: &'a Study, set: usize) -> Vec<&'a GridCell> {
        study.cells(set).iter().filter(|cell| self.means(study, cell)).collect()
    }

    /// Whether the selection includes `cell`.
    pub(super) fn means(&self, study: &Study, cell: &GridCell) -> bool {
        let experiment = &study.experiment;
        let is = |name: &str, value: &KeyValue| {
            let text = cell.text(experiment, name);
            text.is_some_and(|text| cell.value(experiment, name).is_some_and(|entry| value.is_of(text, entry)))
        };
        self.fixed.iter().all(|(name, value)| is(name, value))
            && self.star.as_ref().is_none_or(|name| cell.text(experiment, name).is_some())
    }

    /// Checks that `scenario` has the selected flow and the selected interval.
    ///
    /// # Errors
    /// Fails when the flow or the interval does not exist in `scenario`.
    pub(super) fn check(&self, scenario: &Scenario) -> Result<(), String> {
        let flows: usize = scenario.flow.iter().map(|flow| flow.count as usize).sum();
        if let Some(flow) = self.place.flow.filter(|flow| *flow >= flows) {
            return Err(format!("there is no flow {flow}; the flows are 0 to {}", flows.saturating_sub(1)));
        }
        let seconds = |span: &Span| span.duration().as_secs_f64();
        let known =
            |ends: &[f64; 2]| scenario.run.intervals.iter().any(|pair| [seconds(&pair[0]), seconds(&pair[1])] == *ends);
        match self.place.interval {
            Some(ends) if !known(&ends) => {
                Err(format!("{}s..{}s is not among the intervals of the set's `run`", ends[0], ends[1]))
            }
            _ => Ok(()),
        }
    }
}
