//! What a sweep prints.

use super::cells::Cell;
use super::columns::{self, State};
use super::plan::Plan;
use super::results::{Counts, Sweep};
use super::value::Entry;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Table, or_dash};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::io::Write;
use std::path::{Path, PathBuf};

/// So many cells are listed one by one.
const MOST_ROWS: usize = 60;

/// The table for people.
///
/// # Errors
/// A result that cannot be read.
pub(super) fn table(sweep: &Sweep<'_>) -> Outcome<String> {
    let results =
        (0..sweep.cells.len().min(MOST_ROWS)).map(|k| sweep.result(k)).collect::<Outcome<Vec<_>>>()?;
    let throughput = |result: &Value| !result["throughput_units_per_s"].is_null();
    let units = results.iter().flatten().any(throughput);
    let mut titles = titles(sweep.plan);
    titles.extend(["goodput".to_owned(), String::new()]);
    titles.extend(units.then(|| "units/s".to_owned()));
    let mut table = Table::titled(titles);
    for (k, result) in results.iter().enumerate() {
        let mut row = named(&sweep.cells[k]);
        match result {
            None => row.push("failed".to_owned()),
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

/// The cells, and which of them are yet to be run.
pub(super) fn dry(sweep: &Sweep<'_>) -> String {
    let mut table = Table::titled(titles(sweep.plan));
    for (cell, state) in sweep.cells.iter().zip(sweep.states) {
        let word = match state {
            State::Reused | State::Run => "done",
            State::Failed(_) => "cannot be",
            State::Missing => "to do",
        };
        table.row(named(cell).into_iter().chain([word.to_owned()]));
    }
    table.render()
}

/// What is left, in words.
pub(super) fn left(counts: &Counts, estimate_s: Option<f64>, jobs: usize) -> String {
    let Counts { cells, reused, failed, missing, .. } = counts;
    let cannot = if *failed > 0 { format!(", {failed} cannot be") } else { String::new() };
    let time = match (missing, estimate_s) {
        (0, _) => String::new(),
        (_, Some(seconds)) => format!(": about {} with {jobs} at a time", coarse(seconds)),
        (_, None) => ": nothing is there yet to judge the time by".to_owned(),
    };
    format!("{cells} cells: {reused} done, {missing} to do{cannot}{time}\n")
}

/// What was done, in words.
pub(super) fn done(counts: &Counts, wall_s: f64, store: &Path, files: &[PathBuf]) -> String {
    let Counts { cells, run, reused, failed, .. } = counts;
    let files: String = files.iter().map(|file| format!(", {}", file.display())).collect();
    format!(
        "{cells} cells: {run} run, {reused} were there, {failed} failed, in {}; {}{files}\n",
        output::time(wall_s),
        store.display()
    )
}

/// A time to wait for, as one would say it.
pub(super) fn coarse(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "a second".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

fn titles(plan: &Plan) -> Vec<String> {
    [String::new()].into_iter().chain(plan.keys.iter().cloned()).collect()
}

fn named(cell: &Cell) -> Vec<String> {
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
        Some(rest @ 1..) => format!("and {rest} more: --csv writes all of them\n"),
        _ => String::new(),
    }
}

/// A mean, and half its interval behind a sign.
fn pair(statistic: &Value, show: impl Fn(f64) -> String) -> [String; 2] {
    let interval = statistic["ci95"].as_f64().map_or_else(String::new, |ci95| format!("+-{}", show(ci95)));
    [or_dash(statistic["mean"].as_f64(), &show), interval]
}

/// What `--json` prints of the whole; its cells are written one by one, so that they need not all be in memory.
#[derive(Serialize)]
pub(super) struct Frame<'a> {
    pub(super) plan: String,
    pub(super) store: String,
    pub(super) version: &'a str,
    pub(super) counts: &'a Counts,
    /// What is left, where it can be told, s.
    pub(super) estimate_s: Option<f64>,
    pub(super) wall_s: f64,
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

struct Axes<'a>(Vec<(&'a str, Entry)>);

impl Serialize for Axes<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (name, entry) in &self.0 {
            match entry {
                Entry::Number(number, _) => map.serialize_entry(name, number)?,
                Entry::Count(count) => map.serialize_entry(name, count)?,
                Entry::Text(text) => map.serialize_entry(name, text)?,
                Entry::Missing => map.serialize_entry(name, &())?,
            }
        }
        map.end()
    }
}

/// Prints one object.
///
/// # Errors
/// Output that is refused; a result that cannot be read.
pub(super) fn json(frame: &Frame<'_>, sweep: &Sweep<'_>) -> Outcome<()> {
    let text = serde_json::to_string(frame).map_err(|error| Failure::work("writing JSON", error))?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut print = |text: &str| out.write_all(text.as_bytes()).map_err(Failure::printing);
    print(text.strip_suffix('}').unwrap_or(&text))?;
    print(",\"cells\":[")?;
    let columns = columns::of_keys(sweep.plan, sweep.cells);
    for (k, (cell, state)) in sweep.cells.iter().zip(sweep.states).enumerate() {
        let result = sweep.text(k)?;
        let raw = result.as_deref().map(serde_json::from_str).transpose();
        let entry = JsonCell {
            cell: cell.index + 1,
            key: cell.key.as_ref().ok().map(|key| key.iter().map(|byte| format!("{byte:02x}")).collect()),
            axes: Axes(
                columns
                    .iter()
                    .enumerate()
                    .map(|(k, column)| (column.name.as_str(), columns::of_cell(cell, k, column.unit)))
                    .collect(),
            ),
            state: match state {
                State::Reused => "reused",
                State::Run => "run",
                State::Failed(_) => "failed",
                State::Missing => "missing",
            },
            error: match state {
                State::Failed(problem) => Some(problem),
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
