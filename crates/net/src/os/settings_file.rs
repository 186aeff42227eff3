//! Files with settings and keys: they are read without waiting, and it is known who may change them.

use nix::unistd::Uid;
use ripstop_base::text;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// The largest file that is read, in bytes: a configuration or a private key. The limit guards against a wrong path: a
/// real configuration has a few kilobytes.
const MAX_FILE: u64 = 1 << 20;

/// The content of a file, and what the system knows about the file.
pub struct SettingsFile {
    /// The content.
    pub text: Zeroizing<String>,
    metadata: Metadata,
}

impl SettingsFile {
    /// Reads the regular file at `path`. The call never waits for another process: a pipe is refused, because the daemon
    /// reads its files again at SIGHUP, and a pipe without a writer would keep it from ending.
    ///
    /// # Errors
    /// What is wrong with the file, without its path and without its content.
    pub fn read(path: &Path) -> Result<SettingsFile, String> {
        // Without O_NONBLOCK, the call to open a pipe waits for its writer.
        let file =
            OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(|error| explain(&error))?;
        let metadata = file.metadata().map_err(|error| explain(&error))?;
        if let Some(kind) = irregular(&metadata) {
            return Err(format!(
                "this is {kind}, not a regular file; the daemon reads its files again at SIGHUP, so write the content to a file"
            ));
        }
        Ok(SettingsFile { text: content(file)?, metadata })
    }

    /// Whether users other than the owner may read or change the file.
    pub fn is_shared(&self) -> bool {
        self.metadata.mode() & 0o077 != 0
    }

    /// Whether users other than the owner may change the file.
    pub fn is_writable_by_others(&self) -> bool {
        self.metadata.mode() & 0o022 != 0
    }

    /// The user who owns the file.
    pub fn owner(&self) -> Uid {
        Uid::from_raw(self.metadata.uid())
    }
}

/// Whether users other than the owner may replace files in the directory. With the sticky bit, as in /tmp, they may not.
pub fn is_replaceable(directory: &Path) -> bool {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    directory.metadata().is_ok_and(|found| found.mode() & 0o022 != 0 && found.mode() & libc::S_ISVTX == 0)
}

fn content(file: File) -> Result<Zeroizing<String>, String> {
    let mut bytes = Zeroizing::new(Vec::new());
    file.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(|error| explain(&error))?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(format!(
            "the file has more than {MAX_FILE} bytes; name a file with a configuration or a private key"
        ));
    }
    let text = text::decode(&bytes).map_err(|error| error.to_string())?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// What the file is, if it is not a regular file.
fn irregular(file: &Metadata) -> Option<&'static str> {
    let kind = file.file_type();
    match () {
        () if kind.is_file() => None,
        () if kind.is_dir() => Some("a directory"),
        () if kind.is_fifo() => Some("a pipe"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "No such file; check the path".to_owned(),
        io::ErrorKind::PermissionDenied => {
            "this user may not read the file; run the command as the file's owner or as root".to_owned()
        }
        // The system's error for a socket.
        _ if error.raw_os_error() == Some(libc::ENXIO) => {
            "this is a socket or a device without a driver, not a regular file; check the path".to_owned()
        }
        _ => error.to_string(),
    }
}
