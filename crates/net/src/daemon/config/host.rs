//! What a configuration wants of this host apart from its network: a user, and a directory.

use super::file::File;
use super::{DaemonConfig, DaemonConfigError, StatusSocket};
use crate::os::settings_file::SettingsFile;
use nix::unistd::User;
use ripstop_base::Place;
use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use toml::Spanned;

/// Checks the user and the path of the status socket. The file at `path` is read again for the place of a setting.
pub(super) fn check(config: &DaemonConfig, path: &Path) -> Result<(), DaemonConfigError> {
    if let Some(name) = &config.user
        && let Ok(None) = User::from_name(name)
    {
        let problem = format!("user: this host has no user `{name}`; create the user, or write for example \"nobody\"");
        return Err(at(path, |file| file.interface.as_ref()?.get_ref().user.as_ref(), problem));
    }
    if let Some(StatusSocket::At(socket)) = &config.status
        && let Some(problem) = problem_of(socket)
    {
        return Err(at(path, |file| file.interface.as_ref()?.get_ref().status.as_ref(), format!("status: {problem}")));
    }
    Ok(())
}

/// Why a socket cannot have this path. A directory that this user may not look into is no reason: root may.
fn problem_of(socket: &Path) -> Option<String> {
    let directory = socket.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let shown = directory.display();
    match directory.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Some(format!(
                "the directory {shown} does not exist; run `mkdir -p {shown}`, or write another path"
            ));
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return Some(format!("a part of {shown} is not a directory; write another path"));
        }
        Ok(found) if !found.is_dir() => return Some(format!("{shown} is not a directory; write another path")),
        _ => {}
    }
    let found = std::fs::symlink_metadata(socket).ok()?;
    (!found.file_type().is_socket())
        .then(|| format!("{} exists and is not a socket; remove it, or write another path", socket.display()))
}

/// An error at the place of a setting.
fn at(path: &Path, setting: impl Fn(&File) -> Option<&Spanned<String>>, problem: String) -> DaemonConfigError {
    let file = SettingsFile::read(path).ok();
    let text = file.as_ref().map_or("", |file| file.text.as_str());
    let start = toml::from_str::<File>(text).ok().and_then(|file| Some(setting(&file)?.span().start));
    let Place { line, column } = Place::of(text, start.unwrap_or(0));
    DaemonConfigError::content(path, line, column, &problem)
}
