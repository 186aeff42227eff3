//! Verdicts on numbers.

use super::Verdict;
use crate::failure::{Failure, Outcome};
use crate::papers::experiment::Expect;
use crate::papers::library::{Library, Stated};
use crate::papers::stated::{Comparison, Relation, Status};
use ripstop_model::published::{agrees, evaluate};
use serde::Serialize;

/// A published number beside ours.
#[derive(Debug, Serialize)]
pub(super) struct Number {
    /// The comparison's, or that of the entry in `published.toml`.
    pub(super) id: String,
    /// The entry in `published.toml`.
    pub(super) published: Option<String>,
    #[serde(rename = "where")]
    pub(super) place: String,
    /// Row and column, or what it is.
    pub(super) what: String,
    pub(super) unit: String,
    /// With the digits that are printed; None of a table.
    pub(super) printed: Option<String>,
    pub(super) ours: Option<f64>,
    /// What should be printed.
    pub(super) corrected: Option<String>,
    pub(super) verdict: Verdict,
    pub(super) why: Option<String>,
    /// The experiments of `ripstop papers run` that simulate it.
    pub(super) run: Vec<String>,
}

/// All numbers of a paper: those that closed forms compute, those that experiments simulate, and the others.
pub(super) fn judge(paper: &str, stated: &Stated, library: &Library) -> Outcome<Vec<Number>> {
    let mut all = Vec::new();
    for spanned in &stated.numbers.comparisons {
        let one = spanned.as_ref();
        if let Some(stranger) = one.published.as_ref().filter(|id| library.published.entry(id).is_none()) {
            let problem = format!("`{}`: `published.toml` has no entry `{stranger}`", one.id);
            return Err(Failure::Config(format!("{}: {problem}", stated.path)));
        }
        all.push(computed(one, &stated.path)?);
    }
    let cited = simulated(paper, library);
    let mut elsewhere = Vec::new();
    for one in stated.numbers.elsewhere.iter().map(|spanned| spanned.as_ref()) {
        let Some(entry) = library.published.entry(&one.published) else {
            let problem = format!("`elsewhere`: `published.toml` has no entry `{}`", one.published);
            return Err(Failure::Config(format!("{}: {problem}", stated.path)));
        };
        if let Some(stranger) =
            one.experiments.iter().find(|id| !library.experiments.iter().any(|e| e.id == **id))
        {
            let problem = format!("`elsewhere`: there is no experiment `{stranger}`");
            return Err(Failure::Config(format!("{}: {problem}", stated.path)));
        }
        elsewhere.push(Number {
            verdict: if one.needs.is_some() { Verdict::NotCheckable } else { Verdict::Simulated },
            why: one.needs.as_ref().map(|needs| format!("needs {needs}")),
            run: one.experiments.clone(),
            ..of_entry(entry)
        });
    }
    // What nobody speaks of is a parameter, a definition, or forgotten.
    let spoken = |id: &str| {
        let named =
            |one: &Number| one.published.as_deref().is_some_and(|name| name.split('[').next() == Some(id));
        all.iter().chain(&cited).chain(&elsewhere).any(named)
    };
    let own = library.published.entries.iter().filter(|entry| entry.id.starts_with(&format!("{paper}.")));
    let rest: Vec<Number> = own
        .filter(|entry| !spoken(&entry.id))
        .map(|entry| {
            let (verdict, why) = match entry.kind.as_str() {
                "parameter" => (Verdict::NotCheckable, "a parameter: given, not computed"),
                "definition" => (Verdict::NotCheckable, "a definition: given, not computed"),
                "claim" => {
                    (Verdict::NotCheckable, "quoted, or an example: the paper computes it from nothing")
                }
                _ => (Verdict::Failed, "neither `model.toml` nor an experiment speaks of it"),
            };
            Number { verdict, why: Some(why.to_owned()), ..of_entry(entry) }
        })
        .collect();
    all.extend(cited);
    all.extend(elsewhere);
    all.extend(rest);
    Ok(all)
}

/// A comparison, computed.
fn computed(one: &Comparison, path: &str) -> Outcome<Number> {
    let value = evaluate(&one.function, &one.arguments())
        .map_err(|error| Failure::Config(format!("{path}: `{}`: {error}", one.id)))?;
    // `printed` was checked to be a number; what it cannot be compared with is not equal to it.
    let same = |printed: &str| agrees(value, printed).unwrap_or(false);
    let bound: f64 = one.printed.parse().unwrap_or(f64::NAN);
    let holds = match one.relation {
        Relation::Equals => same(&one.printed),
        Relation::AtLeast => value >= bound,
        Relation::LessThan => value < bound,
    };
    let right = one.corrected.as_deref().is_some_and(same);
    let failed = |why: String| (Verdict::Failed, Some(why));
    let (verdict, why) = match (one.status, holds, right) {
        (Status::Exact, true, _) => (Verdict::Reproduced, None),
        (Status::Reading, true, _) => (Verdict::Reading, one.reading.clone()),
        (Status::Exact | Status::Reading, false, _) => {
            failed(format!("{value} is not {}{}", one.relation.word(), one.printed))
        }
        (Status::Erratum, false, true) => (Verdict::Erratum, one.why.clone()),
        (Status::Differs, false, true) => (Verdict::Differs, one.why.clone()),
        (Status::Erratum | Status::Differs, true, _) => {
            let said = one.why.clone().unwrap_or_default();
            (Verdict::Unexpected, Some(format!("comes out as printed, though said not to: {said}")))
        }
        (Status::Erratum | Status::Differs, false, false) => {
            failed(format!("{value} is not {}", one.corrected.as_deref().unwrap_or_default()))
        }
    };
    let row = one.row.iter().map(String::as_str);
    Ok(Number {
        id: one.id.clone(),
        published: one.published.clone(),
        place: one.place.clone(),
        what: [one.column.as_str()].into_iter().chain(row).collect::<Vec<_>>().join(", "),
        unit: one.unit.clone(),
        printed: Some(one.relation.word().to_owned() + &one.printed),
        ours: Some(value),
        corrected: one.corrected.clone(),
        verdict,
        why,
        run: Vec::new(),
    })
}

/// The paper's numbers that experiments compare theirs with, each once.
fn simulated(paper: &str, library: &Library) -> Vec<Number> {
    let mut all: Vec<Number> = Vec::new();
    let own = format!("{paper}.");
    for experiment in &library.experiments {
        for cell in experiment.checks.iter().flat_map(|check| &check.cells).map(|cell| cell.as_ref()) {
            for name in cell.published.iter().filter(|name| name.starts_with(&own)) {
                let expected = match (cell.expect, &cell.because) {
                    (Expect::Reproduced, _) => None,
                    (_, because) => {
                        because.as_ref().map(|why| format!("not expected to be reproduced: {why}"))
                    }
                };
                if let Some(known) = all.iter_mut().find(|known| known.id == *name) {
                    if !known.run.contains(&experiment.id) {
                        known.run.push(experiment.id.clone());
                    }
                    known.why = known.why.take().or(expected);
                    continue;
                }
                let Some(entry) = library.published.entry(name.split('[').next().unwrap_or(name)) else {
                    continue;
                };
                let number = library.published.number(name).ok();
                all.push(Number {
                    id: name.clone(),
                    published: Some(name.clone()),
                    printed: number.map(|number| number.to_string()),
                    verdict: Verdict::Simulated,
                    why: expected,
                    run: vec![experiment.id.clone()],
                    ..of_entry(entry)
                });
            }
        }
    }
    all
}

/// What `published.toml` says of an entry; the verdict is the caller's.
fn of_entry(entry: &crate::papers::published::Entry) -> Number {
    Number {
        id: entry.id.clone(),
        published: Some(entry.id.clone()),
        place: entry.place.clone(),
        what: entry.quantity.clone(),
        unit: entry.units.clone(),
        printed: entry.printed(),
        ours: None,
        corrected: None,
        verdict: Verdict::NotCheckable,
        why: None,
        run: Vec::new(),
    }
}

impl Relation {
    /// In front of the printed number.
    fn word(self) -> &'static str {
        match self {
            Relation::Equals => "",
            Relation::AtLeast => "at least ",
            Relation::LessThan => "less than ",
        }
    }
}
