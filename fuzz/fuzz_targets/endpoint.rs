//! `bodies/endpoint.rs` describes the input and the properties that are checked.

#![no_main]

#[path = "../bodies/endpoint.rs"]
mod body;
#[path = "../bodies/kinds.rs"]
mod kinds;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| drop(body::run(data)));
