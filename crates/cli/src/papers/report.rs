//! Formats the verdicts on experiments as text for a terminal.

use crate::failure::{Failure, Outcome};
use crate::output::Table;
use ripstop_lab::study::{JudgedStudy, Study, Verdict, words};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The verdicts on one experiment, as text.
pub(crate) fn experiment(judged: &JudgedStudy) -> String {
    let place = if judged.place.is_empty() { String::new() } else { format!(" ({})", judged.place) };
    let mut text = format!("{}  {}{place}\n", judged.id, judged.title);
    if !judged.entries.is_empty() {
        let mut table = Table::titled(["", "published", "ours", "reference", ""]);
        for entry in &judged.entries {
            table.row([
                format!("  {} {}", entry.measure, words::at(entry)),
                words::published(entry),
                words::ours(entry),
                words::reference(entry),
                entry.verdict.word().to_owned(),
            ]);
        }
        text += &table.render();
    }
    for claim in &judged.claims {
        let _ = writeln!(text, "  {:<16} {}", claim.verdict.word(), claim.text);
        for assertion in claim.assertions.iter().filter(|a| a.holds != Some(true) || claim.verdict.is_wrong()) {
            let sign = match assertion.holds {
                Some(true) => "holds",
                Some(false) => "does not hold",
                None => "cannot be evaluated",
            };
            let _ = writeln!(text, "    {}: {sign}: {}", assertion.text, assertion.values);
        }
    }
    for (why, what) in words::reasons(judged) {
        let _ = writeln!(text, "  {what}: {why}");
    }
    text
}

/// Fails when a verdict of these experiments is FAILED, UNEXPECTED or ERROR ([`Verdict::is_wrong`]).
pub(crate) fn refuse_wrong<'a>(all: impl IntoIterator<Item = &'a JudgedStudy>) -> Outcome<()> {
    let wrong = all.into_iter().flat_map(JudgedStudy::verdicts).filter(|verdict| verdict.is_wrong()).count();
    match wrong {
        0 => Ok(()),
        n => Err(Failure::Work(format!("{n} verdicts are FAILED, UNEXPECTED or ERROR"))),
    }
}

/// The number of verdicts of each kind, as text.
pub(super) fn summary(all: &[JudgedStudy]) -> String {
    let counted = count(all);
    let words: Vec<String> = counted.iter().map(|(verdict, n)| format!("{n} {}", verdict.word())).collect();
    format!("{} experiments: {}", all.len(), words.join(", "))
}

/// The number of verdicts of each kind.
pub(super) fn count(all: &[JudgedStudy]) -> BTreeMap<Verdict, usize> {
    let mut counted = BTreeMap::new();
    for verdict in all.iter().flat_map(JudgedStudy::verdicts) {
        *counted.entry(verdict).or_insert(0) += 1;
    }
    counted
}

/// Describes an experiment without its results: the points, the published numbers and the claims.
pub(super) fn describe(study: &Study) -> String {
    let mut text = format!("{}  {} ({})\n", study.id, study.title, study.place);
    if let Some(also) = &study.also {
        let _ = writeln!(text, "also: {also}");
    }
    let _ = writeln!(text, "\n{}\n", study.about.trim());
    let mut number = 0;
    for (k, set) in study.experiment.sets().iter().enumerate() {
        let quick = set.quick.map_or_else(|| "no runs".to_owned(), |quick| format!("{quick} runs"));
        let runs = study.cells(k).first().map_or(0, |cell| cell.runs);
        let _ = writeln!(text, "{}{runs} runs of each point; with --quick, {quick}", head(&set.name));
        for cell in study.cells(k) {
            let _ = writeln!(text, "  {number:>3}  {}", cell.label(&study.experiment));
            number += 1;
        }
    }
    for check in &study.checks {
        let numbers = check.cells.len();
        let by = check.by.as_ref().map_or_else(String::new, |by| format!("; the reference was made by {by}"));
        let set = head(check.set.as_ref());
        let _ = writeln!(text, "\n{set}{numbers} numbers to compare with `{}`{by}", check.measure.as_ref());
    }
    for claim in &study.claims {
        let not = if claim.fails { "expected not to hold: " } else { "" };
        let _ = writeln!(text, "\n{not}{}", claim.text);
        claim.holds.iter().for_each(|assertion| {
            let _ = writeln!(text, "    {}", assertion.as_ref());
        });
    }
    text
}

/// The name of a set with a colon. Nothing if the set has no name.
fn head(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!("{name}: ") }
}
