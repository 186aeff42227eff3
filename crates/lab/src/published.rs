//! What the papers state: `papers/NNN/published.toml`.

use serde::Deserialize;
use toml::Value;

/// All that is stated by the papers that are read.
#[derive(Debug, Default)]
pub struct Published {
    /// Numbers, in the papers' order.
    pub entries: Vec<PublishedEntry>,
    /// Trends, in the papers' order.
    pub trends: Vec<PublishedTrend>,
}

/// Numbers of a paper that a cell names.
#[derive(Clone, Debug, PartialEq)]
pub struct CitedNumbers {
    /// As printed, one by one.
    pub each: Vec<f64>,
    /// Their mean: flows that are alike are compared together.
    pub mean: f64,
}

#[derive(Debug, Deserialize)]
struct File {
    #[serde(default)]
    entry: Vec<PublishedEntry>,
    #[serde(default)]
    trends: Vec<PublishedTrend>,
}

/// A number, or a table of them.
#[derive(Debug, Deserialize)]
pub struct PublishedEntry {
    /// Its name.
    pub id: String,
    /// Where it stands in the paper.
    #[serde(default, rename = "where")]
    pub place: String,
    /// What it is.
    #[serde(default)]
    pub quantity: String,
    /// Its unit.
    #[serde(default)]
    pub units: String,
    /// What it is to the paper: a parameter, a definition, a claim, or computed or simulated.
    #[serde(default)]
    pub kind: String,
    value: Option<Value>,
    values: Option<Vec<Value>>,
    columns: Option<Vec<String>>,
}

/// A trend.
#[derive(Debug, Deserialize)]
pub struct PublishedTrend {
    /// Its name.
    pub id: String,
    /// Where it stands in the paper.
    #[serde(default, rename = "where")]
    pub place: String,
    /// What is stated.
    #[serde(default)]
    pub assertion: String,
}

impl Published {
    /// Adds what a file has.
    ///
    /// # Errors
    /// What the TOML reader says, with its line.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        self.entries.extend(file.entry);
        self.trends.extend(file.trends);
        Ok(())
    }

    /// Whether a trend of this name is stated.
    pub fn has_trend(&self, id: &str) -> bool {
        self.trends.iter().any(|trend| trend.id == id)
    }

    /// The entry of this name.
    pub fn entry(&self, id: &str) -> Option<&PublishedEntry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    /// The number called `id`, `id[k]` (the k-th value from 0) or `id[row].COLUMN`.
    ///
    /// # Errors
    /// What there is not, and what there is.
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
            format!("`{name}` is no number; write `{id}`, `{id}[k]` or `{id}[row].COLUMN`, counting from 0")
        })
    }

    /// Two columns of a table, row by row.
    ///
    /// # Errors
    /// What there is not.
    pub fn columns(&self, id: &str, x: &str, y: &str) -> Result<Vec<(f64, f64)>, String> {
        let rows = self.entry(id).and_then(|entry| entry.values.as_ref()).map_or(0, Vec::len);
        if rows == 0 {
            return Err(format!("`published.toml` has no table `{id}`"));
        }
        let cell = |row: usize, column: &str| self.number(&format!("{id}[{row}].{column}"));
        (0..rows).map(|row| Ok((cell(row, x)?, cell(row, y)?))).collect()
    }

    /// Several numbers and their mean; None where there are none.
    pub fn mean(&self, names: &[String]) -> Option<CitedNumbers> {
        let each: Vec<f64> = names.iter().filter_map(|name| self.number(name).ok()).collect();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        (!each.is_empty()).then_some(CitedNumbers { each, mean })
    }
}

impl PublishedEntry {
    /// What is printed, as far as it is a number or a short list of them.
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
