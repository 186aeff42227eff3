//! Who may read a secret key and who may change a configuration. Both rules are the same, because whoever changes the
//! configuration chooses the key, the peers and the user of the daemon.

use super::InsecureFile;
use crate::os::settings_file::{SettingsFile, is_replaceable};
use nix::unistd::{Uid, User, geteuid};
use std::path::{Path, PathBuf};

/// A file that the daemon trusts.
pub(super) struct FileToJudge<'a> {
    pub(super) path: &'a Path,
    pub(super) file: &'a SettingsFile,
    pub(super) has_key: bool,
}

/// The insecure files among `files`, and warnings about their directories. `user` is the user of the running daemon.
pub(super) fn judge<'a>(
    files: impl Iterator<Item = FileToJudge<'a>>,
    user: Option<&str>,
) -> (Vec<InsecureFile>, Vec<String>) {
    let (mut insecure, mut warnings) = (Vec::<InsecureFile>::new(), Vec::new());
    let mut directories = Vec::<PathBuf>::new();
    for FileToJudge { path, file, has_key } in files {
        if insecure.iter().any(|known| known.path == path) {
            continue;
        }
        if let Some(problem) = problem(path, file, has_key, user) {
            insecure.push(InsecureFile { path: path.to_owned(), problem });
        }
        let directory = path.parent().unwrap_or(Path::new(""));
        if is_replaceable(directory) && !directories.iter().any(|known| known == directory) {
            directories.push(directory.to_owned());
            let shown = if directory.as_os_str().is_empty() { Path::new(".") } else { directory }.display();
            warnings.push(format!(
                "other users may replace {}, because they may write to the directory {shown}; run `chmod go-w {shown}`",
                path.display()
            ));
        }
    }
    (insecure, warnings)
}

/// Why the file is insecure, as a sentence with the remedy; None: it is secure.
fn problem(path: &Path, file: &SettingsFile, has_key: bool, user: Option<&str>) -> Option<String> {
    let shown = path.display();
    if has_key && file.is_shared() {
        return Some(format!("{shown} holds a secret key, and other users have access to it; run `chmod 600 {shown}`"));
    }
    if file.is_writable_by_others() {
        return Some(format!(
            "other users may change {shown}, and so choose the key and the peers of this host; run `chmod go-w {shown}`"
        ));
    }
    let owner = file.owner();
    if owner.is_root() || [Some(geteuid()), user.and_then(uid_of), behind_sudo()].contains(&Some(owner)) {
        return None;
    }
    let name = User::from_uid(owner).ok().flatten().map_or_else(|| owner.to_string(), |user| user.name);
    let what = if has_key { "holds a secret key" } else { "chooses the key and the peers of this host" };
    Some(format!("{shown} {what}, and belongs to the user {name}; run `chown root {shown}`"))
}

/// The user who started this process with sudo, and so may act as root. None without sudo.
fn behind_sudo() -> Option<Uid> {
    let uid = std::env::var("SUDO_UID").ok()?.parse().ok()?;
    geteuid().is_root().then_some(Uid::from_raw(uid))
}

fn uid_of(name: &str) -> Option<Uid> {
    User::from_name(name).ok().flatten().map(|user| user.uid)
}
