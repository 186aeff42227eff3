//! A cell as a line of JSON: all that a process on another machine needs to run it.

use super::{LabCell, SIMULATOR};
use crate::error::{LabError, LabResult};
use ripstop_sim::scenario::Scenario;
use serde::{Deserialize, Serialize};

/// How much of a cell's result is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellDetail {
    /// What was measured.
    Report,
    /// Also the window and the losses of the first run.
    Trace,
}

/// A cell with its name and its simulator, as `ripstop lab cells` prints it and `ripstop lab cell` reads it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellText {
    /// For people. The result does not depend on the name.
    #[serde(default)]
    pub name: String,
    /// The simulator for which the cell was made. Another one may give another result.
    pub simulator: String,
    /// How much of the result is kept.
    pub detail: CellDetail,
    /// What is run.
    pub scenario: Scenario,
}

impl CellText {
    /// A cell for this program's simulator.
    pub fn of(name: String, cell: &LabCell) -> CellText {
        let detail = if cell.is_traced() { CellDetail::Trace } else { CellDetail::Report };
        CellText { name, simulator: SIMULATOR.to_owned(), detail, scenario: cell.scenario().clone() }
    }

    /// Reads one cell.
    ///
    /// # Errors
    /// A text that is no cell: line, column, and what is wrong.
    pub fn parse(text: &str) -> LabResult<CellText> {
        serde_json::from_str(text).map_err(|error| LabError::Input(format!("the cell: {error}")))
    }

    /// The cell, ready to run.
    ///
    /// # Errors
    /// A cell of another simulator, unless `any_simulator`; a scenario that cannot be.
    pub fn cell(&self, any_simulator: bool) -> LabResult<LabCell> {
        if self.simulator != SIMULATOR && !any_simulator {
            return Err(LabError::Input(format!(
                "the cell is for simulator {}, and this program has simulator {SIMULATOR}: the result may differ; use the same \
                 version, or --any-simulator",
                self.simulator
            )));
        }
        LabCell::new(&self.scenario, self.detail == CellDetail::Trace)
            .map_err(|problem| LabError::Input(format!("the cell's scenario: {problem}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "[run]\nduration = \"5s\"\nruns = 1\n[[link]]\nbetween = [\"a\", \"b\"]\n\
                            forth = { rate = \"1Mbit/s\" }\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n";

    #[test]
    fn a_cell_is_the_same_after_its_way_through_text() {
        let cell = LabCell::new(&Scenario::parse(SCENARIO).unwrap(), true).unwrap();
        let line = serde_json::to_string(&CellText::of("one".into(), &cell)).unwrap();
        let again = CellText::parse(&line).unwrap().cell(false).unwrap();
        assert_eq!((again.key(SIMULATOR), &again), (cell.key(SIMULATOR), &cell));
    }

    #[test]
    fn what_cannot_be_run_here_is_refused() {
        let cell = LabCell::new(&Scenario::parse(SCENARIO).unwrap(), false).unwrap();
        let line = serde_json::to_string(&CellText::of(String::new(), &cell)).unwrap();
        let refused = |from: &str, to: &str| {
            let text = CellText::parse(&line.replace(from, to));
            text.and_then(|text| text.cell(false)).expect_err(to).to_string()
        };
        assert!(refused(SIMULATOR, "0.0+x").contains("is for simulator 0.0+x, and this program has"));
        assert!(refused("\"detail\"", "\"details\"").contains("unknown field `details`"));
        assert!(refused("\"report\"", "\"all\"").contains("unknown variant `all`"));
        let other = CellText { simulator: "0.0+x".into(), ..CellText::parse(&line).unwrap() };
        assert_eq!(other.cell(true).unwrap(), cell);
        let none = CellText { scenario: Scenario { flow: Vec::new(), ..other.scenario.clone() }, ..other };
        assert!(none.cell(true).expect_err("no flow").to_string().contains("the cell's scenario: "));
    }
}
