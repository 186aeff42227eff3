//! Measures how much each constant of the rate controller matters: groups of simulated cells with each constant at half
//! and at double its value.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example sensitivity -- table [GROUP[/NAME] ...]
//! cargo run --release -p ripstop-sim --example sensitivity -- measure FILE [CONSTANT ...]
//! cargo run --release -p ripstop-sim --example sensitivity -- page FILE > docs/contributors/sensitivity.md
//! ```
//!
//! `table` prints the cells with the defaults. Environment: TUNE="probe-gain=1.2,cut=0.7" sets constants, JSON=1 prints
//! the whole report of each cell, PRINT=1 prints its scenario. SAMPLE=5s adds a series over time to the report.
//!
//! `measure` adds the figures of the constants to FILE, without those that FILE has already. `page` prints the page.

mod cells;
mod chance;
mod groups;
mod measure;
mod notes;
mod page;
mod parallel;

use cells::{Cell, Figure};
use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match (args.first().map(String::as_str), args.get(1)) {
        (Some("table"), _) => table(&args[1..]),
        (Some("measure"), Some(file)) => measure::measure(Path::new(file), &args[2..]),
        (Some("page"), Some(file)) => measure::read(Path::new(file)).and_then(|known| page::print(&known)),
        _ => Err("write `table [GROUP[/NAME] ...]`, `measure FILE [CONSTANT ...]` or `page FILE`".to_owned()),
    };
    if let Err(problem) = result {
        eprintln!("sensitivity: {problem}");
        std::process::exit(2);
    }
}

/// The TOML that sets constants: `name=value` pairs become a `tuning` table.
fn tuning(pairs: &str) -> String {
    if pairs.is_empty() { String::new() } else { format!("tuning = {{ {} }}\n", pairs.replace('=', " = ")) }
}

fn table(wanted: &[String]) -> Result<(), String> {
    let set = std::env::var("TUNE").unwrap_or_default();
    let is_wanted = |cell: &Cell| wanted.is_empty() || wanted.iter().any(|want| cell.is(want));
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let all: Vec<Cell> = groups::cells(&tuning(&set)).into_iter().filter(is_wanted).collect();
    for (cell, outcome) in all.iter().zip(parallel::reports(&all)) {
        if std::env::var_os("PRINT").is_some() {
            println!("{}", cell.scenario);
        }
        let report = outcome.map_err(|problem| format!("{}: {problem}", cell.name))?;
        if std::env::var_os("JSON").is_some() {
            println!("{}", serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
        }
        let delay = report.flows[0].delay_s.p50.unwrap_or(0.0) * 1e3;
        for (group, figure) in &cell.figures {
            let more = match figure {
                Figure::Share => format!(" (waste {:.3}, {delay:.0} ms)", cell.figure(Figure::Sent, &report)),
                _ => String::new(),
            };
            rows.entry(group).or_default().push(format!("{}: {:.3}{more}", cell.name, cell.figure(*figure, &report)));
        }
    }
    for (group, figures) in rows {
        println!("{group:20} {}", figures.join("  "));
    }
    Ok(())
}
