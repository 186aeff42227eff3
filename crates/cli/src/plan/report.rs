//! The campaign as a command: fits the weights on one seed, and reports the errors on another.

use super::campaign::{self, Case};
use super::draw;
use super::errors::{Errors, Miss};
use super::fit;
use crate::failure::{Failure, Outcome};
use crate::files;
use crate::output;
use crate::store::Store;
use ripstop_model::plan::advice::{self, Candidate, Traffic};
use ripstop_model::plan::fitted::SEED;
use ripstop_model::plan::{Kind, Path, Scheme, delay, predict};
use ripstop_sim::engine::percentile;
use std::fmt::Write;
use std::path::PathBuf;

/// Simulate every scheme on links drawn from a seed, beside what is predicted; `make plan-report` runs it
///
/// What is in the store is not simulated again: a campaign that was stopped goes on where it was.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// Where the links come from
    #[arg(long, value_name = "N")]
    seed: u64,
    /// How many links
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    links: u64,
    /// Simulate plain TCP, which takes least, on so many, for `--fit`
    #[arg(long, value_name = "N", requires = "fit", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    plain_links: Option<u64>,
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

const EXAMPLES: &str = "\
Examples:
  ripstop plan campaign --seed 9 --links 50 --store plan.redb
  ripstop plan campaign --seed 9 --links 50 --store plan.redb --page report.md --threads 1";

/// Runs it.
pub(super) fn run(flags: &Flags) -> Outcome<()> {
    for (flag, path) in [("--fit", &flags.fit), ("--page", &flags.page), ("--errors", &flags.errors)] {
        if let Some(path) = path {
            files::check(flag, path)?;
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = flags.threads.map_or(cores, |threads| threads as usize);
    let store = Store::open_or_create(&flags.store)?;
    let plain = flags.plain_links.unwrap_or(flags.links);
    let mut cases = campaign::cases(flags.seed, flags.links, plain, &store, threads)?;
    if let Some(path) = &flags.fit {
        let text = fit::source(flags.seed, &cases);
        files::whole(path, |out| Ok(out.write_all(text.as_bytes())?))?;
    }
    // Of the others nobody knows what is best on them.
    cases.truncate(flags.links as usize);
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

    /// The standard error of what was simulated, relative: a prediction that is right is off by that.
    fn error(&self, scheme: usize) -> f64 {
        let mean = self.mean(scheme);
        if mean > 0.0 { self.case.measured[scheme].error() / mean } else { f64::INFINITY }
    }

    fn is_near_best(&self) -> bool {
        self.mean(self.chosen) >= NEAR * self.mean(self.best)
    }

    /// Whether the family is right, the tunnel or none, with whatever TCP fares best in it.
    fn is_family_near_best(&self) -> bool {
        let tunnel = Scheme::FITTED[self.chosen].is_tunnel();
        let family = (0..self.predicted.len()).filter(|k| Scheme::FITTED[*k].is_tunnel() == tunnel);
        family.map(|k| self.mean(k)).fold(0.0, f64::max) >= NEAR * self.mean(self.best)
    }
}

fn judge(cases: &[Case]) -> Outcome<Vec<Judged<'_>>> {
    cases.iter().map(judge_one).collect()
}

fn judge_one(case: &Case) -> Outcome<Judged<'_>> {
    let path = &case.path;
    let mut predicted = Vec::with_capacity(Scheme::FITTED.len());
    let mut candidates = Vec::with_capacity(Scheme::FITTED.len());
    for scheme in Scheme::FITTED {
        let got = predict(path, scheme).map_err(|error| Failure::Work(error.to_string()))?;
        predicted.push(got.goodput_bps);
        candidates.push(Candidate {
            scheme,
            goodput_bps: got.goodput_bps,
            sent_per_useful: got.sent_per_useful,
            request_p99: delay::request(path, scheme).p99,
        });
    }
    let chosen = advice::choose(&candidates, Traffic::Bulk, None).map_or(0, |choice| choice.index);
    let mean = |k: usize| case.measured[k].mean();
    let best = (0..predicted.len()).reduce(|a, b| if mean(b) > mean(a) { b } else { a }).unwrap_or(0);
    Ok(Judged { case, predicted, chosen, best })
}

/// The `percent`-th percentile; what has none is infinite.
fn quantile(mut values: Vec<f64>, percent: f64) -> f64 {
    percentile(&mut values, percent).unwrap_or(f64::INFINITY)
}

/// What the closed forms predict beside the goodput: its name, what was measured, and what was predicted.
type Figure = (&'static str, fn(&Case) -> Option<f64>, fn(&Path) -> f64);

/// Delays of packets are those of the tunnel with BBR inside and of plain BBR; requests those of CUBIC, plain and inside.
const FIGURES: [Figure; 10] = [
    ("sent-per-useful-bbr", |case| case.of(Scheme::Bbr)?.sent_per_useful, |path| sent(path, Scheme::Bbr)),
    (
        "sent-per-useful-tunnel",
        |case| case.of(Scheme::TunnelBbr)?.sent_per_useful,
        |path| sent(path, Scheme::TunnelBbr),
    ),
    ("packet-p50-bbr", |case| case.of(Scheme::Bbr)?.delay_p50_s, |path| delay::bulk(path, Scheme::Bbr).p50),
    ("packet-p99-bbr", |case| case.of(Scheme::Bbr)?.delay_p99_s, |path| delay::bulk(path, Scheme::Bbr).p99),
    (
        "packet-p50-tunnel",
        |case| case.of(Scheme::TunnelBbr)?.delay_p50_s,
        |path| delay::bulk(path, Scheme::TunnelBbr).p50,
    ),
    (
        "packet-p99-tunnel",
        |case| case.of(Scheme::TunnelBbr)?.delay_p99_s,
        |path| delay::bulk(path, Scheme::TunnelBbr).p99,
    ),
    ("request-p50-plain", |case| case.requests[0].p50_s, |path| delay::request(path, Scheme::Cubic).p50),
    ("request-p99-plain", |case| case.requests[0].p99_s, |path| delay::request(path, Scheme::Cubic).p99),
    (
        "request-p50-tunnel",
        |case| case.requests[1].p50_s,
        |path| delay::request(path, Scheme::TunnelCubic).p50,
    ),
    (
        "request-p99-tunnel",
        |case| case.requests[1].p99_s,
        |path| delay::request(path, Scheme::TunnelCubic).p99,
    ),
];

fn sent(path: &Path, scheme: Scheme) -> f64 {
    predict(path, scheme).map_or(f64::NAN, |got| got.sent_per_useful)
}

/// By how much a figure is missed, relative; None where it was not measured.
fn off((_, measured, predicted): &Figure, one: &Judged<'_>) -> Option<f64> {
    measured(one.case).map(|measured| (predicted(&one.case.path) / measured - 1.0).abs())
}

fn miss_of(misses: Vec<f64>) -> Option<Miss> {
    let links = misses.len() as u64;
    let three = |x: f64| (x.min(1e3) * 1e3).round() / 1e3;
    let (median, p95) = (three(quantile(misses.clone(), 50.0)), three(quantile(misses, 95.0)));
    (links > 0).then_some(Miss { median, p95, links })
}

fn errors(judged: &[Judged<'_>]) -> Errors {
    let mut errors = Errors::default();
    for kind in Kind::ALL {
        let of_kind = || judged.iter().filter(move |one| Kind::of(&one.case.path) == kind);
        for (index, scheme) in Scheme::FITTED.into_iter().enumerate() {
            if let Some(miss) = miss_of(of_kind().map(|one| one.miss(index)).collect()) {
                errors.set(scheme.name(), kind, miss);
            }
        }
        for figure in FIGURES {
            if let Some(miss) = miss_of(of_kind().filter_map(|one| off(&figure, one)).collect()) {
                errors.set(figure.0, kind, miss);
            }
        }
    }
    errors
}

fn page(flags: &Flags, judged: &[Judged<'_>]) -> String {
    let mut text = format!(
        "# The planner beside the simulator\n\n{} links drawn from seed {}; the weights were fitted to {}. `make plan-report` writes this page.\n\n",
        flags.links,
        flags.seed,
        if flags.seed == SEED { "links of this very seed" } else { "other links" }
    );
    text.push_str(
        "| links | | error of the recommended scheme: median | 95th percentile | of that, the standard error of the simulation: median | \
         95th percentile | a single run's deviation: median | within 3 % of the best | its family is |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut line = |name: &str, some: Vec<&Judged<'_>>| {
        if some.is_empty() {
            return;
        }
        let misses: Vec<f64> = some.iter().map(|one| one.miss(one.chosen)).collect();
        let noise: Vec<f64> = some.iter().map(|one| one.noise(one.chosen)).collect();
        let errors: Vec<f64> = some.iter().map(|one| one.error(one.chosen)).collect();
        let share = |is: &dyn Fn(&Judged<'_>) -> bool| {
            percent(some.iter().filter(|one| is(one)).count() as f64 / some.len() as f64)
        };
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {} |",
            some.len(),
            percent(quantile(misses.clone(), 50.0)),
            percent(quantile(misses, 95.0)),
            percent(quantile(errors.clone(), 50.0)),
            percent(quantile(errors, 95.0)),
            percent(quantile(noise, 50.0)),
            share(&|one| one.is_near_best()),
            share(&|one| one.is_family_near_best())
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
            percent(quantile(misses.clone(), 50.0)),
            percent(quantile(misses, 95.0))
        );
    }
    text.push_str("\n| figure | links | median error | 95th percentile |\n|---|---|---|---|\n");
    for figure in FIGURES {
        if let Some(miss) = miss_of(judged.iter().filter_map(|one| off(&figure, one)).collect()) {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} |",
                figure.0,
                miss.links,
                percent(miss.median),
                percent(miss.p95)
            );
        }
    }
    text.push_str("\n## The worst ten\n\n");
    let mut worst: Vec<&Judged<'_>> = judged.iter().collect();
    worst.sort_by(|a, b| b.miss(b.chosen).total_cmp(&a.miss(a.chosen)));
    for one in worst.into_iter().take(LISTED) {
        let _ = writeln!(text, "{}; {}. `{}`", line_of(one), special(one), draw::command(&one.case.path));
    }
    text.push_str("\n## Where another scheme brings most\n\nLong runs of losses left out, the ten at which most is missed.\n\n");
    let mut missed: Vec<&Judged<'_>> = judged
        .iter()
        .filter(|one| !one.is_near_best() && Kind::of(&one.case.path) != Kind::LongRuns)
        .collect();
    missed
        .sort_by(|a, b| (a.mean(a.chosen) / a.mean(a.best)).total_cmp(&(b.mean(b.chosen) / b.mean(b.best))));
    for one in missed.into_iter().take(LISTED) {
        let capacity = one.case.path.capacity();
        let _ = writeln!(
            text,
            "{}, which brings {:.3} (predicted {:.3}). `{}`",
            line_of(one),
            one.mean(one.best) / capacity,
            one.predicted[one.best] / capacity,
            draw::command(&one.case.path)
        );
    }
    text
}

/// What brings this share of the best is as good.
const NEAR: f64 = 0.97;
/// Runs that are listed of such a link.
const SHOWN: usize = 8;
/// Links that are listed one by one.
const LISTED: usize = 10;

fn line_of(one: &Judged<'_>) -> String {
    let scheme = one.chosen;
    let capacity = one.case.path.capacity();
    let each = &one.case.measured[scheme].each_bps;
    let mut runs: Vec<String> = each.iter().take(SHOWN).map(|run| format!("{:.3}", run / capacity)).collect();
    if each.len() > SHOWN {
        runs.push(format!("and {} more", each.len() - SHOWN));
    }
    format!(
        "- link {}, {}: predicted {:.3}, simulated {:.3} (runs {}); best: {}",
        one.case.number,
        Scheme::FITTED[scheme].name(),
        one.predicted[scheme] / capacity,
        one.mean(scheme) / capacity,
        runs.join(", "),
        Scheme::FITTED[one.best].name()
    )
}

/// What is special about a link that is missed; why, only a trace says.
fn special(one: &Judged<'_>) -> &'static str {
    let path = &one.case.path;
    let (noise, miss) = (one.noise(one.chosen), one.miss(one.chosen));
    let (predicted, mean) = (one.predicted[one.chosen], one.mean(one.chosen));
    if noise > 0.5 * miss || noise > 0.5 {
        "runs differ from each other as much"
    } else if mean < 0.5 * predicted && path.burst > 2.0 {
        "losses in long runs, and less in every run than predicted"
    } else if path.queue_packets() < 20.0 {
        "a queue of a few packets"
    } else if path.packets() < 10.0 {
        "few packets on the way"
    } else if mean < predicted {
        "less than the fitted causes say"
    } else {
        "more than the fitted causes say"
    }
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", share * 100.0) } else { "-".to_owned() }
}
