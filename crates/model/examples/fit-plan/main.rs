//! Fits the planner's weights to a campaign. `make plan-report` runs this program. A scheme that the campaign did not
//! simulate keeps its weights.
//!
//! ```sh
//! ripstop plan campaign --seed 1 --links 200 --plain-links 1000 --fitted-only --store plan.redb --data links.toml
//! cargo run --release -p ripstop-model --example fit-plan -- links.toml crates/model/data/plan-weights.toml
//! ```
//!
//! * `candidates`: the candidate terms.
//! * `least_squares`: the fit itself.
//! * `fit`: the quantities that are fitted, and their data.
//! * `text`: the weights as a file.

mod candidates;
mod fit;
mod least_squares;
mod text;

use ripstop_model::plan::campaign::CampaignResults;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [links, weights] = arguments.as_slice() else {
        eprintln!("usage: fit-plan LINKS.toml WEIGHTS.toml\nLINKS.toml is written by `ripstop plan campaign --data`");
        return ExitCode::from(2);
    };
    match run(links, weights) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(links: &str, weights: &str) -> Result<(), String> {
    let read = std::fs::read_to_string(links).map_err(|error| format!("cannot read {links}: {error}"))?;
    let results: CampaignResults = toml::from_str(&read).map_err(|error| format!("cannot parse {links}: {error}"))?;
    let before = std::fs::read_to_string(weights).ok();
    let before = before.map(|text| toml::from_str(&text).map_err(|error| format!("cannot parse {weights}: {error}")));
    let fitted = fit::weights(&results, before.transpose()?.as_ref())?;
    std::fs::write(weights, text::of(&fitted)).map_err(|error| format!("cannot write {weights}: {error}"))?;
    for scheme in ripstop_model::plan::PlanScheme::FITTED {
        let of = fitted.of(scheme);
        eprintln!("{}: {} efficiency terms, {} overhead terms", scheme.name(), of.efficiency.len(), of.overhead.len());
    }
    Ok(())
}
