//! Where something stands in a plan, for whoever has to mend it.

use crate::failure::{Failure, Outcome};
use ripstop_base::Place;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A plan is no book.
const MOST_BYTES: u64 = 16 << 20;

/// A file and its text.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// What the system refused, with the file's name.
    pub(super) fn read(path: &Path) -> Outcome<Source> {
        let failed = |error: std::io::Error| Failure::work(path.display(), error);
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        let length = file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(failed)? as u64;
        if length > MOST_BYTES {
            return Err(Failure::work(
                path.display(),
                format!("is longer than {MOST_BYTES} bytes: not a plan"),
            ));
        }
        Ok(Source { path: path.to_owned(), text })
    }

    /// A path that is written in the file, meant from where the file is.
    pub(super) fn beside(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// What is wrong with what stands at byte `at`: with file, line and column.
    pub(super) fn wrong(&self, at: usize, problem: impl Display) -> Failure {
        let Place { line, column } = self.place(at);
        Failure::Config(format!("{}:{line}:{column}: {problem}", self.path.display()))
    }

    /// Where byte `at` stands.
    pub(super) fn place(&self, at: usize) -> Place {
        Place::of(&self.text, at)
    }
}
