//! Reads the file of ns-2's results, `ns2.csv`.

use ripstop_sim::engine::Statistic;
use std::collections::BTreeMap;
use std::fmt;

/// A network with its traffic, described as in the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Setting {
    /// The experiment of a paper, such as `003-F13`.
    pub(crate) case: String,
    /// The parameters, by name.
    params: BTreeMap<String, String>,
}

/// One result of ns-2.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What was measured, with its unit.
    pub(crate) metric: String,
    pub(crate) mean: f64,
    /// Half-width of the 95 % interval. 0 for a single run.
    pub(crate) ci95: f64,
    /// Number of runs.
    pub(crate) n: u64,
}

impl Setting {
    /// The value of a parameter. Empty if the setting does not have the parameter.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    /// The value of a parameter as a number.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.params.get(name).and_then(|text| text.trim_end_matches("Mb").parse().ok())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.case)?;
        self.params.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl Cell {
    /// Whether the cell is compared. Only goodput, throughput and coding efficiency are compared. Other figures of the
    /// file help to explain differences.
    pub(crate) fn is_compared(&self) -> bool {
        self.metric.starts_with("goodput")
            || ["thr_units_per_s", "thr1500_kbps", "gamma"].contains(&self.metric.as_str())
    }

    /// Whether `ours` differs by at most the relative `tolerance`, or by at most two half-widths. A coding efficiency
    /// agrees if it differs by at most .03.
    pub(crate) fn agrees(&self, ours: &Statistic, tolerance: f64) -> bool {
        let Some(mean) = ours.mean else { return false };
        if self.metric == "gamma" {
            return (mean - self.mean).abs() <= 0.03;
        }
        let width = self.ci95.hypot(ours.ci95.unwrap_or(0.0));
        (mean - self.mean).abs() <= (tolerance * self.mean).max(2.0 * width)
    }
}

/// All cells of the file, with their settings.
pub(crate) fn read(text: &str) -> Vec<(Setting, Cell)> {
    let line = |line: &str| {
        let mut fields = line.split(',');
        let mut next = || fields.next().unwrap_or_else(|| panic!("ns2.csv: a field is missing in: {line}"));
        let (case, params) = (next().to_owned(), next());
        let params = params.split(' ').filter_map(|pair| pair.split_once('='));
        let params = params.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let metric = next().to_owned();
        let mut number =
            || next().parse::<f64>().unwrap_or_else(|_| panic!("ns2.csv: a figure is not a number in: {line}"));
        let (mean, ci95, n) = (number(), number(), number());
        let ci95 = if ci95.is_finite() { ci95 } else { 0.0 };
        (Setting { case, params }, Cell { metric, mean, ci95, n: n as u64 })
    };
    text.lines().skip(1).map(line).collect()
}
