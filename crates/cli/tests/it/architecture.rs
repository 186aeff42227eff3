//! Checks that docs/contributors/architecture.md names the same dependencies between crates as the manifests.

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
    let mut left = declared();
    while let Some(name) = left.iter().find(|(_, uses)| uses.iter().all(|used| !left.contains_key(used))) {
        let name = name.0.clone();
        left.remove(&name);
    }
    assert!(left.is_empty(), "these crates use each other: {left:?}");
}
