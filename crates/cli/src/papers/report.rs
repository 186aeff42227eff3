//! Verdicts as text, for a terminal.

use super::evaluate::show;
use super::experiment::Experiment;
use super::judge::{Entry, Judged, Verdict};
use crate::output::Table;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// An experiment's verdicts.
pub(super) fn experiment(judged: &Judged) -> String {
    let mut text = format!("{}  {} ({})\n", judged.id, judged.title, judged.place);
    if !judged.entries.is_empty() {
        let mut table = Table::titled(["", "published", "ours", "reference", ""]);
        for entry in &judged.entries {
            table.row([
                format!("  {} {}", entry.measure, at(entry)),
                published(entry),
                ours(entry),
                reference(entry),
                entry.verdict.word().to_owned(),
            ]);
        }
        text += &table.render();
    }
    for claim in &judged.claims {
        let _ = writeln!(text, "  {:<16} {}", claim.verdict.word(), claim.text);
        for assertion in claim.assertions.iter().filter(|a| !a.holds || claim.verdict.is_wrong()) {
            let sign = if assertion.holds { "holds" } else { "does not hold" };
            let _ = writeln!(text, "    {}: {sign}: {}", assertion.text, assertion.values);
        }
    }
    for (why, what) in reasons(judged) {
        let _ = writeln!(text, "  {what}: {why}");
    }
    text
}

/// How many verdicts of each kind.
pub(super) fn summary(all: &[Judged]) -> String {
    let counted = count(all);
    let words: Vec<String> = counted.iter().map(|(verdict, n)| format!("{n} {}", verdict.word())).collect();
    format!("{} experiments: {}", all.len(), words.join(", "))
}

/// Verdicts by kind.
pub(super) fn count(all: &[Judged]) -> BTreeMap<Verdict, usize> {
    let mut counted = BTreeMap::new();
    for verdict in all.iter().flat_map(Judged::verdicts) {
        *counted.entry(verdict).or_insert(0) += 1;
    }
    counted
}

/// Why something is not as it should be, each reason once, with what it is the reason of.
pub(super) fn reasons(judged: &Judged) -> Vec<(String, String)> {
    let entries = judged
        .entries
        .iter()
        .filter_map(|e| Some((e.why.clone()?, e.verdict, format!("{} {}", e.measure, at(e)))));
    let claims = judged.claims.iter().filter_map(|c| Some((c.why.clone()?, c.verdict, "a claim".to_owned())));
    let mut reasons: Vec<(String, Verdict, Vec<String>)> = Vec::new();
    for (why, verdict, what) in entries.chain(claims) {
        match reasons.iter_mut().find(|(known, ..)| *known == why) {
            Some((_, _, all)) => all.push(what),
            None => reasons.push((why, verdict, vec![what])),
        }
    }
    reasons
        .into_iter()
        .map(|(why, verdict, all)| {
            let more = if all.len() > 1 { format!(" and {} more", all.len() - 1) } else { String::new() };
            (why, format!("{} ({}{more})", verdict.word(), all[0]))
        })
        .collect()
}

/// What an experiment consists of, before it is run.
pub(super) fn describe(experiment: &Experiment) -> String {
    let mut text = format!("{}  {} ({})\n", experiment.id, experiment.title, experiment.place);
    if let Some(also) = &experiment.also {
        let _ = writeln!(text, "also: {also}");
    }
    let _ = writeln!(text, "\n{}\n", experiment.about.trim());
    let mut number = 0;
    for (set, points) in experiment.sets.iter().zip(&experiment.points) {
        let quick = set.quick.map_or_else(|| "left out".to_owned(), |quick| format!("{quick} runs"));
        let _ =
            writeln!(text, "{}: {} runs of each point; with --quick {quick}", set.name.as_ref(), set.runs);
        for point in points {
            let _ = writeln!(text, "  {number:>3}  {}", point.label());
            number += 1;
        }
    }
    for check in &experiment.checks {
        let numbers = check.cells.len();
        let by = check.by.as_ref().map_or_else(String::new, |by| format!("; reference: {by}"));
        let _ =
            writeln!(text, "\n{numbers} numbers of {} in {}{by}", check.measure.name(), check.set.as_ref());
    }
    for claim in &experiment.claims {
        let not = if claim.fails { "does not hold: " } else { "" };
        let _ = writeln!(text, "\n{not}{}", claim.text);
        claim.holds.iter().for_each(|assertion| {
            let _ = writeln!(text, "    {}", assertion.as_ref());
        });
    }
    text
}

/// The set and the point of an entry.
pub(super) fn at(entry: &Entry) -> String {
    if entry.at.is_empty() { entry.set.clone() } else { format!("{}: {}", entry.set, entry.at) }
}

/// The paper's numbers.
pub(super) fn published(entry: &Entry) -> String {
    let all = entry.published.iter().flatten().map(|value| value.to_string());
    let text = all.collect::<Vec<_>>().join("/");
    if text.is_empty() { "-".to_owned() } else { text }
}

/// Ours, with its interval.
pub(super) fn ours(entry: &Entry) -> String {
    with_interval(entry.ours, entry.ours_ci95)
}

/// The reference's.
pub(super) fn reference(entry: &Entry) -> String {
    with_interval(entry.reference, entry.reference_ci95)
}

fn with_interval(mean: Option<f64>, ci95: Option<f64>) -> String {
    match (mean, ci95) {
        (None, _) => "-".to_owned(),
        (Some(mean), Some(ci95)) if ci95 > 0.0 => format!("{} +-{}", show(mean), show_width(ci95, mean)),
        (Some(mean), _) => show(mean),
    }
}

/// With the decimals of the mean.
fn show_width(ci95: f64, mean: f64) -> String {
    let decimals = show(mean).split_once('.').map_or(0, |(_, after)| after.len());
    format!("{ci95:.*}", decimals.max(if mean.abs() < 10.0 { 4 } else { 0 }))
}
