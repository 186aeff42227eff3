//! Sets the environment variable `RIPSTOP_SIMULATOR` for the crate: a hash of everything that
//! decides the result of a cell. A cell is one complete scenario that is simulated (see
//! `src/cell/mod.rs`).
//!
//! A stored result is reused only by the simulator that made this result. A result depends on the tokens of the crates
//! in `CRATES` and on the versions of three libraries. It does not depend on the machine, the build profile, or the
//! crates that talk to the operating system. Comments, layout and tests do not change a result, so the hash leaves them
//! out (see `tokens.rs`).

mod tokens;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose code decides the result of a simulation.
const CRATES: [&str; 7] = ["base", "codes", "gf256", "link", "model", "proto", "sim"];
/// The external libraries whose code also decides the result of a simulation.
const LIBRARIES: [&str; 3] = ["libm", "rand_core", "rand_xoshiro"];
/// The files of this crate that decide what a stored result contains.
const OWN: [&str; 3] = ["src/cell/result.rs", "src/cell/record.rs", "src/expect.rs"];
/// Parts of `model` whose predictions are only compared with simulations. These parts decide no
/// result of a simulation, so the hash leaves them out.
const BESIDE: [&str; 2] = ["plan", "published"];

fn main() {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for name in OWN {
        let file = manifest.join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        hash.add_tokens(&fs::read_to_string(file).unwrap_or_default());
    }
    for name in CRATES {
        let sources = manifest.join("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        let mut files = Vec::new();
        collect(&sources, &mut files);
        files.retain(|file| name != "model" || !BESIDE.iter().any(|part| file.starts_with(sources.join(part))));
        files.sort();
        for file in files {
            let relative = file.strip_prefix(&sources).unwrap_or(&file);
            hash.add(name.as_bytes());
            hash.add(relative.to_string_lossy().as_bytes());
            hash.add_tokens(&fs::read_to_string(&file).unwrap_or_default());
        }
    }
    let lock = manifest.join("../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    for package in fs::read_to_string(lock).unwrap_or_default().split("[[package]]") {
        let mut lines = package.trim().lines();
        let name = lines.next().unwrap_or_default();
        if LIBRARIES.iter().any(|library| name == format!("name = \"{library}\"")) {
            hash.add(name.as_bytes());
            hash.add(lines.next().unwrap_or_default().as_bytes());
        }
    }
    println!("cargo::rustc-env=RIPSTOP_SIMULATOR={:016x}", hash.0);
    list_papers(&manifest.join("../../papers"));
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
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default().join("papers.rs");
    if let Err(error) = fs::write(&out, list) {
        println!("cargo::error={}: {error}", out.display());
    }
}

/// The entries of a folder, sorted by path. Empty if the folder does not exist.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Adds all Rust files below `folder` to `files`. The files of modules that are compiled only for tests are left out.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = sorted(folder);
    let sources = entries.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let only_tests: Vec<String> =
        sources.flat_map(|path| tokens::test_modules(&fs::read_to_string(path).unwrap_or_default())).collect();
    for path in entries {
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if only_tests.contains(&stem) {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The hash FNV-1a with 64 bits. It is the same on every machine and with every compiler.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        // Without the length, "ab", "c" and "a", "bc" would have the same hash.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn add_tokens(&mut self, source: &str) {
        let kept = tokens::without_tests(&tokens::tokens(source));
        self.add(&(kept.len() as u64).to_le_bytes());
        kept.iter().for_each(|token| self.add(token.as_bytes()));
    }
}
