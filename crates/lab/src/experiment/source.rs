//! A file with its text, so that what is wrong in it is said with line and column.

use crate::error::{LabError, LabResult};
use ripstop_base::Place;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest file that is read as an experiment, bytes. It keeps a wrong file name from filling the memory.
const MOST_BYTES: u64 = 16 << 20;

/// A file and its text.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// Its name.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
}

impl SourceText {
    /// Reads a file.
    ///
    /// # Errors
    /// What the system refused, with the file's name.
    pub fn read(path: &Path) -> LabResult<SourceText> {
        let failed = |error: std::io::Error| LabError::work(path.display(), error);
        let mut text = String::new();
        let file = File::open(path).map_err(failed)?;
        let length = file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(failed)? as u64;
        if length > MOST_BYTES {
            return Err(LabError::work(
                path.display(),
                format!("is longer than {MOST_BYTES} bytes: not an experiment"),
            ));
        }
        Ok(SourceText { path: path.to_owned(), text })
    }

    /// A path that is written in the file, meant from where the file is.
    pub fn beside(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// What is wrong with what stands at byte `at`: with file, line and column.
    pub fn wrong(&self, at: usize, problem: impl Display) -> LabError {
        let Place { line, column } = self.place(at);
        LabError::Input(format!("{}:{line}:{column}: {problem}", self.path.display()))
    }

    /// Where byte `at` stands.
    pub fn place(&self, at: usize) -> Place {
        Place::of(&self.text, at)
    }
}
