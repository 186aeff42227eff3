//! Numbers from simulations that are kept in the repository: `papers/NNN/results/NAME.json`.
//!
//! `make papers` writes these files. A file has the numbers of the cells of one experiment; a cell
//! is one complete scenario. A cell is identified by a hash of its scenario, so a number is used
//! only for the scenario that was simulated. A file has only the numbers that the verdicts need, so
//! its size is only a few kilobytes.

use crate::cell::hexadecimal;
use crate::measure::{Measure, MeasurePlace, MeasuredNumber};
use crate::study::{CellReadings, Study, WantedNumber};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The numbers of a cell. The key is the name of a measure, as [`reading_name`] gives it. The value
/// has the mean and half the width of its 95 % confidence interval. The value is null if the
/// measure has no value.
type CellNumbers = BTreeMap<String, Option<(f64, Option<f64>)>>;

/// The numbers of one experiment that are kept in the repository.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommittedNumbers {
    /// The identities of the code that produced the numbers ([`crate::cell::identity`]).
    pub simulators: BTreeSet<String>,
    /// The numbers of each cell, by the cell's name in the file (see [`cell_names`]).
    cells: BTreeMap<String, CellNumbers>,
}

impl CommittedNumbers {
    /// Parses the text of a file.
    ///
    /// # Errors
    /// Fails when the text is not JSON of this form. The error is the JSON reader's text.
    pub fn parse(text: &str) -> Result<CommittedNumbers, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    /// The text of a file with these numbers, one line per cell.
    pub fn to_text(&self) -> String {
        let simulators = serde_json::to_string(&self.simulators).unwrap_or_default();
        let line = |(cell, numbers): (&String, &CellNumbers)| {
            format!("  \"{cell}\": {}", serde_json::to_string(numbers).unwrap_or_default())
        };
        let cells: Vec<String> = self.cells.iter().map(line).collect();
        format!("{{\n \"simulators\": {simulators},\n \"cells\": {{\n{}\n }}\n}}\n", cells.join(",\n"))
    }

    /// Whether the code that made the numbers of `study` has changed since.
    pub fn is_outdated(&self, study: &Study) -> bool {
        let known = cell_names(study).concat().into_iter().zip(simulators(study).concat());
        known.into_iter().any(|(cell, code)| self.cells.contains_key(&cell) && !self.simulators.contains(&code))
    }

    /// The numbers as a source for judging `study`.
    pub fn readings<'a>(&'a self, study: &Study) -> CommittedReadings<'a> {
        CommittedReadings { numbers: self, cells: cell_names(study) }
    }
}

/// The name that each cell of a study has in the file, by set and by cell in the set. The name is
/// the first 16 hexadecimal digits of a hash. The hash covers the scenario and whether the cell's
/// first run is traced, but not the simulator's code.
fn cell_names(study: &Study) -> Vec<Vec<String>> {
    let name = |set: usize, place: usize| {
        let cell = study.experiment.resolve(set, place);
        cell.map_or_else(|_| String::new(), |cell| hexadecimal(&cell.key_by(""))[..16].to_owned())
    };
    let sets = study.experiment.sets().iter().enumerate();
    sets.map(|(set, spec)| (0..spec.cells()).map(|place| name(set, place)).collect()).collect()
}

/// The identity of the code that each cell of a study runs, by set and by cell in the set.
fn simulators(study: &Study) -> Vec<Vec<String>> {
    let of_set = |set| study.cells(set).iter().map(|cell| cell.simulator.clone()).collect();
    (0..study.experiment.sets().len()).map(of_set).collect()
}

fn reading_name(measure: &Measure, at: &MeasurePlace) -> String {
    let flow = at.flow.map_or_else(String::new, |flow| format!(" flow {flow}"));
    let interval = at.interval.map_or_else(String::new, |[from, to]| format!(" {from}..{to} s"));
    format!("{}{flow}{interval}", measure.name())
}

/// The numbers that are kept in the repository, as a source for judging one study.
pub struct CommittedReadings<'a> {
    numbers: &'a CommittedNumbers,
    /// The name of each cell, as [`cell_names`] gives it.
    cells: Vec<Vec<String>>,
}

impl CellReadings for CommittedReadings<'_> {
    fn is_there(&self, set: usize, place: usize) -> bool {
        self.numbers.cells.contains_key(&self.cells[set][place])
    }

    fn read(&self, wanted: &WantedNumber) -> Result<Option<MeasuredNumber>, String> {
        let name = reading_name(wanted.measure, wanted.at);
        let cell = self.numbers.cells.get(&self.cells[wanted.set][wanted.place]);
        let found = cell.and_then(|cell| cell.get(&name));
        match found {
            Some(number) => Ok(number.map(|(mean, ci95)| MeasuredNumber { mean, ci95 })),
            None => Err(format!("the file of kept numbers has no `{name}`; run `make papers` to write this file")),
        }
    }
}

/// A source that passes on the numbers of another source, and records every number that is read.
pub struct NotedReadings<'a> {
    readings: &'a dyn CellReadings,
    cells: Vec<Vec<String>>,
    /// The identity of the code of each cell.
    simulators: Vec<Vec<String>>,
    noted: RefCell<CommittedNumbers>,
}

impl<'a> NotedReadings<'a> {
    /// Records what is read from `readings` while `study` is judged.
    pub fn new(study: &Study, readings: &'a dyn CellReadings) -> NotedReadings<'a> {
        NotedReadings { readings, cells: cell_names(study), simulators: simulators(study), noted: RefCell::default() }
    }

    /// The recorded numbers, ready to be written to a file.
    pub fn numbers(self) -> CommittedNumbers {
        self.noted.into_inner()
    }
}

impl CellReadings for NotedReadings<'_> {
    fn is_there(&self, set: usize, place: usize) -> bool {
        let there = self.readings.is_there(set, place);
        if there {
            let mut noted = self.noted.borrow_mut();
            noted.simulators.insert(self.simulators[set][place].clone());
            noted.cells.entry(self.cells[set][place].clone()).or_default();
        }
        there
    }

    fn read(&self, wanted: &WantedNumber) -> Result<Option<MeasuredNumber>, String> {
        let number = self.readings.read(wanted)?;
        let mut noted = self.noted.borrow_mut();
        noted.simulators.insert(self.simulators[wanted.set][wanted.place].clone());
        let cell = noted.cells.entry(self.cells[wanted.set][wanted.place].clone()).or_default();
        cell.insert(reading_name(wanted.measure, wanted.at), number.map(|number| (number.mean, number.ci95)));
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::SourceText;
    use crate::published::Published;
    use crate::study::{CellResults, Verdict, judge};
    use serde_json::json;

    const TEXT: &str = "[base]\npreset = \"tandem\"\n[grid]\nloss = [0, \"1%\"]\n[[claim]]\ntext = \"c\"\n\
                        holds = [\"falling(goodput[loss=*])\"]\n";

    fn study(text: &str) -> Study {
        let source = SourceText { path: "t".into(), text: text.to_owned() };
        Study::read("9.t", source, &Published::default()).unwrap()
    }

    #[test]
    fn what_is_written_down_gives_the_same_verdicts() {
        let own = study(TEXT);
        let result = |bps: f64| json!({"goodput_bps": {"mean": bps, "ci95": 1e3, "n": 2}});
        let results = CellResults(vec![vec![result(3e5), result(2e5)]]);
        let noted = NotedReadings::new(&own, &results);
        let first = judge(&own, &noted, &Published::default(), false);
        let mut numbers = CommittedNumbers::parse(&noted.numbers().to_text()).unwrap();
        assert!(!numbers.is_outdated(&own));
        let again = judge(&own, &numbers.readings(&own), &Published::default(), false);
        assert_eq!(serde_json::to_value(&first).unwrap(), serde_json::to_value(&again).unwrap());
        numbers.simulators = std::iter::once("core+tcp-classic:0".to_owned()).collect();
        assert!(numbers.is_outdated(&own), "the numbers are of other code");
        // A changed scenario has another hash, so there are no numbers for it.
        let other = study(&TEXT.replace("\"tandem\"", "\"tandem\"\nseed = 2"));
        let other = judge(&other, &numbers.readings(&other), &Published::default(), false);
        assert_eq!(other.claims[0].verdict, Verdict::NotRun);
        // If the cell is known but the measure is not, the verdict is an error.
        let more = study(&TEXT.replace("goodput[loss=*]", "srtt[loss=*]"));
        let more = judge(&more, &numbers.readings(&more), &Published::default(), false);
        assert_eq!(more.claims[0].verdict, Verdict::Error);
    }
}
