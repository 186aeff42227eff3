//! The simulator compared with ns-2.35: the same networks and the same TCPs, means over independent
//! runs.
//!
//! `ns2.csv` has the results of the unmodified ns-2: mean, half of the 95 % interval, and number of runs. The cells of
//! `ns2.csv` are the uncoded baselines of papers 000, 002, 003 and 004. `xor.csv` has the results of an independent
//! study, which built the coding and the back-off of paper 002 into ns-2. `lt.csv` has the results of an independent
//! study of paper 004 on ns-2. `make oracle` runs every cell as many times as ns-2 did. It runs wired networks and the
//! mesh of paper 004 at least 40 times, and AODV at least 30 times. `make test` runs the cells a few times,
//! and leaves half of the strings with AODV out.
//!
//! A cell agrees if the means differ by at most 5 %, or by at most two half-widths of their difference. This half-width
//! is the root of the sum of the squares of both half-widths. A string with AODV collapses only in some runs. The cells
//! of such a string may therefore differ by 15 %, or by 20 % if the study ran the string 8 times. The cells of the mesh
//! may differ by 10 %, because TCP over a lossy mesh lives on rare time-outs. With UDP they may differ by 3 %.

mod cells;
mod mesh;
mod settings;
mod string;

use cells::{Cell, Setting};
use ripstop_sim::engine::Statistic;
use std::collections::BTreeMap;

/// A setting with its compared cells.
struct Compared {
    setting: Setting,
    /// For each cell: ns-2's result, the simulator's result, and whether they agree.
    rows: Vec<(Cell, Statistic, bool)>,
}

/// Number of runs of each setting in `make test`, which is enough for an interval. Double the value takes twice the
/// time, half a minute on two cores. Half the value makes the intervals wider, so that larger errors pass.
const FEW_RUNS: u64 = 4;

/// Runs of each string in `make test`. A string takes longer to simulate, and its runs differ less.
const STRING_RUNS: u64 = 2;

/// Runs of each string with AODV in `make test`. One run delivers up to twice as much as another.
const AODV_RUNS: u64 = 10;

/// Runs the known settings that `chosen` selects, and compares their cells. `chosen` is called once for each setting, in
/// their order. `runs` turns ns-2's number of runs into the simulator's number of runs.
fn compare(mut chosen: impl FnMut(&Setting) -> bool, runs: impl Fn(&Setting, u64) -> u64) -> Vec<Compared> {
    let mut settings: BTreeMap<Setting, Vec<Cell>> = BTreeMap::new();
    let files = [include_str!("ns2.csv"), include_str!("xor.csv"), include_str!("lt.csv")];
    for (setting, cell) in files.into_iter().flat_map(cells::read) {
        if settings::known(&setting) && cell.is_compared() {
            settings.entry(setting).or_default().push(cell);
        }
    }
    settings.retain(|setting, _| chosen(setting));
    let compare = |(setting, cells): (Setting, Vec<Cell>)| {
        let runs = runs(&setting, cells.iter().map(|cell| cell.n).max().unwrap_or(1));
        let scenario = settings::scenario(&setting, runs as u32);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let report = ripstop_sim::scenario::run(&scenario, threads, || ()).expect("the scenario is valid");
        let rows = cells.into_iter().map(|cell| {
            let ours = settings::measured(&setting, &cell, &scenario, &report);
            let agrees = cell.agrees(&ours, tolerance(&setting));
            (cell, ours, agrees)
        });
        Compared { rows: rows.collect(), setting }
    };
    settings.into_iter().map(compare).collect()
}

/// The relative difference of the means up to which a cell of the setting agrees.
fn tolerance(setting: &Setting) -> f64 {
    match (string::has_aodv(setting), setting.case.as_str()) {
        (false, _) if mesh::is_mesh(setting) => mesh::tolerance(setting),
        (false, _) => 0.05,
        (true, "xor") => 0.20,
        (true, _) => 0.15,
    }
}

/// The runs of a setting in `make test`.
fn few_runs(setting: &Setting) -> u64 {
    match (string::is_string(setting), string::has_aodv(setting)) {
        (true, true) => AODV_RUNS,
        (true, false) => STRING_RUNS,
        (false, _) => FEW_RUNS,
    }
}

/// The runs of a setting in `make oracle`. The study ran strings with AODV 8 times, which is too few.
#[cfg(feature = "oracle")]
fn many_runs(setting: &Setting, of_ns2: u64) -> u64 {
    match (string::is_string(setting), string::has_aodv(setting)) {
        (true, true) => of_ns2.max(30),
        (true, false) => of_ns2,
        (false, _) => of_ns2.max(40),
    }
}

/// Prints all cells, and returns how many differ.
fn print(all: &[Compared]) -> usize {
    println!("{:<72} {:>10} {:>8}  {:>10} {:>8}  {:>6}", "", "ns-2", "+-", "ripstop", "+-", "");
    let mut wrong = 0;
    for compared in all {
        for (cell, ours, agrees) in &compared.rows {
            let mean = ours.mean.unwrap_or(f64::NAN);
            println!(
                "{:<72} {:>10.5} {:>8.5}  {:>10.5} {:>8.5}  {:>+5.1}%{}",
                format!("{} {}", compared.setting, cell.metric),
                cell.mean,
                cell.ci95,
                mean,
                ours.ci95.unwrap_or(f64::NAN),
                100.0 * (mean / cell.mean - 1.0),
                if *agrees { "" } else { "  DIFFERS" },
            );
            wrong += usize::from(!agrees);
        }
    }
    wrong
}

#[cfg(feature = "oracle")]
#[test]
fn every_cell_agrees_with_ns2() {
    let all = compare(|_| true, many_runs);
    let wrong = print(&all);
    let cells: usize = all.iter().map(|compared| compared.rows.len()).sum();
    println!("{cells} cells, {wrong} differ");
    assert!(cells >= 100 && wrong == 0, "{wrong} of {cells} cells differ from ns-2, seed {}", settings::SEED);
}

/// The cells with a few runs, for `make test`. The intervals are wider, so a small error passes. Strings with AODV take
/// long, so every second one of them runs.
#[test]
fn cells_agree_with_ns2_in_a_few_runs() {
    let mut with_aodv = 0;
    let chosen = |setting: &Setting| {
        with_aodv += u32::from(string::has_aodv(setting));
        !string::has_aodv(setting) || with_aodv.is_multiple_of(2)
    };
    let all = compare(chosen, |setting, _| few_runs(setting));
    let wrong = print(&all);
    let with_code = all.iter().filter(|compared| compared.setting.case.starts_with("003")).count();
    let strings = all.iter().filter(|compared| string::is_string(&compared.setting)).count();
    let with_aodv = all.iter().filter(|compared| string::has_aodv(&compared.setting)).count();
    assert!(strings >= 100, "{strings} strings");
    assert!(with_aodv >= 15, "{with_aodv} strings with AODV");
    let meshes = all.iter().filter(|compared| mesh::is_mesh(&compared.setting)).count();
    assert!(meshes >= 28, "{meshes} meshes");
    assert!(with_code >= 10, "{with_code} settings with a block code");
    assert_eq!(wrong, 0, "cells differ from ns-2, seed {}", settings::SEED);
}
