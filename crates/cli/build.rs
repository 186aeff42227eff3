//! Gives the program a number that changes when its simulator does: results of `ripstop sweep` and `ripstop papers` are kept under it.
//!
//! What a simulation answers is a function of the pure crates' sources and of three libraries' versions, and of nothing else: not of the
//! machine, the build's profile, or the edge to the operating system. What `papers` makes of it before it is kept counts too.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates whose code decides what is measured.
const CRATES: [&str; 7] = ["base", "codes", "gf256", "link", "model", "proto", "sim"];
/// The libraries that do.
const LIBRARIES: [&str; 3] = ["libm", "rand_core", "rand_xoshiro"];

/// Files of this crate that shape what is kept.
const OWN: [&str; 2] = ["src/papers/results.rs", "src/papers/trace.rs"];

fn main() {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for name in OWN {
        let file = manifest.join(name);
        println!("cargo::rerun-if-changed={}", file.display());
        hash.add(&fs::read(file).unwrap_or_default());
    }
    for name in CRATES {
        let sources = manifest.join("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", sources.display());
        let mut files = Vec::new();
        collect(&sources, &mut files);
        // The planner's formulas are set beside what is simulated, and decide none of it.
        files.retain(|file| name != "model" || !file.starts_with(sources.join("plan")));
        files.sort();
        for file in files {
            let relative = file.strip_prefix(&sources).unwrap_or(&file);
            hash.add(name.as_bytes());
            hash.add(relative.to_string_lossy().as_bytes());
            hash.add(&fs::read(&file).unwrap_or_default());
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
}

/// All files of Rust below a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// FNV-1a, 64 bits: the same on every machine and with every compiler.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        // The length in front keeps neighbours apart.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
