//! What the papers state, beside what closed forms compute and what experiments gave.

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

/// A paper's verdicts.
#[derive(Serialize)]
pub struct CheckedPaper<'a> {
    /// Its number.
    pub id: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its numbers.
    pub numbers: Vec<CheckedNumber>,
    /// Its trends.
    pub trends: Vec<CheckedTrend>,
    /// What is wrong in print.
    pub errata: Vec<Misprint<'a>>,
}

/// Something that is wrong in print.
#[derive(Serialize)]
pub struct Misprint<'a> {
    /// Its name.
    pub id: &'a str,
    /// Where it stands.
    #[serde(rename = "where")]
    pub place: &'a str,
    /// What is printed.
    pub printed: &'a str,
    /// What is right.
    pub corrected: &'a str,
}

/// Judges what a paper states.
///
/// # Errors
/// A file that names what there is not.
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

/// Judges all experiments by the results in `store`, or, where one of them is not there, by the numbers in `papers/NNN/results`.
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
