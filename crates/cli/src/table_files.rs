//! The flags that name the files of a table of results, and the code that writes these files.

use crate::failure::{Failure, Outcome};
use crate::output;
use ripstop_lab::files;
use ripstop_lab::table::ResultTable;
#[cfg(feature = "parquet")]
use ripstop_lab::table::write_parquet;
use std::path::{Path, PathBuf};

/// The files to which the table is written.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct TableFiles {
    /// Write a table with a row for each cell to this file; `-` is standard output
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    csv: Option<PathBuf>,
    /// Write the same table as Parquet to this file
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "FILE", help_heading = "Files")]
    parquet: Option<PathBuf>,
}

impl TableFiles {
    /// Whether a CSV file was asked for.
    pub(crate) fn has_csv(&self) -> bool {
        self.csv.is_some()
    }

    /// Whether the CSV table goes to standard output.
    pub(crate) fn csv_is_output(&self) -> bool {
        self.csv.as_deref() == Some(Path::new("-"))
    }

    /// Checks the files before long work starts. Refuses files that cannot be written. Also refuses
    /// the files in `taken`, because the command itself uses these files.
    pub(crate) fn check(&self, json: bool, taken: &[&Path]) -> Outcome<()> {
        if self.csv_is_output() && json {
            return Err(Failure::flag("--csv", "--json already uses standard output; write the name of a file"));
        }
        let files = [
            ("--csv", self.csv.as_deref().filter(|_| !self.csv_is_output())),
            #[cfg(feature = "parquet")]
            ("--parquet", self.parquet.as_deref()),
        ];
        for (flag, path) in files.iter().filter_map(|(flag, path)| Some((*flag, (*path)?))) {
            files::check(path).map_err(|problem| Failure::flag(flag, problem))?;
            if taken.iter().any(|other| is_same(path, other)) {
                return Err(Failure::flag(flag, "this file is the experiment or the store; write another name"));
            }
        }
        Ok(())
    }

    /// Writes the table to the files that the flags name, and returns the paths of the files written.
    pub(crate) fn write(&self, table: &ResultTable<'_>) -> Outcome<Vec<PathBuf>> {
        let mut written = Vec::new();
        if let Some(path) = &self.csv {
            let mut left_out = None;
            if self.csv_is_output() {
                let out = table.csv(&mut std::io::stdout().lock());
                left_out = out.map_err(|error| Failure::from(error.of("printing the result")))?;
            } else {
                files::whole(path, |out| {
                    left_out = table.csv(out)?;
                    Ok(())
                })?;
                written.push(path.clone());
            }
            if let Some(words) = left_out {
                output::note(format_args!("note: {words}; the output of --json contains all flows and links"));
            }
        }
        #[cfg(feature = "parquet")]
        if let Some(path) = &self.parquet {
            files::whole(path, |out| write_parquet(table, out))?;
            written.push(path.clone());
        }
        Ok(written)
    }
}

/// Whether two paths name the same file.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}
