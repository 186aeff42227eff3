//! Writes a Markdown page for each paper, with the results and the figures of its experiments.

use crate::error::{LabError, LabResult};
use crate::figure::study_chart;
use crate::study::{CellResults, JudgedStudy, Study, words};
use std::fmt::Write as _;
use std::path::Path;

/// An experiment with its results and verdicts.
pub struct ShownStudy<'a> {
    /// The experiment.
    pub study: &'a Study,
    /// The results of the experiment's cells. A cell is one complete scenario.
    pub results: &'a CellResults,
    /// The verdicts on the experiment's numbers and claims.
    pub judged: &'a JudgedStudy,
}

/// Writes a page `NNN.md` for each paper that has experiments in `all`, and the figures into
/// `figures/`.
///
/// # Errors
/// Fails when a file or a directory cannot be written.
pub fn write_pages(directory: &Path, all: &[ShownStudy<'_>]) -> LabResult<()> {
    let figures = directory.join("figures");
    std::fs::create_dir_all(&figures).map_err(|e| LabError::work(figures.display(), e))?;
    let mut papers: Vec<&str> = all.iter().map(|shown| shown.study.paper()).collect();
    papers.dedup();
    for paper in papers {
        let own: Vec<&ShownStudy<'_>> = all.iter().filter(|shown| shown.study.paper() == paper).collect();
        let path = directory.join(format!("{paper}.md"));
        std::fs::write(&path, page(paper, &own)).map_err(|e| LabError::work(path.display(), e))?;
    }
    for shown in all {
        for (k, spec) in shown.study.figures.iter().enumerate() {
            let path = figures.join(figure_name(shown.study, k));
            let svg = study_chart(spec, shown.study, shown.results, shown.judged).svg();
            std::fs::write(&path, svg).map_err(|e| LabError::work(path.display(), e))?;
        }
    }
    Ok(())
}

fn figure_name(experiment: &Study, k: usize) -> String {
    format!("{}-{}.svg", experiment.id, k + 1)
}

fn page(paper: &str, all: &[&ShownStudy<'_>]) -> String {
    let mut text = format!(
        "# Paper {paper}: published simulations and ours\n\nFor researchers: the paper's simulations, repeated with `ripstop sim`. `make papers` writes this page from \
         [`papers/{paper}`](../../papers/{paper}); edit the files there. The intervals are 95 % confidence intervals, by \
         Student's t over independent runs.\n\n"
    );
    for shown in all {
        let _ = writeln!(text, "- [{}](#{}): {}", shown.judged.id, anchor(shown), shown.judged.title);
    }
    for shown in all {
        text += &section(shown);
    }
    text
}

/// The anchor that GitHub makes from the heading of an experiment's section.
fn anchor(shown: &ShownStudy<'_>) -> String {
    let heading = format!("{} {}", shown.judged.id, shown.judged.title).to_lowercase();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn section(shown: &ShownStudy<'_>) -> String {
    let ShownStudy { study: experiment, judged, .. } = shown;
    let mut text = format!("\n## {} {}\n\n", judged.id, judged.title);
    let _ = write!(text, "Paper {}, {}", experiment.paper(), judged.place);
    if let Some(also) = &experiment.also {
        let _ = write!(text, "; {also}");
    }
    let _ = writeln!(text, ".\n\n{}", experiment.about.trim());
    for (k, figure) in experiment.figures.iter().enumerate() {
        let _ = writeln!(text, "\n![{}](figures/{})", figure.title, figure_name(experiment, k));
    }
    if !judged.entries.is_empty() {
        let bys: Vec<&String> = judged.entries.iter().filter_map(|entry| entry.reference_by.as_ref()).collect();
        if let Some(by) = bys.first() {
            let _ = writeln!(text, "\nReference: {by}.");
        }
        text += "\n| | published | ours | reference | verdict |\n|---|---|---|---|---|\n";
        for entry in &judged.entries {
            let unit = if entry.unit.is_empty() { String::new() } else { format!(", {}", entry.unit) };
            let _ = writeln!(
                text,
                "| {}{unit}; {} | {} | {} | {} | {} |",
                entry.measure,
                words::at(entry),
                words::published(entry),
                words::ours(entry).replace("+-", "± "),
                words::reference(entry).replace("+-", "± "),
                entry.verdict.word(),
            );
        }
    }
    if !judged.claims.is_empty() {
        text += "\n| claim | evidence | verdict |\n|---|---|---|\n";
        for claim in &judged.claims {
            let assertions: Vec<String> =
                claim.assertions.iter().map(|a| format!("`{}`: {}", a.text, a.values.replace('|', "\\|"))).collect();
            let _ = writeln!(text, "| {} | {} | {} |", claim.text, assertions.join("<br>"), claim.verdict.word());
        }
    }
    for (why, what) in words::reasons(judged) {
        let _ = writeln!(text, "\n*{what}*: {why}.");
    }
    text
}
