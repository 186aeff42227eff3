//! A file and its text. With the text, an error message can name the line and column of a fault.

use crate::error::{LabError, LabResult};
use ripstop_base::Place;
use ripstop_base::text::read_text;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest file that is read as an experiment, bytes (16 MiB).
///
/// Because of the limit, a wrong file name, such as the name of a disk image, does not fill the
/// memory. Half or double the value only moves the size at which a file is refused.
const MOST_BYTES: u64 = 16 << 20;

/// A file and its text.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The path of the file, as given by the caller.
    pub path: PathBuf,
    /// The content of the file.
    pub text: String,
}

impl SourceText {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is not UTF-8, or is too long. The message has the file's name.
    pub fn read(path: &Path) -> LabResult<SourceText> {
        let failed = |error: std::io::Error| LabError::work(path.display(), error);
        let file = File::open(path).map_err(failed)?;
        let text = read_text(file.take(MOST_BYTES + 1)).map_err(failed)?;
        if text.len() as u64 > MOST_BYTES {
            return Err(LabError::work(
                path.display(),
                format!("is longer than {MOST_BYTES} bytes, the limit for an experiment"),
            ));
        }
        Ok(SourceText { path: path.to_owned(), text })
    }

    /// Resolves a path that is written in this file. Relative paths start at this file's folder.
    pub fn beside(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// An error about byte offset `at`. The message has file, line, column and `problem`.
    pub fn wrong(&self, at: usize, problem: impl Display) -> LabError {
        let Place { line, column } = self.place(at);
        LabError::Input(format!("{}:{line}:{column}: {problem}", self.path.display()))
    }

    /// The line and column of byte offset `at`.
    pub fn place(&self, at: usize) -> Place {
        Place::of(&self.text, at)
    }
}
