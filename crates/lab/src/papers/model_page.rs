//! Writes a Markdown page for each paper: the numbers and trends that it states, our verdicts, and
//! figures that are drawn from closed forms. A closed form is a formula of a paper, implemented in
//! `ripstop_model::published`.

use super::check::CheckedPaper;
use super::library::PaperLibrary;
use super::numbers::{digits, reasons};
use super::verdict::PaperVerdict;
use crate::error::{LabError, LabResult};
use std::fmt::Write as _;
use std::path::Path;

/// Writes the page `NNN-models.md` of each paper, and its figures, into `directory`.
///
/// # Errors
/// Fails when a file cannot be written, or when a figure cannot be computed.
pub fn write_model_pages(directory: &Path, papers: &[CheckedPaper<'_>], library: &PaperLibrary) -> LabResult<()> {
    let figures = directory.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| LabError::work(figures.display(), e))?;
    for paper in papers {
        for figure in library.figures.iter().filter(|figure| figure.paper() == paper.id) {
            let chart = figure.compute(&library.published).map_err(LabError::Input)?;
            let path = figures.join(format!("{}.svg", figure.id));
            std::fs::write(&path, chart.svg()).map_err(|e| LabError::work(path.display(), e))?;
        }
        let path = directory.join(format!("{}-models.md", paper.id));
        std::fs::write(&path, page(paper, library)).map_err(|e| LabError::work(path.display(), e))?;
    }
    Ok(())
}

fn page(paper: &CheckedPaper<'_>, library: &PaperLibrary) -> String {
    let id = paper.id;
    let mut text = format!(
        "# Paper {id}: printed closed forms and ours\n\nFor researchers: the numbers of *{}*, recomputed by `ripstop model`. \
         [`models.md`](../researchers/models.md) describes the models. `make papers` writes this page from \
         [`papers/{id}`](../../papers/{id}); edit the files there.\n\n## Numbers\n\n| | where | printed | ours | verdict |\n|---|---|---|---|---|\n",
        paper.title
    );
    for number in paper.numbers.iter().filter(|number| number.verdict != PaperVerdict::NotCheckable) {
        let run = match number.run.is_empty() {
            true => String::new(),
            false => format!(" by `papers run {}`", number.run.join(" ")),
        };
        let why = number.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        let unit = if number.unit.is_empty() { String::new() } else { format!(", {}", number.unit) };
        let _ = writeln!(
            text,
            "| {}{} | {} | {} | {} | {}{run}{} |",
            cell(&number.what),
            cell(&unit),
            cell(&number.place),
            number.printed.clone().unwrap_or_else(|| "-".to_owned()),
            number.ours.map_or_else(|| "-".to_owned(), |ours| digits(ours, number)),
            number.verdict.word(),
            cell(&why)
        );
    }
    text += "\nNumbers that the models cannot check:\n\n";
    for (why, ids) in reasons(&paper.numbers, PaperVerdict::NotCheckable) {
        let _ = writeln!(text, "- {why}: {}", ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "));
    }
    text += "\n## Trends\n\n| | evidence | verdict |\n|---|---|---|\n";
    for trend in &paper.trends {
        let runs = (!trend.run.is_empty()).then(|| format!("`papers run {}`", trend.run.join(" ")));
        let why: Vec<&str> = [&trend.evidence, &trend.why, &runs].into_iter().flatten().map(String::as_str).collect();
        let _ = writeln!(
            text,
            "| {} ({}) | {} | {} |",
            cell(&trend.text),
            cell(&trend.place),
            cell(&why.join("; ")),
            trend.verdict.word()
        );
    }
    text += "\n## Misprints\n\n| where | printed | right |\n|---|---|---|\n";
    for erratum in &paper.errata {
        let _ = writeln!(text, "| {} | {} | {} |", cell(erratum.place), cell(erratum.printed), cell(erratum.corrected));
    }
    for figure in library.figures.iter().filter(|figure| figure.paper() == id) {
        let _ = writeln!(
            text,
            "\n## {} {}\n\nPaper {id}, {}.\n\n{}\n\n![{}](figures/{}.svg)",
            figure.id,
            figure.title,
            figure.place,
            figure.about.trim(),
            figure.title,
            figure.id
        );
    }
    text
}

/// `text` with the characters escaped that would break a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").replace('*', "\\*").replace('_', "\\_")
}
