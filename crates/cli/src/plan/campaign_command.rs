//! `ripstop plan campaign`: draws links from a seed, simulates these links, and reports how far the predictions of the
//! closed forms are from the simulations. Such a comparison is called a campaign.

use crate::failure::{Failure, Outcome};
use crate::output;
use crate::progress::Progress;
use ripstop_base::Rate;
use ripstop_lab::campaign::behaviour::{behaviour, changed_schemes};
use ripstop_lab::campaign::{CampaignDraw, SomeSchemes, data, judge, page, simulate};
use ripstop_lab::files;
use ripstop_lab::store::ResultStore;
use ripstop_model::plan::PlanScheme;
use ripstop_model::plan::campaign::CampaignResults;
use std::path::{Path, PathBuf};

/// Compare the planner's predictions with simulations on links drawn from a seed
///
/// Prints the report. The store keeps each result, so a campaign that was stopped continues where it stopped.
/// `make plan-report` runs two campaigns. It fits the planner's weights to the first campaign, and reports the errors
/// on the second campaign.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Flags {
    /// The seed of the random draw of links
    #[arg(long, value_name = "N")]
    seed: u64,
    /// The number of links
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    links: u64,
    /// The number of links on which to simulate plain TCP, for --data. Plain TCP is the fastest scheme to simulate, so it
    /// can run on more links than the other schemes. A number below --links counts as --links [default: as --links]
    #[arg(long, value_name = "N", requires = "data", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    plain_links: Option<u64>,
    /// Leave out links above this rate. Links with high rates take the most time [default: leave out no link]
    #[arg(long, value_name = "RATE")]
    max_rate: Option<Rate>,
    /// Simulate only plain TCP and TCP in the tunnel, whose weights are fitted. Leave out TCP/NC, the block code and TCP/LT,
    /// which the fit of the weights does not need. The report then has no errors of these three
    #[arg(long, conflicts_with_all = ["from", "page", "errors"])]
    fitted_only: bool,
    /// The file that keeps the result of each simulation
    #[arg(long, value_name = "FILE")]
    store: PathBuf,
    /// Write every link with its predictions and simulations to this TOML file. The Cargo example fit-plan fits weights
    /// to this file
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Write the report to this Markdown file
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write the errors of the predictions to this TOML file. `ripstop plan` shows the errors of such a file, which is
    /// compiled into the program: crates/model/data/plan-errors.toml
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Take results from this file of --data, which must have the same seed and the same links. Only the schemes whose
    /// behaviour has changed since the file was written are simulated
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Simulate these schemes, and take the results of all other schemes from --from. The names are those of --data, with
    /// commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "from")]
    add: Option<Vec<String>>,
    /// Simulate only the schemes whose weights were fitted to a simulator with another behaviour. Write only --data; if
    /// there is no such scheme, write nothing
    #[arg(long, requires = "fitted_only", requires = "data", conflicts_with = "from")]
    outdated: bool,
    /// The number of threads. This number does not change the result [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    threads: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  ripstop plan campaign --seed 9 --links 12 --max-rate 2Mbit/s --store plan.redb
  ripstop plan campaign --seed 9 --links 50 --store plan.redb --page report.md --threads 1
  ripstop plan campaign --seed 9 --links 50 --store plan.redb --from links.toml --data links.toml";

/// Runs the command.
pub(super) fn run(flags: &Flags) -> Outcome<()> {
    for (flag, path) in [("--data", &flags.data), ("--page", &flags.page), ("--errors", &flags.errors)] {
        if let Some(path) = path {
            files::check(path).map_err(|problem| Failure::flag(flag, problem))?;
        }
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = flags.threads.map_or(cores, |threads| threads as usize);
    let store = ResultStore::open_or_create(&flags.store)?;
    let weights = data::weights()?;
    let draw = CampaignDraw {
        seed: flags.seed,
        links: flags.links,
        plain_links: flags.plain_links.unwrap_or(flags.links).max(flags.links),
        max_rate_bps: flags.max_rate.map(Rate::bps),
        fitted_only: flags.fitted_only,
    };
    let from = flags.from.as_deref().map(read_results).transpose()?;
    let simulated = flags.simulated(from.as_ref())?;
    if flags.outdated && simulated.as_ref().is_some_and(Vec::is_empty) {
        return output::print("All weights were fitted to a simulator with this behaviour, so nothing is simulated.\n");
    }
    let some = simulated.as_deref().map(|simulated| SomeSchemes { simulated, taken: from.as_ref() });
    let progress = Progress::new();
    let show = |words: String| {
        progress.begin(words);
        progress.show(String::new);
    };
    let results = simulate(draw, some, &weights, &store, threads, &show)?;
    drop(progress);
    if let Some(path) = &flags.data {
        write(path, &results_text(&results)?)?;
    }
    if flags.outdated {
        let names: Vec<&str> = results.campaign.behaviour.keys().map(String::as_str).collect();
        return output::print(&format!("Simulated {} on links of seed {}.\n", names.join(", "), flags.seed));
    }
    let judged = judge::judge(&results, &weights)?;
    let page = page::page(&results.campaign, &judged, &weights);
    if let Some(path) = &flags.page {
        write(path, &page)?;
    }
    if let Some(path) = &flags.errors {
        write(path, &judge::errors(results.campaign.clone(), &judged, &weights).to_toml()?)?;
    }
    output::print(&page)
}

impl Flags {
    /// The schemes to simulate; None: all.
    fn simulated(&self, from: Option<&CampaignResults>) -> Outcome<Option<Vec<String>>> {
        if let Some(names) = &self.add {
            return Ok(Some(names.clone()));
        }
        let then = match from {
            Some(from) => from.campaign.behaviour.clone(),
            None if self.outdated => data::weights()?.campaign.behaviour,
            None => return Ok(None),
        };
        let mut changed = changed_schemes(&then, behaviour()?);
        if self.outdated {
            changed.retain(|scheme| PlanScheme::FITTED.iter().any(|fitted| fitted.name() == scheme));
        }
        Ok(Some(changed))
    }
}

fn read_results(path: &Path) -> Outcome<CampaignResults> {
    let wrong = |problem: String| Failure::flag("--from", format!("{}: {problem}", path.display()));
    let text = files::read_text(path).map_err(|error| wrong(error.to_string()))?;
    toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))
}

fn results_text(results: &CampaignResults) -> Outcome<String> {
    let text = toml::to_string(results).map_err(|error| Failure::work("writing the links", error))?;
    Ok(format!(
        "# A campaign of the planner: predictions and simulations. Written by `ripstop plan campaign --data`; do not edit.\n\n{text}"
    ))
}

fn write(path: &Path, text: &str) -> Outcome<()> {
    Ok(files::whole(path, |out| Ok(out.write_all(text.as_bytes())?))?)
}
