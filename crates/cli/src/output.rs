//! Printing on standard output: one JSON object, or tables for people.

use crate::failure::{Failure, Outcome};
use serde::Serialize;
use std::io::Write;

/// Prints `value` as one JSON object on one line.
pub(crate) fn json(value: &impl Serialize) -> Outcome<()> {
    let text = serde_json::to_string(value).map_err(|e| Failure::work("writing JSON", e))?;
    print(&(text + "\n"))
}

/// Prints `text` unchanged.
pub(crate) fn print(text: &str) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::printing)
}

/// A table. The first column is aligned left, the others right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table that starts with a row of titles.
    pub(crate) fn titled<S: Into<String>>(titles: impl IntoIterator<Item = S>) -> Table {
        let mut table = Table::default();
        table.row(titles);
        table
    }

    /// Adds a row.
    pub(crate) fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The table as text, one line per row.
    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| {
                self.rows.iter().filter_map(|row| row.get(c)).map(|t| t.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(c, (cell, width))| match c {
                0 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

/// A share with three decimals: `.022`, `1.014`.
pub(crate) fn share(value: f64) -> String {
    let text = format!("{value:.3}");
    text.strip_prefix('0').map_or(text.clone(), str::to_owned)
}

/// A rate for people, three significant digits: `19.3 Mbit/s`.
pub(crate) fn rate(bps: f64) -> String {
    scaled(bps, [(1e9, " Gbit/s"), (1e6, " Mbit/s"), (1e3, " kbit/s"), (1.0, " bit/s")])
}

/// A time for people, three significant digits: `102 ms`.
pub(crate) fn time(seconds: f64) -> String {
    scaled(seconds, [(1.0, " s"), (1e-3, " ms"), (1e-6, " us"), (1e-9, " ns")])
}

/// A number of bytes for people, three significant digits: `3.00 MB`.
pub(crate) fn bytes(count: f64) -> String {
    scaled(count, [(1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")])
}

/// The text of a value, or `-` if it is missing.
pub(crate) fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

fn scaled(value: f64, units: [(f64, &str); 4]) -> String {
    // 0.9995 of a unit would be shown as 1000 of the next smaller unit.
    let (scale, unit) = units.into_iter().find(|(s, _)| value >= 0.9995 * s).unwrap_or(units[3]);
    let number = value / scale;
    let decimals = match number {
        n if n == 0.0 || n >= 99.95 => 0,
        n if n >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.decimals$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [rate(19.31e6), rate(999_999.0), rate(0.0), time(0.1019), time(14.42), bytes(3e6)];
        assert_eq!(shown, ["19.3 Mbit/s", "1.00 Mbit/s", "0 bit/s", "102 ms", "14.4 s", "3.00 MB"]);
        assert_eq!([share(0.0221), share(1.0144), share(0.0)], [".022", "1.014", ".000"]);
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::titled(["scheme", "share"]);
        table.row(["cubic", ".9"]);
        table.row(["a longer name"]);
        assert_eq!(table.render(), "scheme         share\ncubic             .9\na longer name\n");
    }
}
