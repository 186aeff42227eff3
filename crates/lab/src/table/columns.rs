//! The table of results: a row for each cell, a column for each key of the plan and three for each statistic.

use crate::entry::{EntryUnit, TableEntry};
use crate::experiment::{Experiment, GridCell};
use serde_json::Value;
use std::collections::BTreeSet;

/// Cells with more flows than this have no columns for each of them.
pub const MOST_FLOWS: usize = 20;

/// Cells with more links than this, counted in each direction, have no columns for each of them.
pub const MOST_LINKS: usize = 20;

/// The column of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyColumn {
    /// The key, and the unit behind it.
    pub name: String,
    /// None where its values are texts.
    pub unit: Option<EntryUnit>,
}

/// The columns of the keys: name with unit. Where the cells' values have units of several kinds they are texts.
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

/// The value of a cell in column `k`, whose unit is given.
pub fn cell_entry(cell: &GridCell, k: usize, unit: Option<EntryUnit>) -> TableEntry {
    match &cell.values[k] {
        number @ TableEntry::Number(..) if unit.is_none() => match cell.texts[k].is_empty() {
            true => number.clone(),
            false => TableEntry::Text(cell.texts[k].clone()),
        },
        other => other.clone(),
    }
}

/// The columns of the statistics, as they come up in the results.
#[derive(Debug, Default)]
pub struct StatisticColumns {
    /// Their names, in order.
    pub names: Vec<String>,
    known: BTreeSet<String>,
    /// Whether flows were left out: there are more than [`MOST_FLOWS`].
    pub too_many_flows: bool,
    /// Whether links were left out: there are more than [`MOST_LINKS`].
    pub too_many_links: bool,
}

impl StatisticColumns {
    /// Adds the columns of a result that are not there yet, each behind the one that it follows in the result.
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

    /// What has no columns, in words.
    pub(super) fn left_out(&self) -> Option<String> {
        let flows = self.too_many_flows.then(|| format!("more than {MOST_FLOWS} flows"));
        let links = self.too_many_links.then(|| format!("more than {MOST_LINKS} links"));
        let all: Vec<String> = flows.into_iter().chain(links).collect();
        (!all.is_empty()).then(|| format!("cells with {} have no columns for each of them", all.join(" or ")))
    }

    /// Leaves out the columns that the keys of an experiment have already.
    pub(super) fn leave_out(&mut self, keys: &[KeyColumn]) {
        self.names.retain(|name| keys.iter().all(|key| key.name != *name));
    }

    /// The row of a result.
    pub fn row(&self, result: Option<&Value>) -> Vec<TableEntry> {
        let mut row = vec![TableEntry::Missing; self.names.len()];
        let mut expected = 0;
        for (name, entry) in result.map(entries).unwrap_or_default() {
            // Most come in the order of the columns.
            let rest =
                self.names.iter().skip(expected).position(|known| *known == name).map(|k| k + expected);
            if let Some(k) = rest.or_else(|| self.names.iter().position(|known| *known == name)) {
                row[k] = entry;
                expected = k + 1;
            }
        }
        row
    }
}

fn count(result: &Value, list: &str) -> usize {
    result[list].as_array().map_or(0, Vec::len)
}

/// What a result of `ripstop sim` says, column by column.
fn entries(result: &Value) -> Vec<(String, TableEntry)> {
    const NUMBERS: [&str; 4] = ["events", "sim_s", "seed", "runs"];
    const TEXTS: [&str; 2] = ["program_version", "simulator"];
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

/// The statistics among the fields of an object, and those of the objects in it.
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
            [
                TableEntry::Number(1.5, EntryUnit::None),
                TableEntry::Missing,
                TableEntry::Count(1),
                TableEntry::Missing
            ]
        );
        assert_eq!(
            row[last + 2..last + 4],
            [TableEntry::Number(60.0, EntryUnit::None), TableEntry::Count(3)]
        );
        assert_eq!(
            (&row[last], row.last()),
            (&TableEntry::Count(2), Some(&TableEntry::Text("0.1+0".to_owned())))
        );
        columns.leave_out(&[KeyColumn { name: "seed".to_owned(), unit: None }]);
        assert!(!columns.names.contains(&"seed".to_owned()));
        assert!(
            columns.row(None).iter().all(|entry| *entry == TableEntry::Missing) && !columns.too_many_flows
        );
    }

    #[test]
    fn too_many_flows_are_left_out() {
        let mut columns = StatisticColumns::default();
        columns.learn(&result(MOST_FLOWS + 1, false));
        assert!(columns.too_many_flows && !columns.names.iter().any(|name| name.contains("flow")));
    }
}
