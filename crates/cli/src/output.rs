//! Prints on standard output: one JSON object, or tables.

pub(crate) use ripstop_base::readable::{bytes, rate, share, time};

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

/// A table. The first column is aligned left. All other columns are aligned right.
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
            .map(|c| self.rows.iter().filter_map(|row| row.get(c)).map(|t| t.chars().count()).max().unwrap_or(0))
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

/// The text of a value, or `-` if it is missing.
pub(crate) fn or_dash<T>(value: Option<T>, show: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::titled(["scheme", "share"]);
        table.row(["cubic", ".9"]);
        table.row(["a longer name"]);
        assert_eq!(table.render(), "scheme         share\ncubic             .9\na longer name\n");
    }
}
