//! `bodies/feedback.rs` describes the input and the properties that are checked.

#![no_main]

#[path = "../bodies/feedback.rs"]
mod body;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| body::run(data));
