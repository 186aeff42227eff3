//! Texts of verdicts, for terminals and pages.

use super::judge::{JudgedStudy, NumberVerdict, Verdict};
use crate::claim::show_number;

/// The reasons for verdicts. Each reason is listed one time, as the first text of a pair. The
/// second text has the verdict, the first number or claim to which the reason applies, and the
/// number of further numbers and claims.
pub fn reasons(judged: &JudgedStudy) -> Vec<(String, String)> {
    let entries =
        judged.entries.iter().filter_map(|e| Some((e.why.clone()?, e.verdict, format!("{} {}", e.measure, at(e)))));
    let claims = judged.claims.iter().filter_map(|c| Some((c.why.clone()?, c.verdict, "a claim".to_owned())));
    let mut reasons: Vec<(String, Verdict, Vec<String>)> = Vec::new();
    for (why, verdict, what) in entries.chain(claims) {
        match reasons.iter_mut().find(|(known, ..)| *known == why) {
            Some((_, _, all)) => all.push(what),
            None => reasons.push((why, verdict, vec![what])),
        }
    }
    reasons
        .into_iter()
        .map(|(why, verdict, all)| {
            let more = if all.len() > 1 { format!(" and {} more", all.len() - 1) } else { String::new() };
            (why, format!("{} ({}{more})", verdict.word(), all[0]))
        })
        .collect()
}

/// The set and the values of the keys of a judged number.
pub fn at(entry: &NumberVerdict) -> String {
    if entry.at.is_empty() { entry.set.clone() } else { format!("{}: {}", entry.set, entry.at) }
}

/// The paper's numbers, separated by `/`; `-` if there are none.
pub fn published(entry: &NumberVerdict) -> String {
    let all = entry.published.iter().flatten().map(|value| value.to_string());
    let text = all.collect::<Vec<_>>().join("/");
    if text.is_empty() { "-".to_owned() } else { text }
}

/// The measured number with its confidence interval; `-` if there is none.
pub fn ours(entry: &NumberVerdict) -> String {
    with_interval(entry.ours, entry.ours_ci95)
}

/// The reference with its confidence interval; `-` if there is none.
pub fn reference(entry: &NumberVerdict) -> String {
    with_interval(entry.reference, entry.reference_ci95)
}

fn with_interval(mean: Option<f64>, ci95: Option<f64>) -> String {
    match (mean, ci95) {
        (None, _) => "-".to_owned(),
        (Some(mean), Some(ci95)) if ci95 > 0.0 => {
            format!("{} +-{}", show_number(mean), show_width(ci95, mean))
        }
        (Some(mean), _) => show_number(mean),
    }
}

/// The half-width with as many decimals as the mean has, but with at least four if the mean is
/// below 10.
fn show_width(ci95: f64, mean: f64) -> String {
    let decimals = show_number(mean).split_once('.').map_or(0, |(_, after)| after.len());
    format!("{ci95:.*}", decimals.max(if mean.abs() < 10.0 { 4 } else { 0 }))
}
