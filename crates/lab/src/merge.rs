//! Collects results from many machines in one store (`ripstop lab merge`).
//!
//! A store is a file that keeps the results of cells; a cell is one complete scenario. A source is
//! a store (`*.redb`), or a text file of results as `ripstop lab cell` prints them, one after the
//! other. A result is identified by a hash of its cell and of the simulator that made the result.
//! Two results with the same hash must be equal, except for the fields in `NOT_COMPARED`. The
//! simulator is deterministic, so any other difference means that a result was altered or that a
//! machine is faulty.

use crate::cell::{CellKey, LabCell, hexadecimal, read_result};
use crate::error::{LabError, LabResult};
use crate::store::{ResultBatch, ResultStore};
use ripstop_sim::scenario::Scenario;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use std::path::{Path, PathBuf};

/// What [`merge`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MergeCounts {
    /// The number of results in all sources.
    pub results: usize,
    /// The number of results that were new to the store.
    pub added: usize,
    /// The number of results that the store, or an earlier source, already had.
    pub known: usize,
}

/// Fields that may differ between two results of one cell. The durations `wall_s` and `cpu_s`
/// depend on the machine. The list of single runs, `per_run`, is present only on request.
const NOT_COMPARED: [&str; 3] = ["wall_s", "cpu_s", "per_run"];

/// Adds the results of all `sources` to `into`. If one result cannot be added, no result is added.
///
/// # Errors
/// Fails when a source cannot be read. Also fails when two different results are found for one
/// cell, in two sources or in a source and the store.
pub fn merge(into: &ResultStore, sources: &[PathBuf]) -> LabResult<MergeCounts> {
    let mut counts = MergeCounts::default();
    into.batch(|batch| {
        for path in sources {
            let mut add = |key: &CellKey, simulator: &str, text: &str| {
                counts.results += 1;
                if add_one(batch, path, key, simulator, text)? {
                    counts.added += 1
                } else {
                    counts.known += 1
                }
                Ok(())
            };
            if path.extension().is_some_and(|extension| extension == "redb") {
                let store = ResultStore::open_if_there(path)?;
                let store = store.ok_or_else(|| LabError::work(path.display(), "there is no such file"))?;
                store.each(&mut add)?;
            } else {
                each_of_text(path, &mut add)?;
            }
        }
        Ok(())
    })?;
    Ok(counts)
}

/// Adds a result to `batch`. Returns false if the batch already has the result.
fn add_one(batch: &mut ResultBatch<'_>, path: &Path, key: &CellKey, simulator: &str, text: &str) -> LabResult<bool> {
    let Some(there) = batch.get(key)? else { return batch.put(key, simulator, text).map(|()| true) };
    if there == text || compared(&there)? == compared(text)? {
        return Ok(false);
    }
    Err(LabError::work(
        path.display(),
        format!(
            "another result is known for cell {} of simulator {simulator}; equal cells have equal results, so one of the two is \
             wrong; nothing was merged",
            hexadecimal(key)
        ),
    ))
}

/// A result without the fields in [`NOT_COMPARED`].
pub(crate) fn compared(text: &str) -> LabResult<Value> {
    let mut result = read_result(text)?;
    if let Some(fields) = result.as_object_mut() {
        NOT_COMPARED.iter().for_each(|name| drop(fields.remove(*name)));
    }
    Ok(result)
}

/// The fields of a result that identify its cell.
#[derive(Deserialize)]
struct ResultHead {
    scenario: Scenario,
    simulator: String,
    #[serde(default)]
    trace: Option<serde::de::IgnoredAny>,
}

/// Calls `add` for each result in a text file.
fn each_of_text(path: &Path, add: &mut dyn FnMut(&CellKey, &str, &str) -> LabResult<()>) -> LabResult<()> {
    let text = crate::files::read_text(path).map_err(|error| LabError::work(path.display(), error))?;
    let mut found = 0;
    for result in serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>() {
        found += 1;
        let wrong =
            |problem: &dyn std::fmt::Display| LabError::Input(format!("{}: result {found}: {problem}", path.display()));
        let result = result.map_err(|error| wrong(&error))?;
        let head: ResultHead = serde_json::from_str(result.get()).map_err(|error| wrong(&error))?;
        let cell = LabCell::new(&head.scenario, head.trace.is_some()).map_err(|error| wrong(&error))?;
        add(&cell.key_by(&head.simulator), &head.simulator, result.get())?;
    }
    match found {
        0 => Err(LabError::Input(format!("{}: there is no result in this file", path.display()))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::CellResult;
    use ripstop_sim::scenario::{ScenarioReport, run_once};

    fn result(seed: u64) -> (CellKey, String) {
        let text = format!(
            "[run]\nduration = \"2s\"\nruns = 1\nseed = {seed}\n[[link]]\nbetween = [\"a\", \"b\"]\n\
             forth = {{ rate = \"1Mbit/s\", delay = \"20ms\" }}\n[[flow]]\nfrom = \"a\"\nto = \"b\"\n"
        );
        let cell = LabCell::new(&Scenario::parse(&text).unwrap(), false).unwrap();
        let run = run_once(cell.scenario(), 0, &mut ()).unwrap();
        let report = ScenarioReport::new(cell.scenario(), &[run]);
        let result = CellResult { wall_s: seed as f64, ..CellResult::new(cell.run(), &report) };
        (cell.key(), serde_json::to_string(&result).unwrap())
    }

    #[test]
    fn results_come_together_and_conflicts_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let [one, two, three] = [1, 2, 3].map(result);
        let other = ResultStore::open_or_create(&at("other.redb")).unwrap();
        other.put(&two.0, "core:1", &two.1).unwrap();
        drop(other);
        let slower = one.1.replace("\"wall_s\":1.0", "\"wall_s\":9.0");
        assert_ne!(slower, one.1);
        std::fs::write(at("cells.json"), format!("{}\n{slower}\n{}\n", one.1, three.1)).unwrap();
        let store = ResultStore::in_memory().unwrap();
        let merged = |names: &[&str]| merge(&store, &names.iter().map(|name| at(name)).collect::<Vec<_>>());
        let all = MergeCounts { results: 4, added: 3, known: 1 };
        assert_eq!(merged(&["cells.json", "other.redb"]), Ok(all));
        assert_eq!(store.get(&three.0).unwrap().as_deref(), Some(three.1.as_str()));
        assert_eq!(merged(&["other.redb"]).map(|counts| (counts.added, counts.known)), Ok((0, 1)));
        // A different result for the same cell. Nothing of this call may be stored.
        let four = result(4);
        let wrong = one.1.replace("\"events\":", "\"events\":1");
        std::fs::write(at("wrong.json"), format!("{}\n{wrong}", four.1)).unwrap();
        let said = merged(&["wrong.json"]).unwrap_err().to_string();
        assert!(said.contains("another result is known for cell") && said.contains("wrong.json"), "{said}");
        assert_eq!(store.get(&four.0).unwrap(), None);
    }

    #[test]
    fn what_is_no_result_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let store = ResultStore::in_memory().unwrap();
        for (text, words) in [
            ("", "there is no result"),
            ("{", "result 1: EOF"),
            ("{\"simulator\": \"1\"}", "result 1: missing field `scenario`"),
        ] {
            std::fs::write(&path, text).unwrap();
            let said = merge(&store, std::slice::from_ref(&path)).unwrap_err().to_string();
            assert!(said.contains(words), "{text}: {said}");
        }
        assert!(merge(&store, &[folder.path().join("b.redb")]).is_err());
    }
}
