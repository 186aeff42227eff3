//! Judges the numbers and trends that a paper states, by closed forms and by the results of
//! experiments. A closed form is a formula of a paper, implemented in `ripstop_model::published`.

use super::library::{PaperLibrary, StatedPaper};
use super::numbers::{self, CheckedNumber};
use super::stated::NumberErratum;
use super::trends::{self, CheckedTrend};
use super::verdict::JudgedStudies;
use crate::error::LabResult;
use crate::store::ResultStore;
use crate::study::{CellReadings, CellResults, JudgedStudy, StoredReadings, Study, judge};
use serde::Serialize;
use serde_json::Value;

/// The verdicts on what one paper states.
#[derive(Serialize)]
pub struct CheckedPaper<'a> {
    /// The paper's number, such as `000`.
    pub id: &'a str,
    /// The paper's title.
    pub title: &'a str,
    /// The verdicts on the paper's numbers.
    pub numbers: Vec<CheckedNumber>,
    /// The verdicts on the paper's trends.
    pub trends: Vec<CheckedTrend>,
    /// The paper's misprints.
    pub errata: Vec<Misprint<'a>>,
}

/// A misprint in a paper.
#[derive(Serialize)]
pub struct Misprint<'a> {
    /// Name of the misprint.
    pub id: &'a str,
    /// The place in the paper.
    #[serde(rename = "where")]
    pub place: &'a str,
    /// What is printed.
    pub printed: &'a str,
    /// What should be printed.
    pub corrected: &'a str,
}

/// Judges the numbers and the trends of a paper. `judged` has the verdicts on the experiments.
///
/// # Errors
/// Fails when one of the paper's files names an entry, an experiment or a claim that does not
/// exist. Also fails when a closed form cannot compute a number.
pub fn check_paper<'a>(
    id: &'a str,
    stated: &'a StatedPaper,
    library: &PaperLibrary,
    judged: &JudgedStudies,
) -> LabResult<CheckedPaper<'a>> {
    let misprint = |erratum: &'a NumberErratum| Misprint {
        id: &erratum.id,
        place: &erratum.place,
        printed: &erratum.printed,
        corrected: &erratum.corrected,
    };
    Ok(CheckedPaper {
        id,
        title: &stated.numbers.title,
        numbers: numbers::judge(id, stated, library, judged)?,
        trends: trends::judge(id, stated, library, judged)?,
        errata: stated.numbers.errata.iter().map(misprint).collect(),
    })
}

/// Judges all experiments. If `store` has all results of an experiment, the store is used.
/// Otherwise the numbers in `papers/NNN/results` are used. Without results and without such
/// numbers, all statements of the experiment get the verdict "not run".
pub fn judge_known(library: &PaperLibrary, store: Option<&ResultStore>) -> JudgedStudies {
    let judged = |study: &Study| (study.id.clone(), judge_one(library, study, store));
    library.experiments.iter().map(judged).collect()
}

fn judge_one(library: &PaperLibrary, study: &Study, store: Option<&ResultStore>) -> JudgedStudy {
    if let Some(store) = store {
        let stored = StoredReadings::new(study, store);
        let all_there = (0..study.experiment.sets().len())
            .all(|set| study.cells(set).iter().all(|cell| stored.is_there(set, cell.place)));
        if all_there {
            return judge(study, &stored, &library.published, false);
        }
    }
    match library.committed.get(&study.id) {
        Some(numbers) => judge(study, &numbers.readings(study), &library.published, false),
        None => {
            let sets = 0..study.experiment.sets().len();
            let nothing = sets.map(|set| vec![Value::Null; study.cells(set).len()]).collect();
            judge(study, &CellResults(nothing), &library.published, false)
        }
    }
}
