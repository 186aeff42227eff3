//! The page `docs/contributors/sensitivity.md`.

use crate::chance::{Usual, usual};
use crate::groups::cells;
use crate::measure::{FACTORS, Known, Pass};
use crate::notes::{EXCLUDED, SILENT};
use ripstop_proto::control::rate::{Tuning, TuningField};
use std::collections::BTreeMap;

/// Prints the page of the figures `known`.
///
/// # Errors
/// There are no figures with the defaults.
pub(crate) fn print(known: &Known) -> Result<(), String> {
    let usual = usual(known);
    if usual.is_empty() {
        return Err("the file has no figures with the defaults; run `measure` first".to_owned());
    }
    println!("{HEAD}");
    let all = cells("");
    let figures = || all.iter().flat_map(|cell| &cell.figures);
    for (group, Usual { mean, chance }) in &usual {
        let meaning = figures().find(|(name, _)| name == group).map_or("", |(_, figure)| figure.meaning());
        println!("| {group} | {meaning} | {mean:.3} | {chance:.3} |");
    }
    println!("{TABLE}");
    let (mut silent, mut missing) = (Vec::new(), Vec::new());
    for field in Tuning::fields() {
        let rows: Option<Vec<Vec<String>>> =
            FACTORS.iter().map(|factor| changes(known, &usual, Pass::both(field, *factor))).collect();
        let Some(rows) = rows else {
            missing.push(field.name);
            continue;
        };
        for (changes, (factor, sign)) in rows.iter().zip(FACTORS) {
            let value = format!("{:.4}", field.scaled(factor));
            let value = value.trim_end_matches('0').trim_end_matches('.');
            println!("| `{}` {sign} | {value} {} | {} |", field.name, field.unit, changes.join(", "));
        }
        if rows.iter().all(Vec::is_empty) {
            silent.push(field);
        }
    }
    print_silent(&silent);
    if !missing.is_empty() {
        println!("{MISSING_HEAD}\n`{}`", missing.join("`, `"));
    }
    println!("{EXCLUDED_HEAD}");
    for (name, reason) in EXCLUDED {
        println!("| `{name}` | {reason} |");
    }
    Ok(())
}

/// The changes that stand out in both passes, in the same direction: the mean of both. `None`: a pass is missing.
fn changes(known: &Known, usual: &BTreeMap<String, Usual>, passes: [Pass; 2]) -> Option<Vec<String>> {
    let [first, second] = passes.map(|pass| known.get(&pass.to_string()));
    let mut changes = Vec::new();
    for (group, figure) in first? {
        let Some((usual, first)) = usual.get(group).and_then(|usual| Some((usual, usual.change(*figure)?))) else {
            continue;
        };
        let second = usual.change(*second?.get(group)?);
        if let Some(second) = second.filter(|second| first * second > 0.0) {
            changes.push(format!("{group} {:+.3}", 0.5 * (first + second)));
        }
    }
    Some(changes)
}

fn print_silent(silent: &[&TuningField]) {
    if silent.is_empty() {
        return;
    }
    println!("{SILENT_HEAD}");
    for field in silent {
        let reason = SILENT.iter().find(|(name, _)| *name == field.name);
        println!("| `{}` | {} |", field.name, reason.map_or("Not known.", |(_, reason)| reason));
    }
}

const HEAD: &str = "\
# Sensitivity of the rate controller's constants

For contributors who change a constant of the rate controller. `make sensitivity` wrote this page.

A *group* is a set of simulated cells, and its figure is the mean of their figures. `groups.rs` in
`crates/sim/examples/sensitivity` has the links. The figure with the defaults is the mean over eight seeds. *Chance* is
2.5 standard deviations of the figure over these seeds.

| group | figure | with the defaults | chance |
|---|---|---|---|";

const TABLE: &str = "
A row of the next table has one constant at half (/2) or double (x2) its value. For a *gain*, the difference from 1 is
halved or doubled. The row lists the groups whose figure changes by at least .010 and by at least chance, with two seeds
in the same direction. The change is the mean of both seeds.

| constant | value | changes |
|---|---|---|";

const SILENT_HEAD: &str = "
## Constants that change no group

Half and double the value of such a constant leave all groups as they are.

| constant | why |
|---|---|";

const MISSING_HEAD: &str = "
## Constants that are not measured yet

`make sensitivity` measures all constants. `make sensitivity ONLY=\"NAME NAME\"` measures some of them.
";

const EXCLUDED_HEAD: &str = "
## Numbers that are not measured

A test (`crates/sim/tests/it/world/constants.rs`) fails if `crates/proto/src/control/rate` has another `const` with a number
outside of its tests. Factors inside of a formula, such as the 2 in *twice the jitter*, have no name and are not measured.

| number | why |
|---|---|";
