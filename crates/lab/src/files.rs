//! Writes result files atomically: a file appears complete or not at all. Reads texts that users give.
//!
//! This file also writes lines of CSV, and checks whether an output file can be written before long
//! work begins.

use crate::error::{LabError, LabResult};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The text of the file at `path`; see [`ripstop_base::text::read_text`].
///
/// # Errors
/// The file cannot be read, or is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    ripstop_base::text::read_text(File::open(path)?)
}

/// Why a file was not written.
#[derive(Debug)]
pub enum Refused {
    /// The content could not be produced.
    Content(LabError),
    /// The file, pipe or device refused the data.
    Writing(io::Error),
}

impl From<LabError> for Refused {
    fn from(error: LabError) -> Refused {
        Refused::Content(error)
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused::Writing(error)
    }
}

impl Refused {
    /// Converts this into a [`LabError`]. `what` is the file's name.
    ///
    /// If the reader has closed the pipe, the error is [`LabError::OutputClosed`].
    pub fn of(self, what: impl std::fmt::Display) -> LabError {
        match self {
            Refused::Content(error) => error,
            Refused::Writing(error) if error.kind() == io::ErrorKind::BrokenPipe => LabError::OutputClosed,
            Refused::Writing(error) => LabError::work(what, error),
        }
    }
}

/// Writes a file. `fill` writes its content. The file at `path` is replaced in one step.
///
/// The content goes into a temporary file first, which is then renamed. A reader sees the complete
/// old content or the complete new content. A pipe or a device is written directly.
///
/// # Errors
/// The error of `fill`, or the error of the operating system with the file's name.
pub fn whole(path: &Path, fill: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), Refused>) -> LabResult<()> {
    let failed = |error: io::Error| LabError::work(path.display(), error);
    // Follow a symbolic link, so that its target is replaced and the link stays.
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        let mut out = BufWriter::new(File::options().write(true).open(&target).map_err(failed)?);
        fill(&mut out).map_err(|refused| refused.of(path.display()))?;
        return out.flush().map_err(failed);
    }
    let mut file = temporary_beside(&target).map_err(failed)?;
    let mut out = BufWriter::new(file.as_file_mut());
    fill(&mut out).map_err(|refused| refused.of(path.display()))?;
    out.flush().map_err(failed)?;
    drop(out);
    file.as_file().sync_all().map_err(failed)?;
    file.persist(&target).map(drop).map_err(|error| failed(error.error))
}

/// Checks that a file can be written at `path`. The check does not create or change the file at
/// `path`.
///
/// Call this before long work, so that a missing folder or a missing permission is found early.
///
/// # Errors
/// The file's name and why it cannot be written.
pub fn check(path: &Path) -> Result<(), String> {
    let wrong = |error: &dyn std::fmt::Display| Err(format!("{}: {error}", path.display()));
    if path.is_dir() {
        return wrong(&"is a folder; write the name of a file");
    }
    if path.exists() && !path.is_file() {
        return Ok(());
    }
    match temporary_beside(path) {
        Ok(_) => Ok(()),
        Err(error) => wrong(&error),
    }
}

/// Writes one line of a CSV file as in RFC 4180, except that the line ends with LF alone.
///
/// # Errors
/// The error of `out`.
pub fn csv_line(out: &mut dyn Write, entries: impl Iterator<Item = String>) -> io::Result<()> {
    for (k, entry) in entries.enumerate() {
        if k > 0 {
            out.write_all(b",")?;
        }
        match entry.contains([',', '"', '\n', '\r']) {
            true => write!(out, "\"{}\"", entry.replace('"', "\"\""))?,
            false => out.write_all(entry.as_bytes())?,
        }
    }
    out.write_all(b"\n")
}

/// The folder of the file `path`; `.` when the path has no folder.
fn directory(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Creates a temporary file with a unique name in the folder of `path`.
///
/// The temporary file has the permissions of any new file: 0666 less the umask.
///
/// # Errors
/// The error of the operating system. The error does not name the temporary file, because this name
/// would not help the user.
pub fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let directory = directory(path);
    // A missing folder is the most frequent mistake. This call gives the system's message about a
    // missing folder.
    std::fs::metadata(&directory)?;
    tempfile::Builder::new()
        .prefix(".ripstop-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(directory)
        .map_err(|error| error.kind().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_not_at_all() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        let write = |text: &'static str| whole(&path, move |out| Ok(out.write_all(text.as_bytes())?));
        write("one\n").unwrap();
        let half = whole(&path, |out| {
            out.write_all(b"half")?;
            Err(LabError::work("a.csv", "no more").into())
        });
        assert!(half.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\n");
        // A symbolic link stays a link, and its target is replaced.
        let link = directory.path().join("link.csv");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        whole(&link, |out| Ok(out.write_all(b"two\n")?)).unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn devices_are_written_as_they_are() {
        let full = whole(Path::new("/dev/full"), |out| Ok(out.write_all(&[0; 100])?));
        assert!(format!("{full:?}").contains("/dev/full: No space left"), "{full:?}");
        whole(Path::new("/dev/null"), |out| Ok(out.write_all(b"x")?)).unwrap();
        assert!(check(Path::new("/dev/full")).is_ok() && check(Path::new("/")).is_err());
        assert!(check(Path::new("/nowhere/a.csv")).is_err() && check(Path::new("/")).is_err());
    }

    #[test]
    fn what_needs_quotes_has_them() {
        let mut out = Vec::new();
        csv_line(&mut out, ["a", "b,c", "d\"e", ""].into_iter().map(str::to_owned)).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "a,\"b,c\",\"d\"\"e\",\n");
    }
}
