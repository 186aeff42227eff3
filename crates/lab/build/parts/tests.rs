//! Whether the table of parts is right, and what a change of the sources outdates.

use super::*;
use crate::papers::PaperLibrary;
use ripstop_sim::scenario::Part;
use std::collections::BTreeSet;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_table_names_parts_and_files_that_exist() {
    assert_eq!(Part::ALL.map(Part::name), PARTS);
    let mut seen = BTreeSet::new();
    for (path, parts) in TABLE {
        assert!(root().join("crates").join(path).exists(), "crates/{path} does not exist; correct the table");
        assert!(parts.iter().all(|part| PARTS.contains(part)), "{path}: {parts:?}");
        assert!(seen.insert(path), "{path} is listed twice");
    }
    assert_eq!(parts_of("proto/src/control/loss.rs"), ["nc", "tunnel"]);
    assert_eq!(parts_of("proto/src/control/rate/mod.rs"), ["tunnel"]);
    assert_eq!(parts_of("link/src/loss.rs"), ["core"]);
    assert_eq!(parts_of("sim/src/tcp/bbr.rs"), ["tcp-modern"]);
    assert!(parts_of("proto/src/secure/noise.rs").is_empty());
}

/// A file that a part uses decides the part's results, so it must belong to that part or to `core`.
#[test]
fn what_a_part_imports_belongs_to_it() {
    let sources = Sources { crates: root().join("crates") };
    let mut wrong = BTreeSet::new();
    let mut checked = 0;
    for file in files(&sources.crates) {
        let parts = parts_of(&file);
        if parts == ["core"] {
            continue;
        }
        for target in sources.imports(&file) {
            let theirs = parts_of(&target);
            checked += 1;
            if theirs != ["core"] && !parts.iter().all(|part| theirs.contains(part)) {
                wrong.insert(format!("{file} ({}) uses {target} ({})", parts.join(" "), theirs.join(" ")));
            }
        }
    }
    assert!(checked > 500, "only {checked} imports were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whole endpoints. No stored result contains one, and only code of endpoints uses these files.
const ENDPOINTS: [&str; 3] = ["proto/src/endpoint/", "proto/src/secure/", "sim/src/world/session/endpoint.rs"];

/// A file of `core` uses no file that is in no key, but for whole endpoints. Otherwise a file that is listed as excluded by
/// mistake could change results whose keys stay.
#[test]
fn what_every_cell_imports_is_in_a_key() {
    let sources = Sources { crates: root().join("crates") };
    let is_endpoint = |file: &str| ENDPOINTS.iter().any(|place| file.starts_with(place));
    let mut wrong = BTreeSet::new();
    for file in files(&sources.crates).iter().filter(|file| parts_of(file) == ["core"]) {
        for target in sources.imports(file) {
            if parts_of(&target).is_empty() && !is_endpoint(&target) {
                wrong.insert(format!("{file} uses {target}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The source files, and what they import.
struct Sources {
    crates: PathBuf,
}

impl Sources {
    /// The files that `file` imports from, as paths below `crates/`.
    fn imports(&self, file: &str) -> BTreeSet<String> {
        let source = fs::read_to_string(self.crates.join(file)).unwrap();
        let tokens = tokens::without_tests(&tokens::tokens(&source));
        let mut found = BTreeSet::new();
        for path in paths(&tokens) {
            if let Some(target) = self.target(file, &path)
                && target != file
            {
                found.insert(target);
            }
        }
        found
    }

    /// The file that defines what `path` names in `file`; None for names outside of these crates.
    fn target(&self, file: &str, path: &[&str]) -> Option<String> {
        let (own, inside) = file.split_once("/src/")?;
        let mut rest = path;
        let mut module: Vec<String> = match path.first()? {
            &"crate" => vec![own.to_owned()],
            &"super" => {
                let mut module = vec![own.to_owned()];
                module.extend(inside.trim_end_matches(".rs").split('/').map(str::to_owned));
                if module.last().is_some_and(|last| last == "mod" || last == "lib") {
                    module.pop();
                }
                while rest.first() == Some(&"super") {
                    module.pop()?;
                    rest = &rest[1..];
                }
                return self.descend(module, rest);
            }
            other => vec![other.strip_prefix("ripstop_").filter(|name| CRATES.contains(name))?.to_owned()],
        };
        rest = &rest[1..];
        module.truncate(1);
        self.descend(module, rest)
    }

    /// Follows `rest` from a module down to the file of the last module, and from there a re-export.
    fn descend(&self, mut module: Vec<String>, mut rest: &[&str]) -> Option<String> {
        while let Some((first, others)) = rest.split_first() {
            let mut inner = module.clone();
            inner.push((*first).to_owned());
            if self.file_of(&inner).is_none() {
                break;
            }
            (module, rest) = (inner, others);
        }
        let file = self.file_of(&module)?;
        let Some(name) = rest.first() else { return Some(file) };
        // The module may pass the name on from one of its own modules.
        let source = fs::read_to_string(self.crates.join(&file)).ok()?;
        let tokens = tokens::without_tests(&tokens::tokens(&source));
        let passed_on = paths(&tokens).into_iter().find(|path| {
            path.last() == Some(name)
                && path.len() > 1
                && self.file_of(&[&module[..], &[path[0].to_owned()]].concat()).is_some()
        });
        match passed_on {
            Some(path) => self.descend(module, &path),
            None => Some(file),
        }
    }

    /// The file of a module, given as its crate and the names of the modules.
    fn file_of(&self, module: &[String]) -> Option<String> {
        let (name, inner) = module.split_first()?;
        let folder = [&[format!("{name}/src")], inner].concat().join("/");
        let candidates = match inner.is_empty() {
            true => vec![format!("{folder}/lib.rs")],
            false => vec![format!("{folder}.rs"), format!("{folder}/mod.rs")],
        };
        candidates.into_iter().find(|file| self.crates.join(file).is_file())
    }
}

/// All paths of at least two names in `tokens`, those of `use` with braces written out.
fn paths<'a>(tokens: &[&'a str]) -> Vec<Vec<&'a str>> {
    let is_name = |token: &str| token.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts = is_name(tokens[at]) && (at == 0 || tokens[at - 1] != ":");
        if starts && tokens[at + 1..].starts_with(&[":", ":"]) {
            at = path_from(tokens, at, &mut Vec::new(), &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads the path at `at` behind `prefix`, and returns the index of the token after it.
fn path_from<'a>(tokens: &[&'a str], mut at: usize, prefix: &mut Vec<&'a str>, found: &mut Vec<Vec<&'a str>>) -> usize {
    let before = prefix.len();
    loop {
        match tokens.get(at) {
            Some(&"{") => {
                at += 1;
                while let Some(token) = tokens.get(at).filter(|token| **token != "}") {
                    at = if *token == "," { at + 1 } else { path_from(tokens, at, prefix, found) };
                }
                at += 1;
                break;
            }
            Some(&"*") => {
                found.push(prefix.clone());
                at += 1;
                break;
            }
            Some(token) => {
                prefix.push(*token);
                at += 1;
            }
            None => break,
        }
        if !tokens[at..].starts_with(&[":", ":"]) || tokens.get(at + 2) == Some(&"<") {
            found.push(prefix.clone());
            // `a as b` in a list.
            while tokens.get(at) == Some(&"as") {
                at += 2;
            }
            break;
        }
        at += 2;
    }
    prefix.truncate(before);
    at
}

/// A copy of the sources, to change one file.
struct Copy(tempfile::TempDir);

impl Copy {
    fn of_sources() -> Copy {
        let folder = tempfile::tempdir().unwrap();
        for file in files(&root().join("crates")) {
            let to = folder.path().join("crates").join(&file);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(root().join("crates").join(&file), to).unwrap();
        }
        fs::copy(root().join("Cargo.lock"), folder.path().join("Cargo.lock")).unwrap();
        Copy(folder)
    }

    /// The parts whose hash changes when `from` becomes `to` in `file`.
    fn changed(&self, file: &str, from: &str, to: &str) -> Vec<&'static str> {
        let (path, before) = (self.0.path().join("crates").join(file), hashes(self.0.path()));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no `{from}`");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let after = hashes(self.0.path());
        fs::write(&path, text).unwrap();
        (0..PARTS.len()).filter(|k| before[*k] != after[*k]).map(|k| PARTS[k]).collect()
    }
}

/// The parts that the cells of the papers' experiments use.
fn parts_of_the_papers() -> BTreeSet<&'static str> {
    let library = PaperLibrary::open(None).unwrap();
    let mut used = BTreeSet::new();
    for study in &library.experiments {
        for cell in study.all_cells() {
            if let Ok(cell) = study.experiment.resolve(cell.set, cell.place) {
                used.extend(cell.run().parts().into_iter().map(Part::name));
            }
        }
    }
    used
}

#[test]
fn a_change_outdates_what_it_can_change() {
    let copy = Copy::of_sources();
    assert_eq!(hashes(copy.0.path()), hashes(&root()));
    let papers = parts_of_the_papers();
    assert!(["core", "tcp-classic", "wifi", "nc", "lt"].iter().all(|part| papers.contains(part)), "{papers:?}");
    // A constant of the tunnel's rate controller: all results of the papers, and the fit of plain TCP, stay valid.
    let changed =
        copy.changed("proto/src/control/rate/tuning/erasure.rs", "\"erasure-cap\": 0.6", "\"erasure-cap\": 0.7");
    assert_eq!(changed, ["tunnel"]);
    assert!(!papers.contains("tunnel"), "{papers:?}");
    // The losses of links: nothing stays valid.
    assert_eq!(copy.changed("link/src/loss.rs", "use ", "use std; use "), ["core"]);
    // Comments and code that no cell runs: all stays valid.
    assert_eq!(copy.changed("link/src/loss.rs", "use ", "// A comment.\nuse "), [""; 0]);
    assert_eq!(copy.changed("proto/src/endpoint/mod.rs", "use ", "use std; use "), [""; 0]);
}
