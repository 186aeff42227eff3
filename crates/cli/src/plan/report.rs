//! The campaign as a command: fits the weights on one seed, and reports the errors on another.

use super::campaign::{self, Case};
use super::draw;
use super::errors::{Errors, Kind, Miss};
use super::fit;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::output;
use ripstop_model::plan::{Scheme, predict};
use std::fmt::Write;
use std::path::PathBuf;

/// Simulate every scheme on links drawn from a seed, beside what is predicted; `make plan-report` runs it
///
/// What is in the store is not simulated again: a campaign that was stopped goes on where it was.
#[derive(clap::Args)]
pub(super) struct Flags {
    /// Where the links come from
    #[arg(long, value_name = "N")]
    seed: u64,
    /// How many links
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    links: u64,
    /// Where results are kept
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// Fit the weights of causes to these links, and write them to this source file
    #[arg(long, value_name = "FILE")]
    fit: Option<PathBuf>,
    /// Write the report to this page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write the errors to this file, from which `ripstop plan` has them
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    /// At most so many threads; the result does not depend on it [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
}

/// Runs it.
pub(super) fn run(flags: &Flags) -> Outcome<()> {
    for (flag, path) in [("--fit", &flags.fit), ("--page", &flags.page), ("--errors", &flags.errors)] {
        if let Some(path) = path {
            files::check(flag, path)?;
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = flags.threads.map_or(cores, |threads| threads as usize);
    let store = campaign::store(&flags.store)?;
    let cases = campaign::cases(flags.seed, flags.links, &store, threads)?;
    if let Some(path) = &flags.fit {
        let fitted: Vec<_> =
            Scheme::FITTED.iter().map(|scheme| (*scheme, fit::fit(*scheme, &cases))).collect();
        let text = fit::source(flags.seed, flags.links, &fitted);
        files::whole(path, |out| Ok(out.write_all(text.as_bytes())?))?;
    }
    let judged = judge(&cases)?;
    let page = page(flags, &judged);
    if let Some(path) = &flags.page {
        files::whole(path, |out| Ok(out.write_all(page.as_bytes())?))?;
    }
    if let Some(path) = &flags.errors {
        let text = errors(&judged).to_toml()?;
        files::whole(path, |out| Ok(out.write_all(text.as_bytes())?))?;
    }
    output::print(&page)
}

/// A link with what was predicted on it.
struct Judged<'a> {
    case: &'a Case,
    predicted: Vec<f64>,
    /// The best one by prediction, and by simulation.
    chosen: usize,
    best: usize,
}

impl Judged<'_> {
    fn mean(&self, scheme: usize) -> f64 {
        self.case.measured[scheme].mean()
    }

    /// By how much `scheme` is missed, relative to what was simulated.
    fn miss(&self, scheme: usize) -> f64 {
        let mean = self.mean(scheme);
        if mean > 0.0 { (self.predicted[scheme] / mean - 1.0).abs() } else { f64::INFINITY }
    }

    /// What a run differs from the mean by, relative.
    fn noise(&self, scheme: usize) -> f64 {
        let mean = self.mean(scheme);
        if mean > 0.0 { self.case.measured[scheme].deviation() / mean } else { f64::INFINITY }
    }

    fn is_near_best(&self) -> bool {
        self.mean(self.chosen) >= 0.97 * self.mean(self.best)
    }
}

fn judge(cases: &[Case]) -> Outcome<Vec<Judged<'_>>> {
    let judged = |case: &'_ Case| {
        let predicted: Result<Vec<f64>, _> = Scheme::FITTED
            .iter()
            .map(|scheme| predict(&case.path, *scheme).map(|got| got.goodput_bps))
            .collect();
        let predicted = predicted.map_err(|error| Failure::Work(error.to_string()))?;
        let most =
            |values: &[f64]| (0..values.len()).reduce(|a, b| if values[b] > values[a] { b } else { a });
        let means: Vec<f64> = case.measured.iter().map(campaign::Measured::mean).collect();
        let (chosen, best) = (most(&predicted).unwrap_or(0), most(&means).unwrap_or(0));
        Ok((predicted, chosen, best))
    };
    cases
        .iter()
        .map(|case| judged(case).map(|(predicted, chosen, best)| Judged { case, predicted, chosen, best }))
        .collect()
}

/// The value below which the share `q` of `values` lies.
fn quantile(mut values: Vec<f64>, q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (q * values.len() as f64).ceil() as usize;
    values.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

fn errors(judged: &[Judged<'_>]) -> Errors {
    let mut errors = Errors::default();
    for (index, scheme) in Scheme::FITTED.into_iter().enumerate() {
        for kind in Kind::ALL {
            let of_kind = judged.iter().filter(|one| Kind::of(&one.case.path) == kind);
            let misses: Vec<f64> = of_kind.map(|one| one.miss(index).min(1e3)).collect();
            if !misses.is_empty() {
                let links = misses.len() as u64;
                let three = |x: f64| (x * 1e3).round() / 1e3;
                let (median, p95) = (three(quantile(misses.clone(), 0.5)), three(quantile(misses, 0.95)));
                errors.set(scheme, kind, Miss { median, p95, links });
            }
        }
    }
    errors
}

fn page(flags: &Flags, judged: &[Judged<'_>]) -> String {
    let mut text = format!(
        "# The planner beside the simulator\n\n{} links drawn from seed {}; the weights were fitted to other links. `make plan-report` writes this page.\n\n",
        flags.links, flags.seed
    );
    text.push_str("| links | | error of the recommended scheme: median | 95th percentile | a single run's own deviation: median | 95th percentile | within 3 % of the best |\n|---|---|---|---|---|---|---|\n");
    let mut line = |name: &str, some: Vec<&Judged<'_>>| {
        if some.is_empty() {
            return;
        }
        let misses: Vec<f64> = some.iter().map(|one| one.miss(one.chosen)).collect();
        let noise: Vec<f64> = some.iter().map(|one| one.noise(one.chosen)).collect();
        let near = some.iter().filter(|one| one.is_near_best()).count() as f64 / some.len() as f64;
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} |",
            some.len(),
            percent(quantile(misses.clone(), 0.5)),
            percent(quantile(misses, 0.95)),
            percent(quantile(noise.clone(), 0.5)),
            percent(quantile(noise, 0.95)),
            percent(near)
        );
    };
    line("all", judged.iter().collect());
    for kind in Kind::ALL {
        line(kind.words(), judged.iter().filter(|one| Kind::of(&one.case.path) == kind).collect());
    }
    text.push_str("\n| scheme | recommended on | median error | 95th percentile |\n|---|---|---|---|\n");
    for (index, scheme) in Scheme::FITTED.into_iter().enumerate() {
        let misses: Vec<f64> = judged.iter().map(|one| one.miss(index)).collect();
        let times = judged.iter().filter(|one| one.chosen == index).count();
        let _ = writeln!(
            text,
            "| {} | {times} | {} | {} |",
            scheme.name(),
            percent(quantile(misses.clone(), 0.5)),
            percent(quantile(misses, 0.95))
        );
    }
    text.push_str("\n## The worst ten\n\n");
    let mut worst: Vec<&Judged<'_>> = judged.iter().collect();
    worst.sort_by(|a, b| b.miss(b.chosen).total_cmp(&a.miss(a.chosen)));
    for one in worst.into_iter().take(10) {
        let scheme = one.chosen;
        let capacity = one.case.path.capacity();
        let runs: Vec<String> =
            one.case.measured[scheme].each_bps.iter().map(|run| format!("{:.3}", run / capacity)).collect();
        let _ = writeln!(
            text,
            "- link {}, {}: predicted {:.3}, simulated {:.3} (runs {}); best: {}. `{}`",
            one.case.number,
            Scheme::FITTED[scheme].name(),
            one.predicted[scheme] / capacity,
            one.mean(scheme) / capacity,
            runs.join(", "),
            Scheme::FITTED[one.best].name(),
            draw::command(&one.case.path)
        );
    }
    text
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", share * 100.0) } else { "-".to_owned() }
}
