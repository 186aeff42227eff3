//! Reads the numbers and trends that the papers publish, from `papers/NNN/published.toml`.
//!
//! Experiments compare their results with these numbers. A trend is a statement without a number,
//! such as "throughput falls as the loss rate grows". An entry of the file is one number, a list of
//! numbers, or a table. Each entry has an id. A number in a table is found by its row and its
//! column.

use serde::Deserialize;
use toml::Value;

/// The published statements of all papers that were read.
#[derive(Debug, Default)]
pub struct Published {
    /// Published numbers, in the order of the files.
    pub entries: Vec<PublishedEntry>,
    /// Published trends, in the order of the files.
    pub trends: Vec<PublishedTrend>,
}

/// Published numbers with which one result is compared, and their mean.
#[derive(Clone, Debug, PartialEq)]
pub struct CitedNumbers {
    /// Each number, as the paper prints it.
    pub each: Vec<f64>,
    /// The mean of the numbers. For example, our mean over equal flows is compared with the mean of
    /// the numbers that the paper publishes for the single flows.
    pub mean: f64,
}

/// The content of one `published.toml`.
#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    entry: Vec<PublishedEntry>,
    #[serde(default)]
    trends: Vec<PublishedTrend>,
}

/// A published number, a list of numbers, or a table of numbers.
#[derive(Debug, Deserialize)]
pub struct PublishedEntry {
    /// The name by which experiments refer to this entry.
    pub id: String,
    /// The place in the paper, such as a section, table or figure.
    #[serde(default, rename = "where")]
    pub place: String,
    /// The quantity that the number gives.
    #[serde(default)]
    pub quantity: String,
    /// The unit of the number.
    #[serde(default)]
    pub units: String,
    /// The number's role in the paper: a parameter, a definition, a claim, or a computed or
    /// simulated result.
    #[serde(default)]
    pub kind: String,
    value: Option<Value>,
    values: Option<Vec<Value>>,
    columns: Option<Vec<String>>,
}

/// A published trend, such as "throughput falls as the loss rate grows".
#[derive(Debug, Deserialize)]
pub struct PublishedTrend {
    /// The name by which claims refer to this trend.
    pub id: String,
    /// The place in the paper.
    #[serde(default, rename = "where")]
    pub place: String,
    /// The statement of the paper.
    #[serde(default)]
    pub assertion: String,
}

impl Published {
    /// Adds the entries and trends of one file, given as its text.
    ///
    /// # Errors
    /// The message of the TOML reader, with the line.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        self.entries.extend(file.entry);
        self.trends.extend(file.trends);
        Ok(())
    }

    /// Whether there is a trend with this id.
    pub fn has_trend(&self, id: &str) -> bool {
        self.trends.iter().any(|trend| trend.id == id)
    }

    /// The entry with this id.
    pub fn entry(&self, id: &str) -> Option<&PublishedEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The number with the name `id`, `id[k]` or `id[row].COLUMN`. `k` and `row` count from 0.
    ///
    /// # Errors
    /// There is no entry `id`, or the name does not lead to a number. The message says which forms
    /// are possible.
    pub fn number(&self, name: &str) -> Result<f64, String> {
        let (id, rest) = name.split_once('[').unwrap_or((name, ""));
        let entry = self.entry(id).ok_or_else(|| format!("`published.toml` has no entry `{id}`"))?;
        let found = match rest.split_once(']') {
            None => entry.value.as_ref(),
            Some((index, column)) => {
                let row = index.parse::<usize>().ok().and_then(|k| entry.values.as_ref()?.get(k));
                match column.strip_prefix('.') {
                    None => row,
                    Some(column) => row.and_then(|row| {
                        let at = entry.columns.as_ref()?.iter().position(|name| name == column)?;
                        row.as_array()?.get(at)
                    }),
                }
            }
        };
        found.and_then(number).ok_or_else(|| {
            format!("`{name}` is not a number; write `{id}`, `{id}[k]` or `{id}[row].COLUMN`, counting from 0")
        })
    }

    /// The values of columns `x` and `y` of table `id`, as one pair for each row.
    ///
    /// # Errors
    /// No table has this id, or one of the columns has no number in some row.
    pub fn columns(&self, id: &str, x: &str, y: &str) -> Result<Vec<(f64, f64)>, String> {
        let rows = self.entry(id).and_then(|entry| entry.values.as_ref()).map_or(0, Vec::len);
        if rows == 0 {
            return Err(format!("`published.toml` has no table `{id}`"));
        }
        let cell = |row: usize, column: &str| self.number(&format!("{id}[{row}].{column}"));
        (0..rows).map(|row| Ok((cell(row, x)?, cell(row, y)?))).collect()
    }

    /// The numbers with these names and their mean. Names without a number are skipped. `None` when
    /// no number is left.
    pub fn mean(&self, names: &[String]) -> Option<CitedNumbers> {
        let each: Vec<f64> = names.iter().filter_map(|name| self.number(name).ok()).collect();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        (!each.is_empty()).then_some(CitedNumbers { each, mean })
    }
}

impl PublishedEntry {
    /// The value, or the list of numbers, as text. `None` for a table.
    pub fn printed(&self) -> Option<String> {
        match (&self.value, &self.values) {
            (Some(value), _) => Some(value.to_string()),
            (None, Some(values)) if values.iter().all(|value| number(value).is_some()) => {
                Some(values.iter().map(Value::to_string).collect::<Vec<_>>().join(", "))
            }
            _ => None,
        }
    }
}

/// A TOML number as a float.
fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_entry_row_and_column() {
        let mut published = Published::default();
        published
            .add(
                "[[entry]]\nid = \"a\"\nvalue = 2\n[[entry]]\nid = \"b\"\nvalues = [0.5, 0.25]\n\
                 [[entry]]\nid = \"t\"\ncolumns = [\"x\", \"y\"]\nvalues = [[1, 2], [3, 4.5]]\n\
                 [[trends]]\nid = \"up\"\n",
            )
            .unwrap();
        let names = ["a", "b[1]", "t[1].y"];
        assert_eq!(names.map(|name| published.number(name)), [Ok(2.0), Ok(0.25), Ok(4.5)]);
        for wrong in ["c", "a[0]", "b", "b[2]", "t[0]", "t[0].z", "t[x].y"] {
            assert!(published.number(wrong).is_err(), "{wrong}");
        }
        assert_eq!(published.columns("t", "x", "y"), Ok(vec![(1.0, 2.0), (3.0, 4.5)]));
        assert!(published.columns("t", "x", "z").is_err() && published.columns("a", "x", "y").is_err());
        let both = published.mean(&["t[0].x".into(), "t[1].x".into()]).unwrap();
        assert_eq!((both.mean, both.each.len()), (2.0, 2));
        assert!(published.has_trend("up") && !published.has_trend("down"));
    }
}
