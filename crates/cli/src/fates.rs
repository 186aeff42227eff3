//! `--fates`: writes the fate of each packet on the link (delivered, or lost and how) to a file.
//! With two such files, two runs can be compared packet by packet.

use crate::failure::{Failure, Outcome};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Names of the directions in the file.
const WAYS: [&str; 2] = ["forth", "back"];

/// A file of fates (docs/operators/output.md). Each line has the name of a contender (or nothing),
/// `forth` or `back`, and one letter per packet. The letters are in the order in which the packets
/// were offered to the link. A later line with the same beginning continues the earlier line.
#[derive(Debug)]
pub(crate) struct FateLog {
    path: PathBuf,
    file: BufWriter<File>,
}

impl FateLog {
    /// Creates the file, or empties an existing one.
    ///
    /// # Errors
    /// The file cannot be created. The message names the flag.
    pub(crate) fn create(path: &Path) -> Outcome<FateLog> {
        let file = File::create(path)
            .map_err(|error| Failure::flag("--fates", format!("{} cannot be written: {error}", path.display())))?;
        Ok(FateLog { path: path.to_owned(), file: BufWriter::new(file) })
    }

    /// Writes the fates of both directions. A direction without packets gets no line.
    ///
    /// # Errors
    /// The file cannot be written, for example because the disk is full.
    pub(crate) fn write(&mut self, name: &str, fates: &[Vec<u8>; 2]) -> Outcome<()> {
        let space = if name.is_empty() { "" } else { " " };
        let mut write = || -> std::io::Result<()> {
            for (way, letters) in WAYS.iter().zip(fates).filter(|(_, letters)| !letters.is_empty()) {
                write!(self.file, "{name}{space}{way} ")?;
                self.file.write_all(letters)?;
                self.file.write_all(b"\n")?;
            }
            self.file.flush()
        };
        let outcome = write();
        outcome.map_err(|error| Failure::work(self.path.display(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_who_and_which_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fates");
        let mut log = FateLog::create(&path).unwrap();
        log.write("reno", &[b"..x".to_vec(), b"q.".to_vec()]).unwrap();
        log.write("", &[Vec::new(), b".".to_vec()]).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "reno forth ..x\nreno back q.\nback .\n");
    }

    #[test]
    fn an_unwritable_file_is_an_error() {
        let failure = FateLog::create(Path::new("/no/such/file")).unwrap_err();
        assert!(matches!(&failure, Failure::Usage(words) if words.contains("--fates")), "{failure:?}");
        let mut log = FateLog::create(Path::new("/dev/full")).unwrap();
        let failure = log.write("reno", &[vec![b'.'; 100], Vec::new()]).unwrap_err();
        assert!(matches!(&failure, Failure::Work(words) if words.contains("/dev/full")), "{failure:?}");
    }
}
