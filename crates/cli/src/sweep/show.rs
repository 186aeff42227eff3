//! Formats the output of a sweep: tables, sentences and JSON.

use crate::failure::{Failure, Outcome};
use crate::output::{self, Table, or_dash};
use crate::run_cells::coarse;
use ripstop_lab::cell::hexadecimal;
use ripstop_lab::entry::TableEntry;
use ripstop_lab::error::LabResult;
use ripstop_lab::experiment::{Experiment, GridCell};
use ripstop_lab::run::{CellState, StateCounts};
use ripstop_lab::study::JudgedStudy;
use ripstop_lab::table::{ResultTable, cell_entry, key_columns};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest number of rows in a table. Further cells are not listed.
const MOST_ROWS: usize = 60;

/// The table of results.
///
/// # Errors
/// A result cannot be read.
pub(crate) fn table(sweep: &ResultTable<'_>) -> Outcome<String> {
    let results = (0..sweep.cells.len().min(MOST_ROWS)).map(|k| sweep.result(k)).collect::<LabResult<Vec<_>>>()?;
    let throughput = |result: &Value| !result["throughput_units_per_s"].is_null();
    let units = results.iter().flatten().any(throughput);
    let mut titles = titles(sweep.experiment);
    titles.extend(["goodput".to_owned(), String::new()]);
    titles.extend(units.then(|| "units/s".to_owned()));
    let mut table = Table::titled(titles);
    for (k, result) in results.iter().enumerate() {
        let mut row = named(&sweep.cells[k]);
        match result {
            None => row.push(if sweep.states[k] == CellState::Missing { "missing" } else { "failed" }.to_owned()),
            Some(result) => {
                row.extend(pair(&result["goodput_bps"], output::rate));
                if units {
                    row.extend(pair(&result["throughput_units_per_s"], |value| format!("{value:.1}")));
                }
            }
        }
        table.row(row);
    }
    Ok(table.render() + &more(sweep.cells.len()))
}

/// The table of cells for `--dry-run`. It says whether a cell is done, is to be run, or is invalid.
pub(crate) fn dry(sweep: &ResultTable<'_>) -> String {
    let mut table = Table::titled(titles(sweep.experiment));
    for (cell, state) in sweep.cells.iter().zip(sweep.states) {
        let word = match state {
            CellState::Reused | CellState::Run => "done",
            CellState::Failed(_) => "invalid",
            CellState::Missing => "to do",
        };
        table.row(named(cell).into_iter().chain([word.to_owned()]));
    }
    table.render()
}

/// How many cells are done and how many are left, in words, with an estimate of the time.
pub(crate) fn left(counts: &StateCounts, estimate_s: Option<f64>, jobs: usize) -> String {
    let StateCounts { cells, reused, failed, missing, .. } = counts;
    let cannot = if *failed > 0 { format!(", {failed} invalid") } else { String::new() };
    let time = match (missing, estimate_s) {
        (0, _) => String::new(),
        (_, Some(seconds)) => format!(": about {} with {jobs} runs at a time", coarse(seconds)),
        (_, None) => ": the time cannot be estimated, because no result is stored yet".to_owned(),
    };
    format!("{cells} cells: {reused} done, {missing} to do{cannot}{time}\n")
}

/// What the sweep did, in words.
pub(super) fn done(counts: &StateCounts, wall_s: f64, store: &Path, files: &[PathBuf]) -> String {
    let StateCounts { cells, run, reused, failed, .. } = counts;
    let files: String = files.iter().map(|file| format!(", {}", file.display())).collect();
    format!(
        "{cells} cells: {run} run, {reused} from the store, {failed} failed, in {}; {}{files}\n",
        output::time(wall_s),
        store.display()
    )
}

fn titles(plan: &Experiment) -> Vec<String> {
    [String::new()].into_iter().chain(plan.keys().iter().cloned()).collect()
}

fn named(cell: &GridCell) -> Vec<String> {
    [(cell.index + 1).to_string()]
        .into_iter()
        .chain(cell.texts.iter().map(|text| match text.is_empty() {
            true => "-".to_owned(),
            false => text.clone(),
        }))
        .collect()
}

fn more(cells: usize) -> String {
    match cells.checked_sub(MOST_ROWS) {
        Some(rest @ 1..) => format!("and {rest} more cells: --csv writes all cells\n"),
        _ => String::new(),
    }
}

/// A mean, and half of its confidence interval after `+-`.
fn pair(statistic: &Value, show: impl Fn(f64) -> String) -> [String; 2] {
    let interval = statistic["ci95"].as_f64().map_or_else(String::new, |ci95| format!("+-{}", show(ci95)));
    [or_dash(statistic["mean"].as_f64(), &show), interval]
}

/// All fields of the JSON object except the last field, `cells`. The cells are written one by one,
/// so that not all cells must be in memory.
#[derive(Serialize)]
pub(crate) struct Frame<'a> {
    pub(crate) plan: String,
    pub(crate) store: String,
    pub(crate) version: &'a str,
    pub(crate) counts: &'a StateCounts,
    /// Estimated time of the cells that are left, in seconds. None if there is no estimate.
    pub(crate) estimate_s: Option<f64>,
    pub(crate) wall_s: f64,
    /// The verdicts on the plan's numbers and claims. None if the plan has no number and no claim.
    pub(crate) judged: Option<&'a JudgedStudy>,
}

#[derive(Serialize)]
struct JsonCell<'a> {
    cell: usize,
    key: Option<String>,
    axes: Axes<'a>,
    state: &'static str,
    error: Option<&'a str>,
    result: Option<&'a RawValue>,
}

struct Axes<'a>(Vec<(&'a str, TableEntry)>);

impl Serialize for Axes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, entry) in &self.0 {
            match entry {
                TableEntry::Number(number, _) => map.serialize_entry(name, number)?,
                TableEntry::Count(count) => map.serialize_entry(name, count)?,
                TableEntry::Text(text) => map.serialize_entry(name, text)?,
                TableEntry::Missing => map.serialize_entry(name, &())?,
            }
        }
        map.end()
    }
}

/// Prints `frame` and the cells of `sweep` as one JSON object.
///
/// # Errors
/// Printing failed, or a result cannot be read.
pub(crate) fn json(frame: &Frame<'_>, sweep: &ResultTable<'_>) -> Outcome<()> {
    let text = serde_json::to_string(frame).map_err(|error| Failure::work("writing JSON", error))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut print = |text: &str| out.write_all(text.as_bytes()).map_err(Failure::printing);
    print(text.strip_suffix('}').unwrap_or(&text))?;
    print(",\"cells\":[")?;
    let columns = key_columns(sweep.experiment, sweep.cells);
    for (k, (cell, state)) in sweep.cells.iter().zip(sweep.states).enumerate() {
        let result = sweep.text(k)?;
        let raw = result.as_deref().map(serde_json::from_str).transpose();
        let entry = JsonCell {
            cell: cell.index + 1,
            key: cell.key.as_ref().ok().map(hexadecimal),
            axes: Axes(
                columns
                    .iter()
                    .enumerate()
                    .map(|(k, column)| (column.name.as_str(), cell_entry(cell, k, column.unit)))
                    .collect(),
            ),
            state: match state {
                CellState::Reused => "reused",
                CellState::Run => "run",
                CellState::Failed(_) => "failed",
                CellState::Missing => "missing",
            },
            error: match state {
                CellState::Failed(problem) => Some(problem),
                _ => None,
            },
            result: raw.map_err(|error| Failure::work("a result in the store", error))?,
        };
        let text = serde_json::to_string(&entry).map_err(|error| Failure::work("writing JSON", error))?;
        print(if k > 0 { "," } else { "" })?;
        print(&text)?;
    }
    print("]}\n")?;
    out.flush().map_err(Failure::printing)
}
