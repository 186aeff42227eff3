//! Formats the verdicts of `papers check` as text for a terminal.

use super::Report;
use crate::output::{Table, or_dash};
use ripstop_lab::papers::{CheckedPaper, PaperVerdict, digits, reasons};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The verdicts on all papers, and their totals.
pub(super) fn text(report: &Report<'_>) -> String {
    let mut text: String = report.papers.iter().map(paper).collect();
    let count = |counted: &BTreeMap<PaperVerdict, usize>| {
        counted.iter().map(|(verdict, n)| format!("{n} {}", verdict.word())).collect::<Vec<_>>().join(", ")
    };
    let sum = |counted: &BTreeMap<PaperVerdict, usize>| counted.values().sum::<usize>();
    let _ = writeln!(text, "{} numbers: {}", sum(&report.numbers), count(&report.numbers));
    let _ = writeln!(text, "{} trends: {}", sum(&report.trends), count(&report.trends));
    if !report.outdated.is_empty() {
        let (list, n) = (report.outdated.join(" "), report.outdated.len());
        let _ = writeln!(
            text,
            "{n} experiments were run with code that has changed since: `ripstop papers run {list}` runs them again."
        );
    }
    text
}

fn paper(paper: &CheckedPaper<'_>) -> String {
    let mut text = format!("{}  {}\n", paper.id, paper.title);
    let mut table = Table::titled(["  number", "printed", "ours", ""]);
    for number in paper.numbers.iter().filter(|number| number.verdict != PaperVerdict::NotCheckable) {
        table.row([
            format!("  {}: {}", number.id, number.what),
            or_dash(number.printed.clone(), |printed| printed),
            or_dash(number.ours, |ours| digits(ours, number)),
            number.verdict.word().to_owned(),
        ]);
    }
    text += &table.render();
    let every = paper.numbers.iter().map(|number| number.verdict).collect::<std::collections::BTreeSet<_>>();
    for (why, ids) in every.into_iter().flat_map(|verdict| reasons(&paper.numbers, verdict)) {
        let more = if ids.len() > 3 { format!(" and {} more", ids.len() - 3) } else { String::new() };
        let _ = writeln!(text, "  {}{more}: {why}", ids[..ids.len().min(3)].join(", "));
    }
    let runs: Vec<&str> = paper.numbers.iter().flat_map(|number| &number.run).map(String::as_str).collect();
    if let Some(list) = once_each(&runs) {
        let _ = writeln!(text, "  `ripstop papers run {list}` simulates the numbers that no closed form computes.");
    }
    text += "\n  trends\n";
    for trend in &paper.trends {
        let _ = writeln!(text, "  {:<14} {}: {}", trend.verdict.word(), trend.id, trend.text);
        let runs = (!trend.run.is_empty()).then(|| format!("`ripstop papers run {}`", trend.run.join(" ")));
        for line in [&trend.evidence, &trend.why, &runs].into_iter().flatten() {
            let _ = writeln!(text, "                   {line}");
        }
    }
    if !paper.errata.is_empty() {
        text += "\n  wrong in print\n";
    }
    for erratum in &paper.errata {
        let _ =
            writeln!(text, "  {}: {}\n                   right: {}", erratum.place, erratum.printed, erratum.corrected);
    }
    text + "\n"
}

fn once_each(names: &[&str]) -> Option<String> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(" "))
}
