//! Checks that docs/contributors/architecture.md names the same dependencies between crates as the manifests, and that no
//! two crates and no two modules of `proto` use each other.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// For each crate, the names of the crates that this crate uses.
type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The rows of the table of crates. The first cell of a row names a crate. The last cell names the crates that this
/// crate uses.
fn documented(text: &str) -> Arrows {
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim().trim_matches('|').split(" | ").map(str::trim).collect();
        let [name, _, uses] = cells[..] else { return None };
        let name = name.strip_prefix('`')?.strip_suffix('`')?;
        let uses = uses.split(", ").filter_map(|used| used.strip_prefix('`')?.strip_suffix('`'));
        Some((name.to_owned(), uses.map(str::to_owned).collect()))
    });
    rows.collect()
}

/// The dependencies that the manifests below crates/ name under `[dependencies]`.
fn declared() -> Arrows {
    let mut arrows = Arrows::new();
    for entry in std::fs::read_dir(root().join("crates")).expect("crates/") {
        let folder = entry.expect("a folder").path();
        let Ok(text) = std::fs::read_to_string(folder.join("Cargo.toml")) else { continue };
        let manifest: toml::Table = toml::from_str(&text).expect("a manifest");
        let used = manifest["dependencies"].as_table().expect("a table").keys();
        let used = used.filter_map(|name| name.strip_prefix("ripstop-")).map(str::to_owned).collect();
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        arrows.insert(name, used);
    }
    arrows
}

#[test]
fn the_documented_arrows_are_those_of_the_manifests() {
    let text = std::fs::read_to_string(root().join("docs/contributors/architecture.md"))
        .expect("docs/contributors/architecture.md");
    assert_eq!(documented(&text), declared(), "docs/contributors/architecture.md, the table of crates");
}

#[test]
fn arrows_point_one_way() {
    let circles = circles(declared());
    assert!(circles.is_empty(), "these crates use each other: {circles:?}");
}

/// The modules of `proto`, and the modules that each of them names outside of its tests.
fn modules() -> Arrows {
    let source = root().join("crates/proto/src");
    let mut files = vec![source.clone()];
    let mut arrows = Arrows::new();
    while let Some(path) = files.pop() {
        if path.is_dir() {
            files.extend(std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let inside = path.strip_prefix(&source).expect("a file of the crate");
        let names: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
        let (Some(first), false) = (names.first(), names.iter().any(|name| name.starts_with("tests"))) else {
            continue;
        };
        let name = first.trim_end_matches(".rs");
        // The crate's root names all modules.
        if name == "lib" {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source file");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let named = lines.flat_map(|line| line.split("crate::").skip(1)).filter_map(|rest| {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            Some(rest[..end].to_owned()).filter(|used| !used.is_empty() && used != name)
        });
        arrows.entry(name.to_owned()).or_default().extend(named);
    }
    arrows
}

/// Takes away what uses nothing that is left, again and again. Returns those that use each other.
fn circles(mut left: Arrows) -> Arrows {
    while let Some(name) = left.iter().find(|(_, uses)| uses.iter().all(|used| !left.contains_key(used))) {
        let name = name.0.clone();
        left.remove(&name);
    }
    left
}

#[test]
fn the_modules_of_proto_have_no_circle() {
    let modules = modules();
    let has = |from: &str, to: &str| modules[from].contains(to);
    assert!(has("coding", "path") && has("packets", "coding") && has("session", "packets"), "{modules:?}");
    assert!(!has("wire", "inner") && !has("inner", "wire"), "{modules:?}");
    let circles = circles(modules);
    assert!(circles.is_empty(), "these modules use each other: {circles:?}");
}
