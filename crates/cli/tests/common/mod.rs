//! Functions that the three test programs of `ripstop` share.

#![allow(dead_code, unused_imports, reason = "not every test program uses everything")]

mod fates;
#[path = "../../../net/tests/realtime/common.rs"]
mod namespaces;
pub(crate) mod schema;

pub(crate) use fates::Fates;
pub(crate) use namespaces::{skip, with_namespaces};
use std::process::{Command, Output};

/// The program.
pub(crate) fn ripstop() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ripstop"))
}

/// Runs the program until it ends.
pub(crate) fn run(words: &[&str]) -> Output {
    ripstop().args(words).output().expect("the program starts")
}

/// Standard output as text.
pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is text")
}

/// Standard error as text.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is text")
}

/// Asserts that the program succeeded, and returns the JSON object that it printed.
pub(crate) fn json(output: &Output) -> serde_json::Value {
    let (out, err) = (stdout(output), stderr(output));
    assert!(output.status.success(), "{}: {out}{err}", output.status);
    assert_eq!(out.lines().count(), 1, "{out}");
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"))
}
