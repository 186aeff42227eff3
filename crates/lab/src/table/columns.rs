//! The columns of the result table.
//!
//! Each key of the experiment's grid has one column. A key is a setting whose value differs from
//! cell to cell, such as `loss`; a cell is one complete scenario. A statistic is a quantity that
//! was measured in several runs. A statistic has up to five columns:
//!
//! - `mean`: the mean over the runs
//! - `ci95`: half the width of the mean's 95 % confidence interval
//! - `n`: the number of runs that measured the quantity
//! - `p50`: the median, only for delays
//! - `p99`: the 99th percentile, only for delays

use crate::entry::{EntryUnit, TableEntry};
use crate::experiment::{Experiment, GridCell};
use serde_json::Value;
use std::collections::BTreeSet;

/// Largest number of flows in a cell for which each flow has its own columns. If a cell has more
/// flows, its flows have no columns. The statistics of all flows together remain.
///
/// The limit keeps the table readable: the number of columns grows in proportion to the number of
/// flows. Half the value leaves out the flows of more cells. Double the value allows a table twice
/// as wide.
pub const MOST_FLOWS: usize = 20;

/// Largest number of links in a cell for which each link has its own columns. Each direction counts
/// as one link. If a cell has more links, its links have no columns.
///
/// The limit keeps the table readable: the number of columns grows in proportion to the number of
/// links. Half the value leaves out the links of more cells. Double the value allows a table twice
/// as wide.
pub const MOST_LINKS: usize = 20;

/// The column of a grid key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyColumn {
    /// The key followed by its unit, with `_` in place of `-`.
    pub name: String,
    /// The unit of the values. None if the values are texts.
    pub unit: Option<EntryUnit>,
}

/// The columns of the grid keys. If the cells' values for a key have different units, the key's
/// column holds texts.
pub fn key_columns(experiment: &Experiment, cells: &[GridCell]) -> Vec<KeyColumn> {
    let column = |(k, key): (usize, &String)| {
        let mut units: Vec<Option<EntryUnit>> = Vec::new();
        for cell in cells {
            let unit = match &cell.values[k] {
                TableEntry::Number(_, unit) => Some(*unit),
                TableEntry::Missing => continue,
                _ => None,
            };
            if !units.contains(&unit) {
                units.push(unit);
            }
        }
        let unit = match units[..] {
            [one] => one,
            _ => None,
        };
        let name = key.replace('-', "_");
        let suffix = unit.map_or("", EntryUnit::suffix);
        KeyColumn { name: if name.ends_with(suffix) { name } else { name + suffix }, unit }
    };
    experiment.keys().iter().enumerate().map(column).collect()
}

/// The value of `cell` for the key with index `k`. If the column has no unit, a number becomes the
/// text that the experiment's author wrote.
pub fn cell_entry(cell: &GridCell, k: usize, unit: Option<EntryUnit>) -> TableEntry {
    match &cell.values[k] {
        number @ TableEntry::Number(..) if unit.is_none() => match cell.texts[k].is_empty() {
            true => number.clone(),
            false => TableEntry::Text(cell.texts[k].clone()),
        },
        other => other.clone(),
    }
}

/// The columns of the statistics. Different results can have different statistics, so the columns
/// are collected from all results.
#[derive(Debug, Default)]
pub struct StatisticColumns {
    /// Names of the columns, in order.
    pub names: Vec<String>,
    /// The names of all columns found so far, for a quick search.
    known: BTreeSet<String>,
    /// Whether some cell has more than [`MOST_FLOWS`] flows. The flows of such a cell have no
    /// columns.
    pub too_many_flows: bool,
    /// Whether some cell has more than [`MOST_LINKS`] links. The links of such a cell have no
    /// columns.
    pub too_many_links: bool,
}

impl StatisticColumns {
    /// Adds the columns of `result` that are not known yet. A new column is inserted after the
    /// column that precedes it in `result`.
    pub fn learn(&mut self, result: &Value) {
        self.too_many_flows |= count(result, "flows") > MOST_FLOWS;
        self.too_many_links |= count(result, "links") > MOST_LINKS;
        let mut after = 0;
        for (name, _) in entries(result) {
            if self.known.insert(name.clone()) {
                self.names.insert(after, name);
                after += 1;
            } else if let Some(position) = self.names.iter().position(|known| *known == name) {
                after = position + 1;
            }
        }
    }

    /// A sentence about the flows and links that have no columns. None if all flows and links have
    /// columns.
    pub(super) fn left_out(&self) -> Option<String> {
        let flows = self.too_many_flows.then(|| format!("more than {MOST_FLOWS} flows"));
        let links = self.too_many_links.then(|| format!("more than {MOST_LINKS} links"));
        let all: Vec<String> = flows.into_iter().chain(links).collect();
        (!all.is_empty()).then(|| format!("the flows or links of a cell with {} have no columns", all.join(" or ")))
    }

    /// Removes the columns whose name is already taken by a grid key.
    pub(super) fn leave_out(&mut self, keys: &[KeyColumn]) {
        self.names.retain(|name| keys.iter().all(|key| key.name != *name));
    }

    /// The entries of `result`, one for each column. The entry is [`TableEntry::Missing`] where
    /// `result` has no value.
    pub fn row(&self, result: Option<&Value>) -> Vec<TableEntry> {
        let mut row = vec![TableEntry::Missing; self.names.len()];
        let mut expected = 0;
        for (name, entry) in result.map(entries).unwrap_or_default() {
            // Most entries come in the order of the columns. The search therefore begins after the
            // column of the previous entry.
            let rest = self.names.iter().skip(expected).position(|known| *known == name).map(|k| k + expected);
            if let Some(k) = rest.or_else(|| self.names.iter().position(|known| *known == name)) {
                row[k] = entry;
                expected = k + 1;
            }
        }
        row
    }
}

/// Fields of a result that hold one number each.
const NUMBERS: [&str; 4] = ["events", "sim_s", "seed", "runs"];
/// Fields of a result that hold one text each.
const TEXTS: [&str; 2] = ["program_version", "simulator"];

/// Whether a statistic's column holds texts.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet files type their columns"))]
pub(super) fn holds_texts(name: &str) -> bool {
    TEXTS.contains(&name)
}

/// Whether a statistic's column holds counts.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only Parquet files type their columns"))]
pub(super) fn holds_counts(name: &str) -> bool {
    name.ends_with("_n") || ["events", "seed", "runs", "expectations_missed"].contains(&name)
}

fn count(result: &Value, list: &str) -> usize {
    result[list].as_array().map_or(0, Vec::len)
}

/// The column names and entries of a result of `ripstop sim`.
fn entries(result: &Value) -> Vec<(String, TableEntry)> {
    let mut found = Vec::new();
    let many = count(result, "flows") > MOST_FLOWS;
    let of_flows = |prefix: &str, part: &Value, found: &mut Vec<(String, TableEntry)>| {
        for flow in part["flows"].as_array().into_iter().flatten().take(if many { 0 } else { MOST_FLOWS }) {
            let name = flow["name"].as_str().unwrap_or_default();
            statistics(&format!("{prefix}{name}_"), flow, found);
        }
    };
    statistics("", result, &mut found);
    of_flows("", result, &mut found);
    let links = result["links"].as_array().into_iter().flatten();
    for link in links.take(if count(result, "links") > MOST_LINKS { 0 } else { MOST_LINKS }) {
        statistics(&format!("link_{}_", link["name"].as_str().unwrap_or_default()), link, &mut found);
    }
    for interval in result["intervals"].as_array().into_iter().flatten() {
        let prefix = format!("from_{}_to_{}_s_", interval["from_s"], interval["to_s"]).replace(".0_", "_");
        statistics(&prefix, interval, &mut found);
        of_flows(&prefix, interval, &mut found);
    }
    if let Some([_, ..]) = result["expectations"].as_array().map(Vec::as_slice) {
        let missed = result["expectations"].as_array().into_iter().flatten().filter(|e| e["met"] != true);
        found.push(("expectations_missed".to_owned(), TableEntry::Count(missed.count() as u64)));
    }
    found.extend(NUMBERS.iter().map(|name| ((*name).to_owned(), number(&result[name]))));
    let text = |name: &str| result[name].as_str().map(|text| TableEntry::Text(text.to_owned()));
    found.extend(TEXTS.iter().filter_map(|name| Some(((*name).to_owned(), text(name)?))));
    found
}

/// Collects the statistics among the fields of `object` and of the objects inside `object`. A
/// statistic is an object with the field `ci95`.
fn statistics(prefix: &str, object: &Value, found: &mut Vec<(String, TableEntry)>) {
    for (name, value) in object.as_object().into_iter().flatten() {
        let Some(fields) = value.as_object().filter(|_| name != "scenario") else { continue };
        if !fields.contains_key("ci95") {
            statistics(&format!("{prefix}{name}_"), value, found);
            continue;
        }
        for part in ["mean", "ci95", "n", "p50", "p99"] {
            if let Some(value) = fields.get(part) {
                found.push((format!("{prefix}{name}_{part}"), number(value)));
            }
        }
    }
}

fn number(value: &Value) -> TableEntry {
    match (value.as_u64(), value.as_f64()) {
        (Some(count), _) => TableEntry::Count(count),
        (None, Some(number)) => TableEntry::Number(number, EntryUnit::None),
        _ => TableEntry::Missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(flows: usize, coded: bool) -> Value {
        let statistic = json!({"mean": 1.5, "ci95": null, "n": 1});
        let flow = |k: usize| {
            let nc = if coded { json!({"rows": statistic}) } else { Value::Null };
            json!({"name": format!("flow{k}"), "srtt_s": statistic, "active_goodput_bps": null, "nc": nc})
        };
        json!({
            "scenario": {"ci95": {"ci95": 1}}, "goodput_bps": statistic, "throughput_units_per_s": null,
            "flows": (0..flows).map(flow).collect::<Vec<_>>(), "series": null, "wall_s": 1.0,
            "intervals": [{"from_s": 10.0, "to_s": 20.5, "goodput_bps": statistic, "flows": [flow(0)]}],
            "expectations": [{"met": false}, {"met": true}, {"met": false}],
            "links": [{"name": "a>b", "lost_packets": statistic}],
            "events": 7, "sim_s": 60.0, "seed": 3, "runs": 1, "program_version": "0.1", "simulator": "0.1+0",
        })
    }

    #[test]
    fn columns_come_in_the_order_of_the_results() {
        let mut columns = StatisticColumns::default();
        columns.learn(&result(1, false));
        columns.learn(&result(2, true));
        let means: Vec<&str> = columns.names.iter().filter_map(|name| name.strip_suffix("_mean")).collect();
        let want = [
            "goodput_bps",
            "flow0_nc_rows",
            "flow0_srtt_s",
            "flow1_nc_rows",
            "flow1_srtt_s",
            "link_a>b_lost_packets",
            "from_10_to_20.5_s_goodput_bps",
            "from_10_to_20.5_s_flow0_nc_rows",
            "from_10_to_20.5_s_flow0_srtt_s",
        ];
        assert_eq!(means, want);
        assert_eq!(columns.names[1..3], ["goodput_bps_ci95", "goodput_bps_n"]);
        let last = columns.names.len() - 7;
        let ends = ["expectations_missed", "events", "sim_s", "seed", "runs", "program_version", "simulator"];
        assert_eq!(columns.names[last..], ends);
        let row = columns.row(Some(&result(1, false)));
        assert_eq!(
            row[..4],
            [TableEntry::Number(1.5, EntryUnit::None), TableEntry::Missing, TableEntry::Count(1), TableEntry::Missing]
        );
        assert_eq!(row[last + 2..last + 4], [TableEntry::Number(60.0, EntryUnit::None), TableEntry::Count(3)]);
        assert_eq!((&row[last], row.last()), (&TableEntry::Count(2), Some(&TableEntry::Text("0.1+0".to_owned()))));
        columns.leave_out(&[KeyColumn { name: "seed".to_owned(), unit: None }]);
        assert!(!columns.names.contains(&"seed".to_owned()));
        assert!(columns.row(None).iter().all(|entry| *entry == TableEntry::Missing) && !columns.too_many_flows);
    }

    #[test]
    fn too_many_flows_are_left_out() {
        let mut columns = StatisticColumns::default();
        columns.learn(&result(MOST_FLOWS + 1, false));
        assert!(columns.too_many_flows && !columns.names.iter().any(|name| name.contains("flow")));
    }
}
