//! `ripstop lab figure`: draws the figures of an experiment, or the curves of one result, as SVG.

use crate::failure::{Failure, Outcome};
use crate::output;
use ripstop_lab::cell::read_result;
use ripstop_lab::figure::{FigureChart, series_chart, study_chart};
use ripstop_lab::files;
use ripstop_lab::measure::KnownMeasure;
use ripstop_lab::papers::find_study;
use ripstop_lab::store::ResultStore;
use ripstop_lab::study::{StoredReadings, judge};
use std::path::{Path, PathBuf};

/// Draw the figures of an experiment, or the series of one result, as SVG
///
/// The `[[figure]]` sections of an experiment say what to draw. The results of the experiment are read from --store. A
/// result is a file with the output of `ripstop sim --sample TIME --json` or of `ripstop lab cell`. In the figure of a
/// result, each flow is a curve over time.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct FigureFlags {
    /// The experiment (a file, or an ID such as 000.fig12), or a result (RESULT.json)
    #[arg(value_name = "EXPERIMENT|RESULT.json")]
    what: String,
    /// The store with the experiment's results
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// The measure to draw from a result: goodput, cwnd or srtt
    #[arg(long, value_name = "MEASURE", default_value = "goodput", value_parser = measure)]
    y: KnownMeasure,
    /// Write the figures into this directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  ripstop lab figure loss.toml --store loss.results.redb --out figures
  ripstop sim tandem --loss 1% --sample 5s --json > result.json
  ripstop lab figure result.json --y cwnd";

fn measure(text: &str) -> Result<KnownMeasure, String> {
    text.parse()
}

/// Draws the figures and writes each to a file.
pub(super) fn run(flags: &FigureFlags) -> Outcome<()> {
    let charts = if flags.what.ends_with(".json") { of_result(flags)? } else { of_experiment(flags)? };
    std::fs::create_dir_all(&flags.out).map_err(|error| Failure::work(flags.out.display(), error))?;
    for (name, chart) in charts {
        let path = flags.out.join(format!("{name}.svg"));
        files::whole(&path, |out| Ok(out.write_all(chart.svg().as_bytes())?))?;
        output::print(&format!("{}\n", path.display()))?;
    }
    Ok(())
}

fn of_result(flags: &FigureFlags) -> Outcome<Vec<(String, FigureChart)>> {
    let path = Path::new(&flags.what);
    let text = files::read_text(path).map_err(|error| Failure::work(path.display(), error))?;
    let wrong = |problem: String| Failure::Config(format!("{}: {problem}", path.display()));
    let result = read_result(&text).map_err(|error| wrong(error.to_string()))?;
    let chart = series_chart(&result, flags.y).map_err(wrong)?;
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(vec![(format!("{stem}-{}", flags.y.name()), chart)])
}

fn of_experiment(flags: &FigureFlags) -> Outcome<Vec<(String, FigureChart)>> {
    let (study, published) = find_study(&flags.what)?;
    if study.figures.is_empty() {
        return Err(Failure::Config(format!(
            "{}: the experiment has no [[figure]] section, so nothing can be drawn; add one",
            flags.what
        )));
    }
    let Some(path) = &flags.store else {
        return Err(Failure::flag(
            "--store",
            "the figures of an experiment need the experiment's results; name the store that has these results",
        ));
    };
    let store = ResultStore::open_if_there(path)?;
    let store = store.ok_or_else(|| Failure::work(path.display(), "there is no such file"))?;
    let stored = StoredReadings::new(&study, &store);
    let results = stored.all()?;
    let judged = judge(&study, &stored, &published, false);
    let chart = |(k, figure)| {
        let name = format!("{}-{}", study.id, k + 1);
        (name, study_chart(figure, &study, &results, &judged))
    };
    Ok(study.figures.iter().enumerate().map(chart).collect())
}
