//! The alerts of the page for operators, evaluated over two readings of the metrics.
//!
//! The evaluator knows what the rules of the page use: a metric with labels, `time() -`, `rate(..[5m])`, `sum by (..) (..)`,
//! and a comparison with a number.

use super::hosts::End;
use ripstop_net::daemon::render_metrics;
use std::fs;
use std::time::SystemTime;

/// The expressions of the page's table of alerts.
pub(crate) fn documented() -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operators/monitoring.md");
    let text = fs::read_to_string(page).unwrap();
    let table = text.split("Alerts that are worth having:").nth(1).expect("the page has a table of alerts");
    let rows = table.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    rows.map(|row| row.split('`').nth(1).expect("a row begins with an expression").to_owned()).collect()
}

/// The documented expression that contains `words`.
pub(crate) fn rule(words: &str) -> String {
    documented().into_iter().find(|rule| rule.contains(words)).expect("the page has this rule")
}

/// The metrics of a daemon at one time.
pub(crate) struct Reading {
    at: f64,
    page: String,
}

impl Reading {
    pub(crate) fn of(end: &End) -> Reading {
        let page = render_metrics(&end.status());
        Reading { at: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64(), page }
    }

    /// The values of all series of `selector`: a name, with labels in braces or without.
    fn values(&self, selector: &str) -> Vec<f64> {
        let (name, labels) = selector.split_once('{').unwrap_or((selector, ""));
        let labels: Vec<&str> = labels.trim_end_matches('}').split(',').filter(|label| !label.is_empty()).collect();
        let series = self.page.lines().filter_map(|line| line.rsplit_once(' ')).filter(|(series, _)| {
            series.split('{').next() == Some(name) && labels.iter().all(|label| series.contains(label))
        });
        series.map(|(_, value)| value.parse().unwrap()).collect()
    }
}

/// Whether a rule fires over two readings.
pub(crate) fn fires(rule: &str, [before, now]: [&Reading; 2]) -> bool {
    let (left, operator, limit) = ["==", ">"]
        .into_iter()
        .find_map(|op| rule.split_once(op).map(|(left, right)| (left.trim(), op, right)))
        .unwrap();
    let limit: f64 = limit.trim().parse().unwrap();
    let holds = |value: &f64| if operator == "==" { *value == limit } else { *value > limit };
    values(left, [before, now]).iter().any(holds)
}

fn values(term: &str, [before, now]: [&Reading; 2]) -> Vec<f64> {
    if let Some(metric) = term.strip_prefix("time() - ") {
        return now.values(metric).iter().map(|then| now.at - then).collect();
    }
    if let Some(inner) = term.strip_prefix("sum by (reason) (").and_then(|rest| rest.strip_suffix(')')) {
        // Each series has another reason, so each is a sum of its own.
        return values(inner, [before, now]);
    }
    if let Some(range) = term.strip_prefix("rate(").and_then(|rest| rest.strip_suffix("[5m])")) {
        let (old, new) = (before.values(range), now.values(range));
        return new.iter().zip(&old).map(|(new, old)| (new - old).max(0.0) / (now.at - before.at).max(0.001)).collect();
    }
    assert!(!term.contains(['(', ' ']), "the evaluator does not know `{term}`");
    now.values(term)
}
