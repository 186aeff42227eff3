//! A cell as one line of JSON, with everything that a process on another machine needs to run it.

use super::LabCell;
use crate::error::{LabError, LabResult};
use ripstop_sim::scenario::Scenario;
use serde::{Deserialize, Serialize};

/// What a cell's result contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CellDetail {
    /// The measurements.
    Report,
    /// The measurements, and the trace of the first run: the first flow's window and the number of
    /// lost packets.
    Trace,
}

/// A cell with its name and its simulator. `ripstop lab cells` prints cells in this form, and
/// `ripstop lab cell` reads a cell in this form.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellText {
    /// The name that is shown to people. The result does not depend on the name.
    #[serde(default)]
    pub name: String,
    /// The identity of the code for which the cell was made ([`identity`](super::identity)). Other
    /// code may give a different result.
    pub simulator: String,
    /// What the result contains.
    pub detail: CellDetail,
    /// The scenario.
    pub scenario: Scenario,
}

impl CellText {
    /// The text of `cell` for this program.
    pub fn of(name: String, cell: &LabCell) -> CellText {
        let detail = if cell.is_traced() { CellDetail::Trace } else { CellDetail::Report };
        CellText { name, simulator: cell.simulator().to_owned(), detail, scenario: cell.run().clone() }
    }

    /// Parses one line of JSON.
    ///
    /// # Errors
    /// The text is not a cell. The message has the line, the column, and what is wrong.
    pub fn parse(text: &str) -> LabResult<CellText> {
        serde_json::from_str(text).map_err(|error| LabError::Input(format!("the cell: {error}")))
    }

    /// Converts the text into a cell that can be run.
    ///
    /// # Errors
    /// The cell was made for another simulator and `any_simulator` is false, or the scenario is
    /// invalid.
    pub fn cell(&self, any_simulator: bool) -> LabResult<LabCell> {
        let cell = LabCell::new(&self.scenario, self.detail == CellDetail::Trace)
            .map_err(|problem| LabError::Input(format!("the cell's scenario: {problem}")))?;
        if self.simulator != cell.simulator() && !any_simulator {
            return Err(LabError::Input(format!(
                "the cell is for simulator {}, and this program has simulator {}: the result may differ; use the same \
                 version, or --any-simulator",
                self.simulator,
                cell.simulator()
            )));
        }
        Ok(cell)
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
        assert_eq!((again.key(), &again), (cell.key(), &cell));
    }

    #[test]
    fn what_cannot_be_run_here_is_refused() {
        let cell = LabCell::new(&Scenario::parse(SCENARIO).unwrap(), false).unwrap();
        let line = serde_json::to_string(&CellText::of(String::new(), &cell)).unwrap();
        let refused = |from: &str, to: &str| {
            let text = CellText::parse(&line.replace(from, to));
            text.and_then(|text| text.cell(false)).expect_err(to).to_string()
        };
        assert!(refused(cell.simulator(), "core:x").contains("is for simulator core:x, and this program has"));
        assert!(refused("\"detail\"", "\"details\"").contains("unknown field `details`"));
        assert!(refused("\"report\"", "\"all\"").contains("unknown variant `all`"));
        let other = CellText { simulator: "core:x".into(), ..CellText::parse(&line).unwrap() };
        assert_eq!(other.cell(true).unwrap(), cell);
        let none = CellText { scenario: Scenario { flow: Vec::new(), ..other.scenario.clone() }, ..other };
        assert!(
            none.cell(true)
                .expect_err("a scenario without flows must be refused")
                .to_string()
                .contains("the cell's scenario: ")
        );
    }
}
