//! Writes two files that the crate includes: `parts.rs`, the hash of each part of the simulator (see the module `parts`),
//! and `papers.rs`, the papers' files.

mod parts;
mod tokens;

use parts::sorted;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let root = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default().join("../..");
    for name in parts::CRATES {
        println!("cargo::rerun-if-changed={}", root.join("crates").join(name).join("src").display());
    }
    println!("cargo::rerun-if-changed={}", root.join("crates/lab/src/cell").display());
    println!("cargo::rerun-if-changed={}", root.join("Cargo.lock").display());
    write("parts.rs", &format!("const HASHES: [u64; {}] = {:#018x?};\n", parts::PARTS.len(), parts::hashes(&root)));
    list_papers(&root.join("papers"));
}

/// Writes `papers.rs`: a list of the papers' files with their content. The program includes this list.
fn list_papers(directory: &Path) {
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut files = Vec::new();
    for paper in sorted(directory).into_iter().filter(|path| path.is_dir()) {
        let of_kind = |path: &PathBuf, kind: &str| path.extension().is_some_and(|extension| extension == kind);
        files.extend(sorted(&paper).into_iter().filter(|path| of_kind(path, "toml")));
        files.extend(sorted(&paper.join("results")).into_iter().filter(|path| of_kind(path, "json")));
    }
    let mut list = String::from("const BUILT_IN: &[(&str, &str)] = &[\n");
    for file in files {
        let name = file.strip_prefix(directory).unwrap_or(&file).display().to_string();
        let whole = fs::canonicalize(&file).unwrap_or(file);
        list += &format!("    ({name:?}, include_str!({:?})),\n", whole.display().to_string());
    }
    list += "];\n";
    write("papers.rs", &list);
}

/// Writes a file for the crate to include.
fn write(name: &str, text: &str) {
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default().join(name);
    if let Err(error) = fs::write(&out, text) {
        println!("cargo::error={}: {error}", out.display());
    }
}
