//! The identity of the code that makes a result.

use super::{hash_of, hexadecimal};
use ripstop_sim::scenario::Part;
use std::sync::LazyLock;

// `HASHES`: the hash of each part, in the order of `Part::ALL`.
include!(concat!(env!("OUT_DIR"), "/parts.rs"));

/// The identity of the whole simulator.
static WHOLE: LazyLock<String> = LazyLock::new(|| identity(&Part::ALL));

/// The identity of the code of some parts: their names, and a hash of their code. Programs whose identities are equal
/// give equal results for a scenario that uses these parts.
///
/// `core+tcp-classic:1b6c4a9b0e2f7d53` is an example.
pub fn identity(parts: &[Part]) -> String {
    let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
    let hashes: Vec<String> = parts.iter().map(|part| format!("{:016x}", HASHES[*part as usize])).collect();
    let hash = hexadecimal(&hash_of(&hashes.iter().map(String::as_str).collect::<Vec<_>>()));
    format!("{}:{}", names.join("+"), &hash[..16])
}

/// The identity of the whole simulator: that of all parts.
pub fn whole_simulator() -> &'static str {
    &WHOLE
}
