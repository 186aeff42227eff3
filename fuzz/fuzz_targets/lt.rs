//! TCP/LT: the parsers, and sequences of packets and times into both ends. `bodies/lt.rs` describes the input and the
//! properties that are checked.

#![no_main]

#[path = "../bodies/lt.rs"]
mod body;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| body::run(data));
