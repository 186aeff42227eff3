//! Where results are kept: one file, in which each result is there as a whole or not at all, whatever happens to the program.

use crate::cell::CellKey;
use crate::error::{LabError, LabResult};
use crate::files;
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, ReadableTable, StorageError, TableDefinition,
    TableError,
};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

/// What the file says of itself.
const META: TableDefinition<'_, &str, &str> = TableDefinition::new("ripstop");
/// The program's version, and the result as `ripstop sim --json` would print it.
const RESULTS: TableDefinition<'_, &[u8; 32], (&str, &str)> = TableDefinition::new("results");
/// The layout of these tables. A file with another one is not touched.
const FORMAT: &str = "1";
/// What the store may keep in memory.
const CACHE_BYTES: usize = 16 << 20;

/// Results of simulations.
#[derive(Debug)]
pub struct ResultStore {
    database: Database,
    path: PathBuf,
}

impl ResultStore {
    /// Opens the store in a file, and makes it if there is none.
    ///
    /// # Errors
    /// A file that is in use by another program, is no store, or is one of another format; what the system refused.
    pub fn open_or_create(path: &Path) -> LabResult<ResultStore> {
        if !path.try_exists().map_err(|error| LabError::work(path.display(), error))? {
            create(path)?;
        }
        ResultStore::open(path)
    }

    /// A store in memory: it ends with the program.
    ///
    /// # Errors
    /// What the database refused.
    pub fn in_memory() -> LabResult<ResultStore> {
        let failed = |error: redb::Error| LabError::work("a store in memory", words(error));
        let make = || -> Result<Database, redb::Error> {
            let database = Builder::new().create_with_backend(InMemoryBackend::new())?;
            lay_out(&database)?;
            Ok(database)
        };
        Ok(ResultStore { database: make().map_err(failed)?, path: PathBuf::from("memory") })
    }

    /// Opens the store in a file, or None when there is no such file.
    ///
    /// # Errors
    /// As [`ResultStore::open_or_create`].
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
            return Err(failed(&"is not a regular file; results are kept in one"));
        }
        // What was overwritten in the middle shows when it is read, which may be after hours, or not at all.
        let database = quietly(|| {
            let mut database = Builder::new().set_cache_size(CACHE_BYTES).open(path)?;
            // What it says is whether its books of free pages had to be mended, which are in order then; damaged content is an error.
            database.check_integrity()?;
            Ok(database)
        });
        let database = database.unwrap_or_else(|| Err(damaged())).map_err(|error| match error {
            DatabaseError::DatabaseAlreadyOpen => failed(
                &"is in use by another sweep or run; wait for its end, or give another file to --store",
            ),
            DatabaseError::UpgradeRequired(_) => failed(&other_format("an older one")),
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
                Some(format) => Err(self.refused(&other_format(&format!("`{}`", format.value())))),
                None => Err(self.refused(&other_format("an unknown one"))),
            },
            Err(TableError::Storage(error)) => Err(self.failed(error)),
            Err(_) => {
                Err(self.refused(&"is a database, but not a store of results; give another file to --store"))
            }
        }
    }

    /// What is kept for a cell.
    ///
    /// # Errors
    /// What the system refused.
    pub fn get(&self, key: &CellKey) -> LabResult<Option<String>> {
        let reading = self.database.begin_read().map_err(|error| self.failed(error))?;
        let table = reading.open_table(RESULTS).map_err(|error| self.failed(error))?;
        let found = table.get(key).map_err(|error| self.failed(error))?;
        Ok(found.map(|entry| entry.value().1.to_owned()))
    }

    /// Whether something is kept for each of `keys`.
    ///
    /// # Errors
    /// What the system refused.
    pub fn has<'a>(&self, keys: impl Iterator<Item = Option<&'a CellKey>>) -> LabResult<Vec<bool>> {
        let reading = self.database.begin_read().map_err(|error| self.failed(error))?;
        let table = reading.open_table(RESULTS).map_err(|error| self.failed(error))?;
        let is_there = |key: Option<&CellKey>| match key {
            Some(key) => table.get(key).map(|found| found.is_some()).map_err(|error| self.failed(error)),
            None => Ok(false),
        };
        keys.map(is_there).collect()
    }

    /// Keeps a result. It is on the disk when this returns.
    ///
    /// # Errors
    /// What the system refused; then what was kept before is still there.
    pub fn put(&self, key: &CellKey, version: &str, result: &str) -> LabResult<()> {
        let writing = self.database.begin_write().map_err(|error| self.failed(error))?;
        {
            let mut table = writing.open_table(RESULTS).map_err(|error| self.failed(error))?;
            table.insert(key, (version, result)).map_err(|error| self.failed(error))?;
        }
        writing.commit().map_err(|error| self.failed(error))
    }

    /// Hands over each result: its key, its simulator, its text.
    ///
    /// # Errors
    /// What the system refused, and what `take` says.
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

    /// Keeps all results that `fill` puts into the batch, or none where `fill` fails.
    ///
    /// # Errors
    /// What the system refused, and what `fill` says.
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

/// Results that are kept together.
pub struct ResultBatch<'a> {
    store: &'a ResultStore,
    table: redb::Table<'a, &'static [u8; 32], (&'static str, &'static str)>,
}

impl ResultBatch<'_> {
    /// What is kept for a cell, or was put into this batch.
    ///
    /// # Errors
    /// What the system refused.
    pub fn get(&self, key: &CellKey) -> LabResult<Option<String>> {
        let found = self.table.get(key).map_err(|error| self.store.failed(error))?;
        Ok(found.map(|entry| entry.value().1.to_owned()))
    }

    /// Adds a result.
    ///
    /// # Errors
    /// What the system refused.
    pub fn put(&mut self, key: &CellKey, simulator: &str, result: &str) -> LabResult<()> {
        self.table.insert(key, (simulator, result)).map(drop).map_err(|error| self.store.failed(error))
    }
}

/// Makes an empty store beside its place and moves it there: nobody ever sees half of one.
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
        // Another program was faster. Whether it still is at work shows when the store is opened.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(failed(&error.error)),
    }
}

/// The empty tables of a store.
fn lay_out(database: &Database) -> Result<(), redb::Error> {
    let writing = database.begin_write()?;
    writing.open_table(META)?.insert("format", FORMAT)?;
    writing.open_table(RESULTS)?;
    Ok(writing.commit()?)
}

/// What the system said, where it was the system.
fn words(error: redb::Error) -> String {
    match error {
        redb::Error::Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

const DAMAGED: &str = "is damaged; restore it from a copy, or remove it and run the same again";

fn damaged() -> DatabaseError {
    DatabaseError::Storage(StorageError::Corrupted(DAMAGED.to_owned()))
}

fn other_format(which: &str) -> String {
    format!(
        "has the format {which} and this version of ripstop reads `{FORMAT}`; give another file to --store, or use the \
         version that made it"
    )
}

/// What `open` answers; None when it panics, which the database does on files that were cut or overwritten.
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
        // Somebody else finds it in use.
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
        for (content, words) in
            [(&b"loss,goodput\n1,2\n"[..], "not a store of results"), (b"", "not a store")]
        {
            std::fs::write(&path, content).unwrap();
            assert!(said(ResultStore::open_or_create(&path)).contains(words));
            assert_eq!(std::fs::read(&path).unwrap(), content);
        }
        std::fs::remove_file(&path).unwrap();
        drop(ResultStore::open_or_create(&path).unwrap());
        // Cut short, as by a copy that did not end.
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 3]).unwrap();
        assert!(
            said(ResultStore::open_or_create(&path)).contains("damaged"),
            "{}",
            said(ResultStore::open_or_create(&path))
        );
        // Overwritten somewhere: an error at once, or nothing that mattered.
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
        // Of another format, and another program's.
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
        assert!(
            said(ResultStore::open_or_create(Path::new("/dev/full")))
                .contains("/dev/full: is not a regular file")
        );
        assert!(
            said(ResultStore::open_or_create(Path::new("/nowhere/a.redb")))
                .contains("/nowhere/a.redb: No such file")
        );
    }
}
