//! The store: one database file that keeps the results of simulated cells.
//!
//! A cell is one complete scenario. The cell also says whether its first run is traced (see `cell/mod.rs`). The key of
//! a result is a hash of the cell and of the simulator. Each result is written in a transaction. A result is stored
//! completely or not at all, even if the program is killed while it writes.

use crate::cell::CellKey;
use crate::error::{LabError, LabResult};
use crate::files;
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition, TableError,
};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

/// Facts about the file itself. At present the table has one key, `format`, whose value is
/// [`FORMAT`].
const META: TableDefinition<'_, &str, &str> = TableDefinition::new("ripstop");
/// Maps a cell's key to two texts: the simulator that made the result, and the result as JSON text
/// like that of `ripstop sim --json`.
const RESULTS: TableDefinition<'_, &[u8; 32], (&str, &str)> = TableDefinition::new("results");
/// Version of the layout of the two tables. A file with another version is refused and not changed.
const FORMAT: &str = "1";
/// Upper limit of the database's cache, bytes (16 MiB). The cache affects only speed and memory.
/// With half the value the disk is read more often. With twice the value the cache may use more
/// memory.
const CACHE_BYTES: usize = 16 << 20;

/// A store of simulation results, in a file or in memory.
#[derive(Debug)]
pub struct ResultStore {
    database: Database,
    path: PathBuf,
}

impl ResultStore {
    /// Opens the store in the file `path`, and creates the file if it does not exist.
    ///
    /// # Errors
    /// Fails when another program has the file open, or when the file is not a store or has another
    /// format. Also fails when the operating system reports an error.
    pub fn open_or_create(path: &Path) -> LabResult<ResultStore> {
        if !path.try_exists().map_err(|error| LabError::work(path.display(), error))? {
            create(path)?;
        }
        ResultStore::open(path)
    }

    /// Creates an empty store in memory. The results are lost when the store is dropped.
    ///
    /// # Errors
    /// Fails when the database reports an error.
    pub fn in_memory() -> LabResult<ResultStore> {
        let failed = |error: redb::Error| LabError::work("a store in memory", words(error));
        let make = || -> Result<Database, redb::Error> {
            let database = Builder::new().create_with_backend(InMemoryBackend::new())?;
            lay_out(&database)?;
            Ok(database)
        };
        Ok(ResultStore { database: make().map_err(failed)?, path: PathBuf::from("memory") })
    }

    /// Opens the store in the file `path`. Returns None if the file does not exist.
    ///
    /// # Errors
    /// The same as for [`ResultStore::open_or_create`].
    pub fn open_if_there(path: &Path) -> LabResult<Option<ResultStore>> {
        match path.try_exists() {
            Ok(true) => ResultStore::open(path).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(LabError::work(path.display(), error)),
        }
    }

    fn open(path: &Path) -> LabResult<ResultStore> {
        let failed = |why: &dyn std::fmt::Display| LabError::work(path.display(), why);
        let about = std::fs::metadata(path).map_err(|error| failed(&error))?;
        if !about.is_file() {
            return Err(failed(&"is not a regular file, as a store must be"));
        }
        // Check the whole file now. Otherwise damage in the middle of the file appears only when
        // that part is read, which may be hours later or never.
        let database = quietly(|| {
            let mut database = Builder::new().set_cache_size(CACHE_BYTES).open(path)?;
            // `Ok(false)` means that the list of free pages was wrong and has been repaired.
            // Damaged content is an `Err`.
            database.check_integrity()?;
            Ok(database)
        });
        let database = database.unwrap_or_else(|| Err(damaged())).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => {
                failed(&"is in use by another sweep or run; wait for its end, or give another file to --store")
            }
            DatabaseError::UpgradeRequired(_) => failed(&other_format("an older format")),
            DatabaseError::Storage(StorageError::Io(error)) if error.kind() == io::ErrorKind::InvalidData => {
                failed(&"is not a store of results; give another file to --store")
            }
            DatabaseError::Storage(StorageError::Corrupted(_)) => failed(&DAMAGED),
            other => failed(&words(other.into())),
        })?;
        let store = ResultStore { database, path: path.to_owned() };
        store.check_format()?;
        Ok(store)
    }

    fn check_format(&self) -> LabResult<()> {
        let reading = self.database.begin_read().map_err(|error| self.failed(error))?;
        match reading.open_table(META) {
            Ok(table) => match table.get("format").map_err(|error| self.failed(error))? {
                Some(format) if format.value() == FORMAT => Ok(()),
                Some(format) => Err(self.refused(&other_format(&format!("the format `{}`", format.value())))),
                None => Err(self.refused(&other_format("an unknown format"))),
            },
            Err(TableError::Storage(error)) => Err(self.failed(error)),
            Err(_) => Err(self.refused(&"is a database, but not a store of results; give another file to --store")),
        }
    }

    /// The stored result of a cell, as JSON text. None if there is no result.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn get(&self, key: &CellKey) -> LabResult<Option<String>> {
        let reading = self.database.begin_read().map_err(|error| self.failed(error))?;
        let table = reading.open_table(RESULTS).map_err(|error| self.failed(error))?;
        let found = table.get(key).map_err(|error| self.failed(error))?;
        Ok(found.map(|entry| entry.value().1.to_owned()))
    }

    /// For each of `keys`, whether a result is stored. For a key that is None, the answer is false.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn has<'a>(&self, keys: impl Iterator<Item = Option<&'a CellKey>>) -> LabResult<Vec<bool>> {
        let reading = self.database.begin_read().map_err(|error| self.failed(error))?;
        let table = reading.open_table(RESULTS).map_err(|error| self.failed(error))?;
        let is_there = |key: Option<&CellKey>| match key {
            Some(key) => table.get(key).map(|found| found.is_some()).map_err(|error| self.failed(error)),
            None => Ok(false),
        };
        keys.map(is_there).collect()
    }

    /// Stores a result. The result replaces an earlier result with the same key. The new result is
    /// on the disk when this function returns.
    ///
    /// `version` is the identity of the code that made the result, as [`crate::cell::identity`] gives
    /// it.
    ///
    /// # Errors
    /// Fails when the file cannot be written. Earlier results stay in the store.
    pub fn put(&self, key: &CellKey, version: &str, result: &str) -> LabResult<()> {
        let writing = self.database.begin_write().map_err(|error| self.failed(error))?;
        {
            let mut table = writing.open_table(RESULTS).map_err(|error| self.failed(error))?;
            table.insert(key, (version, result)).map_err(|error| self.failed(error))?;
        }
        writing.commit().map_err(|error| self.failed(error))
    }

    /// Calls `take` for each stored result, with its key, its simulator and its text.
    ///
    /// # Errors
    /// Fails when the file cannot be read, or with the first error that `take` returns.
    pub fn each(&self, take: &mut dyn FnMut(&CellKey, &str, &str) -> LabResult<()>) -> LabResult<()> {
        let reading = self.database.begin_read().map_err(|error| self.failed(error))?;
        let table = reading.open_table(RESULTS).map_err(|error| self.failed(error))?;
        for entry in table.iter().map_err(|error| self.failed(error))? {
            let (key, value) = entry.map_err(|error| self.failed(error))?;
            let (simulator, text) = value.value();
            take(key.value(), simulator, text)?;
        }
        Ok(())
    }

    /// Stores all results that `fill` adds to the batch, or no result if `fill` fails.
    ///
    /// # Errors
    /// Fails when the file cannot be written, or with the error that `fill` returns.
    pub fn batch(&self, fill: impl FnOnce(&mut ResultBatch<'_>) -> LabResult<()>) -> LabResult<()> {
        let writing = self.database.begin_write().map_err(|error| self.failed(error))?;
        {
            let table = writing.open_table(RESULTS).map_err(|error| self.failed(error))?;
            fill(&mut ResultBatch { store: self, table })?;
        }
        writing.commit().map_err(|error| self.failed(error))
    }

    fn failed(&self, error: impl Into<redb::Error>) -> LabError {
        self.refused(&words(error.into()))
    }

    fn refused(&self, why: &dyn std::fmt::Display) -> LabError {
        LabError::work(self.path.display(), why)
    }
}

/// The results of one call of [`ResultStore::batch`]. Either all results are stored, or no result
/// is stored.
pub struct ResultBatch<'a> {
    store: &'a ResultStore,
    table: redb::Table<'a, &'static [u8; 32], (&'static str, &'static str)>,
}

impl ResultBatch<'_> {
    /// The result of a cell, as JSON text. The result is in the store, or was added to this batch
    /// earlier. None if there is no result.
    ///
    /// # Errors
    /// Fails when the file cannot be read.
    pub fn get(&self, key: &CellKey) -> LabResult<Option<String>> {
        let found = self.table.get(key).map_err(|error| self.store.failed(error))?;
        Ok(found.map(|entry| entry.value().1.to_owned()))
    }

    /// Adds a result to the batch. The result replaces an earlier result with the same key.
    ///
    /// # Errors
    /// Fails when the file cannot be written.
    pub fn put(&mut self, key: &CellKey, simulator: &str, result: &str) -> LabResult<()> {
        self.table.insert(key, (simulator, result)).map(drop).map_err(|error| self.store.failed(error))
    }
}

/// Creates an empty store under a temporary name and then renames the file to `path`. No other
/// program can see an incomplete file at `path`.
fn create(path: &Path) -> LabResult<()> {
    let failed = |why: &dyn std::fmt::Display| LabError::work(path.display(), why);
    let file = files::temporary_beside(path).map_err(|error| failed(&error))?;
    let fill = || -> Result<(), redb::Error> {
        let database = Builder::new().set_cache_size(CACHE_BYTES).create(file.path())?;
        lay_out(&database)
    };
    fill().map_err(|error| failed(&words(error)))?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        // Another program created the file first. If that program still uses the file, opening the
        // store fails and says so.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(&error.error)),
    }
}

/// Creates the tables of an empty store.
fn lay_out(database: &Database) -> Result<(), redb::Error> {
    let writing = database.begin_write()?;
    writing.open_table(META)?.insert("format", FORMAT)?;
    writing.open_table(RESULTS)?;
    Ok(writing.commit()?)
}

/// The text of an error. For an I/O error, the text is the operating system's message alone.
fn words(error: redb::Error) -> String {
    match error {
        redb::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// End of the message about a file that the database cannot read.
const DAMAGED: &str = "is damaged; restore it from a copy, or remove it and run the same command again";

fn damaged() -> DatabaseError {
    DatabaseError::Storage(StorageError::Corrupted(DAMAGED.to_owned()))
}

fn other_format(which: &str) -> String {
    format!(
        "has {which}, but this version of ripstop reads the format `{FORMAT}`; give another file to --store, or use \
         the version that made this file"
    )
}

/// Calls `open` without printing a panic message. Returns None if `open` panics: the database
/// panics on files that are cut short or overwritten.
fn quietly<T>(open: impl FnOnce() -> T) -> Option<T> {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let answer = panic::catch_unwind(AssertUnwindSafe(open));
    panic::set_hook(hook);
    answer.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<T: std::fmt::Debug>(outcome: LabResult<T>) -> String {
        format!("{:?}", outcome.unwrap_err())
    }

    #[test]
    fn what_is_put_is_there_when_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        assert!(ResultStore::open_if_there(&path).unwrap().is_none());
        let store = ResultStore::open_or_create(&path).unwrap();
        assert_eq!(store.get(&[1; 32]).unwrap(), None);
        store.put(&[1; 32], "0.1", "{}").unwrap();
        store.put(&[1; 32], "0.1", "[]").unwrap();
        // A second user of the file is told that the file is in use.
        assert!(said(ResultStore::open_or_create(&path)).contains("in use by another"));
        drop(store);
        let store = ResultStore::open_if_there(&path).unwrap().unwrap();
        assert_eq!(store.get(&[1; 32]).unwrap().as_deref(), Some("[]"));
        let keys = [[1; 32], [2; 32]];
        assert_eq!(store.has(keys.iter().map(Some).chain([None])).unwrap(), [true, false, false]);
    }

    #[test]
    fn what_is_no_store_is_refused_and_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.redb");
        for (content, words) in [(&b"loss,goodput\n1,2\n"[..], "not a store of results"), (b"", "not a store")] {
            std::fs::write(&path, content).unwrap();
            assert!(said(ResultStore::open_or_create(&path)).contains(words));
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
        std::fs::remove_file(&path).unwrap();
        drop(ResultStore::open_or_create(&path).unwrap());
        // A file that is cut short, as by an interrupted copy.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 3]).unwrap();
        assert!(
            said(ResultStore::open_or_create(&path)).contains("damaged"),
            "{}",
            said(ResultStore::open_or_create(&path))
        );
        // A file that is overwritten at one place. The store must report an error, or all results
        // must be intact.
        std::fs::remove_file(&path).unwrap();
        let store = ResultStore::open_or_create(&path).unwrap();
        let result = |k: u8| format!("{k}").repeat(500);
        (0..40).for_each(|k| store.put(&[k; 32], "1", &result(k)).unwrap());
        drop(store);
        let whole = std::fs::read(&path).unwrap();
        let mut refused = 0;
        for at in (0..whole.len()).step_by(4096 * 3 + 512) {
            let mut bytes = whole.clone();
            bytes[at..].iter_mut().take(64).for_each(|byte| *byte ^= 0x5a);
            std::fs::write(&path, &bytes).unwrap();
            match ResultStore::open_or_create(&path) {
                Ok(store) => {
                    (0..40).for_each(|k| assert_eq!(store.get(&[k; 32]).unwrap(), Some(result(k)), "{at}"));
                }
                Err(_) => refused += 1,
            }
        }
        assert!(refused > 0);
        // A store of another format, and a database of another program.
        for (format, words) in [(Some("7"), "has the format `7`"), (None, "not a store of results")] {
            std::fs::remove_file(&path).unwrap();
            let database = Database::create(&path).unwrap();
            let writing = database.begin_write().unwrap();
            if let Some(format) = format {
                writing.open_table(META).unwrap().insert("format", format).unwrap();
            }
            writing.commit().unwrap();
            drop(database);
            assert!(said(ResultStore::open_or_create(&path)).contains(words));
        }
        assert!(said(ResultStore::open_or_create(Path::new("/dev/full"))).contains("/dev/full: is not a regular file"));
        assert!(
            said(ResultStore::open_or_create(Path::new("/nowhere/a.redb"))).contains("/nowhere/a.redb: No such file")
        );
    }
}
