//! Measures how much each constant of the rate controller matters: the table of shares with each
//! constant at half and at double its value.
//!
//! ```text
//! cargo run --release -p ripstop-sim --example sensitivity -- table [GROUP[/NAME] ...]
//! cargo run --release -p ripstop-sim --example sensitivity -- constants > docs/contributors/sensitivity.md
//! ```
//!
//! `table` prints the cells with the defaults. Environment: TUNE="probe-gain=1.2,cut=0.7" sets
//! constants, JSON=1 prints the whole report of each cell, PRINT=1 prints its scenario.
//! SAMPLE=5s adds a series over time to the report.

mod cells;

use cells::{Cell, Figure, cells};
use ripstop_proto::control::rate::Tuning;
use std::collections::BTreeMap;

/// Seeds that show what chance changes. The cells have another seed.
const OTHER_SEEDS: [u64; 3] = [4, 5, 6];
/// The least change of a group's figure that the page shows. Half the value shows changes that nobody
/// notices. Double the value hides changes of single cells.
const LEAST_CHANGE: f64 = 0.01;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("table") => table(&args[1..]),
        Some("constants") => constants(),
        _ => Err("name what to print: `table [GROUP[/NAME] ...]` or `constants`".to_owned()),
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
    let is_wanted = |cell: &Cell| {
        let name = format!("{}/{}", cell.group, cell.name);
        wanted.is_empty() || wanted.iter().any(|want| *want == cell.group || *want == name)
    };
    let mut rows: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let all: Vec<Cell> = cells(&tuning(&set)).into_iter().filter(is_wanted).collect();
    for (cell, outcome) in all.iter().zip(in_parallel(&all)) {
        if std::env::var_os("PRINT").is_some() {
            println!("{}", cell.scenario);
        }
        let report = match outcome {
            Ok(report) => report,
            Err(problem) => {
                rows.entry(cell.group).or_default().push(format!("{}: {problem}", cell.name));
                continue;
            }
        };
        if std::env::var_os("JSON").is_some() {
            println!("{}", serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?);
        }
        let waste = report.tunnels[0].directions[0].sent_per_useful.mean.unwrap_or(0.0) * 1384.0 / 1500.0;
        let delay = report.flows[0].delay_s.p50.unwrap_or(0.0) * 1e3;
        let wasted = match cell.figure {
            Figure::Share => format!(" (waste {:.3}, {delay:.0} ms)", waste * cell.passes),
            _ => String::new(),
        };
        rows.entry(cell.group).or_default().push(format!("{}: {:.3}{wasted}", cell.name, cell.figure(&report)));
    }
    for (group, figures) in rows {
        println!("{group:20} {}", figures.join("  "));
    }
    Ok(())
}

/// Runs cells on all cores.
fn in_parallel(cells: &[Cell]) -> Vec<Result<ripstop_sim::scenario::ScenarioReport, String>> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let results: Vec<std::sync::Mutex<Option<_>>> = cells.iter().map(|_| std::sync::Mutex::new(None)).collect();
    #[expect(clippy::disallowed_methods, reason = "the example runs independent simulations on all cores")]
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let k = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(cell) = cells.get(k) else { return };
                    if let Ok(mut slot) = results[k].lock() {
                        *slot = Some(cell.run());
                    }
                }
            });
        }
    });
    let take = |slot: std::sync::Mutex<Option<_>>| slot.into_inner().ok().flatten();
    results.into_iter().map(|slot| take(slot).unwrap_or_else(|| Err("the cell did not run".to_owned()))).collect()
}

/// Prints the page: the groups of cells with the defaults, and what each constant changes.
fn constants() -> Result<(), String> {
    let all = cells("");
    let base = means(&all)?;
    let mut chance: BTreeMap<&str, f64> = BTreeMap::new();
    for seed in OTHER_SEEDS {
        let mut others = all.clone();
        others.iter_mut().for_each(|cell| cell.set_seed(seed));
        for (group, figure) in means(&others)? {
            let most = chance.entry(group).or_default();
            *most = most.max((figure - base[group]).abs());
        }
    }
    println!("{HEAD}");
    for (group, figure) in &base {
        let meaning = all.iter().find(|cell| cell.group == *group).map_or("", |cell| cell.figure.meaning());
        println!("| {group} | {meaning} | {figure:.3} | {:.3} |", chance[group]);
    }
    println!("{TABLE}");
    let mut silent = Vec::new();
    for field in Tuning::fields() {
        let mut acts = false;
        for (factor, sign) in [(0.5, "/2"), (2.0, "x2")] {
            let value = field.scaled(factor);
            eprintln!("{} {value}", field.name);
            let figures = means(&cells(&tuning(&format!("{}={value}", field.name))))?;
            let changes = figures.iter().map(|(group, figure)| (*group, figure - base[group]));
            let changes: Vec<String> = changes
                .filter(|(group, change)| change.abs() >= chance[group].max(LEAST_CHANGE))
                .map(|(group, change)| format!("{group} {change:+.3}"))
                .collect();
            acts |= !changes.is_empty();
            println!("| `{}` {sign} | {value:.4} {} | {} |", field.name, field.unit, changes.join(", "));
        }
        if !acts {
            silent.push(format!("`{}`", field.name));
        }
    }
    if !silent.is_empty() {
        println!("\nConstants that change no group: {}.", silent.join(", "));
        println!("{FOOT}");
    }
    Ok(())
}

const HEAD: &str = "\
# Sensitivity of the rate controller's constants

For contributors who change a constant of the rate controller. `make sensitivity` wrote this page.

A *group* is a set of simulated cells, and its figure is the mean of their figures. `cells.rs` in
`crates/sim/examples/sensitivity` has the links. *Chance* is the largest change of the figure with three other seeds.

| group | figure | with the defaults | chance |
|---|---|---|---|";

const TABLE: &str = "
A row of the next table has one constant at half (/2) or double (x2) its value. For a *gain*, the difference from 1 is
halved or doubled. The row lists the groups whose figure changes by at least .010 and by at least chance.

| constant | value | changes |
|---|---|---|";

const FOOT: &str = "
Half and double the value of such a constant leave these groups as they are. Its description in
`crates/proto/src/control/rate/tuning` names the paths on which the constant acts, such as paths of a few
milliseconds, policers, and paths whose delay changes.";

/// The mean figure of each group.
fn means(cells: &[Cell]) -> Result<BTreeMap<&'static str, f64>, String> {
    let mut sums: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
    for (cell, report) in cells.iter().zip(in_parallel(cells)) {
        let sum = sums.entry(cell.group).or_default();
        *sum = (sum.0 + cell.figure(&report?), sum.1 + 1.0);
    }
    Ok(sums.into_iter().map(|(group, (sum, n))| (group, sum / n)).collect())
}
