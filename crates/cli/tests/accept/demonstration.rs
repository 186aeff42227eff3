//! The demonstration at 5 % loss: it ends in time, the file arrives whole, and plain CUBIC fails as it should.

use super::common::{json, ripstop};
use super::report::{Bound, Report, median};
use serde_json::Value;
use std::time::Instant;

/// The longest time that a whole demonstration may take, s.
const LONGEST: f64 = 120.0;
/// The largest share of plain CUBIC at 5 %. A larger share means that the link loses too few packets.
const CUBIC: f64 = 0.06;

/// Measures all cells.
pub(crate) fn measure(report: &mut Report) -> Result<(), String> {
    let mut slowest = 0.0_f64;
    let mut demonstrations = Vec::new();
    for seed in report.seeds() {
        let start = Instant::now();
        let mut command = ripstop();
        command.args(["demo", "--json", "--loss=5%", "--loss-back=5%", &format!("--seed={seed}")]);
        let output = command.output().map_err(|error| error.to_string())?;
        slowest = slowest.max(start.elapsed().as_secs_f64());
        demonstrations.push(json(&output));
    }
    report.value("time of the slowest demonstration, s", slowest, Bound::AtMost(LONGEST), 0.0);
    let late = demonstrations.iter().filter_map(|demonstration| {
        contender(demonstration, "cubic").and_then(|found| found["wire"]["late_p99_s"].as_f64())
    });
    let cubic: Vec<f64> = demonstrations
        .iter()
        .map(|demonstration| contender(demonstration, "cubic").and_then(|c| c["share"].as_f64()).unwrap_or(f64::NAN))
        .collect();
    report.value("share of plain CUBIC, 5 %", median(&cubic), Bound::AtMost(CUBIC), late.fold(0.0, f64::max));
    let whole = |demonstration: &&Value| contender(demonstration, "ripstop").is_some_and(|c| c["sha256_ok"] == true);
    let share = demonstrations.iter().filter(whole).count() as f64 / demonstrations.len() as f64;
    report.value("files that arrived whole, of all", share, Bound::AtLeast(1.0), 0.0);
    Ok(())
}

/// A contender of a demonstration.
pub(crate) fn contender<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["contenders"].as_array()?.iter().find(|contender| contender["name"] == name)
}
