//! Which source files decide which results.
//!
//! A stored result is valid as long as the code that made it is the same. A cell (one complete scenario) runs only some
//! parts of the simulator: a chain with Reno runs no rate controller of the tunnel. So each part has a hash of its own,
//! and the key of a result covers the parts that its cell uses.
//!
//! The table is on the safe side: a file that is not listed belongs to `core`, which every cell uses. A test compares the
//! table with what the files import.

use super::tokens;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The parts of the simulator, in the order of `lab::cell::Part`.
pub(crate) const PARTS: [&str; 7] = ["core", "tcp-classic", "tcp-modern", "wifi", "tunnel", "nc", "lt"];

/// The crates whose code decides the result of a simulation.
pub(crate) const CRATES: [&str; 8] = ["base", "codes", "gf256", "link", "model", "proto", "schemes", "sim"];

/// Files of `lab` that decide what a stored result contains.
const OWN: [&str; 2] = ["lab/src/cell/record.rs", "lab/src/cell/result.rs"];

/// The external libraries whose code also decides the result of a simulation.
const LIBRARIES: [&str; 3] = ["libm", "rand_core", "rand_xoshiro"];

/// Code that no cell runs: whole endpoints and their handshakes, observers of single events, benches, and models that
/// are only compared with simulations.
const EXCLUDED: &[&str] = &[];

/// Paths below `crates/`, files or folders, each with the parts to which it belongs. The longest path that fits a file
/// counts.
pub(crate) const TABLE: &[(&str, &[&str])] = &[
    ("codes/src/bench", EXCLUDED),
    ("codes/src/bench.rs", EXCLUDED),
    ("codes/src/block", &["lt", "tunnel"]),
    ("codes/src/lt", &["lt"]),
    ("codes/src/window", &["lt", "nc", "tunnel"]),
    ("codes/src/xor.rs", &["wifi"]),
    ("gf256/src", &["lt", "nc", "tunnel"]),
    ("gf256/src/bench.rs", EXCLUDED),
    ("model/src", &["lt", "nc", "tunnel", "wifi"]),
    ("model/src/codes", EXCLUDED),
    ("model/src/fec/link.rs", EXCLUDED),
    ("model/src/plan", EXCLUDED),
    ("model/src/prediction.rs", EXCLUDED),
    ("model/src/published", EXCLUDED),
    ("model/src/stations", EXCLUDED),
    ("model/src/string", EXCLUDED),
    ("model/src/tcp.rs", EXCLUDED),
    ("model/src/tcpnc", EXCLUDED),
    ("proto/src/bench.rs", EXCLUDED),
    ("proto/src/coding", &["tunnel"]),
    ("proto/src/control", &["tunnel"]),
    ("proto/src/control/loss.rs", &["nc", "tunnel"]),
    ("proto/src/endpoint", EXCLUDED),
    ("proto/src/inner", &["tunnel"]),
    ("proto/src/packets/early_acks", EXCLUDED),
    ("proto/src/packets", &["tunnel"]),
    ("proto/src/path", &["tunnel"]),
    ("proto/src/secure", EXCLUDED),
    ("proto/src/session/tunnel", &["tunnel"]),
    ("proto/src/tokens.rs", &["tunnel"]),
    ("proto/src/wire", &["tunnel"]),
    ("proto/src/wire/bytes.rs", &["lt", "tunnel"]),
    ("proto/src/wire/handshake.rs", EXCLUDED),
    ("schemes/src/lt", &["lt"]),
    ("schemes/src/nc", &["nc"]),
    ("schemes/src/nc/config.rs", &["lt", "nc"]),
    ("sim/src/scenario/capture", EXCLUDED),
    ("sim/src/scenario/report/ideal.rs", &["wifi"]),
    ("sim/src/scenario/report/medium.rs", &["wifi"]),
    ("sim/src/scenario/report/mesh.rs", &["lt", "wifi"]),
    ("sim/src/scenario/report/tunnel.rs", &["tunnel"]),
    ("sim/src/scenario/timeline.rs", EXCLUDED),
    ("sim/src/scenario/trace.rs", EXCLUDED),
    ("sim/src/tcp/bbr", &["tcp-modern"]),
    ("sim/src/tcp/bbr.rs", &["tcp-modern"]),
    ("sim/src/tcp/classic.rs", &["tcp-classic"]),
    ("sim/src/tcp/cubic.rs", &["tcp-modern"]),
    ("sim/src/tcp/hystart.rs", &["tcp-modern"]),
    ("sim/src/tcp/linux_reno.rs", &["tcp-modern"]),
    ("sim/src/tcp/modern", &["tcp-modern"]),
    ("sim/src/tcp/reno.rs", &["tcp-classic"]),
    ("sim/src/tcp/sack.rs", &["tcp-classic"]),
    ("sim/src/tcp/vegas.rs", &["tcp-classic"]),
    ("sim/src/wifi", &["wifi"]),
    ("sim/src/world/outside.rs", EXCLUDED),
    ("sim/src/world/radio.rs", &["wifi"]),
    ("sim/src/world/session/coding.rs", &["nc"]),
    ("sim/src/world/session/endpoint.rs", EXCLUDED),
    ("sim/src/world/session/gateway.rs", &["lt"]),
    ("sim/src/world/session/tunnel.rs", &["tunnel"]),
];

/// The parts to which a file belongs. `file` is its path below `crates/`.
pub(crate) fn parts_of(file: &str) -> &'static [&'static str] {
    let fits = |path: &str| file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let found = TABLE.iter().filter(|(path, _)| fits(path)).max_by_key(|(path, _)| path.len());
    found.map_or(&["core"], |(_, parts)| *parts)
}

/// The files that decide results, as sorted paths below `crates`, which is the folder `crates/`. Files of modules that
/// are compiled only for tests are left out.
pub(crate) fn files(crates: &Path) -> Vec<String> {
    let mut found: Vec<PathBuf> = OWN.iter().map(|file| crates.join(file)).collect();
    for name in CRATES {
        collect(&crates.join(name).join("src"), &mut found);
    }
    let relative = |file: &PathBuf| file.strip_prefix(crates).unwrap_or(file).to_string_lossy().into_owned();
    let mut files: Vec<String> = found.iter().map(relative).collect();
    files.sort();
    files
}

/// The hash of each part, in the order of [`PARTS`]. `root` is the folder that has `crates/` and `Cargo.lock`.
///
/// The hash covers tokens, so comments, layout and tests do not change it. `core` also covers the versions of three
/// libraries.
pub(crate) fn hashes(root: &Path) -> [u64; PARTS.len()] {
    let crates = root.join("crates");
    let mut hashes: BTreeMap<&str, Fnv> = PARTS.iter().map(|part| (*part, Fnv(0xcbf2_9ce4_8422_2325))).collect();
    for file in files(&crates) {
        let source = fs::read_to_string(crates.join(&file)).unwrap_or_default();
        for part in parts_of(&file) {
            let Some(hash) = hashes.get_mut(part) else { continue };
            hash.add(file.as_bytes());
            hash.add_tokens(&source);
        }
    }
    if let Some(core) = hashes.get_mut("core") {
        add_libraries(core, &fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default());
    }
    PARTS.map(|part| hashes.get(part).map_or(0, |hash| hash.0))
}

fn add_libraries(hash: &mut Fnv, lock: &str) {
    for package in lock.split("[[package]]") {
        let mut lines = package.trim().lines();
        let name = lines.next().unwrap_or_default();
        if LIBRARIES.iter().any(|library| name == format!("name = \"{library}\"")) {
            hash.add(name.as_bytes());
            hash.add(lines.next().unwrap_or_default().as_bytes());
        }
    }
}

/// The entries of a folder, sorted by path. Empty if the folder does not exist.
pub(crate) fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// Adds all Rust files below `folder` to `files`. The files of modules that are compiled only for tests are left out.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = sorted(folder);
    let sources = entries.iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs")).cloned();
    // The modules of `name.rs` are in the folder `name`.
    let sources = sources.chain([folder.with_extension("rs")]);
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

#[cfg(test)]
#[path = "parts/tests.rs"]
mod tests;
